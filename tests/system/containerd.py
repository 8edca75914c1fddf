"""A containerd of the test's own, with nerdctl; see tools/containerd-env."""

import contextlib
import fcntl
import json
import pathlib
import subprocess

import harness


class Containerd:
    """Lives until its pipe is closed, at the latest with this process."""

    def __init__(self):
        command = 'printf "%s\\n" "PATH=$PATH" "NERDCTL_TOML=$NERDCTL_TOML"; exec cat'
        self.process = subprocess.Popen([harness.ROOT / "tools/containerd-env", "sh", "-c", command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=harness.clean_environment())
        lines = [self.process.stdout.readline().rstrip("\n") for _ in range(2)]
        if not all(lines):
            self.process.wait()
            raise AssertionError("tools/containerd-env COMMAND: started no containerd")
        self.environment = dict(line.split("=", 1) for line in lines)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Case(harness.Case):
    """Real containers below a containerd of this class; one class at a time, as with podman."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (harness.ROOT / "build").mkdir(exist_ok=True)
        cls.lock = (harness.ROOT / "build/podman.lock").open("w")
        fcntl.flock(cls.lock, fcntl.LOCK_EX)
        cls.addClassCleanup(cls.lock.close)
        cls.containerd = Containerd()
        cls.addClassCleanup(cls.containerd.end)
        cls.environment = cls.containerd.environment

    def setUp(self):
        super().setUp()
        self.agent_config = self.file("agent.toml", "version = 'v1'\nruntimes = ['containerd']\n")

    def agent(self, server, *names, words=(), **more):
        """An agent for containerd only: what else this machine has is none of these tests' business."""
        return super().agent(server, *names, words=(*words, "-x", self.agent_config), **more)

    def nerdctl(self, *words):
        run = subprocess.run(["nerdctl", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             env=harness.clean_environment() | self.environment)
        self.assertEqual(run.returncode, 0, f"nerdctl {words}: {run.stderr}")
        return run.stdout

    def identifiers(self, agent):
        """Of all its containers. One that goes while nerdctl looks at it is an error to nerdctl, and no reason not to ask again."""
        def listing():
            with contextlib.suppress(AssertionError):
                return (self.nerdctl("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label=agent={agent}").split(),)
        (found,) = self.wait_until(listing, "nerdctl lists containers")
        return found

    def listed(self, agent):
        """All containers of an agent, in nerdctl's own words."""
        found = []
        for ident in self.identifiers(agent):
            with contextlib.suppress(AssertionError):       # gone since the listing
                found += json.loads(self.nerdctl("inspect", ident))
        return found

    def remove_containers(self):
        for agent in self.agents:
            if left := self.identifiers(agent):
                self.nerdctl("rm", "--force", *left)


class ContainerdCase(harness.OneAgent, Case):
    def workload(self, *words, agent=None, **more):
        return harness.workload(agent or self.name, *words, runtime="containerd", **more)

    def containers(self, agent=None):
        """The containers of an agent by the name of their workload."""
        return {workload_of(each): each for each in self.listed(agent or self.name)}

    def ids(self, agent=None):
        return {name: each["Id"] for name, each in self.containers(agent).items()}

    def processes(self):
        """Of the containers, by the name of their workload."""
        return {name: each["State"]["Pid"] for name, each in self.containers().items()}


def workload_of(container):
    return container["Config"]["Labels"]["name"].split(".")[0]


def shims(namespace):
    """Processes of containerd for that namespace."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"containerd-shim" in words[0] and namespace.encode() in words:
            found.append(int(entry.parent.name))
    return found
