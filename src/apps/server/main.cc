// ank-server: which parts it has and what is wired to what.
//
//   agents, ank --HTTP/2--> rpc::Server --> LinkServer --strand--> ServerShell --> ForgetfulStore
//
// The main thread is io; the machine has a thread of its own.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "apps/page_saver.h"
#include "apps/programs.h"
#include "apps/server_options.h"
#include "base/strings.h"
#include "base/version.h"
#include "io/hooks/hook_runner.h"
#include "io/host/io_loop.h"
#include "io/host/log_sink.h"
#include "io/host/process.h"
#include "io/host/signals.h"
#include "io/host/tls_context.h"
#include "io/link/link_limits.h"
#include "io/link/link_server.h"
#include "io/link/security.h"
#include "io/rpc/http2/listener.h"
#include "io/rpc/server.h"
#include "io/store/forgetful_store.h"
#include "shell/server_shell.h"
#include "shell/strand.h"

namespace tiphys::apps {
namespace {

// For answers that are on their way when the server is told to end; agents' calls never end by themselves.
constexpr Duration kDrainTime = std::chrono::milliseconds(300);

struct Prepared {
  ServerOptions options;
  std::optional<host::TlsContext> tls;
  std::optional<State> state;
};

// All that can be wrong before anything runs.
OrStop<Prepared> prepare(const std::vector<std::string>& words, shell::Log& log) {
  auto options = read_server_options(words, host::process_environment());
  if (!options) return tl::unexpected(std::move(options).error());
  Prepared prepared{.options = std::move(*options), .tls = {}, .state = {}};

  // [impl->swdd~server-fails-on-missing-file-paths-and-insecure-cli-arguments~1]
  const auto security = link::decide_security(prepared.options.security);
  if (!security) return stop(Stop::Kind::kFatal, to_string(security.error()));
  for (const auto& warning : security->warnings) log.warn(warning);

  if (prepared.options.startup_manifest) {
    auto manifest = read_startup_manifest(*prepared.options.startup_manifest);
    if (!manifest) return tl::unexpected(std::move(manifest).error());
    for (const auto& warning : manifest->warnings) log.warn(warning);
    prepared.state = std::move(manifest->state);
  } else {
    log.info("No startup manifest provided -> waiting for new workloads from the CLI");
  }

  // [impl->swdd~server-establishes-insecure-communication-based-on-provided-insecure-cli-argument~1]
  if (!security->tls) {
    log.warn("!!!ANKSERVER IS STARTED IN INSECURE MODE (-k, --insecure) -> TLS is disabled!!!");
    return prepared;
  }
  // [impl->swdd~server-provides-file-paths-to-communication-middleware~1]
  auto tls = host::TlsContext::server(*security->tls, {"h2"});
  if (!tls) return fatal("server error", concat("StartError: '", tls.error().message, "'"));
  prepared.tls = std::move(*tls);
  return prepared;
}

OrStop<int> serve(Prepared prepared, host::LogSink& log) {
  host::LogTrace trace(log);
  host::IoLoop io;
  std::optional<Stop> reason;  // to end, if it is a bad one; touched by io only

  // The strand stops before anything that its tasks use goes.
  std::optional<shell::ServerShell> shell;
  shell::CoreThread core;
  PageSaver page_saver(core);
  store::ForgetfulStore store(core);
  link::LinkServer link(io.executor(), core, log,
                        {.opened =
                             [&](server::Opened event) {
                               shell->opened(std::move(event));
                               page_saver.worked();
                             },
                         .closed =
                             [&](server::ConnectionNumber connection) {
                               shell->closed(connection);
                               page_saver.worked();
                             },
                         .received =
                             [&](server::ConnectionNumber connection, ToServer&& message) {
                               return shell->received(connection, std::move(message));
                             },
                         .dry_run_asked =
                             [&](server::ConnectionNumber call, DryRunRequest&& request) {
                               return shell->dry_run_asked(call, std::move(request));
                             },
                         .state_ages_asked =
                             [&](server::ConnectionNumber call, StateAgesRequest&& request) {
                               return shell->state_ages_asked(call, std::move(request));
                             }});
  rpc::Server rpc_server(io.executor(), log);
  hooks::ProgramRunner hook_runner(io.executor(), core, log);

  auto listener = rpc::http2::listen(io.executor(), log,
                                     {.address = prepared.options.address,
                                      .tls = std::move(prepared.tls),
                                      .limits = link::agent_link_limits()});
  if (!listener)
    return fatal("server error", concat("StartError: '", listener.error().message, "'"));

  shell.emplace(
      core, core, core, trace, log, store, link,
      [&](std::string why) {
        io.post([&, why = std::move(why)] {
          reason = fatal("server error", why).value();
          io.stop();
        });
      },
      shell::Hooks{std::move(prepared.options.hooks), &hook_runner});
  core.post([&, state = std::move(prepared.state)] {
    shell->start(state);
    page_saver.worked();
  });
  log.info("ank-server listens", {{"address", (*listener)->address()}, {"version", kVersion}});
  rpc_server.listen(std::move(*listener), link.listen_options());

  const host::EndSignal end(io.executor(), [&](std::string_view signal) {
    log.info("ank-server ends", {{"signal", signal}});
    rpc_server.close(kDrainTime, [&] { io.stop(); });
  });
  io.run();
  core.stop();
  if (reason) return tl::unexpected(*std::move(reason));
  return 0;
}

}  // namespace

int ank_server_main(int argc, char** argv) {
  host::prepare_process();
  (void)host::raise_descriptor_limit();  // each peer takes one
  const auto log = host::standard_log("ank_server");
  auto prepared = prepare(words_of(argc, argv), *log);
  if (!prepared) return report(prepared.error(), *log);
  const auto code = serve(std::move(*prepared), *log);
  return code ? *code : report(code.error(), *log);
}

}  // namespace tiphys::apps
