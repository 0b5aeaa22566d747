/** Memory for the points of calls: the module's own, or an array that is used again. To fill existing memory is faster than to allocate it. */

import { copyNumbersInto, type Numbers } from '../arguments/numeric-arguments.js';
import type { Instance } from '../module/loading.js';
import type { RawFunctions, RawPoint } from '../module/raw.js';

/** The memory for points of compiled functions. */
export class PointMemory {
  private spare: Float32Array | Float64Array | null = null;
  /** Whether a running call uses the module's own memory. */
  private isPlaceUsed = false;

  constructor(
    private readonly instance: Instance,
    private readonly handle: RawFunctions,
  ) {}

  /** Forgets memory for another number of parameters. */
  clear(): void {
    this.spare = null;
  }

  /** Runs a call at a point, which it gets in single precision, or in the module's own memory with `onCpu`. */
  async with<T>(argument: string, x: Numbers, count: number, precision: string, onCpu: boolean, work: (point: RawPoint) => Promise<T>): Promise<T> {
    const meaning = 'one for each parameter';
    const place = onCpu && !this.isPlaceUsed ? this.instance.call(() => this.handle.pointPlace?.()) : undefined;
    if (place !== undefined) {
      // A getter of `x` may make another call, which then uses memory of its own.
      this.isPlaceUsed = true;
      try {
        copyNumbersInto(argument, x, place, meaning, () => this.instance.call(() => this.handle.isPointFinite?.() === true));
        return await work(null);
      } finally {
        this.isPlaceUsed = false;
      }
    }
    const ArrayType = onCpu || precision === 'f32x2' ? Float64Array : Float32Array;
    const returned = this.handle.memory?.();
    if (returned?.byteLength === count * ArrayType.BYTES_PER_ELEMENT) this.spare = new ArrayType(returned);
    const into = this.spare instanceof ArrayType ? this.spare : new ArrayType(count);
    this.spare = null;
    const point = copyNumbersInto(argument, x, into, meaning);
    try {
      return await work(point);
    } finally {
      // The buffer of a point that was sent to a worker is detached.
      if (point.length > 0) this.spare = point;
    }
  }
}
