#include "cli/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/strings.h"
#include "cli/ank.h"
#include "cli/table.h"
#include "cli/test_console.h"
#include "text/manifest_fields.h"
#include "text/manifest_schema.h"

namespace tiphys::cli {
namespace {

std::string page(std::string_view field, std::size_t width = 80) {
  return explain(field, width).value();
}

std::string first_line(std::string_view field) {
  const std::string text = page(field);
  return text.substr(0, text.find('\n'));
}

std::string offence(std::string_view field) {
  const auto text = explain(field, 80);
  return text ? concat("found ", *text) : text.error().message;
}

TEST(Explain, ShowsAWord) {
  EXPECT_EQ(page("workload.restartPolicy"),
            R"(workloads.<workload>.restartPolicy (string)

  What happens when it ends by itself.

  Ending it with `ank delete`, or replacing it, is not that.

  Required:  no
  Default:   NEVER

Values:
  NEVER       it stays ended
  ON_FAILURE  it is started again if it failed: its exit code was not 0
  ALWAYS      it is started again, however it ended

Example:
  restartPolicy: ON_FAILURE
)");
}

TEST(Explain, ShowsTheFieldsOfWhatIsInAList) {
  EXPECT_EQ(page("workload.files"), R"(workloads.<workload>.files (list of maps)

  Files that the workload finds in its file system.

  The agent writes them before it creates the workload, and mounts each of them
  read-only. The runtimes podman and containerd have them.

  Required:  no
  Default:   no files

Fields:
  mountPoint  Where the workload sees the file (string, required)
  data        What is in the file, as text (string, this or `binaryData`)
  binaryData  What is in the file, as base64 (string, this or `data`)

Example:
  files:
  - mountPoint: /etc/nginx/extra.conf
    data: |
      gzip on;
  - mountPoint: /usr/share/logo.png
    binaryData: iVBORw0KGgo=
)");
}

TEST(Explain, BeginsWithTheWholeManifest) {
  const std::string text = page("");
  EXPECT_TRUE(text.starts_with("manifest (map)\n")) << text;
  for (const auto* line : {"\n  apiVersion  The version of the format (string, required)\n",
                           "\n  workloads   What shall run, by name (map of maps)\n",
                           "\n  configs     Values that workloads share, by name (map of config "
                           "items)\n"})
    EXPECT_NE(text.find(line), std::string::npos) << text;
}

TEST(Explain, UnderstandsEveryWayToNameAField) {
  for (const auto& [field, line] : std::vector<std::pair<std::string, std::string>>{
           {"apiVersion", "apiVersion (string)"},
           {"workloads", "workloads (map of maps)"},
           {"workload", "workloads.<workload> (map)"},
           {"workloads.nginx", "workloads.<workload> (map)"},
           {"workload.agent", "workloads.<workload>.agent (string)"},
           {"workloads.agent", "workloads.<workload>.agent (string)"},
           {"workloads.agent.runtime", "workloads.<workload>.runtime (string)"},
           {"workloads.<any>.agent", "workloads.<workload>.agent (string)"},
           {"workloads.*.agent", "workloads.<workload>.agent (string)"},
           {"workload.web.agent", "workloads.<workload>.agent (string)"},
           {"desiredState.workloads.web.agent", "workloads.<workload>.agent (string)"},
           {"workload.tags", "workloads.<workload>.tags (map of strings)"},
           {"workload.tags.x", "workloads.<workload>.tags.<key> (string)"},
           {"workload.files[0].data", "workloads.<workload>.files[].data (string)"},
           {"workload.files.data", "workloads.<workload>.files[].data (string)"},
           {"workload.files.1", "workloads.<workload>.files[] (map)"},
           {"workload.controlInterfaceAccess.allowRules.operation",
            "workloads.<workload>.controlInterfaceAccess.allowRules[].operation (string)"},
           {"configs", "configs (map of config items)"},
           {"config", "configs.<config> (string, list or map)"},
           {"configs.c.deeper.and[3].deeper", "configs.<config> (string, list or map)"}}) {
    SCOPED_TRACE(field);
    EXPECT_EQ(first_line(field), line);
  }
}

TEST(Explain, NamesWhatIsNotThereWhatWasMeantAndWhatThereIs) {
  EXPECT_EQ(offence("foo"),
            "there is no field 'foo' in a manifest; there are: apiVersion, workloads, configs");
  EXPECT_EQ(offence("workload.restartpolicy"),
            "there is no field 'restartpolicy' in workloads.<workload>; did you mean "
            "'workload.restartPolicy'? There are: agent, runtime, runtimeConfig, "
            "restartPolicy, dependencies, tags, configs, files, controlInterfaceAccess");
  EXPECT_EQ(offence("mountPoint"),
            "there is no field 'mountPoint' in a manifest; did you mean "
            "'workload.files.mountPoint'? There are: apiVersion, workloads, configs");
  EXPECT_EQ(offence("workload.agent.x"),
            "there is no field 'x' in workloads.<workload>.agent, which has no fields");
  EXPECT_EQ(offence("apiVersion.x"), "there is no field 'x' in apiVersion, which has no fields");
  EXPECT_EQ(
      offence("workload.files.name"),
      "there is no field 'name' in workloads.<workload>.files[]; there are: mountPoint, data, "
      "binaryData");
}

TEST(Explain, HasAPageForEveryFieldThatFitsTheTerminal) {
  std::size_t pages = 0;
  const std::function<void(const FieldSpec&, const std::string&)> visit =
      [&](const FieldSpec& field, const std::string& path) {
        SCOPED_TRACE(path);
        ++pages;
        for (const std::size_t width : {40U, 80U, 200U}) {
          const std::string text = page(path, width);
          // The heading and the example are one thing each, whatever the width.
          const std::size_t begin = text.find('\n') + 1;
          const std::string body = text.substr(begin, text.find("\nExample:") - begin);
          for (const auto line : split(body, '\n'))
            EXPECT_LE(display_width(line), std::min<std::size_t>(width, 100)) << line;
          EXPECT_TRUE(text.ends_with('\n'));
        }
        for (const auto& below : field.below) {
          const std::string name(below.name.empty() ? "0" : below.name);
          visit(below, path.empty() ? name : concat(path, ".", name));
        }
      };
  visit(manifest_fields(), "");
  EXPECT_GT(pages, 30U);
}

// Neither a config file that cannot be read nor a home that is not there is a reason not to explain something.
TEST(Explain, NeedsNoSettings) {
  RecordingConsole console(80);
  EXPECT_EQ(run_ank({"-x", "/nowhere/ank.conf", "explain", "workload.agent"}, {}, console), 0);
  EXPECT_EQ(console.out, page("workload.agent"));
  EXPECT_EQ(console.err, "");
}

TEST(Explain, FailsWithOne) {
  RecordingConsole console;
  EXPECT_EQ(run_ank({"explain", "nothing"}, {}, console), 1);
  EXPECT_EQ(console.out, "");
  EXPECT_EQ(console.err,
            "error: there is no field 'nothing' in a manifest; there are: apiVersion, workloads, "
            "configs\n");
}

TEST(Schema, IsPrintedWithoutAServerAndWithoutSettings) {
  RecordingConsole console;
  EXPECT_EQ(run_ank({"-x", "/nowhere/ank.conf", "schema"}, {}, console), 0);
  EXPECT_EQ(console.out, manifest_schema());
  EXPECT_EQ(console.err, "");
}

}  // namespace
}  // namespace tiphys::cli
