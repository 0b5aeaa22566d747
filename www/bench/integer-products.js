/**
 * Products of many rows with quantised weights, added in f32 and in integers (`accumulate: 'int8'`), in turns.
 *
 * 'GPU in one pass, ms' is the time of the kernels of a run by timestamps, each dispatched many times in its pass, the least of some samples; of integers it
 * contains the rounding of the rows. 'in a row, ms' is the time of one of many runs without a read between them. 'difference' is the root mean square of the
 * difference to f32 by that of the result.
 *
 * Parameters: `shape` (rows, places along the depth, columns; '2048,2048,5632' by default), `types` (formats; 'q8_0,q4_0,q4_K,q6_K' by default), `engine`
 * ('gpu', by default, or 'cpu').
 */
import { Device, linear, Random } from 'residua/tensor';
import { madeBlocks } from './made-blocks.js';
import { numbers } from './parameters.js';
import { median } from './statistics.js';
import { repeatedMs } from './tensors/repeated-dispatches.js';
import { warmUp } from './tensors/warm-up.js';

export const name = 'integer-products';
export const onDemand = true;
export const title = 'Products of quantised weights in integers beside f32';

const ADDED = ['f32', 'int8'];
/** Formats that the device computes; blocks of others are made up. */
const COMPUTED = ['q8_0', 'q4_0'];
/** Runs in a row, and samples of a pass. */
const [IN_A_ROW, SAMPLES] = [20, 20];
/**
 * Numbers of rows are uniform: half a step of 1/127 of the largest has a root mean square of 0.4 % of theirs. A block's largest may be smaller, but not larger.
 */
const TOLERANCE = 0.01;

async function measure(device, type, [rows, depth, columns], reps, progress) {
  const random = new Random(1);
  const x = await device.store(random.uniform([rows, depth], -1, 1));
  let weight;
  if (COMPUTED.includes(type)) {
    const values = await device.store(random.uniform([columns, depth], -1 / Math.sqrt(depth), 1 / Math.sqrt(depth)));
    weight = await device.quantize(values, type);
    values.dispose();
  } else {
    weight = madeBlocks(device, type, [columns, depth]);
  }
  const programs = [];
  for (const accumulate of ADDED) programs.push(await device.compile({}, () => linear(x, weight, { accumulate })));
  const times = programs.map(() => ({ passes: [], inARow: [] }));
  for (const program of programs) await warmUp({ run: () => program.run(), finish: () => device.synchronize() });
  for (let rep = 0; rep < reps; rep++) {
    progress(`${type}, sample ${rep + 1} of ${reps}`);
    for (const [k, program] of programs.entries()) {
      const start = performance.now();
      for (let run = 0; run < IN_A_ROW; run++) program.run();
      await device.synchronize();
      times[k].inARow.push((performance.now() - start) / IN_A_ROW);
      if (device.features.timestamps && device.gpu !== null) times[k].passes.push(await repeatedMs(device.gpu, () => program.run(), SAMPLES));
    }
  }
  programs.forEach((program) => program.run());
  const [exact, rounded] = programs.map((program) => program.outputs);
  const meanSquare = await exact.square().mean().item();
  const difference = Math.sqrt((await rounded.sub(exact).square().mean().item()) / meanSquare);
  const result = programs.map((program, k) => {
    const { passes, inARow } = times[k];
    const ms = passes.length > 0 ? Math.min(...passes) : Math.min(...inARow);
    const status = meanSquare > 0 && difference <= TOLERANCE ? 'measured' : 'wrong';
    const row = { work: 'product', weights: type, size: `${rows} × ${depth} × ${columns}`, contender: ADDED[k], status, difference: k === 0 ? 0 : difference, kernels: program.plan.dispatches };
    return { ...row, 'GPU in one pass, ms': passes.length > 0 ? ms : undefined, 'in a row, ms': median(inARow), 'in a row, least, ms': Math.min(...inARow), 'TOP/s': (2 * rows * depth * columns) / ms / 1e9 };
  });
  programs.forEach((program) => program.dispose());
  [x, weight].forEach((tensor) => tensor.dispose());
  return result;
}

export async function run(parameters, report, progress, { reps }) {
  const backend = parameters.get('engine') ?? 'gpu';
  const shape = numbers(parameters, 'shape', [2048, 2048, 5632]);
  const types = parameters.get('types')?.split(',') ?? ['q8_0', 'q4_0', 'q4_K', 'q6_K'];
  const device = await Device.create({ backend });
  try {
    for (const type of types) {
      progress(type, true);
      for (const row of await measure(device, type, shape, Math.min(reps, 9), progress)) report(row);
    }
  } finally {
    device.dispose();
  }
}
