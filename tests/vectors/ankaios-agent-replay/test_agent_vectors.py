"""What ank-agent does with the scenarios of scenarios/<topic>.json, compared with what a stock agent was seen to do (README.md).

Where ours goes otherwise on purpose, differences/<topic>.json names the row of differences/rows.json that explains it, and
what comes instead. TIPHYS_UPDATE=1 writes what ours does; the rows are for people to fill in. TIPHYS_SCENARIOS restricts a
run to the scenarios whose topic/name matches a pattern.
"""

import asyncio
import fnmatch
import functools
import os
import pathlib
import sys
import tempfile
import time
import traceback
import unittest

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
sys.path += [str(FOLDER), str(FOLDER.parent)]
import replay  # noqa: E402
from differences import read, written  # noqa: E402

TOPICS = ["argv", "authorisation", "connection", "control_interface", "dependencies", "files", "logs", "process", "restart", "retry",
          "server_hello", "states", "stub_fidelity", "update_workload"]
PROGRAMS = pathlib.Path(os.environ.get("TIPHYS_BIN", ROOT / "build/dev/bin"))
COMMANDS = PROGRAMS.parent / "scripted_engine"
AT_ONCE = 32
PATTERN = os.environ.get("TIPHYS_SCENARIOS", "*")
UPDATING = "TIPHYS_UPDATE" in os.environ


def scenarios(topic):
    return [each for each in read(FOLDER / f"scenarios/{topic}.json") if fnmatch.fnmatch(f"{topic}/{each['name']}", PATTERN)]


def list_of(topic):
    return FOLDER / f"differences/{topic}.json"


async def perform(scenario, listed, folder, gate):
    """What came otherwise, and what the agent said; a text instead when it did not get that far."""
    async with gate:
        folder.mkdir(parents=True)
        one = None
        try:
            one = replay.Replay(scenario, listed, folder, PROGRAMS, COMMANDS)
            ours = await one.perform()
        except Exception:       # of any kind: the scenario has failed, the others go on
            ours = {"failed": traceback.format_exc()}
        return ours, one.log_file.read_text(errors="replace") if one and one.log_file.exists() else ""


async def perform_all():
    """Long ones first, many at once; results by topic and name."""
    gate = asyncio.Semaphore(AT_ONCE)
    with tempfile.TemporaryDirectory(prefix="tiphys-agent-vectors-") as name:
        waiting = {}
        for topic in TOPICS:
            listed = read(list_of(topic))
            for scenario in scenarios(topic):
                waiting[topic, scenario["name"]] = (scenario, listed.get(scenario["name"], {}).get("ours", {}))
        ordered = sorted(waiting, key=lambda key: -sum(step.get("wait_s", 0) for step in waiting[key][0]["steps"]))
        results = await asyncio.gather(*(perform(*waiting[key], pathlib.Path(name) / str(at), gate) for at, key in enumerate(ordered)))
    return dict(zip(ordered, results))


@functools.cache
def results():
    begun = time.monotonic()
    found = asyncio.run(perform_all())
    print(f"{len(found)} scenarios in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return found


class AgentVectors(unittest.TestCase):
    maxDiff = None

    def check(self, topic):
        rows = read(FOLDER / "differences/rows.json")
        listed = read(list_of(topic))
        found = {}
        for scenario in scenarios(topic):
            name = scenario["name"]
            ours, log = results()[topic, name]
            entry = listed.get(name, {"row": "", "ours": {}})
            if ours:
                found[name] = {"row": entry["row"], "ours": ours}
            with self.subTest(name):
                if not UPDATING or "failed" in ours:
                    self.assertEqual(entry["ours"], ours, log)
                if ours:
                    self.assertIn(entry["row"], rows)
        self.assertEqual(set(), set(listed) - {scenario["name"] for scenario in read(FOLDER / f"scenarios/{topic}.json")})
        print(f"{topic}: {len(scenarios(topic))} scenarios, {len(found)} as listed")
        if UPDATING:
            list_of(topic).write_text(written({**{key: value for key, value in listed.items() if not fnmatch.fnmatch(f"{topic}/{key}", PATTERN)},
                                               **found}))


def add_test(topic):
    def test(self):
        self.check(topic)
    setattr(AgentVectors, f"test_{topic}", test)


for each_topic in TOPICS:
    add_test(each_topic)


if __name__ == "__main__":
    unittest.main()
