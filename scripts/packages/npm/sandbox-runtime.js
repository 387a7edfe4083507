// SPDX-License-Identifier: LGPL-2.1-or-later
// @anthropic-ai/sandbox-runtime's SandboxManager and settings file, on nsrun: a configuration becomes options of
// `nsrun run`.  What has no counterpart there is refused by its name.
'use strict';

const { spawnSync } = require('node:child_process');
const { createHash, randomUUID } = require('node:crypto');
const fs = require('node:fs');
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
const isDomain = (value) =>
  isText(value) && (/^(localhost|(\*\.)?([\w-]+\.)+[\w-]+)(:\d+)?$/.test(value) || /^\[[0-9a-fA-F:.]+\](:\d+)?$/.test(value)) &&
  !/^\*\.[^.:]+(:\d+)?$/.test(value);
const isCredential = (key) => (value) => isText(value?.[key]) && value.mode === 'deny';
const anything = () => true;

// The keys that are understood, and what their values are; `null`: refused unless absent, false or empty.
const KEYS = {
  network: {
    allowedDomains: listOf(isDomain),
    deniedDomains: listOf((value) => isDomain(value) || value === '*'),
    deniedDomainReasons: anything,
    strictAllowlist: isFlag,
    deniedResolvedAddresses: listOf(isText),
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
  credentials: { files: listOf(isCredential('path')), envVars: listOf(isCredential('name')) },
};
const REQUIRED = { network: ['allowedDomains', 'deniedDomains'], filesystem: ['denyRead', 'allowWrite', 'denyWrite'] };
// Read on other systems, or by the programs that nsrun stands for: without effect in the original, too, on Linux.
const OTHERS = new Set(['ignoreViolations', 'enableWeakerNetworkIsolation', 'allowAppleEvents', 'allowPty', 'ripgrep',
  'mandatoryDenySearchDepth', 'seccomp', 'bwrapPath', 'socatPath', 'javaAgentJarPath', 'windows']);
const FLAGS = new Set(['enableWeakerNestedSandbox', 'allowNestedUserNamespaces']);

const isEmpty = (value) => value === undefined || value === false || (Array.isArray(value) && value.length === 0);

/** Whether this is a configuration: else an Error with the key. */
function check(config) {
  const refuse = (key, why) => {
    throw new NsrunError(`nsrun: sandbox-runtime: ${key}: ${why}`, { key });
  };
  if (config === null || typeof config !== 'object') refuse('the configuration', 'is no object');
  for (const [name, required] of Object.entries(REQUIRED))
    for (const key of required) if (config[name]?.[key] === undefined) refuse(`${name}.${key}`, 'is missing');
  for (const [name, value] of Object.entries(config)) {
    if (OTHERS.has(name)) continue;
    if (FLAGS.has(name) && isFlag(value)) continue;
    if (name === 'nsrun' && typeof value === 'object') continue;
    if (!KEYS[name] && !isEmpty(value)) refuse(name, 'nsrun has nothing for it');
    for (const [key, one] of Object.entries(KEYS[name] ? value ?? {} : {})) {
      if (KEYS[name][key] === undefined && !isEmpty(one)) refuse(`${name}.${key}`, 'nsrun has nothing for it');
      if (KEYS[name][key] && one !== undefined && !KEYS[name][key](one))
        refuse(`${name}.${key}`, `${JSON.stringify(one)} is no value for it`);
    }
  }
  return config;
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
const absoluteOf = (entry) => expanded(typeof entry === 'string' ? entry.replace(/\/\*\*$/, '') : entry.path);

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
const isThere = (place) => place !== null;
const asGlob = (place) => place.replace(/[\\*?[\]]/g, '\\$&');

/** Where that of a list is which exists; a pattern that a bind can't be is refused. */
function placesOf(list, key) {
  for (const entry of list ?? [])
    if (isPattern(entry) && isPattern(entry.replace(/\/\*\*$/, '')))
      throw new NsrunError(`nsrun: sandbox-runtime: filesystem.${key}: ${entry}: a pattern; name the paths`, { key });
  return [...new Set((list ?? []).map(placeOf).filter(isThere))];
}

/** What the original makes writable unasked, where it is there. */
function getDefaultWritePaths() {
  return ['/tmp/claude', '~/.npm/_logs', '~/.claude/debug'].map(placeOf).filter(isThere);
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
    // `strict` is a word of --protect's.
    return folder === undefined ? [] : [asGlob(path.relative(folder, name)).replace(/^strict$/, '[s]trict')];
  });
}

/** The options for files: what may be read is all but the denied; what may be written is what is named. */
async function filesOptions({ filesystem, credentials }) {
  const denyRead = [...filesystem.denyRead, ...(credentials?.files ?? []).map((one) => one.path)];
  const denied = denyRead.filter((entry) => !isPattern(entry)).map(placeOf).filter(isThere);
  const patterns = denyRead.filter(isPattern).map(expanded);
  const denyWrite = placesOf(filesystem.denyWrite, 'denyWrite');
  const allowRead = placesOf(filesystem.allowRead, 'allowRead');
  // /tmp inside is the sandbox's own, writable, and gone at the end.
  const writes = [...placesOf(filesystem.allowWrite, 'allowWrite'), ...getDefaultWritePaths()]
    .filter((one) => one !== '/tmp' && !isBelowAny(one, denyWrite))
    .filter((one, i, all) => all.indexOf(one) === i);
  for (const pattern of patterns) {
    const fixed = pattern.slice(0, pattern.search(/[*?[\]]/));
    const shown = allowRead.find((one) => isBelow(one, path.dirname(`${fixed}x`)));
    if (shown)
      throw new NsrunError(`nsrun: sandbox-runtime: filesystem.allowRead: ${shown}: it may lie in what the pattern ${pattern} ` +
        'of denyRead names, which goes before; name the paths', { key: 'allowRead' });
  }
  const shown = [...allowRead, ...writes];
  // A folder with something in it that is shown again is empty; any other is hidden.
  const emptied = denied.filter((one) => shown.some((place) => place !== one && isBelow(place, one)));
  const hidden = denied.filter((one) => !emptied.includes(one) && !shown.includes(one));
  if (emptied.includes('/') || hidden.includes('/')) emptied.length = hidden.length = 0;
  const withColon = emptied.find((one) => one.includes(':'));
  if (withColon)
    throw new NsrunError(`nsrun: sandbox-runtime: filesystem.denyRead: ${withColon}: a folder with a colon in its name can only be ` +
      'denied whole', { key: 'denyRead' });
  const isRootDenied = denied.includes('/');
  const roots = isRootDenied ? [] : fs.readdirSync('/', { withFileTypes: true })
    .filter((one) => one.isDirectory()).map((one) => `/${one.name}`)
    .filter((one) => !MADE_BY_NSRUN.test(one) && !denied.includes(one));
  const cwd = fs.realpathSync(process.cwd());
  const reads = [...roots, ...allowRead.filter((one) => isRootDenied || isBelowAny(one, emptied))]
    .filter((one) => !writes.includes(one) && !MADE_BY_NSRUN.test(one));
  if (cwd !== '/' && !MADE_BY_NSRUN.test(cwd) && !isBelowAny(cwd, [...reads, ...writes, ...denied])) reads.push(cwd);
  const options = {
    ro: [...reads, ...denyWrite.filter((one) => isBelowAny(one, writes))],
    rw: writes,
    tmpfs: emptied,
    hide: [...hidden.map(asGlob), ...patterns],
    protect: ['.gitmodules', ...filesystem.denyWrite.flatMap((entry) => protectedNames(entry, writes))],
    noProtect: filesystem.allowGitConfig ? '.git/config' : undefined,
  };
  options.ro = [...new Set(options.ro)];
  return { options, mustNotShow: isRootDenied ? ['/'] : [...emptied, ...hidden], shown };
}

// ------------------------------------------------------------------- the rest

function networkOptions(network) {
  const denied = network.deniedDomains;
  const withPort = denied.find((one) => one !== '*' && /:\d+$/.test(one) && !one.endsWith(']'));
  if (withPort !== undefined)
    throw new NsrunError(`nsrun: sandbox-runtime: network.deniedDomains: ${withPort}: nsrun denies a host at all ports; leave ` +
      'the port out', { key: 'deniedDomains' });
  const hostOf = (one) => one.replace(/:\d+$/, '');
  const allowed = network.allowedDomains.filter((one) => !denied.includes(hostOf(one)));
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
  options.unsetenv = (config.credentials?.envVars ?? []).map((one) => one.name);
  for (const [key, value] of Object.entries(config.nsrun ?? {}))
    options[key] = Array.isArray(options[key]) ? options[key].concat(value) : value;
  // The plan is asked whether nsrun can do it, and what it shows itself, as toolchains, in a folder that is denied.
  const { operations } = await plan({ ...options, chdir: '/' });
  for (const { op, source } of operations)
    if ((op === 'bind' || op === 'overlay') && isBelowAny(source, mustNotShow) && !isBelowAny(source, shown) && !isSystem(source))
      options.hide.push(asGlob(source));
  return options;
}

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
    return this.#violations.filter((one) => one.command === command);
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
let current;

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

async function wordsFor(command, binShell, customConfig, chdir) {
  const options = await optionsOf(merged(needed(), customConfig));
  return [['run', ...wordsOf(options)], [...chdir, '--', binShell || 'bash', '-c', command]];
}

const SandboxManager = {
  async initialize(config, sandboxAskCallback) {
    check(config);
    if (sandboxAskCallback && !config.network.strictAllowlist)
      throw new NsrunError("nsrun: sandbox-runtime: the ask callback: a wrapped command can't ask; set network.strictAllowlist, " +
        "or use bash() with net: 'ask' and onAsk", { key: 'sandboxAskCallback' });
    program();
    current = structuredClone(config);
  },

  updateConfig(config) {
    current = structuredClone(check(config));
  },

  async reset() {
    current = undefined;
    store.clear();
  },

  async wrapWithSandbox(command, binShell, customConfig, abortSignal) {
    const [words, rest] = await wordsFor(command, binShell, customConfig, []);
    abortSignal?.throwIfAborted();
    return [program(), ...words].map(quote).concat('--chdir="$PWD"', rest.map(quote)).join(' ');
  },

  async wrapWithSandboxArgv(command, binShell, customConfig, abortSignal, cwd = process.cwd()) {
    const [words, rest] = await wordsFor(command, binShell, customConfig, [`--chdir=${cwd}`]);
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
    denyOnly: (current?.filesystem.denyRead ?? []).map(textOf),
    allowWithinDeny: (current?.filesystem.allowRead ?? []).map(textOf),
  }),
  getFsWriteConfig: () => ({
    allowOnly: [...getDefaultWritePaths(), ...(current?.filesystem.allowWrite ?? []).map(textOf)],
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
  annotateStderrWithSandboxFailures(command, stderr) {
    const lines = stderr.split('\n').filter((line) => /^nsrun: (reason|note): /.test(line));
    const own = lines.filter((line) => !Object.entries(current?.ignoreViolations ?? {}).some(([key, parts]) =>
      (key === '*' || command.includes(key)) && parts.some((part) => line.includes(part))));
    for (const line of own) store.addViolation({ line, command, timestamp: new Date() });
    if (own.length === 0) return stderr;
    const told = store.getViolations(own.length).map((one) => one.line);
    return `${stderr.trimEnd()}\n\n<sandbox_violations>\n${told.join('\n')}\n</sandbox_violations>`;
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
