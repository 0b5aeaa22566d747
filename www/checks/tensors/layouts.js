/**
 * Layouts of a matrix: the same numbers as a tensor whose memory is arranged otherwise, so that kernels read them through views. Each makes a tensor of a shape
 * from numbers of its choice, and gives those numbers as an array.
 */
import { build, countOf } from './arrays.js';

/** @typedef {(device: object, shape: [number, number], dtype: string, numbers: (count: number) => number[]) => { tensor: object, array: object }} Layout */

const stored = (array, value) => build(array, value).values;

/** @type {Record<string, Layout>} */
export const LAYOUTS = {
  contiguous(device, shape, dtype, numbers) {
    const values = numbers(countOf(shape));
    return { tensor: device.tensor(values, shape, dtype), array: { shape, values } };
  },
  transposed(device, [rows, columns], dtype, numbers) {
    const values = numbers(rows * columns);
    const memory = stored([columns, rows], ([j, i]) => values[i * columns + j]);
    return { tensor: device.tensor(memory, [columns, rows], dtype).T, array: { shape: [rows, columns], values } };
  },
  sliced(device, [rows, columns], dtype, numbers) {
    const values = numbers(rows * columns);
    const shape = [rows + 2, 2 * columns + 1];
    const memory = stored(shape, ([i, j]) => (i >= 1 && i <= rows && j % 2 === 1 ? values[(i - 1) * columns + (j - 1) / 2] : 1));
    return { tensor: device.tensor(memory, shape, dtype).slice([1, rows + 1], [1, 2 * columns + 1, 2]), array: { shape: [rows, columns], values } };
  },
  flipped(device, shape, dtype, numbers) {
    const values = numbers(countOf(shape));
    return { tensor: device.tensor(values.toReversed(), shape, dtype).flip(), array: { shape, values } };
  },
  broadcast(device, [rows, columns], dtype, numbers) {
    const row = numbers(columns);
    const array = build([rows, columns], ([, j]) => row[j]);
    return { tensor: device.tensor(row, [1, columns], dtype).broadcastTo([rows, columns]), array };
  },
  windowed(device, [rows, columns], dtype, numbers) {
    // An axis is as long as its windows take; windows of nothing, and none of them, are other shapes' affair.
    if (rows === 0 || columns === 0) return LAYOUTS.contiguous(device, [rows, columns], dtype, numbers);
    const line = numbers(rows + columns - 1);
    const array = build([rows, columns], ([i, j]) => line[i + j]);
    return { tensor: device.tensor(line, [rows + columns - 1], dtype).windows(0, columns), array };
  },
};

export const LAYOUT_NAMES = Object.keys(LAYOUTS);

/** Shapes at which kernels go wrong: nothing, one, odd, and a tile of 32 or 64 and one more or less. */
export const SHAPES = [[0, 5], [5, 0], [1, 1], [7, 13], [31, 33], [65, 64]];
