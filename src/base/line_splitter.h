#pragma once

// Cuts a stream of bytes into lines of text. A line ends with a line feed, which is not part of it; a carriage return is.
// What stands after the last line feed is a line too, once the stream has ended. Bytes that are not UTF-8 are replaced by
// U+FFFD.
//
// Of a very long line only the beginning is kept, which is still more than any message can carry: a line costs bounded
// memory however long it is. One that is longer than a stream may hold is thrown away altogether and ends the stream.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tiphys {

inline constexpr std::size_t kLongestLine = std::size_t{50} << 20U;
// A message holds 2 MiB at most, so that a line of this length is always cut when it is sent.
inline constexpr std::size_t kLongestKeptLine = (std::size_t{2} << 20U) + 1;
inline constexpr std::string_view kLineTooLong =
    "The previous log message exceeded the maximum 50 MB size. Closing the log campaign.";

class LineSplitter {
 public:
  // Adds the lines that these bytes complete. False once a line was too long: the notice was its last line, and whatever
  // follows is not looked at.
  [[nodiscard]] bool add(std::string_view bytes, std::vector<std::string>& lines);
  // The stream has ended: what has no line feed yet is the last line.
  void finish(std::vector<std::string>& lines);

  // That wait for the end of their line.
  [[nodiscard]] std::size_t kept() const { return line_.size(); }

 private:
  [[nodiscard]] bool append(std::string_view piece, std::vector<std::string>& lines);
  void complete(std::vector<std::string>& lines);

  std::string line_;        // the beginning of the line under way
  std::size_t length_ = 0;  // of that line, kept or not
  bool has_ended_ = false;
};

}  // namespace tiphys
