#pragma once

// Addresses of the web, as far as a client needs them. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tiphys::http {

struct Url {
  bool is_secure = false;
  std::string host;  // in small letters; an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string target;  // path and query, as they are sent; begins with '/'

  // Whether two addresses lead to the same place, so that what is secret there stays secret.
  [[nodiscard]] bool has_same_origin(const Url& other) const {
    return is_secure == other.is_secure && host == other.host && port == other.port;
  }
  // What stands in the header field Host: the port only if it is not the usual one.
  [[nodiscard]] std::string authority() const;

  friend bool operator==(const Url&, const Url&) = default;
};

std::string to_string(const Url& url);

// http:// or https://. A fragment is dropped, since it is never sent; a user name is refused, since it belongs into a header.
Result<Url> parse_url(std::string_view text);

// Where a link or a redirection leads that was found at `base`.
Result<Url> resolve_url(const Url& base, std::string_view reference);

}  // namespace tiphys::http
