"""Programs that are killed and come back find what they left.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import unittest

import harness
from harness import containers, ids, podman, workload


class Recovery(harness.PodmanCase):
    def two(self, agent):
        return {"first": workload(agent), "second": workload(agent)}

    def restarted(self, server, agent):
        return self.agent(server, agent.agent_name, run_folder=agent.run_folder)

    def test_agent_is_killed(self):
        server = self.server()
        agent = self.agent(server)
        self.apply(server, self.two(agent.agent_name) | {"ending": workload(agent.agent_name)})
        self.wait_for(server, first="Running(Ok)", second="Running(Ok)", ending="Running(Ok)")
        before = ids(agent.agent_name)

        agent.kill()
        self.wait_for(server, first="AgentDisconnected", second="AgentDisconnected", ending="AgentDisconnected")
        self.assertEqual(ids(agent.agent_name), before)
        self.assertEqual(containers(agent.agent_name)["first"]["State"], "running")
        podman("rm", "--force", "--time", "0", before.pop("second"))    # nobody sees it

        again = self.restarted(server, agent)
        self.wait_for(server, first="Running(Ok)", second="Running(Ok)", ending="Running(Ok)")
        after = ids(agent.agent_name)
        self.assertEqual({name: after[name] for name in before}, before)
        podman("kill", before["ending"])
        self.wait_for(server, ending="Failed(ExecFailed)")
        self.ank(server, "delete", "workload", "first", "second", "ending")
        self.assertEqual(containers(agent.agent_name), {})
        self.assertTrue(again.lives())

    def test_agent_is_killed_while_a_container_takes_its_time_to_stop(self):
        """What it began goes on without it, though podman has a warning to give and nobody reads it."""
        server = self.server()
        agent = self.agent(server)
        name = agent.agent_name
        # The first process of a container ignores a signal that it did not ask for.
        self.apply(server, {"slow": workload(name, options=["--stop-signal=TERM", "--stop-timeout=2"])})
        self.wait_for(server, slow="Running(Ok)")
        self.ank(server, "--no-wait", "delete", "workload", "slow")
        self.wait_until(lambda: containers(name)["slow"]["State"] == "stopping", "podman stops it")
        agent.kill()
        self.wait_until(lambda: containers(name)["slow"]["State"] == "exited", "it has stopped")
        self.restarted(server, agent)
        self.wait_until(lambda: containers(name) == {}, "it is removed")

    # [stest->swdd~agent-existing-workloads-replace-updated~2]
    def test_changes_while_the_agent_is_away(self):
        server = self.server()
        agent = self.agent(server)
        name = agent.agent_name
        self.apply(server, {**self.two(name), "third": workload(name)})
        self.wait_for(server, first="Running(Ok)", second="Running(Ok)", third="Running(Ok)")
        before = ids(name)
        agent.kill()
        self.wait_for(server, first="AgentDisconnected")
        self.apply(server, {"second": workload(name, "sleep 2000"), "fourth": workload(name)})
        self.ank(server, "--no-wait", "delete", "workload", "third")

        self.restarted(server, agent)
        self.wait_for(server, first="Running(Ok)", second="Running(Ok)", fourth="Running(Ok)", third=None)
        self.wait_until(lambda: set(ids(name)) == {"first", "second", "fourth"}, "unneeded containers are gone")
        after = containers(name)
        self.assertEqual(after["first"]["Id"], before["first"])
        self.assertNotEqual(after["second"]["Id"], before["second"])
        self.assertEqual(after["second"]["Command"], ["sh", "-c", "sleep 2000"])

    def test_server_is_killed_and_starts_with_the_same_manifest(self):
        name = self.unique("stest")
        self.agents.append(name)
        path = self.file("startup.yaml", harness.manifest(self.two(name)))
        server = self.server("--startup-manifest", path)
        agent = self.agent(server, name)
        self.wait_for(server, first="Running(Ok)", second="Running(Ok)")
        before = ids(name)

        server.kill()
        podman("kill", before["second"])        # reported to the next server
        again = self.server("--startup-manifest", path, port=server.port)
        self.wait_for(again, first="Running(Ok)", second="Failed(ExecFailed)")
        self.assertEqual(ids(name), before)
        self.assertTrue(agent.lives())
        self.ank(again, "delete", "workload", "first", "second")
        self.assertEqual(containers(name), {})


if __name__ == "__main__":
    unittest.main()
