#pragma once

// Log entries in messages that every peer takes: a collector never gets more than 2 MiB at once. Cut as stock cuts them,
// to the byte.
//
// A batch takes as many entries as fit. An entry that is too long by itself loses the end of its text, says so, and is
// followed in its batch by an entry that says why; nothing else stands in that batch.

#include <cstddef>
#include <string_view>
#include <vector>

#include "model/messages.h"

namespace tiphys::wire {

inline constexpr std::size_t kLogBatchLimit = std::size_t{2}
                                              << 20U;  // of an encoded LogEntriesResponse
inline constexpr std::string_view kCutMark = " [truncated]";
inline constexpr std::string_view kCutNotice =
    "The previous message was truncated due to exceeding the maximum 2 MB size.";

// At least one batch: a list without entries is passed on too. Text that is not UTF-8 is mended first, as every encoder
// does it.
std::vector<LogEntriesResponse> log_batches(LogEntriesResponse response);

// Of the encoded message.
std::size_t encoded_size(const LogEntry& entry);

}  // namespace tiphys::wire
