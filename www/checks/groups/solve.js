/** Solves from an expression to its minimum. */
import { lbfgs, loss, Problem, solve, V } from 'residua';
import { anywhere, gpuAgainstCpu, onEach } from '../define.js';
import { relativeDifference } from '../assertions.js';

const within = (backend) => ({
  within: backend === 'gpu' ? 1e-4 : 1e-7,
  because: 'Single precision carries 6e-8 per rounding; through a solve of few terms 1e-4 of the answer is left with room.',
});

async function springRing(check, backend) {
  const problem = new Problem();
  // Values that are exact in single precision, so that both backends start from the same numbers.
  const values = Float32Array.from({ length: 300 }, (_, i) => Math.sin(i * 1.7));
  const points = problem.parameters('points', { dim: 3, values });
  const ring = Uint32Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? i / 2 : ((i + 1) / 2) % 100));
  problem.residuals('springs', {
    inputs: { ends: points.at(ring, 2) },
    residual: ({ ends: [a, b] }) => V.sub(a.distance(b), 1),
    loss: loss.huber(0.5),
    weight: 2,
  });
  const functions = await check.compile(problem, { backend });
  const { value, gradient } = await functions.evaluateCostWithGradient();
  const { values: residuals, jacobian } = await functions.evaluateJacobian();
  const { maxRelativeError } = await functions.checkGradients();
  return { cost: value, gradient, residuals, jacobian: jacobian.values, pattern: [...jacobian.rowOffsets, ...jacobian.colIndices], error: maxRelativeError };
}

export const group = {
  id: 'solve',
  title: 'From an expression to its minimum',
  about: 'Fits with known results, by L-BFGS and by solve(), and their derivatives.',
  checks: [
    ...onEach('L-BFGS takes as few iterations where residuals are in units of 1e-8, also from a concave start', async (check) => {
      const times = Array.from({ length: 30 }, (_, i) => i / 5);
      const solved = async (unit) => {
        const problem = new Problem();
        const curve = problem.parameters('curve', { dim: 2, values: [1, 1] });
        problem.residuals('decay', {
          inputs: { c: curve.shared(), t: problem.data(times), y: problem.data(times.map((t, i) => 3 * Math.exp(-0.7 * t) + 0.05 * Math.sin(5 * i))) },
          residual: ({ c, t, y }) => c.x.mul(c.y.mul(t).neg().exp()).sub(y).mul(unit),
        });
        return lbfgs(await check.compile(problem), { objective: 'least-squares' });
      };
      const [usual, small] = [await solved(1), await solved(1e-8)];
      for (const { x, message } of [usual, small]) {
        check.close(x[0] / 2.98527, 1, { within: 1e-4, because: 'the digits of the solution given; costTolerance leaves 1e-5' }, message);
        check.close(x[1] / 0.696307, 1, { within: 1e-4, because: 'the digits of the solution given; costTolerance leaves 1e-5' }, message);
      }
      check.note('iterations', usual.iterations, small.iterations);
      check.ok(small.iterations < usual.iterations + 10, `${small.iterations} iterations, ${usual.iterations} in the usual unit`);
    }),

    ...onEach('a line through points is the least-squares line', async (check) => {
      const xs = Array.from({ length: 101 }, (_, i) => i / 50 - 1);
      const ys = xs.map((x, i) => 0.75 * x - 0.25 + 0.1 * Math.sin(7 * i));
      const problem = new Problem();
      const line = problem.parameters('line', { dim: 2, values: [0, 0] });
      problem.residuals('points', {
        inputs: { line: line.shared(), x: problem.data(xs), y: problem.data(ys) },
        residual: ({ line, x, y }) => line.x.mul(x).add(line.y).sub(y),
      });
      const functions = await check.compile(problem);
      const solved = await lbfgs(functions, { objective: 'least-squares', gradientTolerance: 0, costTolerance: 1e-12 });
      // The normal equations of the same points.
      const sum = (f) => xs.reduce((total, x, i) => total + f(x, ys[i]), 0);
      const n = xs.length, sx = sum((x) => x), sy = sum((_, y) => y), sxx = sum((x) => x * x), sxy = sum((x, y) => x * y);
      const slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
      check.equal(functions.backend, check.backend);
      check.close(solved.x[0], slope, within(check.backend), `slope (${solved.termination})`);
      check.close(solved.x[1], (sy - slope * sx) / n, within(check.backend), 'intercept');
      check.same(line.values(), solved.x, 'the solution is written back to the parameters');
      check.ok(solved.finalCost < solved.initialCost, 'the cost falls');
      check.ok(solved.history.length > 0, 'there is a history');
      check.match(solved.report(), /\d/);
    }),

    ...onEach('a solve stops when onIteration returns true, and keeps the best point so far', async (check) => {
      const rosenbrock = ([x, y]) => [V.square(V.sub(1, x)), V.mul(100, V.square(V.sub(y, V.square(x))))];
      const functions = await check.compile([V.W(-1.2), V.W(1)], rosenbrock);
      const stopped = await lbfgs(functions, { onIteration: ({ iteration }) => iteration >= 3 });
      const finished = await lbfgs(functions, { maxIterations: 200, costTolerance: 0 });
      check.equal(stopped.termination, 'aborted');
      check.ok(stopped.finalCost < stopped.initialCost, 'the cost falls');
      const tolerance = { within: check.backend === 'gpu' ? 1e-2 : 1e-4, because: 'The valley is flat: an error e along it costs e² / 2, so single precision sees the minimum within 1e-3.' };
      for (const coordinate of finished.x) check.close(coordinate, 1, tolerance, 'Rosenbrock');
    }),

    ...gpuAgainstCpu('gradient and Jacobian of the GPU equal those of the CPU', async (check) => {
      const [gpu, cpu] = [await springRing(check, 'gpu'), await springRing(check, 'cpu')];
      check.same(gpu.pattern, cpu.pattern, 'the pattern of the Jacobian');
      const because = 'the package’s promise for single precision, relative to the largest entry';
      for (const [key, limit] of Object.entries({ residuals: 1e-5, gradient: 1e-4, jacobian: 1e-4 })) {
        check.equal(gpu[key].length, cpu[key].length);
        const difference = relativeDifference(gpu[key], cpu[key]);
        check.note(`GPU against CPU, ${key}: ${difference.toExponential(2)} of the largest entry`);
        check.below(difference, limit, because, key);
      }
      check.close(gpu.cost, cpu.cost, { within: 1e-5 * cpu.cost, because }, 'cost');
      check.below(cpu.error, 1e-6, 'Central differences in double precision leave about the cube root of its rounding, squared.', 'gradient check');
    }),

    ...anywhere('solve() compiles, minimises the least-squares cost and frees all memory', async (check) => {
      const problem = new Problem();
      const point = problem.parameters('point', { dim: 2, values: [3, -4] });
      problem.residuals('offsets', { inputs: { p: point.shared() }, residual: ({ p }) => [p.x.sub(1), p.y.add(2).mul(3)] });
      const result = await solve(problem, { method: 'lbfgs' });
      const refused = await check.failureInWords(solve(problem, { method: 'simplex' }));
      check.ok(result.success, result.message);
      check.equal(result.initialCost, 0.5 * (2 ** 2 + 6 ** 2));
      const tolerance = { within: 1e-6, because: 'The default gradient tolerance is 1e-6, with second derivatives of 1 and 9.' };
      check.close(point.values()[0], 1, tolerance, 'x');
      check.close(point.values()[1], -2, tolerance, 'y');
      check.match(refused, /^invalid-argument: solve: method/);
    }),

    ...onEach('a number that is added to energies makes no success of a point that is no minimum', async (check) => {
      const problem = new Problem();
      const point = problem.parameters('point', { dim: 2, values: [-1.2, 1] });
      const added = problem.parameters('added', { dim: 1, values: [0] });
      added.setConstant([0]);
      const rosenbrock = (p) => p.y.sub(p.x.square()).square().mul(100).add(p.x.sub(1).square());
      problem.residuals('valley', { inputs: { p: point.shared(), added: added.shared() }, residual: ({ p, added }) => rosenbrock(p).add(added) });
      const functions = await check.compile(problem);
      for (const number of [0, 1e3, 1e6, 1e9]) {
        point.set([-1.2, 1]);
        added.set([number]);
        const { success, message, iterations } = await lbfgs(functions);
        const [x, y] = point.values();
        const left = 100 * (y - x * x) ** 2 + (x - 1) ** 2;
        check.note(`${number}: ${left.toExponential(2)} left after ${iterations} iterations, ${message}`);
        // Of a fall of 24: in f32 a gradient of some 1e-4 along a valley whose curvature is 0.4.
        if (success || number <= 1e3) check.below(left, 1e-4, 'The minimum is 0.', 'what is left');
      }
    }),
  ],
};
