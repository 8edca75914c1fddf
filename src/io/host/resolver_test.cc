#include "io/host/resolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <utility>

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

// A worker that keeps what it has done until it is told to forget.
class LazyWorkers final : public shell::Workers {
 public:
  void run(std::function<void()> work, std::function<void()> /*done*/) override {
    done_.push_back(std::move(work));
    done_.back()();
  }

 private:
  std::vector<std::function<void()>> done_;
};

Addresses resolve_with(shell::Workers& workers, const std::string& host, std::uint16_t port) {
  boost::asio::io_context context(1);
  Resolver resolver(workers);
  std::optional<Addresses> answer;
  resolver.resolve(host, port, context.get_executor(),
                   [&](Addresses addresses) { answer = std::move(addresses); });
  EXPECT_FALSE(answer) << "told before the executor ran";
  context.run();
  return answer.value_or(fail(Code::kInternal, "not answered"));
}

Addresses resolve_at_once(const std::string& host, std::uint16_t port) {
  NoWorkers workers;
  return resolve_with(workers, host, port);
}

Addresses resolve_elsewhere(const std::string& host, std::uint16_t port) {
  LazyWorkers workers;
  return resolve_with(workers, host, port);
}

TEST(Resolver, AnswersForAddressesWithoutAWorker) {
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

TEST(Resolver, LeavesNothingOfTheCallersWithTheWorker) {
  boost::asio::io_context context(1);
  LazyWorkers workers;
  Resolver resolver(workers);
  const auto of_the_caller = std::make_shared<int>(0);
  resolver.resolve("localhost", 443, context.get_executor(),
                   [of_the_caller](const Addresses& /*addresses*/) {});
  context.run();
  EXPECT_EQ(of_the_caller.use_count(), 1) << "the worker would be the one to destroy it";
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
