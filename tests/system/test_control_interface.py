"""Workloads that speak to their agent: the test writes and reads the pipes in their place, or has a shell in a real container do it.

    $(tools/setup --python) tools/run-unittests -k 'ControlInterface*' tests/system
"""

import errno
import os
import stat
import unittest

import engines
import harness
import stub
from raw import VERSION, field, request, varint


def hello():
    return field(1, field(2, VERSION))


def state_request(ident, *masks):
    return request(ident, 3, b"".join(field(1, mask) for mask in masks))  # the same field as in ToServer


ACCEPTED = field(4, b"")


def closed(reason):
    return field(5, field(1, reason))


def denied(ident):
    return field(3, field(1, ident) + field(3, field(1, "Access denied")))


def framed(*messages):
    return b"".join(varint(len(message)) + message for message in messages)


def first_message(data):
    """The first message and what follows it; nothing before it is whole."""
    length = end = 0
    while end < len(data):
        length |= (data[end] & 0x7F) << 7 * end
        end += 1
        if not data[end - 1] & 0x80:
            break
    else:
        return None
    return (data[end:end + length], data[end + length:]) if len(data) >= end + length else None


class Pipes:
    """A workload's ends of its pipes; nothing waits for ever."""

    def __init__(self, test, folder):
        self.test, self.folder, self.bytes = test, folder, b""
        self.input = os.open(folder / "input", os.O_RDONLY | os.O_NONBLOCK)
        self.output = os.open(folder / "output", os.O_WRONLY | os.O_NONBLOCK)
        test.addCleanup(self.close)

    def close(self):
        for end in self.input, self.output:
            if end is not None:
                os.close(end)
        self.input = self.output = None

    def say(self, *messages):
        self.write(framed(*messages))

    def write(self, content):
        self.test.assertEqual(os.write(self.output, content), len(content))

    def is_heard(self):
        try:
            os.write(self.output, b"\0")
        except BrokenPipeError:
            return False
        return True

    def _take(self):
        try:
            self.bytes += os.read(self.input, 65536)
        except BlockingIOError:
            pass
        found = first_message(self.bytes)
        if found is None:
            return None
        message, self.bytes = found
        return message

    def hear(self):
        return self.test.wait_until(self._take, "the workload is told something")


RULES = {"allowRules": [{"type": "StateRule", "operation": "Read", "filterMasks": ["desiredState"]}],
         "denyRules": [{"type": "StateRule", "operation": "Read", "filterMasks": ["desiredState.workloads.secret"]}]}


class ControlInterface(harness.OneAgent, stub.Case):
    def setUp(self):
        super().setUp()
        self.home = self.worker.run_folder / f"{self.name}_io"

    def start(self, workload="web", **more):
        self.apply(self.one, {workload: stub.workload(self.name, controlInterfaceAccess=RULES, **more)})
        self.wait_for(self.one, **{workload: "Running(Ok)"})
        return self.interface(workload)

    def interface(self, workload):
        (folder,) = self.home.glob(f"{workload}.*/control_interface")
        return folder

    # [stest->swdd~agent-forward-responses-to-control-interface-pipe~1]
    def test_asks_and_is_answered(self):
        folder = self.start()
        for name in "input", "output":
            self.assertTrue(stat.S_ISFIFO((folder / name).stat().st_mode))
        pipes = Pipes(self, folder)
        pipes.say(hello())
        self.assertEqual(pipes.hear(), ACCEPTED)
        pipes.say(state_request("r1", "desiredState.workloads.web.agent"), state_request("r2", "agents"),
                  state_request("r3", "desiredState.workloads.*"))
        answers = sorted(pipes.hear() for _ in range(3))
        self.assertIn(denied("r2"), answers)
        self.assertIn(denied("r3"), answers)
        (state,) = set(answers) - {denied("r2"), denied("r3")}
        self.assertIn(b"r1", state)
        self.assertIn(self.name.encode(), state)

    def test_without_a_hello(self):
        pipes = Pipes(self, self.start())
        pipes.say(state_request("r1", "desiredState"))
        self.assertEqual(pipes.hear(), closed("Initial Hello missing!"))
        self.wait_until(lambda: not pipes.is_heard(), "nobody reads any more")

    def test_agent_killed_and_started_again(self):
        folder = self.start()
        pipes = Pipes(self, folder)
        pipes.say(hello())
        self.assertEqual(pipes.hear(), ACCEPTED)
        self.worker.kill()
        again = self.agent(self.one, name=self.name, run_folder=self.worker.run_folder)
        self.wait_until(pipes.is_heard, "the new agent reads")
        self.assertEqual(pipes.hear(), closed("Initial Hello missing!"))  # the byte of is_heard() was an empty message
        again.kill()
        self.agent(self.one, name=self.name, run_folder=self.worker.run_folder)
        pipes.close()
        self.wait_until(lambda: self.has_reader(folder), "the newest agent reads")
        pipes = Pipes(self, folder)
        pipes.say(hello())
        self.assertEqual(pipes.hear(), ACCEPTED)

    @staticmethod
    def has_reader(folder):
        try:
            os.close(os.open(folder / "output", os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return False
        return True

    def test_goes_with_the_workload(self):
        folder = self.start()
        self.ank(self.one, "delete", "workload", "web")
        self.wait_until(lambda: not folder.exists(), "pipes and folder go")

    def test_garbage_harms_nobody_else(self):
        bad, good = Pipes(self, self.start("bad")), Pipes(self, self.start("good"))
        bad.say(hello())
        self.assertEqual(bad.hear(), ACCEPTED)
        bad.write(b"\x03\xff\xff\xff" * 1000)
        good.say(hello(), state_request("r1", "agents"))
        self.assertEqual([good.hear(), good.hear()], [ACCEPTED, denied("r1")])
        bad.say(state_request("r2", "agents"))
        self.assertEqual(bad.hear(), denied("r2"))


class InContainers(engines.OneAgent):
    """A real engine mounts the folder; what is heard there is kept in a file of the container."""

    PLACE = "/run/ankaios/control_interface"
    LISTENS = f"while :; do cat {PLACE}/input >>/tmp/heard; done & trap exit TERM; wait"

    def inside(self, script):
        return self.engine.inside(self.name, "web", "sh", "-c", script)

    def say(self, *messages):
        text = "".join(f"\\{byte:03o}" for byte in framed(*messages))
        self.inside(f"printf '{text}' >{self.PLACE}/output")

    def heard(self):
        """All messages since the container was made."""
        data = bytes.fromhex(self.inside("[ ! -e /tmp/heard ] || od -An -v -tx1 /tmp/heard"))
        found = []
        while first := first_message(data):
            message, data = first
            found.append(message)
        return found

    def hear(self, number):
        """So many of them."""
        return self.wait_until(lambda: found if len(found := self.heard()) >= number else None, f"{number} messages")

    # [stest->swdd~podman-create-workload-mounts-fifo-files~1]
    def test_asks_and_is_answered_from_inside(self):
        self.apply(self.one, {"web": self.engine.workload(self.name, self.LISTENS, restart="ALWAYS", controlInterfaceAccess=RULES),
                              "mute": self.engine.workload(self.name)})
        self.wait_for(self.one, web="Running(Ok)", mute="Running(Ok)")
        before = self.engine.ids(self.name)
        with self.assertRaises(AssertionError, msg="without rules there is no folder"):
            self.engine.inside(self.name, "mute", "ls", self.PLACE)
        self.say(hello(), state_request("r1", "desiredState.workloads.web.agent"), state_request("r2", "agents"))
        accepted, *answers = self.hear(3)
        self.assertEqual(accepted, ACCEPTED)
        self.assertIn(denied("r2"), answers)
        (state,) = set(answers) - {denied("r2")}
        self.assertIn(self.name.encode(), state)

        with self.subTest("an agent that comes back listens to the container that it finds"):
            self.worker.kill()
            self.wait_for(self.one, web="AgentDisconnected")
            self.worker = self.agent(self.one, name=self.name, run_folder=self.worker.run_folder)
            self.wait_for(self.one, web="Running(Ok)")
            self.say(hello(), state_request("r3", "agents"))
            self.assertEqual(self.hear(5)[3:], [ACCEPTED, denied("r3")])
            self.assertEqual(self.engine.ids(self.name), before)
        with self.subTest("so it does to the one that takes its place"):
            self.engine.signal(self.name, "web", "KILL")
            self.wait_until(lambda: self.engine.ids(self.name).get("web") not in (None, before["web"]), "another container")
            self.wait_for(self.one, web="Running(Ok)")
            self.say(state_request("r4", "agents"))
            self.assertEqual(self.hear(1), [denied("r4")])
        self.ank(self.one, "delete", "workload", "web", "mute")
        self.assertEqual(list((self.worker.run_folder / f"{self.name}_io").iterdir()), [])


class ControlInterfacePodman(InContainers, engines.PodmanCase):
    """podman"""


class ControlInterfaceKube(InContainers, engines.KubeCase):
    """podman-kube"""


class ControlInterfaceContainerd(InContainers, engines.ContainerdCase):
    """containerd"""


if __name__ == "__main__":
    unittest.main()
