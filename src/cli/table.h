#pragma once

// Tables as `ank` prints them: columns padded to their widest cell and three blanks apart, the header
// in the first line, no borders. Widths count columns of a terminal, not bytes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiphys::cli {

// How many columns a terminal gives the text; what is not UTF-8 counts one column a byte.
std::size_t display_width(std::string_view text);

struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  // each with as many cells as the header
};

// What becomes of a last column that is too wide, if at least its header fits.
enum class LastColumn : std::uint8_t {
  kCut,       // every line ends where the terminal does
  kWrap,      // it goes on in the next line
  kWrapText,  // the same, but words stay whole where they fit
  kTruncate,  // it ends in "..."
};

// The lines of the table, none wider than `width`, each padded to the width of the table.
std::vector<std::string> lines_of(const Table& table, LastColumn last_column, std::size_t width);

// Each line with its line break.
std::string text_of(const std::vector<std::string>& lines);

// Prints a table again and again. On a terminal each print takes the place of the one before; else
// they stand below each other, an empty line after each. After a terminal got too narrow for the print before, nobody
// knows where that one is now: some break its lines, others cut them. It then stays, and the next stands below it.
class Reprinter {
 public:
  explicit Reprinter(bool on_terminal) : on_terminal_(on_terminal) {}

  std::string print(const std::vector<std::string>& lines, std::size_t terminal_width);

 private:
  const bool on_terminal_;
  std::size_t printed_ = 0;  // lines of the last print
  std::size_t widest_ = 0;   // of these
};

}  // namespace tiphys::cli
