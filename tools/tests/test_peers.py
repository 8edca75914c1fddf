import os
import pathlib
import shutil
import subprocess

from fake_tree import TOOLS, FakeTree


class Peers(FakeTree):
    """Runs a copy of the real script, with peers that are already built."""

    def setUp(self):
        super().setUp()
        for name in "tools/peers", "tools/setup", "tests/requirements.txt", "tests/peers", "proto":
            source, target = TOOLS.parent / name, self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)

    def run_peers(self, *arguments, path=os.environ["PATH"]):
        environment = {**os.environ, "XDG_CACHE_HOME": f"{self.root}/cache", "PATH": path}
        return subprocess.run([str(self.root / "tools/peers"), *arguments], env=environment, capture_output=True, text=True)

    def folder(self):
        run = self.run_peers("--dir")
        self.assertEqual(run.returncode, 0, run.stderr)
        return pathlib.Path(run.stdout.strip())

    def test_is_quiet_when_nothing_is_missing(self):
        for name in "tonic", "go", "grpcpp", "grpcio":
            self.write(self.folder() / f"{name}-peer", "#!/bin/sh\n")
            (self.folder() / f"{name}-peer").chmod(0o755)
        run = self.run_peers()
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))

    def test_builds_only_what_is_missing(self):
        for name in "tonic", "go", "grpcpp":
            self.write(self.folder() / f"{name}-peer", "#!/bin/sh\n")
            (self.folder() / f"{name}-peer").chmod(0o755)
        run = self.run_peers()
        self.assertEqual((run.returncode, run.stdout), (0, f"peers: building grpcio-peer in {self.folder()}\n"), run.stderr)
        self.assertTrue(os.access(self.folder() / "grpcio-peer", os.X_OK))

    def test_folder_is_named_by_what_goes_into_it(self):
        first = self.folder()
        self.assertEqual(self.folder(), first)
        with (self.root / "tests/peers/go/main.go").open("a") as source:
            source.write("// changed\n")
        second = self.folder()
        self.assertNotEqual(second, first)
        with (self.root / "tests/peers/README.md").open("a") as text:
            text.write("changed\n")
        self.assertEqual(self.folder(), second)

    def test_names_the_tool_that_is_missing(self):
        (self.root / "bin").mkdir()
        for tool in "bash", "dirname", "sha256sum", "cut", "g++", "protoc":
            (self.root / "bin" / tool).symlink_to(shutil.which(tool))
        run = self.run_peers(path=f"{self.root}/bin")
        self.assertEqual((run.returncode, run.stderr), (1, "peers: cargo is missing; tools/setup installs it\n"))
