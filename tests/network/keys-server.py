#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A host of a key's, by TLS: keys-server.py FOLDER, which has cert.pem and key.pem.  FOLDER/port gets its port,
FOLDER/seen a line for each request: METHOD TARGET CREDENTIAL BYTES.

What it is asked for it says back, so that a test sees what has come: by PATH's first word
  echo      as JSON: method, target, headers, body
  gzip      the same, compressed
  chunked   the same, a byte to a chunk
  head      the value of Authorization or X-Api-Key in headers of the answer
  sse       N events (?n=N) with the credential in each, and a pause of ?ms=N before each
  redirect  302 to ?to=URL
  link      links to itself, in Location, Content-Location and Link, with 201
  big       ?n=N bytes
  cut       half of an answer
  raw       the bytes of ?hex=, and nothing else
  early     103 before the answer
  silent    nothing; when the client has gone a line "gone" is written
  endless   bytes until the client has gone, which is written likewise
  part      the part of the credential that Range names, with 206, as a file's
  spelled   the credential in ?how=escaped|encoded|small|basic|cut|name
  socket    a WebSocket's opening: frames as they come, unmasked; and by the text of one
              key        the credential
              parts      the same in two records of TLS
              begun      its first bytes, and nothing more until a frame comes
              fragments  the same in two frames of one message
              big        3 MB of text
              leave      the end, without more
              raw HEX    those bytes
            with ?hex= those bytes, and no more, in the place of the answer to the opening, with ?wait= that many seconds before it
"""
import base64
import gzip
import hashlib
import http.server
import json
import os
import re
import ssl
import struct
import sys
import time
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "keys"

    def log_message(self, *_):
        pass

    def credential(self):
        for name in ("Authorization", "X-Api-Key", "X-Goog-Api-Key"):
            if self.headers.get(name):
                return self.headers[name]
        return urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("key", ["none"])[0]

    def answer(self, body, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def message(self, data, kind=0x81):
        n = len(data)
        self.wfile.write(bytes([kind, n]) + data if n < 126 else struct.pack(">BBH", kind, 126, n) + data if n < 65536 else
                         struct.pack(">BBQ", kind, 127, n) + data)

    def talk(self, query):
        with open(folder + "/openings", "a", encoding="utf-8") as openings:
            openings.write(json.dumps(sorted([k.lower(), v] for k, v in self.headers.items())) + "\n")
        time.sleep(float(query.get("wait", "0")))
        accept = hashlib.sha1((self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        if "hex" in query:
            self.wfile.write(bytes.fromhex(query["hex"]) + b"X-A: b\r\n" * int(query.get("more", "0")))
            if not query.get("stay"):
                return
        else:
            self.wfile.write((
                "HTTP/1.1 101 Go\r\nUpgrade: WebSocket\r\nConnection: x, upgrade\r\nX-Other: %s\r\nSec-WebSocket-Accept: %s\r\n\r\n" %
                (self.credential(), base64.b64encode(accept).decode())).encode())
        key = self.credential().split()[-1].encode()
        while len(head := self.rfile.read(2)) == 2:
            n = head[1] & 127
            if n > 125:
                n = int.from_bytes(self.rfile.read(2 if n == 126 else 8), "big")
            mask = self.rfile.read(4)
            data = self.rfile.read(n)
            data = (int.from_bytes(data, "big") ^ int.from_bytes((mask * (n // 4 + 1))[:n], "big")).to_bytes(n, "big")
            if data == b"key":
                self.message(b"<" + key + b">")
            elif data == b"parts":
                for part in [bytes([0x81, len(key)]) + key[:20], key[20:]]:
                    self.wfile.write(part)
                    time.sleep(0.1)
            elif data == b"begun":
                self.message(b"wait for " + key[:4])
            elif data == b"fragments":
                self.message(key[:14], 1)
                self.message(key[14:], 0x80)
            elif data == b"big":
                self.message(b"y" * 3000000)
            elif data == b"leave":
                break
            elif data.startswith(b"raw "):
                self.wfile.write(bytes.fromhex(data[4:].decode()))
            else:
                self.message(data, head[0])

    def take(self):
        at = urllib.parse.urlsplit(self.path)
        query = {k: v[0] for k, v in urllib.parse.parse_qs(at.query).items()}
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while n := int(self.rfile.readline(), 16):
                body += self.rfile.read(n)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = json.dumps({"method": self.command, "target": self.path,
                           "headers": [[k.lower(), v] for k, v in self.headers.items()],
                           "body": body.decode("latin-1")[:2000], "n": len(body)}).encode()
        with open(folder + "/seen", "a", encoding="utf-8") as seen:
            seen.write("%s %s %s %d\n" % (self.command, self.path, self.credential(), len(body)))
        word = [w for w in at.path.split("/") if w][-1:] or ["echo"]
        what = word[0]
        if what == "gzip":
            self.answer(gzip.compress(said), Content_Encoding="gzip")
        elif what == "chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(len(said)):
                self.chunk(said[i:i + 1])
            self.chunk(b"")
        elif what == "head":
            self.answer(b"", X_Seen=self.credential(), Set_Cookie="a=" + self.credential())
        elif what == "sse":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for i in range(int(query.get("n", "3"))):
                time.sleep(int(query.get("ms", "0")) / 1000)
                self.chunk(b"data: %d %s\n\n" % (i, self.credential().encode()))
            self.chunk(b"")
        elif what == "redirect":
            self.answer(b"", 302, Location=query["to"])
        elif what == "link":
            own = "https://%s" % self.headers["Host"]
            self.answer(b"", 201, Location=own + "/a", Content_Location=own + "/b",
                        Link='<%s/c>; rel="next", <https://elsewhere.test/d>; rel="last"' % own)
        elif what == "big":
            self.answer(b"x" * int(query["n"]))
        elif what == "cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
        elif what == "raw":
            self.wfile.write(bytes.fromhex(query["hex"]))
            self.close_connection = True
        elif what in ("silent", "endless"):
            try:
                if what == "endless":
                    self.send_response(200)
                    self.end_headers()
                    while True:
                        self.wfile.write(b"x" * 65536)
                self.rfile.read(1)
            except OSError:
                pass
            with open(folder + "/seen", "a", encoding="utf-8") as seen:
                seen.write("gone\n")
            self.close_connection = True
        elif what == "socket" and "Upgrade" in self.headers:
            self.close_connection = True
            try:
                self.talk(query)
            except OSError:
                pass
            with open(folder + "/seen", "a", encoding="utf-8") as seen:
                seen.write("gone\n")
        elif what == "part":
            begin, end = (self.headers.get("Range") or "bytes=0-999").split("=")[1].split("-")
            self.answer(self.credential()[int(begin):int(end) + 1].encode(), 206 if "Range" in self.headers else 200)
        elif what == "spelled":
            key = self.credential()
            how = query["how"]
            if how == "name":
                self.send_response(200)
                self.send_header("X-" + key, "1")
                self.send_header("X-Other", "1")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.answer({"escaped": key.replace("/", "\\/"), "encoded": urllib.parse.quote(key, ""),
                         "small": urllib.parse.quote(key, "").lower() if key.islower() else
                         re.sub("%..", lambda m: m[0].lower(), urllib.parse.quote(key, "")),
                         "basic": key.split()[-1].rstrip("="), "cut": key[:-1]}[how].encode())
        elif what == "early":
            self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nX-Early: %s\r\n\r\n" % self.credential().encode())
            self.answer(said)
        else:
            self.answer(said)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = take


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, *_):
        pass


def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder + "/cert.pem", folder + "/key.pem")
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with open(folder + "/port.new", "w", encoding="utf-8") as port:
        port.write(str(server.server_address[1]))
    os.rename(folder + "/port.new", folder + "/port")
    server.serve_forever()


folder = sys.argv[1]
main()
