"""A thousand workloads on a stub engine.

    $(tools/setup --python) tools/run-unittests -k 'Many.*' tests/system
"""

import os
import re
import pathlib
import signal
import unittest

import harness
import stub
from harness import table

COUNT = 1000
MAX_MB = 100    # far above what is needed, far below what a leak or a square would take


def memory_mb(program):
    """The most it ever had."""
    status = pathlib.Path(f"/proc/{program.process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) // 1024


class Many(stub.Case):
    def workloads(self, *command):
        return {f"w{number}": stub.workload(self.name, *command) for number in range(COUNT)}

    def counts(self, server):
        counts = {}
        for _, _, _, state, _ in self.instances(server):
            counts[state] = counts.get(state, 0) + 1
        return counts

    def wait_for_counts(self, server, wanted):
        harness.wait_until(lambda: self.counts(server) == wanted, f"states {wanted}", lambda: f"but {self.counts(server)}")

    def commands(self):
        commands = {}
        for _, _, _, process, command in self.podman.containers():
            if process:
                commands[tuple(command)] = commands.get(tuple(command), 0) + 1
        return commands

    def test_a_thousand_workloads(self):
        server = self.server()
        agent = self.agent(server)
        self.name = agent.agent_name
        self.apply(server, self.workloads())
        self.wait_for_counts(server, {"Running(Ok)": COUNT})
        self.assertEqual(self.commands(), {("wait",): COUNT})
        self.assertEqual(len(table(self.ank(server, "get", "workloads"))), COUNT)

        self.apply(server, self.workloads("changed"))
        harness.wait_until(lambda: self.commands() == {("changed",): COUNT}, "all are changed", lambda: f"but {self.commands()}")
        self.wait_for_counts(server, {"Running(Ok)": COUNT})
        self.assertEqual(len(self.podman.containers()), COUNT)

        for _, _, _, process, _ in self.podman.containers():
            os.kill(process, signal.SIGKILL)
        self.wait_for_counts(server, {"Failed(ExecFailed)": COUNT})

        self.ank(server, "--no-wait", "delete", "workload", *self.workloads())
        self.wait_for_counts(server, {})
        self.assertEqual(self.podman.containers(), [])
        for program in agent, server:
            used = memory_mb(program)
            print(f"{program.name}: {used} MB")
            self.assertLess(used, MAX_MB, program.name)
            self.assertEqual(program.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
