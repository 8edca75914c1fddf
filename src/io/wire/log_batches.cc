#include "io/wire/log_batches.h"

#include <utility>

#include "base/strings.h"

namespace tiphys::wire {
namespace {

// Stock sets this aside for the heads of the two entries in the list, whatever they take.
constexpr std::size_t kHeadsOfTwo = 10;

std::size_t varint_size(std::size_t value) {
  std::size_t size = 1;
  for (; value >= 0x80U; value >>= 7U) ++size;
  return size;
}

// A field with a number below 16 and its length.
std::size_t head_size(std::size_t length) { return 1 + varint_size(length); }

std::size_t string_size(std::string_view text) {
  return text.empty() ? 0 : head_size(text.size()) + text.size();
}

void mend(std::string& text) { text = with_valid_utf8(std::move(text)); }

void mend(LogEntry& entry) {
  for (auto* text : {&entry.instance.workload.value, &entry.instance.agent.value,
                     &entry.instance.id.value, &entry.message})
    mend(*text);
}

// The longest beginning of at most that many bytes that ends between two characters.
std::size_t whole_characters(std::string_view text, std::size_t most) {
  if (most >= text.size()) return text.size();
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return most;
}

LogEntriesResponse cut(LogEntry entry) {
  LogEntry notice{entry.instance, std::string(kCutNotice)};
  const std::size_t others = encoded_size(entry) - entry.message.size() + encoded_size(notice) +
                             kCutMark.size() + kHeadsOfTwo;
  const std::size_t room = others < kLogBatchLimit ? kLogBatchLimit - others : 0;
  entry.message.resize(whole_characters(entry.message, room));
  entry.message += kCutMark;
  return {{std::move(entry), std::move(notice)}};
}

}  // namespace

std::size_t encoded_size(const LogEntry& entry) {
  const std::size_t name = string_size(entry.instance.workload.value) +
                           string_size(entry.instance.agent.value) +
                           string_size(entry.instance.id.value);
  return (name == 0 ? 0 : head_size(name) + name) + string_size(entry.message);
}

std::vector<LogEntriesResponse> log_batches(LogEntriesResponse response) {
  std::vector<LogEntriesResponse> batches;
  LogEntriesResponse batch;
  std::size_t size = 0;
  const auto finish = [&] {
    if (!batch.entries.empty()) batches.push_back(std::exchange(batch, {}));
    size = 0;
  };
  for (auto& entry : response.entries) {
    mend(entry);
    const std::size_t length = encoded_size(entry);
    if (length > kLogBatchLimit) {
      finish();
      batches.push_back(cut(std::move(entry)));
      continue;
    }
    const std::size_t added = head_size(length) + length;
    if (size + added > kLogBatchLimit) finish();
    batch.entries.push_back(std::move(entry));
    size += added;
  }
  finish();
  if (batches.empty()) batches.emplace_back();
  return batches;
}

}  // namespace tiphys::wire
