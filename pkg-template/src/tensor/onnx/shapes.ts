/** Shapes, ranges and axes as attributes or inputs of nodes say them. */

import { invalidArgument } from '../../arguments/errors.js';
import { checkAxes, checkAxis } from '../recipe/operands.js';
import { product, quotient, sameSize, shapeText, type Shape, type Size } from '../size.js';
import type { Call } from './call.js';

/** The axes that Squeeze takes away: those told, or all of size 1. */
export function squeezedAxes(call: Call, shape: Shape): readonly number[] {
  const listed = call.listed('axes', 1);
  if (listed === undefined) return shape.flatMap((size, axis) => (size === 1 ? [axis] : []));
  const axes = checkAxes('axes', [...listed], shape.length);
  const long = axes.find((axis) => shape[axis] !== 1);
  if (long !== undefined) throw invalidArgument('axes', `axis ${long} of the shape ${shapeText(shape)}`, 'axes of size 1');
  return axes;
}

/** The shape that Reshape gives: 0 is the size of the input unless `allowzero`, and -1 what is left. */
export function reshapedSizes(call: Call, shape: Shape): Shape {
  const told: readonly Size[] = call.has(1) ? call.sizes(1) : (call.ints('shape') ?? []);
  const copies = !call.flag('allowzero');
  const sizes = told.map((size, axis) => {
    if (size !== 0 || !copies) return size;
    const own = shape[axis];
    if (own === undefined) throw invalidArgument('shape', `0 for axis ${axis}`, `an axis of the input, which is ${shapeText(shape)}`);
    return own;
  });
  const open = sizes.indexOf(-1);
  const count = product(shape);
  const rest = product(sizes.filter((_, axis) => axis !== open));
  const fits = sizes.every((size, axis) => typeof size !== 'number' || (Number.isSafeInteger(size) && size >= 0) || axis === open);
  // Of nothing any number is left; that of ONNX is 0.
  const left = open < 0 ? 1 : sameSize(rest, 0) ? 0 : quotient(count, rest);
  if (!fits || left === null || !sameSize(open < 0 ? rest : product([rest, left]), count)) throw invalidArgument('shape', shapeText(told), `a shape with the elements of ${shapeText(shape)}`);
  return sizes.map((size, axis) => (axis === open ? left : size));
}

/** A range of an axis, as slice() of a tensor takes it. */
export type SliceRange = readonly [start: Size, end: Size | null, step: number] | null;

/** The ranges that Slice tells, for every axis; of axes with a number of elements they are within them. */
export function sliceRanges(call: Call, shape: Shape): SliceRange[] {
  const isAttribute = !call.has(1);
  const told = (name: string, place: number): readonly Size[] | undefined => (isAttribute ? call.ints(name) : call.has(place) ? call.sizes(place) : undefined);
  const starts = told('starts', 1) ?? [];
  const ends = told('ends', 2) ?? [];
  const listed = told('axes', 3) ?? starts.map((_, k) => k);
  const steps = told('steps', 4) ?? starts.map(() => 1);
  if (ends.length !== starts.length || listed.length !== starts.length || steps.length !== starts.length) {
    throw invalidArgument('starts, ends, axes and steps', `${starts.length}, ${ends.length}, ${listed.length} and ${steps.length} numbers`, 'as many of each');
  }
  const ranges: SliceRange[] = shape.map(() => null);
  listed.forEach((axis, k) => {
    const at = checkAxis('axes', axis, shape.length);
    const step = steps[k] as number;
    if (typeof step !== 'number' || !Number.isSafeInteger(step) || step === 0) throw invalidArgument('steps', String(step), 'whole numbers other than 0');
    ranges[at] = sliceRange(shape[at] as Size, starts[k] as Size, ends[k] as Size, step);
  });
  return ranges;
}

/** Numbers from here on stand for the end of any axis. */
const BEYOND = 2 ** 31 - 1;

function sliceRange(extent: Size, start: Size, end: Size, step: number): SliceRange {
  if (typeof extent !== 'number' || typeof start !== 'number' || typeof end !== 'number') {
    // Sizes that runs tell: numbers beyond every axis are its ends.
    const first = typeof start === 'number' && start <= -BEYOND ? 0 : start;
    const isOpen = typeof end === 'number' && (step > 0 ? end >= BEYOND : end <= -BEYOND);
    return [step < 0 && typeof start === 'number' && start >= BEYOND ? -1 : first, isOpen ? null : end, step];
  }
  const from = (place: number) => (place < 0 ? place + extent : place);
  if (step > 0) {
    const first = Math.min(Math.max(from(start), 0), extent);
    return [first, Math.min(Math.max(from(end), first), extent), step];
  }
  const first = Math.min(Math.max(from(start), -1), extent - 1);
  const last = Math.min(Math.max(from(end), -1), extent - 1);
  if (first <= last) return [0, 0, 1];
  return [first, last === -1 ? null : last, step];
}
