#include "text/json.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/strings.h"

namespace tiphys {
namespace {

// Written by hand, because a document of the JSON library would be a second copy of the tree.
class Writer {
 public:
  Writer(JsonLayout layout, KeyOrder first)
      : pretty_(layout == JsonLayout::kPretty), first_(first) {}

  // [impl->swdd~api-object-serialization~1]
  [[nodiscard]] std::string write(const Tree& tree) && {
    write_value(tree, 0);
    return std::move(text_);
  }

 private:
  void write_value(const Tree& tree, std::size_t depth) {
    if (const auto* string = tree.string())
      write_string(*string);
    else if (const auto* number = tree.number())
      text_ += std::to_string(*number);
    else if (const auto* boolean = tree.boolean())
      text_ += *boolean ? "true" : "false";
    else if (const auto* list = tree.list())
      write_list(*list, depth);
    else if (tree.is_map())
      write_map(tree.entries(), depth);
    else
      text_ += "null";
  }

  void write_list(const Tree::List& list, std::size_t depth) {
    text_ += '[';
    for (const auto& item : list) {
      begin_item(&item == &list.front(), depth + 1);
      write_value(item, depth + 1);
    }
    end_items(list.empty(), depth);
    text_ += ']';
  }

  void write_map(const Tree::Map& map, std::size_t depth) {
    text_ += '{';
    bool first = true;
    for_each_ordered(map, first_, [&](const std::string& key, const Tree& value) {
      begin_item(std::exchange(first, false), depth + 1);
      write_string(key);
      text_ += pretty_ ? ": " : ":";
      write_value(value, depth + 1);
    });
    end_items(map.empty(), depth);
    text_ += '}';
  }

  void begin_item(bool first, std::size_t depth) {
    if (!first) text_ += ',';
    begin_line(depth);
  }

  void end_items(bool none, std::size_t depth) {
    if (!none) begin_line(depth);
  }

  void begin_line(std::size_t depth) {
    if (!pretty_) return;
    text_ += '\n';
    text_.append(2 * depth, ' ');
  }

  void write_string(const std::string& string) {
    constexpr std::string_view kNamed = "\"\\\b\f\n\r\t";
    constexpr std::string_view kNames = "\"\\bfnrt";
    text_ += '"';
    for (const char c : with_valid_utf8(string)) {
      if (const auto named = kNamed.find(c); named != std::string_view::npos) {
        text_ += '\\';
        text_ += kNames[named];
      } else if (const auto code = static_cast<unsigned char>(c); code < 0x20) {
        text_ += "\\u00";
        text_ += "0123456789abcdef"[code >> 4U];
        text_ += "0123456789abcdef"[code & 0xfU];
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }

  bool pretty_;
  KeyOrder first_;
  std::string text_;
};

// Gives the parser one byte after the other and remembers how far it came, because the parser
// itself tells only its own errors' places.
class Cursor {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the names that the standard library looks for
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  // NOLINTEND(readability-identifier-naming)

  Cursor(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}

  const char& operator*() const { return *at_; }
  Cursor& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  Cursor operator++(int) {
    const Cursor before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Cursor& a, const Cursor& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// Puts trees together from what the parser meets. One frame per array or object that is open.
class Handler {
 public:
  Handler(std::string_view text, const JsonLimits& limits, const char** furthest)
      : text_(text), limits_(limits), furthest_(furthest) {}

  bool null() { return take(Tree()); }
  bool boolean(bool value) { return take(Tree(value)); }
  bool number_unsigned(std::uint64_t value) { return take(Tree(value)); }
  bool number_integer(std::int64_t value) { return other_number(std::to_string(value)); }
  bool number_float(double, const std::string& written) { return other_number(written); }
  bool string(std::string& value) { return take(Tree(std::move(value))); }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // JSON has none
  bool start_object(std::size_t) { return open(true); }
  bool start_array(std::size_t) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }

  bool key(std::string& key) {
    const std::size_t start = token_start();
    if (frames_.back().map.find(key) != nullptr)
      return refuse(start, concat("duplicate entry with key \"", key, "\""));
    frames_.back().key = std::move(key);
    return true;
  }

  bool parse_error(std::size_t offset, const std::string&,
                   const nlohmann::detail::exception& exception) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: what is wrong"
    std::string_view offence = exception.what();
    constexpr std::string_view kPlace = ", column ";
    if (const auto place = offence.find(kPlace); place != std::string_view::npos)
      if (const auto end = offence.find(": ", place); end != std::string_view::npos)
        offence.remove_prefix(end + 2);
    return refuse(offset == 0 ? 0 : offset - 1, with_valid_utf8(std::string(offence)));
  }

  [[nodiscard]] Parsed<Tree> result() && {
    if (error_) return misparsed(*std::move(error_));
    return std::move(root_);
  }

 private:
  struct Frame {
    bool is_object;
    Tree::Map map;
    Tree::List list;
    std::string key;
  };

  // The parser has read the token it tells of, and nothing or one byte more.
  std::size_t token_start() {
    const std::size_t start = text_.find_first_not_of(" \t\r\n,:", last_end_);
    last_end_ = static_cast<std::size_t>(*furthest_ - text_.data());
    return start;
  }

  bool open(bool is_object) {
    const std::size_t start = token_start();
    if (frames_.size() >= limits_.max_depth)
      return refuse(start,
                    concat("nested deeper than ", std::to_string(limits_.max_depth), " levels"));
    frames_.push_back({is_object, {}, {}, {}});
    return true;
  }

  bool close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    return take(frame.is_object ? Tree(std::move(frame.map)) : Tree(std::move(frame.list)));
  }

  bool take(Tree tree) {
    token_start();
    if (frames_.empty())
      root_ = std::move(tree);
    else if (Frame& frame = frames_.back(); frame.is_object)
      frame.map = frame.map.set(std::move(frame.key), std::move(tree));
    else
      frame.list.push_back(std::move(tree));
    return true;
  }

  bool other_number(std::string written) {
    if (limits_.other_numbers_as_text) return take(Tree(std::move(written)));
    return refuse(token_start(),
                  "only integers from 0 to 18446744073709551615 are supported as numbers");
  }

  bool refuse(std::size_t offset, std::string offence) {
    error_ = TextError{position_of(text_, offset), {}, std::move(offence)};
    return false;
  }

  std::string_view text_;
  const JsonLimits& limits_;
  const char** furthest_;
  std::size_t last_end_ = 0;
  std::vector<Frame> frames_;
  Tree root_;
  std::optional<TextError> error_;
};

}  // namespace

std::string write_json(const Tree& tree, JsonLayout layout, KeyOrder first) {
  return Writer(layout, first).write(tree);
}

Parsed<Tree> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes)
    return misparsed(Position{},
                     concat("the text has ", std::to_string(text.size()), " bytes, more than ",
                            std::to_string(limits.max_bytes), " are not read"));
  if (const std::size_t valid = valid_utf8_prefix(text); valid < text.size())
    return misparsed(position_of(text, valid), "the text is not valid UTF-8");
  const char* begin = text.data();
  const char* end = begin + text.size();
  const char* furthest = begin;
  Handler handler(text, limits, &furthest);
  nlohmann::json::sax_parse(Cursor(begin, &furthest), Cursor(end, &furthest), &handler);
  return std::move(handler).result();
}

}  // namespace tiphys
