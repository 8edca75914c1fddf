#pragma once

// What a workload may ask for through its control interface. Nothing is allowed that no rule allows, and a deny rule
// outweighs every allow rule.
//
// A request for state names masks, each of which must match an allow pattern and no deny pattern; no masks at all means
// one empty mask, the whole state. Segments of a pattern are compared with those of the mask from the left; `*` in a
// pattern matches any segment.
//   - An allow pattern is a prefix of the mask; one that begins with `*` also allows what is shorter than it.
//   - A deny pattern is a prefix of the mask or the mask one of it: a part that is denied denies the whole. `*` in a mask
//     stands for every segment, also for the denied one.

#include "model/access_rules.h"
#include "model/messages.h"

namespace tiphys::agent {

[[nodiscard]] bool is_allowed(const Request& request, const ControlInterfaceAccess& access);

}  // namespace tiphys::agent
