#include "text/yaml.h"

#include <yaml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tiphys {
namespace {

// libyaml looks through all tag directives for each new one. Nobody needs more than a few.
constexpr std::size_t kMaxTagDirectives = 100;

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The library's parser, reading the text in place.
class Parser {
 public:
  explicit Parser(std::string_view text) {
    TIPHYS_CHECK(yaml_parser_initialize(&parser_) == 1, "out of memory");
    yaml_parser_set_input_string(
        &parser_, reinterpret_cast<const unsigned char*>(text.empty() ? "" : text.data()),
        text.size());
  }
  ~Parser() { yaml_parser_delete(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  yaml_parser_t* operator->() { return &parser_; }
  yaml_parser_t* get() { return &parser_; }

 private:
  yaml_parser_t parser_{};
};

// The next event of a parser; none once there is an error.
class Event {
 public:
  explicit Event(Parser& parser) : read_(yaml_parser_parse(parser.get(), &event_) == 1) {}
  ~Event() {
    if (read_) yaml_event_delete(&event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  [[nodiscard]] bool read() const { return read_; }
  const yaml_event_t& operator*() const { return event_; }
  const yaml_event_t* operator->() const { return &event_; }

 private:
  yaml_event_t event_{};
  bool read_;
};

Position to_position(const yaml_mark_t& mark) { return {mark.line + 1, mark.column + 1}; }

// The name of an anchor or tag; empty where there is none.
std::string_view name_of(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

YamlNode::Style style_of(yaml_scalar_style_t style) {
  switch (style) {
    case YAML_SINGLE_QUOTED_SCALAR_STYLE:
    case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
      return YamlNode::Style::kQuoted;
    case YAML_LITERAL_SCALAR_STYLE:
    case YAML_FOLDED_SCALAR_STYLE:
      return YamlNode::Style::kBlock;
    default:
      return YamlNode::Style::kPlain;
  }
}

std::optional<std::size_t> find_surplus_tag_directive(std::string_view text) {
  constexpr std::string_view kDirective = "\n%TAG";
  std::size_t offset = 0;
  for (std::size_t count = 0; count <= kMaxTagDirectives; ++count) {
    offset = text.find(kDirective, offset);
    if (offset == std::string_view::npos) return std::nullopt;
    ++offset;
  }
  return offset;
}

// What the library is not asked about.
std::optional<TextError> unreadable(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes)
    return TextError{{},
                     {},
                     concat("the text has ", std::to_string(text.size()), " bytes, more than ",
                            std::to_string(limits.max_bytes), " are not read")};
  const auto at = [&](std::size_t offset, std::string_view offence) {
    return TextError{position_of(text, offset), {}, std::string(offence)};
  };
  if (text.starts_with(kByteOrderMark))
    return at(0, "the text begins with a byte order mark; save it as UTF-8 without one");
  if (const std::size_t end = valid_utf8_prefix(text); end < text.size())
    return at(end, "the text is not valid UTF-8");
  if (const auto offset = find_surplus_tag_directive(text))
    return at(*offset, "too many tag directives");
  return std::nullopt;
}

// The library says of a tab in the indentation only that no token can start there, or finds fault
// with the end of the line before.
std::optional<Position> find_indenting_tab(std::string_view text, Position error) {
  std::size_t number = 1;
  while (number <= error.line + 1) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    const std::size_t indentation = line.find_first_not_of(" \t\r");
    const std::size_t tab = line.find('\t');
    const bool suspected = number > error.line || error.column <= indentation + 1;
    if (number >= error.line && suspected && tab < indentation &&
        indentation != std::string_view::npos)
      return Position{number, tab + 1};
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
    ++number;
  }
  return std::nullopt;
}

TextError syntax_error(Parser& parser, std::string_view text) {
  if (parser->error == YAML_READER_ERROR)
    return {position_of(text, parser->problem_offset),
            {},
            "control characters must be written as escapes in double quotes"};
  const Position position = to_position(parser->problem_mark);
  if (const auto tab = find_indenting_tab(text, position))
    return {*tab, {}, "a tab may not be used as indentation"};
  std::string offence = parser->problem == nullptr ? "the text is not YAML" : parser->problem;
  if (parser->context != nullptr) offence += concat(" ", parser->context);
  return {position, {}, std::move(offence)};
}

// How much of the limits a node takes.
struct Extent {
  std::size_t nodes = 0;
  std::size_t bytes = 0;
  std::size_t depth = 0;
};

Extent extent_of(const YamlNode& node) {
  Extent extent{1, node.text.size(), 0};
  const auto add = [&](const YamlNode& child) {
    const Extent inner = extent_of(child);
    extent.nodes += inner.nodes;
    extent.bytes += inner.bytes;
    extent.depth = std::max(extent.depth, inner.depth);
  };
  for (const auto& item : node.items) add(item);
  for (const auto& entry : node.entries) {
    extent.bytes += entry.key.size();
    add(entry.value);
  }
  if (node.kind != YamlNode::Kind::kScalar) ++extent.depth;
  return extent;
}

// Puts nodes together from events. One frame per list or map that is not complete.
class Builder {
 public:
  explicit Builder(const YamlLimits& limits) : limits_(limits) {}

  // False once there is an error.
  bool take(const yaml_event_t& event) {
    const Position position = to_position(event.start_mark);
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        anchors_.clear();
        break;
      case YAML_SCALAR_EVENT:
        take_scalar(position, event.data.scalar);
        break;
      case YAML_ALIAS_EVENT:
        take_alias(position, name_of(event.data.alias.anchor));
        break;
      case YAML_SEQUENCE_START_EVENT:
        open(YamlNode::Kind::kList, position, event.data.sequence_start);
        break;
      case YAML_MAPPING_START_EVENT:
        open(YamlNode::Kind::kMap, position, event.data.mapping_start);
        break;
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        close();
        break;
      default:
        break;
    }
    return !error_;
  }

  [[nodiscard]] const std::optional<TextError>& error() const { return error_; }
  [[nodiscard]] std::vector<YamlNode>& documents() { return documents_; }

 private:
  struct Frame {
    YamlNode node;
    std::string anchor;
    std::size_t first_item = 0;  // of its own among those of all frames
    std::size_t first_entry = 0;
    bool awaits_value = false;  // a map whose last entry has a key only
  };

  [[nodiscard]] bool awaits_key() const {
    return !frames_.empty() && frames_.back().node.kind == YamlNode::Kind::kMap &&
           !frames_.back().awaits_value;
  }

  template <class Scalar>
  void take_scalar(Position position, const Scalar& scalar) {
    YamlNode node;
    node.position = position;
    node.style = style_of(scalar.style);
    node.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
    apply_tag(node, name_of(scalar.tag));
    if (!error_) take(std::move(node), name_of(scalar.anchor), Extent{1, 0, 0});
  }

  // Tags that say what the node is anyway are accepted, and those that make a scalar a string.
  void apply_tag(YamlNode& node, std::string_view tag) {
    if (tag.empty()) return;
    if (tag == "!") {
      if (node.style == YamlNode::Style::kPlain) node.style = YamlNode::Style::kQuoted;
      return;
    }
    struct Row {
      std::string_view name;
      YamlNode::Kind kind;
      YamlType type;
    };
    constexpr std::array<Row, 7> kTags{{
        {"str", YamlNode::Kind::kScalar, YamlType::kString},
        {"null", YamlNode::Kind::kScalar, YamlType::kNull},
        {"bool", YamlNode::Kind::kScalar, YamlType::kBoolean},
        {"int", YamlNode::Kind::kScalar, YamlType::kNumber},
        {"float", YamlNode::Kind::kScalar, YamlType::kNumber},
        {"seq", YamlNode::Kind::kList, YamlType::kNull},
        {"map", YamlNode::Kind::kMap, YamlType::kNull},
    }};
    const auto* row = std::find_if(kTags.begin(), kTags.end(), [&](const Row& candidate) {
      return tag.starts_with(kCoreTag) && tag.substr(kCoreTag.size()) == candidate.name;
    });
    if (row == kTags.end())
      return refuse(node.position, concat("the tag '", tag, "' is not supported"));
    if (node.kind == YamlNode::Kind::kScalar && row->type == YamlType::kString) {
      if (node.style == YamlNode::Style::kPlain) node.style = YamlNode::Style::kQuoted;
      return;
    }
    const bool fits = node.kind == row->kind && (node.kind != YamlNode::Kind::kScalar ||
                                                 type_of_plain(node.text) == row->type);
    if (!fits) return refuse(node.position, concat("the tag '!!", row->name, "' does not fit"));
    node.style = YamlNode::Style::kPlain;
  }

  void take_alias(Position position, std::string_view name) {
    const auto anchor = anchors_.find(name);
    if (anchor == anchors_.end())
      return refuse(position, concat("the alias '*", name, "' names no anchor before it"));
    const Extent extent = extent_of(anchor->second);
    if (frames_.size() + extent.depth > limits_.max_depth) return refuse_depth(position);
    YamlNode copy = anchor->second;
    copy.position = position;
    take(std::move(copy), {}, extent);
  }

  template <class Start>
  void open(YamlNode::Kind kind, Position position, const Start& start) {
    Frame frame;
    frame.node.kind = kind;
    frame.node.position = position;
    frame.anchor = name_of(start.anchor);
    frame.first_item = items_.size();
    frame.first_entry = entries_.size();
    if (awaits_key()) return refuse(frame.node.position, "a key must be a scalar");
    if (frames_.size() >= limits_.max_depth) return refuse_depth(frame.node.position);
    apply_tag(frame.node, name_of(start.tag));
    frames_.push_back(std::move(frame));
  }

  void close() {
    YamlNode& node = frames_.back().node;
    node.items = take_last(items_, frames_.back().first_item);
    node.entries = take_last(entries_, frames_.back().first_entry);
    refuse_duplicate(node);
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (!error_) take(std::move(frame.node), frame.anchor, Extent{1, 0, 0});
  }

  // Into a vector that is as large as need be.
  template <class T>
  static std::vector<T> take_last(std::vector<T>& from, std::size_t first) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<T> taken(std::make_move_iterator(begin), std::make_move_iterator(from.end()));
    from.erase(begin, from.end());
    return taken;
  }

  // Puts a complete node where it belongs.
  void take(YamlNode node, std::string_view anchor, Extent extent) {
    if (node.kind == YamlNode::Kind::kScalar) extent.bytes = node.text.size();
    if (!anchor.empty()) {
      const Extent copied = extent_of(node);  // the copy that is kept for aliases counts as well
      extent.nodes += copied.nodes;
      extent.bytes += copied.bytes;
      anchors_.insert_or_assign(std::string(anchor), node);
    }
    nodes_ += extent.nodes;
    bytes_ += extent.bytes;
    if (nodes_ > limits_.max_nodes)
      return refuse(node.position,
                    concat("the text has more than ", std::to_string(limits_.max_nodes),
                           " nodes, copies by aliases included"));
    if (bytes_ > limits_.max_bytes)
      return refuse(node.position,
                    concat("the scalars have more than ", std::to_string(limits_.max_bytes),
                           " bytes, copies by aliases included"));

    if (frames_.empty()) {
      documents_.push_back(std::move(node));
    } else if (awaits_key()) {
      if (node.kind != YamlNode::Kind::kScalar)
        return refuse(node.position, "a key must be a scalar");
      const YamlType type = resolve(node);
      entries_.push_back({std::move(node.text), node.position, {}, type});
      frames_.back().awaits_value = true;
    } else if (frames_.back().node.kind == YamlNode::Kind::kMap) {
      entries_.back().value = std::move(node);
      frames_.back().awaits_value = false;
    } else {
      items_.push_back(std::move(node));
    }
  }

  // Sorting finds equal keys in n log n whatever the keys are; a hash table would not.
  void refuse_duplicate(const YamlNode& map) {
    std::vector<const YamlEntry*> sorted;
    sorted.reserve(map.entries.size());
    for (const auto& entry : map.entries) sorted.push_back(&entry);
    const auto before = [](const YamlEntry* a, const YamlEntry* b) {
      const int order = a->key.compare(b->key);
      return order != 0 ? order < 0 : std::less<>()(a, b);
    };
    std::sort(sorted.begin(), sorted.end(), before);
    const auto twice =
        std::adjacent_find(sorted.begin(), sorted.end(),
                           [](const auto* a, const auto* b) { return a->key == b->key; });
    if (twice == sorted.end()) return;
    const YamlEntry& first = **twice;
    refuse((*std::next(twice))->position, concat("duplicate entry with key \"", first.key,
                                                 "\", first at ", to_string(first.position)));
  }

  void refuse_depth(Position position) {
    refuse(position, concat("nested deeper than ", std::to_string(limits_.max_depth), " levels"));
  }

  void refuse(Position position, std::string offence) {
    error_ = TextError{position, path(), std::move(offence)};
  }

  // Where in the document the reader is: the open keys and indices. Deep paths help nobody.
  [[nodiscard]] Path path() const {
    constexpr std::size_t kMaxSegments = 16;
    Path path;
    for (std::size_t i = 0; i < frames_.size() && path.segments.size() < kMaxSegments; ++i) {
      const Frame& frame = frames_[i];
      const bool is_last = i + 1 == frames_.size();
      const std::size_t items = is_last ? items_.size() : frames_[i + 1].first_item;
      const std::size_t entries = is_last ? entries_.size() : frames_[i + 1].first_entry;
      if (frame.node.kind == YamlNode::Kind::kList)
        path.segments.push_back(std::to_string(items - frame.first_item));
      else if (frame.awaits_value)
        path.segments.push_back(entries_[entries - 1].key);
    }
    return path;
  }

  const YamlLimits& limits_;
  std::vector<Frame> frames_;
  // Of all open lists and maps, the innermost last: a frame's own are put together once it is complete.
  std::vector<YamlNode> items_;
  std::vector<YamlEntry> entries_;
  std::map<std::string, YamlNode, std::less<>> anchors_;
  std::vector<YamlNode> documents_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  std::optional<TextError> error_;
};

// Reads until the end, or until a document more than `max_documents` begins.
Parsed<std::vector<YamlNode>> parse(std::string_view text, const YamlLimits& limits,
                                    std::size_t max_documents) {
  if (auto error = unreadable(text, limits)) return misparsed(*std::move(error));

  Parser parser(text);
  Builder builder(limits);
  for (;;) {
    const Event event(parser);
    if (!event.read()) return misparsed(syntax_error(parser, text));
    if (event->type == YAML_STREAM_END_EVENT) return std::move(builder.documents());
    if (event->type == YAML_DOCUMENT_START_EVENT && builder.documents().size() == max_documents)
      return misparsed(to_position(event->start_mark),
                       "a second document begins here, expected only one");
    if (!builder.take(*event)) return misparsed(*builder.error());
  }
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const YamlEntry& candidate) { return candidate.key == key; });
  return entry == entries.end() ? nullptr : &entry->value;
}

YamlType resolve(const YamlNode& scalar) {
  return scalar.style == YamlNode::Style::kPlain ? type_of_plain(scalar.text) : YamlType::kString;
}

std::string_view kind(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
    case YamlNode::Kind::kScalar:
      break;
  }
  return kind(resolve(node));
}

Parsed<YamlNode> parse_yaml(std::string_view text, const YamlLimits& limits) {
  auto documents = parse(text, limits, 1);
  if (!documents) return misparsed(std::move(documents).error());
  return documents->empty() ? YamlNode{} : std::move(documents->front());
}

Parsed<std::vector<YamlNode>> parse_yaml_documents(std::string_view text,
                                                   const YamlLimits& limits) {
  return parse(text, limits, limits.max_nodes);
}

Parsed<Tree> to_tree(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kList) {
    Tree::List list;
    for (const auto& item : node.items) {
      auto tree = to_tree(item);
      if (!tree) return tree;
      list.push_back(*std::move(tree));
    }
    return Tree(std::move(list));
  }
  if (node.kind == YamlNode::Kind::kMap) {
    Tree::Map map;
    for (const auto& entry : node.entries) {
      auto tree = to_tree(entry.value);
      if (!tree) return tree;
      map = map.set(entry.key, *std::move(tree));
    }
    return Tree(std::move(map));
  }
  switch (resolve(node)) {
    case YamlType::kNull:
      return Tree();
    case YamlType::kBoolean:
      return Tree(node.text[0] == 't' || node.text[0] == 'T');
    case YamlType::kNumber:
      if (const auto value = unsigned_value(node.text)) return Tree(*value);
      return misparsed(node.position, concat("the number ", node.text,
                                             " is not supported, only integers from 0 to "
                                             "18446744073709551615 are"));
    case YamlType::kString:
      break;
  }
  return Tree(node.text);
}

}  // namespace tiphys
