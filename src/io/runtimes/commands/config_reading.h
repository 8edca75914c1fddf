#pragma once

// Reads the runtime configs of workloads. Pure. As lenient as every Ankaios: any scalar counts as the text
// that was written, a list without a value is empty, other keys are ignored.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shell/runtime.h"
#include "text/yaml.h"

namespace tiphys::commands {

// A map that has the mandatory key.
Parsed<YamlNode> read_config(std::string_view text, const std::string& mandatory_key);
// Nothing when the key is not there.
Parsed<std::optional<std::string>> read_text(const YamlNode& config, const std::string& key);
Parsed<std::vector<std::string>> read_texts(const YamlNode& config, const std::string& key);

// What a workload is told whose config cannot be read; it will not go away by itself.
tl::unexpected<shell::CreateError> unreadable_config(const TextError& error);

}  // namespace tiphys::commands
