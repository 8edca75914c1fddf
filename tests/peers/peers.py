"""Starts peers; README.md describes what they are and do."""

import functools
import os
import pathlib
import queue
import signal
import subprocess
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
OURS = "ours"
OTHERS = ["tonic", "go", "grpcpp", "grpcio"]
SECONDS = 120       # for whatever must happen some time; nothing measures it


def build():
    """Builds what is missing of the others; ours comes with the rest of the tree."""
    subprocess.run([ROOT / "tools/peers"], check=True)


@functools.cache
def folder_of_others():
    return pathlib.Path(subprocess.run([ROOT / "tools/peers", "--dir"], check=True, capture_output=True, text=True).stdout.strip())


def program(name):
    """TIPHYS_BIN names the folder of another build of ours than dev."""
    if name == OURS:
        return pathlib.Path(os.environ.get("TIPHYS_BIN", ROOT / "build/dev/bin")) / "tiphys-peer"
    return folder_of_others() / f"{name}-peer"


class Process:
    """A peer that runs until the end of the block; the lines of its stdout can be awaited."""

    def __init__(self, name, *words):
        self.command = [str(program(name)), *map(str, words)]
        self.errors = tempfile.TemporaryFile("a+")     # reading it must not move where the peer writes
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.lines = queue.SimpleQueue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stdin.close()
        self.errors.close()

    def next_line(self):
        try:
            line = self.lines.get(timeout=SECONDS)
        except queue.Empty:
            raise AssertionError(f"no line within {SECONDS} s from {self.described()}") from None
        if line is None:
            raise AssertionError(f"no further line from {self.described()}")
        return line

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def described(self):
        self.errors.seek(0)
        return f"{' '.join(self.command)}, which said on stderr:\n{self.errors.read()}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def lives(self):
        return self.process.poll() is None

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def ended(self):
        """Its exit code; waits for it."""
        try:
            return self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"no end within {SECONDS} s of {self.described()}") from None


class Server(Process):
    """A peer that serves; address is where."""

    def __init__(self, name, listen="tcp:127.0.0.1:0", identity=None, command="serve", more=()):
        super().__init__(name, command, "--listen", listen, *(identity.options() if identity else []), *more)
        try:
            self.address = self.next_line().removeprefix("listening ")
        except AssertionError:
            self.__exit__()
            raise


def call(name, address, cases, identity=None):
    """Runs cases and answers with what was not as expected; empty is good."""
    words = ["--connect", address, *(identity.options() if identity else [])]
    run = subprocess.run([program(name), "call", *words, *cases], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=SECONDS * len(cases))
    expected = [f"ok {case}" for case in cases]
    if run.returncode == 0 and run.stdout.splitlines() == expected:
        return ""
    return f"exit code {run.returncode}\n{run.stdout}{run.stderr}"


def cases(name):
    return subprocess.run([program(name), "cases"], check=True, capture_output=True, text=True).stdout.splitlines()
