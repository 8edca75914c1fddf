#include "cli/test_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/match.h"
#include "base/strings.h"
#include "io/host/tls_context.h"
#include "io/link/link_limits.h"
#include "io/link/link_server.h"
#include "io/rpc/http2/listener.h"
#include "io/rpc/server.h"
#include "io/store/memory_store.h"
#include "io/wire/wire.h"
#include "shell/server_shell.h"
#include "text/manifest.h"

namespace tiphys::cli {
namespace {

namespace asio = boost::asio;

class QuietLog final : public shell::Log {
 public:
  void write(shell::Level, std::string_view, Fields) override {}
};

class QuietTrace final : public shell::Trace {
 public:
  [[nodiscard]] bool enabled() const override { return false; }
  void event(std::string_view, const std::string&) override {}
  void effect(std::string_view, const std::string&) override {}
};

// A thread that serves calls until it goes.
struct Serving {
  QuietLog log;
  asio::io_context io{1};
  std::optional<rpc::Server> server{std::in_place, io.get_executor(), log};
  std::string url;
  std::thread thread;

  void start(rpc::ListenOptions options, const std::optional<host::TlsMaterial>& tls = {}) {
    rpc::http2::ListenerOptions listening{.address = "127.0.0.1:0"};
    if (tls) listening.tls = host::TlsContext::server(*tls, {"h2"}).value();
    auto listener = rpc::http2::listen(io.get_executor(), log, std::move(listening));
    TIPHYS_CHECK(listener.has_value(), "a port is free");
    url = concat(tls ? "https://" : "http://", (*listener)->address());
    server->listen(*std::move(listener), std::move(options));
    thread = std::thread([this] {
      const auto stays = asio::make_work_guard(io);
      io.run();
    });
  }
  // Nothing runs on the thread after that.
  void stop() {
    asio::post(io, [this] {
      server.reset();
      io.stop();
    });
    thread.join();
  }
};

}  // namespace

// -- ScriptedServer

struct ScriptedServer::Impl {
  class Conversation final : public Visitor, public std::enable_shared_from_this<Conversation> {
   public:
    Conversation(Impl& impl, std::shared_ptr<rpc::ServerCall> call)
        : impl_(impl), call_(std::move(call)) {}

    void start() {
      call_->start([weak = weak_from_this()](rpc::CallEvent event) {
        const auto self = weak.lock();
        if (!self) return;
        match(
            event, [&](const rpc::Message& e) { self->take(e.bytes); },
            [&](const rpc::HalfClosed&) { self->end({}); },
            [&](const rpc::Finished&) { self->call_.reset(); }, [](const auto&) {});
      });
      call_->want();
    }
    void send(FromServer message) override {
      if (call_) call_->send({wire::encode(message)});
    }
    void end(rpc::Outcome outcome) override {
      if (call_) call_->finish(outcome);
    }

   private:
    void take(const std::string& bytes) {
      const auto message = wire::decode_to_server(bytes);
      TIPHYS_CHECK(message.has_value(), "commanders send messages");
      if (std::holds_alternative<CommanderHello>(*message)) return begin();
      {
        const std::lock_guard lock(impl_.mutex);
        impl_.heard.push_back(*message);
      }
      if (std::holds_alternative<Goodbye>(*message)) return end({});
      if (const auto* request = std::get_if<Request>(&*message); request && impl_.script.on_request)
        impl_.script.on_request(*this, *request);
      if (call_) call_->want();
    }
    void begin() {
      if (impl_.script.is_silent) return;
      if (impl_.script.refusal) return end(*impl_.script.refusal);
      call_->send_headers();
      if (impl_.script.on_hello) impl_.script.on_hello(*this);
      if (call_) call_->want();
    }

    Impl& impl_;
    std::shared_ptr<rpc::ServerCall> call_;
  };

  explicit Impl(Script how) : script(std::move(how)) {
    rpc::ListenOptions options;
    options.handlers.add(
        std::string(link::kConnectCli), {.take = [this](std::shared_ptr<rpc::ServerCall> call) {
          conversations.push_back(std::make_shared<Conversation>(*this, std::move(call)));
          conversations.back()->start();
        }});
    add(options.handlers, link::kDryRunUpdate, &wire::decode_dry_run_request, script.on_dry_run);
    add(options.handlers, link::kGetStateAges, &wire::decode_state_ages_request,
        script.on_state_ages);
    serving.start(std::move(options), script.tls);
  }
  // A method that answers one question; none without an answer.
  template <class Request, class Response>
  static void add(rpc::Handlers& handlers, std::string_view method,
                  Result<Request> (*decode)(std::string_view),
                  const std::function<Response(const Request&)>& answer) {
    if (!answer) return;
    handlers.add(std::string(method),
                 {.take = [decode, answer](const std::shared_ptr<rpc::ServerCall>& call) {
                   call->start([decode, answer, weak = std::weak_ptr(call)](rpc::CallEvent event) {
                     const auto* message = std::get_if<rpc::Message>(&event);
                     const auto self = weak.lock();
                     if (message == nullptr || !self) return;
                     const auto request = decode(message->bytes);
                     TIPHYS_CHECK(request.has_value(), "commanders send questions");
                     self->send({wire::encode(answer(*request))});
                     self->finish({});
                   });
                   call->want();
                 }});
  }
  ~Impl() {
    serving.stop();
    conversations.clear();  // while there is still the loop that their calls lived on
  }

  const Script script;
  std::mutex mutex;
  std::vector<ToServer> heard;  // guarded by the mutex
  std::vector<std::shared_ptr<Conversation>> conversations;
  Serving serving;
};

ScriptedServer::ScriptedServer(Script script) : impl_(std::make_unique<Impl>(std::move(script))) {}
ScriptedServer::~ScriptedServer() = default;
const std::string& ScriptedServer::url() const { return impl_->serving.url; }
std::vector<ToServer> ScriptedServer::heard() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->heard;
}

// -- MachineServer

struct MachineServer::Impl {
  explicit Impl(const std::string& startup_manifest) {
    std::optional<State> state;
    if (!startup_manifest.empty()) {
      auto manifest = parse_manifest(startup_manifest, "startup.yaml");
      if (!manifest) std::fprintf(stderr, "%s\n", to_string(manifest.error()).c_str());
      TIPHYS_CHECK(manifest.has_value(), "a test's manifest is good");
      state = std::move(manifest->state);
    }
    core.post([this, state = std::move(state)]() mutable { server.start(std::move(state)); });
    serving.start(link.listen_options());
  }
  // First nobody calls any more, then nothing runs any more, then things go.
  ~Impl() {
    serving.stop();
    core.stop();
  }

  QuietLog log;
  QuietTrace trace;
  shell::CoreThread core;
  store::MemoryStore store{core, core, core};
  Serving serving;
  link::LinkServer link{
      serving.io.get_executor(),
      core,
      log,
      {.opened = [this](server::Opened event) { server.opened(std::move(event)); },
       .closed = [this](server::ConnectionNumber number) { server.closed(number); },
       .received =
           [this](server::ConnectionNumber number, ToServer&& message) {
             return server.received(number, std::move(message));
           }}};
  shell::ServerShell server{core, core, core, trace, log, store, link, [](const std::string& why) {
                              std::fprintf(stderr, "%s\n", why.c_str());
                              std::abort();
                            }};
};

MachineServer::MachineServer(const std::string& startup_manifest)
    : impl_(std::make_unique<Impl>(startup_manifest)) {}
MachineServer::~MachineServer() = default;
const std::string& MachineServer::url() const { return impl_->serving.url; }

}  // namespace tiphys::cli
