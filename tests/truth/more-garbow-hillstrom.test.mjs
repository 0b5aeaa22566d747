// The problems of Moré, Garbow and Hillstrom, solved by Levenberg-Marquardt on both engines: their known minima.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch } from '../chromium.mjs';
import { openBlankPage } from '../e2e/blank-page.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
});
after(() => browser.close());

/** In the page: solves all problems from their standard starts; what is found is the sum of squares there in double precision. */
async function solveAll(backend) {
  const { GpuCompiledFunctions, levenbergMarquardt } = window.residua;
  const { problems, testProblem } = await import('/problems/more-garbow-hillstrom.js');
  const runs = [];
  for (const definition of problems) {
    const { problem } = testProblem(definition);
    const functions = await GpuCompiledFunctions.compile(problem, { backend });
    const exact = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
    try {
      const solved = await levenbergMarquardt(functions, { costTolerance: 1e-14, gradientTolerance: 1e-14, parameterTolerance: 1e-14, maxIterations: 1000 });
      runs.push({
        // On the device they have nothing else.
        single: solved.x.every((value) => Math.fround(value) === value),
        number: definition.number, name: definition.name, minima: definition.minima,
        initial: 2 * solved.initialCost, found: 2 * (await exact.evaluateCostWithGradient(solved.x)).value, termination: solved.termination, iterations: solved.iterations,
      });
    } finally {
      functions.dispose();
      exact.dispose();
    }
  }
  return runs;
}

/**
 * Digits of a sum of squares: of the minimum where there is one, else of the way down from the start. A minimum of 0 is reached to the square of what
 * rounding leaves of the residuals: 1e-7 of them in single precision, though unknowns of different sizes cost some.
 */
function digits({ minima, initial, found }) {
  return Math.max(...minima.map((minimum) => -Math.log10(Math.max(Math.abs(found - minimum) / (minimum === 0 ? initial : minimum), 1e-16))));
}
const NEEDED = { cpu: 9, gpu: 4 };

for (const backend of ['cpu', 'gpu']) {
  describe(`Moré-Garbow-Hillstrom on the ${backend}`, () => {
    test(`the known minima are found on the ${backend}`, async () => {
      const runs = await page.evaluate(solveAll, backend);
      assert.ok(runs.length >= 12);
      for (const run of runs) {
        const { number, name, found, termination, iterations } = run;
        console.log(`${String(number).padStart(2)} ${name.padEnd(32)} ${backend} ${digits(run).toFixed(1).padStart(5)} digits, ${found.toPrecision(10).padEnd(16)} ${String(iterations).padStart(4)} it. ${termination}`);
      }
      if (backend === 'gpu') assert.deepEqual(runs.filter(({ single }) => !single).map(({ name }) => name), []);
      const misses = runs.filter((run) => !(digits(run) >= NEEDED[backend])).map(({ name, found, minima }) => `${name}: ${found}, not ${minima.join(' or ')}`);
      assert.deepEqual(misses, []);
    });
  });
}
