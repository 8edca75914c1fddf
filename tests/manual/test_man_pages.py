"""The man pages that the build made: two formatters find nothing wrong with them, and they name all that --help names.

    cmake --build --preset dev --target man-pages && $(tools/setup --python) tools/run-unittests tests/manual

TIPHYS_BUILD names another build than dev.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TIPHYS_BUILD", ROOT / "build/dev"))
PAGES = sorted(BUILD.glob("man/man*/*"))
ENVIRONMENT = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "200", "HOME": "/nonexistent"}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)


def help_of(*words):
    ended = run(BUILD / "bin" / words[0], *words[1:], "--help")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def listed(text, heading):
    """The entries of a list in a help text: what stands at the beginning of its lines."""
    found = re.search(rf"^{heading}:\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^ {2,6}(\S(?: ?\S)*)", found[1], re.MULTILINE) if found else []


def commands(*words):
    """All commands of `ank`, with those that only have others below them."""
    yield words
    for name in listed(help_of(*words), "Commands"):
        if name.split()[0] != "help":
            yield from commands(*words, name.split()[0])


class ManPages(unittest.TestCase):
    def test_are_there(self):
        names = {path.name for path in PAGES}
        self.assertLessEqual({"ank.1", "ank-get-workload.1", "ank-server.8", "ank-agent.8", "ank-manifest.5", "ank.conf.5",
                              "ank-server.conf.5", "ank-agent.conf.5"}, names)

    def test_have_no_warning(self):
        for page in PAGES:
            with self.subTest(page.name):
                shown = run("man", "--warnings", "-l", page)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertIn("SEE ALSO", shown.stdout)
                lint = run("mandoc", "-T", "lint", page)
                self.assertEqual((lint.returncode, lint.stdout), (0, ""))

    def test_name_every_command_option_and_argument(self):
        seen = 0
        programs = [(words, 1) for words in commands("ank")] + [(("ank-server",), 8), (("ank-agent",), 8)]
        for words, section in programs:
            name = "-".join(words)
            with self.subTest(name):
                help_text = help_of(*words)
                page = run("man", "-l", BUILD / f"man/man{section}/{name}.{section}").stdout
                for option in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", "\n".join(listed(help_text, "Options"))):
                    self.assertRegex(page, rf"(?m)^ +.*{re.escape(option)}\b")
                    seen += 1
                for argument in listed(help_text, "Arguments"):
                    self.assertIn(re.search(r"\w+", argument)[0], page)
                for below in listed(help_text, "Commands"):
                    if below.split()[0] != "help":
                        self.assertIn(f"{name}-{below.split()[0]}(1)", page)
        self.assertGreater(seen, 60)

    def test_are_found_where_they_are_installed(self):
        with tempfile.TemporaryDirectory() as prefix:
            installed = run("cmake", "--install", BUILD / "src/apps/docs", "--prefix", prefix)
            self.assertEqual(installed.returncode, 0, installed.stderr)
            for section, name in (("1", "ank-get-workload"), ("5", "ank-manifest"), ("8", "ank-agent")):
                shown = run("man", "-M", f"{prefix}/share/man", section, name)
                self.assertEqual((shown.returncode, shown.stderr), (0, ""))
                self.assertIn(f"{name.upper()}({section})", shown.stdout)


if __name__ == "__main__":
    unittest.main()
