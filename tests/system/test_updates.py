"""What a server makes of templates and dependencies in the states that it is given, seen through ank.

    $(tools/setup --python) tools/run-unittests -k 'Updates.*' tests/system
"""

import unittest

import harness
from harness import manifest


def workload(config="image: x", **more):
    return {"agent": "agent_A", "runtime": "podman", "runtimeConfig": config, **more}


class Updates(harness.Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()

    def instance_ids(self):
        return {name: ident for name, _, ident, _, _ in self.instances(self.one)}

    def rendered(self, name):
        return self.state(self.one, "effectiveState")["effectiveState"]["workloads"][name]["runtimeConfig"]

    # [stest->swdd~server-state-compares-rendered-workloads~1]
    def test_a_changed_config_item_changes_the_workloads_that_use_it(self):
        self.apply(self.one, {"user": workload("image: {{a.name}}", configs={"a": "image"}), "other": workload()},
                   configs={"image": {"name": "one"}})
        before = self.instance_ids()
        self.assertEqual(self.rendered("user"), "image: one")
        self.apply(self.one, {}, configs={"image": {"name": "two"}})
        self.wait_until(lambda: self.rendered("user") == "image: two", "the new value is rendered")
        after = self.instance_ids()
        self.assertNotEqual(after["user"], before["user"])
        self.assertEqual(after["other"], before["other"])

    # [stest->swdd~config-renderer-supports-rendering-with-keeping-line-indent~1]
    def test_a_value_of_several_lines_keeps_the_indentation_of_its_place(self):
        template = "image: x\nscript: |\n  {{> indent content=script}}\nlast: 1"
        self.apply(self.one, {"web": workload(template, configs={"script": "lines"})}, configs={"lines": "first\nsecond\n"})
        self.assertEqual(self.rendered("web"), "image: x\nscript: |\n  first\n  second\nlast: 1")

    # [stest->swdd~server-state-rejects-state-with-cyclic-dependencies~1]
    def test_who_waits_for_himself_is_refused_and_nothing_changes(self):
        self.apply(self.one, {"kept": workload()})
        before = self.state(self.one)
        cycle = {"a": workload(dependencies={"b": "ADD_COND_RUNNING"}), "b": workload(dependencies={"a": "ADD_COND_SUCCEEDED"})}
        message = self.ank(self.one, "--no-wait", "apply", "-", stdin=manifest(cycle), code=1)
        self.assertIn("cycl", message.lower())
        self.assertEqual(self.state(self.one), before)

    # [stest->swdd~cycle-detection-ignores-non-existing-workloads~1]
    def test_a_dependency_on_what_does_not_exist_is_no_cycle(self):
        self.apply(self.one, {"web": workload(dependencies={"nowhere": "ADD_COND_RUNNING"}),
                              "app": workload(dependencies={"web": "ADD_COND_RUNNING", "nobody": "ADD_COND_FAILED"})})
        self.assertEqual(set(self.instance_ids()), {"web", "app"})


if __name__ == "__main__":
    unittest.main()
