#pragma once

// What a caller and a callee tell each other beside messages: names in lower case with values. Under a name that ends
// in "-bin" a value is any bytes; under others it is printable ASCII.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "io/rpc/fields.h"

namespace tiphys::rpc {

using Metadata =
    std::vector<std::pair<std::string, std::string>>;  // in order; a name may come more than once

// Names the first entry that can't be sent.
Status check(const Metadata& metadata);
// Adds the entries that can be sent, binary ones encoded.
void append(Fields& fields, const Metadata& metadata);
// All fields that are not HTTP's or gRPC's own. A binary value that can't be decoded is left out.
Metadata metadata_of(const Fields& fields);

}  // namespace tiphys::rpc
