#include "cli/plan_task.h"

#include <boost/asio/awaitable.hpp>
#include <utility>

#include "cli/plan_report.h"

namespace tiphys::cli {

namespace asio = boost::asio;

asio::awaitable<Result<int>> PlanTask::perform(PlanUpdate task) {
  std::vector<std::string> masks{"desiredState.configs"};
  auto asking = talk_.complete_state(std::move(masks));
  const auto state = co_await std::move(asking);
  if (!state) co_return fail(state.error());
  UpdateReport report{{}, planned_configs(*state, task.request)};
  auto planning = talk_.dry_run(std::move(task.request));
  auto run = co_await std::move(planning);
  if (!run) co_return fail(run.error());
  report.run = *std::move(run);
  console_.print(to_text(report, task.format, console_.width()));
  const bool tells_of_changes = task.detailed_exit_code && report.changes_anything();
  co_return tells_of_changes ? 2 : 0;
}

}  // namespace tiphys::cli
