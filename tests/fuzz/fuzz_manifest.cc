// Any bytes are a manifest or are refused with a place and an offence; and what is written for a
// manifest that was read is, as YAML, a manifest of the same state and, as JSON, the same state.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/strings.h"
#include "text/json.h"
#include "text/manifest.h"
#include "text/yaml_writer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A small limit keeps the fuzzer quick where aliases multiply.
  const auto manifest = tiphys::parse_manifest(text, "fuzz", {.max_nodes = 10'000});
  if (!manifest) {
    TIPHYS_CHECK(!manifest.error().error.offence.empty(), "refused without a reason");
    TIPHYS_CHECK(tiphys::is_valid_utf8(to_string(manifest.error())), "the reason is not UTF-8");
    return 0;
  }
  // What is written has the form of the current version.
  tiphys::State state = manifest->state;
  state.api_version = tiphys::kCurrentApiVersion;
  const auto from_yaml = tiphys::parse_manifest(tiphys::write_yaml(state.to_tree()), "written");
  TIPHYS_CHECK(from_yaml.has_value(), "what was written is no manifest");
  TIPHYS_CHECK(from_yaml->state == state, "the state changed in YAML");
  const auto from_json = tiphys::parse_json(tiphys::write_json(state.to_tree()));
  TIPHYS_CHECK(from_json.has_value() && *from_json == state.to_tree(), "the state changed in JSON");
  return 0;
}
