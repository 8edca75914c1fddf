#pragma once

// How wide a terminal draws a character.

#include <cstddef>

namespace tiphys::cli {

// 0 for marks that stand on the character before them and for characters that show nothing, 2 for those of East Asian
// scripts and for pictographs, else 1.
std::size_t character_width(char32_t code_point);

}  // namespace tiphys::cli
