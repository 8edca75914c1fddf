#include "io/runtimes/commands/container_arguments.h"

#include <cstring>

#include "base/strings.h"
#include "shell/owner_labels.h"

namespace tiphys::commands {
namespace {

void append(Arguments& arguments, const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

std::string mount_option(const shell::Mount& mount) {
  return concat("--mount=type=bind,source=", mount.host_path, ",destination=", mount.container_path,
                mount.read_only ? ",readonly=true" : "");
}

void append_labels(Arguments& arguments, shell::Labels labels) {
  const auto append_label = [&arguments](const std::string& key, const std::string& value) {
    arguments.push_back(concat("--label=", key, "=", value));
  };
  for (const auto* first : {shell::kInstanceLabel, shell::kAnkaiosAgentLabel})
    if (const auto label = labels.extract(first); !label.empty())
      append_label(label.key(), label.mapped());
  for (const auto& [key, value] : labels) append_label(key, value);
}

// [impl->swdd~podman-create-workload-sets-optionally-container-name~1]
// [impl->swdd~podman-create-workload-creates-labels~1]
Arguments make_arguments(const std::vector<std::string>& command, const shell::Owner& owner,
                         const shell::ContainerSpec& spec) {
  Arguments arguments = spec.general_options;
  append(arguments, command);
  // In one argument: a name that begins with a dash is no option, and the engine says what it thinks of it.
  arguments.push_back(concat("--name=", spec.name));
  append(arguments, spec.create_options);
  for (const auto& mount : spec.mounts) arguments.push_back(mount_option(mount));
  shell::Labels labels = shell::owner_labels(owner);
  labels.insert(spec.labels.begin(), spec.labels.end());
  append_labels(arguments, std::move(labels));
  arguments.push_back(spec.image);
  append(arguments, spec.arguments);
  return arguments;
}

}  // namespace

Arguments run_arguments(const shell::Owner& owner, const shell::ContainerSpec& spec) {
  return make_arguments({"run", "--detach"}, owner, spec);
}

Arguments create_arguments(const shell::Owner& owner, const shell::ContainerSpec& spec) {
  return make_arguments({"create"}, owner, spec);
}

Arguments start_arguments(const std::vector<std::string>& general_options,
                          const shell::ContainerId& container) {
  Arguments arguments = general_options;
  append(arguments, {"start", container.value});
  return arguments;
}

Arguments kill_arguments(const shell::ContainerId& container, int signal) {
  // nerdctl knows signals by their names only.
  const char* name = ::sigabbrev_np(signal);
  return {"kill", concat("--signal=", name == nullptr ? std::to_string(signal) : name),
          container.value};
}

std::string shown(std::string_view program, const Arguments& arguments) {
  std::string text(program);
  for (const auto& argument : arguments) text += concat(" \"", argument, "\"");
  return text;
}

}  // namespace tiphys::commands
