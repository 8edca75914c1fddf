#pragma once

// What happens in a call, as events. Both kinds of call, ServerCall and ClientCall, tell them to one function, in order,
// on their executor; Finished is the last.

#include <functional>
#include <string>
#include <variant>

#include "io/rpc/metadata.h"
#include "io/rpc/status.h"

namespace tiphys::rpc {

struct Headers {  // client only: the server took the call
  Metadata metadata;
};
struct Message {  // exactly one for each want(), or HalfClosed
  std::string bytes;
};
struct HalfClosed {};  // server only: the client sends nothing more
struct Writable {};    // there is room for more after send() said that there was none
struct Finished {
  Outcome outcome;
};
using CallEvent = std::variant<Headers, Message, HalfClosed, Writable, Finished>;

using Tell = std::function<void(CallEvent)>;

}  // namespace tiphys::rpc
