# SPDX-License-Identifier: LGPL-2.1-or-later
"""A model's server on loopback that asks an agent to run a command and to write a file: model.py FOLDER COMMAND.
It speaks as OpenAI, Anthropic and Google do.  FOLDER/port gets its port, FOLDER/seen what was asked of it, FOLDER/keys by
which key.  With MODEL_TLS=FOLDER it speaks TLS by cert.pem and key.pem there."""
import http.server
import json
import os
import ssl
import sys

folder = sys.argv[1]
written = "written by the agent\n"
commands = [sys.argv[2], f"printf '{written.strip()}\\n' >written"]


def tools_of(body):
    """The names of the tools that a request offers, whoever's form it has."""
    names = []
    for tool in body.get("tools") or []:
        for name in tool.get("functionDeclarations") or tool.get("function_declarations") or [tool.get("function") or tool]:
            names.append(name.get("name") or name.get("type") or "")
    return names


def arguments_of(name, n_results):
    """What the model asks of a tool."""
    cwd = os.environ["PROJECT"]
    command = commands[n_results > 0]
    return {
        "exec_command": {"cmd": command},
        "shell_command": {"command": command},
        "shell": {"command": ["bash", "-c", command]},
        "run_shell_command": {"command": command, "description": "look", "is_background": False},
        "bash": {"command": command, "description": "look"},
        "Bash": {"command": command, "description": "look"},
        "write_file": {"file_path": cwd + "/written", "content": written},
        "write": {"filePath": cwd + "/written", "content": written},
        "Write": {"file_path": cwd + "/written", "content": written},
    }[name]


RUN = ["exec_command", "shell_command", "shell", "run_shell_command", "bash", "Bash"]
WRITE = ["write_file", "write", "Write"]


def next_call(body, n_results):
    """The tool to call after `n_results` answers, or None at the end."""
    names = tools_of(body)
    wanted = [next((t for t in RUN if t in names), None), next((t for t in WRITE if t in names), None)]
    # Who has no tool for it writes by a command.
    wanted = [t for t in [wanted[0], wanted[1] or wanted[0]] if t]
    return wanted[n_results] if n_results < len(wanted) else None


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, text, kind="application/json"):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def events(self, events, named=False):
        out = ""
        for e in events:
            out += (f"event: {e['type']}\n" if named else "") + "data: " + (e if isinstance(e, str) else json.dumps(e)) + "\n\n"
        self.answer(out, "text/event-stream")

    def do_GET(self):
        self.answer(json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}], "models": []}))

    def do_HEAD(self):
        self.answer("")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        with open(os.path.join(folder, "seen"), "a") as seen:
            seen.write(f"{self.path} {sorted(set(tools_of(body)))}\n")
        with open(os.path.join(folder, "keys"), "a") as keys:
            keys.write(f"{[self.headers.get(name) for name in ('Authorization', 'X-Api-Key', 'X-Goog-Api-Key')]}\n")
        with open(os.path.join(folder, "results"), "ab") as results:
            results.write(raw + b"\n")
        path = self.path.split("?")[0]
        if path.endswith("/responses"):
            self.openai_responses(body)
        elif path.endswith("/chat/completions"):
            self.completions(body)
        elif path.endswith("/messages"):
            self.messages(body)
        elif ":streamGenerateContent" in path or ":generateContent" in path:
            self.generate(body, "stream" in path)
        else:
            self.answer("{}")

    def openai_responses(self, body):
        n = sum(i.get("type") in ("function_call_output", "custom_tool_call_output") for i in body.get("input", []))
        name = next_call(body, n)
        if name:
            item = {"type": "function_call", "id": f"fc{n}", "call_id": f"c{n}", "name": name, "arguments": json.dumps(arguments_of(name, n))}
        else:
            item = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "finished"}]}
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
        self.events([{"type": "response.created", "response": {"id": "r"}},
                     {"type": "response.output_item.done", "item": item},
                     {"type": "response.completed", "response": {"id": "r", "usage": usage}}], True)

    def completions(self, body):
        n = sum(m["role"] == "tool" for m in body["messages"])
        name = next_call(body, n)
        if name:
            delta = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "id": f"c{n}", "type": "function",
                     "function": {"name": name, "arguments": json.dumps(arguments_of(name, n))}}]}
        else:
            delta = {"role": "assistant", "content": "finished"}
        why = "tool_calls" if name else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        base = {"id": "x", "created": 1, "model": "m"}
        if body.get("stream"):
            base["object"] = "chat.completion.chunk"
            self.events([{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                         {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": why}], "usage": usage}, "[DONE]"])
        else:
            base["object"] = "chat.completion"
            for c in delta.get("tool_calls", []):
                del c["index"]
            self.answer(json.dumps({**base, "choices": [{"index": 0, "message": delta, "finish_reason": why}], "usage": usage}))

    def messages(self, body):
        n = sum(b.get("type") == "tool_result" for m in body["messages"] if isinstance(m["content"], list) for b in m["content"])
        name = next_call(body, n)
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": name, "input": {}} if name else {"type": "text", "text": ""}
        delta = ({"type": "input_json_delta", "partial_json": json.dumps(arguments_of(name, n))} if name
                 else {"type": "text_delta", "text": "finished"})
        why = "tool_use" if name else "end_turn"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not body.get("stream"):
            whole = {**block, "input": arguments_of(name, n)} if name else {"type": "text", "text": "finished"}
            self.answer(json.dumps({**message, "content": [whole], "stop_reason": why}))
            return
        self.events([{"type": "message_start", "message": message},
                     {"type": "content_block_start", "index": 0, "content_block": block},
                     {"type": "content_block_delta", "index": 0, "delta": delta},
                     {"type": "content_block_stop", "index": 0},
                     {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": {"output_tokens": 1}},
                     {"type": "message_stop"}], True)

    def generate(self, body, is_stream):
        n = sum("functionResponse" in p for c in body["contents"] for p in c.get("parts", []))
        name = next_call(body, n)
        if name:
            part = {"functionCall": {"name": name, "args": arguments_of(name, n)}}
        elif (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            part = {"text": json.dumps({"reasoning": "x", "next_speaker": "user", "model_choice": "pro", "complexity_score": 1,
                                        "complexity_reasoning": "x"})}
        else:
            part = {"text": "finished"}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                  "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        if is_stream:
            self.events([answer])
        else:
            self.answer(json.dumps(answer))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if os.environ.get("MODEL_TLS"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["MODEL_TLS"] + "/cert.pem", os.environ["MODEL_TLS"] + "/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
with open(os.path.join(folder, "port.new"), "w") as port:
    port.write(str(server.server_address[1]))
os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
server.serve_forever()
