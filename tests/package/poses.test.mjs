// Pose blocks on product manifolds, solved on the CPU: the same solution as with a quaternion array beside a translation array.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';

const { covariance, lbfgs, levenbergMarquardt, manifold, Pose2, Pose3, poseSpline, Problem, rank, Rotation3, Sim2, Sim3, solve, solveMany, Vec3 } = await import('residua');

/** Numbers in [−1, 1), the same in every run (xorshift). */
let state = 7;
function random() {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) / 2 ** 31 - 1;
}

const COUNT = 12;
const POSES = { 2: Pose2, 3: Pose3 };
/** The numbers of constants. */
const numbers = (pose) => [...pose].map((value) => value.data);
/** A pose at a distance of up to `amount` in each tangent coordinate. */
const near = (pose, amount) => pose.compose(pose.constructor.exp(Array.from({ length: pose.length === 7 ? 6 : 3 }, () => amount * random())));

/** A ring of poses with chords: measurements with noise, and a perturbed start whose first pose is right. */
function ring(dim) {
  const poses = Array.from({ length: COUNT }, (_, i) => {
    const angle = (2 * Math.PI * i) / COUNT;
    const place = [5 * Math.cos(angle), 5 * Math.sin(angle)];
    return dim === 2 ? Pose2.fromBlock([angle, ...place]) : new Pose3(Rotation3.exp(new Vec3(0.3, angle, 0.1 * i)), new Vec3(...place, Math.sin(2 * angle)));
  });
  const edges = poses.flatMap((_, i) => [1, 5].map((step) => [i, (i + step) % COUNT]));
  return {
    from: Uint32Array.from(edges, ([from]) => from),
    to: Uint32Array.from(edges, ([, to]) => to),
    measured: edges.flatMap(([from, to]) => numbers(near(poses[from].between(poses[to]), 0.02))),
    start: poses.flatMap((pose, i) => numbers(i === 0 ? pose : near(pose, 0.2))),
  };
}
const RINGS = { 2: ring(2), 3: ring(3) };

function inPoses(dim) {
  const { from, to, measured, start } = RINGS[dim];
  const problem = new Problem();
  const poses = problem.poses('poses', { dim, values: start });
  poses.setConstant([0]);
  problem.residuals('edges', {
    inputs: { a: poses.at(from), b: poses.at(to), m: problem.data(measured, poses.dim) },
    residual: ({ a, b, m }) => POSES[dim].fromBlock(m).between(a.between(b)).log(),
  });
  return { problem, poses, values: () => poses.values() };
}

/** The ring in space with rotations and translations in arrays of their own. */
function inParts() {
  const { from, to, measured, start } = RINGS[3];
  const problem = new Problem();
  const part = (first, count) => Array.from({ length: COUNT }, (_, i) => start.slice(7 * i + first, 7 * i + first + count)).flat();
  const rotations = problem.rotations('rotations', { dim: 3, values: part(0, 4) });
  const translations = problem.parameters('translations', { dim: 3, values: part(4, 3) });
  rotations.setConstant([0]);
  translations.setConstant([0]);
  problem.residuals('edges', {
    inputs: { q: rotations.at(interleaved(from, to), 2), t: translations.at(interleaved(from, to), 2), m: problem.data(measured, 7) },
    residual: ({ q, t, m }) => Pose3.fromBlock(m).between(new Pose3(q[0], t[0]).between(new Pose3(q[1], t[1]))).log(),
  });
  const both = (i) => [...rotations.values().subarray(4 * i, 4 * i + 4), ...translations.values().subarray(3 * i, 3 * i + 3)];
  return { problem, rotations, translations, values: () => Array.from({ length: COUNT }, (_, i) => both(i)).flat() };
}
const interleaved = (a, b) => Uint32Array.from({ length: 2 * a.length }, (_, i) => (i % 2 === 0 ? a : b)[i >> 1]);

const TIGHT = { maxIterations: 3000, costTolerance: 1e-16, gradientTolerance: 1e-10, parameterTolerance: 1e-13 };
const SOLVERS = {
  'Levenberg-Marquardt': (functions) => levenbergMarquardt(functions, TIGHT),
  'L-BFGS': (functions) => lbfgs(functions, { ...TIGHT, objective: 'least-squares' }),
};

for (const [name, run] of Object.entries(SOLVERS)) {
  test(`${name}: poses as one block and as two blocks have the same solution`, async () => {
    const [one, two] = [inPoses(3), inParts()];
    const a = await onCpu(one.problem, run);
    const b = await onCpu(two.problem, run);
    assert.ok(a.finalCost < 0.01 * a.initialCost, `${a.initialCost} to ${a.finalCost}`);
    // Both stop where the cost, about 0.01, changes by rounding alone; a first-order method finds parameters to the root of that.
    assert.ok(Math.abs(a.finalCost - b.finalCost) < 1e-10 * a.finalCost, `${a.finalCost}, in parts ${b.finalCost}`);
    const expected = two.values();
    one.values().forEach((x, i) => assert.ok(Math.abs(x - expected[i]) < 1e-4, `parameter ${i}: ${x}, in parts ${expected[i]}`));
    for (let i = 0; i < COUNT; i++) {
      const q = one.values().subarray(7 * i, 7 * i + 4);
      // The length of a constant quaternion is that of its four rounded numbers.
      assert.ok(Math.abs(Math.hypot(...q) - 1) < 1e-15, 'quaternions keep their length');
    }
    assert.deepEqual([...one.values().subarray(0, 7)], RINGS[3].start.slice(0, 7), 'the constant pose');
  });
}

test('poses in the plane are solved by both solvers, and angles stay within half a turn', async () => {
  const costs = [];
  for (const run of Object.values(SOLVERS)) {
    const { problem, values } = inPoses(2);
    const result = await onCpu(problem, run);
    costs.push(result.finalCost);
    assert.ok(result.finalCost < 0.01 * result.initialCost);
    for (let i = 1; i < COUNT; i++) assert.ok(Math.abs(values()[3 * i]) <= Math.PI);
  }
  assert.ok(Math.abs(costs[0] - costs[1]) < 1e-10 * costs[0], `${costs}`);
});

test('derivatives of pose residuals are those by differences, also where both poses are equal', async () => {
  for (const dim of [2, 3]) {
    const { problem, poses } = inPoses(dim);
    const one = RINGS[dim].start.slice(0, poses.dim);
    await onCpu(problem, async (functions) => {
      // Central differences of residuals up to 10, with second derivatives of that size: 1e-10 by rounding, 1e-9 by truncation.
      assert.ok((await functions.checkGradients()).maxRelativeError < 1e-6);
      const same = Float64Array.from({ length: COUNT * poses.dim }, (_, i) => one[i % poses.dim]);
      assert.ok((await functions.checkGradients(same)).maxRelativeError < 1e-6);
    });
  }
});

test('a residual at the identity has finite values and derivatives', async () => {
  const problem = new Problem();
  const pose = problem.poses('pose', { dim: 3, values: [1, 0, 0, 0, 0, 0, 0] });
  problem.residuals('prior', { inputs: { pose: pose.shared() }, residual: ({ pose }) => pose.log() });
  await onCpu(problem, async (functions) => {
    const { values, jacobian } = await functions.evaluateJacobian();
    assert.deepEqual([...values], [0, 0, 0, 0, 0, 0]);
    // ∂ log / ∂q is 2 and ∂ log / ∂t is 1 there.
    const dense = jacobian.toDense();
    for (let row = 0; row < 6; row++) for (let column = 0; column < 7; column++) assert.equal(Math.abs(dense[7 * row + column]), column === row + 1 ? (row < 3 ? 2 : 1) : 0);
  });
});

test('degrees of freedom, covariance and the report are those of the parts', async () => {
  const [one, two] = [inPoses(3), inParts()];
  const spread = async ({ problem }, blocks) => onCpu(problem, async (functions) => {
    const { report } = await levenbergMarquardt(functions, TIGHT);
    const { rank: found, degreesOfFreedom } = await rank(functions);
    return { effective: /Effective parameters.*/.exec(report())?.[0], found, degreesOfFreedom, values: (await covariance(functions, { blocks, absoluteSigma: true })).values };
  });
  const whole = await spread(one, [{ array: one.poses, index: 5 }]);
  const parts = await spread(two, [{ array: two.rotations, index: 5 }, { array: two.translations, index: 5 }]);
  assert.deepEqual([whole.found, whole.degreesOfFreedom, whole.effective], [parts.found, parts.degreesOfFreedom, parts.effective]);
  assert.equal(whole.degreesOfFreedom, 6 * (COUNT - 1));
  // At two solutions that agree to the root of rounding.
  whole.values.forEach((x, i) => assert.ok(Math.abs(x - parts.values[i]) < 1e-6, `${x}, in parts ${parts.values[i]}`));
});

test('solveMany takes poses', async () => {
  const problem = new Problem();
  const pose = problem.poses('pose', { dim: 3, values: [1, 0, 0, 0, 0, 0, 0] });
  const corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]];
  const points = problem.residuals('points', {
    inputs: { pose: pose.at([0, 0, 0, 0]), p: problem.data(corners.flat(), 3), seen: problem.data(new Float64Array(12), 3) },
    residual: ({ pose, p, seen }) => pose.act(p).sub(seen),
  });
  const truth = Array.from({ length: 20 }, () => near(Pose3.identity(), 1));
  const seen = truth.flatMap((pose) => corners.flatMap((corner) => numbers(pose.act(Vec3.C(...corner)))));
  const options = { backend: 'cpu', costTolerance: 0, gradientTolerance: 0, parameterTolerance: 1e-10, standardErrors: true, absoluteSigma: true };
  const { x, converged, standardErrors } = await solveMany(problem, { count: 20, data: { points: { seen } } }, options);
  assert.equal(converged, 20);
  truth.forEach((pose, k) => {
    const found = Pose3.fromBlock(x.subarray(7 * k, 7 * k + 7));
    // The last step is below 1e-10, and convergence with residuals of 0 is quadratic.
    for (const value of pose.between(found).log()) assert.ok(Math.abs(value.data) < 1e-8, `problem ${k}: ${value.data}`);
  });
  pose.set(x.subarray(7 * 11, 7 * 12));
  points.setData('seen', seen.slice(12 * 11, 12 * 12));
  const { standardDeviations } = await onCpu(problem, (functions) => covariance(functions, { absoluteSigma: true }));
  assert.deepEqual(standardErrors.subarray(7 * 11, 7 * 12), standardDeviations);
});

test('products of manifolds are checked, for their parts and for the blocks that they are set on', async () => {
  const problem = new Problem();
  const array = problem.parameters('p', { dim: 5, values: [1, 0, 0, 3, 4] });
  const refuses = (call, message) => assert.throws(call, (error) => error.code === 'invalid-argument' && error.message.startsWith(message) || assert.fail(error.message));
  refuses(() => array.setManifold(manifold.product('unit-quaternion', 'euclidean 3')), "p.setManifold: manifold: got 'unit-quaternion 4 × euclidean 3' for blocks of 5; takes the dimension");
  refuses(() => array.setManifold('circle'), 'p.setManifold: manifold: got "circle"; takes one of \'euclidean\'');
  refuses(() => manifold.product('angle'), 'manifold.product: parts: got an array of 1; takes at least two');
  for (const part of ['circle 2', 'euclidean', 'euclidean 0', 'euclidean 1.5', 'unit-vector 1', 'angle 2', 'euclidean 2 3', 7, undefined]) {
    refuses(() => manifold.product('angle', part), 'manifold.product: parts[1]: got ');
  }
  array.setManifold(manifold.product('unit-vector 3', 'angle', 'euclidean 1'));
  refuses(() => array.setBounds({ lower: 0 }), 'p.setBounds: got bounds for "p", which has the manifold \'unit-vector 3 × angle 1 × euclidean 1\'');
  refuses(() => array.setConstant([0], true, [0]), 'p.setConstant: coordinates: ');
  refuses(() => problem.poses('poses', { dim: 4, values: [] }), 'poses "poses": dim: got 4; takes 2 for the plane or 3 for space');
  refuses(() => problem.poses('poses', { dim: 3, values: [1, 2] }), 'poses "poses": values: got 2 numbers; takes a positive multiple of 7');
  problem.residuals('r', { inputs: { p: array.shared() }, residual: ({ p }) => [p[0].sub(3), p[1].sub(4), p[2], p[3].sub(1), p[4].sub(2)] });
  await onCpu(problem, async (functions) => void (await levenbergMarquardt(functions, TIGHT)));
  // The nearest point of the sphere to (3, 4, 0). The cost is 8 there, so it tells parameters apart to the root of its rounding.
  [0.6, 0.8, 0, 1, 2].forEach((x, i) => assert.ok(Math.abs(array.values()[i] - x) < 1e-7, `${array.values()}`));
});

test('the unit of lengths changes no decision on poses, whichever part of a block is first', async () => {
  // Thirty points, turned by 5 radians about the third axis and moved, with deviations of 0.1.
  const wave = (i) => Math.sin(i * i * 12.9898 + i);
  const points = Array.from({ length: 30 }, (_, i) => [wave(i), wave(i + 50), wave(i + 90)]);
  const [c, s] = [Math.cos(5), Math.sin(5)];
  const seen = points.map(([x, y, z], i) => [c * x - s * y + 0.3 + 0.1 * wave(i + 7), s * x + c * y + 0.1 * wave(i + 8), z]);
  const BLOCKS = {
    rotationFirst: { values: [1, 0, 0, 0, 0, 0, 0], parts: ['unit-quaternion', 'euclidean 3'], pose: (T) => Pose3.fromBlock([...T]) },
    translationFirst: { values: [0, 0, 0, 1, 0, 0, 0], parts: ['euclidean 3', 'unit-quaternion'], pose: ([x, y, z, ...q]) => Pose3.fromBlock([...q, x, y, z]) },
  };
  const problemIn = (unit, { values, parts, pose }) => {
    const problem = new Problem();
    const T = problem.parameters('T', { dim: 7, values });
    T.setManifold(manifold.product(...parts));
    const data = (rows) => problem.data(rows.flat().map((number) => number * unit), 3);
    problem.residuals('r', { inputs: { T: T.shared(), f: data(points), g: data(seen) }, residual: ({ T, f, g }) => pose(T).act(f).sub(g) });
    return problem;
  };
  for (const [name, block] of Object.entries(BLOCKS)) {
    const runs = [];
    const { finalCost } = await onCpu(problemIn(1, block), (functions) => levenbergMarquardt(functions, TIGHT));
    for (const unit of [1, 1e-9, 1e9]) {
      const one = await onCpu(problemIn(unit, block), (functions) => levenbergMarquardt(functions));
      const many = await solveMany(problemIn(unit, block), { count: 1 }, { backend: 'cpu' });
      runs.push({ termination: one.termination, iterations: one.iterations, of: many.iterations[0], costs: [one.finalCost, many.cost[0]].map((cost) => cost / unit ** 2) });
    }
    for (const { termination, iterations, of, costs } of runs) {
      assert.deepEqual([termination, iterations, of], [runs[0].termination, runs[0].iterations, runs[0].of], name);
      // The cost tolerance is 1e-8.
      costs.forEach((cost) => assert.ok(Math.abs(cost - finalCost) < 1e-7 * finalCost, `${name}: ${cost}, ${finalCost}`));
    }
  }
});

/** A chain of 30 poses that turn by up to a radian, with closures, in other units of length: the problem from a start, or from the perturbed one. */
function chain(unit, values) {
  state = 7;
  const pose = (turn, step) => new Pose3(Rotation3.exp(new Vec3(...turn)), new Vec3(...step));
  const triple = (size) => Array.from({ length: 3 }, () => size * random());
  const poses = [pose([0, 0, 0], [0, 0, 0])];
  while (poses.length < 30) poses.push(poses.at(-1).compose(pose(triple(1), [unit, 0.3 * unit * random(), 0.3 * unit * random()])));
  const edges = poses.slice(1).map((_, i) => [i, i + 1]);
  for (let i = 0; i + 5 < poses.length; i += 3) edges.push([i, i + 5]);
  edges.push([0, poses.length - 1]);
  const moved = (of, size) => of.compose(pose(triple(size), triple(size * unit)));
  const measured = edges.flatMap(([i, j]) => numbers(moved(poses[i].between(poses[j]), 0.02)));
  const problem = new Problem();
  const array = problem.poses('poses', { dim: 3, values: values ?? poses.flatMap((of) => numbers(moved(of, 0.1))) });
  array.setConstant([0]);
  const [from, to] = [0, 1].map((end) => Uint32Array.from(edges, (edge) => edge[end]));
  problem.residuals('steps', {
    inputs: { from: array.at(from), to: array.at(to), measured: problem.data(measured, 7) },
    residual: ({ from, to, measured }) => {
      const error = Pose3.fromBlock(measured).between(from.between(to));
      return [...error.translation, ...error.rotation.log()];
    },
  });
  return problem;
}

test('a pose graph in micrometres and radians is no success far from its minimum', async () => {
  // Translations weigh 10¹² times as much as rotations, so that steps are short beside the parameters in units of the columns, long before rotations fit.
  const unit = 1e6;
  const least = await solve(chain(unit), { backend: 'cpu', trustRegion: 'dogleg' });
  assert.ok(least.success, least.message);
  for (const maxIterations of [4, 12]) {
    const near = await solve(chain(unit), { backend: 'cpu', linearSolver: 'pcg', maxIterations });
    for (const linearSolver of ['auto', 'dense-qr', 'sparse-cholesky', 'pcg', 'iterative-schur']) {
      // Rounded as a device rounds.
      const { success, finalCost, message } = await solve(chain(unit, near.x.map(Math.fround)), { backend: 'cpu', linearSolver });
      assert.ok(!success || finalCost < 1.01 * least.finalCost, `${maxIterations}, ${linearSolver}: ${finalCost}, not ${least.finalCost}: ${message}`);
    }
  }
});

for (const [dim, Sim] of [[2, Sim2], [3, Sim3]]) {
  test(`a graph of similarities in ${dim} dimensions finds poses and scales, of which one is held`, async () => {
    const size = dim === 2 ? 4 : 8;
    const tangent = (amount) => Array.from({ length: size - (dim === 2 ? 0 : 1) }, () => amount * random());
    const truth = Array.from({ length: 8 }, () => Sim.exp(tangent(1)));
    const edges = truth.flatMap((_, i) => [1, 3].map((step) => [i, (i + step) % 8]));
    const problem = new Problem();
    const start = truth.flatMap((motion, i) => numbers(i === 0 ? motion : motion.compose(Sim.exp(tangent(0.3)))));
    const array = problem.similarities('motions', { dim, values: start });
    array.setConstant([0]);
    problem.residuals('edges', {
      inputs: {
        a: array.at(edges.map(([a]) => a)),
        b: array.at(edges.map(([, b]) => b)),
        m: problem.data(edges.flatMap(([a, b]) => numbers(truth[a].between(truth[b]))), size),
      },
      residual: ({ a, b, m }) => Sim.fromBlock(m).between(a.between(b)).log(),
    });
    const { finalCost } = await onCpu(problem, (functions) => levenbergMarquardt(functions, TIGHT));
    assert.ok(finalCost < 1e-25, `${finalCost}`);
    const values = array.values();
    truth.forEach((motion, i) => {
      const found = Sim.fromBlock(values.slice(size * i, size * (i + 1)));
      assert.ok(motion.between(found).log().every((entry) => Math.abs(entry.data) < 1e-11), `motion ${i}`);
    });
  });
}

test('a spline of poses finds its control poses from positions and velocities', async () => {
  const truth = Array.from({ length: 6 }, (_, k) => Pose3.exp([0.2 * k, 0.1 * Math.sin(k), 0.3 * k, k, Math.cos(k), 0.2 * k]));
  const times = Array.from({ length: 30 }, (_, k) => k / 10);
  const around = (time) => [0, 1, 2, 3].map((k) => Math.floor(time) + k);
  const measured = times.map((time) => {
    const controls = around(time).map((k) => truth[k]);
    return [...numbers(poseSpline.pose(controls, time % 1).translation), ...poseSpline.velocity(controls, time % 1, 0.5).map((entry) => entry.data)];
  });
  const problem = new Problem();
  const controls = problem.poses('controls', { dim: 3, values: truth.flatMap((pose, k) => numbers(k === 0 ? pose : near(pose, 0.05))) });
  controls.setConstant([0]);
  problem.residuals('measured', {
    inputs: { controls: controls.at(times.flatMap(around), 4), u: problem.data(times.map((time) => time % 1)), m: problem.data(measured.flat(), 9) },
    residual: ({ controls, u, m }) => [...poseSpline.pose(controls, u).translation, ...poseSpline.velocity(controls, u, 0.5)].map((entry, k) => entry.sub(m[k])),
  });
  const { finalCost } = await onCpu(problem, (functions) => levenbergMarquardt(functions, TIGHT));
  assert.ok(finalCost < 1e-20, `${finalCost}`);
  const values = controls.values();
  // The last control pose has a weight of at most 0.12: the other numbers are determined to some 1e-9.
  truth.forEach((pose, k) => assert.ok(pose.between(Pose3.fromBlock(values.slice(7 * k, 7 * k + 7))).log().every((entry) => Math.abs(entry.data) < 1e-7), `pose ${k}`));
});
