"""What an editor's YAML language server says of a text: problems with their places."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


class LanguageServer:
    """Speaks the Language Server Protocol with one server; used in a with statement."""

    def __enter__(self):
        subprocess.run([ROOT / "tools/yaml-language-server"], check=True)
        path = subprocess.run([ROOT / "tools/yaml-language-server", "--path"], check=True, capture_output=True, text=True).stdout.strip()
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0
        self.request("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.notify("initialized", {})
        return self

    def __exit__(self, *_):
        self.request("shutdown", None)
        self.notify("exit", None)
        self.process.communicate(timeout=60)

    def problems(self, path, text):
        """(line from 1, sentence) of each in a file that names its schema in its first line."""
        uri = pathlib.Path(path).as_uri()
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}})
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == uri:
                return [(each["range"]["start"]["line"] + 1, each["message"]) for each in message["params"]["diagnostics"]]

    def request(self, method, parameters):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": parameters})
        while (message := self.receive()).get("id") != self.count or "method" in message:
            pass
        return message["result"]

    def notify(self, method, parameters):
        self.send({"method": method, "params": parameters})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def receive(self):
        size = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        if not size:
            raise AssertionError("the language server has ended")
        message = json.loads(self.process.stdout.read(size))
        if "id" in message and "method" in message:     # it asks for settings: all are at their defaults
            items = message.get("params", {}).get("items", [])
            self.send({"id": message["id"], "result": [None] * len(items) or None})
        return message
