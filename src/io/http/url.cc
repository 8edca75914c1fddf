#include "io/http/url.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "io/http/message.h"

namespace tiphys::http {
namespace {

constexpr std::string_view kPlain = "http://";
constexpr std::string_view kSecure = "https://";

bool begins_with(std::string_view text, std::string_view scheme) {
  return text.size() >= scheme.size() && same_word(text.substr(0, scheme.size()), scheme);
}

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(Code::kInvalidArgument, concat("the URL '", text, "' ", why));
}

bool is_sendable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return letter > 0x20 && letter < 0x7f; });
}

bool is_host(std::string_view host, bool is_bracketed) {
  const std::string_view signs = is_bracketed ? ":.%-_" : ".-_";
  if (is_bracketed && host.find(':') == std::string_view::npos) return false;
  return !host.empty() && std::all_of(host.begin(), host.end(), [&](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
           signs.find(letter) != std::string_view::npos;
  });
}

std::string small(std::string_view text) {
  std::string result(text);
  for (char& letter : result)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return result;
}

std::string without_fragment(std::string_view text) {
  return std::string(text.substr(0, text.find('#')));
}

// RFC 3986, 5.2.4, on a path that begins with '/'.
std::string without_dots(std::string_view path) {
  std::vector<std::string> kept;
  const auto pieces = split(path.substr(1), '/');
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool is_last = i + 1 == pieces.size();
    if (pieces[i] == "..") {
      if (!kept.empty()) kept.pop_back();
    } else if (pieces[i] != ".") {
      kept.emplace_back(pieces[i]);
      continue;
    }
    if (is_last) kept.emplace_back();
  }
  return concat("/", join(kept, "/"));
}

}  // namespace

std::string Url::authority() const {
  const bool is_v6 = host.find(':') != std::string::npos;
  const std::string name = is_v6 ? concat("[", host, "]") : host;
  return port == (is_secure ? 443 : 80) ? name : concat(name, ":", std::to_string(port));
}

std::string to_string(const Url& url) {
  return concat(url.is_secure ? kSecure : kPlain, url.authority(), url.target);
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  url.is_secure = begins_with(text, kSecure);
  if (!url.is_secure && !begins_with(text, kPlain))
    return bad(text, "begins with neither http:// nor https://");
  if (!is_sendable(text))
    return bad(text, "holds a blank or a letter beyond ASCII; encode it as %XX");

  std::string_view rest = text.substr(url.is_secure ? kSecure.size() : kPlain.size());
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, end);
  rest.remove_prefix(end);
  if (authority.find('@') != std::string_view::npos)
    return fail(Code::kInvalidArgument,
                "the URL holds a user name before '@'; send it in a header field instead");

  const bool is_bracketed = authority.starts_with('[');
  std::size_t host_end = std::min(authority.find(':'), authority.size());
  if (is_bracketed) {
    host_end = authority.find(']');
    if (host_end == std::string_view::npos) return bad(text, "lacks the ']' after its host");
    url.host = small(authority.substr(1, host_end - 1));
    ++host_end;
  } else {
    url.host = small(authority.substr(0, host_end));
  }
  if (!is_host(url.host, is_bracketed)) return bad(text, "has no valid host");
  authority.remove_prefix(host_end);

  url.port = url.is_secure ? 443 : 80;
  if (!authority.empty()) {
    const std::string_view digits = authority.substr(1);
    const auto [last, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (authority.front() != ':' || error != std::errc() || last != digits.data() + digits.size() ||
        url.port == 0)
      return bad(text, "has no valid port after its host");
  }
  url.target = without_fragment(rest);
  if (!url.target.starts_with('/')) url.target.insert(0, "/");
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  if (begins_with(reference, kPlain) || begins_with(reference, kSecure))
    return parse_url(reference);
  if (reference.starts_with("//"))
    return parse_url(concat(base.is_secure ? "https:" : "http:", reference));
  const std::size_t colon = reference.find(':');
  if (colon < std::min(reference.find_first_of("/?#"), reference.size()))
    return bad(reference, "begins with neither http:// nor https://");
  if (!is_sendable(reference))
    return bad(reference, "holds a blank or a letter beyond ASCII; encode it as %XX");

  const std::string relative = without_fragment(reference);
  if (relative.empty()) return base;
  Url url = base;
  const std::string base_path = base.target.substr(0, base.target.find('?'));
  if (relative.front() == '?') {
    url.target = base_path + relative;
    return url;
  }
  const std::size_t mark = std::min(relative.find('?'), relative.size());
  const std::string path = relative.front() == '/' ? relative.substr(0, mark)
                                                   : base_path.substr(0, base_path.rfind('/') + 1) +
                                                         relative.substr(0, mark);
  url.target = without_dots(path) + relative.substr(mark);
  return url;
}

}  // namespace tiphys::http
