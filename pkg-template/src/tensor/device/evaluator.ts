/**
 * Lets tensors read themselves: on the device of the stored tensors below them, else on the default one. Importing this provides it, so the
 * package's entry point takes Device from here.
 */

import type { DataOf, DType } from '../dtype.js';
import { setEvaluator } from '../evaluator.js';
import type { Node } from '../recipe/node.js';
import { knownSizes } from '../size.js';
import { Device } from './device.js';
import { deviceOf, readNodes } from './reading.js';

setEvaluator({
  async read(nodes: readonly Node[]): Promise<DataOf[DType][]> {
    const core = deviceOf(nodes) ?? Device.coreOf(await Device.default());
    return readNodes(core, 'data', nodes);
  },
  sizes: ({ shape }: Node): readonly number[] => knownSizes('toArray', shape),
});

export { Device };
