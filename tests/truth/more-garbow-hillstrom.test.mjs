// The problems of Moré, Garbow and Hillstrom, solved on both engines: their known minima.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

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
  // The unknowns are one block, whose inverse the preconditioner is: conjugate gradients are there at once.
  const options = { costTolerance: 1e-14, gradientTolerance: 1e-14, parameterTolerance: 1e-14, maxIterations: 1000, maxLinearIterations: 20 };
  const squares = (values) => values.reduce((sum, value) => sum + value * value, 0);
  const runs = [];
  for (const definition of problems) {
    const { problem } = testProblem(definition);
    const functions = await GpuCompiledFunctions.compile(problem, { backend });
    const exact = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
    try {
      const solved = await levenbergMarquardt(functions, options);
      const found = squares(await exact.evaluate(solved.x));
      const at = (await levenbergMarquardt(exact, options)).x.map(Math.fround);
      runs.push({
        // On the device they have nothing else.
        single: solved.x.every((value) => Math.fround(value) === value),
        // What the engine makes of the minimum, rounded to single precision.
        atMinimum: squares(await functions.evaluate(at)),
        number: definition.number, name: definition.name, minima: definition.minima,
        initial: 2 * solved.initialCost, found, termination: solved.termination, iterations: solved.iterations,
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
const distance = ({ minima, initial }, value) => Math.min(...minima.map((minimum) => Math.abs(value - minimum) / (minimum === 0 ? initial : minimum)));
const digits = (run) => -Math.log10(Math.max(distance(run, run.found), 1e-16));
/** In single precision a sum of squares around 1 is known to some 1e-6; the solver stops where it promises no more than that grows to on the way there. */
const NEEDED = { cpu: 9, gpu: 3 };
/** Where the engine itself is so far off at the minimum, rounded, it can't be asked to find it. */
const RESOLVED = 1e-3;

for (const backend of ['cpu', 'gpu']) {
  describe(`Moré-Garbow-Hillstrom on the ${backend}`, () => {
    test(`the known minima are found on the ${backend}`, async () => {
      const runs = await page.evaluate(solveAll, backend);
      assert.ok(runs.length >= 12);
      for (const run of runs) {
        const { number, name, found, termination, iterations } = run;
        console.log(`${String(number).padStart(2)} ${name.padEnd(32)} ${backend} ${digits(run).toFixed(1).padStart(5)} digits, ${found.toPrecision(10).padEnd(16)} ${String(iterations).padStart(4)} it. ${termination.padEnd(18)} at the minimum ${run.atMinimum.toPrecision(6)}`);
      }
      if (backend === 'gpu') assert.deepEqual(runs.filter(({ single }) => !single).map(({ name }) => name), []);
      const resolved = runs.filter((run) => distance(run, run.atMinimum) < RESOLVED);
      assert.ok(resolved.length >= 12);
      for (const run of runs) if (!resolved.includes(run)) assert.equal(run.termination, 'precision-limit', run.name);
      const misses = resolved.filter((run) => !(digits(run) >= NEEDED[backend])).map(({ name, found, minima }) => `${name}: ${found}, not ${minima.join(' or ')}`);
      assert.deepEqual(misses, []);
    });
  });
}
