"""The other side is killed at each stage of a call; ours notices, lives on, and works with the next one.

    $(tools/setup --python) tools/run-unittests tests/peers
"""

import concurrent.futures
import time
import unittest

import peers
import relay

SECONDS = peers.SECONDS
AT_ONCE = 3
KINDS = ["unary", "collect", "expand", "chat"]


def stages(killed):
    """The seven stages, for the role of the side that is killed."""
    return {
        "before the preface": relay.Stage(lambda frame: frame.origin == killed, passes=0),
        "after SETTINGS": relay.Stage(lambda frame: frame.origin == killed and frame.kind == relay.SETTINGS
                                      and not frame.flags & relay.ACK),
        "after HEADERS": relay.Stage(lambda frame: frame.origin == killed and frame.kind == relay.HEADERS),
        "in the middle of a message": relay.Stage(lambda frame: frame.origin == killed and frame.kind == relay.DATA
                                                  and len(frame.bytes) > 1000, passes=0.5),
        "after the half-close": relay.Stage(lambda frame: frame.origin == "client" and frame.ends_stream()),
        "before the trailers": relay.Stage(lambda frame: frame.origin == "server" and frame.kind == relay.HEADERS
                                           and frame.ends_stream(), passes=0),
        # It is always the server that drains. A client is made to keep its call open: its message never comes to an end.
        "during the drain": relay.Stage(lambda frame: frame.origin == "server" and frame.kind == relay.GOAWAY,
                                        holds=lambda frame: killed == "client" and frame.origin == "client"
                                        and frame.kind == relay.DATA and len(frame.bytes) > 1000),
    }


def is_response(frame):
    return frame.origin == "server" and frame.kind == relay.HEADERS


def setUpModule():
    peers.build()


class Killed(unittest.TestCase):
    def check_all(self, killed, check):
        """Runs check(other, kind of call, name of the stage, stage) for every other peer and stage, with changing kinds."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            outcomes = []
            for row, other in enumerate(peers.OTHERS):
                for column, (name, stage) in enumerate(stages(killed).items()):
                    kind = KINDS[(row + column) % len(KINDS)]
                    outcomes.append((other, kind, name, pool.submit(check, other, kind, name, stage)))
        for other, kind, name, outcome in outcomes:
            with self.subTest(other=other, kind=kind, stage=name):
                outcome.result()

    def test_server_is_killed(self):
        """Our client sees UNAVAILABLE, and its next call succeeds with a new server at the same address."""
        def check(other, kind, name, stage):
            with peers.Server(other) as server, relay.Relay(server.address) as between, \
                    peers.Process(peers.OURS, "talk", "--connect", between.address) as client:
                between.arm(stage, server.kill)
                if name == "during the drain":
                    client.say("wait")
                    self.assertTrue(between.wait_until_passed(is_response, SECONDS), client.described())
                    server.terminate()
                else:
                    client.say(f"{kind} 100000")
                code, _, text = client.next_line().partition(" ")
                self.assertTrue(between.reached.wait(SECONDS), f"{code} {text}: and the server was not killed")
                self.assertEqual(code, "UNAVAILABLE", text)
                self.assertTrue(text)
                self.assertTrue(client.lives())
                with peers.Server(other) as successor:
                    between.backend = successor.address
                    limit = time.monotonic() + SECONDS
                    client.say("unary 5")
                    while (answer := client.next_line()).startswith("UNAVAILABLE") and time.monotonic() < limit:
                        client.say("unary 5")       # it may still be waiting before it connects again
                    self.assertEqual(answer.split(" ")[0], "OK", answer)
        self.check_all("server", check)

    def test_client_is_killed(self):
        """Our server serves the next client; one that drains comes to its end."""
        def check(other, kind, name, stage):
            with peers.Server(peers.OURS) as server, relay.Relay(server.address) as between:
                with peers.Process(other, "call", "--connect", between.address, f"{kind}-large") as client:
                    between.arm(stage, client.kill)
                    if name == "during the drain":
                        self.assertTrue(between.held.wait(SECONDS), client.described())
                        server.terminate()
                    self.assertTrue(between.reached.wait(SECONDS), client.described())
                if name == "during the drain":
                    self.assertEqual(server.ended(), 0, server.described())
                else:
                    self.assertEqual(peers.call(other, server.address, ["unary-basic"]), "")
                    self.assertTrue(server.lives())
        self.check_all("client", check)


if __name__ == "__main__":
    unittest.main()
