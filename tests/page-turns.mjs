// How long a page waits for a turn, against a page beside it that does nothing else: the difference is what the page's own work causes.
import assert from 'node:assert/strict';

/** The longest time that work of the package may keep a page from a turn, in milliseconds: three frames of a display at 60 Hz. */
export const FRAME = 50;
/** The slices in which the page beside works, in milliseconds. */
const SLICE = 12;
/** The runs that count, and how many may be repeated. */
const RUNS = 3, MOST_BUSY = 7;

/** In a page: `workInSlices` works in slices of so many milliseconds until `isOver`, and gives its longest wait for a turn. */
function defineSlices() {
  /** Works in slices of so many milliseconds, as a page should, until it is told to stop; gives its longest wait for a turn. */
  window.workInSlices = async (slice) => {
    const { port1, port2 } = new MessageChannel();
    window.isOver = false;
    let longest = 0;
    for (let last = performance.now(); !window.isOver; ) {
      const pause = last + slice;
      while (performance.now() < pause);
      await new Promise((resolve) => ((port1.onmessage = resolve), port2.postMessage(0)));
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
    port1.close();
    return longest;
  };
}

/** Runs `work`, which gives the longest wait of its page as `longest`, while `other` works in slices; adds the longest wait of the other page as `beside`. */
async function besideAnother(other, work) {
  await other.evaluate(`(${defineSlices})()`);
  const working = other.evaluate((slice) => window.workInSlices(slice), SLICE);
  // Evaluated in order: the other page is at work then.
  await other.evaluate(() => undefined);
  const run = await work();
  await other.evaluate(() => void (window.isOver = true));
  return { ...run, beside: await working };
}

/**
 * Asserts that `work` never keeps its page from a turn for longer than a frame may take, in three runs. `other` is an empty page, which shows what the machine itself takes: where that
 * is more than two frames, the run shows nothing of the package and is repeated.
 */
export async function assertLive(other, work) {
  const runs = [], busy = [];
  while (runs.length < RUNS) {
    const run = await besideAnother(other, work);
    (run.beside > 2 * FRAME ? busy : runs).push(run);
    assert.ok(busy.length <= MOST_BUSY, `the machine is too busy for this test: ${inWords(busy)}`);
  }
  console.log(inWords(runs));
  for (const { longest, beside } of runs) assert.ok(longest <= FRAME + Math.max(0, beside - SLICE), inWords(runs));
  return runs;
}

const inWords = (runs) => `longest wait, that of the page beside it, the whole run: ${runs.map(({ longest, beside, total }) => [longest, beside, total].map((ms) => ms.toFixed(0)).join(', ')).join('; ')} ms`;
