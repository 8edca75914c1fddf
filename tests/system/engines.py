"""The three engines behind one set of words, for tests that all of them go through.

    class Scenario:                                  # the tests; self.engine is one of the classes below
    class Podman(Scenario, engines.PodmanCase): ...
    class Kube(Scenario, engines.KubeCase): ...
    class Containerd(Scenario, engines.ContainerdCase): ...

The classes stand in the file of their scenario, so that each result is listed there.
"""

import json

import containerd
import harness
import kube
from harness import podman

STAYS = "trap exit TERM; sleep 1000 & wait"                 # until it is told to end, which is a failure then
STAYS_TOO = "trap exit TERM; sleep 2000 & wait"
ENDS_WELL = "trap 'exit 0' TERM; sleep 1000 & wait"         # ends with 0 when a host that goes down asks for it


class Podman:
    """Containers of podman."""

    runtime, program = "podman", "podman"

    def __init__(self, case):
        self.case = case

    def call(self, *words):
        """What the engine's command line printed."""
        return podman(*words)

    def workload(self, agent, script=STAYS, volume=None, options=(), **more):
        """volume: a folder of the host that is /seen in the container."""
        options = [*options, *([f"--volume={volume}:/seen"] if volume else [])]
        return harness.workload(agent, script, options=options, **{"runtime": self.runtime} | more)

    def found(self, agent):
        """All that is there for an agent: (workload, id, whether it runs), sorted."""
        listed = json.loads(podman("ps", "--all", "--filter", f"label=agent={agent}", "--format", "json"))
        return sorted((each["Labels"]["name"].split(".")[0], each["Id"], each["State"] == "running") for each in listed)

    def ids(self, agent):
        """By workload; there is one for each."""
        found = self.found(agent)
        by_name = {name: ident for name, ident, _ in found}
        self.case.assertEqual(len(by_name), len(found), f"one workload has more than one of them: {found}")
        return by_name

    def container(self, agent, workload):
        """How the engine calls the container of a workload."""
        return self.ids(agent)[workload]

    def inside(self, agent, workload, *command):
        return self.call("exec", self.container(agent, workload), *command)

    def signal(self, agent, workload, name):
        self.call("kill", "--signal", name, self.container(agent, workload))

    def stop_all(self, agent):
        """Whatever still runs for an agent stops; what is stopped already is left as it is."""
        for _, ident, runs in self.found(agent):
            if runs:
                self.call("kill", ident)

    def left(self, agent):
        """What else than containers the engine keeps for an agent."""
        del agent
        return []


class Containerd(Podman):
    """Containers of containerd, through nerdctl."""

    runtime, program = "containerd", "nerdctl"

    def call(self, *words):
        return self.case.nerdctl(*words)

    def found(self, agent):
        return sorted((containerd.workload_of(each), each["Id"], each["State"]["Status"] == "running")
                      for each in self.case.listed(agent))


class Kube(Podman):
    """Pods of podman, each with one container; here an id is that of a pod."""

    runtime = "podman-kube"

    def __init__(self, case):
        super().__init__(case)
        self.agent_of_pod = {}

    def workload(self, agent, script=STAYS, volume=None, image=harness.IMAGE, pod_name=None, **more):
        name = pod_name or self.case.pod_name()
        self.agent_of_pod[name] = agent
        pod = kube.pod(name, script, image=image)
        if volume:
            pod["spec"]["volumes"] = [{"name": "seen", "hostPath": {"path": str(volume), "type": "Directory"}}]
            pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "seen", "mountPath": "/seen"}]
        config = {"controlInterfaceTarget": f"{name}/c0"} if "controlInterfaceAccess" in more else None
        return kube.workload(agent, pod, config=config, **more)

    def found(self, agent):
        """A pod that no workload says to be its own goes by its own name."""
        owners = {ident: volume.split(".")[0] for volume, content in self.case.volumes().items()
                  if volume.endswith(f".{agent}.pods") for ident in json.loads(content)}
        return sorted((owners.get(each["Id"], each["Name"]), each["Id"], each["Status"] == "Running")
                      for each in self.listed() if self.agent_of_pod.get(each["Name"]) == agent)

    def listed(self):
        return json.loads(podman("pod", "ps", "--no-trunc", "--format", "json"))

    def container(self, agent, workload):
        ident = self.ids(agent)[workload]
        return next(f"{each['Name']}-c0" for each in self.listed() if each["Id"] == ident)

    def stop_all(self, agent):
        """With the container that keeps each pod together."""
        for _, ident, _ in self.found(agent):
            self.call("pod", "stop", "--time", "0", ident)

    def left(self, agent):
        return [name for name in self.case.volumes() if f".{agent}." in name]


class OneAgent(harness.OneAgent):
    def workload(self, *words, **more):
        return self.engine.workload(self.name, *words, **more)

    def ids(self):
        return self.engine.ids(self.name)


class PodmanCase(harness.PodmanCase):
    def setUp(self):
        super().setUp()
        self.engine = Podman(self)


class KubeCase(kube.KubeCase):
    def setUp(self):
        super().setUp()
        self.engine = Kube(self)


class ContainerdCase(containerd.Case):
    def setUp(self):
        super().setUp()
        self.engine = Containerd(self)
