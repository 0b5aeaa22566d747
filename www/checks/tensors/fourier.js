/** Fourier transforms in double precision, and how far those of tensors may be from them. */

/** The smallest prime factor of a whole number above 1. */
function primeOf(n) {
  for (let p = 2; p * p <= n; p++) if (n % p === 0) return p;
  return n;
}

/**
 * Σⱼ x[j] e^(sign·2πi jk/n), as real and imaginary parts: by the smallest prime factor p of the length, each of n/p columns on its own, then sums of p of them.
 *
 * @param {ArrayLike<number>} re
 * @param {ArrayLike<number>} im
 * @param {1 | -1} sign
 */
export function transformed(re, im, sign) {
  const n = re.length;
  if (n === 1) return [Float64Array.from(re), Float64Array.from(im)];
  const p = primeOf(n);
  const m = n / p;
  const every = (list, from) => Float64Array.from({ length: m }, (_, i) => list[i * p + from]);
  const columns = Array.from({ length: p }, (_, from) => transformed(every(re, from), every(im, from), sign));
  const [cosines, sines] = [Math.cos, Math.sin].map((f) => Float64Array.from({ length: n }, (_, t) => f((sign * 2 * Math.PI * t) / n)));
  const [x, y] = [new Float64Array(n), new Float64Array(n)];
  for (let k = 0; k < n; k++) {
    columns.forEach(([a, b], from) => {
      const [t, at] = [(from * k) % n, k % m];
      x[k] += a[at] * cosines[t] - b[at] * sines[t];
      y[k] += a[at] * sines[t] + b[at] * cosines[t];
    });
  }
  return [x, y];
}

/** ‖found − expected‖ / ‖expected‖ of complex numbers in parts. */
export function relativeError([re, im], [x, y]) {
  let [difference, size] = [0, 0];
  for (let k = 0; k < x.length; k++) {
    difference += (re[k] - x[k]) ** 2 + (im[k] - y[k]) ** 2;
    size += x[k] ** 2 + y[k] ** 2;
  }
  return Math.sqrt(difference / size);
}

/**
 * The largest relative error of a transform in single precision, which the documentation promises: 7 units of 2⁻²⁴. Roundings of stages add as squares; a
 * transform of 2²⁴ numbers has a few units, and so has a convolution, which takes three transforms.
 */
export const FFT_ERROR = 4e-7;

/** `count` numbers in −1 … 1 without a pattern, in single precision, the same in every run. */
export function noise(count, seed) {
  let state = seed;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state / 2 ** 31;
  });
}
