/** Convolutions, pools, other sizes and grids by plain loops over arrays, each as its documentation defines it: what tensors are compared with. */
import { build, coordinates, countOf, get } from './arrays.js';

/** A number for each axis. */
const each = (value, axes, fallback) => (value === undefined ? Array(axes).fill(fallback) : Array.isArray(value) ? value : Array(axes).fill(value));

/** What is added before and after an axis. */
export function widthsOf(padding, extents, sizes, strides, dilations) {
  return extents.map((extent, k) => {
    if (padding === undefined || padding === 'valid') return [0, 0];
    if (padding === 'same') {
      const total = Math.max((Math.ceil(extent / strides[k]) - 1) * strides[k] + (sizes[k] - 1) * dilations[k] + 1 - extent, 0);
      return [total >> 1, total - (total >> 1)];
    }
    if (typeof padding === 'number') return [padding, padding];
    return typeof padding[k] === 'number' ? [padding[k], padding[k]] : padding[k];
  });
}

/** The windows over the last axes of a shape: their shape, and where an element of one stands, which may be beyond the border. */
function windowsOf(extents, sizes, { stride, padding, dilation }, fallback) {
  const [strides, dilations] = [each(stride, sizes.length, undefined).map((value, k) => value ?? fallback[k]), each(dilation, sizes.length, 1)];
  const widths = widthsOf(padding, extents, sizes, strides, dilations);
  const counts = extents.map((extent, k) => Math.floor((extent + widths[k][0] + widths[k][1] - (sizes[k] - 1) * dilations[k] - 1) / strides[k]) + 1);
  return { counts, place: (window, element) => window.map((at, k) => at * strides[k] + element[k] * dilations[k] - widths[k][0]) };
}

const isWithin = (place, extents) => place.every((at, k) => at >= 0 && at < extents[k]);

export function convolution(x, weight, options = {}) {
  const { groups = 1, bias } = options;
  const [[images, , ...extents], [out, from, ...sizes]] = [x.shape, weight.shape];
  const { counts, place } = windowsOf(extents, sizes, options, sizes.map(() => 1));
  return build([images, out, ...counts], ([image, channel, ...window]) => {
    const first = Math.floor(channel / (out / groups)) * from;
    let sum = bias?.values[channel] ?? 0;
    for (const [c, ...element] of coordinates([from, ...sizes])) {
      const at = place(window, element);
      if (isWithin(at, extents)) sum += get(weight, [channel, c, ...element]) * get(x, [image, first + c, ...at]);
    }
    return sum;
  });
}

export function transposedConvolution(x, weight, options = {}) {
  const { groups = 1, bias, stride, padding, dilation, outputPadding } = options;
  const [[images, channels, ...extents], [, to, ...sizes]] = [x.shape, weight.shape];
  const [strides, dilations, more] = [each(stride, sizes.length, 1), each(dilation, sizes.length, 1), each(outputPadding, sizes.length, 0)];
  const spans = sizes.map((size, k) => (size - 1) * dilations[k] + 1);
  const widths = padding === 'same' ? spans.map((span, k) => [Math.max(span - strides[k], 0) >> 1, 0]) : widthsOf(padding, extents, sizes, strides, dilations);
  const counts = extents.map((extent, k) => (padding === 'same' ? extent * strides[k] : (extent - 1) * strides[k] + spans[k] - widths[k][0] - widths[k][1] + more[k]));
  const result = build([images, to * groups, ...counts], ([, channel]) => bias?.values[channel] ?? 0);
  const steps = result.shape.map((_, axis) => countOf(result.shape.slice(axis + 1)));
  for (const [image, channel, ...from] of coordinates(x.shape)) {
    const group = Math.floor(channel / (channels / groups));
    for (const [o, ...element] of coordinates([to, ...sizes])) {
      const at = from.map((place, k) => place * strides[k] + element[k] * dilations[k] - widths[k][0]);
      if (!isWithin(at, counts)) continue;
      const place = [image, group * to + o, ...at].reduce((sum, coordinate, axis) => sum + coordinate * steps[axis], 0);
      result.values[place] += get(x, [image, channel, ...from]) * get(weight, [channel, o, ...element]);
    }
  }
  return result;
}

/** A function of the elements of each window, and of how many places it has. */
export function pool(x, sizes, options, f) {
  const lead = x.shape.length - sizes.length;
  const extents = x.shape.slice(lead);
  const { counts, place } = windowsOf(extents, sizes, options, sizes);
  return build([...x.shape.slice(0, lead), ...counts], (at) => {
    const elements = [];
    for (const element of coordinates(sizes)) {
      const from = place(at.slice(lead), element);
      if (isWithin(from, extents)) elements.push(get(x, [...at.slice(0, lead), ...from]));
    }
    return f(elements, countOf(sizes));
  });
}

export function adaptivePool(x, counts, f) {
  const lead = x.shape.length - counts.length;
  return build([...x.shape.slice(0, lead), ...counts], (at) => {
    const bounds = counts.map((count, k) => {
      const [extent, window] = [x.shape[lead + k], at[lead + k]];
      return [Math.floor((window * extent) / count), Math.ceil(((window + 1) * extent) / count)];
    });
    const elements = [];
    for (const element of coordinates(bounds.map(([start, end]) => end - start))) elements.push(get(x, [...at.slice(0, lead), ...element.map((e, k) => bounds[k][0] + e)]));
    return f(elements);
  });
}

/** Means and extremes of lists. */
export const mean = (list) => list.reduce((sum, value) => sum + value, 0) / list.length;
export const meanWithPadding = (list, places) => list.reduce((sum, value) => sum + value, 0) / places;
export const largest = (list) => list.reduce((most, value) => Math.max(most, value), -Infinity);

const limited = (place, extent) => Math.min(Math.max(place, 0), extent - 1);

/** Places and weights of a coordinate of pixels. */
function taps(coordinate, mode) {
  if (mode === 'nearest') return [[Math.ceil(coordinate - 0.5), 1]];
  const lower = Math.floor(coordinate);
  const t = coordinate - lower;
  if (mode === 'linear') return [[lower, 1 - t], [lower + 1, t]];
  const a = -0.75;
  const near = (d) => (a + 2) * d ** 3 - (a + 3) * d ** 2 + 1;
  const far = (d) => a * d ** 3 - 5 * a * d ** 2 + 8 * a * d - 4 * a;
  return [[lower - 1, far(t + 1)], [lower, near(t)], [lower + 1, near(1 - t)], [lower + 2, far(2 - t)]];
}

/** The sum over the pixels around a place, with weights that are products; `read` gives a pixel. */
function interpolated(coordinatesOfPlace, mode, read) {
  let sum = 0;
  const lists = coordinatesOfPlace.map((coordinate) => taps(coordinate, mode));
  for (const choice of coordinates(lists.map(({ length }) => length))) {
    const chosen = choice.map((k, axis) => lists[axis][k]);
    const weight = chosen.reduce((product, [, each]) => product * each, 1);
    sum += weight * read(chosen.map(([place]) => place));
  }
  return sum;
}

export function resize(x, sizes, { mode = 'nearest', alignCorners = false } = {}) {
  const lead = x.shape.length - sizes.length;
  const extents = x.shape.slice(lead);
  return build([...x.shape.slice(0, lead), ...sizes], (at) => {
    const place = extents.map((extent, k) => {
      const i = at[lead + k];
      if (alignCorners) return sizes[k] === 1 ? 0 : (i * (extent - 1)) / (sizes[k] - 1);
      return ((2 * i + 1) * extent - sizes[k]) / (2 * sizes[k]);
    });
    return interpolated(place, mode, (pixel) => get(x, [...at.slice(0, lead), ...pixel.map((p, k) => limited(p, extents[k]))]));
  });
}

/** A coordinate that goes there and back between two mirrors. */
function mirrored(coordinate, low, high) {
  if (high === low) return low;
  const period = 2 * (high - low);
  const there = (((coordinate - low) % period) + period) % period;
  return low + Math.min(there, period - there);
}

export function gridSample(x, grid, { mode = 'nearest', border = 'clamp', alignCorners = false } = {}) {
  const [images, channels, ...extents] = x.shape;
  return build([images, channels, ...grid.shape.slice(1, 3)], ([image, channel, i, j]) => {
    const place = extents.map((extent, k) => {
      const given = get(grid, [image, i, j, 1 - k]);
      const coordinate = alignCorners ? ((given + 1) / 2) * (extent - 1) : ((given + 1) * extent - 1) / 2;
      if (border === 'clamp') return limited(coordinate, extent);
      return border === 'mirror' ? limited(alignCorners ? mirrored(coordinate, 0, extent - 1) : mirrored(coordinate, -0.5, extent - 0.5), extent) : coordinate;
    });
    return interpolated(place, mode, (pixel) => (border === 'zero' && !isWithin(pixel, extents) ? 0 : get(x, [image, channel, ...pixel.map((p, k) => limited(p, extents[k]))])));
  });
}
