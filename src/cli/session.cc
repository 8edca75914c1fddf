#include "cli/session.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <map>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "cli/describe_task.h"
#include "cli/events.h"
#include "cli/inline_workers.h"
#include "cli/listing.h"
#include "cli/logs.h"
#include "cli/plan_task.h"
#include "cli/state_keys.h"
#include "cli/table.h"
#include "cli/talk.h"
#include "cli/wait_display.h"
#include "cli/wait_task.h"
#include "cli/workload_table.h"
#include "io/host/resolver.h"
#include "text/json.h"
#include "text/yaml_writer.h"

namespace tiphys::cli {
namespace {

namespace asio = boost::asio;
using Clock = Talk::Clock;

constexpr auto kSpinnerPeriod = std::chrono::milliseconds(100);

// The memory of a process that ends is freed at once. To take a state of 10,000 workloads apart before would be a tenth of
// what a list of them costs.
void leave_to_the_system(Tree state) {
  static auto* const kKept =
      new std::vector<Tree>;  // can be reached, so that nobody takes it for a leak
  kKept->push_back(std::move(state));
}

// -- The tasks

class Performer {
 public:
  Performer(Talk& talk, const Settings& settings, Console& console)
      : talk_(talk), settings_(settings), console_(console) {}

  // The exit code.
  asio::awaitable<Result<int>> perform(Task task) {
    auto opening = talk_.open();
    const Status opened = co_await std::move(opening);
    if (!opened) co_return fail(opened.error());
    auto performing = std::visit([&](auto& chosen) { return carry_out(std::move(chosen)); }, task);
    const auto performed = co_await std::move(performing);
    co_return performed;
  }

 private:
  using Rows = std::map<InstanceName, WorkloadRow, RowOrder>;

  asio::awaitable<Result<int>> carry_out(ShowState task) {
    auto asking = talk_.complete_state(task.masks);
    const auto state = co_await std::move(asking);
    if (!state) co_return fail(state.error());
    console_.print(concat(task.format == OutputFormat::kJson
                              ? write_json(*state, JsonLayout::kPretty, kStateKeys)
                              : write_yaml(*state, kStateKeys),
                          "\n"));
    co_return 0;
  }

  asio::awaitable<Result<int>> carry_out(ShowWorkloads task) {
    auto asking = talk_.complete_state({});
    auto state = co_await std::move(asking);
    if (!state) co_return fail(state.error());
    std::vector<WorkloadRow> rows = workload_rows(*state);
    std::erase_if(rows, [&](const WorkloadRow& row) { return !task.filter.accepts(row); });
    console_.print(list_workloads(rows, *state, task.listing, console_.width()));
    leave_to_the_system(*std::move(state));
    co_return 0;
  }

  asio::awaitable<Result<int>> carry_out(ShowAgents task) {
    auto asking = talk_.complete_state({});
    const auto state = co_await std::move(asking);
    if (!state) co_return fail(state.error());
    console_.print(list_agents(*state, task.listing, console_.width()));
    co_return 0;
  }

  asio::awaitable<Result<int>> carry_out(ShowConfigs task) {
    // Who uses a config item is said on demand only: workloads may be many.
    const bool needs_users = task.listing.format != ListFormat::kTable || task.listing.sort_by;
    std::vector<std::string> masks{needs_users ? "desiredState" : "desiredState.configs"};
    auto asking = talk_.complete_state(std::move(masks));
    const auto state = co_await std::move(asking);
    if (!state) co_return fail(state.error());
    console_.print(list_configs(*state, task.listing, console_.width()));
    co_return 0;
  }

  // Ends by a signal or with the connection.
  asio::awaitable<Result<int>> carry_out(WatchWorkloads task) {
    Reprinter reprinter(console_.is_terminal());
    Rows rows;
    Result<Tree> state;
    bool is_current = false;
    while (true) {
      if (!is_current) {
        auto asking = talk_.complete_state({});
        state = co_await std::move(asking);
        if (!state) co_return fail(state.error());
        rows.clear();
        for (auto& row : workload_rows(*state)) rows.emplace(row.instance, row);
        is_current = true;
      }
      show(task, rows, *state, reprinter);
      auto waiting = talk_.next_states(std::nullopt);
      const auto states = co_await std::move(waiting);
      if (!states) co_return fail(states.error());
      for (const auto& told : (*states)->states) is_current = take(told, rows) && is_current;
    }
  }

  asio::awaitable<Result<int>> carry_out(ChangeState task) {
    auto asking = talk_.complete_state({});
    const auto before = co_await std::move(asking);
    if (!before) co_return fail(before.error());
    auto updating = talk_.update(task.request);
    const auto success = co_await std::move(updating);
    if (!success) co_return fail(success.error());
    if (!settings_.no_wait) {
      auto waiting = wait(*success, *before);
      const Status waited = co_await std::move(waiting);
      if (!waited) co_return fail(waited.error());
    }
    auto leaving = talk_.say_goodbye();
    co_await std::move(leaving);
    co_return 0;
  }

  asio::awaitable<Result<int>> carry_out(RemoveConfigs task) {
    auto updating = talk_.update(task.request);
    const auto success = co_await std::move(updating);
    if (!success) co_return fail(success.error());
    auto leaving = talk_.say_goodbye();
    co_await std::move(leaving);
    co_return 0;
  }

  // Those that stand in files of their own.
  asio::awaitable<Result<int>> carry_out(GetEvents task) {
    return let(EventsTask(talk_, settings_, console_), std::move(task));
  }
  asio::awaitable<Result<int>> carry_out(Logs task) {
    return let(LogsTask(talk_, settings_, console_), std::move(task));
  }
  asio::awaitable<Result<int>> carry_out(PlanUpdate task) {
    return let(PlanTask(talk_, console_), std::move(task));
  }
  asio::awaitable<Result<int>> carry_out(WaitFor task) {
    return let(WaitTask(talk_, settings_, console_), std::move(task));
  }
  asio::awaitable<Result<int>> carry_out(DescribeWorkloads task) {
    return let(DescribeTask(talk_, console_), std::move(task));
  }
  asio::awaitable<Result<int>> carry_out(DescribeAgents task) {
    return let(DescribeTask(talk_, console_), std::move(task));
  }
  template <class Other, class Command>
  static asio::awaitable<Result<int>> let(Other other, Command command) {
    auto performing = other.perform(std::move(command));
    const auto performed = co_await std::move(performing);
    co_return performed;
  }

  asio::awaitable<Status> wait(UpdateStateSuccess success, Tree before) {
    const auto changed = read_changed_workloads(success);
    if (!changed) co_return fail(changed.error());
    if (changed->empty()) {
      say("Apply successful. No workloads updated.\n");
      co_return Status();
    }
    say("Successfully applied the manifest(s).\n"
        "Waiting for workload(s) to reach desired states (press Ctrl+C to interrupt).\n\n");
    auto asking = talk_.complete_state({});
    const auto after = co_await std::move(asking);
    if (!after) co_return fail(after.error());

    WaitDisplay display(*changed, before, *after, console_.is_terminal());
    display.tick();
    say(display.print(console_.width()));
    auto next_tick = Clock::now() + kSpinnerPeriod;
    while (!display.done()) {
      auto waiting = talk_.next_states(next_tick);
      const auto states = co_await std::move(waiting);
      if (!states) co_return fail(states.error());
      if (*states) {
        if (display.update(**states)) say(display.print(console_.width()));
        continue;
      }
      display.tick();
      say(display.print(console_.width()));
      next_tick = Clock::now() + kSpinnerPeriod;
    }
    co_return Status();
  }

  // False when a workload is told of that nobody has seen yet.
  static bool take(const WorkloadState& told, Rows& rows) {
    const auto row = rows.find(told.instance);
    if (told.state.phase == Phase::kRemoved) {
      if (row != rows.end()) rows.erase(row);
      return true;
    }
    if (row == rows.end()) return false;
    row->second.state = told.state;
    return true;
  }

  void show(const WatchWorkloads& task, const Rows& rows, const Tree& state, Reprinter& reprinter) {
    std::vector<WorkloadRow> shown;
    for (const auto& [instance, row] : rows)
      if (task.filter.accepts(row)) shown.push_back(row);
    const std::size_t width = console_.width();
    say(reprinter.print(workload_lines(shown, state, task.listing, width), width));
  }

  void say(const std::string& text) {
    if (!settings_.quiet) console_.print(text);
  }

  Talk& talk_;
  const Settings& settings_;
  Console& console_;
};

// For commands that stock does not have. The codes of what is wrong with the request, in whole
// sentences, and those of a connection that ends too early.
std::string plain_error(const Error& error) {
  if (error.code != Code::kAborted) return error.message;
  return concat("the server has ended the connection (", on_one_line(error.message),
                "); is ank-server still running?");
}

std::string error_text(const Task& task, const Error& error) {
  if (is_of_connection(error)) return error.message;
  return match(
      task,
      [&](const ShowState&) {
        return concat("Could not retrieve state. ", on_one_line(error.message));
      },
      [&](const ShowWorkloads&) { return command_error("Failed to get workloads", error.message); },
      [&](const WatchWorkloads&) {
        return command_error("Failed to watch workloads", error.message);
      },
      [&](const ShowAgents&) { return command_error("Failed to get agents", error.message); },
      [&](const ShowConfigs&) { return command_error("Failed to get configs", error.message); },
      [&](const ChangeState& change) { return command_error(change.wrapper, error.message); },
      [&](const RemoveConfigs&) {
        return command_error("Failed to delete configs", on_one_line(error.message));
      },
      [&](const GetEvents&) { return command_error("Failed to get events", error.message); },
      [&](const Logs&) { return command_error("Failed to output logs", error.message); },
      [&](const PlanUpdate&) {
        return error.code == Code::kUnknown ? concat("the update would be refused: ", error.message)
                                            : plain_error(error);
      },
      [&](const WaitFor&) { return plain_error(error); },
      [&](const DescribeWorkloads&) { return plain_error(error); },
      [&](const DescribeAgents&) { return plain_error(error); });
}

}  // namespace

int perform(const Task& task, const Settings& settings, const std::optional<host::TlsMaterial>& tls,
            Console& console) {
  asio::io_context io(1);
  InlineWorkers workers;
  host::Resolver resolver(workers);
  Talk conversation(io.get_executor(), resolver, settings, tls, console);
  Performer performer(conversation, settings, console);
  Result<int> code = 0;
  asio::co_spawn(io, performer.perform(task),
                 [&](const std::exception_ptr& thrown, Result<int> ended) {
                   if (thrown) std::rethrow_exception(thrown);
                   code = std::move(ended);
                   io.stop();
                 });
  io.run();
  if (code) return *code;
  console.error(error_text(task, code.error()));
  return 1;
}

std::string command_error(const std::string& wrapper, const std::string& text) {
  const std::string inner = concat("Command failed: '", text, "'");
  return wrapper.empty() ? inner : concat(wrapper, ": '", inner, "'");
}

}  // namespace tiphys::cli
