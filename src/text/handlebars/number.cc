#include "text/handlebars/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace tiphys::handlebars {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr int kMaxPower = 308;  // of ten, that a double holds

double power_of_ten(int exponent) {
  // Correctly rounded, which std::pow does not promise.
  const std::string text = "1e" + std::to_string(exponent);
  double power = 0;
  std::from_chars(text.data(), text.data() + text.size(), power);
  return power;
}

// digits * 10^exponent; nothing when that is too large.
std::optional<double> scaled(std::uint64_t digits, std::int64_t exponent) {
  auto value = static_cast<double>(digits);
  if (value == 0.0) return value;
  while (exponent < -kMaxPower && value != 0.0) {
    value /= power_of_ten(kMaxPower);
    exponent += kMaxPower;
  }
  if (value == 0.0) return value;
  if (exponent > kMaxPower) return std::nullopt;
  if (exponent >= 0)
    value *= power_of_ten(static_cast<int>(exponent));
  else
    value /= power_of_ten(static_cast<int>(-exponent));
  if (std::isinf(value)) return std::nullopt;
  return value;
}

// Reads the parts of a number as JSON writes it.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : rest_(text) {}

  std::optional<Number> read() {
    const bool negative = take('-');
    if (rest_.empty() || !is_digit(rest_[0])) return std::nullopt;
    if (rest_[0] == '0' && rest_.size() > 1 && is_digit(rest_[1])) return std::nullopt;
    read_digits(0);
    bool integer = !full_;
    if (take('.')) {
      integer = false;
      if (rest_.empty() || !is_digit(rest_[0])) return std::nullopt;
      read_digits(-1);
    }
    if (take('e') || take('E')) {
      integer = false;
      if (!read_exponent()) return std::nullopt;
    }
    if (!rest_.empty()) return std::nullopt;
    if (integer) {
      if (!negative) return digits_;
      if (digits_ != 0 && digits_ <= std::uint64_t{1} << 63U)
        return static_cast<std::int64_t>(~digits_ + 1);
    }
    const auto value = scaled(digits_, exponent_);
    if (!value) return std::nullopt;
    return negative ? -*value : *value;
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Digits that no longer fit are dropped; those before the point then count as powers of ten.
  void read_digits(int step) {
    for (; !rest_.empty() && is_digit(rest_[0]); rest_.remove_prefix(1)) {
      const auto digit = static_cast<std::uint64_t>(rest_[0] - '0');
      constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
      full_ = full_ || digits_ > (kMax - digit) / 10;
      if (full_) {
        exponent_ += step == 0 ? 1 : 0;
      } else {
        digits_ = digits_ * 10 + digit;
        exponent_ += step;
      }
    }
  }
  bool read_exponent() {
    const bool negative = take('-');
    if (!negative) take('+');
    if (rest_.empty() || !is_digit(rest_[0])) return false;
    std::int64_t exponent = 0;
    constexpr std::int64_t kFarTooLarge = 1'000'000'000;
    for (; !rest_.empty() && is_digit(rest_[0]); rest_.remove_prefix(1))
      exponent = std::min(kFarTooLarge, exponent * 10 + (rest_[0] - '0'));
    exponent_ += negative ? -exponent : exponent;
    return true;
  }

  std::string_view rest_;
  std::uint64_t digits_ = 0;
  std::int64_t exponent_ = 0;
  bool full_ = false;
};

std::string text_of(double value) {
  if (value == 0.0) return std::signbit(value) ? "-0.0" : "0.0";
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(value),
                                 std::chars_format::scientific);
  const std::string_view shortest(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const std::size_t e = shortest.find('e');
  std::string digits(shortest.substr(0, e));
  std::erase(digits, '.');
  const std::string_view power = shortest.substr(e + (shortest[e + 1] == '+' ? 2 : 1));
  int exponent = 0;
  std::from_chars(power.data(), power.data() + power.size(), exponent);

  const std::string sign = std::signbit(value) ? "-" : "";
  const int point = exponent + 1;  // how many of the digits stand before it
  const auto length = static_cast<int>(digits.size());
  if (point > 16 || point < -4) {
    std::string text = sign + digits[0];
    if (length > 1) text += "." + digits.substr(1);
    return text + (exponent < 0 ? "e" : "e+") + std::to_string(exponent);
  }
  if (point <= 0) return sign + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  if (point >= length)
    return sign + digits + std::string(static_cast<std::size_t>(point - length), '0') + ".0";
  const auto split = static_cast<std::size_t>(point);
  return sign + digits.substr(0, split) + "." + digits.substr(split);
}

// An integer of 65 bits as sign and size.
struct Integer {
  bool negative;
  std::uint64_t size;
};

std::partial_ordering compare_integers(Integer a, Integer b) {
  if (a.negative != b.negative)
    return a.negative ? std::partial_ordering::less : std::partial_ordering::greater;
  return a.negative ? b.size <=> a.size : a.size <=> b.size;
}

std::partial_ordering compare_mixed(Integer a, double b) {
  constexpr double kBeyond = 18446744073709551616.0;
  if (b >= kBeyond) return std::partial_ordering::less;
  if (b <= -kBeyond) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  const Integer truncated{whole < 0, static_cast<std::uint64_t>(std::abs(whole))};
  const auto order = compare_integers(a, truncated);
  return order != 0 ? order : 0.0 <=> b - whole;
}

std::optional<Integer> integer_of(const Number& number) {
  if (const auto* positive = std::get_if<std::uint64_t>(&number)) return Integer{false, *positive};
  if (const auto* negative = std::get_if<std::int64_t>(&number))
    return Integer{true, ~static_cast<std::uint64_t>(*negative) + 1};
  return std::nullopt;
}

}  // namespace

std::optional<Number> parse_number(std::string_view text) { return NumberReader(text).read(); }

std::string to_string(const Number& number) {
  if (const auto* positive = std::get_if<std::uint64_t>(&number)) return std::to_string(*positive);
  if (const auto* negative = std::get_if<std::int64_t>(&number)) return std::to_string(*negative);
  return text_of(std::get<double>(number));
}

std::partial_ordering compare(const Number& a, const Number& b) {
  const auto left = integer_of(a);
  const auto right = integer_of(b);
  if (left && right) return compare_integers(*left, *right);
  if (left) return compare_mixed(*left, std::get<double>(b));
  if (right) return 0 <=> compare_mixed(*right, std::get<double>(a));
  return std::get<double>(a) <=> std::get<double>(b);
}

}  // namespace tiphys::handlebars
