#pragma once

// What encoding and decoding share.

#include <google/protobuf/message_lite.h>

#include <string>

namespace tiphys::wire {

// Equal messages give equal bytes. A message of two gigabytes comes out empty.
std::string serialise(const google::protobuf::MessageLite& wire);

// The library writes about ill-formed text to standard error; the error of the decoding says it already.
void silence_the_library();

}  // namespace tiphys::wire
