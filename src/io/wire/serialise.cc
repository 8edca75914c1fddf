#include "io/wire/serialise.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

namespace tiphys::wire {

std::string serialise(const google::protobuf::MessageLite& wire) {
  silence_the_library();
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  bool complete = false;
  {
    google::protobuf::io::CodedOutputStream output(&stream);
    output.SetSerializationDeterministic(true);  // maps are hashed; their order must not be chance
    complete = wire.SerializeToCodedStream(&output);
  }
  return complete ? bytes : std::string();
}

void silence_the_library() {
  [[maybe_unused]] static const auto kFormerHandler = google::protobuf::SetLogHandler(nullptr);
}

}  // namespace tiphys::wire
