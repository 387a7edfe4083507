#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Servers of tests/network/clients that nobody else has written: git's HTTP backend on 127.0.0.1:7001, a websocket
that echoes on port 8081, and each PORT given again 10,000 higher.  Prints "ready".

    servers.py FOLDER PORT…
"""

import asyncio
import base64
import hashlib
import os
import sys

FOLDER = sys.argv[1]
PORTS = [int(port) for port in sys.argv[2:]]


async def read_head(reader):
    """The request line's words, and the headers."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    return head[0].split(), {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:-2])}


async def read_chunks(reader):
    body = b""
    while size := int(await reader.readline(), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    return body


async def git(reader, writer):
    (method, target, _), headers = await read_head(reader)
    path, _, query = target.removeprefix("/git").partition("?")
    if "chunked" in headers.get("transfer-encoding", ""):
        body = await read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    backend = await asyncio.create_subprocess_exec(
        "git", "http-backend", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "GIT_PROJECT_ROOT": os.path.join(FOLDER, "git"), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
             "QUERY_STRING": query, "REQUEST_METHOD": method, "CONTENT_TYPE": headers.get("content-type", ""),
             "HTTP_CONTENT_ENCODING": headers.get("content-encoding", ""), "CONTENT_LENGTH": str(len(body))})
    answer, _ = await backend.communicate(body)
    writer.write(b"HTTP/1.0 200 OK\r\n" + answer)
    await writer.drain()
    writer.close()


async def websocket(reader, writer):
    _, headers = await read_head(reader)
    key = headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    writer.write(f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
    frame = await reader.readexactly(2 + 4 + 8)
    text = bytes(byte ^ frame[2 + i % 4] for i, byte in enumerate(frame[6:]))
    writer.write(bytes([0x81, len(text)]) + text)
    await writer.drain()
    writer.close()


async def copy(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()


def second(port):
    async def handle(reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, back), copy(there, writer), return_exceptions=True)
        back.close()
        writer.close()
    return handle


async def main():
    await asyncio.start_server(git, "127.0.0.1", 7001)
    await asyncio.start_server(websocket, None, 8081)
    for port in PORTS:
        await asyncio.start_server(second(port), None, port + 10000)
    print("ready", flush=True)
    await asyncio.Event().wait()


asyncio.run(main())
