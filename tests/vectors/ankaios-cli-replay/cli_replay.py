"""Performs the cases of one session, in their order, with real programs: a server, agents with an engine of their own, and for
each case an `ank` in a pipe or on a terminal.

Nothing here sleeps until something has probably happened. Where a recording waits for a while, it is awaited what the time was
meant for: agents have told their load, containers have done what they do at first, the command has printed what it is known
to print, or catches the signal that is about to come.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time

import cli_comparison
import cli_server
import container_engine

LIMIT = 60              # for whatever must happen some time
PATIENCE = 5            # for output that may never come; what came instead is shown
POLL = 0.01
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class Failed(Exception):
    """A session cannot go on."""


async def until(condition, what, seconds=LIMIT):
    limit = time.monotonic() + seconds
    while not (result := condition()):
        if time.monotonic() > limit:
            raise Failed(f"not within {seconds} s: {what}")
        await asyncio.sleep(POLL)
    return result


def ports_of(pid):
    """Where a process listens, as the system sees it."""
    inodes = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            inodes.add(os.readlink(entry))
    rows = [line.split() for line in pathlib.Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes]


def catches(pid, name):
    """Whether a process has a handler for the signal."""
    with contextlib.suppress(OSError):
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        mask = int(re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)[1], 16)
        return bool(mask >> (signal.Signals[name] - 1) & 1)
    return False


def sessions_of(cases):
    """Cases that follow each other on one server."""
    sessions = []
    for case in cases:
        if sessions and goes_on(sessions[-1][-1]["setup"], case["setup"]):
            sessions[-1].append(case)
        else:
            sessions.append([case])
    return sessions


def goes_on(earlier, later):
    if any(earlier.get(key) != later.get(key) for key in ("startup_manifest", "agents", "server", "server_args", "note")):
        return False
    return later["state"][:len(earlier["state"])] == earlier["state"]


class Running:
    """A command of a case, and what it has printed so far."""

    def __init__(self, process, descriptors):
        self.process = process
        self.texts = {stream: b"" for stream in ("stdout", "stderr")}
        self.open = dict(descriptors)       # stream: descriptor
        self.closed = asyncio.Event()
        for stream, descriptor in descriptors.items():
            os.set_blocking(descriptor, False)
            asyncio.get_running_loop().add_reader(descriptor, self.read, stream)
        if not descriptors:
            self.closed.set()

    def read(self, stream):
        descriptor = self.open[stream]
        try:
            part = os.read(descriptor, 1 << 16)
        except BlockingIOError:
            return
        except OSError:     # a terminal whose last user has gone
            part = b""
        self.texts[stream] += part
        if not part:
            self.close(stream)

    def close(self, stream):
        descriptor = self.open.pop(stream, None)
        if descriptor is not None:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        if not self.open:
            self.closed.set()

    def text(self, stream):
        return self.texts[stream].decode(errors="replace")

    async def ended(self):
        """A number, or signal:NAME."""
        async def end():
            await self.process.wait()
            await self.closed.wait()
        try:
            await asyncio.wait_for(end(), LIMIT)
        except TimeoutError:
            raise Failed(f"it does not end; it has printed {self.texts}") from None
        code = self.process.returncode
        return code if code >= 0 else f"signal:{signal.Signals(-code).name}"

    def give_up(self):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        for stream in list(self.open):
            self.close(stream)


class Session:
    def __init__(self, cases, listed, folder, programs, commands):
        """listed: what the list of differences says of a case, by its name."""
        self.cases = cases
        self.listed = listed
        self.folder = folder
        self.programs = programs
        self.commands = commands
        self.home = folder / "home"
        self.engine = None
        self.server = None
        self.scripted = None        # a server that is no process
        self.agents = {}
        self.performed = []         # what the last case has done, which the next one tells of as well
        self.reserved = socket.socket()     # a port on which nobody listens
        self.port = 0
        self.log = (folder / "log").open("wb")

    async def perform(self):
        """What each case came to, by its name."""
        found = {}
        try:
            await self.start(self.cases[0]["setup"])
            done = []
            for case in self.cases:
                await self.take_steps(case["setup"]["state"][len(done):])
                done = case["setup"]["state"]
                try:
                    found[case["name"]] = await self.run_case(case)
                except Failed as failure:
                    found[case["name"]] = {"failed": str(failure)}
                self.performed = [told(step) for step in (case, *case.get("during", []))]
        except Failed as failure:
            log = (self.folder / "log").read_text(errors="replace")
            for case in self.cases:
                found.setdefault(case["name"], {"failed": f"its session: {failure}\n{log}"})
        finally:
            await self.end()
        return found

    # --- server and agents ---

    async def start(self, setup):
        self.home.mkdir()
        self.reserved.bind(("127.0.0.1", 0))
        self.port = self.reserved.getsockname()[1]
        if (setup.get("note") or "").startswith("scripted"):
            self.scripted = cli_server.Server(self.cases[0]["name"])
            self.port = self.scripted.port
            await self.scripted.start()
        elif setup["server"]:
            await self.start_server(setup["startup_manifest"], setup.get("server_args") or ["-k"])
        if setup["agents"]:
            self.engine = container_engine.ContainerEngine(self.folder)
            await self.engine.open(self.folder / "engine")
        for words in setup["agents"]:
            await self.start_agent(*words.split(" "))
        for words in setup["agents"]:
            await self.until_agent(words.split(" ")[0], True)

    async def start_server(self, manifest, words):
        if manifest is not None:
            (self.folder / "startup.yaml").write_text(manifest)
            words = ["--startup-manifest", self.folder / "startup.yaml", *words]
        self.server = await self.background("ank-server", "-a", "127.0.0.1:0", *words)
        await until(lambda: self.server.returncode is not None or ports_of(self.server.pid), "the server listens")
        if self.server.returncode is not None:
            raise Failed("the server does not start")
        self.port = ports_of(self.server.pid)[0]

    async def start_agent(self, name, *tags):
        run_folder = self.folder / f"run-{name}"
        run_folder.mkdir()
        words = [word for tag in tags for word in ("-t", tag)]
        self.agents[name] = await self.background(
            "ank-agent", "-k", "-s", self.url(), "-n", name, "-r", run_folder, *words,
            PATH=f"{self.commands}:{SYSTEM_PATH}", SCRIPTED_ENGINE=str(self.folder / "engine"))

    async def background(self, program, *words, **environment):
        return await asyncio.create_subprocess_exec(
            self.programs / program, *map(str, words), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env={"PATH": SYSTEM_PATH, "HOME": str(self.home)} | environment, start_new_session=True)

    def url(self):
        return f"http://127.0.0.1:{self.port}"

    async def end(self):
        if self.scripted:
            await self.scripted.stop()
        for process in (self.server, *self.agents.values()):
            if process and process.returncode is None:
                await self.kill(process)
        if self.engine:
            self.engine.close()
            self.engine.end()
        self.reserved.close()
        self.log.close()

    # --- what happened before a case ---

    async def take_steps(self, steps):
        for step in steps:
            if told(step) in self.performed:
                self.performed.remove(told(step))
            else:
                await self.take_step(step)

    async def take_step(self, step):
        if "argv" in step:
            running = await self.start_command({"env": {"ANK_SERVER_URL": "{{url}}", "ANK_INSECURE": "true"}} | step)
            code = await running.ended()
            if code != 0:
                raise Failed(f"{step['argv']} exits with {code}: {running.texts}")
        elif "wait_until" in step:
            await self.await_state(**step["wait_until"])
        elif "sleep_s" in step:
            await self.settled()
        else:
            await self.do(step)

    async def do(self, step):
        if step["do"] == "kill_agent":
            await self.kill(self.agents[step["agent"]])
            await self.until_agent(step["agent"], False)
        elif step["do"] == "kill_server":
            await self.kill(self.server)
        else:
            self.server.send_signal({"stop_server": signal.SIGSTOP, "cont_server": signal.SIGCONT}[step["do"]])

    @staticmethod
    async def kill(process):
        process.kill()
        await process.wait()

    async def await_state(self, workload=None, state=None, no_agent=None):
        if no_agent:
            await self.until_agent(no_agent, False)
            return

        def states(complete):
            return [as_text(each) for agent in complete.get("workloadStates", {}).values() for each in agent.get(workload, {}).values()]
        await self.until_state(lambda complete: state in states(complete), f"{workload} is {state}")

    async def until_agent(self, name, is_there):
        await self.until_state(lambda complete: (name in complete.get("agents", {})) == is_there, f"agent {name} there: {is_there}")

    async def settled(self):
        """What a recording slept for."""
        if self.engine:
            await until(self.engine.has_settled, "the containers have done what they do at first")
        await self.until_state(lambda complete: all(agent.get("status") for agent in complete.get("agents", {}).values()),
                               "the agents have told their load")

    async def until_state(self, condition, what):
        limit = time.monotonic() + LIMIT
        while not condition(await self.state()):
            if time.monotonic() > limit:
                raise Failed(f"not within {LIMIT} s: {what}")
            await asyncio.sleep(5 * POLL)

    async def state(self):
        process = await asyncio.create_subprocess_exec(
            self.programs / "ank", "-k", "-s", self.url(), "--response-timeout", str(1000 * LIMIT), "get", "state", "-o", "json",
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, env={"HOME": str(self.home)})
        printed, _ = await process.communicate()
        if process.returncode != 0:
            raise Failed("the server does not tell its state")
        return json.loads(printed)

    # --- a case ---

    async def run_case(self, case):
        wanted = cli_comparison.expected(case) | self.listed.get(case["name"], {})
        running = await self.start_command(case | {"argv": patient(case["argv"], wanted)})
        try:
            for step in case.get("during", []):
                await self.until_printed(running, step, case)
                await self.take_step({key: value for key, value in step.items() if key not in ("after_ms", "after_output")})
            sent = case.get("signal")
            if sent and wanted["exit"] in (0, f"signal:{sent['name']}"):
                await self.until_ready(running, case, wanted)
                if running.process.returncode is None:
                    running.process.send_signal(signal.Signals[sent["name"]])
            code = await running.ended()
        finally:
            running.give_up()
        return cli_comparison.observed(case, code, self.texts(running), self.places())

    async def until_printed(self, running, step, case):
        """Until it has printed what the step waits for, or else has got so far that it catches signals, as logs and events do."""
        if "after_output" in step:
            await until(lambda: step["after_output"] in running.text("stdout") or running.process.returncode is not None,
                        f"{case['name']} prints {step['after_output']}")
        elif {"logs", "events"} & set(case["argv"]):
            await until(lambda: catches(running.process.pid, "SIGINT") or running.process.returncode is not None,
                        f"{case['name']} is accepted")
        else:
            await asyncio.sleep(step["after_ms"] / 1000)

    async def until_ready(self, running, case, wanted):
        """Until the signal ends it the way that is wanted, with all printed that is wanted."""
        def is_ready():
            if running.process.returncode is not None:
                return True
            if wanted["exit"] == 0 and not catches(running.process.pid, case["signal"]["name"]):
                return False
            found = cli_comparison.observed(case, wanted["exit"], self.texts(running), self.places())
            return case["signal"].get("after_output", "") in running.text("stdout") and found == wanted
        with contextlib.suppress(Failed):
            await until(is_ready, "it is ready", PATIENCE)

    @staticmethod
    def texts(running):
        return {stream: running.text(stream) for stream in ("stdout", "stderr")}

    def directory(self):
        return self.folder / "work"

    def places(self):
        return [(self.url(), "{{url}}"), (f"127.0.0.1:{self.port}", "127.0.0.1:{{port}}"), (str(self.directory()), "{{dir}}"),
                (str(self.home), "{{home}}")]

    def filled(self, text):
        bare = self.folder / "bare"     # a PATH without ank
        for placeholder, value in (("{{url}}", self.url()), ("{{port}}", str(self.port)), ("{{dir}}", str(self.directory())),
                                   ("{{home}}", str(self.home)), ("{{bindir}}", str(self.programs)), ("{{path}}", SYSTEM_PATH),
                                   ("{{path without ank}}", str(bare))):
            text = text.replace(placeholder, value)
        return text

    def prepare(self, case):
        """Working directory and home as the case finds them."""
        for folder in (self.directory(), self.home):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        for folder, files in ((self.directory(), case.get("files")), (self.home, case.get("home_files"))):
            for path, text in (files or {}).items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(self.filled(text).encode())
        for path, mode in (case.get("modes") or {}).items():
            (self.directory() / path).chmod(int(mode, 8))

    async def start_command(self, case):
        self.prepare(case)
        environment = {"PATH": SYSTEM_PATH, "HOME": str(self.home)}
        environment |= {name: self.filled(value) for name, value in case["env"].items()}
        for name in case.get("unset_env") or []:
            environment.pop(name, None)
        command = [str(self.programs / case.get("program", "ank")), *map(self.filled, case["argv"])]
        if case.get("stdout_kind") == "closed_fd":
            command = ["sh", "-c", f"exec {shlex.join(command)} >&-"]

        opened = []

        def pair(ends):
            opened.extend(ends)
            return ends
        err, err_end = pair(os.pipe())
        descriptors = {"stderr": err}
        out_end = in_end = subprocess.DEVNULL
        if case.get("tty"):
            terminal, user = pair(pty.openpty())
            fcntl.ioctl(user, termios.TIOCSWINSZ, struct.pack("HHHH", 24, case["columns"] or 0, 0, 0))
            descriptors["stdout"], in_end, out_end = terminal, user, user
            if case.get("stderr_on_tty"):
                del descriptors["stderr"]
                err_end = user
        elif case.get("stdout_kind") != "closed_fd":
            out, out_end = pair(os.pipe())
            if case.get("stdout_kind") != "closed_pipe":
                descriptors["stdout"] = out
        if case.get("stdin") is not None and not case.get("tty"):
            (self.folder / "stdin").write_bytes(self.filled(case["stdin"]).encode())
            in_end = os.open(self.folder / "stdin", os.O_RDONLY)
            opened.append(in_end)
        if case.get("stdout_kind") == "closed_pipe":
            os.close(out)
            opened.remove(out)
        try:
            process = await asyncio.create_subprocess_exec(*command, cwd=self.directory(), env=environment, stdin=in_end, stdout=out_end,
                                                           stderr=err_end)
        finally:
            for descriptor in opened:
                if descriptor not in descriptors.values():
                    os.close(descriptor)
        return Running(process, descriptors)


def patient(words, wanted):
    """A time-out that shall not pass is long enough for the slowest machine."""
    if "--response-timeout" not in words or wanted["exit"] == 2 or "timed out" in str(wanted["stderr"]):
        return words
    at = words.index("--response-timeout") + 1
    return [*words[:at], str(1000 * LIMIT), *words[at + 1:]]


def told(step):
    """What counts of a step, or of a case, for those that come later."""
    return {key: step[key] for key in ("argv", "files", "stdin", "do", "agent", "wait_until", "sleep_s") if step.get(key)}


def as_text(state):
    """As tables show it."""
    return state["state"] if state["state"] == state["subState"] else f"{state['state']}({state['subState']})"
