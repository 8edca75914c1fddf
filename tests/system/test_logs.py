"""Logs of real containers, from their engine through agent and server to a commander.

    $(tools/setup --python) tools/run-unittests -k 'Logs*' tests/system
"""

import collections
import contextlib
import datetime
import pathlib
import queue
import threading

import grpc

import engines
import harness
import raw


class Collector:
    """A commander that collects logs; a thread of its own reads what the server says."""

    def __init__(self, server):
        self.peer = raw.Peer(server, raw.COMMAND, raw.commander_hello())
        self.responses = queue.Queue()
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        with contextlib.suppress(grpc.RpcError):
            while True:
                self.responses.put(self.peer.next())

    def close(self):
        self.peer.close()
        self.thread.join(harness.SECONDS)

    def ask(self, ident, instances, follow=False, tail=None, since=None, until=None):
        """instances: (workload, agent, id)"""
        content = b"".join(raw.field(1, b"".join(raw.field(number, part) for number, part in zip((1, 2, 3), each))) for each in instances)
        content += raw.flag(2) if follow else b""
        content += raw.number_field(3, tail) if tail is not None else b""
        content += raw.field(4, since) if since is not None else b""
        content += raw.field(5, until) if until is not None else b""
        self.peer.say(raw.request(ident, 4, content))

    def cancel(self, ident):
        self.peer.say(raw.request(ident, 5, b""))

    def response(self):
        """(kind, content): accepted, lines [(workload, message)], stop workload, cancelled."""
        (number, response), = raw.fields(self.responses.get(timeout=harness.SECONDS))
        assert number == 3, number
        (_, _), (kind, content) = raw.fields(response)
        if kind == 6:
            return "accepted", len(raw.fields(content))
        if kind == 7:
            return "lines", [entry(data) for _, data in raw.fields(content)]
        if kind == 8:
            return "stop", name_in(raw.fields(content)[0][1])
        return {3: "error", 9: "cancelled"}[kind], content

    def until(self, wanted):
        """All lines until that response: {workload: [message]}."""
        lines = collections.defaultdict(list)
        while True:
            kind, content = self.response()
            if (kind, content) == wanted or kind == wanted:
                return lines
            for name, message in content if kind == "lines" else []:
                lines[name].append(message)

    def first_lines(self, count):
        """So many lines at least, of whomever."""
        lines = []
        while len(lines) < count:
            kind, content = self.response()
            lines += [message for _, message in content] if kind == "lines" else []
        return lines


def name_in(instance):
    return dict(raw.fields(instance)).get(1, b"").decode()


def entry(data):
    parts = dict(raw.fields(data))
    return name_in(parts[1]), parts.get(2, b"").decode()


def log_readers(agent):
    """Processes of the agent that read logs."""
    found = []
    for process in agent.session():
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            found += [process] if b"logs" in words else []
    return found


class Start(harness.OneAgent):
    def collector(self):
        collector = Collector(self.one)
        self.addCleanup(collector.close)
        return collector

    def run_workloads(self, state="Running(Ok)", **scripts):
        self.apply(self.one, {name: self.engine.workload(self.name, script) for name, script in scripts.items()})
        self.wait_for(self.one, **dict.fromkeys(scripts, state))

    def instance(self, name):
        return next((name, agent, ident) for each, agent, ident, _, _ in self.instances(self.one) if each == name)

    def all_of(self, name, **options):
        """The lines of logs that end by themselves."""
        collector = self.collector()
        collector.ask("r", [self.instance(name)], **options)
        self.assertEqual(collector.response(), ("accepted", 1))
        return collector.until(("stop", name))[name]


class Scenario(Start):
    TAIL_0 = []         # the engine gets what was asked for, whatever it takes that to mean

    def test_options(self):
        self.run_workloads("Succeeded(Ok)", w="echo one; echo two >&2; sleep 3; echo three")
        with self.subTest("all"):
            self.assertCountEqual(self.all_of("w"), ["one", "two", "three"])
        with self.subTest("tail"):
            self.assertEqual(self.all_of("w", tail=1), ["three"])
            self.assertCountEqual(self.all_of("w", tail=0), self.TAIL_0)
        # Between the first lines and the last.
        stamped = self.engine.call("logs", "--timestamps", self.engine.container(self.name, "w")).splitlines()
        last = datetime.datetime.fromisoformat(stamped[-1].split()[0])
        between = (last - datetime.timedelta(seconds=1)).isoformat()
        with self.subTest("since"):
            self.assertEqual(self.all_of("w", since=between), ["three"])
        with self.subTest("until"):
            self.assertCountEqual(self.all_of("w", until=between), ["one", "two"])
        with self.subTest("the engine's complaint is all that comes"):
            complaint = "\n".join(self.all_of("w", since="nonsense"))
            self.assertIn("nonsense", complaint)

    def test_follow_until_the_container_ends(self):
        self.run_workloads(w="seen() { while [ ! -e $1 ]; do sleep 0.1; done; }; echo begun; seen /go; echo more; seen /end")
        collector = self.collector()
        collector.ask("r", [self.instance("w")], follow=True)
        self.assertEqual(collector.first_lines(1), ["begun"])
        self.engine.inside(self.name, "w", "touch", "/go")
        self.assertEqual(collector.first_lines(1), ["more"])
        self.engine.inside(self.name, "w", "touch", "/end")
        self.assertEqual(collector.until(("stop", "w"))["w"], [])
        self.wait_until(lambda: not log_readers(self.worker), "the engine's command has ended")

    def test_deleted_workload(self):
        self.run_workloads(w="echo begun; sleep 1000")
        collector = self.collector()
        collector.ask("r", [self.instance("w")], follow=True)
        self.assertEqual(collector.first_lines(1), ["begun"])
        self.ank(self.one, "--no-wait", "delete", "workload", "w")
        collector.until(("stop", "w"))
        self.wait_for(self.one, w=None)

    def test_two_agents_in_one_campaign(self):
        other = self.agent(self.one)
        script = "echo begun; while :; do echo again; sleep 0.1; done"
        self.apply(self.one, {"here": self.engine.workload(self.name, script), "there": self.engine.workload(other.agent_name, script)})
        self.wait_for(self.one, here="Running(Ok)", there="Running(Ok)")
        collector = self.collector()
        collector.ask("r", [self.instance("here"), self.instance("there")], follow=True)
        self.assertEqual(collector.response(), ("accepted", 2))
        seen = collections.Counter()
        while len(seen) < 2 or min(seen.values()) < 3:
            kind, content = collector.response()
            self.assertEqual(kind, "lines")
            seen.update(name for name, _ in content)
        other.kill()        # in the middle of it
        collector.until(("stop", "there"))
        seen.clear()
        while seen["here"] < 3:
            _, content = collector.response()
            seen.update(name for name, _ in content)
        self.assertEqual(set(seen), {"here"})
        collector.cancel("r")
        collector.until("cancelled")

    def test_without_a_container(self):
        self.apply(self.one, {"w": self.engine.workload(self.name, image="localhost/no/such:image")})
        self.wait_until(lambda: "no/such" in (self.info(self.one, "w") or ""), "it cannot be started")
        self.assertEqual(self.all_of("w", follow=True), [])
        self.assertIn("Could not start collecting logs for 'w' as it has no workload ID yet.", self.worker.log())


class Logs(Scenario, engines.PodmanCase):
    """podman, and what does not depend on the engine"""

    def test_a_last_line_without_its_end(self):
        """nerdctl may lose what a container says with its last breath."""
        self.run_workloads(w="while [ ! -e /go ]; do sleep 0.1; done; printf 'the end'")
        collector = self.collector()
        collector.ask("r", [self.instance("w")], follow=True)
        self.engine.inside(self.name, "w", "touch", "/go")
        self.assertEqual(collector.until(("stop", "w"))["w"], ["the end"])

    def test_cancel_ends_the_process(self):
        self.run_workloads(w="while :; do echo line; sleep 0.1; done")
        collectors = [self.collector() for _ in range(3)]
        for number, collector in enumerate(collectors):
            collector.ask(f"r{number}", [self.instance("w")], follow=True)
            collector.first_lines(2)
        self.assertEqual(len(log_readers(self.worker)), 3)
        collectors[0].cancel("r0")
        collectors[0].until("cancelled")
        self.wait_until(lambda: len(log_readers(self.worker)) == 2, "the process of the cancelled request is gone")
        collectors[1].close()
        self.wait_until(lambda: len(log_readers(self.worker)) == 1, "the process of the lost collector is gone")
        collectors[2].first_lines(3)
        self.one.kill()
        self.wait_until(lambda: not log_readers(self.worker), "no server, no processes")

    def test_garbage(self):
        self.run_workloads("Succeeded(Ok)", w="head -c 300000 /dev/urandom; printf '\\n\\377\\376 \\000\\nend\\n'")
        lines = self.all_of("w")
        self.assertEqual(lines[-1], "end")
        self.assertEqual(lines[-2], "\ufffd\ufffd \0")

    def test_many_lines(self):
        count = 100_000
        self.run_workloads("Succeeded(Ok)", w=f"seq 1 {count}")
        self.assertEqual(self.all_of("w"), [str(number) for number in range(1, count + 1)])

    def test_a_long_line_is_cut(self):
        self.run_workloads("Succeeded(Ok)", w="head -c 3000000 /dev/zero | tr '\\000' x; echo; echo end")
        long, notice, end = self.all_of("w")
        self.assertRegex(long, r"\Ax+ \[truncated\]\Z")
        self.assertLess(len(long), 2 * 1024 * 1024)
        self.assertEqual(notice, "The previous message was truncated due to exceeding the maximum 2 MB size.")
        self.assertEqual(end, "end")

    def test_a_collector_that_does_not_read(self):
        """Other requests are answered, and what waits does not grow."""
        self.run_workloads(endless="yes a line of a workload that never stops to write", w="echo fine; sleep 1000")
        stuck = raw.Peer(self.one, raw.COMMAND, raw.commander_hello())
        self.addCleanup(stuck.close)
        content = b"".join(raw.field(number, part) for number, part in zip((1, 2, 3), self.instance("endless")))
        stuck.say(raw.request("r", 4, raw.field(1, content) + raw.flag(2)))
        self.wait_until(lambda: log_readers(self.worker), "the logs are read")
        for _ in range(5):
            self.assertEqual(self.all_of("w"), ["fine"])
        rss = int(next(line for line in pathlib.Path(f"/proc/{self.worker.process.pid}/status").read_text().splitlines()
                       if line.startswith("VmRSS")).split()[1])
        self.assertLess(rss, 100_000)


class LogsContainerd(Scenario, engines.ContainerdCase):
    """containerd"""

    TAIL_0 = ["one", "two", "three"]


class LogsKube(Start, engines.KubeCase):
    """podman-kube has none to give, and says so at once."""

    def test_end_at_once(self):
        self.run_workloads(w=f"echo begun; {engines.STAYS}")
        self.assertEqual(self.all_of("w"), [])
        self.assertEqual(self.all_of("w", follow=True, tail=1), [])
        self.assertEqual(self.states(self.one), {"w": "Running(Ok)"})
