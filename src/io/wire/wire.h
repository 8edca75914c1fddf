#pragma once

// Bytes <-> messages: protobuf on the outside, values of model/ on the inside.
//
// Encoding never fails. Every text leaves as UTF-8 (what is ill-formed becomes U+FFFD), every field that peers insist
// on is set even when it is empty, and equal messages give equal bytes. What a tree holds but its message has no place
// for is left out. A message of two gigabytes, which no peer would take, comes out empty.
//
// Decoding takes bytes from anyone and answers with a message or with a sentence that names the offence:
//   kInvalidArgument   the bytes are no message, or a part that gives it its meaning is missing
//   kNotFound          a log message without its inner message, which is to be ignored

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/extension.h"
#include "model/messages.h"

namespace tiphys::wire {

// Agents and commanders to the server, and back.
std::string encode(const ToServer& message);
std::string encode(const FromServer& message);
// A workload state that cannot be read is left out of its message; the others hold.
Result<ToServer> decode_to_server(std::string_view bytes);
// One part that cannot be read spoils its whole message: half a list of workloads would look like a deletion.
Result<FromServer> decode_from_server(std::string_view bytes);

// The same as several messages, in order: stock peers refuse more than 4 MiB. A list of workload states is cut so that no
// message is larger than the limit, and log entries as log_batches.h says. Any other message, and a single state, stays
// whole whatever its size.
constexpr std::size_t kPartLimit = std::size_t{3} << 20U;
std::vector<std::string> encode_in_parts(const ToServer& message, std::size_t limit = kPartLimit);
std::vector<std::string> encode_in_parts(const FromServer& message, std::size_t limit = kPartLimit);

// One answer to many requests: encode_head(id, content.size()) + content is what encode() makes of the answer with that
// id, where content is encode_content() of it.
std::string encode_content(decltype(Response::content) content);
std::string encode_head(std::string_view request_id, std::size_t content_size);

// A message with workload states in two pieces, for those that share the second: head, then body.
std::string encode_body(const UpdateWorkloadState& update);
std::string head_of_states(std::size_t body);

// A workload to its agent, and back.
std::string encode(const ToAnkaios& message);
std::string encode(const FromAnkaios& message);
Result<ToAnkaios> decode_to_ankaios(std::string_view bytes);
Result<FromAnkaios> decode_from_ankaios(std::string_view bytes);

// Our own tools to the server, and back.
std::string encode(const DryRunRequest& message);
std::string encode(const DryRunResponse& message);
std::string encode(const StateAgesRequest& message);
std::string encode(const StateAgesResponse& message);
Result<DryRunRequest> decode_dry_run_request(std::string_view bytes);
Result<DryRunResponse> decode_dry_run_response(std::string_view bytes);
Result<StateAgesRequest> decode_state_ages_request(std::string_view bytes);
Result<StateAgesResponse> decode_state_ages_response(std::string_view bytes);

}  // namespace tiphys::wire
