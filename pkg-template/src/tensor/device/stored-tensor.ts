/** Tensors with memory of their own. */

import { describe, invalidArgument, invalidGraph, ResiduaError } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { makeDisposable } from '../../compile/dispose.js';
import { DTYPE_BYTES, numbersPerElement, type DType } from '../dtype.js';
import type { ReadOptions } from '../evaluator.js';
import { elementBytes, elementCount, encode, numbersOf, wholeWords, type Numeric } from '../memory/numbers.js';
import { expandTo } from '../recipe/broadcast.js';
import { constantNode, inputNode, type Node } from '../recipe/node.js';
import { sameShape, shapeText, type Size } from '../size.js';
import { Tensor } from '../tensor.js';
import { Body } from './body.js';
import type { Cell } from './cell.js';
import type { DeviceCore } from './core.js';
import type { Device } from './device.js';
import type { Memory } from '../engine/engine.js';
import { drawOn } from './drawing.js';
import { evaluationsOf } from './evaluation.js';
import { withSignal } from './reading.js';

/** Where the numbers of a tensor lie on the GPU. */
export interface TensorMemory {
  /** The buffer: packed in C order, in its element type, little-endian. */
  readonly buffer: GPUBuffer;
  /** Where they begin in it, in bytes. */
  readonly byteOffset: number;
  /** Their bytes, without padding. */
  readonly byteLength: number;
}

/**
 * A tensor with memory of its own, on a device. It is freed by dispose(); the garbage collector frees what was forgotten, and
 * `stats().leaked` counts that. Outputs of a program are freed with the program.
 */
export class StoredTensor<D extends DType = any> extends Tensor<D> {
  /** Sizes of its axes, the outermost first. */
  declare readonly shape: readonly number[];
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** The device that it is on. */
  readonly device: Device;
  /** @internal Its memory. */
  readonly cell: Cell;
  private isShared = false;

  /** @internal Made by devices and programs. */
  constructor(device: Device, cell: Cell) {
    super(inputNode(cell.dtype, cell.sizes, cell));
    this.device = device;
    this.cell = cell;
    cell.handle ??= this;
    if (cell.owner === 'program') return;
    cell.core.accounts.tensors += 1;
    if (cell.owner === 'tensor') forgotten.register(this, { core: cell.core, memory: cell.memory }, this);
  }

  /** Whether it was disposed of, or its program or device. */
  get isDisposed(): boolean {
    return this.cell.isDisposed;
  }

  /**
   * Writes numbers of the caller's memory from element `offset` on, 0 unless told; two for each element of c64. They are copied at the call. Throws 'invalid-argument' for
   * more numbers than there is room for, and for a number that the type does not have.
   */
  set(data: Numeric, offset?: number): void;
  /**
   * Computes a tensor of the same type and a shape that broadcasts to this one, and writes it here. It may be computed from what is here.
   * Resolves when that is submitted. Rejects with 'invalid-argument', 'out-of-memory', 'limit-exceeded', and with 'aborted' when `signal` fires: this then has
   * what it had, or a part of the new numbers.
   */
  set(value: Tensor<D>, options?: ReadOptions): Promise<void>;
  set(data: Numeric | Tensor<D>, more?: number | ReadOptions): void | Promise<void> {
    if (data instanceof Tensor) {
      if (typeof more === 'number') throw invalidArgument('set: offset', describe(more), 'none with a Tensor: setSlice() puts one at a place');
      return this.compute(data, more ?? {});
    }
    return this.write(data, more as number | undefined);
  }

  /**
   * In the body of a compile: at each run it holds `value` from here on. Recipes that were made before see what was there. A number is written
   * to all elements; a tensor has the same type and a shape that broadcasts to this one. Throws 'invalid-graph' outside of a body.
   */
  assign(value: Tensor<D> | number): void {
    this.checkWritable('assign');
    Body.assign(this as { node: Node; readonly cell: Cell }, this.valueNode('assign', value));
  }

  /** As assign(), for the part that begins at `starts` and has the shape of `value`. */
  assignAt(starts: readonly Size[], value: Tensor<D>): void {
    this.assign(this.setSlice(starts, value));
  }

  /**
   * Where its numbers lie on the GPU, for shaders and vertices of the application; null on the CPU and in a worker. They stay there until dispose(). Once
   * this was read, the garbage collector leaves the tensor alone.
   */
  get memory(): TensorMemory | null {
    this.cell.check('memory');
    const { buffer, offset } = this.cell.memory;
    if (buffer === null) return null;
    this.isShared = true;
    forgotten.unregister(this);
    return { buffer, byteOffset: offset, byteLength: elementBytes(this.dtype, this.shape) };
  }

  /**
   * Copies its numbers on the device to a buffer of the application with usage COPY_DST, from byte `byteOffset` on, a multiple of 4. Up to 3
   * bytes of padding follow numbers that do not fill whole words. Throws 'gpu-unavailable' on the CPU and in a worker.
   */
  copyTo(buffer: GPUBuffer, byteOffset = 0): void {
    const { cell } = this;
    cell.check('copyTo');
    const { gpu } = cell.core;
    if (gpu === null) throw new ResiduaError('gpu-unavailable', `copyTo: the tensor is ${cell.core.placeText}; takes one on a GPU of this thread, others are read with data()`);
    checkWholeNumber('copyTo: byteOffset', byteOffset, 0);
    const bytes = Math.ceil(elementBytes(this.dtype, this.shape) / 4) * 4;
    if (byteOffset % 4 !== 0) throw invalidArgument('copyTo: byteOffset', String(byteOffset), 'a multiple of 4');
    if (byteOffset + bytes > buffer.size) throw invalidArgument('copyTo: buffer', `${buffer.size} bytes`, `at least ${byteOffset + bytes}`);
    cell.core.queue.push(() => {
      const encoder = gpu.createCommandEncoder();
      encoder.copyBufferToBuffer(cell.memory.buffer as GPUBuffer, cell.memory.offset, buffer, byteOffset, bytes);
      gpu.queue.submit([encoder.finish()]);
    });
  }

  /**
   * Draws it on a canvas: [height, width, 3 or 4], of bytes or of numbers from 0 to 1, red, green, blue and an opacity that does not count. The canvas
   * gets the size of the picture, and a context: 'webgpu' of the device, on the CPU '2d'. What it holds after the calls so far is drawn, before the page
   * presents its next frame where nothing is to be compiled. A failure afterwards is reported to the page's 'error' event. Throws 'invalid-argument' for
   * another shape or type, and for a canvas with a context of another kind; 'limit-exceeded', with the sides and the device's limit; 'disposed'.
   */
  draw(canvas: HTMLCanvasElement | OffscreenCanvas): void {
    const { cell, node } = this;
    cell.check('draw');
    drawOn(cell, node, canvas);
  }

  /**
   * Frees its memory after the work that was asked for so far. Recipes over it then throw 'disposed' when they are evaluated. A second call
   * does nothing, and neither does one for an output of a program or a buffer of the application.
   */
  dispose(): void {
    const { cell } = this;
    if (cell.owner === 'program' || !cell.end()) return;
    forgotten.unregister(this);
    cell.core.accounts.tensors -= 1;
    if (cell.owner === 'tensor') cell.core.free(cell.memory, !this.isShared);
  }

  private write(given: unknown, offset = 0): void {
    this.checkWritable('set');
    if (Body.isActive) throw invalidGraph('set: got a call in the body of a compile, which would write once and not at each run; takes assign() there');
    const { cell, dtype } = this;
    cell.check('set');
    const data = numbersOf('set: data', given);
    const count = elementCount(this.shape);
    checkWholeNumber('set: offset', offset, 0);
    const elements = data.length / numbersPerElement(dtype);
    if (!Number.isInteger(elements)) throw invalidArgument('set: data', `${data.length} numbers`, 'two numbers for each element of c64');
    if (offset + elements > count) throw invalidArgument('set: data', `${data.length} numbers from element ${offset} on`, `at most ${count} elements, the shape is ${shapeText(this.shape)}`);
    if (data.length === 0) return;
    const encoded = encode('set: data', dtype, data);
    // Beyond the last element is padding.
    const bytes = offset + elements === count && cell.owner !== 'application' ? wholeWords(encoded) : encoded;
    const { queue, engine } = cell.core;
    const now = queue.isIdle ? bytes : bytes.slice();
    queue.push(() => engine.write(cell.memory, offset * DTYPE_BYTES[dtype], now));
  }

  private async compute(value: Tensor<D>, options: ReadOptions): Promise<void> {
    this.checkWritable('set');
    const { cell } = this;
    cell.check('set');
    const node = this.valueNode('set', value);
    const assignment = { input: this.node, value: node };
    await withSignal('set', options, (caller) => evaluationsOf(cell.core).run('set', [], [assignment], () => undefined, caller));
  }

  private checkWritable(what: string): void {
    const { buffer } = this.cell.memory;
    if (this.cell.owner === 'application' && buffer !== null && (buffer.usage & GPUBufferUsage.COPY_DST) === 0) {
      throw invalidArgument(what, 'a borrowed buffer without usage COPY_DST', 'one with it');
    }
  }

  /** The node of a value for all of this tensor. */
  private valueNode(what: string, value: unknown): Node {
    if (typeof value === 'number') return constantNode(value, this.dtype, this.shape);
    if (!(value instanceof Tensor)) throw invalidArgument(`${what}: value`, describe(value), 'a Tensor or a number');
    if (value.dtype !== this.dtype) throw invalidArgument(`${what}: value`, `${value.dtype} ${shapeText(value.shape)}`, `type ${this.dtype}: use cast()`);
    return sameShape(value.shape, this.shape) ? value.node : expandTo(`${what}: value`, value.node, this.shape);
  }
}

makeDisposable(StoredTensor);

/** Frees the memory of tensors that were garbage-collected before they were disposed. */
const forgotten = /* @__PURE__ */ new FinalizationRegistry<{ readonly core: DeviceCore; readonly memory: Memory }>(({ core, memory }) => {
  if (core.isDisposed) return;
  core.accounts.leaked += 1;
  core.accounts.tensors -= 1;
  core.free(memory);
});
