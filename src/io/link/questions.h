#pragma once

// The services of tiphys_ext: one question of our own tools, one answer of the machine.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "core/server/server_machine.h"
#include "io/link/intake.h"
#include "io/rpc/server.h"

namespace tiphys::link {

// Lives on io; the questions are asked on the strand.
class Questions : public std::enable_shared_from_this<Questions> {
 public:
  // `next_number` names a call as no other call or stream is named.
  Questions(shell::Strand& strand, Intake& intake,
            std::function<server::ConnectionNumber()> next_number)
      : strand_(strand), intake_(intake), next_number_(std::move(next_number)) {}

  // Serves one method. `ask` is false when the mailbox is full; then the question was not taken.
  template <class Request>
  [[nodiscard]] rpc::Handler handler(Result<Request> (*decode)(std::string_view),
                                     std::function<bool(server::ConnectionNumber, Request&&)> ask) {
    return handler([decode, ask = std::move(ask)](server::ConnectionNumber number,
                                                  const std::string& bytes) -> Result<Attempt> {
      TIPHYS_TRY(Request request, decode(bytes));
      // Shared, as it may have to be tried more than once.
      return [ask, number, shared = std::make_shared<Request>(std::move(request))] {
        return ask(number, std::move(*shared));
      };
    });
  }
  // The encoded answer. One to a call that has ended is dropped.
  void answer(server::ConnectionNumber number, std::string bytes);

 private:
  using Attempt = std::function<bool()>;
  using Read = std::function<Result<Attempt>(server::ConnectionNumber, const std::string& bytes)>;

  struct Question {
    std::shared_ptr<rpc::ServerCall> call;
    Read read;  // until it is asked
  };

  rpc::Handler handler(Read read);
  void take(const std::shared_ptr<rpc::ServerCall>& call, Read read);
  void told(server::ConnectionNumber number, rpc::CallEvent event);
  void ask(server::ConnectionNumber number, const std::string& bytes);
  void finish(server::ConnectionNumber number, const rpc::Outcome& outcome);

  shell::Strand& strand_;
  Intake& intake_;
  const std::function<server::ConnectionNumber()> next_number_;
  std::map<server::ConnectionNumber, Question> questions_;
};

}  // namespace tiphys::link
