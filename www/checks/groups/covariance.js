/** Covariance and rank on both engines; they are computed in double precision in both cases. */
import { covariance, Problem, rank } from 'residua';
import { onEach } from '../define.js';

export const group = {
  id: 'covariance',
  title: 'Covariance and rank',
  about: 'The covariance of the parameters, and the directions that the residuals do not determine.',
  checks: [
    ...onEach('the covariance of a line equals that of its normal equations', async (check) => {
      const problem = new Problem();
      const line = problem.parameters('line', { dim: 2, values: [1, 2] });
      problem.residuals('points', {
        inputs: { line: line.shared(), x: problem.data([0, 1, 2]) },
        residual: ({ line, x }) => line.x.mul(x).add(line.y),
      });
      const functions = await check.compile(problem);
      const { values } = await covariance(functions, { blocks: [{ array: line, index: 0 }], absoluteSigma: true });
      [0.5, -0.5, -0.5, 5 / 6].forEach((expected, k) => {
        check.below(Math.abs(values[k] - expected), 1e-14, 'JᵀJ = [5 3; 3 3] inverted by hand; rounding of double precision in a problem of condition 10.', `entry ${k}: ${values[k]}, not ${expected}`);
      });
    }),

    ...onEach('a chain of 2,500 points has free translations until one point is constant', async (check) => {
      const count = 2500;
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 2, values: new Float64Array(2 * count) });
      const from = Array.from({ length: count - 1 }, (_, k) => k);
      problem.residuals('differences', {
        inputs: { a: points.at(from), b: points.at(from.map((k) => k + 1)) },
        residual: ({ a, b }) => b.sub(a),
      });
      const functions = await check.compile(problem);
      const loose = await rank(functions);
      const refused = await check.failure(covariance(functions));
      const blocks = [{ array: points, index: 100 }, { array: points, index: 2499 }];
      const free = await check.failure(covariance(functions, { blocks }));
      points.setConstant([0]);
      const held = await rank(functions);
      const found = await covariance(functions, { blocks, absoluteSigma: true });
      check.same([loose.rank, loose.degreesOfFreedom, loose.free.length, loose.free[0].length], [4998, 5000, 2, 2500]);
      check.same(loose.free.flatMap((direction) => [...new Set(direction.map(({ array, coordinate }) => `${array} ${coordinate}`))]).sort(), ['points 0', 'points 1']);
      check.same([held.rank, held.degreesOfFreedom, held.free.length], [4998, 4998, 0]);
      check.equal(refused?.code, 'limit-exceeded');
      check.equal(free?.code, 'invalid-argument');
      check.match(free.message, /rank 4998 of 5000.*points\[\d+\] coordinate [01]/);
      const because = 'A walk: variances are the number of steps. The condition of JᵀJ is some 10⁷, its rounding 10⁻⁹.';
      const expected = [100, 0, 100, 0, 0, 100, 0, 100, 100, 0, 2499, 0, 0, 100, 0, 2499];
      expected.forEach((value, k) => check.below(Math.abs(found.values[k] - value), 1e-5, because, `entry ${k}: ${found.values[k]}, not ${value}`));
      [100, 0, 0, 100].forEach((value, k) => check.below(Math.abs(found.between(0, 1)[k] - value), 1e-5, because, `between the two, entry ${k}`));
    }),
  ],
};
