"""The JSON Schema that `ank schema` prints, seen by a validator that is not ours, and beside it what `ank apply` says.

    $(tools/setup --python) tools/run-unittests tests/schema

TIPHYS_PROGRAMS names the programs of another build than dev; TIPHYS_MUTATIONS another number of changed manifests, and
TIPHYS_FIRST_SEED the seed of the first one. A difference is reported with its seed.
"""
import copy
import json
import os
import pathlib
import random
import re
import socket
import subprocess
import unittest

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANK = pathlib.Path(os.environ.get("TIPHYS_PROGRAMS", ROOT / "build/dev/bin")) / "ank"
COUNT = int(os.environ.get("TIPHYS_MUTATIONS", "400"))
FIRST_SEED = int(os.environ.get("TIPHYS_FIRST_SEED", "1"))
REFUSED = "error: Command failed: 'Manifest schema validation failed:"
MOST_LINES = 20    # that `ank apply` prints

# Every field that there is.
WHOLE = {
    "apiVersion": "v1",
    "workloads": {
        "web": {
            "agent": "agent_{{zone.name}}",
            "runtime": "podman",
            "runtimeConfig": "image: x",
            "restartPolicy": "ON_FAILURE",
            "dependencies": {"db": "ADD_COND_RUNNING", "job": "ADD_COND_SUCCEEDED"},
            "tags": {"owner": "me", "level": "5"},
            "configs": {"zone": "zone", "port": "web_port"},
            "files": [{"mountPoint": "/a", "data": "text"}, {"mountPoint": "/b", "binaryData": "eA=="}],
            "controlInterfaceAccess": {
                "allowRules": [{"type": "StateRule", "operation": "Read", "filterMasks": ["*", "a.*.b"]},
                               {"type": "LogRule", "workloadNames": ["web", "d*b", "*"]}],
                "denyRules": [{"type": "StateRule", "operation": "Write", "filterMasks": ["desiredState"]}],
            },
        },
        "db": {"agent": "", "runtime": "podman", "runtimeConfig": "image: y"},
    },
    "configs": {"web_port": "8080", "zone": {"name": "A", "hosts": ["x", {"y": "z"}]}},
}
VALUES = [None, True, 0, 5, -1.5, "", "text", "v1", "NEVER", "StateRule", "LogRule", "Read", "ADD_COND_FAILED", "a.b", "a*b", "a*b*",
          "{{a}}", "{{a.b}}x", "{{", "ä", "x" * 63, "x" * 64, "x" * 65, [], {}, ["text"], [5], [None], {"a": "b"}, {"a": 5}, {"a.b": "c"},
          {"type": "StateRule"}, {"mountPoint": "/c"}, [{}], [{"type": "LogRule", "workloadNames": []}]]
KEYS = ["", "name", "runtime", "agent", "type", "data", "tags", "a.b", "a/b", "ö", "x" * 63, "x" * 64]


def run_ank(*words, **options):
    return subprocess.run([ANK, *words], capture_output=True, text=True, encoding="utf-8", timeout=60, check=False,
                          env={"HOME": "/nonexistent"}, **options)


def path_text(error):
    """Where a validator finds a mistake, as we write paths. Of a key that must not be it names the map alone."""
    path = [str(segment) for segment in error.absolute_path]
    if "propertyNames" in error.absolute_schema_path:
        path.append(error.instance)
    return ".".join(path)


def mutate(manifest, chance):
    """Changes a place of the manifest, or a few."""
    changed = copy.deepcopy(manifest)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        places = []

        def visit(node):
            keys = list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else []
            for key in keys:
                places.append((node, key))
                visit(node[key])

        visit(changed)
        node, key = chance.choice(places)
        kind = chance.choice(["replace", "replace", "remove", "add", "rename"])
        if kind == "remove":
            del node[key]
        elif kind == "replace":
            node[key] = copy.deepcopy(chance.choice(VALUES))
        elif isinstance(node, list):
            node.append(copy.deepcopy(chance.choice(VALUES)))
        elif kind == "rename":
            node[chance.choice(KEYS)] = node.pop(key)
        else:
            node[chance.choice(KEYS)] = copy.deepcopy(chance.choice(VALUES))
        if not changed:
            break
    return changed


class Schema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Nobody listens there, and nobody else gets the port. What is wrong with a manifest is found before.
        cls.nobody = socket.socket()
        cls.addClassCleanup(cls.nobody.close)
        cls.nobody.bind(("127.0.0.1", 0))
        cls.url = f"http://127.0.0.1:{cls.nobody.getsockname()[1]}"
        printed = run_ank("schema")
        assert printed.returncode == 0, printed.stderr
        cls.text = printed.stdout
        cls.schema = json.loads(printed.stdout)
        cls.validator = jsonschema.Draft7Validator(cls.schema)

    def violations(self, manifest):
        """The paths at which the schema is violated."""
        return {path_text(error) for error in self.validator.iter_errors(manifest)}

    def apply(self, text):
        """The lines in which `ank apply` refuses a manifest, without the name of the file; none if it goes on with it."""
        ended = run_ank("-k", "-s", self.url, "apply", "--agent", "a", "-", input=text)
        first, *lines = ended.stderr.rstrip("\n").split("\n")
        self.assertIn(ended.returncode, (0, 1), ended.stderr)
        if first != REFUSED:
            return []
        self.assertEqual(ended.returncode, 1)
        lines[-1] = lines[-1].removesuffix("'")
        self.assertTrue(all(line.startswith("stdin:") for line in lines), lines)
        return [line.removeprefix("stdin:") for line in lines]

    def test_is_a_schema_of_draft_07(self):
        jsonschema.Draft7Validator.check_schema(self.schema)
        self.assertEqual(self.schema["$schema"], "http://json-schema.org/draft-07/schema#")

    def test_is_always_the_same(self):
        self.assertEqual(run_ank("schema").stdout, self.text)

    def test_accepts_every_sample(self):
        samples = {str(path): path.read_text() for path in (ROOT / "examples").glob("*.yaml")}
        for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
            for number, block in enumerate(re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)):
                samples[f"{page}, sample {number}"] = block
        whole = 0
        for name, text in samples.items():
            content = yaml.safe_load(text)
            if not isinstance(content, dict) or not content.keys() & {"workloads", "configs"}:
                continue    # a single field
            with self.subTest(name):
                whole += 1
                if "apiVersion" not in content:
                    text = f"apiVersion: v1\n{text}"
                self.assertEqual(self.violations(yaml.safe_load(text)), set())
                self.assertEqual(self.apply(text), [])
        self.assertGreater(whole, 3)

    def test_accepts_what_is_not_described(self):
        for text in ["apiVersion: v1\n", "apiVersion: v1\nworkloads:\nconfigs:\n", "apiVersion: v1\nx: {y: [1.5, null]}\n",
                     "apiVersion: v1\nworkloads: {w: {runtime: r, runtimeConfig: c, x: 1}}\n"]:
            with self.subTest(text):
                self.assertEqual(self.violations(yaml.safe_load(text)), set())
                self.assertEqual(self.apply(text), [])

    def test_refuses_broken_manifests_where_they_are_broken(self):
        cases = yaml.safe_load(pathlib.Path(__file__).with_name("broken.yaml").read_text())
        self.assertGreaterEqual(len(cases), 50)
        for case in cases:
            with self.subTest(case["name"]):
                self.assertEqual(self.violations(yaml.safe_load(case["manifest"])), {case["path"]})
                self.assertEqual(self.apply(case["manifest"]), [case["says"]])

    def test_agrees_with_apply_about_changed_manifests(self):
        self.assertEqual(self.violations(WHOLE), set())
        self.assertEqual(self.apply(json.dumps(WHOLE)), [])
        refused = 0
        for seed in range(FIRST_SEED, FIRST_SEED + COUNT):
            manifest = mutate(WHOLE, random.Random(seed))
            with self.subTest(seed=seed):
                lines = self.apply(json.dumps(manifest, ensure_ascii=False))
                # A line has a path, or is about the whole.
                paths = {re.fullmatch(r"\d+:\d+: (?:(\S*): )?\S.*", line)[1] or "" for line in lines}
                violations = self.violations(manifest)
                if len(lines) < MOST_LINES:
                    self.assertEqual(paths, violations, manifest)
                else:
                    self.assertLessEqual(paths, violations, manifest)
                refused += bool(lines)
        self.assertGreater(refused, COUNT // 4)
        self.assertLess(refused, COUNT)


if __name__ == "__main__":
    unittest.main()
