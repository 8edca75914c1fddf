#include "io/store/conformance.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <variant>

#include "model/workload.h"

namespace tiphys::store {

using shell::Changes;
using shell::Compacted;
using shell::LeaseId;
using shell::Record;
using shell::Revision;
using shell::Snapshot;
using shell::StoreWrite;
using shell::Transaction;
using shell::WatchEvent;
using shell::WatchId;

using Keys = std::vector<std::string>;

void StoreConformance::TearDown() {
  under_test_->settle();
  for (const auto& answers : answers_) EXPECT_EQ(*answers, 1);
}

template <class T>
std::pair<std::function<void(T)>, std::shared_ptr<std::optional<T>>>
StoreConformance::expect_answer() {
  auto answers = answers_.emplace_back(std::make_shared<int>(0));
  auto place = std::make_shared<std::optional<T>>();
  return {[answers, place](T value) {
            ++*answers;
            *place = std::move(value);
          },
          place};
}

template <class T>
T StoreConformance::answer_of(const std::function<void(std::function<void(T)>)>& call) {
  auto [sink, place] = expect_answer<T>();
  call(std::move(sink));
  EXPECT_FALSE(place->has_value()) << "the answer came before the call returned";
  if (!under_test_->wait_until([&] { return place->has_value(); }))
    return fail(Code::kDeadlineExceeded, "the store did not answer");
  return **place;
}

Result<Record> StoreConformance::get(const std::string& key) {
  return answer_of<Result<Record>>([&](auto sink) { store().get(key, std::move(sink)); });
}

Result<Snapshot> StoreConformance::list(const std::string& prefix) {
  return answer_of<Result<Snapshot>>([&](auto sink) { store().list(prefix, std::move(sink)); });
}

Keys StoreConformance::keys_below(const std::string& prefix) {
  const auto snapshot = list(prefix);
  if (!snapshot) {
    ADD_FAILURE() << snapshot.error().message;
    return {};
  }
  Keys keys;
  for (const auto& record : snapshot->records) keys.push_back(record.key);
  return keys;
}

Result<Revision> StoreConformance::commit(Transaction transaction) {
  return answer_of<Result<Revision>>(
      [&](auto sink) { store().commit(std::move(transaction), std::move(sink)); });
}

Revision StoreConformance::put(const std::string& key, Tree value) {
  const auto revision =
      commit({.conditions = {}, .writes = {{key, std::move(value)}}, .fence = {}});
  if (!revision) ADD_FAILURE() << revision.error().message;
  return revision.value_or(0);
}

Revision StoreConformance::erase(const std::string& key) {
  const auto revision = commit({.conditions = {}, .writes = {{key, std::nullopt}}, .fence = {}});
  if (!revision) ADD_FAILURE() << revision.error().message;
  return revision.value_or(0);
}

void StoreConformance::put_bound(const std::string& key, LeaseId lease) {
  const auto revision = commit(
      {.conditions = {}, .writes = {{key, Tree("bound")}}, .fence = lease, .bind_to_lease = true});
  if (!revision) ADD_FAILURE() << revision.error().message;
}

LeaseId StoreConformance::grant_lease() {
  const auto lease = answer_of<Result<LeaseId>>(
      [&](auto sink) { store().grant_lease(under_test_->shortest_lease(), std::move(sink)); });
  if (!lease) ADD_FAILURE() << lease.error().message;
  return lease.value_or(0);
}

Status StoreConformance::keep_alive(LeaseId lease) {
  return answer_of<Status>([&](auto sink) { store().keep_alive(lease, std::move(sink)); });
}

Status StoreConformance::revoke(LeaseId lease) {
  return answer_of<Status>([&](auto sink) { store().revoke(lease, std::move(sink)); });
}

StoreConformance::WatchEvents StoreConformance::watch(const std::string& prefix, Revision after) {
  auto events = std::make_shared<std::vector<WatchEvent>>();
  store().watch(prefix, after, [events](WatchEvent event) { events->push_back(std::move(event)); });
  EXPECT_TRUE(events->empty()) << "an event came before the call returned";
  return events;
}

void StoreConformance::wait_for(const WatchEvents& events, std::size_t count) {
  EXPECT_TRUE(under_test_->wait_until([&] { return events->size() >= count; }))
      << events->size() << " of " << count << " events came";
  under_test_->settle();
  EXPECT_EQ(events->size(), count);
}

namespace {

template <class T>
Code code_of(const Result<T>& result) {
  EXPECT_FALSE(result.has_value()) << "no failure";
  return result ? Code::kUnknown : result.error().code;
}

Transaction writing(std::vector<StoreWrite> writes) {
  return {.conditions = {}, .writes = std::move(writes), .fence = {}};
}

Transaction on_condition(std::vector<shell::Condition> conditions, std::vector<StoreWrite> writes) {
  return {.conditions = std::move(conditions), .writes = std::move(writes), .fence = {}};
}

Transaction fenced(LeaseId lease, std::vector<StoreWrite> writes) {
  return {.conditions = {}, .writes = std::move(writes), .fence = lease};
}

StoreWrite put_of(std::string key, Tree value) { return {std::move(key), std::move(value)}; }
StoreWrite erase_of(std::string key) { return {std::move(key), std::nullopt}; }

// The changes of one event; an empty one when it is something else.
Changes changes_of(const WatchEvent& event) {
  const auto* changes = std::get_if<Changes>(&event);
  EXPECT_NE(changes, nullptr) << "the watch has ended";
  return changes == nullptr ? Changes{} : *changes;
}

std::vector<Changes> changes_of(const std::vector<WatchEvent>& events) {
  std::vector<Changes> changes;
  changes.reserve(events.size());
  for (const auto& event : events) changes.push_back(changes_of(event));
  return changes;
}

}  // namespace

// -- Reading ---------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, AMissingKeyIsNotFound) {
  EXPECT_EQ(code_of(get("nothing")), Code::kNotFound);
  put("something", "x");
  EXPECT_EQ(code_of(get("some")), Code::kNotFound);
  EXPECT_EQ(code_of(get("something/else")), Code::kNotFound);
  EXPECT_EQ(code_of(get("")), Code::kNotFound);
}

TEST_P(StoreConformance, ARecordHasItsKeyItsValueAndTheRevisionThatWroteIt) {
  const Revision first = put("a", "one");
  EXPECT_EQ(get("a"), (Record{"a", first, "one"}));
  const Revision second = put("a", "two");
  EXPECT_EQ(get("a"), (Record{"a", second, "two"}));
}

TEST_P(StoreConformance, AnEmptyStoreListsNothing) {
  const auto snapshot = list("");
  ASSERT_TRUE(snapshot);
  EXPECT_TRUE(snapshot->records.empty());
}

TEST_P(StoreConformance, AListHoldsExactlyWhatBeginsWithThePrefix) {
  const Keys all{"A",  "a",   "a%b", "a/",  "a/b",      "a/b/c", "a/c",      "a_b",
                 "aa", "axb", "b",   "b/a", "\xc3\xa4", "\xff",  "\xff\xff", "\xff\xff/x"};
  std::vector<StoreWrite> writes;
  for (const auto& key : all) writes.push_back(put_of(key, key));
  ASSERT_TRUE(commit(writing(std::move(writes))));

  EXPECT_EQ(keys_below(""), all);
  EXPECT_EQ(keys_below("a/"), (Keys{"a/", "a/b", "a/b/c", "a/c"}));
  EXPECT_EQ(keys_below("a/b"), (Keys{"a/b", "a/b/c"}));
  EXPECT_EQ(keys_below("a/b/"), (Keys{"a/b/c"}));
  EXPECT_EQ(keys_below("a/b/c"), (Keys{"a/b/c"}));
  EXPECT_EQ(keys_below("a/b/c/"), Keys{});
  EXPECT_EQ(keys_below("b"), (Keys{"b", "b/a"}));
  EXPECT_EQ(keys_below("c"), Keys{});
  EXPECT_EQ(keys_below("a%"), (Keys{"a%b"}));
  EXPECT_EQ(keys_below("a_"), (Keys{"a_b"}));
  EXPECT_EQ(keys_below("A"), (Keys{"A"}));
  EXPECT_EQ(keys_below("\xc3"), (Keys{"\xc3\xa4"}));
  EXPECT_EQ(keys_below("\xff"), (Keys{"\xff", "\xff\xff", "\xff\xff/x"}));
  EXPECT_EQ(keys_below("\xff\xff"), (Keys{"\xff\xff", "\xff\xff/x"}));
}

TEST_P(StoreConformance, AListIsOfOneRevision) {
  put("a", 0U);
  put("b", 0U);
  // Both keys always change together; whatever moment a list shows, they are the same in it.
  std::vector<std::shared_ptr<std::optional<Result<Snapshot>>>> snapshots;
  std::vector<std::shared_ptr<std::optional<Result<Revision>>>> commits;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    auto [list_sink, snapshot] = expect_answer<Result<Snapshot>>();
    auto [commit_sink, revision] = expect_answer<Result<Revision>>();
    snapshots.push_back(snapshot);
    commits.push_back(revision);
    store().list("", std::move(list_sink));
    store().commit(writing({put_of("a", round), put_of("b", round)}), std::move(commit_sink));
  }
  ASSERT_TRUE(under_test().wait_until([&] {
    const auto answered = [](const auto& place) { return place->has_value(); };
    return std::all_of(snapshots.begin(), snapshots.end(), answered) &&
           std::all_of(commits.begin(), commits.end(), answered);
  }));
  for (const auto& place : snapshots) {
    const auto& snapshot = **place;
    ASSERT_TRUE(snapshot);
    ASSERT_EQ(snapshot->records.size(), 2U);
    EXPECT_EQ(snapshot->records[0].value, snapshot->records[1].value);
    EXPECT_LE(snapshot->records[0].version, snapshot->revision);
    EXPECT_LE(snapshot->records[1].version, snapshot->revision);
  }
}

TEST_P(StoreConformance, WhatFollowsAListIsWatchedFromItsRevision) {
  put("a", "listed");
  const auto snapshot = list("");
  ASSERT_TRUE(snapshot);
  const Revision next = put("a", "watched");
  const auto events = watch("", snapshot->revision);
  wait_for(events, 1);
  EXPECT_EQ(changes_of(*events), (std::vector<Changes>{{next, {put_of("a", "watched")}}}));
}

// -- Values ----------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, EveryKindOfTreeComesBackAsItWas) {
  auto workload = std::make_shared<Workload>();
  workload->agent = "agent_A";
  workload->runtime = "podman";
  workload->runtime_config = "image: nginx\n";
  workload->tags.edit() = {{"owner", "me"}};
  const Tree::Map nested =
      Tree::Map()
          .set("list", Tree::List{Tree(), true, 7U, "x", Tree::List{}, Tree::Map()})
          .set("", "an empty key")
          .set("deep", Tree::Map().set("deeper", Tree::Map().set("x", "y")));
  const std::vector<std::pair<std::string, Tree>> values{
      {"null", Tree()},
      {"true", true},
      {"false", false},
      {"zero", 0U},
      {"largest", std::numeric_limits<std::uint64_t>::max()},
      {"empty text", ""},
      {"text", "line one\nline two\t\"quoted\" \xf0\x9f\x98\x80"},
      {"text with a zero byte", std::string("a\0b", 3)},
      {"text that looks like a number", "42"},
      {"empty list", Tree::List{}},
      {"empty map", Tree::Map()},
      {"nested", nested},
      {"object", std::shared_ptr<const Workload>(workload)},
  };
  for (const auto& [key, value] : values) put(key, value);
  for (const auto& [key, value] : values) {
    SCOPED_TRACE(key);
    const auto record = get(key);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->value.kind(), value.kind());
    EXPECT_EQ(record->value, value);
  }
}

TEST_P(StoreConformance, TenThousandKeysFitIntoOneCommit) {
  constexpr std::size_t kCount = 10'000;
  std::vector<StoreWrite> writes;
  writes.reserve(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    writes.push_back(put_of("workloads/" + std::to_string(kCount + i), Tree(i)));
  const auto events = watch("workloads/", 0);
  const auto revision = commit(writing(writes));
  ASSERT_TRUE(revision);

  const auto snapshot = list("workloads/");
  ASSERT_TRUE(snapshot);
  ASSERT_EQ(snapshot->records.size(), kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    ASSERT_EQ(snapshot->records[i], (Record{writes[i].key, *revision, *writes[i].value}));
  wait_for(events, 1);
  EXPECT_EQ(changes_of(*events), (std::vector<Changes>{{*revision, writes}}));
  EXPECT_EQ(keys_below("workloads/1999").size(), 10U);
}

// -- Commits ---------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, EveryChangeGivesALargerRevision) {
  Revision last = 0;
  for (int round = 0; round < 3; ++round) {
    const Revision put_revision = put("a", "the same");
    EXPECT_GT(put_revision, last);
    const Revision erase_revision = erase("a");
    EXPECT_GT(erase_revision, put_revision);
    last = erase_revision;
  }
}

TEST_P(StoreConformance, AllWritesOfACommitHaveItsRevision) {
  put("b", "old");
  const auto revision = commit(writing({put_of("a", 1U), put_of("b", 2U), put_of("c/d", 3U)}));
  ASSERT_TRUE(revision);
  for (const auto* key : {"a", "b", "c/d"}) EXPECT_EQ(get(key)->version, *revision);
}

TEST_P(StoreConformance, ACommitHappensAsAWholeOrNotAtAll) {
  const Revision a = put("a", "old");
  const Revision b = put("b", "old");
  const auto refused = commit(on_condition(
      {{"a", a}, {"b", b + 1000}}, {put_of("a", "new"), erase_of("b"), put_of("c", "new")}));
  EXPECT_EQ(code_of(refused), Code::kAborted);
  EXPECT_EQ(get("a"), (Record{"a", a, "old"}));
  EXPECT_EQ(get("b"), (Record{"b", b, "old"}));
  EXPECT_EQ(code_of(get("c")), Code::kNotFound);

  const auto done = commit(on_condition({{"a", a}, {"b", b}, {"c", 0}},
                                        {put_of("a", "new"), erase_of("b"), put_of("c", "new")}));
  ASSERT_TRUE(done);
  EXPECT_EQ(get("a"), (Record{"a", *done, "new"}));
  EXPECT_EQ(code_of(get("b")), Code::kNotFound);
  EXPECT_EQ(get("c"), (Record{"c", *done, "new"}));
}

TEST_P(StoreConformance, ARefusedCommitLeavesNoTrace) {
  const Revision before = put("a", "old");
  const auto events = watch("", before);
  EXPECT_EQ(code_of(commit(on_condition({{"a", 0}}, {put_of("b", "new")}))), Code::kAborted);
  EXPECT_EQ(commit({}), before);
  const Revision after = put("a", "new");
  wait_for(events, 1);
  EXPECT_EQ(changes_of(events->front()).revision, after);
}

TEST_P(StoreConformance, CreatesOnlyWhatIsNotThere) {
  const auto created = commit(on_condition({{"a", 0}}, {put_of("a", "first")}));
  ASSERT_TRUE(created);
  EXPECT_EQ(code_of(commit(on_condition({{"a", 0}}, {put_of("a", "second")}))), Code::kAborted);
  EXPECT_EQ(get("a"), (Record{"a", *created, "first"}));
  erase("a");
  EXPECT_TRUE(commit(on_condition({{"a", 0}}, {put_of("a", "third")})));
}

TEST_P(StoreConformance, SwapsOnlyTheVersionThatWasSeen) {
  const Revision first = put("a", "first");
  const auto second = commit(on_condition({{"a", first}}, {put_of("a", "second")}));
  ASSERT_TRUE(second);
  EXPECT_EQ(code_of(commit(on_condition({{"a", first}}, {put_of("a", "late")}))), Code::kAborted);
  EXPECT_EQ(get("a"), (Record{"a", *second, "second"}));
  // The same content written again is another version.
  erase("a");
  put("a", "second");
  EXPECT_EQ(code_of(commit(on_condition({{"a", *second}}, {put_of("a", "late")}))), Code::kAborted);
}

TEST_P(StoreConformance, DeletesOnlyTheVersionThatWasSeen) {
  const Revision first = put("a", "first");
  const Revision second = put("a", "second");
  EXPECT_EQ(code_of(commit(on_condition({{"a", first}}, {erase_of("a")}))), Code::kAborted);
  EXPECT_TRUE(get("a"));
  EXPECT_TRUE(commit(on_condition({{"a", second}}, {erase_of("a")})));
  EXPECT_EQ(code_of(get("a")), Code::kNotFound);
  EXPECT_EQ(code_of(commit(on_condition({{"a", second}}, {erase_of("a")}))), Code::kAborted);
}

TEST_P(StoreConformance, AConditionMayBeOnAKeyThatIsNotWritten) {
  const Revision guard = put("guard", "x");
  EXPECT_TRUE(commit(on_condition({{"guard", guard}}, {put_of("a", 1U)})));
  put("guard", "y");
  EXPECT_EQ(code_of(commit(on_condition({{"guard", guard}}, {put_of("a", 2U)}))), Code::kAborted);
  EXPECT_EQ(get("a")->value, Tree(1U));
}

TEST_P(StoreConformance, OfCommitsOnTheSameVersionOneWins) {
  const Revision seen = put("a", "old");
  std::vector<std::shared_ptr<std::optional<Result<Revision>>>> answers;
  for (int i = 0; i < 5; ++i) {
    auto [sink, place] = expect_answer<Result<Revision>>();
    answers.push_back(place);
    store().commit(on_condition({{"a", seen}}, {put_of("a", "new")}), std::move(sink));
  }
  ASSERT_TRUE(under_test().wait_until([&] {
    return std::all_of(answers.begin(), answers.end(),
                       [](const auto& a) { return a->has_value(); });
  }));
  EXPECT_EQ(std::count_if(answers.begin(), answers.end(), [](const auto& a) { return **a; }), 1);
}

TEST_P(StoreConformance, ACommitWithoutWritesChecksItsConditions) {
  const Revision a = put("a", "x");
  EXPECT_EQ(commit({}), a);
  EXPECT_EQ(commit(on_condition({{"a", a}, {"b", 0}}, {})), a);
  EXPECT_EQ(code_of(commit(on_condition({{"a", 0}}, {}))), Code::kAborted);
  EXPECT_GT(put("a", "y"), a);
}

TEST_P(StoreConformance, DeletingWhatIsNotThereChangesNothing) {
  const Revision a = put("a", "x");
  const auto events = watch("", a);
  EXPECT_EQ(erase("b"), a);
  const auto both = commit(writing({erase_of("b"), put_of("c", "x")}));
  ASSERT_TRUE(both);
  wait_for(events, 1);
  EXPECT_EQ(changes_of(*events), (std::vector<Changes>{{*both, {put_of("c", "x")}}}));
}

TEST_P(StoreConformance, RefusesTransactionsThatMakeNoSense) {
  const Revision before = put("a", "old");
  EXPECT_EQ(code_of(commit(writing({put_of("", "x")}))), Code::kInvalidArgument);
  EXPECT_EQ(code_of(commit(writing({put_of("a", "x"), put_of("a", "y")}))), Code::kInvalidArgument);
  EXPECT_EQ(code_of(commit(writing({put_of("a", "x"), erase_of("a")}))), Code::kInvalidArgument);
  EXPECT_EQ(
      code_of(commit(
          {.conditions = {}, .writes = {put_of("a", "x")}, .fence = {}, .bind_to_lease = true})),
      Code::kInvalidArgument);
  EXPECT_EQ(get("a"), (Record{"a", before, "old"}));
}

// -- Leases ----------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, EveryLeaseIsAnotherOne) {
  const LeaseId first = grant_lease();
  const LeaseId second = grant_lease();
  EXPECT_NE(first, second);
  EXPECT_TRUE(revoke(first));
  EXPECT_NE(grant_lease(), first);
  EXPECT_TRUE(keep_alive(second));
}

TEST_P(StoreConformance, ALeaseNeedsSomeTimeToLive) {
  for (const Duration nothing : {Duration::zero(), Duration(-1)})
    EXPECT_EQ(code_of(answer_of<Result<LeaseId>>(
                  [&](auto sink) { store().grant_lease(nothing, std::move(sink)); })),
              Code::kInvalidArgument);
}

TEST_P(StoreConformance, ALeaseThatIsAliveLetsACommitPass) {
  const LeaseId lease = grant_lease();
  EXPECT_TRUE(commit(fenced(lease, {put_of("a", "x")})));
  // Fenced is not bound: the key stays.
  EXPECT_TRUE(revoke(lease));
  EXPECT_TRUE(get("a"));
}

TEST_P(StoreConformance, ALeaseThatIsGoneStopsACommit) {
  const Revision a = put("a", "old");
  const LeaseId lease = grant_lease();
  EXPECT_TRUE(revoke(lease));
  EXPECT_EQ(code_of(commit(fenced(lease, {put_of("a", "new")}))), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commit(fenced(lease, {}))), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(commit(fenced(lease + 1000, {put_of("a", "new")}))), Code::kFailedPrecondition);
  // A leader whose time is over must not take it for a conflict and try again.
  Transaction both = fenced(lease, {put_of("a", "new")});
  both.conditions = {{"a", a + 1000}};
  EXPECT_EQ(code_of(commit(both)), Code::kFailedPrecondition);
  EXPECT_EQ(get("a"), (Record{"a", a, "old"}));
}

TEST_P(StoreConformance, BoundKeysVanishAsOneCommitWhenTheLeaseIsRevoked) {
  const LeaseId lease = grant_lease();
  put("other", "stays");
  put_bound("b", lease);
  put_bound("a", lease);
  const Revision before = list("")->revision;
  const auto events = watch("", before);

  EXPECT_TRUE(revoke(lease));
  EXPECT_EQ(keys_below(""), (Keys{"other"}));
  wait_for(events, 1);
  const Changes end = changes_of(events->front());
  EXPECT_GT(end.revision, before);
  EXPECT_EQ(end.writes, (std::vector<StoreWrite>{erase_of("a"), erase_of("b")}));
}

TEST_P(StoreConformance, BoundKeysVanishAsOneCommitWhenTheTimeIsOver) {
  const LeaseId lease = grant_lease();
  put_bound("a", lease);
  put_bound("b", lease);
  const auto events = watch("", list("")->revision);
  wait_for(events, 1);
  EXPECT_EQ(changes_of(events->front()).writes,
            (std::vector<StoreWrite>{erase_of("a"), erase_of("b")}));
  EXPECT_EQ(keys_below(""), Keys{});
  EXPECT_EQ(code_of(commit(fenced(lease, {put_of("a", "late")}))), Code::kFailedPrecondition);
  EXPECT_EQ(code_of(keep_alive(lease)), Code::kNotFound);
  EXPECT_EQ(code_of(revoke(lease)), Code::kNotFound);
}

TEST_P(StoreConformance, ALeaseLivesAsLongAsItIsKeptAlive) {
  const LeaseId kept = grant_lease();
  const LeaseId neglected = grant_lease();
  put_bound("kept", kept);
  put_bound("neglected", neglected);
  const auto keep_for_a_while = [&] {
    ASSERT_TRUE(keep_alive(kept));
    under_test().pass(under_test().shortest_lease() / 4);
  };
  while (get("neglected") && !HasFatalFailure()) keep_for_a_while();
  for (int i = 0; i < 8 && !HasFatalFailure(); ++i) keep_for_a_while();
  EXPECT_TRUE(get("kept"));
  EXPECT_TRUE(commit(fenced(kept, {put_of("a", "x")})));
  // And not longer.
  EXPECT_TRUE(under_test().wait_until([&] { return !get("kept"); }));
}

TEST_P(StoreConformance, ALeaseThatHasEndedIsNotFound) {
  EXPECT_EQ(code_of(keep_alive(12'345)), Code::kNotFound);
  EXPECT_EQ(code_of(revoke(12'345)), Code::kNotFound);
  const LeaseId lease = grant_lease();
  EXPECT_TRUE(revoke(lease));
  EXPECT_EQ(code_of(keep_alive(lease)), Code::kNotFound);
  EXPECT_EQ(code_of(revoke(lease)), Code::kNotFound);
}

TEST_P(StoreConformance, AKeyBelongsToTheLeaseOfItsLastWrite) {
  const LeaseId first = grant_lease();
  const LeaseId second = grant_lease();
  for (const auto* key : {"freed", "moved", "deleted", "kept"}) put_bound(key, first);
  put("freed", "by a write without a lease");
  put_bound("moved", second);
  erase("deleted");
  put("deleted", "made again without a lease");
  EXPECT_TRUE(revoke(first));
  EXPECT_EQ(keys_below(""), (Keys{"deleted", "freed", "moved"}));
  EXPECT_TRUE(revoke(second));
  EXPECT_EQ(keys_below(""), (Keys{"deleted", "freed"}));
}

TEST_P(StoreConformance, ALeaderIsReplacedWhenItsLeaseEnds) {
  const auto lead = [&](LeaseId lease) {
    Transaction transaction = fenced(lease, {put_of("leader", "me")});
    transaction.conditions = {{"leader", 0}};
    transaction.bind_to_lease = true;
    return commit(std::move(transaction));
  };
  const LeaseId first = grant_lease();
  ASSERT_TRUE(lead(first));
  const LeaseId second = grant_lease();
  EXPECT_EQ(code_of(lead(second)), Code::kAborted);
  EXPECT_TRUE(revoke(first));
  EXPECT_TRUE(lead(second));
  EXPECT_EQ(code_of(commit(fenced(first, {put_of("a", "late")}))), Code::kFailedPrecondition);
}

// -- Watches ---------------------------------------------------------------------------------------------------------

TEST_P(StoreConformance, AWatchIsToldEveryCommitInOrder) {
  const auto events = watch("", 0);
  std::vector<Changes> expected;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const std::string key = "k" + std::to_string(i % 3);
    expected.push_back({put(key, Tree(i)), {put_of(key, Tree(i))}});
  }
  expected.push_back({erase("k0"), {erase_of("k0")}});
  wait_for(events, expected.size());
  EXPECT_EQ(changes_of(*events), expected);
}

TEST_P(StoreConformance, AWatchIsToldACommitAsOneEventInOrderOfTheKeys) {
  put("b", "old");
  const auto events = watch("", list("")->revision);
  const auto revision = commit(writing({put_of("c", 1U), erase_of("b"), put_of("a", 2U)}));
  ASSERT_TRUE(revision);
  wait_for(events, 1);
  EXPECT_EQ(changes_of(*events),
            (std::vector<Changes>{{*revision, {put_of("a", 2U), erase_of("b"), put_of("c", 1U)}}}));
}

TEST_P(StoreConformance, AWatchSeesOnlyWhatIsBelowItsPrefix) {
  const auto events = watch("a/", 0);
  put("a", 1U);
  put("ab", 1U);
  put("b/a/", 1U);
  const auto mixed = commit(writing({put_of("a/x", 2U), put_of("b", 2U)}));
  ASSERT_TRUE(mixed);
  const Revision own = put("a/", 3U);
  wait_for(events, 2);
  EXPECT_EQ(changes_of(*events),
            (std::vector<Changes>{{*mixed, {put_of("a/x", 2U)}}, {own, {put_of("a/", 3U)}}}));
}

TEST_P(StoreConformance, AWatchFromAnOldRevisionCatchesUpAndGoesOn) {
  std::vector<Changes> all;
  all.reserve(6);
  for (std::uint64_t i = 0; i < 5; ++i) all.push_back({put("a", Tree(i)), {put_of("a", Tree(i))}});
  const auto from_the_start = watch("", 0);
  const auto from_the_middle = watch("", all[2].revision);
  const auto from_now = watch("", all[4].revision);
  all.push_back({put("b", "new"), {put_of("b", "new")}});

  wait_for(from_the_start, 6);
  EXPECT_EQ(changes_of(*from_the_start), all);
  wait_for(from_the_middle, 3);
  EXPECT_EQ(changes_of(*from_the_middle), std::vector<Changes>(all.begin() + 3, all.end()));
  wait_for(from_now, 1);
  EXPECT_EQ(changes_of(*from_now), std::vector<Changes>(all.begin() + 5, all.end()));
}

TEST_P(StoreConformance, AWatchFromAForgottenRevisionIsToldSoAndEnds) {
  const Revision old = put("a", "old");
  under_test().forget_history();
  const auto events = watch("", old);
  wait_for(events, 1);
  const auto* compacted = std::get_if<Compacted>(&events->front());
  ASSERT_NE(compacted, nullptr);
  EXPECT_GT(compacted->oldest, old);
  put("a", "new");
  under_test().settle();
  EXPECT_EQ(events->size(), 1U) << "a watch that ended was told something";

  const auto snapshot = list("");
  ASSERT_TRUE(snapshot);
  EXPECT_GE(snapshot->revision, compacted->oldest);
  const auto again = watch("", snapshot->revision);
  const Revision next = put("a", "newest");
  wait_for(again, 1);
  EXPECT_EQ(changes_of(*again), (std::vector<Changes>{{next, {put_of("a", "newest")}}}));
}

TEST_P(StoreConformance, AWatchThatIsUpToDateIsNotTroubledByForgottenHistory) {
  const Revision now = put("a", "old");
  const auto events = watch("a", now);
  under_test().forget_history();
  const Revision next = put("a", "new");
  wait_for(events, 1);
  EXPECT_EQ(changes_of(*events), (std::vector<Changes>{{next, {put_of("a", "new")}}}));
}

TEST_P(StoreConformance, NothingIsToldAfterUnwatch) {
  int told = 0;
  const WatchId id = store().watch("", 0, [&](const WatchEvent&) { ++told; });
  put("a", 1U);
  ASSERT_TRUE(under_test().wait_until([&] { return told == 1; }));
  // What was committed before, and may be on its way, is not told either.
  auto [sink, place] = expect_answer<Result<Revision>>();
  store().commit(writing({put_of("a", 2U)}), std::move(sink));
  store().unwatch(id);
  ASSERT_TRUE(under_test().wait_until([&] { return place->has_value(); }));
  put("a", 3U);
  under_test().settle();
  EXPECT_EQ(told, 1);
  store().unwatch(id);  // a second time does no harm
}

TEST_P(StoreConformance, AWatchMayEndInsideItsOwnSink) {
  put("a", 1U);
  put("a", 2U);
  int told = 0;
  WatchId id = 0;
  id = store().watch("", 0, [&](const WatchEvent&) {
    ++told;
    store().unwatch(id);
  });
  ASSERT_TRUE(under_test().wait_until([&] { return told == 1; }));
  put("a", 3U);
  under_test().settle();
  EXPECT_EQ(told, 1);
}

TEST_P(StoreConformance, WatchersAreToldEachOnItsOwn) {
  const auto first = watch("a", 0);
  const auto second = watch("", 0);
  int told_to_third = 0;
  const WatchId third = store().watch("a", 0, [&](const WatchEvent&) { ++told_to_third; });
  store().unwatch(third);
  const Revision a = put("a", 1U);
  const Revision b = put("b", 2U);
  wait_for(first, 1);
  wait_for(second, 2);
  EXPECT_EQ(changes_of(*first), (std::vector<Changes>{{a, {put_of("a", 1U)}}}));
  EXPECT_EQ(changes_of(*second),
            (std::vector<Changes>{{a, {put_of("a", 1U)}}, {b, {put_of("b", 2U)}}}));
  EXPECT_EQ(told_to_third, 0);
}

TEST_P(StoreConformance, ASinkMayCommitAndWatch) {
  WatchEvents inner = std::make_shared<std::vector<WatchEvent>>();
  std::vector<WatchEvent> outer;
  auto [sink, place] = expect_answer<Result<Revision>>();
  store().watch("", 0, [&, commit_sink = sink](const WatchEvent& event) {
    outer.push_back(event);
    if (outer.size() > 1) return;
    store().watch("b", 0, [inner](WatchEvent e) { inner->push_back(std::move(e)); });
    store().commit(writing({put_of("b", "echo")}), commit_sink);
  });
  put("a", "call");
  wait_for(inner, 1);
  ASSERT_TRUE(under_test().wait_until([&] { return outer.size() == 2; }));
  ASSERT_TRUE(place->has_value() && (*place)->has_value());
  EXPECT_EQ(changes_of(outer[1]), (Changes{***place, {put_of("b", "echo")}}));
  EXPECT_EQ(changes_of(inner->front()), changes_of(outer[1]));
}

}  // namespace tiphys::store
