/** The Jacobian as a matrix: its pattern and its entries. */
import { loss, Problem } from 'residua';
import { gpuAgainstCpu, onEach } from '../define.js';

/** Springs between points on a ring, and a scale that all of them share. */
function ring(count = 40) {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 3, values: Float64Array.from({ length: 3 * count }, (_, i) => Math.fround(Math.sin(1.7 * i))) });
  const scale = problem.parameters('scale', { dim: 1, values: [1.25] });
  const ends = Uint32Array.from({ length: 2 * count }, (_, i) => ((i + 1) >> 1) % count);
  const block = problem.residuals('springs', {
    inputs: { ends: points.at(ends, 2), scale: scale.shared() },
    residual: ({ ends: [a, b], scale }) => a.distance(b).mul(scale).sub(0.5),
  });
  return { problem, points, scale, block, count };
}

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

export const group = {
  id: 'jacobian',
  title: 'The Jacobian',
  about: 'Compressed rows: the same pattern for every x, each entry once, raw numbers without loss and weight.',
  checks: [
    ...onEach('columns ascend, each entry occurs once, and the pattern is the same for every x', async (check) => {
      const { problem, count } = ring();
      const functions = await check.compile(problem);
      const first = (await functions.evaluateJacobian()).jacobian;
      // All points at one position: every distance is 0, and so are its derivatives.
      const collapsed = (await functions.evaluateJacobian(new Float64Array(3 * count + 1))).jacobian;
      check.same([first.rows, first.cols], [count, 3 * count + 1]);
      check.equal(first.rowOffsets[count], first.values.length, 'entries');
      for (let row = 0; row < count; row++) {
        const columns = first.colIndices.slice(first.rowOffsets[row], first.rowOffsets[row + 1]);
        check.equal(columns.length, 7, `entries of row ${row}`);
        for (let k = 1; k < columns.length; k++) check.ok(columns[k] > columns[k - 1], `columns of row ${row} ascend: ${columns}`);
      }
      check.same([collapsed.rowOffsets, collapsed.colIndices], [first.rowOffsets, first.colIndices], 'the pattern at another x');
      check.ok(collapsed.values.every((value) => value + 0 === 0), 'at one place all derivatives are 0');
    }),

    ...onEach('rows and columns are at their positions in the dense matrix', async (check) => {
      const { problem, count } = ring();
      const functions = await check.compile(problem);
      const { jacobian } = await functions.evaluateJacobian();
      const dense = jacobian.toDense();
      check.equal(dense.length, count * (3 * count + 1));
      let entries = 0;
      for (let row = 0; row < count; row++) {
        for (let e = jacobian.rowOffsets[row]; e < jacobian.rowOffsets[row + 1]; e++) {
          check.equal(dense[row * jacobian.cols + jacobian.colIndices[e]], jacobian.values[e]);
          entries += Number(jacobian.values[e] !== 0);
        }
      }
      check.equal(dense.filter((value) => value !== 0).length, entries, 'nothing else is there');
    }),

    ...onEach('columns of constants are explicit zeros, and nothing else changes', async (check) => {
      const { problem, points, count } = ring();
      const functions = await check.compile(problem);
      const free = (await functions.evaluateJacobian()).jacobian;
      points.setConstant([5]);
      points.setConstant([9], true, [1]);
      const held = (await functions.evaluateJacobian()).jacobian;
      check.same([held.rowOffsets, held.colIndices], [free.rowOffsets, free.colIndices], 'the pattern');
      const constant = new Set([15, 16, 17, 28]);
      check.same([...held.values].map((value) => value + 0), [...free.values].map((value, e) => (constant.has(free.colIndices[e]) ? 0 : value + 0)));
      check.ok(free.values.some((value, e) => constant.has(free.colIndices[e]) && value !== 0), `something was held, of ${count} points`);
    }),

    ...onEach('residuals and Jacobian are without loss and weight, which are in the cost alone', async (check) => {
      const { problem, block } = ring();
      const functions = await check.compile(problem);
      const plain = await functions.evaluateJacobian();
      block.setLoss(loss.cauchy(0.1));
      block.setWeight(7);
      const robust = await functions.evaluateJacobian();
      check.same(robust.values, plain.values, 'residuals');
      check.same(robust.jacobian.values, plain.jacobian.values, 'Jacobian');
    }),

    ...onEach('the gradient of the cost is Jᵀr, and that of the sum Jᵀ1', async (check) => {
      const { problem } = ring();
      const functions = await check.compile(problem);
      const { values, jacobian } = await functions.evaluateJacobian();
      const dense = jacobian.toDense();
      const column = (k) => Float64Array.from({ length: jacobian.rows }, (_, row) => dense[row * jacobian.cols + k]);
      const tolerance = check.backend === 'gpu'
        ? { within: 1e-5, because: 'sums of up to forty products around 1 in single precision, 6e-8 each' }
        : { within: 1e-14, because: 'sums of up to forty products around 1 in double precision' };
      const [cost, sum] = [await functions.evaluateCostWithGradient(), await functions.evaluateSumWithGradient()];
      for (let k = 0; k < jacobian.cols; k++) {
        check.close(cost.gradient[k], dot(column(k), values), tolerance, `Jᵀr, entry ${k}`);
        check.close(sum.gradient[k], column(k).reduce((a, b) => a + b, 0), tolerance, `Jᵀ1, entry ${k}`);
      }
    }),

    ...onEach('derivatives agree with central differences', async (check) => {
      const { problem } = ring();
      const functions = await check.compile(problem);
      const { maxRelativeError, residual, parameter } = await functions.checkGradients();
      const [allowed, because] = check.backend === 'gpu'
        ? [1e-4, 'the package’s promise for derivatives in single precision']
        : [1e-6, 'central differences in double precision leave about the cube root of its rounding, squared'];
      check.below(maxRelativeError, allowed, because, `residual ${residual} by parameter ${parameter}`);
    }),

    ...gpuAgainstCpu('the GPU’s pattern equals the CPU’s', async (check) => {
      const [gpu, cpu] = await Promise.all(['gpu', 'cpu'].map(async (backend) => (await (await check.compile(ring().problem, { backend })).evaluateJacobian()).jacobian));
      check.same([gpu.rows, gpu.cols, gpu.rowOffsets, gpu.colIndices], [cpu.rows, cpu.cols, cpu.rowOffsets, cpu.colIndices]);
    }),
  ],
};
