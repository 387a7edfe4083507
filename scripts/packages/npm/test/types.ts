// SPDX-License-Identifier: LGPL-2.1-or-later
// What tsc must take; a line after @ts-expect-error it must refuse.
import { bash, NsrunError, plan, probe, run, session, stream } from '@nsrun/nsrun';
import { loadSettings, SandboxManager, type SandboxRuntimeConfig } from '@nsrun/nsrun/sandbox-runtime';

export async function wraps(config: SandboxRuntimeConfig): Promise<string> {
  await SandboxManager.initialize(loadSettings() ?? config);
  // @ts-expect-error a command is one string
  await SandboxManager.wrapWithSandbox(['make']);
  return SandboxManager.wrapWithSandbox('make', 'bash', { network: { allowedDomains: ['a.org'], deniedDomains: [] } });
}

export async function uses(signal: AbortSignal): Promise<string> {
  const { status, stdout } = await run(['make'], { net: 'allow', allow: ['@npm'], signal, input: 'x', limit: { pids: 9 } });
  const told = await bash('true', { idleTimeout: 3, onOutput: (text) => void text.length, onAsk: async ({ host }) => host === 'a' });
  for await (const event of stream('true')) if (event.event === 'output') event.text.trim();
  const layer = await session({ overlay: '.', owner: null });
  const patch: string = await layer.diff([], { patch: true });
  const { overlays } = await layer.diff();
  const { works } = await probe();
  // @ts-expect-error a command is words, and no line for a shell
  await run('make');
  // @ts-expect-error there is no such network
  await bash('true', { net: 'some' });
  // @ts-expect-error a stream has no text but an output's and a reason's
  for await (const event of stream('true')) event.text;
  const error = new NsrunError('no');
  return `${status} ${stdout} ${told.output} ${patch} ${overlays.length} ${works} ${error.id} ${(await plan()).version}`;
}
