"""A podman of ours for tests that want many containers, or podman to stop halfway; see stub_podman.cc."""

import json
import os
import pathlib
import signal

import yaml

import harness
import steps

PROGRAM = pathlib.Path(os.environ.get("TIPHYS_STUB", harness.PROGRAMS.parent / "stub")) / "podman"


def workload(agent, *command, restart="NEVER", **more):
    """Runs until a signal comes; with "exit", "3" it ends at once."""
    config = {"image": "stub", "commandArgs": list(command or ("wait",))}
    return {"agent": agent, "runtime": "podman", "restartPolicy": restart, "runtimeConfig": yaml.safe_dump(config), **more}


class Podman(steps.Steps):
    """The containers in one folder, as this podman keeps them."""

    def __init__(self, folder):
        super().__init__(folder)
        self.calls_seen = 0
        for name in "containers", "names", "exits":
            (folder / name).mkdir(parents=True, exist_ok=True)
        self.environment = {"STUB_PODMAN": str(folder), "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}

    def fail(self, command, message, times=None):
        """So often, or until succeed()."""
        if times is None:
            (self.folder / "fail-times").unlink(missing_ok=True)
        else:
            self.write("fail-times", str(times))
        self.write("fail", f"{command} {message}")

    def succeed(self):
        (self.folder / "fail").unlink()

    def calls(self):
        """What was asked for since the last time, a line each; the first time begins to write it down. Listings do not count."""
        path = self.folder / "calls"
        if not path.exists():
            path.touch()
        lines = path.read_text().splitlines()
        fresh, self.calls_seen = lines[self.calls_seen:], len(lines)
        return fresh

    def log_lines(self, *lines):
        """What every container has said."""
        self.write("logs", "".join(f"{line}\n" for line in lines))

    # --- containers ---

    def containers(self):
        """(workload, instance, id, process or None, command) of each."""
        found = []
        for folder in (self.folder / "containers").iterdir():
            if folder.name.startswith("."):
                continue
            try:
                entry = json.loads("{" + (folder / "entry").read_text() + "}")
            except FileNotFoundError:
                continue        # removed meanwhile
            instance = entry["Labels"]["name"]
            found.append((instance.split(".")[0], instance, folder.name, self.process(folder.name), entry["Command"]))
        return sorted(found)

    def process(self, ident):
        if (self.folder / "exits" / ident).exists():
            return None
        try:
            return int((self.folder / "containers" / ident / "pid").read_text())
        except FileNotFoundError:
            return None         # not started yet, or removed meanwhile

    def ids(self):
        return {name: ident for name, _, ident, _, _ in self.containers()}

    def kill(self, *names, by=signal.SIGKILL):
        for name, _, _, process, _ in self.containers():
            if process and name in names:
                os.kill(process, by)

    def end(self, *names):
        """With exit code 0."""
        self.kill(*names, by=signal.SIGUSR1)

    def processes(self):
        """All that run for these containers: they have the folder in their command line, or wait in one of its steps."""
        found = []
        word = str(self.folder).encode() + b"/"
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and word in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def clean_up(self):
        self.go_on()
        for process in self.processes():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass


class Case(harness.Case):
    """Agents of these tests find the stub; each may have containers of its own."""

    def setUp(self):
        super().setUp()
        self.podmans = []
        self.podman = self.new_podman()

    def new_podman(self):
        podman = Podman(self.folder / self.unique("podman"))
        self.podmans.append(podman)
        return podman

    def remove_containers(self):
        for podman in self.podmans:
            podman.clean_up()

    def agent(self, server, *words, podman=None, environment=None, **more):
        return super().agent(server, *words, environment=(podman or self.podman).environment | (environment or {}), **more)
