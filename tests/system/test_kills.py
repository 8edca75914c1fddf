"""Whoever is killed at whatever step of an apply, an update and a delete: the cluster gets where it was told to go.

    $(tools/setup --python) tools/run-unittests -k 'Kills*' tests/system
"""

import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import unittest

import yaml

import engines
import harness
import steps
import stub

RUN = ["run:begin", "run:created", "run:started", "run:printed"]
STOP = ["stop:begin", "stop:signalled", "stop:done"]
REMOVE = ["rm:begin", "rm:done"]
AT_ONCE = 9      # most of them wait


class Scenario:
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
        cluster.engine.pause_at(step)
        cluster.begin(cluster.server.url)
        stopped = self.wait_until(cluster.engine.reached, f"podman comes to {step}")
        cluster.kill(victim, stopped)
        cluster.engine.go_on()
        cluster.restart(victim)
        cluster.ends_well(victim)

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


class Kills(Scenario, stub.Case):
    """Whoever is killed, at every step of our own podman."""

    def new_engine(self):
        return self.new_podman()

    def workload(self, agent, _, *words):
        return stub.workload(agent, *words)

    def id_of_kept(self, cluster):
        return cluster.engine.ids()["kept"]

    def arrives(self, cluster, wanted):
        """One container for each workload and nothing else; a server may remember for a minute what an agent did not live to report."""
        server, podman = cluster.server, cluster.engine
        commands = {workload: yaml.safe_load(spec["runtimeConfig"])["commandArgs"] for workload, spec in wanted.items()}

        def is_so():
            found = podman.containers()
            reported = {f"{workload}.{ident}.{agent}": state for workload, agent, ident, state, _ in self.instances(server)
                        if state != "AgentDisconnected"}
            return (sorted((workload, command) for workload, _, _, process, command in found if process) == sorted(commands.items()) and
                    len(found) == len(wanted) and reported == {instance: "Running(Ok)" for _, instance, _, _, _ in found})
        harness.wait_until(is_so, f"it is so: {commands}", lambda: f"but {podman.containers()}, {self.instances(server)}")


class Cluster:
    """A server, an agent and the workload `kept`; `target` is added, changed or deleted."""

    def __init__(self, case, operation):
        self.case = case
        self.operation = operation
        self.name = case.unique("stest")
        self.engine = case.new_engine()
        kept, target = ({name: case.workload(self.name, name)} for name in ("kept", "target"))
        changed = {"target": case.workload(self.name, "target", "changed")}
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
        self.kept_id = case.id_of_kept(self)

    def start_agent(self, server, **more):
        self.agent = self.case.agent(server, self.name, environment=self.engine.environment, **more)

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
        self.case.arrives(self, self.after)
        self.case.assertEqual(self.case.id_of_kept(self), self.kept_id)
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


class WithEngines(Scenario):
    """An agent that is killed before or after what it asks a real engine to do; the long tests go through all of it."""

    STEPS = {"apply": ["run:done"], "update": ["stop:done", "rm:done", "run:begin"], "delete": ["stop:begin"]}

    def test_agent(self):
        self.through([(operation, "agent", step) for operation, chosen in self.STEPS.items() for step in chosen])

    def new_engine(self):
        return steps.InFront(self.folder / self.unique("steps"), self.engine.program, self.environment)

    def workload(self, agent, _, *words, **more):
        return self.engine.workload(agent, engines.STAYS_TOO if words else engines.STAYS, **more)

    def id_of_kept(self, cluster):
        return self.engine.ids(cluster.name)["kept"]

    def arrives(self, cluster, wanted):
        """What is there, and what the server knows of it."""
        def is_so():
            reported = sorted((workload, state) for workload, _, _, state, _ in self.instances(cluster.server)
                              if state != "AgentDisconnected")
            return (reported == [(workload, "Running(Ok)") for workload in sorted(wanted)] and
                    [(workload, runs) for workload, _, runs in self.engine.found(cluster.name)] ==
                    [(workload, True) for workload in sorted(wanted)])
        harness.wait_until(is_so, f"it is so: {wanted}", lambda: f"but {self.engine.found(cluster.name)}, "
                           f"{self.instances(cluster.server)}\n{self.logs()}")
        for workload in wanted:
            script = engines.STAYS_TOO if (cluster.operation, workload) == ("update", "target") else engines.STAYS
            self.assertIn(script, json.loads(self.engine.call("inspect", self.engine.container(cluster.name, workload)))[0]["Args"])
        self.assertEqual(len(self.engine.left(cluster.name)), self.KEPT_EACH * len(wanted))


class KillsPodman(WithEngines, engines.PodmanCase):
    KEPT_EACH = 0


class KillsContainerd(WithEngines, engines.ContainerdCase):
    KEPT_EACH = 0


class KillsKube(WithEngines, engines.KubeCase):
    """The pod of an update has the name of the one before."""

    KEPT_EACH = 2       # volumes
    STEPS = {"apply": ["kube-play:done"], "update": ["kube-down:done", "kube-play:begin"], "delete": ["kube-down:begin"]}

    def workload(self, agent, name, *words):
        pod_name = f"{agent}-{name}".replace("_", "-")
        if pod_name not in self.pod_names:
            self.pod_names.append(pod_name)
        return super().workload(agent, name, *words, pod_name=pod_name)


if __name__ == "__main__":
    unittest.main()
