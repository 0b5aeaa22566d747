/** Quantised weights with memory of their own. */

import { makeDisposable } from '../../compile/dispose.js';
import type { Memory } from '../engine/engine.js';
import { inputNode } from '../recipe/node.js';
import { Planes, planeTypes, type QuantizedShape, type QuantizedType } from '../recipe/quantised.js';
import { Quantized } from '../quantized.js';
import type { Cell } from './cell.js';
import type { DeviceCore } from './core.js';
import type { Device } from './device.js';

/**
 * A matrix of weights in blocks along a row, as GGML has them, or several matrices, such as experts. `linear` and `embedding` take it and read the
 * blocks themselves. Its memory is that of the file but for a padding of at most 2 %, more with q5_0 where rows have an odd number of blocks: bits a
 * number are 8.5 with q8_0, 4.5 with q4_0, q4_K and iq4_nl, 5 with q4_1, 5.5 with q5_0 and q5_K, 6 with q5_1, 2.625 with q2_K, 3.5 with q3_K, 6.625
 * with q6_K, 4.25 with iq4_xs. It is freed by dispose(); the garbage collector frees what was forgotten, and `stats().leaked` counts that.
 */
export class QuantizedTensor extends Quantized {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** The device that it is on. */
  readonly device: Device;
  /** @internal Its memory. */
  readonly cells: readonly [words: Cell, side: Cell];

  /** @internal Made by devices. */
  constructor(device: Device, type: QuantizedType, shape: QuantizedShape, cells: readonly [words: Cell, side: Cell]) {
    const [words, side] = cells;
    const dtypes = planeTypes(type);
    super(shape, new Planes(type, inputNode(dtypes[0], words.sizes, words), inputNode(dtypes[1], side.sizes, side)));
    this.device = device;
    this.cells = cells;
    const { core } = words;
    for (const cell of cells) cell.handle = this;
    core.accounts.tensors += 1;
    forgotten.register(this, { core, memories: cells.map(({ memory }) => memory) }, this);
  }

  /** Whether it was disposed of, or its device. */
  get isDisposed(): boolean {
    return this.cells[0].isDisposed;
  }

  /**
   * Frees its memory after the work that was asked for so far. Recipes over it then throw 'disposed' when they are evaluated. A second call
   * does nothing.
   */
  dispose(): void {
    const { core } = this.cells[0];
    if (!this.cells.map((cell) => cell.end()).every(Boolean)) return;
    forgotten.unregister(this);
    core.accounts.tensors -= 1;
    for (const { memory } of this.cells) core.free(memory);
  }
}

makeDisposable(QuantizedTensor);

/** Frees the memory of weights that were garbage-collected before they were disposed. */
const forgotten = /* @__PURE__ */ new FinalizationRegistry<{ readonly core: DeviceCore; readonly memories: readonly Memory[] }>(({ core, memories }) => {
  if (core.isDisposed) return;
  core.accounts.leaked += 1;
  core.accounts.tensors -= 1;
  for (const memory of memories) core.free(memory);
});
