#include "cli/talk.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/strings.h"

namespace tiphys::cli {
namespace {

namespace asio = boost::asio;

constexpr const char* kStreamEnded = "Channel preliminary closed.";
constexpr const char* kInterrupted = "Connection to server interrupted";
constexpr const char* kLogsEnded = "Error streaming workload logs: channel preliminary closed.";

// A path after the address is allowed, and means nothing.
std::string without_path(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  return url.substr(0, url.find('/', host));
}

// What to look at next, by the first sign that the reason shows.
std::string_view advice_for(std::string_view reason) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAdvice{{
      {"hostname mismatch", "The server's certificate must be one for the name ank-server."},
      {"certificate verify failed",
       "Is --ca_pem the authority that has signed the server's certificate?"},
      {"alert",
       "The server refuses our certificate: has the authority that it trusts signed the one in "
       "--crt_pem?"},
      {"TLS handshake failed", "Does the server speak TLS? If it does not, use --insecure."},
      {"before it said anything",
       "If the server speaks TLS, give it --ca_pem, --crt_pem and --key_pem, with an https:// URL, "
       "instead of --insecure."},
  }};
  for (const auto& [sign, advice] : kAdvice)
    if (reason.find(sign) != std::string_view::npos) return advice;
  return "Is ank-server running there? Another address is given with --server-url.";
}

using Answer = decltype(Response::content);

bool is_answer(const CompleteStateRequest&, const Answer& answer) {
  return std::holds_alternative<CompleteStateResponse>(answer);
}
bool is_answer(const UpdateStateRequest&, const Answer& answer) {
  return std::holds_alternative<UpdateStateSuccess>(answer);
}
bool is_answer(const LogsRequest&, const Answer& answer) {
  return std::holds_alternative<LogsRequestAccepted>(answer);
}

tl::unexpected<Error> subscription_failed(const ErrorResponse& error) {
  return fail(Code::kUnknown, concat("Event subscription failed: '", error.message, "'"));
}

}  // namespace

Talk::Clock::time_point Talk::deadline() const { return Clock::now() + settings_.response_timeout; }
tl::unexpected<Error> Talk::timed_out() const {
  return fail(Code::kDeadlineExceeded,
              concat("Command timed out after '", duration_text(settings_.response_timeout), "'"));
}

// An error or the answer that fits the request. Workload states that come meanwhile are older than
// the answer; whoever wants states looks at it first.
template <class Content>
asio::awaitable<Result<Talk::Answer>> Talk::ask(Content content, const char* on_end,
                                                std::string id) {
  const auto until = deadline();
  const Content expectation{};
  ToServer request = Request{id, std::move(content)};
  auto sending = connection_.send(std::move(request));
  const Status sent = co_await std::move(sending);
  if (!sent) co_return fail(Code::kAborted, on_end);
  while (true) {
    auto receiving = connection_.receive(until);
    auto message = co_await std::move(receiving);
    if (!message && message.error().code == Code::kDeadlineExceeded) co_return timed_out();
    if (!message) co_return fail(Code::kAborted, on_end);
    auto* response = std::get_if<Response>(&*message);
    if (response == nullptr || response->id != id) continue;
    if (is_answer(expectation, response->content) ||
        std::holds_alternative<ErrorResponse>(response->content))
      co_return std::move(response->content);
  }
}

asio::awaitable<Result<Talk::Answer>> Talk::next_answer(std::string id, const char* on_end) {
  while (true) {
    auto receiving = connection_.receive();
    auto message = co_await std::move(receiving);
    if (!message && message.error().code == Code::kCancelled) co_return fail(message.error());
    if (!message) co_return fail(Code::kAborted, on_end);
    auto* response = std::get_if<Response>(&*message);
    if (response != nullptr && response->id == id) co_return std::move(response->content);
  }
}

Talk::Talk(const asio::any_io_executor& executor, host::Resolver& resolver,
           const Settings& settings, const std::optional<host::TlsMaterial>& tls, Console& console)
    : settings_(settings),
      console_(console),
      connection_(executor, resolver, {.url = without_path(settings.server_url), .tls = tls}),
      signals_(executor) {}

asio::awaitable<Status> Talk::open() {
  auto opening = connection_.open(deadline());
  const Status opened = co_await std::move(opening);
  if (opened) co_return Status();
  const Error& error = opened.error();
  switch (error.code) {
    case Code::kFailedPrecondition:
      co_return fail(error.code,
                     concat("Ankaios version mismatch: 'code: 'The system is not in a "
                            "state required for the operation's execution', message: \"",
                            error.message, "\"'."));
    case Code::kInvalidArgument:
      co_return fail(Code::kUnavailable,
                     concat("Could not connect to Ankaios server on '", settings_.server_url, "'. ",
                            on_one_line(error.message)));
    case Code::kUnavailable:
      co_return fail(
          Code::kUnavailable,
          concat("Could not connect to Ankaios server on '", settings_.server_url,
                 "'. Reason: ", on_one_line(error.message), ". ", advice_for(error.message)));
    case Code::kDeadlineExceeded:
      co_return timed_out();
    default:
      co_return fail(Code::kAborted, kStreamEnded);
  }
}

asio::awaitable<Result<Tree>> Talk::complete_state(std::vector<std::string> masks) {
  if (settings_.verbose)
    console_.debug(
        concat("Asking for the state below ", masks.empty() ? "its root" : join(masks, ", ")));
  CompleteStateRequest request{std::move(masks)};
  auto asking = ask(std::move(request), kStreamEnded);
  auto answer = co_await std::move(asking);
  if (!answer) co_return fail(answer.error());
  if (const auto* error = std::get_if<ErrorResponse>(&*answer))
    co_return fail(Code::kUnknown, error->message);
  co_return std::get<CompleteStateResponse>(*answer).complete_state;
}

asio::awaitable<Result<UpdateStateSuccess>> Talk::update(UpdateStateRequest request) {
  if (settings_.verbose)
    console_.debug(concat("Sending an update of ", join(request.update_masks, ", ")));
  auto asking = ask(std::move(request), kInterrupted);
  auto answer = co_await std::move(asking);
  if (!answer) co_return fail(answer.error());
  if (const auto* error = std::get_if<ErrorResponse>(&*answer))
    co_return fail(Code::kUnknown, concat("SetState failed with: '", error->message, "'"));
  co_return std::get<UpdateStateSuccess>(*answer);
}

asio::awaitable<Result<DryRun>> Talk::dry_run(UpdateStateRequest request) {
  if (settings_.verbose)
    console_.debug(
        concat("Asking what an update of ", join(request.update_masks, ", "), " would do"));
  const DryRunRequest question{std::move(request)};
  auto asking = connection_.dry_run(question, deadline());
  auto answer = co_await std::move(asking);
  if (!answer && answer.error().code == Code::kDeadlineExceeded) co_return timed_out();
  if (!answer && answer.error().code == Code::kUnimplemented)
    co_return fail(Code::kUnimplemented,
                   concat("the server on '", settings_.server_url,
                          "' does not know dry runs; that needs a Tiphys server"));
  if (!answer) co_return fail(Code::kAborted, answer.error().message);
  if (const auto* error = std::get_if<ErrorResponse>(&*answer))
    co_return fail(Code::kUnknown, error->message);
  co_return std::get<DryRun>(*std::move(answer));
}

asio::awaitable<Result<std::vector<StateAge>>> Talk::state_ages(
    std::vector<std::string> workloads) {
  if (settings_.verbose)
    console_.debug(concat("Asking since when ", join(workloads, ", "), " last in their states"));
  const StateAgesRequest question{std::move(workloads)};
  auto asking = connection_.state_ages(question, deadline());
  auto answer = co_await std::move(asking);
  if (answer) co_return std::move(answer->ages);
  if (answer.error().code == Code::kUnimplemented) co_return std::vector<StateAge>();
  if (answer.error().code == Code::kDeadlineExceeded) co_return timed_out();
  co_return fail(Code::kAborted, answer.error().message);
}

asio::awaitable<Result<std::optional<UpdateWorkloadState>>> Talk::next_states(
    std::optional<Clock::time_point> until) {
  while (true) {
    auto receiving = connection_.receive(until);
    auto message = co_await std::move(receiving);
    if (!message && message.error().code == Code::kDeadlineExceeded) co_return std::nullopt;
    if (!message) co_return fail(Code::kAborted, kInterrupted);
    if (auto* states = std::get_if<UpdateWorkloadState>(&*message))
      co_return std::optional(std::move(*states));
  }
}

asio::awaitable<Result<Subscription>> Talk::subscribe(std::vector<std::string> masks) {
  if (settings_.verbose)
    console_.debug(
        concat("Subscribing to events below ", masks.empty() ? "the root" : join(masks, ", ")));
  std::string id = host::new_uuid();
  CompleteStateRequest request{std::move(masks), true};
  auto asking = ask(std::move(request), kStreamEnded, id);
  auto answer = co_await std::move(asking);
  if (!answer) co_return fail(answer.error());
  if (const auto* error = std::get_if<ErrorResponse>(&*answer))
    co_return subscription_failed(*error);
  co_return Subscription{std::move(id), std::get<CompleteStateResponse>(*std::move(answer))};
}

asio::awaitable<Result<CompleteStateResponse>> Talk::next_event(std::string id) {
  while (true) {
    auto receiving = next_answer(id, kInterrupted);
    auto answer = co_await std::move(receiving);
    if (!answer) co_return fail(answer.error());
    if (const auto* error = std::get_if<ErrorResponse>(&*answer))
      co_return subscription_failed(*error);
    if (auto* event = std::get_if<CompleteStateResponse>(&*answer)) co_return std::move(*event);
  }
}

asio::awaitable<Result<std::string>> Talk::request_logs(LogsRequest request) {
  if (settings_.verbose)
    console_.debug(concat("Asking for the logs of ", std::to_string(request.instances.size()),
                          " instance(s)"));
  std::string id = host::new_uuid();
  const std::vector<InstanceName> wanted = request.instances;
  auto asking = ask(std::move(request), kLogsEnded, id);
  const auto answer = co_await std::move(asking);
  if (!answer) co_return fail(answer.error());
  if (const auto* error = std::get_if<ErrorResponse>(&*answer))
    co_return fail(Code::kUnknown, concat("Server replied with error: '", error->message, "'"));
  const auto& accepted = std::get<LogsRequestAccepted>(*answer).instances;
  for (const auto& instance : wanted)
    if (std::find(accepted.begin(), accepted.end(), instance) == accepted.end())
      co_return fail(Code::kUnknown,
                     concat("Workload '", instance.workload.value,
                            "' is not accepted by the server to receive logs from."));
  co_return id;
}

asio::awaitable<Result<std::variant<LogEntriesResponse, LogsStopResponse>>> Talk::next_logs(
    std::string id) {
  while (true) {
    auto receiving = next_answer(id, kLogsEnded);
    auto answer = co_await std::move(receiving);
    if (!answer) co_return fail(answer.error());
    if (const auto* error = std::get_if<ErrorResponse>(&*answer))
      co_return fail(Code::kUnknown, concat("Error streaming logs: '", error->message, "'"));
    if (auto* entries = std::get_if<LogEntriesResponse>(&*answer)) co_return std::move(*entries);
    if (auto* stop = std::get_if<LogsStopResponse>(&*answer)) co_return std::move(*stop);
  }
}

asio::awaitable<void> Talk::cancel_logs(std::string id) {
  ToServer request = Request{std::move(id), LogsCancelRequest{}};
  auto sending = connection_.send(std::move(request));
  (void)co_await std::move(sending);  // a server that has gone sends nothing more either
}

void Talk::end_by_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) signals_.add(signal);
  signals_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    signals_.clear();
    connection_.interrupt();
  });
}

asio::awaitable<void> Talk::say_goodbye() {
  auto leaving = connection_.say_goodbye(deadline());
  co_await std::move(leaving);
}

bool is_of_connection(const Error& error) {
  return error.code == Code::kUnavailable || error.code == Code::kFailedPrecondition;
}

std::string on_one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n')
      line += ", ";
    else
      line += c;
  }
  return line;
}

std::string duration_text(std::chrono::milliseconds duration) {
  const auto count = duration.count();
  if (count == 0) return "0ns";
  if (count < 1000) return concat(std::to_string(count), "ms");
  std::string text = std::to_string(count / 1000);
  if (const auto rest = count % 1000; rest != 0) {
    std::string digits = std::to_string(1000 + rest).substr(1);
    while (digits.back() == '0') digits.pop_back();
    text += concat(".", digits);
  }
  return text + "s";
}

}  // namespace tiphys::cli
