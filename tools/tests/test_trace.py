import contextlib
import importlib.machinery
import importlib.util
import io
import json
import sys

from fake_tree import TOOLS, FakeTree

sys.path.insert(0, str(TOOLS))
loader = importlib.machinery.SourceFileLoader("trace_tool", str(TOOLS / "trace"))
trace = importlib.util.module_from_spec(importlib.util.spec_from_loader("trace_tool", loader))
loader.exec_module(trace)
trace.EXPECTED = {"api": 1, "server": 0, "agent": 0}

IMPL = "// [impl->swdd~fake~1]\nint half(int number);\n"
TEST = "// [utest->swdd~fake~1]\nTEST(Half, Rounds) {}\n"


class Trace(FakeTree):
    def setUp(self):
        super().setUp()
        self.write("docs/requirements/server.md", "")
        self.write("docs/requirements/agent.md", "")
        self.write(trace.DECISIONS, "| row | decision |\n|---|---|\n| `rounding` | down |\n")
        self.row("built")
        self.write("src/base/half.h", IMPL)
        self.write("src/base/half_test.cc", TEST)
        self.result("Half", "Rounds")

    def row(self, status, needs="impl, utest"):
        self.write("docs/requirements/api.md", f"| id | says | needs | status |\n|---|---|---|---|\n"
                                               f"| `swdd~fake~1` | Halves. | {needs} | {status} |\n")

    def result(self, suite, name, file="/tree/src/base/half_test.cc", **changes):
        test = {"name": name, "file": file, "status": "RUN", "result": "COMPLETED", **changes}
        self.write("build/dev/results/base.json", json.dumps({"testsuites": [{"name": suite, "testsuite": [test]}]}))

    def run_tool(self, tool, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = trace.main(["--root", str(self.root), *arguments])
        return code, output.getvalue()

    def test_accepts_tables_and_tags_that_agree(self):
        code, output = self.run_tool("trace")
        self.assertEqual(code, 0, output)
        self.assertIn("requirements: 1 of 1 built (API 1/1, server 0/0, agent 0/0)", output)

    def test_refuses_a_dangling_tag(self):
        for tag in ("swdd~other~1", "swdd~fake~2", "swdd~fake", ""):
            with self.subTest(tag=tag):
                self.write("src/base/other.h", f"// [impl->{tag}]\n")
                self.assert_fails("unknown id", "trace")

    def test_refuses_built_without_code_or_test(self):
        self.write("src/base/half.h", "int half(int number);\n")
        self.assert_fails("is built, but lacks impl", "trace")
        self.write("src/base/half.h", IMPL)
        self.write("src/base/half_test.cc", "TEST(Half, Rounds) {}\n")
        self.assert_fails("is built, but lacks utest", "trace")

    def test_counts_only_tests_that_ran_and_passed(self):
        for changes in ({"failures": [{"failure": "1 != 2"}]}, {"status": "NOTRUN"}, {"result": "SKIPPED"}):
            with self.subTest(changes=changes):
                self.result("Half", "Rounds", **changes)
                self.assert_fails("is built, but lacks utest", "trace")
        self.result("Half", "SomethingElse")
        self.assert_fails("Half.Rounds did not run", "trace")
        self.result("Half", "Rounds", file="/tree/src/base/other_test.cc")
        self.assert_fails("Half.Rounds did not run", "trace")

    def test_knows_parametrised_and_typed_tests(self):
        for macro, suite, name in (("TEST_P", "All/Half", "Rounds/7"), ("TYPED_TEST", "Half/0", "Rounds")):
            with self.subTest(macro=macro):
                self.write("src/base/half_test.cc", TEST.replace("TEST(", macro + "("))
                self.result(suite, name)
                self.assert_passes("trace")

    def test_accepts_stacked_tags_and_a_comment_between(self):
        self.write("src/base/half_test.cc", "// [utest->swdd~fake~1]\n// [utest->swdd~fake~1]\n// Down, always.\n"
                                            "TEST(Half,\n     Rounds) {}\n")
        self.assert_passes("trace")

    def test_refuses_a_tag_in_the_wrong_place(self):
        self.write("src/base/half_test.cc", TEST + "// [utest->swdd~fake~1]\n\nTEST(Half, Halves) {}\n")
        self.assert_fails("stands directly above no test", "trace")
        self.write("src/base/half_test.cc", TEST + IMPL)
        self.assert_fails("impl tags belong to src/ and proto/", "trace")
        self.write("src/base/half_test.cc", TEST)
        self.write("sim/half.h", IMPL)
        self.assert_fails("impl tags belong to src/ and proto/", "trace")

    def test_refuses_a_status_that_fell_behind(self):
        self.row("open")
        self.assert_fails("is open, but has all its tags", "trace")
        self.row("built; open: utest")
        self.assert_fails("utest is listed as open, but is tagged", "trace")

    def test_accepts_tests_that_follow_later(self):
        self.row("built; open: stest", needs="impl, utest, stest")
        self.assert_passes("trace")
        self.row("built", needs="impl, utest, stest")
        self.assert_fails("is built, but lacks stest", "trace")

    def test_refuses_rows_it_cannot_read(self):
        for status in ("done", "built; open: impl", "built; open: itest", "open; open: utest", ""):
            with self.subTest(status=status):
                self.row(status)
                self.assert_fails("api.md: ", "trace")

    def test_refuses_a_missing_row(self):
        self.write("docs/requirements/api.md", "")
        self.write("src/base/half.h", "")
        self.write("src/base/half_test.cc", "")
        self.assert_fails("api.md: 0 requirements, there are 1", "trace")

    def test_wants_the_decision_behind_a_deviation(self):
        self.row("built; deviates: rounding")
        self.assert_passes("trace")
        self.row("built; deviates: guessing")
        self.assert_fails("deviates by 'guessing'", "trace")

    def test_reads_python_tests(self):
        self.write("src/base/half_test.cc", "")
        self.write("tests/half/test_half.py", "class Half:\n    # [utest->swdd~fake~1]\n    @decorated\n    def test_rounds(self):\n")
        self.assert_fails("test_rounds did not run", "trace")
        result = {"file": "tests/half/test_half.py", "test": "Half.test_rounds", "passed": True}
        self.write("build/dev/results/python.json", json.dumps({"python_tests": [result]}))
        self.assert_passes("trace")

    def test_reads_scenarios(self):
        self.write("src/base/half_test.cc", "")
        self.write("tests/scenarios/base/half_of_nine.txt", "# [utest->swdd~fake~1]\n# Half of nine.\n> half 9\n  4\n")
        self.assert_fails("half_of_nine did not run", "trace")
        self.result("All/Scenario", "Plays/half_of_nine")
        self.assert_passes("trace")
        self.write("tests/scenarios/base/half_of_nine.txt", "# Half of nine.\n> half 9\n# [utest->swdd~fake~1]\n  4\n")
        self.assert_fails("stands directly above no test", "trace")

    def test_suggests_and_updates(self):
        for needs, status in (("impl, utest", "built"), ("impl, utest, stest", "built; open: stest"),
                              ("impl, itest", "open")):
            with self.subTest(needs=needs):
                self.row("open; deviates: rounding", needs=needs)
                self.run_tool("trace", "--suggest")
                self.assertIn("| open; deviates: rounding |", (self.root / "docs/requirements/api.md").read_text())
                self.run_tool("trace", "--update")
                self.assertIn(f"| {status}; deviates: rounding |", (self.root / "docs/requirements/api.md").read_text())
                self.assert_passes("trace")
