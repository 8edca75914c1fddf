#pragma once

// Templates in the Handlebars language: text with {{expressions}} that take their values from a context.
//
// The language, its results and its error texts are those of the Rust crate handlebars 6.4.0 in strict mode without HTML
// escaping, with one predefined partial: indent, whose body is {{content}}. docs/reference/templates.md describes it for
// users. What makes that crate crash (a partial without end, {{~else if}}) is an error here, and so is whatever exceeds
// the limits.
//
//   source --parse--> Template (ast.h) --render, with the context--> text
//
// Knows nothing of workloads: a template and a tree go in, text comes out.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tree.h"

namespace tiphys::handlebars {

// What {{log}} wrote; it is for the log of whoever renders.
struct LogLine {
  std::string level;  // error, warn, info, debug or trace
  std::string text;

  friend bool operator==(const LogLine&, const LogLine&) = default;
};

struct Rendered {
  std::string text;
  std::vector<LogLine> log;

  friend bool operator==(const Rendered&, const Rendered&) = default;
};

struct Limits {
  std::size_t source_bytes = std::size_t{16} << 20U;
  std::size_t output_bytes = std::size_t{16} << 20U;  // of the text and of the log together
  std::size_t steps = 1'000'000;  // elements of templates rendered and values looked up
  std::size_t depth = 100;        // blocks, subexpressions and partials inside each other
};

// The text of the template with the values of the context, a map from names to values. The message of an error is
// `Error rendering "Unnamed template" line {l}, col {c}: {reason}` or `Failed to parse template Template error: {reason}`
// and the place in the source, over several lines.
Result<Rendered> render(std::string_view source, const Tree& context, const Limits& limits = {});

}  // namespace tiphys::handlebars
