"""What goes wrong outside our programs is said in one line or in a state, and nothing is lost by it.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import dataclasses
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
import unittest

import harness
from harness import certificates, manifest, peers, table, workload


def setUpModule():
    peers.build()


class Manifests(harness.Case):
    """Manifests that are refused; the state stays as it was."""

    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.apply(self.one, {"kept": workload("agent_A")})
        self.before = self.state(self.one)

    def refused(self, *files):
        """What ank says; nothing was applied."""
        message = self.ank(self.one, "apply", *files, code=1)
        self.assertEqual(self.state(self.one), self.before)
        return message

    # [stest->swdd~server-continues-on-invalid-updated-state~1]
    def test_broken_manifests_name_file_line_and_column(self):
        good = manifest({"fine": workload("agent_A")})
        head = "apiVersion: v1\nworkloads:\n  nginx:\n    agent: agent_A\n    runtime: podman\n"
        for problem, text, place, words in [
            ("no YAML", head + "    runtimeConfig: [\n", "broken.yaml:", []),
            ("a tab", "apiVersion: v1\n\tworkloads: {}\n", "broken.yaml:2:1", []),
            ("a key twice", head + "    agent: agent_B\n    runtimeConfig: x\n", "broken.yaml:6:5", ["agent"]),
            ("a wrong type", head + "    runtimeConfig: x\n    tags: [1]\n", "broken.yaml:7:11", ["tags"]),
            ("an unknown value", head + "    runtimeConfig: x\n    restartPolicy: SOMETIMES\n", "broken.yaml:7:20", ["SOMETIMES"]),
            ("a missing key", head, "broken.yaml:4:5", ["runtimeConfig"]),
            ("a bad name", head.replace("nginx", "ngi.nx") + "    runtimeConfig: x\n", "broken.yaml:3:3", ["ngi.nx"]),
        ]:
            with self.subTest(problem):
                self.file("good.yaml", good)
                self.file("broken.yaml", text)
                message = self.refused("good.yaml", "broken.yaml")
                for word in [place, *words]:
                    self.assertIn(word, message)
        self.assertIn("'nowhere.yaml' not found", self.refused("nowhere.yaml"))
        self.ank(self.one, "--no-wait", "apply", self.file("good.yaml", good))
        self.assertEqual(set(self.state(self.one)["desiredState"]["workloads"]), {"kept", "fine"})

    def test_unknown_agent(self):
        shown = self.ank(self.one, "apply", "-", stdin=manifest({"lonely": workload("nobody")}))
        self.assertRegex(shown, r"lonely +nobody .*Pending\(Initial\)")
        rows = {row["WORKLOAD NAME"]: row["EXECUTION STATE"] for row in table(self.ank(self.one, "get", "workloads"))}
        self.assertEqual(rows["lonely"], "Pending(Initial)")
        self.assertEqual(self.connected_agents(self.one), set())

    # [stest->swdd~server-fails-on-invalid-startup-state~1]
    def test_startup_manifest_that_is_refused(self):
        for problem, text, words in [
            ("no YAML", "apiVersion: v1\n\tworkloads: {}\n", ["startup.yaml:2:1"]),
            ("a bad name", manifest({"ngi nx": workload("agent_A")}), ["ngi nx"]),
            ("another version", manifest({}).replace("v1", "v7"), ["v7"]),
        ]:
            with self.subTest(problem):
                code, output = self.finished("ank-server", "-k", "-a", "127.0.0.1:0", "-m", self.file("startup.yaml", text))
                self.assertEqual(code, 1, output)
                for word in words:
                    self.assertIn(word, output)
        code, output = self.finished("ank-server", "-k", "-a", "127.0.0.1:0", "-m", self.folder / "nowhere.yaml")
        self.assertEqual(code, 1, output)
        self.assertIn("nowhere.yaml", output)


class Files(harness.Case):
    """Manifests that are no files, or none that can be used: one line, exit code 1, and nothing is changed."""

    def setUp(self):
        super().setUp()
        self.one = self.server()

    def refused(self, *words, **more):
        """What ank says, in one line."""
        message = self.ank(self.one, *words, code=1, **more)
        self.assertEqual(len(message.splitlines()), 1, message)
        self.assertTrue(message.startswith("error: Command failed: '"), message)
        return message

    def test_what_is_no_file(self):
        (self.folder / "folder").mkdir()
        self.file("file", "")
        (self.folder / "loop").symlink_to("loop")
        (self.folder / "dangling").symlink_to("nowhere")
        for name, words in [
            ("folder", "Is a directory"),
            ("file/below", "Not a directory"),
            ("loop", "Too many levels of symbolic links"),
            ("x" * 300, "File name too long"),
            ("/proc/self/mem", "Input/output error"),
            ("/dev/zero", "larger than 64 MiB"),
            ("dangling", "not found!"),
            ("", "not found!"),
        ]:
            with self.subTest(name):
                message = self.refused("apply", name)
                self.assertIn(words, message)
                self.assertIn(name, message)

    def test_contents_that_are_no_manifest(self):
        (self.folder / "binary").write_bytes(bytes(range(256)) * 40)
        (self.folder / "zeros").write_bytes(bytes(1000))
        with (self.folder / "huge").open("wb") as huge:     # 100 MB that take no room
            huge.truncate(100_000_000)
        self.assertIn("binary:3:115: the text is not valid UTF-8", self.refused("apply", "binary"))
        self.assertIn("zeros:1:1", self.refused("apply", "zeros"))
        self.assertIn("larger than 64 MiB, which is the most that is read: huge", self.refused("apply", "huge"))
        half = self.file("half", "#" * 40_000_000)
        self.assertIn("the files are together larger than 64 MiB; apply them one by one", self.refused("apply", half, half))
        for name in self.file("empty", ""), self.file("blank", " \n\n# nothing\n"):
            message = self.ank(self.one, "apply", name, code=1)
            self.assertRegex(message, f"^error: Command failed: 'Manifest schema validation failed:\n{name}:1:1: .*'\n$")

    def test_fifos(self):
        os.mkfifo(self.folder / "fifo")
        self.assertIn("it is a FIFO, and nobody writes into it: fifo", self.refused("apply", "fifo"))
        text = manifest({"late": workload("nobody")})
        slow = "import sys, time; time.sleep(0.3); print(sys.argv[1])"
        run = subprocess.run(["bash", "-c", 'exec "$0" -k -s "$1" --no-wait apply <(exec "$2" -c "$3" "$4")', harness.PROGRAMS / "ank",
                              self.one.url, sys.executable, slow, text], cwd=self.folder, capture_output=True, text=True,
                             env=harness.clean_environment() | {"HOME": str(self.folder)})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(set(self.state(self.one)["desiredState"]["workloads"]), {"late"})

    def test_state_files(self):
        (self.folder / "folder").mkdir()
        (self.folder / "binary").write_bytes(bytes(range(256)))
        for name, words in ("folder", "Is a directory"), ("nowhere", "No such file"), ("binary", "binary:3:115: the text is not valid UTF-8"):
            with self.subTest(name):
                message = self.ank(self.one, "set", "state", "desiredState", name, code=1)
                self.assertTrue(message.startswith("error: Failed to set state: 'Command failed: 'Could not "), message)
                self.assertIn(words, message)

    def test_config_files(self):
        (self.folder / "folder").mkdir()
        (self.folder / "binary").write_bytes(bytes(range(256)))
        os.mkfifo(self.folder / "fifo")
        for name, words in [("folder", "Is a directory"), ("nowhere", "No such file"), ("binary", "not valid UTF-8"), ("fifo", "nobody writes")]:
            with self.subTest(name):
                code, output = self.finished("ank", "-x", name, "get", "agents")
                self.assertEqual((code, len(output.splitlines())), (1, 1), output)
                self.assertIn(f"{name}: ", output)
                self.assertIn(words, output)


class Talks(harness.Case):
    """Servers that cannot be talked to: one line that names the server and the reason."""

    def refused(self, url, *words, identity=None):
        message = self.ank(None, *words, url=url, tls=identity, code=1)
        self.assertEqual(len(message.splitlines()), 1, message)
        self.assertTrue(message.startswith("error: "), message)
        return message

    def test_certificates_that_do_not_fit(self):
        good = certificates.Authority(self.folder / "good", "ed25519")
        cli = good.issue("cli", dns="ank")
        server = self.server(tls=good.issue("server", dns="ank-server"), cli=cli)
        foreign = certificates.Authority(self.folder / "foreign", "ed25519").issue("cli", dns="ank")
        for problem, identity, words in [
            ("a server that we do not trust", foreign, ["certificate verify failed", "Is --ca_pem the authority"]),
            ("a client that the server does not trust", dataclasses.replace(foreign, ca=good.cert), ["The server refuses our certificate", "--crt_pem"]),
            ("an old one", good.issue("old", dns="ank", expired=True), ["certificate: it expired on", "renew it"]),
            ("a key of another", dataclasses.replace(cli, key=foreign.key), ["does not belong to the certificate"]),
        ]:
            for command in ["get", "agents"], ["get", "state"], ["delete", "config", "x"]:
                with self.subTest(problem, command=command):
                    message = self.refused(server.url, *command, identity=identity)
                    self.assertTrue(message.startswith(f"error: Could not connect to Ankaios server on '{server.url}'. "), message)
                    for word in words:
                        self.assertIn(word, message)
                    for key in self.folder.glob("*/*.key"):
                        self.assertNotIn(key.read_text().splitlines()[1], message)
        self.assertEqual(self.connected_agents(server), set())

    def test_one_speaks_tls_and_the_other_does_not(self):
        authority = certificates.Authority(self.folder / "pem", "ed25519")
        cli = authority.issue("cli", dns="ank")
        secure = self.server(tls=authority.issue("server", dns="ank-server"), cli=cli)
        plain = self.server()
        self.assertIn("If the server speaks TLS, give", self.refused(secure.url.replace("https", "http"), "get", "agents"))
        self.assertIn("If it does not, use --insecure.", self.refused(plain.url.replace("http", "https"), "get", "agents", identity=cli))
        other = self.server(tls=authority.issue("other", dns="other"), cli=cli)
        self.assertIn("for the name ank-server", self.refused(other.url, "get", "agents", identity=cli))

    def test_addresses_that_lead_nowhere(self):
        for url, words in [("http://nowhere.invalid:1", "nowhere.invalid"), ("http://127.0.0.1:99999", "99999"),
                           ("http://[::1", "[::1"), ("ftp://127.0.0.1", "Wrong server address format")]:
            with self.subTest(url):
                self.assertIn(words, self.refused(url, "get", "agents"))

    def test_a_server_that_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            message = self.refused(f"http://127.0.0.1:{silent.getsockname()[1]}", "--response-timeout", "300", "get", "workloads")
            self.assertIn("timed out after '300ms'", message)

    def test_a_server_that_is_something_else(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            def answer():
                with other.accept()[0] as peer:
                    peer.recv(100)
                    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            thread = threading.Thread(target=answer)
            thread.start()
            message = self.refused(f"http://127.0.0.1:{other.getsockname()[1]}", "get", "workloads")
            thread.join()
            self.assertIn("127.0.0.1", message)


class Surroundings(harness.Case):
    """Ports, folders, peers."""

    def closed_port(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return listener.getsockname()[1]

    def one_fatal_line(self, output):
        """The only line that calls itself an error."""
        lines = [line for line in output.splitlines() if "ERROR" in line or line.startswith("error:")]
        self.assertEqual(len(lines), 1, output)
        return lines[0]

    def test_unreachable_server(self):
        url = f"http://127.0.0.1:{self.closed_port()}"
        for words in ["get", "workloads"], ["apply", "-"], ["delete", "workload", "x"]:
            with self.subTest(words):
                message = self.ank(None, *words, url=url, code=1, stdin=manifest({"x": workload("agent_A")}))
                self.assertIn(f"Could not connect to Ankaios server on '{url}'", self.one_fatal_line(message))

    def test_agent_waits_for_its_server(self):
        first = self.server()
        port = first.port
        first.kill()
        agent = self.agent(first, connected=False)
        self.wait_until(lambda: "Connection to server" in agent.log() or "WARN" in agent.log(), "the agent says so")
        again = self.server(port=port)
        self.wait_until(lambda: self.connected_agents(again) == {agent.agent_name}, "it is connected")
        self.assertTrue(agent.lives())

    def test_server_of_another_version(self):
        process = peers.Server("tonic", command="stock-server", more=["--protocol-major", "2"])
        self.addCleanup(process.__exit__)
        url = process.address.replace("tcp:", "http://")
        message = self.ank(None, "get", "workloads", url=url, code=1)
        self.assertIn("Ankaios version mismatch", message)
        self.assertIn("Currently supported '2'", message)
        self.assertEqual(len(message.splitlines()), 1, message)
        code, output = self.finished("ank-agent", "-k", "-n", "agent_A", "-s", url, "-r", self.folder)
        self.assertEqual(code, 1, output)
        self.assertIn("Ankaios version mismatch", self.one_fatal_line(output))

    def test_port_in_use(self):
        server = self.server()
        code, output = self.finished("ank-server", "-k", "-a", f"127.0.0.1:{server.port}")
        self.assertEqual(code, 1, output)
        self.assertIn(str(server.port), self.one_fatal_line(output))
        self.assertIn("in use", output)
        self.assertEqual(self.connected_agents(server), set())

    def test_run_folder_that_cannot_be_used(self):
        self.file("file", "")
        for folder in "file/below", "nowhere", "file":
            with self.subTest(folder):
                code, output = self.finished("ank-agent", "-k", "-n", "agent_A", "-r", self.folder / folder)
                self.assertEqual(code, 1, output)
                self.assertIn("Run folder creation failed", self.one_fatal_line(output))
                self.assertIn(folder, output)

    def test_run_folder_that_leads_elsewhere(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        (self.folder / "agent_A_io").symlink_to(elsewhere)
        code, output = self.finished("ank-agent", "-k", "-n", "agent_A", "-r", self.folder)
        self.assertEqual(code, 1, output)
        self.assertIn(f"Could not use directory \"{self.folder}/agent_A_io\": it is a symbolic link; remove it, or name another "
                      "folder with --run-folder", self.one_fatal_line(output))
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_words_that_mean_nothing(self):
        for program, words in [("ank", ["nonsense"]), ("ank", []), ("ank", ["get", "nonsense"]), ("ank-server", ["--nonsense"]),
                               ("ank-agent", ["--nonsense"]), ("ank-server", ["-a"]), ("ank-agent", ["-t", "no-equals-sign"])]:
            with self.subTest(program, words=words):
                code, output = self.finished(program, *words)
                self.assertEqual(code, 2, output)
                self.assertIn("--help", output)
        for program, words, inner in [
            ("ank-agent", ["-k"], "Empty agent name"),
            ("ank-agent", ["-k", "-n", "ag.ent"], "ag.ent"),
            ("ank-agent", ["-k", "-n", "agent_A", "-s", "ftp://x"], "Wrong server address format"),
            ("ank-agent", ["-n", "agent_A"], "Missing certificate files"),
            ("ank-server", [], "Missing certificate files"),
            ("ank", ["get", "agents"], "Missing certificate files"),
            ("ank", ["-k", "-s", "nonsense", "get", "agents"], "Wrong server address format"),
        ]:
            with self.subTest(program, words=words):
                code, output = self.finished(program, *words, environment={"TMPDIR": str(self.folder)})
                self.assertEqual(code, 1, output)
                self.assertIn(inner, output)


class Podman(harness.Case):
    """An agent whose podman is a script of ours, or is not there."""

    def agent_with(self, script=None):
        """The server and an agent that finds only what these tests put there."""
        programs = self.folder / "bin"
        programs.mkdir(exist_ok=True)
        if script is not None:
            self.stand_in(script)
        server = self.server()
        return server, self.agent(server, environment={"PATH": str(programs)})

    def stand_in(self, script):
        path = self.folder / "bin/podman"
        fresh = path.with_suffix(".new")
        fresh.write_text(f"#!{shutil.which('bash')}\nPATH={os.environ['PATH']}\n{script}\n")
        fresh.chmod(stat.S_IRWXU)
        fresh.rename(path)

    def wait_for_info(self, server, *words):
        self.wait_until(lambda: all(word in (self.info(server, "nginx") or "") for word in words), f"information with {words}")

    def test_podman_is_missing(self):
        server, agent = self.agent_with()
        self.apply(server, {"nginx": workload(agent.agent_name)})
        self.wait_for_info(server, "Retry 1 of 20", "podman")
        self.assertEqual(self.states(server), {"nginx": "Pending(Starting)"})
        # It comes late, and fails; the reason changes with it.
        self.stand_in("echo 'Error: no space left on device' >&2; exit 125")
        self.wait_for_info(server, "no space left on device")
        # Nobody can know that there is nothing to delete, and that is said too.
        self.ank(server, "--no-wait", "delete", "workload", "nginx")
        self.wait_for(server, nginx="Stopping(DeleteFailed)")
        self.assertIn("no space left on device", self.info(server, "nginx"))
        self.assertTrue(agent.lives())

    def test_podman_prints_half_of_what_it_should(self):
        server, agent = self.agent_with('[[ " $* " == *" ps "* ]] && { printf "[{\\"Id\\": \\"4"; exit 0; }; echo 4f; exit 0')
        self.apply(server, {"nginx": workload(agent.agent_name)})
        self.wait_for(server, nginx="Failed(Unknown)")
        self.assertIn("Error getting state from Podman", self.info(server, "nginx"))
        self.assertTrue(agent.lives())

    def test_podman_config_that_means_nothing(self):
        server, agent = self.agent_with("echo '[]'")
        for config, word in [("commandOptions: []", "image"), ("just text", ""), ("image: [", "")]:
            with self.subTest(config):
                self.apply(server, {"nginx": workload(agent.agent_name) | {"runtimeConfig": config}})
                self.wait_for(server, nginx="Pending(StartingFailed)")
                self.assertIn(word, self.info(server, "nginx"))
                self.ank(server, "delete", "workload", "nginx")

    def test_unknown_runtime(self):
        server, agent = self.agent_with("echo '[]'")
        self.apply(server, {"nginx": workload(agent.agent_name) | {"runtime": "nonsense"}})
        self.wait_for(server, nginx="Pending(StartingFailed)")
        self.assertEqual(self.info(server, "nginx"), "Unsupported Runtime")


if __name__ == "__main__":
    unittest.main()
