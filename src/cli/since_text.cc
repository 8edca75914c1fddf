#include "cli/since_text.h"

#include <array>
#include <ctime>
#include <string_view>

#include "base/strings.h"

namespace tiphys::cli {

std::string since_text(std::chrono::system_clock::time_point now, std::chrono::milliseconds age) {
  const std::time_t second =
      std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(now - age));
  std::tm parts{};
  ::localtime_r(&second, &parts);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return concat(std::string_view(text.data(), length), " (", age_text(age), " ago)");
}

std::string age_text(std::chrono::milliseconds age) {
  struct Unit {
    std::string_view name;
    std::chrono::seconds length;
  };
  constexpr std::array<Unit, 4> kUnits{{{"d", std::chrono::hours(24)},
                                        {"h", std::chrono::hours(1)},
                                        {"m", std::chrono::minutes(1)},
                                        {"s", std::chrono::seconds(1)}}};
  const auto whole = std::chrono::floor<std::chrono::seconds>(age);
  std::size_t largest = 0;
  while (largest + 1 < kUnits.size() && whole < kUnits[largest].length) ++largest;
  const auto count = [&](std::size_t unit) {
    const auto of_larger = unit == largest ? whole : whole % kUnits[unit - 1].length;
    return concat(std::to_string(of_larger / kUnits[unit].length), kUnits[unit].name);
  };
  const std::string text = count(largest);
  return largest + 1 == kUnits.size() ? text : concat(text, " ", count(largest + 1));
}

}  // namespace tiphys::cli
