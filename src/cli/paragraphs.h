#pragma once

// Running text for a terminal.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tiphys::cli {

// Longer lines are hard to read, however wide the terminal is.
inline constexpr std::size_t kReadableWidth = 100;

// The text in lines of at most so many columns, broken between words; a word that is longer has a line of its own.
// Empty lines divide paragraphs and stay.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

// The same with blanks before and a line break after each line that is not empty.
std::string indented(std::string_view text, std::size_t indentation, std::size_t width);

// A name and what is to be said about it, which begins in that column and goes on there; below the name, if that is too
// long or little is left of the width.
std::string entry(std::string_view name, std::string_view text, std::size_t column,
                  std::size_t width);

}  // namespace tiphys::cli
