// Loading damaged models: what each attempt may do.
import assert from 'node:assert/strict';
import { ResiduaError } from '../pkg-template/dist/tensor.js';

/** How many cases a script has in all; RESIDUA_CASES asks for more. */
export const CASES = Number(process.env.RESIDUA_CASES ?? 3000);
/** A load, a recording and a run of these models take milliseconds. This is far more, on a busy machine too. */
const MOST_MS = 10_000;
/** The models have a few kilobytes, and a few more numbers in between. */
const MOST_BYTES = 2 ** 26;

/** Loads and, where that goes, records a model; `runs`: runs the program too. Returns the error, or null. */
async function attempt(load, feedsOf, runs) {
  let model;
  try {
    model = await load();
    const feeds = feedsOf(model.inputs);
    if (runs) await model.run(feeds);
    else model.recipe(feeds);
    return null;
  } catch (error) {
    return error;
  } finally {
    model?.dispose();
  }
}

/** Asserts that a model is refused with a message or runs, at once and without memory that nothing asks for. Returns the error, or null. */
export async function checkModel({ load, feedsOf, device, words, runs = false }) {
  const start = performance.now();
  const error = await attempt(load, feedsOf, runs);
  assert.ok(error === null || (error instanceof ResiduaError && error.code !== 'internal'), `${words}: ${error?.stack}`);
  assert.ok(performance.now() - start < MOST_MS, `${words} took ${performance.now() - start} ms`);
  assert.ok(device.stats().tensorBytes < MOST_BYTES, `${words} has ${device.stats().tensorBytes} bytes`);
  return error;
}
