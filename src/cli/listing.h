#pragma once

// What `get workloads`, `get agents` and `get configs` show, in each of their formats. Pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "cli/workload_table.h"
#include "model/tree.h"

namespace tiphys::cli {

enum class ListKind : std::uint8_t { kWorkloads, kAgents, kConfigs };

// The columns as one may write them for --sort-by: "workload-name". Those of -o wide count in every
// format, because rows may be sorted by what is not shown.
std::vector<std::string> column_names(ListKind kind);
// A column's header or its key in JSON, in any case, with blanks, '-' or '_' or none between words.
bool is_column(ListKind kind, std::string_view text);
// The text in the form that column_names() has.
std::string column_name(std::string_view text);

// A whole answer, with its last line break. What is sorted by must be a column.
std::string list_workloads(const std::vector<WorkloadRow>& rows, const Tree& complete_state,
                           const Listing& listing, std::size_t width);
std::string list_agents(const Tree& complete_state, const Listing& listing, std::size_t width);
std::string list_configs(const Tree& complete_state, const Listing& listing, std::size_t width);

// The lines of a table of workloads, for who shows it again and again. The format is a table's.
std::vector<std::string> workload_lines(const std::vector<WorkloadRow>& rows,
                                        const Tree& complete_state, const Listing& listing,
                                        std::size_t width);

}  // namespace tiphys::cli
