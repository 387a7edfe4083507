// SPDX-License-Identifier: LGPL-2.1-or-later
// The installed package, in the project where it is installed.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import * as nsrun from '@nsrun/nsrun';

const { run, bash, stream, session, plan, probe, program, NsrunError } = nsrun;
const require = createRequire(import.meta.url);
const here = path.dirname(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname));
const platform = `@nsrun/linux-${process.arch}`;

/** A project of a test's own, where the package isn't: a command could change what lies in its project. */
function project(t) {
  const folder = fs.mkdtempSync(path.join(os.homedir(), 'nsrun-npm-'));
  t.after(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const fails = (message, rest = {}) => (error) => {
  assert.equal(error.message, message);
  assert.ok(error instanceof NsrunError);
  for (const [key, value] of Object.entries(rest)) assert.equal(error[key], value, key);
  return true;
};

test('the program is the one in the package for this machine, and require() has the same functions', () => {
  assert.equal(program(), require.resolve(`${platform}/nsrun`));
  assert.equal(require('@nsrun/nsrun').run, run);
});

test('run: status, signal, both outputs, input', async (t) => {
  const cwd = project(t);
  const rows = [
    [['sh', '-c', 'echo out; echo err >&2; exit 3'], {}, { status: 3, signal: null, stdout: 'out\n', stderr: 'err\n' }],
    [['sh', '-c', 'kill -9 $$'], {}, { status: null, signal: 9, stdout: '', stderr: '' }],
    [['cat'], { input: 'given' }, { status: 0, signal: null, stdout: 'given', stderr: '' }],
    [['cat'], {}, { status: 0, signal: null, stdout: '', stderr: '' }],
    [['pwd'], { chdir: '/usr' }, { status: 0, signal: null, stdout: '/usr\n', stderr: '' }],
    [['sh', '-c', 'sleep 60 & wait'], { timeout: 1 }, { timed_out: true, stdout: '' }],
  ];
  for (const [argv, options, expected] of rows) {
    const result = await run(argv, { cwd, ...options });
    for (const [key, value] of Object.entries(expected)) assert.deepEqual(result[key], value, `${argv}: ${key}`);
  }
});

test('run: with explain the reasons of a failure, and none of a success', async (t) => {
  const cwd = project(t);
  const secret = path.join(os.homedir(), `.nsrun-npm-${process.pid}`);
  fs.writeFileSync(secret, 'there');
  t.after(() => fs.rmSync(secret));
  const shown = await run(['cat', secret], { cwd, explain: true, ro: secret });
  assert.deepEqual([shown.stdout, shown.reasons], ['there', []]);
  const denied = await run(['cat', secret], { cwd, explain: true });
  const reason = `${secret} is on the host and isn't exposed: --ro ${secret} exposes it`;
  assert.deepEqual([denied.status, denied.reasons], [1, [reason]]);
});

test('options become words by one rule', async (t) => {
  const cwd = project(t);
  const env = { A: 'x=y', B: '' };
  const result = await bash('echo "$A|$B|$HOSTNAME_IS"; hostname; ulimit -n; ulimit -c', {
    cwd,
    env: { ...env, HOSTNAME_IS: 'set', NOT: null },
    hostname: 'inside',
    limit: { nofile: 64, core: 0 },
    session: undefined,
  });
  assert.equal(result.output, 'x=y||set\ninside\n64\n0\n');
  const told = await plan({ cwd, net: 'none', hide: ['*.pem', '.env'], newSession: false }, ['make', '-j8']);
  assert.deepEqual([told.net, told.hidden, told.command], ['none', ['*.pem', '.env'], ['make', '-j8']]);
  assert.equal(told.new_session, false);
  assert.equal((await plan({ cwd, project: false })).project, null);
  await assert.rejects(bash('true', { '--no-sandbox': true }), {
    name: 'TypeError',
    message: 'nsrun: "--no-sandbox" is no option\'s name',
  });
  await assert.rejects(bash('true', { ro: new Map() }), { name: 'TypeError', message: 'nsrun: the option ro takes no object' });
});

test('what is no option, no value and no word is never made one', async (t) => {
  const cwd = project(t);
  const wrong = (message) => ({ name: 'TypeError', message: `nsrun: ${message}` });
  const rows = [
    [{ env: { 'A=B': 'c' } }, 'the option env: "A=B" is no name'],
    [{ env: { A: false } }, 'the option env: A takes no boolean'],
    [{ env: { A: ['x'] } }, 'the option env: A takes no object'],
    [{ onOutput() {} }, 'the option on-output takes no function'],
    ...['help', 'version', 'json', 'jsonStream', 'format', 'statusFd'].map((key) => [{ [key]: 1 }, `the option ${key} is not for this`]),
  ];
  for (const [options, message] of rows) await assert.rejects(run(['true'], { cwd, ...options }), wrong(message));
  await assert.rejects(bash('cat', { cwd, input: Buffer.from('x') }), wrong('the option input takes no object'));
  const paths = wrong('paths must be an array of strings');
  const command = wrong('the command must be an array of strings');
  for (const argv of ['ls -l', [undefined], undefined]) await assert.rejects(run(argv, { cwd }), command);
  await assert.rejects(plan({ cwd }, 'ls -l'), command);
  for (const options of [{ cwd }, { cwd, onOutput() {} }])
    await assert.rejects(bash(undefined, options), wrong('the command must be a string'));
  const layer = await session({ cwd, overlay: cwd });
  await layer.bash('echo 1 >a; echo 2 >b; echo 3 >--force');
  for (const wanted of ['diff', 'commit', 'discard']) await assert.rejects(layer[wanted]('ab'), paths);
  assert.deepEqual(fs.readdirSync(cwd), []);
  assert.equal(await layer.commit(['--force']), 'committed 1 path\n');
  assert.deepEqual(fs.readdirSync(cwd), ['--force']);
  await layer.end();
  const long = fails("nsrun: a command's word has at most 131071 bytes: write a longer text to a file");
  await assert.rejects(bash(':'.padEnd(131072), { cwd }), long);
  assert.equal((await bash(':'.padEnd(131071), { cwd })).status, 0);
  // What needs a value takes no other option for it, nor what ends them.
  const needed = (subcommand) => fails("nsrun: this option needs a value, behind '=' where it begins with '--': --hide; " +
    `see 'nsrun ${subcommand} --help'`, { status: 125 });
  await assert.rejects(run(['true'], { cwd, hide: true, net: 'none' }), needed('run'));
  await assert.rejects(bash('--no-sandbox', { cwd, hide: true }), needed('bash'));
});

test('a folder that isn’t there is told, and a signal is one for many', async (t) => {
  const cwd = project(t);
  const warnings = [];
  const listen = (warning) => warnings.push(warning.message);
  process.on('warning', listen);
  t.after(() => process.off('warning', listen));
  for (const bad of ['/nowhere', program()])
    for (const call of [() => run(['true'], { cwd: bad }), () => bash('true', { cwd: bad }), () => stream('true', { cwd: bad }).next()])
      await assert.rejects(call(), fails(`nsrun: cwd is no folder that can be entered: "${bad}"`));
  const { signal } = new AbortController();
  const all = await Promise.all(Array.from({ length: 12 }, (_, i) => bash(`echo ${i}`, { cwd, signal })));
  assert.deepEqual(all.map(({ output }) => Number(output)), [...all.keys()]);
  assert.deepEqual(warnings, []);
});

test('a refusal is an Error with the program’s sentence', async (t) => {
  const cwd = project(t);
  const unknown = (subcommand) => `nsrun: unknown option: --no-such-thing; see 'nsrun ${subcommand} --help'`;
  const missing =
    "nsrun: the source of --ro can't be opened: /nowhere: No such file or directory; create it first, or leave the option out";
  await assert.rejects(run(['true'], { cwd, noSuchThing: true }), fails(unknown('run'), { status: 125, stage: 'usage' }));
  await assert.rejects(bash('true', { cwd, noSuchThing: true }), fails(unknown('bash'), { status: 125 }));
  await assert.rejects(bash('true', { cwd, noSuchThing: true, onOutput() {} }), fails(unknown('bash'), { status: 125 }));
  await assert.rejects(plan({ cwd, noSuchThing: true }), fails(unknown('plan'), { status: 125 }));
  await assert.rejects(session({ cwd, noSuchThing: true }), fails(unknown('session'), { status: 125 }));
  await assert.rejects(probe({ cwd, noSuchThing: true }), fails(unknown('doctor'), { status: 125 }));
  await assert.rejects(run(['true'], { cwd, ro: '/nowhere' }), fails(missing, { path: '/nowhere', errno: 2, id: 'other' }));
  await assert.rejects(bash('true', { cwd, ro: '/nowhere' }), fails(missing, { status: 125, id: 'other' }));
  await assert.rejects(bash('true', { cwd, ro: '/nowhere', onOutput() {} }), fails(missing, { status: 125, id: 'other' }));
  await assert.rejects(run(['no-such-command'], { cwd }), (error) => error.status === 127 && error.stage === 'exec');
  assert.equal((await run(['true'], { cwd })).status, 0);
});

test('a sandbox: the home and other projects are not there, the project is', async (t) => {
  const cwd = project(t);
  const other = project(t);
  fs.writeFileSync(path.join(other, 'file'), 'outside');
  const result = await bash(`cat ${other}/file; echo in >inside`, { cwd, net: 'none' });
  assert.match(result.output, /No such file or directory/);
  assert.equal(fs.readFileSync(path.join(cwd, 'inside'), 'utf8'), 'in\n');
  assert.equal((await bash(`cat ${other}/file`, { cwd, ro: other })).output, 'outside');
});

test('a program that the command could replace is told', async () => {
  const { notes } = await bash('true', { project: here });
  assert.deepEqual(notes, [
    "the command may replace nsrun's own program, which runs outside the sandbox (install nsrun where no command may write): " +
      program(),
  ]);
  assert.deepEqual((await bash('true', { project: here, ro: path.join(here, 'node_modules') })).notes, []);
});

test('the output as it comes, by a function and by a loop', async (t) => {
  const cwd = project(t);
  const fifo = path.join(cwd, 'fifo');
  execFileSync('mkfifo', [fifo]);
  // The command goes on when the first words have come here: they came before its end.
  let text = '';
  const result = await bash('echo first; read x <fifo; echo $x', {
    cwd,
    async onOutput(more) {
      text += more;
      if (more === 'first\n') await fs.promises.writeFile(fifo, 'second\n');
    },
  });
  assert.deepEqual([text, result.output, result.status, result.bytes_total], ['first\nsecond\n', '', 0, 13]);
  const events = [];
  for await (const event of stream('echo ü; exit 4', { cwd })) events.push(event);
  assert.deepEqual(events.slice(0, 2), [{ event: 'start', sandbox: true }, { event: 'output', text: 'ü\n' }]);
  assert.deepEqual([events[2].event, events[2].status, events.length], ['end', 4, 3]);
});

/** Whether a process has this word among its arguments. */
function isRunning(word) {
  for (const pid of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      if (fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes(word)) return true;
    } catch {
      // It has ended.
    }
  }
  return false;
}

test('an AbortSignal, and who leaves the loop, end the command', async (t) => {
  const cwd = project(t);
  const word = `${70000 + process.pid}.5`;
  const command = `echo started; exec sleep ${word}`;
  const reason = new Error('enough');
  const controller = new AbortController();
  const onOutput = () => controller.abort(reason);
  await assert.rejects(bash(command, { cwd, signal: controller.signal, onOutput }), (error) => error === reason);
  assert.equal(isRunning(word), false);
  for await (const event of stream(command, { cwd })) {
    if (event.event !== 'output') continue;
    while (!isRunning(word)) await new Promise(setImmediate);
    break;
  }
  assert.equal(isRunning(word), false);
  await assert.rejects(run(['sleep', word], { cwd, signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' });
  assert.equal(isRunning(word), false);
  await assert.rejects(bash('true', { cwd, signal: AbortSignal.abort(reason) }), (error) => error === reason);
});

test('an output beyond maxBuffer is an Error and ends the command', async (t) => {
  const cwd = project(t);
  const more = (what) => fails(`nsrun: ${what} has more than maxBuffer (1000) bytes`);
  await assert.rejects(run(['yes'], { cwd, maxBuffer: 1000 }), more('standard output'));
  await assert.rejects(run(['sh', '-c', 'yes >&2'], { cwd, maxBuffer: 1000 }), more('standard error'));
  await assert.rejects(bash('yes', { cwd, maxBuffer: 1000, onAsk: () => false }), more('the output'));
  assert.equal((await run(['sh', '-c', 'yes | head -c 1000'], { cwd, maxBuffer: 1000 })).stdout.length, 1000);
});

test('with net: ask a host is asked for, and only true allows it', async (t) => {
  const cwd = project(t);
  const command = 'getent hosts asked.example.org >/dev/null; echo $?';
  const asked = [];
  for (const [answer, output] of [[true, '0\n'], [false, '2\n'], ['yes', '2\n']]) {
    const result = await bash(command, { cwd, net: 'ask', onAsk: ({ host }) => (asked.push(host), answer) });
    assert.equal(result.output, output, String(answer));
  }
  assert.deepEqual(asked, ['asked.example.org', 'asked.example.org', 'asked.example.org']);
});

test('session: commands share what they write; diff, commit, discard, logs, ps, end', async (t) => {
  const cwd = project(t);
  fs.writeFileSync(path.join(cwd, 'old'), 'old\n');
  const layer = await session({ cwd, overlay: cwd });
  await layer.bash('echo new >new; rm old; echo t >/tmp/t');
  assert.equal((await layer.run(['cat', 'new', '/tmp/t'])).stdout, 'new\nt\n');
  assert.deepEqual(fs.readdirSync(cwd), ['old']);
  const diff = await layer.diff([], { digest: true });
  const changes = diff.overlays[0].changes.map(({ kind, path: name }) => `${kind} ${name}`);
  assert.deepEqual(changes.sort(), ['added new', 'deleted old']);
  assert.match(await layer.diff(['new'], { patch: true }), /^\+new$/m);
  await assert.rejects(layer.commit(['nothing']), { name: 'NsrunError', status: 125 });
  await layer.discard(['old']);
  await assert.rejects(layer.commit([], { expect: diff.digest }), { name: 'NsrunError', status: 123 });
  assert.equal(await layer.commit(['new']), 'committed 1 path\n');
  assert.deepEqual(fs.readdirSync(cwd), ['new', 'old']);
  await layer.bash('echo more >more; mkfifo pipe');
  const told = await layer.commit(['more', 'pipe']);
  assert.equal(told, 'nsrun: note: pipe: fifos are left out\ncommitted 1 path\n');
  const job = await layer.bash('echo ready; exec sleep 60', { detach: true, until: 'ready' });
  assert.deepEqual([job.detached.ready, job.detached.running, job.detached.session], [true, true, layer.id]);
  assert.equal(await layer.logs(job.detached.name), 'ready\n');
  assert.equal((await layer.logs()).logs[0].running, true);
  assert.ok((await layer.ps()).processes.some(({ name }) => name === 'sleep'));
  assert.equal((await layer.show()).id, layer.id);
  const dispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose');
  await layer[dispose]();
  await layer[dispose]();
  await assert.rejects(layer.end(), fails(
    `nsrun: no such session: ${layer.id}: No such file or directory; 'nsrun session list' shows those there are`,
    { status: 125 },
  ));
});

test('a session ends with the process that started it', async (t) => {
  const cwd = project(t);
  const source = `require('@nsrun/nsrun').session({ cwd: ${JSON.stringify(cwd)} }).then((s) => console.log(s.id)); setInterval(() => {}, 1e6)`;
  const owner = spawn(process.execPath, ['-e', source], { cwd: here, stdio: ['ignore', 'pipe', 'inherit'] });
  const [id] = await once(owner.stdout.setEncoding('utf8'), 'data');
  const show = () => spawnSync(program(), ['session', 'show', '--json', id.trim()], { encoding: 'utf8' });
  const { monitor, owner: watched } = JSON.parse(show().stdout);
  assert.equal(watched, owner.pid);
  owner.kill('SIGKILL');
  await once(owner, 'close');
  while (fs.existsSync(`/proc/${monitor}`)) await new Promise(setImmediate);
  assert.match(show().stderr, /^nsrun: no such session: /);
});

test('a command ends with the process that started it, if that exits', async (t) => {
  const cwd = project(t);
  const word = `${80000 + process.pid}.5`;
  const source = `const { bash } = require('@nsrun/nsrun');
    bash('echo started; exec sleep ${word}', { cwd: ${JSON.stringify(cwd)}, onOutput: () => process.exit(3) });`;
  const host = spawn(process.execPath, ['-e', source], { cwd: here, stdio: 'inherit' });
  const [status] = await once(host, 'close');
  assert.equal(status, 3);
  while (isRunning(word)) await new Promise(setImmediate);
});

test('probe: doctor’s word, and the build’s', async (t) => {
  const found = await probe({ cwd: project(t), net: 'none' });
  assert.equal(found.works, true);
  assert.equal(found.program, program());
  assert.ok(found.checks.length > 1);
  assert.match(found.build.nsrun, /^\d+\.\d+\.\d+/);
});

test('where the program is looked for', (t) => {
  const source = "try { console.log(require('@nsrun/nsrun').program()) } catch (e) { console.log(e.message) }";
  const says = (cwd, env) => spawnSync(process.execPath, ['-e', source], { encoding: 'utf8', cwd, env: { ...process.env, ...env } }).stdout;
  const copy = project(t);
  fs.copyFileSync(program(), path.join(copy, 'nsrun'));
  assert.equal(says(here, { NSRUN_PROGRAM: `${copy}/nsrun` }), `${copy}/nsrun\n`);
  for (const bad of ['nsrun', '', copy, '/nowhere'])
    assert.equal(says(here, { NSRUN_PROGRAM: bad }),
      `nsrun: NSRUN_PROGRAM is ${JSON.stringify(bad)}, which isn't the absolute path of a program\n`);
  // As npm installs it with --omit=optional.
  const without = project(t);
  fs.cpSync(path.join(here, 'node_modules/@nsrun/nsrun'), path.join(without, 'node_modules/@nsrun/nsrun'), { recursive: true });
  const bin = path.join(without, 'node_modules/.bin');
  fs.mkdirSync(bin);
  fs.symlinkSync('../@nsrun/nsrun/bin.js', path.join(bin, 'nsrun'));
  assert.equal(says(without, { PATH: `${bin}/:.:${copy}:/usr/bin` }), `${copy}/nsrun\n`);
  const none = `nsrun: no program: neither ${platform} is installed (npm leaves it out with --omit=optional), nor an nsrun in PATH; ` +
    'install one of the two, or set NSRUN_PROGRAM to its absolute path\n';
  assert.equal(says(without, { PATH: `${bin}:.:relative` }), none);
  const command = spawnSync(process.execPath, [path.join(bin, 'nsrun')], { encoding: 'utf8', env: { PATH: bin } });
  assert.deepEqual([command.status, command.stderr], [125, none]);
});

test('the command of the package: streams and status are the program’s', (t) => {
  const bin = path.join(here, 'node_modules/.bin/nsrun');
  const cwd = project(t);
  const through = (words, input) => spawnSync(bin, words, { encoding: 'utf8', cwd, input });
  assert.equal(through(['--version']).stdout, execFileSync(program(), ['--version'], { encoding: 'utf8' }));
  const { status, stdout, stderr } = through(['run', '--', 'sh', '-c', 'cat; echo err >&2; exit 7'], 'in');
  assert.deepEqual([status, stdout, stderr], [7, 'in', 'err\n']);
});

test('README’s lines do what they say', (t) => {
  const text = fs.readFileSync(path.join(here, 'node_modules/@nsrun/nsrun/README.md'), 'utf8');
  const source = /```js\n([^]*?)```/.exec(text)[1];
  const cwd = project(t);
  const file = path.join(here, `readme-${process.pid}.mjs`);
  fs.writeFileSync(file, source);
  t.after(() => fs.rmSync(file));
  const told = spawnSync(process.execPath, [file], { encoding: 'utf8', cwd });
  assert.deepEqual([told.status, told.stderr], [0, '']);
  assert.equal(told.stdout, [
    '3 built\n', 'hello\ncat: ' + os.homedir() + '/.nothing: No such file or directory\n 1 []', 'one\ntwo\nTimeoutError',
    "[ 'added file' ]", 'none', ''].join('\n'));
  assert.equal(fs.readFileSync(path.join(cwd, 'file'), 'utf8'), 'new\n');
  assert.ok(text.split('\n').length <= 81);
});

test('tsc takes the types, and refuses what they refuse', () => {
  const tsc = path.join(here, 'node_modules/typescript/bin/tsc');
  const words = ['--noEmit', '--strict', '--target', 'es2022', '--module', 'nodenext', '--lib', 'es2022,dom',
    '--skipDefaultLibCheck', 'test/types.ts'];
  const { status, stdout } = spawnSync(process.execPath, [tsc, ...words], { encoding: 'utf8', cwd: here });
  assert.deepEqual([status, stdout], [0, '']);
});
