/** Fourier transforms of rows of complex numbers as works: the sizes of the frequencies. See `works.js`. */
import { means } from './works.js';

/** The transform of a row, whose length is a power of two: butterflies in double precision, the input in bit-reversed order. */
function spectrum(re, im) {
  const n = re.length;
  const [x, y] = [new Float64Array(n), new Float64Array(n)];
  for (let i = 0, reversed = 0; i < n; i++) {
    [x[reversed], y[reversed]] = [re[i], im[i]];
    let bit = n >> 1;
    for (; reversed & bit; bit >>= 1) reversed ^= bit;
    reversed ^= bit;
  }
  const [cos, sin] = [Math.cos, Math.sin].map((of) => Float64Array.from({ length: n / 2 }, (_, k) => of((-2 * Math.PI * k) / n)));
  for (let half = 1; half < n; half *= 2) {
    const step = n / (2 * half);
    for (let first = 0; first < n; first += 2 * half) {
      for (let k = 0; k < half; k++) {
        const [low, high] = [first + k, first + k + half];
        const [c, s] = [cos[k * step], sin[k * step]];
        const [u, v] = [x[high] * c - y[high] * s, x[high] * s + y[high] * c];
        [x[high], y[high]] = [x[low] - u, y[low] - v];
        [x[low], y[low]] = [x[low] + u, y[low] + v];
      }
    }
  }
  return [x, y];
}

/** The sizes of the transform of a row. */
function spectrumSizes(re, im) {
  const [x, y] = spectrum(re, im);
  return x.map((value, k) => Math.hypot(value, y[k]));
}

/** TensorFlow.js computes transforms by their definition, so only those of middle length are in its reach. */
const tfjs = (tf, [re, im]) => tf.abs(tf.spectral.fft(tf.complex(re, im)));

function rows(count, length) {
  const shape = [count, length];
  // Real and imaginary parts have a variance of 1/12 each.
  const scale = Math.sqrt(length / 6);
  return {
    name: 'Fourier transform', size: `${count.toLocaleString('en-US')} of ${length.toLocaleString('en-US')}`, inputs: [shape, shape], operations: 5 * count * length * Math.log2(length),
    residua: (t, [re, im]) => t.fft(t.complex(re, im)).abs(),
    expected: ([re, im]) => means(shape, scale, scale, (row) => spectrumSizes(...[re, im].map((part) => part.subarray(row * length, (row + 1) * length)))),
  };
}

/** The sizes of the transform of a matrix along both axes: of its rows, then of the columns of what they give. */
function matrix(side) {
  const shape = [side, side];
  const scale = side / Math.sqrt(6);
  const along = (row, parts) => parts.map((part) => part.subarray(row * side, (row + 1) * side));
  return {
    name: 'Fourier transform', size: `of ${side.toLocaleString('en-US')}²`, inputs: [shape, shape], operations: 10 * side * side * Math.log2(side),
    residua: (t, [re, im]) => t.fft(t.complex(re, im), { axes: [0, 1] }).abs(),
    expected: ([re, im]) => {
      // Transforms are linear and symmetric in their axes: those of the rows first, kept for all columns.
      const spectra = Array.from({ length: side }, (_, row) => spectrum(...along(row, [re, im])));
      const columns = Array.from({ length: side }, (_, k) => spectrumSizes(...[0, 1].map((part) => spectra.map((row) => row[part][k]))));
      return means(shape, scale, scale, (row) => columns.map((column) => column[row]));
    },
  };
}

/** Many transforms of middle length, few long ones, and those of a matrix. */
export function transforms(divisor = 1) {
  const power = (n) => 2 ** Math.max(3, Math.round(Math.log2(n)));
  const side = power(4096 / divisor);
  return [{ ...rows(side, side), tfjs }, rows(16, power(2 ** 20 / divisor ** 2)), matrix(power(1024 / divisor))];
}
