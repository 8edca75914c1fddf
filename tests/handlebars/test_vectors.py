"""What stock rendered for the templates of tests/vectors/ankaios-server/07-templates.json, our engine renders too.

    $(tools/setup --python) tools/run-unittests tests/handlebars

Only the engine is asked; the server as a whole is replayed elsewhere.
"""
import json
import pathlib
import re
import unittest

import test_handlebars

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "vectors/ankaios-server/07-templates.json"
ENGINE_ERROR = re.compile(r"Failed to render field 'runtimeConfig': '(.*)'''\Z", re.DOTALL)


def plain(item):
    if "String" in item:
        return item["String"]
    if "array" in item:
        return [plain(value) for value in item["array"].get("values", [])]
    return {key: plain(value) for key, value in item["object"].get("fields", {}).items()}


def updates(scenario):
    """Each update with the message that answered it and the next state that was read."""
    steps = scenario["steps"]
    for at, step in enumerate(steps):
        request = step.get("message", {}).get("request", {})
        if "updateStateRequest" not in request:
            continue
        heard = [message["response"] for later in steps[at:] for message in later.get("messages", []) if "response" in message]
        yield (request["updateStateRequest"].get("newState", {}).get("desiredState", {}),
               next((r for r in heard if r.get("requestId") == request["requestId"]), {}),
               next((r["completeStateResponse"] for r in heard if "completeStateResponse" in r), {}))


def expected(answer, state, name):
    """What the engine did with the runtimeConfig of a workload, or None where the answer does not tell."""
    if "error" in answer:
        found = ENGINE_ERROR.search(answer["error"]["message"])
        return {"error": found[1]} if found else None
    workloads = state.get("completeState", {}).get("effectiveState", {}).get("workloads", {}).get("workloads", {})
    return {"text": workloads[name]["runtimeConfig"]} if "runtimeConfig" in workloads.get(name, {}) else None


class Vectors(unittest.TestCase):
    # [utest->swdd~server-delegate-template-render-to-external-library~1]
    def test_renders_as_stock_did(self):
        cases, wanted = [], []
        for scenario in json.loads(VECTORS.read_text()):
            for desired, answer, state in updates(scenario):
                items = desired.get("configs", {}).get("configs", {})
                for name, workload in desired.get("workloads", {}).get("workloads", {}).items():
                    aliases = workload.get("configs", {}).get("configs", {})
                    result = expected(answer, state, name)
                    if aliases and result and all(reference in items for reference in aliases.values()):
                        context = {alias: plain(items[reference]) for alias, reference in aliases.items()}
                        cases.append((workload.get("runtimeConfig", ""), context, scenario["name"]))
                        wanted.append(result)
        ours = test_handlebars.answers(test_handlebars.OURS, cases)
        for answer, result, (template, _, name) in zip(ours, wanted, cases):
            answer.pop("log", None)
            with self.subTest(name=name, template=template):
                self.assertEqual(answer, result)
        print(f"\n{len(cases)} templates of stock")
        self.assertGreaterEqual(len(cases), 300)


if __name__ == "__main__":
    unittest.main()
