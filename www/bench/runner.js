/**
 * Runs one job: for each size the contenders side by side, their samples interleaved, so that what disturbs the machine disturbs all of them alike. Takes
 * a job and settings; tells rows, each a plain object of figures (see `ROW`).
 *
 * A job has `name`, `title`, `unit` (what a size counts), `sizes`, `input(size)` which makes what all contenders get ({ size, residuals, ... }),
 * `tolerance` (by precision, how far a value may be from the reference's), and `contenders`, of which the first is the reference. A contender has
 *
 *   name, timing      `timing` says what is timed: wall time with what read-back, or GPU time and how
 *   precision         'f32' or 'f64'
 *   absent()          rejects with the reason why it is not here, if it is not
 *   cannot(input)     the reason why it does not do this size, or undefined
 *   growth            the power of the size that its time grows with, 1 by default
 *   prepare(input)    → { run, before, after, units, notes, dispose }: run() gives a value, or { value, gradient, against, notes }; before() is not timed,
 *                     nor is after(what run gave), which gives the value where there is one; a run does `units` of what the job is about. With `ownTime`
 *                     what run gives has `ms`, which counts in place of the wall time
 *
 * No contender is begun that, going by its time at a smaller size, would take longer than the budget.
 */
import { extrapolated, inWords, least, median, relativeDifference, vectorDifference } from './statistics.js';

/** What stands in a row, in this order; `status` is 'measured', 'wrong', 'unchecked', 'skipped', 'unable' or 'failed'. */
export const ROW = ['contender', 'size', 'residuals', 'status', 'least, ms', 'median, ms', 'first, ms', 'reps', 'timing', 'precision', 'value', 'difference', 'gradient difference', 'prepare, ms', 'reason', 'notes'];

/** A sample lasts at least so long, by repetition: clocks of pages tick every 0.1 ms, some every 0.005 ms. */
const LEAST_SAMPLE_MS = 4;
const MOST_RUNS = 10_000;
/** Untimed runs before a sample take about so long. */
const WAKING_MS = 1;
const MOST_PREPARED_RUNS = 40;
/** Sizes at which a contender whose time is unknown is tried first, unreported. */
const TRIALS = [1_000, 10_000, 100_000];

/** Lets the page draw, and hear its buttons. */
const breathe = () => new Promise((resolve) => setTimeout(resolve));

/** One contender at one size: prepared, run once, and what that gave. */
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

/** Milliseconds of one run, by as many as make a sample. */
async function sample({ run, before, after, ownTime = false }, shareMs, now, wake = false) {
  if (ownTime) return (await run()).ms;
  const least = Math.min(LEAST_SAMPLE_MS, shareMs);
  let [spent, runs] = [0, 0];
  if (before === undefined && after === undefined) {
    // What ran before has left caches and a resting device behind: a millisecond of runs is not timed, so that nobody pays for his neighbour.
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

/** How far a result is from the reference's, and whether that is further than rounding goes. */
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
 * @param {{ sizes: number[], reps: number, budgetMs: number, contenders?: (name: string) => boolean, stopped?: () => boolean, now?: () => number }} settings
 *   `now` is the clock, in milliseconds
 * @param {(row: object) => void} tell
 * @param {(words: string, log?: boolean) => void} progress to be shown; `log` where it is worth a line
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
    await breathe();
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
      await breathe();
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
        // The reference is what the others are checked against: it may take longer.
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

/** Keeps what a contender took, and how often it was prepared. */
const note = (known, contender, times) => known.set(contender, { ...times, preparations: 1 + (known.get(contender)?.preparations ?? 0) });

/**
 * What preparing, a first run and a later one would take. What a first run takes longer than a later one (shaders, caches) does not grow; nor does anything
 * below a thousand, where overhead is all there is, and preparing for the first time is no measure for the next.
 */
function predicted(last, contender, size) {
  if (last === undefined) return 0;
  const grown = (ms) => extrapolated(ms, Math.max(last.size, 1_000), Math.max(size, 1_000), contender.growth);
  return (last.size < 1_000 ? 0 : grown(last.prepareMs)) + (last.firstMs - last.laterMs) + 2 * grown(last.laterMs);
}

/**
 * Times a contender at smaller sizes first, as far as the budget goes, where nothing says yet how long it takes, or what is known says that it takes too long
 * from far below, where overhead counts for more. Who was prepared once only is prepared again at that size: the first time had shaders to compile, which do not grow.
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
    await breathe();
  }
}

/** Times a contender at a size, unreported; false where it can't do that. */
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

/** A sample of each in turn, until each has as many as asked for or has used up its time. */
async function interleave(begun, settings, progress) {
  for (let round = 0; round < settings.reps; round++) {
    for (const one of begun) {
      if (one.failure !== undefined || settings.stopped?.()) continue;
      if (round > 0 && (one.spent ?? 0) + 1.2 * one.samples[0] > settings.budgetMs) continue;
      if (round === 0 || one.samples[0] > 100) {
        progress(one);
        await breathe();
      }
      try {
        const began = settings.now();
        // Runs that are long wake what they need by themselves.
        one.samples.push(await sample(one.attempt, one.shareMs, settings.now, one.firstMs < 10 * WAKING_MS));
        one.spent = (one.spent ?? 0) + settings.now() - began;
      } catch (error) {
        one.failure = error?.message ?? String(error);
      }
    }
  }
}
