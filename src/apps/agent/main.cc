// ank-agent: which parts it has and what is wired to what.
//
//   server --HTTP/2--> AgentClient --strand--> AgentShell --> EngineRuntime --> PodmanEngine --> podman
//                                                       KubeRuntime ------^
//                                                       EngineRuntime --> NerdctlEngine --> containerd
//                                                       PipeInterfaces --> FIFOs of the workloads
//
// The main thread is io; the machine has a thread of its own; workers begin only if a host name is to be looked up or a
// workload has files.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "apps/agent_options.h"
#include "apps/page_saver.h"
#include "apps/programs.h"
#include "base/strings.h"
#include "base/version.h"
#include "io/control/pipe_interfaces.h"
#include "io/folders/disk_folders.h"
#include "io/host/io_loop.h"
#include "io/host/log_sink.h"
#include "io/host/process.h"
#include "io/host/resolver.h"
#include "io/host/resources.h"
#include "io/host/signals.h"
#include "io/host/tls_context.h"
#include "io/link/agent_client.h"
#include "io/link/link_limits.h"
#include "io/link/security.h"
#include "io/rpc/http2/connector.h"
#include "io/runtimes/commands/container_config.h"
#include "io/runtimes/nerdctl/nerdctl_engine.h"
#include "io/runtimes/podman/podman_engine.h"
#include "io/runtimes/podman_kube/kube_runtime.h"
#include "shell/agent_shell.h"
#include "shell/engine_runtime.h"
#include "shell/owner_labels.h"
#include "shell/strand.h"
#include "shell/workers.h"

namespace tiphys::apps {
namespace {

constexpr Duration kLoadPeriod = std::chrono::seconds(2);
// So that a host name that takes its time to be found holds up no file.
constexpr std::size_t kWorkers = 2;

struct Prepared {
  AgentOptions options;
  std::string folder;  // of this agent, for its workloads
  std::optional<host::TlsContext> tls;
};

// All that can be wrong before anything runs.
OrStop<Prepared> prepare(const std::vector<std::string>& words, shell::Log& log) {
  const auto environment = host::process_environment();
  auto options =
      read_agent_options(words, environment,
                         {podman::kPodmanRuntime, nerdctl::kContainerdRuntime, kube::kKubeRuntime});
  if (!options) return tl::unexpected(std::move(options).error());
  Prepared prepared{.options = std::move(*options), .folder = {}, .tls = {}};
  for (const auto& warning : prepared.options.warnings) log.warn(warning);

  const std::string default_folder = default_run_folder(environment);
  const std::string folder = prepared.options.run_folder.value_or(default_folder);
  auto made =
      prepare_run_folder(folder, is_same_folder(folder, default_folder), prepared.options.name);
  if (!made) return tl::unexpected(std::move(made).error());
  prepared.folder = *std::move(made);

  // [impl->swdd~agent-fails-on-missing-file-paths-and-insecure-cli-arguments~1]
  const auto security = link::decide_security(prepared.options.security);
  if (!security) return stop(Stop::Kind::kFatal, to_string(security.error()));
  for (const auto& warning : security->warnings) log.warn(warning);

  // [impl->swdd~agent-establishes-insecure-communication-based-on-provided-insecure-cli-argument~1]
  std::string& url = prepared.options.server_url;
  constexpr std::string_view kSecure = "https:";
  if (!security->tls) {
    if (url.starts_with(kSecure)) url.replace(0, kSecure.size(), "http:");
    return prepared;
  }
  if (!url.starts_with(kSecure))
    log.warn(
        "The server is spoken to in plain text although certificates are given, because its "
        "URL does not begin with https",
        {{"url", url}});
  // [impl->swdd~agent-provides-file-paths-to-communication-middleware~1]
  auto tls = host::TlsContext::client(*security->tls, {"h2"});
  if (!tls) return fatal("Failed to create communications client.", tls.error().message);
  prepared.tls = std::move(*tls);
  return prepared;
}

// Tells the machine how busy this computer is, now and every two seconds. On the strand.
class LoadSampler {
 public:
  LoadSampler(shell::Timers& timers, shell::Log& log, shell::AgentShell& shell)
      : timers_(timers), log_(log), shell_(shell) {}

  void sample() {
    const auto status = monitor_.sample();
    if (status)
      shell_.load_sampled(*status);
    else if (!has_complained_)
      log_.warn("The load of this machine is not known", {{"reason", status.error().message}});
    has_complained_ = !status;
    timers_.after(kLoadPeriod, [this] { sample(); });
  }

 private:
  shell::Timers& timers_;
  shell::Log& log_;
  shell::AgentShell& shell_;
  host::ResourceMonitor monitor_;
  bool has_complained_ = false;
};

OrStop<int> run(Prepared prepared, host::LogSink& log) {
  const AgentOptions& options = prepared.options;
  host::LogTrace trace(log);
  host::IoLoop io;
  std::optional<Stop> reason;  // to end, if it is a bad one; touched by io only

  // The strand stops before anything that its tasks use goes.
  std::optional<shell::AgentShell> shell;
  shell::CoreThread core;
  PageSaver page_saver(core);
  shell::WorkerThreads workers(core, kWorkers);
  host::Resolver resolver(workers);

  // [impl->swdd~agent-supports-podman~2]
  // Each container that is watched takes a descriptor.
  const auto own_limit = host::raise_descriptor_limit();
  podman::PodmanEngine engine(io.executor(), core, log, {.limits = {own_limit}});
  shell::EngineRuntime runtime({.name = podman::kPodmanRuntime,
                                .owner = {shell::kAnkaiosPart, options.name},
                                .listing_failed = podman::kListingFailed},
                               engine, core, commands::read_container_config);
  nerdctl::NerdctlEngine containerd(io.executor(), core, log, {.limits = {own_limit}});
  shell::EngineRuntime containerd_runtime({.name = nerdctl::kContainerdRuntime,
                                           .owner = {shell::kAnkaiosPart, options.name},
                                           .listing_failed = nerdctl::kListingFailed,
                                           .may_be_missing = true},
                                          containerd, core, commands::read_container_config);
  // [impl->swdd~agent-supports-podman-kube-runtime~1]
  kube::KubeRuntime kube_runtime(engine, core, core, log);
  auto connector = rpc::http2::connector(io.executor(), resolver,
                                         {.tls = std::move(prepared.tls),
                                          .server_name = std::string(link::kServerName),
                                          .limits = link::agent_link_limits()});
  link::AgentClient link(
      io.executor(), core, log, std::move(connector), {options.server_url},
      {.hello = {options.name.value, std::string(kVersion), options.tags}},
      {.connected =
           [&] {
             shell->connected();
             page_saver.worked();
           },
       .disconnected =
           [&](bool cleanly) {
             shell->disconnected(cleanly);
             page_saver.worked();
           },
       .received = [&](FromServer&& message) { return shell->received(std::move(message)); },
       .fatal =
           [&](std::string why) {
             io.post([&, why = std::move(why)] {
               reason = fatal("agent error", why).value();
               io.stop();
             });
           }});
  control::PipeInterfaces interfaces(io.executor(), core, workers, log, prepared.folder);
  folders::DiskFolders folders(workers, prepared.folder);
  shell.emplace(
      agent::Settings{options.name,
                      options.runtimes,
                      {.without_end = options.retries_without_end, .seed = std::random_device{}()}},
      core, core, core, trace, log, link, interfaces,
      std::map<std::string, shell::Runtime*>{{podman::kPodmanRuntime, &runtime},
                                             {nerdctl::kContainerdRuntime, &containerd_runtime},
                                             {kube::kKubeRuntime, &kube_runtime}},
      folders);
  LoadSampler sampler(core, log, *shell);
  core.post([&] {
    sampler.sample();
    page_saver.worked();
  });
  log.info("Awaiting commands from the server ...",
           {{"name", options.name.value}, {"server", options.server_url}, {"version", kVersion}});
  io.post([&] { link.start(); });

  // Workloads stay, and the connection is closed without a word: a stock server would keep an agent that says goodbye.
  const host::EndSignal end(io.executor(), [&](std::string_view signal) {
    log.info("ank-agent ends; its workloads go on", {{"signal", signal}});
    io.stop();
  });
  io.run();
  core.stop();
  if (reason) return tl::unexpected(*std::move(reason));
  return 0;
}

}  // namespace

int ank_agent_main(int argc, char** argv) {
  host::prepare_process();
  const auto log = host::standard_log("ank_agent");
  auto prepared = prepare(words_of(argc, argv), *log);
  if (!prepared) return report(prepared.error(), *log);
  const auto code = run(std::move(*prepared), *log);
  return code ? *code : report(code.error(), *log);
}

}  // namespace tiphys::apps
