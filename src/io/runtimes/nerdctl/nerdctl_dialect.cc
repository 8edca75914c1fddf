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

// Of one `nerdctl inspect`, which prints some 6 KB for each, and up to 300 bytes of warnings, of which only the first 64 KiB
// are kept.
constexpr std::size_t kMaxInspected = 200;

// `nerdctl ps` fails when a container goes while it is looked at: with two that come and go all the time, once in a hundred.
constexpr int kMaxPs = 5;

// One listing. It is kept by the command that runs for it. A container that goes away between `ps` and `inspect` spoils
// the latter for all that are asked for with it, whoever made it; so the others are asked for again. When nerdctl does not
// name the missing one, each half is asked for until it stands alone. Another `ps` would meet the next that goes: on a busy
// machine there always is one.
class Listing : public std::enable_shared_from_this<Listing> {
 public:
  Listing(CommandQueue& queue, Duration deadline, commands::Dialect::ListingSink sink)
      : queue_(queue), deadline_(deadline), sink_(std::move(sink)) {}

  void begin() {
    queue_.run_at_once({ps_arguments(), deadline_}, [self = shared_from_this()](
                                                        const Result<std::string>& output) {
      if (!output && says_not_there(output.error().message) && ++self->spoiled_ < kMaxPs)
        return self->begin();
      auto entries = output ? parse_ps(*output) : fail(output.error());
      if (!entries) return self->sink_(fail(entries.error()));
      self->entries_ = *std::move(entries);
      self->divide();
      self->inspect();
    });
  }

 private:
  using Ids = std::vector<shell::ContainerId>;

  void divide() {
    for (std::size_t begin = 0; begin < entries_.size(); begin += kMaxInspected) {
      Ids part;
      for (const auto& entry :
           std::span(entries_).subspan(begin, std::min(kMaxInspected, entries_.size() - begin)))
        part.push_back(entry.id);
      parts_.push_back(std::move(part));
    }
  }

  void inspect() {
    if (parts_.empty()) return sink_(std::move(containers_));
    auto part = std::move(parts_.back());
    parts_.pop_back();
    auto arguments = inspect_arguments(part);
    queue_.run_at_once({std::move(arguments), deadline_},
                       [self = shared_from_this(), part = std::move(part)](
                           const Result<std::string>& output) { self->take(part, output); });
  }

  void take(const Ids& part, const Result<std::string>& output) {
    if (!output && says_not_there(output.error().message)) {
      ask_again(part, output.error().message);
      return inspect();
    }
    auto containers = output ? parse_inspect(*output, entries_) : fail(output.error());
    if (!containers) return sink_(fail(containers.error()));
    std::move(containers->begin(), containers->end(), std::back_inserter(containers_));
    inspect();
  }

  void ask_again(const Ids& part, const std::string& error) {
    Ids left;
    for (const auto& id : part)
      if (!says_not_there(error, id)) left.push_back(id);
    if (left.size() == part.size() && part.size() > 1) {
      const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
      parts_.emplace_back(part.begin(), middle);
      parts_.emplace_back(middle, part.end());
    } else if (left.size() < part.size() && !left.empty()) {
      parts_.push_back(std::move(left));
    }
  }

  CommandQueue& queue_;
  const Duration deadline_;
  const commands::Dialect::ListingSink sink_;
  int spoiled_ = 0;  // `ps`, so far
  std::vector<PsEntry> entries_;
  std::vector<Ids> parts_;  // still to be inspected
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
