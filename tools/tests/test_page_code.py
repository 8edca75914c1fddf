"""page-code takes the files out of a page."""
import pathlib
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "page-code"

PAGE = """# A page

```cpp a.cc
int a;
```

Only shown:

```cpp
int shown;
```

```proto b.proto
syntax = "proto3";
```

More of the first:

```cpp a.cc
int more;
```
"""


class PageCode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tiphys-page-")
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def extract(self, text):
        (self.root / "page.md").write_text(text)
        return subprocess.run([TOOL, self.root / "page.md", self.root / "out"], capture_output=True, text=True)

    def test_writes_the_blocks_that_name_a_file(self):
        self.assertEqual(self.extract(PAGE).returncode, 0)
        written = {path.name: path.read_text() for path in (self.root / "out").iterdir()}
        self.assertEqual(written, {"a.cc": "int a;\n\nint more;\n", "b.proto": 'syntax = "proto3";\n'})

    def test_leaves_alone_what_has_not_changed(self):
        self.extract(PAGE)
        before = {path.name: path.stat().st_mtime_ns for path in (self.root / "out").iterdir()}
        self.extract(PAGE.replace("int more;", "int other;"))
        after = {path.name: path.stat().st_mtime_ns for path in (self.root / "out").iterdir()}
        self.assertEqual(after["b.proto"], before["b.proto"])
        self.assertIn("int other;", (self.root / "out/a.cc").read_text())

    def test_refuses_a_page_without_code(self):
        run = self.extract("# Nothing\n\n```cpp\nint shown;\n```\n")
        self.assertEqual(run.returncode, 1)
        self.assertIn("no block names a file", run.stderr)


if __name__ == "__main__":
    unittest.main()
