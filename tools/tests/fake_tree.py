"""A small repository in a temporary folder, in which a check can be broken on purpose."""
import pathlib
import subprocess
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent


class FakeTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tiphys-tools-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run_tool(self, tool, *arguments):
        """Exit code and everything printed."""
        command = [str(TOOLS / tool), "--root", str(self.root), *arguments]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return run.returncode, run.stdout

    def assert_passes(self, tool, *arguments):
        code, output = self.run_tool(tool, *arguments)
        self.assertEqual(code, 0, output)

    def assert_fails(self, sentence, tool, *arguments):
        code, output = self.run_tool(tool, *arguments)
        self.assertNotEqual(code, 0, output)
        self.assertIn(sentence, output)
