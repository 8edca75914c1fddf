// Bytes from anyone are decoded as one of the four messages that travel; the first byte says which. What can be decoded
// can be written, and means the same when it is read again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "io/wire/wire.h"

namespace {

template <class Decode>
void decode_twice(std::string_view bytes, Decode decode) {
  const auto message = decode(bytes);
  if (!message) return;
  const auto again = decode(tiphys::wire::encode(*message));
  TIPHYS_CHECK(again.has_value(), "what we write can be read");
  TIPHYS_CHECK(*again == *message, "what we write means what was read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      decode_twice(bytes, tiphys::wire::decode_to_server);
      break;
    case 1:
      decode_twice(bytes, tiphys::wire::decode_from_server);
      break;
    case 2:
      decode_twice(bytes, tiphys::wire::decode_to_ankaios);
      break;
    default:
      decode_twice(bytes, tiphys::wire::decode_from_ankaios);
      break;
  }
  return 0;
}
