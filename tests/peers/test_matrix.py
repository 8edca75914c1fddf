"""Every case between ours and every other implementation of gRPC, in both roles, over each transport.

    $(tools/setup --python) tools/run-unittests tests/peers
"""

import concurrent.futures
import dataclasses
import itertools
import pathlib
import sys
import tempfile
import unittest

sys.path += [str(pathlib.Path(__file__).resolve().parent.parent)]
import certificates
import peers

# One side is always ours. That the others understand each other is not ours to test.
PAIRS = [(client, server) for client, server in itertools.product([peers.OURS, *peers.OTHERS], repeat=2)
         if peers.OURS in (client, server)]

# The kinds of keys that both sides take, the one for all cases first. The TLS library of grpcio verifies no Ed25519.
KEYS = {
    "ours": ["ed25519", "ecdsa", "rsa"],
    "tonic": ["ed25519", "rsa", "ecdsa"],
    "go": ["ed25519", "ecdsa", "rsa"],
    "grpcpp": ["rsa", "ed25519", "ecdsa"],
    "grpcio": ["ecdsa", "rsa"],
}
AT_ONCE = 3     # cells; most of their time they wait for deadlines

CASES = [f"{kind}-{what}" for kind in ("unary", "collect", "expand", "chat")
         for what in ("basic", "deadline", "cancel", "large", "metadata", "error")]


def setUpModule():
    peers.build()


class Matrix(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check_all(self, check):
        """Runs check(client, server), which answers with what went wrong, for all pairs."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            outcomes = [(pair, pool.submit(check, *pair)) for pair in PAIRS]
        for (client, server), outcome in outcomes:
            with self.subTest(client=client, server=server):
                wrong = outcome.result()
                if wrong:
                    self.fail(wrong)

    def test_plain(self):
        def check(client, server):
            with peers.Server(server) as running:
                return peers.call(client, running.address, CASES)
        self.check_all(check)

    def test_unix(self):
        def check(client, server):
            with peers.Server(server, listen=f"unix:{self.folder}/{client}-{server}") as running:
                return peers.call(client, running.address, CASES)
        self.check_all(check)

    def test_mtls(self):
        clusters = {kind: certificates.Cluster(self.folder / kind, kind) for kind in certificates.KINDS}

        def check(client, server):
            other = client if server == peers.OURS else server
            outcome = ""
            for kind, cases in zip(KEYS[other], [CASES, ["unary-basic"], ["unary-basic"]]):
                with peers.Server(server, identity=clusters[kind].server) as running:
                    outcome += peers.call(client, running.address, cases, clusters[kind].agent)
            return outcome
        self.check_all(check)

    def test_all_have_the_same_cases(self):
        for name in peers.OURS, *peers.OTHERS:
            with self.subTest(name):
                self.assertEqual(peers.cases(name), CASES)


class Certificates(unittest.TestCase):
    """What ours says to certificates that are not in order; the other side sees to the rest."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cluster = certificates.Cluster(folder.name)

    def test_server_refuses_bad_clients_and_serves_good_ones(self):
        cluster = self.cluster
        with peers.Server(peers.OURS, identity=cluster.server) as server:
            for client in peers.OTHERS:
                for name, identity in ("expired", cluster.expired), ("foreign", cluster.foreign):
                    with self.subTest(client=client, certificate=name):
                        self.assertNotEqual(peers.call(client, server.address, ["unary-basic"], identity), "")
                with self.subTest(client=client, certificate="good"):
                    self.assertEqual(peers.call(client, server.address, ["unary-basic"], cluster.agent), "")
                with self.subTest(client=client, certificate="none"):
                    self.assertNotEqual(peers.call(client, server.address, ["unary-basic"]), "")

    def test_client_refuses_bad_servers(self):
        cluster = self.cluster
        foreign = certificates.Authority(cluster.authority.folder / "foreign").issue("server", dns="ank-server")
        for name, identity in [
            ("expired", cluster.authority.issue("expired-server", dns="ank-server", expired=True)),
            ("foreign", dataclasses.replace(foreign, ca=cluster.authority.cert)),
            ("of another name", cluster.agent),
            ("without a name", cluster.nameless),
        ]:
            with self.subTest(name), peers.Server("go", identity=identity) as server:
                wrong = peers.call(peers.OURS, server.address, ["unary-basic"], cluster.agent)
                self.assertIn("failed unary-basic", wrong)
                self.assertIn("UNAVAILABLE", wrong)

    def test_authority_of_version_1_is_accepted(self):
        authority = self.cluster.first_version
        server_identity, client_identity = authority.issue("server", dns="ank-server"), authority.issue("agent", dns="agent_A")
        for client, server in (peers.OURS, "tonic"), ("tonic", peers.OURS):
            with self.subTest(client=client, server=server), peers.Server(server, identity=server_identity) as running:
                self.assertEqual(peers.call(client, running.address, ["unary-basic"], client_identity), "")


if __name__ == "__main__":
    unittest.main()
