#include "apps/docs/roff.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <vector>

#include "base/strings.h"
#include "cli/paragraphs.h"

namespace tiphys::apps {
namespace {

constexpr std::size_t kLineWidth = 78;  // of the source, which people read too

enum class Hyphens : std::uint8_t { kAsTheyAre, kOfWords };

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// What has a meaning in roff loses it. A hyphen between letters is one in words; anywhere else, and everywhere in code, it
// is the character that people type.
std::string escaped(std::string_view text, Hyphens hyphens) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool joins = hyphens == Hyphens::kOfWords && i > 0 && i + 1 < text.size() &&
                       is_letter(text[i - 1]) && is_letter(text[i + 1]);
    switch (text[i]) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += joins ? "-" : "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '"':
        result += "\\(dq";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += text[i];
    }
  }
  return result;
}

std::string bold(std::string_view text) {
  return concat("\\fB", escaped(text, Hyphens::kAsTheyAre), "\\fR");
}

// Every second piece between backquotes is code.
std::string marked_up(std::string_view text) {
  std::string result;
  bool is_code = false;
  for (const auto piece : split(text, '`')) {
    if (!piece.empty()) result += is_code ? bold(piece) : escaped(piece, Hyphens::kOfWords);
    is_code = !is_code;
  }
  return result;
}

std::vector<std::string_view> divided(std::string_view paragraphs) {
  std::vector<std::string_view> result;
  while (!paragraphs.empty()) {
    const std::size_t end = std::min(paragraphs.find("\n\n"), paragraphs.size());
    result.push_back(paragraphs.substr(0, end));
    paragraphs.remove_prefix(std::min(end + 2, paragraphs.size()));
  }
  return result;
}

std::string capitals(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

}  // namespace

Roff::Roff(const Title& title) {
  const auto quoted = [](std::string_view text) {
    return concat(" \"", escaped(text, Hyphens::kAsTheyAre), "\"");
  };
  macro(concat(".TH", quoted(capitals(title.name)), " ", std::to_string(title.section), " \"",
               title.date, "\"", quoted(concat("Tiphys ", title.version)), quoted("Tiphys")));
  macro(".nh");    // names and options are neither torn apart
  macro(".ad l");  // nor pulled
}

void Roff::macro(std::string_view text) {
  text_ += concat(text, "\n");
  is_at_heading_ = text.starts_with(".S");
}

void Roff::lines(std::string_view roff) {
  for (const auto& line : cli::wrapped(roff, kLineWidth))
    text_ += concat(line.starts_with('.') ? "\\&" : "", line, "\n");
  is_at_heading_ = false;
}

Roff& Roff::section(std::string_view heading) {
  macro(concat(".SH ", heading));
  return *this;
}

Roff& Roff::name(std::string_view name, std::string_view summary) {
  lines(concat(escaped(name, Hyphens::kAsTheyAre), " \\- ", escaped(summary, Hyphens::kOfWords)));
  return *this;
}

Roff& Roff::subsection(std::string_view heading) {
  macro(concat(".SS ", escaped(heading, Hyphens::kAsTheyAre)));
  return *this;
}

Roff& Roff::text(std::string_view paragraphs) {
  for (const auto& paragraph : divided(paragraphs)) {
    if (!is_at_heading_) macro(".PP");
    lines(marked_up(paragraph));
  }
  return *this;
}

Roff& Roff::command(std::string_view name, std::string_view plain) {
  if (!is_at_heading_) macro(".PP");
  lines(concat(bold(name), plain.empty() ? "" : " ", escaped(plain, Hyphens::kAsTheyAre)));
  return *this;
}

Roff& Roff::entry(std::string_view term, std::string_view paragraphs) {
  macro(".TP");
  text_ += concat(bold(term), "\n");
  bool is_first = true;
  for (const auto& paragraph : divided(paragraphs)) {
    if (!is_first) macro(".IP");
    lines(marked_up(paragraph));
    is_first = false;
  }
  return *this;
}

Roff& Roff::example(std::string_view text) {
  if (!is_at_heading_) macro(".PP");
  macro(".RS 4");
  macro(".EX");
  for (const auto line : split(text, '\n'))
    text_ += concat(line.starts_with('.') ? "\\&" : "", escaped(line, Hyphens::kAsTheyAre), "\n");
  macro(".EE");
  macro(".RE");
  return *this;
}

}  // namespace tiphys::apps
