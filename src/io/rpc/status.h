#pragma once

// How a call ended, and how that looks on the wire: grpc-status, grpc-message, and the codes that stand for streams
// which ended in another way.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "io/rpc/http_stream.h"
#include "io/rpc/metadata.h"

namespace tiphys::rpc {

// What a server says at the end of a call: OK or an error, and trailing metadata.
struct Outcome {
  Status status = {};
  Metadata trailers = {};
};

[[nodiscard]] inline Outcome failed(Code code, std::string message) {
  return {.status = fail(code, std::move(message))};
}
[[nodiscard]] inline Outcome failed(Error error) { return {.status = fail(std::move(error))}; }

// The fields of trailers. The message is cut so that their list stays within the limit; when metadata leaves no room for
// the status, the metadata goes.
Fields to_trailers(const Outcome& outcome, std::size_t field_limit);
// The outcome in trailers; without a grpc-status it is UNKNOWN.
Outcome outcome_of_trailers(const Fields& trailers);
// What a stream's end means to a client that has no trailers.
Error error_of_end(const StreamEnd& end);
// What an answer that is not gRPC's means to a client, by its :status.
Error error_of_http_status(std::string_view status);

// grpc-message: everything but printable ASCII, and '%', as %XX.
std::string percent_encode(std::string_view text);
// Sequences that are not %XX stay as they are.
std::string percent_decode(std::string_view text);

}  // namespace tiphys::rpc
