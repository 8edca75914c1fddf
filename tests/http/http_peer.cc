// Our HTTP server and client as a program, for tests that let them talk to somebody else's:
//
//   http_peer serve        prints its port, and serves until its standard input ends
//   http_peer ask <url>    prints the status and the body of the answer, or the error

#include <unistd.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include "io/host/resolver.h"
#include "io/http/client.h"
#include "io/http/server.h"
#include "shell/strand.h"
#include "shell/workers.h"

namespace {

namespace asio = boost::asio;
namespace http = tiphys::http;

int serve() {
  asio::io_context context(1);
  http::Server server(context.get_executor());
  for (const std::string method : {"GET", "PUT"})
    server.route(method, "/echo/{name}", [](http::Request request, http::Responder responder) {
      http::Response response{.body = std::move(request.body)};
      response.headers.set("X-Name", request.captures.at("name"));
      responder.answer(std::move(response));
    });
  server.route("GET", "/events", [](const http::Request& /*request*/, http::Responder responder) {
    auto stream = responder.stream_events();
    for (const std::string number : {"1", "2", "3"}) stream.send("count", number, number);
  });
  const auto listening = server.listen({"127.0.0.1", 0});
  if (!listening) {
    std::cerr << listening.error().message << '\n';
    return 1;
  }
  std::cout << listening->address.port << '\n' << std::flush;

  asio::posix::stream_descriptor input(context, ::dup(STDIN_FILENO));
  std::array<char, 64> ignored{};
  input.async_read_some(asio::buffer(ignored), [&](const auto& /*error*/, std::size_t /*bytes*/) {
    server.close(std::chrono::seconds(5), [&] { context.stop(); });
  });
  context.run();
  return 0;
}

int ask(const std::string& url) {
  asio::io_context context(1);
  tiphys::shell::CoreThread core;
  tiphys::shell::WorkerThreads workers(core, 1);
  tiphys::host::Resolver resolver(workers);
  http::Client client(context.get_executor(), resolver);
  int code = 1;
  client.request({.url = url}, [&](const tiphys::Result<http::Response>& response) {
    code = response ? 0 : 1;
    if (response)
      std::cout << response->status << '\n' << response->body;
    else
      std::cout << response.error().message;
  });
  context.run();
  core.stop();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "serve") return serve();
  if (argc == 3 && std::string_view(argv[1]) == "ask") return ask(argv[2]);
  std::cerr << "usage: http_peer serve | http_peer ask <url>\n";
  return 2;
}
