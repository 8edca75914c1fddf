"""Performs one scenario with a real ank-agent, a scripted server, a scripted engine and scripted workloads.

After what a step does, all is awaited that the recording (or the list of differences) names, and then a short silence. What
comes later is seen by the next step. Where something else comes, a longer silence says that this was all.
"""

import asyncio
import contextlib
import errno
import json
import os
import pathlib
import signal
import stat
import time

import comparison
import scripted_engine
import scripted_server
from comparison import compact

SILENCE = 0.2           # after what was awaited
LAST_SILENCE = 0.5      # at the end of a scenario, which no step follows
PIPE_SILENCE = 1.0      # nothing awaited of a pipe: half a second passes until a reader that does not come is given up
POLL_SILENCE = 1.5      # nothing awaited of a change in the engine: a poll has to pass, they are 1 s apart
# Something awaited does not come. Only whoever writes new lists has reason to think that it never will: on a busy machine it
# may take long, and waiting costs nothing where it comes.
OTHER_SILENCE = 2.2 if "TIPHYS_UPDATE" in os.environ else 60    # polls and retries are 1 s apart
LIMIT = 60
PIPE_LIMIT = 10 if "TIPHYS_UPDATE" in os.environ else LIMIT

EXPECTATIONS = {"expect_server_receives", "expect_engine_calls", "expect_listing_calls", "expect_workload_reads", "expect_run_folder",
                "expect_working_directory", "expect_engine_processes_killed", "expect_agent_exit", "expect_poll_calls", "expect_log_lines",
                "first_message", "workload_write_fails"}


NO_PIPE = "there is no such pipe, the rest is left out"


class NoPipe(Exception):
    """A step cannot open what the agent should have made."""


def groups_of(steps):
    """Pairs of what is done and what is expected of it, with the numbers of the steps; a second expectation of a kind begins anew."""
    actions, expectations = [], []
    for at, step in enumerate(steps):
        kind = next(iter(step))
        begins = kind not in EXPECTATIONS or kind in (next(iter(each)) for _, each in expectations)
        if begins and expectations:
            yield actions, expectations
            actions, expectations = [], []
        if kind not in EXPECTATIONS:
            actions.append((at, step))
        if kind in EXPECTATIONS:
            expectations.append((at, step))
        elif "expect_agent_exit" in step:
            expectations.append((at, {"expect_agent_exit": step["expect_agent_exit"]}))
    if actions or expectations:
        yield actions, expectations


def by_workload(lines):
    """The order of each workload is kept."""
    return sorted(lines, key=lambda line: line.split(": ")[0])


class Workload:
    """The other end of the pipes of one workload's control interface."""

    def __init__(self, folder, happened):
        self.folder = folder
        self.happened = happened
        self.input = self.output = None
        self.bytes = b""
        self.read = []

    async def open(self, which, seconds):
        """Whether the agent has made it in that time."""
        path = self.folder / which
        # A pipe that stays open for writing does not end when the agent closes it.
        flags = os.O_NONBLOCK | (os.O_RDWR if which == "input" else os.O_WRONLY)
        limit = time.monotonic() + seconds
        while True:
            try:
                descriptor = os.open(path, flags)
                break
            except OSError as error:
                if error.errno not in (errno.ENXIO, errno.ENOENT):
                    raise
                if time.monotonic() > limit:
                    return False
                await asyncio.sleep(0.01)
        setattr(self, which, descriptor)
        if which == "input":
            asyncio.get_running_loop().add_reader(descriptor, self.receive)
        return True

    def close(self, which):
        descriptor = getattr(self, which)
        if descriptor is not None:
            if which == "input":
                asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        setattr(self, which, None)

    async def write(self, data):
        limit = time.monotonic() + PIPE_LIMIT
        while data:
            try:
                data = data[os.write(self.output, data):]
            except BlockingIOError:
                if time.monotonic() > limit:
                    raise
                await asyncio.sleep(0.005)

    def receive(self):
        with contextlib.suppress(BlockingIOError):
            while part := os.read(self.input, 1 << 16):
                self.bytes += part
        while frame := split(self.bytes):
            message, self.bytes = frame
            self.read.append(scripted_server.to_json(scripted_server.MESSAGES["control_api.FromAnkaios"].FromString(message)))
            self.happened()


def split(data):
    """The first message and what follows; nothing while it is not whole."""
    length = 0
    for at, byte in enumerate(data):
        length |= (byte & 0x7F) << (7 * at)
        if byte < 0x80:
            end = at + 1 + length
            return (data[at + 1:end], data[end:]) if len(data) >= end else None
    return None


def framed(message):
    data = message.SerializeToString()
    length, prefix = len(data), b""
    while length >= 0x80:
        prefix += bytes([length & 0x7F | 0x80])
        length >>= 7
    return prefix + bytes([length]) + data


class Replay:
    """One scenario in a folder of its own; listed is what the list of differences says of it."""

    def __init__(self, scenario, listed, folder, programs, commands):
        self.scenario = scenario
        self.listed = listed
        self.folder = folder
        self.programs = programs
        self.commands = commands
        self.names = comparison.container_names(scenario["steps"])
        self.last_event = time.monotonic()
        self.event = asyncio.Event()
        self.engine = scripted_engine.Engine(scenario["engine"] or {}, self.names, self.happened)
        self.server = scripted_server.Server(self.happened)
        self.process = None
        self.workloads = {}
        self.ids = {}               # of the newest instance of each workload
        self.late = comparison.Late()
        self.write_error = None
        self.seen_messages = self.seen_calls = 0
        self.log_file = folder / "agent.log"

    def happened(self):
        self.last_event = time.monotonic()
        self.event.set()

    async def perform(self):
        """For each step that went otherwise than recorded: what came instead."""
        ours = {}
        steps = self.scenario["steps"]
        try:
            self.prepare()
            await self.engine.open(self.folder / "engine.sock")
            if "server_starts" not in steps[0]:
                await self.server.start()
            await self.start_agent()
            groups = list(groups_of(steps))
            for number, (actions, expectations) in enumerate(groups):
                for at, action in actions:
                    await self.act(at, action)
                ours |= await self.expect(actions, expectations, number + 1 == len(groups))
            if left := self.unread():
                ours["unread"] = left
        except NoPipe as missing:
            ours[str(missing)] = NO_PIPE
        finally:
            await self.clean_up()
        return ours

    # --- set-up ---

    def fill(self, text):
        text = text.replace("{{dir}}", str(self.folder)).replace("{{port}}", str(self.server.port))
        for key, name in self.engine.names.items():
            text = text.replace(name, key)
        return text

    def placeholders(self, text):
        text = text.replace(str(self.folder), "{{dir}}").replace(f"127.0.0.1:{self.server.port}", "127.0.0.1:{{port}}")
        for key, name in self.engine.names.items():
            text = text.replace(key, name)
        return text

    def prepare(self):
        (self.folder / "run").mkdir()
        (self.folder / "work").mkdir()
        if "config_file" in self.scenario:
            (self.folder / "agent.conf").write_text(self.fill(self.scenario["config_file"]))
        for path, kind, content in self.scenario.get("precreated", []):
            path = pathlib.Path(self.fill(path))
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "dir":
                path.mkdir()
            elif kind == "fifo":
                os.mkfifo(path, 0o700)
            elif kind == "file":
                path.write_text(content)
            else:
                path.write_text(kind)
                path.chmod(int(content, 8))

    async def start_agent(self):
        notes = [step["note"] for step in self.scenario["steps"] if "note" in step]
        umask = next((int(note.rpartition("umask ")[2], 8) for note in notes if "umask " in note), 0o022)
        environment = {"PATH": f"{self.commands}:/usr/bin:/bin", "SCRIPTED_ENGINE": str(self.folder / "engine.sock"),
                       "HOME": str(self.folder), "TMPDIR": str(self.folder / "run"), "NO_COLOR": "1"}
        environment |= {key: self.fill(value) for key, value in self.scenario.get("agent_env", {}).items()}
        with self.log_file.open("a") as log, (self.folder / "stdout").open("wb") as output:
            self.process = await asyncio.create_subprocess_exec(
                self.programs / "ank-agent", *map(self.fill, self.scenario["agent_args"]), cwd=self.folder / "work", env=environment,
                stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=log, umask=umask, start_new_session=True)

    async def clean_up(self):
        if self.process and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
            await self.process.wait()
        for workload in self.workloads.values():
            workload.close("input")
            workload.close("output")
        await self.server.close()
        if self.engine.server:
            self.engine.close()

    # --- what steps do ---

    async def act(self, at, step):
        kind, value = next(iter(step.items()))
        if kind == "server_sends":
            for added in next(iter(value.values()), {}).get("addedWorkloads", []):
                name = added.get("instanceName", {})
                self.ids[name.get("workloadName")] = (name.get("agentName"), name.get("id"))
            await self.until(lambda: self.server.outgoing, "the agent is connected")
            self.server.send(json.loads(self.fill(json.dumps(value))))
        elif kind == "server_starts":
            await self.server.start()
        elif kind == "server_stops":
            await self.server.stop()
        elif kind == "server_ends_stream":
            self.server.end_stream(value)
        elif kind == "engine_event":
            self.engine.event(step, self.fill)
        elif kind == "restart_agent":
            self.process.send_signal(signal.Signals[step["signal"]])
            await self.process.wait()
            await self.start_agent()
        elif kind == "signal_agent":
            self.process.send_signal(signal.Signals[value])
        elif kind == "workload_opens_fifos":
            workload = self.workload(value)
            for which in ("input", "output"):
                if step[which] and not await workload.open(which, 1 if self.listed.get(str(at)) == NO_PIPE else PIPE_LIMIT):
                    raise NoPipe(at)
        elif kind == "workload_closes_fifos":
            for which in ("input", "output"):
                if step[which]:
                    self.workloads[value].close(which)
        elif kind == "workload_writes_fifo":
            self.write_error = None
            data = bytes.fromhex(value.get("raw_hex", "")) + b"".join(
                framed(scripted_server.from_json("control_api.ToAnkaios", message)) for message in value.get("messages", []))
            try:
                await self.workloads[value["workload"]].write(data)
            except OSError as error:
                self.write_error = type(error).__name__
        elif kind == "wait_s":
            await asyncio.sleep(value)
        elif kind != "note":
            raise ValueError(f"unknown step: {kind}")

    def workload(self, name):
        agent, ident = self.ids[name]
        folder = self.folder / "run" / f"{agent}_io" / f"{name}.{ident}" / "control_interface"
        known = self.workloads.get(name)
        if not known or known.folder != folder:
            if known:
                known.close("input")
                known.close("output")
            self.workloads[name] = Workload(folder, self.happened)
        return self.workloads[name]

    async def until(self, condition, what):
        limit = time.monotonic() + LIMIT
        while not condition():
            if time.monotonic() > limit or self.process.returncode is not None:
                raise AssertionError(f"not within {LIMIT} s: {what}; the agent's exit code is {self.process.returncode}")
            self.event.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.event.wait(), 0.1)

    # --- what is expected ---

    async def expect(self, actions, expectations, is_last):
        """Awaits what is expected and compares; what came otherwise, by the number of its step."""
        begun = self.last_event = time.monotonic()
        changes_engine = any("engine_event" in action for _, action in actions)
        takes_time = any("within_s" in step for _, step in expectations)
        awaits_nothing = not any(self.wanted(at, step) for at, step in expectations)
        while True:
            now = time.monotonic()
            if not self.differences(expectations):
                silence = LAST_SILENCE if is_last else SILENCE
                if awaits_nothing and changes_engine:
                    silence = POLL_SILENCE
                elif awaits_nothing and self.workloads:
                    silence = PIPE_SILENCE
            else:
                silence = LIMIT if takes_time or self.engine.is_busy() else OTHER_SILENCE
            left = self.last_event + silence - now
            if left <= 0 or now > begun + LIMIT:
                break
            self.event.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.event.wait(), min(left, 0.25))      # processes end and polls come without an event
        ours = {}
        for at, step in expectations:
            if not self.is_as(step, self.recorded(step)):
                # What a recording leaves free is free in the list, too.
                is_listed = str(at) in self.listed and self.is_as(step, self.listed[str(at)])
                ours[str(at)] = self.listed[str(at)] if is_listed else self.observed(step)
        self.advance(expectations)
        return ours

    def wanted(self, at, step):
        return self.listed.get(str(at), self.recorded(step))

    def differences(self, expectations):
        return [at for at, step in expectations if not self.is_as(step, self.wanted(at, step))]

    def advance(self, expectations):
        """The next step begins here."""
        self.late.note([line for _, message in self.server.received[self.seen_messages:] for line in comparison.lines_of(message)])
        self.seen_messages = len(self.server.received)
        self.seen_calls = len(self.engine.calls)
        for call in self.engine.calls:
            call.counted = call.killed
        if any("expect_workload_reads" in step for _, step in expectations):
            for workload in self.workloads.values():
                workload.read = []
        self.write_error = None

    def unread(self):
        """What workloads have got and no step has asked for."""
        return by_workload(f"{name}: {compact(message)}" for name, workload in self.workloads.items() for message in workload.read)

    def recorded(self, step):
        """What a step of the recording expects, in our words; always what observed() would say of it."""
        kind, value = next(iter(step.items()))
        if kind == "expect_server_receives":
            return [self.ours_of(line) for message in value for line in comparison.lines_of(message)]
        if kind == "expect_engine_calls":
            return sorted(comparison.asks_of(comparison.recorded_calls(step)))
        if kind == "expect_listing_calls":
            return sorted({words[0] for words in value})
        if kind == "expect_workload_reads":
            return by_workload(f"{each['workload']}: {compact(each['message'])}" for each in value)
        if kind == "expect_run_folder":
            return [compact(entry) for entry in value]
        if kind == "expect_engine_processes_killed":
            return sorted(compact(words) for words in value)
        if kind == "expect_agent_exit":
            return {"code": value} | ({"stdout": value_of_version(step["stdout"])} if "stdout" in step else {})
        if kind == "expect_poll_calls":
            return "asks again and again"
        if kind in ("expect_log_lines", "first_message"):
            return dict(step)
        return value

    def ours_of(self, line):
        return comparison.ours_of(line, self.names)

    def observed(self, step):
        kind, value = next(iter(step.items()))
        messages = [message for _, message in self.server.received[self.seen_messages:]]
        calls = self.engine.calls[self.seen_calls:]
        if kind == "expect_server_receives":
            lines = [line for message in messages for line in comparison.lines_of(json.loads(self.placeholders(json.dumps(message))))
                     if "within_s" in step or "AgentLoadStatus" not in message]
            beyond = step.get("ignore_retries_beyond")
            return [line for line in lines if beyond is None or comparison.retry_of(line) <= beyond]
        if kind == "expect_engine_calls":
            asks = comparison.asks_of([([self.placeholders(word) for word in call.words], self.placeholders(call.stdin),
                                        self.placeholders(call.target)) for call in calls if not call.completes])
            return sorted(map(self.placeholders, asks))     # once more, for what was encoded
        if kind == "expect_listing_calls":
            # A listing that is fresh enough is not asked for again.
            return sorted({call.words[0] for call in self.engine.calls if {"ps", "ls"} & set(call.words)})
        if kind == "expect_workload_reads":
            return self.unread()
        if kind == "expect_run_folder":
            return [compact(entry) for entry in self.run_folder()]
        if kind == "expect_working_directory":
            return sorted(os.listdir(self.folder / "work"))
        if kind == "expect_engine_processes_killed":
            return sorted(compact([self.placeholders(word) for word in call.words]) for call in self.engine.calls
                          if call.killed and not call.counted and not scripted_engine.is_listing(call.words))
        if kind == "expect_agent_exit":
            said = {"stdout": value_of_version((self.folder / "stdout").read_text())} if "stdout" in step else {}
            return {"code": self.process.returncode} | said
        if kind == "expect_poll_calls":
            polls = [call for call in calls if "ps" in call.words]
            return "asks again and again" if len(polls) >= 4 else f"asked {len(polls)} times"
        if kind == "expect_log_lines":
            return self.log_lines(step, self.server.received[self.seen_messages:])
        if kind == "first_message":
            return self.after_reconnect(step, messages)
        if kind == "workload_write_fails":
            return self.write_error
        raise ValueError(f"unknown expectation: {kind}")

    def is_as(self, step, wanted):
        kind = next(iter(step))
        observed = self.observed(step)
        if kind == "expect_server_receives":
            may_also = [self.ours_of(line) for message in step.get("may_also_receive", []) for line in comparison.lines_of(message)]
            # A recording that speaks of one workload says nothing of the order among several that a list speaks of.
            of_several = len({comparison.workload_of(line) for line in self.recorded(step)}) > 1
            order = "any" if step["order"] == "exact" and not of_several else step["order"]
            return comparison.matches(observed, wanted, order, may_also, self.late)
        if kind == "expect_engine_calls":
            # What is gone need not be removed.
            missing = [json.loads(ask) for ask in wanted if ask not in observed]
            return set(observed) <= set(wanted) and all(ask[1] == "remove" and not self.exists(ask[2]) for ask in missing)
        return observed == wanted

    def exists(self, name):
        name = self.fill(name)
        return name in self.engine.containers or name in self.engine.volumes

    def run_folder(self):
        # os.walk passes over what goes while it looks.
        paths = sorted(pathlib.Path(folder) / name for folder, folders, files in os.walk(self.folder / "run")
                       for name in folders + files)
        found = []
        for path in paths:
            try:
                found.append(self.described(path))
            except FileNotFoundError:
                pass  # gone since it was listed
        return found

    def described(self, path):
        entry = {"path": self.placeholders(str(path)), "mode": f"{stat.S_IMODE(path.lstat().st_mode):04o}",
                 "type": "dir" if path.is_dir() else "fifo" if path.is_fifo() else "file"}
        if entry["type"] == "file":
            content = path.read_bytes()
            try:
                entry["content"] = content.decode()
            except UnicodeDecodeError:
                entry["content_hex"] = content.hex()
        return entry

    @staticmethod
    def log_lines(step, received):
        """The same properties of what came as the recording names."""
        batches = [message["logEntriesResponse"]["logEntriesResponse"].get("logEntries", []) for _, message in received
                   if "logEntriesResponse" in message]
        lines = [entry.get("message", "") for batch in batches for entry in batch]
        largest = max((size for size, message in received if "logEntriesResponse" in message), default=0)
        others = [message for _, message in received if "AgentLoadStatus" not in message]
        limit = step.get("largest_message_at_most_bytes", 0)
        found = {"expect_log_lines": len(lines), "every_line_has_length": sorted({len(line) for line in lines}),
                 "largest_message_at_most_bytes": limit if largest <= limit else largest,
                 "stop_is_last": bool(others) and "logsStopResponse" in others[-1],
                 "more_than_one_line_per_message": any(len(batch) > 1 for batch in batches),
                 "fewer_messages_than_lines": len(batches) < len(lines)}
        return {key: found[key] for key in step}

    @staticmethod
    def after_reconnect(step, messages):
        loads = sum("AgentLoadStatus" in message for message in messages)
        text = step["load_reports_delivered_at_once"]
        return {"first_message": next(iter(messages[0])) if messages else None,
                "load_reports_delivered_at_once": text if loads >= int(text.split("..")[0]) else "at most 3" if loads <= 3 else loads,
                "state_report_delivered": any("updateWorkloadState" in message for message in messages)}


def value_of_version(text):
    """Versions differ; their first two numbers do not."""
    return ".".join(text.split(".")[:2])
