"""Peers that stop reading; the others notice nothing, memory stays bounded, and all is well once they go on.

    $(tools/setup --python) tools/run-unittests -k 'Stopped.*' tests/system
"""

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import unittest

import harness
import stub
from test_many import memory_mb

COUNT = 20
ROUNDS = 25
MAX_MB = 100


class Stopped(stub.Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.worker = self.agent(self.one)

    def workloads(self, agent, *command):
        return {f"{agent.agent_name}_{number}": stub.workload(agent.agent_name, *command) for number in range(COUNT)}

    def is_so(self, agent, podman, *command):
        """The agent's workloads run, with this command, and nothing else does."""
        found = podman.containers()
        states = [state for _, name, _, state, _ in self.instances(self.one) if name == agent.agent_name]
        return (states == ["Running(Ok)"] * COUNT and len(found) == COUNT and
                all(process and words == list(command) for _, _, _, process, words in found))

    def storm(self, *agents):
        """Many updates, and more states; the last one is "last"."""
        for number in range(ROUNDS):
            command = "last" if number == ROUNDS - 1 else f"round-{number}"
            self.apply(self.one, {name: spec for agent in agents for name, spec in self.workloads(agent, command).items()})

    def stop(self, process):
        process.send_signal(signal.SIGSTOP)
        self.addCleanup(process.send_signal, signal.SIGCONT)

    def test_agent(self):
        podman = self.new_podman()
        sleeper = self.agent(self.one, podman=podman)
        self.apply(self.one, self.workloads(self.worker, "first") | self.workloads(sleeper, "first"))
        self.wait_until(lambda: self.is_so(self.worker, self.podman, "first") and self.is_so(sleeper, podman, "first"), "all run")
        before = podman.ids()
        self.stop(sleeper.process)
        self.storm(self.worker, sleeper)
        self.wait_until(lambda: self.is_so(self.worker, self.podman, "last"), "the other agent is where it should be")
        self.wait_until(lambda: {state for _, name, _, state, _ in self.instances(self.one) if name == sleeper.agent_name} <=
                        {"AgentDisconnected", "Pending(Initial)"}, "the stopped agent is missed")
        self.assertEqual(podman.ids(), before)
        self.assertLess(memory_mb(self.one.process), MAX_MB)

        sleeper.process.send_signal(signal.SIGCONT)
        self.wait_until(lambda: self.is_so(sleeper, podman, "last"), "the stopped agent is back")
        self.assertTrue(self.is_so(self.worker, self.podman, "last"))
        for program in self.one, self.worker, sleeper:
            self.assertLess(memory_mb(program.process), MAX_MB, program.name)

    def test_commands_whose_output_nobody_reads(self):
        watching = [subprocess.Popen([harness.PROGRAMS / "ank", "-k", "-s", self.one.url, "get", "workloads", "-w"],
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
                                     env=harness.clean_environment() | {"HOME": str(self.folder)}) for _ in range(5)]
        for process in watching:
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        self.stop(watching[0])
        self.storm(self.worker)
        self.wait_until(lambda: self.is_so(self.worker, self.podman, "last"), "all run")
        for process in watching[1:]:
            self.assertLess(memory_mb(process), MAX_MB)
        self.assertLess(memory_mb(self.one.process), MAX_MB)
        self.assertTrue(self.worker.lives())

    def test_slow_reader_gets_everything(self):
        self.apply(self.one, {f"w{number}": stub.workload("nobody", "x" * 1000) for number in range(300)})
        wanted = self.ank(self.one, "get", "state", "-o", "json")
        self.assertGreater(len(wanted), 200_000)
        read, write = os.pipe()
        os.set_blocking(write, False)
        process = subprocess.Popen([harness.PROGRAMS / "ank", "-k", "-s", self.one.url, "get", "state", "-o", "json"],
                                   stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.DEVNULL,
                                   env=harness.clean_environment() | {"HOME": str(self.folder)})
        os.close(write)
        with open(read, encoding="utf-8") as stdout:
            self.wait_until(lambda: process.poll() is not None or waiting_bytes(read) > 60_000, "the pipe is full")
            seen = stdout.read()
        self.assertEqual(process.wait(harness.SECONDS), 0)
        self.assertEqual(without_load(seen), without_load(wanted))


def without_load(state):
    return re.sub(r'"(cpu_usage|free_memory)": "\d+"', "", state)


def waiting_bytes(descriptor):
    return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"    "))[0]


if __name__ == "__main__":
    unittest.main()
