"""Odd peers, odd words, few descriptors, and changes faster than podman.

    $(tools/setup --python) tools/run-unittests -k 'Odd.*' tests/system
"""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import unittest

import harness
import stub
from harness import manifest


class Odd(harness.OneAgent, stub.Case):
    def few_descriptors(self, program, count):
        _, hard = resource.prlimit(program.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(program.process.pid, resource.RLIMIT_NOFILE, (count, hard))

    def runs(self, workload, *command):
        """Exactly one container of it, with this command."""
        return [words for name, _, _, process, words in self.podman.containers() if name == workload and process] == [list(command)]

    def test_agent_with_few_descriptors(self):
        self.few_descriptors(self.worker, 60)
        count = 80
        self.apply(self.one, {f"w{number}": stub.workload(self.name) for number in range(count)})
        self.wait_for(self.one, **{f"w{number}": "Running(Ok)" for number in range(count)})
        self.podman.kill(*(f"w{number}" for number in range(count)))
        self.wait_for(self.one, **{f"w{number}": "Failed(ExecFailed)" for number in range(count)})
        self.ank(self.one, "--no-wait", "delete", "workload", *(f"w{number}" for number in range(count)))
        self.wait_for(self.one, **{f"w{number}": None for number in range(count)})
        self.assertEqual(self.podman.containers(), [])

    def test_server_with_few_descriptors(self):
        self.few_descriptors(self.one, 40)
        peers = [socket.create_connection(("127.0.0.1", self.one.port)) for _ in range(100)]
        for peer in peers:
            self.addCleanup(peer.close)
        self.wait_until(lambda: "Too many open files" in self.one.log(), "the server says so")
        for peer in peers:
            peer.close()
        self.apply(self.one, {"fine": stub.workload(self.name)})
        self.wait_for(self.one, fine="Running(Ok)")

    def test_garbage_on_the_port(self):
        preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        for junk in b"GET / HTTP/1.1\r\n\r\n", b"\x00" * 100_000, preface + b"\xff" * 5000, b"\x16\x03\x01\x02\x00\x01", b"":
            with socket.create_connection(("127.0.0.1", self.one.port), timeout=harness.SECONDS) as peer:
                # The server may have hung up at any moment.
                with contextlib.suppress(OSError):
                    peer.sendall(junk)
                    peer.shutdown(socket.SHUT_WR)
                with contextlib.suppress(ConnectionResetError):
                    while peer.recv(4096):
                        pass
        self.apply(self.one, {"fine": stub.workload(self.name)})
        self.wait_for(self.one, fine="Running(Ok)")

    def test_a_hundred_commands_at_once(self):
        self.apply(self.one, {"fine": stub.workload(self.name)})
        self.wait_for(self.one, fine="Running(Ok)")
        processes = [subprocess.Popen([harness.PROGRAMS / "ank", "-k", "-s", self.one.url, "get", "workloads"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                      env=harness.clean_environment() | {"HOME": str(self.folder)}) for _ in range(100)]
        answers = [(process.communicate(timeout=harness.SECONDS)[0], process.returncode) for process in processes]
        self.assertEqual(len(set(answers)), 1, answers)
        self.assertIn("Running(Ok)", answers[0][0])

    def test_updates_faster_than_podman(self):
        for number in range(100):
            self.apply(self.one, {"restless": stub.workload(self.name, f"v{number}")})
        self.wait_until(lambda: self.runs("restless", "v99") and len(self.podman.containers()) == 1, "only the last one runs")
        self.wait_until(lambda: [state for _, _, _, state, _ in self.instances(self.one)] == ["Running(Ok)"], "and is known")

    def test_deleted_while_it_is_created_and_wanted_again(self):
        for step in "run:begin", "run:created", "run:started":
            with self.subTest(step):
                self.podman.pause_at(step)
                self.apply(self.one, {"hasty": stub.workload(self.name)})
                self.wait_until(self.podman.reached, f"podman comes to {step}")
                self.ank(self.one, "--no-wait", "delete", "workload", "hasty")
                self.apply(self.one, {"hasty": stub.workload(self.name)})
                self.podman.go_on()
                self.wait_until(lambda: self.runs("hasty", "wait") and len(self.podman.containers()) == 1, "one container")
                self.wait_for(self.one, hasty="Running(Ok)")
                self.ank(self.one, "delete", "workload", "hasty")
                self.assertEqual(self.podman.containers(), [])

    def test_agent_ends_while_podman_creates(self):
        self.podman.pause_at("run:created")
        self.apply(self.one, {"hasty": stub.workload(self.name)})
        self.wait_until(self.podman.reached, "podman creates")
        self.assertEqual(self.worker.terminate(), 0)
        self.podman.go_on()
        self.wait_until(lambda: self.runs("hasty", "wait"), "podman finishes by itself")
        before = self.podman.ids()
        self.agent(self.one, self.name)
        self.wait_for(self.one, hasty="Running(Ok)")
        self.assertEqual(self.podman.ids(), before)

    def test_podman_that_is_stopped_for_a_while(self):
        self.apply(self.one, {"fine": stub.workload(self.name)})
        self.wait_for(self.one, fine="Running(Ok)")
        self.podman.pause_at("run:begin")
        self.apply(self.one, {"slow": stub.workload(self.name)})
        process = self.wait_until(self.podman.reached, "podman creates")
        os.kill(process, signal.SIGSTOP)
        self.podman.go_on()
        self.apply(self.one, {"other": stub.workload(self.name)})
        self.wait_for(self.one, fine="Running(Ok)", other="Running(Ok)")
        self.podman.kill("fine")
        self.wait_for(self.one, fine="Failed(ExecFailed)", slow="Pending(Starting)")
        os.kill(process, signal.SIGCONT)
        self.wait_for(self.one, slow="Running(Ok)")

    def test_words_with_meaning_for_shells(self):
        words = ["$(touch pwned)", "`touch pwned`", "; touch pwned", "a b\tc", "\"'\\", "ü€", "--name=x", "-", "{{x}}", "a\nb"]
        self.apply(self.one, {"odd": stub.workload(self.name, *words)})
        self.wait_for(self.one, odd="Running(Ok)")
        self.assertTrue(self.runs("odd", *words), self.podman.containers())
        self.assertEqual(list(self.folder.rglob("pwned")), [])

    def test_names_that_look_like_others(self):
        """A container that bears the name of an instance is not taken for it; the label counts."""
        names = ["a", "a_1", "a-1", "A", "1", "x" * 63]
        self.apply(self.one, {name: stub.workload(self.name, name) for name in names})
        self.wait_for(self.one, **{name: "Running(Ok)" for name in names})
        self.ank(self.one, "delete", "workload", "a")
        self.assertEqual(set(self.podman.ids()), set(names) - {"a"})

    def test_large_manifest(self):
        """Ten megabytes; more than a stock peer would take, and ours does."""
        size, count = 100_000, 100
        path = self.file("large.yaml", manifest({f"w{number}": stub.workload("nobody", "x" * size) for number in range(count)}))
        self.ank(self.one, "--no-wait", "apply", path)
        self.assertEqual(len(self.states(self.one)), count)
        self.apply(self.one, {"fine": stub.workload(self.name)})
        self.wait_for(self.one, fine="Running(Ok)")

    def test_two_agents_of_one_name(self):
        self.apply(self.one, {"fine": stub.workload(self.name)})
        self.wait_for(self.one, fine="Running(Ok)")
        before = self.podman.ids()
        second = self.agent(self.one, self.name, connected=False)
        self.wait_until(lambda: self.one.log().count("Replacing sender for this client") > 1, "they replace each other")
        self.assertEqual(self.podman.ids(), before)
        self.assertTrue(self.worker.lives() and second.lives())
        second.terminate()
        self.wait_for(self.one, fine="Running(Ok)")
        self.apply(self.one, {"fine": stub.workload(self.name, "changed")})
        self.wait_until(lambda: self.runs("fine", "changed") and len(self.podman.containers()) == 1, "one agent is left, and works")


if __name__ == "__main__":
    unittest.main()
