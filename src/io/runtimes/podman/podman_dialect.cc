#include <memory>
#include <utility>

#include "io/runtimes/podman/conmon.h"
#include "io/runtimes/podman/podman_argv.h"
#include "io/runtimes/podman/podman_engine.h"
#include "io/runtimes/podman/podman_output.h"

namespace tiphys::podman {
namespace {

class PodmanDialect final : public commands::Dialect {
 public:
  [[nodiscard]] std::string name() const override { return "podman"; }
  [[nodiscard]] commands::Command stop(const shell::ContainerId& container,
                                       Duration deadline) const override {
    return {stop_arguments(container), deadline};
  }
  [[nodiscard]] commands::Command rm(const shell::ContainerId& container,
                                     Duration deadline) const override {
    return {rm_arguments(container), deadline};
  }
  void list(commands::CommandQueue& queue, Duration deadline, ListingSink sink) const override {
    queue.run_at_once({ps_arguments(), deadline},
                      [sink = std::move(sink)](const Result<std::string>& output) {
                        sink(output ? parse_ps(*output) : fail(output.error()));
                      });
  }
  [[nodiscard]] std::optional<commands::Keeper> read_keeper(pid_t process) const override {
    return read_conmon(process);
  }
};

}  // namespace

PodmanEngine::PodmanEngine(boost::asio::any_io_executor executor, shell::Strand& strand,
                           shell::Log& log, PodmanSettings settings)
    : CommandEngine(std::move(executor), strand, log, std::make_unique<PodmanDialect>(),
                    std::move(settings)) {}

}  // namespace tiphys::podman
