#include "bench/system/cluster.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <fstream>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "io/host/test_certificates.h"

namespace tiphys::bench {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kPatience = std::chrono::seconds(5);

asio::awaitable<Result<bool>> open_one(link::CommandConnection* connection) {
  auto opening = connection->open(Clock::now() + kPatience);
  const Status opened = co_await std::move(opening);
  if (!opened) co_return fail(opened.error());
  co_return true;
}

asio::awaitable<Result<FromServer>> ask(link::CommandConnection* connection, Request request) {
  ToServer message = std::move(request);
  auto sending = connection->send(std::move(message));
  const Status sent = co_await std::move(sending);
  if (!sent) co_return fail(sent.error());
  while (true) {
    auto receiving = connection->receive(Clock::now() + kPatience);
    auto received = co_await std::move(receiving);
    if (!received || std::holds_alternative<Response>(*received)) co_return received;
  }
}

asio::awaitable<Result<FromServer>> next(link::CommandConnection* connection) {
  auto receiving = connection->receive(Clock::now() + 6 * kPatience);
  auto received = co_await std::move(receiving);
  co_return received;
}

}  // namespace

Folder::Folder() {
  std::string name = std::filesystem::temp_directory_path() / "tiphys-bench-XXXXXX";
  TIPHYS_CHECK(::mkdtemp(name.data()) != nullptr, "a benchmark needs a folder");
  folder_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Folder::write(const std::string& name, const std::string& text) const {
  const auto path = folder_ / name;
  std::ofstream(path) << text;
  std::filesystem::permissions(
      path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  return path;
}

std::uint16_t free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  TIPHYS_CHECK(socket >= 0 && ::bind(socket, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                   ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0,
               "a benchmark needs a port");
  ::close(socket);
  return ntohs(address.sin_port);
}

void Commander::Inline::run(std::function<void()> work, std::function<void()> done) {
  work();
  done();
}

Commander::~Commander() {
  connection_.reset();
  context_.poll();  // so that nothing of the call is left
}

template <class T>
Result<T> Commander::run(asio::awaitable<Result<T>> coroutine) {
  std::optional<Result<T>> result;
  asio::co_spawn(context_, std::move(coroutine),
                 [&](const std::exception_ptr& failure, Result<T> value) {
                   if (failure) std::rethrow_exception(failure);
                   result = std::move(value);
                 });
  context_.restart();
  while (!result) context_.run_one();
  return *std::move(result);
}

Result<std::unique_ptr<Commander>> Commander::connect(std::uint16_t port,
                                                      const std::optional<host::TlsMaterial>& tls) {
  const auto end = Clock::now() + kPatience;
  std::unique_ptr<Commander> commander(new Commander());
  while (true) {
    commander->connection_.emplace(
        commander->context_.get_executor(), commander->resolver_,
        link::CommandOptions{
            .url = concat(tls ? "https" : "http", "://127.0.0.1:", std::to_string(port)),
            .tls = tls});
    const auto opened = commander->run(open_one(&*commander->connection_));
    if (opened) return commander;
    if (Clock::now() >= end) return fail(opened.error());
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

Result<Tree> Commander::state(std::vector<std::string> masks) {
  Request request{"bench", CompleteStateRequest{std::move(masks)}};
  TIPHYS_TRY(FromServer answer, run(ask(&*connection_, std::move(request))));
  auto& response = std::get<Response>(answer);
  if (auto* state = std::get_if<CompleteStateResponse>(&response.content))
    return std::move(state->complete_state);
  return fail(Code::kUnavailable, "the server does not answer with its state");
}

Status Commander::await(const std::function<bool(const FromServer&)>& condition) {
  while (true) {
    TIPHYS_TRY(const FromServer message, run(next(&*connection_)));
    if (condition(message)) return {};
  }
}

Result<std::unique_ptr<Cluster>> Cluster::start(const ClusterOptions& options) {
  std::unique_ptr<Cluster> cluster(new Cluster());
  TIPHYS_REQUIRE(cluster->begin(options));
  return cluster;
}

std::vector<std::string> Cluster::security(const std::string& who,
                                           const host::TlsMaterial& material) const {
  return {"--ca_pem",  folder_.write(who + "-ca.pem", material.ca),
          "--crt_pem", folder_.write(who + ".pem", material.certificate),
          "--key_pem", folder_.write(who + "-key.pem", material.key)};
}

Status Cluster::begin(const ClusterOptions& options) {
  programs_ = options.programs;
  agent_name_ = concat("bench-", std::to_string(::getpid()));
  port_ = free_port();
  const std::string address = concat("127.0.0.1:", std::to_string(port_));
  std::vector<std::string> server{programs_ / "ank-server", "-a", address};
  std::vector<std::string> agent;
  std::optional<host::TlsMaterial> commander_tls;
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& words) {
    to.insert(to.end(), words.begin(), words.end());
  };
  if (!options.agent_environment.empty()) agent.emplace_back("env");  // it becomes the agent
  add(agent, options.agent_environment);
  add(agent, {programs_ / "ank-agent", "-n", agent_name_, "-r", folder_.path(""), "-s",
              concat(options.has_tls ? "https://" : "http://", address)});
  if (options.has_tls) {
    const auto ca = host::make_ca();
    commander_tls = host::issue(ca, {.names = {"ank"}});
    add(server, security("server", host::issue(ca, {.names = {"ank-server"}})));
    add(agent, security("agent", host::issue(ca, {.names = {agent_name_}})));
    cli_security_ = security("cli", *commander_tls);
  } else {
    server.emplace_back("-k");
    agent.emplace_back("-k");
    cli_security_ = {"-k"};
  }
  TIPHYS_TRY(MeasuredProcess server_process,
             MeasuredProcess::start(server, folder_.path("server.log")));
  server_.emplace(std::move(server_process));
  TIPHYS_TRY(MeasuredProcess agent_process,
             MeasuredProcess::start(agent, folder_.path("agent.log")));
  agent_.emplace(std::move(agent_process));
  TIPHYS_TRY(commander_, Commander::connect(port_, commander_tls));
  for (const auto end = Clock::now() + kPatience;;) {
    TIPHYS_TRY(const Tree state, commander_->state({"agents"}));
    if (const auto agents = state.child("agents"); agents && agents->child(agent_name_)) return {};
    if (Clock::now() >= end) return fail(Code::kUnavailable, "the agent does not connect");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

std::vector<std::string> Cluster::ank(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{
      programs_ / "ank", "-s",
      concat(cli_security_.size() > 1 ? "https" : "http", "://127.0.0.1:", std::to_string(port_))};
  command.insert(command.end(), cli_security_.begin(), cli_security_.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

}  // namespace tiphys::bench
