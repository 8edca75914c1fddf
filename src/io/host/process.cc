#include "io/host/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "base/strings.h"
#include "io/host/descriptor.h"

namespace tiphys::host {

namespace asio = boost::asio;

namespace {

using ErrorCode = boost::system::error_code;

constexpr std::size_t kChildStack = std::size_t{64} << 10U;
constexpr int kFirstPassed = 3;

std::string words_of(int error) { return std::generic_category().message(error); }

tl::unexpected<Error> cannot_start(const std::string& program, std::string_view step, int error) {
  return fail(
      error == ENOENT && step.empty() ? Code::kNotFound : Code::kUnavailable,
      concat("cannot start '", program, "': ", step, step.empty() ? "" : ": ", words_of(error)));
}

// What the child does between its making and the program, in this order. It shares our memory and stands on a stack of
// its own while this thread waits: it may only make system calls, and those directly, because the library's wrappers
// change state of this process (a user change would be made in all of our threads).
enum class Step : std::uint8_t {
  kNone,
  kGroup,
  kCgroup,
  kDescriptor,
  kLimit,
  kUser,
  kDirectory,
  kRun
};

std::string_view words_of(Step step) {
  switch (step) {
    case Step::kGroup:
      return "process group";
    case Step::kCgroup:
      return "joining its cgroup";
    case Step::kDescriptor:
      return "passing descriptors";
    case Step::kLimit:
      return "resource limit";
    case Step::kUser:
      return "changing the user";
    case Step::kDirectory:
      return "working directory";
    case Step::kNone:
    case Step::kRun:
      break;
  }
  return "";
}

struct Child {
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const char* directory = nullptr;
  const ProcessUser* user = nullptr;
  const std::vector<ResourceLimit>* limits = nullptr;
  const std::vector<int>* cgroups = nullptr;
  std::vector<PassedDescriptor>* descriptors = nullptr;  // with 0, 1 and 2, by number
  Step failed_step = Step::kNone;
  int error = 0;
};

// ThreadSanitizer's own clone() takes every child for a fork and stops to follow this thread: whatever it hands to another
// one afterwards would look like a race.
#if defined(__SANITIZE_THREAD__)
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);
constexpr auto* kClone = &__clone;
#else
constexpr auto* kClone = &::clone;
#endif

#define TIPHYS_UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

TIPHYS_UNCHECKED bool join_cgroups(const std::vector<int>& cgroups) {
  for (const int cgroup : cgroups)
    if (::syscall(SYS_write, cgroup, "0", 1) != 1) return false;  // 0 is the writer itself
  return true;
}

TIPHYS_UNCHECKED bool place_descriptors(std::vector<PassedDescriptor>& descriptors) {
  // First out of the way of each other, then to their numbers, then everything else is closed.
  const long free = descriptors.back().number + 1;
  for (auto& descriptor : descriptors) {
    const long moved = ::syscall(SYS_fcntl, descriptor.ours, F_DUPFD_CLOEXEC, free);
    if (moved < 0) return false;
    descriptor.ours = static_cast<int>(moved);
  }
  long next = 0;
  for (const auto& descriptor : descriptors) {
    if (::syscall(SYS_dup3, descriptor.ours, descriptor.number, 0) < 0) return false;
    if (next < descriptor.number &&
        ::syscall(SYS_close_range, next, long{descriptor.number} - 1, 0) != 0)
      return false;
    next = long{descriptor.number} + 1;
  }
  return ::syscall(SYS_close_range, next, ~0U, 0) == 0;
}

TIPHYS_UNCHECKED bool set_limits(const std::vector<ResourceLimit>& limits) {
  for (const auto& limit : limits) {
    const std::array<std::uint64_t, 2> values{limit.soft, limit.hard};
    if (::syscall(SYS_prlimit64, 0, limit.resource, &values, nullptr) != 0) return false;
  }
  return true;
}

TIPHYS_UNCHECKED bool become(const ProcessUser& user) {
  return ::syscall(SYS_setgroups, user.groups.size(), user.groups.data()) == 0 &&
         ::syscall(SYS_setresgid, user.group, user.group, user.group) == 0 &&
         ::syscall(SYS_setresuid, user.user, user.user, user.user) == 0;
}

// Handlers of ours end with the program's start by themselves, but a signal that we ignore would stay ignored.
TIPHYS_UNCHECKED void reset_signals() {
  const std::array<unsigned long, 4> by_default{};
  for (int signal = 1; signal <= 64; ++signal)
    ::syscall(SYS_rt_sigaction, signal, &by_default, nullptr, sizeof(std::uint64_t));
  const std::uint64_t none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
}

TIPHYS_UNCHECKED int run_child(void* argument) {
  auto& child = *static_cast<Child*>(argument);
  const auto failed = [&child](Step step) TIPHYS_UNCHECKED {
    child.error = errno;
    child.failed_step = step;
    ::syscall(SYS_exit_group, 127);
    return 127;
  };
  if (::syscall(SYS_setpgid, 0, 0) != 0) return failed(Step::kGroup);
  if (!join_cgroups(*child.cgroups)) return failed(Step::kCgroup);
  if (!place_descriptors(*child.descriptors)) return failed(Step::kDescriptor);
  if (!set_limits(*child.limits)) return failed(Step::kLimit);
  if (child.user != nullptr && !become(*child.user)) return failed(Step::kUser);
  if (child.directory != nullptr && ::syscall(SYS_chdir, child.directory) != 0)
    return failed(Step::kDirectory);
  reset_signals();
  ::syscall(SYS_execve, child.path, child.arguments, child.environment);
  return failed(Step::kRun);
}

// While the child shares our memory no handler of ours may run in it.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

std::map<std::string, std::string> environment_of(const ProcessSpec& spec) {
  auto environment = spec.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto end = text.find('=');
    if (end != std::string_view::npos)
      environment.emplace(text.substr(0, end), text.substr(end + 1));
  }
  return environment;
}

// The file to run. What is there but may not be run counts only when nothing better follows.
Result<std::string> look_up(const std::string& program,
                            const std::map<std::string, std::string>& environment) {
  if (program.empty()) return cannot_start(program, "", ENOENT);
  if (program.find('/') != std::string::npos) return program;
  const auto path = environment.find("PATH");
  const std::string_view folders =
      path == environment.end() ? std::string_view("/usr/bin:/bin") : path->second;
  int error = ENOENT;
  for (const auto folder : split(folders, ':')) {
    auto file = concat(folder.empty() ? "." : folder, "/", program);
    struct stat status{};
    if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (::access(file.c_str(), X_OK) == 0) return file;
    error = EACCES;
  }
  return cannot_start(program, "", error);
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

Result<Descriptor> input_of(const ProcessSpec& spec) {
  if (spec.input.empty()) {
    Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (nothing.number() < 0) return cannot_start(spec.program, "/dev/null", errno);
    return nothing;
  }
  Descriptor memory(::memfd_create("input", MFD_CLOEXEC));
  if (memory.number() < 0) return cannot_start(spec.program, "memory for its input", errno);
  for (std::string_view rest = spec.input; !rest.empty();) {
    const auto written = ::write(memory.number(), rest.data(), rest.size());
    if (written < 0) return cannot_start(spec.program, "memory for its input", errno);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  ::lseek(memory.number(), 0, SEEK_SET);
  return memory;
}

// Where a child writes to.
enum class Medium : std::uint8_t {
  kPipe,    // can be read at any time
  kMemory,  // read when the child has ended; stays whole for the child when we go
};

struct Output {
  Descriptor ours;
  Descriptor of_child;
};

Result<Output> make_output(const ProcessSpec& spec, Medium medium) {
  if (medium == Medium::kMemory) {
    Descriptor memory(::memfd_create("output", MFD_CLOEXEC));
    if (!memory.is_open()) return cannot_start(spec.program, "memory for its output", errno);
    Descriptor of_child(::fcntl(memory.number(), F_DUPFD_CLOEXEC, 0));
    if (!of_child.is_open()) return cannot_start(spec.program, "memory for its output", errno);
    return Output{std::move(memory), std::move(of_child)};
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return cannot_start(spec.program, "pipe", errno);
  Output pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  // Ours only: the child's end is another open file.
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

struct Started {
  pid_t pid = -1;
  Descriptor pidfd;
  Descriptor out;
  Descriptor err;
};

Status check(const ProcessSpec& spec) {
  const auto has_zero = [](const std::string& text) {
    return text.find('\0') != std::string::npos;
  };
  if (has_zero(spec.program) || has_zero(spec.directory) ||
      std::any_of(spec.arguments.begin(), spec.arguments.end(), has_zero))
    return fail(Code::kInvalidArgument,
                concat("cannot start '", spec.program.c_str(),
                       "': its command line holds a zero byte, which no program can be given"));
  for (const auto& descriptor : spec.descriptors)
    if (descriptor.number < kFirstPassed)
      return fail(Code::kInvalidArgument,
                  concat("cannot start '", spec.program, "': descriptor ",
                         std::to_string(descriptor.number), " is for its input and output"));
  return {};
}

Result<Started> spawn(const ProcessSpec& spec, Medium medium) {
  TIPHYS_REQUIRE(check(spec));
  const auto variables = environment_of(spec);
  TIPHYS_TRY(const std::string path, look_up(spec.program, variables));
  std::vector<std::string> arguments{spec.program};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) environment.push_back(concat(name, "=", value));
  const auto argument_pointers = pointers_to(arguments);
  const auto environment_pointers = pointers_to(environment);

  TIPHYS_TRY(const Descriptor input, input_of(spec));
  TIPHYS_TRY(Output out, make_output(spec, medium));
  TIPHYS_TRY(Output err, make_output(spec, medium));
  std::vector<Descriptor> cgroups;
  std::vector<int> cgroup_numbers;
  for (const auto& file : spec.cgroups) {
    cgroups.emplace_back(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (cgroups.back().number() < 0) return cannot_start(spec.program, file, errno);
    cgroup_numbers.push_back(cgroups.back().number());
  }
  std::vector<PassedDescriptor> descriptors = spec.descriptors;
  descriptors.push_back({input.number(), STDIN_FILENO});
  descriptors.push_back({out.of_child.number(), STDOUT_FILENO});
  descriptors.push_back({err.of_child.number(), STDERR_FILENO});
  std::sort(descriptors.begin(), descriptors.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });

  Child child;
  child.path = path.c_str();
  child.arguments = argument_pointers.data();
  child.environment = environment_pointers.data();
  child.directory = spec.directory.empty() ? nullptr : spec.directory.c_str();
  child.user = spec.user ? &*spec.user : nullptr;
  child.limits = &spec.limits;
  child.cgroups = &cgroup_numbers;
  child.descriptors = &descriptors;
  const auto stack = std::make_unique_for_overwrite<std::byte[]>(kChildStack);
  int pidfd = -1;
  pid_t pid = -1;
  int error = 0;
  {
    const AllSignalsBlocked blocked;
    pid = kClone(&run_child, stack.get() + kChildStack,
                 CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &child, &pidfd);
    error = errno;
  }
  if (pid < 0) return cannot_start(spec.program, "clone", error);
  Started started{pid, Descriptor(pidfd), std::move(out.ours), std::move(err.ours)};
  if (child.failed_step != Step::kNone) {
    siginfo_t end{};
    ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &end, WEXITED);
    return cannot_start(spec.program, words_of(child.failed_step), child.error);
  }
  return started;
}

// The medium of a child of start().
Medium medium_of(const ProcessSpec& spec) {
  return spec.outlives_us ? Medium::kMemory : Medium::kPipe;
}

// One of the two outputs of a child.
struct Capture {
  Capture(const asio::any_io_executor& executor, Descriptor descriptor, Medium medium,
          std::size_t max)
      : pipe(executor), limit(max) {
    if (medium == Medium::kPipe)
      pipe.assign(descriptor.release());
    else
      memory = std::move(descriptor);
  }

  void take(const char* bytes, std::size_t size) {
    const auto room = std::min(size, limit - text.size());
    text.append(bytes, room);
    was_cut = was_cut || room < size;
  }

  // All of it, once the child has ended.
  void finish() {
    if (pipe.is_open()) {
      drain();
      return;
    }
    struct stat status{};
    if (::fstat(memory.number(), &status) != 0) return;
    text.resize(std::min(static_cast<std::size_t>(status.st_size), limit));
    const auto size = ::pread(memory.number(), text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
    was_cut = static_cast<std::size_t>(status.st_size) > text.size();
  }

  // What stands in the pipe now, and no more than fits into one: a grandchild may go on writing for ever. False at the
  // pipe's end.
  bool drain() {
    std::array<char, 16384> buffer;
    for (ssize_t left = ::fcntl(pipe.native_handle(), F_GETPIPE_SZ); left > 0;) {
      const auto size = ::read(pipe.native_handle(), buffer.data(), buffer.size());
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return errno == EAGAIN;
      if (size == 0) return false;
      take(buffer.data(), static_cast<std::size_t>(size));
      left -= size;
    }
    return true;
  }

  asio::posix::stream_descriptor pipe;  // or
  Descriptor memory;
  const std::size_t limit;
  std::string text;
  bool was_cut = false;
};

// How a process ended, once its pidfd says that it did; nothing when the system does not tell. It is reaped by that.
std::optional<ProcessEnd> reap(int pidfd) {
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0 ||
      info.si_pid == 0)
    return std::nullopt;
  ProcessEnd end;
  (info.si_code == CLD_EXITED ? end.exit_code : end.signal) = info.si_status;
  return end;
}

// Nobody may take a failure for a success.
tl::unexpected<Error> unknown_end() {
  return fail(Code::kUnknown, "it has ended, but the system does not say how");
}

// What a followed child writes is read into here.
constexpr std::size_t kReadSize = std::size_t{32} << 10U;

}  // namespace

struct Processes::Impl : std::enable_shared_from_this<Impl> {
  struct Process {
    Process(const asio::any_io_executor& executor, Started started, const ProcessSpec& spec,
            std::function<void(Result<ProcessEnd>)> sink)
        : pid(started.pid),
          pidfd(executor, started.pidfd.release()),
          out(executor, std::move(started.out), medium_of(spec), spec.max_output),
          err(executor, std::move(started.err), medium_of(spec), spec.max_errors),
          timer(executor),
          grace(spec.grace),
          outlives_us(spec.outlives_us),
          done(std::move(sink)) {}

    // Only before it is reaped: until then nobody else can have its number.
    void kill_group(int signal) const { ::kill(-pid, signal); }
    void close() {
      ErrorCode ignored;
      static_cast<void>(pidfd.close(ignored));
      static_cast<void>(out.pipe.close(ignored));
      static_cast<void>(err.pipe.close(ignored));
      timer.cancel();
    }

    const pid_t pid;
    asio::posix::stream_descriptor pidfd;
    Capture out;
    Capture err;
    asio::steady_timer timer;
    const Duration grace;
    const bool outlives_us;
    bool timed_out = false;
    bool cancelled = false;
    std::function<void(Result<ProcessEnd>)> done;
  };
  using ProcessPtr = std::shared_ptr<Process>;

  explicit Impl(asio::any_io_executor runs_on) : executor(std::move(runs_on)) {}

  void watch(ProcessNumber number, const ProcessPtr& process, std::optional<Duration> deadline) {
    for (Capture* capture : {&process->out, &process->err})
      if (capture->pipe.is_open()) read(process, *capture);
    await_end(number, process);
    if (deadline) arm(process, *deadline);
  }

  void await_end(ProcessNumber number, const ProcessPtr& process) {
    process->pidfd.async_wait(asio::posix::stream_descriptor::wait_read,
                              [weak = weak_from_this(), number, process](const ErrorCode& error) {
                                const auto self = weak.lock();
                                if (!self || error) return;
                                if (is_ready(process->pidfd.native_handle(), POLLIN))
                                  self->ended(number, process);
                                else
                                  self->await_end(number, process);
                              });
  }

  // Waits and then reads by itself: a read that Asio had done already would not be seen when the process ends.
  void read(const ProcessPtr& process, Capture& capture) {
    capture.pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                            [weak = weak_from_this(), process, &capture](const ErrorCode& error) {
                              const auto self = weak.lock();
                              if (self && !error && capture.pipe.is_open() && capture.drain())
                                self->read(process, capture);
                            });
  }

  void arm(const ProcessPtr& process, Duration pause) {
    process->timer.expires_after(pause);
    process->timer.async_wait([weak = weak_from_this(), process](const ErrorCode& error) {
      const auto self = weak.lock();
      if (!self || error || !process->pidfd.is_open()) return;
      process->kill_group(process->timed_out ? SIGKILL : SIGTERM);
      if (!std::exchange(process->timed_out, true)) self->arm(process, process->grace);
    });
  }

  void ended(ProcessNumber number, const ProcessPtr& process) {
    // While it is not reaped its group still is its own: what did not heed the order to end is not left behind.
    if (process->timed_out || process->cancelled) process->kill_group(SIGKILL);
    auto end = reap(process->pidfd.native_handle());
    process->out.finish();
    process->err.finish();
    process->close();
    processes.erase(number);
    if (process->cancelled) return process->done(fail(Code::kCancelled, "cancelled"));
    if (!end) return process->done(unknown_end());
    end->out = std::move(process->out.text);
    end->err = std::move(process->err.text);
    end->out_was_cut = process->out.was_cut;
    end->err_was_cut = process->err.was_cut;
    end->timed_out = process->timed_out;
    process->done(*std::move(end));
  }

  // -- Followed processes

  struct FollowedPipe {
    FollowedPipe(const asio::any_io_executor& executor, Descriptor descriptor, OutputPipe name)
        : pipe(executor, descriptor.release()), which(name) {}

    void close() {
      ErrorCode ignored;
      static_cast<void>(pipe.close(ignored));
    }

    asio::posix::stream_descriptor pipe;
    const OutputPipe which;
    bool is_awaited = false;
    // Once the process has ended: what it had written by then. A grandchild may go on writing for ever.
    std::optional<std::size_t> left;
  };

  struct Followed {
    Followed(const asio::any_io_executor& executor, Started started, bool stays, ProcessReader told)
        : pid(started.pid),
          pidfd(executor, started.pidfd.release()),
          out(executor, std::move(started.out), OutputPipe::kOut),
          err(executor, std::move(started.err), OutputPipe::kErr),
          outlives_us(stays),
          reader(std::move(told)) {}

    void kill_group(int signal) const {
      if (!has_ended) ::kill(-pid, signal);
    }
    void close() {
      ErrorCode ignored;
      static_cast<void>(pidfd.close(ignored));
      out.close();
      err.close();
    }

    const pid_t pid;
    asio::posix::stream_descriptor pidfd;
    FollowedPipe out;
    FollowedPipe err;
    const bool outlives_us;
    ProcessReader reader;
    bool is_paused = false;
    bool cancelled = false;
    bool has_ended = false;  // it is reaped: its number may be somebody else's
    std::optional<ProcessEnd> end;
  };
  using FollowedPtr = std::shared_ptr<Followed>;

  void watch(ProcessNumber number, const FollowedPtr& process) {
    await_output(number, process, process->out);
    await_output(number, process, process->err);
    await_end(number, process);
  }

  void await_end(ProcessNumber number, const FollowedPtr& process) {
    process->pidfd.async_wait(asio::posix::stream_descriptor::wait_read,
                              [weak = weak_from_this(), number, process](const ErrorCode& error) {
                                const auto self = weak.lock();
                                if (!self || error) return;
                                if (is_ready(process->pidfd.native_handle(), POLLIN))
                                  self->ended(number, process);
                                else
                                  self->await_end(number, process);
                              });
  }

  void await_output(ProcessNumber number, const FollowedPtr& process, FollowedPipe& pipe) {
    if (!pipe.pipe.is_open() || std::exchange(pipe.is_awaited, true)) return;
    pipe.pipe.async_wait(asio::posix::stream_descriptor::wait_read,
                         [weak = weak_from_this(), number, process, &pipe](const ErrorCode& error) {
                           pipe.is_awaited = false;
                           const auto self = weak.lock();
                           if (self && !error) self->read_some(number, process, pipe);
                         });
  }

  // One read, so that nobody else waits for a child that writes without end.
  void read_some(ProcessNumber number, const FollowedPtr& process, FollowedPipe& pipe) {
    if (!pipe.pipe.is_open() || process->is_paused || process->cancelled) return;
    const auto wanted = std::min(pipe.left.value_or(kReadSize), kReadSize);
    const auto size = wanted == 0 ? 0 : ::read(pipe.pipe.native_handle(), buffer.get(), wanted);
    // Asio may have spoken of an earlier descriptor. What an ended process left is there and stays there.
    const bool is_empty = size < 0 && (errno == EINTR || (errno == EAGAIN && !pipe.left));
    if (size > 0) {
      const auto count = static_cast<std::size_t>(size);
      if (pipe.left) *pipe.left -= count;
      process->is_paused = !process->reader.read(pipe.which, {buffer.get(), count});
    } else if (!is_empty) {
      pipe.close();
    }
    if (process->cancelled) return;
    if (process->has_ended && pipe.left == 0) pipe.close();
    if (!process->is_paused) await_output(number, process, pipe);
    finish_if_read(number, process);
  }

  void ended(ProcessNumber number, const FollowedPtr& process) {
    if (process->cancelled) process->kill_group(SIGKILL);
    process->end = reap(process->pidfd.native_handle());
    process->has_ended = true;
    ErrorCode ignored;
    static_cast<void>(process->pidfd.close(ignored));
    if (process->cancelled) return finish(number, process);
    for (auto* pipe : {&process->out, &process->err}) {
      if (!pipe->pipe.is_open()) continue;
      int left = 0;
      ::ioctl(pipe->pipe.native_handle(), FIONREAD, &left);
      pipe->left = static_cast<std::size_t>(left);
      if (left == 0) pipe->close();
    }
    finish_if_read(number, process);
  }

  void finish_if_read(ProcessNumber number, const FollowedPtr& process) {
    if (process->has_ended && !process->out.pipe.is_open() && !process->err.pipe.is_open())
      finish(number, process);
  }

  void finish(ProcessNumber number, const FollowedPtr& process) {
    if (followed.erase(number) == 0) return;
    process->close();
    if (process->cancelled)
      process->reader.done(fail(Code::kCancelled, "cancelled"));
    else if (process->end)
      process->reader.done(*std::move(process->end));
    else
      process->reader.done(unknown_end());
  }

  void read_on(ProcessNumber number) {
    const auto process = followed.find(number);
    if (process == followed.end() || !std::exchange(process->second->is_paused, false)) return;
    for (auto* pipe : {&process->second->out, &process->second->err})
      await_output(number, process->second, *pipe);
  }

  // Those that have ended are past killing, but not past telling that nobody wants the rest.
  void cancel(ProcessNumber number, const FollowedPtr& process) {
    process->cancelled = true;
    process->kill_group(SIGKILL);
    if (process->has_ended)
      asio::post(executor, [weak = weak_from_this(), number, process] {
        if (const auto self = weak.lock()) self->finish(number, process);
      });
  }

  template <class Process>
  static void end_now(const std::map<ProcessNumber, std::shared_ptr<Process>>& all) {
    constexpr int kPatienceInMs = 1000;  // a killed process goes at once unless a device holds it
    for (const auto& [number, process] : all)
      if (!process->outlives_us) process->kill_group(SIGKILL);
    for (const auto& [number, process] : all) {
      if (!process->outlives_us && process->pidfd.is_open()) {
        pollfd end{process->pidfd.native_handle(), POLLIN, 0};
        ::poll(&end, 1, kPatienceInMs);
        (void)reap(end.fd);
      }
      process->close();
    }
  }

  const asio::any_io_executor executor;
  std::map<ProcessNumber, ProcessPtr> processes;
  std::map<ProcessNumber, FollowedPtr> followed;
  ProcessNumber last_number = 0;
  const std::unique_ptr<char[]> buffer = std::make_unique_for_overwrite<char[]>(kReadSize);
};

std::string how_it_ended(const ProcessEnd& end) {
  if (end.signal == 0) return concat("exit code ", std::to_string(end.exit_code));
  const char* words = ::sigdescr_np(end.signal);
  return concat("killed by signal ", std::to_string(end.signal), " (",
                words == nullptr ? "unknown" : words, ")");
}

Processes::Processes(asio::any_io_executor executor)
    : impl_(std::make_shared<Impl>(std::move(executor))) {}

Processes::~Processes() {
  Impl::end_now(impl_->processes);
  Impl::end_now(impl_->followed);
}

ResourceLimit raise_descriptor_limit() {
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  const ResourceLimit before{RLIMIT_NOFILE, limit.rlim_cur, limit.rlim_max};
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  return before;
}

ProcessNumber Processes::start(const ProcessSpec& spec,
                               std::function<void(Result<ProcessEnd>)> done) {
  const auto number = ++impl_->last_number;
  auto started = spawn(spec, medium_of(spec));
  if (!started) {
    asio::post(impl_->executor, [weak = std::weak_ptr(impl_), done = std::move(done),
                                 error = std::move(started).error()] {
      if (weak.lock()) done(fail(error));
    });
    return number;
  }
  auto process =
      std::make_shared<Impl::Process>(impl_->executor, *std::move(started), spec, std::move(done));
  impl_->processes.emplace(number, process);
  impl_->watch(number, process, spec.deadline);
  return number;
}

ProcessNumber Processes::follow(const ProcessSpec& spec, ProcessReader reader) {
  const auto number = ++impl_->last_number;
  auto started = spawn(spec, Medium::kPipe);
  if (!started) {
    asio::post(impl_->executor, [weak = std::weak_ptr(impl_), done = std::move(reader.done),
                                 error = std::move(started).error()] {
      if (weak.lock()) done(fail(error));
    });
    return number;
  }
  const auto process = std::make_shared<Impl::Followed>(impl_->executor, *std::move(started),
                                                        spec.outlives_us, std::move(reader));
  impl_->followed.emplace(number, process);
  impl_->watch(number, process);
  return number;
}

void Processes::read_on(ProcessNumber number) { impl_->read_on(number); }

void Processes::cancel(ProcessNumber number) {
  if (const auto process = impl_->followed.find(number); process != impl_->followed.end())
    return impl_->cancel(number, process->second);
  const auto process = impl_->processes.find(number);
  if (process == impl_->processes.end()) return;
  process->second->cancelled = true;
  process->second->kill_group(SIGKILL);
}

}  // namespace tiphys::host
