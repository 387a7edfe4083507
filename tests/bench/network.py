#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures --net=allow: a start beside one without a network, beside pasta's and srt's; bytes and requests to a
server on the host's loopback, beside the same without a sandbox and beside two socats and a unix socket, which
is how srt bridges them; 1,000 connections at once; nsrun-net's memory.  Started by scripts/bench after daily.py."""

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import measure
from measure import TRUE, Bars, measure as measure_runs, nsrun

CONNECTIONS = 1000
CHUNK = 1 << 20


# ----------------------------------------------------------------- the server


def read_all(peer, n):
    data = b""
    while len(data) < n and (more := peer.recv(n - len(data))):
        data += more
    return data


def answer(peer):
    """Per request of 16 bytes, a number N: N bytes; none of them: the same byte for each."""
    block = bytes(CHUNK)
    with peer:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while head := read_all(peer, 16):
            n = int(head)
            while n > 0:
                peer.sendall(block[:n])
                n -= min(n, CHUNK)


def serve():
    listener = socket.create_server(("127.0.0.1", 0), backlog=4096)

    def accept():
        while True:
            peer, _ = listener.accept()
            threading.Thread(target=answer, args=(peer,), daemon=True).start()
    threading.stack_size(256 << 10)
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


# ----------------------------------------------------------------- the client


def connect(port):
    peer = socket.create_connection(("127.0.0.1", port))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def client(port, n_requests, n_bytes):
    """Prints microseconds of a request, of a connection with a request, MiB a second."""
    with connect(port) as peer:
        times = []
        for _ in range(n_requests):
            began = time.perf_counter()
            peer.sendall(b"%16d" % 1)
            peer.recv(1)
            times.append(time.perf_counter() - began)
        request = statistics.median(times)
    times = []
    for _ in range(n_requests // 10):
        began = time.perf_counter()
        with connect(port) as peer:
            peer.sendall(b"%16d" % 1)
            peer.recv(1)
        times.append(time.perf_counter() - began)
    buffer = bytearray(CHUNK)
    with connect(port) as peer:
        began, left = time.perf_counter(), n_bytes
        peer.sendall(b"%16d" % n_bytes)
        while left > 0:
            n = peer.recv_into(buffer)
            if n == 0:
                sys.exit("the connection ended early")
            left -= n
        seconds = time.perf_counter() - began
    print(request * 1e6, statistics.median(times) * 1e6, n_bytes / seconds / (1 << 20))


def crowd(port):
    """So many connections at once, each answered; waits for a line; prints milliseconds."""
    began = time.perf_counter()
    peers = [connect(port) for _ in range(CONNECTIONS)]
    for peer in peers:
        peer.sendall(b"%16d" % 1)
    for peer in peers:
        if len(peer.recv(1)) != 1:
            sys.exit("a connection was not answered")
    print((time.perf_counter() - began) * 1e3, flush=True)
    sys.stdin.readline()


# ----------------------------------------------------------------------- rows


def me(*words):
    return ["/usr/bin/python3", os.path.abspath(__file__), *(str(word) for word in words)]


def inside(port, *words):
    return nsrun("--net=allow", f"--allow=localhost:{port}", f"--ro={measure.HERE}", command=me(*words))


def ends(argv):
    """Whether it works here, and ends: an older pasta stays when it was started as a child."""
    try:
        return subprocess.run(argv, timeout=5, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        print(f"{argv[0]}: left out, it doesn't end here")
        return False


def starts(bars, sizes, is_smoke):
    commands = {"nsrun --net=host": nsrun(), "nsrun --net=none": nsrun("--net=none"),
                "nsrun --net=allow": nsrun("--net=allow", "--allow=example.org"),
                "nsrun --net=allow @npm": nsrun("--net=allow", "--allow=@npm")}
    pasta = shutil.which("pasta") or os.environ.get("BENCH_PASTA")
    if pasta and ends([pasta, "--foreground", "--config-net", "--", TRUE]):
        commands["pasta --config-net"] = [pasta, "--foreground", "--config-net", "--", TRUE]
    if os.environ.get("BENCH_SRT"):
        commands["srt"] = ["node", os.environ["BENCH_SRT"], TRUE]
    measured = measure_runs(commands, *sizes)
    print(f"\n{'a start of true':<24} {'median ms':>10} {'min ms':>10} {'CPU ms':>10}")
    for name, (median, least, cpu) in measured.items():
        print(f"{name:<24} {median:10.3f} {least:10.3f} {cpu:10.3f}")
    # Of a few runs the quickest tells more than the median.
    column = 1 if is_smoke else 0
    # 1.5 ms of the 4.4 that a start takes on a quick machine.
    bars.line("what --net=allow adds to a start, vs one with --net=none",
              measured["nsrun --net=allow"][column] / measured["nsrun --net=none"][column] - 1, 0.34)


class Bridge:
    """Two socats and a unix socket between them, for as long as a `with` lasts."""

    def __init__(self, folder, port):
        self.path, self.to, self.processes = os.path.join(folder, "bridge"), port, []
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def __enter__(self):
        for words in ((f"UNIX-LISTEN:{self.path},fork", f"TCP:127.0.0.1:{self.to}"),
                      (f"TCP-LISTEN:{self.port},bind=127.0.0.1,fork,reuseaddr", f"UNIX-CONNECT:{self.path}")):
            self.processes.append(subprocess.Popen(["socat", *words]))
        for _ in range(1000):
            try:
                connect(self.port).close()
                return self
            except OSError:
                time.sleep(0.01)
        sys.exit("bench: socat doesn't listen")

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def bytes_and_requests(bars, folder, port, is_smoke):
    sizes = (100, 64 << 20) if is_smoke else (2000, 1 << 30)
    with Bridge(folder, port) as bridge:
        commands = {"direct": me("--client", port, *sizes), "--net=allow": inside(port, "--client", port, *sizes),
                    "socat bridge": me("--client", bridge.port, *sizes)}
        rows = {name: [] for name in commands}
        for _ in range(2 if is_smoke else 7):
            for name, argv in commands.items():
                rows[name].append([float(word) for word in measure.output(argv).split()])
    medians = {name: [statistics.median(column) for column in zip(*values)] for name, values in rows.items()}
    print(f"\n{'over loopback':<24} {'request us':>10} {'with connection':>16} {'MiB/s':>10}")
    for name, (request, connection, rate) in medians.items():
        print(f"{name:<24} {request:10.1f} {connection:16.1f} {rate:10.0f}")
    ours, direct, bridge = medians["--net=allow"], medians["direct"], medians["socat bridge"]
    bars.line("a request by --net=allow takes longer than a direct one by", ours[0] - direct[0], 150, "us")
    bars.line("a direct connection's throughput vs --net=allow's", direct[2] / ours[2], 2)
    # A bar for a smaller number: twice the bridge's throughput.
    bars.line("the bridge's throughput vs --net=allow's", bridge[2] / ours[2], 0.5)


def helper_memory(pid):
    """KiB: the most that nsrun-net of that nsrun has had."""
    for child in measure.descendants(pid):
        with open(f"/proc/{child}/status") as f:
            status = dict(line.split(":\t", 1) for line in f if ":\t" in line)
        if status["Name"].strip() == "nsrun-net":
            return int(status["VmHWM"].split()[0])
    sys.exit("bench: no nsrun-net")


def crowds(bars, port):
    process = subprocess.Popen(inside(port, "--crowd", port), cwd=measure.PROJECT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    ms = process.stdout.readline()
    if not ms:
        sys.exit(f"bench: {CONNECTIONS} connections at once: not all were answered")
    memory = helper_memory(process.pid)
    process.communicate("\n")
    print(f"\n{CONNECTIONS} connections at once, each answered: {float(ms):.0f} ms")
    bars.line("nsrun-net's peak memory with them", memory / 1024, 10, "MiB")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--assert", dest="asserts", action="store_true")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--client", nargs=3, type=int)
    parser.add_argument("--crowd", type=int)
    args = parser.parse_args()
    if args.client:
        return client(*args.client)
    if args.crowd:
        return crowd(args.crowd)
    bars = Bars(args.smoke)

    os.environ["NSRUN_NET"] = os.path.join(measure.HERE, "nsrun-net")
    port = serve()
    with tempfile.TemporaryDirectory(dir=os.environ["HOME"]) as folder:
        starts(bars, (4, 8, 1) if args.smoke else (args.rounds, 50, 5), args.smoke)
        if shutil.which("socat"):
            bytes_and_requests(bars, folder, port, args.smoke)
        else:
            print("\nsocat isn't installed: neither bytes nor requests are measured")
        crowds(bars, port)
    return 1 if args.asserts and bars.has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
