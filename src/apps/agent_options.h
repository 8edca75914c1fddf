#pragma once

// What ank-agent is told by its command line, its environment and its config file, in this order of weight.

#include <sys/types.h>
#include <unistd.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "apps/arguments.h"
#include "io/link/security.h"
#include "model/names.h"
#include "model/state.h"

namespace tiphys::apps {

inline constexpr const char* kAgentConfigFile = "/etc/ankaios/ank-agent.conf";

struct AgentOptions {
  AgentName name;
  std::string server_url = "https://127.0.0.1:25551";
  std::optional<std::string> run_folder{};  // none: the default one
  Tags tags{};
  link::SecurityOptions security{};
  std::set<std::string> runtimes{};  // that workloads may use; never empty
  bool retries_without_end = false;  // of creations that fail
  std::vector<std::string> warnings{};
};

const Program& agent_program();

// `runtimes` are those that this program has, in the order in which they are named to users.
OrStop<AgentOptions> read_agent_options(const std::vector<std::string>& arguments,
                                        const host::Environment& environment,
                                        const std::vector<std::string>& runtimes,
                                        const std::string& default_file = kAgentConfigFile);

// $TMPDIR/ankaios or /tmp/ankaios
std::string default_run_folder(const host::Environment& environment);

// Whether both name the same folder, as far as the words tell: a slash at the end does not count.
bool is_same_folder(const std::string& one, const std::string& other);

// Makes the folder of this agent, <base folder>/<agent>_io, and says where it is, from the root. The default base is made
// too, for agents of all users; one that a user named has to be there. Since others may write in the base, the folder of the
// agent has to be a real one of this user, and the default base must not be somebody else's link.
OrStop<std::string> prepare_run_folder(const std::string& base_folder, bool is_default,
                                       const AgentName& agent, uid_t user = ::geteuid());

}  // namespace tiphys::apps
