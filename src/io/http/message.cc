#include "io/http/message.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "text/json.h"

namespace tiphys::http {
namespace {

char lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

std::optional<int> hex_digit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char letter = lower(digit);
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return std::nullopt;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

// --- header fields ---

void Headers::add(std::string name, std::string value) {
  headers_.push_back({std::move(name), std::move(value)});
}

void Headers::set(std::string_view name, std::string value) {
  remove(name);
  add(std::string(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(headers_, [&](const Header& header) { return same_word(header.name, name); });
}

const std::string* Headers::find(std::string_view name) const {
  for (const auto& header : headers_)
    if (same_word(header.name, name)) return &header.value;
  return nullptr;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(headers_.begin(), headers_.end(),
                    [&](const Header& header) { return same_word(header.name, name); }));
}

bool Headers::has_word(std::string_view name, std::string_view word) const {
  for (const auto& header : headers_)
    if (same_word(header.name, name))
      for (const auto piece : split(header.value, ','))
        if (same_word(without_blanks(piece), word)) return true;
  return false;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char left, char right) { return lower(left) == lower(right); });
}

// --- messages ---

const std::string* Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return &value;
  return nullptr;
}

Response text_response(std::string text) {
  return {.headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = std::move(text)};
}

Response json_response(int status, std::string json) {
  return {
      .status = status, .headers = {{"Content-Type", "application/json"}}, .body = std::move(json)};
}

Response error_response(int status, std::string_view message) {
  const Tree error = Tree::Map()
                         .set("code", static_cast<unsigned>(status))
                         .set("message", with_valid_utf8(std::string(message)));
  return json_response(status, write_json(Tree::Map().set("error", error)));
}

std::string_view reason_phrase(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {
      {100, "Continue"},
      {101, "Switching Protocols"},
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {301, "Moved Permanently"},
      {302, "Found"},
      {303, "See Other"},
      {304, "Not Modified"},
      {307, "Temporary Redirect"},
      {308, "Permanent Redirect"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {406, "Not Acceptable"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {411, "Length Required"},
      {412, "Precondition Failed"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {416, "Range Not Satisfiable"},
      {417, "Expectation Failed"},
      {422, "Unprocessable Content"},
      {426, "Upgrade Required"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {502, "Bad Gateway"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
      {505, "HTTP Version Not Supported"},
  };
  for (const auto& [number, phrase] : kPhrases)
    if (number == status) return phrase;
  return {};
}

// --- text ---

bool is_token(std::string_view text) {
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char letter) {
    const char small = lower(letter);
    return (small >= 'a' && small <= 'z') || (letter >= '0' && letter <= '9') ||
           kSigns.find(letter) != std::string_view::npos;
  });
}

bool is_header_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return letter == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low || (*high == 0 && *low == 0)) return std::nullopt;
    decoded += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return decoded;
}

Result<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> parameters;
  if (text.empty()) return parameters;
  for (const auto piece : split(text, '&')) {
    if (piece.empty()) continue;
    std::string spaced(piece);
    std::replace(spaced.begin(), spaced.end(), '+', ' ');
    const std::size_t sign = std::min(spaced.find('='), spaced.size());
    auto name = percent_decode(std::string_view(spaced).substr(0, sign));
    auto value = percent_decode(std::string_view(spaced).substr(std::min(sign + 1, spaced.size())));
    if (!name || !value)
      return fail(Code::kInvalidArgument,
                  concat("query: '", piece,
                         "' holds a % that two hexadecimal digits other than 00 "
                         "do not follow"));
    parameters.emplace_back(std::move(*name), std::move(*value));
  }
  return parameters;
}

Result<Target> parse_target(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"})
    if (text.size() > scheme.size() && same_word(text.substr(0, scheme.size()), scheme)) {
      text.remove_prefix(scheme.size());
      text.remove_prefix(std::min(text.find_first_of("/?"), text.size()));
      if (text.empty()) return Target{"/", ""};
      if (text.front() == '?') return Target{"/", std::string(text.substr(1))};
    }
  if (text.empty() || text.front() != '/')
    return fail(Code::kInvalidArgument,
                concat("the target '", text, "' of the request does not begin with '/'"));
  if (text.find('#') != std::string_view::npos)
    return fail(Code::kInvalidArgument, "the target of the request holds a '#'");
  const std::size_t mark = std::min(text.find('?'), text.size());
  return Target{std::string(text.substr(0, mark)),
                std::string(text.substr(std::min(mark + 1, text.size())))};
}

std::string to_text(const Headers& headers) {
  std::string text;
  for (const auto& [name, value] : headers) text += concat(name, ": ", value, "\r\n");
  return text;
}

}  // namespace tiphys::http
