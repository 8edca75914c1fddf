"""Certificates: all three programs speak TLS with each other, and refuse what they cannot trust.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import dataclasses
import shutil
import unittest

import harness
from harness import certificates, containers, workload


class Tls(harness.PodmanCase):
    def setUp(self):
        super().setUp()
        self.name = self.unique("stest")
        self.authority = certificates.Authority(self.folder / "pem", "ed25519")
        self.for_server = self.authority.issue("server", dns="ank-server")
        self.for_agent = self.authority.issue("agent", dns=self.name)
        self.for_cli = self.authority.issue("cli", dns="ank")

    def secured(self, *words, **more):
        return self.server(*words, tls=self.for_server, cli=self.for_cli, **more)

    # [stest->swdd~server-supports-pem-file-paths-as-cli-arguments~1]
    # [stest->swdd~agent-supports-pem-file-paths-as-cli-arguments~1]
    def test_all_three_programs(self):
        server = self.secured()
        agent = self.agent(server, self.name, tls=self.for_agent)
        self.assertIn("Running(Ok)", self.ank(server, "apply", "-", stdin=harness.manifest({"secret": workload(self.name)})))
        self.ank(server, "delete", "workload", "secret")
        self.assertEqual(containers(self.name), {})
        self.assertEqual(agent.terminate(), 0, agent.log())
        self.assertEqual(server.terminate(), 0, server.log())
        self.assertNotIn("connection closed", server.log())     # commands that have what they wanted just go

    def test_files_come_from_the_environment_too(self):
        def variables(program, identity):
            return {f"{program}_CA_PEM": str(identity.ca), f"{program}_CRT_PEM": str(identity.cert), f"{program}_KEY_PEM": str(identity.key)}

        server = self.server(tls=harness.FROM_ENVIRONMENT, cli=harness.FROM_ENVIRONMENT, environment=variables("ANKSERVER", self.for_server))
        self.environment = self.environment | variables("ANK", self.for_cli)
        self.agent(server, self.name, tls=harness.FROM_ENVIRONMENT, environment=variables("ANKAGENT", self.for_agent))
        self.assertEqual(self.connected_agents(server), {self.name})

    # [stest->swdd~server-supports-cli-argument-for-insecure-communication~1]
    # [stest->swdd~agent-supports-cli-argument-for-insecure-communication~1]
    def test_insecure_by_the_environment(self):
        server = self.server(tls=harness.FROM_ENVIRONMENT, environment={"ANKSERVER_INSECURE": "true"})
        self.agent(server, self.name, tls=harness.FROM_ENVIRONMENT, environment={"ANKAGENT_INSECURE": "true"})
        self.assertEqual(self.connected_agents(server), {self.name})
        self.assertEqual(self.finished("ank-server", environment={"ANKSERVER_INSECURE": "perhaps"})[0], 2)

    def test_agent_with_a_name_that_is_not_in_its_certificate(self):
        server = self.secured()
        agent = self.agent(server, self.unique("stest"), tls=self.for_agent, connected=False)
        self.wait_until(lambda: "does not match SAN" in agent.log(), "the refusal")
        self.assertEqual(self.connected_agents(server), set())

    def test_strangers_are_refused(self):
        server = self.secured()
        foreign = certificates.Authority(self.folder / "foreign", "ed25519").issue("cli", dns="ank")
        mixed = dataclasses.replace(foreign, ca=self.authority.cert)
        self.assertIn(server.url, self.ank(server, "get", "agents", tls=mixed, code=1))
        self.assertIn(server.url, self.ank(server, "get", "agents", tls=foreign, code=1))
        plain = server.url.replace("https", "http")
        self.ank(None, "get", "agents", url=plain, code=1)
        self.assertEqual(self.connected_agents(server), set())

    def test_files_that_cannot_be_used(self):
        """Each program says which one and why, ends with code 1, and never shows what a key holds."""
        good = self.for_cli
        secret = good.key.read_text().splitlines()[1]
        loose = self.folder / "loose.key"
        shutil.copyfile(good.key, loose)
        loose.chmod(0o644)
        writable = self.folder / "writable.pem"
        shutil.copyfile(good.cert, writable)
        writable.chmod(0o666)
        other_key = self.for_agent.key
        expired = self.authority.issue("expired", dns="ank", expired=True)
        (self.folder / "run").mkdir()
        server = self.secured()
        programs = {
            "ank": ["-s", server.url],
            "ank-server": ["-a", "127.0.0.1:0"],
            "ank-agent": ["-s", server.url, "-n", self.name, "-r", self.folder / "run"],
        }
        for problem, identity, words in [
            ("missing", dataclasses.replace(good, cert=self.folder / "nope"), ["opening the given file", "nope", "No such file"]),
            ("loose key", dataclasses.replace(good, key=loose), ["Private key file", "loose.key", "insecure permissions 644", "chmod 0600"]),
            ("writable", dataclasses.replace(good, cert=writable), ["Certificate file", "writable.pem", "insecure permissions 666"]),
            ("expired", expired, ["expired on"]),
            ("another key", dataclasses.replace(good, key=other_key), ["does not belong to the certificate"]),
            ("key for certificate", dataclasses.replace(good, cert=good.key), ["holds no certificate"]),
        ]:
            for program, more in programs.items():
                with self.subTest(problem, program=program):
                    command = ["get", "agents"] if program == "ank" else []
                    code, output = self.finished(program, *more, *harness.options(identity), *command)
                    self.assertEqual(code, 1, output)
                    for word in words:
                        self.assertIn(word, output)
                    self.assertNotIn(secret, output)

    def test_one_file_is_not_given(self):
        for program, more in {"ank": ["get", "agents"], "ank-server": [], "ank-agent": []}.items():
            with self.subTest(program):
                words = ["-n", self.name, "-r", self.folder] if program == "ank-agent" else []
                code, output = self.finished(program, *words, "--ca_pem", self.for_cli.ca, "--key_pem", self.for_cli.key, *more)
                self.assertEqual(code, 1, output)
                self.assertIn("Missing certificate files", output)
                self.assertIn("--crt_pem", output)


if __name__ == "__main__":
    unittest.main()
