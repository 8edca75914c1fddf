#include "cli/table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "cli/character_width.h"

namespace tiphys::cli {
namespace {

constexpr std::string_view kGap = "   ";
constexpr std::string_view kEllipsis = "...";

struct Character {
  std::size_t bytes;
  std::size_t width;
};

// The first character of a text that is not empty.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t size = byte(0) < 0x80 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (size == 1 || size > text.size() || !is_valid_utf8(text.substr(0, size))) return {1, 1};
  constexpr std::array<char32_t, 5> kLeadBits{0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t code_point = byte(0) & kLeadBits[size];
  for (std::size_t i = 1; i < size; ++i) code_point = (code_point << 6U) | (byte(i) & 0x3fU);
  return {size, character_width(code_point)};
}

// The longest beginning of the text that is not wider than `width`.
std::string_view prefix(std::string_view text, std::size_t width) {
  std::size_t bytes = 0;
  std::size_t used = 0;
  while (bytes < text.size()) {
    const Character character = first_character(text.substr(bytes));
    if (used + character.width > width) break;
    bytes += character.bytes;
    used += character.width;
  }
  return text.substr(0, bytes);
}

std::string padded(std::string_view text, std::size_t width) {
  std::string cell(text);
  const std::size_t used = display_width(text);
  if (used < width) cell.append(width - used, ' ');
  return cell;
}

std::string row_text(const std::vector<std::string>& cells,
                     const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += kGap;
    line += padded(cells[i], widths[i]);
  }
  return line;
}

// The pieces of a text, none wider than `width` as long as each character fits; at least one.
std::vector<std::string_view> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string_view> pieces;
  do {
    std::string_view piece = prefix(text, width);
    if (piece.empty() && !text.empty()) piece = text.substr(0, first_character(text).bytes);
    pieces.push_back(piece);
    text.remove_prefix(piece.size());
  } while (!text.empty());
  return pieces;
}

// The same, with breaks at blanks, which go.
std::vector<std::string_view> wrapped_at_blanks(std::string_view text, std::size_t width) {
  std::vector<std::string_view> pieces;
  while (true) {
    std::string_view piece = prefix(text, width);
    if (piece.size() == text.size() || piece.empty()) break;
    const std::size_t blank = text[piece.size()] == ' ' ? piece.size() : piece.find_last_of(' ');
    if (blank != std::string_view::npos && blank > 0) piece = text.substr(0, blank);
    pieces.push_back(piece);
    text.remove_prefix(piece.size());
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  const auto rest = wrapped(text, width);
  if (!text.empty() || pieces.empty()) pieces.insert(pieces.end(), rest.begin(), rest.end());
  return pieces;
}

std::string truncated(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) return text;
  return concat(prefix(text, width - kEllipsis.size()), kEllipsis);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return text.size();
  std::size_t width = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    width += character.width;
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::vector<std::string> lines_of(const Table& table, LastColumn last_column, std::size_t width) {
  const std::size_t last = table.header.size() - 1;
  std::vector<std::size_t> widths;
  std::size_t total = kGap.size() * last;
  for (std::size_t i = 0; i <= last; ++i) {
    std::size_t widest = display_width(table.header[i]);
    for (const auto& row : table.rows) widest = std::max(widest, display_width(row[i]));
    widths.push_back(widest);
    total += widest;
  }

  std::vector<std::string> lines;
  const std::size_t others = total - widths[last];
  const std::size_t header_width = display_width(table.header[last]);
  if (total > width && (last_column == LastColumn::kCut || others + header_width > width)) {
    lines.push_back(row_text(table.header, widths));
    for (const auto& row : table.rows) lines.push_back(row_text(row, widths));
    for (auto& line : lines) line = padded(prefix(line, width), width);
    return lines;
  }

  widths[last] = std::min(widths[last], width - others);
  lines.push_back(row_text(table.header, widths));
  for (auto row : table.rows) {
    if (last_column == LastColumn::kTruncate) {
      row[last] = truncated(row[last], widths[last]);
      lines.push_back(row_text(row, widths));
      continue;
    }
    const std::string text = std::exchange(row[last], {});
    for (const auto piece : last_column == LastColumn::kWrapText
                                ? wrapped_at_blanks(text, widths[last])
                                : wrapped(text, widths[last])) {
      row[last] = piece;
      lines.push_back(row_text(row, widths));
      std::fill(row.begin(), row.end(), std::string());
    }
  }
  return lines;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const auto& line : lines) text.append(line).push_back('\n');
  return text;
}

std::string Reprinter::print(const std::vector<std::string>& lines, std::size_t terminal_width) {
  if (!on_terminal_) return text_of(lines) + "\n";
  if (widest_ > terminal_width) printed_ = 0;
  widest_ = 0;
  for (const auto& line : lines) widest_ = std::max(widest_, display_width(line));
  std::string text = "\x1b[1G";
  if (printed_ > 0) text += concat("\x1b[", std::to_string(printed_), "A");
  for (const auto& line : lines) text += concat(line, "\x1b[K\n");
  // What the print before had more of is cleared, and the cursor goes back to the end of this one.
  if (printed_ > lines.size()) {
    const std::size_t surplus = printed_ - lines.size();
    for (std::size_t i = 0; i < surplus; ++i) text += "\x1b[K\n";
    text += concat("\x1b[", std::to_string(surplus), "A");
  }
  printed_ = lines.size();
  return text;
}

}  // namespace tiphys::cli
