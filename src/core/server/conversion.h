#pragma once

// How peers word what is wrong with the new state of an update without a mask. They convert the message as a whole, and
// say of each level that they were in it:
//   Cannot convert field 'desired_state' to spec object: '…'Missing field 'agent''.'

#include <string>

#include "model/reading.h"

namespace tiphys::server {

std::string conversion_text(const FieldError& error);

}  // namespace tiphys::server
