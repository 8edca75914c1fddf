import json
import signal
import subprocess
import time

from fake_tree import TOOLS, FakeTree

TESTS = """\
import tempfile
import unittest


class Sample(unittest.TestCase):
    def test_passes(self):
        pass

    def test_fails(self):
        self.fail()

    def test_fails_in_part(self):
        with self.subTest(part=1):
            self.fail()

    def test_leaves_a_file(self):
        tempfile.mkstemp()

    @unittest.skip("no reason")
    def test_skips(self):
        pass
"""

INTERRUPTED = """\
import pathlib
import threading
import unittest


class Sample(unittest.TestCase):
    def test_1(self):
        self.addCleanup(pathlib.Path("made").unlink)
        pathlib.Path("made").touch()
        threading.Event().wait()

    def test_2(self):
        pass
"""


class RunUnittests(FakeTree):
    def run_sample(self, *arguments):
        self.write("test_sample.py", TESTS)
        command = [TOOLS / "run-unittests", "--json", self.root / "results.json", *arguments, self.root]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tests = json.loads((self.root / "results.json").read_text())["python_tests"]
        return run.returncode, {test["test"]: test["passed"] for test in tests}

    def test_lists_every_test_and_fails_with_one(self):
        self.assertEqual(self.run_sample(), (1, {"Sample.test_passes": True, "Sample.test_fails": False,
                                                 "Sample.test_fails_in_part": False, "Sample.test_skips": False,
                                                 "Sample.test_leaves_a_file": True}))

    def test_runs_one_test_alone(self):
        self.assertEqual(self.run_sample("-k", "Sample.test_passes"), (0, {"Sample.test_passes": True}))

    def test_a_file_that_is_left_behind_is_a_failure(self):
        self.assertEqual(self.run_sample("-k", "Sample.test_leaves_a_file"), (1, {"Sample.test_leaves_a_file": True}))

    def test_interrupted_takes_away_what_it_made_and_begins_no_other(self):
        self.write("test_sample.py", INTERRUPTED)
        command = [TOOLS / "run-unittests", "--json", self.root / "results.json", self.root]
        with subprocess.Popen(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
            while not (self.root / "made").exists():
                self.assertIsNone(run.poll())
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(), 130)
        self.assertFalse((self.root / "made").exists())
        tests = json.loads((self.root / "results.json").read_text())["python_tests"]
        self.assertEqual([(test["test"], test["passed"]) for test in tests], [("Sample.test_1", False)])

    def test_no_test_is_a_failure(self):
        self.assertEqual(self.run_sample("-k", "Sample.test_absent"), (1, {}))
