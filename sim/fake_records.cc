#include "sim/fake_records.h"

#include "base/check.h"
#include "base/strings.h"

namespace tiphys::sim {

using shell::Record;
using shell::Revision;
using shell::Snapshot;

void FakeRecords::forget() {
  records_.clear();
  revision_ = 0;
}

const std::vector<std::optional<Tree>>& FakeRecords::history(const std::string& key) const {
  static const std::vector<std::optional<Tree>> kNothing;
  const auto entry = history_.find(key);
  return entry == history_.end() ? kNothing : entry->second;
}

template <class T>
void FakeRecords::answer(std::function<void(T)> sink, T value) {
  TIPHYS_CHECK(process_ != nullptr, "a dead server calls nobody");
  const Duration wait = world_.fault("store slow", 1, 10)
                            ? world_.draw(milliseconds(100), seconds(5))
                            : world_.draw(milliseconds(0), milliseconds(3));
  process_->after(wait, [sink = std::move(sink), value = std::move(value)] { sink(value); });
}

void FakeRecords::get(std::string key, std::function<void(Result<Record>)> sink) {
  const auto entry = records_.find(key);
  answer<Result<Record>>(std::move(sink),
                         entry == records_.end()
                             ? Result<Record>(tiphys::fail(Code::kNotFound, "there is no " + key))
                             : Result<Record>(entry->second));
}

void FakeRecords::list(std::string prefix, std::function<void(Result<Snapshot>)> sink) {
  if (world_.fault("store failed to list", 1, 10))
    return answer<Result<Snapshot>>(std::move(sink),
                                    tiphys::fail(Code::kUnavailable, "store error"));
  Snapshot snapshot{revision_, {}};
  for (const auto& [key, record] : records_)
    if (key.starts_with(prefix)) snapshot.records.push_back(record);
  answer<Result<Snapshot>>(std::move(sink), std::move(snapshot));
}

void FakeRecords::commit(shell::Transaction transaction,
                         std::function<void(Result<Revision>)> sink) {
  if (world_.fault("store failed to commit", 1, 12))
    return answer<Result<Revision>>(std::move(sink),
                                    tiphys::fail(Code::kUnavailable, "store error"));
  if (world_.fault("store conflict", 1, 8))
    write_as_somebody_else(transaction.conditions.front().key);
  if (mutation_ == Mutation::kUnstoredCommit && world_.random().chance(1, 4))
    return answer<Result<Revision>>(std::move(sink), revision_ + 1);
  auto done = execute(transaction);
  if (done && world_.fault("store lost an answer", 1, 16))
    done = tiphys::fail(Code::kUnavailable, "the answer got lost");
  answer<Result<Revision>>(std::move(sink), std::move(done));
}

Result<Revision> FakeRecords::execute(const shell::Transaction& transaction) {
  for (const auto& condition : transaction.conditions) {
    const auto entry = records_.find(condition.key);
    if ((entry == records_.end() ? 0 : entry->second.version) != condition.version)
      return tiphys::fail(Code::kAborted,
                          concat("the version of ", condition.key, " is another one"));
  }
  ++revision_;
  for (const auto& written : transaction.writes) write(written);
  return revision_;
}

void FakeRecords::write(const shell::StoreWrite& written) {
  history_[written.key].push_back(written.value);
  if (written.value)
    records_[written.key] = Record{written.key, revision_, *written.value};
  else
    records_.erase(written.key);
}

// Another server takes a workload away, or only shows that it was there.
void FakeRecords::write_as_somebody_else(const std::string& head) {
  ++revision_;
  write({head, Tree(revision_)});
  std::vector<std::string> workloads;
  for (const auto& [key, record] : records_)
    if (key.find("/workloads/") != std::string::npos) workloads.push_back(key);
  if (!workloads.empty() && world_.random().chance(1, 2))
    write({world_.random().pick(workloads), std::nullopt});
}

}  // namespace tiphys::sim
