#include "bench/system/pipes.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/strings.h"
#include "io/wire/wire.h"
#include "model/protocol_version.h"

namespace tiphys::bench {

namespace fs = std::filesystem;

namespace {

constexpr auto kPatience = std::chrono::seconds(5);

bool is_ready_within(const host::Descriptor& end, short events,
                     std::chrono::milliseconds patience) {
  pollfd asked{end.number(), events, 0};
  return ::poll(&asked, 1, static_cast<int>(patience.count())) > 0;
}

Result<fs::path> interface_of(const fs::path& folder, const std::string& workload) {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem))
    if (entry.path().filename().string().starts_with(workload + "."))
      return entry.path() / "control_interface";
  return fail(Code::kNotFound,
              concat(folder.string(), ": there is no control interface of ", workload));
}

Result<host::Descriptor> open_end(const fs::path& path, int access) {
  host::Descriptor end(::open(path.c_str(), access | O_NONBLOCK | O_CLOEXEC));
  if (!end.is_open())
    return fail(Code::kUnavailable, concat(path.string(), ": ", std::strerror(errno)));
  return end;
}

}  // namespace

Result<WorkloadPipes> WorkloadPipes::open(const fs::path& folder, const std::string& workload) {
  TIPHYS_TRY(const fs::path interface, interface_of(folder, workload));
  TIPHYS_TRY(host::Descriptor input, open_end(interface / "input", O_RDONLY));
  TIPHYS_TRY(host::Descriptor output, open_end(interface / "output", O_WRONLY));
  WorkloadPipes pipes(std::move(input), std::move(output));
  TIPHYS_REQUIRE(pipes.say(ControlInterfaceHello{std::string(kProtocolVersion)}, kPatience));
  TIPHYS_TRY(const FromAnkaios answer, pipes.hear());
  if (!std::holds_alternative<ControlInterfaceAccepted>(answer))
    return fail(Code::kUnavailable, concat("the control interface does not accept ", workload));
  return pipes;
}

Result<bool> WorkloadPipes::say(const ToAnkaios& message, std::chrono::milliseconds patience) {
  const std::string frame = control::to_frame(wire::encode(message));
  if (!is_ready_within(output_, POLLOUT, patience)) return false;
  if (::write(output_.number(), frame.data(), frame.size()) == static_cast<ssize_t>(frame.size()))
    return true;
  if (errno == EAGAIN) return false;
  return fail(Code::kUnavailable,
              concat("the control interface takes no more: ", std::strerror(errno)));
}

Result<FromAnkaios> WorkloadPipes::hear() {
  while (true) {
    std::string_view bytes = received_;
    const auto found = frames_.push(bytes);
    received_ = std::string(bytes);
    if (found == control::FrameReader::Found::kMessage)
      return wire::decode_from_ankaios(frames_.take());
    if (found != control::FrameReader::Found::kNothing)
      return fail(Code::kInternal, "the control interface sends no messages");
    if (!is_ready_within(input_, POLLIN, kPatience))
      return fail(Code::kDeadlineExceeded, "the control interface does not answer");
    char part[4096];
    const ssize_t count = ::read(input_.number(), part, sizeof part);
    if (count <= 0) return fail(Code::kUnavailable, "the control interface has ended");
    received_.assign(part, static_cast<std::size_t>(count));
  }
}

Status WorkloadPipes::discard() {
  char part[4096];
  while (true) {
    const ssize_t count = ::read(input_.number(), part, sizeof part);
    if (count < 0 && errno == EAGAIN) return {};
    if (count <= 0) return fail(Code::kUnavailable, "the control interface has ended");
  }
}

}  // namespace tiphys::bench
