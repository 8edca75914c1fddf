"""What ends by itself and what becomes of it, with each engine.

    $(tools/setup --python) tools/run-unittests -k 'RestartPolicies*' tests/system
"""

import unittest

import engines


class Scenario:
    """Containers write what they did into a folder of ours; the third start is one that stays."""

    WANTED = {"always": ("ALWAYS", 0, 3), "failing": ("ALWAYS", 1, 3), "on_failure": ("ON_FAILURE", 1, 3),
              "succeeding": ("ON_FAILURE", 0, 1), "never": ("NEVER", 1, 1)}       # policy, exit code, starts

    def workload(self, agent, name):
        policy, code, _ = self.WANTED[name]
        folder = self.folder / name
        folder.mkdir()
        script = f"hostname >>/seen/starts; [ $(wc -l </seen/starts) -lt 3 ] && exit {code}; {engines.STAYS}"
        return self.engine.workload(agent, script, restart=policy, volume=folder)

    def starts(self):
        """The names of the containers, one for each start."""
        files = {name: self.folder / name / "starts" for name in self.WANTED}
        return {name: file.read_text().split() for name, file in files.items() if file.exists()}

    # [stest->swdd~workload-control-loop-restarts-workload-with-enabled-restart-policy~2]
    def test_each(self):
        server = self.server()
        agent = self.agent(server).agent_name
        self.apply(server, {name: self.workload(agent, name) for name in self.WANTED})
        wanted = {name: starts for name, (_, _, starts) in self.WANTED.items()}
        # Each start is a Running(Ok) for a moment: that alone does not say which one it is.
        self.wait_until(lambda: {name: len(found) for name, found in self.starts().items()} == wanted, "all starts")
        self.wait_for(server, always="Running(Ok)", failing="Running(Ok)", on_failure="Running(Ok)",
                      never="Failed(ExecFailed)", succeeding="Succeeded(Ok)")
        starts = self.starts()
        self.assertEqual({name: len(found) for name, found in starts.items()}, wanted)
        self.assertEqual(set(self.engine.ids(agent)), set(self.WANTED))
        self.look_at_containers(starts)

    def look_at_containers(self, starts):
        """Names say nothing here."""


class SameContainer(Scenario):
    def look_at_containers(self, starts):
        self.assertEqual(len(set(starts["always"])), 1, "after success the same container is started again")
        self.assertEqual(len(set(starts["failing"])), 3, "after a failure another one takes its place")


class RestartPoliciesPodman(SameContainer, engines.PodmanCase):
    """podman"""


class RestartPoliciesContainerd(SameContainer, engines.ContainerdCase):
    """containerd"""


class RestartPoliciesKube(Scenario, engines.KubeCase):
    """podman-kube: always played anew"""


if __name__ == "__main__":
    unittest.main()
