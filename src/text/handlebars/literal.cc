// Reads the literals of templates. The grammar has found where one begins and ends; what it lets pass but JSON does not
// (a control character in a string, single quotes inside a list, 007) is refused here.

#include <cstdint>

#include "text/handlebars/value.h"

namespace tiphys::handlebars {

namespace {

void append_utf8(std::uint32_t c, std::string& text) {
  const auto byte = [&](std::uint32_t bits) { text += static_cast<char>(bits); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xC0 | c >> 6U);
    byte(0x80 | (c & 0x3FU));
  } else if (c < 0x10000) {
    byte(0xE0 | c >> 12U);
    byte(0x80 | (c >> 6U & 0x3FU));
    byte(0x80 | (c & 0x3FU));
  } else {
    byte(0xF0 | c >> 18U);
    byte(0x80 | (c >> 12U & 0x3FU));
    byte(0x80 | (c >> 6U & 0x3FU));
    byte(0x80 | (c & 0x3FU));
  }
}

class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : rest_(text) {}

  std::optional<Value> whole() {
    auto literal = value('\'');
    skip_space();
    return rest_.empty() ? literal : std::nullopt;
  }

 private:
  // single_quote: the sign that may begin a string beside the double quote, or a double quote again.
  std::optional<Value> value(char single_quote) {
    skip_space();
    if (rest_.empty()) return std::nullopt;
    const char first = rest_[0];
    if (first == '"' || first == single_quote) {
      auto text = string(first);
      return text ? std::optional(Value(std::move(*text))) : std::nullopt;
    }
    if (first == '[') return list();
    if (first == '{') return map();
    if (take_word("null")) return Value();
    if (take_word("true")) return Value(true);
    if (take_word("false")) return Value(false);
    const std::size_t end = std::min(rest_.find_first_of(",]} \t\r\n"), rest_.size());
    const auto number = parse_number(rest_.substr(0, end));
    if (!number) return std::nullopt;
    rest_.remove_prefix(end);
    return Value(*number);
  }

  std::optional<Value> list() {
    Value::List items;
    take('[');
    if (take(']')) return Value(std::move(items));
    do {
      auto item = value('"');
      if (!item) return std::nullopt;
      items.push_back(std::move(*item));
    } while (take(','));
    if (!take(']')) return std::nullopt;
    return Value(std::move(items));
  }

  std::optional<Value> map() {
    Value::Map entries;
    take('{');
    if (take('}')) return Value(std::move(entries));
    do {
      skip_space();
      if (!rest_.starts_with('"')) return std::nullopt;
      auto key = string('"');
      if (!key || !take(':')) return std::nullopt;
      auto item = value('"');
      if (!item) return std::nullopt;
      entries.insert_or_assign(std::move(*key), std::move(*item));
    } while (take(','));
    if (!take('}')) return std::nullopt;
    return Value(std::move(entries));
  }

  std::optional<std::string> string(char quote) {
    std::string text;
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_[0] != quote) {
      const char c = rest_[0];
      rest_.remove_prefix(1);
      if (static_cast<unsigned char>(c) < 0x20) return std::nullopt;
      if (c != '\\')
        text += c;
      else if (!escape(quote, text))
        return std::nullopt;
    }
    if (rest_.empty()) return std::nullopt;
    rest_.remove_prefix(1);
    return text;
  }

  bool escape(char quote, std::string& text) {
    if (rest_.empty()) return false;
    const char c = rest_[0];
    rest_.remove_prefix(1);
    if (c == 'u') return code_point(text);
    constexpr std::string_view kNames = "\\/bfnrt";
    constexpr std::string_view kMeanings = "\\/\b\f\n\r\t";
    if (c == quote) {
      text += c;
      return true;
    }
    const std::size_t at = kNames.find(c);
    if (at == std::string_view::npos) return false;
    text += kMeanings[at];
    return true;
  }

  std::optional<std::uint32_t> four_digits() {
    if (rest_.size() < 4) return std::nullopt;
    std::uint32_t code = 0;
    for (const char c : rest_.substr(0, 4)) {
      const std::size_t digit = std::string_view("0123456789abcdefABCDEF").find(c);
      if (digit == std::string_view::npos) return std::nullopt;
      code = code * 16 + static_cast<std::uint32_t>(digit < 16 ? digit : digit - 6);
    }
    rest_.remove_prefix(4);
    return code;
  }

  bool code_point(std::string& text) {
    auto code = four_digits();
    if (!code || (*code >= 0xDC00 && *code < 0xE000)) return false;
    if (*code >= 0xD800 && *code < 0xDC00) {
      if (!rest_.starts_with("\\u")) return false;
      rest_.remove_prefix(2);
      const auto low = four_digits();
      if (!low || *low < 0xDC00 || *low >= 0xE000) return false;
      *code = 0x10000 + ((*code - 0xD800) << 10U) + (*low - 0xDC00);
    }
    append_utf8(*code, text);
    return true;
  }

  void skip_space() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool take(char c) {
    skip_space();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take_word(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  std::string_view rest_;
};

}  // namespace

std::optional<Value> parse_literal(std::string_view text) { return LiteralReader(text).whole(); }

}  // namespace tiphys::handlebars
