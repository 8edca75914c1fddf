#include "io/control/pipe_writer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/control/pipe_files.h"
#include "io/host/descriptor.h"

namespace tiphys::control {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

PipeWriter::PipeWriter(const asio::any_io_executor& executor, std::string path,
                       std::function<void(agent::Undelivered)> lost)
    : path_(std::move(path)), lost_(std::move(lost)), pipe_(executor), timer_(executor) {}

// [impl->swdd~agent-handles-control-interface-input-pipe-not-read~1]
void PipeWriter::send(agent::Undelivered label, std::string frame) {
  const bool has_room = waiting_.empty() || (waiting_.size() < kMaxWaitingMessages &&
                                             waiting_bytes_ + frame.size() <= kMaxWaitingBytes);
  if (!has_room) return lost_(std::move(label));
  waiting_bytes_ += frame.size();
  waiting_.push_back({std::move(label), std::move(frame)});
  if (!is_waiting_ || waiting_.size() == 1 || (is_looking_ && many_wait())) write_all();
}

void PipeWriter::finish(std::function<void()> done) {
  if (waiting_.empty()) return done();
  done_ = std::move(done);
  if (is_looking_) write_all();
}

void PipeWriter::close() {
  drop_pipe();
  waiting_.clear();
  waiting_bytes_ = 0;
  done_ = {};
}

void PipeWriter::write_all() {
  ++generation_;  // whatever was waited for, this is another attempt
  is_looking_ = false;
  if (std::exchange(is_waiting_, false) && pipe_.is_open()) {
    ErrorCode ignored;
    static_cast<void>(pipe_.cancel(ignored));
  }
  while (!waiting_.empty() || !begun_.empty()) {
    if (!pipe_.is_open() && !open()) return no_reader();
    if (begun_.empty() && waiting_.front().written == 0) {
      if (is_unread()) return look_later();
      make_room();
    }
    switch (write_some()) {
      case Progress::kSome:
        break;
      case Progress::kFull:
        return full();
      case Progress::kNoReader:
        drop_pipe();
        return no_reader();
    }
  }
  timer_.cancel();
  if (const auto done = std::exchange(done_, {})) done();
}

bool PipeWriter::open() {
  auto pipe = open_pipe(path_, O_WRONLY);
  if (!pipe) return false;
  pipe_.assign(pipe->release());
  return true;
}

bool PipeWriter::many_wait() const {
  return waiting_.size() > kMaxWaitingMessages / 2 || waiting_bytes_ > kMaxWaitingBytes / 2;
}

bool PipeWriter::is_unread() {
  pollfd asked{pipe_.native_handle(), POLLOUT, 0};
  const bool has_reader = ::poll(&asked, 1, 0) >= 0 && (asked.revents & POLLERR) == 0;
  int bytes = 0;
  if (!has_reader || ::ioctl(pipe_.native_handle(), FIONREAD, &bytes) != 0) return false;
  const auto unread = static_cast<std::size_t>(bytes);
  if (unread == 0 || unread < unread_) pause_ = kShortestLook;  // it reads
  unread_ = unread;
  return unread > 0 && !many_wait() && !done_;
}

void PipeWriter::look_later() {
  is_waiting_ = is_looking_ = true;
  timer_.expires_after(pause_);
  pause_ = std::min(pause_ * 2, kLongestLook);
  timer_.async_wait([weak = weak_from_this(), generation = generation_](const ErrorCode& error) {
    const auto self = weak.lock();
    if (self && !error && generation == self->generation_) self->write_all();
  });
}

// Where that is not possible the message comes in pieces.
void PipeWriter::make_room() {
  const std::size_t wanted = std::min(waiting_.front().frame.size(), kLargestPipe);
  const int size = ::fcntl(pipe_.native_handle(), F_GETPIPE_SZ);
  if (size < 0 || static_cast<std::size_t>(size) >= wanted) return;
  static_cast<void>(::fcntl(pipe_.native_handle(), F_SETPIPE_SZ, static_cast<int>(wanted)));
}

PipeWriter::Progress PipeWriter::write_some() {
  const std::string_view next =
      begun_.empty() ? std::string_view(waiting_.front().frame).substr(waiting_.front().written)
                     : std::string_view(begun_);
  const auto size = ::write(pipe_.native_handle(), next.data(), next.size());
  if (size < 0) {
    if (errno == EINTR) return Progress::kSome;
    return errno == EAGAIN ? Progress::kFull : Progress::kNoReader;
  }
  const auto written = static_cast<std::size_t>(size);
  timer_.cancel();  // it reads: its patience begins anew
  if (!begun_.empty()) {
    begun_.erase(0, written);
    return Progress::kSome;
  }
  Waiting& front = waiting_.front();
  front.written += written;
  if (front.written == front.frame.size()) {
    waiting_bytes_ -= front.frame.size();
    waiting_.pop_front();
  }
  return Progress::kSome;
}

// Also when there is no pipe: it may come back as well as a reader.
void PipeWriter::no_reader() {
  begun_.clear();  // nobody is left who has seen its begin
  if (waiting_.empty()) return;
  waiting_.front().written = 0;
  if (++waiting_.front().failures > kMaxRetries) {
    lose_front();
    if (waiting_.empty()) {
      if (const auto done = std::exchange(done_, {})) done();
      return;
    }
    waiting_.front().failures = 1;  // it has just been tried, with the one before
  }
  is_waiting_ = true;
  timer_.expires_after(kRetryPause);
  timer_.async_wait([weak = weak_from_this(), generation = generation_](const ErrorCode& error) {
    const auto self = weak.lock();
    if (self && !error && generation == self->generation_) self->write_all();
  });
}

void PipeWriter::full() {
  is_waiting_ = true;
  pipe_.async_wait(asio::posix::stream_descriptor::wait_write,
                   [weak = weak_from_this(), generation = generation_](const ErrorCode& error) {
                     const auto self = weak.lock();
                     if (self && !error && generation == self->generation_) self->write_all();
                   });
  if (waiting_.empty()) return;
  timer_.expires_after(kFullPipePatience);
  timer_.async_wait([weak = weak_from_this(), generation = generation_](const ErrorCode& error) {
    const auto self = weak.lock();
    if (self && !error && generation == self->generation_) self->give_up();
  });
}

void PipeWriter::give_up() {
  Waiting& front = waiting_.front();
  if (front.written > 0) begun_ = front.frame.substr(front.written);
  lose_front();
  if (waiting_.empty())
    if (const auto done = std::exchange(done_, {})) return done();
  write_all();
}

void PipeWriter::lose_front() {
  Waiting lost = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= lost.frame.size();
  lost_(std::move(lost.label));
}

void PipeWriter::drop_pipe() {
  ++generation_;
  is_waiting_ = is_looking_ = false;
  begun_.clear();
  timer_.cancel();
  ErrorCode ignored;
  static_cast<void>(pipe_.close(ignored));
}

}  // namespace tiphys::control
