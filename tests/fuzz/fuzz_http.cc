// Bytes from anyone are requests, or are refused, and it does not matter how they were cut on the way. What is a request
// has one target, one place among the routes and one list of parameters. The first byte says where to cut.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "io/http/message.h"
#include "io/http/message_reader.h"
#include "io/http/routes.h"
#include "io/http/url.h"

namespace {

using namespace tiphys::http;

constexpr std::size_t kHeadBytes = 512;
constexpr std::size_t kBodyBytes = 256;

Routes make_routes() {
  Routes routes;
  routes.add("GET", "/", 0);
  routes.add("GET", "/v1/tasks/{id}", 1);
  routes.add("POST", "/v1/{kind}/all", 2);
  routes.add("GET", "/ui/{rest...}", 3);
  return routes;
}

void look_up(const RequestHead& head) {
  static const Routes routes = make_routes();
  TIPHYS_CHECK(is_token(head.method), "a method is a word");
  TIPHYS_CHECK(!(head.is_chunked && head.content_length), "a body has one end");
  for (const auto& [name, value] : head.headers)
    TIPHYS_CHECK(is_token(name) && is_header_value(value), "header fields are in one line");
  if (const auto url = parse_url(head.target)) {
    const auto again = parse_url(to_string(*url));
    TIPHYS_CHECK(again.has_value() && *again == *url, "an address is read as it was written");
    static_cast<void>(resolve_url(*url, head.method));
  }
  const auto target = parse_target(head.target);
  if (!target) return TIPHYS_CHECK(!target.error().message.empty(), "refused without a reason");
  static_cast<void>(parse_query(target->query));
  const auto found = routes.find(head.method, target->path);
  if (!found) return TIPHYS_CHECK(!found.error().message.empty(), "missing without a reason");
  for (const auto& [name, value] : found->captures)
    TIPHYS_CHECK(("/" + value + "/").find("/../") == std::string::npos || name != "rest",
                 "the rest of a path leads downwards");
}

struct Read {
  std::vector<std::string> requests;
  bool is_refused = false;
};

Read read(std::string_view bytes, std::size_t piece) {
  Read result;
  RequestReader reader(kHeadBytes);
  std::string buffer;
  while (!bytes.empty() && !result.is_refused) {
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (true) {
      const auto progress = reader.read(buffer);
      result.is_refused = !progress.has_value();
      if (!progress || *progress == Progress::kNeedsMore) break;
      if (*progress == Progress::kHead) {
        look_up(reader.head());
        reader.limit_body(kBodyBytes);
      } else {
        TIPHYS_CHECK(reader.body().size() <= kBodyBytes, "a body is longer than its limit");
        result.requests.push_back(reader.head().method + " " + reader.head().target + " " +
                                  reader.body());
        reader = RequestReader(kHeadBytes);
      }
    }
    TIPHYS_CHECK(buffer.size() <= kHeadBytes + piece, "unread bytes pile up");
  }
  return result;
}

void read_response(std::string_view bytes) {
  ResponseReader reader(kHeadBytes, false);
  std::string buffer(bytes);
  while (true) {
    auto progress = reader.read(buffer);
    if (progress && *progress == Progress::kNeedsMore) progress = reader.end();
    static_cast<void>(reader.take_body());
    if (!progress || *progress == Progress::kDone) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Read whole = read(bytes, bytes.size() + 1);
  const Read cut = read(bytes, std::size_t{data[0]} % 16 + 1);
  // In pieces an offence may be noticed later, when its line is complete, but nothing else is read.
  TIPHYS_CHECK(cut.requests == whole.requests, "it matters how bytes are cut");
  read_response(bytes);
  return 0;
}
