// SPDX-License-Identifier: LGPL-2.1-or-later
// @anthropic-ai/sandbox-runtime's SandboxManager and settings file, on nsrun: a configuration becomes options of
// `nsrun run`.  What has no counterpart there is refused by its name.
'use strict';

const { spawnSync } = require('node:child_process');
const { createHash, randomUUID } = require('node:crypto');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { NsrunError, output, program, wordsOf } = require('./program.js');
const { plan } = require('./index.js');

// nsrun's own, or its own way to show what is there: a folder of the host's in their place is refused.
const MADE_BY_NSRUN = /^\/(proc|sys|dev|run|var|tmp|usr|bin|sbin|lib[^/]*|etc|boot|lost\+found)$/;

const isSystem = (place) => MADE_BY_NSRUN.test(`/${place.split('/')[1]}`);

// ------------------------------------------------------------------- what is asked

const isText = (value) => typeof value === 'string' && value !== '' && !value.includes('\0');
const isFlag = (value) => typeof value === 'boolean';
const isEntry = (value) =>
  isText(value) || (isText(value?.path) && value.literal === true && Object.keys(value).length === 2);
const listOf = (check) => (value) => Array.isArray(value) && value.every(check);
const isPort = (text) => text === undefined || (/^[1-9]\d{0,4}$/.test(text) && Number(text) < 65536);
const isDomain = (value) => {
  const [, host, port] = (isText(value) && /^(\[.*\]|[^:]*)(?::(.*))?$/.exec(value)) || [];
  return host !== undefined && isPort(port) && (/^(localhost|(\*\.)?([\w-]+\.)+[\w-]+)$/i.test(host) || net.isIPv6(host.replace(/^\[(.*)\]$/, '$1'))) &&
    !/^\*\.[^.]+$/.test(host);
};
const isAddress = (value) => {
  const [, address, bits] = (isText(value) && /^([^/]*)(?:\/(\d{1,3}))?$/.exec(value)) || [];
  return net.isIP(address ?? '') !== 0 && Number(bits ?? 0) <= (net.isIPv4(address) ? 32 : 128);
};
const isCredential = (key, check) => (value) => check(value?.[key]) && value.mode === 'deny';
const isVariable = (value) => isText(value) && /^[A-Za-z_]\w*$/.test(value);
const anything = () => true;

// The keys that are understood, and what their values are; `null`: refused unless absent, false or empty.
const KEYS = {
  network: {
    allowedDomains: listOf(isDomain),
    deniedDomains: listOf((value) => isDomain(value) || value === '*'),
    deniedDomainReasons: anything,
    strictAllowlist: isFlag,
    deniedResolvedAddresses: listOf(isAddress),
    allowUnixSockets: listOf(isText),
    allowAllUnixSockets: isFlag,
    allowLocalBinding: isFlag,
    allowMachLookup: anything,
  },
  filesystem: {
    denyRead: listOf(isEntry),
    allowRead: listOf(isEntry),
    allowWrite: listOf(isEntry),
    denyWrite: listOf(isEntry),
    allowGitConfig: isFlag,
  },
  credentials: { files: listOf(isCredential('path', isText)), envVars: listOf(isCredential('name', isVariable)) },
};
const REQUIRED = { network: ['allowedDomains', 'deniedDomains'], filesystem: ['denyRead', 'allowWrite', 'denyWrite'] };
// Read on other systems, or by the programs that nsrun stands for: without effect in the original, too, on Linux.
const OTHERS = new Set(['enableWeakerNetworkIsolation', 'allowAppleEvents', 'allowPty', 'ripgrep', 'seccomp', 'bwrapPath',
  'socatPath', 'javaAgentJarPath', 'windows']);
const SINGLE = {
  enableWeakerNestedSandbox: isFlag,
  allowNestedUserNamespaces: isFlag,
  ignoreViolations: (value) => typeof value === 'object' && Object.values(value ?? {}).every(listOf(isText)),
  mandatoryDenySearchDepth: (value) => Number.isInteger(value) && value >= 1 && value <= 10,
};

const isEmpty = (value) => value === undefined || value === false || (Array.isArray(value) && value.length === 0);

/** Whether this is a configuration: else an Error with the key. */
function check(config) {
  const refuse = (key, why) => {
    throw Object.assign(new NsrunError(`nsrun: sandbox-runtime: ${key}: ${why}`, { key }),
      { issues: [{ path: key.split('.'), message: why }] });
  };
  if (config === null || typeof config !== 'object') refuse('the configuration', 'is no object');
  for (const [name, required] of Object.entries(REQUIRED))
    for (const key of required) if (config[name]?.[key] === undefined) refuse(`${name}.${key}`, 'is missing');
  // What every object has, "constructor" and its like, is no key of a table.
  const of = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);
  for (const [name, value] of Object.entries(config)) {
    const single = of(SINGLE, name);
    const keys = of(KEYS, name);
    if (single && value !== undefined && !single(value)) refuse(name, `${JSON.stringify(value)} is no value for it`);
    if (OTHERS.has(name) || single) continue;
    if (name === 'nsrun' && typeof value === 'object') continue;
    if (!keys && !isEmpty(value)) refuse(name, 'nsrun has nothing for it');
    for (const [key, one] of Object.entries(keys ? value ?? {} : {})) {
      const check = of(keys, key);
      if (!check && !isEmpty(one)) refuse(`${name}.${key}`, 'nsrun has nothing for it');
      if (check && one !== undefined && !check(one)) refuse(`${name}.${key}`, `${JSON.stringify(one)} is no value for it`);
    }
  }
  return structuredClone(config);
}

const SandboxRuntimeConfigSchema = {
  parse: check,
  safeParse(config) {
    try {
      return { success: true, data: check(config) };
    } catch (error) {
      return { success: false, error };
    }
  },
};

// ------------------------------------------------------------------- paths

const textOf = (entry) => (typeof entry === 'string' ? entry : entry.path);
const isPattern = (entry) => typeof entry === 'string' && /[*?[\]]/.test(entry);

const expanded = (text) => path.resolve(text.replace(/^~(?=\/|$)/, os.homedir()));
const lies = (place) => fs.lstatSync(place, { throwIfNoEntry: false }) !== undefined;
const absoluteOf = (entry) => expanded(typeof entry === 'string' ? entry.replace(/\/\*\*$/, '') : entry.path);
/** The pattern as an absolute one, in which the letters of the folder that it starts in mean themselves. */
function patternOf(text) {
  text = text.replace(/\/+$/, '');
  if (path.isAbsolute(text)) return path.normalize(text);
  const [, home, rest] = /^(~\/)?(.*)$/s.exec(text);
  return path.join(asGlob(home ? os.homedir() : process.cwd()), rest);
}

/** Where it really is; null if nothing is there. */
function placeOf(entry) {
  try {
    return fs.realpathSync(absoluteOf(entry));
  } catch {
    return null;
  }
}

const isBelow = (place, folder) => place === folder || place.startsWith(folder === '/' ? '/' : `${folder}/`);
const isBelowAny = (place, folders) => folders.some((folder) => isBelow(place, folder));
/** In a folder that can be entered and not listed, as another's home, no pattern could be looked for. */
function isListed(folder) {
  try {
    fs.accessSync(folder, fs.constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
const asGlob = (place) => place.replace(/[\\*?[\]]/g, '\\$&');
// --protect has a word of its own, "strict", and takes no braces.
const asProtected = (place) => asGlob(place).replace(/[{}]/g, '?').replace(/^strict(?=,|$)/, '[s]trict');

/** Where that of a list is which exists, with the names that lead there, by one look at each; a pattern that a bind can't
 * be is refused. */
function placesOf(list, key) {
  const places = new Map();
  for (const entry of list ?? []) {
    if (isPattern(entry) && isPattern(entry.replace(/\/\*\*$/, '')))
      throw new NsrunError(`nsrun: sandbox-runtime: filesystem.${key}: ${entry}: a pattern; name the paths`, { key });
    const place = placeOf(entry);
    if (place !== null) places.set(place, [...(places.get(place) ?? []), absoluteOf(entry)]);
  }
  return places;
}

/** Where what is denied is: also what is there by the very letters of a pattern. */
function deniedPlaces(list) {
  return list.flatMap((entry) => {
    const place = placeOf(isPattern(entry) ? { path: expanded(entry) } : entry);
    return place === null ? [] : [place];
  });
}

/** What the original makes writable unasked, where it is there and the user's own: /tmp is everybody's, and a command can
 * make a link of what it may write. */
function getDefaultWritePaths() {
  return [['/tmp', 'claude'], ['~', '.npm/_logs'], ['~', '.claude/debug']].flatMap(([base, rest]) => {
    const place = path.join(placeOf(base) ?? base, rest);
    const stat = placeOf(place) === place ? fs.statSync(place) : undefined;
    return stat?.isDirectory() && stat.uid === process.getuid() ? [place] : [];
  });
}

// What is never writable at any of these depths, where it is there: the top has nsrun's own list.
const ORDERS = new Set(['.gitconfig', '.gitmodules', '.bashrc', '.bash_profile', '.zshrc', '.zprofile', '.profile', '.ripgreprc',
  '.mcp.json', '.vscode', '.idea', '.claude/commands', '.claude/agents', '.git/hooks', '.git/config']);
const DEPTH = 3;

/** The names below the sub-folders of a folder by which programs of the host are told what to do. */
function ordersBelow(folder, depth, allowGitConfig) {
  const found = [];
  const look = (below, level) => {
    let entries = [];
    try {
      entries = fs.readdirSync(path.join(folder, below), { withFileTypes: true });
    } catch {
      // It is gone, or closed to the command as well.
    }
    for (const entry of entries) {
      const name = path.join(below, entry.name);
      const orders = [entry.name, ...['.claude', '.git'].includes(entry.name.toLowerCase()) && entry.isDirectory()
        ? ['commands', 'agents', 'hooks', 'config'].map((one) => `${entry.name}/${one}`) : []]
        .filter((one) => ORDERS.has(one.toLowerCase()) && !(allowGitConfig && one.toLowerCase() === '.git/config'));
      if (level > 1)
        found.push(...orders.map((one) => path.join(below, one)).filter((one) => lies(path.join(folder, one))));
      if (entry.isDirectory() && level < depth && orders.length === 0 && entry.name !== 'node_modules' && entry.name !== '.git')
        look(name, level + 1);
    }
  };
  look('', 1);
  return found;
}

/** On the way to a path the symlinks, and what isn't there yet, as the folders that may be written have them: they are
 * protected by their names, since a mount can't be on them. */
function protectedNames(entry, writes) {
  const parts = absoluteOf(entry).split('/').filter(Boolean);
  const names = [];
  for (let place = '/'; parts.length > 0; ) {
    const next = path.join(place, parts.shift());
    const stat = fs.lstatSync(next, { throwIfNoEntry: false });
    if (!stat?.isSymbolicLink() && stat) place = next;
    else names.push(stat ? next : path.join(next, ...parts));
    if (!stat) break;
    if (stat.isSymbolicLink() && (place = placeOf({ path: next })) === null) break;
  }
  return names.flatMap((name) => {
    const folder = writes.filter((one) => isBelow(name, one)).sort((a, b) => b.length - a.length)[0];
    return folder === undefined ? [] : [asProtected(path.relative(folder, name))];
  });
}

/** Refuses what nsrun could only do in part. */
function refuseDenied(denied, patterns, allowRead, emptied) {
  const refuse = (key, what) => {
    throw new NsrunError(`nsrun: sandbox-runtime: filesystem.${key}: ${what}`, { key });
  };
  const shown = denied.find((one) => /^\/(usr|etc|bin|sbin|lib[^/]*)$/.test(one));
  if (shown) refuse('denyRead', `${shown}: nsrun shows of it what programs need; name what lies in it`);
  for (const pattern of patterns) {
    const fixed = pattern.slice(0, pattern.search(/[*?[\]]/));
    const place = allowRead.find((one) => isBelow(one, path.dirname(`${fixed}x`)));
    if (place)
      refuse('allowRead', `${place}: it may lie in what the pattern ${pattern} of denyRead names, which goes before; name the paths`);
  }
  const withColon = emptied.find((one) => one.includes(':'));
  if (withColon) refuse('denyRead', `${withColon}: a folder with a colon in its name can only be denied whole`);
}

/** The options for files: what may be read is all but the denied; what may be written is what is named. */
async function filesOptions({ filesystem, credentials, mandatoryDenySearchDepth }) {
  const secret = (credentials?.files ?? []).map((one) => one.path);
  const denyRead = [...filesystem.denyRead, ...secret];
  const secrets = deniedPlaces(secret);
  const denied = deniedPlaces(denyRead);
  const patterns = denyRead.filter(isPattern).map(patternOf);
  const denyWrite = [...placesOf(filesystem.denyWrite, 'denyWrite').keys()];
  const isFile = (place) => !fs.statSync(place).isDirectory();
  const readNames = placesOf(filesystem.allowRead, 'allowRead');
  const allowRead = [...readNames.keys()].filter((one) => !isBelowAny(one, secrets));
  const cwd = fs.realpathSync(process.cwd());
  // /tmp inside is the sandbox's own, writable, and gone at the end.
  const writeNames = placesOf(filesystem.allowWrite, 'allowWrite');
  const writes = [...writeNames.keys(), ...getDefaultWritePaths()]
    .filter((one) => one !== '/tmp' && !isBelowAny(one, denyWrite) && !isBelowAny(one, secrets) && !(denied.includes(one) && isFile(one)))
    .filter((one, i, all) => all.indexOf(one) === i);
  // Where the user works names are protected as at the top of what may be written.
  if (isBelowAny(cwd, writes) && !writes.includes(cwd) && !isBelowAny(cwd, [...denyWrite, ...denied])) writes.push(cwd);
  const shown = [...allowRead, ...writes];
  const isRootDenied = denied.includes('/');
  // A folder with something in it that is shown again is empty; any other is hidden.
  const emptied = denied.filter((one) => one !== '/' && shown.some((place) => place !== one && isBelow(place, one)));
  const hidden = denied.filter((one) => one !== '/' && !emptied.includes(one) && !shown.includes(one));
  refuseDenied(denied, patterns, allowRead, emptied);
  const tops = isRootDenied ? [] : fs.readdirSync('/', { withFileTypes: true })
    .filter((one) => one.isDirectory()).map((one) => `/${one.name}`)
    .filter((one) => !MADE_BY_NSRUN.test(one) && !denied.includes(one));
  const closed = tops.filter((one) => !isListed(one));
  const reads = [...tops.filter(isListed), ...allowRead.filter((one) => isRootDenied || isBelowAny(one, emptied) || isBelowAny(one, closed))]
    .filter((one) => !writes.includes(one) && !MADE_BY_NSRUN.test(one));
  if (cwd !== '/' && !MADE_BY_NSRUN.test(cwd) && !isBelowAny(cwd, [...reads, ...writes, ...denied])) reads.push(cwd);
  // By the names that they were given, so that nsrun sees a link in what a command may write, and refuses it.
  const named = (places, names) => places.flatMap((place) => names.get(place) ?? [place]);
  const options = {
    ro: [...named(reads, readNames), ...denyWrite.filter((one) => isBelowAny(one, writes))],
    rw: named(writes, writeNames),
    tmpfs: emptied,
    hide: [...hidden.map(asGlob), ...patterns],
    protect: ['.gitmodules', ...filesystem.denyWrite.flatMap((entry) => protectedNames(entry, writes)),
      ...writes.flatMap((one) => ordersBelow(one, mandatoryDenySearchDepth ?? DEPTH, filesystem.allowGitConfig).map(asProtected))],
    noProtect: filesystem.allowGitConfig ? '.git/config' : undefined,
  };
  for (const key of ['ro', 'rw', 'protect']) options[key] = [...new Set(options[key])];
  return { options, mustNotShow: isRootDenied ? ['/'] : [...emptied, ...hidden], shown };
}

// ------------------------------------------------------------------- the rest

function networkOptions(network) {
  const denied = network.deniedDomains.map((one) => one.toLowerCase());
  const withPort = denied.find((one) => one !== '*' && /:\d+$/.test(one) && !one.endsWith(']'));
  if (withPort !== undefined)
    throw new NsrunError(`nsrun: sandbox-runtime: network.deniedDomains: ${withPort}: nsrun denies a host at all ports; leave ` +
      'the port out', { key: 'deniedDomains' });
  const hostOf = (one) => one.replace(/:\d+$/, '');
  // What is denied is left out where it is allowed, too: nsrun takes two rules for one host for a mistake.
  const isDenied = (host) => denied.some((one) => one === host || (one.startsWith('*.') && host.endsWith(one.slice(1))));
  const allowed = network.allowedDomains.map((one) => one.toLowerCase()).filter((one) => !isDenied(hostOf(one)))
    .flatMap((one) => (one === 'localhost' ? ['localhost:80', 'localhost:443'] : [one]));
  if (denied.includes('*') || allowed.length === 0) return { net: 'none' };
  return { net: 'allow', allow: allowed, deny: [...denied, ...(network.deniedResolvedAddresses ?? [])] };
}

let policyFile;

/** nsrun's default policy but for sockets of the family UNIX (pairs stay), in nsrun's own cache folder: no command can
 * reach what lies there, so that nsrun takes it. */
async function policyWithoutUnixSockets() {
  if (policyFile) return policyFile;
  const policy = JSON.parse(await output(['seccomp', 'show', 'default']));
  // A family is an int: the kernel never looks at the high word.
  const args = [{ index: 0, value: 0xffffffff, valueTwo: 1, op: 'SCMP_CMP_MASKED_EQ' }];
  policy.syscalls.push({ names: ['socket'], action: 'SCMP_ACT_ERRNO', errnoRet: 1, args });
  const text = JSON.stringify(policy);
  const cache = process.env.XDG_CACHE_HOME ?? '';
  const folder = path.join(path.isAbsolute(cache) ? cache : path.join(os.homedir(), '.cache'), 'nsrun');
  const file = path.join(folder, `no-unix-sockets-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.json`);
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = path.join(folder, `policy-${randomUUID()}`);
  fs.writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
  fs.renameSync(draft, file);
  policyFile = file;
  return file;
}

async function seccompOf(config) {
  const hasUnix = config.network.allowAllUnixSockets === true;
  if (config.allowNestedUserNamespaces && !hasUnix)
    throw new NsrunError('nsrun: sandbox-runtime: allowNestedUserNamespaces: only together with network.allowAllUnixSockets',
      { key: 'allowNestedUserNamespaces' });
  return config.allowNestedUserNamespaces ? 'nested' : hasUnix ? 'default' : policyWithoutUnixSockets();
}

/** The options of `nsrun run` for a configuration. */
async function optionsOf(config) {
  const { options, mustNotShow, shown } = await filesOptions(config);
  Object.assign(options, networkOptions(config.network), { config: false, project: false, seccomp: await seccompOf(config) });
  if (config.enableWeakerNestedSandbox) options.proc = 'auto';
  options.env = { SANDBOX_RUNTIME: '1' };
  options.unsetenv = (config.credentials?.envVars ?? []).map((one) => one.name);
  for (const [key, value] of Object.entries(config.nsrun ?? {}))
    options[key] = Array.isArray(options[key]) ? options[key].concat(value) : key === 'env' ? { ...options.env, ...value } : value;
  // The plan is asked whether nsrun can do it, and what it shows itself, as toolchains, in a folder that is denied.
  const { operations } = await plan({ ...options, chdir: '/' });
  for (const { op, source } of operations)
    if ((op === 'bind' || op === 'overlay') && isBelowAny(source, mustNotShow) && !isBelowAny(source, shown) && !isSystem(source))
      options.hide.push(asGlob(source));
  return options;
}

// MAX_ARG_STRLEN, less what the shell's quotes and nsrun's own path take.
const LINE_MAX = 120000;
// The commands by the names that their callers gave them.
const commands = new Map();

const quote = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

/** What a violation is: a line of nsrun's on standard error.  The command can write such lines, too. */
class SandboxViolationStore {
  #violations = [];
  #total = 0;
  #listeners = new Set();

  addViolation(violation) {
    const line = violation.line.replace(/[\p{Cc}\p{Cf}]+/gu, ' ').replace(/[<>]/g, '').trim();
    this.#violations = [...this.#violations, { ...violation, line }].slice(-100);
    this.#total++;
    for (const listener of this.#listeners) listener(this.getViolations());
  }

  getViolations(limit) {
    return limit === undefined ? [...this.#violations] : this.#violations.slice(-limit);
  }

  getCount() {
    return this.#violations.length;
  }

  getTotalCount() {
    return this.#total;
  }

  getViolationsForCommand(command) {
    return this.#violations.filter((one) => one.command === command || one.commandId === command);
  }

  clear() {
    this.#violations = [];
  }

  subscribe(listener) {
    this.#listeners.add(listener);
    listener(this.getViolations());
    return () => this.#listeners.delete(listener);
  }
}

const store = new SandboxViolationStore();
const told = new WeakSet();
let current;

// What a command's own configuration adds to where initialize() wasn't called.
const NOTHING = {
  network: { allowedDomains: [], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
};

function needed() {
  if (!current) throw new NsrunError('nsrun: sandbox-runtime: initialize() was not called');
  return current;
}

/** A command's own configuration: its keys go before those of the whole. */
function merged(config, own = {}) {
  const result = { ...config, ...own };
  for (const key of ['network', 'filesystem', 'credentials'])
    if (config[key] || own[key]) result[key] = { ...config[key], ...own[key] };
  return check(result);
}

async function wordsFor(command, binShell, customConfig, chdir, { commandId, commandText } = {}) {
  const options = await optionsOf(merged(customConfig ? current ?? NOTHING : needed(), customConfig));
  if (commandId !== undefined) {
    commands.set(commandId, commandText ?? command);
    for (const oldest of commands.keys()) if (commands.size > 1000) commands.delete(oldest);
  }
  const words = [['run', ...wordsOf(options)], [...chdir, '--', binShell || 'bash', '-c', command]];
  const longest = words.flat().join(' ').length;
  if (longest > LINE_MAX)
    throw new NsrunError(`nsrun: sandbox-runtime: the line has ${longest} bytes, and Linux starts no shell with more than ${LINE_MAX}: ` +
      'name folders, or patterns, in the place of many paths', {});
  return words;
}

/** Entries as the original tells them: those that are marked as paths have a list of their own. */
function byKind(plain, literal, entries) {
  const marked = entries.filter((one) => typeof one !== 'string').map(textOf);
  return { [plain]: entries.filter((one) => typeof one === 'string'), ...(marked.length > 0 && { [literal]: marked }) };
}

const SandboxManager = {
  async initialize(config, sandboxAskCallback) {
    const checked = check(config);
    if (sandboxAskCallback && !config.network.strictAllowlist)
      throw new NsrunError("nsrun: sandbox-runtime: the ask callback: a wrapped command can't ask; set network.strictAllowlist, " +
        "or use bash() with net: 'ask' and onAsk", { key: 'sandboxAskCallback' });
    program();
    current = checked;
  },

  updateConfig(config) {
    current = check(config);
  },

  async reset() {
    current = undefined;
    commands.clear();
    store.clear();
  },

  async wrapWithSandbox(command, binShell, customConfig, abortSignal, names) {
    const [words, rest] = await wordsFor(command, binShell, customConfig, [], names);
    abortSignal?.throwIfAborted();
    return [program(), ...words].map(quote).concat('--chdir="$PWD"', rest.map(quote)).join(' ');
  },

  async wrapWithSandboxArgv(command, binShell, customConfig, abortSignal, cwd = process.cwd(), names) {
    const [words, rest] = await wordsFor(command, binShell, customConfig, [`--chdir=${cwd}`], names);
    abortSignal?.throwIfAborted();
    return { argv: [program(), ...words, ...rest], env: process.env };
  },

  isSupportedPlatform: () => process.platform === 'linux',
  isSandboxingEnabled: () => current !== undefined,

  checkDependencies() {
    try {
      const { stdout } = spawnSync(program(), ['doctor', '--json'], { encoding: 'utf8' });
      const { works, checks } = JSON.parse(stdout);
      const told = (state) => checks.filter((one) => one.state === state)
        .map((one) => [one.check, one.text, one.fix].filter(Boolean).join(': '));
      return { errors: works ? [] : told('no'), warnings: told('degraded') };
    } catch (error) {
      return { errors: [error.message], warnings: [] };
    }
  },

  checkDependenciesAsync: async () => SandboxManager.checkDependencies(),

  getConfig: () => current,
  getFsReadConfig: () => ({
    ...byKind('denyOnly', 'literalDenyOnly', [...(current?.filesystem.denyRead ?? []), ...(current?.credentials?.files ?? []).map((one) => one.path)]),
    allowWithinDeny: (current?.filesystem.allowRead ?? []).map(textOf),
  }),
  getFsWriteConfig: () => ({
    ...byKind('allowOnly', 'literalAllowOnly', [...getDefaultWritePaths(), ...(current?.filesystem.allowWrite ?? [])]),
    denyWithinAllow: (current?.filesystem.denyWrite ?? []).map(textOf),
  }),
  getNetworkRestrictionConfig() {
    const { allowedDomains: allowedHosts, deniedDomains = [] } = current?.network ?? {};
    return { ...(allowedHosts && { allowedHosts }), ...(deniedDomains.length > 0 && { deniedHosts: deniedDomains }) };
  },
  getAllowUnixSockets: () => current?.network.allowUnixSockets,
  getAllowLocalBinding: () => current?.network.allowLocalBinding,
  getAllowMachLookup: () => current?.network.allowMachLookup,
  getIgnoreViolations: () => current?.ignoreViolations,
  getEnableWeakerNestedSandbox: () => current?.enableWeakerNestedSandbox,
  getLinuxGlobPatternWarnings: () => [],
  // There is no proxy: hosts are reached by name, and programs need no variable for that.
  getProxyPort: () => undefined,
  getProxyAuthToken: () => undefined,
  getSocksProxyPort: () => undefined,
  getLinuxHttpSocketPath: () => undefined,
  getLinuxSocksSocketPath: () => undefined,
  getMitmCA: () => undefined,
  waitForNetworkInitialization: async () => current !== undefined,
  // Nothing is left on the host between commands.
  cleanupAfterCommand() {},

  getSandboxViolationStore: () => store,
  annotateStderrWithSandboxFailures(commandOrId, stderr) {
    const commandId = commands.has(commandOrId) ? commandOrId : undefined;
    const command = commands.get(commandOrId) ?? commandOrId;
    const lines = stderr.split('\n').filter((line) => /^nsrun: (reason|note): /.test(line));
    const own = lines.filter((line) => !Object.entries(current?.ignoreViolations ?? {}).some(([key, parts]) =>
      (key === '*' || command.includes(key)) && parts.some((part) => line.includes(part))));
    for (const line of own) store.addViolation({ line, command, commandId, timestamp: new Date() });
    // Each once: the same command may run again.
    const untold = store.getViolationsForCommand(commandOrId).filter((one) => !told.has(one));
    if (untold.length === 0) return stderr;
    for (const one of untold) told.add(one);
    return `${stderr.trimEnd()}\n\n<sandbox_violations>\n${untold.map((one) => one.line).join('\n')}\n</sandbox_violations>`;
  },
};

/** The settings file, as `srt --settings` reads it; undefined where there is none. */
function loadSettings(file = path.join(os.homedir(), '.srt-settings.json')) {
  let text;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return check(JSON.parse(text));
  } catch (error) {
    throw new NsrunError(`${file}: ${error.message}`, { key: error.key });
  }
}

const writeRootsOf = (config) => [...config.allowOnly, ...(config.literalAllowOnly ?? [])];
const realPathOf = (place) => fs.realpathSync.native(path.resolve(place));

module.exports = {
  SandboxManager,
  SandboxViolationStore,
  SandboxRuntimeConfigSchema,
  getDefaultWritePaths,
  writeRootsOf,
  realPathOf,
  loadSettings,
};
