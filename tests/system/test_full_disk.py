"""A disk without space, for the run folder, the log, podman and what ank prints.

    $(tools/setup --python) tools/run-unittests -k 'FullDisk.*' tests/system
"""

import errno
import pathlib
import subprocess
import unittest

import harness
import stub

# A file system of its own for the folder $1, seen by nobody else; the rest is run in it.
OWN_DISK = 'mount -t tmpfs -o "$2" tmpfs "$1" && shift 2 && exec "$@"'
# The log stands on that disk too: $1 is its file.
WITH_LOG = 'exec >>"$1" 2>&1; shift; exec "$@"'
NO_SPACE = "No space left on device"


class FullDisk(stub.Case):
    def on_own_disk(self, folder, size, *command, **more):
        return subprocess.Popen(["unshare", "-rm", "sh", "-c", OWN_DISK, "sh", folder, size, *map(str, command)], cwd=self.folder,
                                stdin=subprocess.DEVNULL, start_new_session=True, text=True, **more)

    def test_run_folder(self):
        folder = self.folder / "disk"
        folder.mkdir()
        process = self.on_own_disk(folder, "nr_inodes=1", harness.PROGRAMS / "ank-agent", "-k", "-n", "agent_A", "-r", folder,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=harness.clean_environment())
        output, _ = process.communicate(timeout=harness.SECONDS)
        self.assertEqual(process.returncode, 1, output)
        self.assertIn("Run folder creation failed", output)
        self.assertIn(NO_SPACE, output)

    def test_disk_is_full_for_a_while(self):
        server = self.server()
        disk = self.folder / "disk"
        disk.mkdir()
        self.podman.folder = disk / "podman"    # where its processes are recognised by
        name = self.unique("stest")
        process = self.on_own_disk(
            disk, "size=256k", "sh", "-c", f'mkdir "$STUB_PODMAN" && {WITH_LOG}', "sh", disk / "log",
            harness.PROGRAMS / "ank-agent", "-k", "-n", name, "-s", server.url, "-r", disk,
            env=harness.clean_environment() | self.podman.environment | {"STUB_PODMAN": str(disk / "podman")})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_until(lambda: name in self.connected_agents(server), "the agent is connected")
        seen = pathlib.Path(f"/proc/{process.pid}/root") / str(disk).lstrip("/")
        self.apply(server, {"early": stub.workload(name)})
        self.wait_for(server, early="Running(Ok)")

        self.fill(seen / "fill")
        self.apply(server, {"late": stub.workload(name), "filed": stub.workload(name, files=[{"mountPoint": "/a", "data": "x"}])})
        self.wait_until(lambda: all(NO_SPACE in (self.info(server, each) or "") for each in ("late", "filed")), "the reason is told")
        self.assertEqual(self.states(server), {"early": "Running(Ok)", "late": "Pending(Starting)", "filed": "Pending(StartingFailed)"})
        self.assertTrue(self.info(server, "filed").startswith("Failed to create workload file: '"), self.info(server, "filed"))
        self.assertIsNone(process.poll())
        (seen / "fill").unlink()
        self.wait_for(server, early="Running(Ok)", late="Running(Ok)")

        self.fill(seen / "fill")
        self.ank(server, "delete", "workload", "early", "late", "filed")
        self.assertEqual(list((seen / f"{name}_io").iterdir()), [])
        self.assertEqual([each for each in (seen / "podman/containers").iterdir() if not each.name.startswith(".")], [])
        process.terminate()
        self.assertEqual(process.wait(harness.SECONDS), 0)

    def fill(self, path):
        with path.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)

    def test_nowhere_to_log_and_nowhere_to_print(self):
        server, agent = self.server(), None
        with open("/dev/full", "w") as full:
            for program, words in ("ank-server", ["-k", "-a", f"127.0.0.1:{server.port}"]), ("ank-agent", ["-k"]):
                run = subprocess.run([harness.PROGRAMS / program, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=full,
                                     timeout=harness.SECONDS, env=harness.clean_environment())
                self.assertEqual(run.returncode, 1, program)
            name = self.unique("stest")
            agent = subprocess.Popen([harness.PROGRAMS / "ank-agent", "-k", "-n", name, "-s", server.url, "-r", self.folder],
                                     stdin=subprocess.DEVNULL, stdout=full, stderr=full, start_new_session=True,
                                     env=harness.clean_environment() | self.podman.environment)
            self.addCleanup(agent.wait)
            self.addCleanup(agent.kill)
            self.wait_until(lambda: name in self.connected_agents(server), "the agent is connected")
            self.apply(server, {"fine": stub.workload(name)})
            self.wait_for(server, fine="Running(Ok)")
            for words in ["get", "workloads"], ["get", "state"], ["--version"], ["--help"]:
                with self.subTest(words):
                    run = subprocess.run([harness.PROGRAMS / "ank", "-k", "-s", server.url, *words], stdin=subprocess.DEVNULL,
                                         stdout=full, stderr=subprocess.PIPE, text=True, timeout=harness.SECONDS,
                                         env=harness.clean_environment() | {"HOME": str(self.folder)})
                    self.assertEqual(run.returncode, 1, run.stderr)
                    self.assertIn(NO_SPACE, run.stderr)


if __name__ == "__main__":
    unittest.main()
