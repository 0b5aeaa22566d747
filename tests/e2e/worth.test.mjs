// Covariance and rank in a page, on both backends: they are computed in double precision either way.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
});
after(() => browser.close());

for (const backend of ['gpu', 'cpu']) {
  describe(`on the ${backend}`, () => {
    test('the covariance of a line is that of its normal equations', async () => {
      const got = await page.evaluate(async (backend) => {
        const { covariance, GpuCompiledFunctions, Problem } = window.residua;
        const problem = new Problem();
        const line = problem.parameters('line', { dim: 2, values: [1, 2] });
        problem.residuals('points', {
          inputs: { line: line.shared(), x: problem.data([0, 1, 2]) },
          residual: ({ line, x }) => line.x.mul(x).add(line.y),
        });
        const functions = await GpuCompiledFunctions.compile(problem, { backend });
        const found = await covariance(functions, { blocks: [{ array: line, index: 0 }] });
        functions.dispose();
        return [...found.values];
      }, backend);
      // JᵀJ = [5 3; 3 3] inverted by hand; rounding of double precision in a problem of condition 10.
      [0.5, -0.5, -0.5, 5 / 6].forEach((expected, k) => assert.ok(Math.abs(got[k] - expected) < 1e-14, `${k}: ${got[k]}`));
    });

    test('a chain of 2,500 points may be moved as a whole until one of them is held', async () => {
      const got = await page.evaluate(async (backend) => {
        const { covariance, GpuCompiledFunctions, Problem, rank } = window.residua;
        const count = 2500;
        const problem = new Problem();
        const points = problem.parameters('points', { dim: 2, values: new Float64Array(2 * count) });
        const from = Array.from({ length: count - 1 }, (_, k) => k);
        problem.residuals('differences', {
          inputs: { a: points.at(from), b: points.at(from.map((k) => k + 1)) },
          residual: ({ a, b }) => b.sub(a),
        });
        const functions = await GpuCompiledFunctions.compile(problem, { backend });
        const loose = await rank(functions);
        const refused = await covariance(functions).catch(({ code, message }) => ({ code, message }));
        const blocks = [{ array: points, index: 100 }, { array: points, index: 2499 }];
        const free = await covariance(functions, { blocks }).catch(({ code, message }) => ({ code, message }));
        points.setConstant([0]);
        const held = await rank(functions);
        const found = await covariance(functions, { blocks });
        functions.dispose();
        return {
          loose: [loose.rank, loose.degreesOfFreedom, loose.free.length, loose.free[0].length],
          coordinates: loose.free.map((direction) => [...new Set(direction.map(({ array, coordinate }) => `${array} ${coordinate}`))]),
          held: [held.rank, held.degreesOfFreedom, held.free.length],
          refused, free, values: [...found.values], between: [...found.between(0, 1)],
        };
      }, backend);
      assert.deepEqual(got.loose, [4998, 5000, 2, 2500]);
      assert.deepEqual(got.coordinates.flat().sort(), ['points 0', 'points 1']);
      assert.deepEqual(got.held, [4998, 4998, 0]);
      assert.equal(got.refused.code, 'limit-exceeded');
      assert.equal(got.free.code, 'invalid-argument');
      assert.match(got.free.message, /rank 4998 of 5000.*points\[\d+\] coordinate [01]/);
      // A walk: variances are the number of steps. The condition of JᵀJ is some 10⁷, its rounding 10⁻⁹.
      const expected = [100, 0, 100, 0, 0, 100, 0, 100, 100, 0, 2499, 0, 0, 100, 0, 2499];
      expected.forEach((value, k) => assert.ok(Math.abs(got.values[k] - value) < 1e-5, `${k}: ${got.values[k]}`));
      [100, 0, 0, 100].forEach((value, k) => assert.ok(Math.abs(got.between[k] - value) < 1e-5));
    });
  });
}
