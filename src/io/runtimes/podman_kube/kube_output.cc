#include "io/runtimes/podman_kube/kube_output.h"

#include "base/base64.h"
#include "base/strings.h"
#include "text/json.h"

namespace tiphys::kube {

std::vector<std::string> parse_played_pods(std::string_view output) {
  std::vector<std::string> pods;
  bool is_among_pods = false;
  for (const auto each : split(output, '\n')) {
    const auto line = trim(each);
    if (line.ends_with(':'))
      is_among_pods = line == "Pod:";
    else if (is_among_pods && !line.empty())
      pods.emplace_back(line);
  }
  return pods;
}

Result<std::string> parse_volume_data(std::string_view output) {
  const auto volumes = parse_json(output, {.other_numbers_as_text = true});
  if (!volumes || volumes->list() == nullptr || volumes->list()->empty())
    return fail(Code::kDataLoss, "podman volume inspect printed no volume");
  const auto labels = volumes->list()->front().child("Labels");
  const auto data = labels ? labels->child("data") : std::nullopt;
  if (!data || data->string() == nullptr)
    return fail(Code::kDataLoss, "the volume has no label 'data'");
  auto text = base64_decode(*data->string(), Base64Padding::kNo);
  if (!text)
    return fail(Code::kDataLoss,
                concat("the label 'data' of the volume is no base64 without padding: ",
                       text.error().message));
  return text;
}

std::string write_pods(const std::vector<std::string>& pods) {
  Tree::List list;
  for (const auto& pod : pods) list.emplace_back(pod);
  return write_json(Tree(std::move(list)), JsonLayout::kCompact);
}

Result<std::vector<std::string>> parse_pods(std::string_view data) {
  const auto parsed = parse_json(data);
  if (!parsed || parsed->list() == nullptr)
    return fail(Code::kDataLoss, "the volume keeps no list of pods");
  std::vector<std::string> pods;
  for (const auto& pod : *parsed->list()) {
    if (pod.string() == nullptr) return fail(Code::kDataLoss, "the volume keeps no list of pods");
    pods.push_back(*pod.string());
  }
  return pods;
}

std::vector<InstanceName> parse_config_volumes(std::string_view output, const AgentName& agent) {
  constexpr std::string_view kSuffix = ".config";
  std::vector<InstanceName> instances;
  for (const auto line : split(output, '\n')) {
    auto name = trim(line);
    if (!name.ends_with(kSuffix)) continue;
    name.remove_suffix(kSuffix.size());
    auto instance = parse_instance_name(name);
    if (instance && instance->agent == agent) instances.push_back(*std::move(instance));
  }
  return instances;
}

std::vector<ListedPod> parse_listed_pods(std::string_view output) {
  std::vector<ListedPod> pods;
  for (const auto each : split(output, '\n')) {
    const auto words = split(trim(each), ' ');
    if (words.size() == 2) pods.push_back({std::string(words[0]), std::string(words[1])});
  }
  return pods;
}

bool is_no_such_pod(const Error& error) {
  return error.message.find("no such pod") != std::string::npos;
}

bool is_no_such_volume(const Error& error) {
  return error.message.find("no such volume") != std::string::npos;
}

bool is_paused(const Error& error) {
  return error.message.find("as it is paused") != std::string::npos;
}

}  // namespace tiphys::kube
