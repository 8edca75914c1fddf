import json
import os
import subprocess
import unittest.mock

from fake_tree import TOOLS, FakeTree


class CheckTidy(FakeTree):
    def setUp(self):
        super().setUp()
        self.write(".clang-tidy", (TOOLS.parent / ".clang-tidy").read_text())
        entry = {"directory": str(self.root), "file": f"{self.root}/src/base/one.cc",
                 "command": f"g++ -std=c++20 -c {self.root}/src/base/one.cc"}
        self.write("build/dev/compile_commands.json", json.dumps([entry]))

    def function(self, name):
        self.write("src/base/one.h", f"#pragma once\nnamespace tiphys {{\nint {name}(int number);\n}}\n")
        self.write("src/base/one.cc", f'#include "one.h"\nint tiphys::{name}(int number) {{ return number + 1; }}\n')

    def test_accepts_good_names_and_refuses_bad_ones(self):
        self.function("one_more")
        self.assert_passes("check-tidy")
        self.function("OneMore")
        self.assert_fails("readability-identifier-naming", "check-tidy")

    def test_looks_again_only_when_something_changed(self):
        entry = {"directory": f"{self.root}/build/dev", "file": f"{self.root}/src/base/one.cc",
                 "command": f"g++ -std=c++20 -o one.o -c {self.root}/src/base/one.cc"}
        self.write("build/dev/compile_commands.json", json.dumps([entry]))
        self.write("build/dev/build.ninja", "rule compile\n  command = g++ -std=c++20 -MD -MF $out.d -c $in -o $out\n"
                   "  deps = gcc\n  depfile = $out.d\nbuild one.o: compile ../../src/base/one.cc\n")
        with unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": f"{self.root}/cache"}):
            def clean():
                return len(list((self.root / "cache/tiphys/tidy").iterdir()))

            def build():
                subprocess.run(["ninja", "-C", f"{self.root}/build/dev"], check=True, capture_output=True)

            self.function("one_more")
            build()
            self.assert_passes("check-tidy")
            self.assertEqual(clean(), 1)
            self.assert_passes("check-tidy")
            self.assertEqual(clean(), 1, "what did not change is the same")
            self.write("src/base/one.h", "#pragma once\nnamespace tiphys {\nint one_more(int number);\nint OtherOne();\n}\n")
            build()
            self.assert_fails("readability-identifier-naming", "check-tidy")
            self.assertEqual(clean(), 1, "only what is clean is remembered")
