"""What the modes of the recordings keep of a text, and what counts as the same everywhere."""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parent))
import cli_comparison  # noqa: E402

TABLE = "WORKLOAD NAME   AGENT     EXECUTION STATE\nw               a       {} {}\n\n"


def case(**more):
    return {"env": {}, "tty": False, "compare": "exact", "compare_stderr": "exact", "stdout": "", "stderr": "", "exit": 0} | more


class Modes(unittest.TestCase):
    def test_values(self):
        self.assertEqual(cli_comparison.reduced("json", '{"b": 1, "a": 2}'), {"a": 2, "b": 1})
        self.assertEqual(cli_comparison.reduced("jsonl", '{"b": 1}\n{"a": 2}\n'), [{"b": 1}, {"a": 2}])
        self.assertEqual(cli_comparison.reduced("yaml", "b: 1\na: 2\n"), {"a": 2, "b": 1})
        self.assertEqual(cli_comparison.reduced("yamldocs", "---\na: 1\n---\nb: 2\n"), [{"a": 1}, {"b": 2}])
        self.assertEqual(cli_comparison.reduced("json", "no JSON"), "no JSON")

    def test_lines(self):
        text = "b\na\nc\n"
        self.assertEqual(cli_comparison.reduced("sorted-lines", text), ["", "a", "b", "c"])
        self.assertEqual(cli_comparison.reduced("first-line", text), "b")
        self.assertEqual(cli_comparison.reduced("last-line", text), "c")
        self.assertEqual(cli_comparison.reduced("lines-2", text), ["b", "a"])

    def test_tables(self):
        waiting = "Waiting.\n\n" + TABLE.format("|", "Pending(Initial)") + TABLE.format("/", "Pending(Initial)")
        arrived = waiting + TABLE.format(" ", "Running(Ok)")
        self.assertEqual(cli_comparison.reduced("wait", arrived), ["Waiting.\n\n", TABLE.format(" ", "Running(Ok)")])
        self.assertEqual(cli_comparison.reduced("wait-sorted", arrived)[1], sorted(TABLE.format(" ", "Running(Ok)").split("\n")))
        cut = waiting + TABLE.format("-", "Pending(Initial)")[:50]
        self.assertEqual(cli_comparison.reduced("wait-cut", cut), ["Waiting.\n\n", TABLE.format("?", "Pending(Initial)").rstrip("\n")])
        self.assertEqual(len(cli_comparison.reduced("frames", arrived + TABLE.format(" ", "Running(Ok)"))[1]), 3)

    def test_tables_of_a_terminal(self):
        shown = "\x1b[1GWORKLOAD NAME\x1b[K\r\nw\x1b[K\r\n\x1b[1G\x1b[2AWORKLOAD NAME\x1b[K\r\nv\x1b[K\r\n"
        self.assertEqual(cli_comparison.reduced("wait", shown), ["", "WORKLOAD NAME\nv\n"])
        self.assertEqual(len(cli_comparison.reduced("frames", shown)[1]), 2)


class Everywhere(unittest.TestCase):
    def test_colours(self):
        coloured = "\x1b[38;5;9m\x1b[1merror:\x1b[0m no\n"
        self.assertEqual(cli_comparison.expected(case(stderr=coloured))["stderr"], "error: no\n")
        self.assertEqual(cli_comparison.expected(case(tty=True, stdout=coloured))["stdout"], coloured)
        self.assertEqual(cli_comparison.expected(case(tty=True, stdout=coloured, env={"NO_COLOR": "1"}))["stdout"], "error: no\n")
        self.assertEqual(cli_comparison.expected(case(stdout="w \x1b[31mred\x1b[0m\n"))["stdout"], "w \x1b[31mred\x1b[0m\n")

    def test_usage_errors(self):
        wrong = case(exit=2, stderr="error: their words\n")
        self.assertEqual(cli_comparison.observed(wrong, 2, {"stdout": "", "stderr": "error: ours\n"}, []), cli_comparison.expected(wrong))
        self.assertNotEqual(cli_comparison.observed(wrong, 2, {"stdout": "", "stderr": "oops\n"}, []), cli_comparison.expected(wrong))

    def test_help(self):
        helpful = case(stdout="{{help}}")
        self.assertEqual(cli_comparison.observed(helpful, 0, {"stdout": "ours\n", "stderr": ""}, []), cli_comparison.expected(helpful))
        self.assertNotEqual(cli_comparison.observed(helpful, 0, {"stdout": "", "stderr": ""}, []), cli_comparison.expected(helpful))

    def test_what_is_never_the_same(self):
        ours = cli_comparison.ours("at 2026-01-31T12:00:00.001Z from http://127.0.0.1:7777", [("http://127.0.0.1:7777", "{{url}}")])
        self.assertEqual(ours, "at <time> from {{url}}")
        self.assertEqual(cli_comparison.common("NAME   CPU USAGE   FREE MEMORY \na      17%         12345678901B\n"),
                         "NAME   CPU USAGE   FREE MEMORY\na      9%          9B\n")
        self.assertEqual(cli_comparison.common("debug: one\ndebug: two\nw\n"), "debug: {{text}}\nw\n")
        self.assertEqual(cli_comparison.common("ank 1.1.0-pre\n"), cli_comparison.common("ank 1.1.0+ours\n"))


if __name__ == "__main__":
    unittest.main()
