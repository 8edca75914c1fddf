"""Options that a workload gives to its engine, and names that an engine refuses.

    $(tools/setup --python) tools/run-unittests -k 'CommandOptions*' tests/system
"""

import unittest

import engines


class Start(engines.OneAgent):
    def informed(self, workload, text):
        """The state's information has this text."""
        self.wait_until(lambda: text in (self.info(self.one, workload) or ""), f"{workload} says '{text}'")


class Scenario(Start):
    NAME_IN_USE = ""
    NAME_REFUSED = ""

    # [stest->swdd~podman-create-workload-sets-optionally-container-name~1]
    def test_a_name_of_its_own(self):
        """Whatever a container is called, its labels say whose it is."""
        chosen = self.unique("chosen")

        def called():
            return self.engine.call("inspect", "--format={{.Id}}", chosen).strip()
        self.apply(self.one, {"web": self.workload(name=chosen)})
        self.wait_for(self.one, web="Running(Ok)")
        first = self.ids()
        self.assertEqual(first, {"web": called()})

        with self.subTest("another workload wants it, too"):
            self.apply(self.one, {"late": self.workload(engines.STAYS_TOO, name=chosen)})
            self.informed("late", "Retry 2 of 20: ")
            self.assertRegex(self.info(self.one, "late"), self.NAME_IN_USE)
            self.ank(self.one, "delete", "workload", "late")
            self.assertEqual(self.engine.found(self.name), [("web", first["web"], True)])
        with self.subTest("an agent that comes back finds it"):
            self.worker.kill()
            self.wait_for(self.one, web="AgentDisconnected")
            self.agent(self.one, name=self.name, run_folder=self.worker.run_folder)
            self.wait_for(self.one, web="Running(Ok)")
            self.assertEqual(self.ids(), first)
        with self.subTest("the next instance takes it over"):
            self.apply(self.one, {"web": self.workload(engines.STAYS_TOO, name=chosen)})
            self.wait_until(lambda: self.ids().get("web") not in (None, first["web"]), "another container")
            self.wait_for(self.one, web="Running(Ok)")
            self.assertEqual(self.ids(), {"web": called()})
        self.ank(self.one, "delete", "workload", "web")
        self.assertEqual(self.engine.found(self.name), [])

    def test_names_that_the_engine_refuses(self):
        """They reach it as names, not as options; what it says of them is the reason."""
        self.apply(self.one, {name: self.workload() for name in ("-odd", "--help", "_odd", "fine-_")})
        self.wait_for(self.one, **{"fine-_": "Running(Ok)"})
        for name in "-odd", "--help", "_odd":
            self.informed(name, "Retry 1 of 20: ")
            self.assertIn(self.NAME_REFUSED.format(name), self.info(self.one, name))
        self.ank(self.one, "delete", "workload", "--", "-odd", "--help", "_odd", "fine-_")
        self.assertEqual((self.engine.found(self.name), self.instances(self.one)), ([], []))


class CommandOptions(Scenario, engines.PodmanCase):
    """podman"""

    NAME_IN_USE = r"the container name .* is already in use"
    NAME_REFUSED = "names must match"

    def test_a_container_that_removes_itself(self):
        """--rm: what is gone is lost, once its end has been reported."""
        script = "while [ ! -e /seen/go ]; do sleep 0.1; done; exit 3"
        self.apply(self.one, {"ending": self.workload(script, volume=self.folder, options=["--rm"]), "killed": self.workload(options=["--rm"]),
                              "deleted": self.workload(options=["--rm"]), "updated": self.workload(options=["--rm"])})
        self.wait_for(self.one, **dict.fromkeys(("ending", "killed", "deleted", "updated"), "Running(Ok)"))
        before = self.ids()
        self.file("go", "")     # a command inside would end with an error when the container goes before it
        self.engine.signal(self.name, "killed", "KILL")
        self.apply(self.one, {"updated": self.workload(engines.STAYS_TOO, options=["--rm"])})
        self.ank(self.one, "delete", "workload", "deleted")
        self.wait_until(lambda: self.ids().get("updated") not in (None, before["updated"]), "another container")
        self.wait_for(self.one, ending="Failed(Lost)", killed="Failed(Lost)", updated="Running(Ok)", deleted=None)
        self.assertEqual(list(self.ids()), ["updated"])
        self.ank(self.one, "delete", "workload", "ending", "killed", "updated")
        self.assertEqual((self.engine.found(self.name), self.instances(self.one)), ([], []))


class CommandOptionsContainerd(Scenario, engines.ContainerdCase):
    """containerd"""

    NAME_IN_USE = r"name .* is already used"
    NAME_REFUSED = 'identifier \\"{}.'

    def test_a_container_that_removes_itself(self):
        """--rm: nerdctl does not take it together with --detach; that is said, and an update without it mends the workload."""
        self.apply(self.one, {"web": self.workload(options=["--rm"])})
        self.informed("web", "Retry 2 of 20: ")
        self.assertIn("flags -d and --rm cannot be specified together", self.info(self.one, "web"))
        self.assertEqual(self.engine.found(self.name), [])
        self.apply(self.one, {"web": self.workload()})
        self.wait_for(self.one, web="Running(Ok)")


class CommandOptionsKube(Start, engines.KubeCase):
    """podman-kube: the names of pods and containers are the manifest's."""

    def test_names_that_the_engine_refuses(self):
        """For volumes: a warning says that and why there are none; without them everything goes until the agent is started again."""
        names = ("-odd", "_odd")
        self.apply(self.one, {name: self.workload() for name in names})
        self.wait_for(self.one, **dict.fromkeys(names, "Running(Ok)"))
        for name in names:
            self.assertRegex(self.worker.log(), rf"WARN .* volume={name}\..*\.config reason=\"Error: .*names must match")
        self.assertEqual((len(self.engine.found(self.name)), self.engine.left(self.name)), (2, []))
        self.ank(self.one, "delete", "workload", "--", *names)
        self.assertEqual((self.engine.found(self.name), self.instances(self.one)), ([], []))
        self.assertNotIn("could not be removed", self.worker.log())


if __name__ == "__main__":
    unittest.main()
