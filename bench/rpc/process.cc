#include "bench/rpc/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace tiphys::bench {

namespace {

[[noreturn]] void become(const std::vector<std::string>& command, int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a run that is interrupted leaves nothing behind
  dup2(output, STDOUT_FILENO);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  _exit(127);
}

std::string read_line(int descriptor) {
  std::string line;
  char byte = 0;
  while (read(descriptor, &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

void end(pid_t pid) {
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

struct Child {
  pid_t pid;
  std::string line;  // the first that it printed
};

Result<Child> start_program(const std::vector<std::string>& command) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0)
    return fail(Code::kUnavailable, std::string("no pipe: ") + std::strerror(errno));
  const pid_t pid = fork();
  if (pid == 0) become(command, pipe_ends[1]);
  const int problem = errno;
  close(pipe_ends[1]);
  std::string line = pid > 0 ? read_line(pipe_ends[0]) : "";
  close(pipe_ends[0]);
  if (pid < 0)
    return fail(Code::kUnavailable, std::string("cannot fork: ") + std::strerror(problem));
  return Child{pid, std::move(line)};
}

}  // namespace

Result<ServerProcess> ServerProcess::start(const std::string& program) {
  TIPHYS_TRY(const Child child, start_program({program}));
  std::uint16_t port = 0;
  std::from_chars(child.line.data(), child.line.data() + child.line.size(), port);
  if (port == 0) {
    end(child.pid);
    return fail(Code::kUnavailable, program + " did not start; build it first");
  }
  return ServerProcess(child.pid, port);
}

Result<double> number_printed_by(const std::vector<std::string>& command) {
  TIPHYS_TRY(const Child child, start_program(command));
  waitpid(child.pid, nullptr, 0);
  double number = 0;
  const auto [stop, problem] =
      std::from_chars(child.line.data(), child.line.data() + child.line.size(), number);
  if (problem != std::errc()) return fail(Code::kUnavailable, command[0] + " printed no number");
  return number;
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), port_(other.port_) {}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) end(pid_);
}

double ServerProcess::cpu_seconds() const {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

Result<ServerProcess::Memory> ServerProcess::memory() const {
  const std::string path = "/proc/" + std::to_string(pid_) + "/smaps_rollup";
  std::ifstream file(path);
  std::map<std::string, double> kilobytes;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    if (double value = 0; words >> name >> value) kilobytes[name] = value;
  }
  if (!kilobytes.contains("Pss:") || !kilobytes.contains("Anonymous:"))
    return fail(Code::kUnavailable, path + ": has no figures; the server may have ended");
  return Memory{kilobytes["Pss:"] * 1024, kilobytes["Anonymous:"] * 1024};
}

}  // namespace tiphys::bench
