"""A stock server, which the tonic peer plays, drives our agent through every flow. Of each the test compares what the server is
told, report by report, and what the engine is asked for.

    $(tools/setup --python) tools/run-unittests -k 'StockServerFlows.*' tests/system
"""

import collections
import os
import pathlib
import re
import shutil
import signal
import unittest

import yaml

import harness
import stub
from driven import KILLED, LOST, REMOVED, RUNNING, STARTING, STATES, STOPPING, SUCCEEDED, WAITS, WAITS_TO_STOP, Driven, of
from harness import peers, podman
from raw import field
from test_control_interface import ACCEPTED, Pipes, closed, denied, hello, state_request
from test_kube import pod
from test_logs import log_readers

# All flows, and the test that shows each: test_<name> of one of the classes below.
FLOWS = {
    "version check": {
        "the same major version: the server takes the agent": "same_version",
        "another major version: the server refuses, the agent ends": "other_version",
        "a workload that says hello with another major version is told so": "other_version_of_a_workload",
    },
    "messages from the server": {
        "ServerHello: the complete list, handled alike every time it comes": "server_hello",
        "UpdateWorkload: a change of the list": "update_workload",
        "UpdateWorkloadState: states are kept, what waits is looked at again": "update_workload_state",
        "Response: goes to the workload that its id names": "response",
        "LogsRequest: lines, then the stop": "logs_request",
        "LogsRequest for what has no logs: the stop at once": "logs_request_without_logs",
        "LogsCancelRequest: nothing more is read or sent": "logs_cancel_request",
        "the server is gone: no more logs; workloads and what waits stay": "server_gone",
        "messages with nothing in them cause nothing": "empty_messages",
    },
    "messages to the server": {
        "AgentHello: the first of each connection, with name, version and tags": "agent_hello",
        "UpdateWorkloadState: one state each, with additionalInfo in any case": "states_one_by_one",
        "AgentLoadStatus: at once and then again and again": "load_status",
        "Request: of a workload, its name before the id": "request_of_a_workload",
        "LogEntriesResponse, LogsStopResponse: with the server's own id": "log_ids",
        "Goodbye: never": "no_goodbye",
    },
    "operations": {
        "Create": "create",
        "Update": "update",
        "UpdateDeleteOnly: the first half of an update": "update_delete_only",
        "Delete": "delete",
    },
    "ServerHello": {
        "a listing that fails: nothing is found": "hello_listing_fails",
        "a listing that fails once: asked again (ours)": "hello_listing_fails_once",
        "found running, the same instance: resumed": "hello_resume",
        "found ended well, the same instance: started again": "hello_reuse",
        "found ended well, dependencies not met: started again later": "hello_reuse_waits",
        "found with another id: replaced": "hello_replace_other",
        "found with the same id, failed: replaced": "hello_replace_failed",
        "found with another id, dependencies not met: goes at once, the new one comes later": "hello_replace_waits",
        "found, not in the list, not managed: deleted": "hello_unneeded",
        "found, not in the list, managed: deletes itself": "hello_unneeded_managed",
        "found under another runtime: another workload": "hello_other_runtime",
        "not found: created": "hello_create",
        "not found, the name is managed: updated": "hello_changed_managed",
        "not in the list, has no container and waits: gone": "hello_unneeded_waiting",
        "not in the list, has no container and is tried again: gone": "hello_unneeded_retrying",
        "a name twice in the list: the last counts": "hello_name_twice",
        "all of these at once": "hello_several",
        "the second after a reconnect: the objects stay, their states are sent once": "hello_after_reconnect",
        "the second, of what has ended, failed or was refused: it stays, its state is sent once": "hello_after_the_end",
    },
    "UpdateWorkload": {
        "added: created": "update_add",
        "deleted: deleted": "update_delete",
        "deleted and added, another id: updated": "update_change",
        "deleted and added, the same id: updated": "update_same_id",
        "deleted and added, different names: deletes come first": "update_different_names",
        "added, known, the same id: updated without delete conditions": "update_add_known",
        "added, known, another id: updated without delete conditions": "update_add_known_other",
        "deleted, unknown: reported as removed": "update_delete_unknown",
        "a name twice among the added: the last counts": "update_name_twice",
    },
    "executing what is ready": {
        "Create: by the runtime that the workload names": "execute_create",
        "Update, known: by its object": "execute_update",
        "Update, not known: created": "execute_update_unknown",
        "UpdateDeleteOnly, known: taken away": "execute_delete_only",
        "UpdateDeleteOnly, not known: nothing": "execute_delete_only_unknown",
        "Delete, known: by its object": "execute_delete",
        "Delete, not known: reported as removed": "execute_delete_unknown",
    },
    "unknown or disabled runtime": {
        "create, unknown: refused for good": "runtime_unknown",
        "create, disabled: refused for good": "runtime_disabled",
        "update to another runtime: refused by the old one": "runtime_changed",
        "update of an unknown one to a known one: refused by the unknown one": "runtime_changed_from_unknown",
        "deleted and added again: the new runtime": "runtime_deleted_and_added",
        "delete: succeeds": "runtime_unknown_delete",
        "list: not asked; logs: the stop at once": "runtime_unknown_logs",
    },
    "conditions": {
        "to start: each condition against each state": "add_conditions",
        "to start: nothing known is not fulfilled": "add_condition_nothing_known",
        "to start: any instance of the name will do": "add_condition_any_instance",
        "to start: all conditions": "add_condition_all",
        "to stop: each condition against each state": "delete_conditions",
        "to stop: nothing known is fulfilled": "delete_condition_nothing_known",
        "to stop: every instance of the name": "delete_condition_every_instance",
        "to stop: all conditions": "delete_condition_all",
    },
    "queue": {
        "Create, may start": "queue_create_ready",
        "Create, may not start: waits": "queue_create_waits",
        "Create that waits, in a second ServerHello: said again": "queue_create_said_again",
        "Update, may start and stop, nobody depends on the old one: the whole update": "queue_update_ready",
        "Update, may start and stop, others depend on the old one: split in two": "queue_update_split",
        "Update, may stop but not start: the old one goes, the new one waits": "queue_update_create_waits",
        "Update, may not stop: all of it waits": "queue_update_delete_waits",
        "Update that waited to stop and may stop but not start: waits to start": "queue_update_waits_twice",
        "Delete, may stop": "queue_delete_ready",
        "Delete, may not stop: waits": "queue_delete_waits",
        "Delete that waits, asked for again: said again": "queue_delete_said_again",
        "a waiting Create is replaced by a Delete": "queue_create_then_delete",
        "a waiting Create is replaced by a Create that may start": "queue_create_then_create",
        "a waiting Create is replaced by a Create that waits": "queue_create_then_waiting_create",
        "a waiting Delete is replaced by an Update": "queue_delete_then_add",
        "a waiting Delete is replaced by a Delete without conditions": "queue_delete_then_delete",
        "a waiting Delete is replaced by a ServerHello that wants the workload": "queue_delete_then_hello",
        "a waiting Delete is replaced by a ServerHello that does not": "queue_delete_then_hello_without",
        "an Update that waits to start is replaced by a Delete": "queue_update_create_then_delete",
        "an Update that waits to stop is replaced by a Delete": "queue_update_delete_then_delete",
        "a waiting Delete: states that would hide it do not pass": "queue_delete_hides_states",
        "a waiting Delete: the restart policy still acts": "queue_delete_and_policy",
        "more than 20 wait": "queue_many",
    },
    "what waits is looked at again": {
        "after a ServerHello": "again_after_hello",
        "after an UpdateWorkload": "again_after_update",
        "after an UpdateWorkloadState": "again_after_states",
        "after a report of an own workload": "again_after_own_report",
        "restarts do not ask for dependencies": "again_not_for_restarts",
        "retries do not ask for dependencies": "again_not_for_retries",
    },
    "facade": {
        "create: the control interface first": "facade_create",
        "create: without a control interface when that cannot be made": "facade_create_without_interface",
        "resume: with its control interface": "facade_resume",
        "delete without an object: stopped, removed, and its folder too": "facade_delete",
        "delete without an object fails: reported, and tried again when asked": "facade_delete_fails",
    },
    "workload object": {
        "update: an interface that is as before stays": "object_interface_stays",
        "update: an interface that changed is made anew": "object_interface_changed",
        "update: an interface with other rules is made anew": "object_interface_rules",
        "update: an interface that is not wanted any more goes": "object_interface_goes",
        "delete: the interface goes": "object_delete",
        "a response without an interface is dropped": "object_response_without_interface",
        "logs while a command is under way: nothing waits for it": "object_logs_while_busy",
    },
    "control loop": {
        "commands wait for the one under way; the newest counts": "loop_one_at_a_time",
        "what an earlier instance does is not reported": "loop_stale_reports",
    },
    "create": {
        "files are written before": "create_files",
        "files that cannot be written: refused for good": "create_bad_files",
        "success: watched": "create_watched",
        "a config that cannot be read: refused for good": "create_bad_config",
        "any other failure: tried again": "create_fails",
    },
    "retry": {
        "counted in the reports, Triggered is not said again": "retry_counts",
        "without end, when so configured": "retry_without_end",
        "20 times, then no more": "retry_end",
        "ended by an update": "retry_then_update",
        "ended by a delete": "retry_then_delete",
        "counted anew after an update": "retry_counted_anew",
    },
    "update and delete": {
        "update: stopped, removed, created": "change_in_order",
        "update, no container: only reported": "change_without_container",
        "delete, no container: only reported": "delete_without_container",
        "update, the delete fails: reported, watched on, can be tried again": "change_delete_fails",
        "delete fails: reported, watched on, can be tried again": "delete_fails",
        "update, another id: the folder of the old one goes": "change_folder",
        "update, the same id: only its files go": "change_folder_stays",
        "delete: the folder goes": "delete_folder",
        "update after the first half of an update: what is gone is said to go again": "change_after_delete_only",
    },
    "resume": {
        "watched: what it does is reported": "resume_watched",
        "the restart policy acts": "resume_policy",
    },
    "restart policies": {
        "NEVER: after nothing": "policy_never",
        "ON_FAILURE: after a failure, in a new container": "policy_on_failure",
        "ON_FAILURE: not after success": "policy_on_failure_success",
        "ALWAYS: after a failure, in a new container": "policy_always_failure",
        "ALWAYS: after success, in the same container": "policy_always_success",
        "a lost container is not restarted": "policy_lost",
        "a container in an unknown state is not restarted": "policy_unknown",
        "a restart that fails is tried again": "policy_retries",
        "a restart that cannot delete is reported, can be tried again": "policy_delete_fails",
    },
    "state checker": {
        "the first look at once, then only what differs": "checker_differences",
        "a container that is gone is lost": "checker_lost",
        "a listing that fails: unknown until one succeeds": "checker_listing_fails",
        "nothing after Removed": "checker_ends",
    },
    "a real engine": {
        "create, resume, start again, replace, delete, update": "real_list",
        "the restart policies": "real_policies",
        "pods that ended are replaced, never started again, and keep their runtime": "real_kube",
        "logs": "real_logs",
    },
}

UNSUPPORTED = "Pending(StartingFailed) Unsupported Runtime"
RULES = {"allowRules": [{"stateRule": {"operation": "RW_READ", "filterMasks": ["desiredState"]}}]}
UNKNOWN = "unheard-of"      # a runtime


def setUpModule():
    peers.build()


def retry(number, cause="Error: no luck"):
    return f"Pending(Starting) Retry {number} of 20: {cause}"


class StockServerFlows(Driven, stub.Case):
    """With a podman of ours."""

    RUNTIMES = 'runtimes = ["podman"]'

    def setUp(self):
        super().setUp()
        self.name = self.unique("stest")
        self.podman.calls()

    def workload(self, *command, **more):
        return stub.workload(self.name, *command, **more)

    def asked(self, *wanted):
        """Exactly this was asked of podman since the last time, in this order."""
        self.assertEqual([call.replace(f".{self.name}", "") for call in self.podman.calls()], list(wanted), self.logs())

    def asked_in_any_order(self, *wanted):
        self.assertEqual(sorted(call.replace(f".{self.name}", "") for call in self.podman.calls()), sorted(wanted), self.logs())

    def running(self, *instances, **more):
        """Drives to where these run, which is no part of the flow."""
        self.drive(*[self.added(each, **more) for each in instances])
        self.expect_each(*[report for each in instances for report in of(each, STARTING, RUNNING)])
        self.asked_in_any_order(*[f"run {each} stub wait" for each in instances])

    def nowhere(self, *instances):
        """The same with a runtime that nobody knows; they need no engine."""
        self.drive(*[self.added(each, runtime=UNKNOWN) for each in instances])
        self.expect_each(*[report for each in instances for report in of(each, STARTING, UNSUPPORTED)])

    def logged(self, text):
        self.wait_until(lambda: text in self.worker.log(), f"the agent logs {text}")

    def expect_retries(self, instance, *states):
        """It is tried once or more often, which depends on the time that all this takes, and then come these states."""
        last = f"{instance} {states[-1]}"
        self.seen(last)
        own = [report for report in self.reports[:self.reports.index(last) + 1] if report.startswith(f"{instance} ")]
        for report in own:
            self.reports.remove(report)
        retries = [retry(number) for number in range(1, len(own) - len(states))]
        self.assertEqual(own, of(instance, STARTING, *retries, *states), self.logs())
        self.assertNotEqual(retries, [])

    def asked_only(self, call):
        self.assertEqual({each.replace(f".{self.name}", "") for each in self.podman.calls()}, {call})

    def home(self, instance):
        return self.worker.run_folder / f"{self.name}_io" / instance

    # --- version check ---

    def test_same_version(self):
        self.assertRegex(self.drive()["protocolVersion"], r"^1\.\d+\.\d+")
        self.fence()

    def test_other_version(self):
        self.drive(major="2")
        self.assertEqual(self.worker.ended(), 1)
        self.assertRegex(self.worker.log(),
                         r"Ankaios version mismatch: '.*Unsupported protocol version '1\.[^']*'\. Currently supported '2'")

    def test_other_version_of_a_workload(self):
        self.running("web.1", rules=RULES)
        pipes = Pipes(self, self.home("web.1") / "control_interface")
        pipes.say(field(1, field(2, "2.0.0")))
        self.assertEqual(pipes.hear(), closed("Unsupported protocol version '2.0.0'. Currently supported '1'"))

    # --- messages from the server ---

    def test_server_hello(self):
        self.running("web.1")
        for again in range(2):
            self.server_hello(self.added("web.1"))
            self.expect(*of("web.1", RUNNING))
            self.asked()

    def test_update_workload(self):
        self.running("web.1")
        self.add(self.added("db.1"), without=[self.deleted("web.1")])
        self.expect_each(*of("web.1", STOPPING, REMOVED), *of("db.1", STARTING, RUNNING))
        self.asked_in_any_order("stop web.1", "rm web.1", "run db.1 stub wait")

    def test_update_workload_state(self):
        self.drive(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", WAITS))
        self.tell(db_1="Pending(Starting)", cache_1="Running(Ok)")
        self.expect()
        self.asked()
        self.tell(db_1="Running(Ok)")
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    # [stest->swdd~agent-forward-responses-to-control-interface-pipe~1]
    def test_response(self):
        self.running("web.1", "db.1", rules=RULES)
        web, db = (Pipes(self, self.home(each) / "control_interface") for each in ("web.1", "db.1"))
        for pipes in web, db:
            pipes.say(hello())
            self.assertEqual(pipes.hear(), ACCEPTED)
        for ident in "web@7", "db@8":
            self.say(response={"requestId": ident, "error": {"message": f"for {ident}"}})
        self.assertEqual(web.hear(), field(3, field(1, "7") + field(3, field(1, "for web@7"))))
        self.assertEqual(db.hear(), field(3, field(1, "8") + field(3, field(1, "for db@8"))))

    def test_logs_request(self):
        self.podman.log_lines("one", "two")
        self.running("web.1")
        self.ask_for_logs("cli@1", "web.1", tail=5, since="2024-01-01T00:00:00Z", until="2025-01-01T00:00:00Z")
        entries = self.take("logEntriesResponse")
        self.assertEqual(entries, {"requestId": "cli@1", "logEntriesResponse": {
            "logEntries": [{"workloadName": self.instance("web.1"), "message": line} for line in ("one", "two")]}})
        stop = {"requestId": "cli@1", "logsStopResponse": {"workloadName": self.instance("web.1")}}
        self.assertEqual(self.take("logsStopResponse"), stop)
        self.asked("logs web.1 --since 2024-01-01T00:00:00Z --until 2025-01-01T00:00:00Z --tail 5")

    def test_logs_request_without_logs(self):
        self.drive(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", WAITS))
        self.ask_for_logs("cli@1", "web.1", "nobody.1")
        stops = [self.take("logsStopResponse", "cli@1")["logsStopResponse"]["workloadName"] for _ in range(2)]
        self.assertEqual(stops, [self.instance("web.1"), self.instance("nobody.1")])
        self.asked()

    def test_logs_cancel_request(self):
        self.podman.log_lines("one")
        self.running("web.1")
        self.ask_for_logs("cli@1", "web.1", follow=True)
        self.take("logEntriesResponse", "cli@1")
        self.say(logsCancelRequest={"requestId": "cli@1"})
        self.wait_until(lambda: not log_readers(self.worker), "nobody reads any more")
        self.fence()
        self.assertEqual(self.messages, [])
        self.asked("logs web.1 -f")

    def test_server_gone(self):
        self.podman.log_lines("one")
        listed = [self.added("web.1"), self.added("app.1", after={"db": "RUNNING"})]
        self.drive(*listed)
        self.expect_each(*of("app.1", WAITS), *of("web.1", STARTING, RUNNING))
        self.ask_for_logs("cli@1", "web.1", follow=True)
        self.take("logEntriesResponse", "cli@1")
        before = self.podman.ids()
        self.stock.process.kill()
        self.wait_until(lambda: not log_readers(self.worker), "nobody reads any more")
        self.serve(*listed, listen=self.stock.address)
        self.connected()
        self.expect_each(*of("app.1", WAITS), *of("web.1", RUNNING))
        self.tell(db_1="Running(Ok)")
        self.expect(*of("app.1", STARTING, RUNNING))
        self.assertEqual(self.podman.ids()["web"], before["web"])
        self.asked("run web.1 stub wait", "logs web.1 -f", "run app.1 stub wait")

    def test_empty_messages(self):
        self.running("web.1")
        self.say()
        self.say(updateWorkload={})
        self.say(updateWorkloadState={})
        self.say(logsRequest={"requestId": "cli@1"})
        self.say(logsCancelRequest={"requestId": "never heard of"})
        self.say(response={"requestId": "web@1"})
        self.expect()
        self.assertEqual(self.messages, [])
        self.asked()

    # --- messages to the server ---

    def test_agent_hello(self):
        first = self.drive(words=["--tag", "site=north", "--tag", "empty="])
        self.assertEqual((first["agentName"], first["tags"]), (self.name, {"tags": {"site": "north", "empty": ""}}))
        self.stock.say({"to": self.name, "end": True})
        self.assertEqual(self.connected(), first)

    def test_states_one_by_one(self):
        self.drive(self.added("db.1"), self.added("web.1"))
        seen = []
        while len(seen) < 4:
            if "updateWorkloadState" in (received := self.stock.next().get("received", {})):
                seen.append(received["updateWorkloadState"]["workloadStates"])
        self.assertEqual([len(states) for states in seen], [1] * 4)
        self.assertEqual(collections.Counter(states[0]["executionState"]["additionalInfo"] for states in seen),
                         {"Triggered at runtime.": 2, "": 2})

    def test_load_status(self):
        self.drive()
        self.until(lambda: len(self.loads) == 2, "two load reports")
        for load in self.loads:
            self.assertEqual(load["agentName"], self.name)
            self.assertLessEqual(load["cpuUsage"].get("cpuUsage", 0), 100)
            self.assertGreater(int(load["freeMemory"]["freeMemory"]), 0)

    def test_request_of_a_workload(self):
        self.running("web.1", rules=RULES)
        pipes = Pipes(self, self.home("web.1") / "control_interface")
        pipes.say(hello(), state_request("7@x", "desiredState.workloads"))
        self.assertEqual(pipes.hear(), ACCEPTED)
        self.assertEqual(self.take("request"), {"requestId": "web@7@x", "completeStateRequest": {"fieldMask": ["desiredState.workloads"]}})

    def test_log_ids(self):
        self.podman.log_lines("one")
        self.running("web.1")
        ident = "cli-conn-7@ü@/ 1"
        self.ask_for_logs(ident, "web.1")
        self.assertEqual(self.take("logEntriesResponse")["requestId"], ident)
        self.assertEqual(self.take("logsStopResponse")["requestId"], ident)
        self.asked("logs web.1")

    def test_no_goodbye(self):
        self.running("web.1")
        self.assertEqual(self.worker.terminate(), 0)
        self.until(lambda: self.ends, "the connection ends")
        self.assertNotEqual(self.ends[0]["code"], "OK")
        self.assertEqual(self.messages, [])
        self.asked()
        self.assertTrue(self.podman.process(self.podman.ids()["web"]))

    # --- operations ---

    def test_create(self):
        self.drive()
        self.add(self.added("web.1", "wait", "for", "it"))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait for it")

    def test_update(self):
        self.running("web.1")
        self.add(self.added("web.2", "other"), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub other")

    def test_update_delete_only(self):
        self.running("web.1")
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1")])
        self.expect(*of("web.2", WAITS), *of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def test_delete(self):
        self.running("web.1")
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")
        self.assertEqual(self.podman.containers(), [])

    # --- ServerHello ---

    def test_hello_listing_fails(self):
        self.podman.fail("ps", "no luck")
        self.podman.pause_at("run:begin")
        self.drive(self.added("web.1"))
        self.expect(*of("web.1", STARTING))
        self.wait_until(self.podman.reached, "podman is asked to run it")
        self.logged("Could not get reusable running workloads: 'Error: no luck")
        self.podman.succeed()
        self.podman.go_on()
        self.expect(*of("web.1", RUNNING))
        self.asked("run web.1 stub wait")

    def test_hello_listing_fails_once(self):
        self.running("web.1")
        before = self.podman.ids()
        self.worker.kill()
        self.podman.fail("ps", "no luck", times=1)
        self.drive_again(self.added("web.1"))
        self.expect(*of("web.1", RUNNING))
        self.logged("Could not get reusable running workloads: 'Error: no luck")
        self.asked()
        self.assertEqual(self.podman.ids(), before)

    def test_hello_resume(self):
        self.running("web.1")
        before = self.podman.ids()
        self.drive_again(self.added("web.1"))
        self.expect(*of("web.1", RUNNING))
        self.asked()
        self.assertEqual(self.podman.ids(), before)

    def end_well(self, *names):
        """They end while no agent is there."""
        self.worker.kill()
        self.podman.end(*names)
        self.wait_until(lambda: not any(process for name, _, _, process, _ in self.podman.containers() if name in names), "they end")

    def test_hello_reuse(self):
        self.running("web.1")
        before = self.podman.ids()
        self.end_well("web")
        self.drive_again(self.added("web.1"))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("start web.1")
        self.assertEqual(self.podman.ids(), before)

    def test_hello_reuse_waits(self):
        self.running("web.1")
        before = self.podman.ids()
        self.end_well("web")
        self.drive_again(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", WAITS))
        self.asked()
        self.tell(db_1="Running(Ok)")
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("start web.1")
        self.assertEqual(self.podman.ids(), before)

    # [stest->swdd~agent-existing-workloads-replace-updated~2]
    def test_hello_replace_other(self):
        self.running("web.1")
        self.drive_again(self.added("web.2"))
        self.expect(*of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    # [stest->swdd~agent-existing-workloads-replace-updated~2]
    def test_hello_replace_failed(self):
        self.running("web.1")
        self.podman.kill("web")
        self.expect(*of("web.1", KILLED))
        self.drive_again(self.added("web.1"))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")

    def test_hello_replace_waits(self):
        self.running("web.1")
        self.drive_again(self.added("web.2", after={"db": "RUNNING"}))
        self.expect(*of("web.2", WAITS))
        self.wait_until(lambda: self.podman.containers() == [], "the old one goes")
        self.asked("stop web.1", "rm web.1")
        self.tell(db_1="Running(Ok)")
        self.expect(*of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub wait")

    def test_hello_unneeded(self):
        self.running("web.1")
        self.drive_again()
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def test_hello_unneeded_managed(self):
        self.running("web.1", "db.1")
        self.server_hello(self.added("db.1"))
        self.expect(*of("db.1", RUNNING), *of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def test_hello_other_runtime(self):
        self.running("web.1")
        self.drive_again(self.added("web.1", runtime=UNKNOWN))
        self.expect(*of("web.1", STARTING, UNSUPPORTED))
        self.wait_until(lambda: self.podman.containers() == [], "the other one goes")
        self.asked("stop web.1", "rm web.1")

    def test_hello_create(self):
        self.drive(self.added("web.1"))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    def test_hello_changed_managed(self):
        self.nowhere("web.1")
        self.server_hello(self.added("web.2", runtime=UNKNOWN))
        self.expect(*of("web.1", "Pending(StartingFailed) Unsupported Runtime", STOPPING, REMOVED), *of("web.2", STARTING, UNSUPPORTED))

    def test_hello_unneeded_waiting(self):
        self.drive(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", WAITS))
        self.server_hello()
        self.expect(*of("web.1", REMOVED))
        self.tell(db_1="Running(Ok)")
        self.expect()
        self.asked()

    def test_hello_unneeded_retrying(self):
        self.podman.fail("run", "no luck")
        self.drive(self.added("web.1"))
        self.seen(f"web.1 {retry(1)}")
        self.server_hello()
        self.expect_retries("web.1", STOPPING, REMOVED)
        self.asked_only("run web.1 stub wait")

    def test_hello_name_twice(self):
        self.drive(self.added("web.1"), self.added("web.2", "other"))
        self.expect(*of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub other")

    def test_hello_several(self):
        self.running("resumed.1", "reused.1", "replaced.1", "unneeded.1")
        before = self.podman.ids()
        self.end_well("reused")
        self.drive_again(*[self.added(each) for each in ("resumed.1", "reused.1", "replaced.2", "created.1")],
                         self.added("waiting.1", after={"db": "RUNNING"}))
        self.expect_each(*of("resumed.1", RUNNING), *of("reused.1", STARTING, RUNNING), *of("replaced.2", STARTING, RUNNING),
                         *of("unneeded.1", STOPPING, REMOVED), *of("created.1", STARTING, RUNNING), *of("waiting.1", WAITS))
        self.asked_in_any_order("start reused.1", "stop replaced.1", "rm replaced.1", "run replaced.2 stub wait", "stop unneeded.1",
                                "rm unneeded.1", "run created.1 stub wait")
        after = self.podman.ids()
        self.assertEqual((after["resumed"], after["reused"]), (before["resumed"], before["reused"]))

    def test_hello_after_reconnect(self):
        listed = [self.added("web.1", rules=RULES), self.added("db.1")]
        self.drive(*listed)
        self.expect_each(*of("web.1", STARTING, RUNNING), *of("db.1", STARTING, RUNNING))
        pipes = Pipes(self, self.home("web.1") / "control_interface")
        pipes.say(hello())
        self.assertEqual(pipes.hear(), ACCEPTED)
        before = self.podman.ids()
        self.podman.calls()
        self.stock.say({"to": self.name, "end": True})
        self.connected()
        self.expect_each(*of("web.1", RUNNING), *of("db.1", RUNNING))
        pipes.say(state_request("7", "desiredState"))
        self.take("request")
        self.podman.kill("web")
        self.expect(*of("web.1", KILLED))
        self.asked()
        self.assertEqual(self.podman.ids(), before)

    def test_hello_after_the_end(self):
        listed = [self.added("good.1"), self.added("bad.1"), self.added("odd.1", runtime=UNKNOWN)]
        self.drive(*listed)
        self.expect_each(*of("good.1", STARTING, RUNNING), *of("bad.1", STARTING, RUNNING), *of("odd.1", STARTING, UNSUPPORTED))
        self.podman.end("good")
        self.expect(*of("good.1", SUCCEEDED))
        self.podman.kill("bad")
        self.expect(*of("bad.1", KILLED))
        self.podman.calls()
        self.server_hello(*listed)
        self.expect_each(*of("good.1", SUCCEEDED), *of("bad.1", KILLED), *of("odd.1", UNSUPPORTED))
        self.asked()

    # --- UpdateWorkload ---

    def test_update_add(self):
        self.running("web.1")
        self.add(self.added("db.1"))
        self.expect(*of("db.1", STARTING, RUNNING))
        self.asked("run db.1 stub wait")

    def test_update_delete(self):
        self.running("web.1", "db.1")
        self.delete(self.deleted("db.1"))
        self.expect(*of("db.1", STOPPING, REMOVED))
        self.asked("stop db.1", "rm db.1")

    def test_update_change(self):
        self.running("web.1")
        self.add(self.added("web.2"), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    def test_update_same_id(self):
        self.running("web.1")
        before = self.podman.ids()
        self.add(self.added("web.1"), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED, STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")
        self.assertNotEqual(self.podman.ids(), before)

    def test_update_different_names(self):
        self.nowhere("zoo.1")
        self.add(self.added("ant.1", runtime=UNKNOWN), without=[self.deleted("zoo.1")])
        self.expect(*of("zoo.1", STOPPING, REMOVED), *of("ant.1", STARTING, UNSUPPORTED))

    def test_update_add_known(self):
        self.running("web.1")
        self.add(self.added("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED, STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")
        self.logged("Added workload 'web' already exists. Updating without considering delete dependencies.")

    def test_update_add_known_other(self):
        self.running("web.1")
        self.add(self.added("web.2"))
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")
        self.logged("Added workload 'web' already exists. Updating without considering delete dependencies.")

    def test_update_delete_unknown(self):
        self.drive()
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", REMOVED))
        self.asked()

    def test_update_name_twice(self):
        self.drive()
        self.add(self.added("web.1"), self.added("web.2", "other"))
        self.expect(*of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub other")

    # --- executing what is ready ---

    def test_execute_create(self):
        self.drive()
        self.add(self.added("web.1"), self.added("odd.1", runtime=UNKNOWN))
        self.expect_each(*of("web.1", STARTING, RUNNING), *of("odd.1", STARTING, UNSUPPORTED))
        self.asked("run web.1 stub wait")

    def test_execute_update(self):
        self.running("web.1", restart="ALWAYS")
        self.add(self.added("web.2", "other", restart="NEVER"), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub other")
        self.podman.end("web")      # the policy is the new one's
        self.expect(*of("web.2", SUCCEEDED))
        self.asked()

    def test_execute_update_unknown(self):
        self.drive()
        self.add(self.added("web.2"), without=[self.deleted("web.1")])
        self.expect(*of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub wait")

    def test_execute_delete_only(self):
        self.running("web.1")
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1")])
        self.expect(*of("web.2", WAITS), *of("web.1", STOPPING, REMOVED))
        self.assertEqual(self.podman.containers(), [])
        self.asked("stop web.1", "rm web.1")

    def test_execute_delete_only_unknown(self):
        self.drive()
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1")])
        self.expect(*of("web.2", WAITS))
        self.asked()

    def test_execute_delete(self):
        self.running("web.1", restart="ALWAYS")
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def test_execute_delete_unknown(self):
        self.running("web.1")
        self.delete(self.deleted("web.1"), self.deleted("db.1"))
        self.expect_each(*of("web.1", STOPPING, REMOVED), *of("db.1", REMOVED))
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", REMOVED))
        self.asked("stop web.1", "rm web.1")

    # --- unknown or disabled runtime ---

    def test_runtime_unknown(self):
        self.drive(self.added("web.1", runtime=UNKNOWN))
        self.expect(*of("web.1", STARTING, UNSUPPORTED))
        self.asked()

    def test_runtime_disabled(self):
        self.drive(self.added("web.1", runtime="containerd"), self.added("pod.1", runtime="podman-kube"))
        self.expect_each(*of("web.1", STARTING, UNSUPPORTED), *of("pod.1", STARTING, UNSUPPORTED))
        self.asked()

    def test_runtime_changed(self):
        self.running("web.1")
        self.add(self.added("web.2", runtime=UNKNOWN), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED),
                    *of("web.2", STARTING, f"Pending(StartingFailed) Received a workload for the wrong runtime: '{UNKNOWN}'"))
        self.asked("stop web.1", "rm web.1")

    def test_runtime_changed_from_unknown(self):
        self.nowhere("web.1")
        self.add(self.added("web.2"), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED),
                    *of("web.2", STARTING, "Pending(StartingFailed) Received a manifest for the wrong runtime: 'podman'"))
        self.asked()

    def test_runtime_deleted_and_added(self):
        self.nowhere("web.1")
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.add(self.added("web.2"))
        self.expect(*of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub wait")

    def test_runtime_unknown_delete(self):
        self.nowhere("web.1")
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked()

    def test_runtime_unknown_logs(self):
        self.nowhere("web.1")
        self.ask_for_logs("cli@1", "web.1")
        self.assertEqual(self.take("logsStopResponse", "cli@1")["logsStopResponse"], {"workloadName": self.instance("web.1")})
        self.server_hello(self.added("web.1", runtime=UNKNOWN))
        self.expect(*of("web.1", UNSUPPORTED))
        self.asked()

    # --- conditions ---

    def test_add_conditions(self):
        fulfilled = {("RUNNING", "Running(Ok)"), ("SUCCEEDED", "Succeeded(Ok)"), ("FAILED", "Failed(ExecFailed)")}
        cases = {f"w{number}": case for number, case in enumerate((condition, state) for condition in ("RUNNING", "SUCCEEDED", "FAILED")
                                                                 for state in STATES)}
        self.drive()
        self.tell(**{f"of-{name}_1": state for name, (_, state) in cases.items()})
        self.add(*[self.added(f"{name}.1", after={f"of-{name}": condition}, runtime=UNKNOWN) for name, (condition, _) in cases.items()])
        wanted = [report for name, case in cases.items()
                  for report in of(f"{name}.1", *([STARTING, UNSUPPORTED] if case in fulfilled else [WAITS]))]
        self.expect_each(*wanted)

    def test_add_condition_nothing_known(self):
        self.drive(*[self.added(f"{condition.lower()}.1", after={"db": condition}) for condition in ("RUNNING", "SUCCEEDED", "FAILED")])
        self.expect_each(*of("running.1", WAITS), *of("succeeded.1", WAITS), *of("failed.1", WAITS))
        self.asked()

    def test_add_condition_any_instance(self):
        self.drive()
        self.tell(db_1="Failed(ExecFailed)", db_2="Running(Ok)")
        self.tell(agent="third", db_1="Pending(Starting)")
        self.add(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    def test_add_condition_all(self):
        self.drive(self.added("web.1", after={"db": "RUNNING", "init": "SUCCEEDED", "old": "FAILED"}))
        self.expect(*of("web.1", WAITS))
        for state in {"db_1": "Running(Ok)"}, {"init_1": "Succeeded(Ok)"}:
            self.tell(**state)
            self.expect()
        self.asked()
        self.tell(old_1="Failed(ExecFailed)")
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    def test_delete_conditions(self):
        # A state "Removed" leaves nothing known.
        fulfilled = {"RUNNING": {"Running(Ok)", "Pending(WaitingToStart)", "Removed"},
                     "NOT_PENDING_NOR_RUNNING": {state for state in STATES if not state.startswith("Pending") and state != "Running(Ok)"} |
                                                {"Pending(WaitingToStart)"}}
        cases = {f"w{number}": case for number, case in enumerate((condition, state) for condition in fulfilled for state in STATES)}
        self.nowhere(*[f"{name}.1" for name in cases])
        self.tell(**{f"of-{name}_1": state for name, (_, state) in cases.items()})
        self.delete(*[self.deleted(f"{name}.1", **{f"of-{name}": condition}) for name, (condition, _) in cases.items()])
        wanted = [report for name, (condition, state) in cases.items()
                  for report in of(f"{name}.1", *([STOPPING, REMOVED] if state in fulfilled[condition] else [WAITS_TO_STOP]))]
        self.expect_each(*wanted)

    def test_delete_condition_nothing_known(self):
        self.running("web.1", "db.1")
        self.delete(self.deleted("web.1", nobody="RUNNING"), self.deleted("db.1", nobody="NOT_PENDING_NOR_RUNNING"))
        self.expect_each(*of("web.1", STOPPING, REMOVED), *of("db.1", STOPPING, REMOVED))
        self.asked_in_any_order("stop web.1", "rm web.1", "stop db.1", "rm db.1")

    def test_delete_condition_every_instance(self):
        self.running("db.1")
        self.tell(web_1="Succeeded(Ok)", web_2="Running(Ok)")
        self.tell(agent="third", web_1="Failed(Lost)")
        self.delete(self.deleted("db.1", web="NOT_PENDING_NOR_RUNNING"))
        self.expect(*of("db.1", WAITS_TO_STOP))
        self.asked()
        self.tell(web_2="Removed")
        self.expect(*of("db.1", STOPPING, REMOVED))
        self.asked("stop db.1", "rm db.1")

    def test_delete_condition_all(self):
        self.running("db.1")
        self.tell(web_1="Running(Ok)", app_1="Pending(Initial)")
        self.delete(self.deleted("db.1", web="NOT_PENDING_NOR_RUNNING", app="RUNNING"))
        self.expect(*of("db.1", WAITS_TO_STOP))
        self.tell(app_1="Running(Ok)")
        self.expect()
        self.asked()
        self.tell(web_1="Failed(ExecFailed)")
        self.expect(*of("db.1", STOPPING, REMOVED))
        self.asked("stop db.1", "rm db.1")

    # --- queue ---

    def test_queue_create_ready(self):
        self.drive()
        self.tell(db_1="Running(Ok)")
        self.add(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    # [stest->swdd~agent-enqueues-unfulfilled-create~1]
    def test_queue_create_waits(self):
        self.drive()
        self.add(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", WAITS))
        self.asked()
        self.tell(db_1="Pending(Starting)")     # looked at again, not reported again
        self.expect()
        self.tell(db_1="Running(Ok)")
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    def test_queue_create_said_again(self):
        self.waiting()
        self.server_hello(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", WAITS))
        self.tell(db_1="Running(Ok)")
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    def test_queue_update_ready(self):
        self.running("web.1")
        self.tell(db_1="Running(Ok)")
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    # [stest->swdd~agent-handles-update-with-fulfilled-delete~1]
    def test_queue_update_split(self):
        self.running("web.1")
        self.tell(db_1="Running(Ok)", user_1="Succeeded(Ok)")
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING")])
        self.expect(*of("web.2", WAITS), *of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    # [stest->swdd~agent-handles-update-with-fulfilled-delete~1]
    def test_queue_update_create_waits(self):
        self.running("web.1")
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING")])
        self.expect(*of("web.2", WAITS), *of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")
        self.tell(user_1="Running(Ok)")         # what it takes to stop does not count any more
        self.expect()
        self.tell(db_1="Running(Ok)")
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub wait")

    # [stest->swdd~agent-enqueues-update-with-unfulfilled-delete~1]
    def test_queue_update_delete_waits(self):
        self.running("web.1")
        self.tell(user_1="Running(Ok)")
        self.add(self.added("web.2"), without=[self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING")])
        self.expect(*of("web.1", WAITS_TO_STOP))
        self.tell(user_1="Pending(Starting)")
        self.expect()
        self.asked()
        self.tell(user_1="Succeeded(Ok)")
        self.expect(*of("web.2", WAITS), *of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    def test_queue_update_waits_twice(self):
        self.running("web.1")
        self.tell(user_1="Running(Ok)")
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING")])
        self.expect(*of("web.1", WAITS_TO_STOP))
        self.tell(user_1="Removed")
        self.expect(*of("web.2", WAITS), *of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")
        self.tell(db_1="Running(Ok)")
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub wait")

    def test_queue_delete_ready(self):
        self.running("web.1")
        self.tell(user_1="Succeeded(Ok)")
        self.delete(self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    # [stest->swdd~agent-enqueues-unfulfilled-delete~1]
    def test_queue_delete_waits(self):
        self.running("web.1")
        self.tell(user_1="Running(Ok)")
        self.delete(self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING"))
        self.expect(*of("web.1", WAITS_TO_STOP))
        self.tell(user_1="Pending(Starting)")
        self.expect()
        self.asked()
        self.tell(user_1="Removed")
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def waiting(self):
        """web.1 waits for db."""
        self.drive(self.added("web.1", after={"db": "RUNNING"}))
        self.expect(*of("web.1", WAITS))

    def nothing_fires(self):
        """What waited is forgotten."""
        self.tell(db_1="Running(Ok)", user_1="Removed")
        self.expect()
        self.asked()

    def test_queue_delete_said_again(self):
        self.waiting_to_stop()
        self.delete(self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING"))
        self.expect(*of("web.1", WAITS_TO_STOP))
        self.asked()
        self.tell(user_1="Removed")
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def test_queue_create_then_delete(self):
        self.waiting()
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", REMOVED))
        self.nothing_fires()

    def test_queue_create_then_create(self):
        self.waiting()
        self.add(self.added("web.2"))
        self.expect(*of("web.1", REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub wait")
        self.nothing_fires()

    def test_queue_create_then_waiting_create(self):
        self.waiting()
        self.add(self.added("web.2", "other", after={"cache": "RUNNING"}))
        self.expect(*of("web.1", REMOVED), *of("web.2", WAITS))
        self.nothing_fires()
        self.tell(cache_1="Running(Ok)")
        self.expect(*of("web.2", STARTING, RUNNING))
        self.asked("run web.2 stub other")

    def waiting_to_stop(self):
        """web.1 runs and waits for user."""
        self.running("web.1")
        self.tell(user_1="Running(Ok)")
        self.delete(self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING"))
        self.expect(*of("web.1", WAITS_TO_STOP))

    def test_queue_delete_then_add(self):
        self.waiting_to_stop()
        self.add(self.added("web.2"))
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")
        self.nothing_fires()

    def test_queue_delete_then_delete(self):
        self.waiting_to_stop()
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")
        self.nothing_fires()

    def test_queue_delete_then_hello(self):
        self.waiting_to_stop()
        self.server_hello(self.added("web.1"))
        self.expect(*of("web.1", RUNNING))
        self.nothing_fires()

    def test_queue_delete_then_hello_without(self):
        self.waiting_to_stop()
        self.server_hello()
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")
        self.nothing_fires()

    def test_queue_update_create_then_delete(self):
        self.running("web.1")
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1")])
        self.expect(*of("web.2", WAITS), *of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")
        self.delete(self.deleted("web.2"))
        self.expect(*of("web.2", REMOVED), *of("web.1", STOPPING, REMOVED))
        self.nothing_fires()

    def test_queue_update_delete_then_delete(self):
        self.running("web.1")
        self.tell(user_1="Running(Ok)")
        self.add(self.added("web.2"), without=[self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING")])
        self.expect(*of("web.1", WAITS_TO_STOP))
        self.delete(self.deleted("web.2"))
        self.expect_each(*of("web.2", REMOVED), *of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")
        self.nothing_fires()

    def test_queue_delete_hides_states(self):
        self.waiting_to_stop()
        self.podman.end("web")
        self.expect(*of("web.1", WAITS_TO_STOP))
        self.tell(user_1="Removed")
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def test_queue_delete_and_policy(self):
        self.running("web.1", restart="ON_FAILURE")
        self.tell(user_1="Running(Ok)")
        self.delete(self.deleted("web.1", user="NOT_PENDING_NOR_RUNNING"))
        self.expect(*of("web.1", WAITS_TO_STOP))
        self.podman.kill("web")
        self.expect(*of("web.1", WAITS_TO_STOP, STOPPING, REMOVED, STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")
        self.tell(user_1="Removed")
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def test_queue_many(self):
        instances = [f"w{number}.1" for number in range(100)]
        self.drive(*[self.added(each, after={"db": "RUNNING"}, runtime=UNKNOWN) for each in instances])
        self.expect_each(*[report for each in instances for report in of(each, WAITS)])
        self.tell(db_1="Running(Ok)")
        self.expect_each(*[report for each in instances for report in of(each, STARTING, UNSUPPORTED)])

    # --- what waits is looked at again ---

    def test_again_after_hello(self):
        self.drive(self.added("web.1", after={"db": "SUCCEEDED"}), self.added("db.1"))
        self.expect(*of("web.1", WAITS), *of("db.1", STARTING, RUNNING))
        self.server_hello(self.added("web.1", after={"db": "RUNNING"}), self.added("db.1"))
        self.expect_each(*of("db.1", RUNNING), *of("web.1", STARTING, RUNNING))
        self.asked("run db.1 stub wait", "run web.1 stub wait")

    def test_again_after_update(self):
        self.running("db.1")
        self.add(self.added("web.1", after={"new": "FAILED"}), self.added("app.1", after={"db": "RUNNING"}))
        self.expect_each(*of("web.1", WAITS), *of("app.1", STARTING, RUNNING))
        self.delete(self.deleted("db.1", app="NOT_PENDING_NOR_RUNNING"), self.deleted("app.1"))
        self.expect_each(*of("db.1", WAITS_TO_STOP, STOPPING, REMOVED), *of("app.1", STOPPING, REMOVED))
        self.asked_in_any_order("run app.1 stub wait", "stop app.1", "rm app.1", "stop db.1", "rm db.1")

    # [stest->swdd~agent-handles-workloads-with-fulfilled-dependencies~1]
    def test_again_after_states(self):
        self.running("db.1")
        self.tell(user_1="Running(Ok)")
        self.add(self.added("web.1", after={"user": "SUCCEEDED"}), without=[self.deleted("db.1", user="NOT_PENDING_NOR_RUNNING")])
        self.expect_each(*of("web.1", WAITS), *of("db.1", WAITS_TO_STOP))
        self.tell(user_1="Succeeded(Ok)")
        self.expect_each(*of("web.1", STARTING, RUNNING), *of("db.1", STOPPING, REMOVED))
        self.asked_in_any_order("run web.1 stub wait", "stop db.1", "rm db.1")

    # [stest->swdd~agent-handles-workloads-with-fulfilled-dependencies~1]
    def test_again_after_own_report(self):
        self.drive(self.added("db.1"), self.added("web.1", after={"db": "RUNNING"}), self.added("next.1", after={"web": "SUCCEEDED"}))
        self.expect(*of("next.1", WAITS), *of("web.1", WAITS), *of("db.1", STARTING, RUNNING), *of("web.1", STARTING, RUNNING))
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED), *of("next.1", STARTING, RUNNING))
        self.asked("run db.1 stub wait", "run web.1 stub wait", "run next.1 stub wait")

    def test_again_not_for_restarts(self):
        self.drive()
        self.tell(db_1="Running(Ok)")
        self.add(self.added("web.1", after={"db": "RUNNING"}, restart="ON_FAILURE"))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.tell(db_1="Failed(ExecFailed)")
        self.podman.kill("web")
        self.expect(*of("web.1", KILLED, STOPPING, REMOVED, STARTING, RUNNING))
        self.asked("run web.1 stub wait", "stop web.1", "rm web.1", "run web.1 stub wait")

    def test_again_not_for_retries(self):
        self.podman.fail("run", "no luck")
        self.drive()
        self.tell(db_1="Running(Ok)")
        self.add(self.added("web.1", after={"db": "RUNNING"}))
        self.seen(f"web.1 {retry(1)}")
        self.tell(db_1="Failed(ExecFailed)")
        self.fence()
        self.podman.succeed()
        self.expect_retries("web.1", RUNNING)
        self.asked_only("run web.1 stub wait")

    # --- facade ---

    def test_facade_create(self):
        self.podman.pause_at("run:begin")
        self.drive(self.added("web.1", rules=RULES))
        self.wait_until(self.podman.reached, "podman is asked to run it")
        self.assertEqual(sorted(path.name for path in (self.home("web.1") / "control_interface").iterdir()), ["input", "output"])
        self.podman.go_on()
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    def test_facade_create_without_interface(self):
        self.drive()
        self.fence()
        path = self.home("web.1") / "control_interface"
        path.mkdir(parents=True)
        (path / "input").touch()
        self.add(self.added("web.1", rules=RULES))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")
        self.assertFalse(path.exists())

    def test_facade_resume(self):
        self.running("web.1", rules=RULES)
        self.drive_again(self.added("web.1", rules=RULES))
        self.expect(*of("web.1", RUNNING))
        pipes = Pipes(self, self.home("web.1") / "control_interface")
        pipes.say(hello())
        self.assertEqual(pipes.hear(), ACCEPTED)
        self.asked()

    def test_facade_delete(self):
        self.running("web.1", files=[{"mountPoint": "/a", "data": "a"}])
        self.assertTrue(self.home("web.1").exists())
        self.drive_again()
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")
        self.assertFalse(self.home("web.1").exists())

    def test_facade_delete_fails(self):
        self.running("web.1")
        self.podman.fail("stop", "no luck")
        self.drive_again()
        self.expect(*of("web.1", STOPPING, "Stopping(DeleteFailed) Error: no luck"))
        self.asked("stop web.1")
        self.podman.succeed()
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    # --- workload object ---

    def connected_workload(self):
        self.running("web.1", rules=RULES)
        pipes = Pipes(self, self.home("web.1") / "control_interface")
        pipes.say(hello())
        self.assertEqual(pipes.hear(), ACCEPTED)
        return pipes

    def test_object_interface_stays(self):
        pipes = self.connected_workload()
        self.add(self.added("web.1", "other", rules=RULES))
        self.expect(*of("web.1", STOPPING, REMOVED, STARTING, RUNNING))
        pipes.say(state_request("7", "desiredState"))
        self.assertEqual(self.take("request")["requestId"], "web@7")
        self.asked("stop web.1", "rm web.1", "run web.1 stub other")

    def test_object_interface_changed(self):
        pipes = self.connected_workload()
        self.add(self.added("web.2", rules=RULES), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.assertFalse(self.home("web.1").exists())
        self.assertFalse(pipes.is_heard())
        fresh = Pipes(self, self.home("web.2") / "control_interface")
        fresh.say(hello())
        self.assertEqual(fresh.hear(), ACCEPTED)
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    def test_object_interface_rules(self):
        pipes = self.connected_workload()
        self.add(self.added("web.1", rules={"allowRules": [{"logRule": {"workloadNames": ["*"]}}]}))
        self.expect(*of("web.1", STOPPING, REMOVED, STARTING, RUNNING))
        self.assertFalse(pipes.is_heard())
        fresh = Pipes(self, self.home("web.1") / "control_interface")
        fresh.say(hello(), state_request("7", "desiredState"))
        self.assertEqual([fresh.hear(), fresh.hear()], [ACCEPTED, denied("7")])
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")

    def test_object_interface_goes(self):
        pipes = self.connected_workload()
        self.add(self.added("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED, STARTING, RUNNING))
        self.assertFalse((self.home("web.1") / "control_interface").exists())
        self.assertFalse(pipes.is_heard())
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")

    def test_object_delete(self):
        pipes = self.connected_workload()
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.assertFalse(self.home("web.1").exists())
        self.assertFalse(pipes.is_heard())
        self.asked("stop web.1", "rm web.1")

    def test_object_response_without_interface(self):
        self.running("web.1")
        for ident in "web@7", "nobody@7", "@7", "7":
            self.say(response={"requestId": ident, "error": {"message": "lost"}})
        self.expect()
        self.assertFalse(self.home("web.1").exists())

    def test_object_logs_while_busy(self):
        self.podman.pause_at("run:begin")
        self.drive(self.added("web.1"))
        self.expect(*of("web.1", STARTING))
        self.wait_until(self.podman.reached, "podman is asked to run it")
        self.ask_for_logs("cli@1", "web.1")
        self.take("logsStopResponse", "cli@1")
        self.podman.go_on()
        self.expect(*of("web.1", RUNNING))
        self.asked("run web.1 stub wait")

    # --- control loop ---

    def test_loop_one_at_a_time(self):
        self.podman.pause_at("run:begin")
        self.drive(self.added("web.1"))
        self.wait_until(self.podman.reached, "podman is asked to run it")
        self.add(self.added("web.2"), without=[self.deleted("web.1")])
        self.add(self.added("web.3"), without=[self.deleted("web.2")])
        self.expect(*of("web.1", STARTING), *of("web.2", REMOVED))
        self.podman.go_on()
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.3", STARTING, RUNNING))
        self.asked("run web.1 stub wait", "stop web.1", "rm web.1", "run web.3 stub wait")

    def test_loop_stale_reports(self):
        self.running("web.1", restart="ALWAYS")
        self.podman.pause_at("stop:signalled")
        self.add(self.added("web.2", restart="ALWAYS"), without=[self.deleted("web.1")])
        self.wait_until(self.podman.reached, "the container has ended")
        self.expect(*of("web.1", STOPPING))
        self.podman.go_on()
        self.expect(*of("web.1", REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    # --- create ---

    def test_create_files(self):
        self.podman.pause_at("run:begin")
        self.drive(self.added("web.1", files=[{"mountPoint": "/etc/a", "data": "text"}, {"mountPoint": "/etc/b", "binaryData": "AAE="}]))
        self.wait_until(self.podman.reached, "podman is asked to run it")
        self.assertEqual((self.home("web.1") / "files/etc/a").read_bytes(), b"text")
        self.assertEqual((self.home("web.1") / "files/etc/b").read_bytes(), b"\0\1")
        self.podman.go_on()
        self.expect(*of("web.1", STARTING, RUNNING))
        self.asked("run web.1 stub wait")

    def test_create_bad_files(self):
        self.drive(self.added("web.1", files=[{"mountPoint": "/etc/a", "data": "text"}, {"mountPoint": "/etc/b", "binaryData": "A*E="}]))
        first, second = self.received(2)
        self.assertEqual(first, f"web.1 {STARTING}")
        self.assertRegex(second, r"^web\.1 Pending\(StartingFailed\) Failed to create workload file: '.*'$")
        self.assertFalse((self.home("web.1") / "files").exists())
        self.asked()

    def test_create_watched(self):
        self.drive(self.added("web.1"))
        self.expect(*of("web.1", STARTING, RUNNING))
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED))
        self.asked("run web.1 stub wait")

    def test_create_bad_config(self):
        broken = self.added("web.1")
        broken["workload"]["runtimeConfig"] = "commandArgs: []"
        self.drive(broken)
        first, second = self.received(2)
        self.assertEqual(first, f"web.1 {STARTING}")
        self.assertRegex(second, r"^web\.1 Pending\(StartingFailed\) .*missing field `image`")
        self.asked()

    def test_create_fails(self):
        self.podman.fail("run", "no luck")
        self.drive(self.added("web.1", files=[{"mountPoint": "/a", "data": "a"}]))
        self.seen(f"web.1 {retry(1)}")
        self.wait_until(lambda: not (self.home("web.1") / "files").exists(), "there are no files between two tries")
        self.podman.succeed()
        self.expect_retries("web.1", RUNNING)
        self.assertTrue((self.home("web.1") / "files/a").exists())
        self.asked_only("run web.1 stub wait")

    # --- retry ---

    # [stest->swdd~agent-workload-control-loop-retries-workload-creation-on-create-failure~1]
    # [stest->swdd~agent-workload-control-loop-requests-retries-on-failing-retry-attempt~1]
    # [stest->swdd~agent-workload-control-loop-executes-retry~1]
    def test_retry_counts(self):
        self.podman.fail("run", "no luck", times=2)
        self.drive(self.added("web.1"))
        self.expect(*of("web.1", STARTING, retry(1), retry(2), RUNNING))
        self.asked(*["run web.1 stub wait"] * 3)

    def test_retry_without_end(self):
        self.podman.fail("run", "no luck", times=2)
        self.drive(self.added("web.1"), config='retries = "unlimited"')
        retries = [f"Pending(Starting) Retry {number}: Error: no luck" for number in (1, 2)]
        self.expect(*of("web.1", STARTING, *retries, RUNNING))
        self.asked(*["run web.1 stub wait"] * 3)

    # [stest->swdd~agent-workload-control-loop-limits-retry-attempts~1]
    # [stest->swdd~agent-workload-control-loop-retry-limit-set-execution-state~2]
    def test_retry_end(self):
        self.podman.fail("run", "no luck")
        self.drive(self.added("web.1"))
        self.expect(*of("web.1", STARTING, *[retry(number) for number in range(1, 21)],
                        "Pending(StartingFailed) No more retries: Error: no luck"))
        self.asked(*["run web.1 stub wait"] * 21)

    # [stest->swdd~agent-workload-control-loop-prevents-retries-on-other-workload-commands~1]
    def test_retry_then_update(self):
        self.podman.fail("run", "no luck")
        self.drive(self.added("web.1"))
        self.seen(f"web.1 {retry(1)}")
        self.add(self.added("web.2", "other"), without=[self.deleted("web.1")])
        self.expect_retries("web.1", STOPPING, REMOVED)
        self.podman.calls()
        self.seen(f"web.2 {retry(2)}")      # which comes later than one of web.1 would
        self.podman.succeed()
        self.expect_retries("web.2", RUNNING)
        self.asked_only("run web.2 stub other")

    # [stest->swdd~agent-workload-control-loop-prevents-retries-on-other-workload-commands~1]
    def test_retry_then_delete(self):
        self.podman.fail("run", "no luck")
        self.drive(self.added("web.1"), self.added("db.1"))
        self.seen(f"web.1 {retry(1)}")
        self.delete(self.deleted("web.1"))
        self.expect_retries("web.1", STOPPING, REMOVED)
        self.podman.calls()
        self.seen(f"db.1 {retry(3)}")       # which comes later than one of web would
        self.podman.succeed()
        self.expect_retries("db.1", RUNNING)
        self.asked_only("run db.1 stub wait")

    def test_retry_counted_anew(self):
        self.podman.fail("run", "no luck")
        self.drive(self.added("web.1"))
        self.seen(f"web.1 {retry(2)}")
        self.add(self.added("web.1"))
        self.expect_retries("web.1", STOPPING, REMOVED)
        self.seen(f"web.1 {retry(1)}")
        self.podman.succeed()
        self.expect_retries("web.1", RUNNING)
        self.asked_only("run web.1 stub wait")

    # --- update and delete ---

    def test_change_in_order(self):
        self.running("web.1")
        for step, reports in ("stop:begin", of("web.1", STOPPING)), ("run:begin", of("web.1", REMOVED) + of("web.2", STARTING)):
            self.podman.pause_at(step)
            if step == "stop:begin":
                self.add(self.added("web.2"), without=[self.deleted("web.1")])
            self.wait_until(self.podman.reached, f"podman is at {step}")
            self.expect(*reports)
        self.podman.go_on()
        self.expect(*of("web.2", RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    def test_change_without_container(self):
        self.nowhere("web.1")
        self.add(self.added("web.2", runtime=UNKNOWN), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, UNSUPPORTED))
        self.asked()

    def test_delete_without_container(self):
        self.podman.fail("run", "no luck")
        self.drive(self.added("web.1"))
        self.seen(f"web.1 {retry(1)}")
        self.delete(self.deleted("web.1"))
        self.expect_retries("web.1", STOPPING, REMOVED)
        self.asked_only("run web.1 stub wait")

    def test_change_delete_fails(self):
        self.running("web.1")
        self.podman.fail("stop", "no luck")
        change = {"without": [self.deleted("web.1")]}
        self.add(self.added("web.2"), **change)
        self.expect(*of("web.1", STOPPING, "Stopping(DeleteFailed) Error: no luck"))
        self.asked("stop web.1")
        self.podman.kill("web")
        self.expect(*of("web.1", KILLED))
        self.podman.succeed()
        self.add(self.added("web.2"), **change)
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.2 stub wait")

    def test_delete_fails(self):
        self.running("web.1")
        self.podman.fail("stop", "no luck")
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, "Stopping(DeleteFailed) Error: no luck"))
        self.podman.kill("web")
        self.expect(*of("web.1", KILLED))
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, "Stopping(DeleteFailed) Error: no luck"))
        self.podman.succeed()
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked(*["stop web.1"] * 3, "rm web.1")
        self.assertEqual(self.podman.containers(), [])

    def test_change_folder(self):
        self.running("web.1", files=[{"mountPoint": "/a", "data": "a"}])
        self.add(self.added("web.2", files=[{"mountPoint": "/b", "data": "b"}]), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED), *of("web.2", STARTING, RUNNING))
        self.assertFalse(self.home("web.1").exists())
        self.assertTrue((self.home("web.2") / "files/b").exists())

    def test_change_folder_stays(self):
        self.running("web.1", files=[{"mountPoint": "/a", "data": "a"}], rules=RULES)
        self.add(self.added("web.1", rules=RULES), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED, STARTING, RUNNING))
        self.assertEqual([path.name for path in self.home("web.1").iterdir()], ["control_interface"])

    def test_delete_folder(self):
        self.running("web.1", files=[{"mountPoint": "/a", "data": "a"}], rules=RULES)
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.assertFalse(self.home("web.1").exists())

    def test_change_after_delete_only(self):
        self.running("web.1")
        self.add(self.added("web.2", after={"db": "RUNNING"}), without=[self.deleted("web.1")])
        self.expect(*of("web.2", WAITS), *of("web.1", STOPPING, REMOVED))
        self.add(self.added("web.3"), without=[self.deleted("web.2")])
        self.expect(*of("web.2", REMOVED), *of("web.1", STOPPING, REMOVED), *of("web.3", STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.3 stub wait")

    # --- resume ---

    def test_resume_watched(self):
        self.running("web.1")
        self.drive_again(self.added("web.1"))
        self.expect(*of("web.1", RUNNING))
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED))
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.asked("stop web.1", "rm web.1")

    def test_resume_policy(self):
        self.running("web.1", restart="ALWAYS")
        self.drive_again(self.added("web.1", restart="ALWAYS"))
        self.expect(*of("web.1", RUNNING))
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED, STARTING, RUNNING))
        self.asked("start web.1")

    # --- restart policies ---

    def test_policy_never(self):
        self.running("web.1", "db.1", restart="NEVER")
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED))
        self.podman.kill("db")
        self.expect(*of("db.1", KILLED))
        self.asked()

    # [stest->swdd~workload-control-loop-restarts-workload-with-enabled-restart-policy~2]
    def test_policy_on_failure(self):
        self.running("web.1", restart="ON_FAILURE")
        before = self.podman.ids()
        self.podman.kill("web")
        self.expect(*of("web.1", KILLED, STOPPING, REMOVED, STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")
        self.assertNotEqual(self.podman.ids(), before)

    def test_policy_on_failure_success(self):
        self.running("web.1", restart="ON_FAILURE")
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED))
        self.asked()

    # [stest->swdd~workload-control-loop-restarts-workload-with-enabled-restart-policy~2]
    def test_policy_always_failure(self):
        self.running("web.1", restart="ALWAYS")
        before = self.podman.ids()
        self.podman.kill("web")
        self.expect(*of("web.1", KILLED, STOPPING, REMOVED, STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")
        self.assertNotEqual(self.podman.ids(), before)

    # [stest->swdd~workload-control-loop-restarts-workload-with-enabled-restart-policy~2]
    def test_policy_always_success(self):
        self.running("web.1", restart="ALWAYS")
        before = self.podman.ids()
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED, STARTING, RUNNING))
        self.asked("start web.1")
        self.assertEqual(self.podman.ids(), before)

    def lose(self, name):
        """Somebody takes the container away, and what would say how it ended."""
        ident = self.podman.ids()[name]
        process = self.podman.process(ident)
        status = pathlib.Path(f"/proc/{process}/status").read_text()
        keeper = int(re.search(r"^PPid:\s*(\d+)", status, re.MULTILINE)[1])
        shutil.rmtree(self.podman.folder / "containers" / ident)
        for each in keeper, process:
            os.kill(each, signal.SIGKILL)

    def test_policy_lost(self):
        self.running("web.1", restart="ALWAYS")
        self.lose("web")
        self.expect(*of("web.1", LOST))
        self.asked()

    def test_policy_unknown(self):
        self.podman.fail("ps", "no luck")
        self.drive(self.added("web.1", restart="ALWAYS"))
        self.expect(*of("web.1", STARTING, "Failed(Unknown) Error getting state from Podman."))
        self.podman.succeed()
        self.expect(*of("web.1", RUNNING))
        self.asked("run web.1 stub wait")

    def test_policy_delete_fails(self):
        self.running("web.1", restart="ON_FAILURE")
        self.podman.fail("stop", "no luck")
        self.podman.kill("web")
        self.expect(*of("web.1", KILLED, STOPPING, "Stopping(DeleteFailed) Error: no luck"))
        self.asked("stop web.1")
        self.podman.succeed()
        self.add(self.added("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED, STARTING, RUNNING))
        self.asked("stop web.1", "rm web.1", "run web.1 stub wait")

    def test_policy_retries(self):
        self.running("web.1", restart="ALWAYS")
        self.podman.fail("start", "no luck")
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED, STARTING, retry(1), RUNNING))
        self.asked("start web.1", "stop web.1", "rm web.1", "run web.1 stub wait")

    # --- state checker ---

    def test_checker_differences(self):
        self.running("web.1", "db.1")
        self.server_hello(self.added("web.1"), self.added("db.1"))     # lists them all again
        self.expect_each(*of("web.1", RUNNING), *of("db.1", RUNNING))
        self.podman.end("web")
        self.expect(*of("web.1", SUCCEEDED))
        self.asked()

    def test_checker_lost(self):
        self.running("web.1", "db.1")
        self.lose("web")
        self.expect(*of("web.1", LOST))
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))

    def test_checker_listing_fails(self):
        self.podman.fail("ps", "no luck")
        self.drive(self.added("web.1"))
        self.expect(*of("web.1", STARTING, "Failed(Unknown) Error getting state from Podman."))
        self.podman.succeed()
        self.expect(*of("web.1", RUNNING))
        self.asked("run web.1 stub wait")

    def test_checker_ends(self):
        self.running("web.1")
        self.delete(self.deleted("web.1"))
        self.expect(*of("web.1", STOPPING, REMOVED))
        self.add(self.added("db.1"))        # whose states are looked at from then on
        self.expect(*of("db.1", STARTING, RUNNING))
        self.podman.kill("db")
        self.expect(*of("db.1", KILLED))
        self.asked("stop web.1", "rm web.1", "run db.1 stub wait")


class StockServerRealEngine(Driven, harness.PodmanCase):
    """With podman itself."""

    RUNTIMES = 'runtimes = ["podman", "podman-kube"]'
    ENDS_WELL = "trap 'exit 0' TERM; sleep 1000 & wait"     # when it is told to

    def setUp(self):
        super().setUp()
        self.name = self.unique("stest")
        self.pod_names = []

    def remove_containers(self):
        super().remove_containers()
        for name in self.pod_names:
            podman("pod", "rm", "--force", "--time", "0", "--ignore", name)
        for volume in podman("volume", "ls", "--quiet").split():
            if f".{self.name}." in volume:
                podman("volume", "rm", volume)

    def note(self, report):
        """What podman does while it stops a container is seen, or not."""
        instance = report.split()[0]
        if self.latest.get(instance) != f"{instance} {STOPPING}" or report.endswith(REMOVED):
            super().note(report)

    def workload(self, *script, **more):
        return harness.workload(self.name, *script, **more)

    def ids(self):
        return harness.ids(self.name)

    def end_well(self, name):
        podman("kill", "--signal", "TERM", self.ids()[name])

    def test_real_list(self):
        listed = [self.added("resumed.1"), self.added("reused.1", self.ENDS_WELL)]
        self.drive(*listed, self.added("replaced.1"), self.added("unneeded.1"))
        first = ("resumed.1", "reused.1", "replaced.1", "unneeded.1")
        self.expect_each(*[report for each in first for report in of(each, STARTING, RUNNING)])
        before = self.ids()
        self.worker.kill()
        self.end_well("reused")
        podman("wait", before["reused"])

        self.drive_again(*listed, self.added("replaced.2"), self.added("created.1"))
        self.expect_each(*of("resumed.1", RUNNING), *of("reused.1", STARTING, RUNNING), *of("replaced.2", STARTING, RUNNING),
                         *of("created.1", STARTING, RUNNING), *of("unneeded.1", STOPPING, REMOVED))
        after = self.ids()
        self.assertEqual(sorted(after), ["created", "replaced", "resumed", "reused"])
        self.assertEqual({name for name in before if after.get(name) == before[name]}, {"resumed", "reused"})

        self.add(self.added("created.2", "sleep 2000"), without=[self.deleted("created.1"), self.deleted("resumed.1")])
        self.expect_each(*of("created.1", STOPPING, REMOVED), *of("created.2", STARTING, RUNNING), *of("resumed.1", STOPPING, REMOVED))
        found = harness.containers(self.name)
        self.assertEqual(sorted(found), ["created", "replaced", "reused"])
        self.assertEqual(found["created"]["Labels"]["name"], f"created.2.{self.name}")

    def test_real_policies(self):
        self.drive(self.added("never.1"), self.added("failing.1", restart="ON_FAILURE"),
                   self.added("always.1", self.ENDS_WELL, restart="ALWAYS"))
        self.expect_each(*[report for each in ("never.1", "failing.1", "always.1") for report in of(each, STARTING, RUNNING)])
        before = self.ids()
        podman("kill", before["never"], before["failing"])
        self.end_well("always")
        self.expect_each(*of("never.1", KILLED), *of("failing.1", KILLED, STOPPING, REMOVED, STARTING, RUNNING),
                         *of("always.1", SUCCEEDED, STARTING, RUNNING))
        after = self.ids()
        self.assertEqual((after["never"], after["always"]), (before["never"], before["always"]))
        self.assertNotEqual(after["failing"], before["failing"])

    def test_real_kube(self):
        self.pod_names.append(self.unique("pod").replace("_", "-"))
        listed = self.added("web.1", runtime="podman-kube")
        listed["workload"]["runtimeConfig"] = yaml.safe_dump({"manifest": yaml.safe_dump(pod(self.pod_names[0], self.ENDS_WELL))})
        self.drive(listed)
        self.expect(*of("web.1", STARTING, RUNNING))
        container = f"{self.pod_names[0]}-c0"
        before = podman("inspect", "--format={{.Id}}", container)
        self.worker.kill()
        podman("kill", "--signal", "TERM", container)
        podman("wait", container)
        self.drive_again(listed)
        self.expect(*of("web.1", STARTING, RUNNING))
        self.assertNotEqual(podman("inspect", "--format={{.Id}}", container), before)

        self.add(self.added("web.2"), without=[self.deleted("web.1")])
        self.expect(*of("web.1", STOPPING, REMOVED),
                    *of("web.2", STARTING, "Pending(StartingFailed) Received a manifest for the wrong runtime: 'podman'"))
        self.assertEqual(podman("ps", "--all", "--quiet", "--filter", f"name={container}"), "")

    def test_real_logs(self):
        self.drive(self.added("web.1", "echo one; echo two; echo three; sleep 1000"))
        self.expect(*of("web.1", STARTING, RUNNING))

        def lines(ident, count):
            found = []
            while len(found) < count:
                found += [entry["message"] for entry in self.take("logEntriesResponse", ident)["logEntriesResponse"]["logEntries"]]
            return found

        self.ask_for_logs("cli@1", "web.1", follow=True)
        self.assertEqual(lines("cli@1", 3), ["one", "two", "three"])
        self.ask_for_logs("cli@2", "web.1", tail=2)
        self.assertEqual(lines("cli@2", 2), ["two", "three"])
        self.take("logsStopResponse", "cli@2")
        self.say(logsCancelRequest={"requestId": "cli@1"})
        self.wait_until(lambda: not log_readers(self.worker), "nobody reads any more")
        self.assertEqual(self.messages, [])


class StockServerTable(unittest.TestCase):
    def test_every_flow_has_a_test(self):
        named = [f"test_{name}" for rows in FLOWS.values() for name in rows.values()]
        found = [name for case in (StockServerFlows, StockServerRealEngine) for name in unittest.TestLoader().getTestCaseNames(case)]
        self.assertEqual(sorted(named), sorted(found))


if __name__ == "__main__":
    unittest.main()
