"""A middleman on a plain connection that counts gRPC messages and can hold one back."""

import contextlib
import socket
import threading

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEADER = 9      # bytes before each frame: length (3), type, flags, stream (4)
DATA = 0
UP, DOWN = "to the server", "from the server"


class Middleman:
    """Listens on a port of its own and passes everything on, frame by frame."""

    def __init__(self, port):
        self.port_behind = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.held = threading.Event()       # the message has come
        self.go_on = threading.Event()
        self.lock = threading.Lock()
        self.direction, self.left = None, 0
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def hold(self, direction, number):
        """The so-manieth message from now on waits for go_on."""
        with self.lock:
            self.direction, self.left = direction, number

    def close(self):
        self.go_on.set()
        self.listener.close()
        for each in self.sockets:
            each.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self.port_behind))
                except OSError:
                    near.close()
                    continue
                self.sockets += [near, far]
                for source, target, direction in (near, far, UP), (far, near, DOWN):
                    threading.Thread(target=self._pass_on, args=(source, target, direction), daemon=True).start()

    def _pass_on(self, source, target, direction):
        with contextlib.suppress(OSError, EOFError):
            if direction == UP:
                target.sendall(exactly(source, len(PREFACE)))
            while True:
                header = exactly(source, HEADER)
                frame = header + exactly(source, int.from_bytes(header[:3], "big"))
                if header[3] == DATA and len(frame) > HEADER:
                    self._perhaps_wait(direction)
                target.sendall(frame)
        for each in source, target:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _perhaps_wait(self, direction):
        with self.lock:
            if direction != self.direction or self.left == 0:
                return
            self.left -= 1
            if self.left:
                return
        self.held.set()
        self.go_on.wait()


def exactly(source, size):
    data = b""
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
