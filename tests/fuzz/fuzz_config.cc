// Any bytes are a config file of the server and of the agent, or are refused in words that a terminal can show.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "apps/agent_options.h"
#include "apps/server_options.h"
#include "base/check.h"
#include "base/strings.h"

namespace {

// A file that is never on a disk; one for all inputs.
std::string file_with(const std::uint8_t* data, std::size_t size) {
  static const int kFile = ::memfd_create("config", MFD_CLOEXEC);
  TIPHYS_CHECK(kFile >= 0 && ::ftruncate(kFile, 0) == 0 &&
                   ::pwrite(kFile, data, size, 0) == static_cast<ssize_t>(size),
               "there is memory for the file");
  return tiphys::concat("/proc/self/fd/", std::to_string(kFile));
}

template <class Options>
void check(const tiphys::apps::OrStop<Options>& options) {
  if (options) return;
  TIPHYS_CHECK(!options.error().text.empty(), "refused without a reason");
  TIPHYS_CHECK(tiphys::is_valid_utf8(options.error().text), "the reason is not UTF-8");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = file_with(data, size);
  const auto nothing_set = [](const char*) { return std::optional<std::string>(); };
  check(tiphys::apps::read_server_options({"-x", path}, nothing_set));
  const auto agent = tiphys::apps::read_agent_options({"-x", path}, nothing_set, {"podman"});
  check(agent);
  if (agent) TIPHYS_CHECK(!agent->runtimes.empty(), "an agent that can run nothing");
  return 0;
}
