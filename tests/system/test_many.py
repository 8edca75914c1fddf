"""Many workloads on a stub engine; a thousand in long/.

    $(tools/setup --python) tools/run-unittests -k 'Many.*' tests/system
"""

import os
import pathlib
import re
import signal
import time
import unittest

import harness
import stub
from harness import table

MAX_MB = 100    # far above what is needed, far below what a leak or a square would take


def memory_mb(process):
    """The most it ever had."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024


class Many(stub.Case):
    COUNT = 150
    PAUSE = 0.2     # between two looks, which take their time themselves

    def workloads(self, *command):
        return {f"w{number}": stub.workload(self.name, *command) for number in range(self.COUNT)}

    def counts(self, server):
        counts = {}
        for _, _, _, state, _ in self.instances(server):
            counts[state] = counts.get(state, 0) + 1
        return counts

    def look_until(self, look, wanted):
        limit = time.monotonic() + 5 * harness.SECONDS
        while (seen := look()) != wanted:
            self.assertLess(time.monotonic(), limit, f"wanted {wanted}, but {seen}")
            time.sleep(self.PAUSE)

    def wait_for_counts(self, server, wanted):
        self.look_until(lambda: self.counts(server), wanted)

    def commands(self):
        commands = {}
        for _, _, _, process, command in self.podman.containers():
            if process:
                commands[tuple(command)] = commands.get(tuple(command), 0) + 1
        return commands

    def test_all_start_change_die_and_go(self):
        server = self.server()
        agent = self.agent(server)
        self.name = agent.agent_name
        self.apply(server, self.workloads())
        self.wait_for_counts(server, {"Running(Ok)": self.COUNT})
        self.assertEqual(self.commands(), {("wait",): self.COUNT})
        self.assertEqual(len(table(self.ank(server, "get", "workloads"))), self.COUNT)

        self.apply(server, self.workloads("changed"))
        self.look_until(self.commands, {("changed",): self.COUNT})
        self.wait_for_counts(server, {"Running(Ok)": self.COUNT})
        self.assertEqual(len(self.podman.containers()), self.COUNT)

        for _, _, _, process, _ in self.podman.containers():
            os.kill(process, signal.SIGKILL)
        self.wait_for_counts(server, {"Failed(ExecFailed)": self.COUNT})

        self.ank(server, "--no-wait", "delete", "workload", *self.workloads())
        self.wait_for_counts(server, {})
        self.assertEqual(self.podman.containers(), [])
        for program in agent, server:
            used = memory_mb(program.process)
            self.assertLess(used, MAX_MB, program.name)
            print(f"{program.name}: {used} MB at most")
            self.assertEqual(program.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
