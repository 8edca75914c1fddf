"""Our template engine and the Rust crate handlebars 6.4.0 make the same of 10,000 generated templates.

    tools/handlebars-peer && $(tools/setup --python) tools/run-unittests tests/handlebars

TIPHYS_HANDLEBARS names our program of another build than dev; TIPHYS_TEMPLATES another number of templates, and
TIPHYS_FIRST_SEED the seed of the first one. A difference is reported with its seed.
"""
import collections
import json
import os
import pathlib
import subprocess
import unittest

import templates

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = os.environ.get("TIPHYS_HANDLEBARS", str(ROOT / "build/dev/tests/handlebars_renderer"))
COUNT = int(os.environ.get("TIPHYS_TEMPLATES", "10000"))
FIRST_SEED = int(os.environ.get("TIPHYS_FIRST_SEED", "1"))
SHOWN = 10
# What the generator must have made, each more than once.
CONSTRUCTS = [
    "missing path", "@root", "../", "block parameter", "beyond the outermost block", "this.", "./", "this/", "this",
    "path of several segments", "[segment]", "string literal", "single quotes", "number literal", "word literal", "list literal",
    "map literal", *templates.ORDERS, "lookup", "len", "and", "or", "not", "log", "missing parameter", "hash of a helper",
    "subexpression", "@index", "@first", "@last", "@key", "@../variable", "~ before or after", "escape", "comment", "raw block",
    "{{path}}", "{{helper}}", "{{(subexpression)}}", "helper of a block without block, or unknown", "{{{triple}}}",
    "{{~{triple}~}}", "{{&path}}", "{{#if}}", "{{#unless}}", "{{#each}}", "{{#with}}", "{{#eq}}", "{{#and}}", "{{#not}}",
    "{{#lookup}}", "{{#raw}}", "{{#len}}", "unknown block", "{{else helper}}", "{{else}}", "{{^}}", "as |value|", "as |value key|",
    "with as |value|", "{{#*inline}}", "unknown decorator", "{{> (subexpression)}}", "partial with hash",
    "partial with context and hash", "partial with context", "{{#> partial}}", "{{#> unknown}}", "{{> partial}}", "{{> indent}}",
    "changed text",
]


def answers(program, cases):
    """One answer a case. A program that dies of a case has crashed on it, and is started again for the rest."""
    results = []
    while len(results) < len(cases):
        requests = "".join(json.dumps({"template": template, "context": context}) + "\n"
                           for template, context, _ in cases[len(results):])
        ended = subprocess.run([program], input=requests, capture_output=True, text=True, encoding="utf-8", timeout=600)
        lines = ended.stdout.split("\n")[:-1]
        results += [json.loads(line) for line in lines]
        if ended.returncode != 0:
            results.append({"crash": ended.stderr[-300:]})
        elif not lines:
            raise AssertionError(f"{program} gives no answers")
    return results


def reference():
    path = subprocess.run([ROOT / "tools/handlebars-peer", "--path"], check=True, capture_output=True, text=True).stdout.strip()
    if not pathlib.Path(path).exists():
        raise AssertionError("there is nothing to compare with; tools/handlebars-peer builds it")
    return path


def agree(ours, theirs):
    """The same text, or both fail; what makes the crate crash is an error for us."""
    if "text" in theirs:
        return ours == theirs
    return "error" in ours


class Differential(unittest.TestCase):
    # [utest->swdd~server-delegate-template-render-to-external-library~1]
    # [utest->swdd~config-renderer-supports-rendering-with-keeping-line-indent~1]
    def test_renders_as_the_crate_does(self):
        cases = templates.cases(COUNT, FIRST_SEED)
        ours, theirs = answers(OURS, cases), answers(reference(), cases)
        used = collections.Counter()
        for _, _, constructs in cases:
            used.update(constructs)
        succeeded = sum("text" in answer for answer in theirs)
        failed = [(o, t) for o, t in zip(ours, theirs) if "error" in t and "error" in o]
        crashed = sum("text" not in answer and "error" not in answer for answer in theirs)
        same = sum(o == t for o, t in failed)
        print(f"\n{len(cases)} templates: {succeeded} rendered, {len(failed)} refused, {crashed} crash the crate; "
              f"{same} of the {len(failed)} errors have the same text")
        print(", ".join(f"{name} {used[name]}" for name in sorted(used)))

        differences = [(FIRST_SEED + i, cases[i], o, t) for i, (o, t) in enumerate(zip(ours, theirs)) if not agree(o, t)]
        for seed, (template, context, _), o, t in differences[:SHOWN]:
            print(f"seed {seed}: {template!r}\n  context {json.dumps(context)}\n  ours    {o}\n  theirs  {t}")
        self.assertEqual(len(differences), 0, "templates that are rendered differently")
        self.assertGreaterEqual(succeeded, 0.4 * len(cases))
        self.assertGreaterEqual(same, 0.99 * len(failed))
        if COUNT >= 10000:
            self.assertEqual([name for name in CONSTRUCTS if used[name] < 2], [])


if __name__ == "__main__":
    unittest.main()
