#include "io/link/questions.h"

#include "base/match.h"

namespace tiphys::link {

using server::ConnectionNumber;

rpc::Handler Questions::handler(Read read) {
  return {.take = [weak = weak_from_this(),
                   read = std::move(read)](const std::shared_ptr<rpc::ServerCall>& call) {
    if (const auto self = weak.lock()) return self->take(call, read);
    call->finish(rpc::failed(Code::kUnavailable, "the server shuts down"));
  }};
}

void Questions::take(const std::shared_ptr<rpc::ServerCall>& call, Read read) {
  const ConnectionNumber number = next_number_();
  questions_[number] = {call, std::move(read)};
  call->start([weak = weak_from_this(), number](rpc::CallEvent event) {
    if (const auto self = weak.lock()) self->told(number, std::move(event));
  });
  call->want();
}

void Questions::told(ConnectionNumber number, rpc::CallEvent event) {
  match(
      std::move(event), [&](const rpc::Message& e) { ask(number, e.bytes); },
      [&](rpc::HalfClosed) {
        const auto found = questions_.find(number);
        if (found != questions_.end() && found->second.read)
          finish(number, rpc::failed(Code::kInvalidArgument, "Empty"));
      },
      [&](const rpc::Finished&) { questions_.erase(number); }, [](const auto&) {});
}

void Questions::ask(ConnectionNumber number, const std::string& bytes) {
  const auto found = questions_.find(number);
  if (found == questions_.end() || !found->second.read) return;
  auto attempt = std::exchange(found->second.read, nullptr)(number, bytes);
  if (!attempt) return finish(number, rpc::failed(attempt.error()));
  strand_.post([self = shared_from_this(), attempt = *std::move(attempt)]() mutable {
    self->intake_.add(std::move(attempt));
  });
}

void Questions::answer(ConnectionNumber number, std::string bytes) {
  const auto found = questions_.find(number);
  if (found == questions_.end()) return;
  const auto call = found->second.call;  // sending may find out that the client has gone
  call->send({std::move(bytes)});
  finish(number, {});
}

void Questions::finish(ConnectionNumber number, const rpc::Outcome& outcome) {
  const auto question = questions_.extract(number);
  if (question.empty()) return;
  const auto& call = question.mapped().call;
  if (!call->is_finished()) call->finish(outcome);
}

}  // namespace tiphys::link
