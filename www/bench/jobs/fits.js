/** Many small problems: fits of a peak with five parameters to 25 noisy samples each. */
import { solveMany } from 'residua';
import { peer } from '../contenders/peers.js';
import { gpuPresent } from '../contenders/residua.js';
import { unable } from '../contenders/unable.js';
import { costsOf, makePeaks, peakTemplate } from '../many.js';
import { PlainPeaks } from '../plain/peaks.js';

const SAMPLES = 25;
const NOISE = 0.02;
const TESTS = { maxIterations: 100, costTolerance: 1e-6, gradientTolerance: 1e-6 };

function input(count) {
  const times = Float64Array.from({ length: SAMPLES }, (_, i) => (2 * i) / (SAMPLES - 1) - 1);
  return { size: count, residuals: count * SAMPLES, times, ...makePeaks(count, times, NOISE) };
}

/** The median of the fits' costs: a few fits that end in another minimum do not change it. */
function typicalCost(costs) {
  return Float64Array.from(costs).sort()[costs.length >> 1];
}

const residua = (backend, name, precision) => ({
  name, precision, timing: 'wall; data given, parameters read back', known: true,
  absent: backend === 'gpu' ? gpuPresent : undefined,
  prepare({ size: count, times, samples, starts }) {
    const template = peakTemplate(times);
    const batch = { count, parameters: { peak: starts }, data: { samples: { y: samples } } };
    return {
      run: () => solveMany(template, batch, { backend, ...TESTS }),
      after: (result) => ({
        value: typicalCost(costsOf(result.x, samples, times)),
        notes: { converged: result.converged, 'iterations, mean': result.iterations.reduce((sum, n) => sum + n, 0) / count, ...(backend === 'auto' ? { took: result.backend } : {}) },
      }),
    };
  },
});

export const fits = {
  name: 'fits',
  title: 'Many fits of a peak with five parameters to 25 samples each',
  unit: 'fits',
  sizes: [12, 100, 1_000, 10_000, 100_000],
  input,
  // The cost is flat at its minimum: both the effect of the tolerance of 1e-6 and the rounding of 25 squares in single precision are below
  // this.
  tolerance: { f64: { value: 1e-5 }, f32: { value: 1e-3 } },
  contenders: [
    {
      name: 'plain loop', timing: 'wall; in place', precision: 'f64', known: true,
      prepare({ times, samples, starts, size: count }) {
        const peaks = new PlainPeaks(times);
        return { run: () => peaks.fit(samples, starts, TESTS), after: ({ cost, iterations }) => ({ value: typicalCost(cost), notes: { 'iterations, mean': iterations / count } }) };
      },
    },
    residua('gpu', 'residua GPU', 'f32'),
    residua('cpu', 'residua CPU', 'f64'),
    residua('auto', 'residua auto', 'f32'),
    {
      name: 'ml-levenberg-marquardt', timing: 'wall; derivatives by hand; as many iterations as the plain loop takes in the mean, for want of its tests', precision: 'f64',
      absent: () => peer('ml-levenberg-marquardt'),
      async prepare({ times, samples, starts, size: count }) {
        const { levenbergMarquardt } = await peer('ml-levenberg-marquardt');
        const plain = new PlainPeaks(times).fit(samples, starts, TESTS);
        const x = Array.from(times);
        const model = ([amplitude, centre, width, offset, slope]) => (t) => {
          const z = (t - centre) / width;
          return amplitude * Math.exp(-z * z) + offset + slope * t;
        };
        const jacobianFunction = ([amplitude, centre, width]) => (t) => {
          const z = (t - centre) / width, bell = Math.exp(-z * z), byCentre = (2 * amplitude * bell * z) / width;
          return [bell, byCentre, byCentre * z, 1, t];
        };
        const options = { jacobianFunction, damping: 1e-3, errorTolerance: 0, maxIterations: Math.ceil(plain.iterations / count) };
        return {
          run() {
            const found = new Float64Array(5 * count);
            for (let k = 0; k < count; k++) {
              const data = { x, y: Array.from(samples.subarray(SAMPLES * k, SAMPLES * (k + 1))) };
              found.set(levenbergMarquardt(data, model, { ...options, initialValues: Array.from(starts.subarray(5 * k, 5 * k + 5)) }).parameterValues, 5 * k);
            }
            return found;
          },
          after: (found) => ({ value: typicalCost(costsOf(found, samples, times)) }),
        };
      },
    },
    unable('jax-js', 'it brings no least-squares solver'),
    unable('TensorFlow.js', 'it brings no least-squares solver'),
  ],
};
