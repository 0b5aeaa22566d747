/** Quantised weights with memory of their own. */

import { makeDisposable } from '../../compile/dispose.js';
import type { Memory } from '../engine/engine.js';
import { inputNode } from '../recipe/node.js';
import { Planes, type QuantizedType } from '../recipe/quantised.js';
import { Quantized } from '../quantized.js';
import type { Cell } from './cell.js';
import type { DeviceCore } from './core.js';
import type { Device } from './device.js';

/**
 * A matrix of weights in blocks of 32 numbers along a row, each with a scale in half precision, as GGML has them: q8_0 takes 8.5 bits a number,
 * q4_0 4.5. `linear` and `embedding` take it and read the quantised numbers themselves. It is freed by dispose(); the garbage collector frees
 * what was forgotten, and `stats().leaked` counts that.
 */
export class QuantizedTensor extends Quantized {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** The device that it is on. */
  readonly device: Device;
  private readonly cells: readonly [words: Cell, scales: Cell];

  /** @internal Made by devices. */
  constructor(device: Device, type: QuantizedType, shape: readonly [rows: number, columns: number], cells: readonly [words: Cell, scales: Cell]) {
    const [words, scales] = cells;
    super(shape, new Planes(type, inputNode('u32', words.sizes, words), inputNode('f16', scales.sizes, scales)));
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
