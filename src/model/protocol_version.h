#pragma once

// Which peers understand each other: those whose versions have the same major number.

#include <string_view>

#include "base/result.h"
#include "base/version.h"

namespace tiphys {

// What this build reports; it speaks Ankaios 1.x.
inline constexpr std::string_view kProtocolVersion = kVersion;

// Fails unless `received` is a complete semantic version with the same major number as ours.
Status check_protocol_version(std::string_view received);

}  // namespace tiphys
