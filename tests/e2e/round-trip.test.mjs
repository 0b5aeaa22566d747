// How long a result on the device takes to get back: browsers notice finished work on a timer, 100 ms in Firefox, unless the queue is poked (src/gpu/poke.rs).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { browserName, launch, openBlankPage } from '../browser.mjs';

/** Calls that are timed, after some that warm up. */
const CALLS = 20;
/**
 * Half of Firefox's timer, in milliseconds, which a short call that waits for it takes whole (105 measured). Poked, one takes 1 on lavapipe and 3 to 6 on
 * SwiftShader; the room above is for machines that do something else as well.
 */
const MOST = 50;

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** Milliseconds of small evaluations, the median; with the channel that the poking goes through, or without. */
async function roundTrip(isPoked) {
  const { page, close } = await openBlankPage(browser, { load: false });
  try {
    return await page.evaluate(
      async ({ calls, isPoked }) => {
        if (!isPoked) delete window.MessageChannel;
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
      { calls: CALLS, isPoked },
    );
  } finally {
    await close();
  }
}

test('a small evaluation comes back well before the browser would look by itself', async () => {
  const [poked, waiting] = [await roundTrip(true), await roundTrip(false)];
  console.log(`round trip in ${browserName}, median of ${CALLS}: ${poked.toFixed(1)} ms, without poking ${waiting.toFixed(1)} ms`);
  assert.ok(poked < MOST, `${poked} ms`);
});
