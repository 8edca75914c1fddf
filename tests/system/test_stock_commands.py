"""Every command of ank against a stock server, which the tonic peer plays: what stock has works, what needs ours says so.

    $(tools/setup --python) tools/run-unittests -k 'StockCommands.*' tests/system
"""

import json
import signal
import threading
import unittest

import harness
from harness import peers

AGENT = "agent_A"


def setUpModule():
    peers.build()


def wanted(config="image: x", **more):
    return {"agent": AGENT, "runtime": "podman", "runtimeConfig": config, **more}


class Cluster:
    """What stands behind the peer: keeps a state and answers requests on it, as a stock server with one agent does. All that
    it is told to run runs at once."""

    def __init__(self):
        self.process = peers.Server("tonic", command="stock-server")
        self.url = self.process.address.replace("tcp:", "http://")
        self.cli = None
        self.workloads, self.configs, self.ids, self.count = {}, {}, {}, 0
        self.subscribers = {}       # connection -> id of its request
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def close(self):
        self.process.kill()
        self.thread.join(harness.SECONDS)
        self.process.__exit__()

    def serve(self):
        while (line := self.process.lines.get()) is not None:
            message = json.loads(line)
            if "ended" in message:
                self.subscribers.pop(message["from"], None)
            if request := message.get("received", {}).get("request"):
                for kind, answer in ("completeStateRequest", self.complete_state), ("updateStateRequest", self.update), \
                        ("logsRequest", self.logs), ("eventsCancelRequest", self.cancel):
                    if kind in request:
                        answer(message["from"], request["requestId"], request[kind])

    def say(self, to, message):
        self.process.say(json.dumps({"to": to, "send": message}))

    def respond(self, to, ident, response):
        self.say(to, {"response": {"requestId": ident, **response}})

    def state(self):
        states = {name: {"idStateMap": {ident: {"additionalInfo": "", "running": "RUNNING_OK"}}} for name, ident in self.ids.items()}
        return {"desiredState": {"apiVersion": "v1", "workloads": {"workloads": self.workloads}, "configs": {"configs": self.configs}},
                "workloadStates": {"agentStateMap": {AGENT: {"wlNameStateMap": states}}} if states else {},
                "agents": {"agents": {AGENT: {"status": {"cpuUsage": {"cpuUsage": 7}, "freeMemory": {"freeMemory": "1024"}}}}}}

    def complete_state(self, to, ident, request):
        state = self.state()
        tops = {mask.split(".")[0] for mask in request.get("fieldMask", [])}
        part = {key: value for key, value in state.items() if not tops or key in tops}
        self.respond(to, ident, {"completeStateResponse": {"completeState": part}})
        if request.get("subscribeForEvents"):
            self.subscribers[to] = ident

    def update(self, to, ident, request):
        desired = request.get("newState", {}).get("desiredState", {})
        new = {"workloads": desired.get("workloads", {}).get("workloads", {}), "configs": desired.get("configs", {}).get("configs", {})}
        added, deleted = [], []
        for mask in request["updateMask"]:
            _, kind, name = mask.split(".")
            current = getattr(self, kind)
            if kind == "workloads" and name in current:
                deleted.append(f"{name}.{self.ids.pop(name)}.{AGENT}")
            current.pop(name, None)
            if name in new[kind]:
                current[name] = new[kind][name]
                if kind == "workloads":
                    self.count += 1
                    self.ids[name] = f"id{self.count}"
                    added.append(f"{name}.{self.ids[name]}.{AGENT}")
        self.respond(to, ident, {"UpdateStateSuccess": {"addedWorkloads": added, "deletedWorkloads": deleted}})
        told = [(name, {"running": "RUNNING_OK"}) for name in added] + [(name, {"removed": "REMOVED"}) for name in deleted]
        states = [{"instanceName": dict(zip(("workloadName", "id", "agentName"), name.split("."))),
                   "executionState": {"additionalInfo": "", **kind}} for name, kind in told]
        self.say(to, {"updateWorkloadState": {"workloadStates": states}})
        for subscriber, subscription in self.subscribers.items():
            self.respond(subscriber, subscription, {"completeStateResponse": {
                "completeState": {"desiredState": self.state()["desiredState"]},
                "alteredFields": {"updatedFields": list(request["updateMask"])}}})

    def logs(self, to, ident, request):
        names = request["workloadNames"]
        self.respond(to, ident, {"logsRequestAccepted": {"workloadNames": names}})
        for name in names:
            entries = [{"workloadName": name, "message": f"line of {name['workloadName']}"}]
            self.respond(to, ident, {"logEntriesResponse": {"logEntries": entries}})
            self.respond(to, ident, {"logsStopResponse": {"workloadName": name}})

    def cancel(self, to, ident, _):
        self.subscribers.pop(to, None)
        self.respond(to, ident, {"eventsCancelAccepted": {}})


class StockCommands(harness.Case):
    def setUp(self):
        super().setUp()
        self.cluster = Cluster()
        self.addCleanup(self.cluster.close)

    def say(self, *words, **more):
        return self.ank(self.cluster, *words, **more)

    def names(self):
        return self.say("get", "workloads", "-o", "name").split()

    def test_what_stock_has_works(self):
        manifest = harness.manifest({"web": wanted(), "db": wanted("image: y")}, configs={"ports": {"http": "80"}})
        self.assertRegex(self.say("apply", "-", stdin=manifest), r"web .*Running\(Ok\)")
        rows = harness.table(self.say("get", "workloads"))
        self.assertEqual([(row["WORKLOAD NAME"], row["AGENT"], row["RUNTIME"], row["EXECUTION STATE"]) for row in rows],
                         [("db", AGENT, "podman", "Running(Ok)"), ("web", AGENT, "podman", "Running(Ok)")])
        self.assertEqual(harness.table(self.say("get", "agents")),
                         [{"NAME": AGENT, "WORKLOADS": "2", "CPU USAGE": "7%", "FREE MEMORY": "1024B"}])
        self.assertEqual(self.say("get", "configs").split(), ["CONFIG", "ports"])
        self.assertEqual(self.state(self.cluster, "desiredState")["desiredState"]["workloads"]["web"]["runtimeConfig"], "image: x")
        self.assertEqual(self.say("logs", "web"), "line of web\n")
        self.assertRegex(self.say("run", "workload", "more", "--runtime", "podman", "--config", "image: z", "--agent", AGENT), r"more .*Running")
        self.assertEqual(self.names(), ["db", "more", "web"])
        changed = {"desiredState": {"apiVersion": "v1", "workloads": {"db": wanted("image: new")}}}
        self.say("set", "state", "desiredState.workloads.db", "-", stdin=json.dumps(changed))
        self.assertEqual(self.state(self.cluster)["desiredState"]["workloads"]["db"]["runtimeConfig"], "image: new")
        self.assertRegex(self.say("delete", "workload", "more"), r"more .*Removed")
        self.say("delete", "config", "ports")
        self.assertEqual(self.say("get", "configs"), "CONFIG\n")
        self.assertRegex(self.say("apply", "-d", "-", stdin=manifest), r"web .*Removed")
        self.assertEqual(self.names(), [])

    def test_events(self):
        events = harness.Program("ank", ["-k", "-s", self.cluster.url, "get", "events", "-o", "json", "desiredState"], self.folder)
        self.programs.append(events)
        self.wait_until(lambda: self.cluster.subscribers, "it is subscribed")
        self.say("--no-wait", "apply", "-", stdin=harness.manifest({"web": wanted()}))
        self.wait_until(lambda: events.log().endswith("\n"), "an event comes")
        event = json.loads(events.log())
        self.assertEqual(event["updatedFields"], ["desiredState.workloads.web"])
        self.assertIn("web", event["completeState"]["desiredState"]["workloads"])
        events.process.send_signal(signal.SIGINT)
        self.assertEqual(events.ended(), 0, events.log())

    def test_what_needs_no_more_than_the_state_works_too(self):
        self.say("--no-wait", "apply", "-", stdin=harness.manifest({"web": wanted(tags={"owner": "me"})}))
        self.assertIn("owner=me", self.say("get", "workloads", "-o", "wide"))
        self.assertEqual(json.loads(self.say("get", "agents", "-o", "json")),
                         [{"name": AGENT, "workloads": 1, "cpuUsage": 7, "freeMemory": 1024, "tags": {}}])
        described = self.say("describe", "workload", "web")
        self.assertRegex(described, r"(?m)^State: +Running\(Ok\) on agent_A$")
        self.assertNotIn("Since", described, "stock servers tell no times")
        self.assertRegex(self.say("describe", "agent", AGENT), r"(?m)^Workloads: +1: 1 Running\(Ok\)$")
        self.assertEqual(self.say("wait", "workload", "web", "--for", "running"), "web is running\n")

    def test_plans_need_ours(self):
        for words in ["plan", "-"], ["apply", "--dry-run", "-"], ["plan", "--detailed-exitcode", "-o", "json", "-"]:
            with self.subTest(words):
                self.assertEqual(self.say(*words, stdin=harness.manifest({"web": wanted()}), code=1),
                                 f"error: the server on '{self.cluster.url}' does not know dry runs; that needs a Tiphys server\n")
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    unittest.main()
