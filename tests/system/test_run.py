"""./run and ./run stop, with programs that are built already, in a folder of their own.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import unittest

import harness
from harness import podman


class Run(harness.PodmanCase):
    def setUp(self):
        super().setUp()
        self.runtime = self.folder / "runtime"
        self.runtime.mkdir()
        self.home = self.runtime / f"tiphys-run-{os.getuid()}"
        self.addCleanup(self.run_sample, "stop")        # before the folder goes, whatever the test did

    def variables(self):
        """As the user's, without what the tests found out about podman."""
        return harness.clean_environment() | {"XDG_RUNTIME_DIR": str(self.runtime), "TIPHYS_BIN": str(harness.PROGRAMS.resolve())}

    def run_sample(self, *words, environment=None):
        return subprocess.run([harness.ROOT / "run", *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=self.variables() | (environment or {}))

    def shown(self, *words):
        run = self.run_sample(*words)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout + run.stderr)
        return run.stdout

    def paste(self, command):
        return subprocess.run(["bash", "-c", command], cwd=harness.ROOT, stdin=subprocess.DEVNULL, check=True, capture_output=True,
                              text=True, env=self.variables()).stdout

    def processes(self):
        """Everything on this machine that was started with our folder in its environment."""
        mark = f"TIPHYS_RUN_FOLDER={self.home}".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((int(entry.name), (entry / "comm").read_text().strip()))
            except OSError:
                pass        # it ended meanwhile
        return found

    def agent_name(self, output):
        return re.search(r"label=agent=(\w+)", output)[1]

    def assert_nothing_is_left(self, agent):
        self.assertEqual(self.processes(), [])
        self.assertEqual(podman("ps", "--all", "--quiet", "--filter", f"label=agent={agent}"), "")
        self.assertEqual(list(self.runtime.iterdir()), [])

    def test_workloads_run_and_everything_goes_again(self):
        output = self.shown()
        self.assertLessEqual(len(output.splitlines()), 24, output)
        self.assertNotIn("\033", output)
        rows = re.findall(r"^(\w+) +\w+ +podman +(\S+)", output, re.MULTILINE)
        self.assertEqual(rows, [("clock", "Running(Ok)"), ("greeter", "Running(Ok)")])
        agent = self.agent_name(output)
        self.agents.append(agent)
        self.assertEqual(sorted(name for _, name in self.processes() if name.startswith("ank")), ["ank-agent", "ank-server"])

        again = self.shown()
        self.assertIn("runs already", again)
        self.assertEqual(re.findall(r"Running\(Ok\)", again), ["Running(Ok)"] * 2)

        # What it shows can be pasted: the end of a container is noticed, and what is declared anew is replaced.
        commands = re.findall(r"^    (.*)$", output, re.MULTILINE)
        self.assertEqual(len(commands), 3, output)
        self.paste(commands[0])
        look = commands[0].rpartition("&&")[2]
        self.wait_until(lambda: re.search(r"clock .*Failed\(ExecFailed\)", self.paste(look)), "the end is noticed")
        before = harness.ids(agent)
        self.assertRegex(self.paste(commands[1]), r"greeter .*Running\(Ok\)")
        after = harness.ids(agent)
        self.assertEqual(after["clock"], before["clock"])
        self.assertNotEqual(after["greeter"], before["greeter"])
        self.assertEqual(commands[2], "./run stop")

        self.shown("stop")
        self.assert_nothing_is_left(agent)
        self.assertEqual(self.shown("stop"), "nothing runs\n")

    def test_interrupted_half_way(self):
        output = self.shown()
        agent = self.agent_name(output)
        self.agents.append(agent)
        for process, name in self.processes():
            if name.startswith("ank"):
                os.kill(process, signal.SIGKILL)
        self.assertIn("cleaning up after an earlier call", self.shown())
        (self.home / "ready").unlink()      # as if the call had not come to its end
        self.shown("stop")
        self.assert_nothing_is_left(agent)

        # A folder with nothing that can be understood in it.
        self.home.mkdir()
        (self.home / "ready").write_text("nonsense")
        self.shown("stop")
        self.assert_nothing_is_left(agent)

    def test_trouble_is_named(self):
        empty = self.folder / "empty"
        empty.mkdir()
        (empty / "python3").symlink_to(sys.executable)
        for program in "bash", "env", "dirname", "mkdir":
            (empty / program).symlink_to(shutil.which(program))
        run = self.run_sample(environment={"PATH": str(empty)})
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("there is no podman; tools/setup installs it", run.stderr)
        self.shown("stop")

        run = self.run_sample(environment={"TIPHYS_BIN": str(empty)})
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("ank-server", run.stderr)
        self.shown("stop")

        self.home.write_text("a file")
        run = self.run_sample()
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn(str(self.home), run.stderr)
        self.home.unlink()

    def test_help(self):
        self.assertIn("./run stop", self.shown("--help"))
        run = self.run_sample("nonsense")
        self.assertEqual(run.returncode, 2)
        self.assertIn("./run --help", run.stderr)


if __name__ == "__main__":
    unittest.main()
