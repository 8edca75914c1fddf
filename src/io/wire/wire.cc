#include "io/wire/wire.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "io/wire/control_api.h"
#include "io/wire/errors.h"
#include "io/wire/grpc_api.h"
#include "io/wire/tiphys_ext.h"

namespace tiphys::wire {
namespace {

// The library writes about ill-formed text to standard error; the error of the decoding says it already.
void silence_the_library() {
  [[maybe_unused]] static const auto kFormerHandler = google::protobuf::SetLogHandler(nullptr);
}

template <class Wire, class Message>
std::string encode_as(const Message& message) {
  google::protobuf::Arena arena;
  auto* wire = google::protobuf::Arena::CreateMessage<Wire>(&arena);
  to_wire(message, *wire);

  silence_the_library();
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  bool complete = false;
  {
    google::protobuf::io::CodedOutputStream output(&stream);
    output.SetSerializationDeterministic(true);  // maps are hashed; their order must not be chance
    complete = wire->SerializeToCodedStream(&output);
  }
  return complete ? bytes : std::string();
}

template <class Message, class Wire>
Result<Message> decode_as(std::string_view name, std::string_view bytes) {
  silence_the_library();
  google::protobuf::Arena arena;
  auto* wire = google::protobuf::Arena::CreateMessage<Wire>(&arena);
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !wire->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return unusable(
        concat(name,
               ": the bytes are not a well-formed message: they are cut short or broken, "
               "hold text that is not UTF-8, or nest too deeply"));
  return from_wire(*wire);
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
std::vector<LogEntry>* entries_of(ToServer& message) {
  auto* const logs = std::get_if<LinkLogEntries>(&message);
  return logs ? &logs->entries.entries : nullptr;
}
std::vector<LogEntry>* entries_of(FromServer& message) {
  auto* const response = std::get_if<Response>(&message);
  auto* const logs = response ? std::get_if<LogEntriesResponse>(&response->content) : nullptr;
  return logs ? &logs->entries : nullptr;
}

// Moves the second half of the list into a message of its own.
template <class Message, class Item>
Message take_half(Message& message, std::vector<Item>* (*list_of)(Message&)) {
  std::vector<Item> all = std::move(*list_of(message));
  list_of(message)->clear();
  Message rest = message;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  list_of(message)->assign(std::make_move_iterator(all.begin()), std::make_move_iterator(middle));
  list_of(rest)->assign(std::make_move_iterator(middle), std::make_move_iterator(all.end()));
  return rest;
}

template <class Message>
void append_parts(std::vector<std::string>& parts, Message message, std::size_t limit) {
  std::string bytes = encode(message);
  const auto* const states = states_of(message);
  const auto* const entries = entries_of(message);
  const bool can_be_cut = (states && states->size() > 1) || (entries && entries->size() > 1);
  if (bytes.size() <= limit || !can_be_cut) {
    parts.push_back(std::move(bytes));
    return;
  }
  Message rest = states ? take_half<Message, WorkloadState>(message, states_of)
                        : take_half<Message, LogEntry>(message, entries_of);
  append_parts(parts, std::move(message), limit);
  append_parts(parts, std::move(rest), limit);
}

}  // namespace

std::vector<std::string> encode_in_parts(const ToServer& message, std::size_t limit) {
  std::vector<std::string> parts;
  append_parts(parts, message, limit);
  return parts;
}

std::vector<std::string> encode_in_parts(const FromServer& message, std::size_t limit) {
  std::vector<std::string> parts;
  append_parts(parts, message, limit);
  return parts;
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

}  // namespace tiphys::wire
