#include "io/host/uuid.h"

#include <sys/random.h>

#include <array>
#include <string_view>

namespace tiphys::host {

std::string new_uuid() {
  std::array<unsigned char, 16> bytes{};
  (void)::getrandom(bytes.data(), bytes.size(), 0);  // so few bytes never fail
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0fU) | 0x40U);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3fU) | 0x80U);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[bytes[i] >> 4U];
    text += kDigits[bytes[i] & 0xfU];
  }
  return text;
}

}  // namespace tiphys::host
