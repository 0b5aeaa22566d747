/** Problems that grow at random, and the same problems made whole: compiled functions of both must give the same bits. */
import { covariance, lbfgs, levenbergMarquardt, loss, newton, Pose2, Problem, rank } from 'residua';
import { seededNoise } from '../problems/seeded-noise.js';

const LOSSES = [loss.squared(), loss.huber(0.3), loss.cauchy(0.5)];

/** A problem of poses along a street, points beside it and a scale, with what `state` has. */
function build(state) {
  const problem = new Problem();
  const poses = problem.poses('poses', { dim: 2, values: state.poses.flat() });
  const scale = problem.parameters('scale', { dim: 1, values: state.scale });
  const points = problem.parameters('points', { dim: 2, values: state.points.flat() });
  poses.setConstant([0]);
  points.setBounds({ lower: -50 }, [0]);
  if (state.constant.length > 0) points.setConstant(state.constant);
  const { edges, sights } = state;
  const motion = problem.residuals('motion', {
    inputs: { a: poses.at(edges.map(([a]) => a)), b: poses.at(edges.map(([, b]) => b)), z: problem.data(edges.flatMap(([, , z]) => z), 3) },
    residual: ({ a, b, z }) => Pose2.fromBlock(z).between(a.between(b)).log(),
    weights: edges.map(([, , , weight]) => weight),
  });
  const sight = problem.residuals('sight', {
    inputs: { a: poses.at(sights.map(([a]) => a)), p: points.at(sights.map(([, p]) => p)), s: scale.shared(), z: problem.data(sights.flatMap(([, , z]) => z), 2) },
    residual: ({ a, p, s, z }) => {
      const seen = a.inverse().act(p);
      return [seen.x.mul(s).sub(z.x), seen.y.mul(s).sub(z.y)];
    },
    loss: LOSSES[state.loss],
  });
  const near = problem.residuals('near', { inputs: { p: points.at(state.points.map((_, k) => k)), z: problem.data(state.near.flat(), 2) }, residual: ({ p, z }) => [p.x.sub(z.x).mul(0.1), p.y.sub(z.y).mul(0.1)] });
  const known = problem.residuals('known', { inputs: { s: scale.shared(), z: problem.data([1.05]) }, residual: ({ s, z }) => s.sub(z).mul(20) });
  if (state.isConstrained) problem.equalities('level', { inputs: { p: points.at([0]) }, constraint: ({ p }) => p.y.sub(1) });
  return { problem, poses, scale, points, motion, sight, near, known };
}

/** Runs calls of functions, which change parameters; gives all their numbers. */
const CALLS = {
  evaluate: async (functions) => [...(await functions.evaluate())],
  gradients: async (functions) => {
    const [cost, sum] = [await functions.evaluateCostWithGradient(), await functions.evaluateSumWithGradient()];
    return [cost.value, ...cost.gradient, sum.value, ...sum.gradient];
  },
  jacobian: async (functions) => {
    const { values, jacobian } = await functions.evaluateJacobian();
    return [jacobian.rows, jacobian.cols, ...values, ...jacobian.values, ...jacobian.colIndices];
  },
  hessian: async (functions) => {
    const hessian = await functions.evaluateHessian(undefined, { objective: 'least-squares' });
    const product = await functions.evaluateHessianProduct(undefined, new Float64Array(functions.numParams).fill(0.5));
    return [hessian.rows, ...hessian.values, ...product];
  },
  levenbergMarquardt: async (functions) => solved(await levenbergMarquardt(functions, { maxIterations: 8 })),
  unread: async (functions) => [...solved(await levenbergMarquardt(functions, { maxIterations: 3, readBack: false })), ...(await functions.download())],
  lbfgs: async (functions) => solved(await lbfgs(functions, { objective: 'least-squares', maxIterations: 8 })),
  newton: async (functions) => solved(await newton(functions, { objective: 'least-squares', maxIterations: 4 })),
  covariance: async (functions, { points }) => [...(await covariance(functions, { blocks: [{ array: points, index: points.count - 1 }], absoluteSigma: true, robust: false })).values],
  rank: async (functions) => [(await rank(functions)).rank, (await rank(functions)).degreesOfFreedom],
};

const solved = ({ x, finalCost, iterations }) => [finalCost, iterations, ...x];

/** What a problem begins with. */
function beginning(random, isConstrained) {
  const state = { poses: [[0, 0, 0]], scale: [1.1], points: [[1, 1]], near: [[1, 1.2]], constant: [], edges: [], sights: [], loss: 0, isConstrained };
  if (random() < 0.5) state.sights.push([0, 0, [1.2, 1.1]]);
  return state;
}

/**
 * Grows a problem at random in `steps` steps, and calls its functions after some of them; gives for each call its name and the numbers of the functions that
 * have grown, and of those of the same problem made whole. `compile` compiles a problem.
 */
export async function* grow(seed, steps, isConstrained, compile) {
  const random = seededNoise(seed + 1).uniform;
  const noise = () => 0.1 * (random() - 0.5);
  const state = beginning(random, isConstrained);
  const grown = build(state);
  const functions = await compile(grown.problem);
  for (let step = 0; step < steps; step++) {
    // Sometimes so much that the host's kernels are written for many instances.
    const many = random() < 0.15 ? 200 : 1;
    for (let k = 0; k < many; k++) {
      const last = state.poses.length - 1;
      const pose = [0.01 * (last + 1), last + 1 + noise(), noise()];
      state.poses.push(pose);
      grown.poses.append(pose);
      const edges = [[last, last + 1, [0.01, 1, noise()], 1]];
      if (last > 3 && random() < 0.5) edges.push([last + 1, Math.floor(random() * last), [noise(), noise() - 2, 0], 0.25]);
      state.edges.push(...edges);
      grown.motion.append({ a: edges.map(([a]) => a), b: edges.map(([, b]) => b), z: edges.flatMap(([, , z]) => z), weights: edges.map(([, , , weight]) => weight) });
      if (random() < 0.5) {
        const point = [last + noise(), 1 + noise()];
        state.points.push(point);
        state.near.push(point);
        grown.points.append(point);
        grown.near.append({ p: [state.points.length - 1], z: point });
      }
      if (random() < 0.7) {
        const sight = [last + 1, state.points.length - 1, [noise(), 1 + noise()]];
        state.sights.push(sight);
        grown.sight.append({ a: [sight[0]], p: [sight[1]], z: sight[2] });
      }
    }
    if (random() < 0.3) grown.sight.setLoss(LOSSES[(state.loss = Math.floor(random() * LOSSES.length))]);
    if (random() < 0.3 && state.points.length > 2) {
      const place = 1 + Math.floor(random() * (state.points.length - 1));
      if (!state.constant.includes(place)) state.constant.push(place);
      grown.points.setConstant([place]);
    }
    if (random() < 0.3) {
      state.near[0] = [1 + noise(), 1 + noise()];
      grown.near.setData('z', state.near.flat());
    }
    if (random() < 0.3) grown.poses.setAt(state.poses.length - 1, [0.02, state.poses.length, noise()]);
    if (random() < 0.3) continue;
    const names = Object.keys(CALLS).filter((name) => !(isConstrained && (name === 'newton' || name === 'unread')));
    const name = names[Math.floor(random() * names.length)];
    const blocks = (array) => Array.from({ length: array.count }, (_, k) => [...array.values().subarray(k * array.dim, (k + 1) * array.dim)]);
    const whole = build({ ...state, poses: blocks(grown.poses), scale: [...grown.scale.values()], points: blocks(grown.points) });
    const others = await compile(whole.problem);
    const got = await CALLS[name](functions, grown);
    const expected = await CALLS[name](others, whole);
    others.dispose();
    yield { name: `${name} after step ${step} with ${state.poses.length} poses`, got, expected };
    // Multipliers stay for the next solve, and those of a new compile are 0.
    if (isConstrained && (name === 'levenbergMarquardt' || name === 'lbfgs')) break;
  }
  functions.dispose();
}
