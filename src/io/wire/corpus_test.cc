// Reads tests/vectors/grpc_api.hex.txt: bytes that were put together from the field numbers of the contract. They show
// that our .proto files say what the contract says, because nothing generated from them took part in making the bytes.

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/match.h"
#include "base/strings.h"
#include "io/wire/wire.h"

namespace tiphys::wire {
namespace {

std::string in_quotes(std::string_view text) { return concat("'", text, "'"); }

template <class Items, class Describe>
std::string listed(const Items& items, Describe describe) {
  std::vector<std::string> texts;
  texts.reserve(items.size());
  for (const auto& item : items) texts.push_back(describe(item));
  return concat("[", join(texts, ","), "]");
}

std::string describe(const std::vector<std::string>& texts) { return listed(texts, in_quotes); }

std::string describe(const Tree& tree) {
  if (const auto* text = tree.string()) return in_quotes(*text);
  if (const auto* number = tree.number()) return std::to_string(*number);
  if (const auto* list = tree.list())
    return listed(*list, [](const Tree& item) { return describe(item); });
  std::vector<std::string> texts;
  tree.entries().for_each([&](const std::string& key, const Tree& value) {
    texts.push_back(concat(key, "=", describe(value)));
  });
  return concat("{", join(texts, ","), "}");
}

std::string describe(const Tags& tags) {
  std::vector<std::string> texts;
  for (const auto& [key, value] : tags) texts.push_back(concat(key, "=", in_quotes(value)));
  return concat("{", join(texts, ","), "}");
}

std::string describe(const std::vector<InstanceName>& instances) {
  return listed(instances, [](const InstanceName& instance) { return to_string(instance); });
}

std::string describe(const UpdateWorkloadState& update) {
  return "UpdateWorkloadState " + listed(update.states, [](const WorkloadState& state) {
           return concat(to_string(state.instance), " ", to_string(state.state));
         });
}

std::string describe(const LogsRequest& request) {
  std::string text = describe(request.instances);
  if (request.follow) text += *request.follow ? " follow=true" : " follow=false";
  if (request.tail) text += concat(" tail=", std::to_string(*request.tail));
  if (request.since) text += concat(" since=", in_quotes(*request.since));
  if (request.until) text += concat(" until=", in_quotes(*request.until));
  return text;
}

std::string describe(const LogEntriesResponse& response) {
  return listed(response.entries, [](const LogEntry& entry) {
    return concat(to_string(entry.instance), " ", in_quotes(entry.message));
  });
}

std::string describe(const Request& request) {
  return concat("Request ", in_quotes(request.id), " ",
                match(
                    request.content,
                    [](const UpdateStateRequest& update) {
                      return concat("UpdateState masks=", describe(update.update_masks),
                                    " state=", describe(update.new_state));
                    },
                    [](const CompleteStateRequest& read) {
                      return concat("CompleteState masks=", describe(read.field_masks),
                                    read.subscribe_for_events ? " subscribe" : "");
                    },
                    [](const LogsRequest& logs) { return "Logs " + describe(logs); },
                    [](const LogsCancelRequest&) { return std::string("LogsCancel"); },
                    [](const EventsCancelRequest&) { return std::string("EventsCancel"); }));
}

std::string describe(const CompleteStateResponse& response) {
  std::string text = concat("CompleteState ", response.empties == Empties::kKeep ? "keep=" : "",
                            describe(response.complete_state));
  if (const auto& altered = response.altered_fields)
    text += concat(" added=", describe(altered->added), " updated=", describe(altered->updated),
                   " removed=", describe(altered->removed));
  return text;
}

std::string describe(const Response& response) {
  return concat(
      "Response ", in_quotes(response.id), " ",
      match(
          response.content,
          [](const ErrorResponse& error) { return "Error " + in_quotes(error.message); },
          [](const CompleteStateResponse& state) { return describe(state); },
          [](const UpdateStateSuccess& success) {
            return concat("UpdateStateSuccess added=", describe(success.added_workloads),
                          " deleted=", describe(success.deleted_workloads));
          },
          [](const LogsRequestAccepted& accepted) {
            return "LogsRequestAccepted " + describe(accepted.instances);
          },
          [](const LogEntriesResponse& entries) { return "LogEntries " + describe(entries); },
          [](const LogsStopResponse& stop) { return "LogsStop " + to_string(stop.instance); },
          [](const LogsCancelAccepted&) { return std::string("LogsCancelAccepted"); },
          [](const EventsCancelAccepted&) { return std::string("EventsCancelAccepted"); }));
}

std::string describe(const std::vector<WorkloadSpecPtr>& added) {
  return "added=" + listed(added, [](const WorkloadSpecPtr& spec) {
           return concat(to_string(spec->instance()), " ", describe(Tree(spec)));
         });
}

std::string describe(const DeletedWorkload& deleted) {
  std::vector<std::string> texts;
  texts.reserve(deleted.dependencies.size());
  for (const auto& [name, condition] : deleted.dependencies)
    texts.push_back(concat(name, "=", to_string(condition)));
  return concat(to_string(deleted.instance), " {", join(texts, ","), "}");
}

std::string describe(const ToServer& message) {
  return match(
      message,
      [](const AgentHello& hello) {
        return concat("AgentHello agent=", in_quotes(hello.agent),
                      " version=", in_quotes(hello.protocol_version),
                      " tags=", describe(hello.tags));
      },
      [](const UpdateWorkloadState& update) { return describe(update); },
      [](const Request& request) { return describe(request); },
      [](const Goodbye&) { return std::string("Goodbye"); },
      [](const AgentLoadStatus& load) {
        return concat("AgentLoadStatus agent=", in_quotes(load.agent),
                      " cpu=", std::to_string(load.status.cpu_usage),
                      " memory=", std::to_string(load.status.free_memory));
      },
      [](const CommanderHello& hello) {
        return "CommanderHello version=" + in_quotes(hello.protocol_version);
      },
      [](const LinkLogEntries& entries) {
        return concat("LogEntries ", in_quotes(entries.request_id), " ", describe(entries.entries));
      },
      [](const LinkLogsStop& stop) {
        return concat("LogsStop ", in_quotes(stop.request_id), " ", to_string(stop.stop.instance));
      });
}

std::string describe(const FromServer& message) {
  return match(
      message,
      [](const UpdateWorkload& update) {
        return concat("UpdateWorkload ", describe(update.added),
                      " deleted=", listed(update.deleted, [](const DeletedWorkload& deleted) {
                        return describe(deleted);
                      }));
      },
      [](const UpdateWorkloadState& update) { return describe(update); },
      [](const Response& response) { return describe(response); },
      [](const ServerHello& hello) { return "ServerHello " + describe(hello.added); },
      [](const LinkLogsRequest& request) {
        return concat("LogsRequest ", in_quotes(request.request_id), " ",
                      describe(request.request));
      },
      [](const LinkLogsCancel& cancel) { return "LogsCancel " + in_quotes(cancel.request_id); },
      [](const StatesOfOthers& others) {
        return describe(UpdateWorkloadState{others.states.of_all_but(others.recipient)});
      });
}

struct Line {
  bool we_write_the_same;
  std::string message;
  std::string bytes;
  std::string meaning;
};

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (const auto digits : split(hex, ' '))
    bytes.push_back(static_cast<char>(std::stoi(std::string(digits), nullptr, 16)));
  return bytes;
}

std::vector<Line> corpus() {
  std::ifstream file("tests/vectors/grpc_api.hex.txt");
  std::vector<Line> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto columns = split(line, '|');
    lines.push_back({trim(columns.at(0)) == "both", std::string(trim(columns.at(1))),
                     bytes_of(trim(columns.at(2))), std::string(trim(columns.at(3)))});
  }
  return lines;
}

template <class Message>
void check(const Line& line, const Result<Message>& decoded, std::set<std::size_t>& seen) {
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(describe(*decoded), line.meaning);
  const std::string again = encode(*decoded);
  if (line.we_write_the_same)
    EXPECT_EQ(again, line.bytes);
  else
    EXPECT_NE(again, line.bytes);
  seen.insert(decoded->index());
}

TEST(Corpus, MeansWhatTheFieldNumbersSay) {
  std::set<std::size_t> to_server;
  std::set<std::size_t> from_server;
  for (const auto& line : corpus()) {
    SCOPED_TRACE(line.meaning);
    if (line.message == "ToServer")
      check(line, decode_to_server(line.bytes), to_server);
    else if (line.message == "FromServer")
      check(line, decode_from_server(line.bytes), from_server);
    else
      ADD_FAILURE() << "unknown message " << line.message;
  }
  EXPECT_EQ(to_server.size(), std::variant_size_v<ToServer>);
  // The states of others are one more way to say UpdateWorkloadState.
  EXPECT_EQ(from_server.size() + 1, std::variant_size_v<FromServer>);
}

}  // namespace
}  // namespace tiphys::wire
