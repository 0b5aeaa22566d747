// Time of a round trip to the device: browsers notice finished work on a timer, 100 ms in Firefox, unless there are submissions (crates/gpu/src/completion.rs).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browserName, launch, openBlankPage } from '../browser.mjs';

/** Calls that are timed, after some that warm up. */
const CALLS = 20;
/**
 * The longest median of a short call, in milliseconds: half of Firefox's timer. With empty submissions a call takes 1 on lavapipe and 3 to 6 on SwiftShader;
 * the rest is for machines with other load.
 */
const MOST = 50;
/**
 * The longest time with empty submissions for a given time without them. In Firefox a short call waits for the timer (101 to 105 ms measured), most of which the
 * submissions must save. Chromium notices finished work by itself (2.6 ms with and without): there the submissions must not cost much.
 */
const ALLOWED = { firefox: (waiting) => waiting / 4, chromium: (waiting) => 2 * waiting + 1 };

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Milliseconds of small evaluations, the median; with the channel whose turns make the empty submissions, or without. */
async function roundTrip(hasChannel) {
  const { page, close } = await openBlankPage(browser, { load: false });
  try {
    return await page.evaluate(
      async ({ calls, hasChannel }) => {
        if (!hasChannel) delete window.MessageChannel;
        const { GpuCompiledFunctions, Problem } = await import('residua');
        const problem = new Problem();
        const x = problem.parameters('x', { dim: 1, values: [1, 2, 3] });
        problem.residuals('double', { inputs: { x: x.at([0, 1, 2]) }, residual: ({ x }) => x.mul(2) });
        const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu' });
        const times = [];
        for (let call = -5; call < calls; call++) {
          const began = performance.now();
          const values = await functions.evaluate([call, 0, 1]);
          if (call >= 0) times.push(performance.now() - began);
          if (values[0] !== 2 * call) throw new Error(`twice ${call} is ${values[0]}`);
        }
        functions.dispose();
        return times.sort((a, b) => a - b)[calls >> 1];
      },
      { calls: CALLS, hasChannel },
    );
  } finally {
    await close();
  }
}

test('a small evaluation returns well before the browser would look by itself', async () => {
  const [submitting, waiting] = [await roundTrip(true), await roundTrip(false)];
  const figures = `round trip in ${browserName}, median of ${CALLS}: ${submitting.toFixed(1)} ms, without empty submissions ${waiting.toFixed(1)} ms`;
  console.log(figures);
  assert.ok(submitting < MOST, figures);
  assert.ok(submitting <= ALLOWED[browserName](waiting), figures);
});
