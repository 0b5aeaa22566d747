/**
 * Unconstrained least-squares problems of Moré, Garbow and Hillstrom, "Testing Unconstrained Optimization Software" (ACM Transactions on
 * Mathematical Software 7(1), 1981). Numbers are those of section 3 of the paper. `start` is its standard start; `minima` are the sums of
 * squares that it gives for the minima that a solver may reach from there. Where n or m is free in the paper, the choice is in the name.
 *
 * All unknowns of a problem are one block, as in nist.js. A problem has either `residuals`, a list of expressions, or `data` with one
 * residual per observation.
 */
import { Problem, V } from 'residua';

const sum = (terms) => terms.reduce((total, term) => total.add(term));
const decay = (rate, t) => V.exp(V.mul(rate, t).neg());
const range = (length, f) => Array.from({ length }, (_, i) => f(i));

/** @typedef {{ number: number, name: string, start: number[], minima: number[], residuals?: Function, data?: Record<string, number[]>, observation?: Function }} TestProblem */

/** @type {TestProblem[]} */
export const problems = [
  {
    number: 1, name: 'Rosenbrock', start: [-1.2, 1], minima: [0],
    residuals: ([x1, x2]) => [x2.sub(x1.square()).mul(10), V.sub(1, x1)],
  },
  {
    // The other minimum, 0 at (5, 4), is behind a ridge.
    number: 2, name: 'Freudenstein and Roth', start: [0.5, -2], minima: [0, 48.9842536792],
    residuals: ([x1, x2]) => [
      x1.sub(13).add(V.sub(5, x2).mul(x2).sub(2).mul(x2)),
      x1.sub(29).add(x2.add(1).mul(x2).sub(14).mul(x2)),
    ],
  },
  {
    number: 4, name: 'Brown badly scaled', start: [1, 1], minima: [0],
    residuals: ([x1, x2]) => [x1.sub(1e6), x2.sub(2e-6), x1.mul(x2).sub(2)],
  },
  {
    number: 5, name: 'Beale', start: [1, 1], minima: [0],
    residuals: ([x1, x2]) => [1.5, 2.25, 2.625].map((y, i) => V.sub(y, x1.mul(V.sub(1, x2.pow(i + 1))))),
  },
  {
    number: 6, name: 'Jennrich and Sampson, m = 10', start: [0.3, 0.4], minima: [124.362182356],
    residuals: ([x1, x2]) => range(10, (i) => V.sub(2 + 2 * (i + 1), V.exp(x1.mul(i + 1)).add(V.exp(x2.mul(i + 1))))),
  },
  {
    // The branch cut is at x1 = 0 and x2 < 0, away from the start, which is on the cut of atan2.
    number: 7, name: 'Helical valley', start: [-1, 0, 0], minima: [0],
    residuals: ([x1, x2, x3]) => {
      const turns = V.atan(x2.div(x1)).div(2 * Math.PI).add(V.ifThenElse(x1.gt(0), 0, 0.5));
      return [x3.sub(turns.mul(10)).mul(10), V.hypot(x1, x2).sub(1).mul(10), x3];
    },
  },
  {
    number: 8, name: 'Bard', start: [1, 1, 1], minima: [8.21487730658e-3],
    data: {
      y: [0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.1, 4.39],
      u: range(15, (i) => i + 1), v: range(15, (i) => 15 - i), w: range(15, (i) => Math.min(i + 1, 15 - i)),
    },
    observation: ([x1, x2, x3], { y, u, v, w }) => y.sub(x1.add(u.div(v.mul(x2).add(w.mul(x3))))),
  },
  {
    number: 9, name: 'Gaussian', start: [0.4, 1, 0], minima: [1.12793276962e-8],
    data: {
      t: range(15, (i) => (7 - i) / 2),
      y: [0.0009, 0.0044, 0.0175, 0.054, 0.1295, 0.242, 0.3521, 0.3989, 0.3521, 0.242, 0.1295, 0.054, 0.0175, 0.0044, 0.0009],
    },
    observation: ([x1, x2, x3], { t, y }) => x1.mul(V.exp(x2.mul(t.sub(x3).square()).div(2).neg())).sub(y),
  },
  {
    number: 10, name: 'Meyer', start: [0.02, 4000, 250], minima: [87.9458551710],
    data: {
      t: range(16, (i) => 50 + 5 * i),
      y: [34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147, 4427, 3820, 3307, 2872],
    },
    observation: ([x1, x2, x3], { t, y }) => x1.mul(V.exp(x2.div(t.add(x3)))).sub(y),
  },
  {
    // The minimum 0 is at (1, 10, 1), at (10, 1, −1), and wherever x1 = x2 and x3 = 0.
    number: 12, name: 'Box three-dimensional, m = 10', start: [0, 10, 20], minima: [0],
    residuals: ([x1, x2, x3]) => range(10, (i) => {
      const t = (i + 1) / 10;
      return decay(x1, t).sub(decay(x2, t)).sub(x3.mul(Math.exp(-t) - Math.exp(-10 * t)));
    }),
  },
  {
    // The Jacobian is singular at the minimum, the origin, so convergence is linear.
    number: 13, name: 'Powell singular', start: [3, -1, 0, 1], minima: [0],
    residuals: ([x1, x2, x3, x4]) => [
      x1.add(x2.mul(10)), x3.sub(x4).mul(Math.sqrt(5)), x2.sub(x3.mul(2)).square(), x1.sub(x4).square().mul(Math.sqrt(10)),
    ],
  },
  {
    number: 14, name: 'Wood', start: [-3, -1, -3, -1], minima: [0],
    residuals: ([x1, x2, x3, x4]) => [
      x2.sub(x1.square()).mul(10), V.sub(1, x1), x4.sub(x3.square()).mul(Math.sqrt(90)), V.sub(1, x3),
      x2.add(x4).sub(2).mul(Math.sqrt(10)), x2.sub(x4).div(Math.sqrt(10)),
    ],
  },
  {
    number: 15, name: 'Kowalik and Osborne', start: [0.25, 0.39, 0.415, 0.39], minima: [3.07505603849e-4],
    data: {
      y: [0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246],
      u: [4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625],
    },
    observation: ([x1, x2, x3, x4], { y, u }) => y.sub(x1.mul(u.square().add(u.mul(x2))).div(u.square().add(u.mul(x3)).add(x4))),
  },
  {
    number: 16, name: 'Brown and Dennis, m = 20', start: [25, 5, -5, -1], minima: [85822.2016264],
    data: { t: range(20, (i) => (i + 1) / 5) },
    observation: ([x1, x2, x3, x4], { t }) => x1.add(t.mul(x2)).sub(V.exp(t)).square().add(x3.add(x4.mul(V.sin(t))).sub(V.cos(t)).square()),
  },
  {
    number: 17, name: 'Osborne 1', start: [0.5, 1.5, -1, 0.01, 0.02], minima: [5.46489469748e-5],
    data: {
      t: range(33, (i) => 10 * i),
      y: [
        0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.85, 0.818, 0.784, 0.751, 0.718, 0.685, 0.658, 0.628, 0.603, 0.58, 0.558, 0.538, 0.522,
        0.506, 0.49, 0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.42, 0.414, 0.411, 0.406,
      ],
    },
    observation: ([x1, x2, x3, x4, x5], { t, y }) => y.sub(x1.add(x2.mul(decay(x4, t))).add(x3.mul(decay(x5, t)))),
  },
  {
    number: 18, name: 'Biggs EXP6, m = 13', start: [1, 2, 1, 1, 1, 1], minima: [0, 5.65564992530e-3],
    residuals: ([x1, x2, x3, x4, x5, x6]) => range(13, (i) => {
      const t = (i + 1) / 10;
      const y = Math.exp(-t) - 5 * Math.exp(-10 * t) + 3 * Math.exp(-4 * t);
      return x3.mul(decay(x1, t)).sub(x4.mul(decay(x2, t))).add(x6.mul(decay(x5, t))).sub(y);
    }),
  },
  {
    number: 19, name: 'Osborne 2', start: [1.3, 0.65, 0.65, 0.7, 0.6, 3, 5, 7, 2, 4.5, 5.5], minima: [4.01377362935e-2],
    data: {
      t: range(65, (i) => i / 10),
      y: [
        1.366, 1.191, 1.112, 1.013, 0.991, 0.885, 0.831, 0.847, 0.786, 0.725, 0.746, 0.679, 0.608, 0.655, 0.616, 0.606, 0.602, 0.626, 0.651, 0.724,
        0.649, 0.649, 0.694, 0.644, 0.624, 0.661, 0.612, 0.558, 0.533, 0.495, 0.5, 0.423, 0.395, 0.375, 0.372, 0.391, 0.396, 0.405, 0.428, 0.429,
        0.523, 0.562, 0.607, 0.653, 0.672, 0.708, 0.633, 0.668, 0.645, 0.632, 0.591, 0.559, 0.597, 0.625, 0.739, 0.71, 0.729, 0.72, 0.636, 0.581,
        0.428, 0.292, 0.162, 0.098, 0.054,
      ],
    },
    observation: ([x1, x2, x3, x4, x5, ...x], { t, y }) => {
      const bells = [x2, x3, x4].map((height, k) => height.mul(V.exp(t.sub(x[k + 3]).square().mul(x[k]).neg())));
      return y.sub(x1.mul(decay(x5, t)).add(sum(bells)));
    },
  },
  {
    number: 20, name: 'Watson, n = 6', start: [0, 0, 0, 0, 0, 0], minima: [2.28767005355e-3],
    residuals: (x) => [
      ...range(29, (i) => {
        const t = (i + 1) / 29;
        const slope = sum(x.slice(1).map((xj, j) => xj.mul((j + 1) * t ** j)));
        return slope.sub(sum(x.map((xj, j) => xj.mul(t ** j))).square()).sub(1);
      }),
      x[0], x[1].sub(x[0].square()).sub(1),
    ],
  },
  {
    number: 23, name: 'Penalty I, n = 4', start: [1, 2, 3, 4], minima: [2.24997750084e-5],
    residuals: (x) => [...x.map((xi) => xi.sub(1).mul(Math.sqrt(1e-5))), sum(x.map((xi) => xi.square())).sub(0.25)],
  },
  {
    number: 30, name: 'Broyden tridiagonal, n = 10', start: range(10, () => -1), minima: [0],
    residuals: (x) => x.map((xi, i) => V.sub(3, xi.mul(2)).mul(xi).sub(x[i - 1] ?? 0).sub(x[i + 1]?.mul(2) ?? 0).add(1)),
  },
  {
    // The Jacobian has rank 1, so the minima are a hyperplane: m(m − 1)/(2(2m + 1)).
    number: 33, name: 'Linear, rank 1, n = 5, m = 10', start: [1, 1, 1, 1, 1], minima: [90 / 42],
    residuals: (x) => range(10, (i) => sum(x.map((xj, j) => xj.mul(j + 1))).mul(i + 1).sub(1)),
  },
  {
    number: 35, name: 'Chebyquad, n = 8', start: range(8, (i) => (i + 1) / 9), minima: [3.51687372568e-3],
    residuals: (x) => {
      // T₀, T₁, … of 2x − 1, which maps [0, 1] to [−1, 1]; their mean minus their integral.
      const shifted = x.map((xj) => xj.mul(2).sub(1));
      let before = shifted.map(() => V.C(1)), current = shifted;
      return range(8, (i) => {
        const integral = i % 2 === 0 ? 0 : -1 / ((i + 1) ** 2 - 1);
        const mean = sum(current).div(8);
        [before, current] = [current, current.map((value, j) => shifted[j].mul(value).mul(2).sub(before[j]))];
        return mean.sub(integral);
      });
    },
  },
];

/**
 * A problem of the list at a start.
 * @param {TestProblem} definition
 * @returns {{ problem: Problem, unknowns: import('residua').ParameterArray }}
 */
export function testProblem({ name, data, observation, residuals, ...definition }, start = definition.start) {
  const problem = new Problem();
  const unknowns = problem.parameters('unknowns', { dim: start.length, values: start });
  if (residuals !== undefined) {
    problem.residuals(name, { inputs: { x: unknowns.shared() }, residual: ({ x }) => residuals([...x]) });
  } else {
    const columns = Object.fromEntries(Object.entries(data).map(([key, values]) => [key, problem.data(values)]));
    problem.residuals(name, { inputs: { x: unknowns.shared(), ...columns }, residual: ({ x, ...columns }) => observation([...x], columns) });
  }
  return { problem, unknowns };
}
