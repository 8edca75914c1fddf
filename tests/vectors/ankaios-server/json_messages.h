#pragma once

// Messages of the link as the recorded files write them (proto3 JSON with the field names of the .proto files), and as
// bytes. Done by protobuf's own reflection, which knows nothing of our wire layer: what that leaves out or adds shows.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace tiphys::vectors {

using Json = nlohmann::json;

std::string to_server_bytes(const Json& message);
Json from_server_json(std::string_view bytes);

}  // namespace tiphys::vectors
