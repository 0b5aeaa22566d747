/** The problems of Moré, Garbow and Hillstrom, solved by Levenberg-Marquardt from their standard starts: their known minima. */
import { GpuCompiledFunctions, levenbergMarquardt } from 'residua';
import { problems, testProblem } from '../../problems/more-garbow-hillstrom.js';
import { onEach } from '../define.js';

// The unknowns are one block, whose inverse the preconditioner is: conjugate gradients are there at once.
const OPTIONS = { costTolerance: 1e-14, gradientTolerance: 1e-14, parameterTolerance: 1e-14, maxIterations: 1000, maxLinearIterations: 20 };
const squares = (values) => values.reduce((sum, value) => sum + value * value, 0);

/** Solves one; what is found is the sum of squares there in double precision. */
async function solveOne(definition, backend) {
  const { problem } = testProblem(definition);
  const functions = await GpuCompiledFunctions.compile(problem, { backend });
  const exact = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  try {
    const solved = await levenbergMarquardt(functions, OPTIONS);
    const found = squares(await exact.evaluate(solved.x));
    const at = (await levenbergMarquardt(exact, OPTIONS)).x.map(Math.fround);
    return {
      // On the device they have nothing else.
      single: solved.x.every((value) => Math.fround(value) === value),
      // What the engine makes of the minimum, rounded to single precision.
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
 * Digits of a sum of squares: of the minimum where there is one, else of the way down from the start. A minimum of 0 is reached to the square of what
 * rounding leaves of the residuals: 1e-7 of them in single precision, though unknowns of different sizes cost some.
 */
const distance = ({ minima, initial }, value) => Math.min(...minima.map((minimum) => Math.abs(value - minimum) / (minimum === 0 ? initial : minimum)));
const digits = (run) => -Math.log10(Math.max(distance(run, run.found), 1e-16));
/** In single precision a sum of squares around 1 is known to some 1e-6; the solver stops where it promises no more than that grows to on the way there. */
const NEEDED = { cpu: 9, gpu: 3 };
/** Where the engine itself is so far off at the minimum, rounded, it can't be asked to find it. */
const RESOLVED = 1e-3;

export const group = {
  id: 'known-minima',
  title: 'Problems with known minima',
  about: 'Nonlinear least squares by Moré, Garbow and Hillstrom (1981), which every solver is tried on.',
  checks: [
    ...onEach('the known minima of Moré, Garbow and Hillstrom are found', async (check) => {
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
    }, { long: true }),
  ],
};
