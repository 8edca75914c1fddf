"""Runs in a container: does with the stock Ankaios SDK what a test tells it.

    sdk_puppet.py SOCKET

A line from the test is JSON: a piece of Python. The answer is a line too: what it was worth, or what it raised. The pieces see all
that `from ankaios_sdk import *` gives, what earlier pieces assigned, `connect()`, and `called`, the methods called so far.
"""

import inspect
import json
import os
import socket
import sys

import ankaios_sdk
from ankaios_sdk import Ankaios

PATIENCE = 60   # seconds for whatever must happen some time, in place of the SDK's 5
Ankaios.DEFAULT_TIMEOUT = PATIENCE
called = set()


class Connection:
    """The SDK's Ankaios; remembers which of its methods were called, and gives them time."""

    def __init__(self):
        self.ankaios = Ankaios()

    def __getattr__(self, name):
        method = getattr(self.ankaios, name)

        def call(*arguments, **keywords):
            called.add(name)
            if "timeout" in inspect.signature(method).parameters:
                keywords.setdefault("timeout", PATIENCE)
            return method(*arguments, **keywords)
        return call


def public_methods():
    return sorted(name for name, _ in inspect.getmembers(Ankaios, inspect.isfunction) if not name.startswith("_"))


def value_of(code, names):
    try:
        piece = compile(code, "<piece>", "eval")
    except SyntaxError:
        exec(compile(code, "<piece>", "exec"), names)
        return None
    return eval(piece, names)


def answer(code, names):
    try:
        return json.dumps({"value": value_of(code, names)}, default=str)
    except Exception as error:
        return json.dumps({"raised": type(error).__name__, "message": str(error)})


def main():
    names = {name: getattr(ankaios_sdk, name) for name in ankaios_sdk.__all__}
    names |= {"connect": Connection, "called": lambda: sorted(called), "public_methods": public_methods}
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(sys.argv[1] + ".new")
        listener.listen()
        os.rename(sys.argv[1] + ".new", sys.argv[1])    # whoever sees it can connect
        connection, _ = listener.accept()
        with connection.makefile("rw") as lines:
            for line in lines:
                print(answer(json.loads(line), names), file=lines, flush=True)


if __name__ == "__main__":
    main()
