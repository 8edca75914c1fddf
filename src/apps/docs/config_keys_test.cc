#include "apps/docs/config_keys.h"

#include <gtest/gtest.h>

#include "apps/agent_options.h"
#include "apps/server_options.h"
#include "apps/test_environment.h"
#include "base/strings.h"
#include "cli/settings.h"

namespace tiphys::apps {
namespace {

class ConfigKeysTest : public FolderTest {
 protected:
  // What the program says of a file, or nothing.
  std::string refusal(const ConfigFormat& format, const std::string& text) {
    const std::string config = file("some.conf", text);
    const std::vector<std::string> runtimes{"podman"};
    const auto environment = environment_of({});
    if (&format == &ank_config()) {
      const auto read = cli::parse_config_file(text, config);
      return read ? "" : read.error().message;
    }
    if (&format == &server_config()) {
      const auto read = read_server_options({"-x", config}, environment);
      return read ? "" : read.error().text;
    }
    const auto read = read_agent_options({"-n", "a", "-x", config}, environment, runtimes);
    return read ? "" : read.error().text;
  }
};

// A list of lists fits none of them, so a program that reads the key must refuse it, and name it.
TEST_F(ConfigKeysTest, AreThoseThatTheProgramsRead) {
  for (const auto* format : {&ank_config(), &server_config(), &agent_config()})
    for (const auto& key : format->keys) {
      SCOPED_TRACE(concat(format->name, ": ", key.name));
      std::string text = key.name == "version" ? "" : "version = 'v1'\n";
      if (!key.table.empty()) text += concat(key.table, "\n");
      if (!key.table.empty() && key.name != "name") text += "name = 'hook'\n";
      text += concat(key.name, " = [[1]]\n");
      EXPECT_NE(refusal(*format, text).find(key.name), std::string::npos) << refusal(*format, text);
    }
}

TEST_F(ConfigKeysTest, HaveExamplesThatTheProgramsRead) {
  for (const auto* format : {&ank_config(), &server_config(), &agent_config()})
    EXPECT_EQ(refusal(*format, std::string(format->example)), "") << format->name;
}

}  // namespace
}  // namespace tiphys::apps
