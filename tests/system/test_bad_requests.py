"""Requests that mean nothing or mean harm: whoever sends one gets an error, the log has a line, and the state stays.

    $(tools/setup --python) tools/run-unittests -k 'BadRequests.*' tests/system
"""

import unittest

import grpc

import harness
import raw
import stub
from harness import certificates, manifest

DEEP = 100_000
LARGE = 64 << 20


class BadRequests(stub.Case):
    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.worker = self.agent(self.one)
        self.apply(self.one, {"kept": stub.workload(self.worker.agent_name)}, configs={"item": {"text": "value"}})
        self.wait_for(self.one, kept="Running(Ok)")
        self.before = self.state(self.one, "desiredState", "workloadStates")
        self.containers = self.podman.ids()

    def tearDown(self):
        """Whatever happened: nothing was changed, everybody lives, and the next update is taken."""
        self.assertEqual(self.state(self.one, "desiredState", "workloadStates"), self.before)
        self.assertEqual(self.connected_agents(self.one), {self.worker.agent_name})
        self.apply(self.one, {"next": stub.workload(self.worker.agent_name)})
        self.wait_for(self.one, kept="Running(Ok)", next="Running(Ok)")
        self.assertEqual(self.podman.ids()["kept"], self.containers["kept"])
        self.assertTrue(self.one.lives() and self.worker.lives())

    def peer(self, method, hello):
        peer = raw.Peer(self.one, method, hello)
        self.addCleanup(peer.close)
        return peer

    def commander(self):
        return self.peer(raw.COMMAND, raw.commander_hello())

    def logged(self, *words):
        self.wait_until(lambda: all(word in self.one.log() for word in words), f"a line with {words}")

    def test_request_ids(self):
        """Any text is an id, except none; the answer carries it."""
        peer = self.commander()
        for ident in "a@b@c", "@", "\n", "\0", "x" * 100_000, "ü€", "desiredState.workloads", " ":
            peer.say(raw.request(ident, 3, raw.field(1, "desiredState.apiVersion")))
            self.assertIn(raw.field(1, ident), peer.next())
        peer.say(raw.request("", 3, b""))
        self.assertIn(b"A request needs an id", peer.next())

    def test_masks_that_select_nothing(self):
        peer = self.commander()
        for mask in "", ".", "..", "nonsense", "desiredState.", ".desiredState", "desiredState.workloads.kept.nonsense", "*.*.*.*.*.*.*.*", \
                "desiredState.workloads.kept.agent.deeper", "x" * 100_000, "a." * 100_000, "\0":
            with self.subTest(mask[:40]):
                peer.say(raw.request("read", 3, raw.field(1, mask)))
                self.assertIn(raw.field(1, "read"), peer.next())
                for new_state in b"", raw.field(1, b""), raw.field(1, raw.field(1, "v1")):
                    peer.say(raw.request("write", 2, raw.field(1, new_state) + raw.field(2, mask)))
                    answer = peer.next()
                    self.assertIn(raw.field(1, "write"), answer)
        self.assertEqual(self.state(self.one, "desiredState", "workloadStates"), self.before)

    def test_states_of_other_agents(self):
        name = self.unique("stranger")
        agent = self.peer(raw.AGENT, raw.agent_hello(name))
        ident = next(iter(self.before["workloadStates"][self.worker.agent_name]["kept"]))

        def say(agent_name, workload, of):
            instance = raw.field(1, workload) + raw.field(2, agent_name) + raw.field(3, of)
            agent.say(raw.field(2, raw.field(1, raw.field(1, instance) + raw.field(2, raw.field(1, "") + b"\x38\x00"))))    # failed
        say(self.worker.agent_name, "kept", ident)
        self.logged("Ignored workload states")
        for strange in "nobody", "", "*", ".", "a.b", "\n":
            say(strange, "kept", ident)
            say(strange, "", "")
        agent.say(raw.field(2, b""))
        agent.say(raw.field(4, b""))    # goodbye
        agent.ended()
        self.wait_until(lambda: self.connected_agents(self.one) == {self.worker.agent_name}, "the stranger is gone")

    def test_text_that_is_not_utf_8(self):
        for place, message in [
            ("an id", raw.request(b"\xff\xfe", 3, b"")),
            ("a mask", raw.request("x", 3, raw.field(1, b"desired\xc3\x28"))),
            ("a name", raw.request("x", 2, raw.field(1, raw.field(1, raw.field(2, raw.field(1, raw.field(1, b"\xf0\x28") + raw.field(2, b""))))))),
            ("no protobuf", b"\xff" * 100),
            ("half a message", raw.field(3, b"")[:1] + b"\x7f"),
            ("nothing", b""),
        ]:
            with self.subTest(place):
                lines = self.one.log().count("Ended a connection")
                peer = self.commander()
                peer.say(message)
                code, words = peer.ended()
                self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT, words)
                self.wait_until(lambda: self.one.log().count("Ended a connection") > lines, "a line of the log")
        path = self.folder / "latin1.yaml"
        path.write_bytes(manifest({"bad": stub.workload(self.worker.agent_name, "x")}).encode().replace(b"- x", b"- \xe4"))
        self.assertIn("latin1.yaml:", self.ank(self.one, "apply", path, code=1))

    def test_configs_without_a_bottom(self):
        """More levels than any stack has room for."""
        for kind, text in ("lists", "[" * DEEP + "]" * DEEP), ("maps", "{a: " * DEEP + "x" + "}" * DEEP), ("cut", "[" * DEEP):
            with self.subTest(kind):
                path = self.file("deep.yaml", f"apiVersion: v1\nworkloads: {{}}\nconfigs:\n  deep: {text}\n")
                self.assertIn("deep.yaml:4:", self.ank(self.one, "apply", path, code=1))
                code, output = self.finished("ank-server", "-k", "-a", "127.0.0.1:0", "-m", path)
                self.assertEqual(code, 1, output[:1000])
                self.assertIn("deep.yaml:4:", output)
        # Each level is a ConfigItem with an array in it; its length stands before it, so that it is made from the inside.
        sizes, length = [], 0
        for _ in range(DEEP):
            for number in 1, 2:
                head = varint_field(number, length)
                sizes.append(head)
                length += len(head)
        item = b"".join(reversed(sizes))
        configs = raw.field(3, raw.field(1, raw.field(1, "deep") + raw.field(2, item)))
        peer = self.commander()
        peer.say(raw.request("x", 2, raw.field(1, raw.field(1, raw.field(1, "v1") + configs)) + raw.field(2, "desiredState.configs")))
        code, words = peer.ended()
        self.assertEqual(code, grpc.StatusCode.INVALID_ARGUMENT, words)
        self.assertIn("nest too deeply", words)
        self.logged("nest too deeply")

    def test_more_than_a_message_may_have(self):
        """A manifest of 64 MiB is one message of more than that."""
        part = 1 << 20
        line = f"  runtimeConfig: {'x' * part}\n"
        text = "apiVersion: v1\nworkloads:\n" + "".join(
            f"  w{number}:\n    agent: nobody\n    runtime: podman\n  {line}" for number in range(LARGE // part))
        message = self.ank(self.one, "--no-wait", "apply", self.file("huge.yaml", text), code=1)
        self.assertIn("larger", message)
        peer = self.commander()
        peer.say(raw.request("x", 2, raw.field(1, raw.field(9, b"\0" * LARGE))))
        code, words = peer.ended()
        self.assertEqual(code, grpc.StatusCode.RESOURCE_EXHAUSTED, words)


def varint_field(number, length):
    return raw.varint(number << 3 | 2) + raw.varint(length)


class BadCertificates(harness.Case):
    def test_names_that_cannot_be_read(self):
        """A certificate of the right authority whose list of names is no such list."""
        authority = certificates.Authority(self.folder / "pem", "ecdsa")
        server = self.server(tls=authority.issue("server", dns="ank-server"), cli=authority.issue("cli", dns="ank"))
        name = self.unique("stest")
        for problem, names in ("garbage", "DER:04:03:FF:FF:FF"), ("cut", "DER:30:20:82:03:61"), ("empty", "DER:30:00"):
            with self.subTest(problem):
                bad = authority.issue(f"bad-{problem}", raw_names=names)
                agent = self.agent(server, name, tls=bad, connected=False)
                self.wait_until(lambda agent=agent: "WARN" in agent.log() or not agent.lives(), "the agent is refused")
                self.assertEqual(self.connected_agents(server), set())
                agent.kill()
        good = authority.issue("good", dns=name)
        self.agent(server, name, tls=good)


if __name__ == "__main__":
    unittest.main()
