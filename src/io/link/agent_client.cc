#include "io/link/agent_client.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <random>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "io/link/intake.h"
#include "io/link/link_limits.h"
#include "io/link/outbox.h"
#include "io/link/untaken.h"
#include "io/wire/wire.h"

namespace tiphys::link {

namespace asio = boost::asio;

namespace {

// The pause between attempts is ours; the channel itself is to try at once.
rpc::ChannelOptions channel_options(std::vector<std::string> urls) {
  constexpr auto kAtOnce = std::chrono::milliseconds(1);
  return {.urls = std::move(urls),
          .back_off = {.first = kAtOnce, .factor = 1, .longest = kAtOnce, .jitter = 0}};
}

// Tells that a message was taken, whichever way it went, unless the client is gone.
class Receipt {
 public:
  Receipt(std::weak_ptr<void> client, shell::Strand& strand, std::function<void()> taken)
      : client_(std::move(client)), strand_(strand), taken_(std::move(taken)) {}
  ~Receipt() {
    if (!client_.expired()) strand_.post(std::move(taken_));
  }
  Receipt(const Receipt&) = delete;
  Receipt& operator=(const Receipt&) = delete;

 private:
  const std::weak_ptr<void> client_;
  shell::Strand& strand_;
  std::function<void()> taken_;
};

}  // namespace

struct AgentClient::Impl : std::enable_shared_from_this<AgentClient::Impl> {
  using Session = std::uint64_t;  // one attempt to connect, and what came of it

  Impl(asio::any_io_executor on, shell::Strand& machine_strand, shell::Log& to,
       std::unique_ptr<rpc::Connector> connector, std::vector<std::string> urls,
       AgentClientOptions given, AgentEvents told)
      : io(std::move(on)),
        strand(machine_strand),
        log(to),
        options(std::move(given)),
        events(std::move(told)),
        intake(machine_strand),
        channel(io, std::move(connector), channel_options(std::move(urls))),
        timer(io),
        random(std::random_device{}()) {}

  // [impl->swdd~agent-sends-hello~1]
  void connect() {
    ++session;
    outbox = {};
    untaken = std::make_shared<Untaken>();
    is_connected = false;
    call = channel.call(std::string(kConnectAgent));
    call->start([weak = weak_from_this(), now = session](rpc::CallEvent event) {
      const auto self = weak.lock();
      if (self && self->session == now && self->call) self->told(std::move(event));
    });
    if (!call) return;  // it failed at once
    call->send({wire::encode(ToServer(options.hello))});
    call->want();
    after(options.acceptance, [this] {
      if (!is_connected && call) call->cancel();
    });
  }

  void told(rpc::CallEvent event) {
    match(
        std::move(event), [&](const rpc::Headers&) { connected(); },
        [&](const rpc::Message& e) { receive(e.bytes); },
        [&](rpc::Writable) { outbox.writable(*call); },
        [&](const rpc::Finished& e) { finished(e.outcome.status); }, [](const rpc::HalfClosed&) {});
  }

  void connected() {
    is_connected = true;
    timer.cancel();
    last_problem.clear();
    log.info("Connected to the server");
    to_machine([self = shared_from_this(), now = session] {
      self->machine_session = now;
      self->events.connected();
      return true;
    });
  }

  void receive(const std::string& bytes) {
    auto message = wire::decode_from_server(bytes);
    if (!message) {
      log.write(shell::Level::kDebug, "Dropped a message of the server",
                {{"reason", message.error().message}});
      return call->want();
    }
    // Shared with the intake, which may have to try it more than once.
    const auto shared = std::make_shared<FromServer>(*std::move(message));
    to_machine([self = shared_from_this(), now = session, shared, counter = untaken] {
      if (!self->events.received(std::move(*shared))) return false;
      if (counter->take()) asio::post(self->io, [self, now] { self->read_on(now); });
      return true;
    });
    if (untaken->add()) call->want();
  }

  void read_on(Session of) {
    if (of == session && call) call->want();
  }

  void finished(const Status& status) {
    call = nullptr;
    outbox.drop();
    const bool was_connected = std::exchange(is_connected, false);
    if (!status && status.error().code == Code::kFailedPrecondition) {
      to_machine([self = shared_from_this(), text = status.error().message] {
        self->events.fatal(concat("Ankaios version mismatch: '", text, "'."));
        return true;
      });
      return;
    }
    const std::string problem =
        status ? "the server has ended the connection" : status.error().message;
    // Said once, not every second.
    if (problem != last_problem)
      log.warn(
          concat("Connection to server interrupted: '", problem, "'; trying again every second"));
    last_problem = problem;
    if (was_connected)
      to_machine([self = shared_from_this(), cleanly = status.has_value()] {
        self->machine_session = 0;
        self->events.disconnected(cleanly);
        return true;
      });
    std::uniform_real_distribution<double> spread(0.8, 1.2);
    after(std::chrono::duration_cast<Duration>(options.pause * spread(random)),
          [this] { connect(); });
  }

  void send(Session meant, std::vector<std::string> messages,
            const std::shared_ptr<void>& receipt = nullptr) {
    if (meant != session || !call) return;
    if (outbox.send(*call, std::move(messages), receipt)) return;
    log.warn("The server does not read what it is sent; connecting again");
    call->cancel();
  }

  void after(Duration pause, std::function<void()> then) {
    timer.expires_after(pause);
    timer.async_wait(
        [weak = weak_from_this(), then = std::move(then)](const boost::system::error_code& error) {
          if (const auto self = weak.lock(); self && !error) then();
        });
  }

  void to_machine(Intake::Delivery delivery) {
    strand.post([self = shared_from_this(), delivery = std::move(delivery)]() mutable {
      self->intake.add(std::move(delivery));
    });
  }

  asio::any_io_executor io;
  shell::Strand& strand;
  shell::Log& log;
  const AgentClientOptions options;

  // On the strand:
  AgentEvents events;
  Intake intake;
  Session machine_session = 0;  // that the machine knows of; 0 while it believes to be disconnected

  // On io:
  rpc::Channel channel;
  asio::steady_timer timer;
  std::minstd_rand random;
  Session session = 0;
  std::shared_ptr<rpc::ClientCall> call;
  Outbox<rpc::ClientCall> outbox;
  std::shared_ptr<Untaken> untaken;
  bool is_connected = false;
  std::string last_problem;
};

AgentClient::AgentClient(asio::any_io_executor io, shell::Strand& strand, shell::Log& log,
                         std::unique_ptr<rpc::Connector> connector, std::vector<std::string> urls,
                         AgentClientOptions options, AgentEvents events)
    : impl_(std::make_shared<Impl>(std::move(io), strand, log, std::move(connector),
                                   std::move(urls), std::move(options), std::move(events))) {}

AgentClient::~AgentClient() {
  impl_->timer.cancel();
  if (const auto call = std::exchange(impl_->call, nullptr)) call->cancel();
}

void AgentClient::start() { impl_->connect(); }

void AgentClient::send(const ToServer& message) {
  asio::post(impl_->io, [impl = impl_, session = impl_->machine_session, message] {
    impl->send(session, wire::encode_in_parts(message));
  });
}

void AgentClient::send(const ToServer& message, std::function<void()> taken) {
  asio::post(impl_->io, [impl = impl_, session = impl_->machine_session, message,
                         receipt = std::make_shared<Receipt>(life_, impl_->strand,
                                                             std::move(taken))]() mutable {
    impl->send(session, wire::encode_in_parts(message), std::exchange(receipt, nullptr));
  });
}

}  // namespace tiphys::link
