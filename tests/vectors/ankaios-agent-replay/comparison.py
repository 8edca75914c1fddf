"""What of a recording has to be the same; README.md says why. Everything observed is brought into short lines of text, the
same way for a recording and for our agent, and the lines are compared.
"""

import collections
import functools
import json
import re

import scripted_engine
import yaml

RETRIES = 20
# Words of an execution state that tell of a container, not of what the agent does to it.
OF_CONTAINERS = ("RUNNING_OK", "SUCCEEDED_OK", "FAILED_EXEC_FAILED", "FAILED_UNKNOWN", "FAILED_LOST", "STOPPING", "PENDING_STARTING")


def compact(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def instance(name):
    """Short: the id is the digest of a text."""
    return f"{name['workloadName']}.{name['id'][:7]}.{name['agentName']}"


# --- messages to the server -----------------------------------------------------------------------------------------

def lines_of(message):
    """One for each state and each log entry, whatever messages they come in; one for any other message."""
    kind, content = next(iter(message.items())) if message else ("nothing", {})
    if kind == "updateWorkloadState":
        return [line_of_state(state) for state in content.get("workloadStates", [])]
    if kind == "logEntriesResponse":
        entries = content.get("logEntriesResponse", {}).get("logEntries", [])
        return [f"{instance(entry['workloadName'])} logs for {content['requestId']}: {entry.get('message', '')}" for entry in entries]
    if kind == "logsStopResponse":
        return [f"{instance(content['logsStopResponse']['workloadName'])} ends its logs for {content['requestId']}"]
    if kind == "agentHello":
        # The versions differ; peers compare the major one.
        return [f"hello of {content['agentName']}, version {content['protocolVersion'].split('.')[0]}, {compact(content.get('tags'))}"]
    if kind == "AgentLoadStatus":
        return [f"load of {content['agent_name']}: {sorted(content)}"]
    return [compact(message)]


def line_of_state(state):
    execution = dict(state["executionState"])
    info = execution.pop("additionalInfo", None)
    word = next(iter(execution.values()))
    return f"{instance(state['instanceName'])} {word}" + ("" if info == "" else f": {info}")


def workload_of(line):
    return line.split(".", 1)[0] if re.match(r"[\w-]+\.", line) else ""


def retry_of(line):
    """Its number; the end of all retries comes after any number."""
    if " PENDING_STARTING_FAILED: No more retries: " in line:
        return RETRIES + 1
    found = re.search(r" PENDING_STARTING: Retry (\d+)", line)
    return int(found[1]) if found else 0


class Late:
    """Recognises what an old container may still say once its instance is being stopped: one report a step."""

    def __init__(self):
        self.stopped = set()

    def note(self, lines):
        self.stopped |= {line.split(" ")[0] for line in lines if " STOPPING_REQUESTED_AT_RUNTIME" in line}

    def is_late(self, line):
        name, _, rest = line.partition(" ")
        word, _, info = rest.partition(": ")
        if word == "STOPPING_REQUESTED_AT_RUNTIME":     # holds against the report of the container, and is sent instead
            return name in self.stopped
        return name in self.stopped and word in OF_CONTAINERS and not info.startswith(("Triggered", "Retry"))


def matches(observed, expected, order, may_also, late):
    """Whether the lines are the same but for those that may come as well."""
    if order == "any":
        workloads = {workload_of(line) for line in observed} | {workload_of(line) for line in expected}
        return all(matches([line for line in observed if workload_of(line) == each],
                           [line for line in expected if workload_of(line) == each], "exact", may_also, late) for each in workloads)
    if order == "free":
        observed, expected = sorted(observed), sorted(expected)
    late.note(observed)

    @functools.cache
    def match(at, wanted, used):
        if at == len(observed):
            return wanted == len(expected)
        line = observed[at]
        if wanted < len(expected) and line == expected[wanted] and match(at + 1, wanted + 1, used):
            return True
        if line in may_also:
            return match(at + 1, wanted, used)
        name = line.split(" ")[0]
        return late.is_late(line) and name not in used and match(at + 1, wanted, used | {name})

    # Long lists are the same or not; nothing late is among them.
    return observed == expected if len(observed) > 200 else match(0, 0, frozenset())


# --- commands to the engine -----------------------------------------------------------------------------------------

def asks_of(calls):
    """What an engine is asked to do, as a set of lines; calls are (words, stdin, what of that which is there they end)."""
    asks = set()
    made = {words[-1] for words, _, _ in calls if words[1:3] == ["volume", "create"]}
    for words, stdin, target in calls:
        command = scripted_engine.command_of(words)
        general = words[1:len(words) - len(command)]
        verb = command[0] if command else ""
        if scripted_engine.is_listing(words) or verb in ("kill", "pull"):
            continue
        if verb in ("run", "create"):
            asks.add(compact([words[0], *general, "run", *run_options(command[1:])]))
        elif verb in ("stop", "rm"):
            if target:
                asks.add(compact([words[0], "remove", target]))
        elif verb == "volume" and command[1] == "rm":
            if target and target not in made:
                asks.add(compact([words[0], "remove", target]))
        elif verb == "volume":
            asks.add(compact([*words[:3], *map(volume_data, command[2:])]))
        elif verb == "kube":
            asks.add(compact([*words, documents(stdin)]))
        else:
            asks.add(compact(words))
    return asks


def run_options(words):
    """Without the name that we choose; the mounts of files are sorted."""
    options = list(words)
    if options[:1] == ["--detach"]:
        del options[0]
    if options[:1] == ["--name"]:
        del options[:2]
    elif options and options[0].startswith("--name="):
        del options[0]
    mounts = [at for at, word in enumerate(options) if word.startswith("--mount=type=bind,source={{dir}}/run/")]
    for at, mount in zip(mounts, sorted(options[at] for at in mounts)):
        options[at] = mount
    return options


def volume_data(word):
    prefix = "--label=data="
    if not word.startswith(prefix):
        return word
    data = word.removeprefix(prefix)
    if data.startswith("{{base64_nopad:"):
        return prefix + data.removeprefix("{{base64_nopad:").removesuffix("}}")
    return prefix + scripted_engine.data_of(data)


def documents(text):
    try:
        return list(yaml.safe_load_all(text.replace("{{dir}}", "/dir")))    # braces mean something else there
    except yaml.YAMLError:
        return text


def recorded_calls(step):
    """As ours: what a command is given on stdin, and what it ends; names of instances stand for nothing that is there."""
    stdin = step.get("stdin", {})
    return [(words, stdin.get(str(at), ""), words[-1] if words[-1].startswith("{{cid:") or "volume" in words else "")
            for at, words in enumerate(step["expect_engine_calls"])]


# --- texts ----------------------------------------------------------------------------------------------------------

def ours_of(line, names):
    """A recorded line with our names of containers, the full names of instances, and our count of retries."""
    head, colon, text = line.partition(": ")
    for short, full in names.items():
        text = text.replace(short, full).replace(f'"--name" "{full}"', f'"--name={full}"')
    return head + colon + re.sub(r"^Retry (\d+): ", rf"Retry \1 of {RETRIES}: ", text)


def container_names(steps):
    """Short names of all instances of a scenario, and their full ones; those that stand for themselves are not among them."""
    names = {}

    def collect(value):
        if isinstance(value, dict):
            if {"workloadName", "agentName", "id"} <= value.keys():
                full = f"{value['workloadName']}.{value['id']}.{value['agentName']}"
                if full != instance(value):
                    names[instance(value)] = full
            for each in value.values():
                collect(each)
        elif isinstance(value, list):
            for each in value:
                collect(each)

    collect(steps)
    return names


def counted(values):
    """A list for people: what came several times says so."""
    return [value if count == 1 else f"{value} ({count} times)" for value, count in collections.Counter(values).items()]
