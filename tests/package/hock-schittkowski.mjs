/**
 * Problems of W. Hock, K. Schittkowski, "Test Examples for Nonlinear Programming Codes", Lecture Notes in Economics and Mathematical Systems 187, 1981, by
 * their numbers there. Left out are those that expressions cannot state: 67 and 85 (procedures with branches), 68 and 69 (the error function), 87
 * (discontinuous) and 88 to 92 (roots of an equation); 54 and 109, too. 82, 94 and 115 are none.
 *
 * A problem minimises Σ r² of `squares`, or `sum`, with `equal` = 0 and `atLeast` ≥ 0. `x[1]` is the first variable. `best` is the published minimum; where
 * the book has another, as by the successors of its authors, a comment says so.
 */

const rosenbrock = (x) => [x[2].sub(x[1].square()).mul(10), x[1].neg().add(1)];
const total = (terms) => terms.reduce((sum, term) => sum.add(term));
const product = (terms) => terms.reduce((all, term) => all.mul(term));
const all = (x) => x.slice(1);
const INF = Infinity;
/** c · Π xᵢ^pᵢ of powers by variable. */
const monomial = (x, c, powers) => product(Object.entries(powers).map(([i, power]) => x[i].pow(power))).mul(c);
const linear = (x, coefficients) => total(coefficients.flatMap((a, k) => (a === 0 ? [] : [x[k + 1].mul(a)])));

/** Data of problem 57. */
const AGES = [8, 8, 10, 10, 10, 10, 12, 12, 12, 12, 14, 14, 14, 16, 16, 16, 18, 18, 20, 20, 20, 22, 22, 22, 24, 24, 24, 26, 26, 26, 28, 28, 30, 30, 30, 32, 32, 34, 36, 36, 38, 38, 40, 42];
const SHARES = [
  0.49, 0.49, 0.48, 0.47, 0.48, 0.47, 0.46, 0.46, 0.45, 0.43, 0.45, 0.43, 0.43, 0.44, 0.43, 0.43, 0.46, 0.45, 0.42, 0.42, 0.43, 0.41,
  0.41, 0.4, 0.42, 0.4, 0.4, 0.41, 0.4, 0.41, 0.41, 0.4, 0.4, 0.4, 0.38, 0.41, 0.4, 0.4, 0.41, 0.38, 0.4, 0.4, 0.39, 0.39,
];
/** Data of problem 70. */
const YIELDS = [0.00189, 0.1038, 0.268, 0.506, 0.577, 0.604, 0.725, 0.898, 0.947, 0.845, 0.702, 0.528, 0.385, 0.257, 0.159, 0.0869, 0.0453, 0.01509, 0.00189];
/** Data of problems 86 and 117. */
const COLVILLE = {
  e: [-15, -27, -36, -18, -12],
  c: [[30, -20, -10, 32, -10], [-20, 39, -6, -31, 32], [-10, -6, 10, -6, -10], [32, -31, -6, 39, -20], [-10, 32, -10, -20, 30]],
  d: [4, 8, 10, 6, 2],
  a: [
    [-16, 2, 0, 1, 0], [0, -2, 0, 0.4, 2], [-3.5, 0, 2, 0, 0], [0, -2, 0, -4, -1], [0, -9, -2, 1, -2.8],
    [2, 0, -4, 0, 0], [-1, -1, -1, -1, -1], [-1, -2, -3, -2, -1], [1, 2, 3, 4, 5], [1, 1, 1, 1, 1],
  ],
  b: [-40, -2, -0.25, -4, -4, -1, -40, -60, 5, 1],
};
/** Counts of the values of problem 105. */
const WEIGHTS_105 = {
  95: 1, 105: 1, 110: 4, 115: 4, 120: 15, 125: 15, 130: 15, 135: 13, 140: 21, 145: 12, 150: 17, 155: 4, 160: 20, 165: 8, 170: 17,
  175: 8, 180: 6, 185: 6, 190: 7, 195: 4, 200: 3, 205: 3, 210: 8, 215: 1, 220: 6, 230: 5, 235: 1, 240: 7, 245: 1, 250: 2,
};
/** Data of problems 111 and 112. */
const ENERGIES = [-6.089, -17.164, -34.054, -5.914, -24.721, -14.986, -24.1, -10.708, -26.662, -22.179];
/** Pairs and rows of problem 119. */
const PAIRS_119 = {
  1: [4, 7, 8, 16], 2: [3, 7, 10], 3: [7, 9, 10, 14], 4: [7, 11, 15], 5: [6, 10, 12, 16], 6: [8, 15], 7: [11, 13], 8: [10, 15], 9: [12, 16], 10: [14], 11: [13], 12: [14], 13: [14],
};
const ROWS_119 = [
  [0.22, 0.2, 0.19, 0.25, 0.15, 0.11, 0.12, 0.13, 1],
  [-1.46, 0, -1.3, 1.82, -1.15, 0, 0.8, 0, 0, 1],
  [1.29, -0.89, 0, 0, -1.16, -0.96, 0, -0.49, 0, 0, 1],
  [-1.1, -1.06, 0.95, -0.54, 0, -1.78, -0.41, 0, 0, 0, 0, 1],
  [0, 0, 0, -1.43, 1.51, 0.59, -0.33, -0.43, 0, 0, 0, 0, 1],
  [0, -1.72, -0.33, 0, 1.62, 1.24, 0.21, -0.26, 0, 0, 0, 0, 0, 1],
  [1.12, 0, 0, 0.31, 0, 0, 1.12, 0, -0.36, 0, 0, 0, 0, 0, 1],
  [0, 0.45, 0.26, -1.1, 0.58, 0, -1.03, 0.1, 0, 0, 0, 0, 0, 0, 0, 1],
];
const SIDES_119 = [2.5, 1.1, -3.1, -3.5, 1.3, 2.1, 2.3, -1.5];

const same = (count, number) => Array(count).fill(number);

/** Problems 95 to 98, which differ in the right-hand sides. */
const blending = (number, b, best) => ({
  number, best, start: same(6, 0), lower: same(6, 0), upper: [0.31, 0.046, 0.068, 0.042, 0.028, 0.0134],
  sum: (x) => linear(x, [4.3, 31.8, 63.3, 15.8, 68.5, 4.7]),
  atLeast: (x) => [
    linear(x, [17.1, 38.2, 204.2, 212.3, 623.4, 1495.5]).sub(x[1].mul(x[3]).mul(169)).sub(x[3].mul(x[5]).mul(3580)).sub(x[4].mul(x[5]).mul(3810))
      .sub(x[4].mul(x[6]).mul(18500)).sub(x[5].mul(x[6]).mul(24300)).sub(b[0]),
    linear(x, [17.9, 36.8, 113.9, 169.7, 337.8, 1385.2]).sub(x[1].mul(x[3]).mul(139)).sub(x[4].mul(x[5]).mul(2450))
      .sub(x[4].mul(x[6]).mul(16600)).sub(x[5].mul(x[6]).mul(17200)).sub(b[1]),
    linear(x, [0, -273, 0, -70, -819]).add(x[4].mul(x[5]).mul(26000)).sub(b[2]),
    linear(x, [159.9, -311, 0, 587, 391, 2198]).sub(x[1].mul(x[6]).mul(14000)).sub(b[3]),
  ],
});

/** Problems 101 to 103, which differ in an exponent. */
const geometric = (number, a, best) => {
  const cost = (x) => total([
    monomial(x, 10, { 1: 1, 2: -1, 4: 2, 6: -3, 7: a }), monomial(x, 15, { 1: -1, 2: -2, 3: 1, 4: 1, 5: -1, 7: -0.5 }),
    monomial(x, 20, { 1: -2, 2: 1, 4: -1, 5: -2, 6: 1 }), monomial(x, 25, { 1: 2, 2: 2, 3: -1, 5: 0.5, 6: -2, 7: 1 }),
  ]);
  return {
    number, best, start: same(7, 6), lower: [...same(6, 0.1), 0.01], upper: same(7, 10), sum: cost,
    atLeast: (x) => [
      total([monomial(x, 0.5, { 1: 0.5, 3: -1, 6: -2, 7: 1 }), monomial(x, 0.7, { 1: 3, 2: 1, 3: -2, 6: 1, 7: 0.5 }), monomial(x, 0.2, { 2: -1, 3: 1, 4: -0.5, 6: 2 / 3, 7: 0.25 })]).neg().add(1),
      total([monomial(x, 1.3, { 1: -0.5, 2: 1, 3: -1, 5: -1, 6: 1 }), monomial(x, 0.8, { 3: 1, 4: -1, 5: -1, 6: 2 }), monomial(x, 3.1, { 1: -1, 2: 0.5, 4: -2, 5: -1, 6: 1 / 3 })]).neg().add(1),
      total([
        monomial(x, 2, { 1: 1, 3: -1.5, 5: 1, 6: -1, 7: 1 / 3 }), monomial(x, 0.1, { 2: 1, 3: -0.5, 5: 1, 6: -1, 7: -0.5 }),
        monomial(x, 1, { 1: -1, 2: 1, 3: 0.5, 5: 1 }), monomial(x, 0.65, { 2: -2, 3: 1, 5: 1, 6: -1, 7: 1 }),
      ]).neg().add(1),
      total([
        monomial(x, 0.2, { 1: -2, 2: 1, 4: -1, 5: 0.5, 7: 1 / 3 }), monomial(x, 0.3, { 1: 0.5, 2: 2, 3: 1, 4: 1 / 3, 5: -2 / 3, 7: 0.25 }),
        monomial(x, 0.4, { 1: -3, 2: -2, 3: 1, 5: 1, 7: 0.75 }), monomial(x, 0.5, { 3: -2, 4: 1, 7: 0.5 }),
      ]).neg().add(1),
      cost(x).sub(100), cost(x).neg().add(3000),
    ],
  };
};

/** Problems 74 and 75, which differ in the largest angle. */
const generators = (number, a, best) => ({
  number, best, start: same(4, 0), lower: [0, 0, -a, -a], upper: [1200, 1200, a, a],
  sum: (x) => linear(x, [3, 2]).add(x[1].cube().mul(1e-6)).add(x[2].cube().mul(2e-6 / 3)),
  atLeast: (x) => [x[4].sub(x[3]).add(a), x[3].sub(x[4]).add(a)],
  equal: (x) => [
    x[3].neg().sub(0.25).sin().add(x[4].neg().sub(0.25).sin()).mul(1000).add(894.8).sub(x[1]),
    x[3].sub(0.25).sin().add(x[3].sub(x[4]).sub(0.25).sin()).mul(1000).add(894.8).sub(x[2]),
    x[4].sub(0.25).sin().add(x[4].sub(x[3]).sub(0.25).sin()).mul(1000).add(1294.8),
  ],
});

const sphere = (x) => [
  total(all(x).map((v) => v.square())).sub(10), x[2].mul(x[3]).sub(x[4].mul(x[5]).mul(5)), x[1].cube().add(x[2].cube()).add(1),
];

/** The problems; V has the operators as functions. */
export const hockSchittkowski = (V) => [
  { number: 1, best: 0, start: [-2, 1], lower: [-INF, -1.5], squares: rosenbrock },
  { number: 2, best: 0.05042618790, start: [-2, 1], lower: [-INF, 1.5], squares: rosenbrock },
  { number: 3, best: 0, start: [10, 1], lower: [-INF, 0], sum: (x) => x[2].add(x[2].sub(x[1]).square().mul(1e-5)) },
  { number: 4, best: 8 / 3, start: [1.125, 0.125], lower: [1, 0], sum: (x) => x[1].add(1).cube().div(3).add(x[2]) },
  { number: 5, best: -Math.sqrt(3) / 2 - Math.PI / 3, start: [0, 0], lower: [-1.5, -3], upper: [4, 3], sum: (x) => x[1].add(x[2]).sin().add(x[1].sub(x[2]).square()).sub(x[1].mul(1.5)).add(x[2].mul(2.5)).add(1) },
  { number: 6, best: 0, start: [-1.2, 1], squares: (x) => [x[1].neg().add(1)], equal: (x) => [x[2].sub(x[1].square()).mul(10)] },
  { number: 7, best: -Math.sqrt(3), start: [2, 2], sum: (x) => x[1].square().add(1).log().sub(x[2]), equal: (x) => [x[1].square().add(1).square().add(x[2].square()).sub(4)] },
  { number: 8, best: -1, start: [2, 1], sum: () => V.C(-1), equal: (x) => [x[1].square().add(x[2].square()).sub(25), x[1].mul(x[2]).sub(9)] },
  { number: 9, best: -0.5, start: [0, 0], sum: (x) => x[1].mul(Math.PI / 12).sin().mul(x[2].mul(Math.PI / 16).cos()), equal: (x) => [x[1].mul(4).sub(x[2].mul(3))] },
  { number: 10, best: -1, start: [-10, 10], sum: (x) => x[1].sub(x[2]), atLeast: (x) => [x[1].square().mul(-3).add(x[1].mul(x[2]).mul(2)).sub(x[2].square()).add(1)] },
  { number: 11, best: -8.498464223, start: [4.9, 0.1], sum: (x) => x[1].sub(5).square().add(x[2].square()).sub(25), atLeast: (x) => [x[2].sub(x[1].square())] },
  { number: 12, best: -30, start: [0, 0], sum: (x) => x[1].square().mul(0.5).add(x[2].square()).sub(x[1].mul(x[2])).sub(x[1].mul(7)).sub(x[2].mul(7)), atLeast: (x) => [x[1].square().mul(-4).sub(x[2].square()).add(25)] },
  { number: 13, best: 1, start: [-2, -2], lower: [0, 0], squares: (x) => [x[1].sub(2), x[2]], atLeast: (x) => [x[1].neg().add(1).cube().sub(x[2])] },
  { number: 14, best: 9 - 2.875 * Math.sqrt(7), start: [2, 2], squares: (x) => [x[1].sub(2), x[2].sub(1)], atLeast: (x) => [x[1].square().mul(-0.25).sub(x[2].square()).add(1)], equal: (x) => [x[1].sub(x[2].mul(2)).add(1)] },
  { number: 15, best: 306.5, start: [-2, 1], upper: [0.5, INF], squares: rosenbrock, atLeast: (x) => [x[1].mul(x[2]).sub(1), x[1].add(x[2].square())] },
  { number: 16, best: 0.25, start: [-2, 1], lower: [-0.5, -INF], upper: [0.5, 1], squares: rosenbrock, atLeast: (x) => [x[1].add(x[2].square()), x[1].square().add(x[2])] },
  { number: 17, best: 1, start: [-2, 1], lower: [-0.5, -INF], upper: [0.5, 1], squares: rosenbrock, atLeast: (x) => [x[2].square().sub(x[1]), x[1].square().sub(x[2])] },
  { number: 18, best: 5, start: [2, 2], lower: [2, 0], upper: [50, 50], squares: (x) => [x[1].mul(0.1), x[2]], atLeast: (x) => [x[1].mul(x[2]).sub(25), x[1].square().add(x[2].square()).sub(25)] },
  { number: 19, best: -6961.81381, start: [20.1, 5.84], lower: [13, 0], upper: [100, 100], sum: (x) => x[1].sub(10).cube().add(x[2].sub(20).cube()), atLeast: (x) => [x[1].sub(5).square().add(x[2].sub(5).square()).sub(100), x[2].sub(5).square().neg().sub(x[1].sub(6).square()).add(82.81)] },
  { number: 20, best: 81.5 - 25 * Math.sqrt(3), start: [-2, 1], lower: [-0.5, -INF], upper: [0.5, INF], squares: rosenbrock, atLeast: (x) => [x[1].add(x[2].square()), x[1].square().add(x[2]), x[1].square().add(x[2].square()).sub(1)] },
  { number: 21, best: -99.96, start: [-1, -1], lower: [2, -50], upper: [50, 50], sum: (x) => x[1].square().mul(0.01).add(x[2].square()).sub(100), atLeast: (x) => [x[1].mul(10).sub(x[2]).sub(10)] },
  { number: 22, best: 1, start: [2, 2], squares: (x) => [x[1].sub(2), x[2].sub(1)], atLeast: (x) => [x[1].add(x[2]).neg().add(2), x[2].sub(x[1].square())] },
  { number: 23, best: 2, start: [3, 1], lower: [-50, -50], upper: [50, 50], squares: (x) => [x[1], x[2]], atLeast: (x) => [x[1].add(x[2]).sub(1), x[1].square().add(x[2].square()).sub(1), x[1].square().mul(9).add(x[2].square()).sub(9), x[1].square().sub(x[2]), x[2].square().sub(x[1])] },
  { number: 24, best: -1, start: [1, 0.5], lower: [0, 0], sum: (x) => x[1].sub(3).square().sub(9).mul(x[2].cube()).div(27 * Math.sqrt(3)), atLeast: (x) => [x[1].div(Math.sqrt(3)).sub(x[2]), x[1].add(x[2].mul(Math.sqrt(3))), x[1].add(x[2].mul(Math.sqrt(3))).neg().add(6)] },
  { number: 25, best: 0, start: [100, 12.5, 3], lower: [0.1, 0, 0], upper: [100, 25.6, 5], squares: (x) => Array.from({ length: 99 }, (_, k) => V.C(25 + (-50 * Math.log(0.01 * (k + 1))) ** (2 / 3)).sub(x[2]).pow(x[3]).div(x[1]).neg().exp().sub(0.01 * (k + 1))) },
  { number: 26, best: 0, start: [-2.6, 2, 2], squares: (x) => [x[1].sub(x[2]), x[2].sub(x[3]).square()], equal: (x) => [x[2].square().add(1).mul(x[1]).add(x[3].pow(4)).sub(3)] },
  { number: 27, best: 0.04, start: [2, 2, 2], squares: (x) => [x[1].sub(1).mul(0.1), x[2].sub(x[1].square())], equal: (x) => [x[1].add(x[3].square()).add(1)] },
  { number: 28, best: 0, start: [-4, 1, 1], squares: (x) => [x[1].add(x[2]), x[2].add(x[3])], equal: (x) => [linear(x, [1, 2, 3]).sub(1)] },
  { number: 29, best: -16 * Math.SQRT2, start: [1, 1, 1], sum: (x) => product(all(x)).neg(), atLeast: (x) => [x[1].square().neg().sub(x[2].square().mul(2)).sub(x[3].square().mul(4)).add(48)] },
  { number: 30, best: 1, start: [1, 1, 1], lower: [1, -10, -10], upper: [10, 10, 10], squares: all, atLeast: (x) => [x[1].square().add(x[2].square()).sub(1)] },
  { number: 31, best: 6, start: [1, 1, 1], lower: [-10, 1, -10], upper: [10, 10, 1], squares: (x) => [x[1].mul(3), x[2], x[3].mul(3)], atLeast: (x) => [x[1].mul(x[2]).sub(1)] },
  { number: 32, best: 1, start: [0.1, 0.7, 0.2], lower: [0, 0, 0], squares: (x) => [linear(x, [1, 3, 1]), x[1].sub(x[2]).mul(2)], atLeast: (x) => [x[2].mul(6).add(x[3].mul(4)).sub(x[1].cube()).sub(3)], equal: (x) => [linear(x, [-1, -1, -1]).add(1)] },
  { number: 33, best: Math.SQRT2 - 6, start: [0, 0, 3], lower: [0, 0, 0], upper: [INF, INF, 5], sum: (x) => x[1].sub(1).mul(x[1].sub(2)).mul(x[1].sub(3)).add(x[3]), atLeast: (x) => [x[3].square().sub(x[2].square()).sub(x[1].square()), x[1].square().add(x[2].square()).add(x[3].square()).sub(4)] },
  { number: 34, best: -Math.log(Math.log(10)), start: [0, 1.05, 2.9], lower: [0, 0, 0], upper: [100, 100, 10], sum: (x) => x[1].neg(), atLeast: (x) => [x[2].sub(x[1].exp()), x[3].sub(x[2].exp())] },
  { number: 35, best: 1 / 9, start: [0.5, 0.5, 0.5], lower: [0, 0, 0], sum: (x) => linear(x, [-8, -6, -4]).add(9).add(x[1].square().mul(2)).add(x[2].square().mul(2)).add(x[3].square()).add(x[1].mul(x[2]).mul(2)).add(x[1].mul(x[3]).mul(2)), atLeast: (x) => [linear(x, [-1, -1, -2]).add(3)] },
  { number: 36, best: -3300, start: [10, 10, 10], lower: [0, 0, 0], upper: [20, 11, 42], sum: (x) => product(all(x)).neg(), atLeast: (x) => [linear(x, [-1, -2, -2]).add(72)] },
  { number: 37, best: -3456, start: [10, 10, 10], lower: [0, 0, 0], upper: [42, 42, 42], sum: (x) => product(all(x)).neg(), atLeast: (x) => [linear(x, [-1, -2, -2]).add(72), linear(x, [1, 2, 2])] },
  { number: 38, best: 0, start: [-3, -1, -3, -1], lower: same(4, -10), upper: same(4, 10), squares: (x) => [...rosenbrock(x), x[4].sub(x[3].square()).mul(Math.sqrt(90)), x[3].neg().add(1), x[2].add(x[4]).sub(2).mul(Math.sqrt(9.9)), x[2].sub(1).mul(Math.sqrt(0.2)), x[4].sub(1).mul(Math.sqrt(0.2))] },
  { number: 39, best: -1, start: same(4, 2), sum: (x) => x[1].neg(), equal: (x) => [x[2].sub(x[1].cube()).sub(x[3].square()), x[1].square().sub(x[2]).sub(x[4].square())] },
  { number: 40, best: -0.25, start: same(4, 0.8), sum: (x) => product(all(x)).neg(), equal: (x) => [x[1].cube().add(x[2].square()).sub(1), x[1].square().mul(x[4]).sub(x[3]), x[4].square().sub(x[2])] },
  { number: 41, best: 52 / 27, start: same(4, 2), lower: same(4, 0), upper: [1, 1, 1, 2], sum: (x) => product(all(x).slice(0, 3)).neg().add(2), equal: (x) => [linear(x, [1, 2, 2, -1])] },
  { number: 42, best: 28 - 10 * Math.SQRT2, start: same(4, 1), squares: (x) => all(x).map((v, k) => v.sub(k + 1)), equal: (x) => [x[1].sub(2), x[3].square().add(x[4].square()).sub(2)] },
  {
    number: 43, best: -44, start: same(4, 0), sum: (x) => linear(x, [-5, -5, -21, 7]).add(x[1].square()).add(x[2].square()).add(x[3].square().mul(2)).add(x[4].square()),
    atLeast: (x) => [
      linear(x, [-1, 1, -1, 1]).add(8).sub(total(all(x).map((v) => v.square()))),
      linear(x, [1, 0, 0, 1]).add(10).sub(total(all(x).map((v, k) => v.square().mul([1, 2, 1, 2][k])))),
      linear(x, [-2, 1, 0, 1]).add(5).sub(total(all(x).slice(0, 3).map((v, k) => v.square().mul([2, 1, 1][k])))),
    ],
  },
  {
    number: 44, best: -15, start: same(4, 0), lower: same(4, 0), sum: (x) => linear(x, [1, -1, -1]).sub(x[1].mul(x[3])).add(x[1].mul(x[4])).add(x[2].mul(x[3])).sub(x[2].mul(x[4])),
    atLeast: (x) => [linear(x, [-1, -2]).add(8), linear(x, [-4, -1]).add(12), linear(x, [-3, -4]).add(12), linear(x, [0, 0, -2, -1]).add(8), linear(x, [0, 0, -1, -2]).add(8), linear(x, [0, 0, -1, -1]).add(5)],
  },
  { number: 45, best: 1, start: same(5, 2), lower: same(5, 0), upper: [1, 2, 3, 4, 5], sum: (x) => product(all(x)).div(-120).add(2) },
  { number: 46, best: 0, start: [Math.SQRT2 / 2, 1.75, 0.5, 2, 2], squares: (x) => [x[1].sub(x[2]), x[3].sub(1), x[4].sub(1).square(), x[5].sub(1).cube()], equal: (x) => [x[1].square().mul(x[4]).add(x[4].sub(x[5]).sin()).sub(1), x[2].add(x[3].pow(4).mul(x[4].square())).sub(2)] },
  { number: 47, best: 0, start: [2, Math.SQRT2, -1, 2 - Math.SQRT2, 0.5], sum: (x) => x[1].sub(x[2]).square().add(x[2].sub(x[3]).cube()).add(x[3].sub(x[4]).pow(4)).add(x[4].sub(x[5]).pow(4)), equal: (x) => [x[1].add(x[2].square()).add(x[3].cube()).sub(3), x[2].sub(x[3].square()).add(x[4]).sub(1), x[1].mul(x[5]).sub(1)] },
  { number: 48, best: 0, start: [3, 5, -3, 2, -2], squares: (x) => [x[1].sub(1), x[2].sub(x[3]), x[4].sub(x[5])], equal: (x) => [linear(x, [1, 1, 1, 1, 1]).sub(5), linear(x, [0, 0, 1, -2, -2]).add(3)] },
  { number: 49, best: 0, start: [10, 7, 2, -3, 0.8], squares: (x) => [x[1].sub(x[2]), x[3].sub(1), x[4].sub(1).square(), x[5].sub(1).cube()], equal: (x) => [linear(x, [1, 1, 1, 4]).sub(7), linear(x, [0, 0, 1, 0, 5]).sub(6)] },
  { number: 50, best: 0, start: [35, -31, 11, 5, -5], squares: (x) => [x[1].sub(x[2]), x[2].sub(x[3]), x[3].sub(x[4]).square(), x[4].sub(x[5])], equal: (x) => [linear(x, [1, 2, 3]).sub(6), linear(x, [0, 1, 2, 3]).sub(6), linear(x, [0, 0, 1, 2, 3]).sub(6)] },
  { number: 51, best: 0, start: [2.5, 0.5, 2, -1, 0.5], squares: (x) => [x[1].sub(x[2]), x[2].add(x[3]).sub(2), x[4].sub(1), x[5].sub(1)], equal: (x) => [linear(x, [1, 3]).sub(4), linear(x, [0, 0, 1, 1, -2]), x[2].sub(x[5])] },
  { number: 52, best: 1859 / 349, start: same(5, 2), squares: (x) => [x[1].mul(4).sub(x[2]), x[2].add(x[3]).sub(2), x[4].sub(1), x[5].sub(1)], equal: (x) => [linear(x, [1, 3]), linear(x, [0, 0, 1, 1, -2]), x[2].sub(x[5])] },
  { number: 53, best: 176 / 43, start: same(5, 2), lower: same(5, -10), upper: same(5, 10), squares: (x) => [x[1].sub(x[2]), x[2].add(x[3]).sub(2), x[4].sub(1), x[5].sub(1)], equal: (x) => [linear(x, [1, 3]), linear(x, [0, 0, 1, 1, -2]), x[2].sub(x[5])] },
  { number: 55, best: 19 / 3, start: [1, 2, 0, 0, 0, 2], lower: same(6, 0), upper: [1, INF, INF, 1, INF, INF], sum: (x) => linear(x, [1, 2, 0, 0, 4]).add(x[1].mul(x[4]).exp()), equal: (x) => [linear(x, [1, 2, 0, 0, 5]).sub(6), linear(x, [1, 1, 1]).sub(3), linear(x, [0, 0, 0, 1, 1, 1]).sub(2), x[1].add(x[4]).sub(1), x[2].add(x[5]).sub(2), x[3].add(x[6]).sub(2)] },
  {
    number: 56, best: -3.456, start: [1, 1, 1, ...same(3, Math.asin(Math.sqrt(1 / 4.2))), Math.asin(Math.sqrt(5 / 7.2))], sum: (x) => product(all(x).slice(0, 3)).neg(),
    equal: (x) => [...[1, 2, 3].map((k) => x[k].sub(x[k + 3].sin().square().mul(4.2))), linear(x, [1, 2, 2]).sub(x[7].sin().square().mul(7.2))],
  },
  { number: 57, best: 0.02845966972, start: [0.42, 5], lower: [0.4, -4], squares: (x) => AGES.map((a, i) => x[1].neg().add(0.49).mul(x[2].mul(8 - a).exp()).add(x[1]).neg().add(SHARES[i])), atLeast: (x) => [x[2].mul(0.49).sub(x[1].mul(x[2])).sub(0.09)] },
  // The book has 3.19033354957, which is (1 + √g)² for the golden ratio g to seven digits.
  { number: 58, best: (1 + Math.sqrt((Math.sqrt(5) - 1) / 2)) ** 2, start: [-2, 1], lower: [-2, -INF], upper: [0.5, INF], squares: rosenbrock, atLeast: (x) => [x[2].square().sub(x[1]), x[1].square().sub(x[2]), x[1].square().add(x[2].square()).sub(1)] },
  {
    // The book has −7.804226324, which its point does not have.
    number: 59, best: -7.8027894715, start: [90, 10], lower: [0, 0], upper: [75, 65],
    sum: (x) => total([
      x[1].mul(3.8112).sub(75.196), x[1].square().mul(-0.12694), x[1].cube().mul(2.0567e-3), x[1].pow(4).mul(-1.0345e-5), x[2].mul(6.8306), x[1].mul(x[2]).mul(-0.030234),
      x[1].square().mul(x[2]).mul(1.28134e-3), x[1].cube().mul(x[2]).mul(-3.5256e-5), x[1].pow(4).mul(x[2]).mul(2.266e-7), x[2].square().mul(-0.25645), x[2].cube().mul(3.4604e-3), x[2].pow(4).mul(-1.3514e-5),
      V.C(28.106).div(x[2].add(1)), x[1].mul(x[2]).square().mul(5.2375e-6), x[1].cube().mul(x[2].square()).mul(6.3e-8), x[1].mul(x[2]).cube().mul(-7e-10), x[1].mul(x[2].square()).mul(-3.405e-4), x[1].mul(x[2].cube()).mul(1.6638e-6), x[1].mul(x[2]).mul(5e-4).exp().mul(2.8673),
    ]),
    atLeast: (x) => [x[1].mul(x[2]).sub(700), x[2].sub(x[1].square().div(125)), x[2].sub(50).square().sub(x[1].sub(55).mul(5))],
  },
  { number: 60, best: 0.03256820025, start: same(3, 2), lower: same(3, -10), upper: same(3, 10), squares: (x) => [x[1].sub(1), x[1].sub(x[2]), x[2].sub(x[3]).square()], equal: (x) => [x[2].square().add(1).mul(x[1]).add(x[3].pow(4)).sub(4 + 3 * Math.SQRT2)] },
  { number: 61, best: -143.6461422, start: same(3, 0), sum: (x) => linear(x, [-33, 16, -24]).add(x[1].square().mul(4)).add(x[2].square().mul(2)).add(x[3].square().mul(2)), equal: (x) => [x[1].mul(3).sub(x[2].square().mul(2)).sub(7), x[1].mul(4).sub(x[3].square()).sub(11)] },
  {
    number: 62, best: -26272.51448, start: [0.7, 0.2, 0.1], lower: same(3, 0), upper: same(3, 1),
    sum: (x) => total([
      linear(x, [1, 1, 1]).add(0.03).div(linear(x, [0.09, 1, 1]).add(0.03)).log().mul(255),
      linear(x, [0, 1, 1]).add(0.03).div(linear(x, [0, 0.07, 1]).add(0.03)).log().mul(280),
      x[3].add(0.03).div(x[3].mul(0.13).add(0.03)).log().mul(290),
    ]).mul(-32.174),
    equal: (x) => [linear(x, [1, 1, 1]).sub(1)],
  },
  { number: 63, best: 961.7151721, start: same(3, 2), lower: same(3, 0), sum: (x) => V.C(1000).sub(x[1].square()).sub(x[2].square().mul(2)).sub(x[3].square()).sub(x[1].mul(x[2])).sub(x[1].mul(x[3])), equal: (x) => [linear(x, [8, 14, 7]).sub(56), total(all(x).map((v) => v.square())).sub(25)] },
  { number: 64, best: 6299.842428, start: same(3, 1), lower: same(3, 1e-5), sum: (x) => total([x[1].mul(5), V.C(50000).div(x[1]), x[2].mul(20), V.C(72000).div(x[2]), x[3].mul(10), V.C(144000).div(x[3])]), atLeast: (x) => [V.C(1).sub(V.C(4).div(x[1])).sub(V.C(32).div(x[2])).sub(V.C(120).div(x[3]))] },
  { number: 65, best: 0.9535288567, start: [-5, 5, 0], lower: [-4.5, -4.5, -5], upper: [4.5, 4.5, 5], squares: (x) => [x[1].sub(x[2]), x[1].add(x[2]).sub(10).div(3), x[3].sub(5)], atLeast: (x) => [total(all(x).map((v) => v.square())).neg().add(48)] },
  { number: 66, best: 0.5181632741, start: [0, 1.05, 2.9], lower: same(3, 0), upper: [100, 100, 10], sum: (x) => x[3].mul(0.2).sub(x[1].mul(0.8)), atLeast: (x) => [x[2].sub(x[1].exp()), x[3].sub(x[2].exp())] },
  {
    number: 70, best: 0.007498464, start: [2, 4, 0.04, 2], lower: same(4, 1e-5), upper: [100, 100, 1, 100],
    squares: (x) => {
      const b = x[3].add(x[3].neg().add(1).mul(x[4]));
      return YIELDS.map((y, k) => {
        const c = (k === 0 ? 0.1 : k) / 7.658;
        // The book multiplies by what Stirling's series divides by; its minimum is that of the series.
        const part = (p, share, ratio) => share.div(p.mul(12).reciprocal().add(1)).mul(ratio.pow(p)).mul(p.div(6.2832).sqrt()).mul(V.C(c).pow(p.sub(1))).mul(p.sub(ratio.mul(c).mul(p)).exp());
        return part(x[2], x[3], b).add(part(x[1], x[3].neg().add(1), b.div(x[4]))).sub(y);
      });
    },
    atLeast: (x) => [x[3].add(x[3].neg().add(1).mul(x[4]))],
  },
  { number: 71, best: 17.0140173, start: [1, 5, 5, 1], lower: same(4, 1), upper: same(4, 5), sum: (x) => x[1].mul(x[4]).mul(linear(x, [1, 1, 1])).add(x[3]), atLeast: (x) => [product(all(x)).sub(25)], equal: (x) => [total(all(x).map((v) => v.square())).sub(40)] },
  { number: 72, best: 727.67937, start: same(4, 1), lower: same(4, 0.001), upper: [4e5, 3e5, 2e5, 1e5], sum: (x) => linear(x, [1, 1, 1, 1]).add(1), atLeast: (x) => [[0.0401, [4, 2.25, 1, 0.25]], [0.010085, [0.16, 0.36, 0.64, 0.64]]].map(([limit, a]) => total(a.map((share, k) => V.C(share).div(x[k + 1]))).neg().add(limit)) },
  { number: 73, best: 29.894378, start: same(4, 1), lower: same(4, 0), sum: (x) => linear(x, [24.55, 26.75, 39, 40.5]), atLeast: (x) => [linear(x, [2.3, 5.6, 11.1, 1.3]).sub(5), linear(x, [12, 11.9, 41.8, 52.1]).sub(21).sub(total([0.28, 0.19, 20.5, 0.62].map((a, k) => x[k + 1].square().mul(a))).sqrt().mul(1.645))], equal: (x) => [linear(x, [1, 1, 1, 1]).sub(1)] },
  generators(74, 0.55, 5126.4981),
  generators(75, 0.48, 5174.4129),
  { number: 76, best: -4.681818181, start: same(4, 0.5), lower: same(4, 0), sum: (x) => linear(x, [-1, -3, 1, -1]).add(x[1].square()).add(x[2].square().mul(0.5)).add(x[3].square()).add(x[4].square().mul(0.5)).sub(x[1].mul(x[3])).add(x[3].mul(x[4])), atLeast: (x) => [linear(x, [-1, -2, -1, -1]).add(5), linear(x, [-3, -1, -2, 1]).add(4), linear(x, [0, 1, 4]).sub(1.5)] },
  { number: 77, best: 0.2415051288, start: same(5, 2), squares: (x) => [x[1].sub(1), x[1].sub(x[2]), x[3].sub(1), x[4].sub(1).square(), x[5].sub(1).cube()], equal: (x) => [x[1].square().mul(x[4]).add(x[4].sub(x[5]).sin()).sub(2 * Math.SQRT2), x[2].add(x[3].pow(4).mul(x[4].square())).sub(8 + Math.SQRT2)] },
  { number: 78, best: -2.919700409, start: [-2, 1.5, 2, -1, -1], sum: (x) => product(all(x)), equal: sphere },
  { number: 79, best: 0.0787768209, start: same(5, 2), squares: (x) => [x[1].sub(1), x[1].sub(x[2]), x[2].sub(x[3]), x[3].sub(x[4]).square(), x[4].sub(x[5]).square()], equal: (x) => [x[1].add(x[2].square()).add(x[3].cube()).sub(2 + 3 * Math.SQRT2), x[2].sub(x[3].square()).add(x[4]).add(2 - 2 * Math.SQRT2), x[1].mul(x[5]).sub(2)] },
  { number: 80, best: 0.0539498478, start: [-2, 2, 2, -1, -1], lower: [-2.3, -2.3, -3.2, -3.2, -3.2], upper: [2.3, 2.3, 3.2, 3.2, 3.2], sum: (x) => product(all(x)).exp(), equal: sphere },
  { number: 81, best: 0.0539498478, start: [-2, 2, 2, -1, -1], lower: [-2.3, -2.3, -3.2, -3.2, -3.2], upper: [2.3, 2.3, 3.2, 3.2, 3.2], sum: (x) => product(all(x)).exp().sub(sphere(x)[2].square().mul(0.5)), equal: sphere },
  {
    number: 83, best: -30665.53867, start: [78, 33, 27, 27, 27], lower: [78, 33, 27, 27, 27], upper: [102, 45, 45, 45, 45],
    sum: (x) => x[3].square().mul(5.3578547).add(x[1].mul(x[5]).mul(0.8356891)).add(x[1].mul(37.293239)).sub(40792.141),
    atLeast: (x) => [
      [x[2].mul(x[5]).mul(0.0056858).add(x[1].mul(x[4]).mul(0.0006262)).sub(x[3].mul(x[5]).mul(0.0022053)).add(85.334407), 92],
      [x[2].mul(x[5]).mul(0.0071317).add(x[1].mul(x[2]).mul(0.0029955)).add(x[3].square().mul(0.0021813)).add(80.51249 - 90), 20],
      [x[3].mul(x[5]).mul(0.0047026).add(x[1].mul(x[3]).mul(0.0012547)).add(x[3].mul(x[4]).mul(0.0019085)).add(9.300961 - 20), 5],
    ].flatMap(([g, most]) => [g, g.neg().add(most)]),
  },
  {
    number: 84, best: -5280335.133, start: [2.52, 2, 37.5, 9.25, 6.8], lower: [0, 1.2, 20, 9, 6.5], upper: [1000, 2.4, 60, 9.3, 7],
    sum: (x) => x[1].mul(linear(x, [0, 150512.5253, -156.6950325, 476470.3222, 729482.8271]).sub(8720288.849)).neg().add(24345),
    atLeast: (x) => [
      [-145421.402, [2931.1506, -40.427932, 5106.192, 15711.36], 294000],
      [-155011.1084, [4360.53352, 12.9492344, 10236.884, 13176.786], 294000],
      [-326669.5104, [7390.68412, -27.8986976, 16643.076, 30988.146], 277200],
    ].flatMap(([first, others, most]) => {
      const g = x[1].mul(linear(x, [0, ...others]).add(first));
      return [g, g.neg().add(most)];
    }),
  },
  {
    number: 86, best: -32.34867897, start: [0, 0, 0, 0, 1], lower: same(5, 0),
    sum: (x) => total([linear(x, COLVILLE.e), ...COLVILLE.c.map((row, i) => x[i + 1].mul(linear(x, row))), ...COLVILLE.d.map((d, j) => x[j + 1].cube().mul(d))]),
    atLeast: (x) => COLVILLE.a.map((row, i) => linear(x, row).sub(COLVILLE.b[i])),
  },
  {
    number: 93, best: 135.075961, start: [5.54, 4.4, 12.02, 11.82, 0.702, 0.852], lower: same(6, 0),
    sum: (x) => {
      const [p, q] = [x[1].mul(x[4]).mul(linear(x, [1, 1, 1])), x[2].mul(x[3]).mul(linear(x, [1, 1.57, 0, 1]))];
      return total([p.mul(0.0204), q.mul(0.0187), p.mul(x[5].square()).mul(0.0607), q.mul(x[6].square()).mul(0.0437)]);
    },
    atLeast: (x) => [product(all(x)).mul(0.001).sub(2.07), V.C(1).sub(x[1].mul(x[4]).mul(x[5].square()).mul(linear(x, [1, 1, 1])).mul(0.00062)).sub(x[2].mul(x[3]).mul(x[6].square()).mul(linear(x, [1, 1.57, 0, 1])).mul(0.00058))],
  },
  blending(95, [4.97, -1.88, -29.08, -78.02], 0.01561952524),
  blending(96, [4.97, -1.88, -69.08, -118.02], 0.01561952524),
  blending(97, [32.97, 25.12, -29.08, -78.02], 3.1358091),
  blending(98, [32.97, 25.12, -124.08, -173.02], 3.1358091),
  {
    number: 99, best: -0.831079892e9, start: same(7, 0.5), lower: same(7, 0), upper: same(7, 1.58), ...(() => {
      const a = [0, 50, 50, 75, 75, 75, 100, 100];
      const t = [0, 25, 50, 100, 150, 200, 290, 380];
      const flight = (x) => {
        let [r, q, s] = [V.C(0), V.C(0), V.C(0)];
        for (let i = 1; i < 8; i++) {
          const dt = t[i] - t[i - 1];
          const lift = x[i].sin().mul(a[i]).sub(32);
          r = r.add(x[i].cos().mul(a[i] * dt));
          q = q.add(s.mul(dt)).add(lift.mul(0.5 * dt * dt));
          s = s.add(lift.mul(dt));
        }
        return { r, q, s };
      };
      return { sum: (x) => flight(x).r.square().neg(), equal: (x) => [flight(x).q.sub(1e5), flight(x).s.sub(1e3)] };
    })(),
  },
  {
    number: 100, best: 680.6300573, start: [1, 2, 0, 4, 0, 1, 1],
    sum: (x) => total([x[1].sub(10).square(), x[2].sub(12).square().mul(5), x[3].pow(4), x[4].sub(11).square().mul(3), x[5].pow(6).mul(10), x[6].square().mul(7), x[7].pow(4), x[6].mul(x[7]).mul(-4), x[6].mul(-10), x[7].mul(-8)]),
    atLeast: (x) => [
      linear(x, [0, 0, -1, 0, -5]).add(127).sub(x[1].square().mul(2)).sub(x[2].pow(4).mul(3)).sub(x[4].square().mul(4)),
      linear(x, [-7, -3, 0, -1, 1]).add(282).sub(x[3].square().mul(10)),
      linear(x, [-23, 0, 0, 0, 0, 0, 8]).add(196).sub(x[2].square()).sub(x[6].square().mul(6)),
      linear(x, [0, 0, 0, 0, 0, -5, 11]).sub(x[1].square().mul(4)).sub(x[2].square()).add(x[1].mul(x[2]).mul(3)).sub(x[3].square().mul(2)),
    ],
  },
  geometric(101, -0.25, 1809.76476),
  geometric(102, 0.125, 911.880571),
  geometric(103, 0.5, 543.667958),
  {
    number: 104, best: 3.9511634396, start: [6, 3, 0.4, 0.2, 6, 6, 1, 0.5], lower: same(8, 0.1), upper: same(8, 10), ...(() => {
      const cost = (x) => total([monomial(x, 0.4, { 1: 0.67, 7: -0.67 }), monomial(x, 0.4, { 2: 0.67, 8: -0.67 }), linear(x, [-1, -1]).add(10)]);
      const stage = (x, a, b, c) => total([monomial(x, 4, { [a]: 1, [b]: -1 }), monomial(x, 2, { [a]: -0.71, [b]: -1 }), monomial(x, 0.0588, { [a]: -1.3, [c]: 1 })]).neg().add(1);
      return {
        sum: cost,
        atLeast: (x) => [
          x[5].mul(x[7]).mul(-0.0588).sub(x[1].mul(0.1)).add(1), x[6].mul(x[8]).mul(-0.0588).sub(x[1].add(x[2]).mul(0.1)).add(1), stage(x, 3, 5, 7), stage(x, 4, 6, 8), cost(x).sub(1), cost(x).neg().add(4.2),
        ],
      };
    })(),
  },
  {
    // The book has 1138.41624, which is above the minimum.
    number: 105, best: 1136.3073036, start: [0.1, 0.2, 100, 125, 175, 11.2, 13.2, 15.8], lower: [0.001, 0.001, 100, 130, 170, 5, 5, 5], upper: [0.499, 0.499, 180, 210, 240, 25, 25, 25],
    sum: (x) => {
      const bell = (y, share, mean, width) => share.div(width).mul(V.C(y).sub(mean).div(width).square().mul(-0.5).exp());
      return total(Object.entries(WEIGHTS_105).map(([y, count]) =>
        total([bell(+y, x[1], x[3], x[6]), bell(+y, x[2], x[4], x[7]), bell(+y, linear(x, [-1, -1]).add(1), x[5], x[8])]).div(Math.sqrt(2 * Math.PI)).log().mul(-count)));
    },
    atLeast: (x) => [linear(x, [-1, -1]).add(1)],
  },
  {
    // The book has 7049.330923, which is above the minimum by 1.2e-5 of it.
    number: 106, best: 7049.24802, start: [5000, 5000, 5000, 200, 350, 150, 225, 425], lower: [100, 1000, 1000, 10, 10, 10, 10, 10], upper: [10000, 10000, 10000, ...same(5, 1000)],
    sum: (x) => linear(x, [1, 1, 1]),
    atLeast: (x) => [
      linear(x, [0, 0, 0, -0.0025, 0, -0.0025]).add(1), linear(x, [0, 0, 0, 0.0025, -0.0025, 0, -0.0025]).add(1), linear(x, [0, 0, 0, 0, 0.01, 0, 0, -0.01]).add(1),
      x[1].mul(x[6]).sub(x[4].mul(833.33252)).sub(x[1].mul(100)).add(83333.333), x[2].mul(x[7]).sub(x[5].mul(1250)).sub(x[2].mul(x[4])).add(x[4].mul(1250)), x[3].mul(x[8]).sub(1250000).sub(x[3].mul(x[5])).add(x[5].mul(2500)),
    ],
  },
  {
    number: 107, best: 5055.011803, start: [0.8, 0.8, 0.2, 0.2, 1.0454, 1.0454, 1.0454, 0, 0], lower: [0, 0, -INF, -INF, ...same(3, 0.90909), -INF, -INF], upper: [...same(4, INF), ...same(3, 1.0909), INF, INF],
    sum: (x) => linear(x, [3000, 2000]).add(x[1].cube().mul(1000)).add(x[2].cube().mul(666.667)),
    equal: (x) => {
      const [c, d] = [(48.4 / 50.176) * Math.sin(0.25), (48.4 / 50.176) * Math.cos(0.25)];
      const wave = (y, s, k) => y.sin().mul(s).add(y.cos().mul(k));
      const [y1, y2, y3] = [x[8], x[9], x[8].sub(x[9])];
      const [p, q, r] = [x[5].mul(x[6]), x[5].mul(x[7]), x[6].mul(x[7])];
      const own = (v, k) => v.square().mul(2 * k);
      return [
        V.C(0.4).sub(x[1]).add(own(x[5], c)).sub(p.mul(wave(y1, d, c))).sub(q.mul(wave(y2, d, c))),
        V.C(0.4).sub(x[2]).add(own(x[6], c)).add(p.mul(wave(y1, d, -c))).add(r.mul(wave(y3, d, -c)).neg().mul(-1)),
        V.C(0.8).add(own(x[7], c)).add(q.mul(wave(y2, d, -c))).sub(r.mul(wave(y3, d, c))),
        V.C(0.2).sub(x[3]).add(own(x[5], d)).add(p.mul(wave(y1, c, -d))).add(q.mul(wave(y2, c, -d))),
        V.C(0.2).sub(x[4]).add(own(x[6], d)).sub(p.mul(wave(y1, c, d))).sub(r.mul(wave(y3, c, d))),
        V.C(-0.337).add(own(x[7], d)).sub(q.mul(wave(y2, c, d))).add(r.mul(wave(y3, c, -d))),
      ];
    },
  },
  {
    number: 108, best: -Math.sqrt(3) / 2, start: same(9, 1), lower: [...same(8, -INF), 0],
    sum: (x) => total([x[1].mul(x[4]), x[2].mul(x[3]).neg(), x[3].mul(x[9]), x[5].mul(x[9]).neg(), x[5].mul(x[8]), x[6].mul(x[7]).neg()]).mul(-0.5),
    atLeast: (x) => {
      const within = (...legs) => total(legs.map((leg) => leg.square())).neg().add(1);
      return [
        within(x[3], x[4]), within(x[9]), within(x[5], x[6]), within(x[1], x[2].sub(x[9])), within(x[1].sub(x[5]), x[2].sub(x[6])), within(x[1].sub(x[7]), x[2].sub(x[8])),
        within(x[3].sub(x[5]), x[4].sub(x[6])), within(x[3].sub(x[7]), x[4].sub(x[8])), within(x[7], x[8].sub(x[9])), x[1].mul(x[4]).sub(x[2].mul(x[3])), x[3].mul(x[9]), x[5].mul(x[9]).neg(), x[5].mul(x[8]).sub(x[6].mul(x[7])),
      ];
    },
  },
  { number: 110, best: -45.77846971, start: same(10, 9), lower: same(10, 2.001), upper: same(10, 9.999), sum: (x) => total(all(x).map((v) => v.sub(2).log().square().add(v.neg().add(10).log().square()))).sub(product(all(x)).pow(0.2)) },
  {
    number: 111, best: -47.76109026, start: same(10, -2.3), lower: same(10, -100), upper: same(10, 100),
    sum: (x) => {
      const whole = total(all(x).map((v) => v.exp())).log();
      return total(all(x).map((v, j) => v.exp().mul(v.add(ENERGIES[j]).sub(whole))));
    },
    equal: (x) => {
      const e = x.map((v) => v?.exp());
      return [linear(e, [1, 2, 2, 0, 0, 1, 0, 0, 0, 1]).sub(2), linear(e, [0, 0, 0, 1, 2, 1, 1]).sub(1), linear(e, [0, 0, 1, 0, 0, 0, 1, 1, 2, 1]).sub(1)];
    },
  },
  {
    // The book has −47.707579, which is above the minimum, that of problem 111.
    number: 112, best: -47.76109026, start: same(10, 0.1), lower: same(10, 1e-6),
    sum: (x) => {
      const whole = total(all(x));
      return total(all(x).map((v, j) => v.mul(v.div(whole).log().add(ENERGIES[j]))));
    },
    equal: (x) => [linear(x, [1, 2, 2, 0, 0, 1, 0, 0, 0, 1]).sub(2), linear(x, [0, 0, 0, 1, 2, 1, 1]).sub(1), linear(x, [0, 0, 1, 0, 0, 0, 1, 1, 2, 1]).sub(1)],
  },
  {
    number: 113, best: 24.3062091, start: [2, 3, 5, 5, 1, 2, 7, 3, 6, 10],
    sum: (x) => total([x[1].square(), x[2].square(), x[1].mul(x[2]), linear(x, [-14, -16]), ...[[3, 10, 1], [4, 5, 4], [5, 3, 1], [6, 1, 2], [7, 0, 5], [8, 11, 7], [9, 10, 2], [10, 7, 1]].map(([i, at, a]) => x[i].sub(at).square().mul(a))]).add(45),
    atLeast: (x) => [
      linear(x, [-4, -5, 0, 0, 0, 0, 3, -9]).add(105), linear(x, [-10, 8, 0, 0, 0, 0, 17, -2]), linear(x, [8, -2, 0, 0, 0, 0, 0, 0, -5, 2]).add(12),
      linear(x, [0, 0, 0, 7]).add(120).sub(x[1].sub(2).square().mul(3)).sub(x[2].sub(3).square().mul(4)).sub(x[3].square().mul(2)),
      linear(x, [0, -8, 0, 2]).add(40).sub(x[1].square().mul(5)).sub(x[3].sub(6).square()),
      x[6].add(30).sub(x[1].sub(8).square().mul(0.5)).sub(x[2].sub(4).square().mul(2)).sub(x[5].square().mul(3)),
      linear(x, [0, 0, 0, 0, -14, 6]).sub(x[1].square()).sub(x[2].sub(2).square().mul(2)).add(x[1].mul(x[2]).mul(2)),
      linear(x, [3, -6, 0, 0, 0, 0, 0, 0, 0, 7]).sub(x[9].sub(8).square().mul(12)),
    ],
  },
  {
    number: 114, best: -1768.80696, start: [1745, 12000, 110, 3048, 1974, 89.2, 92.8, 8, 3.6, 145], lower: [...same(5, 1e-5), 85, 90, 3, 1.2, 145], upper: [2000, 16000, 120, 5000, 2000, 93, 95, 12, 4, 162],
    sum: (x) => linear(x, [5.04, 0.035, 10, 0, 3.36]).sub(x[4].mul(x[7]).mul(0.063)),
    atLeast: (x) => {
      const [a, b] = [0.99, 0.9];
      const g1 = linear(x, [0, 0, 0, 0, 0, 0, 0, 0, -b, -0.222]).add(35.82);
      const g2 = linear(x, [0, 0, 0, 0, 0, 0, 3, 0, 0, -a]).sub(133);
      const g5 = x[1].mul(1.12).add(x[1].mul(x[8]).mul(0.13167)).sub(x[1].mul(x[8].square()).mul(0.00667)).sub(x[4].mul(a));
      const g6 = linear(x, [0, 0, 0, 0, 0, 0.325, -a, 1.098]).add(57.425).sub(x[8].square().mul(0.038));
      const wide = 1 / a - a;
      return [g1, g2, g1.neg().add(x[9].mul(1 / b - b)), g2.neg().add(x[10].mul(wide)), g5, g6, g5.neg().add(x[4].mul(wide)), g6.neg().add(x[7].mul(wide))];
    },
    equal: (x) => [linear(x, [-1, 0, 0, 1.22, -1]), x[3].mul(98000).div(x[4].mul(x[9]).add(x[3].mul(1000))).sub(x[6]), x[2].add(x[5]).div(x[1]).sub(x[8])],
  },
  {
    // The book has 97.588409, which is above the minimum by 9e-6 of it.
    number: 116, best: 97.5875096, start: [0.5, 0.8, 0.9, 0.1, 0.14, 0.5, 489, 80, 650, 450, 150, 150, 150],
    lower: [0.1, 0.1, 0.1, 1e-4, 0.1, 0.1, 0.1, 0.1, 500, 0.1, 1, 1e-4, 1e-4], upper: [1, 1, 1, 0.1, 0.9, 0.9, 1000, 1000, 1000, 500, 150, 150, 150],
    sum: (x) => total([x[11], x[12], x[13]]),
    atLeast: (x) => {
      const cost = total([x[11], x[12], x[13]]);
      const balance = (a, b) => x[b].sub(x[a].mul(0.03475)).sub(x[a].mul(x[b]).mul(0.975)).add(x[a].square().mul(0.00975));
      const feed = (a, b, c) => x[a].sub(x[b].mul(1.262626)).add(x[c].mul(x[b]).mul(1.231059));
      return [
        x[3].sub(x[2]), x[2].sub(x[1]), x[7].sub(x[8]).mul(-0.002).add(1), cost.sub(50), cost.neg().add(250), feed(13, 10, 3), feed(11, 8, 1), feed(12, 9, 2), balance(2, 5), balance(3, 6), balance(1, 4),
        x[5].mul(x[7]).sub(x[1].mul(x[8])).sub(x[4].mul(x[7])).add(x[4].mul(x[8])),
        total([x[2].mul(x[9]), x[5].mul(x[8]), x[1].mul(x[8]).neg(), x[6].mul(x[9]).neg()]).mul(-0.002).sub(x[5]).sub(x[6]).add(1),
        total([x[2].mul(x[9]), x[3].mul(x[10]).neg(), x[6].mul(x[9]).neg(), x[2].mul(-500), x[6].mul(500), x[2].mul(x[10])]),
        x[2].sub(0.9).sub(x[2].mul(x[10]).sub(x[3].mul(x[10])).mul(0.002)),
      ];
    },
  },
  {
    number: 117, best: 32.34867897, start: [...same(6, 0.001), 60, ...same(8, 0.001)], lower: same(15, 0),
    sum: (x) => total([
      ...COLVILLE.b.map((b, j) => x[j + 1].mul(-b)), ...COLVILLE.c.map((row, k) => x[11 + k].mul(total(row.map((c, j) => x[11 + j].mul(c))))), ...COLVILLE.d.map((d, j) => x[11 + j].cube().mul(2 * d)),
    ]),
    atLeast: (x) => COLVILLE.d.map((d, j) => total([...COLVILLE.c.map((row, k) => x[11 + k].mul(2 * row[j])), x[11 + j].square().mul(3 * d), V.C(COLVILLE.e[j]), ...COLVILLE.a.map((row, k) => x[k + 1].mul(-row[j]))])),
  },
  {
    number: 118, best: 664.82045, start: Array.from({ length: 5 }, (_, k) => [20, k === 0 ? 55 : 60, k === 0 ? 15 : 20]).flat(), lower: [8, 43, 3, ...same(12, 0)], upper: [21, 57, 16, ...Array.from({ length: 4 }, () => [90, 120, 60]).flat()],
    sum: (x) => total(all(x).map((v, k) => v.mul([2.3, 1.7, 2.2][k % 3]).add(v.square().mul([1e-4, 1e-4, 1.5e-4][k % 3])))),
    atLeast: (x) => [
      ...Array.from({ length: 12 }, (_, k) => x[k + 4].sub(x[k + 1]).add(7)), ...Array.from({ length: 12 }, (_, k) => x[k + 4].sub(x[k + 1]).neg().add([6, 7, 6][k % 3])),
      ...[60, 50, 70, 85, 100].map((least, k) => total([x[3 * k + 1], x[3 * k + 2], x[3 * k + 3]]).sub(least)),
    ],
  },
  {
    number: 119, best: 244.899698, start: same(16, 10), lower: same(16, 0), upper: same(16, 5),
    sum: (x) => {
      const s = x.map((v) => v?.square().add(v).add(1));
      return total(all(s).map((v, k) => v.mul(total([v, ...(PAIRS_119[k + 1] ?? []).map((j) => s[j])]))));
    },
    equal: (x) => ROWS_119.map((row, i) => linear(x, row).sub(SIDES_119[i])),
  },
];
