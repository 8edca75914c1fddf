"""Servers that answer what a stock server does not: errors, streams that end, other ids, other kinds of answers. The beginning of
a case's name says which of them it met.
"""

import asyncio
import contextlib

import grpc
from scripted_server import MESSAGES, from_json

SLOW_S = 1.5


class Ended(Exception):
    """The server ends the stream, well or with a code."""

    def __init__(self, code=grpc.StatusCode.OK, message=""):
        super().__init__(message)
        self.code = code


class Visit:
    """One commander's stream."""

    def __init__(self, context):
        self.context = context

    async def say(self, **content):
        await self.context.write(from_json("grpc_api.FromServer", content))

    async def answer(self, request, ident=None, **content):
        await self.say(response={"requestId": ident or request.requestId, **content})


class Script:
    """Each may be another function of a visit and a request; what is not given is not answered."""

    def __init__(self, state=None, update=None, logs=None, hello=None, has_headers=True):
        self.handlers = {"completeStateRequest": state, "updateStateRequest": update, "logsRequest": logs}
        self.hello = hello
        self.has_headers = has_headers

    async def perform(self, visit, messages):
        await anext(messages)       # the hello
        if self.has_headers:
            await visit.context.send_initial_metadata(())
        if self.hello:
            await self.hello(visit)
        async for message in messages:
            if message.HasField("goodbye"):
                return
            handler = self.handlers.get(message.request.WhichOneof("RequestContent"))
            if handler:
                await handler(visit, message.request)


class Server:
    def __init__(self, case_name):
        self.make_script = script_of(case_name)
        self.server = grpc.aio.server()
        handler = grpc.stream_stream_rpc_method_handler(self.connect, MESSAGES["grpc_api.ToServer"].FromString,
                                                        lambda message: message.SerializeToString())
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc_api.CliConnection", {"ConnectCli": handler}),))
        self.port = self.server.add_insecure_port("127.0.0.1:0")

    async def start(self):
        """Answers at once from then on: the first connection of all takes long."""
        await self.server.start()
        async with grpc.aio.insecure_channel(f"127.0.0.1:{self.port}") as channel:
            await channel.channel_ready()

    async def stop(self):
        await self.server.stop(None)

    async def connect(self, messages, context):
        with contextlib.suppress(asyncio.CancelledError):       # a commander that has gone
            try:
                await self.make_script().perform(Visit(context), messages)
            except Ended as end:
                if end.code != grpc.StatusCode.OK:
                    await context.abort(end.code, str(end))


# --- what they say --------------------------------------------------------------------------------------------------

def execution(kind, word, info=""):
    return {kind: word, "additionalInfo": info}


RUNNING = execution("running", "RUNNING_OK")


def states(by_agent):
    """{agent: {workload: (id, state)}}"""
    return {"agentStateMap": {agent: {"wlNameStateMap": {workload: {"idStateMap": {ident: state}} for workload, (ident, state) in each.items()}}
                              for agent, each in by_agent.items()}}


def instance(text):
    workload, ident, agent = text.split(".")
    return {"workloadName": workload, "id": ident, "agentName": agent}


THREE_RUNNING = {"agents": {"agents": {"agent_A": {}}},
                 "workloadStates": states({"agent_A": {"w": ("1", RUNNING), "v": ("3", RUNNING)}, "agent_B": {"w": ("2", RUNNING)}})}


def wanted(agent, runtime):
    return {"agent": agent, "runtime": runtime, "runtimeConfig": "c"}


ALL_KINDS = {
    "desiredState": {"apiVersion": "v1", "workloads": {"workloads": {
        "w1": wanted("a1", "podman"), "w2": wanted("other", "podman"), "w3": wanted("a2", "rt")}}},
    "workloadStates": states({
        "": {"w8": ("8", execution("notScheduled", "NOT_SCHEDULED"))},
        "a1": {"w1": ("1", execution("stopping", "STOPPING", "  blanks around \n second line \n")),
               "w10": ("10", execution("pending", "PENDING_WAITING_TO_START")),
               "w2": ("2", execution("running", "RUNNING_OK", "agent differs from desired state")),
               "w6": ("6", execution("stopping", "STOPPING_DELETE_FAILED")),
               "w7": ("7", execution("failed", "FAILED_UNKNOWN", "tab\there")),
               "w9": ("9", execution("removed", "REMOVED", "removed entry"))},
        "a2": {"w3": ("3", execution("succeeded", "SUCCEEDED_OK")), "w4": ("4", execution("failed", "FAILED_LOST", "not in desired state"))},
        "gone": {"w5": ("5", execution("agentDisconnected", "AGENT_DISCONNECTED", "x"))}}),
    "agents": {"agents": {
        "a1": {}, "a10": {"status": {"cpu_usage": {"cpu_usage": 100}}},
        "a2": {"status": {"cpu_usage": {"cpu_usage": 5}, "free_memory": {"free_memory": 123}}},
        "a3": {"status": {"free_memory": {"free_memory": 2**64 - 1}}}}},
}


# --- how they say it ------------------------------------------------------------------------------------------------

def answering(ident=None, **content):
    async def answer(visit, request):
        await visit.answer(request, ident, **content)
    return answer


def ending(code=grpc.StatusCode.OK, message=""):
    async def end(*_):
        raise Ended(code, message)
    return end


def telling(state):
    return answering(completeStateResponse={"completeState": state})


NO_STATE = answering(error={"message": "no state\nfor you"})
NOTHING = answering(completeStateResponse={})
SUCCESS = answering(UpdateStateSuccess={})


def reading(state):
    return lambda: Script(state=state, update=SUCCESS)


def updating(update):
    return lambda: Script(state=telling(THREE_RUNNING), update=update)


def succeeding(added, deleted=()):
    return answering(UpdateStateSuccess={"addedWorkloads": list(added), "deletedWorkloads": list(deleted)})


def logging(logs):
    return lambda: Script(state=telling(THREE_RUNNING), logs=logs)


def refusing(code, message):
    return lambda: Script(hello=ending(code, message), has_headers=False)


def then(second_state):
    """Succeeds with w.1.agent_A; the state is told once, and is then another matter."""
    def make():
        left = [telling(THREE_RUNNING), second_state]

        async def state(visit, request):
            await left.pop(0)(visit, request)
        return Script(state=state, update=succeeding(["w.1.agent_A"]))
    return make


def progressing():
    """After the second state, states one by one."""
    told = [("w.1.agent_A", execution("pending", "PENDING_STARTING", "step  one\nline two")),
            ("w.1.agent_A", execution("stopping", "STOPPING")),
            ("w.1.agent_A", execution("stopping", "STOPPING_DELETE_FAILED", "cannot")),
            ("w.1.agent_A", execution("removed", "REMOVED")),
            ("u.77.agent_A", execution("running", "RUNNING_OK", "not ours")),
            ("v.3.agent_A", execution("failed", "FAILED_EXEC_FAILED"))]
    asked = []

    async def state(visit, request):
        asked.append(request)
        await telling(THREE_RUNNING)(visit, request)
        for name, execution_state in told if len(asked) == 2 else []:
            await visit.say(updateWorkloadState={"workloadStates": [{"instanceName": instance(name), "executionState": execution_state}]})
    return Script(state=state, update=succeeding(["v.3.agent_A"], ["w.1.agent_A"]))


async def be_slow(visit, request):
    await asyncio.sleep(SLOW_S)
    await visit.answer(request, completeStateResponse={"completeState": {}})


async def tell_events(visit, request):
    await visit.answer(request, completeStateResponse={"completeState": {}})
    await visit.answer(request, completeStateResponse={
        "completeState": {"desiredState": {"apiVersion": "v1"}},
        "alteredFields": {"addedFields": ["a.b"], "updatedFields": ["c", "d"], "removedFields": ["e"]}})
    await visit.answer(request, completeStateResponse={"completeState": {}, "alteredFields": {}})
    await visit.answer(request, completeStateResponse={"completeState": {}})
    await visit.answer(request, "foreign", completeStateResponse={"completeState": {"desiredState": {"apiVersion": "v9"}}})
    await visit.answer(request, error={"message": "stopped"})


def accepted(count=None):
    async def accept(visit, request):
        names = [{"workloadName": name.workloadName, "agentName": name.agentName, "id": name.id}
                 for name in request.logsRequest.workloadNames][:count]
        await visit.answer(request, logsRequestAccepted={"workloadNames": names})
    return accept


def logs_that_end(last):
    """Of both instances of w."""
    async def tell(visit, request):
        async def write(name, message, ident=None):
            await visit.answer(request, ident, logEntriesResponse={"logEntries": [{"workloadName": instance(name), "message": message}]})
        await accepted()(visit, request)
        await write("w.1.agent_A", "plain")
        await write("w.2.agent_B", "")
        await write("w.1.agent_A", "two\nlines\n")
        await write("w.1.agent_A", "\x1b[31mred\x1b[0m  trailing  ")
        await visit.answer(request, logsStopResponse={"workloadName": instance("w.1.agent_A")})
        await write("w.1.agent_A", "after own stop")
        await write("w.2.agent_B", "of another request", "foreign")
        await visit.answer(request, **last)
    return tell


async def accept_and_end(visit, request):
    await accepted()(visit, request)
    raise Ended


SCRIPTS = {
    "fake_precondition_": refusing(grpc.StatusCode.FAILED_PRECONDITION, "Unsupported protocol version '1.1.0-pre'. Currently supported '2'"),
    "fake_close_": lambda: Script(hello=ending()),
    "fake_unavailable_": lambda: Script(hello=ending(grpc.StatusCode.UNAVAILABLE, "gone")),
    "fake_unimplemented_": refusing(grpc.StatusCode.UNIMPLEMENTED, "nobody for it"),
    "fake_state_error_": reading(NO_STATE),
    "fake_events_error_": reading(NO_STATE),
    "fake_state_none_": reading(NOTHING),
    "fake_close_on_state_": reading(ending()),
    "fake_other_id_": reading(answering("another", completeStateResponse={"completeState": {}})),
    "fake_other_kind_": reading(SUCCESS),
    "fake_tables_": reading(telling(ALL_KINDS)),
    "fake_slow_": reading(be_slow),
    "fake_events_more_": reading(tell_events),
    "fake_no_headers_": lambda: Script(has_headers=False),
    "fake_upd_bad_names_": updating(succeeding(["only.two"])),
    "fake_upd_bad_deleted_": updating(succeeding(["w.1.agent_A"], ["a.b.c.d"])),
    "fake_upd_error_": updating(answering(error={"message": "bad\nthing 'x'"})),
    "fake_upd_silent_": updating(None),
    "fake_upd_close_": updating(ending()),
    "fake_upd_other_kind_": updating(NOTHING),
    "fake_upd_then_state_error_": then(NO_STATE),
    "fake_upd_then_close_": then(ending()),
    "fake_upd_unknown_": updating(succeeding(["zz.9.agent_A"])),
    "fake_upd_initial_final_": updating(succeeding(["v.3.agent_A"])),
    "fake_upd_agent_gone_": updating(succeeding(["w.2.agent_B"])),
    "fake_upd_progress_": progressing,
    "fake_log_error_": logging(answering(error={"message": "no logs"})),
    "fake_log_silent_": logging(None),
    "fake_log_other_kind_": logging(SUCCESS),
    "fake_log_not_accepted_": logging(accepted(0)),
    "fake_log_partly_": logging(accepted(1)),
    "fake_log_close_": logging(accept_and_end),
    "fake_log_ok_": logging(logs_that_end({"logsStopResponse": {"workloadName": instance("w.2.agent_B")}})),
    "fake_log_err_mid_": logging(logs_that_end({"error": {"message": "broken off"}})),
}


def script_of(case_name):
    """Of the longest beginning that fits."""
    return SCRIPTS[max((beginning for beginning in SCRIPTS if case_name.startswith(beginning)), key=len)]
