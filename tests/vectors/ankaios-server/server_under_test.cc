#include "server_under_test.h"

#include <utility>

#include "base/match.h"
#include "text/manifest.h"

namespace tiphys::vectors {

ServerUnderTest::ServerUnderTest(const std::optional<std::string>& manifest,
                                 std::vector<server::Hook> hooks, const std::string& folder)
    : programs_(io_.get_executor(), strand_, log_, {}, folder),
      link_(io_.get_executor(), strand_, log_,
            {.opened = [this](server::Opened event) { shell_->opened(std::move(event)); },
             .closed = [this](server::ConnectionNumber number) { shell_->closed(number); },
             .received =
                 [this](server::ConnectionNumber number, ToServer&& message) {
                   return shell_->received(number, std::move(message));
                 }}) {
  std::optional<State> state;
  if (manifest) {
    auto parsed = parse_manifest(*manifest, "startup.yaml");
    if (!parsed) {
      refusal_ = to_string(parsed.error());
      return;
    }
    state = std::move(parsed->state);
  }
  shell_.emplace(
      strand_, clock_, timers_, trace_, log_, store_, link_,
      [this](std::string why) { refusal_ = std::move(why); },
      shell::Hooks{std::move(hooks), &hook_runner_});
  shell_->start(std::move(state));
  settle();
}

ServerUnderTest::~ServerUnderTest() {
  for (const auto& [name, peer] : peers_) {
    peer->call->cancel();
    peer->network->cut();
  }
  rpc_server_.close(Duration::zero(), [] {});
  settle();
}

void ServerUnderTest::open(const std::string& name, std::string_view method,
                           const std::optional<std::string>& hello) {
  const auto peer = std::make_shared<Peer>();
  peers_[name] = peer;
  peer->network = std::make_unique<rpc::memory::Network>(io_.get_executor());
  rpc_server_.listen(peer->network->listen("server"), link_.listen_options());
  rpc::ChannelOptions options{.urls = {"server"}};
  peer->channel = std::make_unique<rpc::Channel>(io_.get_executor(), peer->network->connector(),
                                                 std::move(options));
  peer->call = peer->channel->call(std::string(method));
  peer->call->start([weak = std::weak_ptr(peer)](rpc::CallEvent event) {
    const auto self = weak.lock();
    if (!self || self->is_stalled) return;
    match(
        std::move(event),
        [&](const rpc::Message& e) {
          self->window.messages.push_back(from_server_json(e.bytes));
          self->call->want();
        },
        [&](const rpc::Finished& e) {
          const Status& status = e.outcome.status;
          self->window.closed =
              Json{{"code", status ? "OK" : std::string(to_string(status.error().code))},
                   {"message", status ? "" : status.error().message}};
        },
        [](const auto&) {});
  });
  if (hello) peer->call->send({*hello});
  peer->call->want();
  settle();
}

void ServerUnderTest::send(const std::string& name, std::string bytes) {
  const auto& peer = peers_.at(name);
  if (!peer->is_stalled) peer->call->send({std::move(bytes)});
}

void ServerUnderTest::half_close(const std::string& name) { peers_.at(name)->call->half_close(); }

void ServerUnderTest::cancel(const std::string& name) { peers_.at(name)->call->cancel(); }

void ServerUnderTest::cut(const std::string& name) { peers_.at(name)->network->cut(); }

void ServerUnderTest::stall(const std::string& name) { peers_.at(name)->is_stalled = true; }

void ServerUnderTest::settle() {
  for (bool did_something = true; did_something;) {
    did_something = false;
    while (strand_.run_one()) did_something = true;
    io_.restart();
    if (io_.poll() > 0) did_something = true;
    if (!did_something && hook_runner_.running > 0) did_something = io_.run_one() > 0;
  }
}

Window ServerUnderTest::take(const std::string& name) {
  return std::exchange(peers_.at(name)->window, {});
}

}  // namespace tiphys::vectors
