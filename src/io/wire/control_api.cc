#include "io/wire/control_api.h"

#include "base/match.h"
#include "base/strings.h"
#include "io/wire/ank_base.h"
#include "io/wire/errors.h"

namespace tiphys::wire {

void to_wire(const ToAnkaios& message, control_api::ToAnkaios& wire) {
  match(
      message, [&](const ControlInterfaceHello& hello) { to_wire(hello, *wire.mutable_hello()); },
      [&](const Request& request) { to_wire(request, *wire.mutable_request()); });
}

Result<ToAnkaios> from_wire(const control_api::ToAnkaios& wire) {
  switch (wire.ToAnkaiosEnum_case()) {
    case control_api::ToAnkaios::kHello:
      return from_wire(wire.hello());
    case control_api::ToAnkaios::kRequest:
      return from_wire(wire.request());
    case control_api::ToAnkaios::TOANKAIOSENUM_NOT_SET:
      break;
  }
  return unusable("Missing to_ankaios");
}

void to_wire(const FromAnkaios& message, control_api::FromAnkaios& wire) {
  match(
      message, [&](const Response& response) { to_wire(response, *wire.mutable_response()); },
      [&](const ControlInterfaceAccepted&) { wire.mutable_controlinterfaceaccepted(); },
      [&](const ConnectionClosed& closed) { to_wire(closed, *wire.mutable_connectionclosed()); });
}

Result<FromAnkaios> from_wire(const Kept<control_api::FromAnkaios>& wire) {
  switch (wire->FromAnkaiosEnum_case()) {
    case control_api::FromAnkaios::kResponse:
      return from_wire(part_of(wire, wire->response()));
    case control_api::FromAnkaios::kControlInterfaceAccepted:
      return ControlInterfaceAccepted{};
    case control_api::FromAnkaios::kConnectionClosed:
      return from_wire(wire->connectionclosed());
    case control_api::FromAnkaios::FROMANKAIOSENUM_NOT_SET:
      break;
  }
  return unusable("Missing from_ankaios");
}

void to_wire(const ControlInterfaceHello& hello, control_api::Hello& wire) {
  wire.set_protocolversion(with_valid_utf8(hello.protocol_version));
}

ControlInterfaceHello from_wire(const control_api::Hello& wire) { return {wire.protocolversion()}; }

void to_wire(const ConnectionClosed& closed, control_api::ConnectionClosed& wire) {
  wire.set_reason(with_valid_utf8(closed.reason));
}

ConnectionClosed from_wire(const control_api::ConnectionClosed& wire) { return {wire.reason()}; }

}  // namespace tiphys::wire
