// tiphys-peer, the peer made with src/io/rpc; ../README.md describes the words it understands.

#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <istream>
#include <map>
#include <set>

#include "io/host/resolver.h"
#include "io/host/tls_context.h"
#include "io/host/tls_files.h"
#include "io/rpc/http2/connector.h"
#include "io/rpc/http2/listener.h"
#include "shell/strand.h"
#include "tests/peers/ours/peer.h"

namespace tiphys::peer {

namespace asio = boost::asio;

namespace {

class ErrorLog final : public shell::Log {
 public:
  void write(shell::Level, std::string_view text, Fields fields) override {
    std::cerr << "tiphys-peer: " << text;
    for (const auto& [name, value] : fields) std::cerr << " " << name << "=" << value;
    std::cerr << "\n";
  }
};

struct Options {
  std::string address;
  host::TlsFiles files;
  std::string server_name = "ank-server";
  std::vector<std::string> cases;

  [[nodiscard]] bool has_tls() const { return !files.ca.empty(); }
};

Result<Options> parse(const std::vector<std::string>& words, const std::string& address_option) {
  Options options;
  std::map<std::string, std::string*> targets = {{address_option, &options.address},
                                                 {"--ca", &options.files.ca},
                                                 {"--cert", &options.files.certificate},
                                                 {"--key", &options.files.key},
                                                 {"--server-name", &options.server_name}};
  for (std::size_t at = 0; at < words.size(); ++at) {
    const auto target = targets.find(words[at]);
    if (target == targets.end()) {
      if (words[at].starts_with('-'))
        return fail(Code::kInvalidArgument, "unknown option " + words[at]);
      options.cases.push_back(words[at]);
    } else if (at + 1 == words.size()) {
      return fail(Code::kInvalidArgument, words[at] + ": a value is missing");
    } else {
      *target->second = words[++at];
    }
  }
  const auto& files = options.files;
  if (files.ca.empty() != files.certificate.empty() || files.ca.empty() != files.key.empty())
    return fail(Code::kInvalidArgument, "--ca, --cert and --key belong together");
  if (!options.address.starts_with("tcp:") && !options.address.starts_with("unix:"))
    return fail(Code::kInvalidArgument, address_option + ": expected tcp:HOST:PORT or unix:PATH");
  return options;
}

int complain(const Error& error, int code) {
  std::cerr << "tiphys-peer: " << error.message << "\n";
  return code;
}

// --- serve ---

asio::awaitable<void> end_with_stdin() {
  asio::posix::stream_descriptor input(co_await asio::this_coro::executor, dup(STDIN_FILENO));
  char byte = 0;
  boost::system::error_code error;
  while (!error)
    co_await input.async_read_some(asio::buffer(&byte, 1),
                                   asio::redirect_error(asio::use_awaitable, error));
  std::_Exit(0);
}

int serve(const Options& options) {
  asio::io_context context(1);
  ErrorLog log;
  rpc::http2::ListenerOptions listening{
      .address = options.address.starts_with("tcp:") ? options.address.substr(4) : options.address};
  if (options.has_tls()) {
    const auto material = host::read_tls_files(options.files);
    if (!material) return complain(material.error(), 1);
    const auto tls = host::TlsContext::server(*material, {"h2"});
    if (!tls) return complain(tls.error(), 1);
    listening.tls = *tls;
  }
  auto listener = rpc::http2::listen(context.get_executor(), log, listening);
  if (!listener) return complain(listener.error(), 1);
  const std::string address = (*listener)->address();

  rpc::Server server(context.get_executor(), log);
  rpc::ListenOptions serving{.handlers = echo_handlers()};
  serving.limits.message = kMessageLimit;
  server.listen(std::move(*listener), std::move(serving));
  std::cout << "listening " << (address.starts_with("unix:") ? "" : "tcp:") << address << '\n'
            << std::flush;

  asio::co_spawn(context, end_with_stdin(), asio::detached);
  asio::signal_set signals(context, SIGTERM);
  signals.async_wait([&server](const boost::system::error_code& error, int) {
    if (!error) server.close(std::chrono::seconds(10), [] { std::_Exit(0); });
  });
  context.run();
  return 0;
}

// --- call, talk ---

struct Client {
  asio::io_context context{1};
  shell::CoreThread strand;
  shell::WorkerThreads workers{strand, 1};
  host::Resolver resolver{workers};
  std::unique_ptr<rpc::Channel> channel;
};

Status connect(Client& client, const Options& options) {
  rpc::http2::ConnectorOptions connecting{.server_name = options.server_name};
  std::string url = options.address;
  if (options.has_tls()) {
    TIPHYS_TRY(const host::TlsMaterial material, host::read_tls_files(options.files));
    TIPHYS_TRY(connecting.tls, host::TlsContext::client(material, {"h2"}));
  }
  if (url.starts_with("tcp:")) url = (options.has_tls() ? "https://" : "http://") + url.substr(4);
  rpc::ChannelOptions channel{.urls = {url}};
  channel.limits.message = kMessageLimit;
  channel.back_off = {.first = std::chrono::milliseconds(10),
                      .longest = std::chrono::milliseconds(100)};
  client.channel = std::make_unique<rpc::Channel>(
      client.context.get_executor(),
      rpc::http2::connector(client.context.get_executor(), client.resolver, connecting), channel);
  return {};
}

asio::awaitable<void> run_cases(rpc::Channel* channel, std::vector<std::string> cases, int* code) {
  for (const std::string& name : cases) {
    const std::string problem = co_await run_case(channel, name);
    if (problem.empty()) {
      std::cout << "ok " << name << '\n' << std::flush;
    } else {
      std::cout << "failed " << name << ": " << problem << '\n' << std::flush;
      *code = 1;
    }
  }
  std::cout.flush();
  std::_Exit(*code);
}

int call(const Options& options) {
  const auto& names = case_names();
  for (const std::string& name : options.cases)
    if (std::find(names.begin(), names.end(), name) == names.end())
      return complain({Code::kInvalidArgument, "unknown case " + name + "; 'cases' lists them"}, 2);
  Client client;
  if (const Status connected = connect(client, options); !connected)
    return complain(connected.error(), 1);
  int code = 0;
  asio::co_spawn(client.context, run_cases(client.channel.get(), options.cases, &code),
                 asio::detached);
  client.context.run();
  return code;
}

asio::awaitable<void> talk_lines(rpc::Channel* channel) {
  asio::posix::stream_descriptor input(co_await asio::this_coro::executor, dup(STDIN_FILENO));
  asio::streambuf buffer;
  for (;;) {
    boost::system::error_code error;
    co_await asio::async_read_until(input, buffer, '\n',
                                    asio::redirect_error(asio::use_awaitable, error));
    if (error) std::_Exit(0);
    std::istream lines(&buffer);
    std::string line;
    std::getline(lines, line);
    const std::string answer = co_await talk(channel, line);
    std::cout << answer << '\n' << std::flush;
  }
}

int talk_with(const Options& options) {
  Client client;
  if (const Status connected = connect(client, options); !connected)
    return complain(connected.error(), 1);
  asio::co_spawn(client.context, talk_lines(client.channel.get()), asio::detached);
  client.context.run();
  return 0;
}

int run(const std::vector<std::string>& words) {
  if (words.size() == 1 && words[0] == "cases") {
    for (const std::string& name : case_names()) std::cout << name << "\n";
    return 0;
  }
  if (words.empty() || (words[0] != "serve" && words[0] != "call" && words[0] != "talk"))
    return complain({Code::kInvalidArgument, "expected cases, serve, call or talk"}, 2);
  const auto options =
      parse({words.begin() + 1, words.end()}, words[0] == "serve" ? "--listen" : "--connect");
  if (!options) return complain(options.error(), 2);
  if (words[0] == "serve") return serve(*options);
  return words[0] == "call" ? call(*options) : talk_with(*options);
}

}  // namespace

}  // namespace tiphys::peer

int main(int argc, char** argv) { return tiphys::peer::run({argv + 1, argv + argc}); }
