"""A server that says what a scenario lets it say, and keeps what its one agent says. It listens where the scenario's agent
looks for it, on a port of which a socket that nobody listens on makes sure that it stays the scenario's own.
"""

import asyncio
import os
import pathlib
import socket

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

ROOT = pathlib.Path(__file__).resolve().parents[3]
DESCRIPTORS = pathlib.Path(os.environ.get("TIPHYS_DESCRIPTORS", ROOT / "build/dev/proto/tiphys.descriptors"))


def messages():
    """The classes of all messages by their full name."""
    pool = descriptor_pool.DescriptorPool()
    names = []
    for file in descriptor_pb2.FileDescriptorSet.FromString(DESCRIPTORS.read_bytes()).file:
        pool.Add(file)
        names += [f"{file.package}.{message.name}" for message in file.message_type]
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in names}


MESSAGES = messages()


def to_json(message):
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def from_json(kind, content):
    return json_format.ParseDict(content, MESSAGES[kind]())


class Server:
    """Everything that arrives is kept and told to `happened`."""

    def __init__(self, happened):
        self.happened = happened
        self.received = []      # (size, JSON)
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.reserved.bind(("127.0.0.1", 0))
        self.port = self.reserved.getsockname()[1]
        self.server = None
        self.outgoing = None    # of the connected agent

    async def start(self):
        self.server = grpc.aio.server(options=[("grpc.so_reuseport", 1), ("grpc.max_receive_message_length", -1)])
        handler = grpc.stream_stream_rpc_method_handler(self.connect, MESSAGES["grpc_api.ToServer"].FromString,
                                                        lambda message: message.SerializeToString())
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("grpc_api.AgentConnection", {"ConnectAgent": handler}),))
        self.server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self.server.start()

    async def stop(self):
        if self.server:
            await self.server.stop(None)
        self.server = self.outgoing = None

    async def close(self):
        await self.stop()
        self.reserved.close()

    async def connect(self, incoming, context):
        mine = asyncio.Queue()
        reader = asyncio.ensure_future(self.read(incoming, mine, context))
        try:
            while not isinstance(message := await mine.get(), grpc.StatusCode):
                await context.write(message)
            if message != grpc.StatusCode.OK:
                await context.abort(message, "ended by the scenario")
        finally:
            reader.cancel()
            if self.outgoing is mine:
                self.outgoing = None

    async def read(self, incoming, mine, context):
        async for message in incoming:
            self.received.append((message.ByteSize(), to_json(message)))
            if self.outgoing is not mine and message.HasField("agentHello"):
                self.outgoing = mine
                await context.send_initial_metadata(())
            if not message.HasField("AgentLoadStatus"):     # those come all the time
                self.happened()
        await mine.put(grpc.StatusCode.OK)

    def send(self, content):
        self.outgoing.put_nowait(from_json("grpc_api.FromServer", content))

    def end_stream(self, status):
        self.outgoing.put_nowait(grpc.StatusCode[status.upper()])
        self.outgoing = None
