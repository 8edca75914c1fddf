"""What ank (and the start of ank-agent) does with the cases of cases/<topic>.json, compared with what stock was seen to do
(README.md).

Where ours goes otherwise on purpose, differences/<topic>.json names the row of differences/rows.json that explains it, and
what comes instead. TIPHYS_UPDATE=1 writes what ours does; the rows are for people to fill in. TIPHYS_CASES restricts a run to
the sessions with a case whose topic/name matches a pattern.
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
sys.path += [str(FOLDER), str(FOLDER.parent), str(FOLDER.parent / "ankaios-agent-replay")]
import cli_comparison  # noqa: E402
import cli_replay  # noqa: E402
from differences import read, written  # noqa: E402

TOPICS = ["agent_start", "apply_input", "apply_schema", "closed_stdout", "completion", "get_state_and_tables", "get_with_agents", "global",
          "logs", "run_delete", "scripted_server", "unreachable", "wait", "yaml_scalars"]
PROGRAMS = pathlib.Path(os.environ.get("TIPHYS_BIN", ROOT / "build/dev/bin"))
COMMANDS = PROGRAMS.parent / "scripted_engine"
AT_ONCE = 8
PATTERN = os.environ.get("TIPHYS_CASES", "*")
UPDATING = "TIPHYS_UPDATE" in os.environ


def list_of(topic):
    return FOLDER / f"differences/{topic}.json"


def cases_of(topic):
    return read(FOLDER / f"cases/{topic}.json")


def sessions(topic):
    """A session is performed as a whole or not at all."""
    return [session for session in cli_replay.sessions_of(cases_of(topic))
            if any(fnmatch.fnmatch(f"{topic}/{case['name']}", PATTERN) for case in session)]


async def perform(session, listed, folder, gate):
    async with gate:
        folder.mkdir(parents=True)
        try:
            return await cli_replay.Session(session, listed, folder, PROGRAMS, COMMANDS).perform()
        except Exception:       # of any kind: the session has failed, the others go on
            return {case["name"]: {"failed": traceback.format_exc()} for case in session}


async def perform_all():
    """Those that take longest first; results by topic and name."""
    gate = asyncio.Semaphore(AT_ONCE)
    waiting = []
    for topic in TOPICS:
        listed = {name: entry["ours"] for name, entry in read(list_of(topic)).items()}
        waiting += [(topic, session, listed) for session in sessions(topic)]
    waiting.sort(key=lambda each: -sum(case.get("took_s_about", 0.1) for case in each[1]))
    with tempfile.TemporaryDirectory(prefix="tiphys-cli-vectors-") as name:
        results = await asyncio.gather(*(perform(session, listed, pathlib.Path(name) / str(at), gate)
                                         for at, (_, session, listed) in enumerate(waiting)))
    return {(topic, name): outcome for (topic, _, _), found in zip(waiting, results) for name, outcome in found.items()}


@functools.cache
def results():
    begun = time.monotonic()
    found = asyncio.run(perform_all())
    print(f"{len(found)} cases in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return found


class CliVectors(unittest.TestCase):
    maxDiff = None

    def check(self, topic):
        rows = read(FOLDER / "differences/rows.json")
        listed = read(list_of(topic))
        cases = [case for session in sessions(topic) for case in session]
        found = {}
        for case in cases:
            name = case["name"]
            outcome = results()[topic, name]
            wanted = cli_comparison.expected(case)
            ours = outcome if "failed" in outcome else cli_comparison.differing(wanted, outcome)
            entry = listed.get(name, {"row": "", "ours": {}})
            if ours:
                found[name] = {"row": entry["row"], "ours": ours}
            with self.subTest(name):
                if not UPDATING or "failed" in ours:
                    self.assertEqual(wanted | entry["ours"], wanted | ours)
                if ours:
                    self.assertIn(entry["row"], rows)
        self.assertEqual(set(), set(listed) - {case["name"] for case in cases_of(topic)})
        print(f"{topic}: {len(cases)} cases, {len(cases) - len(found)} equal, {len(found)} as listed")
        if UPDATING:
            kept = {name: entry for name, entry in listed.items() if name not in {case["name"] for case in cases}}
            list_of(topic).write_text(written({**kept, **found}) if kept or found else "{}\n")


def add_test(topic):
    def test(self):
        self.check(topic)
    setattr(CliVectors, f"test_{topic}", test)


for each_topic in TOPICS:
    add_test(each_topic)


if __name__ == "__main__":
    unittest.main()
