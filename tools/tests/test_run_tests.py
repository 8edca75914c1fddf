import contextlib
import importlib.machinery
import importlib.util
import io
import json

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
        self.steps.count(sorted((self.root / "build/dev/results").iterdir()), False, ["ctest"])
        self.assertEqual(self.steps.passed, 1)
        self.assertEqual(self.steps.failures, ["build/dev/tests/model_test --gtest_filter=Name.Fails",
                                             "build/dev/tests/model_test --gtest_filter=Name.Skips",
                                             "$(tools/setup --python) tools/run-unittests -k X.test_x tests/x"])

    def test_a_crash_counts_as_a_failure(self):
        self.steps.count([], False, ["ctest", "--preset", "dev"])
        self.assertEqual(self.steps.failures, ["ctest --preset dev"])
