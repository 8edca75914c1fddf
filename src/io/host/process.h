#pragma once

// Programs that we run: started without a copy of this process, heard of through a pidfd. There is no handler of SIGCHLD
// and no thread per child.
//
// A child gets exactly the descriptors that its spec names, default signal handlers and a process group of its own. Its
// input stands in memory that it can read at its own pace; what it writes is kept up to a limit and thrown away beyond,
// so that it never waits for us. The answer is given when the child itself has ended and what it had written by then is
// read: a grandchild that keeps the pipes open (podman's conmon does) is not waited for.
//
// A followed child writes to somebody who reads along. Its output is not kept, and when the reader has enough for now,
// nothing more is read: the child then waits for us, as it would for a slow terminal.

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/instant.h"
#include "base/result.h"

namespace tiphys::host {

struct ResourceLimit {
  int resource = 0;  // RLIMIT_NOFILE and its like
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};

// Lets this process have as many descriptors as it may. Answers the limit as it was, for its children: some programs take
// the number for granted.
ResourceLimit raise_descriptor_limit();

struct ProcessUser {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;  // all others are given up
};

// One of our descriptors and its number in the child, above 2.
struct PassedDescriptor {
  int ours = -1;
  int number = -1;
};

struct ProcessSpec {
  std::string program;  // with a slash it is a path; else it is looked up in PATH
  std::vector<std::string> arguments = {};              // without the program's name
  std::map<std::string, std::string> environment = {};  // besides ours, or instead of it
  std::string directory = {};                           // empty: ours
  std::optional<ProcessUser> user = {};
  std::vector<ResourceLimit> limits = {};
  std::vector<std::string> cgroups = {};  // cgroup.procs of each group to join, before it runs
  std::vector<PassedDescriptor> descriptors = {};
  std::string input = {};
  std::size_t max_output = std::size_t{1} << 20U;
  std::size_t max_errors = std::size_t{64} << 10U;
  // After that its group is told to end, and killed when it has not ended after a while more.
  std::optional<Duration> deadline = {};
  Duration grace = std::chrono::seconds(5);
  // Else it is killed when its Processes go. One that outlives us can go on writing: a program of which an output breaks
  // ends in the middle of its work.
  bool outlives_us = false;
};

struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // that killed it; 0 when it exited
  std::string out;
  std::string err;
  bool out_was_cut = false;
  bool err_was_cut = false;
  bool timed_out = false;
};

// "exit code 1", "killed by signal 9 (Killed)"
std::string how_it_ended(const ProcessEnd& end);

using ProcessNumber = std::uint64_t;

enum class OutputPipe : std::uint8_t { kOut, kErr };

// Of a followed process.
struct ProcessReader {
  // Told what came, in its order within each pipe. False: no more is wanted until read_on().
  std::function<bool(OutputPipe, std::string_view)> read;
  // Told once, last: after all that the process had written, or as soon as it is dead when it was cancelled.
  std::function<void(Result<ProcessEnd>)> done;
};

// To be used on the executor's thread only, which is where answers come too.
class Processes {
 public:
  explicit Processes(boost::asio::any_io_executor executor);
  // Kills what was not to outlive us; nobody is told any more.
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Told once, never before this returns. A program that cannot be started is an error with the system's words: kNotFound
  // where there is none of that name, else kUnavailable; a cancelled one is kCancelled.
  ProcessNumber start(const ProcessSpec& spec, std::function<void(Result<ProcessEnd>)> done);
  // As start(), with somebody who reads along; there is no deadline, and the limits for output do not count.
  ProcessNumber follow(const ProcessSpec& spec, ProcessReader reader);
  // The reader of a followed process wants more. Not to be called while it is told something.
  void read_on(ProcessNumber number);
  // Kills the process with its group at once; nothing more of its output is told. One that has ended already is left alone.
  void cancel(ProcessNumber number);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace tiphys::host
