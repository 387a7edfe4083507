// SPDX-License-Identifier: LGPL-2.1-or-later
// The Model Context Protocol's own SDK as the client of `nsrun mcp`: client.mjs NSRUN PROJECT SECRET NAME…; each
// NAME is one of the functions below, and what it throws is the failure.  PROJECT is a git repository.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The packages lie where the script was told, and not beside this file.
const require = createRequire(path.join(process.env.MCP_PACKAGES, "package.json"));
const load = async (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${name}`)));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema } = await load("types.js");

const [nsrun, project, secret, ...names] = process.argv.slice(2);

async function open(options = [], capabilities = {}, prepare = () => {}) {
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  prepare(client);
  await client.connect(new StdioClientTransport({
    command: nsrun, args: ["mcp", "--project", project, ...options], env: process.env, stderr: "inherit" }));
  return client;
}

async function call(client, name, args = {}, options = undefined) {
  const result = await client.callTool({ name, arguments: args }, undefined, options);
  assert.equal(result.content.length, 1);
  assert.equal(result.content[0].type, "text");
  assert.equal(result.structuredContent, undefined);
  return { text: result.content[0].text, failed: result.isError };
}

async function good(client, name, args, options) {
  const answer = await call(client, name, args, options);
  assert.equal(answer.failed, false, `${name} ${JSON.stringify(args)}: ${answer.text}`);
  return answer;
}

const bash = async (client, command) => {
  const { text } = await good(client, "bash", { command });
  const shown = `$ ${command}\n`, status = "\n\nexit status: 0";
  assert.ok(text.startsWith(shown) && text.endsWith(status), text);
  return text.slice(shown.length, -status.length);
};

const tests = {
  async every_tool_works_by_its_schema() {
    const client = await open(["--overlay", ".", "--allow-commit"]);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name),
      ["bash", "bash_output", "bash_kill", "read", "write", "edit", "list", "glob", "grep", "diff", "commit", "discard"]);
    for (const tool of tools) assert.equal(tool.inputSchema.type, "object");
    assert.equal(await bash(client, "echo one; echo two"), "one\ntwo\n");
    await good(client, "write", { path: "sub/file", content: "first\nsecond\n" });
    assert.equal((await good(client, "read", { path: "sub/file", offset: 2 })).text, "second\n");
    assert.equal((await good(client, "edit", { file_path: "sub/file", old_string: "second", new_string: "third" })).text,
      "edited sub/file: 1 replaced");
    assert.equal((await good(client, "list", { path: "sub" })).text, "file\n");
    assert.equal((await good(client, "glob", { pattern: "sub/*" })).text, "sub/file\n");
    assert.equal((await good(client, "grep", { pattern: "thi.d" })).text, "sub/file:2:third\n");
    assert.match((await good(client, "diff")).text, /\+third/);
    assert.equal(fs.existsSync(path.join(project, "sub")), false);
    await good(client, "commit", { paths: ["sub"] });
    assert.equal(fs.readFileSync(path.join(project, "sub/file"), "utf8"), "first\nthird\n");
    await good(client, "write", { path: "sub/file", content: "gone\n" });
    await good(client, "discard", {});
    assert.equal((await good(client, "read", { path: "sub/file" })).text, "first\nthird\n");
    const denied = await call(client, "read", { path: secret });
    assert.equal(denied.failed, true);
    assert.equal(fs.readFileSync(secret, "utf8"), "secret\n");
    await client.close();
  },

  async progress_is_told_and_a_cancelled_command_is_gone() {
    const client = await open();
    const told = [];
    await good(client, "bash", { command: "for i in 1 2 3; do echo line $i; sleep 1; done" },
      { onprogress: (p) => told.push(p) });
    assert.ok(told.length >= 2 && told[0].message.startsWith("line "), JSON.stringify(told));
    const stop = new AbortController();
    const running = call(client, "bash", { command: "echo $$ >pid; exec sleep 1000" },
      { signal: stop.signal, onprogress: () => stop.abort("enough") });
    await assert.rejects(running, /enough/);
    await bash(client, 'while [ -e /proc/$(cat pid) ]; do :; done; rm pid');
    await client.close();
  },

  async two_clients_have_sessions_of_their_own() {
    const [one, other] = await Promise.all([open(), open()]);
    await bash(one, "echo mine >/tmp/f; echo shared >shared");
    assert.equal(await bash(other, "ls /tmp; cat shared; rm shared"), "shared\n");
    assert.equal(await bash(one, "cat /tmp/f"), "mine\n");
    await Promise.all([one.close(), other.close()]);
  },

  async a_thousand_calls_are_answered() {
    const client = await open();
    const began = Date.now();
    for (let i = 0; i < 1000; i += 50)
      await Promise.all(Array.from({ length: 50 }, async (_, k) => {
        const n = i + k;
        if (n % 4 === 0) assert.equal(await bash(client, `echo ${n}`), `${n}\n`);
        else if (n % 4 === 1) await good(client, "write", { path: `many/${n}`, content: `${n}\n` });
        else if (n % 4 === 2) await good(client, "glob", { pattern: "many/*" });
        else await good(client, "grep", { pattern: `^${n}$` });
      }));
    console.log(`# 1,000 calls, 50 at once: ${Date.now() - began} ms`);
    assert.equal(await bash(client, "ls many | wc -l; rm -r many"), "250\n");
    await client.close();
  },

  async the_user_is_asked_and_roots_and_logs_are_heard() {
    const asked = [], logged = [];
    let answer = { action: "decline" };
    const client = await open(["--overlay", ".", "--ask-commit"], { elicitation: {}, roots: {} }, (c) => {
      c.setRequestHandler(ElicitRequestSchema, (r) => { asked.push(r.params.message); return answer; });
      c.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${project}-elsewhere` }] }));
      c.setNotificationHandler(LoggingMessageNotificationSchema, (n) => logged.push(n.params.data));
    });
    await bash(client, "echo asked >asked");
    assert.equal((await call(client, "commit")).failed, true);
    assert.equal(fs.existsSync(path.join(project, "asked")), false);
    answer = { action: "accept", content: { confirm: true } };
    const second = await call(client, "commit");
    assert.equal(second.failed, false, second.text);
    assert.equal(fs.readFileSync(path.join(project, "asked"), "utf8"), "asked\n");
    assert.equal(asked.length, 2);
    assert.ok(logged.some((line) => line.includes("hasn't got the client's root")), JSON.stringify(logged));
    await client.close();
  },

  // As nsrun-mcp(1) has it: --overlay, and a commit at the end.
  async an_agents_script_of_fifty_calls() {
    const client = await open(["--overlay", ".", "--allow-commit"]);
    let n = 0;
    const did = async (what) => { n++; return what; };
    await did(good(client, "write", { path: "Makefile", content: "all: app\napp: app.c lib.c\n\tcc -o app app.c lib.c\ntest: app\n\t./app | grep -q 42\n" }));
    await did(good(client, "write", { path: "app.c", content: '#include <stdio.h>\nint answer(void);\nint main(void) { printf("%d\\n", answer()); return 0; }\n' }));
    await did(good(client, "write", { path: "lib.c", content: "int answer(void);\nint answer(void) { return 41; }\n" }));
    await did(bash(client, "git status --short | wc -l"));
    await did(bash(client, "make"));
    assert.doesNotMatch((await did(await call(client, "bash", { command: "make test" }))).text, /exit status: 0$/);
    await did(good(client, "grep", { pattern: "return 41", glob: "*.c" }));
    await did(good(client, "edit", { path: "lib.c", old: "41", new: "42" }));
    await did(bash(client, "make test"));
    await did(bash(client, "python3 -u -m http.server --bind 127.0.0.1 0 >/tmp/log 2>&1 & echo $! >/tmp/web"));
    const port = (await did(await bash(client, "until grep -o 'port [0-9]*' /tmp/log; do kill -0 $(cat /tmp/web); done"))).slice(5);
    assert.match(await did(await bash(client, `python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:${port.trim()}/Makefile").read().decode())'`)), /all: app/);
    await did(bash(client, "kill $(cat /tmp/web)"));
    for (let i = 0; i < 12; i++) {
      await did(good(client, "write", { path: `src/m${i}.c`, content: `int m${i}(void);\nint m${i}(void) { return ${i}; }\n` }));
      await did(good(client, "edit", { path: `src/m${i}.c`, old: `return ${i}`, new: `return ${i} + 1` }));
      await did(bash(client, `cc -c -o /tmp/m${i}.o src/m${i}.c`));
    }
    assert.equal((await did(await good(client, "list", { path: "src" }))).text.trim().split("\n").length, 12);
    const { text } = await did(await good(client, "diff", { form: "stat" }));
    assert.match(text, /lib\.c/);
    assert.equal(fs.existsSync(path.join(project, "app.c")), false);
    await did(good(client, "commit", { digest: text.match(/# digest: (.*)$/)[1] }));
    assert.equal(n, 52);
    assert.match(fs.readFileSync(path.join(project, "lib.c"), "utf8"), /42/);
    assert.equal(fs.readdirSync(path.join(project, "src")).length, 12);
    await client.close();
  },
};

for (const name of names.length ? names : Object.keys(tests)) await tests[name]();
process.exit(0);
