"""Kubernetes manifests in real podman, from the manifest to the pods and back.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import json
import unittest

import harness
import kube
from engines import STAYS, STAYS_TOO
from harness import podman
from kube import pod


class Kube(harness.OneAgent, kube.KubeCase):
    def workload(self, *pods, **more):
        return kube.workload(self.name, *pods, **more)

    # [stest->swdd~agent-supports-podman-kube-runtime~1]
    # [stest->swdd~podman-kube-create-workload-apply-manifest~1]
    # [stest->swdd~podman-kube-create-workload-creates-config-volume~1]
    # [stest->swdd~podman-kube-create-workload-creates-pods-volume~1]
    # [stest->swdd~podman-kube-delete-workload-downs-manifest-file~1]
    # [stest->swdd~podman-kube-delete-removes-volumes~1]
    def test_apply_update_delete(self):
        first, second = self.pod_name(), self.pod_name()
        wanted = self.workload(pod(first, STAYS, STAYS), pod(second, STAYS))
        shown = self.ank(self.one, "apply", self.file("kube.yaml", harness.manifest({"web": wanted})))
        self.assertRegex(shown, r"web .* podman-kube .* Running\(Ok\)")
        before = self.pods()
        self.assertEqual(set(before), {first, second})
        (_, _, ident, _, _), = self.instances(self.one)
        instance = f"web.{ident}.{self.name}"
        self.assertEqual(self.volumes(), {f"{instance}.config": wanted["runtimeConfig"].strip(),
                                          f"{instance}.pods": json.dumps(list(before.values()), separators=(",", ":"))})

        changed = self.workload(pod(first, STAYS_TOO))
        self.ank(self.one, "apply", self.file("changed.yaml", harness.manifest({"web": changed})))
        self.assertEqual(self.states(self.one), {"web": "Running(Ok)"})
        self.assertEqual(set(self.pods()), {first})
        self.assertNotEqual(self.pods()[first], before[first])
        self.assertEqual(len(self.volumes()), 2)

        self.assertRegex(self.ank(self.one, "delete", "workload", "web"), r"web .* Removed")
        self.assertEqual((self.pods(), self.volumes()), ({}, {}))

    def test_containers_become_states(self):
        self.apply(self.one, {"fine": self.workload(pod(self.pod_name(), "exit 0")),
                              "three": self.workload(pod(self.pod_name(), STAYS, "exit 3")),
                              "stays": self.workload(pod(self.pod_name(), "exit 0", STAYS))})
        self.wait_for(self.one, fine="Succeeded(Ok)", three="Failed(ExecFailed)", stays="Running(Ok)")
        self.assertEqual(self.info(self.one, "three"), "Exit code: '3'")
        podman("kill", f"{self.pod_names[2]}-c1")
        self.wait_for(self.one, stays="Failed(ExecFailed)")
        self.assertEqual(self.info(self.one, "stays"), "Exit code: '137'")

    def test_bad_configs_are_refused_for_good(self):
        self.apply(self.one, {"empty": self.workload() | {"runtimeConfig": "playOptions: []"},
                              "list": self.workload() | {"runtimeConfig": "manifest: []"}})
        self.wait_for(self.one, empty="Pending(StartingFailed)", list="Pending(StartingFailed)")
        self.assertEqual(self.info(self.one, "empty"), "runtimeConfig: line 1, column 1: missing field `manifest`")
        self.assertEqual(self.info(self.one, "list"),
                         "runtimeConfig: line 1, column 11: manifest: expected a string, found a list")

    def test_agent_is_started_again(self):
        self.apply(self.one, {"kept": self.workload(pod(self.pod_name(), STAYS)),
                              "failed": self.workload(pod(self.pod_name(), STAYS))})
        self.wait_for(self.one, kept="Running(Ok)", failed="Running(Ok)")
        before = self.pods()
        self.worker.kill()
        podman("pause", f"{self.pod_names[1]}-c0")
        self.worker = self.agent(self.one, name=self.name)
        # What runs is kept; what is in no state to go on is played anew.
        self.wait_until(lambda: self.pods().get(self.pod_names[1], before[self.pod_names[1]]) != before[self.pod_names[1]], "another pod")
        self.wait_for(self.one, kept="Running(Ok)", failed="Running(Ok)")
        self.assertEqual(self.pods()[self.pod_names[0]], before[self.pod_names[0]])

        # What it found is watched and can be deleted.
        podman("kill", f"{self.pod_names[0]}-c0")
        self.wait_for(self.one, kept="Failed(ExecFailed)")
        self.ank(self.one, "delete", "workload", "kept", "failed")
        self.assertEqual((self.pods(), self.volumes()), ({}, {}))

    def test_workload_starts_once_its_image_is_there(self):
        missing = f"localhost/{self.unique('missing')}:1"
        self.apply(self.one, {"early": self.workload(pod(self.pod_name(), STAYS), pod(self.pod_name(), STAYS, image=missing))})
        self.wait_until(lambda: (self.info(self.one, "early") or "").startswith("Retry 2 of 20: "), "a second retry")
        self.assertIn(missing, self.info(self.one, "early"))
        self.addCleanup(podman, "untag", missing, missing)
        podman("tag", harness.IMAGE, missing)
        self.wait_for(self.one, early="Running(Ok)")
        self.assertEqual(len(self.pods()), 2)

    def test_another_pod_of_the_same_name_is_left_alone(self):
        name = self.pod_name()
        self.apply(self.one, {"first": self.workload(pod(name, STAYS))})
        self.wait_for(self.one, first="Running(Ok)")
        before = self.pods()
        self.apply(self.one, {"second": self.workload(pod(name, STAYS_TOO))})
        self.wait_until(lambda: "Retry 2 of 20: " in (self.info(self.one, "second") or ""), "a second retry")
        self.assertIn("already exists", self.info(self.one, "second"))
        self.ank(self.one, "delete", "workload", "second")
        self.assertEqual(self.pods(), before)
        self.assertEqual(self.states(self.one), {"first": "Running(Ok)"})

    def test_pods_that_are_gone_can_be_updated_and_deleted(self):
        self.apply(self.one, {"web": self.workload(pod(self.pod_name(), STAYS), pod(self.pod_name(), STAYS))})
        self.wait_for(self.one, web="Running(Ok)")
        podman("pod", "rm", "--force", "--time", "0", self.pod_names[0])
        self.wait_for(self.one, web="Failed(Unknown)")
        self.assertEqual(self.info(self.one, "web"), "unknown container state")
        self.ank(self.one, "apply", self.file("next.yaml", harness.manifest({"web": self.workload(pod(self.pod_names[0], STAYS_TOO))})))
        self.assertEqual(list(self.pods()), [self.pod_names[0]])
        podman("pod", "rm", "--force", "--time", "0", self.pod_names[0])
        # Without any pod it is reported as removed already, so there is nothing that ank could wait for.
        self.wait_until(lambda: self.states(self.one).get("web") in (None, "Removed"), "it is seen to be gone")
        self.ank(self.one, "delete", "workload", "web")
        self.wait_until(lambda: "web." not in podman("volume", "ls", "--filter", f"name={self.name}", "--format={{.Name}}"),
                        "its volumes are gone")


if __name__ == "__main__":
    unittest.main()
