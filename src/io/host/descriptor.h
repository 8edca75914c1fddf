#pragma once

// Owns a file descriptor and closes it. A negative number is none.

#include <poll.h>
#include <unistd.h>

#include <utility>

namespace tiphys::host {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  // From here on it is somebody else's to close.
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

// Whether one of the events (POLLIN, POLLOUT) is there now. Asio's word for it is not enough where no read or write
// follows that would tell: an event that was under way for a closed descriptor is told to the next one that gets its place.
[[nodiscard]] inline bool is_ready(int descriptor, short events) {
  pollfd asked{descriptor, events, 0};
  return ::poll(&asked, 1, 0) > 0;
}

}  // namespace tiphys::host
