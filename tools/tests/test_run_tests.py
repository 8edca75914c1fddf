import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import unittest.mock

from fake_tree import TOOLS, FakeTree

loader = importlib.machinery.SourceFileLoader("run_tests", str(TOOLS / "run-tests"))
run_tests = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
loader.exec_module(run_tests)


class RunTests(FakeTree):
    def setUp(self):
        super().setUp()
        self.addCleanup(setattr, run_tests, "ROOT", run_tests.ROOT)
        run_tests.ROOT = self.root
        self.steps = run_tests.Run()

    def quietly(self, step, *arguments, **keywords):
        self.output = io.StringIO()
        with contextlib.redirect_stdout(self.output):
            return step(*arguments, **keywords)

    def test_counts_checks_and_shows_the_output_of_a_failing_one(self):
        self.assertTrue(self.quietly(self.steps.check, "works", "true"))
        self.assertFalse(self.quietly(self.steps.check, "breaks", "sh", "-c", "echo here is why; exit 3"))
        self.assertIn("here is why", self.output.getvalue())
        self.assertEqual((self.steps.passed, self.steps.failures), (1, ["sh -c 'echo here is why; exit 3'"]))

    def test_shows_the_last_lines_that_are_worth_it(self):
        self.quietly(self.steps.check, "trace", "printf", "first\nsecond\nthird\n", show=2)
        self.assertTrue(self.output.getvalue().endswith(" s\n    second\n    third\n"))

    def test_a_missing_program_is_a_failure(self):
        self.assertFalse(self.quietly(self.steps.check, "seeds", "build/dev/bin/absent"))
        self.assertIn("No such file or directory: 'build/dev/bin/absent'", self.output.getvalue())

    def test_says_what_it_cannot_run(self):
        self.steps.broken.add("asan")
        self.quietly(self.steps.check, "seeds", "true", preset="asan")
        self.assertIn("seeds ... not run: asan does not build", self.output.getvalue())

    def test_counts_every_listed_test(self):
        ran = {"status": "RUN", "result": "COMPLETED"}
        tests = [{"name": "Passes", **ran}, {"name": "Fails", "failures": [{}], **ran},
                 {"name": "Skips", "status": "RUN", "result": "SKIPPED"}, {"name": "Off", "status": "NOTRUN"}]
        self.write("build/dev/results/model_test.json", json.dumps({"testsuites": [{"name": "Name", "testsuite": tests}]}))
        python = [{"file": "tests/x/test_x.py", "test": "X.test_x", "passed": False}]
        self.write("build/dev/results/python.json", json.dumps({"python_tests": python}))
        self.assertEqual(self.steps.count(self.root / "build/dev/results/model_test.json"), 2)
        self.assertEqual(self.steps.count(self.root / "build/dev/results/python.json"), 1)
        self.assertEqual(self.steps.passed, 1)
        self.assertEqual(self.steps.failures, ["build/dev/tests/model_test --gtest_filter=Name.Fails",
                                             "build/dev/tests/model_test --gtest_filter=Name.Skips",
                                             "$(tools/setup --python) tools/run-unittests -k X.test_x tests/x"])

    def test_counts_a_program_that_crashes_beside_one_that_fails(self):
        failing = {"name": "Fails", "status": "RUN", "result": "COMPLETED", "failures": [{}]}
        self.write("list.json", json.dumps({"testsuites": [{"name": "Name", "testsuite": [failing]}]}))
        self.write("bin/ctest", "#!/bin/sh\ncd build/dev && mkdir -p results Testing/Temporary\n"
                                "cp ../../list.json results/model_test.json\n"
                                "printf '1:base_test\\n2:model_test\\n' > Testing/Temporary/LastTestsFailed.log\nexit 8\n")
        (self.root / "bin/ctest").chmod(0o755)
        (self.root / "build/dev").mkdir()
        with unittest.mock.patch.dict(os.environ, PATH=f"{self.root}/bin:{os.environ['PATH']}"):
            self.quietly(self.steps.ctest, "dev")
        self.assertEqual(self.steps.failures, ["build/dev/tests/model_test --gtest_filter=Name.Fails",
                                               "ctest --preset dev -R '^base_test$'"])

    def test_keeps_an_input_that_breaks_a_fuzz_target(self):
        self.write("build/fuzz/bin/fuzz_mask", "#!/bin/sh\nfor word; do case $word in -artifact_prefix=*)\n"
                                               "echo x > ${word#*=}crash-1;; esac; done\nexit 1\n")
        (self.root / "build/fuzz/bin/fuzz_mask").chmod(0o755)
        with unittest.mock.patch.object(self.steps, "build"):
            self.quietly(self.steps.fuzz, seconds=1)
        self.assertEqual(self.steps.failures, ["build/fuzz/bin/fuzz_mask build/fuzz/finds/mask-crash-1"])
