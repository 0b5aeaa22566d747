/** Quantised weights as operations take them. */

import { makeInspectable } from '../arguments/inspection.js';
import type { Planes, QuantizedShape, QuantizedType } from './recipe/quantised.js';
import { Tensor } from './tensor.js';

/** Quantised weights, in whatever memory: see QuantizedTensor. */
export abstract class Quantized {
  /** A format of GGML. */
  readonly type: QuantizedType;
  /** Rows, and columns, a multiple of 32, or of 256 with types that end in K and with iq4_xs; before them the number of matrices, if there are several. */
  readonly shape: readonly [rows: number, columns: number] | readonly [matrices: number, rows: number, columns: number];
  /** @internal Words and side. */
  readonly planes: Planes;

  /** @internal */
  protected constructor(shape: QuantizedShape, planes: Planes) {
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
