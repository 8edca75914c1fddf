#pragma once

// The service of tiphys_ext: one question of our own tools, one answer of the machine.

#include <functional>
#include <map>
#include <memory>

#include "core/server/server_machine.h"
#include "io/link/intake.h"
#include "io/rpc/server.h"
#include "model/extension.h"

namespace tiphys::link {

// Lives on io; the question is asked on the strand.
class Planner : public std::enable_shared_from_this<Planner> {
 public:
  // False when the mailbox is full; then the question was not taken.
  using Ask = std::function<bool(server::ConnectionNumber, DryRunRequest&&)>;
  // `next_number` names a call as no other call or stream is named.
  Planner(shell::Strand& strand, Intake& intake,
          std::function<server::ConnectionNumber()> next_number, Ask ask)
      : strand_(strand),
        intake_(intake),
        next_number_(std::move(next_number)),
        ask_(std::move(ask)) {}

  [[nodiscard]] rpc::Handler handler();
  // An answer to a call that has ended is dropped.
  void answer(server::ConnectionNumber number, const DryRunResponse& response);

 private:
  void take(const std::shared_ptr<rpc::ServerCall>& call);
  void told(server::ConnectionNumber number, rpc::CallEvent event);
  void ask(server::ConnectionNumber number, const std::string& bytes);
  void finish(server::ConnectionNumber number, const rpc::Outcome& outcome);

  struct Question {
    std::shared_ptr<rpc::ServerCall> call;
    bool is_asked = false;
  };

  shell::Strand& strand_;
  Intake& intake_;
  const std::function<server::ConnectionNumber()> next_number_;
  const Ask ask_;
  std::map<server::ConnectionNumber, Question> questions_;
};

}  // namespace tiphys::link
