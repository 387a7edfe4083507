// SPDX-License-Identifier: LGPL-2.1-or-later
import type { Options } from './index.js';

/** A path, or a pattern where denyRead takes one; marked, never a pattern. */
export type FilesystemPathEntry = string | { path: string; literal: true };

export interface NetworkConfig {
  allowedDomains: string[];
  deniedDomains: string[];
  deniedDomainReasons?: Record<string, string>;
  strictAllowlist?: boolean;
  deniedResolvedAddresses?: string[];
  allowUnixSockets?: string[];
  allowAllUnixSockets?: boolean;
  allowLocalBinding?: boolean;
  allowMachLookup?: string[];
}

export interface FilesystemConfig {
  denyRead: FilesystemPathEntry[];
  allowRead?: FilesystemPathEntry[];
  allowWrite: FilesystemPathEntry[];
  denyWrite: FilesystemPathEntry[];
  allowGitConfig?: boolean;
}

export type IgnoreViolationsConfig = Record<string, string[]>;

export interface SandboxRuntimeConfig {
  network: NetworkConfig;
  filesystem: FilesystemConfig;
  credentials?: { files?: { path: string; mode: 'deny' }[]; envVars?: { name: string; mode: 'deny' }[] };
  ignoreViolations?: IgnoreViolationsConfig;
  enableWeakerNestedSandbox?: boolean;
  allowNestedUserNamespaces?: boolean;
  /** nsrun's own: options of `nsrun run` that are added, as `{ limit: { memory: '2G' } }`. */
  nsrun?: Options;
  /** Others are taken where they are without effect on Linux, else refused by name. */
  [key: string]: unknown;
}

export interface SandboxViolationEvent {
  line: string;
  command?: string;
  commandId?: string;
  timestamp: Date;
}

/** What a caller calls a command, and what is told in its place. */
export interface CommandNames {
  commandId?: string;
  commandText?: string;
}

export type SandboxAskCallback = (asked: { host: string; port: number | undefined }) => Promise<boolean | { allow: false; reason: string }>;
export type FsReadRestrictionConfig = { denyOnly: string[]; literalDenyOnly?: string[]; allowWithinDeny?: string[] };
export type FsWriteRestrictionConfig = { allowOnly: string[]; literalAllowOnly?: string[]; denyWithinAllow: string[] };
export type NetworkRestrictionConfig = { allowedHosts?: string[]; deniedHosts?: string[] };
export type SandboxDependencyCheck = { errors: string[]; warnings: string[] };

export class SandboxViolationStore {
  addViolation(violation: SandboxViolationEvent): void;
  getViolations(limit?: number): SandboxViolationEvent[];
  getCount(): number;
  getTotalCount(): number;
  getViolationsForCommand(command: string): SandboxViolationEvent[];
  clear(): void;
  subscribe(listener: (violations: SandboxViolationEvent[]) => void): () => void;
}

export const SandboxManager: {
  /** A callback is refused, unless strictAllowlist says that it is never asked. */
  initialize(config: SandboxRuntimeConfig, sandboxAskCallback?: SandboxAskCallback): Promise<void>;
  updateConfig(config: SandboxRuntimeConfig): void;
  reset(): Promise<void>;
  /** A line for a shell; fails with the program's sentence where nsrun can't do what is configured. */
  wrapWithSandbox(
    command: string,
    binShell?: string,
    customConfig?: Partial<SandboxRuntimeConfig>,
    abortSignal?: AbortSignal,
    names?: CommandNames,
  ): Promise<string>;
  wrapWithSandboxArgv(
    command: string,
    binShell?: string,
    customConfig?: Partial<SandboxRuntimeConfig>,
    abortSignal?: AbortSignal,
    cwd?: string,
    names?: CommandNames,
  ): Promise<{ argv: string[]; env: { [name: string]: string | undefined } }>;
  isSupportedPlatform(): boolean;
  isSandboxingEnabled(): boolean;
  checkDependencies(): SandboxDependencyCheck;
  checkDependenciesAsync(): Promise<SandboxDependencyCheck>;
  getConfig(): SandboxRuntimeConfig | undefined;
  getFsReadConfig(): FsReadRestrictionConfig;
  getFsWriteConfig(): FsWriteRestrictionConfig;
  getNetworkRestrictionConfig(): NetworkRestrictionConfig;
  getAllowUnixSockets(): string[] | undefined;
  getAllowLocalBinding(): boolean | undefined;
  getAllowMachLookup(): string[] | undefined;
  getIgnoreViolations(): IgnoreViolationsConfig | undefined;
  getEnableWeakerNestedSandbox(): boolean | undefined;
  getLinuxGlobPatternWarnings(): string[];
  getProxyPort(): undefined;
  getProxyAuthToken(): undefined;
  getSocksProxyPort(): undefined;
  getLinuxHttpSocketPath(): undefined;
  getLinuxSocksSocketPath(): undefined;
  getMitmCA(): undefined;
  waitForNetworkInitialization(): Promise<boolean>;
  cleanupAfterCommand(): void;
  getSandboxViolationStore(): SandboxViolationStore;
  annotateStderrWithSandboxFailures(command: string, stderr: string): string;
};

export const SandboxRuntimeConfigSchema: {
  parse(config: unknown): SandboxRuntimeConfig;
  safeParse(config: unknown): { success: true; data: SandboxRuntimeConfig } | { success: false; error: Error };
};

export function getDefaultWritePaths(): string[];
export function writeRootsOf(config: FsWriteRestrictionConfig): string[];
export function realPathOf(path: string): string;
/** The settings file (~/.srt-settings.json unless named); undefined where there is none. */
export function loadSettings(file?: string): SandboxRuntimeConfig | undefined;
