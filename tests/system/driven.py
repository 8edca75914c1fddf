"""A stock server, which the tonic peer plays, and our agent: the test says what the server says and sees what it is told."""

import collections
import json
import time

import harness
from harness import peers
from test_mixed import Stock

# Every execution state, as in proto/ank_base.proto.
STATES = {
    "AgentDisconnected": ("agentDisconnected", "AGENT_DISCONNECTED"),
    "Pending(Initial)": ("pending", "PENDING_INITIAL"),
    "Pending(WaitingToStart)": ("pending", "PENDING_WAITING_TO_START"),
    "Pending(Starting)": ("pending", "PENDING_STARTING"),
    "Pending(StartingFailed)": ("pending", "PENDING_STARTING_FAILED"),
    "Running(Ok)": ("running", "RUNNING_OK"),
    "Stopping(Stopping)": ("stopping", "STOPPING"),
    "Stopping(WaitingToStop)": ("stopping", "STOPPING_WAITING_TO_STOP"),
    "Stopping(RequestedAtRuntime)": ("stopping", "STOPPING_REQUESTED_AT_RUNTIME"),
    "Stopping(DeleteFailed)": ("stopping", "STOPPING_DELETE_FAILED"),
    "Succeeded(Ok)": ("succeeded", "SUCCEEDED_OK"),
    "Failed(ExecFailed)": ("failed", "FAILED_EXEC_FAILED"),
    "Failed(Unknown)": ("failed", "FAILED_UNKNOWN"),
    "Failed(Lost)": ("failed", "FAILED_LOST"),
    "NotScheduled": ("notScheduled", "NOT_SCHEDULED"),
    "Removed": ("removed", "REMOVED"),
}
NAMES = {wire: text for text, wire in STATES.items()}

# What an agent reports.
WAITS, STARTING, RUNNING = "Pending(WaitingToStart)", "Pending(Starting) Triggered at runtime.", "Running(Ok)"
WAITS_TO_STOP, STOPPING, REMOVED = "Stopping(WaitingToStop)", "Stopping(RequestedAtRuntime)", "Removed"
SUCCEEDED, KILLED, LOST = "Succeeded(Ok)", "Failed(ExecFailed) Exit code: '137'", "Failed(Lost)"


def of(instance, *states):
    return [f"{instance} {state}" for state in states]


def shown(state):
    (field_name, value), = ((key, value) for key, value in state["executionState"].items() if key != "additionalInfo")
    instance = state["instanceName"]
    information = state["executionState"]["additionalInfo"].split(". Execution of '")[0]
    return f"{instance['workloadName']}.{instance['id']} {NAMES[(field_name, value)]} {information}".rstrip()


class Driven:
    """A stock server and our agent; what the agent says is sorted as it comes. For a harness.Case, which has besides:

        name              of the agent
        RUNTIMES          a line of its config file
        workload(...)     what added() puts into a message
    """

    stock = None

    def drive(self, *added, config="", major="1", words=()):
        """Starts both and gives the hello of the agent; a second time, with the same containers and folder."""
        self.serve(*added, major=major)
        path = self.file("agent.conf", f'version = "v1"\n{self.RUNTIMES}\n{config}\n')
        self.worker = self.agent(self.stock, self.name, words=["-x", path, *words], connected=False)
        return self.connected() if major == "1" else None

    def serve(self, *added, listen="tcp:127.0.0.1:0", major="1"):
        self.reports, self.messages, self.loads, self.ends, self.latest = [], [], [], [], {}
        process = peers.Server("tonic", listen=listen, command="stock-server",
                               more=["--server-hello", json.dumps({"addedWorkloads": added}), "--protocol-major", major])
        self.addCleanup(process.__exit__)
        self.stock = Stock(process)
        self.stock.address = process.address
        self.stock.url = process.address.replace("tcp:", "http://")

    def connected(self):
        """The hello of the agent, once it is there."""
        self.until(lambda: any("hello" in message for message in self.messages), "the agent says hello")
        place = next(place for place, message in enumerate(self.messages) if "hello" in message)
        return self.messages.pop(place)["hello"]

    def drive_again(self, *added, **more):
        """Another server and another agent, after the end of the first."""
        self.worker.kill()
        self.stock.process.kill()
        self.drive(*added, **more)

    def tearDown(self):
        if self.stock and self.worker.lives() and self.stock.process.lives():
            self.expect()
        super().tearDown()

    # --- what is sent ---

    def instance(self, text, agent=None):
        workload, ident = text.split(".")
        return {"workloadName": workload, "agentName": agent or self.name, "id": ident}

    def added(self, text, *command, after=None, files=None, rules=None, runtime=None, **more):
        workload = self.workload(*command, **more)
        if after:
            workload["dependencies"] = {"dependencies": {name: f"ADD_COND_{condition}" for name, condition in after.items()}}
        if files:
            workload["files"] = {"files": files}
        if rules:
            workload["controlInterfaceAccess"] = rules
        return {"instanceName": self.instance(text), "workload": workload | ({"runtime": runtime} if runtime else {})}

    def deleted(self, text, **conditions):
        return {"instanceName": self.instance(text), "dependencies": {name: f"DEL_COND_{word}" for name, word in conditions.items()}}

    def say(self, **message):
        self.stock.say({"to": self.name, "send": message})

    def server_hello(self, *added):
        self.say(serverHello={"addedWorkloads": added})

    def add(self, *added, without=()):
        self.say(updateWorkload={"addedWorkloads": added, "deletedWorkloads": without})

    def delete(self, *deleted):
        self.say(updateWorkload={"deletedWorkloads": deleted})

    def tell(self, agent="other", **states):
        """States of workloads of another agent: workload_id="Running(Ok)"."""
        told = [{"instanceName": self.instance(name.replace("_", "."), agent),
                 "executionState": {"additionalInfo": "", STATES[state][0]: STATES[state][1]}} for name, state in states.items()]
        self.say(updateWorkloadState={"workloadStates": told})

    def ask_for_logs(self, ident, *instances, **options):
        self.say(logsRequest={"requestId": ident, "logsRequest": {"workloadNames": [self.instance(each) for each in instances], **options}})

    # --- what is received ---

    def until(self, condition, what):
        limit = time.monotonic() + harness.SECONDS      # load reports come for ever
        while not condition():
            message = self.stock.next()
            if time.monotonic() > limit:
                raise AssertionError(f"not within {harness.SECONDS} s: {what}\n{self.reports}\n{self.messages}\n{self.logs()}")
            received = message.get("received", message)
            if "updateWorkloadState" in received:
                for state in received["updateWorkloadState"]["workloadStates"]:
                    self.note(shown(state))
            elif "AgentLoadStatus" in received:
                self.loads.append(received["AgentLoadStatus"])
            elif "ended" in received:
                self.ends.append(received["ended"])
            else:
                self.messages.append(received)

    def note(self, report):
        """While something is being stopped, the end of its container may make the agent say so once more."""
        instance = report.split()[0]
        if report != self.latest.get(instance) or not report.endswith(STOPPING):
            self.reports.append(report)
        self.latest[instance] = report

    def take(self, kind, ident=None):
        """The next message of a kind, perhaps for one request."""
        def place():
            return next((place for place, message in enumerate(self.messages)
                         if kind in message and (ident is None or message[kind]["requestId"] == ident)), None)
        self.until(lambda: place() is not None, f"{kind} comes")
        return self.messages.pop(place())[kind]

    def fence(self):
        """All that was sent has been handled: answers come in order."""
        ident = self.unique("fence")
        self.ask_for_logs(ident, "nobody.0")
        self.take("logsStopResponse", ident)

    def received(self, count):
        """So many reports at least, and all that came with them."""
        self.until(lambda: len(self.reports) >= count, f"{count} reports come")
        self.fence()
        reports, self.reports = self.reports, []
        return reports

    def seen(self, report):
        """It has come, perhaps among others, which stay to be expected."""
        self.until(lambda: report in self.reports, f"{report} comes")

    def expect(self, *wanted):
        """Exactly these reports come, in this order."""
        self.assertEqual(self.received(len(wanted)), list(wanted), self.logs())

    def expect_each(self, *wanted):
        """The same, in whatever order of the workloads."""
        def by_workload(reports):
            found = collections.defaultdict(list)
            for report in reports:
                found[report.split(".")[0]].append(report)
            return dict(found)
        self.assertEqual(by_workload(self.received(len(wanted))), by_workload(wanted), self.logs())
