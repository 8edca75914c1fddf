"""Starts the programs with folders, ports and agent names of their own; whatever a test started ends with it.

TIPHYS_BIN names the folder of another build than dev.
"""

import contextlib
import fcntl
import functools
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "tests/peers")]
import certificates  # noqa: E402,F401  (for the tests)
import peers  # noqa: E402,F401

PROGRAMS = pathlib.Path(os.environ.get("TIPHYS_BIN", ROOT / "build/dev/bin"))
SECONDS = 60        # for whatever must happen some time; nothing measures it
COUNTER = itertools.count(1)


def wait_until(condition, what, explain=lambda: ""):
    """What the condition answers once it is true."""
    limit = time.monotonic() + SECONDS
    while not (result := condition()):
        if time.monotonic() > limit:
            raise AssertionError(f"not within {SECONDS} s: {what}\n{explain()}")
        time.sleep(0.02)
    return result


def clean_environment():
    """Without what would change the programs."""
    return {key: value for key, value in os.environ.items()
            if not key.startswith(("ANK_", "ANKSERVER_", "ANKAGENT_", "RUST_LOG", "TIPHYS_LOG", "XDG_", "COMPLETE"))} | {"NO_COLOR": "1"}


# --- podman ---------------------------------------------------------------------------------------------------------

IMAGE = "localhost/tiphys/busybox:1"


@functools.cache
def podman_environment():
    """What podman needs on this machine, and the image that the tests run; found out and made once."""
    folder = ROOT / "build/podman"
    found = tool("podman-env", folder)
    environment = dict(line.split("=", 1) for line in found.splitlines())
    tool("podman-image", environment=environment)
    return environment


def tool(name, *words, environment=None):
    run = subprocess.run([ROOT / "tools" / name, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         env=clean_environment() | (environment or {}))
    if run.returncode:
        raise AssertionError(f"tools/{name}: {run.stderr}")
    return run.stdout


def podman(*words, check=True):
    run = subprocess.run(["podman", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         env=clean_environment() | podman_environment())
    if check and run.returncode:
        raise AssertionError(f"podman {' '.join(map(str, words))}: {run.stderr}")
    return run.stdout


def containers(agent):
    """The containers of an agent by the name of their workload; podman's own words for each."""
    listed = json.loads(podman("ps", "--all", "--filter", f"label=agent={agent}", "--format", "json"))
    return {each["Labels"]["name"].split(".")[0]: each for each in listed}


def ids(agent):
    return {name: each["Id"] for name, each in containers(agent).items()}


# --- programs -------------------------------------------------------------------------------------------------------

class Program:
    """One of ours in the background, in a session of its own, with a log."""

    def __init__(self, name, words, folder, environment=None):
        self.name = name
        self.log_file = folder / f"{name}-{next(COUNTER)}.log"
        with self.log_file.open("w") as log:
            self.process = subprocess.Popen([PROGRAMS / name, *map(str, words)], cwd=folder, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True,
                                            env=clean_environment() | (environment or {}))

    def log(self):
        return self.log_file.read_text(errors="replace")

    def lives(self):
        return self.process.poll() is None

    def ended(self):
        """Its exit code; waits for it."""
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.described()} did not end") from None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def session(self):
        """The processes that it started and that still are there; what podman sets aside is not among them."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if entry.name.isdigit() and int(fields[3]) == self.process.pid and fields[0] != "Z":
                    found.append(int(entry.name))
        return found

    def described(self):
        return f"--- {self.name} {self.process.args[1:]}, exit code {self.process.poll()}:\n{self.log()}"


class Server(Program):
    """Listens where the system lets it; cli is what ank shows to it."""

    def __init__(self, words, folder, port=0, tls=None, cli=None, **more):
        self.cli = cli
        super().__init__("ank-server", ["-a", f"127.0.0.1:{port}", *options(tls), *words], folder, **more)
        wait_until(lambda: not self.lives() or self.ports(), "the server listens", self.described)
        if not self.lives():
            raise AssertionError(self.described())
        self.port = self.ports()[0]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def ports(self):
        """Where it listens, as the system sees it."""
        inodes = set()
        for entry in pathlib.Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                inodes.add(os.readlink(entry))
        lines = pathlib.Path(f"/proc/{self.process.pid}/net/tcp").read_text().splitlines()[1:]
        rows = [line.split() for line in lines]
        return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]


FROM_ENVIRONMENT = object()     # an identity of which the command line says nothing


def options(identity):
    """-k, or the files of an identity."""
    if identity is None:
        return ["-k"]
    if identity is FROM_ENVIRONMENT:
        return []
    return ["--ca_pem", identity.ca, "--crt_pem", identity.cert, "--key_pem", identity.key]


# --- manifests and states -------------------------------------------------------------------------------------------

def workload(agent, script="sleep 1000", image=IMAGE, restart="NEVER", name=None, options=(), **more):
    """Runs a line of the shell in a container that ends at once when it is told to."""
    chosen = ["--network=none", "--stop-signal=KILL", *([f"--name={name}"] if name else []), *options]
    config = {"image": image, "commandOptions": chosen, "commandArgs": ["sh", "-c", script]}
    return {"agent": agent, "runtime": "podman", "restartPolicy": restart, "runtimeConfig": yaml.safe_dump(config), **more}


def manifest(workloads, **more):
    return yaml.safe_dump({"apiVersion": "v1", "workloads": workloads, **more}, sort_keys=False)


def table(text):
    """Rows of a table of ank, as dictionaries."""
    header, *rows = text.rstrip("\n").split("\n")
    columns = [(match[0].strip(), match.start(), match.end()) for match in re.finditer(r"\S+(?: \S+)*\s*", header)]
    return [{title: row[start:end].strip() for title, start, end in columns} for row in rows]


class Case(unittest.TestCase):
    """A test with a folder, programs and agents of its own."""

    maxDiff = None
    environment = {}        # of server and agents

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tiphys-system-"))
        self.programs = []
        self.agents = []
        self.addCleanup(self.clean_up)

    def clean_up(self):
        for program in reversed(self.programs):
            if program.lives():
                program.kill()
        for program in self.programs:
            for process in program.session():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        self.remove_containers()
        shutil.rmtree(self.folder)

    def remove_containers(self):
        """There are none without podman."""

    def unique(self, word):
        """A name that no other test, and no other run of the tests, uses at the same time."""
        return f"{word}_{os.getpid()}_{next(COUNTER)}"

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def logs(self):
        return "\n".join(program.described() for program in self.programs)

    # --- programs ---

    def server(self, *words, environment=None, **more):
        server = Server(words, self.folder, environment=self.environment | (environment or {}), **more)
        self.programs.append(server)
        return server

    def agent(self, server, name=None, words=(), tls=None, connected=True, run_folder=None, environment=None):
        """An agent that is connected, in a folder of its own."""
        name = name or self.unique("stest")
        if name not in self.agents:
            self.agents.append(name)
        run_folder = run_folder or self.folder / f"run-{name}"
        run_folder.mkdir(exist_ok=True)
        agent = Program("ank-agent", ["-n", name, "-s", server.url, "-r", run_folder, *options(tls), *words], self.folder,
                        self.environment | (environment or {}))
        agent.agent_name, agent.run_folder = name, run_folder
        self.programs.append(agent)
        if connected:
            self.wait_until(lambda: name in self.connected_agents(server), f"agent {name} is connected")
        return agent

    def finished(self, program, *words, environment=None, stdin=""):
        """Exit code, and all that it said, of a program that ends by itself."""
        run = subprocess.run([PROGRAMS / program, *map(str, words)], cwd=self.folder, input=stdin, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
                             env=clean_environment() | {"HOME": str(self.folder)} | (environment or {}))
        return run.returncode, run.stdout

    def ank(self, server, *words, code=0, tls=None, stdin=None, url=None):
        """What ank printed on stdout; with another code than 0, on stderr."""
        command = [PROGRAMS / "ank", "-s", url or server.url, *options(tls or (server and server.cli)), *map(str, words)]
        run = subprocess.run(command, cwd=self.folder, input=stdin or "", capture_output=True, text=True, timeout=SECONDS,
                             env=clean_environment() | {"HOME": str(self.folder)} | self.environment)
        self.assertEqual(run.returncode, code, f"{command}\n{run.stdout}{run.stderr}\n{self.logs()}")
        return run.stderr if code else run.stdout

    # --- what is seen through ank ---

    def wait_until(self, condition, what):
        return wait_until(condition, what, self.logs)

    def state(self, server, *masks):
        return json.loads(self.ank(server, "get", "state", "-o", "json", *masks))

    def connected_agents(self, server):
        return {row["NAME"] for row in table(self.ank(server, "get", "agents"))}

    def apply(self, server, workloads, *words, **more):
        """Applies without waiting; more are further parts of the manifest."""
        self.ank(server, "--no-wait", "apply", *words, "-", stdin=manifest(workloads, **more))

    def instances(self, server):
        """All workload states: (workload, agent, id, state, information)."""
        agents = self.state(server, "workloadStates").get("workloadStates", {})
        return [(name, agent, ident, text(state), state.get("additionalInfo", ""))
                for agent, workloads in agents.items() for name, idents in workloads.items() for ident, state in idents.items()]

    def states(self, server):
        return {name: state for name, _, _, state, _ in self.instances(server)}

    def info(self, server, workload_name):
        return next((info for name, _, _, _, info in self.instances(server) if name == workload_name), None)

    def wait_for(self, server, **wanted):
        """Until each of the named workloads is in its state; None: there is no such workload."""
        seen = {}

        def reached():
            seen.clear()
            seen.update(self.states(server))
            return all(seen.get(name) == state for name, state in wanted.items())
        wait_until(reached, f"states {wanted}", lambda: f"but {self.instances(server)}\n{self.logs()}")

    def wait_for_missed_server(self, agent):
        self.wait_until(lambda: "Connection to server interrupted: " in agent.log(), "the agent misses its server")


def text(state):
    """As tables show it."""
    kind, detail = state["state"], state["subState"]
    return kind if kind == detail else f"{kind}({detail})"


class OneAgent:
    """For a test case in front of which it stands: with a server and an agent."""

    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.worker = self.agent(self.one)
        self.name = self.worker.agent_name


class PodmanCase(Case):
    """Real containers; one class at a time, whatever else runs on this machine from this tree."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (ROOT / "build").mkdir(exist_ok=True)
        cls.lock = (ROOT / "build/podman.lock").open("w")
        fcntl.flock(cls.lock, fcntl.LOCK_EX)
        cls.addClassCleanup(cls.lock.close)
        cls.environment = podman_environment()

    def remove_containers(self):
        for agent in self.agents:
            left = podman("ps", "--all", "--quiet", "--filter", f"label=agent={agent}").split()
            if left:
                # First: of a container that somebody was stopping who was killed, rm removes the record and leaves the process.
                podman("stop", "--ignore", "--time", "0", *left, check=False)       # what is paused does not stop, but is killed
                podman("rm", "--force", "--ignore", "--time", "0", *left)
