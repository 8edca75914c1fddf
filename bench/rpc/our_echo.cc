// The echo service on io/rpc: one process, one thread. Prints its port, and runs until it is killed.

#include <boost/asio/io_context.hpp>
#include <iostream>
#include <utility>

#include "echo.pb.h"
#include "io/rpc/http2/listener.h"
#include "io/rpc/server.h"
#include "io/rpc/typed.h"

namespace tiphys::bench {
namespace {

namespace asio = boost::asio;

class ErrorLog final : public shell::Log {
 public:
  void write(shell::Level, std::string_view text, Fields fields) override {
    std::cerr << "our-echo: " << text;
    for (const auto& [name, value] : fields) std::cerr << " " << name << "=" << value;
    std::cerr << "\n";
  }
};

asio::awaitable<Result<EchoReply>> echo(rpc::ServerStream, rpc::Received<EchoRequest> request) {
  EchoReply reply;
  reply.set_payload(request->payload());
  co_return reply;
}

asio::awaitable<Status> chat(rpc::ServerStream, rpc::Reader<EchoRequest, rpc::ServerStream> reader,
                             rpc::Writer<EchoReply, rpc::ServerStream> writer) {
  for (;;) {
    auto reading = reader.read();
    auto request = co_await std::move(reading);
    if (!request) co_return fail(request.error());
    if (!*request) co_return Status{};
    EchoReply reply;
    reply.set_payload((**request)->payload());
    auto writing = writer.write(reply);
    co_await std::move(writing);
  }
}

int serve() {
  asio::io_context context(1);
  ErrorLog log;
  auto listener = rpc::http2::listen(context.get_executor(), log, {.address = "127.0.0.1:0"});
  if (!listener) {
    std::cerr << "our-echo: " << listener.error().message << "\n";
    return 1;
  }
  const std::string address = (*listener)->address();
  rpc::Handlers handlers;
  handlers.add("/tiphys.bench.Echo/Unary", rpc::unary_handler<EchoRequest, EchoReply>(echo));
  handlers.add("/tiphys.bench.Echo/Chat", rpc::bidirectional_handler<EchoRequest, EchoReply>(chat));
  rpc::Server server(context.get_executor(), log);
  server.listen(std::move(*listener), {.handlers = std::move(handlers)});
  std::cout << address.substr(address.rfind(':') + 1) << "\n" << std::flush;
  context.run();
  return 0;
}

}  // namespace
}  // namespace tiphys::bench

int main() { return tiphys::bench::serve(); }
