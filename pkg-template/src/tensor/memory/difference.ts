/** How far two lists of elements are apart. */

import type { DType } from '../dtype.js';
import { decode } from './numbers.js';

/** Largest differences of elements. */
export interface Difference {
  /** Of the numbers; Infinity where one is NaN or infinite and the other is not the same. */
  readonly maxError: number;
  /** In units in the last place of the type; of integers the difference. */
  readonly maxUlps: number;
}

/** The largest differences of elements of a type, from their bytes. */
export function difference(dtype: DType, a: Uint8Array<ArrayBuffer>, b: Uint8Array<ArrayBuffer>): Difference {
  const [left, right] = [decode(dtype, a), decode(dtype, b)];
  const places = dtype === 'f32' || dtype === 'f16' ? [placesOf(dtype, a), placesOf(dtype, b)] : null;
  let [maxError, maxUlps] = [0, 0];
  for (let i = 0; i < left.length; i++) {
    const [x, y] = [left[i] as number, right[i] as number];
    if (x === y || (Number.isNaN(x) && Number.isNaN(y))) continue;
    const error = Math.abs(x - y);
    const isOrdered = !Number.isNaN(error);
    maxError = Math.max(maxError, isOrdered ? error : Infinity);
    const ulps = places === null ? error : Math.abs((places[0] as Int32Array)[i]! - (places[1] as Int32Array)[i]!);
    maxUlps = Math.max(maxUlps, isOrdered ? ulps : Infinity);
  }
  return { maxError, maxUlps };
}

/** The place of each number among all of its type in ascending order, 0 for both zeros. */
function placesOf(dtype: 'f32' | 'f16', { buffer, byteOffset, byteLength }: Uint8Array<ArrayBuffer>): Int32Array {
  if (dtype === 'f16') return Int32Array.from(new Uint16Array(buffer, byteOffset, byteLength / 2), (bits) => (bits < 0x8000 ? bits : 0x8000 - bits));
  return Int32Array.from(new Uint32Array(buffer, byteOffset, byteLength / 4), (bits) => (bits < 0x8000_0000 ? bits : 0x8000_0000 - bits));
}
