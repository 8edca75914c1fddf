#pragma once

// Control interfaces as pairs of pipes in the folders of the workloads:
//
//   <run folder>/<workload>.<id>/control_interface/{input,output}
//
// All that is done to pipes happens on the io thread and never blocks it.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "shell/control_interfaces.h"
#include "shell/log.h"
#include "shell/strand.h"
#include "shell/workers.h"

namespace tiphys::control {

class PipeInterfaces final : public shell::ControlInterfaces {
 public:
  // The run folder is the agent's own and is there. SIGPIPE has to be ignored. Goes after the strand and io have stopped, and
  // before the log and the workers.
  PipeInterfaces(boost::asio::any_io_executor io, shell::Strand& strand, shell::Workers& workers,
                 shell::Log& log, std::string run_folder);
  ~PipeInterfaces() override;
  PipeInterfaces(const PipeInterfaces&) = delete;
  PipeInterfaces& operator=(const PipeInterfaces&) = delete;

  void open(shell::InterfaceNumber number, const InstanceName& instance,
            std::function<void(Result<std::string>)> opened,
            std::function<void(shell::InterfaceEvent)> sink) override;
  void send(shell::InterfaceNumber number, FromAnkaios message) override;
  void read_on(shell::InterfaceNumber number) override;
  void stop_reading(shell::InterfaceNumber number) override;
  void close(shell::InterfaceNumber number) override;

  struct Impl;

 private:
  struct Passage;

  std::shared_ptr<Impl> impl_;
  std::map<shell::InterfaceNumber, std::shared_ptr<Passage>> passages_;  // on the strand
};

}  // namespace tiphys::control
