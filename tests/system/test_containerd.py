"""Workloads in real containerd, through nerdctl, from the manifest to the container and back.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import os
import pathlib
import signal
import subprocess
import unittest

import containerd
import harness
from harness import IMAGE, table


class Workloads(containerd.ContainerdCase):
    def test_apply_list_update_delete(self):
        path = self.file("two.yaml", harness.manifest({"first": self.workload(), "second": self.workload()}))
        self.assertRegex(self.ank(self.one, "apply", path), r"first .* Running\(Ok\)")
        rows = table(self.ank(self.one, "get", "workloads"))
        self.assertEqual([(row["WORKLOAD NAME"], row["AGENT"], row["RUNTIME"], row["EXECUTION STATE"]) for row in rows],
                         [(name, self.name, "containerd", "Running(Ok)") for name in ("first", "second")])
        before = self.containers()
        self.assertEqual({each["State"]["Status"] for each in before.values()}, {"running"})
        instances = {name: f"{name}.{ident}.{agent}" for name, agent, ident, _, _ in self.instances(self.one)}
        self.assertEqual({name: each["Name"] for name, each in before.items()}, instances)

        changed = {"first": self.workload("sleep 2000"), "second": self.workload()}
        self.ank(self.one, "apply", self.file("changed.yaml", harness.manifest(changed)))
        after = self.containers()
        self.assertNotEqual(after["first"]["Id"], before["first"]["Id"])
        self.assertEqual(after["first"]["Args"], ["-c", "sleep 2000"])
        self.assertEqual(after["second"]["Id"], before["second"]["Id"])

        self.assertRegex(self.ank(self.one, "delete", "workload", "first"), r"first .* Removed")
        self.assertEqual(list(self.containers()), ["second"])
        self.ank(self.one, "apply", "-d", path)
        self.assertEqual(self.containers(), {})
        self.assertEqual(self.instances(self.one), [])
        self.assertNotIn("WARN", self.worker.log())
        self.assertEqual(self.worker.terminate(), 0, self.worker.log())

    def test_exit_codes_become_states(self):
        self.apply(self.one, {"fine": self.workload("exit 0"), "three": self.workload("sleep 0.3; exit 3"),
                              "last": self.workload("exit 255")})
        self.wait_for(self.one, fine="Succeeded(Ok)", three="Failed(ExecFailed)", last="Failed(ExecFailed)")
        self.assertEqual([self.info(self.one, name) for name in ("fine", "three", "last")],
                         ["", "Exit code: '3'", "Exit code: '255'"])

    def test_ends_behind_the_agents_back_are_noticed(self):
        self.apply(self.one, {"killed": self.workload(), "removed": self.workload(), "kept": self.workload()})
        self.wait_for(self.one, killed="Running(Ok)", removed="Running(Ok)", kept="Running(Ok)")
        os.kill(self.processes()["killed"], signal.SIGKILL)
        self.wait_for(self.one, killed="Failed(ExecFailed)")
        self.assertEqual(self.info(self.one, "killed"), "Exit code: '137'")
        self.nerdctl("rm", "--force", self.ids()["removed"])
        self.wait_for(self.one, removed="Failed(Lost)")
        self.assertEqual(self.states(self.one)["kept"], "Running(Ok)")

        # What is gone already can be deleted as well.
        self.ank(self.one, "delete", "workload", "killed", "removed", "kept")
        self.assertEqual(self.containers(), {})

    def test_a_missing_image_is_named_and_used_once_it_is_there(self):
        missing = f"localhost/{self.unique('missing')}:1"
        self.apply(self.one, {"early": self.workload(image=missing)})
        self.wait_until(lambda: (self.info(self.one, "early") or "").startswith("Retry 2 of 20: "), "a second retry")
        self.assertIn(f'failed to resolve reference \\"{missing}\\"', self.info(self.one, "early"))
        self.assertIn("Execution of 'nerdctl \"run\" \"--detach\" ", self.info(self.one, "early"))
        self.assertEqual(self.states(self.one), {"early": "Pending(Starting)"})
        self.nerdctl("tag", IMAGE, missing)
        self.wait_for(self.one, early="Running(Ok)")
        self.nerdctl("rmi", "--force", missing)

    def test_a_failed_creation_does_not_block_the_next(self):
        """nerdctl leaves a container behind whose program it could not start."""
        broken = self.workload("exit 0") | {"runtimeConfig": f"image: {IMAGE}\ncommandOptions: [--network=none]\ncommandArgs: [nope]"}
        self.apply(self.one, {"broken": broken})
        self.wait_until(lambda: (self.info(self.one, "broken") or "").startswith("Retry 2 of 20: "), "a second retry")
        self.assertIn('executable file not found', self.info(self.one, "broken"))
        self.assertNotIn("already used", self.info(self.one, "broken"))
        self.ank(self.one, "delete", "workload", "broken")
        self.assertEqual(self.containers(), {})

    def test_with_a_network(self):
        config = self.workload("ip addr show eth0 && sleep 1000")
        self.apply(self.one, {"net": config | {"runtimeConfig": config["runtimeConfig"].replace("- --network=none\n", "")}})
        self.wait_for(self.one, net="Running(Ok)")
        self.wait_until(lambda: "inet " in self.nerdctl("logs", self.ids()["net"]), "it has an address")
        self.ank(self.one, "delete", "workload", "net")
        self.assertEqual(self.containers(), {})

    def test_two_agents(self):
        other = self.agent(self.one)
        self.apply(self.one, {"here": self.workload(), "there": self.workload(agent=other.agent_name)})
        self.wait_for(self.one, here="Running(Ok)", there="Running(Ok)")
        self.assertEqual(list(self.containers()), ["here"])
        self.assertEqual(list(self.containers(other.agent_name)), ["there"])

        # A workload moves: the one agent deletes it, the other one starts it.
        self.apply(self.one, {"here": self.workload(agent=other.agent_name)})
        self.wait_until(lambda: set(self.containers(other.agent_name)) == {"here", "there"} and not self.containers(), "it moved")
        self.wait_for(self.one, here="Running(Ok)", there="Running(Ok)")


class Recovery(containerd.ContainerdCase):
    def test_agent_is_killed(self):
        names = ("first", "second", "ending", "done")
        scripts = dict.fromkeys(names, "sleep 1000") | {"done": "exit 0"}
        self.apply(self.one, {name: self.workload(scripts[name]) for name in names})
        self.wait_for(self.one, first="Running(Ok)", second="Running(Ok)", ending="Running(Ok)", done="Succeeded(Ok)")
        before = self.ids()
        self.worker.kill()
        self.wait_for(self.one, first="AgentDisconnected", second="AgentDisconnected")
        self.assertEqual(self.ids(), before)
        self.nerdctl("rm", "--force", before["second"])    # nobody sees it

        self.agent(self.one, name=self.name, run_folder=self.worker.run_folder)
        self.wait_for(self.one, first="Running(Ok)", second="Running(Ok)", ending="Running(Ok)", done="Succeeded(Ok)")
        after = self.ids()
        self.assertNotEqual(after.pop("second"), before.pop("second"))
        self.assertEqual(after, before)
        self.nerdctl("kill", before["ending"])
        self.wait_for(self.one, ending="Failed(ExecFailed)")
        self.ank(self.one, "delete", "workload", *names)
        self.assertEqual(self.containers(), {})

    def test_changes_while_the_agent_is_away(self):
        self.apply(self.one, {"kept": self.workload(), "changed": self.workload(), "unneeded": self.workload()})
        self.wait_for(self.one, kept="Running(Ok)", changed="Running(Ok)", unneeded="Running(Ok)")
        before = self.ids()
        self.worker.kill()
        self.wait_for(self.one, kept="AgentDisconnected")
        self.apply(self.one, {"changed": self.workload("sleep 2000"), "new": self.workload()})
        self.ank(self.one, "--no-wait", "delete", "workload", "unneeded")

        self.agent(self.one, name=self.name, run_folder=self.worker.run_folder)
        self.wait_for(self.one, kept="Running(Ok)", changed="Running(Ok)", new="Running(Ok)", unneeded=None)
        self.wait_until(lambda: set(self.ids()) == {"kept", "changed", "new"}, "unneeded containers are gone")
        after = self.ids()
        self.assertEqual(after["kept"], before["kept"])
        self.assertNotEqual(after["changed"], before["changed"])


class Missing(harness.Case):
    """An agent on a machine without nerdctl."""

    def test_says_what_is_missing_and_nothing_before_it_matters(self):
        server = self.server()
        folder = self.folder / "no-programs"
        folder.mkdir()
        config = self.file("agent.toml", "version = 'v1'\nruntimes = ['containerd']\n")
        agent = self.agent(server, words=("-x", config), environment={"PATH": str(folder)})
        self.assertNotIn("WARN", agent.log())
        self.apply(server, {"web": harness.workload(agent.agent_name, runtime="containerd")})
        self.wait_until(lambda: (self.info(server, "web") or "").startswith("Retry 1 of 20: "), "a retry")
        self.assertRegex(self.info(server, "web"), r"Retry \d+ of 20: Error: '.*No such file or directory'\. "
                                                   r"Could not spawn command 'nerdctl \"run\" .*'\. Is nerdctl installed and in PATH\?")
        self.ank(server, "delete", "workload", "web")
        self.assertEqual(self.instances(server), [])
        self.assertNotIn("WARN", agent.log())


class Environment(unittest.TestCase):
    def test_takes_away_what_was_left_in_it(self):
        left = containerd.Containerd()
        folder = pathlib.Path(left.environment["NERDCTL_TOML"]).parent
        run = subprocess.run(["nerdctl", "run", "--detach", "--network=none", IMAGE], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, env=harness.clean_environment() | left.environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        shim, = containerd.shims(folder.name)
        below = pathlib.Path(f"/proc/{shim}/task/{shim}/children").read_text().split()
        self.assertNotEqual(below, [])
        left.end()
        self.assertEqual(containerd.shims(folder.name), [])
        self.assertEqual([process for process in below if lives(process)], [])
        self.assertFalse(folder.exists())
        self.assertNotIn(str(folder), pathlib.Path("/proc/self/mountinfo").read_text())


def lives(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
