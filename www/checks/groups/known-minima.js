/** The problems of Moré, Garbow and Hillstrom, solved by Levenberg-Marquardt from their standard starts: the known minima. */
import { GpuCompiledFunctions, levenbergMarquardt } from 'residua';
import { problems, testProblem } from '../../problems/more-garbow-hillstrom.js';
import { onCpu, onGpu } from '../define.js';

// The unknowns are one block, and the preconditioner is its inverse, so conjugate gradients converge in one iteration.
const OPTIONS = { costTolerance: 1e-14, gradientTolerance: 1e-14, parameterTolerance: 1e-14, maxIterations: 1000, maxLinearIterations: 20 };
const squares = (values) => values.reduce((sum, value) => sum + value * value, 0);

/** Solves one problem and returns the sum of squares at the result, in double precision. */
async function solveOne(definition, backend) {
  const { problem } = testProblem(definition);
  const functions = await GpuCompiledFunctions.compile(problem, { backend });
  const exact = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  try {
    const solved = await levenbergMarquardt(functions, OPTIONS);
    const found = squares(await exact.evaluate(solved.x));
    const at = (await levenbergMarquardt(exact, OPTIONS)).x.map(Math.fround);
    return {
      // The device has no other linear solver.
      single: solved.x.every((value) => Math.fround(value) === value),
      // The engine's value at the minimum, rounded to single precision.
      atMinimum: squares(await functions.evaluate(at)),
      number: definition.number, name: definition.name, minima: definition.minima,
      initial: 2 * solved.initialCost, found, termination: solved.termination, iterations: solved.iterations,
    };
  } finally {
    functions.dispose();
    exact.dispose();
  }
}

/**
 * The matching digits of a sum of squares: relative to the minimum where it is not 0, else to the start. A minimum of 0 is reached to the
 * square of the residuals' rounding: 1e-7 in single precision, with some loss for unknowns of different sizes.
 */
const distance = ({ minima, initial }, value) => Math.min(...minima.map((minimum) => Math.abs(value - minimum) / (minimum === 0 ? initial : minimum)));
const digits = (run) => -Math.log10(Math.max(distance(run, run.found), 1e-16));
/**
 * In single precision a sum of squares near 1 has an error of about 1e-6. The solver stops where its predicted reduction is below the
 * accumulated error.
 */
const NEEDED = { cpu: 9, gpu: 3 };
/** Where the engine's own value at the rounded minimum has this error, the result may have it too. */
const RESOLVED = 1e-3;

async function findMinima(check) {
  const { backend } = check;
  const runs = [];
  for (const definition of problems) {
    const run = await solveOne(definition, backend);
    runs.push(run);
    const { number, name, found, termination, iterations, atMinimum } = run;
    check.note(`${String(number).padStart(2)} ${name.padEnd(32)} ${backend} ${digits(run).toFixed(1).padStart(5)} digits, ${found.toPrecision(10).padEnd(16)} ${String(iterations).padStart(4)} it. ${termination.padEnd(18)} at the minimum ${atMinimum.toPrecision(6)}`);
  }
  check.ok(runs.length >= 12, `${runs.length} problems`);
  if (backend === 'gpu') check.same(runs.filter(({ single }) => !single).map(({ name }) => name), [], 'solved in double precision');
  const resolved = runs.filter((run) => distance(run, run.atMinimum) < RESOLVED);
  check.ok(resolved.length >= 12, `${resolved.length} whose minimum this arithmetic resolves`);
  for (const run of runs) if (!resolved.includes(run)) check.equal(run.termination, 'precision-limit', run.name);
  const misses = resolved.filter((run) => !(digits(run) >= NEEDED[backend])).map(({ name, found, minima }) => `${name}: ${found}, not ${minima.join(' or ')}`);
  check.same(misses, [], `minima with fewer than ${NEEDED[backend]} digits`);
}

export const group = {
  id: 'known-minima',
  title: 'Problems with known minima',
  about: 'Nonlinear least squares by Moré, Garbow and Hillstrom (1981), standard test problems.',
  checks: [
    ...onGpu('the known minima of Moré, Garbow and Hillstrom are found', findMinima, { long: true }),
    ...onCpu('the known minima of Moré, Garbow and Hillstrom are found', findMinima),
  ],
};
