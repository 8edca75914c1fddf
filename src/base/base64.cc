#include "base/base64.h"

#include <array>
#include <cstddef>

#include "base/strings.h"

namespace tiphys {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::size_t kGroup = 4;
constexpr unsigned kSymbolBits = 6;
constexpr unsigned kByteBits = 8;
constexpr char kFiller = '=';
constexpr std::uint8_t kNoSymbol = 0xFF;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoSymbol);
  for (std::size_t value = 0; value < kAlphabet.size(); ++value)
    values[static_cast<unsigned char>(kAlphabet[value])] = static_cast<std::uint8_t>(value);
  return values;
}
constexpr auto kValues = make_values();

std::uint8_t value_of(char symbol) { return kValues[static_cast<unsigned char>(symbol)]; }

tl::unexpected<Error> wrong_symbol(std::string_view what, std::string_view text,
                                   std::size_t offset) {
  const auto number = static_cast<unsigned char>(text[offset]);
  return fail(Code::kInvalidArgument, concat("Invalid ", what, " ", std::to_string(number),
                                             ", offset ", std::to_string(offset), "."));
}

}  // namespace

std::string base64_encode(std::string_view bytes, Base64Padding padding) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * kGroup);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char byte : bytes) {
    bits = bits << kByteBits | static_cast<unsigned char>(byte);
    for (held += kByteBits; held >= kSymbolBits; held -= kSymbolBits)
      text += kAlphabet[bits >> (held - kSymbolBits) & 63U];
  }
  if (held > 0) text += kAlphabet[bits << (kSymbolBits - held) & 63U];
  if (padding == Base64Padding::kYes)
    while (text.size() % kGroup != 0) text += kFiller;
  return text;
}

Result<std::string> base64_decode(std::string_view text, Base64Padding padding) {
  // A stray byte behind the last group, a line break for instance, is named rather than the length.
  if (text.size() % kGroup == 1 && text.back() != kFiller && value_of(text.back()) == kNoSymbol)
    return wrong_symbol("symbol", text, text.size() - 1);

  const auto symbols = text.substr(0, text.find_last_not_of(kFiller) + 1);
  const auto fillers = text.size() - symbols.size();
  for (std::size_t offset = 0; offset < symbols.size(); ++offset)
    if (value_of(symbols[offset]) == kNoSymbol) return wrong_symbol("symbol", text, offset);
  // Fillers stand third and fourth in the last group, nowhere else.
  const auto in_last_group = symbols.size() % kGroup;
  const auto room = in_last_group < 2 ? 0 : kGroup - in_last_group;

  if (fillers > room) return wrong_symbol("symbol", text, symbols.size());
  if (in_last_group == 1)
    return fail(Code::kInvalidArgument,
                concat("Invalid input length: ", std::to_string(symbols.size())));
  if (fillers != (padding == Base64Padding::kYes ? room : 0))
    return fail(Code::kInvalidArgument, "Invalid padding");

  std::string bytes;
  bytes.reserve(symbols.size() / kGroup * 3 + 2);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char symbol : symbols) {
    bits = bits << kSymbolBits | value_of(symbol);
    held += kSymbolBits;
    if (held < kByteBits) continue;
    held -= kByteBits;
    bytes += static_cast<char>(bits >> held & 0xFFU);
  }
  const bool has_stray_bits = (bits & ((1U << held) - 1U)) != 0;
  if (has_stray_bits) return wrong_symbol("last symbol", text, symbols.size() - 1);
  return bytes;
}

}  // namespace tiphys
