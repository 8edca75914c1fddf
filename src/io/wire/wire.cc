#include "io/wire/wire.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include <limits>

#include "base/strings.h"
#include "io/wire/control_api.h"
#include "io/wire/errors.h"
#include "io/wire/grpc_api.h"

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

}  // namespace

std::string encode(const ToServer& message) { return encode_as<grpc_api::ToServer>(message); }
std::string encode(const FromServer& message) { return encode_as<grpc_api::FromServer>(message); }
std::string encode(const ToAnkaios& message) { return encode_as<control_api::ToAnkaios>(message); }
std::string encode(const FromAnkaios& message) {
  return encode_as<control_api::FromAnkaios>(message);
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

}  // namespace tiphys::wire
