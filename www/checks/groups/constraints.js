/** Equalities and inequalities on both engines: small problems in double precision, larger ones in the arithmetic of the device. */
import { lbfgs, levenbergMarquardt, Problem, solveMany } from 'residua';
import { onEach, onGpu } from '../define.js';

/** Points that lie on the unit circle and not above y = 0.5, next to places outside. */
function onCircle(count) {
  const problem = new Problem();
  const angles = Array.from({ length: count }, (_, k) => (2 * Math.PI * (k + 0.25)) / count);
  const places = angles.flatMap((angle) => [2 * Math.cos(angle), 2 * Math.sin(angle)]);
  const points = problem.parameters('points', { dim: 2, values: angles.flatMap((angle) => [1.3 * Math.cos(angle), Math.min(1.3 * Math.sin(angle), 0.7)]) });
  const all = points.at(angles.map((_, k) => k));
  problem.residuals('near', { inputs: { p: all, at: problem.data(places, 2) }, residual: ({ p, at }) => p.sub(at) });
  problem.equalities('circle', { inputs: { p: all }, constraint: ({ p }) => p.x.square().add(p.y.square()).sub(1) });
  problem.inequalities('low', { inputs: { p: all, most: problem.data(angles.map(() => 0.5)) }, constraint: ({ p, most }) => p.y.sub(most) });
  const solution = angles.flatMap((angle) => (Math.sin(angle) <= 0.5 ? [Math.cos(angle), Math.sin(angle)] : [Math.sign(Math.cos(angle)) * Math.sqrt(0.75), 0.5]));
  return { problem, solution };
}

const difference = (x, solution) => x.reduce((most, value, k) => Math.max(most, Math.abs(value - solution[k])), 0);

export const group = {
  id: 'constraints',
  title: 'Constraints',
  about: 'Equalities and inequalities that a solve meets.',
  checks: [
    ...onEach('few points on a circle and below a line are met to rounding', async (check) => {
      const { problem, solution } = onCircle(6);
      const functions = await check.compile(problem);
      const result = await levenbergMarquardt(functions);
      check.equal(result.success, true, result.message);
      // On the GPU a problem whose gradients the device computes is solved by multipliers alone.
      const isExact = result.arithmetic === 'f64';
      check.below(difference(result.x, solution), isExact ? 1e-10 : 1e-4, 'steps of double precision, or the violation of 1e-5 of terms that single precision tells', 'the points');
      const [circle, low] = result.constraints;
      check.below(Math.max(circle.violation, low.violation), isExact ? 1e-12 : 1e-4, 'the same', 'violations');
      check.equal(low.active.every((active, k) => (active === 1) === (solution[2 * k + 1] === 0.5)), true, 'which are active');
    }),
    ...onGpu('many points are met in single precision', async (check) => {
      const { problem, solution } = onCircle(600);
      const functions = await check.compile(problem);
      const result = await levenbergMarquardt(functions);
      check.equal(result.success, true, result.message);
      check.below(difference(result.x, solution), 1e-3, 'violations are 1e-5 of their terms; points next to the line move along the circle by the root of that', 'the points');
    }, { slow: true }),
    ...onEach('many problems of one point each have their points on the circle', async (check) => {
      const count = 64;
      const problem = new Problem();
      const point = problem.parameters('point', { dim: 2, values: [0.7, 0.7] });
      problem.residuals('near', { inputs: { p: point.shared(), at: problem.data([2, 2], 2) }, residual: ({ p, at }) => p.sub(at) });
      problem.equalities('circle', { inputs: { p: point.shared() }, constraint: ({ p }) => p.x.square().add(p.y.square()).sub(1) });
      const angles = Array.from({ length: count }, (_, k) => 0.2 + (1.2 * k) / count);
      const at = angles.flatMap((angle) => [2 * Math.cos(angle), 2 * Math.sin(angle)]);
      const many = await solveMany(problem, { count, data: { near: { at } } }, { backend: check.backend });
      check.equal(many.backend, check.backend);
      check.equal(many.converged, count, many.message);
      const solution = angles.flatMap((angle) => [Math.cos(angle), Math.sin(angle)]);
      check.below(difference(many.x, solution), many.arithmetic === 'f64' ? 1e-9 : 1e-5, 'constraints hold to 1e-10 of their terms in f64, and to 1e-9 in pairs, whose steps end at some 1e-6', 'the points');
    }),
    ...onEach('contradictory constraints are no success', async (check) => {
      const problem = new Problem();
      const x = problem.parameters('x', { dim: 1, values: [0.3] });
      problem.residuals('r', { inputs: { x: x.shared() }, residual: ({ x }) => x });
      problem.equalities('at', { inputs: { x: x.shared(), at: problem.data([0, 1]) }, constraint: ({ x, at }) => x.sub(at) });
      const functions = await check.compile(problem);
      for (const result of [await levenbergMarquardt(functions), await lbfgs(functions, { objective: 'least-squares' })]) {
        check.equal(result.success, false, result.message);
        check.equal(result.termination, 'infeasible', result.message);
      }
    }),
  ],
};
