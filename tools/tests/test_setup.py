import os
import pathlib
import subprocess

from fake_tree import TOOLS, FakeTree


class Setup(FakeTree):
    """Runs the real script with stand-ins for the programs that look at or change the machine."""

    def program(self, name, script):
        self.write(f"bin/{name}", f"#!/bin/bash\n{script}\n")
        (self.root / f"bin/{name}").chmod(0o755)

    def set_up(self, lacking, *words):
        self.program("dpkg-query", f'printf "installed %s\\n" "${{@:3}}" | grep -vxE "installed ({lacking})"')
        self.program("apt-get", f'echo "$*" >> {self.root}/apt.log')
        self.program("sudo", '"$@"')
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "XDG_CACHE_HOME": f"{self.root}/cache"}
        setup = [str(TOOLS / "setup")]
        python = subprocess.run([*setup, "--python"], env=environment, check=True, capture_output=True, text=True).stdout
        self.write(pathlib.Path(python).parent.parent / "complete", "")
        run = subprocess.run([*setup, *words], env=environment, check=True, capture_output=True, text=True)
        log = self.root / "apt.log"
        return run.stdout + run.stderr, log.read_text() if log.exists() else ""

    def test_is_quiet_when_nothing_is_missing(self):
        self.assertEqual(self.set_up(lacking="nothing"), ("", ""))

    def test_installs_only_what_is_missing(self):
        output, calls = self.set_up(lacking="mold|ccache")
        self.assertIn("installing ccache mold\n", output)
        self.assertRegex(calls, r"(?s)^-qq update\n-qq install .* ccache mold\n$")

    def test_for_running_only_what_that_needs(self):
        output, calls = self.set_up("podman|clang-19|python3-venv", "--run")
        self.assertIn("installing podman\n", output)
        self.assertTrue(calls.endswith(" podman\n"), calls)
