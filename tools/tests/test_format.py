from fake_tree import TOOLS, FakeTree


class CheckFormat(FakeTree):
    def setUp(self):
        super().setUp()
        self.write(".clang-format", (TOOLS.parent / ".clang-format").read_text())

    def test_accepts_a_tidy_file(self):
        self.write("src/base/one.cc", "int one() { return 1; }\n")
        self.assert_passes("check-format")

    def test_refuses_a_crooked_file_and_repairs_it(self):
        self.write("src/base/one.cc", "int   one( ){return 1;}\n")
        self.assert_fails("src/base/one.cc", "check-format")
        self.assert_passes("check-format", "--fix")
        self.assert_passes("check-format")

    def test_leaves_ignored_files_alone(self):
        self.write(".gitignore", "/build/\n")
        self.write("build/made.cc", "int   one( ){return 1;}\n")
        self.assert_passes("check-format")
