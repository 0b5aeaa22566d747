/**
 * A hundred thousand fits at once: fluorescence lifetimes of an image, pixel by pixel. A stack of images with seeded photon noise is
 * generated from cells of known lifetimes. solveMany fits the decay of each pixel, and the lifetimes form an image. Their errors are
 * compared with the least deviation that the noise allows.
 *
 * A pixel's counts at the times t are a·exp(−k·t) + b, its lifetime is 1/k. The variance of a count is its mean; 2√(n + ⅜) has variance 1
 * for every mean (F. J. Anscombe, "The transformation of Poisson, binomial and negative-binomial data", Biometrika 35, 1948), so the
 * residual compares these.
 */
import { Problem, solveMany, V } from 'residua';
import { seededNoise } from '../../problems/seeded-noise.js';

/** Available sizes, by their number of pixels. */
export const SIZES = {
  '1,000': { width: 40, height: 25 }, '10,000': { width: 125, height: 80 }, '100,000': { width: 400, height: 250 }, '400,000': { width: 800, height: 500 },
};
/** Samples of a decay, and the time of the last one in nanoseconds. */
const SAMPLES = 24, LAST_TIME = 12;
const CELLS = 26;
/** The displayed range, in nanoseconds. */
export const LIFETIMES = { least: 0.5, most: 4 };

const smoothstep = (from, to, x) => {
  const t = Math.min(1, Math.max(0, (x - from) / (to - from)));
  return t * t * (3 - 2 * t);
};

/** Cells are ellipses, each with a lifetime, a brightness and a nucleus that differs in both. */
function cells(width, height, { uniform }) {
  const between = (low, high) => low + (high - low) * uniform();
  return Array.from({ length: CELLS }, () => {
    const angle = between(0, Math.PI), radius = between(0.07, 0.15) * height;
    return {
      x: between(0.04, 0.96) * width, y: between(0.06, 0.94) * height, cos: Math.cos(angle), sin: Math.sin(angle), long: radius * between(1.1, 1.7), short: radius * between(0.8, 1.1),
      lifetime: between(1.4, 3.4), brightness: between(350, 900), nucleus: between(0.55, 0.8), ripple: between(0.15, 0.4),
    };
  });
}

/** True amplitudes, rates and backgrounds of the pixels, row after row. */
function trueFields(width, height, noise) {
  const all = cells(width, height, noise);
  const truth = new Float64Array(3 * width * height);
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      let [brightness, lifetime] = [140 + 40 * Math.sin(0.02 * column + 0.03 * row), 1 + 0.15 * Math.sin(0.045 * row - 0.03 * column)];
      for (const cell of all) {
        const [dx, dy] = [column - cell.x, row - cell.y];
        const [u, v] = [(cell.cos * dx + cell.sin * dy) / cell.long, (cell.cos * dy - cell.sin * dx) / cell.short];
        const distance = Math.hypot(u, v);
        const inside = 1 - smoothstep(0.92, 1.04, distance), nucleus = 1 - smoothstep(0.3, 0.38, Math.hypot(u - 0.12, v + 0.1));
        const own = cell.lifetime * (1 + 0.12 * (u + v)) * (1 - (1 - cell.nucleus) * nucleus);
        const light = cell.brightness * (1 - cell.ripple * distance ** 2) * (1 - 0.35 * nucleus);
        brightness += inside * (light - brightness);
        lifetime += inside * (own - lifetime);
      }
      truth.set([brightness, 1 / lifetime, 8], 3 * (row * width + column));
    }
  }
  return truth;
}

/**
 * The stack, with its truth.
 * @returns {{ width: number, height: number, times: Float64Array, counts: Float64Array, truth: Float64Array }} counts pixel after pixel, a decay each; truth
 *   has amplitude, rate and background of each pixel
 */
export function makeStack({ width, height } = SIZES['100,000'], seed = 41) {
  const noise = seededNoise(seed);
  const times = Float64Array.from({ length: SAMPLES }, (_, i) => (LAST_TIME * i) / (SAMPLES - 1));
  const truth = trueFields(width, height, noise);
  const counts = new Float64Array(width * height * SAMPLES);
  for (let pixel = 0; pixel < width * height; pixel++) {
    const [a, k, b] = truth.subarray(3 * pixel, 3 * pixel + 3);
    for (let i = 0; i < SAMPLES; i++) {
      const mean = a * Math.exp(-k * times[i]) + b;
      // A Poisson number; from a mean of eight on, a normal number approximates it.
      counts[SAMPLES * pixel + i] = Math.max(0, Math.round(mean + Math.sqrt(mean) * noise.normal()));
    }
  }
  return { width, height, times, counts, truth };
}

/** Starts estimated from each decay: the background from its tail, the lifetime from its area over its height. */
export function readStarts({ times, counts }) {
  const samples = times.length, tail = samples >> 2, spacing = times[1] - times[0];
  const starts = new Float64Array((3 * counts.length) / samples);
  for (let pixel = 0; pixel < counts.length / samples; pixel++) {
    const decay = counts.subarray(samples * pixel, samples * (pixel + 1));
    const background = decay.subarray(samples - tail).reduce((a, b) => a + b) / tail;
    const area = decay.reduce((a, b) => a + b) - samples * background;
    const height = Math.max(1, decay[0] - background);
    starts.set([height, height / Math.max(area * spacing, 0.3 * height), background], 3 * pixel);
  }
  return starts;
}

const stabilised = (count) => V.max(count, 0).add(0.375).sqrt().mul(2);

/** The fit of one pixel: the template of all. */
export function lifetimeTemplate(times) {
  const template = new Problem();
  const decay = template.parameters('decay', { dim: 3, values: [100, 0.5, 1] });
  template.residuals('samples', {
    inputs: { decay: decay.shared(), t: template.data(times), count: template.data(new Float64Array(times.length)) },
    residual: ({ decay: { x: amplitude, y: rate, z: background }, t, count }) => stabilised(rate.mul(t).neg().exp().mul(amplitude).add(background)).sub(stabilised(count)),
  });
  return template;
}

/** Fits every pixel. `options` are those of solveMany: backend, context, onProgress, signal. */
export async function fitStack(stack, options = {}) {
  const count = stack.width * stack.height;
  const began = performance.now();
  const result = await solveMany(lifetimeTemplate(stack.times), { count, parameters: { decay: readStarts(stack) }, data: { samples: { count: stack.counts } } }, options);
  const milliseconds = performance.now() - began;
  const lifetimes = Float64Array.from({ length: count }, (_, pixel) => 1 / result.x[3 * pixel + 1]);
  return {
    lifetimes, backend: result.backend, fallbackReason: result.fallbackReason, converged: result.converged, milliseconds, fitsPerSecond: count / (milliseconds / 1000),
    iterations: result.iterations.reduce((a, b) => a + b, 0) / count,
  };
}

/**
 * The least standard deviation of a pixel's lifetime that photon noise allows (Cramér and Rao): from the Fisher information Σ ∇m ∇mᵀ / m, m
 * the mean count.
 */
export function leastDeviation(times, [a, k, b]) {
  let [aa, ak, ab, kk, kb, bb] = [0, 0, 0, 0, 0, 0];
  for (const t of times) {
    const decay = Math.exp(-k * t), mean = a * decay + b, byRate = -a * t * decay;
    aa += (decay * decay) / mean;
    ak += (decay * byRate) / mean;
    ab += decay / mean;
    kk += (byRate * byRate) / mean;
    kb += byRate / mean;
    bb += 1 / mean;
  }
  const determinant = aa * (kk * bb - kb * kb) - ak * (ak * bb - kb * ab) + ab * (ak * kb - kk * ab);
  // The variance of the rate is its cofactor over the determinant; that of the lifetime 1/k is 1/k⁴ times as large.
  return Math.sqrt((aa * bb - ab * ab) / determinant) / (k * k);
}

/** The errors of the lifetimes relative to the true ones, and in units of the least deviation. */
export function compareWithTruth({ times, truth }, lifetimes) {
  const relative = [], standardised = [];
  let bias = 0, lost = 0;
  lifetimes.forEach((lifetime, pixel) => {
    const own = truth.subarray(3 * pixel, 3 * pixel + 3), expected = 1 / own[1];
    const z = (lifetime - expected) / leastDeviation(times, own);
    // A pixel whose fit failed has no lifetime; the statistics omit it.
    if (!(Math.abs(z) < 20)) {
      lost++;
      return;
    }
    relative.push(Math.abs(lifetime / expected - 1));
    standardised.push(z);
    bias += lifetime / expected - 1;
  });
  relative.sort((a, b) => a - b);
  const at = (share) => relative[Math.floor(share * (relative.length - 1))];
  return {
    lost, median: at(0.5), ninetyFive: at(0.95), bias: bias / relative.length,
    deviations: Math.sqrt(standardised.reduce((sum, z) => sum + z * z, 0) / standardised.length),
  };
}

/**
 * Colours of increasing brightness that are also distinct in grey: D. A. Green's "cubehelix" (Bulletin of the Astronomical Society of India
 * 39, 2011).
 * @param {number} share 0 to 1
 * @returns {[number, number, number]} 0 to 255
 */
export function colourOf(share) {
  const x = 0.08 + 0.88 * Math.min(1, Math.max(0, share));
  const angle = 2 * Math.PI * (0.5 / 3 + 1 - 1.1 * x), amplitude = (1.25 * x * (1 - x)) / 2;
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const channel = (byCos, bySin) => Math.round(255 * Math.min(1, Math.max(0, x + amplitude * (byCos * c + bySin * s))));
  return [channel(-0.14861, 1.78277), channel(-0.29227, -0.90649), channel(1.97294, 0)];
}

/** Lifetimes as pixels, red, green, blue and opacity; pixels without a lifetime are grey. */
export function paintLifetimes(lifetimes) {
  const pixels = new Uint8ClampedArray(4 * lifetimes.length);
  const { least, most } = LIFETIMES;
  lifetimes.forEach((lifetime, pixel) => {
    const colour = lifetime > 0 && Number.isFinite(lifetime) ? colourOf((lifetime - least) / (most - least)) : [128, 128, 128];
    pixels.set([...colour, 255], 4 * pixel);
  });
  return pixels;
}

/** The sum of a stack's images: all photons of each pixel, grey. */
export function paintCounts({ times, counts }) {
  const samples = times.length;
  const sums = Float64Array.from({ length: counts.length / samples }, (_, pixel) => counts.subarray(samples * pixel, samples * (pixel + 1)).reduce((a, b) => a + b));
  const most = sums.reduce((a, b) => Math.max(a, b));
  const pixels = new Uint8ClampedArray(4 * sums.length);
  sums.forEach((sum, pixel) => {
    const grey = 255 * Math.sqrt(sum / most);
    pixels.set([grey, grey, grey, 255], 4 * pixel);
  });
  return pixels;
}
