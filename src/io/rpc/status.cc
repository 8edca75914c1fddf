#include "io/rpc/status.h"

#include <charconv>
#include <utility>

namespace tiphys::rpc {

namespace {

constexpr std::string_view kStatus = "grpc-status";
constexpr std::string_view kMessage = "grpc-message";
constexpr std::size_t kFieldOverhead = 32;

bool is_plain(char character) { return character >= ' ' && character <= '~' && character != '%'; }

int hex_digit(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

// The longest beginning of the text that takes at most `room` bytes when encoded and ends between characters.
std::string_view cut_to(std::string_view text, std::size_t room) {
  std::size_t used = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    used += is_plain(text[end]) ? 1 : 3;
    if (used > room) break;
  }
  constexpr auto kIsContinuation = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
  };
  while (end > 0 && end < text.size() && kIsContinuation(text[end])) --end;
  return text.substr(0, end);
}

std::optional<int> parse_code(std::string_view text) {
  int code = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), code);
  if (problem != std::errc() || end != text.data() + text.size() || code < 0) return std::nullopt;
  return code;
}

}  // namespace

Fields to_trailers(const Outcome& outcome, std::size_t field_limit) {
  Fields trailers;
  trailers.add(kStatus, outcome.status
                            ? "0"
                            : std::to_string(static_cast<int>(outcome.status.error().code)));
  Fields metadata;
  append(metadata, outcome.trailers);
  const bool keeps_metadata = trailers.list_size() + metadata.list_size() <= field_limit;
  if (!outcome.status && !outcome.status.error().message.empty()) {
    const std::size_t taken = trailers.list_size() + kMessage.size() + kFieldOverhead +
                              (keeps_metadata ? metadata.list_size() : 0);
    if (taken < field_limit)
      trailers.add(kMessage,
                   percent_encode(cut_to(outcome.status.error().message, field_limit - taken)));
  }
  if (keeps_metadata)
    for (const Field& field : metadata) trailers.add(field.name, field.value);
  return trailers;
}

Outcome outcome_of_trailers(const Fields& trailers) {
  Outcome outcome{.trailers = metadata_of(trailers)};
  const auto status = trailers.find(kStatus);
  if (!status) {
    outcome.status = fail(Code::kUnknown, "the answer ended without a grpc-status");
    return outcome;
  }
  const auto code = parse_code(*status);
  if (code == 0) return outcome;
  std::string message = percent_decode(trailers.find(kMessage).value_or(""));
  if (!code || *code > static_cast<int>(Code::kUnauthenticated)) {
    if (message.empty())
      message = "the answer ended with the unknown grpc-status '" + std::string(*status) + "'";
    outcome.status = fail(Code::kUnknown, std::move(message));
  } else {
    outcome.status = fail(static_cast<Code>(*code), std::move(message));
  }
  return outcome;
}

Error error_of_end(const StreamEnd& end) {
  const auto text = [&end](std::string_view otherwise) {
    return end.detail.empty() ? std::string(otherwise) : end.detail;
  };
  if (end.kind == StreamEnd::Kind::kLost)
    return {Code::kUnavailable, text("the connection was lost")};
  if (end.kind == StreamEnd::Kind::kComplete)
    return {Code::kUnknown, text("the answer ended without trailers")};
  switch (end.reset) {
    case Reset::kRefused:
      return {Code::kUnavailable, text("the peer refused the stream")};
    case Reset::kCancel:
      return {Code::kCancelled, text("the peer cancelled the stream")};
    case Reset::kEnhanceYourCalm:
      return {Code::kResourceExhausted,
              text("the peer found us too demanding (ENHANCE_YOUR_CALM)")};
    case Reset::kInadequateSecurity:
      return {Code::kPermissionDenied, text("the peer found the connection not secure enough")};
    case Reset::kNoError:
    case Reset::kInternalError:
    case Reset::kProtocolError:
    case Reset::kOther:
      return {Code::kInternal, text("the peer reset the stream")};
  }
  return {Code::kInternal, text("the peer reset the stream")};
}

Error error_of_http_status(std::string_view status) {
  constexpr std::pair<std::string_view, Code> kCodes[] = {
      {"400", Code::kInternal},         {"401", Code::kUnauthenticated},
      {"403", Code::kPermissionDenied}, {"404", Code::kUnimplemented},
      {"429", Code::kUnavailable},      {"502", Code::kUnavailable},
      {"503", Code::kUnavailable},      {"504", Code::kUnavailable},
  };
  std::string message =
      "the peer answered with HTTP status " + std::string(status) + " and not with gRPC";
  for (const auto& [text, code] : kCodes)
    if (text == status) return {code, std::move(message)};
  return {Code::kUnknown, std::move(message)};
}

std::string percent_encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size());
  for (const char character : text) {
    if (is_plain(character)) {
      encoded += character;
    } else {
      const auto byte = static_cast<unsigned char>(character);
      encoded += '%';
      encoded += kHex[byte >> 4];
      encoded += kHex[byte & 15];
    }
  }
  return encoded;
}

std::string percent_decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 2 < text.size()) {
      const int high = hex_digit(text[at + 1]);
      const int low = hex_digit(text[at + 2]);
      if (high >= 0 && low >= 0) {
        decoded += static_cast<char>(high * 16 + low);
        at += 2;
        continue;
      }
    }
    decoded += text[at];
  }
  return decoded;
}

}  // namespace tiphys::rpc
