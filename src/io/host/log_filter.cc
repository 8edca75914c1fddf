#include "io/host/log_filter.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"

namespace tiphys::host {
namespace {

using shell::Level;

constexpr std::array<std::pair<std::string_view, std::optional<Level>>, 6> kLevels{{
    {"off", std::nullopt},
    {"error", Level::kError},
    {"warn", Level::kWarn},
    {"info", Level::kInfo},
    {"debug", Level::kDebug},
    {"trace", Level::kTrace},
}};

bool equals_ignoring_case(std::string_view word, std::string_view lower_case) {
  return std::ranges::equal(word, lower_case, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

bool is_set(const std::optional<std::string>& value) { return value && !value->empty(); }

}  // namespace

LogFilter::LogFilter() { set("", Level::kInfo); }

std::optional<LogFilter::UpTo> LogFilter::parse_level(std::string_view word) {
  for (const auto& [name, level] : kLevels)
    if (equals_ignoring_case(word, name)) return level;
  return std::nullopt;
}

// Keeps the longest name first, so that the first one that fits is the one that counts.
void LogFilter::set(std::string_view target, UpTo up_to) {
  std::erase_if(directives_, [&](const Directive& known) { return known.target == target; });
  const auto place = std::ranges::find_if(
      directives_, [&](const Directive& known) { return known.target.size() <= target.size(); });
  directives_.insert(place, Directive{std::string(target), up_to});
}

LogFilter::Parsed LogFilter::parse(std::string_view text) {
  Parsed parsed;
  parsed.filter.directives_.clear();
  const auto refuse = [&](std::string_view what, std::string_view why) {
    parsed.warnings.push_back(concat("invalid logging spec '", what, "', ignoring it: ", why));
  };

  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos)
    refuse(text.substr(slash), "a filter on messages is not supported by this version");
  for (const std::string_view piece : split(text.substr(0, slash), ',')) {
    const std::string_view directive = trim(piece);
    if (directive.empty()) continue;
    const std::size_t equals = directive.find('=');
    if (equals == std::string_view::npos) {
      if (const auto level = parse_level(directive))
        parsed.filter.set("", *level);
      else
        parsed.filter.set(directive, Level::kTrace);
      continue;
    }
    const std::string_view word = trim(directive.substr(equals + 1));
    if (const auto level = word.empty() ? UpTo(Level::kTrace) : parse_level(word))
      parsed.filter.set(trim(directive.substr(0, equals)), *level);
    else
      refuse(directive, "a level is off, error, warn, info, debug or trace");
  }
  if (parsed.filter.directives_.empty()) parsed.filter = LogFilter();
  return parsed;
}

bool LogFilter::shows(Level level, std::string_view target) const {
  for (const auto& directive : directives_)
    if (target.starts_with(directive.target)) return directive.up_to && level <= *directive.up_to;
  return false;
}

LogSettings log_settings(const Environment& environment, bool is_terminal) {
  LogSettings settings;
  for (const char* name : {"TIPHYS_LOG", "RUST_LOG"}) {
    const auto text = environment(name);
    if (!is_set(text)) continue;
    auto parsed = LogFilter::parse(*text);
    settings.filter = std::move(parsed.filter);
    for (const auto& warning : parsed.warnings)
      settings.warnings.push_back(concat(name, ": ", warning));
    break;
  }

  const std::string style = environment("RUST_LOG_STYLE").value_or("auto");
  if (style == "always" || style == "never")
    settings.colours = style == "always";
  else
    settings.colours =
        is_terminal && !is_set(environment("NO_COLOR")) && environment("TERM") != "dumb";
  return settings;
}

}  // namespace tiphys::host
