#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks `nsrun mcp --http` what nobody would ask: http.py NSRUN SECONDS [SEED].

Good requests of both generations are cut, doubled, overwritten and sent in pieces, with and without the token.  After
each hundred a good one must be answered as before; then a thousand sessions are begun, each with a command, while
others hold connections open.  In the end the server's processes, descriptors and memory are as they were, and when
it is killed nothing is left.  By hand, as an ordinary user, with a sanitized build."""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

nsrun, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns()
rng = random.Random(seed)
print("seed", seed, flush=True)
project = tempfile.mkdtemp(prefix="nsrun-http-", dir="/var/tmp")
KEY = "io.modelcontextprotocol/"
META = {"_meta": {KEY + "protocolVersion": "2026-07-28", KEY + "clientCapabilities": {"elicitation": {}}}}
server = subprocess.Popen([nsrun, "mcp", "--http", "127.0.0.1:0", "--project", project], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
port = int(server.stdout.readline().split(":")[2].split("/")[0])
token = server.stderr.readline().split()[-1]


def call(name, arguments, more=None):
    return {"jsonrpc": "2.0", "id": rng.randrange(9), "method": "tools/call",
            "params": {"name": name, "arguments": arguments, **(more or {})}}


def request(method, body, headers):
    text = json.dumps(body) if body is not None else ""
    head = [f"{method} /mcp HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json",
            "Accept: application/json, text/event-stream", f"Content-Length: {len(text.encode())}", "Connection: close"]
    return ("\r\n".join(head + headers) + "\r\n\r\n" + text).encode()


def send(data, pieces=1, timeout=20.0):
    """What is answered; b"" where the connection is cut or nothing comes."""
    out, end = b"", time.monotonic() + timeout
    with socket.create_connection(("127.0.0.1", port), timeout) as s:
        try:
            for i in range(pieces):
                s.sendall(data[len(data) * i // pieces:len(data) * (i + 1) // pieces])
            s.shutdown(socket.SHUT_WR)
            # A stream that waits for what may come has comments.
            while time.monotonic() < end and (chunk := s.recv(65536)):
                out += chunk
        except OSError:
            pass
    return out


OWN = [f"Authorization: Bearer {token}"]
MODERN = OWN + ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call"]
INITIALIZE = {"jsonrpc": "2.0", "id": 1, "method": "initialize",
              "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}


def begin():
    answer = send(request("POST", INITIALIZE, OWN)).decode()
    return answer.split("Mcp-Session-Id: ")[1].split("\r\n")[0]


def good(session):
    name = rng.choice(["read", "glob", "list", "bash"])
    arguments = {"read": {"path": "f"}, "glob": {"pattern": "*"}, "list": {}, "bash": {"command": "true"}}[name]
    return rng.choice([
        request("POST", call(name, arguments, META), MODERN + [f"Mcp-Name: {name}"]),
        request("POST", call(name, arguments), OWN + [f"Mcp-Session-Id: {session}", "MCP-Protocol-Version: 2025-11-25"]),
        request("POST", INITIALIZE, OWN),
        request("GET", None, OWN + [f"Mcp-Session-Id: {session}", f"Last-Event-ID: {rng.randrange(9)}-{rng.randrange(3)}"]),
        request("DELETE", None, OWN + [f"Mcp-Session-Id: {session}"]),
        request("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"}, OWN + [f"Mcp-Session-Id: {session}"]),
        request("POST", {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": META}, MODERN[:2] + ["Mcp-Method: server/discover"]),
    ])


def mutate(data):
    data = bytearray(data)
    for _ in range(rng.randrange(1, 5)):
        at, n = rng.randrange(len(data) + 1), rng.randrange(1, 40)
        kind = rng.randrange(6)
        if kind == 0:
            del data[at:at + n]
        elif kind == 1:
            data[at:at] = data[at:at + n]
        elif kind == 2:
            data[at:at] = bytes(rng.randrange(256) for _ in range(n))
        elif kind == 3:
            data[at:at] = rng.choice([b"\r\n", b"\n", b"\0", b"\r\n\r\n", b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n",
                                      b"Host: evil.example\r\n", b"\xff\xfe", b"\\ud800", b"[" * 99, b"1e999", b"Expect: 100-continue\r\n"])
        elif kind == 4 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        else:
            del data[at:]
    return bytes(data)


def check():
    answer = send(request("POST", call("bash", {"command": "echo it $((6*7))"}, META), MODERN + ["Mcp-Name: bash"]))
    assert b"it 42" in answer, answer


def weigh():
    """Descriptors and KiB of nsrun and nsrun-http."""
    pids = [server.pid] + [int(p) for p in open(f"/proc/{server.pid}/task/{server.pid}/children").read().split()]
    rss = sum(int(line.split()[1]) for p in pids for line in open(f"/proc/{p}/status") if line.startswith("VmRSS"))
    return len(os.listdir(f"/proc/{server.pid}/fd")), len(pids), rss


check()
before, n, end = weigh(), 0, time.monotonic() + seconds
session = begin()
while time.monotonic() < end:
    data = mutate(good(session))
    try:
        send(data, rng.choice([1, 1, 1, 2, 7]), 0.3 if rng.random() < 0.5 else 2.0)
    except OSError:
        pass
    n += 1
    if n % 100 == 0:
        check()
        session = begin()
print(f"{n} requests; descriptors, children, KiB before {before}, after {weigh()}", flush=True)
for i in range(1000):
    session = begin()
    answer = send(request("POST", call("bash", {"command": "echo it $((6*7))"}) if i % 10 == 0 else
                          {"jsonrpc": "2.0", "id": 2, "method": "ping"}, OWN + [f"Mcp-Session-Id: {session}"]))
    assert (b"it 42" if i % 10 == 0 else b'"result":{}') in answer, answer
check()
print(f"1000 sessions; after {weigh()}", flush=True)
children = open(f"/proc/{server.pid}/task/{server.pid}/children").read().split()
server.send_signal(signal.SIGKILL)
server.wait()
while any(os.path.exists(f"/proc/{p}") for p in children):
    time.sleep(0.1)
print("killed:", subprocess.run([nsrun, "session", "list"], capture_output=True, text=True, check=True).stdout or "no session is left",
      server.stderr.read().strip() or "nothing said")
os.rmdir(project)
