// SPDX-License-Identifier: LGPL-2.1-or-later
// Both generations of the Model Context Protocol's SDK by both transports of `nsrun mcp`: transports.mjs NSRUN
// PROJECT.  What it throws is the failure.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(path.join(process.env.MCP_PACKAGES, "package.json"));
const load = async (name) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/${name}`)));
const first = { ...await load("sdk/client/index.js"), ...await load("sdk/client/stdio.js"),
  ...await load("sdk/client/streamableHttp.js"), elicit: (await load("sdk/types.js")).ElicitRequestSchema };
const second = { ...await load("client"), ...await load("client/stdio"), elicit: "elicitation/create" };
const [nsrun, project] = process.argv.slice(2);
const args = ["mcp", "--overlay", project, "--project", project, "--ask-commit"];

async function serve() {
  const child = spawn(nsrun, [...args, "--http", "127.0.0.1:0"], { cwd: project });
  const line = async (stream) => (await createInterface(stream)[Symbol.asyncIterator]().next()).value;
  const [url, token] = await Promise.all([line(child.stdout), line(child.stderr)]);
  return { child, url: new URL(url.slice("listening on ".length)), token: token.slice("nsrun: token: ".length) };
}

const server = await serve();
const transports = {
  stdio: (sdk) => new sdk.StdioClientTransport({ command: nsrun, args, cwd: project, env: process.env, stderr: "inherit" }),
  http: (sdk) => new sdk.StreamableHTTPClientTransport(server.url,
    { requestInit: { headers: { Authorization: `Bearer ${server.token}` } } }),
};
const clients = {
  "1, 2025-11-25": [first, {}],
  "2, 2025-11-25": [second, {}],
  "2, 2026-07-28": [second, { versionNegotiation: { mode: { pin: "2026-07-28" } } }],
  "2, whichever": [second, { versionNegotiation: { mode: "auto" } }],
};

for (const [name, [sdk, options]] of Object.entries(clients))
  for (const [kind, open] of Object.entries(transports)) {
    const asked = [], told = [], file = `${name}-${kind}`.replace(/[^0-9a-z]+/g, "-");
    const client = new sdk.Client({ name: "test", version: "1" }, { capabilities: { elicitation: {} }, ...options });
    client.setRequestHandler(sdk.elicit, (r) => {
      asked.push(r.params.message);
      return { action: "accept", content: { confirm: true } };
    });
    await client.connect(open(sdk));
    const call = async (tool, given, more) => {
      const result = await (sdk === first ? client.callTool({ name: tool, arguments: given }, undefined, more)
        : client.callTool({ name: tool, arguments: given }, more));
      return result.content[0].text;
    };
    assert.ok((await client.listTools()).tools.some((t) => t.name === "commit"));
    assert.match(await call("bash", { command: `read -t 1.5 <> <(:); echo hi >${file}` }, { onprogress: (p) => told.push(p) }),
      /exit status: 0/);
    assert.ok(told.length > 0, "no progress");
    assert.match(await call("commit", { paths: [file] }), /committed 1 path/);
    assert.match(asked[0], new RegExp(`A  ${file}`));
    assert.equal(fs.readFileSync(path.join(project, file), "utf8"), "hi\n");
    const stop = new AbortController();
    const running = call("bash", { command: "echo $$ >pid; exec sleep 1000" },
      { signal: stop.signal, onprogress: () => stop.abort("enough") });
    await assert.rejects(running, /enough/);
    assert.match(await call("bash", { command: "while [ -e /proc/$(cat pid) ]; do :; done; rm pid" }), /exit status: 0/);
    await client.close();
    console.log(`# SDK ${name}, ${kind}: tools, progress, a question, a commit, a cancelled command`);
  }
server.child.kill();
await new Promise((done) => server.child.on("exit", done));
process.exit(0);
