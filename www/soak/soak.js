/** Runs a job many times, and notes times, results and memory on the way. */
import { growthOf } from './memory.js';

/** Memory is read so often in a job. */
const SAMPLES = 16;

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

/**
 * @param {import('./jobs.js').JOBS[number]} job
 * @param {'cpu' | 'gpu'} backend
 * @param {{ count: number, environment: object, memory: (device: number) => object, settle?: () => Promise<void>, onProgress?: (done: number) => void, signal?: AbortSignal }} options
 *   `memory` gives a sample from the bytes on the device; `settle` is awaited before
 * @returns {Promise<object>} `{ id, backend, done, medianMs, lateMs, seconds, samples, growth, differing, last, isAborted }`: the time of a step, the one that 95 % are
 *   below, and how many results differ from the first where all should be the same
 */
export async function soak(job, backend, { count, environment, memory, settle, onProgress, signal }) {
  const opened = await job.open(backend, environment);
  const samples = [memory(opened.bytes())], times = [], begin = performance.now();
  let first = null, differing = 0, last = NaN, reached = 0;
  try {
    for (let k = 0; k < count; k++) {
      if (signal?.aborted) break;
      const start = performance.now();
      last = await opened.step(k);
      times.push(performance.now() - start);
      if (!Number.isFinite(last)) throw new Error(`${job.title}: step ${k + 1} gives ${last}`);
      first ??= last;
      if (job.repeats && last !== first) differing++;
      const share = Math.floor((SAMPLES * (k + 1)) / count);
      if (share > reached) {
        reached = share;
        await settle?.();
        samples.push(memory(opened.bytes()));
        onProgress?.(k + 1);
        // The page draws, and collects what is garbage.
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
  } finally {
    opened.dispose();
  }
  const sorted = times.toSorted((a, b) => a - b);
  return {
    id: job.id, title: job.title, backend, done: times.length, medianMs: quantile(sorted, 0.5), lateMs: quantile(sorted, 0.95), seconds: (performance.now() - begin) / 1000,
    samples, growth: samples.length > 2 ? growthOf(samples, job.slack) : null, differing: job.repeats ? differing : null, last, isAborted: signal?.aborted === true,
  };
}

/** Bytes in words. */
export const sizeText = (bytes) => (bytes === null ? 'not told' : bytes < 2 ** 20 ? `${(bytes / 2 ** 10).toFixed(bytes < 1e4 ? 1 : 0)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`);

/** The report as text, for an issue or a message. @param {{ date: string, agent: string, cores: number, adapter: string }} where */
export function reportText({ date, agent, cores, adapter }, results) {
  const lines = ['residua soak', `Date       ${date}`, `Browser    ${agent}`, `Processor  ${cores} threads`, `GPU        ${adapter}`, ''];
  for (const { title, backend, done, medianMs, lateMs, seconds, samples, growth, differing, isAborted, failure } of results) {
    if (failure !== undefined) {
      lines.push(`${title}, ${backend.toUpperCase()}: ${failure}`, '');
      continue;
    }
    const [start, end] = [samples[0], samples.at(-1)];
    lines.push(
      `${title}, ${backend.toUpperCase()}: ${done} in ${seconds.toFixed(1)} s${isAborted ? ', stopped' : ''}`,
      done === 0 ? '  nothing was done' : `  a step        ${medianMs.toPrecision(3)} ms, 95 % below ${lateMs.toPrecision(3)} ms`,
      `  WebAssembly   ${sizeText(start.wasm)} at the start, ${sizeText(end.wasm)} at the end`,
      `  device        ${sizeText(start.device)} at the start, ${sizeText(end.device)} at the end`,
      `  JavaScript    ${sizeText(start.heap)} at the start, ${sizeText(end.heap)} at the end`,
      `  memory        ${growth === null ? 'too few samples to tell' : growth.isFlat ? 'flat' : `GREW in the second half: WebAssembly ${growth.wasm}, device ${growth.device}, JavaScript ${growth.heap ?? 'not told'} bytes`}`,
      differing === null || differing === 0 ? '' : `  results       ${differing} DIFFER from the first`, '',
    );
  }
  return lines.filter((line, k) => line !== '' || lines[k - 1] !== '').join('\n');
}

/** Medians of both engines where both did a job, as sentences. */
export function comparison(results) {
  return results.flatMap((one) => {
    const other = results.find(({ id, backend }) => id === one.id && backend === 'gpu' && one.backend === 'cpu');
    if (other === undefined || !(one.medianMs > 0) || !(other.medianMs > 0)) return [];
    const [fast, slow, ratio] = one.medianMs <= other.medianMs ? ['CPU', 'GPU', other.medianMs / one.medianMs] : ['GPU', 'CPU', one.medianMs / other.medianMs];
    return [`${one.title}: the ${fast} takes a step ${Number(ratio.toPrecision(2)).toLocaleString('en-US')} times as fast as the ${slow}.`];
  });
}
