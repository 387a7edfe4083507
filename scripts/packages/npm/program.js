// SPDX-License-Identifier: LGPL-2.1-or-later
// The program: where it lies, its words, one start of it.  What it means is not known here.
'use strict';

const { spawn } = require('node:child_process');
const { setMaxListeners } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

// Options that are this package's and not the program's, of every function.
const OURS = ['signal', 'cwd', 'maxBuffer'];

// What the program then prints isn't what a function here reads.
const PRINTERS = ['help', 'version', 'json', 'jsonStream', 'format', 'statusFd'];

// The kernel's MAX_ARG_STRLEN, without the zero at its end.
const LONGEST_WORD = 131071;

// Of each output, unless options.maxBuffer says otherwise.
const MAX_BUFFER = 16 << 20;

/** nsrun failed, and not the command: its own words, and what it tells besides. */
class NsrunError extends Error {
  constructor(message, rest = {}) {
    super(message);
    this.name = 'NsrunError';
    Object.assign(this, rest);
  }
}

function canExecute(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

/** NSRUN_PROGRAM, else the package with the program for this machine, else the PATH's. */
function program() {
  const named = process.env.NSRUN_PROGRAM;
  if (named !== undefined) {
    if (path.isAbsolute(named) && canExecute(named)) return named;
    throw new NsrunError(`nsrun: NSRUN_PROGRAM is ${JSON.stringify(named)}, which isn't the absolute path of a program`);
  }
  const own = `@nsrun/${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${own}/nsrun`);
  } catch {
    // Not installed: an optional dependency.
  }
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    // What npm puts into PATH as nsrun is another package's program, or this one's own start of it.
    if (!path.isAbsolute(folder) || path.normalize(`${folder}/`).endsWith('/node_modules/.bin/')) continue;
    const file = path.join(folder, 'nsrun');
    if (canExecute(file)) return file;
  }
  throw new NsrunError(
    `nsrun: no program: neither ${own} is installed (npm leaves it out with --omit=optional), nor an nsrun in PATH; ` +
      'install one of the two, or set NSRUN_PROGRAM to its absolute path',
  );
}

const isWord = (value) => typeof value === 'string' || typeof value === 'number';

/** A list of words, and not a string, whose letters would be taken for words. */
function listOf(words, name) {
  if (Array.isArray(words) && words.every(isWord)) return words;
  throw new TypeError(`nsrun: ${name} must be an array of strings`);
}

function addWord(words, name, value) {
  if (value === undefined || value === null) return;
  if (value === true) words.push(`--${name}`);
  else if (value === false) words.push(`--no-${name}`);
  else if (Array.isArray(value)) value.forEach((one) => addWord(words, name, one));
  else if (isWord(value)) words.push(`--${name}=${value}`);
  else if (Object.getPrototypeOf(value) === Object.prototype) {
    for (const [key, one] of Object.entries(value)) {
      if (one === undefined || one === null) continue;
      if (key.includes('=')) throw new TypeError(`nsrun: the option ${name}: ${JSON.stringify(key)} is no name`);
      if (one !== true && !isWord(one)) throw new TypeError(`nsrun: the option ${name}: ${key} takes no ${typeof one}`);
      addWord(words, name, one === true ? key : `${key}=${one}`);
    }
  } else throw new TypeError(`nsrun: the option ${name} takes no ${typeof value}`);
}

/** The one rule from options to words: netVia: 'env' is --net-via=env; true stands alone, false is --no-…, of an array
 * each is given, and {memory: '2G'} is memory=2G; `own` are the caller's and none.  The program says which it doesn't
 * know. */
function wordsOf(options, ...own) {
  const words = [];
  for (const [key, value] of Object.entries(options)) {
    if (OURS.includes(key) || own.includes(key)) continue;
    if (!/^[a-z][A-Za-z0-9]*$/.test(key)) throw new TypeError(`nsrun: ${JSON.stringify(key)} is no option's name`);
    if (PRINTERS.includes(key)) throw new TypeError(`nsrun: the option ${key} is not for this`);
    addWord(words, key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), value);
  }
  return words;
}

/** What the program says of its failure. */
function lastLine(text) {
  const lines = text.trimEnd().split('\n');
  return lines[lines.length - 1] || 'nsrun: it failed without a word';
}

/** Whether it can be started there: else spawn() says that the program isn't there. */
function checkFolder(cwd) {
  try {
    fs.accessSync(cwd, fs.constants.X_OK);
    if (fs.statSync(cwd).isDirectory()) return;
  } catch {
    // None that can be entered.
  }
  throw new NsrunError(`nsrun: cwd is no folder that can be entered: ${JSON.stringify(cwd)}`);
}

// Those that haven't ended: they don't outlive this process, unless a signal kills it.
const running = new Set();
process.on('exit', () => running.forEach((child) => child.kill('SIGTERM')));

/** Starts it.  The child has `ended`, a promise of {code, signal}, and with options.signal is sent a SIGTERM when
 * that is aborted: `ended` then fails with the reason, once it is gone. */
function start(words, options, stdio = ['ignore', 'pipe', 'pipe']) {
  const { signal, cwd } = options;
  signal?.throwIfAborted();
  if (cwd !== undefined) checkFolder(cwd);
  if (words.some((word) => Buffer.byteLength(String(word)) > LONGEST_WORD))
    throw new NsrunError(`nsrun: a command's word has at most ${LONGEST_WORD} bytes: write a longer text to a file`);
  // One signal for many commands at once is no leak.
  if (signal) setMaxListeners(0, signal);
  const child = spawn(program(), words, { cwd, stdio, windowsHide: true });
  const abort = () => child.kill('SIGTERM');
  running.add(child);
  child.ended = new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, killer) => {
      running.delete(child);
      signal?.removeEventListener('abort', abort);
      if (signal?.aborted) reject(signal.reason);
      else resolve({ code, signal: killer });
    });
  });
  // Whoever reads its output first would else have it unhandled for a while.
  child.ended.catch(() => {});
  signal?.addEventListener('abort', abort, { once: true });
  return child;
}

/** All that comes from a stream, as text; what goes beyond `limit` bytes kills the child. */
async function collect(child, stream, limit, name) {
  const chunks = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > limit) {
      child.kill('SIGKILL');
      throw new NsrunError(`nsrun: ${name} has more than maxBuffer (${limit}) bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Runs it to its end: {code, signal, stdout, stderr}. */
async function finish(child, options = {}) {
  const limit = options.maxBuffer ?? MAX_BUFFER;
  const [ended, stdout, stderr] = await Promise.allSettled([
    child.ended,
    collect(child, child.stdout, limit, 'standard output'),
    collect(child, child.stderr, limit, 'standard error'),
  ]);
  for (const one of [stdout, stderr, ended]) if (one.status === 'rejected') throw one.reason;
  return { ...ended.value, stdout: stdout.value, stderr: stderr.value };
}

/** What a subcommand that has no JSON of failures prints: {stdout, stderr}; fails where it does. */
async function told(words, options = {}) {
  const result = await finish(start(words, options), options);
  if (result.code !== 0) throw new NsrunError(lastLine(result.stderr), { status: result.code, signal: result.signal });
  return result;
}

async function output(words, options) {
  return (await told(words, options)).stdout;
}

module.exports = { NsrunError, MAX_BUFFER, program, listOf, wordsOf, lastLine, start, collect, finish, told, output };
