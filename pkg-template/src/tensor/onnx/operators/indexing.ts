/** Operators that read and write elements at places. */

import { invalidArgument } from '../../../arguments/errors.js';
import { concat } from '../../functions.js';
import { iota } from '../../sources.js';
import { elementCount } from '../../memory/numbers.js';
import type { Combine } from '../../recipe/indexing.js';
import type { Indices, Tensor } from '../../tensor.js';
import { numberSizes, type Call, type Operator } from '../call.js';
import { typeNamed } from '../element-types.js';

/** Places as integers of 32 bits. */
const places = (x: Tensor): Indices => (x.dtype === 'i32' || x.dtype === 'u32' ? (x as Indices) : x.cast('i32'));

const combineOf = (call: Call): Combine => {
  const found = call.choice('reduction', ['none', 'add', 'mul', 'min', 'max'], 'none');
  return found === 'none' ? 'set' : found;
};

/** Elements of truth values as bytes, and back. */
function asBytes(x: Tensor, compute: (x: Tensor) => Tensor): Tensor {
  return x.dtype === 'bool' ? compute(x.cast('u8')).cast('bool') : compute(x);
}

const scatterElements: Operator = (call) => {
  const [x, source] = [call.tensor(0), call.tensor(2)];
  const options = { axis: call.axis('axis', x.rank, 0), combine: combineOf(call) };
  return asBytes(x, (y) => y.scatter(places(call.tensor(1)), source.cast(y.dtype), options));
};

const gatherNd: Operator = (call) => {
  const [x, indices] = [call.tensor(0), places(call.tensor(1))];
  const batch = call.int('batch_dims', 0);
  if (batch === 0) return x.gatherNd(indices);
  if (!(batch > 0 && batch < x.rank && batch < indices.rank)) throw invalidArgument('attribute batch_dims', String(batch), 'fewer than the axes of both inputs');
  // The coordinates of the batch come first.
  const columns = Array.from({ length: batch }, (_, axis) => iota([...indices.shape.slice(0, -1), 1], axis, indices.dtype));
  return x.gatherNd(concat([...columns, indices as Tensor], -1) as Indices);
};

const compress: Operator = (call) => {
  const x = call.tensor(0);
  const kept = call.numbers(1).flatMap((value, place) => (value === 0 ? [] : [place]));
  const flat = call.hasAttribute('axis') ? x : x.flatten();
  const axis = call.hasAttribute('axis') ? call.axis('axis', x.rank) : 0;
  return flat.indexSelect(call.indices(kept), axis);
};

/** NaN is equal to itself and larger than numbers. */
function byNumbers(a: readonly number[], b: readonly number[]): number {
  for (const [k, x] of a.entries()) {
    const y = b[k] as number;
    if (Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) !== Number.isNaN(y) : x !== y) return Number.isNaN(x) || x > y ? 1 : -1;
  }
  return 0;
}

/** Different slices of an axis, or different elements. How many there are is known where the numbers are. */
const unique: Operator = (call) => {
  const numbers = call.numbers(0);
  const sizes = numberSizes('input 0', call.value(0));
  const hasAxis = call.hasAttribute('axis');
  const shape = hasAxis ? sizes : [numbers.length];
  const axis = hasAxis ? call.axis('axis', shape.length) : 0;
  const extent = shape[axis] as number;
  const inner = elementCount(shape.slice(axis + 1));
  // The numbers of each slice, in C order.
  const slices = Array.from({ length: extent }, (): number[] => []);
  numbers.forEach((number, k) => slices[Math.floor(k / inner) % extent]?.push(number));
  const first = new Map<string, number>();
  const keys = slices.map(String);
  keys.forEach((key, place) => first.has(key) || first.set(key, place));
  const found = [...first.values()];
  if (call.flag('sorted', true)) found.sort((a, b) => byNumbers(slices[a] as number[], slices[b] as number[]));
  const order = new Map(found.map((place, k) => [keys[place] as string, k]));
  const inverse = keys.map((key) => order.get(key) as number);
  const counts = found.map(() => 0);
  for (const k of inverse) (counts[k] as number) += 1;
  const outer = elementCount(shape.slice(0, axis));
  const values = Array.from({ length: outer }, (_, k) => found.map((place) => (slices[place] as number[]).slice(k * inner, (k + 1) * inner))).flat(2);
  const integers = (data: readonly number[]) => call.hostOutput(typeNamed('int64'), [data.length], data);
  return [call.hostOutput(call.value(0).type, shape.map((size, k) => (k === axis ? found.length : size)), values), integers(found), integers(inverse), integers(counts)];
};

export const INDEXING_OPERATORS: Readonly<Record<string, Operator>> = {
  Gather: (call) => {
    const x = call.tensor(0);
    return x.indexSelect(places(call.tensor(1)), call.axis('axis', x.rank, 0));
  },
  GatherElements: (call) => {
    const x = call.tensor(0);
    return x.gather(places(call.tensor(1)), call.axis('axis', x.rank, 0));
  },
  GatherND: gatherNd,
  Scatter: scatterElements, ScatterElements: scatterElements,
  ScatterND: (call) => asBytes(call.tensor(0), (x) => x.scatterNd(places(call.tensor(1)), call.tensor(2).cast(x.dtype), { combine: combineOf(call) })),
  Compress: compress, Unique: unique,
  NonZero: (call) => {
    call.numbers(0);
    throw invalidArgument('input 0', 'numbers that a Dim decides', 'numbers that are known when the graph is recorded');
  },
};
