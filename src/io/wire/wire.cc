#include "io/wire/wire.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "io/wire/ank_base.h"
#include "io/wire/control_api.h"
#include "io/wire/errors.h"
#include "io/wire/grpc_api.h"
#include "io/wire/kept.h"
#include "io/wire/log_batches.h"
#include "io/wire/serialise.h"
#include "io/wire/tiphys_ext.h"

namespace tiphys::wire {
namespace {

template <class Wire, class Message>
std::string encode_as(const Message& message) {
  google::protobuf::Arena arena;
  auto* wire = google::protobuf::Arena::CreateMessage<Wire>(&arena);
  to_wire(message, *wire);
  return serialise(*wire);
}

template <class Message, class Wire>
Result<Message> decode_as(std::string_view name, std::string_view bytes) {
  silence_the_library();
  auto arena = std::make_shared<google::protobuf::Arena>();
  auto* wire = google::protobuf::Arena::CreateMessage<Wire>(arena.get());
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !wire->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return unusable(
        concat(name,
               ": the bytes are not a well-formed message: they are cut short or broken, "
               "hold text that is not UTF-8, or nest too deeply"));
  const Kept<Wire> kept(std::move(arena), wire);
  if constexpr (requires { from_wire(kept); })
    return from_wire(kept);
  else
    return from_wire(*kept);
}

// The list in a message that may be cut anywhere; null when there is none.
std::vector<WorkloadState>* states_of(ToServer& message) {
  auto* const update = std::get_if<UpdateWorkloadState>(&message);
  return update ? &update->states : nullptr;
}
std::vector<WorkloadState>* states_of(FromServer& message) {
  auto* const update = std::get_if<UpdateWorkloadState>(&message);
  return update ? &update->states : nullptr;
}
LogEntriesResponse* logs_of(ToServer& message) {
  auto* const logs = std::get_if<LinkLogEntries>(&message);
  return logs ? &logs->entries : nullptr;
}
LogEntriesResponse* logs_of(FromServer& message) {
  auto* const response = std::get_if<Response>(&message);
  return response ? std::get_if<LogEntriesResponse>(&response->content) : nullptr;
}

// Moves the second half of the states into a message of its own.
template <class Message>
Message take_half(Message& message) {
  auto& first = *states_of(message);
  const std::vector<WorkloadState> all = std::exchange(first, {});
  Message rest = message;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  first.assign(all.begin(), middle);
  states_of(rest)->assign(middle, all.end());
  return rest;
}

template <class Message>
void append_parts(std::vector<std::string>& parts, Message message, std::size_t limit) {
  std::string bytes = encode(message);
  const auto* const states = states_of(message);
  if (bytes.size() <= limit || states == nullptr || states->size() <= 1) {
    parts.push_back(std::move(bytes));
    return;
  }
  Message rest = take_half(message);
  append_parts(parts, std::move(message), limit);
  append_parts(parts, std::move(rest), limit);
}

template <class Message>
std::vector<std::string> parts_of(Message message, std::size_t limit) {
  std::vector<std::string> parts;
  if (LogEntriesResponse* const logs = logs_of(message)) {
    for (auto& batch : log_batches(std::exchange(*logs, {}))) {
      *logs = std::move(batch);
      parts.push_back(encode(message));
    }
  } else {
    append_parts(parts, std::move(message), limit);
  }
  return parts;
}

}  // namespace

std::vector<std::string> encode_in_parts(const ToServer& message, std::size_t limit) {
  return parts_of(message, limit);
}

std::vector<std::string> encode_in_parts(const FromServer& message, std::size_t limit) {
  if (const auto* others = std::get_if<StatesOfOthers>(&message))
    return parts_of<FromServer>(UpdateWorkloadState{others->states.of_all_but(others->recipient)},
                                limit);
  return parts_of(message, limit);
}

std::string encode_body(const UpdateWorkloadState& update) {
  return encode_as<grpc_api::UpdateWorkloadState>(update);
}

std::string head_of_states(std::size_t body) {
  using google::protobuf::internal::WireFormatLite;
  std::string head;
  google::protobuf::io::StringOutputStream stream(&head);
  google::protobuf::io::CodedOutputStream output(&stream);
  output.WriteTag(WireFormatLite::MakeTag(grpc_api::FromServer::kUpdateWorkloadStateFieldNumber,
                                          WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
  output.WriteVarint32(static_cast<std::uint32_t>(body));
  output.Trim();
  return head;
}

std::string encode(const ToServer& message) { return encode_as<grpc_api::ToServer>(message); }
std::string encode(const FromServer& message) { return encode_as<grpc_api::FromServer>(message); }
std::string encode(const ToAnkaios& message) { return encode_as<control_api::ToAnkaios>(message); }
std::string encode(const FromAnkaios& message) {
  return encode_as<control_api::FromAnkaios>(message);
}
std::string encode(const DryRunRequest& message) {
  return encode_as<tiphys_ext::DryRunUpdateRequest>(message);
}
std::string encode(const DryRunResponse& message) {
  return encode_as<tiphys_ext::DryRunUpdateResponse>(message);
}
std::string encode(const StateAgesRequest& message) {
  return encode_as<tiphys_ext::GetStateAgesRequest>(message);
}
std::string encode(const StateAgesResponse& message) {
  return encode_as<tiphys_ext::GetStateAgesResponse>(message);
}

// A message inside another stands there as its tag, its length and its fields in the order of their numbers; that of the
// id is the lowest. A response without an id is its content alone.
std::string encode_content(decltype(Response::content) content) {
  return encode_as<ank_base::Response>(Response{{}, std::move(content)});
}

std::string encode_head(std::string_view request_id, std::size_t content_size) {
  static_assert(ank_base::Response::kRequestIdFieldNumber == 1);
  ank_base::Response only_id;
  only_id.set_requestid(with_valid_utf8(std::string(request_id)));
  const std::string id = only_id.SerializeAsString();
  constexpr std::uint32_t kLengthDelimited = 2;
  constexpr auto kTag = static_cast<std::uint32_t>(grpc_api::FromServer::kResponseFieldNumber)
                            << 3U |
                        kLengthDelimited;
  std::string head;
  {
    google::protobuf::io::StringOutputStream stream(&head);
    google::protobuf::io::CodedOutputStream output(&stream);
    output.WriteTag(kTag);
    output.WriteVarint64(id.size() + content_size);
  }
  return head + id;
}

Result<ToServer> decode_to_server(std::string_view bytes) {
  return decode_as<ToServer, grpc_api::ToServer>("ToServer", bytes);
}
Result<FromServer> decode_from_server(std::string_view bytes) {
  return decode_as<FromServer, grpc_api::FromServer>("FromServer", bytes);
}
Result<ToAnkaios> decode_to_ankaios(std::string_view bytes) {
  return decode_as<ToAnkaios, control_api::ToAnkaios>("ToAnkaios", bytes);
}
Result<FromAnkaios> decode_from_ankaios(std::string_view bytes) {
  return decode_as<FromAnkaios, control_api::FromAnkaios>("FromAnkaios", bytes);
}
Result<DryRunRequest> decode_dry_run_request(std::string_view bytes) {
  return decode_as<DryRunRequest, tiphys_ext::DryRunUpdateRequest>("DryRunUpdateRequest", bytes);
}
Result<DryRunResponse> decode_dry_run_response(std::string_view bytes) {
  return decode_as<DryRunResponse, tiphys_ext::DryRunUpdateResponse>("DryRunUpdateResponse", bytes);
}
Result<StateAgesRequest> decode_state_ages_request(std::string_view bytes) {
  return decode_as<StateAgesRequest, tiphys_ext::GetStateAgesRequest>("GetStateAgesRequest", bytes);
}
Result<StateAgesResponse> decode_state_ages_response(std::string_view bytes) {
  return decode_as<StateAgesResponse, tiphys_ext::GetStateAgesResponse>("GetStateAgesResponse",
                                                                        bytes);
}

}  // namespace tiphys::wire
