#include "bench/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

namespace tiphys::bench {

namespace {

// Without a copy of this process, which would be measured too. A terminal's interrupt reaches the program as well as us.
Result<pid_t> start_program(const std::vector<std::string>& command, int output, int errors) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t pid = 0;
  const int problem = posix_spawnp(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0)
    return fail(Code::kUnavailable, "cannot start " + command[0] + ": " + std::strerror(problem));
  return pid;
}

class Pipe {
 public:
  Pipe() { is_open_ = pipe2(ends_, O_CLOEXEC) == 0; }
  ~Pipe() {
    close_input();
    if (is_open_) close(ends_[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] int output() const { return ends_[0]; }
  [[nodiscard]] int input() const { return ends_[1]; }
  [[nodiscard]] bool is_open() const { return is_open_; }
  void close_input() {
    if (is_open_ && ends_[1] >= 0) close(std::exchange(ends_[1], -1));
  }

 private:
  int ends_[2] = {-1, -1};
  bool is_open_;
};

std::string read_line(int descriptor) {
  std::string line;
  char byte = 0;
  while (read(descriptor, &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

std::string read_all(int descriptor) {
  std::string all;
  char buffer[4096];
  for (ssize_t count = 0; (count = read(descriptor, buffer, sizeof buffer)) > 0;)
    all.append(buffer, static_cast<std::size_t>(count));
  return all;
}

struct Ended {
  std::string out;
  double seconds;
};

// Both outputs are read to their end, so that nobody writes to a closed pipe.
Result<Ended> run_to_end(const std::vector<std::string>& command) {
  Pipe pipe;
  if (!pipe.is_open())
    return fail(Code::kUnavailable, std::string("no pipe: ") + std::strerror(errno));
  const auto began = std::chrono::steady_clock::now();
  TIPHYS_TRY(const pid_t pid, start_program(command, pipe.input(), pipe.input()));
  pipe.close_input();
  std::string out = read_all(pipe.output());
  int status = 0;
  waitpid(pid, &status, 0);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  if (status != 0) return fail(Code::kUnavailable, command[0] + " failed: " + out);
  return Ended{std::move(out), passed.count()};
}

}  // namespace

Result<double> number_printed_by(const std::vector<std::string>& command) {
  TIPHYS_TRY(const Ended ended, run_to_end(command));
  double number = 0;
  const auto [stop, problem] =
      std::from_chars(ended.out.data(), ended.out.data() + ended.out.size(), number);
  if (problem != std::errc()) return fail(Code::kUnavailable, command[0] + " printed no number");
  return number;
}

Result<std::string> output_of(const std::vector<std::string>& command) {
  TIPHYS_TRY(Ended ended, run_to_end(command));
  return std::move(ended.out);
}

Result<double> seconds_of(const std::vector<std::string>& command) {
  TIPHYS_TRY(const Ended ended, run_to_end(command));
  return ended.seconds;
}

Result<MeasuredProcess> MeasuredProcess::start(const std::vector<std::string>& command,
                                               const std::string& log) {
  const int errors = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (errors < 0) return fail(Code::kUnavailable, log + ": " + std::strerror(errno));
  auto pid = start_program(command, errors, errors);
  close(errors);
  if (!pid) return fail(pid.error());
  return MeasuredProcess(*pid);
}

MeasuredProcess::MeasuredProcess(MeasuredProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)) {}

MeasuredProcess::~MeasuredProcess() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<ServerProcess> ServerProcess::start(const std::string& program) {
  Pipe pipe;
  if (!pipe.is_open())
    return fail(Code::kUnavailable, std::string("no pipe: ") + std::strerror(errno));
  TIPHYS_TRY(const pid_t pid, start_program({program}, pipe.input(), STDERR_FILENO));
  MeasuredProcess process(pid);
  pipe.close_input();
  const std::string line = read_line(pipe.output());
  std::uint16_t port = 0;
  std::from_chars(line.data(), line.data() + line.size(), port);
  if (port == 0) return fail(Code::kUnavailable, program + " did not start; build it first");
  return ServerProcess(std::move(process), port);
}

double MeasuredProcess::cpu_seconds() const {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

double MeasuredProcess::cpu_seconds_with_children() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  // The name, which stands in brackets, may hold anything.
  std::istringstream words(text.substr(text.rfind(')') + 1));
  constexpr int kBefore = 13;  // fields between the name and the times of the children
  std::string skipped;
  for (int i = 0; i < kBefore; ++i) words >> skipped;
  double user = 0;
  double system = 0;
  words >> user >> system;
  return cpu_seconds() + (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Result<MeasuredProcess::Memory> MeasuredProcess::memory() const {
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

Result<MeasuredProcess::Threads> MeasuredProcess::threads() const {
  Threads threads;
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid_) + "/task";
  std::error_code problem;
  for (const auto& task : std::filesystem::directory_iterator(tasks, problem)) {
    ++threads.count;
    std::ifstream file(task.path() / "status");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string name;
      if (double value = 0; words >> name >> value && name == "voluntary_ctxt_switches:")
        threads.wake_ups += value;
    }
  }
  if (threads.count == 0)
    return fail(Code::kUnavailable, tasks.string() + ": nothing there; the process has ended");
  return threads;
}

}  // namespace tiphys::bench
