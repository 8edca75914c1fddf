"""ank on a terminal: what a user sees on the screen while it waits and watches, and what is left there afterwards.

    $(tools/setup --python) tools/run-unittests -k "Waiting.*" tests/system
"""

import os
import re
import shutil
import signal
import stat
import subprocess
import unittest

import harness
import terminal
from harness import manifest, workload

HEADER = "WORKLOAD NAME"


class Case(terminal.Case):
    """A server, and an agent whose podman starts nothing."""

    def setUp(self):
        super().setUp()
        self.tools = self.folder / "bin"
        self.tools.mkdir()
        self.one = self.server()
        self.podman_does('[[ " $* " == *" run "* ]] && exec sleep 1000; exit 1')
        self.worker = self.agent(self.one, environment={"PATH": str(self.tools)})

    def podman_does(self, what):
        """With everything but questions for containers, of which there are none."""
        fresh = self.tools / "podman.new"
        fresh.write_text(f"#!{shutil.which('bash')}\nPATH={os.environ['PATH']}\n"
                         f"[[ \" $* \" == *' ps '* ]] && {{ echo '[]'; exit 0; }}\n{what}\n")
        fresh.chmod(stat.S_IRWXU)
        fresh.rename(self.tools / "podman")

    def podman_says(self, reason):
        self.podman_does(f"echo '{reason}' >&2; exit 125")

    def on_terminal(self, *words, **more):
        return self.terminal(harness.PROGRAMS / "ank", "-k", "-s", self.one.url, *words, **more)

    def written(self, *names):
        return self.file("manifest.yaml", manifest({name: workload(self.worker.agent_name) for name in names}))

    def rows(self, shown):
        """Of the last table on the screen."""
        lines = shown.lines()
        last = max(number for number, line in enumerate(lines) if line.startswith("WORKLOAD"))
        return [line for line in lines[last + 1:] if line and "^C" not in line]

    def names(self, shown):
        return [row.split()[0] for row in self.rows(shown) if not row.startswith(" ")]

    def assert_left_clean(self, shown):
        """The cursor can be seen, nothing is coloured, and the next line begins where a shell expects it."""
        self.assertFalse(shown.screen.cursor.hidden)
        self.assertEqual((shown.screen.cursor.attrs.fg, shown.screen.cursor.attrs.bold), ("default", False))


class Waiting(Case):
    """The display of apply."""

    def waiting(self, *names, **more):
        shown = self.on_terminal("apply", self.written(*names), **more)
        shown.wait_for("Pending(Starting)")
        return shown

    def spinner(self, shown):
        return [line.split("Pending")[0][-2] for line in self.rows(shown) if "Pending" in line]

    def test_frames_take_each_others_place(self):
        shown = self.waiting("one", "two", columns=120)
        seen = set()
        shown.wait_until(lambda: seen.update(self.spinner(shown)) or len(seen) > 3, "the spinner turns")
        self.assertEqual(seen, set("|/-\\"))
        self.assertEqual(shown.text().count(HEADER), 1)
        self.assertEqual(self.names(shown), ["one", "two"])
        self.assertEqual(shown.lines()[:3], ["Successfully applied the manifest(s).",
                                             "Waiting for workload(s) to reach desired states (press Ctrl+C to interrupt).", ""])

    def test_control_c(self):
        shown = self.waiting("one", columns=120)
        shown.type("\x03")
        self.assertEqual(shown.ended(), 130)
        self.assertEqual(shown.text().count(HEADER), 1)
        self.assertEqual(len(self.rows(shown)), 1)
        self.assertIn("Pending(Starting)", self.rows(shown)[0])
        self.assert_left_clean(shown)
        self.assertEqual(shown.screen.cursor.y, len(shown.lines()) - 1)

    def test_termination(self):
        shown = self.waiting("one", columns=120)
        os.kill(shown.pid, signal.SIGTERM)
        self.assertEqual(shown.ended(), 143)
        self.assertEqual((shown.text().count(HEADER), len(self.rows(shown)), shown.screen.cursor.x), (1, 1, 0))
        self.assert_left_clean(shown)

    def test_wider_and_narrower(self):
        self.podman_says("a reason that does not fit into a narrow terminal")
        shown = self.waiting("one", columns=100)
        shown.wait_for("a reason")
        self.assertTrue(self.rows(shown)[0].endswith("..."), shown.text())
        shown.resize(160)
        shown.wait_for("a reason that does not fit into a narrow terminal")
        self.assertEqual(shown.text().count(HEADER), 1)
        shown.resize(40)
        # What was there stays, cut or broken by the terminal; the new frame begins below and fits.
        shown.wait_until(lambda: shown.text().count(HEADER) == 2, "a new frame")
        shown.wait_until(lambda: self.rows(shown), "its row")
        begin = len(shown.written)
        shown.wait_until(lambda: shown.written[begin:].count(HEADER.encode()) > 3, "frames go on")
        self.assertEqual(shown.text().count(HEADER), 2)
        for line in shown.written[begin:].decode().split("\r\n")[2:-1]:
            self.assertLessEqual(len(re.sub(r"\x1b\[\d*[A-Z]", "", line)), 40, line)

    def test_twenty_columns(self):
        shown = self.on_terminal("apply", self.written("one"), columns=20)
        shown.wait_for("WORKLOAD NAME   AGEN")
        self.assertEqual(shown.text().count(HEADER), 1)
        self.assertEqual(self.rows(shown), [f"one             {self.worker.agent_name[:4]}"])


class Watching(Case):
    """get workloads -w"""

    def test_rows_come_change_and_go(self):
        shown = self.on_terminal("get", "workloads", "-w", columns=160)
        shown.wait_for(HEADER)
        self.podman_says("not today")
        self.ank(self.one, "--no-wait", "apply", self.written("one", "two"))
        shown.wait_until(lambda: self.names(shown) == ["one", "two"] and shown.text().count("not today") == 2, "both with their reason")
        self.podman_says("never")
        shown.wait_for("never")
        self.podman_does("exit 0")
        self.ank(self.one, "--no-wait", "delete", "workload", "one")
        shown.wait_until(lambda: self.names(shown) == ["two"], "one is gone")
        self.assertEqual(shown.text().count(HEADER), 1)
        shown.type("\x03")
        self.assertEqual(shown.ended(), 130)
        self.assertEqual((shown.text().count(HEADER), self.names(shown)), (1, ["two"]))
        self.assert_left_clean(shown)

    def test_in_a_shell(self):
        shell = self.terminal("bash", "--norc", "--noprofile", "-i", columns=160, environment={"PS1": "ready> "})
        shell.wait_for("ready>")
        shell.type(f"{harness.PROGRAMS / 'ank'} -k -s {self.one.url} get workloads -w\r")
        shell.wait_for(HEADER)
        shell.type("\x03")
        shell.wait_until(lambda: shell.lines()[-1].strip() == "ready>", "the shell has the terminal again")
        shell.type("echo status $?, and it is seen\r")
        shell.wait_for("\nstatus 130, and it is seen")

    def test_resizing(self):
        self.podman_says("a reason")
        self.apply(self.one, {"one": workload(self.worker.agent_name)})
        shown = self.on_terminal("get", "workloads", "-w", columns=90)
        shown.wait_for("a reason")
        for columns in 160, 120:
            shown.resize(columns)
            self.podman_says(f"at {columns} columns")
            shown.wait_for(f"at {columns} columns")
            # Its long reason goes on as far as the terminal does now; a blank may stand at the end.
            shown.wait_until(lambda: columns - 1 <= max(map(len, self.rows(shown))) <= columns, "the table is as wide as the terminal")
        self.podman_says("again")
        shown.wait_for("again")
        self.assertEqual(shown.text().count(HEADER), 2)

    def test_wide_characters_fill_two_columns(self):
        reason = "日本語のとても長い理由がここに立っている" * 2
        self.podman_says(reason)
        self.apply(self.one, {"one": workload(self.worker.agent_name)})
        self.wait_until(lambda: reason in (self.info(self.one, "one") or ""), "it has failed")
        for locale in "C.UTF-8", "C":
            with self.subTest(locale):
                shown = self.on_terminal("get", "workloads", columns=100, environment={"LC_ALL": locale})
                self.assertEqual(shown.ended(), 0)
                begin = shown.lines()[0].index("ADDITIONAL INFO")
                rows = [shown.screen.buffer[line] for line in range(1, shown.screen.cursor.y)]
                self.assertGreater(len(rows), 1)
                info = "".join("".join(row[column].data for column in range(begin, 100)).rstrip() for row in rows)
                self.assertIn(reason, info)


class Manners(Case):
    """Colours, widths and pipes."""

    def test_colours_are_for_terminals(self):
        coloured = b"\x1b[38;5;9m\x1b[1merror:\x1b[0m "
        for environment, words, expected in [
            ({"NO_COLOR": None}, [], True),
            ({"NO_COLOR": ""}, [], True),
            ({"NO_COLOR": "1"}, [], False),
            ({"NO_COLOR": None, "TERM": "dumb"}, [], False),
            ({"NO_COLOR": "1"}, ["--color=always"], True),
            ({"NO_COLOR": None}, ["--color", "never"], False),
        ]:
            with self.subTest(environment, words=words):
                shown = self.terminal(harness.PROGRAMS / "ank", *words, "get", "agents", environment=environment)
                self.assertEqual(shown.ended(), 1)
                self.assertEqual(shown.written.startswith(coloured), expected, shown.written)
                self.assertEqual(b"\x1b" in shown.written, expected)
        for words, expected in ([], False), (["--color=always"], True), (["--color=never"], False):
            with self.subTest("a pipe", words=words):
                _, output = self.finished("ank", *words, "get", "agents", environment={"NO_COLOR": ""})
                self.assertEqual("\x1b" in output, expected, output)

    def test_colours_of_usage_errors(self):
        start = "\x1b[1m\x1b[31merror:\x1b[0m unrecognized subcommand '\x1b[33mgte\x1b[0m'"
        shown = self.terminal(harness.PROGRAMS / "ank", "gte", environment={"NO_COLOR": None})
        self.assertEqual(shown.ended(), 2)
        self.assertTrue(shown.written.decode().startswith(start), shown.written)
        for environment, expected in [({"CLICOLOR_FORCE": "1"}, True), ({"CLICOLOR_FORCE": "0"}, False), ({"CLICOLOR_FORCE": ""}, False),
                                      ({"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, False)]:
            with self.subTest(environment):
                code, output = self.finished("ank", "gte", environment={"NO_COLOR": ""} | environment)
                self.assertEqual((code, output.startswith(start), "\x1b" in output), (2, expected, expected), output)

    def test_narrow_tables_are_cut(self):
        self.apply(self.one, {"one": workload("nobody")})
        for words in ["get", "workloads"], ["get", "agents"], ["get", "configs"]:
            for columns in 1, 20, 33:
                with self.subTest(words, columns=columns):
                    shown = self.on_terminal(*words, columns=columns, rows=40)
                    self.assertEqual(shown.ended(), 0)
                    lines = shown.written.decode().split("\r\n")
                    self.assertEqual(lines.pop(), "")
                    self.assertTrue(all(len(line) <= columns for line in lines), lines)

    def test_readers_that_leave(self):
        big = "x" * 200_000
        self.ank(self.one, "--no-wait", "apply", "-", stdin=manifest({"one": workload("nobody") | {"runtimeConfig": big}}))
        ank = f"{harness.PROGRAMS / 'ank'} -k -s {self.one.url}"
        for words, code in ("get state", 141), ("--help", 0), ("get state -o json", 141):
            with self.subTest(words):
                run = subprocess.run(["bash", "-c", f"{ank} {words} | head -1; echo ${{PIPESTATUS[0]}}"], cwd=self.folder, text=True,
                                     capture_output=True, env=harness.clean_environment() | {"HOME": str(self.folder)})
                self.assertEqual(run.stderr, "")
                self.assertEqual(run.stdout.splitlines()[-1], str(code))

    def test_a_manifest_from_the_keyboard(self):
        shown = self.on_terminal("--no-wait", "apply", "-")
        shown.wait_for("Reading from the terminal; Ctrl-D in an empty line ends the text.")
        shown.type("apiVersion: v1\rconfigs: {typed: by hand}\r\x04")
        self.assertEqual(shown.ended(), 0)
        self.assertEqual(self.state(self.one, "desiredState.configs")["desiredState"]["configs"], {"typed": "by hand"})

    def test_closed_descriptors(self):
        ank = f"{harness.PROGRAMS / 'ank'} -k -s {self.one.url}"
        for script, code in [(f"{ank} get agents >&-", 0), (f"{ank} get agents <&-", 0), (f"{ank} get nonsense 2>&-", 2),
                             (f"{ank} get agents <&- 2>&-", 0), (f"{ank} get agents >/dev/full", 1)]:
            with self.subTest(script):
                run = subprocess.run(["bash", "-c", script], cwd=self.folder, text=True, capture_output=True,
                                     env=harness.clean_environment() | {"HOME": str(self.folder)})
                self.assertEqual((run.returncode, len(run.stderr.splitlines())), (code, code == 1), run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
