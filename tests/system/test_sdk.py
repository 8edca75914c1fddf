"""The stock Ankaios Python SDK in a container under our agent: all its calls, through the control interface.

    $(tools/setup --python) tools/run-unittests -k 'Sdk.*' tests/system    (and Page, Refused, Survives)
"""

import datetime
import json
import pathlib
import re
import socket
import sys
import unittest

import yaml

import harness
from harness import containers, workload

HERE = pathlib.Path(__file__).resolve().parent
# Where a busybox image finds Python with the SDK: the host's own, with the environment of the tests.
PYTHON = "/sdk/bin/python"
MOUNTS = ["--volume=/usr:/usr:ro", "--volume=/usr/lib:/lib:ro", "--volume=/usr/lib64:/lib64:ro", f"--volume={sys.prefix}:/sdk:ro"]
TALK = "/talk"      # where the socket of the puppet is, in the container

EVERYTHING = {"allowRules": [{"type": "StateRule", "operation": "ReadWrite", "filterMasks": ["*"]},
                             {"type": "LogRule", "workloadNames": ["*"]}]}


class Raised(Exception):
    """What the SDK raised."""

    def __init__(self, kind, message):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


class Puppet:
    """The program with the SDK in its container (sdk_puppet.py); does what it is told."""

    def __init__(self, test, folder):
        path = folder / "socket"
        test.wait_until(path.exists, "the program with the SDK runs")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(2 * harness.SECONDS)     # its own patience ends before
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("rw")
        test.addCleanup(self.close)

    def close(self):
        self.lines.close()
        self.socket.close()

    def say(self, code):
        print(json.dumps(code), file=self.lines, flush=True)

    def hear(self):
        answer = json.loads(self.lines.readline())
        if "raised" in answer:
            raise Raised(answer["raised"], answer["message"])
        return answer["value"]

    def __call__(self, code):
        self.say(code)
        return self.hear()


class SdkCase(harness.PodmanCase):
    def puppet_workload(self, agent, name="puppet", access=None):
        folder = self.folder / f"talk-{name}"
        folder.mkdir(exist_ok=True)
        more = {"controlInterfaceAccess": access} if access else {}
        config = {"image": harness.IMAGE, "commandArgs": [PYTHON, "/sdk_puppet.py", f"{TALK}/socket"],
                  "commandOptions": ["--network=none", "--stop-signal=KILL", *MOUNTS, f"--volume={HERE / 'sdk_puppet.py'}:/sdk_puppet.py:ro",
                                     f"--volume={folder}:{TALK}"]}
        return {"agent": agent, "runtime": "podman", "restartPolicy": "NEVER", "runtimeConfig": yaml.safe_dump(config), **more}

    def puppet(self, name="puppet"):
        return Puppet(self, self.folder / f"talk-{name}")

    def connected(self, name="puppet"):
        puppet = self.puppet(name)
        puppet("ankaios = connect()")
        return puppet

    def assert_raised(self, puppet, kind, message, code):
        with self.assertRaises(Raised) as caught:
            puppet(code)
        self.assertEqual((caught.exception.kind, caught.exception.message), (kind, message), code)

    def assert_denied(self, puppet, code):
        with self.assertRaises(Raised, msg=code) as caught:
            puppet(code)
        self.assertEqual(caught.exception.kind, "AnkaiosResponseError", code)
        self.assertIn("Access denied", caught.exception.message)

    def instance(self, server, name):
        """How the SDK would name it."""
        agent, ident = next((agent, ident) for each, agent, ident, _, _ in self.instances(server) if each == name)
        return {"agent_name": agent, "workload_name": name, "workload_id": ident}


class Sdk(SdkCase):
    """Two agents; the program runs below the first and may do everything."""

    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.name = self.agent(self.one, words=["--tag", "place=here"]).agent_name
        self.far = self.agent(self.one).agent_name
        self.apply(self.one, {"puppet": self.puppet_workload(self.name, access=EVERYTHING), "distant": workload(self.far)})
        self.wait_for(self.one, puppet="Running(Ok)", distant="Running(Ok)")

    # [stest->swdd~agent-forward-request-from-control-interface-pipe-to-server~1]
    def test_all_calls(self):
        sdk = self.connected()
        for part in self.states_and_masks, self.workloads, self.manifests, self.configs, self.agents_and_tags, self.logs_of_others, self.events:
            with self.subTest(part.__name__):
                part(sdk)
        sdk("ankaios.set_logger_level(AnkaiosLogLevel.DEBUG)")
        self.assertEqual(sdk("called()"), sdk("public_methods()"), "a call of the SDK that this test does not make")

    def states_and_masks(self, sdk):
        everything, truth = sdk("ankaios.get_state().to_dict()"), self.state(self.one)
        self.assertEqual(everything["desired_state"]["api_version"], "v1")
        self.assertEqual(set(everything["desired_state"]["workloads"]), set(truth["desiredState"]["workloads"]))
        self.assertEqual(set(everything["agents"]), {self.name, self.far})
        self.assert_same_states(everything["workload_states"], truth["workloadStates"])

        only = sdk("ankaios.get_state(['desiredState.workloads.distant.agent', 'workloadStates']).to_dict()")
        self.assertEqual(list(only["desired_state"]["workloads"]), ["distant"])
        self.assertEqual(only["desired_state"]["workloads"]["distant"]["agent"], self.far)
        self.assertNotIn("runtime", only["desired_state"]["workloads"]["distant"])
        self.assertEqual(only["agents"], {})
        self.assert_same_states(only["workload_states"], truth["workloadStates"])
        nothing = sdk("ankaios.get_state(['desiredState.workloads.nobody']).to_dict()")
        self.assertEqual(nothing["desired_state"]["workloads"], {})

        listed = ("[(str(each.workload_instance_name), str(each.execution_state.state), str(each.execution_state.substate))"
                  " for each in {}.get_as_list()]")
        rows = {name: [".".join((name, ident, agent)), "RUNNING", "RUNNING_OK"] for name, agent, ident, _, _ in self.instances(self.one)}
        self.assertEqual(sdk(listed.format("ankaios.get_workload_states()")), [rows[name] for name in self.by_agent("puppet", "distant")])
        self.assertEqual(sdk(listed.format(f"ankaios.get_workload_states_on_agent('{self.far}')")), [rows["distant"]])
        self.assertEqual(sdk(listed.format("ankaios.get_workload_states_on_agent('nobody')")), [])
        self.assertEqual(sdk(listed.format("ankaios.get_workload_states_for_name('puppet')")), [rows["puppet"]])
        instance = f"WorkloadInstanceName(**{self.instance(self.one, 'distant')})"
        self.assertEqual(sdk(f"ankaios.get_execution_state_for_instance_name({instance}).to_dict()"),
                         {"state": "RUNNING", "substate": "RUNNING_OK", "additional_info": ""})
        with self.assertRaisesRegex(Raised, "AnkaiosProtocolException.*exactly one workload state.* but got 0"):
            sdk(f"ankaios.get_execution_state_for_instance_name(WorkloadInstanceName('{self.far}', 'distant', 'another'))")

    def by_agent(self, here, there):
        return [here, there] if self.name < self.far else [there, here]

    def assert_same_states(self, told, truth):
        def spelled(state):
            detail = re.sub(r"(?<!^)(?=[A-Z])", "_", state["subState"]).upper()
            return {"state": state["state"].upper(), "substate": f"{state['state'].upper()}_{detail}",
                    "additional_info": state.get("additionalInfo", "")}
        self.assertEqual(told, {agent: {name: {ident: spelled(state) for ident, state in idents.items()}
                                        for name, idents in names.items()} for agent, names in truth.items()})

    def workloads(self, sdk):
        sdk("ankaios.add_config('greeting', 'good morning')")
        config = yaml.safe_dump({"image": harness.IMAGE, "commandOptions": ["--network=none", "--stop-signal=KILL"],
                                 "commandArgs": ["sh", "-c", "cat /greeting; sleep 1000"]}).strip()   # the server would
        sdk(f"built = (Workload.builder().workload_name('made').agent_name('{self.name}').runtime('podman').restart_policy('ALWAYS')"
            f".runtime_config({config!r}).add_dependency('puppet', 'ADD_COND_RUNNING').add_tag('owner', 'sdk').add_config('text', 'greeting')"
            ".add_file(File.from_data('/greeting', '{{text}}\\n')).add_allow_state_rule('Read', ['agents'])"
            ".add_deny_state_rule('Write', ['desiredState']).add_allow_log_rule(['puppet']).build())")
        success = sdk("ankaios.apply_workload(built).to_dict()")
        made = self.instance(self.one, "made")
        self.assertEqual(success, {"added_workloads": [made], "deleted_workloads": []})
        name = f"WorkloadInstanceName(**{made})"
        self.assertIsNone(sdk(f"ankaios.wait_for_workload_to_reach_state({name}, WorkloadStateEnum.RUNNING)"))
        self.assertEqual(containers(self.name)["made"]["State"], "running")
        self.assertEqual(self.output_of("made", 1), ["good morning"])
        self.assertEqual(sdk("[each.to_dict() for each in ankaios.get_workload('made')]"), [sdk("built.to_dict()")])
        truth = self.state(self.one, "desiredState.workloads.made")["desiredState"]["workloads"]["made"]
        self.assertEqual((truth["dependencies"], truth["tags"], truth["configs"]),
                         ({"puppet": "ADD_COND_RUNNING"}, {"owner": "sdk"}, {"text": "greeting"}))
        self.assertEqual(sdk("ankaios.get_workload('nobody')"), [])
        with self.assertRaisesRegex(Raised, "TimeoutError: Timeout while waiting for workload to reach state"):
            sdk(f"ankaios.wait_for_workload_to_reach_state({name}, WorkloadStateEnum.FAILED, timeout=0.3)")

        # One field of what was read is written back.
        other = config.replace("cat /greeting", "cat /greeting /greeting")
        sdk("(read,) = ankaios.get_workload('made')")
        sdk(f"read.update_runtime_config({other!r})")
        success = sdk("ankaios.apply_workload(read).to_dict()")
        (again,) = success["added_workloads"]
        self.assertEqual(success["deleted_workloads"], [made])
        sdk(f"ankaios.wait_for_workload_to_reach_state(WorkloadInstanceName(**{again}), WorkloadStateEnum.RUNNING)")
        self.wait_until(lambda: self.instance(self.one, "made") == again, "the one before goes")
        self.assertEqual(self.output_of("made", 2), ["good morning"] * 2)
        with self.assertRaisesRegex(Raised, "AnkaiosResponseError: Received error: .*greeting"):
            sdk("ankaios.delete_config('greeting')")

        self.assertEqual(sdk("ankaios.delete_workload('made').to_dict()"), {"added_workloads": [], "deleted_workloads": [again]})
        self.wait_until(lambda: "made" not in containers(self.name), "the container goes")
        self.assertEqual(sdk("ankaios.delete_workload('made').to_dict()"), {"added_workloads": [], "deleted_workloads": []})
        with self.assertRaisesRegex(Raised, "AnkaiosResponseError: Received error: .*bad.name"):
            sdk("ankaios.apply_workload(Workload.builder().workload_name('bad.name').agent_name('a').runtime('podman').runtime_config('').build())")

    def output_of(self, name, count):
        """So many lines at least, of the container itself."""
        ident = containers(self.name)[name]["Id"]
        return self.wait_until(lambda: (lines := harness.podman("logs", ident).splitlines()) and len(lines) >= count and lines, "it writes")

    def manifests(self, sdk):
        text = harness.manifest({"first": workload(self.name), "second": workload(self.far)}, configs={"port": "80", "hosts": ["a", "b"]})
        sdk(f"declared = Manifest.from_string({text!r})")
        success = sdk("ankaios.apply_manifest(declared).to_dict()")
        first, second = self.instance(self.one, "first"), self.instance(self.one, "second")
        self.assertEqual(self.in_order(success["added_workloads"]), [first, second])
        self.wait_for(self.one, first="Running(Ok)", second="Running(Ok)")
        self.assertIn("second", containers(self.far))
        self.assertEqual(self.state(self.one, "desiredState.configs")["desiredState"]["configs"],
                         {"greeting": "good morning", "port": "80", "hosts": ["a", "b"]})
        success = sdk("ankaios.delete_manifest(declared).to_dict()")
        self.assertEqual(self.in_order(success["deleted_workloads"]), [first, second])
        self.wait_for(self.one, first=None, second=None, puppet="Running(Ok)")
        self.assertEqual(self.state(self.one, "desiredState.configs")["desiredState"]["configs"], {"greeting": "good morning"})

    @staticmethod
    def in_order(instances):
        return sorted(instances, key=lambda each: each["workload_name"])

    def configs(self, sdk):
        def truth():
            return self.state(self.one, "desiredState.configs")["desiredState"].get("configs", {})
        wanted = {"text": "x", "list": ["a", {"b": "c"}], "tree": {"deep": {"er": "y"}, "empty": ""}}
        sdk(f"ankaios.update_configs({wanted})")
        self.assertEqual(truth(), wanted)   # and nothing of before
        sdk("ankaios.add_config('one', {'more': ['1']})")
        sdk("ankaios.add_config('text', 'y')")
        wanted |= {"one": {"more": ["1"]}, "text": "y"}
        self.assertEqual(truth(), wanted)
        self.assertEqual(sdk("ankaios.get_configs()")[0], wanted)   # the SDK adds its timeout
        self.assertEqual(sdk("ankaios.get_config('tree')")[0], {"tree": wanted["tree"]})
        self.assertEqual(sdk("ankaios.get_config('nothing')")[0], {})
        sdk("ankaios.delete_config('list')")
        del wanted["list"]
        self.assertEqual(truth(), wanted)
        sdk("ankaios.delete_all_configs()")
        self.assertEqual(truth(), {})
        self.assertEqual(sdk("ankaios.get_configs()")[0], {})

    def agents_and_tags(self, sdk):
        found = sdk("{name: agent.to_dict() for name, agent in ankaios.get_agents().items()}")
        self.assertEqual({name: agent["tags"] for name, agent in found.items()}, {self.name: {"place": "here"}, self.far: {}})
        self.assertGreater(sdk(f"ankaios.get_agent('{self.name}').status")["free_memory"], 0)
        self.assert_raised(sdk, "AnkaiosProtocolException", "get_agent: Agent nobody not found", "ankaios.get_agent('nobody')")
        sdk(f"ankaios.set_agent_tags('{self.far}', {{'place': 'there', 'size': 'small'}})")
        self.assertEqual(sdk(f"ankaios.get_agent('{self.far}').tags"), {"place": "there", "size": "small"})
        self.assertEqual(self.state(self.one, "agents")["agents"][self.far]["tags"], {"place": "there", "size": "small"})

    def logs_of_others(self, sdk):
        self.apply(self.one, {"talker": workload(self.far, "seq 3; while [ ! -e /more ]; do sleep 0.05; done; echo 4; sleep 1000"),
                              "silent": workload(self.name, "echo only")})
        self.wait_for(self.one, talker="Running(Ok)", silent="Succeeded(Ok)")
        talker, silent = self.instance(self.one, "talker"), self.instance(self.one, "silent")
        names = f"[WorkloadInstanceName(**{talker}), WorkloadInstanceName(**{silent})]"
        entry = "str(campaign.queue.get(timeout=60))"

        sdk(f"campaign = ankaios.request_logs({names})")
        self.assertEqual(sdk("[each.to_dict() for each in campaign.accepted_workload_names]"), [talker, silent])
        said = [sdk(entry) for _ in range(6)]
        self.assertEqual([line for line in said if "talker" in line], self.lines_of(talker, "1", "2", "3") + [self.stop_of(talker)])
        self.assertEqual([line for line in said if "silent" in line], self.lines_of(silent, "only") + [self.stop_of(silent)])

        sdk(f"campaign = ankaios.request_logs({names}[:1], follow=True, tail=2)")
        self.assertEqual([sdk(entry) for _ in range(2)], self.lines_of(talker, "2", "3"))
        harness.podman("exec", containers(self.far)["talker"]["Id"], "touch", "/more")
        self.assertEqual(sdk(entry), *self.lines_of(talker, "4"))
        self.assertIsNone(sdk("ankaios.stop_receiving_logs(campaign)"))
        self.assertTrue(sdk("campaign.queue.empty()"))

        sdk("import datetime")
        later = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).isoformat()
        for option in f"since=datetime.datetime.fromisoformat('{later}')", f"since='{later}'", "until='2020-01-01T00:00:00Z'":
            sdk(f"campaign = ankaios.request_logs({names}[:1], {option})")
            self.assertEqual(sdk(entry), self.stop_of(talker), option)
        sdk(f"campaign = ankaios.request_logs([WorkloadInstanceName('{self.name}', 'nobody', 'x')])")
        self.assertEqual(sdk("campaign.accepted_workload_names"), [])
        self.ank(self.one, "delete", "workload", "talker", "silent")

    @staticmethod
    def lines_of(instance, *lines):
        return ["Log from {workload_name}.{workload_id}.{agent_name}: ".format(**instance) + line for line in lines]

    @staticmethod
    def stop_of(instance):
        return "Stopped receiving logs from {workload_name}.{workload_id}.{agent_name}.".format(**instance)

    def events(self, sdk):
        entry = ("(lambda event: [list(event.added_fields), list(event.updated_fields), list(event.removed_fields),"
                 " event.complete_state.get_configs()])(events.get(timeout=60))")
        watched = "desiredState.configs.watched"
        sdk("ankaios.add_config('other', 'x')")
        sdk("events = ankaios.register_event(['desiredState.configs'])")
        self.assertEqual(sdk(entry), [[], [], [], {"other": "x"}])      # the state at the begin
        sdk("ankaios.add_config('watched', 'a')")
        self.assertEqual(sdk(entry), [[watched], [], [], {"watched": "a"}])
        sdk("ankaios.add_config('watched', 'b')")
        self.assertEqual(sdk(entry), [[], [watched], [], {"watched": "b"}])
        sdk("ankaios.delete_config('watched')")
        self.assertEqual(sdk(entry), [[], [], [watched], {}])
        self.assertIsNone(sdk("ankaios.unregister_event(events)"))
        sdk("ankaios.add_config('watched', 'c')")
        sdk("ankaios.get_configs()")                        # answers come in order
        self.assertTrue(sdk("events.empty()"))

        sdk(f"events = ankaios.register_event(['workloadStates.{self.far}'])")
        sdk("events.get(timeout=60)")
        harness.podman("kill", containers(self.far)["distant"]["Id"])
        self.assertEqual(sdk("[str(each.execution_state.substate) for each in "
                             "events.get(timeout=60).complete_state.get_workload_states().get_as_list()]"), ["FAILED_EXEC_FAILED"])
        sdk("ankaios.unregister_event(events)")


    def test_many_and_large_messages(self):
        sdk = self.connected()
        sdk("ankaios.add_config('large', 'x' * 900_000)")
        self.assertEqual(sdk("[len(ankaios.get_config('large')[0]['large']) for _ in range(3)]"), [900_000] * 3)
        sdk("ankaios.delete_config('large')")

        # Each change is an answer and an event at the same time; with the last answer all events but the last are there.
        sdk("events = ankaios.register_event(['desiredState.configs'])")
        sdk("for number in range(50): ankaios.add_config('number', str(number))")
        sdk("events.get(timeout=60)")
        self.assertEqual(sdk("[events.get(timeout=60).complete_state.get_configs() for _ in range(50)]"),
                         [{"number": str(number)} for number in range(50)])

        count = 2000
        self.apply(self.one, {"talker": workload(self.far, f"seq {count}; echo end >&2")})
        self.wait_for(self.one, talker="Succeeded(Ok)")
        sdk(f"campaign = ankaios.request_logs([WorkloadInstanceName(**{self.instance(self.one, 'talker')})])")
        said = sdk(f"[getattr(campaign.queue.get(timeout=60), 'message', None) for _ in range({count + 2})]")
        self.assertEqual([line for line in said if line != "end"], [*map(str, range(1, count + 1)), None])

    # [stest->swdd~agent-handles-control-interface-input-pipe-not-read~1]
    def test_a_program_that_pauses_misses_nothing(self):
        sdk = self.connected()
        sdk("events = ankaios.register_event(['desiredState.configs'])")
        container = containers(self.name)["puppet"]["Id"]
        harness.podman("pause", container)
        for number in range(20):
            self.ank(self.one, "--no-wait", "apply", "-", stdin=harness.manifest({}, configs={"number": str(number)}))
        harness.podman("unpause", container)
        sdk("events.get(timeout=60)")
        self.assertEqual(sdk("[events.get(timeout=60).complete_state.get_configs() for _ in range(20)]"),
                         [{"number": str(number)} for number in range(20)])


class Page(SdkCase):
    """docs/how-to/python-sdk.md"""

    def test_sample(self):
        harness.tool("page-code", harness.ROOT / "docs/how-to/python-sdk.md", self.folder)
        server = self.server()
        name = self.agent(server).agent_name
        text = (self.folder / "watch.yaml").read_text().replace("agent_A", name).replace("/opt/sdk", sys.prefix)
        self.ank(server, "apply", "-", stdin=text)

        def output():
            return harness.podman("logs", containers(name)["watch"]["Id"]).splitlines()
        self.wait_until(lambda: len(output()) >= 2, "it says what it sees")
        self.assertEqual(output(), [f"agents: {name}", "configs: {}"])
        self.apply(server, {}, configs={"colour": "red"})
        self.wait_until(lambda: len(output()) >= 3, "it sees the change")
        self.assertEqual(output()[2], "configs: {'colour': 'red'}")


class Refused(SdkCase):
    """Rules decide."""

    RULES = {"allowRules": [{"type": "StateRule", "operation": "Read", "filterMasks": ["desiredState.workloads", "desiredState.configs", "workloadStates"]},
                            {"type": "StateRule", "operation": "Write", "filterMasks": ["desiredState.configs", "desiredState.workloads.mine"]},
                            {"type": "LogRule", "workloadNames": ["talker*"]}],
             "denyRules": [{"type": "StateRule", "operation": "Read", "filterMasks": ["desiredState.workloads.secret"]},
                           {"type": "StateRule", "operation": "ReadWrite", "filterMasks": ["desiredState.configs.key"]},
                           {"type": "LogRule", "workloadNames": ["talker_secret"]}]}

    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.name = self.agent(self.one).agent_name
        self.apply(self.one, {"puppet": self.puppet_workload(self.name, access=self.RULES), "talker": workload(self.name, "echo heard"),
                              "talker_secret": workload(self.name, "echo unheard")}, configs={"key": "0", "open": "1"})
        self.wait_for(self.one, puppet="Running(Ok)", talker="Succeeded(Ok)", talker_secret="Succeeded(Ok)")

    def test_rules(self):
        sdk = self.connected()
        before = self.state(self.one, "desiredState")
        for code in ("ankaios.get_state()",                                     # no rule allows all
                     "ankaios.get_agents()", f"ankaios.get_agent('{self.name}')",    # no rule allows any
                     "ankaios.get_workload('secret')", "ankaios.get_state(['desiredState.workloads'])", "ankaios.get_configs()",
                     "ankaios.get_config('key')", "ankaios.add_config('key', '2')", "ankaios.delete_config('key')",
                     "ankaios.update_configs({'open': '2'})", "ankaios.delete_all_configs()",
                     "ankaios.delete_workload('talker')", f"ankaios.set_agent_tags('{self.name}', {{'a': 'b'}})",
                     "ankaios.apply_manifest(Manifest.from_dict({'apiVersion': 'v1', 'configs': {'open': '2', 'key': '2'}}))",
                     "ankaios.delete_manifest(Manifest.from_dict({'apiVersion': 'v1', 'configs': {'open': '2', 'key': '2'}}))",
                     "ankaios.register_event(['agents'])", "ankaios.register_event(['workloadStates', 'desiredState.configs.key'])",
                     self.logs_of("puppet"), self.logs_of("talker_secret"), self.logs_of("talker", "puppet")):
            with self.subTest(code):
                self.assert_denied(sdk, code)
        self.assertEqual(self.state(self.one, "desiredState"), before)

        self.assertEqual(sdk("ankaios.get_config('open')")[0], {"open": "1"})
        sdk("ankaios.add_config('open', '2')")
        self.assertEqual(self.state(self.one, "desiredState.configs.open")["desiredState"]["configs"], {"open": "2"})
        sdk(f"ankaios.apply_workload(Workload.builder().workload_name('mine').agent_name('{self.name}').runtime('podman')"
            f".runtime_config('image: {harness.IMAGE}').build())")
        self.wait_until(lambda: "mine" in containers(self.name), "the container comes")
        sdk("ankaios.delete_workload('mine')")
        self.assertEqual(sdk("[each.name for each in ankaios.get_workload('talker')]"), ["talker"])
        sdk(f"campaign = {self.logs_of('talker')}")
        self.assertEqual(sdk("campaign.queue.get(timeout=60).message"), "heard")

    def logs_of(self, *names):
        return f"ankaios.request_logs([{', '.join(f'WorkloadInstanceName(**{self.instance(self.one, name)})' for name in names)}])"

    def test_without_an_allow_rule_there_is_no_interface(self):
        rules = {"denyRules": self.RULES["denyRules"]}
        self.apply(self.one, {"lone": self.puppet_workload(self.name, "lone", access=rules)})
        self.assert_raised(self.puppet("lone"), "ControlInterfaceException", "Control interface input fifo does not exist.", "connect()")

    def test_another_version_is_refused(self):
        sdk = self.puppet()
        sdk("from ankaios_sdk._components import control_interface")
        sdk("control_interface.ANKAIOS_VERSION, heard = '2.0.0', []")
        sdk("interface = ControlInterface(heard.append, None, None)")   # Ankaios() would only say that it waited too long
        sdk("interface.connect()")
        self.wait_until(lambda: sdk("[each.content for each in heard]") == ["Unsupported protocol version '2.0.0'. Currently supported '1'"],
                        "the agent refuses")
        self.wait_until(lambda: sdk("str(interface._state)") == "CONNECTION_CLOSED", "the SDK takes note")


class Survives(SdkCase):
    """The SDK goes on when agent or server come back."""

    def setUp(self):
        super().setUp()
        self.name = self.unique("stest")
        self.manifest = self.file("manifest.yaml", harness.manifest({"puppet": self.puppet_workload(self.name, access=EVERYTHING)}))
        self.one = self.server("-m", self.manifest)
        self.worker = self.agent(self.one, self.name)
        self.wait_for(self.one, puppet="Running(Ok)")
        self.sdk = self.connected()
        self.assertEqual(self.sdk("list(ankaios.get_agents())"), [self.name])
        self.container = harness.ids(self.name)["puppet"]

    def disconnected(self):
        try:
            self.sdk("ankaios.get_agents()")
        except Raised as raised:
            return raised.kind == "ControlInterfaceException"
        return False

    def works_again(self):
        try:
            return self.sdk("list(ankaios.get_agents())") == [self.name]
        except Raised as raised:
            self.assertEqual(raised.kind, "ControlInterfaceException")     # not connected yet
            return False

    def assert_all_works(self, server):
        self.assertEqual(harness.ids(self.name)["puppet"], self.container)
        self.sdk("ankaios.update_configs({'again': 'works'})")
        self.assertEqual(self.state(server, "desiredState.configs")["desiredState"]["configs"], {"again": "works"})
        self.sdk("events = ankaios.register_event(['desiredState.configs'])")
        self.sdk("events.get(timeout=60)")
        self.sdk("ankaios.add_config('again', 'still')")
        self.assertEqual(self.sdk("events.get(timeout=60).complete_state.get_configs()"), {"again": "still"})

    def test_agent_is_killed_and_comes_back(self):
        self.worker.kill()
        self.wait_until(lambda: self.sdk("str(ankaios.ankaios._control_interface._state)") == "AGENT_DISCONNECTED", "the SDK sees it")
        self.assertTrue(self.disconnected())
        self.agent(self.one, self.name, run_folder=self.worker.run_folder)
        self.wait_until(self.works_again, "the SDK is connected again")
        self.assert_all_works(self.one)

    def test_server_is_killed_and_comes_back(self):
        self.one.kill()
        self.wait_for_missed_server(self.worker)
        self.sdk.say("list(ankaios.get_agents())")      # waits in the agent
        again = self.server("-m", self.manifest, port=self.one.port)
        self.assertEqual(self.sdk.hear(), [self.name])
        self.assert_all_works(again)

    def test_program_is_started_again(self):
        self.sdk.close()
        (self.folder / "talk-puppet/socket").unlink()
        harness.podman("restart", "--time", "0", self.container)
        self.wait_for(self.one, puppet="Running(Ok)")
        self.sdk = self.connected()
        self.assert_all_works(self.one)


if __name__ == "__main__":
    unittest.main()
