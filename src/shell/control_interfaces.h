#pragma once

// The control interfaces port: two pipes between a workload and its agent, in the folder of the workload. Every answer
// comes on the strand; a workload that does not read, writes garbage or removes its pipes harms nobody but itself.

#include <functional>
#include <string>

#include "base/result.h"
#include "core/agent/control_interfaces.h"
#include "model/messages.h"
#include "model/names.h"

namespace tiphys::shell {

using agent::InterfaceEvent;
using agent::InterfaceNumber;

class ControlInterfaces {
 public:
  virtual ~ControlInterfaces() = default;

  // Makes the folder and the pipes, or takes those that are there, and begins to read. `opened` is told once, with the
  // folder; after an error nothing is there and nothing more comes.
  virtual void open(InterfaceNumber number, const InstanceName& instance,
                    std::function<void(Result<std::string>)> opened,
                    std::function<void(InterfaceEvent)> sink) = 0;
  // In order. Too much that waits is undelivered.
  virtual void send(InterfaceNumber number, FromAnkaios message) = 0;
  // After each Said, Unusable and Garbled nothing is read until this is called.
  virtual void read_on(InterfaceNumber number) = 0;
  // Nothing more is read; once what was sent is delivered or given up nobody serves the pipes. Pipes and folder stay.
  virtual void stop_reading(InterfaceNumber number) = 0;
  // Pipes and folder go. What is under way to the sink may still come.
  virtual void close(InterfaceNumber number) = 0;
};

}  // namespace tiphys::shell
