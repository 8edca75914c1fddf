#include "io/rpc/http2/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace tiphys::rpc::http2 {

namespace {

constexpr int kTurns = 16;  // of reading or writing, before others get theirs
constexpr std::size_t kSlice = 1 * kKiB;

Session::Time now() { return std::chrono::steady_clock::now(); }

}  // namespace

Connection::Connection(const boost::asio::any_io_executor& executor, Role role,
                       const HttpLimits& limits, std::shared_ptr<const Peer> peer, Origin origin,
                       std::shared_ptr<Buffers> buffers)
    : session_(role, limits, std::move(peer), std::move(origin), [this] { wake(); }),
      limits_(limits),
      buffers_(std::move(buffers)),
      socket_(executor),
      timer_(executor),
      started_(now()),
      received_(started_),
      written_(started_),
      pinged_(started_) {}

void Connection::expect() {
  started_ = now();
  watch();
}

void Connection::carry(std::unique_ptr<Transport> transport) {
  transport_ = std::move(transport);
  watch();
  wake();
}

void Connection::wake() {
  if (!is_advancing_ && transport_) advance_later();
}

void Connection::advance_later() {
  if (is_closed_ || std::exchange(is_posted_, true)) return;
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->is_posted_ = false;
    self->advance();
  });
}

// Does all that can be done now, then waits for what is missing.
void Connection::advance() {
  if (is_closed_ || is_advancing_) return;
  const auto self = shared_from_this();
  is_advancing_ = true;
  if (shake_hands() && read() && write() && session_.is_over() && pending_.empty())
    give_up(session_.failure());
  if (session_.is_closing()) give_up(session_.failure());
  is_advancing_ = false;
  if (!is_closed_) watch();
}

bool Connection::shake_hands() {
  if (is_shaken_) return true;
  const auto progress = transport_->handshake();
  if (!progress) {
    give_up(progress.error().message);
    return false;
  }
  if (progress->need != Need::kNothing) {
    wait_for(progress->need);
    return false;
  }
  is_shaken_ = true;
  Peer peer = *session_.peer();
  transport_->identify(peer);
  session_.set_peer(std::make_shared<const Peer>(std::move(peer)));
  if (const auto owner = session_.owner()) owner->on_connected();
  return !is_closed_;
}

bool Connection::read() {
  if (waits_readable_) return true;
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto progress = transport_->read(buffers_->in.data(), buffers_->in.size());
    if (!progress) {
      give_up(progress.error().message);
      return false;
    }
    if (progress->is_ended) {
      give_up(session_.end_of_carrier());
      return false;
    }
    if (progress->bytes > 0) {
      received_ = now();
      if (!receive({buffers_->in.data(), progress->bytes})) return false;
      if (session_.is_over()) return true;
    }
    if (progress->need != Need::kNothing) {
      wait_for(progress->need);
      return true;
    }
  }
  advance_later();
  return true;
}

// What the first bytes led to is sent before the last ones are looked at, so that both sides have work at the same time.
bool Connection::receive(std::string_view bytes) {
  for (;;) {
    session_.receive(bytes.substr(0, kSlice));
    if (is_closed_) return false;
    if (bytes.size() <= kSlice || session_.is_over()) return true;
    bytes.remove_prefix(kSlice);
    if (!write()) return false;
  }
}

bool Connection::write() {
  if (waits_writable_) return true;
  for (int turn = 0; turn < kTurns; ++turn) {
    std::string_view rest;
    if (pending_.empty()) {
      std::string& out = buffers_->out;
      out.clear();
      session_.produce(out, 64 * kKiB);
      if (out.empty()) return true;
      if (const Time at = now(); is_ping_near(at)) {
        ping(at);
        session_.produce(out, 64 * kKiB);
      }
      rest = out;
      if (!write_some(rest)) return false;
      pending_ = rest;
    } else {
      rest = pending_;
      if (!write_some(rest)) return false;
      pending_ = std::string(rest);
    }
    if (!pending_.empty()) {
      wait_for(Need::kWritable);
      return true;
    }
  }
  advance_later();
  return true;
}

// Takes off what the socket took.
bool Connection::write_some(std::string_view& bytes) {
  while (!bytes.empty()) {
    const auto progress = transport_->write(bytes);
    if (!progress) {
      give_up(progress.error().message);
      return false;
    }
    if (progress->is_ended) {
      give_up(session_.end_of_carrier());
      return false;
    }
    if (progress->bytes == 0) break;
    written_ = now();
    bytes.remove_prefix(progress->bytes);
  }
  return true;
}

void Connection::wait_for(Need need) {
  bool& waits = need == Need::kReadable ? waits_readable_ : waits_writable_;
  if (std::exchange(waits, true)) return;
  const auto what = need == Need::kReadable ? Socket::wait_read : Socket::wait_write;
  socket_.async_wait(what,
                     [self = shared_from_this(), &waits](const boost::system::error_code& error) {
                       waits = false;
                       if (!error) self->advance();
                     });
}

void Connection::give_up(const std::string& why) {
  if (std::exchange(is_closed_, true)) return;
  const auto self = shared_from_this();
  if (transport_) transport_->shut_down();
  boost::system::error_code ignored;  // it goes either way
  static_cast<void>(socket_.shutdown(Socket::shutdown_send, ignored));
  static_cast<void>(socket_.close(ignored));
  timer_.cancel();
  session_.lost(why);
}

// --- time ---

std::optional<Connection::Time> Connection::next_check(Time at) const {
  std::optional<Time> next;
  const auto consider = [&next](Time time) { next = next ? std::min(*next, time) : time; };
  if (!session_.has_settings()) consider(started_ + limits_.handshake);
  if (head_since_) consider(*head_since_ + limits_.handshake);
  if (has_unsent()) consider(at + limits_.stall / 4);
  if (keeps_alive()) consider((session_.awaits_ping() ? pinged_ : received_) + limits_.keepalive);
  return next;
}

bool Connection::has_unsent() const { return session_.has_queued() || !pending_.empty(); }

bool Connection::keeps_alive() const { return limits_.keepalive > Duration::zero() && is_shaken_; }

// Who speaks anyway in the last quarter of the silence asks then, in the same packet: neither side has to wake once more.
bool Connection::is_ping_near(Time at) const {
  return keeps_alive() && !session_.awaits_ping() && at >= received_ + limits_.keepalive / 4 * 3;
}

void Connection::ping(Time at) {
  pinged_ = at;
  session_.ping();
}

void Connection::watch() {
  const Time at = now();
  if (!session_.is_inside_head()) {
    head_since_.reset();
  } else if (!head_since_) {
    head_since_ = at;
  }
  const auto next = next_check(at);
  if (!next || armed_for_ == next) return;
  // A timer that is too early is left alone, since setting it for all that comes would cost more. Only one that waits for
  // silence and is about to come is set anew, for it would wake us for nothing.
  const bool is_soon = armed_for_ && *armed_for_ < at + limits_.keepalive / 4;
  if (armed_for_ && *armed_for_ < *next && (!is_soon || has_unsent())) return;
  armed_for_ = next;
  timer_.expires_at(*next);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    if (const auto self = weak.lock(); self && !error) self->check_time();
  });
}

void Connection::check_time() {
  armed_for_.reset();
  if (is_closed_) return;
  const Time at = now();
  if (!session_.has_settings() && at >= started_ + limits_.handshake)
    return give_up("no HTTP/2 connection was made in time");
  if (head_since_ && session_.is_inside_head() && at >= *head_since_ + limits_.handshake)
    return give_up("a request's header fields did not end in time");
  if (!pending_.empty() && at >= written_ + limits_.stall) return give_up("the peer does not read");
  session_.reset_stalled(at - limits_.stall);
  if (keeps_alive()) {
    if (session_.awaits_ping()) {
      if (at >= pinged_ + limits_.keepalive) return give_up("the peer does not answer pings");
    } else if (at >= received_ + limits_.keepalive) {
      ping(at);
    }
  }
  watch();
}

}  // namespace tiphys::rpc::http2
