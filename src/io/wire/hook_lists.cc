#include "io/wire/hook_lists.h"

#include <google/protobuf/arena.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "io/wire/ank_base.h"
#include "io/wire/errors.h"
#include "io/wire/grpc_api.h"
#include "io/wire/serialise.h"

namespace tiphys::wire {
namespace {

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  constexpr unsigned kMostBytes = 10;
  std::uint64_t value = 0;
  for (unsigned i = 0; i < kMostBytes && i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= static_cast<std::uint64_t>(byte & 0x7fU) << (7 * i);
    if (byte >= 0x80U) continue;
    bytes.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

// What is wrong with the outermost fields, in the words of the library that stock servers use; its words for what is
// wrong deeper down are not known.
std::string offence_of(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto tag = take_varint(bytes);
    if (!tag) return "invalid varint";
    std::size_t size = 0;
    switch (*tag & 7U) {
      case 0:
        if (!take_varint(bytes)) return "invalid varint";
        break;
      case 1:
        size = 8;
        break;
      case 2: {
        const auto length = take_varint(bytes);
        if (!length) return "invalid varint";
        if (*length > bytes.size()) return "buffer underflow";
        size = *length;
        break;
      }
      case 4:
        return "unexpected end group tag";
      case 5:
        size = 4;
        break;
      default:
        return "the bytes are not a well-formed message";
    }
    if (size > bytes.size()) return "buffer underflow";
    bytes.remove_prefix(size);
  }
  return "the bytes are not a well-formed message";
}

}  // namespace

std::string encode_lists(const UpdateWorkload& lists) {
  google::protobuf::Arena arena;
  auto* wire = google::protobuf::Arena::CreateMessage<grpc_api::UpdateWorkload>(&arena);
  to_wire(lists, *wire);
  return serialise(*wire);
}

Result<UpdateWorkload> decode_lists(std::string_view bytes) {
  silence_the_library();
  google::protobuf::Arena arena;
  auto* wire = google::protobuf::Arena::CreateMessage<grpc_api::UpdateWorkload>(&arena);
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !wire->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(Code::kDataLoss, concat("failed to decode Protobuf message: ", offence_of(bytes)));
  UpdateWorkload lists;
  for (const auto& added : wire->addedworkloads()) {
    if (!added.has_instancename()) return unusable("No instance name");
    if (!added.has_workload()) return unusable("No workload");
    TIPHYS_TRY(WorkloadPtr workload, from_wire(added.workload()));
    lists.added.push_back(
        WorkloadSpec::unchecked(from_wire(added.instancename()), std::move(workload)));
  }
  for (const auto& deleted : wire->deletedworkloads()) {
    TIPHYS_TRY(DeletedWorkload workload, from_wire(deleted));
    lists.deleted.push_back(std::move(workload));
  }
  return lists;
}

}  // namespace tiphys::wire
