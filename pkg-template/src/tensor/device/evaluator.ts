/**
 * Lets tensors read themselves: on the device of the stored tensors below them, else on the default one. Importing this provides it, so the
 * package's entry point takes Device from here.
 */

import type { DataOf, DType } from '../dtype.js';
import { setEvaluator, type ReadOptions } from '../evaluator.js';
import type { Node } from '../recipe/node.js';
import { knownSizes } from '../size.js';
import { Device } from './device.js';
import { deviceOf, readNodes, withSignal } from './reading.js';

let devices: typeof Device | null = null;

/** The device that is used where none is given. */
export function defaultDevice(): Promise<Device> {
  return (devices ?? Device).default();
}

/** Whether that device computes in a worker. */
export function isDefaultElsewhere(): boolean {
  return devices !== null;
}

/** Makes the default device of a class the one that is used where none is given. */
export function readOn(given: typeof Device): void {
  devices = given;
}

setEvaluator({
  read(what: string, node: Node, options: ReadOptions): Promise<DataOf[DType]> {
    return withSignal(what, options, async (caller) => {
      const core = deviceOf([node]) ?? Device.coreOf(await defaultDevice());
      const [data] = await readNodes(core, what, [node], caller);
      return data as DataOf[DType];
    });
  },
  sizes: ({ shape }: Node): readonly number[] => knownSizes('toArray', shape),
});

export { Device };
