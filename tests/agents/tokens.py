#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an agent's model reads when its tools are `nsrun mcp`'s, beside the agent's own: tokens.py PACKAGES [AGENT…].

Ten tasks are done twice by each of Claude Code, Codex and gemini-cli (PACKAGES/AGENT/node_modules, as check-agents keeps
them), without nsrun around: a model's server on loopback asks for the same steps by whatever tools it is offered.
Counted are characters of the request bodies, of which tokens are some fixed part: all that was sent, and of the last
request the conversation alone.  NSRUN is the program.  By hand, as an ordinary user."""
import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading

NSRUN = os.path.abspath(os.environ["NSRUN"])
PACKAGES = os.path.abspath(sys.argv[1])
ROOT = tempfile.mkdtemp(prefix="nsrun-tokens-", dir="/var/tmp")
WORK = os.path.join(ROOT, "project")

FILES = {
    "add.c": "#include <stdio.h>\n\nint add(int a, int b) {\n        return a - b;\n}\n\nint main(void) {\n"
             "        printf(\"%d\\n\", add(2, 3));\n        return add(2, 3) != 5;\n}\n",
    "Makefile": "all: add\n\ntest: add\n\t./add\n",
    "notes.md": "".join(f"{i}. a line of notes, number {i}\n" for i in range(1, 120)),
    "src/one.py": "def one():\n    return 1\n", "src/two.py": "def two():\n    return 1 + 1\n",
}
TASKS = [
    [("bash", "make test")],
    [("read", "add.c"), ("edit", "add.c", "a - b", "a + b"), ("bash", "make test")],
    [("grep", "def "), ("read", "src/two.py"), ("edit", "src/two.py", "1 + 1", "2")],
    [("write", "src/three.py", "def three():\n    return 3\n"), ("bash", "python3 src/three.py")],
    [("glob", "**/*.py"), ("read", "src/one.py"), ("read", "src/two.py")],
    [("bash", "ls nothing; false"), ("bash", "ls")],
    [("bash", "seq 1 3000")],
    [("write", "bad.c", "int main(void) { return x; }\n"), ("bash", "cc bad.c"), ("edit", "bad.c", "return x", "return 0"), ("bash", "cc bad.c && ./a.out")],
    [("bash", "git log --oneline; git status --short"), ("bash", "git diff")],
    [("read", "notes.md"), ("edit", "notes.md", "number 7\n", "number seven\n"), ("edit", "notes.md", "number 9\n", "number nine\n"), ("bash", "git diff --stat")],
]


def by_shell(step):
    """The command of an agent that has no tool for it."""
    kind, path = step[0], step[1]
    if kind == "read":
        return f"cat {path}"
    if kind == "write":
        return f"cat >{path} <<'EOF'\n{step[2]}EOF"
    if kind == "edit":
        return f"python3 - <<'EOF'\np = {path!r}\ns = open(p).read()\nopen(p, 'w').write(s.replace({step[2]!r}, {step[3]!r}, 1))\nEOF"
    if kind == "grep":
        return f"grep -rn {path!r} ."
    if kind == "glob":
        return "find . -name '*.py'"
    return path


# Of each kind of step the tools, best first, as patterns of their names, and their arguments.
OWN = {
    "bash": [("Bash", lambda s: {"command": s[1], "description": "run it"}), ("exec_command", lambda s: {"cmd": s[1]}),
             ("shell_command", lambda s: {"command": s[1]}),
             ("run_shell_command", lambda s: {"command": s[1], "description": "run it", "is_background": False})],
    "read": [("Read", lambda s: {"file_path": f"{WORK}/{s[1]}"}), ("read_file", lambda s: {"file_path": f"{WORK}/{s[1]}"})],
    "edit": [("Edit", lambda s: {"file_path": f"{WORK}/{s[1]}", "old_string": s[2], "new_string": s[3]}),
             ("replace", lambda s: {"file_path": f"{WORK}/{s[1]}", "old_string": s[2], "new_string": s[3], "instruction": "change it"})],
    "write": [("Write", lambda s: {"file_path": f"{WORK}/{s[1]}", "content": s[2]}),
              ("write_file", lambda s: {"file_path": f"{WORK}/{s[1]}", "content": s[2]})],
    "grep": [("Grep", lambda s: {"pattern": s[1]}), ("grep_search", lambda s: {"pattern": s[1]}), ("search_file_content", lambda s: {"pattern": s[1]})],
    "glob": [("Glob", lambda s: {"pattern": s[1]}), ("glob", lambda s: {"pattern": s[1]})],
}
NSRUNS = {
    "bash": lambda s: {"command": s[1]},
    "read": lambda s: {"file_path": s[1]},
    "edit": lambda s: {"file_path": s[1], "old_string": s[2], "new_string": s[3]},
    "write": lambda s: {"file_path": s[1], "content": s[2]},
    "grep": lambda s: {"pattern": s[1]},
    "glob": lambda s: {"pattern": s[1]},
}


def choose(names, step, wants_nsrun):
    """The tool's name and arguments for a step."""
    if wants_nsrun:
        name = next((n for n in names if "nsrun" in n and n.endswith("_" + step[0])), None)
        if not name:
            raise KeyError(f"no tool of nsrun's for {step[0]} among {sorted(names)}")
        return name, NSRUNS[step[0]](step)
    for name, arguments in OWN[step[0]]:
        if name in names:
            return name, arguments(step)
    return choose(names, ("bash", by_shell(step)), False)


class Model(http.server.BaseHTTPRequestHandler):
    steps, wants_nsrun, bodies, trouble = [], False, [], None

    def log_message(self, *_):
        pass

    def answer(self, text, kind="application/json"):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def events(self, events):
        self.answer("".join(f"event: {e.get('type', 'x')}\ndata: {json.dumps(e)}\n\n" for e in events), "text/event-stream")

    def do_GET(self):
        self.answer('{"object": "list", "data": [{"id": "m", "object": "model"}], "models": []}')

    def do_HEAD(self):
        self.answer("")

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path = self.path.split("?")[0]
        body = json.loads(raw or "{}")
        if path.endswith("/responses"):
            self.openai_responses(raw, body)
        elif path.endswith("/messages"):
            self.messages(raw, body)
        elif "enerateContent" in path:
            self.generate(raw, body, "stream" in path)
        else:
            self.answer('{"input_tokens": 1}')

    def next(self, raw, names, n, conversation):
        """The tool for the step behind `n` results; None at the end.  What has no tools isn't part of the task."""
        if not names:
            return None
        Model.bodies.append((len(raw), len(json.dumps(conversation, ensure_ascii=False))))
        if n >= len(Model.steps):
            return None
        try:
            return choose(names, Model.steps[n], Model.wants_nsrun)
        except KeyError as e:
            Model.trouble = str(e)
            return None

    def messages(self, raw, body):
        results = [b for m in body["messages"] if isinstance(m["content"], list) for b in m["content"] if b.get("type") == "tool_result"]
        call = self.next(raw, {t["name"] for t in body.get("tools") or []}, len(results), body["messages"])
        n = len(results)
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": call[0], "input": {}} if call else {"type": "text", "text": ""}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])} if call else {"type": "text_delta", "text": "finished"}
        why = "tool_use" if call else "end_turn"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model", "m"), "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not body.get("stream"):
            self.answer(json.dumps({**message, "content": [{"type": "text", "text": "finished"}], "stop_reason": "end_turn"}))
            return
        self.events([{"type": "message_start", "message": message}, {"type": "content_block_start", "index": 0, "content_block": block},
                     {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
                     {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": {"output_tokens": 1}},
                     {"type": "message_stop"}])

    def openai_responses(self, raw, body):
        names = {}
        for t in body.get("tools") or []:
            for inner in t.get("tools") or [t] if t.get("type") == "namespace" else [t]:
                space = t["name"] if t.get("type") == "namespace" else None
                names[f"{space}_{inner.get('name')}" if space else inner.get("name") or t.get("type")] = (space, inner.get("name"))
        n = sum(i.get("type") in ("function_call_output", "custom_tool_call_output") for i in body.get("input", []))
        call = self.next(raw, names, n, body.get("input"))
        if call:
            space, name = names[call[0]]
            item = {"type": "function_call", "id": f"fc{n}", "call_id": f"c{n}", "name": name, "arguments": json.dumps(call[1]),
                    **({"namespace": space} if space else {})}
        else:
            item = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "finished"}]}
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
        self.events([{"type": "response.created", "response": {"id": "r"}}, {"type": "response.output_item.done", "item": item},
                     {"type": "response.completed", "response": {"id": "r", "usage": usage}}])

    def generate(self, raw, body, is_stream):
        names = {f["name"] for t in body.get("tools") or [] for f in t.get("functionDeclarations") or []}
        n = sum("functionResponse" in p for c in body["contents"] for p in c.get("parts", []))
        call = self.next(raw, names, n, body["contents"])
        if call:
            part = {"functionCall": {"name": call[0], "args": call[1]}}
        elif (body.get("generationConfig") or {}).get("responseMimeType") == "application/json":
            part = {"text": json.dumps({"reasoning": "x", "next_speaker": "user", "model_choice": "pro", "complexity_score": 1, "complexity_reasoning": "x"})}
        else:
            part = {"text": "finished"}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                  "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
        if is_stream:
            self.answer(f"data: {json.dumps(answer)}\n\n", "text/event-stream")
        else:
            self.answer(json.dumps(answer))


def prepare(url):
    """A new project, and a home with each agent's settings."""
    home = os.path.join(ROOT, "home")
    for folder in (WORK, home):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(os.path.join(WORK, name)), exist_ok=True)
        with open(os.path.join(WORK, name), "w", encoding="utf-8") as f:
            f.write(text)
    git = ["git", "-C", WORK, "-c", "user.name=x", "-c", "user.email=x"]
    subprocess.check_call(git[:3] + ["init", "-q"])
    subprocess.check_call(git + ["add", "-A"])
    subprocess.check_call(git + ["commit", "-qm", "begin"])
    return {**{k: os.environ[k] for k in os.environ if k in ("PATH", "LANG") or k.startswith("NSRUN")}, "HOME": home,
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-test", "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "sk-test",
            "CODEX_API_KEY": "sk-test", "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def keep(home, path, text):
    os.makedirs(os.path.dirname(os.path.join(home, path)), exist_ok=True)
    with open(os.path.join(home, path), "w", encoding="utf-8") as f:
        f.write(text)


def claude(env, url, wants_nsrun):
    program = os.path.join(PACKAGES, "claude/node_modules/.bin/claude")
    keep(env["HOME"], ".claude.json", "{}")
    if not wants_nsrun:
        return [program, "-p", "do the task", "--permission-mode", "bypassPermissions"]
    keep(env["HOME"], "servers", json.dumps({"mcpServers": {"nsrun": {"command": NSRUN, "args": ["mcp"]}}}))
    return [program, "-p", "do the task", "--permission-mode", "bypassPermissions", "--mcp-config", os.path.join(env["HOME"], "servers"),
            "--disallowedTools", "Bash,Edit,Write,Read,Glob,Grep"]


def codex(env, url, wants_nsrun):
    text = f"""model = "m"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "CODEX_API_KEY"
wire_api = "responses"
"""
    if wants_nsrun:
        text += f"""[features]
shell_tool = false
unified_exec = false
[mcp_servers.nsrun]
command = "{NSRUN}"
args = ["mcp"]
"""
    keep(env["HOME"], ".codex/config.toml", text)
    return [os.path.join(PACKAGES, "codex/node_modules/.bin/codex"), "exec", "do the task"]


def gemini(env, url, wants_nsrun):
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    if wants_nsrun:
        settings["mcpServers"] = {"nsrun": {"command": NSRUN, "args": ["mcp"], "trust": True}}
        own = ["run_shell_command", "read_file", "replace", "write_file", "grep_search", "search_file_content", "list_directory", "read_many_files"]
        settings["tools"] = {"exclude": own}
    keep(env["HOME"], ".gemini/settings.json", json.dumps(settings))
    return [os.path.join(PACKAGES, "gemini/node_modules/.bin/gemini"), "-p", "do the task", "--yolo", "--skip-trust"]


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_address[1]}"
try:
    for agent in sys.argv[2:] or ["claude", "codex", "gemini"]:
        sums = [[0, 0, 0], [0, 0, 0]]
        for i, steps in enumerate(TASKS):
            row = []
            for wants_nsrun in (False, True):
                env = prepare(URL)
                Model.steps, Model.wants_nsrun, Model.bodies, Model.trouble = steps, wants_nsrun, [], None
                argv = globals()[agent](env, URL, wants_nsrun)
                done = subprocess.run(argv, cwd=WORK, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, timeout=300, check=False)
                if Model.trouble or len(Model.bodies) != len(steps) + 1:
                    print(f"{agent} {i + 1} {'nsrun' if wants_nsrun else 'own'}: {Model.trouble or len(Model.bodies)} requests: {done.stdout[-600:]}")
                all_sent, last = sum(b[0] for b in Model.bodies), Model.bodies[-1][1] if Model.bodies else 0
                row += [len(Model.bodies), all_sent, last]
                for k, v in enumerate((len(Model.bodies), all_sent, last)):
                    sums[wants_nsrun][k] += v
            print(f"{agent} task {i + 1}: calls {row[0]} / {row[3]}, sent {row[1]} / {row[4]}, conversation {row[2]} / {row[5]}"
                  f" = {row[5] / max(row[2], 1):.2f}", flush=True)
        own, ours = sums
        print(f"{agent}: calls {own[0]} / {ours[0]}, sent {ours[1] / own[1]:.2f}, conversation {ours[2] / own[2]:.2f} of its own tools'", flush=True)
finally:
    server.shutdown()
    subprocess.run(["chmod", "-R", "u+rwX", ROOT], check=False)
    shutil.rmtree(ROOT)
