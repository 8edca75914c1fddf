"""The first day of a new user, with real podman: what README, --help and the error messages say is enough to get through it.

    $(tools/setup --python) tools/run-unittests -k FirstDay tests/system
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import unittest

import harness
import yaml
from harness import ROOT, table, wait_until, workload
from language_server import LanguageServer

HOW_TO = ROOT / "docs/how-to/make-certificates.md"


def blocks(path, language):
    """The examples in a page, one after the other."""
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.S)


class FirstDay(harness.PodmanCase):
    """One cluster for the whole day; a step that fails is named."""

    def setUp(self):
        super().setUp()
        installed = self.folder / "installed"
        subprocess.run(["cmake", "--install", harness.PROGRAMS.parent, "--prefix", installed], check=True, stdout=subprocess.DEVNULL)
        self.tools = {"PATH": f"{installed}/bin:{os.environ['PATH']}", "HOME": str(self.folder)}
        self.name = self.unique("agent")
        self.second = self.unique("agent")

    @contextlib.contextmanager
    def step(self, what):
        try:
            yield
        except Exception as error:
            error.add_note(f"on the first day, when the user {what.replace('_', ' ')}")
            raise

    # --- the user's hands ---

    def type(self, line, code=0, stdin=""):
        """A line as the user types it; stdout, and stderr after it."""
        run = subprocess.run(["bash", "-c", line], cwd=self.folder, input=stdin, capture_output=True, text=True, timeout=harness.SECONDS,
                             env=harness.clean_environment() | self.tools)
        self.assertEqual(run.returncode, code, f"$ {line}\n{run.stdout}{run.stderr}\n{self.logs()}")
        return run.stdout + run.stderr

    def watching(self, line):
        """A command that goes on; the lines that it has printed so far."""
        path = self.folder / f"watch-{next(harness.COUNTER)}"
        with path.open("w") as output:
            process = subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=output, env=harness.clean_environment() | self.tools)
        self.addCleanup(lambda: process.poll() is None and (process.kill(), process.wait()))
        return process, path.read_text

    def interrupt(self, process):
        process.send_signal(signal.SIGINT)
        return process.wait(harness.SECONDS)

    def running(self, *names):
        for name in names:
            self.type(f"ank wait workload --for=running --timeout 60s {name}")

    def row(self, name):
        return next(row for row in table(self.type("ank get workloads")) if row["WORKLOAD NAME"] == name)

    def seen(self, condition, what):
        return wait_until(condition, what, self.logs)

    # --- the morning ---

    def start(self):
        (self.folder / "pem").mkdir()
        subprocess.run(["bash", "-ec", blocks(HOW_TO, "bash")[0].replace("agent_A", self.name) + f"issue {self.second} {self.second}\n"],
                       cwd=self.folder / "pem", check=True, capture_output=True)
        pem = self.folder / "pem"

        def identity(name):
            return harness.certificates.Identity(pem / "ca.pem", pem / f"{name}.pem", pem / f"{name}.key")

        self.identities = {name: identity(name) for name in ("server", "ank", self.name, self.second)}
        self.main = self.server(tls=self.identities["server"], cli=self.identities["ank"])
        # The last example of the page is the config file of ank.
        config = blocks(HOW_TO, "toml")[0].replace("/etc/ankaios/certs", str(pem)) + f"server_url = '{self.main.url}'\n"
        (self.folder / ".config/ankaios").mkdir(parents=True)
        self.file(".config/ankaios/ank.conf", config)
        self.first_agent = self.agent(self.main, self.name, tls=self.identities[self.name], words=["--tag", "zone=front"])

    def manifest(self, name, workloads, **more):
        self.file(name, harness.manifest(workloads, **more))

    # --- the day ---

    def test_it(self):
        self.start()
        for part in (self.applies, self.looks, self.reads_logs, self.plans, self.waits, self.finds_out_why, self.uses_configs,
                     self.tags_agents, self.gives_rights, self.restarts, self.makes_mistakes, self.sees_events, self.sets_state,
                     self.runs, self.brings_old_manifests, self.deletes, self.loses_agents, self.loses_the_server,
                     self.completes, self.edits, self.reads_the_manual, self.goes_home):
            with self.step(part.__name__):
                part()

    def applies(self):
        self.manifest("web.yaml", {"web": workload(self.name, "echo ready; for i in 1 2 3 4 5; do echo line $i; done; sleep 1000")})
        self.assertIn("Running(Ok)", self.type("ank apply web.yaml"))
        self.assertIn("Running(Ok)", self.type("ank apply -", stdin=harness.manifest({"db": workload(self.name)})))

    def looks(self):
        rows = table(self.type("ank get workloads"))
        self.assertEqual([(row["WORKLOAD NAME"], row["AGENT"], row["EXECUTION STATE"]) for row in rows],
                         [("db", self.name, "Running(Ok)"), ("web", self.name, "Running(Ok)")])
        wide = self.type("ank get workloads -o wide")
        self.assertGreater(len(wide.splitlines()[0]), len(self.type("ank get workloads").splitlines()[0]))
        self.assertEqual({each["name"] for each in json.loads(self.type("ank get workloads -o json"))}, {"db", "web"})
        self.assertEqual(self.type("ank get workloads -o name").split(), ["db", "web"])
        masked = yaml.safe_load(self.type("ank get state desiredState.workloads.web.runtime"))
        self.assertEqual(masked["desiredState"]["workloads"]["web"], {"runtime": "podman"})
        described = self.type("ank describe workload web")
        for word in ("web", self.name, "podman", "Running(Ok)", "NEVER"):
            self.assertIn(word, described)

    def reads_logs(self):
        self.assertEqual(self.type("ank logs --tail 2 web"), "line 4\nline 5\n")
        process, output = self.watching("ank logs -f web")
        self.seen(lambda: "line 5\n" in output(), "the log is followed")
        self.assertEqual(self.interrupt(process), 0)
        self.assertIn("web line 5", self.type("ank logs --names web"))

    def plans(self):
        process, output = self.watching("ank get workloads -w")
        self.seen(lambda: "Running(Ok)" in output(), "the first table")
        before = self.state_of("web")
        self.manifest("web.yaml", {"web": workload(self.name, "echo changed; sleep 1000")})
        planned = self.type("ank plan web.yaml")
        self.assertRegex(planned, r"web.*replaced|replaced.*web|replace")
        self.assertIn("runtimeConfig", planned)
        self.type("ank plan --detailed-exitcode web.yaml", code=2)
        self.assertEqual(self.state_of("web"), before)      # nothing was changed
        self.assertIn("Running(Ok)", self.type("ank apply web.yaml"))
        self.assertNotEqual(self.state_of("web"), before)
        self.type("ank apply --dry-run --detailed-exitcode web.yaml", code=0)
        self.seen(lambda: len(output().split("WORKLOAD NAME")) > 3, "the watch shows the change")
        self.assertEqual(self.interrupt(process), -signal.SIGINT)

    def state_of(self, name):
        """Agents, ids and states of a workload."""
        return yaml.safe_load(self.type("ank get state workloadStates"))["workloadStates"][self.name][name]

    def waits(self):
        self.manifest("job.yaml", {"job": workload(self.name, "sleep 0.5")})
        self.type("ank --no-wait apply job.yaml")
        self.type("ank wait workload --for=succeeded --timeout 60s job")
        late = self.type("ank wait workload --for=failed --timeout 200ms web", code=1)
        self.assertIn("web", late)
        self.assertIn("Running(Ok)", late)
        self.type("ank delete workload job")
        self.type("ank wait workload --for=removed --timeout 60s job")

    def finds_out_why(self):
        self.manifest("bad.yaml", {"bad": workload(self.name, "echo the disk is on fire >&2; exit 3")})
        self.type("ank apply bad.yaml")
        self.assertEqual(self.row("bad")["EXECUTION STATE"], "Failed(ExecFailed)")
        self.assertIn("Exit code: '3'", self.type("ank describe workload bad"))
        self.assertEqual(self.type("ank logs bad"), "the disk is on fire\n")
        self.manifest("chain.yaml", {"follower": workload(self.name, dependencies={"bad": "ADD_COND_SUCCEEDED", "web": "ADD_COND_RUNNING"})})
        self.type("ank --no-wait apply chain.yaml")
        self.seen(lambda: self.row("follower")["EXECUTION STATE"] == "Pending(WaitingToStart)", "it waits")
        described = self.type("ank describe workload follower")
        self.assertRegex(described, r"bad +succeeded +Failed\(ExecFailed\) +blocks the start")
        self.assertNotRegex(described, r"web.*blocks")
        self.manifest("bad.yaml", {"bad": workload(self.name, "exit 0")})
        self.type("ank apply bad.yaml")
        self.running("follower")
        self.type("ank apply -d chain.yaml bad.yaml")

    def uses_configs(self):
        configured = workload(self.name, "echo {{greeting.text}}; sleep 1000", configs={"greeting": "words"})
        self.manifest("greet.yaml", {"greet": configured}, configs={"words": {"text": "hello"}})
        self.type("ank apply greet.yaml")
        self.assertEqual(self.type("ank get configs -o name").split(), ["words"])
        self.seen(lambda: self.type("ank logs greet") == "hello\n", "the rendered word")
        self.manifest("words.yaml", {}, configs={"words": {"text": "good morning"}})
        self.assertIn("greet", self.type("ank plan words.yaml"))
        self.assertIn("Running(Ok)", self.type("ank apply words.yaml"))
        self.seen(lambda: self.type("ank logs greet") == "good morning\n", "the new word")
        self.assertIn("words", self.type("ank delete config words", code=1))      # still in use
        self.type("ank delete workload greet")
        self.type("ank delete config words")

    def tags_agents(self):
        agents = yaml.safe_load(self.type("ank get state agents"))["agents"]
        self.assertEqual(agents[self.name]["tags"], {"zone": "front"})
        self.assertIn("zone", self.type(f"ank describe agent {self.name}"))
        self.file("tags.yaml", yaml.safe_dump({"agents": {self.name: {"tags": {"zone": "rear"}}}}))
        self.type(f"ank set state agents.{self.name}.tags tags.yaml")
        self.assertIn("rear", self.type("ank get agents -o wide"))
        self.assertIn(self.name, self.type("ank describe agent nobody", code=1))

    def gives_rights(self):
        rules = {"allowRules": [{"type": "StateRule", "operation": "Read", "filterMasks": ["workloadStates"]}]}
        self.manifest("rights.yaml", {"reader": workload(self.name, "ls /run/ankaios/control_interface; sleep 1000",
                                                         controlInterfaceAccess=rules)})
        self.type("ank apply rights.yaml")
        self.seen(lambda: self.type("ank logs reader").split() == ["input", "output"], "its pipes")
        self.assertIn("workloadStates", self.type("ank describe workload reader"))
        self.type("ank delete workload reader")

    def restarts(self):
        self.assertIn("ON_FAILURE", self.type("ank explain workload.restartPolicy"))
        self.manifest("again.yaml", {"again": workload(self.name, "echo begins; sleep 0.3", restart="ALWAYS")})
        self.type("ank apply again.yaml")
        self.seen(lambda: self.type("ank logs again").count("begins") > 1, "it begins again")
        self.type("ank delete workload again")

    def makes_mistakes(self):
        good = self.type("ank get state desiredState")
        self.file("broken.yaml", "apiVersion: v1\nworkloads:\n  a: [\n")
        self.assertRegex(self.type("ank apply broken.yaml", code=1), r"broken.yaml:\d+:\d+")
        self.file("field.yaml", "apiVersion: v1\nworkloads:\n  a:\n    runtime: podman\n    runtimeconfig: x\n")
        said = self.type("ank apply field.yaml", code=1)
        self.assertRegex(said, r"field.yaml:\d+:\d+")
        self.assertIn("runtimeConfig", said)
        self.manifest("name.yaml", {"a b": workload(self.name)})
        self.assertIn("a b", self.type("ank apply name.yaml", code=1))
        self.file("version.yaml", "apiVersion: v7\nworkloads: {}\n")
        self.assertIn("v7", self.type("ank apply version.yaml", code=1))
        self.assertIn("missing.yaml", self.type("ank apply missing.yaml", code=1))
        self.assertIn("'get'", self.type("ank gte workloads", code=2))
        self.assertIn("--watch", self.type("ank get workloads --wach", code=2))
        self.assertEqual(self.type("ank get state desiredState"), good)     # no mistake left a trace
        self.manifest("nobody.yaml", {"lonely": workload("nobody")})
        self.assertIn("Pending(Initial)", self.type("ank apply nobody.yaml"))
        self.assertIn("nobody", self.type("ank describe workload lonely"))
        self.type("ank apply -d nobody.yaml")

    def sees_events(self):
        process, output = self.watching("ank get events -o json workloadStates")
        self.file("event.yaml", harness.manifest({"event": workload(self.name)}))

        def told():
            # The subscription may come after the first one.
            self.type("ank apply event.yaml")
            self.type("ank delete workload event")
            return "event" in output()
        self.seen(told, "an event")
        self.assertEqual(self.interrupt(process), 0)
        self.assertIn("completeState", json.loads(output().splitlines()[0]))

    def sets_state(self):
        state = yaml.safe_load(self.type("ank get state desiredState.workloads.web"))
        state["desiredState"]["workloads"]["web"]["tags"] = {"owner": "me"}
        self.file("state.yaml", yaml.safe_dump(state))
        self.type("ank set state desiredState.workloads.web.tags state.yaml")
        self.assertIn("owner: me", self.type("ank get state desiredState.workloads.web.tags"))

    def runs(self):
        config = yaml.safe_load(workload(self.name)["runtimeConfig"])
        self.type(f"ank run workload quick --runtime podman --agent {self.name} --config '{json.dumps(config)}'")
        self.assertEqual(self.row("quick")["EXECUTION STATE"], "Running(Ok)")

    def brings_old_manifests(self):
        old = workload(self.name)
        old["tags"] = [{"key": "age", "value": "old"}]
        self.file("old.yaml", yaml.safe_dump({"apiVersion": "v0.1", "workloads": {"veteran": old}}))
        self.assertIn("v0.1", self.type("ank apply old.yaml"))
        self.assertIn("age: old", self.type("ank get state desiredState.workloads.veteran.tags"))

    def deletes(self):
        self.type("ank delete workload quick")
        self.assertNotIn("quick", self.type("ank get workloads"))
        self.type("ank apply -d old.yaml")
        self.assertNotIn("veteran", self.type("ank get workloads"))

    def loses_agents(self):
        second = self.agent(self.main, self.second, tls=self.identities[self.second])
        self.manifest("far.yaml", {"far": workload(self.second)})
        self.type("ank apply far.yaml")
        self.assertEqual(self.row("far")["AGENT"], self.second)
        kept = harness.ids(self.second)
        second.kill()
        self.seen(lambda: self.row("far")["EXECUTION STATE"] == "AgentDisconnected", "the agent is missed")
        self.agent(self.main, self.second, tls=self.identities[self.second])
        self.running("far")
        self.assertEqual(harness.ids(self.second), kept)
        self.type("ank delete workload far")

    def loses_the_server(self):
        kept = harness.ids(self.name)
        # What it knows ends with it; the state of now is the manifest of tomorrow.
        state = yaml.safe_load(self.type("ank get state desiredState"))["desiredState"]
        manifest = self.file("all.yaml", yaml.safe_dump(state))
        port = self.main.port
        self.main.kill()
        self.assertIn("ank-server", self.type("ank get workloads", code=1))     # asks whether it is running
        self.main = self.server("--startup-manifest", manifest, port=port, tls=self.identities["server"], cli=self.identities["ank"])
        self.seen(lambda: self.name in self.type("ank get agents"), "the agent is back")
        self.running("web", "db")
        self.assertEqual(harness.ids(self.name), kept)

    def completes(self):
        # What bash does when the tab key is pressed.
        pressed = """source <(COMPLETE=bash ank)
            COMP_WORDS=(ank get workload w) COMP_CWORD=3 COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
            $(complete -p ank | sed 's/.* -F \\([^ ]*\\) .*/\\1/') ank w workload
            echo "${COMPREPLY[@]}\""""
        self.assertEqual(self.type(pressed).split(), ["web"])

    def edits(self):
        self.type("ank schema > ankaios.schema.json")
        schema = (self.folder / "ankaios.schema.json").as_uri()
        good = f"# yaml-language-server: $schema={schema}\n" + (self.folder / "web.yaml").read_text()
        with LanguageServer() as editor:
            self.assertEqual(editor.problems(self.folder / "good.yaml", good), [])
            bad = good.replace("runtime: podman", "runtime: 5")
            line = bad.splitlines().index("    runtime: 5") + 1
            self.assertIn(line, [at for at, _ in editor.problems(self.folder / "bad.yaml", bad)])

    def reads_the_manual(self):
        self.assertIn("--dry-run", self.type("MANPAGER=cat man -M installed/share/man ank-apply"))
        self.assertIn("ank 1.", self.type("ank --version"))
        self.assertIn("Usage:", self.type("ank help describe workload"))

    def goes_home(self):
        self.type("ank delete workload web db")
        self.assertEqual(table(self.type("ank get workloads")), [])
        self.assertEqual(self.first_agent.terminate(), 0, self.first_agent.log())
        self.assertEqual(self.main.terminate(), 0, self.main.log())
        self.assertEqual(harness.ids(self.name) | harness.ids(self.second), {})


if __name__ == "__main__":
    unittest.main()
