// Any text is a template that renders, or is refused with a reason; rendering it again gives the same.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "text/handlebars/handlebars.h"

namespace {

using tiphys::Tree;

Tree context() {
  const Tree item = Tree::Map().set("name", "n1").set("port", "80");
  return Tree::Map()
      .set("s", "one\ntwo\n")
      .set("e", "")
      .set("l", Tree::List{"x", "y"})
      .set("lo", Tree::List{item, item})
      .set("n", Tree::Map().set("a", "1").set("b", Tree::Map().set("c", "deep")));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tree kContext = context();
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  if (!tiphys::is_valid_utf8(source)) return 0;
  const tiphys::handlebars::Limits limits{
      .source_bytes = 1U << 20U, .output_bytes = 1U << 20U, .steps = 100'000, .depth = 40};
  const auto once = tiphys::handlebars::render(source, kContext, limits);
  const auto again = tiphys::handlebars::render(source, kContext, limits);
  TIPHYS_CHECK(once == again, "the same template rendered differently");
  if (once)
    TIPHYS_CHECK(once->text.size() <= limits.output_bytes, "the text is too long");
  else
    TIPHYS_CHECK(!once.error().message.empty(), "refused without a reason");
  return 0;
}
