#include "text/handlebars/debug_text.h"

#include <cstdint>

#include "base/strings.h"

namespace tiphys::handlebars {

namespace {

// Characters that show nothing by themselves.
bool is_invisible(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0xA0) || c == 0xAD || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200F) || (c >= 0x2028 && c <= 0x202F) ||
         (c >= 0x205F && c <= 0x206F) || c == 0x3000 || (c >= 0xE000 && c <= 0xF8FF) || c == 0xFEFF;
}

// The character at the beginning of a valid text, and its length.
std::pair<std::uint32_t, std::size_t> first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = byte(0);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length > text.size()) return {lead, 1};
  std::uint32_t c = length == 1 ? lead : lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) c = c << 6U | (byte(i) & 0x3FU);
  return {c, length};
}

std::string hexadecimal(std::uint32_t number) {
  std::string digits;
  for (; number > 0 || digits.empty(); number >>= 4U)
    digits.insert(digits.begin(), "0123456789abcdef"[number & 0xFU]);
  return digits;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const auto [c, length] = first_character(text);
    switch (c) {
      case '"':
        result += "\\\"";
        break;
      case '\\':
        result += "\\\\";
        break;
      case '\n':
        result += "\\n";
        break;
      case '\r':
        result += "\\r";
        break;
      case '\t':
        result += "\\t";
        break;
      case '\0':
        result += "\\0";
        break;
      default:
        if (is_invisible(c))
          result += concat("\\u{", hexadecimal(c), "}");
        else
          result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result + '"';
}

std::string name_text(const Call& call) {
  if (const auto* word = std::get_if<std::string>(&call.name)) return *word;
  const auto& name = std::get<Parameter>(call.name);
  if (const auto* path = std::get_if<Path>(&name)) return path->text;
  if (const auto* variable = std::get_if<Variable>(&name)) return variable->text;
  return "(…)";
}

}  // namespace tiphys::handlebars
