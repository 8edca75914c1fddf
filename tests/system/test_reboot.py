"""A host that is started again: no process is left, no container runs, what was in memory is gone; then everything comes back.

    $(tools/setup --python) tools/run-unittests -k 'Reboot*' tests/system
"""

import shutil
import unittest

import engines
import harness
from test_control_interface import RULES


class Scenario:
    """One machine with server and agent, which reads its manifest when it comes up."""

    FILES = [{"mountPoint": "/etc/app.conf", "data": "a=1\n"}]

    def setUp(self):
        super().setUp()
        self.name = self.unique("stest")
        self.agents.append(self.name)
        workload = self.engine.workload
        with_files = {} if self.engine.runtime == "podman-kube" else {"files": self.FILES}
        self.specs = {
            "well": workload(self.name, engines.ENDS_WELL, controlInterfaceAccess=RULES, **with_files),
            "badly": workload(self.name, **with_files),
            "always": workload(self.name, restart="ALWAYS"),
            "late": workload(self.name, dependencies={"well": "ADD_COND_RUNNING"}),
            "done": workload(self.name, "exit 0"),
        }
        self.manifest = self.file("startup.yaml", harness.manifest(self.specs))
        self.one = self.worker = None

    def start(self):
        self.one = self.server("-m", self.manifest)
        self.worker = self.agent(self.one, self.name, run_folder=self.folder / "run")

    def settled(self):
        self.wait_for(self.one, well="Running(Ok)", badly="Running(Ok)", always="Running(Ok)", late="Running(Ok)", done="Succeeded(Ok)")
        self.wait_until(lambda: self.found() >= {(name, True) for name in self.specs if name != "done"}, "all containers run")
        return self.engine.ids(self.name)

    def goes_down(self):
        """Agent and server at once, containers with a signal that some of them mind; the run folder was in memory."""
        self.worker.kill()
        self.one.kill()
        self.engine.signal(self.name, "well", "TERM")
        self.wait_until(lambda: ("well", True) not in self.found(), "it has ended well")
        self.engine.stop_all(self.name)
        self.wait_until(lambda: not any(runs for _, runs in self.found()), "nothing runs any more")
        shutil.rmtree(self.folder / "run")

    def found(self):
        return {(name, runs) for name, _, runs in self.engine.found(self.name)}

    def test_everything_comes_back_once(self):
        self.start()
        before = self.settled()
        self.goes_down()
        self.start()
        after = self.settled()
        self.assertEqual(set(after), set(self.specs))
        # Contract: what ended well is started again as it is; what failed is made anew. A manifest is always played anew.
        kept = {name for name in self.specs if after[name] == before[name]}
        self.assertEqual(kept, self.KEPT)
        self.assertEqual([(name, agent) for name, agent, _, _, _ in sorted(self.instances(self.one))],
                         [(name, self.name) for name in sorted(self.specs)])
        self.assertIn("input", self.engine.inside(self.name, "well", "ls", "/run/ankaios/control_interface"))
        if "files" in self.specs["well"]:
            for name in "well", "badly":
                self.assertEqual(self.engine.inside(self.name, name, "cat", "/etc/app.conf"), "a=1\n")

        self.ank(self.one, "delete", "workload", *self.specs)
        self.assertEqual((self.engine.found(self.name), self.engine.left(self.name)), ([], []))
        self.assertEqual(list((self.folder / f"run/{self.name}_io").iterdir()), [])


class RebootPodman(Scenario, engines.PodmanCase):
    KEPT = {"well", "done"}


class RebootKube(Scenario, engines.KubeCase):
    KEPT = set()


class RebootContainerd(Scenario, engines.ContainerdCase):
    KEPT = {"well", "done"}


if __name__ == "__main__":
    unittest.main()
