#pragma once

// Which handler answers for a method and a path. Pure.
//
// A pattern is a path whose segments are texts or captures: /v1/tasks/{id} takes any one segment that is not empty, and
// /ui/{rest...} takes all that follows, even nothing. Where several patterns fit, the one with the text further left wins
// over a capture, and a capture over a rest. Segments are decoded after they were split, so that an encoded slash
// stays within its capture.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tiphys::http {

struct RouteFound {
  std::size_t index = 0;
  std::map<std::string, std::string> captures{};
};

struct RouteMissing {
  int status = 404;  // or 400, or 405 with the methods that the path has
  std::string message{};
  std::vector<std::string> allowed{};
};

class Routes {
 public:
  // The index is what find() answers with. A malformed pattern, and a second route for the same requests, are bugs.
  void add(std::string method, std::string_view pattern, std::size_t index);

  // The path as it was sent, without the query. HEAD is answered by the route of GET unless it has its own.
  [[nodiscard]] tl::expected<RouteFound, RouteMissing> find(std::string_view method,
                                                            std::string_view path) const;

 private:
  enum class Kind : std::uint8_t { kText, kCapture, kRest };
  struct Segment {
    Kind kind = Kind::kText;
    std::string text;  // or the name of the capture
  };
  struct Route {
    std::string method;
    std::vector<Segment> segments;
    std::size_t index = 0;
  };

  static std::vector<Segment> parse(std::string_view pattern);
  static bool is_before(const Route& a, const Route& b);
  static bool matches(const Route& route, const std::vector<std::string>& path,
                      std::map<std::string, std::string>& captures);

  std::vector<Route> routes_;  // the more specific ones first
};

}  // namespace tiphys::http
