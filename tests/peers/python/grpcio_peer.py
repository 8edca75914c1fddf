"""grpcio-peer is the peer made with grpcio; ../README.md describes the words it understands.

The messages are generated from peer.proto in the folder above, at every start.
"""

import concurrent.futures
import contextlib
import os
import pathlib
import queue
import signal
import sys
import threading
import time
import uuid

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
messages, services = grpc.protos_and_services("peer.proto")
EchoRequest, EchoReply, Failure = messages.EchoRequest, messages.EchoReply, messages.Failure

KINDS = ["unary", "collect", "expand", "chat"]
WHATS = ["basic", "deadline", "cancel", "large", "metadata", "error"]
MAX_MESSAGE = 32 << 20
SIZES = [("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)]
DRAIN_SECONDS = 10
SHORT_DEADLINE = 0.5
POLL_SECONDS = 20
POLL_PAUSE = 0.01
CASE_SECONDS = 60
LARGE = 16 << 20
ERROR_TEXT = "größer als 5 %\n— ✓"
CODES = {code.value[0]: code for code in grpc.StatusCode}


class Usage(Exception):
    """The words are wrong."""


class Mismatch(Exception):
    """What was expected and what was seen."""


def pattern(size):
    return (bytes(range(251)) * (size // 251 + 1))[:size]


# --- server ---


class Echo(services.EchoServicer):
    def __init__(self):
        self.waits = {}

    @staticmethod
    def begin(context):
        echoed = tuple((key, value) for key, value in context.invocation_metadata() if key.startswith("echo-"))
        context.send_initial_metadata(echoed)
        context.set_trailing_metadata(echoed)

    @staticmethod
    def payload_for(request):
        return pattern(request.reply_size) if request.reply_size else request.payload

    def end(self, request, context):
        """Ends the call if the message wants that; may take until the call is cancelled."""
        if request.HasField("fail"):
            context.abort(CODES[request.fail.code], request.fail.text)
        if request.wait:
            over = threading.Event()
            self.waits[request.wait] = messages.WAIT_UNDER_WAY
            if context.add_callback(over.set):
                over.wait()
            self.waits[request.wait] = messages.WAIT_CANCELLED
            context.abort(grpc.StatusCode.CANCELLED, "the wait is over")

    def Unary(self, request, context):
        self.begin(context)
        self.end(request, context)
        left = context.time_remaining()     # without a deadline, some centuries
        return EchoReply(payload=self.payload_for(request), timeout_ms=int(left * 1000) + 1 if left < 1e6 else 0,
                         wait=self.waits.get(request.ask, messages.WAIT_UNKNOWN))

    def Collect(self, requests, context):
        self.begin(context)
        payloads = []
        for request in requests:
            self.end(request, context)
            payloads.append(self.payload_for(request))
        return EchoReply(payload=b"".join(payloads), index=len(payloads))

    def Expand(self, request, context):
        self.begin(context)
        payload = self.payload_for(request)
        for index in range(request.count):
            yield EchoReply(payload=payload, index=index)
        self.end(request, context)

    def Chat(self, requests, context):
        self.begin(context)
        for index, request in enumerate(requests):
            self.end(request, context)
            yield EchoReply(payload=self.payload_for(request), index=index)


def end_with_stdin():
    while os.read(0, 4096):
        pass
    os._exit(0)


def serve(options):
    # A wait keeps its thread, so there are more of them than a client has calls.
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=32), options=SIZES)
    services.add_EchoServicer_to_server(Echo(), server)
    transport, place = options["--listen"]
    target = f"unix:{place}" if transport == "unix" else place
    if "--ca" in options:
        ca, cert, key = (pathlib.Path(options[name]).read_bytes() for name in ("--ca", "--cert", "--key"))
        port = server.add_secure_port(target, grpc.ssl_server_credentials([(key, cert)], ca, require_client_auth=True))
    else:
        port = server.add_insecure_port(target)
    terminated = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: terminated.set())
    server.start()
    threading.Thread(target=end_with_stdin, daemon=True).start()
    print(f"listening unix:{place}" if transport == "unix" else f"listening tcp:{place.rpartition(':')[0]}:{port}", flush=True)
    while not terminated.wait(0.1):     # a wait without end misses a signal that comes just before it
        pass
    server.stop(DRAIN_SECONDS).wait()
    sys.stdout.flush()
    os._exit(0)     # handlers that still wait must not hold up the end


# --- client ---


def expect(what, wanted, seen):
    if wanted != seen:
        raise Mismatch(f"{what}: expected {wanted!r:.200}, saw {seen!r:.200}")


def expect_reply(what, payload, index, reply):
    expect(f"{what}, index", index, reply.index)
    if payload != reply.payload:
        raise Mismatch(f"{what}: expected a payload of {len(payload)} bytes, saw other {len(reply.payload)} bytes")


def expect_replies(what, payloads, replies):
    expect(f"{what}, number of replies", len(payloads), len(replies))
    for index, (payload, reply) in enumerate(zip(payloads, replies)):
        expect_reply(f"{what}, reply {index}", payload, index, reply)


def expect_code(what, wanted, call):
    expect(f"{what}, status", wanted, call.code())


class Outgoing:
    """The messages of a call, sent as they come; grpcio iterates over it in a thread of its own."""

    def __init__(self):
        self.queue = queue.SimpleQueue()

    def __iter__(self):
        return iter(self.queue.get, None)

    def send(self, *requests):
        for request in requests:
            self.queue.put(request)

    def close(self):
        self.queue.put(None)


def three():
    return [EchoRequest(payload=str(i).encode()) for i in range(3)]


class Caller:
    def __init__(self, stub):
        self.stub = stub

    @contextlib.contextmanager
    def open(self, kind, first=None, **options):
        """A call in any of the four kinds, and where its further messages go; closed and cancelled at the end."""
        outgoing = Outgoing()
        if first is not None:
            outgoing.send(first)
        options.setdefault("timeout", CASE_SECONDS)
        if kind == "unary":
            call = self.stub.Unary.future(first, **options)
        elif kind == "collect":
            call = self.stub.Collect.future(iter(outgoing), **options)
        elif kind == "expand":
            call = self.stub.Expand(first, **options)
        else:
            call = self.stub.Chat(iter(outgoing), **options)
        try:
            yield call, outgoing
        finally:
            outgoing.close()
            call.cancel()

    def unary_basic(self):
        table = [(EchoRequest(payload=b"hello"), b"hello"), (EchoRequest(), b""), (EchoRequest(reply_size=1000), pattern(1000))]
        table += [(EchoRequest(payload=str(i).encode()), str(i).encode()) for i in range(100)]
        for number, (request, wanted) in enumerate(table):
            expect_reply(f"call {number}", wanted, 0, self.stub.Unary(request))

    def collect_basic(self):
        for sent in [], [b"a", b"", b"b"], [pattern(100)] * 1000:
            reply = self.stub.Collect(EchoRequest(payload=payload) for payload in sent)
            expect_reply(f"{len(sent)} messages", b"".join(sent), len(sent), reply)

    def expand_basic(self):
        for request, wanted in [(EchoRequest(), b""), (EchoRequest(count=3, reply_size=1000), pattern(1000)),
                                (EchoRequest(count=1000, payload=b"x"), b"x")]:
            expect_replies(f"count {request.count}", [wanted] * request.count, list(self.stub.Expand(request)))

    def chat_basic(self):
        expect_replies("half-close at once", [], list(self.stub.Chat(iter([]))))
        with self.open("chat") as (call, outgoing):
            for index in range(100):
                text = str(index).encode() if index < 99 else b""
                outgoing.send(EchoRequest(payload=text))
                expect_reply(f"message {index}", text, index, next(call))
            outgoing.close()
            expect_replies("after the half-close", [], list(call))
        many = [pattern(1000)] * 1000
        expect_replies("messages without waiting", many,
                       list(self.stub.Chat(EchoRequest(payload=payload) for payload in many)))

    def basic(self, kind):
        {"unary": self.unary_basic, "collect": self.collect_basic, "expand": self.expand_basic, "chat": self.chat_basic}[kind]()

    def poll(self, name, wanted):
        """Asks until a wait has come to a state."""
        limit = time.monotonic() + POLL_SECONDS
        while (seen := self.stub.Unary(EchoRequest(ask=name)).wait) != wanted:
            if time.monotonic() > limit:
                expect("the server's view of the wait", messages.Wait.Name(wanted), messages.Wait.Name(seen))
            time.sleep(POLL_PAUSE)

    @contextlib.contextmanager
    def waiting(self, kind, name, **options):
        """A call that waits, with three messages before."""
        wait = EchoRequest(wait=name, count=3)
        with self.open(kind, wait if kind in ("unary", "expand") else None, **options) as (call, outgoing):
            if kind in ("collect", "chat"):
                outgoing.send(*three())
            if kind in ("expand", "chat"):
                for _ in range(3):
                    next(call)
            if kind in ("collect", "chat"):
                outgoing.send(wait)
            yield call

    @staticmethod
    def finish(call, kind):
        """Waits for the status of a call that gives no further reply."""
        with contextlib.suppress(grpc.RpcError, grpc.FutureCancelledError):
            seen = call.result() if kind in ("unary", "collect") else next(call, None)
            raise Mismatch(f"expected a call that waits, saw {seen!r:.200}")

    def deadline(self, kind):
        if kind == "unary":
            expect("timeout_ms without a deadline", 0, self.stub.Unary(EchoRequest()).timeout_ms)
            left = self.stub.Unary(EchoRequest(), timeout=60).timeout_ms
            if not 1 <= left <= 61_000:
                raise Mismatch(f"timeout_ms with a deadline of 60 s: expected 1 to 61000, saw {left}")
        name = f"grpcio-{uuid.uuid4()}"
        with self.waiting(kind, name, timeout=SHORT_DEADLINE) as call:
            self.finish(call, kind)
            expect_code("after the deadline", grpc.StatusCode.DEADLINE_EXCEEDED, call)
        self.poll(name, messages.WAIT_CANCELLED)

    def cancel(self, kind):
        name = f"grpcio-{uuid.uuid4()}"
        with self.waiting(kind, name, timeout=None) as call:
            self.poll(name, messages.WAIT_UNDER_WAY)
            call.cancel()
            self.finish(call, kind)
            expect_code("after the cancellation", grpc.StatusCode.CANCELLED, call)
        self.poll(name, messages.WAIT_CANCELLED)

    @staticmethod
    def replies_of(call, kind):
        return [call.result()] if kind in ("unary", "collect") else list(call)

    def large(self, kind):
        big = pattern(LARGE)
        with self.open(kind, EchoRequest(payload=big, count=2)) as (call, outgoing):
            replies = []
            if kind == "collect":
                outgoing.send(EchoRequest(payload=b"x"))
            if kind == "chat":
                replies.append(next(call))
                outgoing.send(EchoRequest(payload=big))
            outgoing.close()
            replies += self.replies_of(call, kind)
        if kind == "collect":
            expect_reply("reply", big + b"x", 2, replies[0])
        else:
            expect_replies("replies", [big] if kind == "unary" else [big] * 2, replies)

    def metadata(self, kind):
        sent = [("echo-text", "first"), ("echo-text", "second value"),
                ("echo-data-bin", bytes(range(256))), ("echo-data-bin", b"two")]
        request = EchoRequest(payload=b"x", count=1)
        with self.open(kind, None if kind == "chat" else request, metadata=sent) as (call, outgoing):
            if kind == "chat":
                call.initial_metadata()     # arrives before anything is sent
                outgoing.send(request)
            outgoing.close()
            expect("number of replies", 1, len(self.replies_of(call, kind)))
            for place, seen in ("initial", call.initial_metadata()), ("trailing", call.trailing_metadata()):
                for key in "echo-text", "echo-data-bin":
                    expect(f"{place} {key}", [v for k, v in sent if k == key], [v for k, v in seen if k == key])

    def failure(self, kind, code):
        fail = EchoRequest(fail=Failure(code=code, text=ERROR_TEXT), count=3)
        first = fail if kind in ("unary", "expand") else None
        with self.open(kind, first, metadata=[("echo-text", "why")]) as (call, outgoing):
            if kind in ("collect", "chat"):
                outgoing.send(*three(), fail)
            received = 0
            with contextlib.suppress(grpc.RpcError):
                if kind in ("unary", "collect"):
                    call.result()
                for _ in call if kind in ("expand", "chat") else ():
                    received += 1
            expect("number of replies", 3 if kind in ("expand", "chat") else 0, received)
            expect("status", CODES[code], call.code())
            expect("text", ERROR_TEXT, call.details())
            expect("trailing echo-text", ["why"], [value for key, value in call.trailing_metadata() if key == "echo-text"])

    def error(self, kind):
        for code in range(1, 17) if kind == "unary" else [9]:
            self.failure(kind, code)


def case_names():
    return [f"{kind}-{what}" for kind in KINDS for what in WHATS]


def connect(options):
    transport, place = options["--connect"]
    target = f"unix:{place}" if transport == "unix" else place
    if "--ca" not in options:
        return grpc.insecure_channel(target, options=SIZES)
    ca, cert, key = (pathlib.Path(options[name]).read_bytes() for name in ("--ca", "--cert", "--key"))
    name = options.get("--server-name", "ank-server")
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(ca, key, cert),
                               options=[*SIZES, ("grpc.ssl_target_name_override", name)])


def call(options, names):
    for name in names:
        if name not in case_names():
            raise Usage(f"unknown case '{name}': grpcio-peer cases lists them")
    failed = False
    with connect(options) as channel:
        caller = Caller(services.EchoStub(channel))
        for name in names:
            kind, what = name.split("-")
            try:
                getattr(caller, what)(kind)
                print("ok", name, flush=True)
            except (Mismatch, grpc.RpcError, StopIteration) as error:
                print(f"failed {name}:", " ".join(str(error).split()), flush=True)
                failed = True
    return 1 if failed else 0


def parse(words, flag):
    options, rest = {}, []
    words = iter(words)
    for word in words:
        if word in (flag, "--ca", "--cert", "--key", "--server-name"):
            options[word] = next(words, None)
            if options[word] is None:
                raise Usage(f"{word}: a value is missing")
        elif word.startswith("-"):
            raise Usage(f"unknown option {word}")
        else:
            rest.append(word)
    transport, _, place = options.get(flag, "").partition(":")
    if transport not in ("tcp", "unix") or not place:
        raise Usage(f"{flag}: expected tcp:HOST:PORT or unix:PATH, got '{options.get(flag, '')}'")
    options[flag] = transport, place
    if len({"--ca", "--cert", "--key"} & options.keys()) not in (0, 3):
        raise Usage("--ca, --cert and --key belong together")
    return options, rest


def main(words):
    command = words[0] if words else ""
    try:
        if command == "cases":
            print(*case_names(), sep="\n")
            return 0
        if command == "serve":
            return serve(parse(words[1:], "--listen")[0])
        if command == "call":
            return call(*parse(words[1:], "--connect"))
        raise Usage(f"unknown command '{command}': expected cases, serve or call")
    except Usage as error:
        print("grpcio-peer:", error, file=sys.stderr)
        return 2
    except (OSError, RuntimeError) as error:
        print("grpcio-peer:", error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
