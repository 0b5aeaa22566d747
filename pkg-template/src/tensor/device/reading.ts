/** Reads of tensors: what is stored is read where it lies, what is not is computed first. */

import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { checkSignal } from '../../module/cancellation.js';
import type { DataOf, DType } from '../dtype.js';
import type { Memory } from '../engine/engine.js';
import { Abortion, type Pending } from '../engine/pending.js';
import type { ReadOptions } from '../evaluator.js';
import { decode } from '../memory/numbers.js';
import { LoopResult, nodesOfLoop } from '../recipe/loop.js';
import type { Node } from '../recipe/node.js';
import { Cell } from './cell.js';
import { checksOf } from './checks.js';
import type { DeviceCore } from './core.js';
import { evaluationsOf, nodeBytes } from './evaluation.js';

const READ_OPTIONS: OptionNames<ReadOptions> = { signal: true };

/** Does work that a signal aborts, which then rejects with 'aborted'. Throws 'invalid-argument' for other options. */
export async function withSignal<T>(what: string, options: ReadOptions, work: (caller: Pending) => Promise<T>): Promise<T> {
  checkOptions(`${what}: options`, options, READ_OPTIONS);
  checkSignal(`${what}: signal`, options.signal);
  const abortion = new Abortion(what, options.signal);
  try {
    abortion.check();
    return await abortion.wait(work(abortion));
  } finally {
    abortion.end();
  }
}

/**
 * Reads nodes on a device in one round trip. Stored ones are read with what they hold at the call, or when what is computed is.
 *
 * @param caller the waits of the call, where it can be aborted
 */
export async function readNodes(core: DeviceCore, what: string, nodes: readonly Node[], caller?: Pending): Promise<DataOf[DType][]> {
  core.check();
  const checks = checksOf(core);
  const computed = nodes.filter(({ source }) => !(source instanceof Cell));
  for (const { source } of nodes) if (source instanceof Cell) source.check(what);
  const read = async (results: readonly Memory[]) => {
    caller?.check();
    let next = 0;
    const parts = nodes.map((node) => {
      const memory = node.source instanceof Cell ? node.source.memory : (results[next++] as Memory);
      return { memory, bytes: nodeBytes(node) };
    });
    const bytes = await core.engine.read(checks === null ? parts : [...parts, checks.part]);
    await core.checkAllocated(parts.map(({ memory }) => memory));
    checks?.report(bytes.pop() as Uint8Array<ArrayBuffer>);
    return bytes;
  };
  const bytes =
    computed.length === 0
      ? await core.afterEarlier(() => read([]))
      : await evaluationsOf(core).run(what, computed, [], read, caller);
  return nodes.map(({ dtype }, k) => decode(dtype, bytes[k] as Uint8Array<ArrayBuffer>));
}

/** The device of the first stored tensor that recipes use; null where there is none. */
export function deviceOf(nodes: readonly Node[]): DeviceCore | null {
  const seen = new Set<Node>();
  const open = [...nodes];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    if (node.source instanceof Cell) return node.source.core;
    open.push(...node.operands);
    if (node.source instanceof LoopResult) open.push(...nodesOfLoop(node.source.loop));
  }
  return null;
}
