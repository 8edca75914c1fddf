#include "io/runtimes/podman_kube/manifest_injection.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/strings.h"

namespace tiphys::kube {
namespace {

constexpr const char* kPod = R"(apiVersion: v1
kind: Pod
metadata:
  name: kp
spec:
  restartPolicy: Never
  containers:
  - name: c1
    image: img.local/demo:1
)";

Result<std::string> inject(std::string_view manifest, const std::optional<std::string>& target) {
  return inject_control_interface(manifest, target, "/run/x/control_interface");
}

std::string text_of(const Result<std::string>& result) {
  return result ? *result : concat("error: ", result.error().message);
}

TEST(ManifestInjection, GivesThePodAVolumeAndTheContainerAMount) {
  EXPECT_EQ(text_of(inject(kPod, "kp/c1")), R"(apiVersion: v1
kind: Pod
metadata:
  name: kp
spec:
  restartPolicy: Never
  containers:
  - name: c1
    image: img.local/demo:1
    volumeMounts:
    - name: control-interface-volume
      mountPath: /run/ankaios/control_interface
  volumes:
  - name: control-interface-volume
    hostPath:
      path: /run/x/control_interface
      type: Directory
)");
}

TEST(ManifestInjection, AddsToWhatIsThereAndKeepsTheOtherDocuments) {
  EXPECT_EQ(text_of(inject(R"(---
apiVersion: v1
kind: ConfigMap
metadata: {name: cm}
data:
  k: "yes"
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: dep
spec:
  template:
    spec:
      containers:
        - name: x
          image: i
        - name: y
          image: i
          volumeMounts:
            - name: old
              mountPath: /old
      volumes:
      - name: old
        emptyDir: {}
---
)",
                           "dep-pod/y")),
            R"(apiVersion: v1
kind: ConfigMap
metadata:
  name: cm
data:
  k: 'yes'
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: dep
spec:
  template:
    spec:
      containers:
      - name: x
        image: i
      - name: y
        image: i
        volumeMounts:
        - name: old
          mountPath: /old
        - name: control-interface-volume
          mountPath: /run/ankaios/control_interface
      volumes:
      - name: old
        emptyDir: {}
      - name: control-interface-volume
        hostPath:
          path: /run/x/control_interface
          type: Directory
)");
}

TEST(ManifestInjection, AListWithoutAValueIsAnEmptyOne) {
  const auto manifest = inject(
      "kind: Pod\nmetadata: {name: kp}\nspec:\n  volumes:\n  containers:\n  - name: c1\n"
      "    volumeMounts: null\n",
      "kp/c1");
  EXPECT_EQ(text_of(manifest), R"(kind: Pod
metadata:
  name: kp
spec:
  volumes:
  - name: control-interface-volume
    hostPath:
      path: /run/x/control_interface
      type: Directory
  containers:
  - name: c1
    volumeMounts:
    - name: control-interface-volume
      mountPath: /run/ankaios/control_interface
)");
}

TEST(ManifestInjection, SaysWhyItCannotBe) {
  struct Row {
    std::string_view manifest;
    std::optional<std::string> target;
    std::string_view message;
  };
  const std::string format = "'. Expected format: '<pod_name>/<container_name>'";
  const std::string wrong_format = "Invalid control interface target format: '";
  const std::vector<Row> rows = {
      {kPod, std::nullopt, "Control interface target not specified in runtime config."},
      {kPod, "kp/zz", "Cannot add Control Interface. Target container 'zz' not found."},
      {kPod, "zz/c1", "Cannot add Control Interface. Target pod not found 'zz'"},
      {"", "kp/c1", "Cannot add Control Interface. Target pod not found 'kp'"},
      {"kind: Deployment\nmetadata: {name: dep}\n", "dep/y",
       "Cannot add Control Interface. Target pod not found 'dep'"},
      {"kind: Pod\nmetadata: {name: kp}\nspec: {initContainers: [{name: i}], containers: []}\n",
       "kp/i", "Cannot add Control Interface. Target container 'i' not found."},
      {"metadata: {name: kp}\n", "kp/c1", "Manifest missing 'kind' field"},
      {"kind: [Pod]\n", "kp/c1", "Manifest missing 'kind' field"},
      {"just text\n", "kp/c1", "Manifest missing 'kind' field"},
      {"kind: Pod\n", "kp/c1", "Manifest missing metadata.name"},
      {"kind: Pod\nmetadata: {name: 5}\n", "kp/c1", "Manifest missing metadata.name"},
      {"kind: Pod\nmetadata: {name: kp}\nspec: {}\n", "kp/c1", "Manifest missing spec.containers"},
      {"kind: Pod\nmetadata: {name: kp}\nspec: {containers: x}\n", "kp/c1",
       "Manifest missing spec.containers"},
      {"kind: Pod\nmetadata: {name: kp}\nspec: {containers: [{image: i}]}\n", "kp/c1",
       "Container missing name field"},
      {"kind: Pod\nmetadata: {name: kp}\nspec:\n  volumes: x\n  containers: [{name: c1}]\n",
       "kp/c1",
       "Cannot add Control Interface. 'volumes' in line 4, column 12 of the manifest is not a "
       "list."},
  };
  for (const auto& [manifest, target, message] : rows)
    EXPECT_EQ(text_of(inject(manifest, target)), concat("error: ", message)) << manifest;
  for (const auto* target : {"", "kp", "kp/c1/x"})
    EXPECT_EQ(text_of(inject(kPod, target)), concat("error: ", wrong_format, target, format));
  const auto broken = text_of(inject("a: [", "kp/c1"));
  EXPECT_TRUE(broken.starts_with("error: Failed to parse YAML manifest: line ")) << broken;
}

TEST(ManifestInjection, WhatStandsBehindTheTargetNeedNotBeUnderstood) {
  EXPECT_TRUE(inject(concat(kPod, "---\nodd: true\n"), "kp/c1"));
  EXPECT_EQ(text_of(inject(concat("odd: true\n---\n", kPod), "kp/c1")),
            "error: Manifest missing 'kind' field");
}

}  // namespace
}  // namespace tiphys::kube
