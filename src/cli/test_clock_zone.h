#pragma once

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

namespace tiphys::cli {

// The time zone of the process, until it goes.
class ClockZone {
 public:
  explicit ClockZone(const char* zone) {
    if (const char* before = std::getenv("TZ")) before_ = before;
    ::setenv("TZ", zone, 1);
    ::tzset();
  }
  ~ClockZone() {
    if (before_)
      ::setenv("TZ", before_->c_str(), 1);
    else
      ::unsetenv("TZ");
    ::tzset();
  }
  ClockZone(const ClockZone&) = delete;
  ClockZone& operator=(const ClockZone&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace tiphys::cli
