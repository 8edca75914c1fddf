"""Every kind of message of the protocol between stock programs, which the tonic peer plays, and our server.

    $(tools/setup --python) tools/run-unittests -k 'StockMessages.*' tests/system
"""

import unittest

import harness
from harness import peers
from test_mixed import STOCK_WORKLOAD, Stock, address, complete_state, member


def setUpModule():
    peers.build()


class Patient(Stock):
    """Keeps what was not awaited yet: a workload's answers and its agent's own messages come on one stream."""

    def __init__(self, process):
        super().__init__(process)
        self.kept = []

    def until(self, matches):
        for place, message in enumerate(self.kept):
            if (found := matches(message)) is not None:
                del self.kept[place]
                return found
        while (found := matches(message := self.next())) is None:
            self.kept.append(message)
        return found


class StockMessages(harness.Case):
    """A command line, an agent, and a workload that asks through its agent as the SDKs do."""

    def setUp(self):
        super().setUp()
        self.one = self.server()
        self.worker = self.stock("stock-agent", "--name", "agent_A", "--tags", '{"site": "north"}')
        self.assertEqual(self.worker.until(member("received", "serverHello")), {})
        self.other = self.stock("stock-agent", "--name", "agent_B")
        self.other.until(member("received", "serverHello"))
        self.cli = self.stock("stock-cli")
        self.assertEqual(self.cli.next(), {"connected": True})
        # Who may ask, and the id with which it does.
        self.askers = {"commander": (self.cli, "7"), "workload": (self.worker, "sdk@4711"), "changer": (self.stock("stock-cli"), "1")}

    def stock(self, role, *more):
        process = peers.Process("tonic", role, "--connect", address(self.one), *more)
        self.addCleanup(process.__exit__)
        return Patient(process)

    def answer(self, asker, request, ident=None):
        """The content of the next response, which must carry the id."""
        peer, own = self.askers[asker]
        peer.say({"request": {"requestId": ident or own, **request}})
        return self.response(asker, ident)

    def response(self, asker, ident=None):
        peer, own = self.askers[asker]
        response = peer.until(member("received", "response"))
        self.assertEqual(response.pop("requestId"), ident or own)
        (kind, content), = response.items()
        return kind, content

    def update(self, asker, workloads, mask, ident=None):
        return self.answer(asker, {"updateStateRequest": {"newState": complete_state(workloads), "updateMask": [mask]}}, ident)

    def read(self, asker, *masks):
        kind, content = self.answer(asker, {"completeStateRequest": {"fieldMask": list(masks)}})
        self.assertEqual(kind, "completeStateResponse")
        self.assertNotIn("alteredFields", content)
        return content["completeState"]

    def add(self, asker, name):
        """The instance name of a new workload of agent_A."""
        kind, content = self.update(asker, {name: STOCK_WORKLOAD}, f"desiredState.workloads.{name}", "add")
        self.assertEqual(kind, "UpdateStateSuccess")
        return content["addedWorkloads"][0]

    def added_at_agent(self, name):
        def matches(message):
            for added in (member("received", "updateWorkload")(message) or {}).get("addedWorkloads", []):
                if added["instanceName"]["workloadName"] == name:
                    return added["instanceName"]
            return None
        return self.worker.until(matches)

    # [itest->swdd~communication-to-from-server-middleware~1]
    # [itest->swdd~server-default-communication-grpc~1]
    def test_update_and_complete_state(self):
        for asker in "commander", "workload":
            with self.subTest(asker):
                name = f"of_{asker}"
                instance = self.add(asker, name)
                self.assertRegex(instance, rf"^{name}\.[0-9a-f]{{64}}\.agent_A$")
                workload = self.read(asker, f"desiredState.workloads.{name}")["desiredState"]["workloads"]["workloads"][name]
                self.assertEqual(workload["runtimeConfig"], STOCK_WORKLOAD["runtimeConfig"])
                kind, content = self.update(asker, {"a b": STOCK_WORKLOAD}, "desiredState.workloads.a b")
                self.assertEqual(kind, "error")
                self.assertIn("a b", content["message"])
                kind, content = self.update(asker, {}, f"desiredState.workloads.{name}")
                self.assertEqual((kind, content["deletedWorkloads"]), ("UpdateStateSuccess", [instance]))

    # [itest->swdd~server-detects-new-workload~1]
    # [itest->swdd~server-detects-changed-workload~1]
    # [itest->swdd~server-detects-deleted-workload~1]
    def test_new_changed_and_deleted_workloads_reach_their_agent(self):
        def told():
            message = self.worker.until(member("received", "updateWorkload"))
            return [[entry["instanceName"]["id"] for entry in message.get(kind, [])] for kind in ("deletedWorkloads", "addedWorkloads")]
        first = self.add("commander", "web").split(".")[1]
        self.assertEqual(told(), [[], [first]])
        changed = STOCK_WORKLOAD | {"runtimeConfig": "image: another"}
        _, content = self.update("commander", {"web": changed}, "desiredState.workloads.web")
        second = content["addedWorkloads"][0].split(".")[1]
        self.assertEqual(told(), [[first], [second]])
        self.assertNotEqual(first, second)
        self.update("commander", {}, "desiredState.workloads.web")
        self.assertEqual(told(), [[second], []])

    def test_states_and_load(self):
        self.add("commander", "nginx")
        instance = self.added_at_agent("nginx")
        state = {"instanceName": instance, "executionState": {"additionalInfo": "fine", "running": "RUNNING_OK"}}
        self.worker.say({"updateWorkloadState": {"workloadStates": [state]}})
        self.assertEqual(self.other.until(member("received", "updateWorkloadState", "workloadStates")), [state])
        self.worker.say({"AgentLoadStatus": {"agentName": "agent_A", "cpuUsage": {"cpuUsage": 42}, "freeMemory": {"freeMemory": "314"}}})
        self.wait_until(lambda: "status" in self.read("commander", "agents.agent_A")["agents"]["agents"]["agent_A"], "the load")
        attributes = self.read("commander", "agents.agent_A")["agents"]["agents"]["agent_A"]
        self.assertEqual(attributes["status"], {"cpuUsage": {"cpuUsage": 42}, "freeMemory": {"freeMemory": "314"}})
        self.assertEqual(attributes["tags"], {"tags": {"site": "north"}})
        # Whoever comes later is told too.
        late = self.stock("stock-agent", "--name", "agent_C")
        self.assertEqual(late.until(member("received", "updateWorkloadState", "workloadStates")), [state])

    def test_events(self):
        for asker in "commander", "workload":
            with self.subTest(asker):
                name = f"of_{asker}"
                kind, first = self.answer(asker, {"completeStateRequest": {
                    "fieldMask": [f"desiredState.workloads.{name}"], "subscribeForEvents": True}})
                self.assertEqual(kind, "completeStateResponse")
                self.assertNotIn("alteredFields", first)
                self.add("changer", name)
                kind, event = self.response(asker)
                self.assertEqual((kind, event["alteredFields"]),
                                 ("completeStateResponse", {"addedFields": [f"desiredState.workloads.{name}"]}))
                self.assertIn(name, event["completeState"]["desiredState"]["workloads"]["workloads"])
                self.assertEqual(self.answer(asker, {"eventsCancelRequest": {}}), ("eventsCancelAccepted", {}))
                self.update("changer", {}, f"desiredState.workloads.{name}")
                self.assertEqual(self.read(asker, f"desiredState.workloads.{name}").get("desiredState", {}).get("workloads", {}), {})

    def test_logs(self):
        self.add("commander", "nginx")
        instance = self.added_at_agent("nginx")
        for asker in "commander", "workload":
            with self.subTest(asker):
                wanted = {"workloadNames": [instance], "follow": True, "tail": 5}
                self.assertEqual(self.answer(asker, {"logsRequest": wanted}), ("logsRequestAccepted", {"workloadNames": [instance]}))
                request = self.worker.until(member("received", "logsRequest"))
                self.assertEqual(request["logsRequest"]["workloadNames"], [instance])
                self.assertEqual((request["logsRequest"]["follow"], request["logsRequest"]["tail"]), (True, 5))
                entries = {"logEntries": [{"workloadName": instance, "message": "one"}, {"workloadName": instance, "message": "two"}]}
                self.worker.say({"logEntriesResponse": {"requestId": request["requestId"], "logEntriesResponse": entries}})
                self.assertEqual(self.response(asker), ("logEntriesResponse", entries))
                self.worker.say({"logsStopResponse": {"requestId": request["requestId"], "logsStopResponse": {"workloadName": instance}}})
                self.assertEqual(self.response(asker), ("logsStopResponse", {"workloadName": instance}))

                self.answer(asker, {"logsRequest": wanted}, "again@1")
                request = self.worker.until(member("received", "logsRequest"))
                self.assertEqual(self.answer(asker, {"logsCancelRequest": {}}, "again@1"), ("logsCancelAccepted", {}))
                self.assertEqual(self.worker.until(member("received", "logsCancelRequest")), {"requestId": request["requestId"]})

    def test_goodbye(self):
        for peer in self.worker, self.cli:
            peer.say({"goodbye": {}})
            self.assertEqual(peer.until(member("ended")), {"code": "OK", "message": ""})
        self.assertEqual(self.connected_agents(self.one), {"agent_B"})


if __name__ == "__main__":
    unittest.main()
