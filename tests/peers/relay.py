"""A relay between two HTTP/2 peers that kills one of them at a chosen stage.

It understands frames just well enough to know where one ends and what it is.
"""

import contextlib
import dataclasses
import socket
import threading
import typing

DATA, HEADERS, SETTINGS, GOAWAY = 0, 1, 4, 7
END_STREAM, ACK = 1, 1
PREFACE = -1        # what a client sends before its first frame, taken for a frame of its own
PREFACE_BYTES = 24


@dataclasses.dataclass(frozen=True)
class Frame:
    origin: str     # client or server
    kind: int
    flags: int
    bytes: bytes

    def ends_stream(self):
        return self.kind in (DATA, HEADERS) and bool(self.flags & END_STREAM)


@dataclasses.dataclass(frozen=True)
class Stage:
    """The first frame that matches is passed on as far as said, then the peer is killed."""

    matches: typing.Callable[[Frame], bool]
    passes: float = 1.0
    # What comes from the side of a frame that this matches, and the frame itself, is kept back.
    holds: typing.Callable[[Frame], bool] = lambda frame: False


class Relay:
    """Listens until the end of the block. backend is where connections go; None: they are closed at once.

    Nobody is connected before arm(): a peer may start before there is a stage for it. kill() is called at the stage; then
    nothing passes any more in either direction and the connection is closed. Later connections are relayed to their end.
    """

    def __init__(self, backend):
        self.backend = backend
        self.stage = None
        self.kill = None
        self.armed = threading.Event()
        self.reached = threading.Event()
        self.held = threading.Event()
        self.passed = {"client": [], "server": []}      # kind and flags of the frames of each side
        self.changed = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp:127.0.0.1:{self.listener.getsockname()[1]}"
        self.sockets = []
        self.threads = []
        self._start(self._accept)

    def arm(self, stage, kill):
        self.kill = kill
        self.stage = stage
        self.armed.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._hang_up(self.listener, *self.sockets)
        self.armed.set()        # in case nobody did: the listener is closed, nobody is connected any more
        for thread in self.threads:
            thread.join()

    def wait_until_passed(self, matches, seconds):
        """Waits for a frame that was passed on."""
        with self.changed:
            return self.changed.wait_for(lambda: any(map(matches, self.passed["client"] + self.passed["server"])), seconds)

    def _start(self, work, *arguments):
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    @staticmethod
    def _hang_up(*sockets):
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self):
        with contextlib.suppress(OSError):      # the listener was closed
            self.armed.wait()
            while True:
                client, _ = self.listener.accept()
                self._connect(client)

    def _connect(self, client):
        try:
            host, port = self.backend.removeprefix("tcp:").rsplit(":", 1)
            server = socket.create_connection((host, int(port)))
        except (OSError, AttributeError):
            self._hang_up(client)
            return
        for each in client, server:
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sockets += [client, server]
        over = threading.Event()
        self._start(self._pump, "client", client, server, over)
        self._start(self._pump, "server", server, client, over)

    def _pump(self, origin, source, sink, over):
        with contextlib.suppress(OSError):      # either side may be gone
            for frame in self._frames(origin, source):
                if over.is_set():
                    return
                stage = self.stage
                if stage and stage.holds(frame):
                    self.held.set()
                    over.wait()
                    return
                if stage and stage.matches(frame):
                    self.stage = None
                    over.set()      # first, so that nothing comes back before the end
                    sink.sendall(frame.bytes[:int(len(frame.bytes) * stage.passes)])
                    self.kill()
                    self.reached.set()
                    break
                sink.sendall(frame.bytes)
                with self.changed:
                    self.passed[origin].append(dataclasses.replace(frame, bytes=b""))
                    self.changed.notify_all()
        over.set()
        self._hang_up(source, sink)

    @staticmethod
    def _frames(origin, source):
        with source.makefile("rb") as stream:
            if origin == "client":
                yield Frame(origin, PREFACE, 0, stream.read(PREFACE_BYTES))
            while len(header := stream.read(9)) == 9:
                yield Frame(origin, header[3], header[4], header + stream.read(int.from_bytes(header[:3], "big")))
