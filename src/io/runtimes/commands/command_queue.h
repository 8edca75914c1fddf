#pragma once

// Runs the program of an engine: a few at once, those of one container one after the other and in the order in which they came. Every
// failure becomes an error with the command in it. Runs on one executor's thread.

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "io/host/process.h"
#include "io/runtimes/commands/container_arguments.h"

namespace tiphys::commands {

struct Command {
  Arguments arguments;
  Duration deadline;
  std::string forgiven = {};  // a failure that says this is none
  std::string input = {};
};

enum class Lane : std::uint8_t { kCreate, kOther };

class CommandQueue {
 public:
  struct Settings {
    std::string name;  // of the engine, for messages
    std::string program;
    std::map<std::string, std::string> environment;
    std::size_t max_creates;
    std::size_t max_others;
    std::vector<host::ResourceLimit> limits;
  };

  CommandQueue(const boost::asio::any_io_executor& executor, Settings settings);

  // Performs the commands in order, up to the first that fails; told once, with the output of the last one that ran.
  void run(Lane lane, std::string key, std::vector<Command> commands,
           std::function<void(Result<std::string>)> done);
  // Beside the queue, and ended when the queue goes.
  void run_at_once(const Command& command, std::function<void(Result<std::string>)> done);

 private:
  struct Job {
    Lane lane;
    std::string key;
    std::vector<Command> commands;
    std::function<void(Result<std::string>)> done;
  };
  using JobPtr = std::shared_ptr<Job>;

  void start_waiting();
  void perform(const JobPtr& job, std::size_t step);
  void execute(const Command& command, bool outlives_us,
               std::function<void(Result<std::string>)> done);
  [[nodiscard]] Result<std::string> outcome(const Command& command,
                                            const Result<host::ProcessEnd>& end) const;
  [[nodiscard]] std::size_t& running(Lane lane) {
    return lane == Lane::kCreate ? running_creates_ : running_others_;
  }
  [[nodiscard]] std::size_t limit(Lane lane) const {
    return lane == Lane::kCreate ? settings_.max_creates : settings_.max_others;
  }

  const Settings settings_;
  std::deque<JobPtr> waiting_;
  std::set<std::string> busy_;  // keys of the jobs that run
  std::size_t running_creates_ = 0;
  std::size_t running_others_ = 0;
  host::Processes processes_;
};

}  // namespace tiphys::commands
