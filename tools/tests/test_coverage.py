import shutil
import subprocess

from fake_tree import FakeTree

TEN_LINES = "int {name}(int n) {{\n" + "  if (n == {limit}) ++n;\n" * 8 + "  return n;\n}}\n"
UNUSED = "int unused(int n) {\n  ++n;\n  ++n;\n  return n;\n}\n"


class CheckCoverage(FakeTree):
    def measure(self, extra=""):
        self.write("src/core/agent/a.cc", TEN_LINES.format(name="a", limit=1))
        self.write("src/model/b.cc", TEN_LINES.format(name="b", limit=2))
        self.write("src/text/c.cc", TEN_LINES.format(name="c", limit=3) + extra)
        self.write("main.cc", "int a(int);\nint b(int);\nint c(int);\nint main() { return a(0) + b(0) + c(0); }\n")
        build = self.root / "build/coverage"
        shutil.rmtree(build, ignore_errors=True)
        build.mkdir(parents=True)
        sources = [str(self.root / name) for name in ("main.cc", "src/core/agent/a.cc", "src/model/b.cc", "src/text/c.cc")]
        subprocess.run(["g++", "--coverage", *sources, "-o", "program"], cwd=build, check=True)
        subprocess.run([build / "program"], cwd=build, check=True)

    def test_asks_for_nine_lines_of_ten_in_each_folder(self):
        self.measure()
        self.assert_passes("check-coverage")
        self.measure(extra=UNUSED)
        self.assert_fails("src/text: 71.4 % of lines", "check-coverage")

    def test_a_folder_without_tests_fails(self):
        self.measure()
        for data in (self.root / "build/coverage").glob("*b.gc*"):
            data.unlink()
        self.assert_fails("src/model: 0.0 % of lines", "check-coverage")
