#pragma once

// Package control_api <-> model, one pair of functions per message.

#include "base/result.h"
#include "control_api.pb.h"
#include "io/wire/kept.h"
#include "model/messages.h"

namespace tiphys::wire {

void to_wire(const ToAnkaios& message, control_api::ToAnkaios& wire);
Result<ToAnkaios> from_wire(const control_api::ToAnkaios& wire);

void to_wire(const FromAnkaios& message, control_api::FromAnkaios& wire);
Result<FromAnkaios> from_wire(const Kept<control_api::FromAnkaios>& wire);

void to_wire(const ControlInterfaceHello& hello, control_api::Hello& wire);
ControlInterfaceHello from_wire(const control_api::Hello& wire);

void to_wire(const ConnectionClosed& closed, control_api::ConnectionClosed& wire);
ConnectionClosed from_wire(const control_api::ConnectionClosed& wire);

}  // namespace tiphys::wire
