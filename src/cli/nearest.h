#pragma once

// What somebody who mistyped a word probably meant.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tiphys::cli {

// The first of the candidates that the fewest changes of letters lead to; none if that is a different word altogether. Two
// neighbours that are swapped count as one change.
std::optional<std::size_t> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// "no agent named 'agent_b' is connected; did you mean 'agent_B'? connected: agent_A, agent_B". The
// sentence names the word, `listed` stands before the candidates.
std::string unknown_name(std::string_view sentence, std::string_view word, std::string_view listed,
                         const std::vector<std::string>& candidates);

}  // namespace tiphys::cli
