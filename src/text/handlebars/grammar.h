#pragma once

// The grammar of templates. What a template consists of, as a list of matches in the order of the text, or why it is none.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "text/handlebars/handlebars.h"
#include "text/handlebars/recogniser.h"

namespace tiphys::handlebars {

// In the order in which errors list them.
enum class Rule : std::uint8_t {
  kKeywords,
  kEscape,
  kRawText,
  kRawBlockText,
  kLiteral,
  kNullLiteral,
  kBooleanLiteral,
  kNumberLiteral,
  kStringLiteral,
  kArrayLiteral,
  kObjectLiteral,
  kIdentifier,
  kPartialIdentifier,
  kHelperParameter,
  kHash,
  kBlockParam,
  kSubexpression,
  kLeadingTilde,
  kTrailingTilde,
  kExpression,
  kHtmlExpression,
  kDecoratorExpression,
  kPartialExpression,
  kInvertTagItem,
  kInvertTag,
  kInvertChainTag,
  kHelperBlockStart,
  kHelperBlockEnd,
  kDecoratorBlockStart,
  kDecoratorBlockEnd,
  kPartialBlockStart,
  kPartialBlockEnd,
  kRawBlockStart,
  kRawBlockEnd,
  kComment,
  kCompactComment,
  kTemplate,
  kPathId,
  kPathUp,
  kPathRoot,
  kPathLocal,
  kPathInline,
};

// As errors call it.
std::string_view to_string(Rule rule);

using Matches = std::vector<Match<Rule>>;

struct SyntaxError {
  std::size_t offset;  // in bytes
  std::string reason;
};

// The first match is the whole template.
tl::expected<Matches, SyntaxError> recognise(std::string_view source, const Limits& limits);

}  // namespace tiphys::handlebars
