/** The table of a grid: its numbers, or the coefficients of a spline through them, with its border around them. */

import type { Axis, GridBorder } from './grid-interpolation.js';

/** The place of the number that stands at a place outside a grid; −1 where the border's number stands. */
export function source(place: number, size: number, border: GridBorder): number {
  if (place >= 0 && place < size) return place;
  if (typeof border === 'number') return -1;
  if (border === 'clamp' || size === 1) return place < 0 ? 0 : size - 1;
  const period = border === 'repeat' ? size : 2 * (size - 1);
  const within = ((place % period) + period) % period;
  return within < size ? within : period - within;
}

/** Returns the table of numbers in the order of a grid: channels side by side, along the first axis, then along the second. */
export function makeTable(values: Float64Array, axes: readonly Axis[], channels: number, border: GridBorder, prefilter: boolean): Float64Array {
  // A spline that is kept at its outermost numbers goes on as its mirror image.
  const around = prefilter && border === 'clamp' ? 'mirror' : border;
  let table = prefilter ? coefficients(values, axes, channels, around) : values;
  let inner = channels;
  for (const { size, padded, before } of axes) {
    const outer = table.length / (inner * size);
    const next = new Float64Array(inner * padded * outer);
    for (let k = 0; k < padded; k++) {
      const from = source(k - before, size, around);
      for (let j = 0; j < outer; j++) {
        const to = (j * padded + k) * inner;
        if (from < 0) next.fill(around as number, to, to + inner);
        else next.set(table.subarray((j * size + from) * inner, (j * size + from + 1) * inner), to);
      }
    }
    table = next;
    inner *= padded;
  }
  return table;
}

/** Returns the coefficients c of the cubic B-spline through numbers f: (c[k − 1] + 4 c[k] + c[k + 1]) / 6 = f[k] along each axis. */
function coefficients(values: Float64Array, axes: readonly Axis[], channels: number, border: GridBorder): Float64Array {
  const table = values.slice();
  const outside = typeof border === 'number' ? border : 0;
  let inner = channels;
  for (const { size } of axes) {
    const line = new Float64Array(size);
    for (let start = 0; start < table.length; start += inner * size) {
      for (let offset = start; offset < start + inner; offset++) {
        for (let k = 0; k < size; k++) line[k] = (table[offset + k * inner] as number) - outside;
        solveLine(line, border);
        for (let k = 0; k < size; k++) table[offset + k * inner] = (line[k] as number) + outside;
      }
    }
    inner *= size;
  }
  return table;
}

/** Replaces the numbers along a line by the coefficients. Those outside are 0, or those that the border says. */
function solveLine(line: Float64Array, border: GridBorder): void {
  const size = line.length;
  if (size === 1) {
    // All coefficients are the same, or the others are 0.
    if (typeof border === 'number') line[0] = ((line[0] as number) * 6) / 4;
    return;
  }
  if (border !== 'repeat') {
    // The neighbour outside is the one inside, so that it counts twice.
    const end = typeof border === 'number' ? 1 : 2;
    solveTridiagonal(line, end, end);
    return;
  }
  if (size === 2) {
    // Both neighbours are the other number.
    const [a, b] = line as unknown as [number, number];
    [line[0], line[1]] = [2 * a - b, 2 * b - a];
    return;
  }
  solvePeriodic(line);
}

/** Solves the system of 1, 4, 1, each divided by 6, in which the first row has `upper` beside its 4 and the last `lower`. */
function solveTridiagonal(line: Float64Array, upper: number, lower: number, first = 4, last = 4): void {
  const size = line.length;
  const above = new Float64Array(size);
  let pivot = first;
  line[0] = (6 * (line[0] as number)) / pivot;
  for (let k = 1; k < size; k++) {
    above[k] = (k === 1 ? upper : 1) / pivot;
    const below = k === size - 1 ? lower : 1;
    pivot = (k === size - 1 ? last : 4) - below * (above[k] as number);
    line[k] = (6 * (line[k] as number) - below * (line[k - 1] as number)) / pivot;
  }
  for (let k = size - 2; k >= 0; k--) line[k]! -= (above[k + 1] as number) * (line[k + 1] as number);
}

/** Solves the system in which the first and the last number are neighbours too, by the formula of Sherman and Morrison. */
function solvePeriodic(line: Float64Array): void {
  const size = line.length;
  // Corners 1 = u vᵀ with u = (g, 0, …, 1) and v = (1, 0, …, 1/g).
  const g = -4;
  const correction = new Float64Array(size);
  [correction[0], correction[size - 1]] = [g / 6, 1 / 6];
  for (const right of [line, correction]) solveTridiagonal(right, 1, 1, 4 - g, 4 - 1 / g);
  const along = (x: Float64Array) => (x[0] as number) + (x[size - 1] as number) / g;
  const factor = along(line) / (1 + along(correction));
  for (let k = 0; k < size; k++) line[k]! -= factor * (correction[k] as number);
}
