import subprocess

from fake_tree import FakeTree

PURE = "#include <map>\n#include <string>\nint size(const std::map<std::string, int>& m) { return (int)m.size(); }\n"


class CheckPurity(FakeTree):
    def setUp(self):
        super().setUp()
        for name in ("base", "model", "text", "core_agent"):
            self.library(name, "int one() { return 1; }\n")

    def library(self, name, source):
        build = self.root / "build/dev"
        build.mkdir(parents=True, exist_ok=True)
        subprocess.run(["g++", "-std=c++20", "-w", "-x", "c++", "-", "-c", "-o", f"{name}.o"],
                       input=source, text=True, check=True, cwd=build)
        subprocess.run(["ar", "rcs", f"lib{name}.a", f"{name}.o"], check=True, cwd=build)

    def test_accepts_pure_libraries(self):
        self.library("core_agent", PURE)
        self.assert_passes("check-purity")

    def test_refuses_the_outside_world(self):
        headers = ("chrono", "ctime", "cstdlib", "fcntl.h", "filesystem", "fstream", "iostream", "random", "sys/socket.h",
                   "thread", "unistd.h")
        statements = ("std::chrono::steady_clock::now();", "std::time(nullptr);", "std::thread([] {}).join();",
                      'std::ifstream("x").get();', 'std::filesystem::status("x");', 'open("x", 0);', "socket(0, 0, 0);",
                      'std::getenv("HOME");', "fork();", "std::random_device{}();", 'std::cerr << "x";')
        self.library("core_agent", "".join(f"#include <{header}>\n" for header in headers) +
                     "void act() {\n" + "\n".join(statements) + "\n}\n")
        code, output = self.run_tool("check-purity")
        self.assertEqual(code, 1)
        for offence in ("std::chrono::_V2::steady_clock::now (clock)", "time (clock)", "std::thread::join (thread)",
                        "std::filesystem::status (file)", "open (file)", "socket (socket)", "getenv (environment)",
                        "fork (process)", "std::cerr (log)"):
            self.assertIn(f"libcore_agent.a(core_agent.o): {offence}", output)
        self.assertRegex(output, r"std::basic_ifstream<.* \(file\)")
        self.assertRegex(output, r"std::random_device.* \(chance\)")

    def test_refuses_hash_tables_in_the_core(self):
        self.write("src/core/agent/roster.h", "// not an unordered_map\n")
        self.assert_passes("check-purity")
        self.write("src/core/agent/roster.h", "std::unordered_map<int, int> roster_;\n")
        self.assert_fails("src/core/agent/roster.h:1: a hash table", "check-purity")

    def test_refuses_a_build_without_the_libraries(self):
        (self.root / "build/dev/libtext.a").unlink()
        self.assert_fails("no library libtext.a", "check-purity")
