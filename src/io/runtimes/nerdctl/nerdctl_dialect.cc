#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "io/runtimes/nerdctl/nerdctl_argv.h"
#include "io/runtimes/nerdctl/nerdctl_engine.h"
#include "io/runtimes/nerdctl/nerdctl_output.h"
#include "io/runtimes/nerdctl/shim.h"

namespace tiphys::nerdctl {
namespace {

using commands::Command;
using commands::CommandQueue;

// Of one `nerdctl inspect`, which prints some 6 KB for each.
constexpr std::size_t kMaxInspected = 1000;
// A container that goes away between `ps` and `inspect` spoils the latter.
constexpr int kMaxTries = 3;

// One listing. It is kept by the command that runs for it.
class Listing : public std::enable_shared_from_this<Listing> {
 public:
  Listing(CommandQueue& queue, Duration deadline, commands::Dialect::ListingSink sink)
      : queue_(queue), deadline_(deadline), sink_(std::move(sink)) {}

  void begin() {
    ++tries_;
    inspected_ = 0;
    containers_.clear();
    queue_.run_at_once({ps_arguments(), deadline_},
                       [self = shared_from_this()](const Result<std::string>& output) {
                         auto entries = output ? parse_ps(*output) : fail(output.error());
                         if (!entries) return self->sink_(fail(entries.error()));
                         self->entries_ = *std::move(entries);
                         self->inspect();
                       });
  }

 private:
  void inspect() {
    if (inspected_ == entries_.size()) return sink_(std::move(containers_));
    const auto count = std::min(kMaxInspected, entries_.size() - inspected_);
    std::vector<shell::ContainerId> ids;
    for (const auto& entry : std::span(entries_).subspan(inspected_, count))
      ids.push_back(entry.id);
    inspected_ += count;
    queue_.run_at_once(
        {inspect_arguments(ids), deadline_},
        [self = shared_from_this()](const Result<std::string>& output) { self->take(output); });
  }

  void take(const Result<std::string>& output) {
    const bool has_changed =
        !output && output.error().message.find(kNoSuchObject) != std::string::npos;
    if (has_changed && tries_ < kMaxTries) return begin();
    auto containers = output ? parse_inspect(*output, entries_) : fail(output.error());
    if (!containers) return sink_(fail(containers.error()));
    std::move(containers->begin(), containers->end(), std::back_inserter(containers_));
    inspect();
  }

  CommandQueue& queue_;
  const Duration deadline_;
  const commands::Dialect::ListingSink sink_;
  int tries_ = 0;
  std::vector<PsEntry> entries_;
  std::size_t inspected_ = 0;  // of the entries
  std::vector<ListedContainer> containers_;
};

class NerdctlDialect final : public commands::Dialect {
 public:
  [[nodiscard]] std::string name() const override { return "nerdctl"; }
  [[nodiscard]] Command stop(const shell::ContainerId& container,
                             Duration deadline) const override {
    return {stop_arguments(container), deadline, kNoSuchContainer};
  }
  [[nodiscard]] Command rm(const shell::ContainerId& container, Duration deadline) const override {
    return {rm_arguments(container), deadline, kNoSuchContainer};
  }
  void list(CommandQueue& queue, Duration deadline, ListingSink sink) const override {
    std::make_shared<Listing>(queue, deadline, std::move(sink))->begin();
  }
  [[nodiscard]] std::optional<commands::Keeper> read_keeper(pid_t process) const override {
    return read_shim(process);
  }
};

}  // namespace

NerdctlEngine::NerdctlEngine(boost::asio::any_io_executor executor, shell::Strand& strand,
                             shell::Log& log, NerdctlSettings settings)
    : CommandEngine(std::move(executor), strand, log, std::make_unique<NerdctlDialect>(),
                    std::move(settings)) {}

}  // namespace tiphys::nerdctl
