// SPDX-License-Identifier: LGPL-2.1-or-later
// Starts `nsrun mcp --http` and forwards to it, with its token and its address: with-token.mjs NSRUN PROJECT prints
// the URL for clients that have no token.
import http from "node:http";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [nsrun, project] = process.argv.slice(2);
const child = spawn(nsrun, ["mcp", "--project", project, "--overlay", project, "--ask-commit", "--http", "127.0.0.1:0"]);
const line = async (stream) => (await createInterface(stream)[Symbol.asyncIterator]().next()).value;
const [url, token] = await Promise.all([line(child.stdout), line(child.stderr)]);
const to = new URL(url.slice("listening on ".length));
process.on("SIGTERM", () => child.kill());
child.on("exit", () => process.exit(0));

const server = http.createServer((request, answer) => {
  const own = `:${server.address().port}`, headers = { ...request.headers, authorization: `Bearer ${token.split(" ").at(-1)}` };
  for (const name of ["host", "origin"]) headers[name] &&= headers[name].replace(own, `:${to.port}`);
  const on = http.request({ host: to.hostname, port: to.port, path: request.url, method: request.method, headers }, (reply) => {
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  on.on("error", () => answer.destroy());
  answer.on("close", () => on.destroy());
  request.pipe(on);
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
