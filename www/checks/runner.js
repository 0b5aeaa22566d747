/**
 * Runs checks one after another. Takes checks as `numbered` returns them and the features of this browser; returns an outcome for each:
 *
 *   { id, group, title, engine, status: 'passed' | 'failed' | 'skipped', ms, notes, reason?, failure? }
 *
 * `reason` is why a check was skipped; `failure` is `{ claim, expected?, got?, error?, allowed?, because?, stack? }`, which contains only
 * texts and numbers, so that it can be sent and shown. An uncaught error or an error on the console while a check runs fails that check.
 */
import { Check } from './check.js';
import { Disagreement, inWords } from './assertions.js';

/** A check that has not ended after this time fails. The longest check refuses hundreds of buffers one by one on a software adapter. */
const LIMIT_MS = 10 * 60 * 1000;

/**
 * Why a check cannot run here, or null. @param {{ gpu: string | null, features: Set<string> }} here `gpu` is null where WebGPU works, else
 * the reason why not
 */
export function reasonToSkip(check, here) {
  if ((check.engine === 'gpu' || check.engine === 'both') && here.gpu !== null) return 'no WebGPU';
  const missing = check.needs.filter((feature) => !here.features.has(feature));
  return missing.length === 0 ? null : `the device has no ${missing.join(', ')}`;
}

function describeFailure(error) {
  if (error instanceof Disagreement) {
    const { claim, error: difference, allowed, because } = error.facts;
    const shown = { claim };
    for (const side of ['expected', 'got']) if (side in error.facts) shown[side] = inWords(error.facts[side]);
    return { ...shown, ...(difference === undefined ? {} : { error: difference }), ...(allowed === undefined ? {} : { allowed }), ...(because === undefined ? {} : { because }), stack: error.stack };
  }
  const code = typeof error?.code === 'string' ? `${error.code}: ` : '';
  return { claim: `${code}${error?.message ?? error}`, stack: error?.stack };
}

/** Records errors of the page; `stop` restores the previous handlers. */
function complaints() {
  const heard = [];
  const onError = (event) => heard.push(`uncaught: ${event.message}`);
  const onRejection = (event) => heard.push(`unhandled rejection: ${event.reason?.message ?? event.reason}`);
  const { error } = console;
  addEventListener('error', onError);
  addEventListener('unhandledrejection', onRejection);
  console.error = (...words) => {
    heard.push(`console.error: ${words.map((word) => inWords(word)).join(' ')}`);
    error.apply(console, words);
  };
  return () => {
    removeEventListener('error', onError);
    removeEventListener('unhandledrejection', onRejection);
    console.error = error;
    return heard;
  };
}

const after = (ms) => {
  let timer;
  const promise = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not end within ${ms / 1000} s`)), ms);
  });
  return { promise, clear: () => clearTimeout(timer) };
};

/** Runs one check. */
export async function runCheck(check, here, limitMs = LIMIT_MS) {
  const outcome = { id: check.id, group: check.group, title: check.title, engine: check.engine };
  const reason = reasonToSkip(check, here);
  if (reason !== null) return { ...outcome, status: 'skipped', ms: 0, notes: [], reason };
  const given = new Check(check.engine);
  const stop = complaints();
  const limit = after(limitMs);
  const began = performance.now();
  let failure = null;
  try {
    await Promise.race([(async () => check.run(given))(), limit.promise]);
  } catch (error) {
    failure = describeFailure(error);
  }
  const ms = performance.now() - began;
  limit.clear();
  try {
    await given.end();
  } catch (error) {
    failure ??= describeFailure(error);
  }
  // Unhandled rejections are reported at the end of the turn in which they happen.
  await new Promise((resolve) => setTimeout(resolve));
  const heard = stop();
  if (failure === null && heard.length > 0) failure = { claim: 'the page has nothing to complain about', expected: 'silence', got: heard.join('\n') };
  return { ...outcome, status: failure === null ? 'passed' : 'failed', ms, notes: given.notes, ...(failure === null ? {} : { failure }) };
}

/**
 * Runs several checks in order.
 * @param {(event: { id: string, running: true } | object) => void} tell called when a check begins, and with its outcome
 * @param {() => boolean} stopped called before each check
 */
export async function runChecks(checks, here, tell, stopped = () => false) {
  const outcomes = [];
  for (const check of checks) {
    if (stopped()) break;
    tell({ id: check.id, running: true });
    // The page draws between checks.
    await new Promise((resolve) => setTimeout(resolve));
    const outcome = await runCheck(check, here);
    outcomes.push(outcome);
    tell(outcome);
  }
  return outcomes;
}
