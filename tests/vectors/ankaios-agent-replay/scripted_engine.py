"""An engine that a scenario writes the script of: containers, volumes and pods in memory, behind the commands podman and
nerdctl (engine_command.cc), which act on them as podman 4.3 and nerdctl 2.2 do. A rule answers instead of the engine, or
fails and lets the engine act all the same.
"""

import ast
import asyncio
import base64
import contextlib
import dataclasses
import hashlib
import json
import re
import struct

import yaml

LISTINGS = {"ps", "inspect", "info", "version", "events", "image", "system"}   # commands that change nothing
GENERAL_WITH_VALUE = {"--log-level", "--root", "--runroot", "--connection", "--url", "--namespace", "--address", "-n", "-a"}


def number(kind, name, count):
    """The id of the count-th container or pod of a name; a recording calls it {{cid:NAME#count}} or {{pod:NAME#count}}."""
    return hashlib.sha256(f"{kind}:{name}#{count}".encode()).hexdigest()


@dataclasses.dataclass
class Container:
    engine: str
    id: str
    name: str
    labels: dict
    state: str = "running"
    exit_code: int = 0
    pod: str = ""
    image: str = ""
    fresh: bool = False     # created and never started
    passing: bool = False   # removes itself when it ends


@dataclasses.dataclass
class Call:
    """One command: its words, the words that are neither program nor general options, and how it went."""
    words: list
    stdin: str
    target: str = ""        # the container or volume that it shall stop or remove, if that is there
    completes: bool = False     # started a container that was created for it: both together are a run
    ended: bool = False
    killed: bool = False
    counted: bool = False   # as killed, by an earlier step
    output: object = None   # where its `logs` goes on


class Refused(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


def command_of(words):
    """The words from the command on: general options stand before it."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in GENERAL_WITH_VALUE else 1
    return words[at:]


def is_listing(words):
    """Whether it asks only."""
    command = command_of(words)
    return command[:1] and command[0] in LISTINGS or command[:2] in (["volume", "ls"], ["volume", "inspect"], ["pod", "ps"])


def pods_of(manifest):
    """Names of pods, each with its containers."""
    pods = []
    for document in yaml.safe_load_all(manifest):
        if not isinstance(document, dict) or document.get("kind") not in ("Pod", "Deployment"):
            continue
        spec, name = document["spec"], document["metadata"]["name"]
        if document["kind"] == "Deployment":
            spec, name = spec["template"]["spec"], f"{name}-pod"
        pods.append((name, [{"name": each["name"]} for each in spec["containers"]]))
    return pods


class Engine:
    """Everything that happens is told to `happened`."""

    def __init__(self, script, names, happened):
        """names: what our containers are called, by the names of those in the script."""
        self.happened = happened
        self.calls = []
        self.containers = {}
        self.volumes = {}
        self.pods = {}          # id: name
        self.names = {}         # id: what a recording calls it
        self.made = {}          # (kind, name): how many
        self.rules = []
        self.logs = script.get("logs", {})
        self.next_exits = False
        self.server = None
        self.set_rules(script.get("rules", []))
        for each in script.get("containers", []):
            container = Container(each["engine"], self.new_id("cid", each["workload"]), names.get(each["name"], each["name"]),
                                  each["labels"] or {},
                                  each.get("state", "running"), each.get("exit_code", 0))
            self.containers[container.id] = container
        for each in script.get("volumes", []):
            self.volumes[each["name"]] = each["labels"]
        for each in script.get("pods", []):
            self.make_pod(each["name"], each["containers"])

    async def open(self, path):
        self.server = await asyncio.start_unix_server(self.serve, path)

    def close(self):
        self.server.close()

    # --- what the scenario does ---

    def set_rules(self, rules):
        self.rules = [dict(rule) for rule in rules]

    def event(self, step, fill):
        text = fill(step["engine_event"])
        if "rules" in step:
            self.set_rules(step["rules"])
        elif "container" in step:
            container = self.containers.get(fill(step["container"]))
            if step["set"].get("gone"):
                self.containers.pop(fill(step["container"]), None)
            elif container and container.passing and step["set"].get("state") == "exited":
                del self.containers[container.id]
            elif container:
                container.state = step["set"].get("state", container.state)
                container.exit_code = step["set"].get("exit_code", container.exit_code)
        elif "as soon as created" in text:
            self.next_exits = True
        elif said := re.fullmatch(r"container (\S+) writes (.*) to (stdout|stderr)", text, re.DOTALL):
            self.follow(said[1], "o" if said[3] == "stdout" else "e", ast.literal_eval(said[2]).encode())
        elif said := re.fullmatch(r"container (\S+) logs command ends with (\d+)", text):
            self.follow(said[1], "x", said[2].encode())
        else:
            raise ValueError(f"unknown event: {text}")

    def follow(self, container, kind, data):
        for call in self.calls:
            if call.output and not call.ended and call.words[-1] == container:
                call.output(kind, data)

    def is_busy(self):
        """Whether a command takes its time; those that follow logs don't count."""
        return any(not call.ended and not is_listing(call.words) and "logs" not in call.words for call in self.calls)

    # --- the socket ---

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            words = (await self.block(reader)).decode(errors="surrogateescape").split("\0")[:-1]
            call = Call(words, (await self.block(reader)).decode(errors="replace"))
            self.calls.append(call)
            self.note_target(call)
            if not is_listing(words):
                self.happened()

            def send(kind, data):
                if not call.ended:
                    writer.write(kind.encode() + struct.pack(">I", len(data)) + data)
                    call.ended = kind == "x"
                    if not is_listing(call.words):
                        self.happened()

            work = asyncio.ensure_future(self.answer(call, send))
            # The command sends nothing more: its socket ends when it does.
            await reader.read()
            if not call.ended:
                call.killed = call.ended = True
                self.happened()
            work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await work
        writer.close()

    @staticmethod
    async def block(reader):
        return await reader.readexactly(struct.unpack(">I", await reader.readexactly(4))[0])

    async def answer(self, call, send):
        rule = self.rule_for(call.words)
        code, out, err = 0, "", ""
        if rule and rule.get("delay_ms"):
            await asyncio.sleep(rule["delay_ms"] / 1000)
        if rule is None or rule.get("side_effect") or not {"rc", "stdout", "stderr"} & rule.keys():
            if command_of(call.words)[:1] == ["logs"]:
                await self.print_logs(call, send)
                return
            try:
                out = self.act(call)
            except Refused as refusal:
                code, err = refusal.code, f"{refusal}\n"
        if rule and {"rc", "stdout", "stderr"} & rule.keys():
            code, out, err = rule.get("rc", 0), rule.get("stdout", ""), rule.get("stderr", "")
        for kind, text in (("o", out), ("e", err)):
            if text:
                send(kind, text.encode())
        send("x", str(code).encode())

    def note_target(self, call):
        command = command_of(call.words)
        container = self.find(call.words[0], command[-1]) if command[:1] in (["stop"], ["rm"]) else None
        if container:
            call.target = container.id
        elif command[:2] == ["volume", "rm"] and command[-1] in self.volumes:
            call.target = command[-1]

    def rule_for(self, words):
        # Whoever creates and starts is refused like one who runs.
        known = set(words) | ({"run"} if command_of(words)[:1] == ["create"] else set())
        for rule in self.rules:
            if known.issuperset(rule["match"]) and not known & set(rule.get("without", [])) and rule.get("times", 1) > 0:
                if "times" in rule:
                    rule["times"] -= 1
                return rule
        return None

    # --- commands ---

    def act(self, call):
        program, command = call.words[0], command_of(call.words)
        actions = {"run": self.run, "create": self.run, "start": self.start, "stop": self.stop, "kill": self.stop, "rm": self.remove,
                   "ps": self.list, "inspect": self.inspect, "volume": self.volume, "kube": self.kube, "pod": self.pod,
                   "image": self.image}
        if not command or command[0] not in actions:
            raise Refused(125, f"Error: unrecognized command `{program} {' '.join(command[:1])}`")
        return actions[command[0]](program, command, call)

    def new_id(self, kind, name):
        self.made[kind, name] = self.made.get((kind, name), 0) + 1
        made = number(kind, name, self.made[kind, name])
        self.names[made] = f"{{{{{kind}:{name}#{self.made[kind, name]}}}}}"
        return made

    def find(self, program, name):
        for container in self.containers.values():
            if container.engine == program and name in (container.id, container.name):
                return container
        return None

    def run(self, program, command, _):
        name, labels = "", {}
        # Whatever options there are, the labels are the last of them.
        end = max((at for at, word in enumerate(command) if word.startswith("--label=")), default=0) + 1
        for word, following in zip(command, command[1:end + 1]):
            if word == "--name":
                name = following
            elif word.startswith("--name="):
                name = word.removeprefix("--name=")
            elif word.startswith("--label="):
                key, _, value = word.removeprefix("--label=").partition("=")
                labels[key] = value
        used = self.find(program, name)
        if used and program == "podman":
            raise Refused(125, f'Error: creating container storage: the container name "{name}" is already in use by {used.id}. You have '
                               "to remove that container to be able to reuse that name: that name is already in use")
        if used:
            raise Refused(1, f'time="2026-01-01T00:00:00Z" level=fatal msg="name \\"{name}\\" is already used by ID \\"{used.id}\\""')
        made = self.new_id("cid", labels.get("name", name).split(".")[0])
        state = "created" if command[0] == "create" else "exited" if self.next_exits else "running"
        self.next_exits = False
        self.containers[made] = Container(program, made, name, labels, state, image="".join(command[end:end + 1]),
                                          fresh=command[0] == "create", passing="--rm" in command[:end])
        return f"{made}\n"

    def start(self, program, command, call):
        container = self.find(program, command[-1])
        if not container:
            raise Refused(125, f'Error: no container with name or ID "{command[-1]}" found: no such container')
        call.completes = container.fresh
        container.fresh = False
        container.state, container.exit_code = ("exited" if self.next_exits else "running"), 0
        self.next_exits = False
        return f"{command[-1]}\n"

    def stop(self, program, command, _):
        container = self.known(program, command)
        if not container:
            return ""
        if container.state in ("running", "paused"):
            container.state, container.exit_code = "exited", 137 if command[0] == "kill" else 0
        return f"{command[-1]}\n"

    def remove(self, program, command, _):
        container = self.known(program, command)
        if not container:
            return ""
        if container.state == "running" and not {"--force", "-f"} & set(command):
            raise Refused(2, f"Error: cannot remove container {container.id} as it is running - running or paused containers cannot be "
                             "removed without force: container state improper")
        del self.containers[container.id]
        return f"{command[-1]}\n"

    def known(self, program, command):
        container = self.find(program, command[-1])
        if container or "--ignore" in command:
            return container
        if program == "nerdctl":
            raise Refused(1, f'time="2026-01-01T00:00:00Z" level=fatal msg="1 errors:\\nno such container: {command[-1]}"')
        raise Refused(1, f'Error: no container with name or ID "{command[-1]}" found: no such container')

    def list(self, program, command, _):
        wanted = []
        for at, word in enumerate(command):
            text = command[at + 1] if word == "--filter" else word.removeprefix("--filter=") if word.startswith("--filter=") else ""
            if text.startswith("label="):
                wanted.append(text.removeprefix("label=").split("=", 1))
        listed = [each for each in self.containers.values() if each.engine == program and
                  all(each.labels.get(key) == value for key, value in wanted)]
        if program == "podman":
            return json.dumps([{"Id": each.id, "Names": [each.name], "Image": each.image, "Labels": each.labels, "State": each.state,
                                "ExitCode": each.exit_code, "Pid": 0, "Pod": each.pod} for each in listed]) + "\n"
        return "".join(json.dumps({"ID": each.id, "Names": each.name, "Image": each.image, "Status": each.state,
                                   "Labels": ",".join(f"{key}={value}" for key, value in each.labels.items())}) + "\n" for each in listed)

    def inspect(self, program, command, _):
        found = [self.find(program, word) for word in command[1:] if not word.startswith("-")]
        if not all(found):
            raise Refused(1, 'time="2026-01-01T00:00:00Z" level=fatal msg="1 errors:\\nno such object"')
        return json.dumps([{"Id": each.id, "Name": each.name, "Config": {"Labels": each.labels, "Image": each.image},
                            "State": {"Status": each.state, "ExitCode": each.exit_code, "Pid": 0}} for each in found]) + "\n"

    @staticmethod
    def image(*_):
        return "[]\n"

    def volume(self, _, command, __):
        name = command[-1]
        if command[1] == "ls":
            pattern = next((word.partition("name=")[2] for word in command if "name=" in word), "")
            return "".join(f"{each}\n" for each in sorted(self.volumes) if re.search(pattern, each))
        if command[1] == "create":
            if name in self.volumes:
                raise Refused(125, f"Error: volume with name {name} already exists: volume already exists")
            self.volumes[name] = dict(word.removeprefix("--label=").split("=", 1) for word in command if word.startswith("--label="))
            return f"{name}\n"
        if name not in self.volumes:
            raise Refused(1 if command[1] == "rm" else 125, f"Error: no volume with name \"{name}\" found: no such volume")
        if command[1] == "inspect":
            return json.dumps([{"Name": name, "Labels": self.volumes[name]}]) + "\n"
        del self.volumes[name]
        return f"{name}\n"

    def kube(self, _, command, call):
        try:
            pods = pods_of(call.stdin)
        except (yaml.YAMLError, KeyError, TypeError) as error:
            raise Refused(125, f"Error: unable to read YAML as Kube Pod: {type(error).__name__}") from None
        if command[1] == "down":
            gone = [name for name, _ in pods if name not in self.pods.values()]
            if gone and "--force" not in command:
                raise Refused(125, f"Error: no pod with name or ID {gone[0]} found: no such pod")
            self.end_pods({pod for pod, name in self.pods.items() if name in dict(pods)})
            return ""
        printed = ""
        for name, containers in pods:
            if name in self.pods.values():
                raise Refused(125, f'Error: adding pod to state: name "{name}" is in use: pod already exists')
            made = self.make_pod(name, containers)
            printed += f"Pod:\n{made}\nContainers:\n" + "".join(
                f"{each.id}\n" for each in self.containers.values() if each.pod == made and not each.name.endswith("-infra")) + "\n"
        return printed

    def pod(self, _, command, __):
        if command[1] == "ps":
            return "".join(f"{pod} {name}\n" for pod, name in self.pods.items())
        if command[1] != "rm":
            raise Refused(125, f"Error: unrecognized command `podman pod {command[1]}`")
        self.end_pods({pod for pod, name in self.pods.items() if command[-1] in (pod, name)})
        return f"{command[-1]}\n"

    def end_pods(self, doomed):
        self.pods = {pod: name for pod, name in self.pods.items() if pod not in doomed}
        self.containers = {key: each for key, each in self.containers.items() if each.pod not in doomed}

    def make_pod(self, name, containers):
        pod = self.new_id("pod", name)
        self.pods[pod] = name
        for each in [{"name": "infra"}, *containers]:
            made = self.new_id("cid", f"{name}-{each['name']}")
            self.containers[made] = Container("podman", made, f"{name}-{each['name']}", {}, each.get("state", "running"),
                                              each.get("exit_code", 0), pod)
        return pod

    async def print_logs(self, call, send):
        command = command_of(call.words)
        name = self.names.get(command[-1], "").removeprefix("{{cid:").removesuffix("}}")
        for piece in self.logs.get(name, []):
            await asyncio.sleep(piece.get("after_ms", 0) / 1000)
            for kind, key in (("o", "out"), ("e", "err")):
                if key in piece:
                    send(kind, (piece[key] * piece.get("repeat", 1)).encode())
        if "-f" in command:
            call.output = send
        else:
            send("x", b"0")


def data_of(label):
    """What a volume keeps in its label."""
    return base64.b64decode(label + "=" * (-len(label) % 4)).decode(errors="replace")
