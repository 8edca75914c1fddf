"""A peer that sends whatever bytes a test wants, over a gRPC that is not ours; and just enough protobuf to make them."""

import queue

import grpc

AGENT = "/grpc_api.AgentConnection/ConnectAgent"
COMMAND = "/grpc_api.CommandConnection/ConnectCommand"
VERSION = "1.1.0"


def varint(number):
    data = b""
    while number > 0x7F:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def field(number, content):
    """A field of type string, bytes or message."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def flag(number):
    """A field of type bool that is true."""
    return varint(number << 3) + b"\x01"


def number_field(number, value):
    """A field of type int32, negative or not."""
    return varint(number << 3) + varint(value % (1 << 64))


def fields(data):
    """All fields of a message of strings, messages and numbers: (number, bytes or integer)."""
    found, place = [], 0

    def take_varint():
        nonlocal place
        result, shift = 0, 0
        while True:
            byte = data[place]
            place += 1
            result |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return result
    while place < len(data):
        head = take_varint()
        value = take_varint()
        if head & 7 == 2:
            place += value
            value = data[place - value:place]
        found.append((head >> 3, value))
    return found


def agent_hello(name):
    return field(1, field(1, name) + field(2, VERSION))


def commander_hello():
    return field(6, field(2, VERSION))


def request(ident, number, content):
    """ToServer.request; number 2 is an update, 3 asks for the state, 4 for logs, 5 cancels those."""
    return field(3, field(1, ident) + field(number, content))


class Peer:
    """One call; what it receives is bytes."""

    def __init__(self, server, method, hello):
        self.channel = grpc.insecure_channel(f"127.0.0.1:{server.port}", options=[("grpc.max_receive_message_length", -1)])
        self.outgoing = queue.SimpleQueue()
        self.call = self.channel.stream_stream(method)(iter(self.outgoing.get, None), timeout=60)
        self.say(hello)

    def say(self, data):
        self.outgoing.put(data)

    def next(self):
        return next(self.call)

    def ended(self):
        """Code and words with which the server ended the call."""
        try:
            for _ in self.call:
                pass
        except grpc.RpcError:
            pass
        return self.call.code(), self.call.details()

    def close(self):
        self.outgoing.put(None)
        self.call.cancel()
        self.channel.close()
