#include "io/http/routes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "io/http/message.h"

namespace tiphys::http {
namespace {

// What no handler should ever have to think about: a path that leaves the folder it is below.
bool climbs(const std::string& segment) { return segment == "." || segment == ".."; }

tl::unexpected<RouteMissing> bad_path(std::string_view path, std::string_view why) {
  return tl::unexpected<RouteMissing>(
      RouteMissing{.status = 400, .message = concat("the path '", path, "' ", why)});
}

}  // namespace

void Routes::add(std::string method, std::string_view pattern, std::size_t index) {
  TIPHYS_CHECK(is_token(method), "a route has a method");
  Route route{std::move(method), parse(pattern), index};
  const auto place = std::lower_bound(routes_.begin(), routes_.end(), route, is_before);
  TIPHYS_CHECK(place == routes_.end() || is_before(route, *place),
               "two routes for the same requests");
  routes_.insert(place, std::move(route));
}

tl::expected<RouteFound, RouteMissing> Routes::find(std::string_view method,
                                                    std::string_view path) const {
  std::vector<std::string> segments;
  for (const auto piece : split(path.substr(std::min<std::size_t>(1, path.size())), '/')) {
    auto segment = percent_decode(piece);
    if (!segment)
      return bad_path(path, "holds a % that two hexadecimal digits other than 00 do not follow");
    if (climbs(*segment)) return bad_path(path, "holds a segment '.' or '..'");
    segments.push_back(std::move(*segment));
  }

  std::set<std::string> allowed;
  std::optional<RouteFound> for_get;
  for (const auto& route : routes_) {
    RouteFound found{.index = route.index};
    if (!matches(route, segments, found.captures)) continue;
    if (route.method == method) return found;
    if (route.method == "GET" && method == "HEAD" && !for_get) for_get = std::move(found);
    allowed.insert(route.method);
    if (route.method == "GET") allowed.insert("HEAD");
  }
  if (for_get) return *std::move(for_get);
  if (allowed.empty())
    return tl::unexpected<RouteMissing>(
        RouteMissing{.message = concat("there is nothing at '", path, "'")});
  std::vector<std::string> methods(allowed.begin(), allowed.end());
  std::string message =
      concat("'", path, "' does not take ", method, ", only ", join(methods, ", "));
  return tl::unexpected<RouteMissing>(
      RouteMissing{.status = 405, .message = std::move(message), .allowed = std::move(methods)});
}

std::vector<Routes::Segment> Routes::parse(std::string_view pattern) {
  TIPHYS_CHECK(pattern.starts_with('/'), "a pattern begins with '/'");
  std::vector<Segment> segments;
  std::set<std::string> names;
  for (auto piece : split(pattern.substr(1), '/')) {
    TIPHYS_CHECK(segments.empty() || segments.back().kind != Kind::kRest,
                 "nothing follows the rest of a path");
    if (!piece.starts_with('{')) {
      TIPHYS_CHECK(piece.find_first_of("{}%") == std::string_view::npos,
                   "a segment of a pattern is a text or a capture");
      segments.push_back({Kind::kText, std::string(piece)});
      continue;
    }
    TIPHYS_CHECK(piece.ends_with('}'), "a capture ends with '}'");
    piece = piece.substr(1, piece.size() - 2);
    const bool is_rest = piece.ends_with("...");
    if (is_rest) piece.remove_suffix(3);
    TIPHYS_CHECK(!piece.empty() && names.emplace(piece).second,
                 "captures have names, each a different one");
    segments.push_back({is_rest ? Kind::kRest : Kind::kCapture, std::string(piece)});
  }
  return segments;
}

bool Routes::is_before(const Route& a, const Route& b) {
  // Captures count alike, whatever they are called.
  const auto key = [](const Segment& segment) {
    return std::pair(segment.kind, segment.kind == Kind::kText ? std::string_view(segment.text)
                                                               : std::string_view());
  };
  for (std::size_t i = 0; i < std::min(a.segments.size(), b.segments.size()); ++i)
    if (key(a.segments[i]) != key(b.segments[i])) return key(a.segments[i]) < key(b.segments[i]);
  return std::pair(b.segments.size(), std::string_view(a.method)) <
         std::pair(a.segments.size(), std::string_view(b.method));
}

bool Routes::matches(const Route& route, const std::vector<std::string>& path,
                     std::map<std::string, std::string>& captures) {
  for (std::size_t i = 0; i < route.segments.size(); ++i) {
    const auto& [kind, text] = route.segments[i];
    if (i >= path.size()) return false;
    if (kind == Kind::kRest) {
      std::vector<std::string> rest(path.begin() + static_cast<std::ptrdiff_t>(i), path.end());
      // An encoded slash would look like two segments here.
      for (const auto& segment : rest)
        if (segment.find('/') != std::string::npos) return false;
      captures.emplace(text, join(rest, "/"));
      return true;
    }
    if (kind == Kind::kText ? path[i] != text : path[i].empty()) return false;
    if (kind == Kind::kCapture) captures.emplace(text, path[i]);
  }
  return route.segments.size() == path.size();
}

}  // namespace tiphys::http
