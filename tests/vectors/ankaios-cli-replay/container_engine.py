"""The scripted engine of the recorded agents (ankaios-agent-replay), with containers that run: their commands are processes of
this machine, which write into files, and `logs` prints from there.
"""

import asyncio
import contextlib
import datetime
import os
import pathlib
import re
import signal
import subprocess

import scripted_engine
from scripted_engine import Refused

PATIENCE = 5            # of a stop
POLL = 0.02


class Process:
    """The first process of a container, in a session of its own."""

    def __init__(self, command, log_file):
        self.log_file = log_file
        self.started = datetime.datetime.now(datetime.timezone.utc)
        with log_file.open("ab") as log:
            self.process = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                            env={"PATH": os.defpath})

    def exit_code(self):
        """None while it runs."""
        code = self.process.poll()
        return code if code is None or code >= 0 else 128 - code

    def has_settled(self):
        """Whether it has ended, or waits for a process that it has started: all that it does at first is done."""
        with contextlib.suppress(OSError):
            pid = self.process.pid
            return self.process.poll() is not None or bool(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().strip())
        return True

    def end(self, number):
        """Asks the first process only, as an engine does; what is left then is killed."""
        self.process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(PATIENCE)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class ContainerEngine(scripted_engine.Engine):
    def __init__(self, folder):
        super().__init__({}, {}, lambda: None)
        self.folder = folder
        self.commands = {}      # id: words
        self.processes = {}     # id: Process

    def end(self):
        for process in self.processes.values():
            process.end(signal.SIGKILL)

    def has_settled(self):
        return all(process.has_settled() for process in self.processes.values())

    # --- commands ---

    def act(self, call):
        for ident, process in self.processes.items():
            container = self.containers.get(ident)
            if container and container.state == "running" and process.exit_code() is not None:
                container.state, container.exit_code = "exited", process.exit_code()
        return super().act(call)

    def run(self, program, command, call):
        end = max((at for at, word in enumerate(command) if word.startswith("--label=")), default=0) + 1
        image, *words = command[end:]
        if "--pull=never" in command[:end]:
            raise Refused(125, f"Error: {image}: image not known")      # none is there before it was pulled
        printed = super().run(program, command, call)
        ident = printed.strip()
        self.commands[ident] = words
        if command[0] == "run":
            self.launch(ident)
        return printed

    def start(self, program, command, call):
        printed = super().start(program, command, call)
        self.launch(self.find(program, command[-1]).id)
        return printed

    def launch(self, ident):
        """An image's own command is not known; a container without another one just runs."""
        if self.commands[ident]:
            self.processes[ident] = Process(self.commands[ident], self.folder / f"{ident[:12]}.log")

    def stop(self, program, command, call):
        container = self.find(program, command[-1])
        if container and container.id in self.processes:
            self.processes[container.id].end(signal.SIGKILL if command[0] == "kill" else signal.SIGTERM)
        return super().stop(program, command, call)

    def remove(self, program, command, call):
        container = self.find(program, command[-1])
        printed = super().remove(program, command, call)
        if container and container.id in self.processes:
            self.processes.pop(container.id).end(signal.SIGKILL)
        return printed

    # --- logs ---

    async def print_logs(self, call, send):
        command = scripted_engine.command_of(call.words)
        container = self.find(call.words[0], command[-1])
        process = self.processes.get(container.id) if container else None
        try:
            options = log_options(command)
            if not container:
                raise Refused(125, f'Error: no container with name or ID "{command[-1]}" found: no such container')
        except Refused as refusal:
            send("e", f"{refusal}\n".encode())
            send("x", str(refusal.code).encode())
            return
        if process and is_wanted(process.started, options):
            await self.print_file(process, options, "-f" in command, send)
        elif "-f" in command:
            while process is None or process.exit_code() is None:
                await asyncio.sleep(POLL)
        send("x", b"0")

    @staticmethod
    async def print_file(process, options, follows, send):
        with process.log_file.open("rb") as log:
            lines = log.read().splitlines(keepends=True)
            tail = int(options.get("--tail", -1))
            send("o", b"".join(lines if tail < 0 else lines[len(lines) - min(tail, len(lines)):]))
            ended = False
            while follows and not ended:
                ended = process.exit_code() is not None
                if part := log.read():
                    send("o", part)
                await asyncio.sleep(POLL)


def log_options(command):
    """--since, --until and --tail with their values, which may stand in the same word."""
    options = {}
    for word, following in zip(command, command[1:]):
        name, equals, value = word.partition("=")
        if name in ("--since", "--until", "--tail"):
            options[name] = value if equals else following
    for name in ("--since", "--until"):
        if options.get(name):
            time_of(name, options[name])
    return options


def time_of(name, text):
    try:
        return datetime.datetime.fromisoformat(re.sub(r"Z$", "+00:00", text))
    except ValueError:
        raise Refused(125, f'Error: parsing {name} "{text}": unable to interpret time value') from None


def is_wanted(written, options):
    """All that a container writes counts as written when it started."""
    since, until = options.get("--since"), options.get("--until")
    return not (since and written < time_of("--since", since)) and not (until and written > time_of("--until", until))
