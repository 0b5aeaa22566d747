/** Reads of tensors: what is stored is read where it lies, what is not is computed first. */

import type { DataOf, DType } from '../dtype.js';
import type { Memory } from '../engine/engine.js';
import { decode } from '../memory/numbers.js';
import type { Node } from '../recipe/node.js';
import { Cell } from './cell.js';
import { checksOf } from './checks.js';
import type { DeviceCore } from './core.js';
import { evaluationsOf, nodeBytes } from './evaluation.js';

/** Reads nodes on a device in one round trip. Stored ones are read with what they hold at the call, or when what is computed is. */
export async function readNodes(core: DeviceCore, what: string, nodes: readonly Node[]): Promise<DataOf[DType][]> {
  core.check();
  const checks = checksOf(core);
  const computed = nodes.filter(({ source }) => !(source instanceof Cell));
  for (const { source } of nodes) if (source instanceof Cell) source.check(what);
  const read = async (results: readonly Memory[]) => {
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
      : await evaluationsOf(core).run(what, computed, [], read);
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
  }
  return null;
}
