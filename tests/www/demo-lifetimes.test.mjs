// Lifetimes of an image, pixel by pixel: the noise of the stack, and the errors of the fits relative to that noise.
import assert from 'node:assert/strict';
import { test } from 'node:test';
await import('./residua.mjs');
const { colourOf, compareWithTruth, fitStack, leastDeviation, makeStack, paintCounts, paintLifetimes, SIZES } = await import('../../www/demos/curve-fitting/lifetimes.js');

const stack = makeStack(SIZES['10,000']);
const { times, counts, truth } = stack;

test('the standard size is a hundred thousand pixels', () => {
  const { width, height } = SIZES['100,000'];
  assert.equal(width * height, 100_000);
});

test('counts have the mean of their decay and a variance equal to it', () => {
  let sum = 0, squares = 0;
  for (let k = 0; k < counts.length; k++) {
    const pixel = Math.floor(k / times.length);
    const mean = truth[3 * pixel] * Math.exp(-truth[3 * pixel + 1] * times[k % times.length]) + truth[3 * pixel + 2];
    const z = (counts[k] - mean) / Math.sqrt(mean);
    sum += z;
    squares += z * z;
  }
  // Four standard errors of 240,000 numbers, and 1/12 over a mean of at least 8 for rounding to whole counts.
  assert.ok(Math.abs(sum / counts.length) < 4 / Math.sqrt(counts.length) + 1e-3, `${sum / counts.length}`);
  assert.ok(Math.abs(squares / counts.length - 1) < 4 * Math.sqrt(2 / counts.length) + 1 / 96, `${squares / counts.length}`);
  assert.deepEqual(makeStack(SIZES['10,000']).counts, counts);
});

test('the least deviation equals that of the inverse of the Fisher information', () => {
  const parameters = [400, 0.5, 8], [a, k, b] = parameters;
  const rows = times.map((_, i) => i);
  const gradients = Array.from(rows, (i) => [Math.exp(-k * times[i]), -a * times[i] * Math.exp(-k * times[i]), 1]);
  const means = Array.from(times, (t) => a * Math.exp(-k * t) + b);
  // Solve I v = e₂ by elimination, in the lifetime τ = 1/k: dτ = −dk/k².
  const matrix = [0, 1, 2].map((row) => [...[0, 1, 2].map((column) => gradients.reduce((sum, g, i) => sum + (g[row] * g[column]) / means[i], 0)), Number(row === 1)]);
  for (let pivot = 0; pivot < 3; pivot++) {
    for (let row = 0; row < 3; row++) {
      if (row === pivot) continue;
      const factor = matrix[row][pivot] / matrix[pivot][pivot];
      matrix[row] = matrix[row].map((value, column) => value - factor * matrix[pivot][column]);
    }
  }
  const expected = Math.sqrt(matrix[1][3] / matrix[1][1]) / (k * k);
  // The condition number of the matrix is about 1e6.
  assert.ok(Math.abs(leastDeviation(times, parameters) / expected - 1) < 1e-9);
});

test('every fit converges, and errors are within a tenth of the least that photon noise allows', async () => {
  const fit = await fitStack(stack, { backend: 'cpu' });
  const errors = compareWithTruth(stack, fit.lifetimes);
  console.log(`10,000 lifetimes: ${JSON.stringify(errors)}, ${fit.milliseconds.toFixed(0)} ms, ${fit.iterations.toFixed(1)} iterations`);
  assert.deepEqual([fit.backend, fit.converged, errors.lost], ['cpu', 10_000, 0]);
  // Large counts reach the bound of Cramér and Rao; the dimmest pixels have about 150, where the fit is less linear.
  assert.ok(errors.deviations > 0.98 && errors.deviations < 1.1, `${errors.deviations}`);
  assert.ok(Math.abs(errors.bias) < 0.01, `${errors.bias}`);
});

test('the truth has no error relative to itself, and a failed fit counts as lost', () => {
  const lifetimes = Float64Array.from({ length: 10_000 }, (_, pixel) => 1 / truth[3 * pixel + 1]);
  lifetimes[3] = Infinity;
  lifetimes[4] = NaN;
  assert.deepEqual(compareWithTruth(stack, lifetimes), { lost: 2, median: 0, ninetyFive: 0, bias: 0, deviations: 0 });
});

test('the brightness of colours increases, and pixels without a lifetime are grey', () => {
  const brightness = ([r, g, b]) => 0.3 * r + 0.59 * g + 0.11 * b;
  for (let k = 0; k < 20; k++) assert.ok(brightness(colourOf((k + 1) / 20)) > brightness(colourOf(k / 20)), `${k}`);
  const painted = paintLifetimes(Float64Array.of(2, NaN, -1));
  assert.deepEqual([...painted.subarray(0, 4)], [...colourOf((2 - 0.5) / 3.5), 255]);
  assert.deepEqual([...painted.subarray(4)], [128, 128, 128, 255, 128, 128, 128, 255]);
  assert.equal(paintCounts(stack).length, 4 * 10_000);
});
