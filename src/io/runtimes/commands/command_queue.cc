#include "io/runtimes/commands/command_queue.h"

#include <utility>

#include "base/strings.h"

namespace tiphys::commands {
namespace {

// A listing takes about 1 KB per container.
constexpr std::size_t kMaxOutput = std::size_t{64} << 20U;
constexpr std::size_t kMaxErrors = std::size_t{64} << 10U;

}  // namespace

CommandQueue::CommandQueue(const boost::asio::any_io_executor& executor, Settings settings)
    : settings_(std::move(settings)), processes_(executor) {}

void CommandQueue::run(Lane lane, std::string key, std::vector<Command> commands,
                       std::function<void(Result<std::string>)> done) {
  waiting_.push_back(
      std::make_shared<Job>(Job{lane, std::move(key), std::move(commands), std::move(done)}));
  start_waiting();
}

void CommandQueue::run_at_once(const Command& command,
                               std::function<void(Result<std::string>)> done) {
  execute(command, false, std::move(done));
}

void CommandQueue::start_waiting() {
  std::set<std::string> overtaken;  // an earlier job of that key waits
  for (auto job = waiting_.begin(); job != waiting_.end();) {
    if (running_creates_ >= settings_.max_creates && running_others_ >= settings_.max_others)
      return;
    const auto& [lane, key, commands, done] = **job;
    if (busy_.contains(key) || overtaken.contains(key) || running(lane) >= limit(lane)) {
      overtaken.insert(key);
      ++job;
      continue;
    }
    busy_.insert(key);
    ++running(lane);
    const auto started = *job;
    job = waiting_.erase(job);
    perform(started, 0);  // is told later, never from here
  }
}

void CommandQueue::perform(const JobPtr& job, std::size_t step) {
  execute(job->commands.at(step), true, [this, job, step](Result<std::string> output) {
    if (output && step + 1 < job->commands.size()) return perform(job, step + 1);
    busy_.erase(job->key);
    --running(job->lane);
    job->done(std::move(output));
    start_waiting();
  });
}

void CommandQueue::execute(const Command& command, bool outlives_us,
                           std::function<void(Result<std::string>)> done) {
  host::ProcessSpec spec{.program = settings_.program,
                         .arguments = command.arguments,
                         .environment = settings_.environment,
                         .limits = settings_.limits,
                         .input = command.input,
                         .max_output = kMaxOutput,
                         .max_errors = kMaxErrors,
                         .deadline = command.deadline,
                         .outlives_us = outlives_us};
  processes_.start(spec, [this, command, done = std::move(done)](
                             const Result<host::ProcessEnd>& end) { done(outcome(command, end)); });
}

Result<std::string> CommandQueue::outcome(const Command& command,
                                          const Result<host::ProcessEnd>& end) const {
  const auto text = shown(settings_.program, command.arguments);
  if (!end)
    return fail(end.error().code,
                concat("Error: '", end.error().message, "'. Could not spawn command '", text, "'.",
                       end.error().code == Code::kNotFound
                           ? concat(" Is ", settings_.name, " installed and in PATH?")
                           : ""));
  const auto failed = [&text](Code code, std::string_view what) {
    return fail(code, with_valid_utf8(concat(what, ". Execution of '", text, "'")));
  };
  const auto errors = trim(end->err);
  if (end->timed_out) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(command.deadline).count();
    return failed(Code::kDeadlineExceeded,
                  concat(settings_.name, " did not answer within ", std::to_string(seconds),
                         " s and was ended", errors.empty() ? "" : ": ", errors));
  }
  if (end->signal != 0)
    return failed(Code::kUnavailable, concat(settings_.name, " was ", how_it_ended(*end),
                                             errors.empty() ? "" : ": ", errors));
  if (end->exit_code != 0) {
    const bool is_forgiven =
        !command.forgiven.empty() && errors.find(command.forgiven) != std::string_view::npos;
    if (is_forgiven) return std::string();
    return failed(Code::kUnknown, errors);
  }
  if (end->out_was_cut)
    return failed(Code::kResourceExhausted, concat(settings_.name, " printed more than ",
                                                   std::to_string(kMaxOutput), " bytes"));
  return end->out;
}

}  // namespace tiphys::commands
