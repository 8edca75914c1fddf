#include "text/handlebars/handlebars.h"

#include "base/strings.h"
#include "text/handlebars/parser.h"
#include "text/handlebars/renderer.h"

namespace tiphys::handlebars {

namespace {

std::string message_of(const Failure& failure) {
  const Place place = failure.place.value_or(Place{});
  return concat("Error rendering \"",
                failure.template_name.empty() ? "Unnamed template" : failure.template_name,
                "\" line ", std::to_string(place.line), ", col ", std::to_string(place.column),
                ": ", failure.reason);
}

}  // namespace

// [impl->swdd~server-delegate-template-render-to-external-library~1]
Result<Rendered> render(std::string_view source, const Tree& context, const Limits& limits) {
  if (source.size() > limits.source_bytes)
    return fail(Code::kResourceExhausted,
                concat("Failed to parse template Template error: the template is longer than ",
                       std::to_string(limits.source_bytes), " bytes; divide it"));
  const auto whole = parse(source, limits);
  if (!whole) return fail(Code::kInvalidArgument, whole.error());
  Renderer renderer(Value(context), limits);
  if (const auto done = renderer.render(**whole); !done)
    return fail(done.error().code, message_of(done.error()));
  return renderer.take();
}

}  // namespace tiphys::handlebars
