/** Reads numbers that a recording needs: those of values that depend on constants alone are computed once, and it is recorded again. */

import type { Device } from '../device/device.js';
import { elementCount } from '../memory/numbers.js';
import { knownSizes } from '../size.js';
import { UnknownNumbers } from './call.js';
import { MOST_ELEMENTS_IN_MEMORY } from './reading.js';
import type { ConstantMemory, Host } from './values.js';

/** Values that are read for one recording, at most. */
const MOST_READS = 64;

/** Calls a recording until all numbers that it needs are known. Rejects with what it throws otherwise. */
export async function withReadNumbers<T>(device: Device, memory: ConstantMemory, record: (known: ReadonlyMap<string, Host>) => T | Promise<T>, isConstant: (origin: string) => boolean): Promise<T> {
  const known = new Map<string, Host>();
  for (;;) {
    try {
      return await record(known);
    } catch (error) {
      if (!(error instanceof UnknownNumbers) || error.value === null || known.size >= MOST_READS) throw error;
      const { value } = error;
      const isOpen = value.shape.some((size) => typeof size !== 'number') || ![...value.origins].every(isConstant);
      if (value.place === null || known.has(value.place) || isOpen) throw error;
      const sizes = knownSizes('a constant', value.shape);
      if (elementCount(sizes) > MOST_ELEMENTS_IN_MEMORY) throw error;
      const [data] = await device.read(value.tensor(memory));
      known.set(value.place, { sizes, data: Array.from(data as ArrayLike<number>) });
    }
  }
}
