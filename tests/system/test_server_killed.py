"""The server is killed while it is busy, and comes back with its startup manifest: no container notices.

    $(tools/setup --python) tools/run-unittests -k 'ServerKilled.*' tests/system
"""

import contextlib
import subprocess
import threading
import time
import unittest

import harness
import stub
from harness import peers
from test_mixed import Stock, address, member


def setUpModule():
    peers.build()


class Load:
    """Commands that change and read the state one after the other, until it is told to end; some fail when the server is killed."""

    def __init__(self, case, server, workloads):
        self.command = [harness.PROGRAMS / "ank", "-k", "-s", server.url]
        self.manifest = case.file(f"{case.unique('load')}.yaml", harness.manifest(workloads))
        self.names = list(workloads)
        self.environment = harness.clean_environment() | {"HOME": str(case.folder)}
        self.ends = threading.Event()
        self.rounds = 0
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        case.addCleanup(self.end)

    def run(self):
        while not self.ends.is_set():
            for words in ["--no-wait", "apply", self.manifest], ["get", "workloads"], ["--no-wait", "delete", "workload", *self.names]:
                subprocess.run([*self.command, *words], stdin=subprocess.DEVNULL, capture_output=True, env=self.environment,
                               timeout=harness.SECONDS, check=False)
            self.rounds += 1

    def end(self):
        self.ends.set()
        self.thread.join()


class Scenario:
    """What both engines go through; `ids` answers with the containers of all workloads that stay."""

    def subscribe(self, server, view):
        cli = Stock(peers.Process("tonic", "stock-cli", "--connect", address(server)))
        self.addCleanup(cli.process.__exit__)
        cli.say({"request": {"requestId": view, "completeStateRequest": {"fieldMask": ["workloadStates"], "subscribeForEvents": True}}})
        cli.until(member("received", "response", "completeStateResponse"))
        return cli

    def killed_and_back(self, names, specs, restless, ids, dying, kill):
        """One workload is killed at the end; its event must be seen."""
        path = self.file("startup.yaml", harness.manifest(specs))
        server = self.server("-m", path)
        for name in names:
            self.agent(server, name)
        self.wait_for(server, **dict.fromkeys(specs, "Running(Ok)"))
        before = ids()
        self.assertEqual(set(before), set(specs))
        watching = self.subscribe(server, "first")
        load = Load(self, server, restless)
        self.wait_until(lambda: load.rounds > 1, "the load is on")

        server.kill()
        killed = time.monotonic()
        self.assertNotEqual(watching.until(member("ended"))["code"], "OK")
        server = self.server("-m", path, port=server.port)
        load.end()
        self.ank(server, "--no-wait", "delete", "workload", *restless)
        self.wait_until(lambda: self.connected_agents(server) == set(names), "all agents are back")
        self.wait_for(server, **dict.fromkeys(specs, "Running(Ok)"), **dict.fromkeys(restless))
        print(f"{len(specs)} workloads of {len(names)} agents: all states are right {time.monotonic() - killed:.2f} s after the kill")
        self.wait_until(lambda: set(ids()) == set(specs), "only the workloads of the manifest have containers")
        self.assertEqual(ids(), before)

        watching = self.subscribe(server, "second")
        kill()
        altered = watching.until(member("received", "response", "completeStateResponse", "alteredFields"))
        self.assertIn(dying, "".join(altered.get("updatedFields", [])))
        self.wait_for(server, **{dying: "Failed(ExecFailed)"})
        self.assertEqual({name: ident for name, ident in ids().items() if name != dying},
                         {name: ident for name, ident in before.items() if name != dying})


class ServerKilled(stub.Case, Scenario):
    AGENTS, EACH = 4, 15

    def test_under_load_with_many_workloads(self):
        names = [self.unique("stest") for _ in range(self.AGENTS)]
        specs = {f"kept_{place}_{number}": stub.workload(name) for place, name in enumerate(names) for number in range(self.EACH)}
        restless = {f"restless_{place}": stub.workload(name) for place, name in enumerate(names)}
        self.killed_and_back(names, specs, restless, lambda: {name: ident for name, ident in self.podman.ids().items()},
                             "kept_0_0", lambda: self.podman.kill("kept_0_0"))


class ServerKilledPodman(harness.PodmanCase, Scenario):
    def test_under_load_with_podman(self):
        name = self.unique("stest")
        specs = {f"kept_{number}": harness.workload(name) for number in range(3)}
        restless = {"restless": harness.workload(name)}
        self.agents.append(name)

        def kill():
            with contextlib.suppress(KeyError):
                harness.podman("kill", harness.ids(name)["kept_0"])
        self.killed_and_back([name], specs, restless, lambda: harness.ids(name), "kept_0", kill)


if __name__ == "__main__":
    unittest.main()
