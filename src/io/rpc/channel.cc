#include "io/rpc/channel.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tiphys::rpc {

class Channel::State : public std::enable_shared_from_this<State> {
 public:
  State(const boost::asio::any_io_executor& executor, std::unique_ptr<Connector> connector,
        ChannelOptions options)
      : connector_(std::move(connector)), options_(std::move(options)) {
    context_ = std::make_shared<ClientCall::Context>(executor, options_.limits);
  }

  void start() {
    context_->connect = [weak = weak_from_this()](std::shared_ptr<ClientCall> call) {
      if (const auto self = weak.lock()) self->connect(std::move(call));
    };
  }

  void stop() {
    context_->connect = nullptr;
    if (timer_) context_->deadlines.remove(*std::exchange(timer_, std::nullopt));
    is_stopped_ = true;
    if (connection_) connection_->drain();
    fail_waiting({Code::kUnavailable, "the channel is closed"}, true);
  }

  [[nodiscard]] const std::shared_ptr<ClientCall::Context>& context() const { return context_; }

 private:
  class Owner final : public HttpConnection::Owner {
   public:
    explicit Owner(std::weak_ptr<State> state) : state_(std::move(state)) {}
    void expect(const std::shared_ptr<HttpConnection>& connection) { connection_ = connection; }

    void on_connected() override {
      if (const auto state = state_.lock()) state->connected(connection_.lock());
    }
    void on_ready() override {
      if (const auto state = state_.lock()) state->rounds_in_vain_ = 0;
    }
    void on_stream(HttpStream&, const Fields&, bool) override {}  // servers open no streams
    void on_going_away() override {
      if (const auto state = state_.lock()) state->leave(connection_.lock());
    }
    void on_closed(const std::string& why) override {
      if (const auto state = state_.lock()) state->closed(connection_.lock(), why);
    }

   private:
    std::weak_ptr<State> state_;
    std::weak_ptr<HttpConnection> connection_;
  };

  void connect(std::shared_ptr<ClientCall> call) {
    if (is_connected_ && call->open_on(*connection_)) return;
    if (is_connected_) leave(connection_);
    if (timer_ && !call->waits_for_server()) return call->fail(last_error_);
    waiting_.push_back(std::move(call));
    if (!connection_ && !timer_) begin_round();
  }

  void begin_round() {
    tried_ = 0;
    try_next();
  }

  // A url that can't be used counts as one that can't be reached.
  void try_next() {
    while (tried_ < options_.urls.size()) {
      ++tried_;
      const auto owner = std::make_shared<Owner>(weak_from_this());
      auto connection = connector_->connect(options_.urls[current_], owner);
      if (connection) {
        owner->expect(*connection);
        connection_ = std::move(*connection);
        return;
      }
      last_error_ = connection.error();
      current_ = (current_ + 1) % options_.urls.size();
    }
    if (options_.urls.empty())
      last_error_ = {Code::kInvalidArgument, "there is no address to connect to"};
    wait_for_next_round();
  }

  void wait_for_next_round() {
    const double exponent = static_cast<double>(std::min(rounds_in_vain_++, 32));
    const double grown = static_cast<double>(options_.back_off.first.count()) *
                         std::pow(options_.back_off.factor, exponent);
    const double bounded = std::min(grown, static_cast<double>(options_.back_off.longest.count()));
    std::uniform_real_distribution<double> jitter(1 - options_.back_off.jitter,
                                                  1 + options_.back_off.jitter);
    const Duration pause(static_cast<Duration::rep>(bounded * jitter(chance_)));
    timer_ = context_->deadlines.add(pause, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->timer_.reset();
      if (!self->waiting_.empty()) self->begin_round();
    });
    fail_waiting(last_error_, false);
  }

  void fail_waiting(const Error& error, bool all) {
    std::vector<std::shared_ptr<ClientCall>> failing;
    std::erase_if(waiting_, [&](const auto& call) {
      if (call->is_finished()) return true;
      if (!all && call->waits_for_server()) return false;
      failing.push_back(call);
      return true;
    });
    for (const auto& call : failing) call->fail(error);
  }

  void connected(const std::shared_ptr<HttpConnection>& connection) {
    if (connection != connection_) return;
    is_connected_ = true;
    for (auto& call : std::exchange(waiting_, {})) connect(std::move(call));
  }

  // Calls on it go on; new ones take another.
  void leave(const std::shared_ptr<HttpConnection>& connection) {
    if (connection != connection_) return;
    connection_ = nullptr;
    is_connected_ = false;
  }

  void closed(const std::shared_ptr<HttpConnection>& connection, const std::string& why) {
    if (connection != connection_ || is_stopped_) return;
    const bool was_connected = is_connected_;
    leave(connection);
    if (was_connected && waiting_.empty()) return;
    last_error_ = {Code::kUnavailable, why.empty() ? "the connection was closed" : why};
    current_ = (current_ + 1) % options_.urls.size();
    try_next();
  }

  std::unique_ptr<Connector> connector_;
  ChannelOptions options_;
  std::shared_ptr<ClientCall::Context> context_;
  std::minstd_rand chance_{std::random_device{}()};

  std::shared_ptr<HttpConnection> connection_;
  bool is_connected_ = false;
  bool is_stopped_ = false;
  std::size_t current_ = 0;  // the address in use, or tried next
  std::size_t tried_ = 0;    // in this round
  int rounds_in_vain_ = 0;
  std::optional<Deadlines::Id> timer_;  // of the back-off
  Error last_error_{Code::kUnavailable, "not connected"};
  std::vector<std::shared_ptr<ClientCall>> waiting_;
};

Channel::Channel(const boost::asio::any_io_executor& executor, std::unique_ptr<Connector> connector,
                 ChannelOptions options)
    : state_(std::make_shared<State>(executor, std::move(connector), std::move(options))) {
  state_->start();
}

Channel::~Channel() { state_->stop(); }

std::shared_ptr<ClientCall> Channel::call(std::string method, CallOptions options) {
  return std::make_shared<ClientCall>(state_->context(), std::move(method), std::move(options));
}

}  // namespace tiphys::rpc
