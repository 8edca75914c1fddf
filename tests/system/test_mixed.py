"""Ours together with stock programs, which the tonic peer plays: each side works with the other.

    $(tools/setup --python) tools/run-unittests tests/system
"""

import json
import threading
import unittest

import harness
from harness import containers, peers, workload

STOCK_WORKLOAD = {"agent": "agent_A", "runtime": "podman", "runtimeConfig": "image: alpine", "restartPolicy": "NEVER"}


def setUpModule():
    peers.build()


def address(server):
    return f"tcp:127.0.0.1:{server.port}"


class Stock:
    """A part of the tonic peer; reads its lines until the wanted one comes."""

    def __init__(self, process):
        self.process = process

    def say(self, message):
        self.process.say(json.dumps(message))

    def next(self):
        return json.loads(self.process.next_line())

    def until(self, matches):
        """What `matches` answers for the first message for which that is something."""
        while True:
            message = self.next()
            if (found := matches(message)) is not None:
                return found


def member(*path):
    """Matches messages that have all of these keys, one inside the other, and gives what is there."""
    def matches(message):
        for key in path:
            if not isinstance(message, dict) or key not in message:
                return None
            message = message[key]
        return message
    return matches


def complete_state(workloads):
    return {"desiredState": {"apiVersion": "v1", "workloads": {"workloads": workloads}}}


class StockClients(harness.Case):
    """Stock agent and stock command line with our server."""

    def stock(self, *words):
        process = peers.Process("tonic", *words)
        self.addCleanup(process.__exit__)
        return Stock(process)

    def ask(self, cli, request):
        cli.say({"request": {"requestId": "7", **request}})
        answer = cli.until(member("received", "response"))
        self.assertEqual(answer["requestId"], "7")
        return answer

    def update(self, cli, workloads, *masks):
        return self.ask(cli, {"updateStateRequest": {"newState": complete_state(workloads), "updateMask": list(masks)}})

    def states(self, cli):
        answer = self.ask(cli, {"completeStateRequest": {"fieldMask": ["workloadStates"]}})
        agents = answer["completeStateResponse"]["completeState"].get("workloadStates", {}).get("agentStateMap", {})
        return {(agent, name): list(idents["idStateMap"].values())[0]
                for agent, names in agents.items() for name, idents in names["wlNameStateMap"].items()}

    def report(self, agent, instance, state):
        agent.say({"updateWorkloadState": {"workloadStates": [{"instanceName": instance, "executionState": {"additionalInfo": "", **state}}]}})

    def test_apply_update_delete(self):
        for kind, more in ("CommandConnection", []), ("CliConnection", ["--deprecated"]):
            with self.subTest(kind):
                server = self.server()
                agent = self.stock("stock-agent", "--connect", address(server), "--name", "agent_A")
                self.assertEqual(agent.until(member("received", "serverHello")), {})
                cli = self.stock("stock-cli", "--connect", address(server), *more)
                self.assertEqual(cli.next(), {"connected": True})

                success = self.update(cli, {"nginx": STOCK_WORKLOAD}, "desiredState.workloads.nginx")["UpdateStateSuccess"]
                added = agent.until(member("received", "updateWorkload"))["addedWorkloads"][0]
                first = added["instanceName"]
                self.assertEqual(success["addedWorkloads"], [f"nginx.{first['id']}.agent_A"])
                for key, value in STOCK_WORKLOAD.items():
                    self.assertEqual(added["workload"].get(key, "NEVER"), value)
                self.assertEqual(member("pending")(self.states(cli)[("agent_A", "nginx")]), "PENDING_INITIAL")
                self.report(agent, first, {"running": "RUNNING_OK"})
                if more:
                    seen = cli.until(member("received", "updateWorkloadState"))["workloadStates"]
                    self.assertEqual(seen[-1]["executionState"], {"additionalInfo": "", "running": "RUNNING_OK"})
                self.wait_until(lambda: "running" in self.states(cli)[("agent_A", "nginx")], "the state of the agent")

                changed = self.update(cli, {"nginx": STOCK_WORKLOAD | {"runtimeConfig": "image: nginx"}}, "desiredState.workloads.nginx")
                update = agent.until(member("received", "updateWorkload"))
                second = update["addedWorkloads"][0]["instanceName"]
                self.assertEqual(update["deletedWorkloads"][0]["instanceName"], first)
                self.assertNotEqual(second["id"], first["id"])
                self.assertEqual(changed["UpdateStateSuccess"], {"addedWorkloads": [f"nginx.{second['id']}.agent_A"],
                                                                 "deletedWorkloads": [f"nginx.{first['id']}.agent_A"]})
                self.report(agent, first, {"removed": "REMOVED"})
                self.report(agent, second, {"failed": "FAILED_EXEC_FAILED", "additionalInfo": "Exit code: '1'"})
                self.wait_until(lambda: "failed" in self.states(cli)[("agent_A", "nginx")], "the failure")

                refused = self.update(cli, {"ngi nx": STOCK_WORKLOAD}, "desiredState.workloads.ngi nx")
                self.assertIn("ngi nx", refused["error"]["message"])

                self.update(cli, {}, "desiredState.workloads.nginx")
                deleted = agent.until(member("received", "updateWorkload"))
                self.assertEqual(deleted["deletedWorkloads"][0]["instanceName"], second)
                self.report(agent, second, {"removed": "REMOVED"})
                self.wait_until(lambda: self.states(cli) == {}, "it is gone")

                cli.say({"goodbye": {}})
                self.assertEqual(cli.until(member("ended")), {"code": "OK", "message": ""})
                server.kill()

    def test_second_agent_of_the_same_name_takes_over(self):
        server = self.server()
        older = self.stock("stock-agent", "--connect", address(server), "--name", "agent_A")
        older.until(member("received", "serverHello"))
        younger = self.stock("stock-agent", "--connect", address(server), "--name", "agent_A")
        younger.until(member("received", "serverHello"))
        self.assertEqual(older.until(member("ended"))["code"], "OK")
        self.assertEqual(self.connected_agents(server), {"agent_A"})
        self.ank(server, "--no-wait", "apply", "-", stdin=harness.manifest({"nginx": STOCK_WORKLOAD}))
        self.assertEqual(younger.until(member("received", "updateWorkload"))["addedWorkloads"][0]["instanceName"]["workloadName"], "nginx")

    def test_other_versions_are_refused(self):
        server = self.server()
        for role, more in ("stock-agent", ["--name", "agent_A"]), ("stock-cli", []), ("stock-cli", ["--deprecated"]):
            with self.subTest(role, more=more):
                client = self.stock(role, "--connect", address(server), "--protocol-version", "2.0.0", *more)
                self.assertEqual(client.until(member("ended")), {
                    "code": "FAILED_PRECONDITION", "message": "Unsupported protocol version '2.0.0'. Currently supported '1'"})


class StockServer(harness.PodmanCase):
    """Our agent and our command line with a stock server."""

    def stock_server(self, *more):
        process = peers.Server("tonic", command="stock-server", more=more)
        self.addCleanup(process.__exit__)
        server = Stock(process)
        server.url = process.address.replace("tcp:", "http://")
        server.port = int(process.address.rpartition(":")[2])
        server.cli = None
        return server

    def test_agent_obeys_and_reports(self):
        name = self.unique("stest")

        def added(ident, script="sleep 1000"):
            wanted = {"agent": name, "runtime": "podman", "restartPolicy": "NEVER",
                      "runtimeConfig": workload(name, script)["runtimeConfig"]}
            return {"instanceName": {"workloadName": "nginx", "agentName": name, "id": ident}, "workload": wanted}

        server = self.stock_server("--server-hello", json.dumps({"addedWorkloads": [added("one")]}))
        agent = self.agent(server, name, connected=False)
        hello = server.until(lambda message: message if message.get("connected") == name else None)
        self.assertEqual(hello["service"], "AgentConnection")
        self.assertTrue(hello["hello"]["protocolVersion"].startswith("1."))

        def until_reported(ident, *kinds):
            """The kinds of states that are reported for an instance until the last of the given ones; others may come between."""
            seen = []
            while not seen or seen[-1] != kinds[-1]:
                for state in server.until(member("received", "updateWorkloadState"))["workloadStates"]:
                    self.assertIn("additionalInfo", state["executionState"])
                    if state["instanceName"]["id"] == ident:
                        seen += [key for key in state["executionState"] if key != "additionalInfo"]
            seen = [kind for kind in seen if kind in kinds]
            self.assertEqual([kind for kind, before in zip(seen, [None, *seen]) if kind != before], list(kinds))

        until_reported("one", "pending", "running")
        self.assertEqual(containers(name)["nginx"]["Labels"]["name"], f"nginx.one.{name}")

        deleted = {"instanceName": added("one")["instanceName"]}
        server.say({"to": name, "send": {"updateWorkload": {"addedWorkloads": [added("two", "exit 4")], "deletedWorkloads": [deleted]}}})
        until_reported("one", "stopping", "removed")
        until_reported("two", "pending", "failed")
        self.assertEqual(containers(name)["nginx"]["Labels"]["name"], f"nginx.two.{name}")

        server.say({"to": name, "send": {"updateWorkload": {"deletedWorkloads": [{"instanceName": added("two")["instanceName"]}]}}})
        until_reported("two", "stopping", "removed")
        self.assertEqual(containers(name), {})
        self.assertEqual(agent.terminate(), 0, agent.log())

    def test_command_line_applies_lists_and_deletes(self):
        server = self.stock_server()
        instance = {"workloadName": "nginx", "agentName": "agent_A", "id": "abc"}
        desired = complete_state({"nginx": STOCK_WORKLOAD})

        def state(execution):
            return desired | {"agents": {"agents": {"agent_A": {}}}, "workloadStates": {"agentStateMap": {
                "agent_A": {"wlNameStateMap": {"nginx": {"idStateMap": {"abc": {"additionalInfo": "", **execution}}}}}}}}

        def serve(*answers):
            """Answers one request after the other, with what is said in between."""
            for answer in answers:
                received = server.until(lambda message: message if "request" in message.get("received", {}) else None)
                request = received["received"]["request"]
                self.requests.append(request)
                response, *later = answer if isinstance(answer, tuple) else (answer,)
                server.say({"to": received["from"], "send": {"response": {"requestId": request["requestId"], **response}}})
                for message in later:
                    server.say({"to": received["from"], "send": message})

        def execution(kind):
            return {"updateWorkloadState": {"workloadStates": [{"instanceName": instance, "executionState": {"additionalInfo": "", **kind}}]}}

        def whole(content):
            return {"completeStateResponse": {"completeState": content}}

        def with_answers(answers, *words, **more):
            self.requests = []
            thread = threading.Thread(target=serve, args=answers)
            thread.start()
            try:
                return self.ank(server, *words, **more)
            finally:
                thread.join(harness.SECONDS)

        nothing, pending, running = {"desiredState": {"apiVersion": "v1"}}, state({"pending": "PENDING_INITIAL"}), state({"running": "RUNNING_OK"})
        shown = with_answers([whole(nothing), {"UpdateStateSuccess": {"addedWorkloads": ["nginx.abc.agent_A"]}},
                              (whole(pending), execution({"running": "RUNNING_OK"}))],
                             "apply", "-", stdin=harness.manifest({"nginx": STOCK_WORKLOAD}))
        self.assertRegex(shown, r"nginx .*Running\(Ok\)")
        update = self.requests[1]["updateStateRequest"]
        self.assertEqual(update["updateMask"], ["desiredState.workloads.nginx"])
        sent = update["newState"]["desiredState"]["workloads"]["workloads"]["nginx"]
        self.assertEqual({key: sent.get(key, "NEVER") for key in STOCK_WORKLOAD}, STOCK_WORKLOAD)

        rows = harness.table(with_answers([whole(running)], "get", "workloads"))
        self.assertEqual([(row["WORKLOAD NAME"], row["EXECUTION STATE"]) for row in rows], [("nginx", "Running(Ok)")])
        self.assertEqual(harness.table(with_answers([whole(running)], "get", "agents"))[0]["NAME"], "agent_A")

        shown = with_answers([whole(running), {"UpdateStateSuccess": {"deletedWorkloads": ["nginx.abc.agent_A"]}},
                              (whole(nothing | {"agents": running["agents"]}), execution({"removed": "REMOVED"}))],
                             "delete", "workload", "nginx")
        self.assertRegex(shown, r"nginx .*Removed")
        self.assertEqual(self.requests[1]["updateStateRequest"]["updateMask"], ["desiredState.workloads.nginx"])

        refused = with_answers([whole(running), {"error": {"message": "no such luck"}}], "delete", "workload", "nginx", code=1)
        self.assertIn("no such luck", refused)


if __name__ == "__main__":
    unittest.main()
