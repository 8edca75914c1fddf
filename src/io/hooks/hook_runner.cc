#include "io/hooks/hook_runner.h"

#include <boost/asio/post.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/match.h"
#include "base/strings.h"
#include "io/host/process.h"
#include "io/wire/hook_lists.h"

namespace tiphys::hooks {

namespace asio = boost::asio;
using server::Hook;
using server::HookAnswer;
using server::HookFailed;

namespace {

// Between the order to end and the kill.
constexpr Duration kGrace = std::chrono::seconds(1);

// Stock servers show the number of a system's error behind its words.
std::string with_number(const std::string& words) {
  constexpr int kHighestError = 133;
  for (int error = 1; error <= kHighestError; ++error)
    if (std::generic_category().message(error) == words)
      return concat(words, " (os error ", std::to_string(error), ")");
  return words;
}

HookFailed cannot_start(const std::string& program, std::string_view message) {
  const std::string beginning = concat("cannot start '", program, "': ");
  if (message.starts_with(beginning)) message.remove_prefix(beginning.size());
  return {concat("Failed to execute hook '", program, "': ", with_number(std::string(message)))};
}

HookFailed cannot_wait(const std::string& program, std::string_view why) {
  return {concat("Failed to wait for hook '", program, "': ", why)};
}

HookAnswer read(const Hook& hook, const std::string& output) {
  auto lists = wire::decode_lists(output);
  if (lists) return server::HookChanged{*std::move(lists)};
  const bool is_message = lists.error().code == Code::kInvalidArgument;
  return server::HookUnreadable{
      concat(is_message ? "Failed to convert output" : "Failed to decode protobuf output",
             " from hook '", hook.name, "': ", lists.error().message)};
}

HookAnswer judge(const Hook& hook, const std::string& input, const Limits& limits,
                 const Result<host::ProcessEnd>& end) {
  const std::string program = server::program_of(hook);
  if (!end) return cannot_start(program, end.error().message);
  if (end->out_was_cut && (end->timed_out || (end->signal == 0 && end->exit_code == 0)))
    return cannot_wait(program,
                       concat("it wrote more than ", std::to_string(limits.output), " bytes"));
  if (end->timed_out) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(limits.time).count();
    return cannot_wait(program,
                       concat("it was ended after ", std::to_string(ms), " ms without an answer"));
  }
  if (end->signal != 0 || end->exit_code != 0)
    return server::HookVeto{with_valid_utf8(std::string(trim(end->err)))};
  if (end->out == input) return server::HookUnchanged{};
  return read(hook, end->out);
}

}  // namespace

struct ProgramRunner::Impl {
  asio::any_io_executor io;
  shell::Strand& strand;
  shell::Log& log;
  const Limits limits;
  const std::string directory;
  host::Processes processes{io};

  void start(Hook hook, const UpdateWorkload& lists, std::function<void(HookAnswer)> done) {
    host::ProcessSpec spec{.program = server::program_of(hook),
                           .directory = directory,
                           .input = wire::encode_lists(lists),
                           .max_output = limits.output,
                           .deadline = limits.time,
                           .grace = kGrace};
    auto input = spec.input;
    processes.start(spec, [this, hook = std::move(hook), input = std::move(input),
                           done = std::move(done)](const Result<host::ProcessEnd>& end) {
      auto answer = judge(hook, input, limits, end);
      report(hook, end, answer);
      strand.post([done, answer = std::move(answer)] { done(answer); });
    });
  }

  void report(const Hook& hook, const Result<host::ProcessEnd>& end, const HookAnswer& answer) {
    if (end && !end->err.empty())
      log.write(shell::Level::kDebug, "A mutating hook wrote to its standard error",
                {{"hook", hook.name}, {"text", end->err}});
    match(
        answer,
        [&](const server::HookVeto& veto) {
          log.info("A mutating hook vetoed a change",
                   {{"hook", hook.name}, {"end", host::how_it_ended(*end)}, {"words", veto.words}});
        },
        [&](const HookFailed& failed) {
          log.warn("A mutating hook failed", {{"hook", hook.name}, {"reason", failed.reason}});
        },
        [&](const server::HookUnreadable& unreadable) {
          log.warn("A mutating hook wrote what cannot be read",
                   {{"hook", hook.name}, {"reason", unreadable.offence}});
        },
        [](const auto&) {});
  }
};

ProgramRunner::ProgramRunner(asio::any_io_executor io, shell::Strand& strand, shell::Log& log,
                             Limits limits, std::string directory)
    : impl_(new Impl{.io = std::move(io),
                     .strand = strand,
                     .log = log,
                     .limits = limits,
                     .directory = std::move(directory)}) {}

ProgramRunner::~ProgramRunner() = default;

// The lists are made into bytes on io: they may be long, and the strand has better things to do.
void ProgramRunner::run(Hook hook, UpdateWorkload lists, std::function<void(HookAnswer)> done) {
  asio::post(impl_->io, [weak = std::weak_ptr(impl_), hook = std::move(hook),
                         lists = std::move(lists), done = std::move(done)]() mutable {
    if (const auto impl = weak.lock()) impl->start(std::move(hook), lists, std::move(done));
  });
}

}  // namespace tiphys::hooks
