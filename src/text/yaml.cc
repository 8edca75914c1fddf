#include "text/yaml.h"

#include <libfyaml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/strings.h"

namespace tiphys {
namespace {

// libfyaml looks through all tag directives for each new one. Nobody needs more than a few.
constexpr std::size_t kMaxTagDirectives = 100;

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

struct Destroy {
  void operator()(fy_parser* parser) const { fy_parser_destroy(parser); }
  void operator()(fy_diag* diagnostics) const { fy_diag_destroy(diagnostics); }
};

struct FreeEvent {
  fy_parser* parser;
  void operator()(fy_event* event) const { fy_parser_event_free(parser, event); }
};
using EventPtr = std::unique_ptr<fy_event, FreeEvent>;

// Errors are collected; what the library would print goes nowhere.
fy_diag* collecting_diagnostics() {
  fy_diag_cfg config;
  fy_diag_cfg_default(&config);
  config.fp = nullptr;
  config.output_fn = [](fy_diag*, void*, const char*, std::size_t) {};
  config.level = FYET_ERROR;
  config.colorize = false;
  fy_diag* diagnostics = fy_diag_create(&config);
  TIPHYS_CHECK(diagnostics != nullptr, "out of memory");
  fy_diag_set_collect_errors(diagnostics, true);
  return diagnostics;
}

std::string_view text_of(fy_token* token) {
  std::size_t size = 0;
  const char* text = token == nullptr ? nullptr : fy_token_get_text(token, &size);
  return text == nullptr ? std::string_view() : std::string_view(text, size);
}

Position start_of(fy_token* token, Position otherwise) {
  const fy_mark* mark = token == nullptr ? nullptr : fy_token_start_mark(token);
  if (mark == nullptr) return otherwise;
  return {static_cast<std::size_t>(mark->line) + 1, static_cast<std::size_t>(mark->column) + 1};
}

YamlNode::Style style_of(fy_token* token) {
  switch (token == nullptr ? FYSS_PLAIN : fy_token_scalar_style(token)) {
    case FYSS_SINGLE_QUOTED:
    case FYSS_DOUBLE_QUOTED:
      return YamlNode::Style::kQuoted;
    case FYSS_LITERAL:
    case FYSS_FOLDED:
      return YamlNode::Style::kBlock;
    default:
      return YamlNode::Style::kPlain;
  }
}

// A control character, or one of the two code points that are no characters. libfyaml would take a
// zero byte for the end of the text.
std::optional<std::size_t> find_unprintable(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned c = byte(i);
    const bool ascii_control = (c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    const bool latin_control =
        c == 0xc2 && byte(i + 1) < 0xa0 && byte(i + 1) != 0x85;  // U+0085 is a line break
    const bool no_character = c == 0xef && byte(i + 1) == 0xbf && byte(i + 2) >= 0xbe;
    if (ascii_control || latin_control || no_character) return i;
  }
  return std::nullopt;
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

// What libfyaml need not be asked about, because it would misread it or take too long.
std::optional<TextError> unreadable(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes)
    return TextError{{},
                     {},
                     concat("the text has ", std::to_string(text.size()), " bytes, more than ",
                            std::to_string(limits.max_bytes), " are not read")};
  const auto at = [&](std::size_t offset, std::string_view offence) {
    return TextError{position_of(text, offset), {}, std::string(offence)};
  };
  if (const std::size_t end = valid_utf8_prefix(text); end < text.size())
    return at(end, "the text is not valid UTF-8");
  if (const auto offset = find_unprintable(text))
    return at(*offset, "control characters must be written as escapes in double quotes");
  if (const auto offset = find_surplus_tag_directive(text))
    return at(*offset, "too many tag directives");
  return std::nullopt;
}

// libfyaml finds a tab in the indentation only in some places; in others it speaks of something
// else at the end of the line before, or where the line's content begins.
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

TextError syntax_error(fy_diag* diagnostics, std::string_view text) {
  void* iterator = nullptr;
  const fy_diag_error* error = fy_diag_errors_iterate(diagnostics, &iterator);
  if (error == nullptr || error->line < 1) return {{}, {}, "the text is not YAML"};
  const Position position{static_cast<std::size_t>(error->line),
                          static_cast<std::size_t>(std::max(error->column, 1))};
  if (const auto tab = find_indenting_tab(text, position))
    return {*tab, {}, "a tab may not be used as indentation"};
  return {position, {}, error->msg};
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
  bool take(const fy_event& event) {
    switch (event.type) {
      case FYET_DOCUMENT_START:
        mark(event.document_start.document_start);
        anchors_.clear();
        break;
      case FYET_SCALAR:
        take_scalar(event.scalar);
        break;
      case FYET_ALIAS:
        take_alias(event.alias.anchor);
        break;
      case FYET_SEQUENCE_START:
        open(YamlNode::Kind::kList, event.sequence_start.sequence_start,
             event.sequence_start.anchor, event.sequence_start.tag);
        break;
      case FYET_MAPPING_START:
        open(YamlNode::Kind::kMap, event.mapping_start.mapping_start, event.mapping_start.anchor,
             event.mapping_start.tag);
        break;
      case FYET_SEQUENCE_END:
      case FYET_MAPPING_END:
        close();
        break;
      default:
        break;
    }
    return !error_;
  }

  [[nodiscard]] const std::optional<TextError>& error() const { return error_; }
  [[nodiscard]] std::vector<YamlNode>& documents() { return documents_; }
  [[nodiscard]] Position last_mark() const { return last_mark_; }

 private:
  struct Frame {
    YamlNode node;
    std::string anchor;
    bool awaits_value = false;  // a map whose last entry has a key only
  };

  [[nodiscard]] bool awaits_key() const {
    return !frames_.empty() && frames_.back().node.kind == YamlNode::Kind::kMap &&
           !frames_.back().awaits_value;
  }

  // What is left out stands where the text before it stood. The library's marks leave out the sign
  // before a quoted text and an alias.
  Position mark(fy_token* token, std::size_t sign = 0) {
    if (token == nullptr) return last_mark_;
    last_mark_ = start_of(token, last_mark_);
    last_mark_.column -= std::min(sign, last_mark_.column - 1);
    return last_mark_;
  }

  void take_scalar(const fy_event_scalar_data& scalar) {
    YamlNode node;
    node.style = style_of(scalar.value);
    node.position = mark(scalar.value, node.style == YamlNode::Style::kQuoted ? 1 : 0);
    node.text = text_of(scalar.value);
    if (!is_valid_utf8(node.text))
      return refuse(node.position, "an escape does not stand for a character");
    apply_tag(node, scalar.tag);
    if (!error_) take(std::move(node), text_of(scalar.anchor), Extent{1, 0, 0});
  }

  // Tags that say what the node is anyway are accepted, and those that make a scalar a string.
  void apply_tag(YamlNode& node, fy_token* token) {
    if (token == nullptr) return;
    const std::string_view tag = text_of(token);
    if (tag.empty() || tag == "!") {
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

  void take_alias(fy_token* token) {
    const Position position = mark(token, 1);
    const std::string_view name = text_of(token);
    const auto anchor = anchors_.find(name);
    if (anchor == anchors_.end())
      return refuse(position, concat("the alias '*", name, "' names no anchor before it"));
    const Extent extent = extent_of(anchor->second);
    if (frames_.size() + extent.depth > limits_.max_depth) return refuse_depth(position);
    YamlNode copy = anchor->second;
    copy.position = position;
    take(std::move(copy), {}, extent);
  }

  void open(YamlNode::Kind kind, fy_token* start, fy_token* anchor, fy_token* tag) {
    Frame frame;
    frame.node.kind = kind;
    frame.node.position = mark(start);
    frame.anchor = text_of(anchor);
    if (awaits_key()) return refuse(frame.node.position, "a key must be a scalar");
    if (frames_.size() >= limits_.max_depth) return refuse_depth(frame.node.position);
    apply_tag(frame.node, tag);
    frames_.push_back(std::move(frame));
  }

  void close() {
    refuse_duplicate(frames_.back().node);
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    if (!error_) take(std::move(frame.node), frame.anchor, Extent{1, 0, 0});
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
      frames_.back().node.entries.push_back({std::move(node.text), node.position, {}});
      frames_.back().awaits_value = true;
    } else if (frames_.back().node.kind == YamlNode::Kind::kMap) {
      frames_.back().node.entries.back().value = std::move(node);
      frames_.back().awaits_value = false;
    } else {
      frames_.back().node.items.push_back(std::move(node));
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
    for (const auto& frame : frames_) {
      if (path.segments.size() == kMaxSegments) break;
      if (frame.node.kind == YamlNode::Kind::kList)
        path.segments.push_back(std::to_string(frame.node.items.size()));
      else if (frame.awaits_value)
        path.segments.push_back(frame.node.entries.back().key);
    }
    return path;
  }

  const YamlLimits& limits_;
  std::vector<Frame> frames_;
  std::map<std::string, YamlNode, std::less<>> anchors_;
  std::vector<YamlNode> documents_;
  Position last_mark_;
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
  std::optional<TextError> error_;
};

// Reads until the end, or until a document more than `max_documents` begins.
Parsed<std::vector<YamlNode>> parse(std::string_view text, const YamlLimits& limits,
                                    std::size_t max_documents) {
  if (auto error = unreadable(text, limits)) return misparsed(*std::move(error));

  const std::unique_ptr<fy_diag, Destroy> diagnostics(collecting_diagnostics());
  fy_parse_cfg config{};
  config.search_path = "";
  // The depth is limited by the builder.
  config.flags =
      static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_DISABLE_DEPTH_LIMIT | FYPCF_JSON_NONE);
  config.diag = diagnostics.get();
  const std::unique_ptr<fy_parser, Destroy> parser(fy_parser_create(&config));
  TIPHYS_CHECK(parser != nullptr, "out of memory");
  // A null pointer is not accepted, not even for an empty text.
  if (fy_parser_set_string(parser.get(), text.empty() ? "" : text.data(), text.size()) != 0)
    return misparsed(syntax_error(diagnostics.get(), text));

  Builder builder(limits);
  bool surplus = false;  // one document too many has begun, if only by a line with three dots
  for (;;) {
    const EventPtr event(fy_parser_parse(parser.get()), FreeEvent{parser.get()});
    if (event == nullptr) return misparsed(syntax_error(diagnostics.get(), text));
    if (event->type == FYET_STREAM_END) return std::move(builder.documents());
    const bool begins = event->type == FYET_DOCUMENT_START;
    surplus = surplus || (begins && builder.documents().size() == max_documents);
    if (!builder.take(*event)) return misparsed(*builder.error());
    if (surplus && (!begins || event->document_start.document_start != nullptr))
      return misparsed(builder.last_mark(), "a second document begins here, expected only one");
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
