#include "io/link/link_server.h"

#include <boost/asio/post.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "io/host/uuid.h"
#include "io/link/intake.h"
#include "io/link/link_limits.h"
#include "io/link/outbox.h"
#include "io/link/questions.h"
#include "io/link/state_blocks.h"
#include "io/link/untaken.h"
#include "io/wire/wire.h"
#include "model/names.h"
#include "model/protocol_version.h"

namespace tiphys::link {
namespace {

namespace asio = boost::asio;
using server::ConnectionNumber;

enum class Service : std::uint8_t { kAgent, kDeprecatedCli, kCommand };

// As stock calls them. Peers see these names in the ids of log requests.
constexpr std::string_view kCliPrefix = "cli-conn-";
constexpr std::string_view kCommanderPrefix = "commander-conn-";

// What a refused client is told.
using Refused = std::optional<Error>;

Refused refuse_certificate(const rpc::Peer& peer) {
  if (!peer.certificate) return std::nullopt;
  if (peer.certificate->certificates > 1)
    return Error{Code::kUnauthenticated, "Ambiguous agent certificates provided!"};
  if (!peer.certificate->has_alt_names)
    return Error{Code::kUnauthenticated, "No subject alt names found in agent certificates!"};
  return std::nullopt;
}

Refused refuse_name(const rpc::Peer& peer, const std::string& agent) {
  if (!peer.certificate) return std::nullopt;
  const auto& names = peer.certificate->dns_names;
  for (const auto& name : names)
    if (name == agent || name == "*") return std::nullopt;
  std::string list;
  for (const auto& name : names) list += concat(list.empty() ? "\"" : ", \"", name, "\"");
  return Error{Code::kUnauthenticated, concat("Agent name '", agent, "' does not match SAN [", list,
                                              "] in agent certificates!")};
}

// A peer, or why it is refused.
tl::expected<decltype(server::Opened::peer), Error> introduce(Service service,
                                                              const rpc::Peer& peer,
                                                              const std::string& first) {
  if (service == Service::kAgent)
    if (auto refused = refuse_certificate(peer)) return fail(*std::move(refused));
  const auto message = wire::decode_to_server(first);
  if (!message) {
    // Stock calls a message without a member empty.
    const bool is_empty = message.error().message == "Missing to_server";
    return fail(Code::kInvalidArgument, is_empty ? "Empty" : message.error().message);
  }
  if (service == Service::kAgent) {
    const auto* hello = std::get_if<AgentHello>(&*message);
    if (hello == nullptr) return fail(Code::kInvalidArgument, "No AgentHello received.");
    if (auto checked = check_protocol_version(hello->protocol_version); !checked)
      return fail(checked.error());
    if (auto refused = refuse_name(peer, hello->agent)) return fail(*std::move(refused));
    // Workloads without an agent wait for nobody, and no workload could name an agent that breaks the rules.
    if (hello->agent.empty()) return fail(Code::kInvalidArgument, "An agent needs a name.");
    if (auto name = parse_agent_name(hello->agent); !name)
      return fail(Code::kInvalidArgument, name.error().message);
    return server::AgentPeer{AgentName{hello->agent}, hello->tags};
  }
  const auto* hello = std::get_if<CommanderHello>(&*message);
  if (hello == nullptr) return fail(Code::kInvalidArgument, "No CommanderHello received.");
  if (auto checked = check_protocol_version(hello->protocol_version); !checked)
    return fail(checked.error());
  const bool is_cli = service == Service::kDeprecatedCli;
  return server::CommanderPeer{is_cli,
                               concat(is_cli ? kCliPrefix : kCommanderPrefix, host::new_uuid())};
}

class Conversation;

}  // namespace

struct LinkServer::Impl {
  asio::any_io_executor io;
  shell::Strand& strand;
  shell::Log& log;
  ServerEvents events;  // on the strand
  Intake intake;        // on the strand
  // On io:
  std::set<std::shared_ptr<Conversation>> conversations{};
  std::map<ConnectionNumber, Conversation*> accepted{};
  ConnectionNumber last_number = 0;
  StateBlocks state_blocks{io};
  std::shared_ptr<Questions> questions =
      std::make_shared<Questions>(strand, intake, [this] { return ++last_number; });
};

namespace {

// One call, from its first message on. Lives on io.
class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  Conversation(LinkServer::Impl& link, Service service, std::shared_ptr<rpc::ServerCall> call)
      : link_(link), service_(service), call_(std::move(call)) {}

  void start() {
    call_->start([weak = weak_from_this()](rpc::CallEvent event) {
      if (const auto self = weak.lock()) self->told(std::move(event));
    });
    call_->want();
  }

  void send(const FromServer& message) {
    const auto self = shared_from_this();  // it may be given up between two parts
    if (const auto* others = std::get_if<StatesOfOthers>(&message)) {
      for (auto& part : link_.state_blocks.messages(*others)) send(std::move(part));
      return;
    }
    for (auto& part : wire::encode_in_parts(message)) send(rpc::Payload{std::move(part)});
  }

  // Who does not read is given up, so that nobody pays for it.
  void send(rpc::Payload message) {
    if (is_over_ || outbox_.send(*call_, std::move(message))) return;
    const rpc::Outcome outcome =
        rpc::failed(Code::kResourceExhausted, "the client does not read what it is sent");
    if (agent_.empty())
      link_.log.warn("Gave up a client",
                     {{"peer", call_->peer().address}, {"reason", outcome.status.error().message}});
    outbox_.drop();
    end(outcome);
  }

  void close() { end({}); }

  void read_on() { call_->want(); }

 private:
  void told(rpc::CallEvent event) {
    match(
        std::move(event),
        [&](const rpc::Message& e) { number_ == 0 ? greet(e.bytes) : receive(e.bytes); },
        [&](rpc::HalfClosed) {
          end(number_ == 0 ? rpc::failed(Code::kInvalidArgument, "Empty") : rpc::Outcome{});
        },
        [&](rpc::Writable) { outbox_.writable(*call_); },
        [&](const rpc::Finished& e) { end(e.outcome); }, [](const rpc::Headers&) {});
  }

  void greet(const std::string& first) {
    auto peer = introduce(service_, call_->peer(), first);
    if (!peer) {
      link_.log.warn("Refused a connection",
                     {{"peer", call_->peer().address}, {"reason", peer.error().message}});
      return end(rpc::failed(peer.error()));
    }
    call_->send_headers();
    number_ = ++link_.last_number;
    link_.accepted[number_] = this;
    if (const auto* agent = std::get_if<server::AgentPeer>(&*peer)) {
      agent_ = agent->name.value;
      link_.log.info("The agent has connected",
                     {{"agent", agent_}, {"peer", call_->peer().address}});
    }
    to_machine([&events = link_.events, opened = server::Opened{number_, *std::move(peer)}] {
      events.opened(opened);
      return true;
    });
    call_->want();
  }

  void receive(const std::string& bytes) {
    auto message = wire::decode_to_server(bytes);
    if (!message && message.error().code == Code::kNotFound) {
      link_.log.warn("Ignored a message",
                     {{"peer", call_->peer().address}, {"reason", message.error().message}});
      return call_->want();
    }
    if (!message) {
      link_.log.warn("Ended a connection",
                     {{"peer", call_->peer().address}, {"reason", message.error().message}});
      return end(rpc::failed(message.error()));
    }
    // Shared with the intake, which may have to try it more than once.
    const auto shared = std::make_shared<ToServer>(*std::move(message));
    const auto weak = weak_from_this();
    to_machine([&events = link_.events, io = link_.io, number = number_, shared, weak,
                untaken = untaken_] {
      if (!events.received(number, std::move(*shared))) return false;
      if (untaken->take())
        asio::post(io, [weak] {
          if (const auto self = weak.lock()) self->read_on();
        });
      return true;
    });
    if (untaken_->add()) call_->want();
  }

  // Says so to whoever does not know it yet; nothing happens in this conversation after that.
  void end(const rpc::Outcome& outcome) {
    const auto self = shared_from_this();
    if (link_.conversations.erase(self) == 0) return;
    is_over_ = true;
    outbox_.flush(*call_);
    if (!call_->is_finished()) call_->finish(outcome);
    if (number_ == 0) return;
    link_.accepted.erase(number_);
    if (!outcome.status && !agent_.empty())
      link_.log.warn(concat("Connection to agent ", agent_,
                            " interrupted with error: ", outcome.status.error().message));
    else if (!agent_.empty())
      link_.log.info("The agent has left", {{"agent", agent_}});
    to_machine([&events = link_.events, number = number_] {
      events.closed(number);
      return true;
    });
  }

  // [impl->swdd~server-uses-async-channels~1]
  void to_machine(Intake::Delivery delivery) {
    link_.strand.post([&intake = link_.intake, delivery = std::move(delivery)]() mutable {
      intake.add(std::move(delivery));
    });
  }

  LinkServer::Impl& link_;
  const Service service_;
  const std::shared_ptr<rpc::ServerCall> call_;
  ConnectionNumber number_ = 0;  // once accepted
  bool is_over_ = false;
  std::string agent_;
  Outbox<rpc::ServerCall> outbox_;
  const std::shared_ptr<Untaken> untaken_ = std::make_shared<Untaken>();
};

rpc::Handler handler(const std::shared_ptr<LinkServer::Impl>& link, Service service) {
  return {.take = [weak = std::weak_ptr(link), service](std::shared_ptr<rpc::ServerCall> call) {
    const auto self = weak.lock();
    if (!self) return call->finish(rpc::failed(Code::kUnavailable, "the server shuts down"));
    const auto conversation = std::make_shared<Conversation>(*self, service, std::move(call));
    self->conversations.insert(conversation);
    conversation->start();
  }};
}

}  // namespace

LinkServer::LinkServer(asio::any_io_executor io, shell::Strand& strand, shell::Log& log,
                       ServerEvents events)
    : impl_(new Impl{.io = std::move(io),
                     .strand = strand,
                     .log = log,
                     .events = std::move(events),
                     .intake = Intake(strand)}) {}

LinkServer::~LinkServer() = default;

// [impl->swdd~server-default-communication-grpc~1]
rpc::ListenOptions LinkServer::listen_options() {
  rpc::ListenOptions options{.handlers = {}, .limits = server_call_limits()};
  options.handlers.add(std::string(kConnectAgent), handler(impl_, Service::kAgent));
  options.handlers.add(std::string(kConnectCli), handler(impl_, Service::kDeprecatedCli));
  options.handlers.add(std::string(kConnectCommand), handler(impl_, Service::kCommand));
  if (impl_->events.dry_run_asked)
    options.handlers.add(
        std::string(kDryRunUpdate),
        impl_->questions->handler(&wire::decode_dry_run_request, impl_->events.dry_run_asked));
  if (impl_->events.state_ages_asked)
    options.handlers.add(std::string(kGetStateAges),
                         impl_->questions->handler(&wire::decode_state_ages_request,
                                                   impl_->events.state_ages_asked));
  return options;
}

void LinkServer::send(ConnectionNumber connection, const FromServer& message) {
  asio::post(impl_->io, [link = impl_, connection, message] {
    const auto found = link->accepted.find(connection);
    if (found != link->accepted.end()) found->second->send(message);
  });
}

void LinkServer::send_all(server::SendAll message) {
  asio::post(impl_->io, [link = impl_, message = std::move(message)] {
    std::vector<std::shared_ptr<const std::string>> parts;
    for (auto& part : wire::encode_in_parts(message.message))
      parts.push_back(std::make_shared<const std::string>(std::move(part)));
    for (const auto connection : message.to)
      for (const auto& part : parts) {
        const auto found = link->accepted.find(connection);  // it may be given up between two parts
        if (found != link->accepted.end()) found->second->send(rpc::Payload{{}, part});
      }
  });
}

void LinkServer::publish(server::Publish news) {
  asio::post(impl_->io, [link = impl_, news = std::move(news)]() mutable {
    const auto content =
        std::make_shared<const std::string>(wire::encode_content(std::move(news.content)));
    for (const auto& [connection, request_id] : news.to) {
      const auto found = link->accepted.find(connection);
      if (found == link->accepted.end()) continue;
      found->second->send(rpc::Payload{wire::encode_head(request_id, content->size()), content});
    }
  });
}

void LinkServer::close(ConnectionNumber connection) {
  asio::post(impl_->io, [link = impl_, connection] {
    const auto found = link->accepted.find(connection);
    if (found != link->accepted.end()) found->second->close();
  });
}

void LinkServer::answer(ConnectionNumber call, const DryRunResponse& response) {
  asio::post(impl_->io, [link = impl_, call, response] {
    link->questions->answer(call, wire::encode(response));
  });
}

void LinkServer::answer(ConnectionNumber call, const StateAgesResponse& response) {
  asio::post(impl_->io, [link = impl_, call, response] {
    link->questions->answer(call, wire::encode(response));
  });
}

}  // namespace tiphys::link
