// Hessians on the CPU through the package: their pattern, their values, products, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { Problem } = await import('residua');

const near = (found, expected, tolerance, what) => {
  assert.equal(found.length, expected.length, what);
  expected.forEach((number, k) => assert.ok(Math.abs(found[k] - number) <= tolerance, `${what} [${k}]: ${found[k]} is not ${number}`));
};
const refused = (message) => (error) => (error.code === 'invalid-argument' && message.test(error.message)) || assert.fail(`${error.code}: ${error.message}`);

test('Hessians are sparse and symmetric, of either objective, with zeros for constants', async () => {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 2, values: [0.1, 0.2, 1.2, -0.3, 2.1, 0.4, 3, 0.2] });
  const edges = [[0, 1], [1, 2], [2, 3]];
  problem.residuals('springs', {
    inputs: { a: points.at(edges.map(([a]) => a)), b: points.at(edges.map(([, b]) => b)) },
    residual: ({ a, b }) => a.distance(b).sub(0.8),
    weight: 3,
  });
  await onCpu(problem, async (functions) => {
    const x = [...points.values()];
    for (const [options, method] of [[{}, 'evaluateSumWithGradient'], [{ objective: 'least-squares' }, 'evaluateCostWithGradient']]) {
      const hessian = await functions.evaluateHessian(undefined, options);
      assert.deepEqual([hessian.rows, hessian.cols, hessian.rowOffsets.length], [8, 8, 9]);
      const dense = hessian.toDense();
      for (let row = 0; row < 8; row++) {
        const shifted = (h) => Float64Array.from(x, (number, k) => number + (k === row ? h : 0));
        const slope = async (h) => (await functions[method](shifted(h))).gradient;
        // The central difference of fourth order, with h⁴ and ε/h of 1e-12.
        const h = 1e-3;
        const [a, b, c, d] = [await slope(-2 * h), await slope(-h), await slope(h), await slope(2 * h)];
        near(dense.slice(8 * row, 8 * row + 8), Array.from(a, (_, k) => (a[k] - 8 * b[k] + 8 * c[k] - d[k]) / (12 * h)), 1e-9, `row ${row}`);
        for (let column = 0; column < 8; column++) assert.equal(dense[8 * row + column], dense[8 * column + row]);
      }
      assert.equal(dense[6], 0, 'points 0 and 3 share no spring');
      assert.equal(hessian.colIndices.slice(0, hessian.rowOffsets[1]).join(), '0,1,2,3');
      const v = Float64Array.from({ length: 8 }, (_, k) => Math.sin(k + 1));
      const into = new Float64Array(8);
      const product = await functions.evaluateHessianProduct(undefined, v, into, options);
      assert.equal(product, into);
      near([...product], x.map((_, row) => v.reduce((sum, number, k) => sum + number * dense[8 * row + k], 0)), 1e-12, 'product');
      assert.deepEqual(await functions.evaluateHessianProduct(x, v, undefined, options), into);
    }
    points.setConstant([1]);
    const masked = (await functions.evaluateHessian()).toDense();
    for (let k = 0; k < 8; k++) assert.deepEqual([masked[8 * 2 + k], masked[8 * k + 3]], [0, 0]);
  });
});

test('wrong arguments are refused by name', async () => {
  const problem = new Problem();
  const x = problem.parameters('x', { dim: 2, values: [1, 2] });
  problem.residuals('r', { inputs: { x: x.shared() }, residual: ({ x: v }) => v.sqrMagnitude });
  await onCpu(problem, async (functions) => {
    const cases = [
      [() => functions.evaluateHessian([1]), /evaluateHessian: x: got 1 numbers/],
      [() => functions.evaluateHessian(undefined, { objective: 'cost' }), /evaluateHessian: objective: got "cost"; takes 'sum' or 'least-squares'/],
      [() => functions.evaluateHessian(undefined, { objectiv: 'sum' }), /got the unknown option "objectiv"; did you mean 'objective'/],
      [() => functions.evaluateHessianProduct(undefined, [1, 2, 3]), /evaluateHessianProduct: v: got 3 numbers; takes 2/],
      [() => functions.evaluateHessianProduct(undefined, [1, NaN]), /evaluateHessianProduct: v\[1\]: got NaN/],
      [() => functions.evaluateHessianProduct(undefined, [1, 2], new Float64Array(3)), /evaluateHessianProduct: into: got 3 numbers/],
    ];
    for (const [call, message] of cases) await assert.rejects(call, refused(message));
  });
});
