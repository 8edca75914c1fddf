#pragma once

// A workload's ends of the pipes of its control interface.

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include "base/result.h"
#include "io/control/frames.h"
#include "io/host/descriptor.h"
#include "model/messages.h"

namespace tiphys::bench {

class WorkloadPipes {
 public:
  // Of the only instance of that workload in the agent's folder; says hello and hears that it is welcome.
  static Result<WorkloadPipes> open(const std::filesystem::path& folder,
                                    const std::string& workload);

  // Whether the pipe has taken it in time. A message that is shorter than PIPE_BUF never stands there in part.
  Result<bool> say(const ToAnkaios& message, std::chrono::milliseconds patience);
  // Waits for the next message.
  Result<FromAnkaios> hear();
  // Takes what stands in the pipe now and looks at nothing.
  Status discard();

 private:
  WorkloadPipes(host::Descriptor input, host::Descriptor output)
      : input_(std::move(input)), output_(std::move(output)) {}

  host::Descriptor input_;
  host::Descriptor output_;
  control::FrameReader frames_;
  std::string received_;
};

}  // namespace tiphys::bench
