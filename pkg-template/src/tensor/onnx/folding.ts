/**
 * Operators on numbers in memory: the arithmetic of shapes that exporters write as nodes, with Dims among the numbers. Each returns null where it
 * does not know all numbers; the operator on tensors is applied then.
 */

import { elementCount } from '../memory/numbers.js';
import { broadcastShapes } from '../recipe/broadcast.js';
import { checkAxes, checkAxis } from '../recipe/operands.js';
import { largest, minus, plus, quotient, sameSize, smallest, times, type Size } from '../size.js';
import type { Call } from './call.js';
import { asElement, typeNamed, type ElementType } from './element-types.js';
import { reshapedSizes, sliceRanges, squeezedAxes } from './shapes.js';
import { MOST_ELEMENTS_IN_MEMORY } from './reading.js';
import { Value, type Host } from './values.js';

type Fold = (call: Call) => Value | null;

const isKnown = (sizes: readonly number[]) => elementCount(sizes) <= MOST_ELEMENTS_IN_MEMORY;

/** Distances of neighbours along each axis in C order. */
function strides(sizes: readonly number[]): number[] {
  const found: number[] = [];
  let step = 1;
  for (let axis = sizes.length - 1; axis >= 0; axis--) {
    found[axis] = step;
    step *= sizes[axis] as number;
  }
  return found;
}

/** Elements of numbers in memory, by where each stands: `placeOf` gives it from coordinates. */
function arranged(host: Host, sizes: readonly number[], placeOf: (at: readonly number[]) => number): readonly Size[] {
  const steps = strides(sizes);
  const at = sizes.map(() => 0);
  return Array.from({ length: elementCount(sizes) }, (_, i) => {
    steps.forEach((step, axis) => (at[axis] = Math.floor(i / step) % (sizes[axis] as number)));
    return host.data[placeOf(at)] as Size;
  });
}

/** Numbers repeated to a shape. */
function expanded(host: Host, sizes: readonly number[]): readonly Size[] {
  if (host.data.length === elementCount(sizes) && host.sizes.length === sizes.length) return host.data;
  const own = strides(host.sizes);
  const lead = sizes.length - host.sizes.length;
  return arranged(host, sizes, (at) => host.sizes.reduce((place, size, axis) => place + (size === 1 ? 0 : (at[axis + lead] as number) * (own[axis] as number)), 0));
}

function broadcastSizes(hosts: readonly Host[]): readonly number[] {
  return broadcastShapes('inputs', hosts.map(({ sizes }) => sizes)) as readonly number[];
}

/** An operator element by element; `apply` gives null for what it does not know. */
function elementwise(apply: (values: readonly Size[], type: ElementType) => Size | null, result: (call: Call) => ElementType = (call) => call.value(0).type): Fold {
  return (call) => {
    const { hosts } = call;
    if (hosts === null || hosts.length === 0) return null;
    const sizes = broadcastSizes(hosts);
    if (!isKnown(sizes)) return null;
    const type = result(call);
    const columns = hosts.map((host) => expanded(host, sizes));
    const data: Size[] = [];
    for (let i = 0; i < elementCount(sizes); i++) {
      const value = apply(columns.map((column) => column[i] as Size), call.value(0).type);
      if (value === null) return null;
      data.push(typeof value === 'number' ? asElement(type, value) : value);
    }
    return call.hostOutput(type, sizes, data);
  };
}

const ofNumbers = (apply: (...values: number[]) => number, result?: (call: Call) => ElementType) =>
  elementwise((values) => (values.every((value) => typeof value === 'number') ? apply(...(values as number[])) : null), result);

const bool = () => typeNamed('bool');

const isWhole = (size: Size) => typeof size !== 'number' || Number.isInteger(size);

/** Products of integers beyond 2⁵³ have their low bits as the type has them. */
function product(a: Size, b: Size, { bits, range }: ElementType): Size | null {
  if (typeof a === 'number' && typeof b === 'number') {
    const nearest = a * b;
    if (range === null || Math.abs(nearest) <= Number.MAX_SAFE_INTEGER || !Number.isInteger(a) || !Number.isInteger(b)) return nearest;
    const exact = BigInt(a) * BigInt(b);
    return Number(range[0] < 0 ? BigInt.asIntN(bits, exact) : BigInt.asUintN(bits, exact));
  }
  return isWhole(a) && isWhole(b) ? times(a, b) : null;
}

function sumOf(a: Size, b: Size, apply: typeof plus): Size | null {
  if (typeof a === 'number' && typeof b === 'number') return apply(a, b);
  return isWhole(a) && isWhole(b) ? apply(a, b) : null;
}

function divided(a: Size, b: Size, { range }: ElementType): Size | null {
  if (typeof a === 'number' && typeof b === 'number') return range === null ? a / b : b === 0 ? 0 : Math.trunc(a / b);
  return isWhole(a) && isWhole(b) ? quotient(a, b) : null;
}

/** A comparison of sizes, by their bounds where they depend on Dims; null where these do not tell. */
function compared(a: Size, b: Size, apply: (difference: number) => boolean): number | null {
  if (typeof a === 'number' && typeof b === 'number') return Number(apply(a === b ? 0 : a - b));
  if (sameSize(a, b)) return Number(apply(0));
  if (!isWhole(a) || !isWhole(b)) return null;
  const low = smallest(minus(a, b));
  const high = largest(minus(a, b));
  if (low > 0 || high < 0) return Number(apply(low > 0 ? 1 : -1));
  const outcomes = new Set([apply(-1), apply(0), apply(1)].filter((_, k) => (k === 0 ? low < 0 : k === 2 ? high > 0 : true)));
  return outcomes.size === 1 ? Number([...outcomes][0]) : null;
}

const comparison = (apply: (difference: number) => boolean) => elementwise(([a, b]) => compared(a as Size, b as Size, apply), bool);

const extreme = (sign: 1 | -1) =>
  elementwise((values) => values.reduce<Size | null>((best, value) => {
    if (best === null) return null;
    if (typeof best === 'number' && typeof value === 'number') return sign > 0 ? Math.max(best, value) : Math.min(best, value);
    const isAbove = compared(value, best, (difference) => difference * sign > 0);
    return isAbove === null ? null : isAbove === 1 ? value : best;
  }, values[0] as Size));

function shaped(call: Call, sizes: readonly Size[]): Value | null {
  const host = call.value(0).host;
  if (host === null || sizes.some((size) => typeof size !== 'number')) return null;
  return call.hostOutput(call.value(0).type, sizes as readonly number[], host.data);
}

function gather(call: Call): Value | null {
  const { hosts } = call;
  if (hosts === null || hosts.length < 2) return null;
  const [from, indices] = hosts as [Host, Host];
  const axis = call.axis('axis', from.sizes.length, 0);
  const extent = from.sizes[axis] as number;
  if (indices.data.some((index) => typeof index !== 'number' || index < -extent || index >= extent)) return null;
  const sizes = [...from.sizes.slice(0, axis), ...indices.sizes, ...from.sizes.slice(axis + 1)];
  if (!isKnown(sizes)) return null;
  const [own, ofIndices] = [strides(from.sizes), strides(indices.sizes)];
  const data = arranged(from, sizes, (at) => {
    const place = indices.sizes.reduce((sum, _, k) => sum + (at[axis + k] as number) * (ofIndices[k] as number), 0);
    const index = indices.data[place] as number;
    const outer = own.reduce((sum, step, k) => sum + (k === axis ? 0 : (at[k < axis ? k : k - 1 + indices.sizes.length] as number) * step), 0);
    return outer + (index < 0 ? index + extent : index) * (own[axis] as number);
  });
  return call.hostOutput(call.value(0).type, sizes, data);
}

function concat(call: Call): Value | null {
  const { hosts } = call;
  const [first] = hosts ?? [];
  if (hosts === null || first === undefined) return null;
  const axis = call.axis('axis', first.sizes.length);
  const extents = hosts.map(({ sizes }) => sizes[axis] ?? 0);
  const fits = hosts.every(({ sizes }) => sizes.length === first.sizes.length && sizes.every((size, k) => k === axis || size === first.sizes[k]));
  const sizes = first.sizes.map((size, k) => (k === axis ? extents.reduce((sum, each) => sum + each, 0) : size));
  if (!fits || !isKnown(sizes)) return null;
  const inner = elementCount(first.sizes.slice(axis + 1));
  const data: Size[] = [];
  for (let outer = 0; outer < elementCount(first.sizes.slice(0, axis)); outer++) {
    hosts.forEach((host, k) => data.push(...host.data.slice(outer * (extents[k] as number) * inner, (outer + 1) * (extents[k] as number) * inner)));
  }
  return call.hostOutput(call.value(0).type, sizes, data);
}

function slice(call: Call): Value | null {
  const host = call.value(0).host;
  if (host === null) return null;
  const ranges = sliceRanges(call, host.sizes);
  // An end of null is that of the axis.
  if (ranges.some((range) => range !== null && range.some((each) => each !== null && typeof each !== 'number'))) return null;
  const places = host.sizes.map((size, axis) => {
    const [start, end, step] = (ranges[axis] ?? [0, size, 1]) as [number, number | null, number];
    return Array.from({ length: Math.max(0, Math.ceil(((end ?? -1) - start) / step)) }, (_, i) => start + i * step);
  });
  const own = strides(host.sizes);
  const sizes = places.map(({ length }) => length);
  return call.hostOutput(call.value(0).type, sizes, arranged(host, sizes, (at) => at.reduce((sum, i, axis) => sum + ((places[axis] as number[])[i] as number) * (own[axis] as number), 0)));
}

/** Integers are cut to their low bits in each step, floats rounded once. */
function reduction(apply: (a: Size, b: Size, type: ElementType) => Size | null, identity: number): Fold {
  return (call) => {
    const { host, type } = call.value(0);
    if (host === null || host.data.length === 0) return null;
    const listed = call.listed('axes', 1);
    if ((listed === undefined || listed.length === 0) && call.flag('noop_with_empty_axes')) return call.value(0);
    const axes = checkAxes('axes', listed === undefined || listed.length === 0 ? undefined : [...listed], host.sizes.length);
    const kept = host.sizes.map((size, axis) => (axes.includes(axis) ? 1 : size));
    const sums = Array.from({ length: elementCount(kept) }, (): Size => identity);
    const [own, steps] = [strides(host.sizes), strides(kept)];
    for (const [i, value] of host.data.entries()) {
      const place = own.reduce((sum, step, axis) => sum + (axes.includes(axis) ? 0 : (Math.floor(i / step) % (host.sizes[axis] as number)) * (steps[axis] as number)), 0);
      const next = apply(sums[place] as Size, value, type);
      if (next === null) return null;
      sums[place] = typeof next === 'number' && type.range !== null ? asElement(type, next) : next;
    }
    const found = sums.map((each) => (typeof each === 'number' ? asElement(type, each) : each));
    return call.hostOutput(type, call.flag('keepdims', true) ? kept : kept.filter((_, axis) => !axes.includes(axis)), found);
  };
}

function range(call: Call): Value | null {
  const { hosts } = call;
  if (hosts === null || hosts.length !== 3 || hosts.some(({ data }) => data.length !== 1)) return null;
  const [start, limit, step] = hosts.map(({ data }) => data[0]) as [Size, Size, Size];
  if (typeof start !== 'number' || typeof limit !== 'number' || typeof step !== 'number' || step === 0) return null;
  const count = Math.max(0, Math.ceil((limit - start) / step));
  const { type } = call.value(0);
  return isKnown([count]) ? call.hostOutput(type, [count], Array.from({ length: count }, (_, i) => asElement(type, start + i * step))) : null;
}

function constantOfShape(call: Call): Value | null {
  const sizes = call.value(0).host?.data;
  if (sizes === undefined || sizes.some((size) => typeof size !== 'number') || !isKnown(sizes as readonly number[])) return null;
  const value = call.tensorAttribute('value');
  const { type, number } = constantOf(value, call);
  return call.hostOutput(type, sizes as readonly number[], Array.from({ length: elementCount(sizes as readonly number[]) }, () => number));
}

/** The number of a tensor with one, in an attribute; 0 of single precision unless given. */
export function constantOf(value: ReturnType<Call['tensorAttribute']>, call: Call): { type: ElementType; number: number } {
  if (value === undefined) return { type: typeNamed('float'), number: 0 };
  const number = call.constant(value).host?.data[0];
  return { type: value.type, number: typeof number === 'number' ? number : 0 };
}

function nonZero(call: Call): Value | null {
  const host = call.value(0).host;
  if (host === null || host.data.some((value) => typeof value !== 'number')) return null;
  const places = host.data.flatMap((value, i) => (value === 0 ? [] : [i]));
  const own = strides(host.sizes);
  const rows = own.map((step, axis) => places.map((i) => Math.floor(i / step) % (host.sizes[axis] as number)));
  return call.hostOutput(typeNamed('int64'), [host.sizes.length, places.length], rows.flat());
}

function roundHalfToEven(x: number): number {
  const floor = Math.floor(x);
  return x - floor === 0.5 ? floor + (((floor % 2) + 2) % 2) : Math.round(x);
}

/** Whole numbers stay, be they Dims. */
const wholeOr = (apply: (x: number) => number) => elementwise(([x]) => (typeof x === 'number' ? apply(x) : (x as Size)));

/** Operators of ONNX on numbers in memory. */
export const folds: Readonly<Record<string, Fold>> = {
  Shape: (call) => {
    const { shape } = call.value(0);
    const rank = shape.length;
    const place = (name: string, fallback: number) => {
      const value = call.int(name, fallback);
      return Math.min(Math.max(value < 0 ? value + rank : value, 0), rank);
    };
    const sizes = shape.slice(place('start', 0), place('end', rank));
    return call.withoutOrigins(typeNamed('int64'), [sizes.length], sizes);
  },
  Size: (call) => call.withoutOrigins(typeNamed('int64'), [], [call.value(0).shape.reduce<Size>(times, 1)]),
  Identity: (call) => (call.count === 1 ? call.value(0) : null),
  Cast: elementwise(([x]) => x as Size, (call) => call.type('to')),
  CastLike: (call) => {
    const { host, origins } = call.value(0);
    const { type } = call.value(1);
    if (host === null || !isKnown(host.sizes)) return null;
    // Of the other input the type counts alone.
    return Value.ofHost({ sizes: host.sizes, data: host.data.map((each) => (typeof each === 'number' ? asElement(type, each) : each)) }, type, origins);
  },
  Relu: ofNumbers((x) => Math.max(x, 0)),
  Add: elementwise(([a, b]) => sumOf(a as Size, b as Size, plus)),
  Sub: elementwise(([a, b]) => sumOf(a as Size, b as Size, minus)),
  Mul: elementwise(([a, b], type) => product(a as Size, b as Size, type)),
  Div: elementwise(([a, b], type) => divided(a as Size, b as Size, type)),
  Mod: (call) => (call.flag('fmod') ? ofNumbers((a, b) => (b === 0 ? 0 : a % b)) : ofNumbers((a, b) => (b === 0 ? 0 : a - Math.floor(a / b) * b)))(call),
  Neg: elementwise(([x], type) => product(x as Size, -1, type)),
  Abs: ofNumbers(Math.abs),
  Sign: ofNumbers(Math.sign),
  Sqrt: ofNumbers(Math.sqrt),
  Floor: wholeOr(Math.floor),
  Ceil: wholeOr(Math.ceil),
  Round: wholeOr(roundHalfToEven),
  Max: extreme(1),
  Min: extreme(-1),
  Equal: comparison((difference) => difference === 0),
  Less: comparison((difference) => difference < 0),
  LessOrEqual: comparison((difference) => difference <= 0),
  Greater: comparison((difference) => difference > 0),
  GreaterOrEqual: comparison((difference) => difference >= 0),
  Not: ofNumbers((x) => Number(x === 0)),
  And: ofNumbers((a, b) => Number(a !== 0 && b !== 0)),
  Or: ofNumbers((a, b) => Number(a !== 0 || b !== 0)),
  Xor: ofNumbers((a, b) => Number((a !== 0) !== (b !== 0))),
  Where: elementwise(([condition, a, b]) => (typeof condition === 'number' ? ((condition !== 0 ? a : b) as Size) : null), (call) => call.value(1).type),
  Gather: gather,
  Concat: concat,
  Slice: slice,
  Squeeze: (call) => {
    const host = call.value(0).host;
    return host === null ? null : shaped(call, host.sizes.filter((_, axis) => !squeezedAxes(call, host.sizes).includes(axis)));
  },
  Unsqueeze: (call) => {
    const host = call.value(0).host;
    if (host === null) return null;
    const axes = call.listed('axes', 1) ?? [];
    const rank = host.sizes.length + axes.length;
    const added = checkAxes('axes', [...axes], rank);
    let next = 0;
    return shaped(call, Array.from({ length: rank }, (_, axis) => (added.includes(axis) ? 1 : (host.sizes[next++] as number))));
  },
  Reshape: (call) => (call.value(0).host === null ? null : shaped(call, reshapedSizes(call, call.value(0).shape))),
  Flatten: (call) => {
    const host = call.value(0).host;
    if (host === null) return null;
    const axis = call.int('axis', 1);
    const at = axis === host.sizes.length ? axis : checkAxis('axis', axis, host.sizes.length);
    return shaped(call, [elementCount(host.sizes.slice(0, at)), elementCount(host.sizes.slice(at))]);
  },
  Transpose: (call) => {
    const host = call.value(0).host;
    if (host === null) return null;
    const order = call.ints('perm') ?? host.sizes.map((_, axis) => host.sizes.length - 1 - axis);
    if (checkAxes('perm', [...order], host.sizes.length).length !== host.sizes.length) return null;
    const own = strides(host.sizes);
    const sizes = order.map((axis) => host.sizes[axis] as number);
    return call.hostOutput(call.value(0).type, sizes, arranged(host, sizes, (at) => order.reduce((sum, axis, k) => sum + (at[k] as number) * (own[axis] as number), 0)));
  },
  Expand: (call) => {
    const { hosts } = call;
    const [host, shape] = hosts ?? [];
    if (host === undefined || shape === undefined || shape.data.some((size) => typeof size !== 'number' || size < 0)) return null;
    const sizes = broadcastSizes([host, { sizes: shape.data as readonly number[], data: [] }]);
    return isKnown(sizes) ? call.hostOutput(call.value(0).type, sizes, expanded(host, sizes)) : null;
  },
  Tile: (call) => {
    const { hosts } = call;
    const [host, counts] = hosts ?? [];
    if (host === undefined || counts === undefined || counts.data.length !== host.sizes.length) return null;
    const sizes = host.sizes.map((size, axis) => size * (counts.data[axis] as number));
    if (!sizes.every((size) => size >= 0) || !isKnown(sizes)) return null;
    const own = strides(host.sizes);
    return call.hostOutput(call.value(0).type, sizes, arranged(host, sizes, (at) => at.reduce((sum, i, axis) => sum + (i % (host.sizes[axis] as number)) * (own[axis] as number), 0)));
  },
  Range: range,
  ConstantOfShape: constantOfShape,
  NonZero: nonZero,
  ReduceProd: reduction(product, 1),
  ReduceSum: reduction((a, b) => sumOf(a, b, plus), 0),
  ReduceMax: reduction((a, b) => (typeof a === 'number' && typeof b === 'number' ? Math.max(a, b) : null), -Infinity),
  ReduceMin: reduction((a, b) => (typeof a === 'number' && typeof b === 'number' ? Math.min(a, b) : null), Infinity),
};
