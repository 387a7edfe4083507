// SPDX-License-Identifier: LGPL-2.1-or-later
// nsrun for Node: a thin layer over the program's own JSON, which its man pages have.
'use strict';

const { NsrunError, MAX_BUFFER, program, listOf, wordsOf, lastLine, start, collect, finish, output } = require('./program.js');
const session = require('./session.js');

function textOf(command) {
  if (typeof command === 'string') return command;
  throw new TypeError('nsrun: the command must be a string');
}

/** The lines of a stream, each an object. */
async function* objectsOf(stream) {
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

/** What a result without one says of itself. */
function failure({ code, signal, stderr }, told = {}) {
  const { event, error, message, ...rest } = told;
  return new NsrunError(error === undefined ? lastLine(stderr) : `nsrun: ${error}`, { status: code, signal, ...rest });
}

/** nsrun-run(1): the command, its outputs, how it ended. */
async function run(argv, options = {}) {
  const words = ['run', '--status-fd=3', ...wordsOf(options, 'input'), '--', ...listOf(argv, 'the command')];
  const child = start(words, options, [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe']);
  const result = { status: null, signal: null, stdout: '', stderr: '', timed_out: false, oom_killed: false };
  Object.assign(result, { notes: [], reasons: [], degraded: [] });
  let failed = null;
  // A command that reads nothing of it, or a program that doesn't start, breaks the pipe.
  child.stdin?.on('error', () => {}).end(options.input);
  // The command is killed with its sandbox where it doesn't end by the SIGTERM that it is passed.
  const kill = () => setTimeout(() => child.kill('SIGKILL'), 5000).unref();
  options.signal?.addEventListener('abort', kill, { once: true });
  const events = (async () => {
    for await (const told of objectsOf(child.stdio[3])) {
      if (told.event === 'failed') failed = told;
      else if (told.event === 'note') result.notes.push(told.path ? `${told.path}: ${told.message}` : told.message);
      else if (told.event === 'reason') result.reasons.push(told.text);
      else if (told.event === 'started') Object.assign(result, { degraded: told.degraded ?? [] });
      else if (told.event === 'exited') {
        Object.assign(result, { status: told.code ?? null, signal: told.signal ?? null });
        Object.assign(result, { timed_out: told.timed_out ?? false, oom_killed: told.oom_kill ?? false });
      }
    }
  })();
  try {
    const [ended] = await Promise.all([finish(child, options), events]);
    if (failed || (result.status === null && result.signal === null)) throw failure(ended, failed ?? {});
    return Object.assign(result, { stdout: ended.stdout, stderr: ended.stderr });
  } finally {
    options.signal?.removeEventListener('abort', kill);
  }
}

/** nsrun bash --json-stream: its events, one by one; onAsk answers for a host.  Who leaves early ends the command. */
async function* stream(command, options = {}) {
  const words = ['bash', '--json-stream', ...wordsOf(options, 'onOutput', 'onAsk'), '--', textOf(command)];
  const child = start(words, options, [options.onAsk ? 'pipe' : 'ignore', 'pipe', 'pipe']);
  const stderr = collect(child, child.stderr, options.maxBuffer ?? MAX_BUFFER, 'standard error');
  stderr.catch(() => {});
  child.stdin?.on('error', () => {});
  let isOver = false;
  try {
    for await (const event of objectsOf(child.stdout)) {
      if (event.event === 'asked' && options.onAsk) {
        const answer = (await options.onAsk({ host: event.host, program: event.program })) === true ? 'allow' : 'deny';
        child.stdin.write(`${answer} ${event.host}\n`);
      }
      if (event.error !== undefined) throw failure({ code: 125, signal: null }, event);
      isOver = event.event === 'end';
      yield event;
    }
    child.stdin?.end();
    const ended = await child.ended;
    if (!isOver) throw failure({ ...ended, stderr: await stderr });
  } finally {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      child.stdin?.end();
      child.stdout.resume();
      await child.ended.catch(() => {});
    }
  }
}

/** A stream's result: the outputs are onOutput's, who has them, else kept up to maxBuffer. */
async function listen(command, options) {
  const result = { output: '', reasons: [] };
  const limit = options.maxBuffer ?? MAX_BUFFER;
  let size = 0;
  for await (const told of stream(command, options)) {
    const { event, text, ...rest } = told;
    if (event === 'output' && options.onOutput) await options.onOutput(text);
    else if (event === 'output') result.output += text;
    else if (event === 'reason') result.reasons.push(text);
    else if (event === 'end') Object.assign(result, rest);
    if (event === 'output' && !options.onOutput && (size += Buffer.byteLength(text)) > limit)
      throw new NsrunError(`nsrun: the output has more than maxBuffer (${limit}) bytes`);
  }
  return result;
}

/** nsrun bash --json, or its stream where somebody listens: the program's own result. */
async function bash(command, options = {}) {
  if (options.onOutput || options.onAsk) return listen(command, options);
  const words = ['bash', '--json', ...wordsOf(options), '--', textOf(command)];
  const ended = await finish(start(words, options), options);
  const result = ended.stdout ? JSON.parse(ended.stdout) : { error: undefined };
  if (!ended.stdout || result.error !== undefined) throw failure(ended, result);
  return result;
}

/** nsrun plan --format=json: what run would do. */
async function plan(options = {}, argv = []) {
  return JSON.parse(await output(['plan', '--format=json', ...wordsOf(options), '--', ...listOf(argv, 'the command')], options));
}

/** Whether nsrun works here: nsrun doctor's and --version's JSON. */
async function probe(options = {}) {
  const words = ['doctor', '--json', ...(Object.keys(options).length ? ['--for'] : []), ...wordsOf(options)];
  const [doctor, version] = await Promise.all([finish(start(words, options)), output(['--version', '--json'], options)]);
  if (!doctor.stdout) throw failure(doctor);
  return { program: program(), build: JSON.parse(version), ...JSON.parse(doctor.stdout) };
}

/** nsrun-session(1): one sandbox, many commands.  It ends with this process, unless options.owner says otherwise. */
const startSession = (options) => session.start(options, { run, bash, stream });

module.exports = { NsrunError, program, run, bash, stream, session: startSession, plan, probe };
