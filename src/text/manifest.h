#pragma once

// Reads a manifest, the YAML (or JSON) text that describes a wanted state, into a State.
//
// What comes out is a state whose fields have the right types, whose API version is known, and
// whose names and access rules are well-formed; only what a template still has to produce is left
// unchecked. Both versions are read: in v0.1 tags are a list of key and value. Plain scalars are
// taken by their source text where the manifest wants a text (`agent: 5` is the agent "5"); config
// items, tags, files and access rules want strings and refuse what looks like something else.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/state.h"
#include "text/parsed.h"
#include "text/yaml.h"

namespace tiphys {

struct Manifest {
  State state;
  // What is accepted but worth a look, with its place: an old version, an unknown field.
  std::vector<std::string> warnings;
};

struct ManifestError {
  // How far the reading came. A program that must report the stages apart can.
  enum class Stage : std::uint8_t {
    kSyntax,   // it is not YAML as we read it
    kTags,     // the tags of a workload do not have the form of the API version
    kFields,   // a field is missing or has the wrong type
    kContent,  // a version, name or access rule breaks the rules
  };

  Stage stage = Stage::kSyntax;
  std::string file_name;
  TextError error;

  friend bool operator==(const ManifestError&, const ManifestError&) = default;
};

// "manifest.yaml:4:5: workloads.w: missing field `agent`"
std::string to_string(const ManifestError& error);

// The file name only serves the messages.
tl::expected<Manifest, ManifestError> parse_manifest(std::string_view text,
                                                     std::string_view file_name,
                                                     const YamlLimits& limits = {});

}  // namespace tiphys
