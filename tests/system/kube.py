"""Kubernetes manifests for podman, and what podman makes of them."""

import base64
import json

import yaml

import harness
from harness import podman


def pod(name, *scripts, image=harness.IMAGE):
    """Runs each line of the shell in a container of its own."""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "hostNetwork": True,
                     "containers": [{"name": f"c{number}", "image": image, "imagePullPolicy": "Never",
                                     "command": ["sh", "-c", script]} for number, script in enumerate(scripts)]}}


def workload(agent, *pods, restart="NEVER", config=None, **more):
    """config: further keys of the runtimeConfig."""
    content = {"manifest": yaml.safe_dump_all(pods, sort_keys=False), **(config or {})}
    return {"agent": agent, "runtime": "podman-kube", "restartPolicy": restart,
            "runtimeConfig": yaml.safe_dump(content, sort_keys=False), **more}


class KubeCase(harness.PodmanCase):
    """Pods have names of their own; whatever the test named goes with it, and so do the volumes of its agents."""

    def setUp(self):
        self.pod_names = []
        super().setUp()

    def remove_containers(self):
        super().remove_containers()
        if self.pod_names:
            podman("pod", "rm", "--force", "--time", "0", "--ignore", *self.pod_names)
        if volumes := self.volumes():
            podman("volume", "rm", *volumes)

    def pod_name(self):
        name = self.unique("pod").replace("_", "-")
        self.pod_names.append(name)
        return name

    def volumes(self):
        """What the volumes of our agents keep."""
        listed = json.loads(self.volume_listing() or "[]")
        return {each["Name"]: base64.b64decode(each["Labels"]["data"] + "==").decode() for each in listed
                if any(f".{agent}." in each["Name"] for agent in self.agents)}

    @staticmethod
    def volume_listing():
        """podman refuses to list volumes while one of them goes."""
        for _ in range(10):
            try:
                return podman("volume", "ls", "--format", "json")
            except AssertionError as error:
                if "no such volume" not in str(error):
                    raise
        return podman("volume", "ls", "--format", "json")

    def pods(self):
        """Id by name."""
        listed = dict(line.split()[::-1] for line in podman("pod", "ps", "--no-trunc", "--format={{.ID}} {{.Name}}").splitlines())
        return {name: listed[name] for name in self.pod_names if name in listed}
