"""The tonic peer as stock agent, command line and server, against itself: it stands in for stock programs in other tests.

    $(tools/setup --python) tools/run-unittests tests/peers
"""

import json
import unittest

import peers

WORKLOAD = {"agent": "agent_A", "runtime": "podman", "runtimeConfig": "image: alpine", "restartPolicy": "ALWAYS"}
INSTANCE = {"workloadName": "nginx", "agentName": "agent_A", "id": "abc"}
ADDED = {"instanceName": INSTANCE, "workload": WORKLOAD}
STATE = {"instanceName": INSTANCE, "executionState": {"additionalInfo": "", "running": "RUNNING_OK"}}
MORE_THAN_4_MIB = "x" * (4 << 20)


def setUpModule():
    peers.build()


class Stock(unittest.TestCase):
    def start(self, process):
        self.addCleanup(process.__exit__)
        return process

    def server(self, *more):
        return self.start(peers.Server("tonic", command="stock-server", more=more))

    def client(self, server, role, *more):
        return self.start(peers.Process("tonic", role, "--connect", server.address, *more))

    def expect(self, process, wanted):
        self.assertEqual(json.loads(process.next_line()), wanted)

    def say(self, process, message):
        process.say(json.dumps(message))

    def connected_agent(self, *more):
        server = self.server(*more)
        agent = self.client(server, "stock-agent", "--name", "agent_A", "--tags", '{"site": "north"}')
        self.expect(server, {"connected": "agent_A", "service": "AgentConnection", "hello": {
            "agentName": "agent_A", "protocolVersion": "1.1.0-pre", "tags": {"tags": {"site": "north"}}}})
        self.expect(agent, {"connected": True})
        return server, agent

    def test_agent_is_welcomed_and_told_of_changes(self):
        server, agent = self.connected_agent("--server-hello", json.dumps({"addedWorkloads": [ADDED]}))
        self.expect(agent, {"received": {"serverHello": {"addedWorkloads": [ADDED]}}})
        update = {"updateWorkload": {"addedWorkloads": [ADDED], "deletedWorkloads": [
            {"instanceName": INSTANCE, "dependencies": {"other": "DEL_COND_NOT_PENDING_NOR_RUNNING"}}]}}
        self.say(server, {"to": "agent_A", "send": update})
        self.expect(agent, {"received": update})
        self.say(agent, {"updateWorkloadState": {"workloadStates": [STATE]}})
        self.expect(server, {"from": "agent_A", "received": {"updateWorkloadState": {"workloadStates": [STATE]}}})
        self.say(agent, {"goodbye": {}})
        self.expect(server, {"from": "agent_A", "received": {"goodbye": {}}})
        self.expect(server, {"from": "agent_A", "ended": {"code": "OK", "message": "goodbye"}})
        self.say(server, {"to": "agent_A", "end": True})
        self.expect(agent, {"ended": {"code": "OK", "message": ""}})
        self.assertEqual(agent.ended(), 0)

    def test_agent_drops_what_lacks_something(self):
        server, agent = self.connected_agent()
        self.expect(agent, {"received": {"serverHello": {}}})
        without_runtime = {key: value for key, value in WORKLOAD.items() if key != "runtime"}
        without_info = {"instanceName": INSTANCE, "executionState": {"running": "RUNNING_OK"}}
        for lacking, message in [
            ("no member of FromServer", {}),
            ("no runtime", {"updateWorkload": {"addedWorkloads": [{"instanceName": INSTANCE, "workload": without_runtime}]}}),
            ("no instanceName", {"updateWorkload": {"deletedWorkloads": [{}]}}),
            ("no content of a file", {"updateWorkload": {"addedWorkloads": [
                {"instanceName": INSTANCE, "workload": {**WORKLOAD, "files": {"files": [{"mountPoint": "/x"}]}}}]}}),
            ("no additionalInfo", {"updateWorkloadState": {"workloadStates": [STATE, without_info]}}),
            ("no content of the response", {"response": {"requestId": "1"}}),
        ]:
            with self.subTest(lacking):
                self.say(server, {"to": "agent_A", "send": message})
                self.say(server, {"to": "agent_A", "send": {"logsCancelRequest": {"requestId": "next"}}})
                self.expect(agent, {"received": {"logsCancelRequest": {"requestId": "next"}}})
                self.assertIn(f"dropped a message: {lacking}", agent.described())

    def test_server_drops_states_that_lack_something(self):
        server, agent = self.connected_agent()
        self.say(agent, {"updateWorkloadState": {"workloadStates": [{"instanceName": INSTANCE}, STATE]}})
        self.expect(server, {"from": "agent_A", "received": {"updateWorkloadState": {"workloadStates": [STATE]}}})
        self.assertIn("dropped a workload state: no executionState", server.described())

    def test_server_gives_up_on_an_empty_message(self):
        server, agent = self.connected_agent()
        self.expect(agent, {"received": {"serverHello": {}}})
        self.say(agent, {})
        self.expect(server, {"from": "agent_A", "ended": {"code": "INVALID_ARGUMENT", "message": "Missing to_server"}})
        self.expect(agent, {"ended": {"code": "OK", "message": ""}})

    def test_nobody_takes_more_than_4_mib(self):
        server, agent = self.connected_agent()
        self.expect(agent, {"received": {"serverHello": {}}})
        self.say(server, {"to": "agent_A", "send": {"logsCancelRequest": {"requestId": MORE_THAN_4_MIB}}})
        ended = json.loads(agent.next_line())["ended"]
        self.assertEqual(ended["code"], "OUT_OF_RANGE", ended)

        server, agent = self.connected_agent()
        self.say(agent, {"logsStopResponse": {"requestId": MORE_THAN_4_MIB, "logsStopResponse": {}}})
        ended = json.loads(server.next_line())["ended"]
        self.assertEqual(ended["code"], "OUT_OF_RANGE", ended)

    def test_command_line_asks_and_is_answered(self):
        for options, service, name in [([], "CommandConnection", "commander-conn-1"), (["--deprecated"], "CliConnection", "cli-conn-1")]:
            with self.subTest(service):
                server = self.server()
                cli = self.client(server, "stock-cli", *options)
                self.expect(server, {"connected": name, "service": service, "hello": {"protocolVersion": "1.1.0-pre"}})
                self.expect(cli, {"connected": True})
                state = {"desiredState": {"apiVersion": "v1", "workloads": {"workloads": {"nginx": WORKLOAD}}}}
                for request, answer in [
                    ({"completeStateRequest": {"fieldMask": ["desiredState"]}}, {"completeStateResponse": {"completeState": state}}),
                    ({"updateStateRequest": {"newState": state, "updateMask": ["desiredState"]}},
                     {"UpdateStateSuccess": {"addedWorkloads": ["nginx.abc.agent_A"]}}),
                ]:
                    self.say(cli, {"request": {"requestId": "7", **request}})
                    self.expect(server, {"from": name, "received": {"request": {"requestId": "7", **request}}})
                    self.say(server, {"to": name, "send": {"response": {"requestId": "7", **answer}}})
                    self.expect(cli, {"received": {"response": {"requestId": "7", **answer}}})
                self.say(cli, {"goodbye": {}})
                self.expect(server, {"from": name, "received": {"goodbye": {}}})
                self.expect(cli, {"ended": {"code": "OK", "message": ""}})
                self.assertEqual(cli.ended(), 0)

    def test_other_protocol_versions_are_refused(self):
        server = self.server()
        for role in "stock-agent", "stock-cli":
            for version in "0.9.0", "1.0", "", "v1.0.0", "2.0.0":
                with self.subTest(role, version=version):
                    client = self.client(server, role, "--protocol-version", version)
                    self.expect(client, {"ended": {"code": "FAILED_PRECONDITION", "message":
                                                   f"Unsupported protocol version '{version}'. Currently supported '1'"}})

    def test_a_server_may_be_of_another_version(self):
        server = self.server("--protocol-major", "2")
        for role in "stock-agent", "stock-cli":
            with self.subTest(role):
                self.expect(self.client(server, role), {"ended": {"code": "FAILED_PRECONDITION", "message":
                            "Unsupported protocol version '1.1.0-pre'. Currently supported '2'"}})

    def test_lines_that_mean_nothing_are_refused_with_a_reason(self):
        server, agent = self.connected_agent()
        for line, reason in [("hello", "expected value"), ('{"to": "agent_B", "send": {}}', "nobody is connected as 'agent_B'"),
                             ('{"to": "agent_A", "send": {"nonsense": 1}}', "nonsense")]:
            server.say(line)
            self.say(server, {"to": "agent_A", "send": {"logsCancelRequest": {"requestId": line}}})
            while json.loads(agent.next_line()) != {"received": {"logsCancelRequest": {"requestId": line}}}:
                pass
            self.assertIn(reason, server.described())
        agent.say('{"nonsense": 1}')
        self.say(agent, {"goodbye": {}})
        self.expect(server, {"from": "agent_A", "received": {"goodbye": {}}})
        self.assertIn("nonsense", agent.described())


if __name__ == "__main__":
    unittest.main()
