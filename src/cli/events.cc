#include "cli/events.h"

#include <algorithm>
#include <array>
#include <boost/asio/awaitable.hpp>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/strings.h"
#include "cli/state_keys.h"
#include "text/json.h"
#include "text/yaml_writer.h"

namespace tiphys::cli {
namespace {

namespace asio = boost::asio;

constexpr std::array<std::string_view, 5> kOwnKeys{"timestamp", "addedFields", "updatedFields",
                                                   "removedFields", "completeState"};
constexpr auto kEventKeys = [] {
  std::array<std::string_view, kOwnKeys.size() + kStateKeys.size()> keys{};
  std::copy(kOwnKeys.begin(), kOwnKeys.end(), keys.begin());
  std::copy(kStateKeys.begin(), kStateKeys.end(), keys.begin() + kOwnKeys.size());
  return keys;
}();

// RFC 3339, to the nanosecond.
std::string timestamp(std::chrono::system_clock::time_point time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  const std::chrono::nanoseconds rest = time - second;
  const std::time_t whole = std::chrono::system_clock::to_time_t(second);
  std::tm parts{};
  ::gmtime_r(&whole, &parts);
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 32> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%09lld+00:00",
                static_cast<long long>(rest.count()));
  return concat(std::string_view(text.data(), length), fraction.data());
}

Tree::Map with_list(Tree::Map map, const char* key, const std::vector<std::string>& texts) {
  if (texts.empty()) return map;
  return map.set(key, Tree::List(texts.begin(), texts.end()));
}

}  // namespace

asio::awaitable<Result<int>> EventsTask::perform(GetEvents command) {
  const auto show = [&](const CompleteStateResponse& event) {
    if (!settings_.quiet)
      console_.print(event_text(event, std::chrono::system_clock::now(), command.format));
  };
  auto subscribing = talk_.subscribe(command.masks);
  auto subscription = co_await std::move(subscribing);
  if (!subscription) co_return fail(subscription.error());
  talk_.end_by_signals();
  subscription->first.altered_fields.reset();
  if (command.includes_current_state) show(subscription->first);
  while (true) {
    auto waiting = talk_.next_event(subscription->id);
    const auto event = co_await std::move(waiting);
    if (!event && event.error().code == Code::kCancelled) break;
    if (!event) co_return fail(event.error());
    show(*event);
  }
  // The server forgets the subscription of whoever leaves.
  auto leaving = talk_.say_goodbye();
  co_await std::move(leaving);
  co_return 0;
}

std::string event_text(const CompleteStateResponse& event,
                       std::chrono::system_clock::time_point time, OutputFormat format) {
  const Tree& state = event.complete_state;
  auto map = Tree::Map()
                 .set("timestamp", timestamp(time))
                 .set("completeState", state.is_null() ? Tree(Tree::Map()) : state);
  if (const auto& altered = event.altered_fields) {
    map = with_list(std::move(map), "addedFields", altered->added);
    map = with_list(std::move(map), "updatedFields", altered->updated);
    map = with_list(std::move(map), "removedFields", altered->removed);
  }
  if (format == OutputFormat::kJson)
    return concat(write_json(map, JsonLayout::kCompact, kEventKeys), "\n");
  return concat("---\n", write_yaml(map, kEventKeys));
}

}  // namespace tiphys::cli
