/** Times of dispatches that follow each other in a pass: those of the kernels alone, without what a pass and its timestamps take, some 9 µs on an H200. */
import { WARM_UP_MS } from './warm-up.js';

/** Dispatches of each kernel in its pass, at least and at most: as many as take about so many milliseconds, since a device that waits between short passes lowers its clock. */
const [LEAST, MOST, PASS_MS] = [20, 2000, 8];
/** Passes that a run may have. */
const PASSES = 64;
/** Samples that are taken at least, and milliseconds after which no more are begun: a sample of a software adapter takes a second. */
const [LEAST_SAMPLES, SAMPLING_MS] = [3, 2000];

/**
 * The milliseconds of the kernels of one run, the least of up to `samples` runs. In the meantime each dispatch of compute passes is encoded many times, and each pass writes two timestamps.
 * `run` submits a run on `gpu`, a GPUDevice with timestamps, whose kernels may be run again.
 */
export async function repeatedMs(gpu, run, samples) {
  const queries = gpu.createQuerySet({ type: 'timestamp', count: 2 * PASSES });
  const resolved = gpu.createBuffer({ size: 16 * PASSES, usage: GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC });
  const readable = gpu.createBuffer({ size: 16 * PASSES, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
  const [encoders, passes] = [GPUCommandEncoder.prototype, GPUComputePassEncoder.prototype];
  const { beginComputePass } = encoders;
  const { dispatchWorkgroups } = passes;
  let begun = 0;
  let count = LEAST;
  encoders.beginComputePass = function timed(description) {
    const at = 2 * begun;
    begun += 1;
    return beginComputePass.call(this, { ...description, timestampWrites: { querySet: queries, beginningOfPassWriteIndex: at, endOfPassWriteIndex: at + 1 } });
  };
  passes.dispatchWorkgroups = function repeated(...counts) {
    for (let k = 0; k < count; k++) dispatchWorkgroups.apply(this, counts);
  };
  const sample = async () => {
    begun = 0;
    run();
    const encoder = gpu.createCommandEncoder();
    encoder.resolveQuerySet(queries, 0, 2 * begun, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, readable, 0, 16 * begun);
    gpu.queue.submit([encoder.finish()]);
    await readable.mapAsync(GPUMapMode.READ);
    const stamps = new BigUint64Array(readable.getMappedRange(0, 16 * begun));
    let nanoseconds = 0;
    for (let pass = 0; pass < begun; pass++) nanoseconds += Number(stamps[2 * pass + 1] - stamps[2 * pass]);
    readable.unmap();
    return nanoseconds / 1e6 / count;
  };
  try {
    count = Math.min(MOST, Math.max(LEAST, Math.round(PASS_MS / (await sample()))));
    const began = performance.now();
    while (performance.now() - began < WARM_UP_MS) await sample();
    const until = performance.now() + SAMPLING_MS;
    let least = Infinity;
    for (let k = 0; k < samples && (k < LEAST_SAMPLES || performance.now() < until); k++) least = Math.min(least, await sample());
    return least;
  } finally {
    encoders.beginComputePass = beginComputePass;
    passes.dispatchWorkgroups = dispatchWorkgroups;
    for (const resource of [queries, resolved, readable]) resource.destroy();
  }
}
