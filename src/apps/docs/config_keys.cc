#include "apps/docs/config_keys.h"

#include "apps/agent_options.h"
#include "apps/server_options.h"

namespace tiphys::apps {
namespace {

constexpr ConfigKey kVersion{.name = "version",
                             .type = "string",
                             .meaning = "The version of the format, \"v1\"",
                             .is_required = true};
constexpr std::string_view kPrecedence =
    "TOML. An option of the command line wins over an environment variable, and that over the "
    "file. Keys that are not listed here are left alone. A file with an error ends the program; "
    "the error names the file and the place in it.";

std::vector<ConfigKey> with_security(std::vector<ConfigKey> keys,
                                     const std::vector<ConfigKey>& tables = {}) {
  const std::vector<ConfigKey> security{
      {.name = "insecure",
       .type = "true or false",
       .meaning = "Speak plain text, without TLS and without certificates",
       .fallback = "false"},
      {.name = "ca_pem", .type = "string", .meaning = "Path of the certificate of the authority"},
      {.name = "crt_pem", .type = "string", .meaning = "Path of the certificate of this program"},
      {.name = "key_pem",
       .type = "string",
       .meaning = "Path of its private key; nobody but its owner may have access to the file"},
      {.name = "ca_pem_content",
       .type = "string",
       .meaning = "The certificate itself, in place of a path"},
      {.name = "crt_pem_content",
       .type = "string",
       .meaning = "The certificate itself, in place of a path"},
      {.name = "key_pem_content",
       .type = "string",
       .meaning = "The private key itself, in place of a path"}};
  keys.insert(keys.end(), security.begin(), security.end());
  keys.insert(keys.end(), tables.begin(), tables.end());
  return keys;
}

}  // namespace

const ConfigFormat& ank_config() {
  static const ConfigFormat kFormat{
      .name = "ank.conf",
      .summary = "config file of ank",
      .details =
          "TOML. An option of the command line wins over an environment variable, and that over "
          "the file. Keys stand at the top level or in a table [default], which fills what the top "
          "level leaves open. Keys that are not listed here are left alone. A file with an error "
          "ends the program; the error names the file and what is wrong with it.",
      .files = {"~/.config/ankaios/ank.conf", "/etc/ankaios/ank.conf"},
      .keys = with_security({kVersion,
                             {.name = "server_url",
                              .type = "string",
                              .meaning = "URL of the server",
                              .fallback = "https://127.0.0.1:25551"},
                             {.name = "response_timeout",
                              .type = "number",
                              .meaning = "Milliseconds to wait for an answer",
                              .fallback = "3000"},
                             {.name = "verbose",
                              .type = "true or false",
                              .meaning = "Print what is done",
                              .fallback = "false"},
                             {.name = "quiet",
                              .type = "true or false",
                              .meaning = "Print results and errors only",
                              .fallback = "false"},
                             {.name = "no_wait",
                              .type = "true or false",
                              .meaning = "Do not wait for workloads to reach their states",
                              .fallback = "false"}}),
      .example =
          "version = \"v1\"\nserver_url = \"https://10.0.0.7:25551\"\n"
          "ca_pem = \"/etc/ankaios/ca.pem\"\ncrt_pem = \"/etc/ankaios/ank.pem\"\n"
          "key_pem = \"/etc/ankaios/ank-key.pem\"",
      .program = "ank(1)"};
  return kFormat;
}

const ConfigFormat& server_config() {
  static const ConfigFormat kFormat{
      .name = "ank-server.conf",
      .summary = "config file of ank-server",
      .details = kPrecedence,
      .files = {kServerConfigFile},
      .keys = with_security({kVersion,
                             {.name = "startup_manifest",
                              .type = "string",
                              .meaning = "Path of the manifest with the state to begin with",
                              .fallback = "none, the cluster begins empty"},
                             {.name = "address",
                              .type = "string",
                              .meaning = "Where to listen: a numeric IPv4 address, or an IPv6 "
                                         "address in brackets, with a port",
                              .fallback = "127.0.0.1:25551"}},
                            {{.name = "name",
                              .type = "string",
                              .meaning = "File name of a program that sees every change first, and "
                                         "may alter it",
                              .is_required = true,
                              .table = "[[mutating_hooks]]"},
                             {.name = "prio",
                              .type = "number from 0 to 255",
                              .meaning = "The lowest runs first; hooks with the same number run in "
                                         "the order of the file",
                              .fallback = "0",
                              .table = "[[mutating_hooks]]"},
                             {.name = "path",
                              .type = "string",
                              .meaning = "The folder that the program is in",
                              .fallback = server::kDefaultHookFolder,
                              .table = "[[mutating_hooks]]"}}),
      .example =
          "version = \"v1\"\naddress = \"0.0.0.0:25551\"\n"
          "startup_manifest = \"/etc/ankaios/state.yaml\"\n"
          "ca_pem = \"/etc/ankaios/ca.pem\"\ncrt_pem = \"/etc/ankaios/server.pem\"\n"
          "key_pem = \"/etc/ankaios/server-key.pem\"\n\n"
          "[[mutating_hooks]]\nname = \"add-defaults\"",
      .program = "ank-server(8)"};
  return kFormat;
}

const ConfigFormat& agent_config() {
  static const ConfigFormat kFormat{
      .name = "ank-agent.conf",
      .summary = "config file of ank-agent",
      .details = kPrecedence,
      .files = {kAgentConfigFile},
      .keys = with_security(
          {kVersion,
           {.name = "name",
            .type = "string",
            .meaning = "Name of this agent, as workloads say it: letters, digits, '-' and '_'. It "
                       "has to be here or on the command line"},
           {.name = "server_url",
            .type = "string",
            .meaning = "Where the server is: http://HOST:PORT or https://HOST:PORT",
            .fallback = "https://127.0.0.1:25551"},
           {.name = "run_folder",
            .type = "string",
            .meaning = "Folder for what workloads share with this agent; one that is named here "
                       "has to exist",
            .fallback = "$TMPDIR/ankaios or /tmp/ankaios, made if missing"},
           {.name = "runtimes",
            .type = "list of strings",
            .meaning = "The runtimes that workloads may use",
            .fallback = "all that there are"},
           {.name = "retries",
            .type = "string",
            .meaning = "How often a creation that fails is tried again: \"limited\", 20 times, one "
                       "second apart, or \"unlimited\", with pauses that grow to 5 minutes",
            .fallback = "limited"}},
          {{.name = "tags",
            .type = "table of strings",
            .meaning = "What the server is told about this agent; a tag on the command line "
                       "replaces the whole table"}}),
      .example =
          "version = \"v1\"\nname = \"agent_A\"\nserver_url = \"https://10.0.0.7:25551\"\n"
          "ca_pem = \"/etc/ankaios/ca.pem\"\ncrt_pem = \"/etc/ankaios/agent.pem\"\n"
          "key_pem = \"/etc/ankaios/agent-key.pem\"\nruntimes = [\"podman\"]\n\n"
          "[tags]\nzone = \"front\"",
      .program = "ank-agent(8)"};
  return kFormat;
}

}  // namespace tiphys::apps
