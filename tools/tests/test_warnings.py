import subprocess

from fake_tree import TOOLS, FakeTree

PROJECT = f"""\
cmake_minimum_required(VERSION 3.25)
project(fake LANGUAGES CXX)
list(APPEND CMAKE_MODULE_PATH "{TOOLS}/cmake")
include(tiphys)
tiphys_library(fake SOURCES fake.cc)
"""


class WarningsAreErrors(FakeTree):
    def build(self, source):
        self.write("fake.cc", source)
        return subprocess.run(["cmake", "--build", "build"], cwd=self.root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    def test_a_warning_stops_the_build(self):
        self.write("CMakeLists.txt", PROJECT)
        self.write("fake.cc", "")
        subprocess.run(["cmake", "-G", "Ninja", "-B", "build"], cwd=self.root, check=True, stdout=subprocess.DEVNULL)

        run = self.build("char last(int number);\nchar last(int number) { return number; }\n")
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("-Werror=conversion", run.stdout)

        run = self.build("int last(int number);\nint last(int number) { return number; }\n")
        self.assertEqual(run.returncode, 0, run.stdout)
