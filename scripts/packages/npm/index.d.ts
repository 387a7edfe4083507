// SPDX-License-Identifier: LGPL-2.1-or-later
/// <reference lib="esnext.disposable" />

/** One value of an option: true alone, false as --no-…, an array each, an object as NAME=VALUE. */
export type OptionValue =
  | boolean
  | string
  | number
  | null
  | undefined
  | readonly (string | number)[]
  | { readonly [name: string]: string | number | true | null | undefined };

/** The program's options in camelCase (nsrun-run(1) and the subcommand's page): netVia for --net-via.  It refuses what
 * it doesn't know. */
export interface Options {
  readonly project?: string | false;
  readonly ro?: string | readonly string[];
  readonly rw?: string | readonly string[];
  readonly overlay?: string | readonly string[];
  readonly hide?: string | readonly string[];
  readonly env?: { readonly [name: string]: string | true };
  readonly net?: 'host' | 'none' | 'allow' | 'ask';
  readonly allow?: string | readonly string[];
  readonly limit?: { readonly [name: string]: string | number };
  /** In seconds. */
  readonly timeout?: number;
  readonly session?: string;
  readonly [option: string]: OptionValue | AbortSignal | Uint8Array | ((...words: any[]) => unknown);
  /** Ends it: the promise fails with the signal's reason once nothing of it runs any more. */
  readonly signal?: AbortSignal;
  /** Where the program is started, which decides the project; the current folder unless given. */
  readonly cwd?: string;
  /** How many bytes of each output are kept; more is an error, and ends the command.  16 MiB unless given. */
  readonly maxBuffer?: number;
}

export interface RunOptions extends Options {
  /** Standard input, which is else /dev/null. */
  readonly input?: string | Uint8Array;
}

export interface BashOptions extends Options {
  /** Gets the output as it comes; the result's `output` is then empty.  The command waits for its promise. */
  readonly onOutput?: (text: string) => void | Promise<void>;
  /** With net: 'ask': whether a host may be reached.  Only true allows. */
  readonly onAsk?: (question: { host: string; program: string }) => boolean | Promise<boolean>;
}

/** Something that is had in a lesser way on this host. */
export interface Degraded {
  name: string;
  path: string | null;
  message: string;
  fix: string;
}

export interface RunResult {
  /** null where a signal ended it. */
  status: number | null;
  signal: number | null;
  stdout: string;
  /** The command's, and the program's own lines, which begin with "nsrun:". */
  stderr: string;
  timed_out: boolean;
  oom_killed: boolean;
  notes: string[];
  /** With explain: true, what the sandbox caused, and the option that allows it. */
  reasons: string[];
  degraded: Degraded[];
}

/** The JSON of nsrun-bash(1), OUTPUT. */
export interface BashResult {
  status: number | null;
  signal: number | null;
  timed_out: boolean;
  oom_killed: boolean;
  sandbox: boolean;
  duration_ms: number;
  output: string;
  bytes_total: number;
  bytes_omitted: number;
  notes: string[];
  reasons: string[];
  dropped: string[];
  degraded: Degraded[];
  report: object[] | null;
  detached?: { session: string; name: string; pid: number; ready: boolean; running: boolean };
}

export type BashEvent =
  | { event: 'start'; sandbox: boolean }
  | { event: 'output'; text: string }
  | { event: 'asked'; host: string; program: string }
  | { event: 'reason'; text: string }
  | ({ event: 'end' } & Omit<BashResult, 'output' | 'reasons'>);

/** nsrun failed, and the command never started, or a subcommand failed: the program's own message. */
export class NsrunError extends Error {
  /** The program's exit status: 125, 126, 127; 123 of a commit that expected another state. */
  readonly status?: number | null;
  readonly signal?: string | null;
  /** A word that stays the same, for programs to go by. */
  readonly id?: string;
  /** Of run: the stage, errno, path and hint of nsrun-run(1), STATUS LINES. */
  readonly stage?: string;
  readonly errno?: number;
  readonly path?: string;
  readonly hint?: string;
}

export interface DiffOptions {
  readonly patch?: boolean;
  readonly ignored?: boolean;
  readonly digest?: boolean;
  readonly maxBuffer?: number;
}

export interface Diff {
  overlays: { path: string; source: string; git: number; ignored: number; changes: { kind: string; path: string }[] }[];
  digest?: string;
}

/** One sandbox for many commands (nsrun-session(1)). */
export interface Session {
  readonly id: string;
  run(argv: readonly string[], options?: RunOptions): Promise<RunResult>;
  bash(command: string, options?: BashOptions): Promise<BashResult>;
  stream(command: string, options?: BashOptions): AsyncGenerator<BashEvent, void, void>;
  diff(paths?: readonly string[], options?: DiffOptions & { patch?: false }): Promise<Diff>;
  diff(paths: readonly string[], options: DiffOptions & { patch: true }): Promise<string>;
  /** What it tells, its notes of what stays behind among it. */
  commit(paths?: readonly string[], options?: { expect?: string; force?: true; ignored?: true }): Promise<string>;
  discard(paths?: readonly string[]): Promise<string>;
  show(): Promise<{ id: string; root: string; running: number; [key: string]: unknown }>;
  ps(): Promise<{ processes: { pid: number; name: string; command_line: string }[] }>;
  logs(): Promise<{ logs: { name: string; running: boolean; status: number | null }[] }>;
  logs(name: string): Promise<string>;
  end(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Probe {
  /** Whether a run without an option works here. */
  works: boolean;
  weaker: boolean;
  /** With which options it would. */
  options: string[];
  checks: { check: string; state: 'ok' | 'degraded' | 'no'; text: string; fix: string | null }[];
  /** The program's path, and nsrun --version --json. */
  program: string;
  build: { [key: string]: unknown };
}

export function run(argv: readonly string[], options?: RunOptions): Promise<RunResult>;
export function bash(command: string, options?: BashOptions): Promise<BashResult>;
/** bash's events as they come.  Who leaves the loop ends the command. */
export function stream(command: string, options?: BashOptions): AsyncGenerator<BashEvent, void, void>;
/** Ends with this process, unless `owner` (a process id, or null) says otherwise. */
export function session(options?: Options): Promise<Session>;
/** The plan as JSON, nsrun-run(1). */
export function plan(options?: Options, argv?: readonly string[]): Promise<{ version: number; [key: string]: any }>;
/** What nsrun doctor tells, of a run with these options. */
export function probe(options?: Options): Promise<Probe>;
/** The program that is started: NSRUN_PROGRAM, else the package's, else the PATH's. */
export function program(): string;
