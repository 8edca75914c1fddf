"""Workloads in real podman, from the manifest to the container and back.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import unittest

import harness
from harness import containers, ids, podman, table, workload


class Workloads(harness.OneAgent, harness.PodmanCase):
    def workload(self, *words, **more):
        return workload(self.name, *words, **more)

    # [stest->swdd~agent-supports-podman~2]
    # [stest->swdd~podman-create-workload-runs-workload~1]
    # [stest->swdd~podman-create-workload-sets-optionally-container-name~1]
    # [stest->swdd~podman-delete-workload-stops-and-removes-workload~1]
    # [stest->swdd~server-supports-cli-argument-for-insecure-communication~1]
    # [stest->swdd~agent-supports-cli-argument-for-insecure-communication~1]
    # [stest->swdd~server-starts-without-startup-config~1]
    def test_apply_list_update_delete(self):
        chosen = self.unique("chosen")
        path = self.file("two.yaml", harness.manifest({"first": self.workload(), "second": self.workload(name=chosen)}))
        shown = self.ank(self.one, "apply", path)
        self.assertIn("Successfully applied the manifest(s).", shown)
        self.assertRegex(shown, r"first .* Running\(Ok\)")

        rows = table(self.ank(self.one, "get", "workloads"))
        self.assertEqual([(row["WORKLOAD NAME"], row["AGENT"], row["RUNTIME"], row["EXECUTION STATE"]) for row in rows],
                         [(name, self.name, "podman", "Running(Ok)") for name in ("first", "second")])
        before = containers(self.name)
        self.assertEqual({each["State"] for each in before.values()}, {"running"})
        instances = {name: f"{name}.{ident}.{agent}" for name, agent, ident, _, _ in self.instances(self.one)}
        self.assertEqual(before["first"]["Names"], [instances["first"]])
        self.assertEqual(before["second"]["Names"], [chosen])

        changed = {"first": self.workload("sleep 2000"), "second": self.workload(name=chosen)}
        self.ank(self.one, "apply", self.file("changed.yaml", harness.manifest(changed)))
        after = containers(self.name)
        self.assertNotEqual(after["first"]["Id"], before["first"]["Id"])
        self.assertEqual(after["second"]["Id"], before["second"]["Id"])
        self.assertEqual(after["first"]["Command"], ["sh", "-c", "sleep 2000"])
        self.assertEqual(self.states(self.one), {"first": "Running(Ok)", "second": "Running(Ok)"})

        self.assertRegex(self.ank(self.one, "delete", "workload", "first"), r"first .* Removed")
        self.assertEqual(list(containers(self.name)), ["second"])
        self.ank(self.one, "apply", "-d", path)
        self.assertEqual(containers(self.name), {})
        self.assertEqual(self.instances(self.one), [])
        self.assertEqual(list((self.worker.run_folder / f"{self.name}_io").iterdir()), [])

        self.assertEqual(self.worker.terminate(), 0, self.worker.log())
        self.assertEqual(self.one.terminate(), 0, self.one.log())
        self.assertEqual(self.worker.session() + self.one.session(), [])

    def test_exit_codes_become_states(self):
        self.apply(self.one, {"fine": self.workload("exit 0"), "three": self.workload("exit 3"), "last": self.workload("exit 255")})
        self.wait_for(self.one, fine="Succeeded(Ok)", three="Failed(ExecFailed)", last="Failed(ExecFailed)")
        self.assertEqual(self.info(self.one, "fine"), "")
        self.assertEqual(self.info(self.one, "three"), "Exit code: '3'")
        self.assertEqual(self.info(self.one, "last"), "Exit code: '255'")

    def test_ends_behind_the_agents_back_are_noticed(self):
        self.apply(self.one, {"killed": self.workload(), "removed": self.workload(), "kept": self.workload()})
        self.wait_for(self.one, killed="Running(Ok)", removed="Running(Ok)", kept="Running(Ok)")
        podman("kill", ids(self.name)["killed"])
        self.wait_for(self.one, killed="Failed(ExecFailed)")
        self.assertEqual(self.info(self.one, "killed"), "Exit code: '137'")
        podman("rm", "--force", "--time", "0", ids(self.name)["removed"])
        self.wait_for(self.one, removed="Failed(Lost)")
        self.assertEqual(self.states(self.one)["kept"], "Running(Ok)")

        # What is gone already can be deleted as well.
        self.ank(self.one, "delete", "workload", "killed", "removed", "kept")
        self.assertEqual(containers(self.name), {})

    def test_two_agents(self):
        other = self.agent(self.one)
        self.apply(self.one, {"here": self.workload(), "there": workload(other.agent_name)})
        self.wait_for(self.one, here="Running(Ok)", there="Running(Ok)")
        self.assertEqual(list(containers(self.name)), ["here"])
        self.assertEqual(list(containers(other.agent_name)), ["there"])
        self.assertEqual({row["NAME"]: row["WORKLOADS"] for row in table(self.ank(self.one, "get", "agents"))},
                         {self.name: "1", other.agent_name: "1"})

        # A workload moves: the one agent deletes it, the other one starts it.
        self.apply(self.one, {"here": workload(other.agent_name)})
        self.wait_until(lambda: set(containers(other.agent_name)) == {"here", "there"} and not containers(self.name), "it moved")
        self.wait_for(self.one, here="Running(Ok)", there="Running(Ok)")
        self.assertEqual({agent for _, agent, _, _, _ in self.instances(self.one)}, {other.agent_name})


class Retries(harness.OneAgent, harness.PodmanCase):
    def setUp(self):
        super().setUp()
        self.missing = f"localhost/{self.unique('missing')}:1"

    def impatient(self):
        """Wants an image that is not there, and asks no registry for it."""
        wanted = workload(self.name, image=self.missing)
        return wanted | {"runtimeConfig": wanted["runtimeConfig"].replace("--network=none", "--pull=never")}

    # [stest->swdd~agent-workload-control-loop-retries-workload-creation-on-create-failure~1]
    # [stest->swdd~agent-workload-control-loop-requests-retries-on-failing-retry-attempt~1]
    # [stest->swdd~agent-workload-control-loop-executes-retry~1]
    def test_workload_starts_once_its_image_is_there(self):
        self.apply(self.one, {"early": self.impatient()})
        self.wait_until(lambda: (self.info(self.one, "early") or "").startswith("Retry 2 of 20: "), "a second retry")
        self.assertIn(self.missing, self.info(self.one, "early"))
        self.assertEqual(self.states(self.one), {"early": "Pending(Starting)"})
        self.addCleanup(podman, "untag", self.missing, self.missing)
        podman("tag", harness.IMAGE, self.missing)
        self.wait_for(self.one, early="Running(Ok)")
        self.assertEqual(containers(self.name)["early"]["State"], "running")

    # [stest->swdd~agent-workload-control-loop-prevents-retries-on-other-workload-commands~1]
    def test_update_and_delete_end_retries(self):
        self.apply(self.one, {"updated": self.impatient(), "deleted": self.impatient()})
        self.wait_until(lambda: all("Retry" in (self.info(self.one, name) or "") for name in ("updated", "deleted")), "retries")
        self.ank(self.one, "delete", "workload", "deleted")
        self.apply(self.one, {"updated": workload(self.name)})
        self.wait_for(self.one, updated="Running(Ok)", deleted=None)
        self.addCleanup(podman, "untag", self.missing, self.missing)
        podman("tag", harness.IMAGE, self.missing)      # a retry that is still on its way would start now
        self.apply(self.one, {"later": self.impatient()})
        self.wait_for(self.one, updated="Running(Ok)", later="Running(Ok)", deleted=None)
        self.assertEqual(set(containers(self.name)), {"updated", "later"})


if __name__ == "__main__":
    unittest.main()
