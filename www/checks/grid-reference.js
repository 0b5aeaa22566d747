/**
 * Grids by their definition, independent of the package: at a point the sum over all places around it of what stands there times a kernel of the distance, and its
 * derivatives.
 */

/** For each interpolation a kernel k(s), k′(s) and k″(s) of the distance, by |s|, for s above 0. */
const KERNELS = {
  nearest: (s) => [s < 0.5 ? 1 : 0, 0, 0],
  linear: (s) => (s < 1 ? [1 - s, -1, 0] : [0, 0, 0]),
  // R. Keys, "Cubic Convolution Interpolation", 1981, with a = −½.
  cubic: (s) => {
    if (s < 1) return [(1.5 * s - 2.5) * s * s + 1, (4.5 * s - 5) * s, 9 * s - 5];
    return s < 2 ? [((-0.5 * s + 2.5) * s - 4) * s + 2, (-1.5 * s + 5) * s - 4, -3 * s + 5] : [0, 0, 0];
  },
  // M. Unser, "Splines: A Perfect Fit for Signal and Image Processing", 1999.
  spline: (s) => {
    if (s < 1) return [2 / 3 - s * s + (s * s * s) / 2, 1.5 * s * s - 2 * s, 3 * s - 2];
    return s < 2 ? [(2 - s) ** 3 / 6, -((2 - s) ** 2) / 2, 2 - s] : [0, 0, 0];
  },
};

/** The place in a line of `size` numbers that stands at a place outside; null where the border is a number. */
function within(place, size, border) {
  if (place >= 0 && place < size) return place;
  if (typeof border === 'number') return null;
  if (border === 'clamp' || size === 1) return Math.min(Math.max(place, 0), size - 1);
  if (border === 'repeat') return within(place < 0 ? place + size : place - size, size, border);
  return within(place < 0 ? -place : 2 * (size - 1) - place, size, border);
}

/** Solves a dense system by elimination. */
function eliminate(matrix, right) {
  const size = right.length;
  const rows = matrix.map((row, k) => [...row, right[k]]);
  for (let k = 0; k < size; k++) {
    const pivot = rows.slice(k).reduce((best, row, offset) => (Math.abs(row[k]) > Math.abs(rows[best][k]) ? k + offset : best), k);
    [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
    for (let j = 0; j < size; j++) {
      if (j === k) continue;
      const factor = rows[j][k] / rows[k][k];
      for (let i = k; i <= size; i++) rows[j][i] -= factor * rows[k][i];
    }
  }
  return rows.map((row, k) => row[size] / row[k]);
}

/** The coefficients of a spline along one axis: those outside are what the border says. */
function splineOf(line, border) {
  const matrix = line.map((_, i) => {
    const row = line.map(() => 0);
    for (let k = i - 1; k <= i + 1; k++) {
      const at = within(k, line.length, border);
      if (at !== null) row[at] += KERNELS.spline(Math.abs(i - k))[0];
    }
    return row;
  });
  const outside = typeof border === 'number' ? border : 0;
  return eliminate(matrix, line.map((value) => value - outside)).map((value) => value + outside);
}

/**
 * Returns a function of a point that gives for each channel the value, the derivatives by the coordinates, and the matrix of second derivatives.
 * `spec` is that of Problem.grid.
 */
export function gridReference({ size, values, channels = 1, interpolation = 'cubic', border = 'clamp', prefilter = false }) {
  const kernel = KERNELS[prefilter || interpolation === 'b-spline' ? 'spline' : interpolation];
  const around = prefilter && border === 'clamp' ? 'mirror' : border;
  const strides = size.map((_, axis) => size.slice(0, axis).reduce((product, count) => product * count, channels));
  const table = [...values];
  if (prefilter) {
    size.forEach((count, axis) => {
      for (let start = 0; start < table.length; start++) {
        if (Math.floor(start / strides[axis]) % count !== 0) continue;
        const places = Array.from({ length: count }, (_, k) => start + k * strides[axis]);
        splineOf(places.map((place) => table[place]), around).forEach((value, k) => (table[places[k]] = value));
      }
    });
  }
  const number = (places, channel) => {
    const inside = places.map((place, axis) => within(place, size[axis], around));
    return inside.includes(null) ? around : table[inside.reduce((sum, place, axis) => sum + place * strides[axis], channel)];
  };
  return (point) => {
    const axes = point.map((given, axis) => {
      const isKept = prefilter && border === 'clamp';
      const u = isKept ? Math.min(Math.max(given, 0), size[axis] - 1) : given;
      const moves = u === given ? 1 : 0;
      const first = Math.floor(u) - 2;
      return Array.from({ length: 6 }, (_, k) => {
        const distance = u - (first + k);
        const [value, slope, bend] = kernel(Math.abs(distance));
        return { place: first + k, factors: [value, moves * Math.sign(distance) * slope, moves * bend] };
      });
    });
    return Array.from({ length: channels }, (_, channel) => {
      const sum = (orders) => {
        const along = (axis, places, factor) => {
          if (factor === 0) return 0;
          if (axis === axes.length) return factor * number(places, channel);
          return axes[axis].reduce((total, { place, factors }) => total + along(axis + 1, [...places, place], factor * factors[orders[axis]]), 0);
        };
        return along(0, [], 1);
      };
      const order = (...by) => point.map((_, axis) => by.filter((other) => other === axis).length);
      return {
        value: sum(order()),
        gradient: point.map((_, axis) => sum(order(axis))),
        hessian: point.map((_, row) => point.map((_, column) => sum(order(row, column)))),
      };
    });
  };
}

/** Every interpolation. */
export const INTERPOLATIONS = [{ interpolation: 'nearest' }, { interpolation: 'linear' }, { interpolation: 'cubic' }, { interpolation: 'cubic', prefilter: true }];

/** Every border. */
export const BORDERS = ['clamp', 'mirror', 'repeat', 0.7];

/** Every dimension, with few numbers along an axis. */
export const SIZES = [[7], [5, 4], [3, 4, 5]];

/** The k-th of numbers that are spread over [0, 1), the same in every run. */
export const spread = (k) => (0.5 + k * 0.618033988749895) % 1;

/** Numbers of a grid, and points inside and outside of it, none of them where a derivative jumps. */
export function gridSample(size, channels) {
  const count = size.reduce((product, along) => product * along, channels);
  const values = Array.from({ length: count }, (_, k) => Math.sin(1.7 * k) + 0.5 * spread(k));
  const points = Array.from({ length: 24 }, (_, k) => {
    return size.map((along, axis) => {
      const u = -3 + (along + 5) * spread(3 * k + 7 * axis);
      const rest = u - Math.floor(u);
      // Not near a whole number or a half.
      return Math.floor(u) + Math.min(Math.max(rest, 0.03), 0.97) + (Math.abs(rest - 0.5) < 0.03 ? 0.07 : 0);
    });
  });
  return { values, points };
}
