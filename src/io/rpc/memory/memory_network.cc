#include "io/rpc/memory/memory_network.h"

#include <boost/asio/post.hpp>
#include <deque>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace tiphys::rpc::memory {

namespace asio = boost::asio;

namespace {

class Connection;

// One end of a stream. What it sends is posted to the other end, so that nothing is told while something is told.
class End final : public HttpStream, public std::enable_shared_from_this<End> {
 public:
  End(std::shared_ptr<Connection> connection, std::size_t window, std::size_t queue_limit)
      : connection_(std::move(connection)), window_(window), queue_limit_(queue_limit) {}

  void join(const std::shared_ptr<End>& other) { other_ = other; }
  [[nodiscard]] bool is_closed() const { return is_closed_; }

  void listen(std::shared_ptr<Listener> listener) override { listener_ = std::move(listener); }
  [[nodiscard]] HttpConnection& connection() override;
  void send_fields(const Fields& head, bool end) override;
  void send_data(std::string_view prefix, Payload payload) override;
  void send_trailers(const Fields& trailers) override {
    queue({.trailers = trailers, .is_end = true});
  }
  void end() override { queue({.is_end = true}); }
  void reset(Reset reason) override;
  void consume(std::size_t bytes) override;
  [[nodiscard]] bool has_room() const override {
    if (queued_ < queue_limit_) return true;
    was_full_ = true;
    return false;
  }

  void close(const StreamEnd& end);

 private:
  struct Item {
    std::string data = {};
    std::optional<Fields> trailers = std::nullopt;
    bool is_end = false;
  };

  template <class Task>
  void post(Task task);
  void queue(Item item);
  void pump();
  void received(const Item& item);
  void close_if_complete();

  std::shared_ptr<Connection> connection_;
  std::weak_ptr<End> other_;
  std::shared_ptr<Listener> listener_;
  std::deque<Item> queue_;
  std::size_t queued_ = 0;
  std::size_t window_;  // that the other end gives
  std::size_t queue_limit_;
  mutable bool was_full_ = false;
  bool has_ended_ = false;  // we said all
  bool has_other_ended_ = false;
  bool is_closed_ = false;
};

class Connection final : public HttpConnection, public std::enable_shared_from_this<Connection> {
 public:
  Connection(asio::any_io_executor executor, const HttpLimits& limits, bool is_client)
      : executor_(std::move(executor)), limits_(limits), is_client_(is_client) {}

  void join(const std::shared_ptr<Connection>& other) { other_ = other; }
  void set_owner(std::shared_ptr<Owner> owner) { owner_ = std::move(owner); }
  [[nodiscard]] const std::shared_ptr<Owner>& owner() const { return owner_; }
  [[nodiscard]] const asio::any_io_executor& executor() const { return executor_; }
  [[nodiscard]] bool is_client() const { return is_client_; }

  [[nodiscard]] std::shared_ptr<const Peer> peer() const override { return peer_; }
  [[nodiscard]] const Origin& origin() const override { return origin_; }
  [[nodiscard]] std::size_t field_limit() const override { return limits_.field_list; }

  HttpStream* open(const Fields& head, std::shared_ptr<HttpStream::Listener> listener) override {
    const auto other = other_.lock();
    if (!other || is_closed_ || is_going_away_) return nullptr;
    const auto ours = make_end();
    const auto theirs = other->make_end();
    ours->join(theirs);
    theirs->join(ours);
    ours->listen(std::move(listener));
    asio::post(executor_, [other, theirs, head] {
      if (other->owner_ && !theirs->is_closed())
        other->owner_->on_stream(*theirs, other->limited(head), false);
    });
    return ours.get();
  }

  void drain() override {
    if (std::exchange(is_draining_, true)) return;
    if (const auto other = other_.lock(); other && !is_client_)
      asio::post(executor_, [other] {
        other->is_going_away_ = true;
        if (other->owner_) other->owner_->on_going_away();
      });
    end_if_drained();
  }

  void close(const std::string& why) override {
    asio::post(executor_, [self = shared_from_this(), why] {
      self->lost(why);
      if (const auto other = self->other_.lock()) other->lost("");
    });
  }

  void lost(const std::string& why) {
    if (std::exchange(is_closed_, true)) return;
    for (const auto& stream : std::exchange(streams_, {}))
      stream->close({.kind = StreamEnd::Kind::kLost, .detail = why});
    if (const auto owner = std::move(owner_)) owner->on_closed(why);
  }

  void remove(const std::shared_ptr<End>& stream) {
    streams_.erase(stream);
    end_if_drained();
  }

 private:
  std::shared_ptr<End> make_end() {
    auto end = std::make_shared<End>(shared_from_this(), limits_.stream_window, limits_.send_queue);
    streams_.insert(end);
    return end;
  }

  [[nodiscard]] Fields limited(const Fields& fields) const {
    Fields kept = fields;
    if (fields.list_size() > limits_.field_list) kept.mark_too_large();
    return kept;
  }

  void end_if_drained() {
    if (is_draining_ && streams_.empty()) close("");
  }

  asio::any_io_executor executor_;
  HttpLimits limits_;
  bool is_client_;
  std::shared_ptr<const Peer> peer_ = std::make_shared<const Peer>(Peer{.address = "memory"});
  Origin origin_{.scheme = "http", .authority = "memory"};
  std::weak_ptr<Connection> other_;
  std::shared_ptr<Owner> owner_;
  std::set<std::shared_ptr<End>> streams_;
  bool is_going_away_ = false;
  bool is_draining_ = false;
  bool is_closed_ = false;
};

HttpConnection& End::connection() { return *connection_; }

template <class Task>
void End::post(Task task) {
  if (const auto other = other_.lock())
    asio::post(connection_->executor(), [other, task = std::move(task)] {
      if (!other->is_closed_) task(*other);
    });
}

void End::send_fields(const Fields& head, bool end) {
  post([head](End& other) {
    if (const auto listener = other.listener_) listener->on_fields(head);
  });
  if (end) queue({.is_end = true});
}

void End::send_data(std::string_view prefix, Payload payload) {
  std::string bytes = std::string(prefix) + payload.own;
  if (payload.shared) bytes += *payload.shared;
  queued_ += bytes.size();
  queue({.data = std::move(bytes)});
}

void End::queue(Item item) {
  if (is_closed_ || has_ended_) return;
  has_ended_ = item.is_end;
  queue_.push_back(std::move(item));
  pump();
}

void End::pump() {
  while (!queue_.empty()) {
    Item& next = queue_.front();
    if (next.data.size() > window_) {
      if (window_ == 0) return;
      post([part = Item{.data = next.data.substr(0, window_)}](End& other) {
        other.received(part);
      });
      next.data.erase(0, window_);
      queued_ -= std::exchange(window_, 0);
      return;
    }
    window_ -= next.data.size();
    queued_ -= next.data.size();
    const bool is_end = next.is_end;
    post([item = std::move(next)](End& other) { other.received(item); });
    queue_.pop_front();
    if (is_end)
      asio::post(connection_->executor(),
                 [self = shared_from_this()] { self->close_if_complete(); });
  }
  if (was_full_ && queued_ < queue_limit_ / 2) {
    was_full_ = false;
    if (const auto listener = listener_) listener->on_writable();
  }
}

void End::received(const Item& item) {
  const auto self = shared_from_this();
  if (const auto listener = listener_) {
    if (!item.data.empty()) listener->on_data(item.data);
    if (item.trailers) listener->on_fields(*item.trailers);
    if (item.is_end) listener->on_end();
  }
  if (item.is_end) {
    has_other_ended_ = true;
    close_if_complete();
  }
}

void End::consume(std::size_t bytes) {
  post([bytes](End& other) {
    other.window_ += bytes;
    other.pump();
  });
}

void End::reset(Reset reason) {
  const StreamEnd end{.kind = StreamEnd::Kind::kReset,
                      .reset = reason,
                      .is_unprocessed = reason == Reset::kRefused};
  post([end](End& other) { other.close(end); });
  asio::post(connection_->executor(), [self = shared_from_this(), end] { self->close(end); });
}

// The server's end closes both: nobody listens to what the client still has to say.
void End::close_if_complete() {
  if (has_ended_ && queue_.empty() && (has_other_ended_ || !connection_->is_client())) close({});
}

void End::close(const StreamEnd& end) {
  if (std::exchange(is_closed_, true)) return;
  const auto self = shared_from_this();
  if (const auto listener = std::move(listener_)) listener->on_closed(end);
  connection_->remove(self);
}

}  // namespace

struct Network::Shared {
  asio::any_io_executor executor;
  HttpLimits limits;
  std::map<std::string, HttpListener::Accept> listeners;
  std::vector<std::weak_ptr<Connection>> connections;
};

namespace {

template <class Shared>
class Listener final : public HttpListener {
 public:
  Listener(std::shared_ptr<Shared> shared, std::string address)
      : shared_(std::move(shared)), address_(std::move(address)) {}
  ~Listener() override { shared_->listeners.erase(address_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] std::string address() const override { return address_; }
  void start(Accept accept) override { shared_->listeners[address_] = std::move(accept); }
  void stop() override { shared_->listeners.erase(address_); }

 private:
  std::shared_ptr<Shared> shared_;
  std::string address_;
};

template <class Shared>
class MemoryConnector final : public Connector {
 public:
  explicit MemoryConnector(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

  Result<std::shared_ptr<HttpConnection>> connect(
      const std::string& url, std::shared_ptr<HttpConnection::Owner> owner) override {
    auto client = std::make_shared<Connection>(shared_->executor, shared_->limits, true);
    client->set_owner(std::move(owner));
    asio::post(shared_->executor, [shared = shared_, client, url] {
      const auto found = shared->listeners.find(url);
      if (found == shared->listeners.end())
        return client->lost("cannot connect to " + url + ": nobody listens");
      const auto server = std::make_shared<Connection>(shared->executor, shared->limits, false);
      client->join(server);
      server->join(client);
      auto server_owner = found->second(server);
      if (!server_owner) return client->lost("cannot connect to " + url + ": refused");
      server->set_owner(std::move(server_owner));
      shared->connections.push_back(client);
      client->owner()->on_connected();
      if (client->owner()) client->owner()->on_ready();
    });
    return client;
  }

 private:
  std::shared_ptr<Shared> shared_;
};

}  // namespace

Network::Network(asio::any_io_executor executor, const HttpLimits& limits)
    : shared_(std::make_shared<Shared>(Shared{std::move(executor), limits, {}, {}})) {}

std::unique_ptr<HttpListener> Network::listen(std::string address) {
  return std::make_unique<Listener<Shared>>(shared_, std::move(address));
}

std::unique_ptr<Connector> Network::connector() {
  return std::make_unique<MemoryConnector<Shared>>(shared_);
}

void Network::cut() {
  for (const auto& weak : std::exchange(shared_->connections, {}))
    if (const auto connection = weak.lock()) connection->close("");
}

}  // namespace tiphys::rpc::memory
