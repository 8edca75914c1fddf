"""A program on a pseudo-terminal, and the screen as a user sees it."""

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pyte

import harness


class Terminal:
    """Starts the words as a process whose terminal this is; what it writes is shown on a screen."""

    def __init__(self, words, folder, columns=80, rows=24, environment=None):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.written = b""      # all that came so far, as it came
        self.status = None
        variables = harness.clean_environment() | {"TERM": "xterm", "HOME": str(folder), "LC_ALL": "C.UTF-8"} | (environment or {})
        variables = {key: value for key, value in variables.items() if value is not None}
        words = [os.fspath(word) for word in words]
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            # Only now, in the child: the size must be there before the program looks.
            set_size(0, columns, rows)
            os.chdir(folder)
            os.execvpe(words[0], words, variables)

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.status = os.waitpid(self.pid, 0)[1]
        os.close(self.master)

    def pump(self, seconds=0.02):
        """Takes what has come; false when there is nothing left to come."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:     # nobody has the other end open any more
            return False
        self.written += data
        self.stream.feed(data)
        return bool(data)

    def lines(self):
        """The screen without what is empty at its end."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip("\n").split("\n")

    def text(self):
        return "\n".join(self.lines())

    def wait_until(self, condition, what):
        limit = time.monotonic() + harness.SECONDS
        while not (result := condition()):
            if time.monotonic() > limit:
                raise AssertionError(f"not within {harness.SECONDS} s: {what}; on the screen:\n{self.text()}")
            self.pump()
        return result

    def wait_for(self, text):
        self.wait_until(lambda: text in self.text(), f"{text!r} is shown")

    def type(self, text):
        os.write(self.master, text.encode())

    def resize(self, columns, rows=24):
        """As a user who pulls at the window: the program gets a signal."""
        self.screen.resize(rows, columns)
        set_size(self.master, columns, rows)

    def ended(self):
        """The exit code as a shell shows it; all that was written is on the screen."""
        limit = time.monotonic() + harness.SECONDS
        while self.pump(1):
            if time.monotonic() > limit:
                raise AssertionError(f"does not end; on the screen:\n{self.text()}")
        self.status = os.waitpid(self.pid, 0)[1]
        code = os.waitstatus_to_exitcode(self.status)
        return code if code >= 0 else 128 - code


def set_size(descriptor, columns, rows):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Case(harness.Case):
    def terminal(self, *words, **more):
        terminal = Terminal(words, self.folder, **more)
        self.addCleanup(terminal.close)
        return terminal
