#include "cli/wait_task.h"

#include <boost/asio/awaitable.hpp>
#include <utility>

#include "base/strings.h"
#include "cli/goal_watch.h"
#include "cli/table.h"
#include "cli/workload_table.h"

namespace tiphys::cli {

namespace asio = boost::asio;

asio::awaitable<Result<int>> WaitTask::perform(WaitFor command) {
  std::optional<Talk::Clock::time_point> until;
  if (command.timeout) until = Talk::Clock::now() + *command.timeout;
  auto asking = talk_.complete_state({});
  const auto state = co_await std::move(asking);
  if (!state) co_return fail(state.error());
  auto watch = GoalWatch::make(command, *state);
  if (!watch) co_return fail(watch.error());

  Reprinter reprinter(true);
  bool is_in_time = true;
  while (true) {
    if (console_.is_terminal()) {
      const std::size_t width = console_.width();
      say(reprinter.print(lines_of(workload_table(watch->rows()), LastColumn::kWrapText, width),
                          width));
    }
    if (watch->has_arrived() || watch->is_hopeless()) break;
    auto waiting = talk_.next_states(until);
    const auto states = co_await std::move(waiting);
    if (!states) co_return fail(states.error());
    is_in_time = states->has_value();
    if (is_in_time && watch->update(**states)) continue;
    auto asking_again = talk_.complete_state({});
    const auto state_now = co_await std::move(asking_again);
    if (!state_now) co_return fail(state_now.error());
    watch->refresh(*state_now);
    if (!is_in_time) break;
  }

  std::string arrived;
  for (const auto& line : watch->arrived()) arrived += line + "\n";
  say(arrived);
  if (watch->has_arrived()) co_return 0;
  const std::string why =
      is_in_time ? concat("not ", to_string(command.goal), ", and that cannot come any more:")
                 : concat("timed out after ", duration_text(*command.timeout), "; not ",
                          to_string(command.goal), ":");
  co_return fail(Code::kFailedPrecondition,
                 concat(why, "\n  ", join(watch->missing(), "\n  "),
                        "\nMore is told by 'ank describe workload ", watch->most_telling(), "'."));
}

}  // namespace tiphys::cli
