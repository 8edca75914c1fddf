#include "json_messages.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver.h>
#include <google/protobuf/util/type_resolver_util.h>

#include <fstream>
#include <memory>
#include <stdexcept>

namespace tiphys::vectors {
namespace {

namespace pb = google::protobuf;

// The schema that the build compiled our messages from.
pb::util::TypeResolver& schema() {
  static pb::DescriptorPool pool;
  static const std::unique_ptr<pb::util::TypeResolver> kResolver = [] {
    std::ifstream file(TIPHYS_DESCRIPTORS, std::ios::binary);
    pb::FileDescriptorSet files;
    if (!files.ParseFromIstream(&file)) throw std::runtime_error("cannot read " TIPHYS_DESCRIPTORS);
    for (const auto& each : files.file()) pool.BuildFile(each);
    return std::unique_ptr<pb::util::TypeResolver>(
        pb::util::NewTypeResolverForDescriptorPool("type", &pool));
  }();
  return *kResolver;
}

void require(const pb::util::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

}  // namespace

std::string to_server_bytes(const Json& message) {
  std::string bytes;
  require(
      pb::util::JsonToBinaryString(&schema(), "type/grpc_api.ToServer", message.dump(), &bytes));
  return bytes;
}

Json from_server_json(std::string_view bytes) {
  pb::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  require(pb::util::BinaryToJsonString(&schema(), "type/grpc_api.FromServer", std::string(bytes),
                                       &text, options));
  return Json::parse(text);
}

}  // namespace tiphys::vectors
