#!/usr/bin/env node
// SPDX-License-Identifier: LGPL-2.1-or-later
// The program itself, for a shell: `npx @nsrun/nsrun run -- make`.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { program } = require('./program.js');

let child;
try {
  child = spawn(program(), process.argv.slice(2), { stdio: 'inherit' });
} catch (error) {
  console.error(error.message);
  process.exit(125);
}
// A terminal's come to both; this process waits for the program whatever comes.
for (const name of ['SIGINT', 'SIGQUIT']) process.on(name, () => {});
for (const name of ['SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name));
child.on('error', (error) => {
  console.error(`nsrun: ${error.message}`);
  process.exit(125);
});
child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
