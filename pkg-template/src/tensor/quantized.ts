/** Quantised weights as operations take them. */

import { makeInspectable } from '../arguments/inspection.js';
import type { Planes, QuantizedType } from './recipe/quantised.js';
import { Tensor } from './tensor.js';

/** Quantised weights, in whatever memory: see QuantizedTensor. */
export abstract class Quantized {
  /** q8_0 takes 8.5 bits a number, q4_0 4.5. */
  readonly type: QuantizedType;
  /** Rows, and columns, a multiple of 32. */
  readonly shape: readonly [rows: number, columns: number];
  /** @internal Words and scales. */
  readonly planes: Planes;

  /** @internal */
  protected constructor(shape: readonly [rows: number, columns: number], planes: Planes) {
    this.type = planes.type;
    this.shape = shape;
    this.planes = planes;
  }

  /** What JSON.stringify writes: form and shape. */
  toJSON(): { type: QuantizedType; shape: readonly number[] } {
    return { type: this.type, shape: this.shape };
  }

  /** The numbers as a recipe, computed where they are used. */
  dequantize(): Tensor<'f32'> {
    return Tensor.make(this.planes.numbers());
  }
}

makeInspectable(Quantized, 'Quantized');
