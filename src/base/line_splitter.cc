#include "base/line_splitter.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace tiphys {

bool LineSplitter::add(std::string_view bytes, std::vector<std::string>& lines) {
  while (!has_ended_ && !bytes.empty()) {
    const auto end = bytes.find('\n');
    if (!append(bytes.substr(0, end), lines)) break;
    if (end == std::string_view::npos) break;
    complete(lines);
    bytes.remove_prefix(end + 1);
  }
  return !has_ended_;
}

void LineSplitter::finish(std::vector<std::string>& lines) {
  if (!std::exchange(has_ended_, true) && length_ > 0) complete(lines);
}

bool LineSplitter::append(std::string_view piece, std::vector<std::string>& lines) {
  length_ += piece.size();
  if (length_ > kLongestLine) {
    has_ended_ = true;
    line_ = {};
    lines.emplace_back(kLineTooLong);
    return false;
  }
  line_.append(piece.substr(0, std::min(piece.size(), kLongestKeptLine - line_.size())));
  return true;
}

void LineSplitter::complete(std::vector<std::string>& lines) {
  lines.push_back(with_valid_utf8(std::exchange(line_, {})));
  length_ = 0;
}

}  // namespace tiphys
