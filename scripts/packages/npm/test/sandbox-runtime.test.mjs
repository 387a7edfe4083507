// SPDX-License-Identifier: LGPL-2.1-or-later
// The drop-in, as its users call it: wrap a command, give the line to a shell.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';
import { program } from '@nsrun/nsrun';
import { getDefaultWritePaths, loadSettings, realPathOf, SandboxManager, SandboxRuntimeConfigSchema, SandboxViolationStore,
  writeRootsOf } from '@nsrun/nsrun/sandbox-runtime';

const config = ({ network, filesystem, ...rest } = {}) => ({
  network: { allowedDomains: [], deniedDomains: [], ...network },
  filesystem: { denyRead: [], allowWrite: ['.'], denyWrite: [], ...filesystem },
  ...rest,
});

/** A folder of a test's own that is the current one, with files in it. */
function work(t, files = {}) {
  const folder = fs.mkdtempSync(path.join(os.homedir(), 'nsrun-npm-'));
  const before = process.cwd();
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
  process.chdir(folder);
  t.after(async () => {
    await SandboxManager.reset();
    process.chdir(before);
    fs.rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

async function shell(command, own, binShell) {
  const line = await SandboxManager.wrapWithSandbox(command, binShell, own);
  const { status, stdout, stderr } = spawnSync(line, { shell: true, encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('a command and its words, status, folder and shell', async (t) => {
  const folder = work(t, { 'sub/file': '' });
  await SandboxManager.initialize(config());
  const rows = [
    ['echo "it\'s $((1 + 1))"; exit 3', undefined, { status: 3, stdout: "it's 2\n" }],
    ['printf "a\\nb\\n" | grep b', undefined, { status: 0, stdout: 'b\n' }],
    ['echo "${BASH_VERSION:+bash}"', undefined, { status: 0, stdout: 'bash\n' }],
    ['echo "${BASH_VERSION:-other}"', '/bin/sh', { status: 0, stdout: 'other\n' }],
    ['pwd', undefined, { status: 0, stdout: `${folder}\n` }],
  ];
  for (const [command, binShell, expected] of rows)
    assert.deepEqual(await shell(command, undefined, binShell), { ...expected, stderr: '' }, command);
  const { argv } = await SandboxManager.wrapWithSandboxArgv('pwd', undefined, undefined, undefined, `${folder}/sub`);
  assert.equal(argv[0], program());
  assert.equal(spawnSync(argv[0], argv.slice(1), { encoding: 'utf8' }).stdout, `${folder}/sub\n`);
  const inside = spawnSync(await SandboxManager.wrapWithSandbox('pwd'), { shell: true, encoding: 'utf8', cwd: `${folder}/sub` });
  assert.equal(inside.stdout, `${folder}/sub\n`);
});

test('writes: what is allowed, and in it what is not', async (t) => {
  const folder = work(t, { 'free/file': 'old', 'kept/file': 'old', 'kept/deeper/file': 'old', '.bashrc': 'old' });
  const outside = fs.mkdtempSync(path.join(os.homedir(), 'nsrun-npm-'));
  t.after(() => fs.rmSync(outside, { recursive: true }));
  await SandboxManager.initialize(config({ filesystem: { allowWrite: ['.', './kept/deeper'], denyWrite: ['./kept', 'absent', 'strict'] } }));
  const command = `for f in free/file kept/file kept/deeper/file .bashrc ${outside}/file absent strict new; do echo changed >$f; done`;
  const { stderr } = await shell(command);
  const read = (name) => (fs.existsSync(`${folder}/${name}`) ? fs.readFileSync(`${folder}/${name}`, 'utf8').trim() : null);
  assert.deepEqual(['free/file', 'kept/file', 'kept/deeper/file', '.bashrc', 'absent', 'strict', 'new'].map(read),
    ['changed', 'old', 'old', 'old', null, null, 'changed']);
  assert.deepEqual(fs.readdirSync(outside), []);
  fs.symlinkSync('free/file', `${folder}/link`);
  const replace = 'rm link; echo replaced >link';
  await shell(replace, { filesystem: { denyWrite: ['link'] } });
  assert.deepEqual([fs.readlinkSync(`${folder}/link`), read('free/file')], ['free/file', 'changed']);
  fs.symlinkSync('free', `${folder}/way`);
  await shell('rm way; mkdir way; echo replaced >way/file', { filesystem: { denyWrite: ['way/file'] } });
  assert.deepEqual([fs.readlinkSync(`${folder}/way`), read('free/file')], ['free', 'changed']);
  await shell(replace);
  assert.deepEqual([fs.lstatSync(`${folder}/link`).isFile(), read('link')], [true, 'replaced']);
  assert.match(stderr, /kept\/file: Read-only file system/);
  assert.match(stderr, new RegExp(`${outside}/file: Read-only file system`));
  await SandboxManager.updateConfig(config({ filesystem: { allowWrite: [folder, outside] } }));
  await shell(command);
  assert.deepEqual([...['kept/file', 'kept/deeper/file', 'absent'].map(read), fs.readdirSync(outside).length],
    ['changed', 'changed', 'changed', 1]);
});

test('reads: all but what is denied, and in that what is allowed', async (t) => {
  const folder = work(t, { 'a/b/seen': '1', 'a/secret': '2', 'x.pem': '3', 'd/y.pem': '4', plain: '5' });
  const files = ['a/b/seen', 'a/secret', 'x.pem', 'd/y.pem', 'plain'];
  await SandboxManager.initialize(config());
  const seen = async (filesystem) =>
    (await shell(`cat ${files.map((name) => `${folder}/${name}`).join(' ')} 2>/dev/null`, { filesystem })).stdout;
  const rows = [
    [{}, '12345'],
    [{ denyRead: ['a'] }, '345'],
    [{ denyRead: ['a'], allowRead: ['a/b'] }, '1345'],
    [{ denyRead: ['a', 'a/b/seen'], allowRead: ['a/b'] }, '345'],
    [{ denyRead: ['a/secret', `${folder}/plain`, 'missing'] }, '134'],
    [{ denyRead: ['**/*.pem'] }, '125'],
    [{ denyRead: [{ path: 'x.pem', literal: true }] }, '1245'],
    [{ denyRead: ['~'], allowRead: ['.'] }, '12345'],
    [{ denyRead: ['/home', os.homedir()], allowRead: ['a'], allowWrite: [] }, '12'],
    [{ denyRead: ['/'], allowRead: ['a', '/usr', '/bin', '/lib', '/lib64', '/etc'], allowWrite: [] }, '12'],
  ];
  for (const [filesystem, expected] of rows) {
    if (!filesystem.allowRead?.includes('a') || filesystem.allowWrite === undefined)
      assert.equal(await seen(filesystem), expected, JSON.stringify(filesystem));
    else {
      process.chdir('a');
      assert.equal(await seen({ ...filesystem, allowRead: filesystem.allowRead.map((one) => (one === 'a' ? '.' : one)) }), expected,
        JSON.stringify(filesystem));
      process.chdir('..');
    }
  }
});

test('of a denied home nothing is read, toolchains neither', async (t) => {
  const folder = work(t);
  const cache = path.join(os.homedir(), '.npm');
  fs.mkdirSync(cache, { recursive: true });
  fs.writeFileSync(path.join(cache, 'nsrun-npm'), 'there');
  t.after(() => fs.rmSync(path.join(cache, 'nsrun-npm')));
  await SandboxManager.initialize(config());
  const command = `cat ${cache}/nsrun-npm; ls ${folder}; true`;
  assert.equal((await shell(command)).stdout, 'there');
  for (const filesystem of [{ denyRead: ['~'], allowRead: ['.'] }, { denyRead: ['/'], allowRead: ['.'] }])
    assert.equal((await shell(command, { filesystem })).stdout, '', JSON.stringify(filesystem));
  process.chdir('/');
  for (const denyRead of [['~'], [path.dirname(os.homedir())]])
    assert.equal((await shell(command, { filesystem: { denyRead, allowWrite: [] } })).stdout, '', denyRead[0]);
  process.chdir(folder);
});

test('the network: none, or the hosts that are named', async (t) => {
  work(t);
  const server = http.createServer((request, answer) => answer.end('served')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address();
  await SandboxManager.initialize(config());
  const get = `node -e 'fetch("http://host.nsrun.internal:${port}").then((r) => r.text()).then(console.log, () => console.log("no"))'`;
  const run = async (network) => {
    const line = await SandboxManager.wrapWithSandbox(get, undefined, { network });
    const child = spawn(line, { shell: true, stdio: ['ignore', 'pipe', 'ignore'] });
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (more) => (text += more));
    await once(child, 'close');
    return text;
  };
  const localhost = `localhost:${port}`;
  assert.equal(await run({ allowedDomains: [localhost] }), 'served\n');
  assert.equal(await run({ allowedDomains: ['example.org'] }), 'no\n');
  assert.equal(await run({ allowedDomains: [] }), 'no\n');
  assert.equal(await run({ allowedDomains: [localhost], deniedDomains: ['*'] }), 'no\n');
  assert.equal(await run({ allowedDomains: [localhost], deniedDomains: ['localhost'] }), 'no\n');
});

test('unix sockets are none, unless all are allowed; pairs are', async (t) => {
  const folder = work(t);
  const server = net.createServer((socket) => socket.end('reached')).listen(path.join(folder, 'socket'));
  await once(server, 'listening');
  t.after(() => server.close());
  await SandboxManager.initialize(config());
  // Nobody accepts meanwhile: this process waits.
  const command = `node -e 'const s = require("net").connect("${folder}/socket", () => { console.log("reached"); process.exit() });
    s.on("error", (e) => console.log(e.code))'; sh -c 'echo a | cat'`;
  const run = async (network) => (await shell(command, { network })).stdout;
  assert.equal(await run({}), 'EPERM\na\n');
  assert.equal(await run({ allowAllUnixSockets: true }), 'reached\na\n');
});

test('credentials: files and variables that are denied', async (t) => {
  const folder = work(t, { token: 'secret' });
  process.env.NSRUN_NPM_PLAIN = 'plain';
  process.env.NSRUN_NPM_TOKEN = 'secret';
  t.after(() => {
    delete process.env.NSRUN_NPM_PLAIN;
    delete process.env.NSRUN_NPM_TOKEN;
  });
  await SandboxManager.initialize(config());
  const command = `cat ${folder}/token; echo "|$NSRUN_NPM_PLAIN|$NSRUN_NPM_TOKEN"`;
  assert.equal((await shell(command)).stdout, 'secret|plain|\n');
  assert.equal((await shell(command, { nsrun: { env: { NSRUN_NPM_TOKEN: true } } })).stdout, 'secret|plain|secret\n');
  const credentials = { files: [{ path: 'token', mode: 'deny' }], envVars: [{ name: 'NSRUN_NPM_PLAIN', mode: 'deny' }] };
  assert.equal((await shell(command, { credentials })).stdout, '||\n');
  // What is added takes nothing away.
  assert.equal((await shell(command, { credentials, nsrun: { hide: '*.x', ro: '/usr/bin', unsetenv: 'A' } })).stdout, '||\n');
});

test('what nsrun has nothing for is refused by its name', async (t) => {
  work(t);
  const said = (message) => ({ name: 'NsrunError', message: `nsrun: sandbox-runtime: ${message}` });
  const rows = [
    [null, 'the configuration: is no object'],
    [{}, 'network.allowedDomains: is missing'],
    [{ network: { allowedDomains: [], deniedDomains: [] }, filesystem: { denyRead: [] } }, 'filesystem.allowWrite: is missing'],
    [config({ network: { allowedDomains: ['https://example.org'] } }), 'network.allowedDomains: ["https://example.org"] is no value for it'],
    [config({ network: { allowedDomains: ['*.com'] } }), 'network.allowedDomains: ["*.com"] is no value for it'],
    [config({ network: { tlsTerminate: {} } }), 'network.tlsTerminate: nsrun has nothing for it'],
    [config({ network: { httpProxyPort: 8080 } }), 'network.httpProxyPort: nsrun has nothing for it'],
    [config({ filesystem: { disabled: true } }), 'filesystem.disabled: nsrun has nothing for it'],
    [config({ filesystem: { denyRead: [''] } }), 'filesystem.denyRead: [""] is no value for it'],
    [config({ filesystem: { denyRead: ['/a\0'] } }), 'filesystem.denyRead: ["/a\\u0000"] is no value for it'],
    [config({ credentials: { envVars: [{ name: 'A', mode: 'mask' }] } }),
      'credentials.envVars: [{"name":"A","mode":"mask"}] is no value for it'],
    [config({ git: { safeDirectories: ['/x'] } }), 'git: nsrun has nothing for it'],
    [config({ credentials: { envVars: [{ name: '--bind', mode: 'deny' }] } }),
      'credentials.envVars: [{"name":"--bind","mode":"deny"}] is no value for it'],
    [config({ network: { allowedDomains: ['a.org:65536'] } }), 'network.allowedDomains: ["a.org:65536"] is no value for it'],
    [config({ network: { deniedResolvedAddresses: ['nonsense'] } }), 'network.deniedResolvedAddresses: ["nonsense"] is no value for it'],
    [config({ ignoreViolations: { a: 'b' } }), 'ignoreViolations: {"a":"b"} is no value for it'],
    [config({ mandatoryDenySearchDepth: 'deep' }), 'mandatoryDenySearchDepth: "deep" is no value for it'],
    [config({ mandatoryDenySearchDepth: 11 }), 'mandatoryDenySearchDepth: 11 is no value for it'],
    [config({ enableWeakerNestedSandbox: 'yes' }), 'enableWeakerNestedSandbox: "yes" is no value for it'],
    [config({ constructor: true }), 'constructor: nsrun has nothing for it'],
    [config({ network: JSON.parse('{"__proto__": true}') }), 'network.__proto__: nsrun has nothing for it'],
    [config({ unheardOf: true }), 'unheardOf: nsrun has nothing for it'],
  ];
  for (const [given, message] of rows) {
    await assert.rejects(SandboxManager.initialize(given), said(message));
    assert.equal(SandboxRuntimeConfigSchema.safeParse(given).success, false);
  }
  await assert.rejects(SandboxManager.wrapWithSandbox('true'), said('initialize() was not called'));
  await assert.rejects(SandboxManager.initialize(config(), async () => true), said(
    "the ask callback: a wrapped command can't ask; set network.strictAllowlist, or use bash() with net: 'ask' and onAsk"));
  await SandboxManager.initialize(config({ network: { strictAllowlist: true } }), async () => true);
  const wraps = [
    [{ filesystem: { allowWrite: ['src/*.c'] } }, 'filesystem.allowWrite: src/*.c: a pattern; name the paths'],
    [{ filesystem: { denyWrite: ['*.c'] } }, 'filesystem.denyWrite: *.c: a pattern; name the paths'],
    [{ network: { allowedDomains: ['a.org'], deniedDomains: ['b.org:22'] } },
      'network.deniedDomains: b.org:22: nsrun denies a host at all ports; leave the port out'],
    [{ filesystem: { denyRead: ['/etc'] } }, 'filesystem.denyRead: /etc: nsrun shows of it what programs need; name what lies in it'],
    [{ allowNestedUserNamespaces: true }, 'allowNestedUserNamespaces: only together with network.allowAllUnixSockets'],
  ];
  for (const [own, message] of wraps) await assert.rejects(SandboxManager.wrapWithSandbox('true', undefined, own), said(message));
  await assert.rejects(SandboxManager.wrapWithSandbox('true', undefined, { filesystem: { allowWrite: ['/usr'] } }), (error) =>
    error.message.startsWith('nsrun: --rw would make a system root writable: /usr'));
  assert.equal((await shell('echo fine', { filesystem: { allowWrite: ['./**'] } })).stdout, 'fine\n');
});

test('a link that a command may have made leads nowhere', async (t) => {
  const folder = work(t, { 'project/file': '', 'victim/file': 'old', 'home/.npm/x': '' });
  const refused = (name) => (error) => error.message.startsWith(`nsrun: --r`) && error.message.includes(
    `goes through a symlink in a writable folder: ${folder}/project/${name}; it leads to ${folder}/victim`);
  process.chdir('project');
  await SandboxManager.initialize(config({ filesystem: { allowWrite: ['.', './dist'] } }));
  assert.equal((await shell('ln -s ../victim dist')).status, 0);
  await assert.rejects(SandboxManager.wrapWithSandbox('echo evil >dist/file'), refused('dist'));
  const filesystem = { denyRead: [folder], allowRead: [`${folder}/project`, `${folder}/project/dist`], allowWrite: [`${folder}/project`] };
  await assert.rejects(SandboxManager.wrapWithSandbox('cat dist/file', undefined, { filesystem }), refused('dist'));
  // Of what is writable unasked it is left out.
  const home = process.env.HOME;
  process.env.HOME = `${folder}/home`;
  t.after(() => (process.env.HOME = home));
  fs.mkdirSync(`${folder}/home/.npm/_logs`);
  assert.ok(getDefaultWritePaths().includes(`${folder}/home/.npm/_logs`));
  fs.rmdirSync(`${folder}/home/.npm/_logs`);
  fs.symlinkSync('../../victim', `${folder}/home/.npm/_logs`);
  assert.deepEqual(getDefaultWritePaths().filter((one) => one.startsWith(folder)), []);
});

test('what orders programs about is protected where the user works, and three deep', async (t) => {
  const files = ['area/org/project/.bashrc', 'area/org/project/.mcp.json', 'area/org/.vscode/settings.json', 'area/a/.claude/commands/x',
    'area/a/b/.gitconfig', 'area/a/.git/hooks/pre-commit', 'area/a/b/c/.bashrc', 'area/node_modules/x/.bashrc', 'area/a/plain'];
  const folder = work(t, Object.fromEntries(files.map((name) => [name, 'old\n'])));
  process.chdir('area/org/project');
  await SandboxManager.initialize(config({ filesystem: { allowWrite: [`${folder}/area`] } }));
  await shell(files.map((name) => `echo new >'${folder}/${name}'`).join('\n'));
  assert.deepEqual(files.map((name) => fs.readFileSync(`${folder}/${name}`, 'utf8')),
    ['old\n', 'old\n', 'old\n', 'old\n', 'old\n', 'old\n', 'new\n', 'new\n', 'new\n']);
  await SandboxManager.updateConfig(config({ filesystem: { allowWrite: [`${folder}/area`] }, mandatoryDenySearchDepth: 4 }));
  await shell(`echo newer >'${folder}/area/a/b/c/.bashrc'; echo newer >'${folder}/area/a/plain'`);
  assert.deepEqual(['c/.bashrc', '../plain'].map((name) => fs.readFileSync(`${folder}/area/a/b/${name}`, 'utf8')), ['new\n', 'newer\n']);
  // A folder that the command may enter and not list has what is at its top alone looked for.
  fs.chmodSync(`${folder}/area/org`, 0o311);
  const { stdout } = await shell('echo fine', { filesystem: { allowWrite: [`${folder}/area`] } });
  fs.chmodSync(`${folder}/area/org`, 0o755);
  assert.equal(stdout, 'fine\n');
});

test('what is denied stays so beside what is allowed', async (t) => {
  const folder = work(t, { 'project/.env': 'secret', 'project/open': 'open', '[WIP] p/key.pem': 'secret', '[WIP] p/open': 'open', file: 'secret' });
  await SandboxManager.initialize(config());
  const rows = [
    [{ denyRead: ['/', `${folder}/project/.env`], allowRead: [`${folder}/project`] }, 'project/.env', 'project/open'],
    [{ denyRead: [`${folder}/[WIP] p/key.pem`] }, '[WIP] p/key.pem', '[WIP] p/open'],
    [{ denyRead: [`${folder}/[WIP] p`] }, '[WIP] p/key.pem', 'project/open'],
    [{ denyRead: [`${folder}/file`], allowWrite: [folder, `${folder}/file`] }, 'file', 'project/open'],
  ];
  for (const [filesystem, denied, open] of rows) {
    const { stdout } = await shell(`cat '${folder}/${denied}' '${folder}/${open}'; echo x >>'${folder}/${denied}'`, { filesystem });
    assert.equal(stdout, 'open', JSON.stringify(filesystem));
  }
  assert.equal(fs.readFileSync(`${folder}/file`, 'utf8'), 'secret');
  const secret = { credentials: { files: [{ path: `${folder}/file`, mode: 'deny' }] }, filesystem: { allowRead: [`${folder}/file`] } };
  assert.equal((await shell(`cat ${folder}/file`, secret)).stdout, '');
  process.chdir('[WIP] p');
  assert.equal((await shell('cat key.pem open', { filesystem: { denyRead: ['**/*.pem'] } })).stdout, 'open');
  process.chdir(folder);
  // What is denied by DIR/** is the folder and what lies in it; names with letters that --protect has a use for.
  fs.mkdirSync('odd');
  for (const name of ['odd/**', 'odd/x', '{a,b}', 'strict,', 'a']) fs.writeFileSync(name, 'old');
  await shell('for f in "odd/**" odd/x "{a,b}" strict, a; do echo new >"$f"; done',
    { filesystem: { allowWrite: [folder], denyWrite: [`${folder}/odd/**`, `${folder}/{a,b}`, `${folder}/strict,`] } });
  assert.deepEqual(['odd/**', 'odd/x', '{a,b}', 'strict,', 'a'].map((name) => fs.readFileSync(name, 'utf8').trim()),
    ['old', 'old', 'old', 'old', 'new']);
  fs.mkdirSync('keys');
  fs.writeFileSync('keys/one', 'secret');
  const keys = { credentials: { files: [{ path: `${folder}/keys`, mode: 'deny' }] }, filesystem: { allowRead: [`${folder}/keys/one`] } };
  assert.equal((await shell('cat keys/one project/open', keys)).stdout, 'open');
  const many = Array.from({ length: 2000 }, (_, i) => `${folder}/a-name-that-is-rather-long-${i}`);
  for (const one of many) fs.writeFileSync(one, '');
  await assert.rejects(SandboxManager.wrapWithSandbox('true', undefined, { filesystem: { denyRead: many } }), /^NsrunError: nsrun: sandbox-runtime: the line has \d+ bytes, /);
});

test('what is told of itself, and the settings file', async (t) => {
  const folder = work(t);
  assert.deepEqual([SandboxManager.isSupportedPlatform(), SandboxManager.isSandboxingEnabled()], [true, false]);
  assert.deepEqual(SandboxManager.checkDependencies().errors, []);
  const settings = config({ network: { allowedDomains: ['a.org'], deniedDomains: ['b.org'] }, filesystem: { denyRead: ['~/.ssh'] },
    ignoreViolations: { '*': ['c.org'] } });
  assert.equal(loadSettings(`${folder}/none.json`), undefined);
  fs.writeFileSync(`${folder}/settings.json`, JSON.stringify(settings));
  assert.deepEqual(loadSettings(`${folder}/settings.json`), settings);
  fs.writeFileSync(`${folder}/bad.json`, JSON.stringify({ ...settings, other: 1 }));
  assert.throws(() => loadSettings(`${folder}/bad.json`), { message: `${folder}/bad.json: nsrun: sandbox-runtime: other: nsrun has nothing for it` });
  const parsed = SandboxRuntimeConfigSchema.parse(settings);
  assert.deepEqual([parsed, parsed === settings], [settings, false]);
  await SandboxManager.initialize(settings);
  assert.deepEqual([SandboxManager.isSandboxingEnabled(), await SandboxManager.waitForNetworkInitialization()], [true, true]);
  assert.deepEqual(SandboxManager.getConfig(), settings);
  assert.deepEqual(SandboxManager.getFsReadConfig(), { denyOnly: ['~/.ssh'], allowWithinDeny: [] });
  assert.deepEqual(writeRootsOf(SandboxManager.getFsWriteConfig()), [...getDefaultWritePaths(), '.']);
  assert.deepEqual(SandboxManager.getNetworkRestrictionConfig(), { allowedHosts: ['a.org'], deniedHosts: ['b.org'] });
  assert.equal(SandboxManager.getProxyPort(), undefined);
  const told = 'x\nnsrun: note: <b.org> was refused\nnsrun: note: c.org was refused\n';
  assert.equal(SandboxManager.annotateStderrWithSandboxFailures('curl', told),
    `${told}\n<sandbox_violations>\nnsrun: note: b.org was refused\n</sandbox_violations>`);
  assert.equal(SandboxManager.annotateStderrWithSandboxFailures('curl', 'plain\n'), 'plain\n');
  assert.equal(SandboxManager.getSandboxViolationStore().getViolationsForCommand('curl').length, 1);
  await SandboxManager.wrapWithSandbox('true', undefined, undefined, undefined, { commandId: 'id-1', commandText: 'curl d.org' });
  assert.match(SandboxManager.annotateStderrWithSandboxFailures('id-1', told), /b\.org was refused\n<\/sandbox_violations>$/);
  assert.deepEqual(SandboxManager.getSandboxViolationStore().getViolationsForCommand('id-1').map((one) => one.command), ['curl d.org']);
  assert.ok(SandboxManager.getSandboxViolationStore() instanceof SandboxViolationStore);
  fs.symlinkSync('.', `${folder}/link`);
  assert.equal(realPathOf(`${folder}/link/link`), folder);
});
