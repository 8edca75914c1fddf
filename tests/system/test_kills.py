"""Whoever is killed at whatever step of an apply, an update and a delete: the cluster gets where it was told to go.

    $(tools/setup --python) tools/run-unittests -k 'Kills.*' tests/system
"""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import unittest

import yaml

import harness
import stub

RUN = ["run:begin", "run:created", "run:started", "run:printed"]
STOP = ["stop:begin", "stop:signalled", "stop:done"]
REMOVE = ["rm:begin", "rm:done"]
AT_ONCE = 9      # most of them wait


class Kills(stub.Case):
    def through(self, cases):
        """One cluster a case; a few at a time."""
        def attempt(case):
            try:
                self.one(*case)
            except Exception as error:  # pylint: disable=broad-except
                return f"{case}: {error!r}"
            return None
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            wrong = [text for text in pool.map(attempt, cases) if text]
        self.assertEqual(wrong, [], "\n\n".join(wrong))

    def one(self, operation, victim, step):
        """A cluster in which an operation comes to a step of podman, where somebody is killed."""
        cluster = Cluster(self, operation)
        cluster.podman.pause_at(step)
        cluster.begin(cluster.server.url)
        stopped = self.wait_until(cluster.podman.reached, f"podman comes to {step}")
        cluster.kill(victim, stopped)
        cluster.podman.go_on()
        cluster.restart(victim)
        cluster.ends_well(victim)

    def arrives(self, server, podman, wanted):
        """One container for each workload and nothing else; a server may remember for a minute what an agent did not live to report."""
        commands = {workload: yaml.safe_load(spec["runtimeConfig"])["commandArgs"] for workload, spec in wanted.items()}

        def is_so():
            found = podman.containers()
            reported = {f"{workload}.{ident}.{agent}": state for workload, agent, ident, state, _ in self.instances(server)
                        if state != "AgentDisconnected"}
            return (sorted((workload, command) for workload, _, _, process, command in found if process) == sorted(commands.items()) and
                    len(found) == len(wanted) and reported == {instance: "Running(Ok)" for _, instance, _, _, _ in found})
        harness.wait_until(is_so, f"it is so: {commands}", lambda: f"but {podman.containers()}, {self.instances(server)}")

    def cli(self, url, *words):
        path = self.folder / f"{self.unique('ank')}.log"
        with path.open("w") as log:
            process = subprocess.Popen([harness.PROGRAMS / "ank", "-k", "-s", url, *words], cwd=self.folder,
                                       stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                       env=harness.clean_environment() | {"HOME": str(self.folder)})
        process.log = path.read_text
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process


class Cluster:
    """A server, an agent and the workload `kept`; `target` is added, changed or deleted."""

    def __init__(self, case, operation):
        self.case = case
        self.name = case.unique("stest")
        self.podman = case.new_podman()
        kept, target = {"kept": stub.workload(self.name)}, {"target": stub.workload(self.name)}
        changed = {"target": stub.workload(self.name, "changed")}
        self.before = kept if operation == "apply" else kept | target
        self.after = {"apply": kept | target, "update": kept | changed, "delete": kept}[operation]
        manifest_before = case.file(f"{self.name}-before.yaml", harness.manifest(self.before))
        self.manifest_after = case.file(f"{self.name}-after.yaml", harness.manifest(self.after))
        self.words = ["delete", "workload", "target"] if operation == "delete" else ["apply", self.manifest_after]
        self.server = case.server("-m", manifest_before)
        self.cli = None
        self.agent = None
        self.start_agent(self.server)
        case.wait_for(self.server, **dict.fromkeys(self.before, "Running(Ok)"))
        self.kept_id = self.podman.ids()["kept"]

    def start_agent(self, server, **more):
        self.agent = self.case.agent(server, self.name, podman=self.podman, **more)

    def begin(self, url):
        self.cli = self.case.cli(url, *self.words)

    def apply_again(self):
        """As somebody would whose command did not end well."""
        self.case.ank(self.server, "--no-wait", *self.words)

    def kill(self, victim, podman):
        if victim == "agent":
            self.agent.kill()
        elif victim == "server":
            self.server.kill()
        elif victim == "cli":
            self.cli.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(podman, signal.SIGKILL)

    def restart(self, victim):
        if victim == "agent":
            self.start_agent(self.server)
        elif victim == "server":
            self.server = self.case.server("-m", self.manifest_after, port=self.server.port)

    def ends_well(self, victim):
        self.case.arrives(self.server, self.podman, self.after)
        self.case.assertEqual(self.podman.ids()["kept"], self.kept_id)
        if victim != "cli":
            code = self.cli.wait(harness.SECONDS)
            self.case.assertEqual(code, 1 if victim == "server" else 0, f"{self.name}\n{self.cli.log()}\n{self.case.logs()}")
        self.end()

    def end(self):
        self.case.assertEqual(self.agent.terminate(), 0)
        self.case.assertEqual(self.server.terminate(), 0)
        self.case.wait_until(lambda: self.agent.session() + self.server.session() == [], "no process is left")


def add(operation, steps):
    for victim in "agent", "server", "cli", "podman":
        def test(self, victim=victim):
            self.through([(operation, victim, step) for step in steps])
        setattr(Kills, f"test_{operation}_{victim}", test)


add("apply", RUN)
add("update", STOP + REMOVE + RUN)
add("delete", STOP + REMOVE)


if __name__ == "__main__":
    unittest.main()
