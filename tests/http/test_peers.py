"""Our HTTP server and client talk to those of Python's standard library.

    $(tools/setup --python) tools/run-unittests tests/http

TIPHYS_HTTP_PEER names the program of another build than dev.
"""

import http.client
import http.server
import os
import pathlib
import subprocess
import threading
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER = os.environ.get("TIPHYS_HTTP_PEER", str(ROOT / "build/dev/tests/http_peer"))
PATIENCE = 60


class OurServer(unittest.TestCase):
    def setUp(self):
        self.process = subprocess.Popen([PEER, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def tearDown(self):
        self.connection.close()
        self.process.stdin.close()
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.process.stdout.close()

    def ask(self, method, path, body=None, headers=None, chunked=False):
        self.connection.request(method, path, body, headers or {}, encode_chunked=chunked)
        response = self.connection.getresponse()
        return response, response.read()

    def test_keeps_a_connection_for_many_requests(self):
        self.connection.connect()
        socket = self.connection.sock
        for number in range(100):
            response, body = self.ask("PUT", f"/echo/{number}", b"x" * number)
            self.assertEqual((response.status, response.getheader("X-Name"), body), (200, str(number), b"x" * number))
        self.assertIs(self.connection.sock, socket)

    def test_takes_chunks(self):
        response, body = self.ask("PUT", "/echo/a", iter([b"one ", b"two ", b"three"]),
                                  {"Transfer-Encoding": "chunked"}, chunked=True)
        self.assertEqual((response.status, body), (200, b"one two three"))

    def test_answers_head_and_errors(self):
        response, body = self.ask("HEAD", "/echo/a")
        self.assertEqual((response.status, response.getheader("Content-Length"), body), (200, "0", b""))
        response, body = self.ask("POST", "/echo/a")
        self.assertEqual((response.status, response.getheader("Allow")), (405, "GET, HEAD, PUT"))
        response, body = self.ask("GET", "/nowhere")
        self.assertEqual(response.status, 404)

    def test_streams_events(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/events", timeout=PATIENCE) as response:
            self.assertEqual(response.headers["Content-Type"], "text/event-stream")
            self.assertEqual(response.read().decode(),
                             "".join(f"id: {n}\nevent: count\ndata: {n}\n\n" for n in (1, 2, 3)))


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "chunked?x=1")
            self.end_headers()
        elif self.path == "/chunked?x=1":
            self.protocol_version = "HTTP/1.1"
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"4\r\nfour\r\n6;x=y\r\n and 6\r\n0\r\nTrailer: z\r\n\r\n")
        elif self.path == "/until-the-end":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"x" * 100_000)
        else:
            self.send_error(404)

    def log_message(self, *arguments):
        pass


class OurClient(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def tearDown(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def ask(self, path):
        url = f"http://127.0.0.1:{self.server.server_address[1]}{path}"
        run = subprocess.run([PEER, "ask", url], capture_output=True, text=True, timeout=PATIENCE)
        return run.returncode, run.stdout

    def test_follows_a_redirection_to_a_chunked_answer(self):
        self.assertEqual(self.ask("/moved"), (0, "200\nfour and 6"))

    def test_reads_an_answer_without_a_length(self):
        self.assertEqual(self.ask("/until-the-end"), (0, "200\n" + "x" * 100_000))

    def test_hands_errors_through(self):
        code, output = self.ask("/nowhere")
        self.assertEqual((code, output.splitlines()[0]), (0, "404"))


if __name__ == "__main__":
    unittest.main()
