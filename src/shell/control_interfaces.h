#pragma once

// The control interfaces port: two pipes between a workload and its agent, in the folder of the workload. Every answer
// comes on the strand; a workload that does not read, writes garbage or removes its pipes harms nobody but itself.

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "base/result.h"
#include "model/messages.h"
#include "model/names.h"

namespace tiphys::shell {

// Never used twice while an agent runs.
using InterfaceNumber = std::uint64_t;

struct Said {
  ToAnkaios message;
};
// Bytes that are no message.
struct Garbled {
  std::string why;
};
// The workload did not take it in time.
struct Undelivered {
  FromAnkaios message;
};
using InterfaceEvent = std::variant<Said, Garbled, Undelivered>;

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
  // Nothing more is read, once what was sent is delivered; pipes and folder stay.
  virtual void stop_reading(InterfaceNumber number) = 0;
  // Pipes and folder go; nothing more comes.
  virtual void close(InterfaceNumber number) = 0;
};

}  // namespace tiphys::shell
