#include "cli/describe_task.h"

#include <boost/asio/awaitable.hpp>
#include <utility>

#include "base/strings.h"

namespace tiphys::cli {

namespace asio = boost::asio;

asio::awaitable<Result<int>> DescribeTask::describe(std::vector<std::string> names,
                                                    Describe describe_one) {
  auto asking = talk_.complete_state({});
  const auto state = co_await std::move(asking);
  if (!state) co_return fail(state.error());
  std::vector<std::string> texts;
  Status status;
  for (const auto& name : names) {
    auto text = describe_one(*state, name, console_.width());
    if (text)
      texts.push_back(*std::move(text));
    else if (status)
      status = fail(text.error());
  }
  console_.print(join(texts, "\n"));
  if (!status) co_return fail(status.error());
  co_return 0;
}

}  // namespace tiphys::cli
