#include "io/control/pipe_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/strings.h"
#include "control_api.pb.h"
#include "io/control/pipe_files.h"
#include "io/host/descriptor.h"
#include "io/host/files.h"
#include "io/wire/control_api.h"
#include "io/wire/serialise.h"

namespace tiphys::control {

namespace asio = boost::asio;

namespace {

using ErrorCode = boost::system::error_code;

constexpr std::size_t kChunk = std::size_t{64} << 10U;  // as much as a pipe holds

}  // namespace

// [impl->swdd~agent-converts-control-interface-message-to-ankaios-object~1]
agent::InterfaceEvent event_of(std::string_view message) {
  wire::silence_the_library();
  control_api::ToAnkaios said;
  if (!said.ParseFromArray(message.data(), static_cast<int>(message.size())))
    return agent::Garbled{concat("its ", std::to_string(message.size()),
                                 " bytes are no message of the control interface")};
  auto content = wire::from_wire(said);
  if (content) return agent::Said{*std::move(content), message.size()};
  if (!said.has_request()) return agent::Unusable{};
  const bool is_empty =
      said.request().RequestContent_case() == ank_base::Request::REQUESTCONTENT_NOT_SET;
  return agent::Unusable{said.request().requestid(), is_empty ? "" : content.error().message};
}

PipeReader::PipeReader(const asio::any_io_executor& executor, std::string path, Tell tell)
    : path_(std::move(path)), tell_(std::move(tell)), pipe_(executor), pause_(executor) {}

// [impl->swdd~agent-listens-for-requests-from-pipe~1]
// [impl->swdd~agent-ensures-control-interface-output-pipe-read~1]
Status PipeReader::start() {
  if (!assign())
    return fail(Code::kFailedPrecondition,
                concat("\"", path_, "\": ", host::system_message(errno)));
  listen();
  return {};
}

// Takes the pipe that is there now, before the one from before goes: a writer that comes in between finds a reader.
bool PipeReader::assign() {
  auto fresh = open_pipe(path_, O_RDONLY);
  ++generation_;
  ErrorCode ignored;
  static_cast<void>(pipe_.close(ignored));
  if (!fresh) {
    errno = fresh.error();
    return false;
  }
  pipe_.assign(fresh->release());
  next_pause_ = kFirstReopenPause;
  return true;
}

void PipeReader::listen() {
  pipe_.async_wait(asio::posix::stream_descriptor::wait_read,
                   [weak = weak_from_this(), generation = generation_](const ErrorCode& error) {
                     const auto self = weak.lock();
                     if (self && !error && generation == self->generation_) self->look();
                   });
}

void PipeReader::look() {
  if (is_stopped_) return;
  // Without a writer yet a pipe would be at its end already, if one asked it for nothing.
  if (!host::is_ready(pipe_.native_handle(), POLLIN)) return listen();
  std::array<char, kChunk> bytes;
  const auto size = ::read(pipe_.native_handle(), bytes.data(), bytes.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return listen();
  if (size <= 0) {
    frames_.reset();
    return reopen();
  }
  take({bytes.data(), static_cast<std::size_t>(size)});
  if (may_tell_) listen();
}

void PipeReader::reopen() {
  if (assign()) return listen();
  pause_.expires_after(next_pause_);
  next_pause_ = std::min(next_pause_ * 2, kLongestReopenPause);
  pause_.async_wait([weak = weak_from_this(), generation = generation_](const ErrorCode& error) {
    const auto self = weak.lock();
    if (self && !error && generation == self->generation_) self->reopen();
  });
}

void PipeReader::take(std::string_view bytes) {
  while (may_tell_ && !bytes.empty()) {
    switch (frames_.push(bytes)) {
      case FrameReader::Found::kNothing:
        break;
      case FrameReader::Found::kMessage:
        tell(event_of(frames_.take()));
        break;
      case FrameReader::Found::kOverlong:
        tell(agent::Garbled{"the length of a message does not end"});
        break;
      case FrameReader::Found::kTooLong:
        tell(agent::Garbled{"a message is longer than 64 MiB", true});
        break;
    }
  }
  rest_.assign(bytes);
}

void PipeReader::tell(agent::InterfaceEvent event) {
  may_tell_ = false;
  tell_(std::move(event));
}

void PipeReader::read_on() {
  if (may_tell_ || is_stopped_) return;
  may_tell_ = true;
  const std::string rest = std::exchange(rest_, {});
  take(rest);
  if (may_tell_) listen();
}

void PipeReader::close() {
  is_stopped_ = true;
  ++generation_;
  ErrorCode ignored;
  static_cast<void>(pipe_.close(ignored));
  pause_.cancel();
}

}  // namespace tiphys::control
