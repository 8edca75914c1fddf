import json

from fake_tree import FakeTree


class CheckHeaders(FakeTree):
    def setUp(self):
        super().setUp()
        command = f"g++ -I{self.root}/src -std=c++20 -c x.cc"
        self.write(".gitignore", "/build/\n")
        self.write("build/dev/compile_commands.json", json.dumps([{"command": command}]))
        self.write("src/base/number.h", "#pragma once\nusing Number = int;\n")

    def test_accepts_headers_that_include_what_they_need(self):
        self.write("src/base/sum.h", '#pragma once\n#include "base/number.h"\nNumber sum(Number a, Number b);\n')
        self.assert_passes("check-headers")
        self.assert_passes("check-headers")

    def test_refuses_a_header_that_leans_on_its_includer(self):
        self.write("src/base/sum.h", "#pragma once\nNumber sum(Number a, Number b);\n")
        self.assert_fails("src/base/sum.h", "check-headers")

    def test_notices_a_change_below_a_header(self):
        self.write("src/base/sum.h", '#pragma once\n#include "base/number.h"\nNumber sum(Number a, Number b);\n')
        self.assert_passes("check-headers")
        self.write("src/base/number.h", "#pragma once\n")
        self.assert_fails("src/base/sum.h", "check-headers")
