#include "text/yaml_writer.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "text/yaml_scalar.h"

namespace tiphys {
namespace {

// A longer key, or one of several lines, is written with '?' and ':' on lines of their own.
constexpr std::size_t kMaxSimpleKey = 128;
constexpr std::size_t kIndent = 2;

enum class Style : std::uint8_t { kPlain, kSingleQuoted, kDoubleQuoted, kLiteral };

struct Character {
  char32_t code_point;
  std::size_t size;
};

// The text is valid UTF-8.
Character character_at(std::string_view text, std::size_t offset) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[offset + i]); };
  const char32_t first = byte(0);
  const std::size_t size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  constexpr std::array<char32_t, 5> kLeadBits{0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t code_point = first & kLeadBits[size];
  for (std::size_t i = 1; i < size; ++i) code_point = (code_point << 6U) | (byte(i) & 0x3fU);
  return {code_point, size};
}

// The two Unicode line breaks are printable, but readers disagree on whether they end a line.
constexpr bool needs_escape(char32_t c) {
  const bool printable = c == '\n' || (c >= 0x20 && c <= 0x7e) ||
                         (c >= 0xa0 && c != 0xfeff && c != 0xfffe && c != 0xffff);
  return !printable || c == 0x2028 || c == 0x2029;
}

bool contains_escaped(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const Character character = character_at(text, i);
    if (needs_escape(character.code_point)) return true;
    i += character.size;
  }
  return false;
}

constexpr bool is_blank(std::string_view text, std::size_t offset) {
  return offset >= text.size() || text[offset] == ' ' || text[offset] == '\n';
}

// Does a text without line breaks keep its meaning when it stands alone? What the first character,
// ": " and " #" would start, or white space at an end, is lost otherwise.
bool is_safe_plain(std::string_view text) {
  constexpr std::string_view kIndicators = "#,[]{}&*!|>'\"%@`";
  if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
  if (text.starts_with("---") || text.starts_with("...")) return false;
  if (kIndicators.find(text[0]) != std::string_view::npos) return false;
  if ((text[0] == '-' || text[0] == '?') && is_blank(text, 1)) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ':' && is_blank(text, i + 1)) return false;
    if (text[i] == '#' && is_blank(text, i - 1)) return false;
  }
  return true;
}

// A block keeps its lines, but blanks before a line break or at the end would not be seen.
bool is_safe_block(std::string_view text) {
  return text.back() != ' ' && text.find(" \n") == std::string_view::npos;
}

Style style_of(std::string_view text) {
  if (contains_escaped(text)) return Style::kDoubleQuoted;
  if (text.find('\n') != std::string_view::npos)
    return is_safe_block(text) ? Style::kLiteral : Style::kDoubleQuoted;
  const bool is_string = type_of_plain(text) == YamlType::kString && !is_zero_led(text);
  return is_string && is_safe_plain(text) ? Style::kPlain : Style::kSingleQuoted;
}

// What older readers take for a boolean, a number or a date when it is not quoted begins with a digit or a sign, or is one
// of a few words.
bool is_text_to_every_reader(std::string_view text) {
  constexpr std::array<std::string_view, 6> kWords{"y", "n", "yes", "no", "on", "off"};
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || (!is_letter(text[0]) && text[0] != '/')) return false;
  return std::none_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char c, char lower) {
      return (static_cast<unsigned char>(c) | 0x20U) == static_cast<unsigned char>(lower);
    });
  });
}

// -- The two kinds of what is written

bool has_entries(const Tree& tree) { return !tree.entries().empty(); }
bool has_entries(const YamlNode& node) { return !node.entries.empty(); }

// Nothing when there are none.
const Tree::List* items_of(const Tree& tree) {
  const auto* list = tree.list();
  return list != nullptr && !list->empty() ? list : nullptr;
}
const std::vector<YamlNode>* items_of(const YamlNode& node) {
  return node.items.empty() ? nullptr : &node.items;
}

template <class Visit>
void for_each_entry(const Tree& tree, KeyOrder first, Visit visit) {
  for_each_ordered(tree.entries(), first, visit);
}
template <class Visit>
void for_each_entry(const YamlNode& node, KeyOrder, Visit visit) {
  for (const auto& entry : node.entries) visit(entry.key, entry.value);
}

// Written by hand because libyaml's emitter escapes all characters beyond the first plane, which
// peers write as they are; in all else the two agree.
// [impl->swdd~api-object-serialization~1]
class Writer {
 public:
  explicit Writer(KeyOrder first) : first_(first) {}

  template <class Node>
  [[nodiscard]] std::string write(const Node& node) && {
    write_inline(node, 0);
    return std::move(text_);
  }

 private:
  enum class Place : std::uint8_t { kAfterKey, kInline };

  // A node that begins on the current line, whose further lines have the given indentation.
  template <class Node>
  void write_inline(const Node& node, std::size_t indent) {
    if (has_entries(node)) return write_map(node, indent);
    if (const auto* list = items_of(node)) return write_list(*list, indent);
    // The content of a block is indented even where nothing is around it.
    write_scalar(node, indent == 0 ? kIndent : indent);
  }

  template <class Node>
  void write_map(const Node& map, std::size_t indent) {
    bool first = true;
    for_each_entry(map, first_, [&](const std::string& key, const Node& value) {
      if (!std::exchange(first, false)) text_.append(indent, ' ');
      if (is_simple_key(key)) {
        write_string(key, indent + kIndent);
        text_ += ':';
        write_after_key(value, indent);
      } else {
        text_ += "? ";
        write_string(key, indent + kIndent);
        end_line();
        text_.append(indent, ' ');
        text_ += ": ";
        write_inline(value, indent + kIndent);
      }
    });
  }

  template <class List>
  void write_list(const List& list, std::size_t indent) {
    bool first = true;
    for (const auto& item : list) {
      if (!std::exchange(first, false)) text_.append(indent, ' ');
      text_ += "- ";
      write_inline(item, indent + kIndent);
    }
  }

  template <class Node>
  void write_after_key(const Node& value, std::size_t indent) {
    if (has_entries(value)) {
      begin_line(indent + kIndent);
      write_map(value, indent + kIndent);
    } else if (const auto* list = items_of(value)) {
      begin_line(indent);
      write_list(*list, indent);
    } else {
      text_ += ' ';
      write_scalar(value, indent + kIndent);
    }
  }

  void write_scalar(const Tree& tree, std::size_t indent) {
    if (const auto* string = tree.string())
      write_string(*string, indent);
    else if (const auto* number = tree.number())
      text_ += std::to_string(*number);
    else if (const auto* boolean = tree.boolean())
      text_ += *boolean ? "true" : "false";
    else
      text_ += tree.is_map() ? "{}" : tree.list() != nullptr ? "[]" : "null";
    end_line();
  }

  void write_scalar(const YamlNode& node, std::size_t indent) {
    const bool is_plain = node.style == YamlNode::Style::kPlain;
    if (node.kind != YamlNode::Kind::kScalar)
      text_ += node.kind == YamlNode::Kind::kMap ? "{}" : "[]";
    else if (is_plain && node.text.find('\n') == std::string::npos)
      text_ += node.text.empty() ? "null" : node.text;
    else if (is_plain || style_of(node.text) != Style::kPlain || is_text_to_every_reader(node.text))
      write_string(node.text, indent);
    else
      write_single_quoted(node.text);
    end_line();
  }

  static bool is_simple_key(std::string_view key) {
    constexpr std::array<std::string_view, 5> kBreaks{"\n", "\r", "\xc2\x85", "\xe2\x80\xa8",
                                                      "\xe2\x80\xa9"};
    return key.size() <= kMaxSimpleKey &&
           std::none_of(kBreaks.begin(), kBreaks.end(), [&](std::string_view line_break) {
             return key.find(line_break) != std::string_view::npos;
           });
  }

  void write_string(const std::string& string, std::size_t indent) {
    const std::string text = with_valid_utf8(string);
    switch (style_of(text)) {
      case Style::kPlain:
        text_ += text;
        break;
      case Style::kSingleQuoted:
        write_single_quoted(text);
        break;
      case Style::kDoubleQuoted:
        write_double_quoted(text);
        break;
      case Style::kLiteral:
        write_literal(text, indent);
        break;
    }
  }

  void write_single_quoted(std::string_view text) {
    text_ += '\'';
    for (const char c : text) text_.append(c == '\'' ? 2 : 1, c);
    text_ += '\'';
  }

  void write_double_quoted(std::string_view text) {
    text_ += '"';
    for (std::size_t i = 0; i < text.size();) {
      const auto [code_point, size] = character_at(text, i);
      if (needs_escape(code_point) || code_point == '\n' || code_point == '"' || code_point == '\\')
        write_escape(code_point);
      else
        text_ += text.substr(i, size);
      i += size;
    }
    text_ += '"';
  }

  void write_escape(char32_t c) {
    constexpr std::array<std::pair<char32_t, char>, 15> kNames{{{0, '0'},
                                                                {7, 'a'},
                                                                {8, 'b'},
                                                                {9, 't'},
                                                                {10, 'n'},
                                                                {11, 'v'},
                                                                {12, 'f'},
                                                                {13, 'r'},
                                                                {27, 'e'},
                                                                {'"', '"'},
                                                                {'\\', '\\'},
                                                                {0x85, 'N'},
                                                                {0xa0, '_'},
                                                                {0x2028, 'L'},
                                                                {0x2029, 'P'}}};
    text_ += '\\';
    for (const auto& [code_point, name] : kNames)
      if (code_point == c) {
        text_ += name;
        return;
      }
    text_ += c <= 0xff ? 'x' : 'u';  // what lies beyond the first plane is printable
    for (int shift = c <= 0xff ? 4 : 12; shift >= 0; shift -= 4)
      text_ += "0123456789ABCDEF"[(c >> static_cast<unsigned>(shift)) & 0xfU];
  }

  // The header says how much the lines are indented where a reader could not see it, and what
  // becomes of the line breaks at the end.
  void write_literal(std::string_view text, std::size_t indent) {
    text_ += '|';
    if (text.front() == ' ' || text.front() == '\n') text_ += std::to_string(kIndent);
    if (text.back() != '\n')
      text_ += '-';
    else if (text.size() == 1 || text[text.size() - 2] == '\n')
      text_ += '+';
    text_ += '\n';
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      if (!line.empty()) text_.append(indent, ' ');
      text_ += line;
      if (end == std::string_view::npos) break;
      text_ += '\n';
      text.remove_prefix(end + 1);
    }
  }

  void begin_line(std::size_t indent) {
    text_ += '\n';
    text_.append(indent, ' ');
  }

  // A block ends its last line itself.
  void end_line() {
    if (text_.back() != '\n') text_ += '\n';
  }

  KeyOrder first_;
  std::string text_;
};

}  // namespace

std::string write_yaml(const Tree& tree, KeyOrder first) { return Writer(first).write(tree); }

std::string write_yaml(const YamlNode& node) { return Writer({}).write(node); }

}  // namespace tiphys
