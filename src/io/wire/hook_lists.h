#pragma once

// The lists that hooks read and write: grpc_api.UpdateWorkload by itself.

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/messages.h"

namespace tiphys::wire {

std::string encode_lists(const UpdateWorkload& lists);

// Nothing that has its mandatory parts is refused: a hook may make what no user could. kDataLoss: the bytes are no
// message; kInvalidArgument: a part is missing. The words are those of stock servers, as far as they were seen.
Result<UpdateWorkload> decode_lists(std::string_view bytes);

}  // namespace tiphys::wire
