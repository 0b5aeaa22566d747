// Constraints: kinds of problems that are hard for solvers, beside the published ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu, residua } from '../www/residua.mjs';

const { lbfgs, levenbergMarquardt, Problem } = residua;

const square = (v) => v.square();
const total = (terms) => terms.reduce((sum, term) => sum.add(term));

/**
 * Problems of numbers x: `squares` or `sum` is minimised with `equal` = 0 and `atLeast` ≥ 0, from `start`, in `copies` instances that share nothing. `best`
 * is the value of each, and `other` that of another minimum, where some of them may end.
 */
const MET = [
  { name: 'a start where the gradient of its only constraint is 0', best: 1, start: [0, 0, 0], squares: (x) => x, equal: ([x, y, z]) => [x.square().div(9).add(y.square().div(4)).add(z.square()).sub(1)] },
  { name: 'a start at the farthest point of the constraint', best: 1, start: [3, 0, 0], squares: (x) => x, equal: ([x, y, z]) => [x.square().div(9).add(y.square().div(4)).add(z.square()).sub(1)] },
  { name: 'equalities that follow from each other', best: 0.5, start: [3, -2, 1], squares: (x) => x, equal: ([x, y]) => [x.add(y).sub(1), x.add(y).mul(2).sub(2), x.add(y).mul(3).sub(3)] },
  { name: 'an equality whose gradient is 0 where it holds', best: 1, start: [2, 1], squares: ([x, y]) => [x.sub(1), y], equal: ([x]) => [x.square()] },
  { name: 'circles that touch', best: 4, start: [0.3, 0.7], squares: ([x, y]) => [x.sub(1), y.sub(2)], equal: ([x, y]) => [x.square().add(y.square()).sub(1), x.sub(2).square().add(y.square()).sub(1)] },
  { name: 'one of two numbers is 0', best: 1, start: [0.4, 0.6], lower: 0, squares: ([x, y]) => [x.sub(1), y.sub(1)], atLeast: ([x, y]) => [x.mul(y).neg()] },
  // A. Wächter, L. T. Biegler, "Failure of global convergence for a class of interior point methods for nonlinear programming", 2000.
  { name: 'linear models that have no solution within bounds', best: 1, start: [-2, 3, 1], lower: [-Infinity, 0, 0], sum: ([x]) => x, equal: ([x, y, z]) => [x.square().sub(y).sub(1), x.sub(z).sub(0.5)] },
  // N. Maratos, 1978.
  { name: 'full steps that raise both the objective and the violation', best: -1, start: [1.1, 0.1], sum: ([x, y]) => x.square().add(y.square()).sub(1).mul(10).sub(x), equal: ([x, y]) => [x.square().add(y.square()).sub(1)] },
  { name: 'the largest of three functions', best: 1.952224494, start: [1, -0.1, 0], sum: ([, , t]) => t, atLeast: ([x, y, t]) => [t.sub(x.square()).sub(y.pow(4)), t.sub(x.neg().add(2).square()).sub(y.neg().add(2).square()), t.sub(y.sub(x).exp().mul(2))] },
  { name: 'multipliers of 1e6 beside others of 1e-6', best: 9.990002500e-7, start: [1, 1], squares: ([x, y]) => [x.sub(2e6), y.sub(1e-3)], equal: ([x, y]) => [x.mul(y).sub(1)] },
  { name: 'a linear program with a degenerate corner', best: -0.05, start: [0, 0, 0, 0], lower: 0, sum: ([a, b, c, d]) => a.mul(-0.75).add(b.mul(150)).sub(c.mul(0.02)).add(d.mul(6)), atLeast: ([a, b, c, d]) => [a.mul(-0.25).add(b.mul(60)).add(c.mul(0.04)).add(d.mul(9)), a.mul(-0.5).add(b.mul(90)).add(c.mul(0.02)).add(d.mul(3)), c.neg().add(1)] },
  { name: 'a saddle on equalities that follow from each other', best: -0.25, start: [0, 0], sum: ([x, y]) => x.square().square().neg().add(y.square().square()).add(x.square().mul(2)).sub(y.square()), equal: ([x]) => [x, x.mul(2)] },
  { name: 'a saddle at 0 beside a number that stays 0', best: -0.25, start: [0, 0], sum: ([x]) => x.square().square().sub(x.square()), equal: ([, y]) => [y] },
  { name: 'a saddle in units of another number', best: -0.25, start: [0, 0.5], sum: ([x]) => x.square().square().sub(x.square()), equal: ([, y]) => [y.sub(1)] },
  // The root is of a negative number on one side of the saddle.
  { name: 'a saddle beside numbers without a value', best: -0.186852786648162, start: [0, 0], sum: ([x]) => x.square().square().sub(x.square().mul(x.neg().add(0.05).sqrt())), equal: ([, y]) => [y] },
  { name: 'a constraint that is −∞ at the minimum', best: 0, start: [1, 1], lower: 0, squares: ([x, y]) => [x, y.sub(1)], atLeast: ([x]) => [x.log().sub(1).neg()] },
  // Problems 24, 33 and 56 of Hock and Schittkowski, whose objectives fall without a bound beyond the constraints, with too many numbers for dense matrices.
  { name: 'a cubic fall beyond the constraints', copies: 101, best: -1, start: [1, 0.5], lower: 0, sum: ([x, y]) => x.sub(3).square().sub(9).mul(y.cube()).div(27 * Math.sqrt(3)), atLeast: ([x, y]) => [x.div(Math.sqrt(3)).sub(y), x.add(y.mul(Math.sqrt(3))), x.add(y.mul(Math.sqrt(3))).neg().add(6)] },
  { name: 'a corner of bounds from which violations do not fall', copies: 67, best: Math.SQRT2 - 6, other: -4, start: [0, 0, 3], lower: 0, upper: [Infinity, Infinity, 5], sum: ([x, , z]) => x.sub(1).mul(x.sub(2)).mul(x.sub(3)).add(z), atLeast: ([x, y, z]) => [z.square().sub(y.square()).sub(x.square()), total([x, y, z].map(square)).sub(4)] },
  {
    name: 'a product that falls beyond the constraints', copies: 29, best: -3.456, start: [1, 1, 1, ...Array(3).fill(Math.asin(Math.sqrt(1 / 4.2))), Math.asin(Math.sqrt(5 / 7.2))],
    sum: ([a, b, c]) => a.mul(b).mul(c).neg(), equal: ([a, b, c, p, q, r, s]) => [a.sub(p.sin().square().mul(4.2)), b.sub(q.sin().square().mul(4.2)), c.sub(r.sin().square().mul(4.2)), a.add(b.mul(2)).add(c.mul(2)).sub(s.sin().square().mul(7.2))],
  },
];

/** Problems without a minimum, and how a solve of them ends. */
const WITHOUT = [
  { name: 'a disk and a line beyond it', endings: ['infeasible'], start: [0, 0], squares: (x) => x, atLeast: ([x, y]) => [x.square().add(y.square()).neg().add(1), x.add(y).sub(3)] },
  { name: 'a constraint beyond a bound', endings: ['infeasible'], start: [1, 1], lower: 0, squares: (x) => x, atLeast: ([x]) => [x.neg().sub(1)] },
  { name: 'a square that is −1', endings: ['infeasible'], start: [0.5, 1], sum: ([x, y]) => x.add(y.square()), equal: ([x]) => [x.square().add(1)] },
  { name: 'three inequalities of which two hold', endings: ['infeasible'], start: [1, 1, 1], lower: 0, sum: total, atLeast: ([x, y, z]) => [x.add(y).neg().add(1), y.add(z).neg().add(1), x.add(y.mul(2)).add(z).sub(3)] },
  { name: 'a line that falls without a bound', endings: ['non-finite'], start: [1, 1], sum: ([x]) => x.neg(), equal: ([, y]) => [y.sub(1)] },
  { name: 'a parabola that falls without a bound', endings: ['non-finite', 'max-iterations'], start: [1, 1], sum: ([x, y]) => x.add(y).neg(), equal: ([x, y]) => [y.sub(x.square())] },
];

async function solved({ copies = 1, start, lower = -Infinity, upper = Infinity, squares, sum, equal, atLeast }) {
  const problem = new Problem();
  const blocks = problem.parameters('x', { dim: start.length, values: Array.from({ length: copies }, () => start).flat() });
  blocks.setBounds({ lower, upper });
  const inputs = { x: blocks.at(Array.from({ length: copies }, (_, k) => k)) };
  const of = (f) => ({ x }) => f(Array.from({ length: start.length }, (_, k) => x.at(k)));
  problem.residuals('objective', { inputs, residual: of(squares ?? sum) });
  if (equal !== undefined) problem.equalities('equal', { inputs, constraint: of(equal) });
  if (atLeast !== undefined) problem.inequalities('atLeast', { inputs, constraint: (inputs) => of(atLeast)(inputs).map((g) => g.neg()) });
  return onCpu(problem, (functions) => (squares ? levenbergMarquardt(functions) : lbfgs(functions)));
}

for (const problem of MET) {
  test(`the minimum is found of ${problem.name}`, async () => {
    const { copies = 1, best, other, squares } = problem;
    const { success, message, finalCost, constraints } = await solved(problem);
    assert.ok(success, message);
    const sum = squares ? 2 * finalCost : finalCost;
    // Copies may end at another minimum, some of them.
    const elsewhere = other === undefined ? 0 : Math.round((sum - copies * best) / (other - best));
    assert.ok(elsewhere >= 0 && elsewhere < copies / 4, `${elsewhere} at the other minimum`);
    const value = (sum - elsewhere * (other ?? 0)) / (copies - elsewhere);
    // Minima without multipliers are reached to the root of a violation of 1e-16.
    assert.ok(Math.abs(value - best) <= 1e-7 * Math.max(1e-3, Math.abs(best)), `${value}, not ${best}`);
    for (const { violation } of constraints) assert.ok(violation <= 1e-8, `${violation}`);
  });
}

for (const count of [50, 150]) {
  for (const objective of ['none', 'constant']) {
    test(`a chain of ${count} points is closed where the objective is ${objective}, with multipliers of 0`, async () => {
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 2, values: Array.from({ length: 2 * count }, (_, k) => (k % 2 ? 0.3 * Math.sin(k) : 0.45 * k)) });
      if (objective === 'constant') problem.residuals('one', { inputs: { p: points.at(Array.from({ length: count }, (_, k) => k)) }, residual: ({ p }) => p.x.mul(0).add(1) });
      const ends = Array.from({ length: count - 1 }, (_, k) => [k, k + 1]).flat();
      problem.equalities('bars', { inputs: { ends: points.at(ends, 2) }, constraint: ({ ends: [a, b] }) => a.distance(b).sub(1) });
      const { success, message, constraints } = await onCpu(problem, levenbergMarquardt);
      assert.ok(success, message);
      assert.ok(constraints[0].violation <= 1e-10, String(constraints[0].violation));
      // Those of dense steps are rounding.
      assert.ok(constraints[0].multipliers.every((multiplier) => Math.abs(multiplier) <= 1e-12));
    });
  }
}

for (const problem of WITHOUT) {
  test(`no success is reported of ${problem.name}`, async () => {
    const { success, termination, message } = await solved(problem);
    assert.equal(success, false);
    assert.ok(problem.endings.includes(termination), `${termination}: ${message}`);
  });
}
