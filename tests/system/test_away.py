"""A server or an agent that is away for a while, and a wall clock that jumps.

    $(tools/setup --python) tools/run-unittests -k 'Away*' tests/system
"""

import re
import time
import unittest

import engines
import harness
import stub


class Away(stub.Case):
    def manifest(self, name, **workloads):
        return self.file(f"{self.unique('m')}.yaml", harness.manifest({key: stub.workload(name, *words) for key, words in workloads.items()}))

    def test_server_is_away_and_comes_back_with_other_workloads(self):
        name = self.unique("stest")
        server = self.server("-m", self.manifest(name, same=[], changed=["one"], deleted=[], dying=[]))
        agent = self.agent(server, name)
        self.wait_for(server, same="Running(Ok)", changed="Running(Ok)", deleted="Running(Ok)", dying="Running(Ok)")
        before = self.podman.ids()
        server.kill()
        self.wait_for_missed_server(agent)
        self.podman.kill("dying")
        self.assertEqual(self.podman.ids(), before)

        again = self.server("-m", self.manifest(name, same=[], changed=["two"], dying=[], added=[]), port=server.port)
        self.wait_for(again, same="Running(Ok)", changed="Running(Ok)", added="Running(Ok)", dying="Failed(ExecFailed)", deleted=None)
        self.wait_until(lambda: set(self.podman.ids()) == {"same", "changed", "dying", "added"}, "unwanted containers are gone")
        after = self.podman.ids()
        self.assertEqual((after["same"], after["dying"]), (before["same"], before["dying"]))
        self.assertEqual([command for key, _, _, _, command in self.podman.containers() if key == "changed"], [["two"]])
        self.assertEqual(len(self.podman.containers()), 4)

    def test_agent_is_away_while_everything_changes(self):
        server = self.server()
        agent = self.agent(server)
        name = agent.agent_name
        self.apply(server, {key: stub.workload(name) for key in ("same", "changed", "deleted", "dying")})
        self.wait_for(server, same="Running(Ok)", changed="Running(Ok)", deleted="Running(Ok)", dying="Running(Ok)")
        before = self.podman.ids()
        agent.kill()
        self.wait_for(server, same="AgentDisconnected")
        self.podman.kill("dying")
        self.apply(server, {"changed": stub.workload(name, "two"), "added": stub.workload(name)})
        self.ank(server, "--no-wait", "delete", "workload", "deleted")
        self.agent(server, name)
        self.wait_for(server, same="Running(Ok)", changed="Running(Ok)", added="Running(Ok)", deleted=None)
        self.wait_until(lambda: set(self.podman.ids()) == {"same", "changed", "dying", "added"}, "unwanted containers are gone")
        self.assertEqual(self.podman.ids()["same"], before["same"])
        self.assertEqual(len(self.podman.containers()), 4)


class WithEngines:
    """The server is away; what happens to containers meanwhile is told when it is back."""

    def test_server_is_away(self):
        name = self.unique("stest")
        self.agents.append(name)
        workload = self.engine.workload
        waits = "while [ ! -e /go ]; do sleep 0.1; done; exit 3"
        same = {"kept": workload(name), "ending": workload(name, engines.ENDS_WELL), "failing": workload(name, waits),
                "restarted": workload(name, restart="ALWAYS")}
        names = [*same, "deleted"]
        server = self.server("-m", self.file("before.yaml", harness.manifest(same | {"deleted": workload(name)})))
        agent = self.agent(server, name)
        self.wait_for(server, **dict.fromkeys(names, "Running(Ok)"))
        before = self.engine.ids(name)

        server.kill()
        self.wait_for_missed_server(agent)
        self.engine.signal(name, "restarted", "KILL")
        self.engine.signal(name, "ending", "TERM")
        self.engine.inside(name, "failing", "touch", "/go")
        self.wait_until(lambda: self.engine.ids(name).get("restarted") not in (None, before["restarted"]),
                        "restarts need no server")
        kept = {each for each in names if each != "restarted"}
        self.assertEqual({each: self.engine.ids(name)[each] for each in kept}, {each: before[each] for each in kept})

        again = self.server("-m", self.file("after.yaml", harness.manifest(same | {"added": workload(name)})), port=server.port)
        self.wait_for(again, kept="Running(Ok)", ending="Succeeded(Ok)", failing="Failed(ExecFailed)",
                      restarted="Running(Ok)", added="Running(Ok)", deleted=None)
        self.assertEqual(self.info(again, "failing"), "Exit code: '3'")
        self.wait_until(lambda: set(self.engine.ids(name)) == {*same, "added"}, "unwanted containers are gone")
        after = self.engine.ids(name)
        for each in "kept", "failing", "ending":
            self.assertEqual(after[each], before[each], each)
        self.assertTrue(agent.lives())


class AwayPodman(WithEngines, engines.PodmanCase):
    """podman"""


class AwayKube(WithEngines, engines.KubeCase):
    """podman-kube"""


class AwayContainerd(WithEngines, engines.ContainerdCase):
    """containerd"""


class Clock(stub.Case):
    """Timers go on whatever the wall clock shows: reconnecting, retries, restarts."""

    YEAR = 365 * 24 * 3600

    def setUp(self):
        super().setUp()
        self.clock = self.file("clock", "0")
        self.shown = {"OTHER_CLOCK": str(self.clock), "LD_PRELOAD": str(stub.PROGRAM.parent / "other_clock.so")}

    def set_clock(self, seconds):
        self.file("clock.new", str(seconds)).rename(self.clock)

    def test_jumps(self):
        for seconds in -10 * self.YEAR, 10 * self.YEAR:
            with self.subTest(seconds=seconds):
                self.set_clock(0)
                server = self.server(environment=self.shown)
                agent = self.agent(server, environment=self.shown)
                name = agent.agent_name
                self.podman.fail("run", "not now")
                self.apply(server, {"late": stub.workload(name)})
                self.wait_until(lambda: "Retry 1 of" in (self.info(server, "late") or ""), "the first retry")
                self.set_clock(seconds)
                self.wait_until(lambda: "Retry 3 of" in (self.info(server, "late") or ""), "the third retry")
                self.podman.succeed()
                self.wait_for(server, late="Running(Ok)")
                self.apply(server, {"restless": stub.workload(name, "exit", "1", restart="ALWAYS")})
                self.wait_until(lambda: len(self.podman.ids()) == 2, "both were started")

                server.kill()
                self.wait_for_missed_server(agent)
                self.set_clock(0)       # and back again while it waits to connect
                again = self.server(port=server.port, environment=self.shown)
                self.wait_until(lambda: name in self.connected_agents(again), "the agent is connected")
                years = set(re.findall(r"^\[(\d{4})-", agent.log(), re.MULTILINE))
                self.assertIn(time.gmtime(time.time() + seconds).tm_year, map(int, years), "the clock was another")
                for program in agent, again:
                    self.assertEqual(program.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
