// NIST's Statistical Reference Datasets, solved by Levenberg-Marquardt on both engines from both starts: digits that match the certified ones.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { hasData, listData, readData } from '../shared-data.mjs';
import { longTest } from '../tier.mjs';

/** What must match in every coefficient. The CPU works with 16 digits, of which 11 are certified and rounded. */
const CPU_DIGITS = 10, GPU_DIGITS = 4;
/** Of observations that are repeated. The noise of the cost takes roundings as independent, and theirs are the same: steps end sooner, at worst with half of the digits. */
const REPEATED_DIGITS = 6;
/** What a success by default tolerances means: at most 1e-8 of the cost is left to gain, which is a ten-thousandth of a standard error. */
const DEFAULT_DIGITS = 4;
/** Runs that may miss the certified coefficients, each for a reason that does not depend on what the run computes. */
const MAY_MISS = [
  // Three exponentials that are nearly one, with a normal matrix of condition 1e8: responses around 1, rounded to single precision, are wrong by 3e-8 on average,
  // and residuals are 3e-5. Such roundings, drawn at random, leave the minimum in double precision 3.3 to 4.1 digits. Four take model values in more than single precision.
  { name: 'Lanczos3', backend: 'gpu', start: 1 },
  { name: 'Lanczos3', backend: 'gpu', start: 2 },
];
const mayMiss = (run) => MAY_MISS.some(({ name, backend, start }) => name === run.name && backend === run.backend && start === run.start);

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(defineFits);
});
after(() => browser.close());

/** In the page: `window.fit(text, backend)` solves one dataset on an engine from both starts. */
async function defineFits() {
  const { GpuCompiledFunctions, levenbergMarquardt } = window.residua;
  const { matchingDigits, nistProblem, parseNist } = await import('/problems/nist.js');
  // The coefficients are one block, whose inverse the preconditioner is: conjugate gradients are there at once.
  const options = { costTolerance: 1e-15, gradientTolerance: 1e-15, parameterTolerance: 1e-15, maxIterations: 1000, maxLinearIterations: 20 };
  const withoutTimes = ({ history }) => JSON.stringify(history, (key, value) => (key === 'elapsedMs' ? undefined : value));

  window.fit = async (text, backend) => {
    const dataset = parseNist(text);
    const { problem, coefficients } = nistProblem(dataset, dataset.starts[0]);
    const functions = await GpuCompiledFunctions.compile(problem, { backend });
    const runs = [];
    try {
      for (const start of [0, 1]) {
        coefficients.set(dataset.starts[start]);
        const solved = await levenbergMarquardt(functions, options);
        coefficients.set(dataset.starts[start]);
        const again = await levenbergMarquardt(functions, options);
        runs.push({
          name: dataset.name, backend: functions.backend, start: start + 1,
          // On the device they have nothing else.
          single: solved.x.every((value) => Math.fround(value) === value),
          digits: matchingDigits(solved.x, dataset.certified), termination: solved.termination, iterations: solved.iterations, success: solved.success,
          repeats: withoutTimes(solved) === withoutTimes(again) && solved.x.every((value, i) => value === again.x[i]),
        });
      }
    } finally {
      functions.dispose();
    }
    return runs;
  };

  /** `window.fitByDefault(text)`: the same on the CPU with default options. */
  window.fitByDefault = async (text) => {
    const dataset = parseNist(text);
    const runs = [];
    for (const start of [0, 1]) {
      const { problem } = nistProblem(dataset, dataset.starts[start]);
      const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
      try {
        const { x, success, termination, iterations } = await levenbergMarquardt(functions);
        runs.push({ name: dataset.name, backend: 'cpu', start: start + 1, digits: matchingDigits(x, dataset.certified), success, termination, iterations });
      } finally {
        functions.dispose();
      }
    }
    return runs;
  };

  /** `window.fitRepeated(text, rows)`: the same on the CPU with observations over and over until there are so many, which move no minimum. */
  window.fitRepeated = async (text, rows) => {
    const dataset = parseNist(text);
    const times = Math.ceil(rows / dataset.y.length);
    const repeat = (column) => Float64Array.from({ length: times * column.length }, (_, i) => column[i % column.length]);
    const repeated = { ...dataset, y: repeat(dataset.y), predictors: dataset.predictors.map(repeat) };
    const runs = [];
    for (const start of [0, 1]) {
      const { problem } = nistProblem(repeated, dataset.starts[start]);
      const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
      try {
        const { x, termination, iterations, report } = await levenbergMarquardt(functions, options);
        const digits = matchingDigits(x, dataset.certified);
        runs.push({ name: dataset.name, backend: 'cpu', start: start + 1, digits, termination, iterations, linearSolver: /Linear solver +(.*)/.exec(report())[1] });
      } finally {
        functions.dispose();
      }
    }
    return runs;
  };
}

const inWords = ({ digits, termination, iterations }) => `${digits.toFixed(1).padStart(4)} digits ${String(iterations).padStart(4)} it. ${termination.padEnd(19)}`;
const named = ({ name, backend, start }) => `${name}, ${backend}, start ${start}`;
/** Runs that miss the certified coefficients without a reason, in words. */
const misses = (runs, digits) => runs.filter((run) => !(run.digits >= digits) && !mayMiss(run)).map((run) => `${named(run)}: ${inWords(run)}`);

describe('the certified coefficients of NIST are found', () => {
  const solved = {};
  /** The runs of an engine over all datasets, solved once, on first use. */
  async function runsOn(backend) {
    if (solved[backend] === undefined) {
      const runs = [];
      for (const file of listData('nist', '.dat')) runs.push(...await page.evaluate((text, backend) => window.fit(text, backend), readData(`nist/${file}`), backend));
      for (const run of runs) console.log(`NIST ${named(run).padEnd(24)} ${inWords(run)}`);
      assert.deepEqual([runs.length, new Set(runs.map((run) => run.backend))], [34, new Set([backend])]);
      solved[backend] = runs;
    }
    return solved[backend];
  }
  const assertRepeats = (runs) => assert.deepEqual(runs.filter(({ repeats }) => !repeats).map(named), [], 'runs that do not repeat bit by bit');

  test('NIST on the CPU: ten digits from both starts, but for the runs that may miss, and every run repeats bit by bit', async (t) => {
    if (!hasData(t, 'nist')) return;
    const runs = await runsOn('cpu');
    assert.deepEqual(misses(runs, CPU_DIGITS), []);
    assertRepeats(runs);
    const failures = runs.filter(({ success }) => !success).map((run) => `${named(run)}: ${inWords(run)}`);
    assert.deepEqual(runs.filter((run) => run.success === mayMiss(run)).map(named), [], `a run is a success if it finds the coefficients: ${failures}`);
  });

  test('NIST on the CPU with default options: no success with fewer than four digits, and all runs but those that may miss have as many', async (t) => {
    if (!hasData(t, 'nist')) return;
    const runs = [];
    for (const file of listData('nist', '.dat')) runs.push(...await page.evaluate((text) => window.fitByDefault(text), readData(`nist/${file}`)));
    assert.equal(runs.length, 34);
    assert.deepEqual(runs.filter(({ success, digits }) => success && !(digits >= DEFAULT_DIGITS)).map((run) => `${named(run)}: ${inWords(run)}`), []);
    assert.deepEqual(misses(runs, DEFAULT_DIGITS), []);
  });

  longTest('NIST on the GPU: four digits from both starts, but for the runs that may miss, and every run repeats bit by bit', async (t) => {
    if (!hasData(t, 'nist')) return;
    const runs = await runsOn('gpu');
    assert.deepEqual(runs.filter(({ single }) => !single).map(named), [], 'solved in double precision');
    assert.deepEqual(misses(runs, GPU_DIGITS), []);
    for (const run of runs.filter(({ name }) => name === 'Lanczos3')) assert.equal(run.termination, 'precision-limit', named(run));
    assertRepeats(runs);
  });

  test('NIST on the CPU: six digits where observations are so many that their normal equations are added up', async (t) => {
    if (!hasData(t, 'nist')) return;
    const found = [];
    for (const rows of [600, 20_000]) {
      for (const file of listData('nist', '.dat')) found.push(...await page.evaluate((text, rows) => window.fitRepeated(text, rows), readData(`nist/${file}`), rows));
    }
    assert.deepEqual(misses(found, REPEATED_DIGITS), []);
    const sums = found.filter(({ linearSolver }) => linearSolver.startsWith('normal equations')), rows = found.filter(({ linearSolver }) => linearSolver.endsWith('ill-conditioned'));
    assert.equal(sums.length + rows.length, found.length);
    // Lanczos3 fits three exponentials that are nearly one; its normal equations lose too many digits once 20,000 rows add their roundings. The way of MGH09 from its
    // first start leads where columns nearly depend on each other. Rows have all digits.
    assert.deepEqual([...new Set(rows.map(({ name }) => name))].sort(), ['Lanczos3', 'MGH09']);
    assert.deepEqual(misses(rows, CPU_DIGITS), []);
  });
});
