/** Pictures with other sizes, and pictures at other places. */

import { describe, invalidArgument } from '../../../arguments/errors.js';
import { stack, where } from '../../functions.js';
import { checkAxis } from '../../recipe/operands.js';
import { gridSample, resize } from '../../resampling.js';
import { iota } from '../../sources.js';
import type { Indices, Tensor } from '../../tensor.js';
import { checkLimit, numberSizes, type Call, type Operator } from '../call.js';
import { typeNamed } from '../element-types.js';
import { inSingle, roundHalfToEven } from './elementwise.js';

const MODES = ['nearest', 'linear', 'cubic'] as const;
const COORDINATES = ['half_pixel', 'half_pixel_symmetric', 'pytorch_half_pixel', 'align_corners', 'asymmetric', 'tf_half_pixel_for_nn', 'tf_crop_and_resize'] as const;
const ROUNDINGS = ['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'] as const;

/** Places of an axis that a place of the result reads, at most: those of a very small picture. */
const MOST_TAPS = 64;

/** What Resize says of one axis. */
interface AxisResize {
  readonly from: number;
  readonly to: number;
  readonly scale: number;
  readonly mode: (typeof MODES)[number];
  readonly coordinates: (typeof COORDINATES)[number];
  readonly rounding: (typeof ROUNDINGS)[number];
  readonly region: readonly [start: number, end: number];
  readonly cubic: number;
  readonly isAntialiased: boolean;
  readonly excludesOutside: boolean;
}

/** The place of the input for a place of the result. */
function placeOf(i: number, { from, to, scale, coordinates, region }: AxisResize): number {
  switch (coordinates) {
    case 'align_corners':
      return to === 1 ? 0 : (i * (from - 1)) / (to - 1);
    case 'asymmetric':
      return i / scale;
    case 'tf_half_pixel_for_nn':
      return (i + 0.5) / scale;
    case 'tf_crop_and_resize':
      return to === 1 ? 0.5 * (region[0] + region[1]) * (from - 1) : region[0] * (from - 1) + (i * (region[1] - region[0]) * (from - 1)) / (to - 1);
    case 'pytorch_half_pixel':
      return to === 1 ? 0 : (i + 0.5) / scale - 0.5;
    case 'half_pixel_symmetric': {
      // The part of the result that the scale does not reach is halved on both sides.
      const adjustment = to / (scale * from);
      return (from / 2) * (1 - adjustment) + (i + 0.5) / scale - 0.5;
    }
    default:
      return (i + 0.5) / scale - 0.5;
  }
}

function rounded(place: number, rounding: AxisResize['rounding']): number {
  if (rounding === 'floor') return Math.floor(place);
  if (rounding === 'ceil') return Math.ceil(place);
  return rounding === 'round_prefer_floor' ? Math.ceil(place - 0.5) : Math.floor(place + 0.5);
}

/** The weight of a place at a distance. */
function kernel(distance: number, { mode, cubic }: AxisResize): number {
  const x = Math.abs(distance);
  if (mode === 'linear') return Math.max(0, 1 - x);
  if (x < 1) return (cubic + 2) * x ** 3 - (cubic + 3) * x ** 2 + 1;
  return x < 2 ? cubic * x ** 3 - 5 * cubic * x ** 2 + 8 * cubic * x - 4 * cubic : 0;
}

/** What a place of the result reads: places of the input with their weights. */
function tapsOf(place: number, axis: AxisResize): { place: number; weight: number }[] {
  const { from, scale, mode, rounding, isAntialiased, excludesOutside } = axis;
  if (mode === 'nearest') return [{ place: Math.min(Math.max(rounded(place, rounding), 0), from - 1), weight: 1 }];
  const stretch = isAntialiased ? Math.min(1, scale) : 1;
  const reach = (mode === 'linear' ? 1 : 2) / stretch;
  const taps: { place: number; weight: number }[] = [];
  for (let at = Math.floor(place - reach) + 1; at < place + reach; at++) {
    const isOutside = at < 0 || at >= from;
    taps.push({ place: Math.min(Math.max(at, 0), from - 1), weight: isOutside && excludesOutside ? 0 : kernel((at - place) * stretch, axis) });
  }
  const sum = taps.reduce((total, { weight }) => total + weight, 0);
  const scaled = sum === 0 || !(excludesOutside || isAntialiased) ? taps : taps.map((tap) => ({ ...tap, weight: tap.weight / sum }));
  return scaled.filter(({ weight }) => weight !== 0);
}

/** Resizes an axis, by the places and weights of each place of the result. */
function resizedAxis(call: Call, x: Tensor, axis: number, how: AxisResize, extrapolation: number): Tensor {
  const coordinates = Array.from({ length: how.to }, (_, i) => placeOf(i, how));
  const taps = coordinates.map((place) => tapsOf(place, how));
  const count = Math.max(...taps.map(({ length }) => length));
  checkLimit('places that one place of the result reads', count, MOST_TAPS);
  const along = (vector: Tensor) => vector.reshape([how.to, ...x.shape.slice(axis + 1).map(() => 1)]);
  const term = (k: number) => {
    const part = read(call, x, axis, taps.map((each) => each[k]?.place ?? 0));
    if (how.mode === 'nearest') return part;
    return part.mul(along(call.stored(typeNamed('float'), [how.to], taps.map((each) => each[k]?.weight ?? 0))));
  };
  const found = Array.from({ length: count }, (_, k) => term(k)).reduce((a, b) => a.add(b));
  if (how.coordinates !== 'tf_crop_and_resize') return found;
  const isInside = coordinates.map((place) => Number(place >= 0 && place <= how.from - 1));
  return isInside.every((each) => each === 1) ? found : where(along(call.stored(typeNamed('bool'), [how.to], isInside)), found, extrapolation);
}

/** Slices of an axis at places: a view where they are repeated evenly. */
function read(call: Call, x: Tensor, axis: number, places: readonly number[]): Tensor {
  const extent = x.shape[axis] as number;
  if (places.length === extent && places.every((place, i) => place === i)) return x;
  const times = places.length / extent;
  if (Number.isInteger(times) && places.every((place, i) => place === Math.floor(i / times))) {
    const along = (...sizes: number[]) => [...x.shape.slice(0, axis), ...sizes, ...x.shape.slice(axis + 1)];
    return x.reshape(along(extent, 1)).broadcastTo(along(extent, times)).reshape(along(places.length));
  }
  return x.indexSelect(call.indices(places), axis);
}

function resizeOf(call: Call): Tensor {
  const x = call.tensor(0);
  // Version 10 has no region and no sizes.
  const isOld = call.opset < 11 || call.node.operator === 'Upsample';
  const [roi, scalesAt, sizesAt] = isOld ? [-1, 1, -1] : [1, 2, 3];
  const axes = call.ints('axes')?.map((axis) => checkAxis('attribute axes', axis, x.rank)) ?? x.shape.map((_, axis) => axis);
  const optional = (place: number) => (place >= 0 && call.has(place) && call.value(place).shape[0] !== 0 ? call.numbers(place) : undefined);
  const scales = optional(scalesAt) ?? call.floats('scales');
  const sizes = optional(sizesAt);
  if ((scales ?? sizes)?.length !== axes.length) throw invalidArgument('scales and sizes', `${(scales ?? sizes)?.length ?? 'no'} numbers`, `${axes.length} numbers of one of them`);
  const mode = { nearest: 'nearest', linear: 'linear', bilinear: 'linear', cubic: 'cubic' }[call.text('mode', 'nearest')] as AxisResize['mode'] | undefined;
  if (mode === undefined) throw invalidArgument('attribute mode', describe(call.text('mode')), `'${MODES.join("', '")}'`);
  const coordinates = call.choice('coordinate_transformation_mode', COORDINATES, isOld ? 'asymmetric' : 'half_pixel');
  const rounding = call.choice('nearest_mode', ROUNDINGS, isOld ? 'floor' : 'round_prefer_floor');
  const region = coordinates === 'tf_crop_and_resize' ? optional(roi) : undefined;
  const extents = axes.map((axis) => {
    const size = x.shape[axis];
    if (typeof size !== 'number' || size === 0) {
      if (scales !== undefined && scales[axes.indexOf(axis)] === 1) return null;
      throw invalidArgument('input 0', `axis ${axis} of ${String(x)}`, 'axes of known sizes of at least 1');
    }
    return size;
  });
  const targets = targetsOf(call, extents, scales, sizes);
  const how = axes.map((axis, k): { axis: number; how: AxisResize } | null => {
    const [from, target] = [extents[k] as number | null, targets[k] as { to: number; scale: number }];
    if (from === null || (target.to === from && target.scale === 1 && coordinates !== 'tf_crop_and_resize')) return null;
    return { axis, how: { from, ...target, mode, coordinates, rounding, region: [region?.[k] ?? 0, region?.[k + axes.length] ?? 1], cubic: call.float('cubic_coeff_a', -0.75), isAntialiased: call.flag('antialias'), excludesOutside: call.flag('exclude_outside') } };
  }).filter((each) => each !== null);
  const plain = how.every(({ how: each }) => isPlain(each)) && mode !== 'nearest' && how.length > 0;
  if (plain && how.every(({ axis }, k) => axis === x.rank - how.length + k)) {
    return resize(x, how.map(({ how: each }) => each.to), { mode, alignCorners: coordinates === 'align_corners' });
  }
  const compute = (y: Tensor) => how.reduce((found, { axis, how: each }) => resizedAxis(call, found, axis, each, call.float('extrapolation_value', 0)), y);
  return mode === 'nearest' ? compute(x) : inSingle(x, compute);
}

/** Whether resize() of tensors has the same places and weights. */
function isPlain({ from, to, scale, coordinates, cubic, mode, isAntialiased, excludesOutside }: AxisResize): boolean {
  if (isAntialiased || excludesOutside || (mode === 'cubic' && cubic !== -0.75)) return false;
  if (coordinates === 'align_corners') return true;
  const isHalfPixel = coordinates === 'half_pixel' || (coordinates === 'pytorch_half_pixel' && to > 1);
  return isHalfPixel && Math.abs(to / (scale * from) - 1) < 1e-9;
}

/** Sizes and scales of the axes: one is told, the other follows. */
function targetsOf(call: Call, extents: readonly (number | null)[], scales: readonly number[] | undefined, sizes: readonly number[] | undefined): { to: number; scale: number }[] {
  if (sizes === undefined) {
    return extents.map((extent, k) => {
      const scale = (scales as readonly number[])[k] as number;
      if (!(scale > 0 && Number.isFinite(scale))) throw invalidArgument('scales', String(scale), 'numbers above 0');
      // Scales are of single precision, and so is the product: 5 · 2.6 are 13 places.
      const to = Math.floor(Math.fround((extent ?? 1) * scale));
      checkLimit('places along an axis', to, 2 ** 16);
      if (to === 0) throw invalidArgument('scales', String(scale), 'numbers that leave at least one place');
      return { to, scale };
    });
  }
  const policy = call.choice('keep_aspect_ratio_policy', ['stretch', 'not_larger', 'not_smaller'], 'stretch');
  const ratios = extents.map((extent, k) => (sizes[k] as number) / (extent ?? 1));
  const common = policy === 'not_larger' ? Math.min(...ratios) : Math.max(...ratios);
  return extents.map((extent, k) => {
    const to = policy === 'stretch' ? (sizes[k] as number) : Math.floor(common * (extent ?? 1) + 0.5);
    if (!(Number.isInteger(to) && to > 0)) throw invalidArgument('sizes', String(to), 'whole numbers of at least 1');
    checkLimit('places along an axis', to, 2 ** 16);
    return { to, scale: policy === 'stretch' ? to / (extent ?? 1) : common };
  });
}

const BORDERS = { zeros: 'zero', border: 'clamp', reflection: 'mirror' } as const;

function gridSampleOf(call: Call): Tensor {
  const [x, grid] = [call.tensor(0), call.tensor(1).cast('f32')];
  const mode = { linear: 'linear', bilinear: 'linear', nearest: 'nearest', cubic: 'cubic', bicubic: 'cubic' }[call.text('mode', 'linear')];
  if (mode === undefined) throw invalidArgument('attribute mode', describe(call.text('mode')), "'linear', 'nearest' or 'cubic'");
  const border = call.choice('padding_mode', ['zeros', 'border', 'reflection'], 'zeros');
  const alignCorners = call.flag('align_corners');
  if (mode === 'linear') return gridSample(x, grid, { mode, border: BORDERS[border], alignCorners });
  const [images, channels, height, width] = numberSizes('input 0', x) as readonly [number, number, number, number];
  const [, rows, columns] = numberSizes('input 1', grid) as readonly [number, number, number, number];
  if (x.rank !== 4 || grid.rank !== 4) throw invalidArgument('inputs', `${String(x)} and ${String(grid)}`, 'tensors [images, channels, height, width] and [images, rows, columns, 2]');
  const place = (axis: number, extent: number) => {
    const from = grid.pick(-1, axis).add(1);
    return alignCorners ? from.mul((extent - 1) / 2) : from.mul(extent).sub(1).mul(0.5);
  };
  const flat = x.reshape([images, channels, height * width]);
  /** The pixels at whole places. */
  const at = (row: Tensor, column: Tensor) => {
    const inside = (places: Tensor, extent: number) => places.gte(0).and(places.lt(extent));
    const within = (places: Tensor, extent: number) => (border === 'reflection' ? reflected(places, extent, alignCorners) : places).clamp(0, extent - 1);
    const index = within(row, height).mul(width).add(within(column, width)).cast('i32').reshape([images, 1, rows * columns]).broadcastTo([images, channels, rows * columns]);
    const found = flat.gather(index as Indices, 2).reshape([images, channels, rows, columns]);
    return border === 'zeros' ? where(inside(row, height).and(inside(column, width)).expandDims(1), found, 0) : found;
  };
  const [row, column] = [place(1, height), place(0, width)];
  if (mode === 'nearest') return at(roundHalfToEven(row), roundHalfToEven(column));
  return cubicSample(row, column, at);
}

/** Places beyond the border, mirrored at it as often as needed. */
function reflected(place: Tensor, extent: number, alignCorners: boolean): Tensor {
  const low = alignCorners ? 0 : -0.5;
  const period = 2 * (alignCorners ? extent - 1 : extent);
  if (period === 0) return place.mul(0);
  const along = place.sub(low).floorMod(period);
  return where(along.gt(period / 2), along.mul(-1).add(period), along).add(low);
}

function cubicSample(row: Tensor, column: Tensor, at: (row: Tensor, column: Tensor) => Tensor): Tensor {
  const weights = (place: Tensor) => {
    const t = place.sub(place.floor());
    const a = -0.75;
    const near = (x: Tensor) => x.mul(a + 2).sub(a + 3).mul(x).mul(x).add(1);
    const far = (x: Tensor) => x.mul(a).sub(5 * a).mul(x).add(8 * a).mul(x).sub(4 * a);
    return [far(t.add(1)), near(t), near(t.mul(-1).add(1)), far(t.mul(-1).add(2))].map((weight) => weight.expandDims(1));
  };
  const [down, right] = [weights(row), weights(column)];
  const terms = down.flatMap((v, i) => right.map((h, j) => at(row.floor().add(i - 1), column.floor().add(j - 1)).mul(v.mul(h))));
  return terms.reduce((a, b) => a.add(b));
}

/** The places −1 … 1 of a grid, moved by matrices: [images, height, width, 2]. */
function affineGrid(call: Call): Tensor {
  const theta = call.tensor(0);
  const sizes = call.numbers(1);
  if (sizes.length !== 4) throw invalidArgument('size', `${sizes.length} numbers`, '4: images, channels, height, width');
  const [images, , height, width] = sizes as readonly [number, number, number, number];
  const alignCorners = call.flag('align_corners');
  const along = (axis: 0 | 1, count: number) => {
    const places = iota([height, width], axis);
    return alignCorners ? (count === 1 ? places.mul(0) : places.mul(2 / (count - 1)).sub(1)) : places.mul(2).add(1).div(count).sub(1);
  };
  const [y, x] = [along(0, height), along(1, width)];
  const points = stack([x, y, x.mul(0).add(1)], -1).reshape([1, height * width, 3]);
  return points.matmul(theta.transpose(1, 2)).reshape([images, height, width, 2]);
}

export const RESIZING_OPERATORS: Readonly<Record<string, Operator>> = { Resize: resizeOf, Upsample: resizeOf, GridSample: gridSampleOf, AffineGrid: affineGrid };
