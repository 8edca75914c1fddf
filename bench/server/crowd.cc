#include "bench/server/crowd.h"

#include <chrono>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "io/link/link_limits.h"
#include "io/rpc/http2/connector.h"
#include "io/wire/wire.h"
#include "model/protocol_version.h"

namespace tiphys::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(60);

}  // namespace

void CrowdPeer::begin(std::string_view method, const ToServer& hello) {
  call_ = channel_->call(std::string(method));
  call_->start([this](rpc::CallEvent event) { told(std::move(event)); });
  call_->want();
  send(hello);
}

void CrowdPeer::send(const ToServer& message) { call_->send({.own = wire::encode(message)}); }

void CrowdPeer::leave() {
  has_left_ = true;
  is_open_ = false;
  call_->cancel();
}

void CrowdPeer::told(rpc::CallEvent event) {
  match(
      std::move(event), [&](const rpc::Headers&) { is_open_ = !has_left_; },
      [&](const rpc::Message& e) {
        ++messages_;
        bytes_ += e.bytes.size();
        if (is_reading_) call_->want();
        if (on_message) on_message(e.bytes);
      },
      [&](const rpc::Finished& e) {
        is_open_ = false;
        if (has_left_ || crowd_.problem_) return;
        crowd_.problem_ = e.outcome.status
                              ? Error{Code::kUnavailable, "the server ended the call of a peer"}
                              : e.outcome.status.error();
      },
      [](const auto&) {});
}

void Crowd::Inline::run(std::function<void()> work, std::function<void()> done) {
  work();
  done();
}

Crowd::Crowd(std::uint16_t port) : url_(concat("http://127.0.0.1:", std::to_string(port))) {}

Crowd::~Crowd() {
  for (const auto& peer : peers_) peer->leave();
  context_.restart();
  context_.poll();  // so that nothing of the calls is left
}

CrowdPeer& Crowd::add(std::string_view method, const ToServer& hello) {
  std::unique_ptr<CrowdPeer> peer(new CrowdPeer(*this));
  const auto executor = context_.get_executor();
  peer->channel_ =
      std::make_unique<rpc::Channel>(executor, rpc::http2::connector(executor, resolver_, {}),
                                     rpc::ChannelOptions{.urls = {url_}});
  peer->begin(method, hello);
  peers_.push_back(std::move(peer));
  return *peers_.back();
}

CrowdPeer& Crowd::agent(const std::string& name) {
  return add(link::kConnectAgent, AgentHello{name, std::string(kProtocolVersion), {}});
}

CrowdPeer& Crowd::commander() {
  return add(link::kConnectCommand, CommanderHello{std::string(kProtocolVersion)});
}

Status Crowd::run_until(const std::function<bool()>& condition) {
  context_.restart();
  const auto end = Clock::now() + kPatience;
  while (!condition()) {
    if (context_.run_one_until(end) == 0)
      return fail(Code::kDeadlineExceeded, "the server did not answer within a minute");
    if (problem_) return fail(*problem_);
  }
  return {};
}

Status Crowd::connected() {
  std::size_t next = 0;
  return run_until([&] {
    while (next < peers_.size() && (peers_[next]->is_open_ || peers_[next]->has_left_)) ++next;
    return next == peers_.size();
  });
}

Result<Response> Crowd::ask(CrowdPeer& peer, Request request) {
  std::optional<Result<Response>> answer;
  const std::string id = request.id;
  auto before = std::exchange(peer.on_message, [&](std::string_view bytes) {
    auto message = wire::decode_from_server(bytes);
    if (!message) {
      answer = fail(message.error());
      return;
    }
    auto* response = std::get_if<Response>(&*message);
    if (response != nullptr && response->id == id) answer = std::move(*response);
  });
  peer.send(std::move(request));
  const Status waited = run_until([&] { return answer.has_value(); });
  peer.on_message = std::move(before);
  if (!waited) return fail(waited.error());
  return *std::move(answer);
}

}  // namespace tiphys::bench
