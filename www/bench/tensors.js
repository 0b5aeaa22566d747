/**
 * Tensors beside TensorFlow.js and jax-js: products of matrices, rows, maps, reductions, and the round trip of a small program.
 *
 * Times of each library are of the same work on the same numbers: 'GPU, ms' by the device's timestamps where the library has them; 'in a row, ms' is the time of many runs without a read
 * between them, divided by their number, which holds for all; 'with a read, ms' is one run and a number of its result in JavaScript. The mean of the result is compared with
 * double precision.
 *
 * Parameters: `divisor` (of the sizes, 1 by default), `works` (names, by their beginnings), `engine` ('gpu', by default; 'cpu' compares the CPU engine with tfjs-backend-wasm on one thread).
 */
import { numbers } from './parameters.js';
import { median } from './statistics.js';
import { jax, residua, tfjs, tfjsWasm } from './tensors/libraries.js';
import { mlpStep } from './tensors/mlp-step.js';
import { numbersOf, works } from './tensors/works.js';

export const name = 'tensors';
export const onDemand = true;
export const title = 'Tensors beside TensorFlow.js and jax-js';

/** Runs in a row: enough that the browser's timer for finished work, 3 ms, is a small part. */
const IN_A_ROW = 20;
/** A result's mean may be off by this much of its scale: sums of n numbers in single precision, in whatever order. */
const TOLERANCE = 1e-3;

async function measure(library, work, operands, expected, reps) {
  const row = { work: work.name, size: work.size, contender: library.name };
  let prepared;
  try {
    const began = performance.now();
    prepared = await library.prepare(work, operands);
    prepared.run();
    const value = await prepared.read();
    const difference = Math.abs(value - expected.value) / expected.scale;
    Object.assign(row, { status: difference <= TOLERANCE ? 'measured' : 'wrong', 'first, ms': performance.now() - began, value, difference });
    const [alone, inARow] = [[], []];
    for (let rep = 0; rep < reps; rep++) {
      const start = performance.now();
      prepared.run();
      await prepared.read();
      const once = performance.now();
      alone.push(once - start);
      for (let i = 0; i <= IN_A_ROW; i++) prepared.run();
      await prepared.finish();
      const many = performance.now();
      prepared.run();
      await prepared.finish();
      // The time of one run with its wait is taken away, and the wait with it.
      inARow.push((many - once - (performance.now() - many)) / IN_A_ROW);
    }
    const gpuMs = await prepared.gpuMs(IN_A_ROW);
    const ms = gpuMs ?? median(inARow);
    Object.assign(row, {
      'GPU, ms': gpuMs ?? undefined, 'in a row, ms': median(inARow), 'with a read, ms': median(alone),
      ...(work.operations === undefined ? {} : { 'GFLOP/s': work.operations / ms / 1e6 }), ...(work.bytes === undefined ? {} : { 'GB/s': work.bytes / ms / 1e6 }),
    });
  } catch (error) {
    Object.assign(row, { status: row.status === undefined ? 'unable' : 'failed', reason: error?.message ?? String(error) });
  } finally {
    prepared?.dispose();
  }
  return row;
}

export async function run(parameters, report, progress, { reps }) {
  const engine = parameters.get('engine') ?? 'gpu';
  const [divisor] = numbers(parameters, 'divisor', [engine === 'cpu' ? 4 : 1]);
  const wanted = parameters.get('works')?.split(',');
  const libraries = engine === 'cpu' ? [residua('cpu'), tfjsWasm] : [residua('gpu'), tfjs, jax];
  const chosen = [...works(divisor), mlpStep].filter((work) => wanted?.some((word) => work.name.startsWith(word)) ?? true);
  for (const work of chosen) {
    progress(`${work.name}, ${work.size}`, true);
    const operands = work.inputs.map((shape, k) => numbersOf(shape.reduce((a, b) => a * b, 1), k));
    const expected = work.expected(operands);
    for (const library of libraries) report(await measure(library, work, operands, expected, Math.min(reps, 9)));
  }
}
