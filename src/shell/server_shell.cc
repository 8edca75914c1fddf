#include "shell/server_shell.h"

#include <map>
#include <string_view>
#include <utility>

#include "base/match.h"
#include "base/strings.h"

namespace tiphys::shell {
namespace {

Result<server::StoredState> stored_state(const Snapshot& snapshot) {
  server::StoredState stored;
  std::map<std::string, Tree> records;
  for (const auto& record : snapshot.records) {
    if (record.key == kDesiredHead)
      stored.version = record.version;
    else
      records.emplace(record.key.substr(std::string_view(kDesiredPrefix).size()), record.value);
  }
  TIPHYS_TRY(stored.desired, server::state_from_records(records));
  return stored;
}

// The words that templates know for the levels of a log.
Level level_of(std::string_view word) {
  if (word == "error") return Level::kError;
  if (word == "warn") return Level::kWarn;
  if (word == "debug") return Level::kDebug;
  return word == "trace" ? Level::kTrace : Level::kInfo;
}

}  // namespace

ServerShell::ServerShell(Strand& strand, Clock& clock, Timers& timers, Trace& trace, Log& log,
                         Records& store, ServerLink& link,
                         std::function<void(std::string)> on_fatal, Hooks hooks)
    : hook_runner_(hooks.runner),
      machine_(std::move(hooks.list)),
      timers_(timers),
      log_(log),
      store_(store),
      link_(link),
      on_fatal_(std::move(on_fatal)),
      actor_(
          {.name = "server"}, strand, clock, trace,
          [this](const server::Event& event, Instant now) {
            return ended_ ? server::Effects{} : machine_.step(event, now);
          },
          [this](server::Effect effect) { perform(std::move(effect)); }) {}

void ServerShell::perform(server::Effect effect) {
  if (ended_) return;
  match(
      std::move(effect), [&](const server::Send& e) { link_.send(e.connection, e.message); },
      [&](server::SendAll e) { link_.send_all(std::move(e)); },
      [&](server::Publish e) { link_.publish(std::move(e)); },
      [&](server::Close e) { link_.close(e.connection); }, [&](const server::Load& e) { load(e); },
      [&](server::Commit e) { commit(std::move(e)); },
      [&](server::RunHook e) {
        hook_runner_->run(std::move(e.hook), std::move(e.lists),
                          [this, token = e.token](server::HookAnswer answer) {
                            actor_.tell(server::HookAnswered{token, std::move(answer)});
                          });
      },
      [&](server::ArmTimer e) {
        timers_.after(e.after, [this, token = e.token] { actor_.tell(server::TimerFired{token}); });
      },
      [&](const server::AnswerDryRun& e) { link_.answer(e.call, e.response); },
      [&](const server::AnswerStateAges& e) { link_.answer(e.call, e.response); },
      [&](const server::Warn& e) { log_.warn(e.text); },
      [&](const server::WriteLog& e) { log_.write(level_of(e.line.level), e.line.text, {}); },
      [&](server::Fatal e) {
        ended_ = true;
        on_fatal_(std::move(e.text));
      });
}

void ServerShell::load(const server::Load& effect) {
  store_.list(kDesiredPrefix, [this, token = effect.token](Result<Snapshot> snapshot) {
    auto stored =
        snapshot ? stored_state(*snapshot) : Result<server::StoredState>(fail(snapshot.error()));
    if (stored)
      actor_.tell(server::Loaded{token, *std::move(stored)});
    else
      actor_.tell(server::LoadFailed{token, stored.error().message});
  });
}

void ServerShell::commit(server::Commit effect) {
  Transaction transaction;
  transaction.conditions.push_back({kDesiredHead, effect.decided_on});
  transaction.writes.push_back({kDesiredHead, Tree(effect.decided_on)});
  for (auto& write : effect.writes)
    transaction.writes.push_back({concat(kDesiredPrefix, write.key), std::move(write.value)});
  store_.commit(std::move(transaction), [this, token = effect.token](Result<Revision> revision) {
    if (revision)
      actor_.tell(server::Committed{token, *revision});
    else if (revision.error().code == Code::kAborted)
      actor_.tell(server::CommitConflict{token});
    else
      actor_.tell(server::CommitFailed{token, revision.error().message});
  });
}

}  // namespace tiphys::shell
