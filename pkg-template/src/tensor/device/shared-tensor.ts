/** Numbers of a solver as tensors. */

import { isOn } from '../../module/buffer-owners.js';
import type { DType } from '../dtype.js';
import { elementBytes } from '../memory/numbers.js';
import type { Cell } from './cell.js';
import type { Device } from './device.js';
import { readNodes } from './reading.js';
import type { SolverNumbers } from './solver-numbers.js';
import { StoredTensor } from './stored-tensor.js';

/**
 * Numbers of a solver in memory of the device: refresh() takes the solver's present ones, publish() gives ours to it. On one GPUDevice these
 * are copies on the device, except that parameters are published through the host, which has numbers of its own; else both go through the
 * host.
 */
export class SharedTensor<D extends DType = any> extends StoredTensor<D> {
  /** @internal Made by devices. */
  constructor(
    device: Device,
    cell: Cell,
    private readonly numbers: SolverNumbers,
  ) {
    super(device, cell);
  }

  /** Takes the solver's present numbers. During a solve these are those of the last accepted point. */
  async refresh(): Promise<void> {
    const { cell } = this;
    cell.check('refresh');
    const place = this.placeOnDevice();
    if (place === null) {
      this.set(await this.numbers.read());
      return;
    }
    const { buffer, byteOffset } = place;
    await this.copy((encoder, bytes) => encoder.copyBufferToBuffer(buffer, byteOffset, cell.memory.buffer as GPUBuffer, cell.memory.offset, bytes));
  }

  /** Gives these numbers to the solver, from its next call on. */
  async publish(): Promise<void> {
    const { cell } = this;
    cell.check('publish');
    const place = this.numbers.isWritable ? this.placeOnDevice() : null;
    if (place === null) {
      const [numbers] = await readNodes(cell.core, 'publish', [this.node]);
      this.numbers.write(Float64Array.from(numbers as Float32Array));
      return;
    }
    const { buffer, byteOffset } = place;
    await this.copy((encoder, bytes) => encoder.copyBufferToBuffer(cell.memory.buffer as GPUBuffer, cell.memory.offset, buffer, byteOffset, bytes));
  }

  /** The solver's memory if it is on our GPUDevice. */
  private placeOnDevice(): { readonly buffer: GPUBuffer; readonly byteOffset: number } | null {
    const { gpu } = this.cell.core;
    const place = this.numbers.buffer();
    return gpu !== null && place !== null && isOn(place.buffer, gpu) ? place : null;
  }

  private copy(record: (encoder: GPUCommandEncoder, bytes: number) => void): Promise<void> {
    const { core } = this.cell;
    return core.afterEarlier(() => {
      const gpu = core.gpu as GPUDevice;
      const encoder = gpu.createCommandEncoder();
      record(encoder, elementBytes(this.dtype, this.shape));
      gpu.queue.submit([encoder.finish()]);
    });
  }
}
