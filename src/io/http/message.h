#pragma once

// The words of HTTP that server and client share: header fields, requests, responses, and the pure functions on their text.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/host/tls_context.h"

namespace tiphys::http {

struct Header {
  std::string name;
  std::string value;

  friend bool operator==(const Header&, const Header&) = default;
};

// Header fields in their order. Names are compared without regard to case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> headers) : headers_(headers) {}

  void add(std::string name, std::string value);
  // In place of all of that name.
  void set(std::string_view name, std::string value);
  void remove(std::string_view name);

  // The first of that name, or nullptr.
  [[nodiscard]] const std::string* find(std::string_view name) const;
  [[nodiscard]] std::size_t count(std::string_view name) const;
  // Whether the lists of all fields of that name hold the word: has_word("Connection", "close").
  [[nodiscard]] bool has_word(std::string_view name, std::string_view word) const;

  [[nodiscard]] auto begin() const { return headers_.begin(); }
  [[nodiscard]] auto end() const { return headers_.end(); }
  [[nodiscard]] bool empty() const { return headers_.empty(); }

  friend bool operator==(const Headers&, const Headers&) = default;

 private:
  std::vector<Header> headers_;
};

bool same_word(std::string_view a, std::string_view b);  // but for the case of ASCII letters

// Who is at the other end.
struct Peer {
  std::string address;  // 127.0.0.1:4711, or unix:<path of our socket>
  bool is_secure = false;
  std::optional<host::PeerCertificate> certificate{};
  std::optional<std::uint32_t> user_id{};  // of the process behind a unix socket
};

// What a server was asked for.
struct Request {
  std::string method;
  std::string target;                                        // as it was sent
  std::string path;                                          // of the target, not decoded
  std::map<std::string, std::string> captures{};             // of the route's pattern, decoded
  std::vector<std::pair<std::string, std::string>> query{};  // decoded, in its order
  Headers headers{};
  std::string body{};
  Peer peer{};

  // The first query parameter of that name, or nullptr.
  [[nodiscard]] const std::string* parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  Headers headers{};
  std::string body{};
};

Response text_response(std::string text);
Response json_response(int status, std::string json);
// {"error":{"code":404,"message":"..."}}
Response error_response(int status, std::string_view message);

std::string_view reason_phrase(
    int status);  // "Not Found"; an empty text for a status that has no name

// --- text ---

// A name of letters, digits and a few signs, as methods and header fields have.
bool is_token(std::string_view text);
// Fit for a header field: no line break or other control character that would begin a field of its own.
bool is_header_value(std::string_view text);

// Without %XX; nothing for a % without two digits, or for a zero byte.
std::optional<std::string> percent_decode(std::string_view text);
// a=1&b=two+words; a parameter without '=' has an empty value.
Result<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view text);

struct Target {
  std::string path;   // begins with '/', not decoded
  std::string query;  // without '?', not decoded
};
// What stands in a request line: /path?query, or http://host/path?query, which proxies send.
Result<Target> parse_target(std::string_view text);

// The lines of a head, each with its end, without the empty line behind them.
std::string to_text(const Headers& headers);

}  // namespace tiphys::http
