"""What takes minutes; only `./test --long` runs it.

    $(tools/setup --python) tools/run-unittests tests/system/long
"""

import pathlib
import signal
import subprocess
import sys
import time
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import frames  # noqa: E402
import harness  # noqa: E402
import stub  # noqa: E402
import test_away  # noqa: E402
import test_kills  # noqa: E402
import test_many  # noqa: E402

A_MINUTE = 65   # seconds; longer than any of our limits and periods


class Thousand(test_many.Many):
    COUNT = 1000
    PAUSE = 2


class ServerUnderLoad(unittest.TestCase):
    """The short version is a test program of its own, server_load_test."""

    def test_for_a_minute(self):
        run = subprocess.run([harness.PROGRAMS.parent / "tests/server_load_test"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             env=harness.clean_environment() | {"TIPHYS_LOAD_SECONDS": "60"})
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        print(*[line for line in run.stdout.splitlines() if "events" in line or "bytes in use" in line], sep="\n")


class AwayForAMinute(test_away.Away):
    """The same, but nobody comes back early."""

    def wait_for_missed_server(self, agent):
        super().wait_for_missed_server(agent)
        time.sleep(A_MINUTE)

    def test_server_is_stopped(self):
        """It is there and does not speak."""
        server = self.server()
        agent = self.agent(server)
        name = agent.agent_name
        self.apply(server, {"same": stub.workload(name), "dying": stub.workload(name)})
        self.wait_for(server, same="Running(Ok)", dying="Running(Ok)")
        before = self.podman.ids()
        server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(server.process.send_signal, signal.SIGCONT)
        self.assertIn("timed out", self.ank(server, "get", "workloads", code=1))
        self.wait_for_missed_server(agent)
        self.podman.kill("dying")
        server.process.send_signal(signal.SIGCONT)
        self.wait_for(server, same="Running(Ok)", dying="Failed(ExecFailed)")
        self.assertEqual(self.podman.ids(), before)

    def test_what_an_agent_did_not_live_to_report_is_forgotten(self):
        server = self.server()
        agent = self.agent(server)
        name = agent.agent_name
        self.apply(server, {"same": stub.workload(name), "target": stub.workload(name)})
        self.wait_for(server, same="Running(Ok)", target="Running(Ok)")
        self.podman.pause_at("rm:done")
        self.ank(server, "--no-wait", "delete", "workload", "target")
        self.wait_until(self.podman.reached, "podman has removed it")
        agent.kill()
        self.podman.go_on()
        self.agent(server, name)
        self.wait_for(server, same="Running(Ok)", target="AgentDisconnected")
        time.sleep(A_MINUTE)
        self.wait_for(server, same="Running(Ok)", target=None)


class KilledAtEveryCall:
    """Of a real engine; the quick tests choose a few."""

    CREATE = ["run:begin", "run:done"]
    DELETE = ["stop:begin", "stop:done", "rm:begin", "rm:done"]

    def setUp(self):
        super().setUp()
        self.STEPS = {"apply": self.CREATE, "update": self.DELETE + self.CREATE, "delete": self.DELETE}


class KilledAtEveryCallPodman(KilledAtEveryCall, test_kills.KillsPodman):
    """podman"""


class KilledAtEveryCallContainerd(KilledAtEveryCall, test_kills.KillsContainerd):
    """containerd"""


class KilledAtEveryCallKube(KilledAtEveryCall, test_kills.KillsKube):
    """podman-kube"""

    CREATE = ["volume-create:begin", "volume-create:done", "kube-play:begin", "kube-play:done"]
    DELETE = ["kube-down:begin", "kube-down:done", "volume-rm:begin", "volume-rm:done"]


class KilledAtMessages(test_kills.Kills):
    """As at the steps of podman, but at the messages between the programs."""

    def one(self, operation, victim, step):
        link, direction, number = step
        cluster = test_kills.Cluster(self, operation)
        middleman = frames.Middleman(cluster.server.port)
        self.addCleanup(middleman.close)
        url = cluster.server.url
        if link == "agent":
            cluster.agent.kill()
            cluster.start_agent(types.SimpleNamespace(url=middleman.url, cli=None), connected=False)
            self.wait_for(cluster.server, **dict.fromkeys(cluster.before, "Running(Ok)"))
        else:
            url = middleman.url
        middleman.hold(direction, number)
        cluster.begin(url)
        self.wait_until(lambda: middleman.held.is_set() or cluster.cli.poll() is not None, "the message comes, or there are fewer")
        cluster.kill(victim, None)
        middleman.go_on.set()
        cluster.restart(victim)
        cluster.apply_again()
        self.arrives(cluster, cluster.after)
        self.assertEqual(self.id_of_kept(cluster), cluster.kept_id)
        cluster.end()


def remove_tests(owner):
    for name in [name for name in dir(test_kills.Kills) if name.startswith("test_")]:
        setattr(owner, name, None)


remove_tests(KilledAtMessages)
for chosen in "apply", "update", "delete":
    for killed in "agent", "server", "cli":
        def test(self, operation=chosen, victim=killed):
            self.through([(operation, victim, (link, direction, number)) for link in ("agent", "cli")
                          for direction in (frames.UP, frames.DOWN) for number in range(1, 5)])
        setattr(KilledAtMessages, f"test_{chosen}_{killed}_at_messages", test)


if __name__ == "__main__":
    unittest.main()
