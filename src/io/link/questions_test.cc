#include "io/link/questions.h"

#include <gtest/gtest.h>

#include <deque>
#include <optional>

#include "base/match.h"
#include "base/strings.h"
#include "io/link/link_limits.h"
#include "io/link/link_server.h"
#include "io/link/test_link.h"
#include "io/rpc/channel.h"
#include "io/rpc/memory/memory_network.h"
#include "io/wire/wire.h"

namespace tiphys::link {
namespace {

using server::ConnectionNumber;

// A link in memory whose machine only remembers what it is asked.
class QuestionsTest : public ::testing::Test {
 public:
  ~QuestionsTest() override {
    for (const auto& call : calls) call->cancel();
    network.cut();
    rpc_server.close(Duration::zero(), [] {});
    threads.settle();
  }

 protected:
  explicit QuestionsTest(bool serves = true)
      : link(threads.io.get_executor(), threads.strand, log,
             {.opened = [](const server::Opened&) {},
              .closed = [](ConnectionNumber) {},
              .received = [](ConnectionNumber, ToServer&&) { return true; },
              .dry_run_asked = serves ? into(asked) : nullptr,
              .state_ages_asked = serves ? into(asked_ages) : nullptr}) {
    rpc_server.listen(network.listen("server"), link.listen_options());
  }

  template <class Request>
  using Asked = std::deque<std::pair<ConnectionNumber, Request>>;
  template <class Request>
  std::function<bool(ConnectionNumber, Request&&)> into(Asked<Request>& questions) {
    return [this, &questions](ConnectionNumber call, Request&& request) {
      if (refusals-- > 0) return false;
      questions.emplace_back(call, std::move(request));
      return true;
    };
  }

  struct Asking {
    std::optional<std::string> response;
    std::optional<rpc::Outcome> outcome;
  };
  std::shared_ptr<Asking> ask(std::optional<std::string> bytes,
                              std::string_view method = kDryRunUpdate) {
    auto asking = std::make_shared<Asking>();
    const auto call = channel.call(std::string(method));
    call->start([asking](rpc::CallEvent event) {
      match(
          std::move(event), [&](rpc::Message e) { asking->response = std::move(e.bytes); },
          [&](rpc::Finished e) { asking->outcome = std::move(e.outcome); }, [](const auto&) {});
    });
    if (bytes) call->send({*std::move(bytes)});
    call->half_close();
    call->want();
    calls.push_back(call);
    return asking;
  }
  static std::string ending(const Asking& asking) {
    const auto& status = asking.outcome->status;
    return status ? "OK" : concat(to_string(status.error().code), ": ", status.error().message);
  }

  const DryRunRequest question{{Tree(Tree::Map()), {"desiredState.workloads.web"}}};
  Threads threads;
  RecordingLog log;
  int refusals = 0;
  Asked<DryRunRequest> asked;
  Asked<StateAgesRequest> asked_ages;
  rpc::memory::Network network{threads.io.get_executor()};
  LinkServer link;
  rpc::Server rpc_server{threads.io.get_executor(), log};
  rpc::Channel channel{threads.io.get_executor(), network.connector(), {.urls = {"server"}}};
  std::vector<std::shared_ptr<rpc::ClientCall>> calls;
};

TEST_F(QuestionsTest, CarriesAQuestionToTheMachineAndItsAnswerBack) {
  refusals = 3;  // its mailbox is full for a while
  const auto first = ask(wire::encode(question));
  const auto second = ask(wire::encode(question));
  ASSERT_TRUE(threads.until([&] { return asked.size() == 2; }));
  EXPECT_EQ(asked[0].second, question);
  EXPECT_NE(asked[0].first, asked[1].first);

  const DryRunResponse plan = DryRun{{}, {"careful"}, {}};
  link.answer(asked[1].first, ErrorResponse{"no"});
  link.answer(asked[0].first, plan);
  ASSERT_TRUE(threads.until([&] { return first->outcome && second->outcome; }));
  EXPECT_EQ(*wire::decode_dry_run_response(first->response.value()), plan);
  EXPECT_EQ(*wire::decode_dry_run_response(second->response.value()),
            DryRunResponse(ErrorResponse{"no"}));
  EXPECT_EQ(ending(*first), "OK");
}

TEST_F(QuestionsTest, TellsQuestionsFromEachOther) {
  refusals = 1;
  const StateAgesRequest names{{"web", "db"}};
  const auto ages = ask(wire::encode(names), kGetStateAges);
  const auto of_all = ask("", kGetStateAges);
  const auto plan = ask(wire::encode(question));
  ASSERT_TRUE(threads.until([&] { return asked_ages.size() == 2 && asked.size() == 1; }));
  EXPECT_EQ(asked_ages[0].second, names);
  EXPECT_EQ(asked_ages[1].second, StateAgesRequest{});
  EXPECT_EQ(asked[0].second, question);

  const StateAgesResponse response{{{{{"web"}, {"1"}, {"A"}}, std::chrono::milliseconds(1500)}}};
  link.answer(asked[0].first, DryRun{});
  link.answer(asked_ages[1].first, StateAgesResponse{});
  link.answer(asked_ages[0].first, response);
  ASSERT_TRUE(threads.until([&] { return ages->outcome && of_all->outcome && plan->outcome; }));
  EXPECT_EQ(*wire::decode_state_ages_response(ages->response.value()), response);
  EXPECT_EQ(*wire::decode_state_ages_response(of_all->response.value()), StateAgesResponse{});
  EXPECT_EQ(*wire::decode_dry_run_response(plan->response.value()), DryRunResponse(DryRun{}));
}

TEST_F(QuestionsTest, RefusesWhatIsNoQuestion) {
  const auto nothing = ask(std::nullopt);
  const auto junk = ask("\xff\xff");
  const auto empty = ask("");
  ASSERT_TRUE(threads.until([&] { return nothing->outcome && junk->outcome && empty->outcome; }));
  EXPECT_EQ(ending(*nothing), "INVALID_ARGUMENT: Empty");
  EXPECT_EQ(ending(*empty), "INVALID_ARGUMENT: Missing field 'update'");
  EXPECT_NE(ending(*junk).find("not a well-formed message"), std::string::npos);
  EXPECT_TRUE(asked.empty());
}

TEST_F(QuestionsTest, ForgetsWhoDoesNotWait) {
  const auto asking = ask(wire::encode(question));
  ASSERT_TRUE(threads.until([&] { return asked.size() == 1; }));
  calls[0]->cancel();
  const auto other = ask(wire::encode(question));
  ASSERT_TRUE(threads.until([&] { return asked.size() == 2; }));
  link.answer(asked[0].first, DryRun{});
  link.answer(asked[1].first, DryRun{});
  ASSERT_TRUE(threads.until([&] { return other->outcome.has_value(); }));
  EXPECT_FALSE(asking->response.has_value());
}

class WithoutQuestionsTest : public QuestionsTest {
 protected:
  WithoutQuestionsTest() : QuestionsTest(false) {}
};

TEST_F(WithoutQuestionsTest, IsNoServiceWithoutAMachineThatAnswers) {
  for (const auto method : {kDryRunUpdate, kGetStateAges}) {
    const auto asking = ask("", method);
    ASSERT_TRUE(threads.until([&] { return asking->outcome.has_value(); })) << method;
    EXPECT_EQ(asking->outcome->status.error().code, Code::kUnimplemented) << method;
  }
}

}  // namespace
}  // namespace tiphys::link
