#pragma once

// What makes a shell ask `ank` for completions. The scripts know nothing about commands: they hand over the words of the
// line and take what comes back.

#include <optional>
#include <string_view>

namespace tiphys::cli {

// bash, elvish, fish, powershell or zsh; none for another shell.
std::optional<std::string_view> completion_script(std::string_view shell);

}  // namespace tiphys::cli
