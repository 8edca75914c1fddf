#pragma once

// Recognises a text by the rules of a parsing expression grammar, and remembers what would have let it go on.
//
// A grammar is written as calls: rule() for a thing with a name, sequence(), optional(), repeat(), ahead() and not_ahead()
// to combine them; each answers whether the text matched, and moves forward only then. Three modes tell apart what
// pest, the parser generator of the crate whose errors we give, calls them: in kSpaced white space may stand between the
// parts of a sequence (who writes the sequence says where, with space()); in kTight it may not; in kAtomic rules inside
// are neither kept nor named in errors.
//
// An error names the rules that were tried at the furthest place anything was tried at. A rule takes the place of the
// rules inside it that failed where it began, unless that was a single one, which says more.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tiphys::handlebars {

// A rule that matched. Those inside it follow it in the list, up to `next`.
template <class Rule>
struct Match {
  Rule rule;
  std::size_t begin;
  std::size_t end;
  std::size_t next;
};

enum class Mode : std::uint8_t { kSpaced, kTight, kAtomic };

template <class Rule>
class Recogniser {
 public:
  Recogniser(std::string_view source, std::size_t max_matches, std::size_t max_depth)
      : source_(source), max_matches_(max_matches), max_depth_(max_depth) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] bool at_end() const { return position_ == source_.size(); }
  [[nodiscard]] bool sees(std::string_view text) const {
    return source_.substr(position_).starts_with(text);
  }
  [[nodiscard]] std::string_view rest() const { return source_.substr(position_); }
  [[nodiscard]] const std::vector<Match<Rule>>& matches() const { return matches_; }
  // Why recognition was given up. From then on every rule fails, so that all callers return.
  enum class GivenUp : std::uint8_t { kNo, kTooManyMatches, kTooDeep };
  [[nodiscard]] GivenUp given_up() const { return given_up_; }

  // Where recognition came to its end when it failed, and what was missing or in the way there; sorted, each once.
  [[nodiscard]] std::size_t furthest() const { return furthest_; }
  [[nodiscard]] std::vector<Rule> expected() const { return sorted(expected_); }
  [[nodiscard]] std::vector<Rule> unexpected() const { return sorted(unexpected_); }

  bool text(std::string_view text) {
    if (!sees(text)) return false;
    position_ += text.size();
    return true;
  }
  // Moves over what the caller has looked at itself.
  bool advance(std::size_t bytes) {
    position_ += bytes;
    return true;
  }
  bool space() {
    while (mode_ == Mode::kSpaced && position_ < source_.size() &&
           std::string_view(" \t\n\r").find(source_[position_]) != std::string_view::npos)
      ++position_;
    return true;
  }

  template <class Body>
  bool rule(Rule rule, Body body) {
    if (given_up_ != GivenUp::kNo) return false;
    const std::size_t begin = position_;
    const bool at_furthest = begin == furthest_;
    const std::size_t expected_before = at_furthest ? expected_.size() : 0;
    const std::size_t unexpected_before = at_furthest ? unexpected_.size() : 0;
    const std::size_t index = matches_.size();
    const bool kept = look_ == Look::kNone && mode_ != Mode::kAtomic;
    if (kept) matches_.push_back({rule, begin, begin, 0});
    if (matches_.size() > max_matches_) given_up_ = GivenUp::kTooManyMatches;
    const bool matched = body();
    if (matched == (look_ == Look::kNegative))
      remember(rule, begin, expected_before, unexpected_before);
    if (!kept) return matched;
    if (matched) {
      matches_[index].end = position_;
      matches_[index].next = matches_.size();
    } else {
      matches_.resize(index, {rule, 0, 0, 0});
    }
    return matched;
  }

  // For what may contain itself.
  template <class Body>
  bool nested(Body body) {
    if (depth_ == max_depth_) given_up_ = GivenUp::kTooDeep;
    if (given_up_ != GivenUp::kNo) return false;
    ++depth_;
    const bool matched = body();
    --depth_;
    return matched;
  }

  template <class Body>
  bool in(Mode mode, Body body) {
    const Mode before = mode_;
    mode_ = mode;
    const bool matched = body();
    mode_ = before;
    return matched;
  }

  template <class Body>
  bool sequence(Body body) {
    const std::size_t begin = position_;
    const std::size_t index = matches_.size();
    if (body()) return true;
    position_ = begin;
    if (matches_.size() > index)
      matches_.erase(matches_.begin() + to_offset(index), matches_.end());
    return false;
  }

  template <class Body>
  bool optional(Body body) {
    body();
    return true;
  }

  // Any number of times, white space between them.
  template <class Body>
  bool repeat(Body body) {
    if (!body()) return true;
    while (sequence([&] { return space() && body(); })) {
    }
    return true;
  }

  template <class Body>
  bool not_ahead(Body body) {
    const Look before = look_;
    const std::size_t begin = position_;
    look_ = before == Look::kNegative ? Look::kPositive : Look::kNegative;
    const bool matched = body();
    look_ = before;
    position_ = begin;
    return !matched;
  }

 private:
  enum class Look : std::uint8_t { kNone, kPositive, kNegative };

  static std::ptrdiff_t to_offset(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

  static std::vector<Rule> sorted(std::vector<Rule> rules) {
    std::ranges::sort(rules);
    rules.erase(std::ranges::unique(rules).begin(), rules.end());
    return rules;
  }

  void remember(Rule rule, std::size_t begin, std::size_t expected_before,
                std::size_t unexpected_before) {
    if (mode_ == Mode::kAtomic || begin < furthest_) return;
    if (begin == furthest_) {
      const std::size_t before = expected_before + unexpected_before;
      if (expected_.size() + unexpected_.size() == before + 1) return;
      expected_.resize(std::min(expected_.size(), expected_before));
      unexpected_.resize(std::min(unexpected_.size(), unexpected_before));
    } else {
      expected_.clear();
      unexpected_.clear();
      furthest_ = begin;
    }
    (look_ == Look::kNegative ? unexpected_ : expected_).push_back(rule);
  }

  std::string_view source_;
  std::size_t max_matches_;
  std::size_t max_depth_;
  std::size_t position_ = 0;
  Mode mode_ = Mode::kSpaced;
  Look look_ = Look::kNone;
  GivenUp given_up_ = GivenUp::kNo;
  std::size_t depth_ = 0;
  std::vector<Match<Rule>> matches_;
  std::size_t furthest_ = 0;
  std::vector<Rule> expected_;
  std::vector<Rule> unexpected_;
};

}  // namespace tiphys::handlebars
