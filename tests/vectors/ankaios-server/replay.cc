#include "replay.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <utility>
#include <vector>

#include "apps/server_options.h"
#include "base/strings.h"
#include "io/link/link_limits.h"
#include "server_under_test.h"

namespace tiphys::vectors {
namespace {

// Longer runs of one character are written as {{repeat:c:n}}.
constexpr std::size_t kLongRun = 256;

// Every text in a message, keys too, through a function.
template <class Change>
Json with_texts(const Json& json, const Change& change) {
  if (json.is_string()) return change(json.get<std::string>());
  if (json.is_array()) {
    Json list = Json::array();
    for (const auto& item : json) list.push_back(with_texts(item, change));
    return list;
  }
  if (!json.is_object()) return json;
  Json map = Json::object();
  for (const auto& [key, value] : json.items()) map[change(key)] = with_texts(value, change);
  return map;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// {{repeat:c:n}} is c, n times.
std::string unfold(std::string text) {
  static const std::regex kRepeat(R"(\{\{repeat:(.):([0-9]+)\}\})");
  for (std::smatch match; text.find("{{repeat:") != std::string::npos;) {
    if (!std::regex_search(text, match, kRepeat)) return text;
    const std::string run(std::stoul(match[2]), match.str(1)[0]);
    text = match.prefix().str() + run + match.suffix().str();
  }
  return text;
}

std::string fold(const std::string& text) {
  std::string folded;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find_first_not_of(text[begin], begin);
    if (end == std::string::npos) end = text.size();
    folded += end - begin < kLongRun ? text.substr(begin, end - begin)
                                     : concat("{{repeat:", text.substr(begin, 1), ":",
                                              std::to_string(end - begin), "}}");
    begin = end;
  }
  return folded;
}

// The names that the server gives to connections, by those of the scenario.
class Names {
 public:
  void opened(const std::string& peer, const std::string& as) { kinds_[peer] = as; }

  // What was received, with placeholders for the names. A name that was not seen before belongs to the first peer of
  // its kind in what is expected that is not known yet.
  Json with_placeholders(const Json& received, const Json& expected) {
    if (const std::string wanted = expected.dump(); wanted.find("{{conn:") != std::string::npos)
      learn(received.dump(), wanted);
    return with_texts(received, [this](std::string text) {
      for (const auto& [name, peer] : peers_) replace_all(text, name, placeholder(peer));
      return text;
    });
  }

  [[nodiscard]] Json with_names(const Json& message) const {
    return with_texts(message, [this](std::string text) {
      for (const auto& [name, peer] : peers_) replace_all(text, placeholder(peer), name);
      return unfold(std::move(text));
    });
  }

 private:
  static std::string placeholder(const std::string& peer) { return concat("{{conn:", peer, "}}"); }

  void learn(const std::string& received, const std::string& expected) {
    static const std::regex kName("(cli|commander)-conn-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
    static const std::regex kPlaceholder(R"(\{\{conn:([^}]*)\}\})");
    for (std::sregex_iterator name(received.begin(), received.end(), kName), end; name != end;
         ++name) {
      if (peers_.contains(name->str())) continue;
      const std::string as = name->str(1) == "cli" ? "cli" : "command";
      for (std::sregex_iterator peer(expected.begin(), expected.end(), kPlaceholder); peer != end;
           ++peer) {
        const std::string candidate = peer->str(1);
        if (known_.contains(candidate) || kinds_[candidate] != as) continue;
        peers_[name->str()] = candidate;
        known_.insert(candidate);
        break;
      }
    }
  }

  std::map<std::string, std::string> kinds_;
  std::map<std::string, std::string> peers_;  // by the name that the server gave
  std::set<std::string> known_;
};

const std::string kFolderPlaceholder = "{{dir}}";

// The private folder of a scenario, with its files.
class Folder {
 public:
  explicit Folder(const Json& scenario) {
    std::string pattern = ::testing::TempDir() + "vectors-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    if (!scenario.contains("files")) return;
    for (const auto& [name, file] : scenario["files"].items()) {
      const std::string written = write(name, file["text"]);
      ::chmod(written.c_str(),
              static_cast<mode_t>(std::stoul(file["mode"].get<std::string>(), nullptr, 8)));
    }
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string write(const std::string& name, std::string text) const {
    const std::string file = concat(path_, "/", name);
    replace_all(text, kFolderPlaceholder, path_);
    std::ofstream(file) << text;
    return file;
  }
  [[nodiscard]] std::vector<server::Hook> hooks(const Json& config) const {
    if (config.is_null()) return {};
    const auto options = apps::read_server_options({"-k", "-x", write("config.toml", config)},
                                                   [](const char*) { return std::nullopt; });
    EXPECT_TRUE(options) << options.error().text;
    return options ? options->hooks : std::vector<server::Hook>();
  }

 private:
  std::string path_;
};

class Replay {
 public:
  explicit Replay(const Json& scenario)
      : folder_(scenario),
        server_(scenario["startup_manifest"].is_null()
                    ? std::nullopt
                    : std::optional(scenario["startup_manifest"].get<std::string>()),
                folder_.hooks(scenario.value("config_toml", Json())), folder_.path()) {
    if (!server_.refusal().empty()) {
      differences_[0] = Json{{"refusal", server_.refusal()}};
      return;
    }
    const Json& steps = scenario["steps"];
    for (std::size_t i = 0; i < steps.size(); ++i) perform(i, steps[i]);
  }

  [[nodiscard]] Differences differences() const { return differences_; }

 private:
  void perform(std::size_t number, const Json& step) {
    if (step.contains("open"))
      open(step);
    else if (step.contains("send"))
      server_.send(step["send"], to_server_bytes(names_.with_names(step["message"])));
    else if (step.contains("send_raw"))
      server_.send(step["send_raw"], bytes_of_hex(step["hex"]));
    else if (step.contains("close"))
      close(step["close"], step["how"]);
    else if (step.contains("stall"))
      server_.stall(step["stall"]);
    else
      expect(number, step);
  }

  void open(const Json& step) {
    const std::string peer = step["open"];
    const std::string as = step["as"];
    names_.opened(peer, as);
    const bool is_agent = as.starts_with("agent:");
    Json hello;
    if (is_agent) {
      hello["agentHello"] = {{"agentName", as.substr(6)}, {"protocolVersion", "1.1.0"}};
      if (step.contains("tags")) hello["agentHello"]["tags"] = {{"tags", step["tags"]}};
    } else {
      hello["commanderHello"] = {{"protocolVersion", "1.1.0"}};
    }
    if (step.contains("hello")) hello = step["hello"];
    server_.open(peer,
                 is_agent      ? link::kConnectAgent
                 : as == "cli" ? link::kConnectCli
                               : link::kConnectCommand,
                 hello.is_null() ? std::nullopt : std::optional(to_server_bytes(hello)));
  }

  void close(const std::string& peer, const std::string& how) {
    if (how == "goodbye")
      server_.send(peer, to_server_bytes(Json{{"goodbye", Json::object()}}));
    else if (how == "half_close")
      server_.half_close(peer);
    else if (how == "cancel")
      server_.cancel(peer);
    else
      server_.cut(peer);
  }

  void expect(std::size_t number, const Json& step) {
    server_.settle();
    Window window = server_.take(step["expect"]);
    const Json received = with_texts(names_.with_placeholders(window.messages, step["messages"]),
                                     [this](std::string text) {
                                       replace_all(text, folder_.path(), kFolderPlaceholder);
                                       return text;
                                     });
    const Json closed = window.closed.value_or(Json());
    const auto in_order = [&](const Json& messages) {
      Json list = Json::array();
      for (const auto& message : messages) list.push_back(normal(message));
      if (step["order"] == "any") std::sort(list.begin(), list.end());
      return list;
    };
    if (in_order(received) == in_order(with_texts(step["messages"], unfold)) &&
        closed == step.value("closed", Json()))
      return;
    Json observed{{"messages", with_texts(in_order(received), fold)}};
    if (window.closed) observed["closed"] = closed;
    differences_[number] = std::move(observed);
  }

  static std::string bytes_of_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return bytes;
  }

  Folder folder_;
  ServerUnderTest server_;
  Names names_;
  Differences differences_;
};

}  // namespace

Differences replay(const Json& scenario) { return Replay(scenario).differences(); }

Json normal(Json message) {
  static const std::set<std::string> kUnordered{"addedWorkloads", "deletedWorkloads",
                                                "workloadStates", "addedFields",
                                                "updatedFields",  "removedFields"};
  if (message.is_array())
    for (auto& item : message) item = normal(std::move(item));
  if (!message.is_object()) return message;
  for (auto& [key, value] : message.items()) {
    value = normal(std::move(value));
    if (value.is_array() && kUnordered.contains(key)) std::sort(value.begin(), value.end());
  }
  return message;
}

bool forget_repeated_states(Json& scenario) {
  bool forgot = false;
  Json& steps = scenario["steps"];
  for (std::size_t begin = 0; begin < steps.size();) {
    // A group: what is done, then what everybody expects.
    std::set<std::string> agents;  // that are opened in it
    bool only_opens = true;
    std::size_t at = begin;
    for (; at < steps.size() && !steps[at].contains("expect"); ++at) {
      only_opens = only_opens && steps[at].contains("open");
      if (only_opens && steps[at]["as"].get<std::string>().starts_with("agent:"))
        agents.insert(steps[at]["open"].get<std::string>());
    }
    for (; at < steps.size() && steps[at].contains("expect"); ++at) {
      if (!only_opens || agents.empty()) continue;
      Json kept = Json::array();
      bool is_own = agents.contains(steps[at]["expect"].get<std::string>());
      for (const auto& message : steps[at]["messages"]) {
        if (is_own || !message.contains("updateWorkloadState")) kept.push_back(message);
        // The agent's own come before its ServerHello.
        is_own = is_own && !message.contains("serverHello");
      }
      forgot = forgot || kept.size() != steps[at]["messages"].size();
      steps[at]["messages"] = std::move(kept);
    }
    begin = at;
  }
  return forgot;
}

}  // namespace tiphys::vectors
