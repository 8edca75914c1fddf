#include "io/host/resolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <optional>
#include <thread>

#include "shell/strand.h"

namespace tiphys::host {
namespace {

using Addresses = Result<std::vector<Address>>;

// For what has to be answered without help.
class NoWorkers final : public shell::Workers {
 public:
  void run(std::function<void()> /*work*/, std::function<void()> /*done*/) override {
    ADD_FAILURE() << "asked a worker";
  }
};

Addresses resolve_at_once(const std::string& host, std::uint16_t port) {
  NoWorkers workers;
  Resolver resolver(workers);
  std::optional<Addresses> answer;
  resolver.resolve(host, port, [&](Addresses addresses) { answer = std::move(addresses); });
  return answer.value_or(fail(Code::kInternal, "not answered at once"));
}

Addresses resolve_elsewhere(const std::string& host, std::uint16_t port) {
  shell::CoreThread core;
  shell::WorkerThreads workers(core, 1);
  Resolver resolver(workers);
  std::promise<Addresses> answer;
  const auto asking = std::this_thread::get_id();
  resolver.resolve(host, port, [&](Addresses addresses) {
    EXPECT_NE(std::this_thread::get_id(), asking);
    answer.set_value(std::move(addresses));
  });
  Addresses addresses = answer.get_future().get();
  core.stop();
  return addresses;
}

TEST(Resolver, AnswersForAddressesAtOnce) {
  for (const std::string ip : {"127.0.0.1", "::1", "2001:db8::7"}) {
    SCOPED_TRACE(ip);
    EXPECT_EQ(resolve_at_once(ip, 25551), (std::vector<Address>{{ip, 25551}}));
  }
}

TEST(Resolver, AsksTheSystemForNames) {
  const auto addresses = resolve_elsewhere("localhost", 443);
  ASSERT_TRUE(addresses) << addresses.error().message;
  ASSERT_FALSE(addresses->empty());
  for (const auto& address : *addresses) {
    EXPECT_TRUE(address.ip == "127.0.0.1" || address.ip == "::1") << address.ip;
    EXPECT_EQ(address.port, 443);
    EXPECT_EQ(std::count(addresses->begin(), addresses->end(), address), 1) << "came twice";
  }
}

TEST(Resolver, NamesTheHostThatItCannotResolve) {
  const std::string host(64, 'x');  // longer than a label may be, so that nobody is asked
  const auto addresses = resolve_elsewhere(host, 1);
  ASSERT_FALSE(addresses);
  EXPECT_EQ(addresses.error().code, Code::kUnavailable);
  EXPECT_TRUE(addresses.error().message.starts_with("cannot resolve '" + host + "': "))
      << addresses.error().message;
}

TEST(Resolver, RefusesWhatIsNoName) {
  EXPECT_EQ(resolve_at_once("", 1).error().message, "cannot resolve '': the name is empty");
  EXPECT_EQ(resolve_at_once(std::string("localhost\0.evil", 15), 1).error().message,
            "cannot resolve 'localhost': a zero byte follows");
}

TEST(Address, IsWrittenWithItsPort) {
  EXPECT_EQ(to_string(Address{"127.0.0.1", 80}), "127.0.0.1:80");
  EXPECT_EQ(to_string(Address{"::1", 65535}), "[::1]:65535");
}

}  // namespace
}  // namespace tiphys::host
