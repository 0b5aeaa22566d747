/**
 * Runs one job: for each size the contenders in turn, with interleaved samples, so that disturbances of the machine affect all of them
 * alike. Takes a job and settings; reports rows, each a plain object (see `ROW`).
 *
 * A job has `name`, `title`, `unit` (what a size counts), `sizes`, `input(size)`, which returns the input of all contenders ({ size,
 * residuals, ... }), `tolerance` (by precision, the allowed difference from the reference), and `contenders`, of which the first is the
 * reference. A contender has
 *
 *   name, timing      `timing` describes the measurement: wall time with which read-back, or GPU time and its source
 *   precision         'f32' or 'f64'
 *   absent()          rejects with the reason where the contender is not available
 *   cannot(input)     the reason why it does not run this size, or undefined
 *   growth            the power of the size with which its time grows, 1 by default
 *   prepare(input)    → { run, before, after, units, notes, dispose }: run() returns a value, or { value, gradient, against, notes };
 *                     before() is not timed, nor is after(result of run), which returns the value where there is one; a run does `units`
 *                     units of the job. With `ownTime` the result of run has `ms`, which counts instead of the wall time
 *
 * A contender is not started if its time at a smaller size predicts more than the budget.
 */
import { extrapolated, inWords, least, median, relativeDifference, vectorDifference } from './statistics.js';

/** The columns of a row, in order; `status` is 'measured', 'wrong', 'unchecked', 'skipped', 'unable' or 'failed'. */
export const ROW = ['contender', 'size', 'residuals', 'status', 'least, ms', 'median, ms', 'first, ms', 'reps', 'timing', 'precision', 'value', 'difference', 'gradient difference', 'prepare, ms', 'reason', 'notes'];

/** The least duration of a sample, which repeats runs: clocks of pages tick every 0.1 ms, some every 0.005 ms. */
const LEAST_SAMPLE_MS = 4;
const MOST_RUNS = 10_000;
/** The approximate duration of untimed runs before a sample. */
const WAKING_MS = 1;
const MOST_PREPARED_RUNS = 40;
/** Sizes at which a contender of unknown time is tried first, without a row. */
const TRIALS = [1_000, 10_000, 100_000];

/** Yields to the event loop, so that the page draws and handles input. */
const yieldToEvents = () => new Promise((resolve) => setTimeout(resolve));

/** Prepares one contender at one size and runs it once. */
async function begin(contender, input, now) {
  const began = now();
  const attempt = await contender.prepare(input);
  try {
    const prepareMs = now() - began;
    await attempt.before?.();
    const start = now();
    const made = await attempt.run();
    const firstMs = now() - start;
    const result = attempt.after === undefined ? made : await attempt.after(made);
    return { attempt, prepareMs, firstMs, result: typeof result === 'number' ? { value: result } : result };
  } catch (error) {
    attempt.dispose?.();
    throw error;
  }
}

/** Milliseconds of one run, averaged over the runs of a sample. */
async function sample({ run, before, after, ownTime = false }, shareMs, now, wake = false) {
  if (ownTime) return (await run()).ms;
  const least = Math.min(LEAST_SAMPLE_MS, shareMs);
  let [spent, runs] = [0, 0];
  if (before === undefined && after === undefined) {
    // The previous contender has changed the caches and the device's clock rate, so a millisecond of runs is not timed.
    const woken = wake ? now() + WAKING_MS : 0;
    while (now() < woken) {
      const result = run();
      if (result instanceof Promise) await result;
    }
    const start = now();
    do {
      const result = run();
      if (result instanceof Promise) await result;
      runs++;
      spent = now() - start;
    } while (spent < least && runs < MOST_RUNS);
  } else {
    do {
      await before?.();
      const start = now();
      const made = await run();
      spent += now() - start;
      await after?.(made);
      runs++;
    } while (spent < least && runs < MOST_PREPARED_RUNS);
  }
  return spent / runs;
}

/** The difference of a result from the reference's, and whether it exceeds the tolerance. */
export function judge(result, reference, limit) {
  if (reference === null) return { status: 'unchecked', reason: 'the reference did not run at this size' };
  const expected = reference[result.against ?? 'value'];
  const difference = relativeDifference(result.value, expected);
  const apart = result.gradient && reference.gradient ? vectorDifference(result.gradient, reference.gradient) : undefined;
  const figures = { difference, 'gradient difference': apart };
  if (difference <= limit.value && (apart === undefined || apart <= limit.gradient)) return { status: 'measured', ...figures };
  return { status: 'wrong', ...figures, reason: 'differs from the reference by more than rounding' };
}

/**
 * @param {object} job
 * @param {{ sizes: number[], reps: number, budgetMs: number, contenders?: (name: string) => boolean, stopped?: () => boolean, now?: () =>
 *   number }} settings
 *   `now` is the clock, in milliseconds
 * @param {(row: object) => void} tell called with each row
 * @param {(words: string, log?: boolean) => void} progress called with text to show; `log` marks text for the log
 */
export async function runJob(job, { now = () => performance.now(), ...others }, tell, progress = () => {}) {
  const settings = { now, ...others };
  const known = new Map();
  const absent = new Map();
  for (const contender of job.contenders) {
    try {
      await contender.absent?.();
    } catch (error) {
      absent.set(contender, error?.message ?? String(error));
    }
  }
  const takesPart = (contender, index) => index === 0 || (settings.contenders?.(contender.name) ?? true);
  for (const size of settings.sizes) {
    if (settings.stopped?.()) return;
    progress(`${job.title}: ${size.toLocaleString('en-US')} ${job.unit}`, true);
    await yieldToEvents();
    await runSize({ job, settings, known, absent, tell, progress, contenders: job.contenders.filter(takesPart) }, size);
  }
}

async function runSize({ job, settings, known, absent, tell, progress, contenders }, size) {
  const input = await job.input(size);
  const rows = new Map();
  const row = (contender, figures) => rows.set(contender, { contender: contender.name, size: input.size, residuals: input.residuals, timing: contender.timing, precision: contender.precision, ...figures });
  const begun = [];
  let reference = null;
  try {
    for (const contender of contenders) {
      if (settings.stopped?.()) return;
      progress(`${job.title}: ${input.size.toLocaleString('en-US')} ${job.unit}, ${contender.name}`);
      await yieldToEvents();
      if (absent.has(contender)) {
        row(contender, { status: 'unable', reason: absent.get(contender) });
        continue;
      }
      const reason = contender.cannot?.(input);
      if (reason !== undefined) {
        row(contender, { status: 'unable', reason });
        continue;
      }
      try {
        await tryOut(job, contender, input, known, settings);
        const would = predicted(known.get(contender), contender, input.size);
        // The reference may take longer, because the others are compared with it.
        if (would > settings.budgetMs * (contender === contenders[0] ? 8 : 1)) {
          row(contender, { status: 'skipped', reason: `would take about ${inWords(would)}` });
          continue;
        }
        const one = { contender, samples: [], ...(await begin(contender, input, settings.now)) };
        note(known, contender, { size: input.size, prepareMs: one.prepareMs, firstMs: one.firstMs, laterMs: one.firstMs });
        if (contender === contenders[0]) reference = { ...one.result, gradient: one.result.gradient?.slice() };
        one.verdict = judge(one.result, reference, job.tolerance[contender.precision]);
        one.result.gradient = undefined;
        one.shareMs = settings.budgetMs / settings.reps;
        begun.push(one);
      } catch (error) {
        row(contender, { status: 'failed', reason: error?.message ?? String(error) });
      }
    }
    await interleave(begun, settings, (one) => progress(`${job.title}: ${input.size.toLocaleString('en-US')} ${job.unit}, ${one.contender.name}, sample ${one.samples.length + 1}`));
    for (const one of begun) {
      const { contender, samples, verdict, result, prepareMs, firstMs, attempt, failure } = one;
      if (failure !== undefined) {
        row(contender, { status: 'failed', reason: failure });
        continue;
      }
      const units = attempt.units ?? 1;
      known.get(contender).laterMs = least(samples);
      const figures = { 'least, ms': least(samples) / units, 'median, ms': median(samples) / units, 'first, ms': firstMs / units, reps: samples.length, value: result.value, ...verdict, 'prepare, ms': prepareMs };
      const notes = { ...attempt.notes, ...result.notes };
      row(contender, { ...figures, ...(Object.keys(notes).length > 0 ? { notes } : {}) });
    }
    for (const contender of contenders) if (rows.has(contender)) tell(rows.get(contender));
  } finally {
    for (const { attempt } of begun) await attempt.dispose?.();
    await input.dispose?.();
  }
}

/** Stores the times of a contender, and how often it was prepared. */
const note = (known, contender, times) => known.set(contender, { ...times, preparations: 1 + (known.get(contender)?.preparations ?? 0) });

/**
 * Predicts the times of preparing, of a first run and of a later one. The excess of a first run (shaders, caches) does not grow with the
 * size. Below a size of 1,000 overhead dominates and nothing grows. The first preparation does not predict the next one.
 */
function predicted(last, contender, size) {
  if (last === undefined) return 0;
  const grown = (ms) => extrapolated(ms, Math.max(last.size, 1_000), Math.max(size, 1_000), contender.growth);
  return (last.size < 1_000 ? 0 : grown(last.prepareMs)) + (last.firstMs - last.laterMs) + 2 * grown(last.laterMs);
}

/**
 * Times a contender at smaller sizes first, within the budget, where its time is unknown, or where the prediction from a much smaller size,
 * with more overhead, exceeds the budget. A contender that was prepared once is prepared again at that size, because the first time
 * included shader compilation, which does not grow.
 */
async function tryOut(job, contender, input, known, settings) {
  const tooLong = () => predicted(known.get(contender), contender, input.size) > settings.budgetMs;
  const only = known.get(contender);
  if (only?.preparations === 1 && only.size >= 1_000 && tooLong()) await tryAt(job, contender, only.size, known, settings);
  for (const trial of TRIALS) {
    const last = known.get(contender);
    if (3 * trial >= input.size || (last !== undefined && 3 * last.size >= trial)) continue;
    if (last === undefined ? (contender.known ?? false) : !tooLong()) return;
    if (predicted(last, contender, trial) > settings.budgetMs) return;
    if (!(await tryAt(job, contender, trial, known, settings))) return;
    await yieldToEvents();
  }
}

/** Times a contender at a size, without a row; false where it cannot run that size. */
async function tryAt(job, contender, size, known, settings) {
  const input = await job.input(size);
  try {
    if (contender.cannot?.(input) !== undefined) return false;
    const { attempt, prepareMs, firstMs } = await begin(contender, input, settings.now);
    try {
      const laterMs = Math.min(firstMs, await sample(attempt, 1, settings.now));
      note(known, contender, { size: input.size, prepareMs, firstMs, laterMs });
    } finally {
      await attempt.dispose?.();
    }
  } finally {
    await input.dispose?.();
  }
  return true;
}

/** Takes one sample of each in turn, until each has the requested number or has used its time. */
async function interleave(begun, settings, progress) {
  for (let round = 0; round < settings.reps; round++) {
    for (const one of begun) {
      if (one.failure !== undefined || settings.stopped?.()) continue;
      if (round > 0 && (one.spent ?? 0) + 1.2 * one.samples[0] > settings.budgetMs) continue;
      if (round === 0 || one.samples[0] > 100) {
        progress(one);
        await yieldToEvents();
      }
      try {
        const began = settings.now();
        // Long runs need no warm-up.
        one.samples.push(await sample(one.attempt, one.shareMs, settings.now, one.firstMs < 10 * WAKING_MS));
        one.spent = (one.spent ?? 0) + settings.now() - began;
      } catch (error) {
        one.failure = error?.message ?? String(error);
      }
    }
  }
}
