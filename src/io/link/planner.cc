#include "io/link/planner.h"

#include <utility>

#include "base/match.h"
#include "io/wire/wire.h"

namespace tiphys::link {

using server::ConnectionNumber;

rpc::Handler Planner::handler() {
  return {.take = [weak = weak_from_this()](const std::shared_ptr<rpc::ServerCall>& call) {
    if (const auto self = weak.lock()) return self->take(call);
    call->finish(rpc::failed(Code::kUnavailable, "the server shuts down"));
  }};
}

void Planner::take(const std::shared_ptr<rpc::ServerCall>& call) {
  const ConnectionNumber number = next_number_();
  questions_[number].call = call;
  call->start([weak = weak_from_this(), number](rpc::CallEvent event) {
    if (const auto self = weak.lock()) self->told(number, std::move(event));
  });
  call->want();
}

void Planner::told(ConnectionNumber number, rpc::CallEvent event) {
  match(
      std::move(event), [&](const rpc::Message& e) { ask(number, e.bytes); },
      [&](rpc::HalfClosed) {
        const auto found = questions_.find(number);
        if (found != questions_.end() && !found->second.is_asked)
          finish(number, rpc::failed(Code::kInvalidArgument, "Empty"));
      },
      [&](const rpc::Finished&) { questions_.erase(number); }, [](const auto&) {});
}

void Planner::ask(ConnectionNumber number, const std::string& bytes) {
  const auto found = questions_.find(number);
  if (found == questions_.end() || std::exchange(found->second.is_asked, true)) return;
  auto request = wire::decode_dry_run_request(bytes);
  if (!request) return finish(number, rpc::failed(request.error()));
  // Shared with the intake, which may have to try it more than once.
  const auto shared = std::make_shared<DryRunRequest>(*std::move(request));
  strand_.post([self = shared_from_this(), number, shared] {
    self->intake_.add([self, number, shared] { return self->ask_(number, std::move(*shared)); });
  });
}

void Planner::answer(ConnectionNumber number, const DryRunResponse& response) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const auto call = found->second.call;  // sending may find out that the client has gone
  call->send({wire::encode(response)});
  finish(number, {});
}

void Planner::finish(ConnectionNumber number, const rpc::Outcome& outcome) {
  const auto question = questions_.extract(number);
  if (question.empty()) return;
  const auto& call = question.mapped().call;
  if (!call->is_finished()) call->finish(outcome);
}

}  // namespace tiphys::link
