// SPDX-License-Identifier: LGPL-2.1-or-later
// A session: nsrun-session(1)'s subcommands as methods.
'use strict';

const { listOf, wordsOf, output, told } = require('./program.js');

const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');

class Session {
  #commands;
  #hasEnded = false;

  constructor(id, commands) {
    this.id = id;
    this.#commands = commands;
  }

  run(argv, options) {
    return this.#commands.run(argv, { ...options, session: this.id });
  }

  bash(command, options) {
    return this.#commands.bash(command, { ...options, session: this.id });
  }

  stream(command, options) {
    return this.#commands.stream(command, { ...options, session: this.id });
  }

  /** What overlays changed, at and beneath the paths: an object, or with patch: true the patch. */
  async diff(paths = [], options = {}) {
    const isPatch = options.patch === true;
    const words = ['session', 'diff', ...(isPatch ? [] : ['--json']), ...wordsOf(options), '--', this.id, ...listOf(paths, 'paths')];
    const text = await output(words, options);
    return isPatch ? text : JSON.parse(text);
  }

  /** Makes the host's files as the overlays show them: all, or those of the paths.  What it tells is returned, its
   * notes of what stays behind among it. */
  async commit(paths = [], options = {}) {
    const words = ['session', 'commit', ...wordsOf(options), '--', this.id, ...listOf(paths, 'paths')];
    const { stdout, stderr } = await told(words, options);
    return stderr + stdout;
  }

  async discard(paths = []) {
    return output(['session', 'discard', '--', this.id, ...listOf(paths, 'paths')]);
  }

  async show() {
    return JSON.parse(await output(['session', 'show', '--json', '--', this.id]));
  }

  async ps() {
    return JSON.parse(await output(['session', 'ps', '--json', '--', this.id]));
  }

  /** The logs of detached commands as an object, or that of the one of this name as text. */
  async logs(name) {
    if (name !== undefined) return output(['session', 'logs', '--', this.id, name]);
    return JSON.parse(await output(['session', 'logs', '--json', '--', this.id]));
  }

  /** Ends it: what runs in it gets a SIGTERM, and a SIGKILL after five seconds. */
  async end() {
    await output(['session', 'stop', '--', this.id]);
    this.#hasEnded = true;
  }

  async [asyncDispose]() {
    if (!this.#hasEnded) await this.end();
  }
}

async function start(options = {}, commands) {
  const text = await output(['session', 'start', ...wordsOf({ owner: process.pid, ...options })], options);
  return new Session(text.trim(), commands);
}

module.exports = { Session, start };
