#include "text/handlebars/parser.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "base/strings.h"
#include "text/handlebars/debug_text.h"
#include "text/handlebars/grammar.h"
#include "text/handlebars/source_excerpt.h"
#include "text/handlebars/standalone.h"

namespace tiphys::handlebars {

namespace {

template <class T>
using Outcome = tl::expected<T, std::string>;

#define TIPHYS_PARSE(declaration, expression) \
  TIPHYS_PARSE_(TIPHYS_CONCAT(outcome_, __LINE__), declaration, expression)
#define TIPHYS_PARSE_(outcome, declaration, expression)            \
  auto outcome = (expression);                                     \
  if (!outcome) return tl::unexpected(std::move(outcome).error()); \
  declaration = std::move(*outcome)

// Finds lines and columns of offsets that only grow.
class PlaceFinder {
 public:
  explicit PlaceFinder(std::string_view source) : source_(source) {}

  Place at(std::size_t offset) {
    for (; offset_ < std::min(offset, source_.size()); ++offset_) {
      const char c = source_[offset_];
      if (c == '\n') {
        ++place_.line;
        place_.column = 1;
      } else if ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U) {
        ++place_.column;
      }
    }
    return place_;
  }

 private:
  std::string_view source_;
  std::size_t offset_ = 0;
  Place place_;
};

// Walks through the matches of the grammar, which stand in the order of the text.
class Parser {
 public:
  Parser(std::string_view source, const Matches& matches)
      : source_(source), matches_(matches), places_(source) {}

  Outcome<TemplatePtr> whole() { return template_(); }

 private:
  // --- the matches ---

  [[nodiscard]] const Match<Rule>& current() const { return matches_[at_]; }
  // Is the current match inside the one that ends at `end`, and of that rule?
  [[nodiscard]] bool sees(Rule rule, std::size_t end) const {
    return at_ < end && matches_[at_].rule == rule;
  }
  bool take(Rule rule, std::size_t end) {
    if (!sees(rule, end)) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] std::string_view text_of(const Match<Rule>& match) const {
    return source_.substr(match.begin, match.end - match.begin);
  }

  // --- paths and parameters ---

  static std::string without_brackets(std::string_view segment) {
    if (segment.starts_with('[')) segment = segment.substr(1, segment.size() - 2);
    return std::string(segment);
  }

  Parameter path() {
    const Match<Rule>& match = current();
    bool local = false;
    Path path;
    path.text = text_of(match);
    for (++at_; at_ < match.next; ++at_) {
      const std::string_view piece = text_of(current());
      switch (current().rule) {
        case Rule::kPathRoot:
          path.from_root = true;
          break;
        case Rule::kPathUp:
          ++path.up;
          break;
        case Rule::kPathLocal:
          local = true;
          break;
        default:
          if (auto segment = without_brackets(piece); segment != "this")
            path.segments.push_back(std::move(segment));
      }
    }
    if (!local) return path;
    if (path.segments.empty()) {  // @this is `this`, also after ../
      path.up = 0;
      return path;
    }
    return Variable{.up = path.up, .name = path.segments[0], .text = path.text};
  }

  Outcome<Parameter> literal() {
    const Match<Rule>& match = current();
    at_ = match.next;
    auto value = parse_literal(text_of(match));
    if (!value)
      return tl::unexpected(
          concat("Failed to parse template invalid parameter ", quoted(text_of(match))));
    return Parameter(std::move(*value));
  }

  Outcome<Parameter> value() {
    switch (current().rule) {
      case Rule::kLiteral:
        return literal();
      case Rule::kSubexpression:
        return subexpression();
      default:
        return path();
    }
  }

  Outcome<Parameter> subexpression() {
    const std::size_t end = current().next;
    ++at_;
    auto call = std::make_unique<Call>();
    TIPHYS_PARSE(*call, this->call(end));
    at_ = end;
    return Parameter(std::move(call));
  }

  // The name and the arguments, up to what is none.
  Outcome<Call> call(std::size_t end) {
    Call call;
    if (sees(Rule::kIdentifier, end) || sees(Rule::kPartialIdentifier, end)) {
      call.name = std::string(text_of(current()));
      ++at_;
    } else {
      TIPHYS_PARSE(Parameter name, value());
      const auto* path = std::get_if<Path>(&name);
      if (path != nullptr && !path->from_root && path->up == 0 && path->segments.size() == 1 &&
          path->segments[0] == path->text)
        call.name = path->text;
      else
        call.name = std::move(name);
    }
    while (sees(Rule::kHash, end) || sees(Rule::kHelperParameter, end)) {
      const bool is_hash = current().rule == Rule::kHash;
      ++at_;
      std::string key;
      if (is_hash) {
        key = text_of(current());
        at_ += 2;  // the key, and the parameter that holds the value
      }
      TIPHYS_PARSE(Parameter argument, value());
      if (is_hash)
        call.hash.emplace_back(std::move(key), std::move(argument));
      else
        call.parameters.push_back(std::move(argument));
    }
    return call;
  }

  std::optional<BlockNames> block_names(std::size_t end) {
    if (!sees(Rule::kBlockParam, end)) return std::nullopt;
    const std::size_t names_end = current().next;
    BlockNames names{.first = std::string(text_of(matches_[at_ + 1])), .second = std::nullopt};
    if (at_ + 2 < names_end) names.second = text_of(matches_[at_ + 2]);
    at_ = names_end;
    return names;
  }

  // --- tags ---

  struct Tag {
    Place place;
    std::size_t begin;
    std::size_t end;
    std::size_t next;
    bool strips_before = false;
  };

  Tag open_tag() {
    const Match<Rule>& match = current();
    Tag tag{places_.at(match.begin), match.begin, match.end, match.next};
    ++at_;
    tag.strips_before = take(Rule::kLeadingTilde, tag.next);
    return tag;
  }
  // What stands before the tag has been read; what follows will be.
  void close_tag(const Tag& tag, std::vector<Element>& before, bool may_stand_alone) {
    const bool strips_after = at_ < tag.next && matches_[tag.next - 1].rule == Rule::kTrailingTilde;
    at_ = tag.next;
    const bool alone = may_stand_alone && stands_alone(source_, tag.begin, tag.end);
    if (auto* text = before.empty() ? nullptr : std::get_if<Text>(&before.back().content)) {
      if (tag.strips_before)
        trim_end(text->text);
      else if (alone)
        trim_blanks_at_end(text->text);
    }
    strip_space_ = strips_after;
    if (may_stand_alone) strip_line_ = alone;
  }

  Outcome<std::pair<Tag, Call>> opened(std::vector<Element>& before,
                                       std::optional<BlockNames>* names, bool may_stand_alone) {
    const Tag tag = open_tag();
    TIPHYS_PARSE(Call call, this->call(tag.next));
    auto found = block_names(tag.next);
    if (names != nullptr) *names = std::move(found);
    close_tag(tag, before, may_stand_alone);
    return std::pair(tag, std::move(call));
  }

  // The end of a block, whose name must be that of its beginning.
  Outcome<bool> closed(std::string_view kind, const Call& call, Template& body) {
    const Tag tag = open_tag();
    std::string closing;
    if (sees(Rule::kIdentifier, tag.next) || sees(Rule::kPartialIdentifier, tag.next))
      closing = text_of(current());
    const std::string opening = name_text(call);
    if (opening != closing)
      return tl::unexpected(template_error(
          source_, tag.place,
          concat(kind, " \"", opening, "\" was opened, but \"", closing, "\" is closing")));
    close_tag(tag, body.elements, true);
    return true;
  }

  // --- elements ---

  Element text() {
    const Match<Rule>& match = current();
    std::string text;
    std::size_t from = match.begin;
    for (++at_; at_ < match.next; ++at_) {
      text += source_.substr(from, current().begin - from);
      from = current().begin + 1;  // without the backslash
    }
    text += source_.substr(from, match.end - from);
    if (strip_space_) {
      strip_line_ = strip_line_ && text.find_first_not_of(" \t\r\n") == std::string::npos;
      trim_start(text);
    } else if (std::exchange(strip_line_, false)) {
      trim_line_at_start(text);
    }
    return {places_.at(match.begin), Text{std::move(text)}};
  }

  Outcome<Element> expression(std::vector<Element>& before) {
    TIPHYS_PARSE(auto tag, opened(before, nullptr, false));
    return Element{tag.first.place, Expression{std::move(tag.second)}};
  }

  Outcome<Element> decorator(std::vector<Element>& before) {
    TIPHYS_PARSE(auto tag, opened(before, nullptr, true));
    return Element{tag.first.place, Decorator{std::move(tag.second), nullptr}};
  }

  Outcome<Element> decorator_block(std::vector<Element>& before) {
    TIPHYS_PARSE(auto tag, opened(before, nullptr, true));
    TIPHYS_PARSE(auto body,
                 body_until([&](Template& t) { return closed("decorator", tag.second, t); }));
    return Element{tag.first.place, Decorator{std::move(tag.second), std::move(body)}};
  }

  Outcome<Element> partial(std::vector<Element>& before) {
    const std::size_t begin = current().begin;
    const std::size_t end = current().end;
    TIPHYS_PARSE(auto tag, opened(before, nullptr, true));
    Partial partial;
    partial.call = std::move(tag.second);
    if (!tag.first.strips_before) {
      partial.indent = blanks_before(source_, begin);
      partial.on_own_line = stands_alone(source_, begin, end);
    }
    return Element{tag.first.place, std::move(partial)};
  }

  Outcome<Element> partial_block(std::vector<Element>& before) {
    TIPHYS_PARSE(auto tag, opened(before, nullptr, true));
    TIPHYS_PARSE(auto body,
                 body_until([&](Template& t) { return closed("decorator", tag.second, t); }));
    return Element{tag.first.place, Partial{.call = std::move(tag.second),
                                            .body = std::move(body),
                                            .indent = {},
                                            .on_own_line = false}};
  }

  Outcome<Element> raw_block(std::vector<Element>& before) {
    std::optional<BlockNames> names;
    TIPHYS_PARSE(auto tag, opened(before, &names, true));
    Template body;
    body.elements.push_back(text());
    TIPHYS_PARSE([[maybe_unused]] bool done, closed("helper", tag.second, body));
    return Element{tag.first.place, Block{.call = std::move(tag.second),
                                          .names = std::move(names),
                                          .body = std::make_shared<const Template>(std::move(body)),
                                          .inverse = nullptr}};
  }

  template <class Close>
  Outcome<TemplatePtr> body_until(Close close) {
    TIPHYS_PARSE(Template body, elements());
    TIPHYS_PARSE([[maybe_unused]] bool done, close(body));
    return std::make_shared<const Template>(std::move(body));
  }

  // A link of a chain of {{else x}}, innermost last; `outer` is the call that {{/x}} closes.
  Outcome<Block> helper_block_from(Call call, std::optional<BlockNames> names, const Call* outer) {
    TIPHYS_PARSE(Template body, elements());
    Block block{
        .call = std::move(call), .names = std::move(names), .body = nullptr, .inverse = nullptr};
    if (outer == nullptr) outer = &block.call;
    if (sees(Rule::kInvertChainTag, matches_.size())) {
      const Tag tag = open_tag();
      if (tag.strips_before)
        return tl::unexpected(template_error(
            source_, tag.place,
            "there must be no ~ before the else of a chain; write {{else instead of {{~else"));
      ++at_;  // else
      TIPHYS_PARSE(Call next, this->call(tag.next));
      auto next_names = block_names(tag.next);
      close_tag(tag, body.elements, true);
      TIPHYS_PARSE(Block link, helper_block_from(std::move(next), std::move(next_names), outer));
      Template inverse;
      inverse.elements.push_back({std::nullopt, std::move(link)});
      block.inverse = std::make_shared<const Template>(std::move(inverse));
    } else if (sees(Rule::kInvertTag, matches_.size())) {
      close_tag(open_tag(), body.elements, true);
      TIPHYS_PARSE(block.inverse,
                   body_until([&](Template& t) { return closed("helper", *outer, t); }));
    } else {
      TIPHYS_PARSE([[maybe_unused]] bool done, closed("helper", *outer, body));
    }
    block.body = std::make_shared<const Template>(std::move(body));
    return block;
  }

  Outcome<Element> helper_block(std::vector<Element>& before) {
    std::optional<BlockNames> names;
    TIPHYS_PARSE(auto tag, opened(before, &names, true));
    TIPHYS_PARSE(Block block, helper_block_from(std::move(tag.second), std::move(names), nullptr));
    return Element{tag.first.place, std::move(block)};
  }

  void comment(std::vector<Element>& before) {
    const Match<Rule>& match = current();
    const bool alone = stands_alone(source_, match.begin, match.end);
    if (auto* text = before.empty() ? nullptr : std::get_if<Text>(&before.back().content);
        text != nullptr && alone)
      trim_blanks_at_end(text->text);
    strip_line_ = alone;
    before.push_back({std::nullopt, Text{}});
    ++at_;
  }

  // The elements of the template that begins here.
  Outcome<Template> elements() {
    TIPHYS_CHECK(current().rule == Rule::kTemplate, "the grammar has templates here");
    const std::size_t end = current().next;
    ++at_;
    Template result;
    auto& elements = result.elements;
    while (at_ < end) {
      Outcome<Element> element;
      switch (current().rule) {
        case Rule::kRawText:
          element = text();
          break;
        case Rule::kExpression:
        case Rule::kHtmlExpression:
          element = expression(elements);
          break;
        case Rule::kHelperBlockStart:
          element = helper_block(elements);
          break;
        case Rule::kRawBlockStart:
          element = raw_block(elements);
          break;
        case Rule::kDecoratorExpression:
          element = decorator(elements);
          break;
        case Rule::kDecoratorBlockStart:
          element = decorator_block(elements);
          break;
        case Rule::kPartialExpression:
          element = partial(elements);
          break;
        case Rule::kPartialBlockStart:
          element = partial_block(elements);
          break;
        default:
          comment(elements);
          continue;
      }
      if (!element) return tl::unexpected(std::move(element).error());
      elements.push_back(std::move(*element));
    }
    return result;
  }

  Outcome<TemplatePtr> template_() {
    TIPHYS_PARSE(Template whole, elements());
    return std::make_shared<const Template>(std::move(whole));
  }

  std::string_view source_;
  const Matches& matches_;
  PlaceFinder places_;
  std::size_t at_ = 0;
  // What the next text loses at its beginning. When nothing is left of a text without its white space, the line is taken
  // off a later one, even if there is an expression before it.
  bool strip_space_ = false;
  bool strip_line_ = false;
};

}  // namespace

tl::expected<TemplatePtr, std::string> parse(std::string_view source, const Limits& limits) {
  const auto matches = recognise(source, limits);
  if (!matches) {
    const Place place = PlaceFinder(source).at(matches.error().offset);
    return tl::unexpected(template_error(source, place, matches.error().reason));
  }
  return Parser(source, *matches).whole();
}

}  // namespace tiphys::handlebars
