#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks nsrun-keys what no program would: keys.py NSRUN-KEYS SECONDS [SEED].

Requests are cut, overwritten, sent in pieces and left, while its host (tests/network/keys-server.py) answers well, badly,
without an end or not at all.  No byte of the key may come back; in the end a good request is answered, and memory
and descriptors are those of a process that does nothing.  By hand, as an ordinary user."""
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

program, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2])
seed = int(sys.argv[3]) if len(sys.argv) > 3 else time.time_ns()
print("seed", seed, flush=True)
folder = tempfile.mkdtemp(prefix="nsrun-keys-", dir="/var/tmp")
subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder + "/key.pem", "-out",
                folder + "/cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
               check=True, stderr=subprocess.DEVNULL)
host = subprocess.Popen([sys.executable, os.path.dirname(os.path.abspath(__file__)) + "/../network/keys-server.py", folder])
while not os.path.exists(folder + "/port"):
    time.sleep(0.05)
port = open(folder + "/port", encoding="utf-8").read()
KEY = "sk-F1u2z3z4/E5r6+S7"
uses = ["header=x-api-key: *", "query=key", "basic=me"]
lines = "".join(f"use {i + 1} K=https://localhost:{port},{use}\n" for i, use in enumerate(uses))
lines = (lines + f"value K {KEY}\nca {folder}/cert.pem\n").encode()
net, net_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
own, own_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def become():
    high = [os.dup(net_end.fileno()) for _ in range(8)][-1], os.dup(own_end.fileno())
    os.dup2(high[0], 3)
    os.dup2(high[1], 4)


keys = subprocess.Popen([program], preexec_fn=become, pass_fds=[3, 4], env={"LOCALDOMAIN": ""})
own.send(struct.pack("I", len(lines)))
own.send(lines)
assert struct.unpack("i", own.recv(4)) == (0,)
ports = []
for i in range(len(uses)):
    s = socket.create_server(("127.0.0.1", 0), backlog=1024)
    ports.append(s.getsockname()[1])
    socket.send_fds(net, [struct.pack("H", i + 1)], [s.fileno()])
    s.close()
end = time.time() + seconds
seen, counts = [], [0, 0]


def opening(rng):
    path = b"/socket?" + rng.choice([b"", b"wait=0.05", b"hex=" + os.urandom(30).hex().encode(), b"stay=1&hex=485454502f312e312031", b"more=9999&hex="])
    data = bytearray(b"GET " + path + b" HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                     b"Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n\r\n")
    for _ in range(rng.choice([0, 0, 0, 1])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    for _ in range(rng.randrange(9)):
        word = rng.choice([b"key", b"parts", b"begun", b"fragments", b"big", b"leave", b"raw " + os.urandom(rng.randrange(20)).hex().encode(), b"x" * 125])
        data += bytes([0x81, 128 + len(word)]) + bytes(4) + word
    return bytes(data)


def request(rng):
    if rng.random() < .3:
        return opening(rng)
    path = rng.choice([b"/echo"] * 4 + [b"/gzip", b"/chunked", b"/head", b"/sse?n=9&ms=20", b"/big?n=3000000", b"/cut", b"/early",
                                        b"/endless", b"/silent", b"/raw?hex=00ff0a", b"/link", b"/part", b"http://x/", b"*", b"/a?key=1&k%65y=2"])
    head = [rng.choice([b"GET", b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"CONNECT", b"X"]) + b" " + path + b" " +
            rng.choice([b"HTTP/1.1"] * 5 + [b"HTTP/1.0", b"HTTP/9"]), b"Host: x"]
    head += rng.choices([b"X-A: b", b"X-Empty:", b"Connection: close", b"Expect: 100-continue", b"Range: bytes=0-5", b"X: " + b"q" * 70000,
                         b"TE: trailers", b"Upgrade: h2c", b"X-Api-Key: mine"], k=rng.randrange(4))
    body = b"b" * rng.choice([0, 0, 1, 1000, 300000])
    if rng.random() < .3:
        head.append(b"Transfer-Encoding: chunked")
        body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    elif body:
        head.append(b"Content-Length: %d" % (len(body) + rng.choice([0, 0, 0, 1, -1, 10 ** 19])))
    data = bytearray(b"\r\n".join(head) + b"\r\n\r\n" + body)
    for _ in range(rng.choice([0, 0, 0, 1, 4])):
        at = rng.randrange(min(len(data), 400))
        data[at:at + rng.randrange(3)] = rng.choice([b"\r\n", b"\r", b"\n", b"\0", b":", b" ", b"\xff", b"-1", b"f" * 20])
    return bytes(data)


def hammer(number):
    rng = random.Random(seed + number)
    while time.time() < end:
        tail = b""
        with socket.socket() as s:
            s.settimeout(rng.choice([0.05, 0.3, 1]))
            try:
                s.connect(("127.0.0.1", rng.choice(ports)))
                counts[0] += 1
                data = b"".join(request(rng) for _ in range(rng.choice([1, 1, 2, 4])))
                s.sendall(data[:rng.randrange(len(data) + 1)] if rng.random() < .2 else data)
                if rng.random() < .15:
                    s.shutdown(rng.choice([socket.SHUT_RD, socket.SHUT_WR]))
                for _ in range(rng.choice([0, 1, 5, 50])):
                    more = s.recv(rng.choice([10, 1000, 65536]))
                    counts[1] += len(more)
                    if KEY.encode() in tail + more:
                        seen.append(data)
                    tail = (tail + more)[-len(KEY):]
                    if not more:
                        break
                if rng.random() < .4:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass


threads = [threading.Thread(target=hammer, args=(i,)) for i in range(16)]
for t in threads:
    t.start()
for t in threads:
    t.join()
good = b""
for _ in range(100):
    with socket.create_connection(("127.0.0.1", ports[0])) as s:
        s.sendall(b"GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        good = s.recv(1000)
    status = dict(line.split(":", 1) for line in open(f"/proc/{keys.pid}/status", encoding="utf-8"))
    memory = int(status["VmRSS"].split()[0])
    if memory < 150000:
        break
    time.sleep(0.5)
print(counts[0], "connections,", counts[1], "bytes,", memory, "KiB,", keys.poll(), good[:15])
own.close()
ended = keys.wait()
host.kill()
subprocess.run(["rm", "-rf", folder], check=True)
sys.exit(bool(seen) or not good.startswith(b"HTTP/1.1 200") or memory >= 150000 or ended != 0)
