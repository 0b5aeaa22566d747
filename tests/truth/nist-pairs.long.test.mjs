// NIST's Statistical Reference Datasets in double-single arithmetic on the GPU, by Levenberg-Marquardt and by solveMany(): digits that match the certified
// ones, against those of the CPU in double precision and of the GPU in single precision.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';
import { hasData, listData, readData } from '../shared-data.mjs';

/** Digits that every run must have, or one less than the CPU has; those of Lanczos3, whose normal matrix has a condition of 1e8. */
const DIGITS = 9, OF_LANCZOS3 = 8;
/** The average of each solver, with the run that leads elsewhere. */
const MEAN = 10;
/** The average without those may be below that of the CPU by this. Certified numbers have 11 digits, which all others reach to half a digit. */
const BELOW_CPU = 0.05;
/** Single precision, the control, has fewer on average: its numbers have 7.2. */
const CONTROL = 7;
/** From (1, 1) the first step that reduces the cost takes b2 of BoxBOD to 115, where the cost is flat. Only solveMany() takes it. */
const leadsElsewhere = ({ name, start, solver }) => name === 'BoxBOD' && start === 1 && solver === 'solveMany';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(defineFits);
});
after(() => browser.close());

/** In the page: `window.fit(text, starts)` solves one dataset from some of its starts, 0 and 1, by both solvers, on the CPU, and in single precision. */
async function defineFits() {
  const { GpuCompiledFunctions, levenbergMarquardt, solveMany } = window.residua;
  const { matchingDigits, nistProblem, parseNist } = await import('/problems/nist.js');
  const options = { costTolerance: 1e-15, gradientTolerance: 1e-15, parameterTolerance: 1e-15, maxIterations: 1000 };

  async function minimise(problem, engine) {
    const functions = await GpuCompiledFunctions.compile(problem, engine);
    try {
      return await levenbergMarquardt(functions, { ...options, maxLinearIterations: 20 });
    } finally {
      functions.dispose();
    }
  }

  window.fit = async (text, starts) => {
    const dataset = parseNist(text);
    const runs = [];
    for (const start of starts) {
      const made = () => nistProblem(dataset, dataset.starts[start]).problem;
      const digits = (x) => matchingDigits(x, dataset.certified);
      const reference = digits((await minimise(made(), { backend: 'cpu' })).x);
      const control = digits((await minimise(made(), { backend: 'gpu' })).x);
      const solved = await minimise(made(), { backend: 'gpu', precision: 'f32x2' });
      const many = await solveMany(made(), { count: 1 }, { ...options, backend: 'gpu', precision: 'f32x2' });
      const run = { name: dataset.name, start: start + 1, reference, control };
      runs.push({ ...run, solver: 'levenbergMarquardt', digits: digits(solved.x), end: `${solved.termination} ${solved.iterations}`, arithmetic: solved.arithmetic });
      runs.push({ ...run, solver: 'solveMany', digits: digits(many.x), end: `${many.termination[0]} ${many.iterations[0]}`, arithmetic: many.arithmetic });
    }
    return runs;
  };
}

async function runsOf(files, starts) {
  const runs = [];
  for (const file of files) runs.push(...await page.evaluate(([text, starts]) => window.fit(text, starts), [readData(`nist/${file}`), starts]));
  for (const { name, start, solver, digits, reference, control, end } of runs) {
    console.log(`NIST ${`${name}, start ${start}, ${solver}`.padEnd(38)} ${digits.toFixed(1).padStart(4)} digits, ${reference.toFixed(1).padStart(4)} on the CPU, ${control.toFixed(1).padStart(4)} in f32, ${end}`);
  }
  return runs;
}

const mean = (runs, digitsOf) => runs.reduce((sum, run) => sum + digitsOf(run), 0) / runs.length;

function assertDigits(all) {
  for (const solver of ['levenbergMarquardt', 'solveMany']) {
    const of = all.filter((run) => run.solver === solver), found = mean(of, ({ digits }) => digits);
    assert.equal(of.length, all.length / 2);
    assert.ok(found >= MEAN, `${found} digits on average by ${solver}`);
  }
  const runs = all.filter((run) => !leadsElsewhere(run));
  assert.deepEqual(runs.filter(({ arithmetic }) => arithmetic !== 'f32x2'), []);
  const wanted = ({ name, reference }) => (name === 'Lanczos3' ? OF_LANCZOS3 : Math.min(DIGITS, reference - 1));
  assert.deepEqual(runs.filter((run) => !(run.digits >= wanted(run))), []);
  const control = mean(runs, (run) => run.control);
  assert.ok(control < CONTROL, `${control} digits on average in single precision`);
  const [found, exact] = [mean(runs, ({ digits }) => digits), mean(runs, ({ reference }) => reference)];
  assert.ok(found >= exact - BELOW_CPU, `${found} digits on average, ${exact} on the CPU`);
}

describe('the certified coefficients of NIST are found in pairs', () => {
  test('of all datasets, with as many digits on average as the CPU has', async (t) => {
    if (!hasData(t, 'nist')) return;
    const runs = await runsOf(listData('nist', '.dat'), [0, 1]);
    assert.equal(runs.length, 68);
    assertDigits(runs);
  });
});
