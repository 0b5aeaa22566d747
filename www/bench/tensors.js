/**
 * Tensors beside TensorFlow.js and jax-js: products of matrices, rows, maps, reductions, a convolution, Fourier transforms, factorisations, and the round trip of a small program.
 *
 * Times of each library are of the same work on the same numbers: 'GPU, ms' by the device's timestamps where the library has them, which contain some 9 µs a kernel; 'GPU in one pass, ms' the same
 * where each kernel is dispatched many times between its timestamps, the least of some runs, for residua alone; 'in a row, ms' is the time of many runs without a read between them, divided by
 * their number, which holds for all; 'with a read, ms' is one run and a number of its result in JavaScript, by the median and the least of up to 200. The mean of the result, and that of its
 * elements with random signs, are compared with double precision.
 *
 * Parameters: `divisor` (of the sizes, 1 by default), `works` (names, by their beginnings), `engine` ('gpu', by default; 'cpu' compares the CPU engine with tfjs-backend-wasm on one thread).
 */
import { numbers } from './parameters.js';
import { median, oneOfMany } from './statistics.js';
import { convolution } from './tensors/convolution.js';
import { transforms } from './tensors/fourier.js';
import { factorisations } from './tensors/linalg.js';
import { jax, residua, tfjs, tfjsWasm } from './tensors/libraries.js';
import { mlpStep } from './tensors/mlp-step.js';
import { warmUp } from './tensors/warm-up.js';
import { numbersOf, signsOfElements, transposed, works } from './tensors/works.js';

export const name = 'tensors';
export const onDemand = true;
export const title = 'Tensors beside TensorFlow.js and jax-js';

/** Runs in a row: enough that the browser's timer for finished work, 3 ms, is a small part. */
const IN_A_ROW = 20;
/** Samples of runs whose dispatches are repeated, of which the least counts. */
const SAMPLES_IN_ONE_PASS = 40;
/** A mean of a result may be off by this much of its scale: sums of n numbers in single precision, in whatever order. */
const TOLERANCE = 1e-3;

async function measure(library, work, operands, expected, reps) {
  const row = { work: work.name, size: work.size, contender: library.name };
  let prepared;
  try {
    const began = performance.now();
    prepared = await library.prepare(work, operands);
    prepared.run();
    const value = await prepared.read();
    const firstMs = performance.now() - began;
    let difference = Math.abs(value - expected.value) / expected.scale;
    if (expected.shape !== undefined) {
      prepared.run();
      const { shape } = expected;
      const factors = signsOfElements(shape);
      const weighted = await (work.transposed?.includes(library.key) ? prepared.weighted(transposed(factors, shape), [...shape].reverse()) : prepared.weighted(factors, shape));
      // NaN if either is.
      difference = Math.max(difference, Math.abs(weighted - expected.weighted) / expected.weightedScale);
    }
    Object.assign(row, { status: difference <= TOLERANCE ? 'measured' : 'wrong', 'first, ms': firstMs, value, difference });
    await warmUp(prepared);
    const alone = await timesWithRead(prepared);
    const [many, one] = [[], []];
    for (let rep = 0; rep < reps; rep++) {
      const once = performance.now();
      for (let i = 0; i <= IN_A_ROW; i++) prepared.run();
      await prepared.finish();
      const last = performance.now();
      prepared.run();
      await prepared.finish();
      many.push(last - once);
      one.push(performance.now() - last);
    }
    const gpuMs = (await prepared.gpuMs(IN_A_ROW)) ?? undefined;
    const repeatedMs = (await prepared.repeatedMs?.(SAMPLES_IN_ONE_PASS)) ?? undefined;
    const inARow = oneOfMany(many, one, IN_A_ROW);
    const ms = repeatedMs ?? gpuMs ?? inARow;
    const rate = (amount) => (amount === undefined || ms === undefined ? undefined : amount / ms / 1e6);
    Object.assign(row, { 'GPU, ms': gpuMs, 'GPU in one pass, ms': repeatedMs, 'in a row, ms': inARow, 'with a read, ms': median(alone), 'with a read, least, ms': Math.min(...alone), 'GFLOP/s': rate(work.operations), 'GB/s': rate(work.bytes) });
  } catch (error) {
    Object.assign(row, { status: row.status === undefined ? 'unable' : 'failed', reason: error?.message ?? String(error) });
  } finally {
    prepared?.dispose();
  }
  return row;
}

/** Times of runs whose result is read, as many as take so long. */
async function timesWithRead({ run, read }) {
  const times = [];
  const [least, most, until] = [5, 200, performance.now() + 500];
  while (times.length < least || (times.length < most && performance.now() < until)) {
    const start = performance.now();
    run();
    await read();
    times.push(performance.now() - start);
  }
  return times;
}

export async function run(parameters, report, progress, { reps }) {
  const engine = parameters.get('engine') ?? 'gpu';
  const [divisor] = numbers(parameters, 'divisor', [engine === 'cpu' ? 4 : 1]);
  const wanted = parameters.get('works')?.split(',');
  const libraries = engine === 'cpu' ? [residua('cpu'), tfjsWasm] : [residua('gpu'), tfjs, jax];
  const chosen = [...works(divisor), convolution(divisor), ...transforms(divisor), ...factorisations(divisor), mlpStep].filter((work) => wanted?.some((word) => work.name.startsWith(word)) ?? true);
  for (const work of chosen) {
    progress(`${work.name}, ${work.size}`, true);
    const operands = work.inputs.map((shape, k) => numbersOf(shape.reduce((a, b) => a * b, 1), k));
    const expected = work.expected(operands);
    for (const library of libraries.filter(({ key }) => key in work)) report(await measure(library, work, operands, expected, Math.min(reps, 9)));
  }
}
