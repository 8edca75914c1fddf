#include "cli/describe_task.h"

#include <boost/asio/awaitable.hpp>
#include <utility>

#include "base/strings.h"
#include "cli/since_text.h"

namespace tiphys::cli {

namespace asio = boost::asio;

asio::awaitable<Result<int>> DescribeTask::perform(DescribeWorkloads command) {
  auto asking = talk_.complete_state({});
  const auto state = co_await std::move(asking);
  if (!state) co_return fail(state.error());
  auto asking_ages = talk_.state_ages(command.names);
  const auto ages = co_await std::move(asking_ages);
  if (!ages) co_return fail(ages.error());
  SinceWhen since;
  for (const auto& [instance, age] : *ages) since[instance] = since_text(console_.now(), age);
  std::vector<Result<std::string>> descriptions;
  descriptions.reserve(command.names.size());
  for (const auto& name : command.names)
    descriptions.push_back(describe_workload(*state, since, name, console_.width()));
  co_return show(descriptions);
}

asio::awaitable<Result<int>> DescribeTask::perform(DescribeAgents command) {
  auto asking = talk_.complete_state({});
  const auto state = co_await std::move(asking);
  if (!state) co_return fail(state.error());
  std::vector<Result<std::string>> descriptions;
  descriptions.reserve(command.names.size());
  for (const auto& name : command.names)
    descriptions.push_back(describe_agent(*state, name, console_.width()));
  co_return show(descriptions);
}

Result<int> DescribeTask::show(const std::vector<Result<std::string>>& descriptions) {
  std::vector<std::string> texts;
  Status status;
  for (const auto& description : descriptions) {
    if (description)
      texts.push_back(*description);
    else if (status)
      status = fail(description.error());
  }
  console_.print(join(texts, "\n"));
  if (!status) return fail(status.error());
  return 0;
}

}  // namespace tiphys::cli
