"""Whoever is killed at whatever step of an apply, an update and a delete: the cluster gets where it was told to go.

    $(tools/setup --python) tools/run-unittests -k 'Kills.*' tests/system
"""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import threading
import unittest

import yaml

import harness
import stub

RUN = ["run:begin", "run:created", "run:started", "run:printed"]
STOP = ["stop:begin", "stop:signalled", "stop:done"]
REMOVE = ["rm:begin", "rm:done"]
AT_ONCE = 9      # most of them wait


class Kills(stub.Case):
    def setUp(self):
        super().setUp()
        self.making = threading.Lock()

    def through(self, operation, steps, victim):
        """One cluster a step; a few at a time."""
        def attempt(step):
            try:
                self.one(operation, step, victim)
            except Exception as error:  # pylint: disable=broad-except
                return f"{operation}, {victim} killed at {step}: {error}"
            return None
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            wrong = [text for text in pool.map(attempt, steps) if text]
        self.assertEqual(wrong, [], "\n\n".join(wrong))

    def one(self, operation, step, victim):
        with self.making:
            name = self.unique("stest")
            podman = self.new_podman()
        target, changed = stub.workload(name), stub.workload(name, "changed")
        kept = {"kept": stub.workload(name)}
        before = kept if operation == "apply" else kept | {"target": target}
        after = {"apply": kept | {"target": target}, "update": kept | {"target": changed}, "delete": kept}[operation]
        manifests = [self.file(f"{name}-{which}.yaml", harness.manifest(workloads))
                     for which, workloads in (("before", before), ("after", after))]

        server = self.server("-m", manifests[0])
        agent = self.agent(server, name, podman=podman)
        self.wait_for(server, **dict.fromkeys(before, "Running(Ok)"))
        kept_id = podman.ids()["kept"]

        podman.pause_at(step)
        words = ["delete", "workload", "target"] if operation == "delete" else ["apply", manifests[1]]
        cli = self.cli(server, *words)
        stopped = self.wait_until(podman.reached, f"podman comes to {step}")
        if victim == "agent":
            agent.kill()
        elif victim == "server":
            server.kill()
        elif victim == "cli":
            cli.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(stopped, signal.SIGKILL)
        podman.go_on()
        if victim == "agent":
            agent = self.agent(server, name, podman=podman)
        elif victim == "server":
            server = self.server("-m", manifests[1], port=server.port)

        self.arrives(server, podman, name, after)
        self.assertEqual(podman.ids()["kept"], kept_id)
        if victim != "cli":
            self.assertEqual(cli.wait(harness.SECONDS), 1 if victim == "server" else 0, cli.args)
        self.assertEqual(agent.terminate(), 0)
        self.assertEqual(server.terminate(), 0)
        self.wait_until(lambda: agent.session() + server.session() == [], "no process is left")

    def arrives(self, server, podman, name, wanted):
        """One container for each workload and nothing else; a server may remember for a minute what an agent did not live to report."""
        commands = {workload: yaml.safe_load(spec["runtimeConfig"])["commandArgs"] for workload, spec in wanted.items()}

        def is_so():
            found = podman.containers()
            reported = {f"{workload}.{ident}.{agent}": state for workload, agent, ident, state, _ in self.instances(server)
                        if state != "AgentDisconnected"}
            return (sorted((workload, command) for workload, _, _, process, command in found if process) == sorted(commands.items()) and
                    len(found) == len(wanted) and reported == {instance: "Running(Ok)" for _, instance, _, _, _ in found})
        harness.wait_until(is_so, f"it is so: {commands}", lambda: f"but {podman.containers()}, {self.instances(server)}")

    def cli(self, server, *words):
        process = subprocess.Popen([harness.PROGRAMS / "ank", "-k", "-s", server.url, *words], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True, env=harness.clean_environment() | {"HOME": str(self.folder)})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


def add(operation, steps):
    for victim in "agent", "server", "cli", "podman":
        def test(self, victim=victim):
            self.through(operation, steps, victim)
        setattr(Kills, f"test_{operation}_{victim}", test)


add("apply", RUN)
add("update", STOP + REMOVE + RUN)
add("delete", STOP + REMOVE)


if __name__ == "__main__":
    unittest.main()
