"""The rules for names and masks, through the command line and, past it, through a stock one; and what a server answers.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import json
import unittest

import harness
from harness import manifest, peers

WORKLOAD = {"agent": "agent_A", "runtime": "podman", "runtimeConfig": "image: x"}
LONG = "n" * 64


def setUpModule():
    peers.build()


class Rules(harness.Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.apply(self.one, {"kept": WORKLOAD}, configs={"kept": "1"})
        self.before = self.state(self.one)
        self.cli = peers.Process("tonic", "stock-cli", "--connect", f"tcp:127.0.0.1:{self.one.port}")
        self.addCleanup(self.cli.__exit__)
        self.assertEqual(json.loads(self.cli.next_line()), {"connected": True})

    def ask(self, request):
        """The answer to a stock command line, which checks nothing itself."""
        self.cli.say(json.dumps({"request": {"requestId": "1", **request}}))
        return json.loads(self.cli.next_line())["received"]["response"]

    def update(self, state, *masks):
        return self.ask({"updateStateRequest": {"newState": {"desiredState": {"apiVersion": "v1", **state}}, "updateMask": list(masks)}})

    def assert_refused(self, text, state, masks, *words):
        """Once as a manifest and once by the server itself; nothing changes."""
        message = self.ank(self.one, "apply", "-", stdin=text, code=1)
        answer = self.update(state, *masks)
        self.assertIn("error", answer)
        for word in words:
            self.assertIn(word, message)
            self.assertIn(word, answer["error"]["message"])
        self.assertEqual(self.state(self.one), self.before)

    def assert_workload_refused(self, name, content, wire, *words):
        self.assert_refused(manifest({name: WORKLOAD | content}), {"workloads": {"workloads": {name: WORKLOAD | wire}}}, ["desiredState"], *words)

    # [stest->swdd~api-workload-naming-convention~1]
    # [stest->swdd~server-desired-state-field-conventions~1]
    def test_workload_names(self):
        for name in "a.b", "a b", "ä", LONG:
            with self.subTest(name):
                self.assert_workload_refused(name, {}, {}, name)
        self.update({"workloads": {"workloads": {"": WORKLOAD}}}, "desiredState")
        self.assertEqual(self.state(self.one), self.before)
        longest = "-_aZ9" + "n" * 58
        self.apply(self.one, {longest: WORKLOAD})
        self.assertIn(longest, self.states(self.one))

    # [stest->swdd~api-agent-naming-convention~1]
    def test_agent_names(self):
        for name in "a.b", "agent A", "agent/A":
            with self.subTest(name):
                self.assert_workload_refused("nginx", {"agent": name}, {"agent": name}, name)
        self.apply(self.one, {"nginx": WORKLOAD | {"agent": ""}})
        self.wait_for(self.one, nginx="NotScheduled")

    # [stest->swdd~api-config-item-key-naming-convention~1]
    def test_config_keys(self):
        for name in "a.b", "a b":
            with self.subTest(name):
                for content, wire in [({name: "x"}, {name: {"String": "x"}}),
                                      ({"outer": {name: "x"}}, {"outer": {"object": {"fields": {name: {"String": "x"}}}}})]:
                    self.assert_refused(yaml_of({"configs": content}), {"configs": {"configs": wire}}, ["desiredState"], name)

    # [stest->swdd~api-config-aliases-and-config-reference-keys-naming-convention~1]
    def test_config_aliases_and_references(self):
        for alias, key in ("a.b", "kept"), ("fine", "a.b"):
            with self.subTest(alias=alias, key=key):
                self.assert_workload_refused("nginx", {"configs": {alias: key}}, {"configs": {"configs": {alias: key}}}, "a.b")

    # [stest->swdd~api-access-rules-filter-mask-convention~1]
    def test_filter_masks_of_access_rules(self):
        for mask in "", "a..b", "a b":
            with self.subTest(mask):
                rule = {"type": "StateRule", "operation": "Read", "filterMasks": [mask]}
                wire = {"allowRules": [{"stateRule": {"operation": "RW_READ", "filterMasks": [mask]}}]}
                self.assert_workload_refused("nginx", {"controlInterfaceAccess": {"allowRules": [rule]}},
                                             {"controlInterfaceAccess": wire}, mask)

    # [stest->swdd~update-desired-state-with-invalid-version~1]
    # [stest->swdd~update-desired-state-with-missing-version~1]
    def test_api_versions(self):
        self.assertIn("v7", self.ank(self.one, "apply", "-", stdin=manifest({"x": WORKLOAD}).replace("v1", "v7"), code=1))
        self.assertIn("apiVersion", self.ank(self.one, "apply", "-", stdin="workloads: {}\n", code=1))
        for version in "v7", "":
            with self.subTest(version):
                answer = self.ask({"updateStateRequest": {"newState": {"desiredState": {"apiVersion": version}}, "updateMask": ["desiredState"]}})
                self.assertIn("Unsupported API version", answer["error"]["message"])
                self.assertEqual(self.state(self.one), self.before)

    # [stest->swdd~server-filters-get-complete-state-result-with-wildcards~1]
    def test_masks_with_wildcards(self):
        self.apply(self.one, {"other": WORKLOAD | {"agent": "agent_B"}})
        self.assertEqual(self.state(self.one, "desiredState.workloads.*.agent"), {"desiredState": {"apiVersion": "v1", "workloads": {
            "kept": {"agent": "agent_A"}, "other": {"agent": "agent_B"}}}})
        self.assertEqual(set(self.state(self.one, "workloadStates.*.other")["workloadStates"]), {"agent_B"})


class ConfigFiles(harness.Case):
    # [stest->swdd~server-loads-config-file~1]
    def test_config_file_of_the_server(self):
        startup = self.file("startup.yaml", manifest({"nginx": WORKLOAD}))
        config = self.file("server.toml", f'version = "v1"\ninsecure = true\nstartup_manifest = "{startup}"\naddress = "127.0.0.1:1"\n')
        server = self.server("-x", config)      # the address on the command line wins
        self.assertEqual(self.states(server), {"nginx": "Pending(Initial)"})

        for text, word in [('insecure = true\n', "version"), ('version = "v7"\n', "Wrong version: v7"), ("version = \n", "server.toml"),
                           ('version = "v1"\ninsecure = "yes"\n', "insecure")]:
            with self.subTest(text):
                code, output = self.finished("ank-server", "-x", self.file("server.toml", text))
                self.assertEqual(code, 1, output)
                self.assertIn("Config file could not be parsed", output)
                self.assertIn(word, output)


def yaml_of(content):
    return harness.yaml.safe_dump({"apiVersion": "v1", **content})


if __name__ == "__main__":
    unittest.main()
