import json

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
