"""What `ank plan` says of an update is what `ank apply` then does, for many generated updates of one server.

    $(tools/setup --python) tools/run-unittests -k 'Plan.*' tests/system

A failure names its seed; TIPHYS_SEED=N begins with it.
"""

import json
import os
import random
import unittest

import harness

PAIRS = 100
AGENTS = ["agent_A", "agent_B", ""]
NAMES = ["web", "db", "api", "job", "cache", "proxy"]
ITEMS = ["ports", "image", "where", "list"]


class Generator:
    """Manifests that have much in common with each other, so that they change each other in every way."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, values, most):
        return self.random.sample(values, self.random.randint(0, most))

    def item(self, name):
        if name == "where":
            return self.random.choice(["agent_A", "agent_B"])
        if name == "list":
            return self.some(["a", "b", "c"], 2)
        return self.random.choice([{"http": self.random.choice(["80", "81"])}, self.random.choice(["one", "two"])])

    def workload(self):
        one = {"runtime": self.random.choice(["podman", "podman", "podman-kube"]), "agent": self.random.choice(AGENTS),
               "runtimeConfig": self.random.choice(["image: x", "image: y", "image: {{p.http}}", "image: {{i}}", "{{#each l}}{{this}} {{/each}}"])}
        # Some templates find nothing and some items do not exist: such updates are refused.
        one["configs"] = {"p": "ports", "i": "image", "l": "list"} if "{{" in one["runtimeConfig"] else {}
        if self.random.random() < 0.1:
            one["agent"], one["configs"] = "{{w}}", one["configs"] | {"w": "where"}
        if self.random.random() < 0.5:
            one["restartPolicy"] = self.random.choice(["NEVER", "ON_FAILURE", "ALWAYS"])
        if self.random.random() < 0.4:
            one["tags"] = {"owner": self.random.choice(["me", "you"])}
        if self.random.random() < 0.3:
            one["dependencies"] = {self.random.choice(NAMES): self.random.choice(["ADD_COND_RUNNING", "ADD_COND_SUCCEEDED"])}
        if self.random.random() < 0.2:
            one["files"] = [{"mountPoint": "/etc/x", "data": self.random.choice(["hello", "{{i}}"])}]
        if self.random.random() < 0.2:
            one["controlInterfaceAccess"] = {"allowRules": [
                {"type": "StateRule", "operation": self.random.choice(["Read", "Write"]), "filterMasks": ["desiredState"]}]}
        return one

    def manifest(self):
        return {"apiVersion": "v1", "workloads": {name: self.workload() for name in self.some(NAMES, 4)},
                "configs": {name: self.item(name) for name in self.some(ITEMS, 4)}}

    def words(self):
        """Options that plan and apply share."""
        return self.random.choice([[], [], [], [], ["-d"], ["--agent", "agent_C"]])


class Plan(harness.Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()

    def now(self):
        return self.state(self.one)

    @staticmethod
    def instances_of(state):
        # No agent ever comes, so what is deleted is gone at once and nothing but the wanted instances is left.
        return {name: (agent, ident) for agent, workloads in state.get("workloadStates", {}).items()
                for name, idents in workloads.items() for ident in idents}

    def fates(self, before, after, named):
        old, new = self.instances_of(before), self.instances_of(after)
        fates = {}
        for name in old.keys() | new.keys():
            if name not in old:
                fates[name] = "created"
            elif name not in new:
                fates[name] = "deleted"
            elif old[name] != new[name]:
                fates[name] = "replaced"
            elif before["effectiveState"]["workloads"][name] != after["effectiveState"]["workloads"][name]:
                fates[name] = "updated"
            elif name in named:
                fates[name] = "unchanged"
        return fates

    @staticmethod
    def config_fates(before, after, named):
        old, new = (state.get("desiredState", {}).get("configs", {}) for state in (before, after))
        word = {(False, True): "created", (True, False): "deleted"}
        return {name: word.get((name in old, name in new), "unchanged" if old.get(name) == new.get(name) else "updated")
                for name in named if name in old or name in new}

    def check(self, manifest, words, before):
        """The state after; what was seen is added to self.seen."""
        text = json.dumps(manifest)
        command = ["-s", self.one.url, "-k"]
        code, said = self.finished("ank", *command, "plan", "-o", "json", "--detailed-exitcode", *words, "-", stdin=text)
        refused, answer = self.finished("ank", *command, "--no-wait", "apply", *words, "-", stdin=text)
        after = self.now()
        self.assertIn(code, (0, 1, 2), said)
        self.assertEqual(code == 1, refused != 0, f"{said}\n{answer}")
        if refused:
            self.assertEqual(after, before)
            reason = said.split("the update would be refused: ", 1)[1].strip()
            self.assertIn(reason, answer)
            self.seen.add("refused")
            return after
        plan = json.loads(said)
        planned = {each["name"]: each["fate"] for each in plan["workloads"]}
        named = [] if "-d" in words else manifest["workloads"]
        self.assertEqual(planned, self.fates(before, after, named))
        configs = {each["name"]: each["fate"] for each in plan["configs"]}
        self.assertEqual(configs, self.config_fates(before, after, manifest["configs"]))
        for key, state in ("before", before), ("after", after):
            self.assertEqual({each["name"]: (each[key]["agent"], each[key]["id"]) for each in plan["workloads"] if key in each},
                             {name: one for name, one in self.instances_of(state).items() if name in planned})
        fates = [*planned.values(), *configs.values()]
        self.assertEqual(code, 2 if set(fates) - {"unchanged"} else 0)
        self.assertEqual(plan["counts"], {fate: list(planned.values()).count(fate) for fate in plan["counts"]})
        for each in plan["workloads"]:
            self.assertEqual(bool(each["reasons"]), each["fate"] in ("replaced", "updated"), each)
        self.seen |= set(fates)
        return after

    def test_a_plan_is_what_apply_does(self):
        self.seen = set()
        first = int(os.environ.get("TIPHYS_SEED", 1))
        before = self.now()
        for seed in range(first, first + PAIRS):
            generator = Generator(seed)
            with self.subTest(seed=seed):
                before = self.check(generator.manifest(), generator.words(), before)
        self.assertEqual(self.seen, {"created", "replaced", "updated", "deleted", "unchanged", "refused"})

    def test_detailed_exit_code_and_formats(self):
        text = harness.manifest({"web": harness.workload("agent_A")})
        command = ["-s", self.one.url, "-k"]
        for words in ["plan"], ["apply", "--dry-run"]:
            code, said = self.finished("ank", *command, *words, "--detailed-exitcode", "-", stdin=text)
            self.assertEqual(code, 2, said)
            self.assertRegex(said, r"(?m)^created +web +agent_A +is new *$")
            self.assertIn("Workloads: 1 created, 0 replaced, 0 updated, 0 deleted, 0 unchanged", said)
        self.assertEqual(self.now()["desiredState"]["workloads"], {})
        self.ank(self.one, "--no-wait", "apply", "-", stdin=text)
        self.assertIn("1 unchanged", self.ank(self.one, "plan", "--detailed-exitcode", "-", stdin=text))
        self.assertIn("fate: deleted", self.ank(self.one, "plan", "-o", "yaml", "-d", "-", stdin=text))


class Inquiries(harness.Case):
    """wait and describe, where no agent is connected."""

    def test_what_blocks_and_what_is_awaited(self):
        server = self.server()
        self.apply(server, {"web": harness.workload("agent_A", dependencies={"db": "ADD_COND_RUNNING"}), "db": harness.workload("agent_B")})
        described = self.ank(server, "describe", "workload", "web")
        self.assertRegex(described, r"(?m)^ +db +running +Pending\(Initial\) +blocks the start$")
        self.assertIn("agent_A (not connected)", described)
        self.assertIn("though 1 workload is to run on it; connected: none", self.ank(server, "describe", "agent", "agent_A", code=1))
        late = self.ank(server, "wait", "workload", "web", "--for=running", "--timeout", "10ms", code=1)
        self.assertRegex(late, r"(?m)^  web: Pending\(Initial\) on agent_A \(its agent is not connected\)$")
        self.assertIn("did you mean 'web'?", self.ank(server, "wait", "workload", "wbe", "--for=running", code=1))
        self.assertEqual(self.ank(server, "wait", "workload", "nobody", "--for=removed"), "nobody is removed\n")

    def test_waiting_ends_with_the_deletion(self):
        server = self.server()
        self.apply(server, {"web": harness.workload("agent_A")})
        waiting = {goal: harness.Program("ank", ["-v", "-k", "-s", server.url, "wait", "workload", "web", f"--for={goal}"], self.folder)
                   for goal in ("removed", "running")}
        self.programs += waiting.values()
        self.wait_until(lambda: all("Asking for the state" in each.log() for each in waiting.values()), "both have begun")
        self.ank(server, "--no-wait", "delete", "workload", "web")
        self.assertEqual(waiting["removed"].ended(), 0, waiting["removed"].log())
        self.assertIn("web is removed", waiting["removed"].log())
        self.assertEqual(waiting["running"].ended(), 1, waiting["running"].log())


if __name__ == "__main__":
    unittest.main()
