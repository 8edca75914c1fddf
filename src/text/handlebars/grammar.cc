#include "text/handlebars/grammar.h"

#include <array>
#include <utility>

#include "base/strings.h"

namespace tiphys::handlebars {

namespace {

using GivenUp = Recogniser<Rule>::GivenUp;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
// Bytes above 127 belong to characters outside ASCII, all of which may be part of a name.
bool is_name_character(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("-_$:").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) > 127;
}
bool is_partial_name_character(char c) { return is_name_character(c) || c == '.' || c == '/'; }

// Each function is a rule of the grammar and answers whether the text matched.
class Grammar {
 public:
  Grammar(std::string_view source, const Limits& limits)
      : in_(source, limits.steps, limits.depth) {}

  bool whole() { return template_() && in_.at_end(); }
  [[nodiscard]] const Recogniser<Rule>& recogniser() const { return in_; }

 private:
  // --- words ---

  bool text(std::string_view text) { return in_.text(text); }
  bool space() { return in_.space(); }
  template <class Is>
  bool characters(Is is) {
    const std::string_view rest = in_.rest();
    std::size_t length = 0;
    while (length < rest.size() && is(rest[length])) ++length;
    return length > 0 && in_.advance(length);
  }
  template <class Body>
  bool atomic(Rule rule, Body body) {
    return in_.rule(rule, [&] { return in_.in(Mode::kAtomic, body); });
  }
  template <class Body>
  bool spaced(Rule rule, Body body) {
    return in_.in(Mode::kSpaced,
                  [&] { return in_.rule(rule, [&] { return in_.sequence(body); }); });
  }

  bool keywords() {
    return in_.rule(Rule::kKeywords, [&] { return text("as") || text("else"); });
  }
  bool keyword_alone() {
    return in_.sequence([&] {
      return keywords() && space() && in_.not_ahead([&] { return characters(is_name_character); });
    });
  }
  bool identifier() {
    return atomic(Rule::kIdentifier, [&] { return characters(is_name_character); });
  }
  bool quoted(char open, char close) {
    const std::string_view rest = in_.rest();
    if (rest.empty() || rest[0] != open) return false;
    const std::size_t end = rest.find(close, 1);
    return end != std::string_view::npos && end > 1 && in_.advance(end + 1);
  }
  bool partial_identifier() {
    return atomic(Rule::kPartialIdentifier, [&] {
      return characters(is_partial_name_character) || quoted('[', ']') || quoted('\'', '\'');
    });
  }

  // --- literals ---

  bool string_in(char quote) {
    const std::string_view rest = in_.rest();
    if (rest.empty() || rest[0] != quote) return false;
    std::size_t at = 1;
    while (at < rest.size() && rest[at] != quote) {
      if (rest[at] != '\\') {
        ++at;
        continue;
      }
      const char escaped = at + 1 < rest.size() ? rest[at + 1] : '\0';
      if (escaped == 'u') {
        for (std::size_t digit = at + 2; digit < at + 6; ++digit)
          if (digit >= rest.size() || !is_hex_digit(rest[digit])) return false;
        at += 6;
      } else if (escaped == quote ||
                 (escaped != '\0' &&
                  std::string_view("\\/bfnrt").find(escaped) != std::string_view::npos)) {
        at += 2;
      } else {
        return false;
      }
    }
    return at < rest.size() && in_.advance(at + 1);
  }
  bool string_literal() {
    return atomic(Rule::kStringLiteral, [&] { return string_in('"') || string_in('\''); });
  }
  bool number_literal() {
    return atomic(Rule::kNumberLiteral, [&] {
      const std::string_view rest = in_.rest();
      std::size_t at = rest.starts_with('-') ? 1 : 0;
      const auto digits = [&] {
        const std::size_t begin = at;
        while (at < rest.size() && is_digit(rest[at])) ++at;
        return at > begin;
      };
      if (!digits()) return false;
      if (at < rest.size() && rest[at] == '.') {
        ++at;
        digits();
      }
      if (at < rest.size() && rest[at] == 'E') {
        const std::size_t before = at++;
        if (at < rest.size() && rest[at] == '-') ++at;
        if (!digits()) at = before;
      }
      const bool ends = at == rest.size() || !is_name_character(rest[at]);
      return ends && in_.advance(at);
    });
  }
  bool word_literal(Rule rule, std::string_view word) {
    return atomic(rule, [&] {
      return in_.sequence(
          [&] { return text(word) && (in_.at_end() || !is_name_character(in_.rest()[0])); });
    });
  }
  template <class Item>
  bool list_of(std::string_view open, Item item, std::string_view close) {
    return in_.sequence([&] {
      return text(open) && space() && in_.optional(item) && space() && in_.repeat([&] {
        return in_.sequence([&] { return text(",") && space() && item(); });
      }) && space() &&
             text(close);
    });
  }
  bool array_literal() {
    return in_.rule(Rule::kArrayLiteral,
                    [&] { return list_of("[", [&] { return literal(); }, "]"); });
  }
  bool object_literal() {
    return in_.rule(Rule::kObjectLiteral, [&] {
      const auto entry = [&] {
        return in_.sequence(
            [&] { return string_literal() && space() && text(":") && space() && literal(); });
      };
      return list_of("{", entry, "}");
    });
  }
  bool literal() {
    return in_.rule(Rule::kLiteral, [&] {
      return in_.nested([&] {
        return string_literal() || array_literal() || object_literal() || number_literal() ||
               word_literal(Rule::kNullLiteral, "null") ||
               word_literal(Rule::kBooleanLiteral, "true") ||
               word_literal(Rule::kBooleanLiteral, "false");
      });
    });
  }

  // --- paths ---

  bool path_id() {
    return atomic(Rule::kPathId, [&] {
      return characters(is_name_character) || in_.sequence([&] {
        if (!text("[")) return false;
        const std::size_t end = in_.rest().find(']');
        return end != std::string_view::npos && in_.advance(end + 1);
      });
    });
  }
  bool path_separator() { return text("/") || text("."); }
  bool path_up() {
    return in_.rule(Rule::kPathUp, [&] { return text(".."); });
  }
  bool path() {
    return in_.in(Mode::kTight, [&] {
      return in_.rule(Rule::kPathInline, [&] {
        return in_.sequence([&] {
          in_.sequence([&] { return text("this") && path_separator(); }) || text("./");
          in_.sequence([&] {
            return in_.rule(Rule::kPathRoot, [&] { return text("@root"); }) && path_separator();
          });
          in_.rule(Rule::kPathLocal, [&] { return text("@"); });
          while (in_.sequence([&] { return path_up() && path_separator(); })) {
          }
          if (!path_id()) return false;
          while (in_.sequence([&] { return path_separator() && path_id(); })) {
          }
          return true;
        });
      });
    });
  }

  // --- what stands in tags ---

  bool parameter() {
    return in_.rule(Rule::kHelperParameter, [&] {
      return in_.sequence([&] {
        return in_.not_ahead([&] { return keyword_alone(); }) && space() &&
               (literal() || path() || subexpression());
      });
    });
  }
  bool hash() {
    return in_.rule(Rule::kHash, [&] {
      return in_.sequence(
          [&] { return identifier() && space() && text("=") && space() && parameter(); });
    });
  }
  bool arguments() {
    return in_.repeat([&] { return hash() || parameter(); });
  }
  bool some_arguments() {
    return (hash() || parameter()) && in_.sequence([&] { return space() && arguments(); });
  }
  bool block_param() {
    return in_.rule(Rule::kBlockParam, [&] {
      return in_.sequence([&] {
        return text("as") && space() && text("|") && space() && identifier() && space() &&
               in_.optional([&] { return identifier(); }) && space() && text("|");
      });
    });
  }
  bool named_call() {
    return identifier() && space() && arguments() && space() &&
           in_.optional([&] { return block_param(); });
  }
  bool call_with_arguments() {
    return in_.sequence([&] { return identifier() && space() && some_arguments(); });
  }
  bool subexpression() {
    return in_.rule(Rule::kSubexpression, [&] {
      return in_.nested([&] {
        return in_.sequence([&] {
          return text("(") && space() && (call_with_arguments() || path()) && space() && text(")");
        });
      });
    });
  }
  bool name() { return subexpression() || path(); }

  // --- tags ---

  bool leading_tilde() {
    return in_.optional([&] { return in_.rule(Rule::kLeadingTilde, [&] { return text("~"); }); });
  }
  bool trailing_tilde() {
    return in_.optional([&] { return in_.rule(Rule::kTrailingTilde, [&] { return text("~"); }); });
  }
  // Tags begin and end alike: {{~ and a sign, or sign and ~}}.
  bool open(std::string_view braces, std::string_view sign, std::string_view second_sign = "") {
    return text(braces) && space() && leading_tilde() && space() && text(sign) && space() &&
           text(second_sign) && space();
  }
  bool close(std::string_view braces) {
    return space() && trailing_tilde() && space() && text(braces);
  }

  bool expression() {
    return spaced(Rule::kExpression, [&] {
      return in_.not_ahead([&] { return invert_tag() || invert_chain_tag(); }) && space() &&
             open("{{", "") && (call_with_arguments() || name()) && close("}}");
    });
  }
  bool html_expression() {
    return in_.in(Mode::kSpaced, [&] {
      return in_.rule(Rule::kHtmlExpression, [&] {
        return in_.sequence([&] {
          return open("{{{", "") && (call_with_arguments() || name()) && close("}}}");
        }) || in_.sequence([&] {
          return open("{{", "{") && (call_with_arguments() || name()) && space() && text("}") &&
                 close("}}");
        }) || in_.sequence([&] { return open("{{", "&") && name() && close("}}"); });
      });
    });
  }
  bool decorator_expression() {
    return spaced(Rule::kDecoratorExpression,
                  [&] { return open("{{", "*") && named_call() && close("}}"); });
  }
  bool partial_call() { return (partial_identifier() || name()) && space() && arguments(); }
  bool partial_expression() {
    return spaced(Rule::kPartialExpression,
                  [&] { return open("{{", ">") && partial_call() && close("}}"); });
  }
  bool invert_tag_item() {
    return in_.rule(Rule::kInvertTagItem, [&] { return text("else") || text("^"); });
  }
  bool invert_tag() {
    return spaced(Rule::kInvertTag,
                  [&] { return open("{{", "") && invert_tag_item() && close("}}"); });
  }
  bool invert_chain_tag() {
    return spaced(Rule::kInvertChainTag, [&] {
      return open("{{", "") && invert_tag_item() && space() && named_call() && close("}}");
    });
  }
  bool block_start(Rule rule, std::string_view second_sign) {
    return spaced(rule,
                  [&] { return open("{{", "#", second_sign) && named_call() && close("}}"); });
  }
  bool block_end(Rule rule) {
    return spaced(rule, [&] {
      return open("{{", "/") && in_.optional([&] { return identifier(); }) && close("}}");
    });
  }

  // --- blocks ---

  bool helper_block() {
    return in_.sequence([&] {
      return block_start(Rule::kHelperBlockStart, "") && template_() && chain() &&
             block_end(Rule::kHelperBlockEnd);
    });
  }
  // {{else if x}}… as often as one likes, then {{else}}…; what follows a link is inside it.
  bool chain() {
    const bool linked = in_.sequence(
        [&] { return invert_chain_tag() && template_() && in_.nested([&] { return chain(); }); });
    return linked ||
           in_.optional([&] { return in_.sequence([&] { return invert_tag() && template_(); }); });
  }
  bool decorator_block() {
    return in_.sequence([&] {
      return block_start(Rule::kDecoratorBlockStart, "*") && template_() &&
             block_end(Rule::kDecoratorBlockEnd);
    });
  }
  bool partial_block() {
    return in_.sequence([&] {
      return spaced(Rule::kPartialBlockStart,
                    [&] { return open("{{", "#", ">") && partial_call() && close("}}"); }) &&
             template_() && spaced(Rule::kPartialBlockEnd, [&] {
               return open("{{", "/") && in_.optional([&] { return partial_identifier(); }) &&
                      close("}}");
             });
    });
  }
  bool raw_block_end() {
    return spaced(Rule::kRawBlockEnd, [&] {
      return open("{{{{", "/") && in_.optional([&] { return identifier(); }) && close("}}}}");
    });
  }
  bool raw_block() {
    return in_.sequence([&] {
      return spaced(Rule::kRawBlockStart,
                    [&] { return open("{{{{", "") && named_call() && close("}}}}"); }) &&
             in_.in(Mode::kSpaced, [&] { return space(); }) && raw_block_text() && raw_block_end();
    });
  }

  // --- text ---

  bool escape() {
    return atomic(Rule::kEscape, [&] {
      const std::string_view rest = in_.rest();
      if (rest.starts_with("\\{{{{")) return in_.advance(5);
      if (rest.starts_with("\\{{")) return in_.advance(3);
      const std::size_t end = rest.find_first_not_of('\\');
      return end != std::string_view::npos && end > 1 && rest.substr(end).starts_with("{{") &&
             in_.advance(end);
    });
  }
  // Text up to the next braces; only braces and backslashes need a look.
  bool plain_text(std::string_view braces) {
    const std::string_view rest = in_.rest();
    if (rest.empty() || rest.starts_with(braces)) return false;
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != '\\' && !rest.substr(end).starts_with(braces)) ++end;
    return in_.advance(end);
  }
  bool raw_text() {
    return in_.rule(Rule::kRawText, [&] {
      const auto piece = [&] { return escape() || plain_text("{{"); };
      if (!piece()) return false;
      while (piece()) {
      }
      return true;
    });
  }
  bool raw_block_text() {
    return in_.rule(Rule::kRawBlockText, [&] {
      while (escape() || plain_text("{{{{")) {
      }
      return true;
    });
  }

  bool comment() {
    return in_.rule(Rule::kComment, [&] { return enclosed("{{!--", "--}}"); });
  }
  bool compact_comment() {
    return in_.rule(Rule::kCompactComment, [&] { return enclosed("{{!", "}}"); });
  }
  bool enclosed(std::string_view begin, std::string_view end) {
    if (!in_.sees(begin)) return false;
    const std::size_t at = in_.rest().find(end, begin.size());
    return at != std::string_view::npos && in_.advance(at + end.size());
  }

  bool template_() {
    return in_.in(Mode::kTight, [&] {
      return in_.rule(Rule::kTemplate, [&] {
        return in_.nested([&] {
          while (raw_text() || expression() || html_expression() || helper_block() || raw_block() ||
                 decorator_expression() || decorator_block() || partial_expression() ||
                 partial_block() || comment() || compact_comment()) {
          }
          return in_.given_up() == GivenUp::kNo;
        });
      });
    });
  }

  Recogniser<Rule> in_;
};

std::string listed(const std::vector<Rule>& rules) {
  std::string text(to_string(rules[0]));
  for (std::size_t i = 1; i < rules.size(); ++i) {
    const bool last = i + 1 == rules.size();
    text += rules.size() > 2 ? (last ? ", or " : ", ") : " or ";
    text += to_string(rules[i]);
  }
  return text;
}

std::string offence(const Recogniser<Rule>& recogniser) {
  const auto expected = recogniser.expected();
  const auto unexpected = recogniser.unexpected();
  if (expected.empty() && unexpected.empty()) return "unknown parsing error";
  if (unexpected.empty()) return "expected " + listed(expected);
  if (expected.empty()) return "unexpected " + listed(unexpected);
  return concat("unexpected ", listed(unexpected), "; expected ", listed(expected));
}

}  // namespace

std::string_view to_string(Rule rule) {
  constexpr auto kNames = std::to_array<std::string_view>({
      "keywords",
      "escape",
      "raw_text",
      "raw_block_text",
      "literal",
      "null_literal",
      "boolean_literal",
      "number_literal",
      "string_literal",
      "array_literal",
      "object_literal",
      "identifier",
      "partial_identifier",
      "helper_parameter",
      "hash",
      "block_param",
      "subexpression",
      "leading_tilde_to_omit_whitespace",
      "trailing_tilde_to_omit_whitespace",
      "expression",
      "html_expression",
      "decorator_expression",
      "partial_expression",
      "invert_tag_item",
      "invert_tag",
      "invert_chain_tag",
      "helper_block_start",
      "helper_block_end",
      "decorator_block_start",
      "decorator_block_end",
      "partial_block_start",
      "partial_block_end",
      "raw_block_start",
      "raw_block_end",
      "hbs_comment",
      "hbs_comment_compact",
      "template",
      "path_id",
      "path_up",
      "path_root",
      "path_local",
      "path_inline",
  });
  return kNames.at(static_cast<std::size_t>(rule));
}

tl::expected<Matches, SyntaxError> recognise(std::string_view source, const Limits& limits) {
  Grammar grammar(source, limits);
  if (grammar.whole()) return grammar.recogniser().matches();
  const auto& recogniser = grammar.recogniser();
  switch (recogniser.given_up()) {
    case GivenUp::kTooManyMatches:
      return tl::unexpected(SyntaxError{recogniser.furthest(), "the template has too many parts"});
    case GivenUp::kTooDeep:
      return tl::unexpected(SyntaxError{
          recogniser.furthest(), "blocks, subexpressions or literals are nested too deeply"});
    case GivenUp::kNo:
      break;
  }
  return tl::unexpected(
      SyntaxError{recogniser.furthest(), "invalid handlebars syntax: " + offence(recogniser)});
}

}  // namespace tiphys::handlebars
