"""`ank logs` and `ank get events` with real containers: what a user sees of workloads while they run.

    $(tools/setup --python) tools/run-unittests -k 'Follow.*' tests/system
"""

import collections
import datetime
import json
import queue
import signal
import subprocess
import threading

import harness
from harness import workload


class Reading:
    """An ank that goes on; a thread of its own reads what it prints."""

    def __init__(self, case, server, *words):
        self.process = subprocess.Popen([harness.PROGRAMS / "ank", "-k", "-s", server.url, *words], cwd=case.folder, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        env=harness.clean_environment() | {"HOME": str(case.folder)})
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        case.addCleanup(self.close)

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.removesuffix("\n"))
        self.lines.put(None)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.thread.join(harness.SECONDS)
        self.process.stdout.close()

    def line(self):
        """The next line; None at the end."""
        return self.lines.get(timeout=harness.SECONDS)

    def until(self, wanted):
        """All lines up to one that is wanted."""
        lines = []
        while not lines or not wanted(lines[-1]):
            line = self.line()
            assert line is not None, f"it ended after {lines}"
            lines.append(line)
        return lines

    def rest(self):
        lines = []
        while (line := self.line()) is not None:
            lines.append(line)
        return lines

    def interrupted(self):
        """Its exit code after Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(harness.SECONDS)


class Follow(harness.OneAgent, harness.PodmanCase):
    def run_workloads(self, state="Running(Ok)", **scripts):
        self.apply(self.one, {name: workload(self.name, script) for name, script in scripts.items()})
        self.wait_for(self.one, **dict.fromkeys(scripts, state))

    def lines(self, *words):
        return self.ank(self.one, "logs", *words).splitlines()

    def test_logs_that_end(self):
        self.run_workloads("Succeeded(Ok)", w="echo one; echo two; sleep 3; echo three", v="echo of v")
        self.assertEqual(self.lines("w"), ["one", "two", "three"])
        self.assertEqual(self.lines("-f", "w"), ["one", "two", "three"])
        self.assertEqual(self.lines("--tail", "1", "w"), ["three"])
        self.assertEqual(self.lines("--tail", "0", "w"), [])
        self.assertEqual(self.lines("-n", "-t", "1", "w"), ["w three"])
        self.assertCountEqual(self.lines("w", "v"), ["w one", "w two", "w three", "v of v"])
        stamped = harness.podman("logs", "--timestamps", harness.ids(self.name)["w"]).splitlines()
        last = datetime.datetime.fromisoformat(stamped[-1].split()[0])
        between = (last - datetime.timedelta(seconds=1)).isoformat()
        self.assertEqual(self.lines("--since", between, "w"), ["three"])
        self.assertEqual(self.lines("--until", between, "w"), ["one", "two"])
        self.assertEqual(self.ank(self.one, "logs", "w", "nobody", code=1),
                         "error: Failed to output logs: 'Command failed: 'Workload name 'nobody' does not exist.''\n")

    def test_follow_until_interrupted(self):
        self.run_workloads(w="echo begun; while :; do echo again; sleep 0.1; done", v="echo begun; sleep 1000")
        both = Reading(self, self.one, "logs", "-f", "w", "v")
        lines = both.until(lambda line: line == "v begun")
        lines += both.until(lambda line: line == "w again")
        self.assertLessEqual(set(lines), {"w begun", "w again", "v begun"})
        self.assertEqual(both.interrupted(), 0)
        self.assertLessEqual(set(both.rest()), {"w again"})
        self.ank(self.one, "get", "agents")     # the server lives on

    def test_follow_until_the_container_ends(self):
        self.run_workloads(w="echo begun; while [ ! -e /go ]; do sleep 0.1; done; echo ended")
        reading = Reading(self, self.one, "logs", "-f", "w")
        self.assertEqual(reading.line(), "begun")
        harness.podman("exec", harness.ids(self.name)["w"], "touch", "/go")
        self.assertEqual(reading.rest(), ["ended"])
        self.assertEqual(reading.process.wait(harness.SECONDS), 0)

    def test_follow_until_the_agent_is_gone(self):
        other = self.agent(self.one)
        script = "while :; do echo line; sleep 0.1; done"
        self.apply(self.one, {"here": workload(self.name, script), "there": workload(other.agent_name, script)})
        self.wait_for(self.one, here="Running(Ok)", there="Running(Ok)")
        reading = Reading(self, self.one, "logs", "-f", "here", "there")
        seen = collections.Counter()
        while seen["here line"] < 3 or seen["there line"] < 3:
            seen[reading.line()] += 1
        other.kill()
        self.worker.kill()
        reading.rest()
        self.assertEqual(reading.process.wait(harness.SECONDS), 0)

    def test_follow_until_the_server_is_gone(self):
        self.run_workloads(w="while :; do echo line; sleep 0.1; done")
        reading = Reading(self, self.one, "logs", "-f", "w")
        reading.line()
        self.one.kill()
        self.assertEqual(reading.rest()[-1], "error: Failed to output logs: 'Command failed: 'Failed to get logs: 'ExecutionError("
                         "\"Error streaming workload logs: channel preliminary closed.\")'''")
        self.assertEqual(reading.process.wait(harness.SECONDS), 1)

    def test_events(self):
        reading = Reading(self, self.one, "get", "events", "-c", "-o", "json", "workloadStates")
        first = json.loads(reading.line())
        self.assertEqual(list(first), ["timestamp", "completeState"])
        datetime.datetime.fromisoformat(first["timestamp"][:-9] + "+00:00")     # nine digits are too many for Python
        self.run_workloads(w="sleep 1000")
        changes = []

        def state():
            (of_agent,) = json.loads(changes[-1])["completeState"]["workloadStates"].values()
            (of_w,) = of_agent["w"].values()
            return harness.text(of_w)
        while not changes or state() != "Running(Ok)":
            changes.append(reading.line())
        self.assertIn("addedFields", json.loads(changes[0]))
        self.ank(self.one, "delete", "workload", "w")
        gone = reading.until(lambda line: "removedFields" in json.loads(line))
        self.assertTrue(json.loads(gone[-1])["removedFields"][0].startswith("workloadStates." + self.name))
        self.assertEqual(reading.interrupted(), 0)
        self.assertEqual(reading.rest(), [])

    def test_events_until_the_server_is_gone(self):
        reading = Reading(self, self.one, "get", "events", "-c", "desiredState")
        self.assertEqual(reading.until(lambda line: "apiVersion" in line)[0], "---")
        self.one.kill()
        self.assertEqual(reading.rest()[-1],
                         "error: Failed to get events: 'Command failed: 'Connection to server interrupted''")
        self.assertEqual(reading.process.wait(harness.SECONDS), 1)
