/** L-BFGS along manifolds, compared with known results and with those of Levenberg-Marquardt. */
import { lbfgs, levenbergMarquardt, manifold, Pose3, Problem, V, Vec3 } from 'residua';
import { onCpu, onEach } from '../define.js';

/** Pseudo-random numbers in (−1, 1), the same everywhere. */
const scattered = (count, seed) => Array.from({ length: count }, (_, i) => Math.sin((i + 1) * 12.9898 + seed * 78.233));
const unit = (v) => v.map((x) => x / Math.hypot(...v));
/** The Hamilton product. */
const product = ([w, x, y, z], [s, t, u, v]) => [w * s - x * t - y * u - z * v, w * t + x * s + y * v - z * u, w * u - x * v + y * s + z * t, w * v + x * u - y * t + z * s];

/** Solves by both methods from the same start; or by L-BFGS alone. */
async function both(check, { problem, block }, options, others = true) {
  const start = [...block.values()];
  const functions = await check.compile(problem);
  const solve = async (method, options) => {
    block.set(start);
    const { x, termination, message, finalCost, iterations, history } = await method(functions, { costTolerance: 0, parameterTolerance: 0, maxIterations: 200, ...options });
    return { x: [...x], termination, message, finalCost, iterations, costs: history.map(({ cost }) => cost), largestGradient: Math.max(...history.map(({ gradientMaxNorm }) => gradientMaxNorm)) };
  };
  check.equal(functions.backend, check.backend, 'the engine');
  return {
    lbfgs: await solve(lbfgs, options),
    lm: others ? await solve(levenbergMarquardt, { maxLinearIterations: 500, linearTolerance: 1e-3, gradientTolerance: 0 }) : undefined,
  };
}

const lengths = (x, dim) => Array.from({ length: x.length / dim }, (_, k) => Math.hypot(...x.slice(k * dim, (k + 1) * dim)));
const farthest = (a, b) => a.reduce((most, value, i) => Math.max(most, Math.abs(value - b[i])), 0);

/** The spacing of f32 numbers near 1 is 1.2e-7. */
const roundingOf = (backend) => (backend === 'gpu' ? 2 ** -23 : 2 ** -52);
/** The accuracy of a gradient that the cost's rounding allows: √ε with a curvature of about 10. */
const toleranceOf = (backend) => (backend === 'gpu' ? 3e-4 : 1e-8);

function onManifold(check, x, dim) {
  for (const length of lengths(x, dim)) check.below(Math.abs(length - 1), 4 * roundingOf(check.backend), 'a normalisation in the arithmetic of the engine', 'the length of a block on the manifold, less 1');
}

export const group = {
  id: 'manifolds',
  title: 'Manifolds',
  about: 'Unit quaternions, unit vectors and angles stay on their manifolds during L-BFGS, and converge to the result of Levenberg-Marquardt.',
  checks: [
    ...onEach('the unit of lengths changes no decision of Levenberg-Marquardt on poses, whichever part of a block is first', async (check) => {
      const points = Array.from({ length: 30 }, (_, i) => scattered(3, i));
      const seen = points.map(([x, y, z], i) => [0.3 - 0.8 * x - 0.6 * y + 0.1 * scattered(1, i + 40)[0], 0.6 * x - 0.8 * y, z]);
      const blocks = [
        { values: [1, 0, 0, 0, 0, 0, 0], parts: ['unit-quaternion', 'euclidean 3'], pose: (T) => Pose3.fromBlock([...T]) },
        { values: [0, 0, 0, 1, 0, 0, 0], parts: ['euclidean 3', 'unit-quaternion'], pose: ([x, y, z, ...q]) => Pose3.fromBlock([...q, x, y, z]) },
      ];
      for (const { values, parts, pose } of blocks) {
        const runs = [];
        // A power of two, so that no rounding differs.
        for (const unit of [1, 2 ** -20]) {
          const problem = new Problem();
          const T = problem.parameters('T', { dim: 7, values });
          T.setManifold(manifold.product(...parts));
          const data = (rows) => problem.data(rows.flat().map((number) => number * unit), 3);
          problem.residuals('r', { inputs: { T: T.shared(), f: data(points), g: data(seen) }, residual: ({ T, f, g }) => pose(T).act(f).sub(g) });
          const { termination, iterations, finalCost } = await levenbergMarquardt(await check.compile(problem));
          runs.push({ termination, iterations, cost: finalCost / unit ** 2 });
        }
        check.equal(runs[1].iterations, runs[0].iterations, parts[0]);
        check.equal(runs[1].termination, runs[0].termination, parts[0]);
        check.close(runs[1].cost, runs[0].cost, { within: 1e-6 * runs[0].cost, because: 'the same numbers but for their exponents' }, 'the cost');
      }
    }, { long: true }),

    ...onEach('L-BFGS averages rotations as Levenberg-Marquardt does', async (check) => {
      const [rounding, gradientTolerance] = [roundingOf(check.backend), toleranceOf(check.backend)];
      // Seven rotations, each the mean of six that surround it in pairs.
      const problem = new Problem();
      const means = Array.from({ length: 7 }, (_, k) => unit(scattered(4, 10 + k)));
      const around = means.flatMap((mean, k) => Array.from({ length: 6 }, (_, n) => {
        const v = scattered(3, 7 * k + (n >> 1)), length = Math.hypot(...v), angle = (n % 2 === 0 ? 0.3 : -0.3) * length;
        return product([Math.cos(angle), ...v.map((x) => Math.sin(angle) * x / length)], mean);
      }));
      const block = problem.parameters('rotations', { dim: 4, values: means.flatMap((mean, k) => unit(mean.map((x, i) => x + 0.5 * scattered(4, k)[i]))) });
      block.setManifold('unit-quaternion');
      // The axes of a rotation, compared with the measured ones.
      const axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
      const turned = ([w, x, y, z], v) => product(product([w, x, y, z], [0, ...v]), [w, -x, -y, -z]).slice(1);
      problem.residuals('measured', {
        inputs: { q: block.at(around.map((_, i) => Math.floor(i / 6))), frame: problem.data(around.flatMap((p) => axes.flatMap((v) => turned(p, v))), 9) },
        residual: ({ q, frame }) => axes.flatMap((v, a) => {
          const to = q.rotate(new Vec3(...v));
          return [to.x.sub(frame[3 * a]), to.y.sub(frame[3 * a + 1]), to.z.sub(frame[3 * a + 2])];
        }),
      });
      const { lbfgs, lm } = await both(check, { problem, block }, { objective: 'least-squares', gradientTolerance });
      check.equal(lbfgs.termination, 'gradient-tolerance', lbfgs.message);
      onManifold(check, lbfgs.x, 4);
      const because = 'The curvature is 48 (six frames of three axes, halves of angles): the gradient’s tolerance over it, and roundings.';
      const bound = (gradientTolerance * lbfgs.largestGradient) / 10 + 20 * rounding;
      check.below(farthest(lbfgs.x, means.flat()), bound, because, 'distance from the means');
      // Levenberg-Marquardt judges steps by the cost. Where the cost's rounding ends it before the gradient is below its tolerance, which
      // depends on the last bits of a browser's sines, the distance to the minimum is bounded by that rounding: ½·48·δ² of the cost.
      const seen = lm.termination === 'precision-limit' ? Math.sqrt((2 * rounding * lm.finalCost) / 48) : bound;
      check.below(farthest(lbfgs.x, lm.x), bound + seen, `${because} Or, where rounding ends Levenberg-Marquardt, what the cost shows: ½·48·δ².`, `distance from Levenberg-Marquardt’s: ${lm.message}`);
      check.below(Math.abs(lbfgs.finalCost / lm.finalCost - 1), 10 * rounding, 'roundings of sums of a few terms', `costs ${lbfgs.finalCost} and ${lm.finalCost}`);
    }),

    ...onEach('a sum over unit vectors reaches the least eigenvalue, a constant one stays, and Euclidean numbers move with them', async (check) => {
      const [rounding, gradientTolerance] = [roundingOf(check.backend), toleranceOf(check.backend)];
      // A = R diag(1, 2, 3) R with a reflection R: the minimum of xᵀAx/2 is at ± the first column of R.
      const w = unit(scattered(3, 3));
      const reflected = (x) => { const along = 2 * (x[0] * w[0] + x[1] * w[1] + x[2] * w[2]); return x.map((value, i) => value - along * w[i]); };
      const columns = [0, 1, 2].map((k) => reflected([0, 1, 2].map((i) => Number(i === k))));
      const problem = new Problem();
      const block = problem.parameters('vectors', { dim: 3, values: [1, 2, 3, 4, 5].flatMap((seed) => unit(scattered(3, seed))) });
      block.setManifold('unit-vector');
      block.setConstant([4]);
      const plain = problem.parameters('plain', { dim: 1, values: [3] });
      problem.residuals('quotient', {
        inputs: { x: block.at([0, 1, 2, 3, 4]) },
        residual: ({ x }) => columns.map((r, k) => V.mul((k + 1) / 2, V.square(V.add(V.add(V.mul(r[0], x.x), V.mul(r[1], x.y)), V.mul(r[2], x.z))))).reduce((a, b) => V.add(a, b)),
      });
      problem.residuals('plain', { inputs: { p: plain.at([0]) }, residual: ({ p }) => V.square(V.sub(p, 2)) });
      const constant = [...block.values()].slice(12);
      const { lbfgs } = await both(check, { problem, block }, { objective: 'sum', gradientTolerance }, false);
      check.equal(lbfgs.termination, 'gradient-tolerance', lbfgs.message);
      const vectors = lbfgs.x.slice(0, 15);
      onManifold(check, vectors, 3);
      for (let k = 0; k < 4; k++) {
        const along = Math.abs(vectors.slice(3 * k, 3 * k + 3).reduce((sum, x, i) => sum + x * columns[0][i], 0));
        check.below(1 - along, gradientTolerance ** 2 + 10 * rounding, 'The gap of the eigenvalues is 1: the angle is the gradient’s tolerance at most, its square is lost.', `vector ${k} along the eigenvector`);
      }
      check.same(vectors.slice(12), constant, 'the constant one, to the last bit');
      check.below(Math.abs(lbfgs.x[15] - 2), gradientTolerance, 'the gradient’s tolerance over a curvature of 2', 'the plain number, less 2');
    }),

    ...onEach('angles wrap', async (check) => {
      const [rounding, gradientTolerance] = [roundingOf(check.backend), toleranceOf(check.backend)];
      const problem = new Problem();
      const block = problem.parameters('angles', { dim: 1, values: [2, 3.1, -3, -1] });
      block.setManifold('angle');
      const around = [2.9, 3.4, 3.9];
      problem.residuals('directions', {
        inputs: { a: block.at([0, 1, 2, 3].flatMap((k) => around.map(() => k))), b: problem.data([0, 1, 2, 3].flatMap(() => around)) },
        residual: ({ a, b }) => [V.sub(V.cos(a), V.cos(b)), V.sub(V.sin(a), V.sin(b))],
      });
      const { lbfgs, lm } = await both(check, { problem, block }, { objective: 'least-squares', gradientTolerance });
      for (const { x, termination, message } of [lbfgs, lm]) {
        for (const angle of x) {
          check.below(Math.abs(angle - (3.4 - 2 * Math.PI)), gradientTolerance + 10 * rounding, 'Around 3.4, which is 3.4 − 2π; the curvature is 2.8.', `an angle of ${x} (${termination}: ${message})`);
        }
      }
    }),

    ...onEach('a run of L-BFGS on a sphere repeats bit for bit', async (check) => {
      const runs = [];
      for (let turn = 0; turn < 2; turn++) {
        const problem = new Problem();
        const block = problem.parameters('points', { dim: 3, values: Array.from({ length: 40 }, (_, k) => unit(scattered(3, k))).flat() });
        block.setManifold('unit-vector');
        // Points on a sphere, connected in a ring by springs.
        problem.residuals('springs', {
          inputs: { ends: block.at(Array.from({ length: 40 }, (_, k) => [k, (k + 1) % 40]).flat(), 2) },
          residual: ({ ends: [a, b] }) => a.distance(b).sub(0.2),
        });
        runs.push(await both(check, { problem, block }, { objective: 'least-squares', maxIterations: 25, gradientTolerance: 0 }, false));
      }
      const [first, again] = runs.map(({ lbfgs }) => lbfgs);
      check.same(first, again);
      check.ok(first.iterations === 25 && first.finalCost < 0.2 * first.costs[0], `25 iterations, and less than a fifth of the cost is left: ${first.costs}`);
    }, { long: true }),

    ...onCpu('a block without a nearest point on its manifold is refused', async (check) => {
      const problem = new Problem();
      const block = problem.parameters('directions', { dim: 2, values: [0, 0] });
      block.setManifold('unit-vector');
      problem.residuals('r', { inputs: { d: block.at([0]) }, residual: ({ d }) => V.sub(d.x, 1) });
      const functions = await check.compile(problem);
      check.match(await check.failureInWords(lbfgs(functions)), /^invalid-argument: directions\[0\] has manifold 'unit-vector' and starts at length 0/);
    }),
  ],
};
