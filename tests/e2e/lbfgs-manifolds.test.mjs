// L-BFGS along manifolds in a page, on both backends: answers that are known, and those of Levenberg-Marquardt.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(() => {
    const { GpuCompiledFunctions, lbfgs, levenbergMarquardt } = window.residua;
    /** Numbers in (−1, 1) that look like chance, the same everywhere. */
    window.scattered = (count, seed) => Array.from({ length: count }, (_, i) => Math.sin((i + 1) * 12.9898 + seed * 78.233));
    window.unit = (v) => v.map((x) => x / Math.hypot(...v));
    window.product = ([w, x, y, z], [s, t, u, v]) => [w * s - x * t - y * u - z * v, w * t + x * s + y * v - z * u, w * u - x * v + y * s + z * t, w * v + x * u - y * t + z * s];
    /** Solves by both methods from the same start; or by L-BFGS alone. */
    window.both = async (backend, { problem, block }, options, others = true) => {
      const start = [...block.values()];
      const functions = await GpuCompiledFunctions.compile(problem, { backend });
      const solve = async (method, options) => {
        block.set(start);
        const { x, termination, message, finalCost, iterations, history } = await method(functions, { costTolerance: 0, parameterTolerance: 0, maxIterations: 200, ...options });
        return { x: [...x], termination, message, finalCost, iterations, costs: history.map(({ cost }) => cost) };
      };
      try {
        return { backend: functions.backend, lbfgs: await solve(lbfgs, options), lm: others ? await solve(levenbergMarquardt, { maxLinearIterations: 500, linearTolerance: 1e-3, gradientTolerance: options.gradientTolerance }) : undefined };
      } finally {
        functions.dispose();
      }
    };
  });
});
after(() => browser.close());

const lengths = (x, dim) => Array.from({ length: x.length / dim }, (_, k) => Math.hypot(...x.slice(k * dim, (k + 1) * dim)));
const farthest = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

for (const backend of ['gpu', 'cpu']) {
  // Single precision has 1.2e-7 between numbers around 1.
  const rounding = backend === 'gpu' ? 2 ** -23 : 2 ** -52;
  /** What the cost's rounding lets be seen of a gradient, √ε of a curvature of some 10. */
  const gradientTolerance = backend === 'gpu' ? 3e-4 : 1e-8;

  describe(`L-BFGS along manifolds on the ${backend}`, () => {
    test('rotations are averaged, as Levenberg-Marquardt does it', async () => {
      const result = await page.evaluate(async ([backend, gradientTolerance]) => {
        const { Problem } = window.residua;
        // Seven rotations, each the mean of six that stand around it in pairs.
        const problem = new Problem();
        const means = Array.from({ length: 7 }, (_, k) => window.unit(window.scattered(4, 10 + k)));
        const around = means.flatMap((mean, k) => Array.from({ length: 6 }, (_, n) => {
          const v = window.scattered(3, 7 * k + (n >> 1)), length = Math.hypot(...v), angle = (n % 2 === 0 ? 0.3 : -0.3) * length;
          return window.product([Math.cos(angle), ...v.map((x) => Math.sin(angle) * x / length)], mean);
        }));
        const block = problem.parameters('rotations', { dim: 4, values: means.flatMap((mean, k) => window.unit(mean.map((x, i) => x + 0.5 * window.scattered(4, k)[i]))) });
        block.setManifold('unit-quaternion');
        // The frame that a rotation makes of three axes, against that of the measured one.
        const axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
        const turned = ([w, x, y, z], v) => window.product(window.product([w, x, y, z], [0, ...v]), [w, -x, -y, -z]).slice(1);
        problem.residuals('measured', {
          inputs: { q: block.at(around.map((_, i) => Math.floor(i / 6))), frame: problem.data(around.flatMap((p) => axes.flatMap((v) => turned(p, v))), 9) },
          residual: ({ q, frame }) => axes.flatMap((v, a) => {
            const to = q.rotate(new window.residua.Vec3(...v));
            return [to.x.sub(frame[3 * a]), to.y.sub(frame[3 * a + 1]), to.z.sub(frame[3 * a + 2])];
          }),
        });
        return { means: means.flat(), ...await window.both(backend, { problem, block }, { objective: 'least-squares', gradientTolerance }) };
      }, [backend, gradientTolerance]);
      const { means, lbfgs, lm } = result;
      assert.equal(result.backend, backend);
      assert.equal(lbfgs.termination, 'gradient-tolerance', lbfgs.message);
      assert.ok(lengths(lbfgs.x, 4).every((length) => Math.abs(length - 1) < 4 * rounding), 'on the manifold');
      // The curvature is 48 (six frames of three axes, halves of angles): the gradient's tolerance over it, and roundings.
      const bound = gradientTolerance / 10 + 20 * rounding;
      assert.ok(farthest(lbfgs.x, means) < bound, `${farthest(lbfgs.x, means)} from the means`);
      assert.ok(farthest(lbfgs.x, lm.x) < 2 * bound, `${farthest(lbfgs.x, lm.x)} from Levenberg-Marquardt's`);
      assert.ok(Math.abs(lbfgs.finalCost / lm.finalCost - 1) < 10 * rounding, `${lbfgs.finalCost} ${lm.finalCost}`);
    });

    test('a sum over unit vectors falls to the least eigenvalue, a constant one stays, and plain numbers move with them', async () => {
      const result = await page.evaluate(async ([backend, gradientTolerance]) => {
        const { Problem, V } = window.residua;
        // A = R diag(1, 2, 3) R with a reflection R: xᵀAx/2 is least at ± the first column of R.
        const w = window.unit(window.scattered(3, 3));
        const reflected = (x) => { const along = 2 * (x[0] * w[0] + x[1] * w[1] + x[2] * w[2]); return x.map((value, i) => value - along * w[i]); };
        const columns = [0, 1, 2].map((k) => reflected([0, 1, 2].map((i) => Number(i === k))));
        const problem = new Problem();
        const block = problem.parameters('vectors', { dim: 3, values: [1, 2, 3, 4, 5].flatMap((seed) => window.unit(window.scattered(3, seed))) });
        block.setManifold('unit-vector');
        block.setConstant([4]);
        const plain = problem.parameters('plain', { dim: 1, values: [3] });
        problem.residuals('quotient', {
          inputs: { x: block.at([0, 1, 2, 3, 4]) },
          residual: ({ x }) => columns.map((r, k) => V.mul((k + 1) / 2, V.square(V.add(V.add(V.mul(r[0], x.x), V.mul(r[1], x.y)), V.mul(r[2], x.z))))).reduce((a, b) => V.add(a, b)),
        });
        problem.residuals('plain', { inputs: { p: plain.at([0]) }, residual: ({ p }) => V.square(V.sub(p, 2)) });
        const constant = [...block.values()].slice(12);
        return { column: columns[0], constant, ...await window.both(backend, { problem, block }, { objective: 'sum', gradientTolerance }, false) };
      }, [backend, gradientTolerance]);
      const { column, constant, lbfgs } = result;
      assert.equal(lbfgs.termination, 'gradient-tolerance', lbfgs.message);
      const vectors = lbfgs.x.slice(0, 15);
      assert.ok(lengths(vectors, 3).every((length) => Math.abs(length - 1) < 4 * rounding), 'on the manifold');
      for (let k = 0; k < 4; k++) {
        const along = Math.abs(vectors.slice(3 * k, 3 * k + 3).reduce((sum, x, i) => sum + x * column[i], 0));
        // The gap of the eigenvalues is 1: the angle is the gradient's tolerance at most, its square is lost.
        assert.ok(along > 1 - gradientTolerance ** 2 - 10 * rounding, `vector ${k}: ${along}`);
      }
      assert.deepEqual(vectors.slice(12), constant, 'the constant one, to the last bit');
      assert.ok(Math.abs(lbfgs.x[15] - 2) < gradientTolerance, `${lbfgs.x[15]}`);
    });

    test('angles wrap on their way', async () => {
      const { lbfgs, lm } = await page.evaluate(async ([backend, gradientTolerance]) => {
        const { Problem, V } = window.residua;
        const problem = new Problem();
        const block = problem.parameters('angles', { dim: 1, values: [2, 3.1, -3, -1] });
        block.setManifold('angle');
        const around = [2.9, 3.4, 3.9];
        problem.residuals('directions', {
          inputs: { a: block.at([0, 1, 2, 3].flatMap((k) => around.map(() => k))), b: problem.data([0, 1, 2, 3].flatMap(() => around)) },
          residual: ({ a, b }) => [V.sub(V.cos(a), V.cos(b)), V.sub(V.sin(a), V.sin(b))],
        });
        return window.both(backend, { problem, block }, { objective: 'least-squares', gradientTolerance });
      }, [backend, gradientTolerance]);
      for (const { x, termination, message } of [lbfgs, lm]) {
        // Around 3.4, which is 3.4 − 2π; the curvature is 2.8.
        assert.ok(x.every((angle) => Math.abs(angle - (3.4 - 2 * Math.PI)) < gradientTolerance + 10 * rounding), `${x} ${termination}: ${message}`);
      }
    });

    test('a run repeats bit for bit', async () => {
      const runs = await page.evaluate(async (backend) => {
        const { Problem } = window.residua;
        const runs = [];
        for (let turn = 0; turn < 2; turn++) {
          const problem = new Problem();
          const block = problem.parameters('points', { dim: 3, values: Array.from({ length: 40 }, (_, k) => window.unit(window.scattered(3, k))).flat() });
          block.setManifold('unit-vector');
          // Points on a sphere that are joined in a ring by springs.
          problem.residuals('springs', {
            inputs: { ends: block.at(Array.from({ length: 40 }, (_, k) => [k, (k + 1) % 40]).flat(), 2) },
            residual: ({ ends: [a, b] }) => a.distance(b).sub(0.2),
          });
          runs.push(await window.both(backend, { problem, block }, { objective: 'least-squares', maxIterations: 25, gradientTolerance: 0 }, false));
        }
        return runs;
      }, backend);
      const [first, again] = runs.map(({ lbfgs }) => lbfgs);
      assert.deepEqual(first, again);
      assert.ok(first.iterations === 25 && first.finalCost < 0.2 * first.costs[0], `${first.costs}`);
    });
  });
}

test('a block without a direction is refused', async () => {
  const refused = await page.evaluate(async () => {
    const { GpuCompiledFunctions, Problem, V, lbfgs } = window.residua;
    const problem = new Problem();
    const block = problem.parameters('directions', { dim: 2, values: [0, 0] });
    block.setManifold('unit-vector');
    problem.residuals('r', { inputs: { d: block.at([0]) }, residual: ({ d }) => V.sub(d.x, 1) });
    const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
    return lbfgs(functions).then(() => 'nothing was thrown', ({ code, message }) => `${code}: ${message}`).finally(() => functions.dispose());
  });
  assert.match(refused, /^invalid-argument: directions\[0\] has manifold 'unit-vector' and starts at length 0/);
});
