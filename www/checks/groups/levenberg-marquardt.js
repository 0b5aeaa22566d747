/** Levenberg-Marquardt: features of problems, reports of a run, and failures on the way. */
import { GpuContext, lbfgs, levenbergMarquardt, loss, NonlinearLeastSquares, Problem, solve, V, Vec3 } from 'residua';
import { anywhere, gpuAgainstCpu, onCpu, onEach, onGpu } from '../define.js';
import { decay, reached, within } from './decay.js';

/** Milliseconds of work after which the module yields to the event loop. */
const SLICE_MS = 12;

/** Nine points in a sagging chain, bounded at its ends in x and by a floor, and two rotations that map a vector to another. */
function heldChain() {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 2, values: Float64Array.from({ length: 18 }, (_, i) => (i % 2 === 0 ? i / 2 : 0)) });
  points.setConstant([0]);
  points.setConstant([8], true, [0]);
  points.setBounds({ lower: -3, upper: 3 }, [8]);
  const turns = problem.parameters('turns', { dim: 4, values: [1, 0, 0, 0, 1, 0, 0, 0] });
  turns.setManifold('unit-quaternion');
  const firsts = Uint32Array.from({ length: 16 }, (_, i) => Math.floor((i + 1) / 2));
  problem.residuals('links', { inputs: { ends: points.at(firsts, 2) }, residual: ({ ends: [a, b] }) => a.sub(b) });
  problem.residuals('weights', { inputs: { point: points.at([0, 1, 2, 3, 4, 5, 6, 7, 8]) }, residual: ({ point }) => point.y.add(1).mul(0.3) });
  problem.residuals('turned', {
    inputs: { turn: turns.at([0, 0, 1, 1]), from: problem.data([1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0], 3), to: problem.data([0, 1, 0, -1, 0, 0, 0, 0, 1, 0, 1, 0], 3) },
    residual: ({ turn, from, to }) => turn.rotate(from).sub(to),
  });
  return { problem, points, turns };
}

/** Ranges from a receiver to satellites, right to some centimetres, and the receiver's position to find; metres. */
function ranges() {
  const satellites = [[15.6e6, 7.5e6, 20.1e6], [18.8e6, 2.7e6, 18.3e6], [17.6e6, 14.6e6, 13.5e6], [19.2e6, 0.6e6, 18.4e6], [-3e6, 20e6, 17e6], [2e6, -11e6, 24e6]];
  const receiver = [4.1e6, 0.6e6, 4.8e6];
  const noise = [0.03, -0.05, 0.02, 0.04, -0.04, 0.01];
  const problem = new Problem();
  const position = problem.parameters('position', { dim: 3, values: [6.4e6, 0, 0] });
  const measured = satellites.map((satellite, i) => Math.hypot(...satellite.map((s, axis) => s - receiver[axis])) + noise[i]);
  problem.residuals('ranges', {
    inputs: { position: position.shared(), satellite: problem.data(satellites.flat(), 3), range: problem.data(measured) },
    residual: ({ position, satellite, range }) => position.distance(satellite).sub(range),
  });
  return { problem, receiver };
}

/**
 * How far blocks may be from the minimum of the check of manifolds where rounding in f32 ends its run at the damping λ: the run ends at a step
 * whose predicted reduction is at most the noise N of the cost, and a block's part of the prediction is at most the whole.
 *
 * - N = 4ε √(2F) √(Σ D x²/m), as the module takes it. F = 2 is the cost; m = 17 residuals; D are the squared columns of the Jacobian:
 *   48, 60, 28 for the rotation, a turn by 2δ about each axis; 1 for the heading; 1, 1 for the normal. x is the size of the point in a
 *   coordinate: the heading itself, and on a sphere the root of the inverse of the number of coordinates.
 * - A damped step of g = H e, with H the curvature of the model, predicts at least ½ gᵀ(H + λD)⁻¹g.
 *   Rotation: H = 4(16 I − v vᵀ), v = (−2, 1, 3), has eigenvalues from 8 on, and D is at most 4.57 H: ½ · 8 e² ≤ (1 + 4.57 λ) N.
 *   Heading: H = D = 1: ½ e² ≤ (1 + λ) N.
 *   Normal: H = D = 1, and g = 3 e, since the residual, of length 2, bends the sphere's cost: ½ · 9 e² ≤ (1 + λ) N.
 */
function hiddenErrors(damping) {
  const size = (48 + 60 + 28) / 3 + (2 * Math.PI - 3.5) ** 2 + (1 + 1) / 2;
  const noise = 4 * 2 ** -23 * Math.sqrt(2 * 2) * Math.sqrt(size / 17);
  return { rotation: Math.sqrt(((1 + 4.57 * damping) * noise) / 4), heading: Math.sqrt(2 * (1 + damping) * noise), normal: Math.sqrt((2 / 9) * (1 + damping) * noise) };
}

export const group = {
  id: 'levenberg-marquardt',
  title: 'Levenberg-Marquardt',
  about: 'Curve fits; constants, bounds and manifolds; statuses of numerical failures; runs that repeat to the last bit.',
  checks: [
    ...onEach('an exponential is found, and the run is reported as a table', async (check) => {
      const { problem, curve } = decay();
      const functions = await check.compile(problem);
      const heard = [];
      const result = await NonlinearLeastSquares.solve(functions, { onIteration: (one) => void heard.push(one.iteration) });
      reached(check, result);
      check.close(result.x[0], 2, within[check.backend], 'factor');
      check.close(result.x[1], -1.5, within[check.backend], 'rate');
      check.same(curve.values(), result.x, 'the values of the parameters');
      check.same(heard, result.history.map((one) => one.iteration), 'each iteration once, in order');
      check.same(heard, [...heard.keys()]);
      check.equal(result.iterations, result.history.length - 1);
      for (const one of result.history.slice(1)) {
        check.ok(one.damping >= 0 && one.linearIterations >= 1 && 'gainRatio' in one, `damping, iterations and gain in ${JSON.stringify(one)}`);
      }
      const report = result.report();
      for (const words of ['Levenberg-Marquardt', 'Linear solver', 'Original', 'Reduced', 'Residual blocks', 'Kernels', 'gain ratio', 'CONVERGENCE']) {
        check.ok(report.includes(words), `the report has ${words}:\n${report}`);
      }
    }),

    ...onEach('a second solve starts at the result of the first, with the changes made in between', async (check) => {
      const { problem, curve, block } = decay();
      const functions = await check.compile(problem);
      const first = await levenbergMarquardt(functions, { maxIterations: 2 });
      const second = await levenbergMarquardt(functions, { maxIterations: 1 });
      curve.set([1, -1]);
      const third = await levenbergMarquardt(functions, { maxIterations: 0 });
      block.setWeight(4);
      const weighted = await levenbergMarquardt(functions, { maxIterations: 0 });
      check.close(second.initialCost, first.finalCost, { within: 1e-6 * first.initialCost, because: 'the same sum at the same point' }, 'the warm start');
      check.ok(second.finalCost < first.finalCost, 'the second goes on');
      check.equal(third.initialCost, first.initialCost);
      check.equal(third.termination, 'max-iterations');
      check.equal(weighted.initialCost, 4 * third.initialCost, 'a weight of 4 is exact');
    }),

    ...onEach('weights that are set before each iteration lead to the minimum of the robust loss that they are of', async (check) => {
      const [times, bound] = [Float64Array.from({ length: 40 }, (_, k) => k / 10), 0.3];
      const made = () => {
        const problem = new Problem();
        const line = problem.parameters('line', { dim: 2, values: [0, 0] });
        const samples = problem.residuals('samples', {
          inputs: { line: line.shared(), t: problem.data(times), y: problem.data(times.map((t, k) => 2 * t - 1 + 0.1 * Math.sin(7 * k) + (k % 7 === 0 ? 5 : 0))) },
          residual: ({ line, t, y }) => line.x.mul(t).add(line.y).sub(y),
          weights: times.map(() => 1),
        });
        return { problem, line, samples };
      };
      const robust = made();
      robust.samples.setLoss(loss.huber(bound));
      reached(check, await solve(robust.problem, { backend: 'cpu' }));
      const { problem, samples } = made();
      const functions = await check.compile(problem);
      const points = [];
      const result = await levenbergMarquardt(functions, {
        readBack: false,
        beforeIteration: async ({ iteration, x }) => {
          points[iteration] = await x;
          samples.setData('weights', (await functions.evaluate()).map((r) => Math.min(1, bound / Math.abs(r))));
        },
      });
      reached(check, result);
      check.same([...points[0]], [0, 0], 'the start');
      const found = await functions.download();
      const tolerance = { within: 2e-3, because: 'reweighting converges linearly, and a step in f32 that no longer lowers the cost ends it' };
      found.forEach((value, k) => check.close(value, robust.line.values()[k], tolerance, 'the line'));
    }),

    ...onEach('with readBack: false the numbers stay on the engine until download()', async (check) => {
      const { problem, curve } = decay();
      const functions = await check.compile(problem);
      const { x } = await levenbergMarquardt(functions, { readBack: false });
      const before = [...curve.values()];
      const downloaded = await functions.download();
      check.same(x, []);
      check.same(before, [1, -1]);
      check.same(curve.values(), downloaded);
      check.close(downloaded[0], 2, within[check.backend], 'factor');
    }),

    ...onGpu('blocks that are set while the others are on the device alone are uploaded: the next solve continues from there, and reads back only its state', async (check) => {
      const context = await GpuContext.default();
      const { problem, points, turns } = heldChain();
      const functions = await check.compile(problem);
      await levenbergMarquardt(functions, { readBack: false });
      // The check of the first solve's digits reads back after its result; a later solve waits for it.
      await levenbergMarquardt(functions, { readBack: false, maxIterations: 0 });
      const start = [...points.values()];
      points.setAt(0, [0.5, 0.5]);
      turns.setAt(1, [0.2, 2, 0, 0]);
      const before = context.stats().readbacks;
      const { message } = await levenbergMarquardt(functions, { readBack: false, maxIterations: 0 });
      const readbacks = context.stats().readbacks - before;
      await levenbergMarquardt(functions, { readBack: false });
      points.setAt(8, [8, -5]); // beyond the bound of its second coordinate
      const { message: bounded } = await levenbergMarquardt(functions, { readBack: false, costTolerance: 0 });
      const found = await functions.download();

      const reference = heldChain();
      const onCpu = await check.compile(reference.problem, { backend: 'cpu' });
      await levenbergMarquardt(onCpu);
      reference.points.setAt(0, [0.5, 0.5]);
      // Without the first number the turn is on a ridge, which the second derivatives of the CPU leave.
      reference.turns.setAt(1, [0.2, 2, 0, 0]);
      const { x } = await levenbergMarquardt(onCpu, { costTolerance: 0 });
      check.equal(readbacks, 1, 'the state of a solve');
      check.ok(message.includes("1 block of 'turns' started off its manifold 'unit-quaternion' and was normalised"), message);
      check.ok(bounded.includes('1 starting value was out of bounds'), bounded);
      check.ok(start[2] !== found[2], 'the points in between have moved');
      check.same([...found.slice(0, 2), ...found.slice(16, 17)], [0.5, 0.5, x[16]], 'what is held');
      // One minimum, found by solves that end where the cost changes by less than its own rounding, 2⁻²⁴; the point is accurate to the root
      // of that.
      found.forEach((number, i) => check.close(number, x[i], { within: 1e-3, because: 'the root of single precision’s rounding of the cost, 2⁻²⁴, and a chain as soft as its links' }, `number ${i}`));
    }),

    ...onEach('constants keep every bit, bounds hold, and a start outside of its bounds is projected, with a message', async (check) => {
      const { problem, curve } = decay([1.75, -1]);
      const functions = await check.compile(problem);
      curve.setConstant([0], true, [0]);
      const held = await levenbergMarquardt(functions);
      curve.setConstant([0], false);
      curve.set([1, -1]);
      curve.setBounds({ lower: [-Infinity, -1.25], upper: [0.5, Infinity] });
      const bounded = await levenbergMarquardt(functions);
      check.ok(held.success, held.message);
      check.equal(held.x[0], 1.75);
      check.equal(bounded.x[0], 0.5, bounded.message);
      check.ok(bounded.x[1] >= -1.25, `${bounded.x[1]} is at least −1.25`);
      check.match(bounded.message, /^1 starting value was out of bounds and was moved to the nearest bound\. /);
    }),

    ...onEach('blocks on manifolds stay there, and a start off its manifold is normalised, with a message', async (check) => {
      const problem = new Problem();
      const rotation = problem.parameters('rotation', { dim: 4, values: [2, 0.1, -0.2, 0.3] });
      rotation.setManifold('unit-quaternion');
      const heading = problem.parameters('heading', { dim: 1, values: [3] });
      heading.setManifold('angle');
      const normal = problem.parameters('normal', { dim: 3, values: [0, 0, 1] });
      normal.setManifold('unit-vector');
      // A rotation by 90° about z; an angle beyond π; the direction (2, −1, 2)/3.
      const points = [1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 2, 3];
      const turned = [0, 1, 0, -1, 0, 0, 0, 0, 1, -2, 1, 3];
      problem.residuals('turns', {
        inputs: { q: rotation.shared(), p: problem.data(points, 3), t: problem.data(turned, 3) },
        residual: ({ q, p, t }) => q.rotate(p).sub(t),
      });
      problem.residuals('heads', { inputs: { a: heading.shared() }, residual: ({ a }) => [V.sub(V.cos(a), Math.cos(3.5)), V.sub(V.sin(a), Math.sin(3.5))] });
      problem.residuals('points', { inputs: { n: normal.shared() }, residual: ({ n }) => n.sub(new Vec3(V.C(2), V.C(-1), V.C(2))) });
      const functions = await check.compile(problem);
      const { x: found, message, history } = await levenbergMarquardt(functions, { costTolerance: 0 });
      const [w, x, y, z, angle, a, b, c] = found;
      check.match(message, /^1 block of 'rotation' started off its manifold 'unit-quaternion' and was normalised\. /);
      const allowed = check.backend === 'gpu' ? hiddenErrors(history.at(-1).damping) : { rotation: 2e-6, heading: 2e-6, normal: 2e-6 };
      const because = 'Gradient tolerance, or what rounding hides in f32, over curvatures of 1 and more.';
      const half = Math.SQRT1_2;
      for (const [got, expected] of [[w, half], [x, 0], [y, 0], [z, half]]) check.close(got, expected, { within: allowed.rotation, because }, message);
      for (const [got, expected] of [[a, 2 / 3], [b, -1 / 3], [c, 2 / 3]]) check.close(got, expected, { within: allowed.normal, because }, message);
      check.close(angle, 3.5 - 2 * Math.PI, { within: allowed.heading, because }, 'the angle is in (−π, π]');
      check.close(Math.hypot(w, x, y, z), 1, { within: check.backend === 'gpu' ? 5e-7 : 1e-15, because: 'A normalisation in the arithmetic of the backend at each step.' }, 'length');
    }),

    ...onEach('the next step after NaN at a trial point is shorter; NaN at the start is reported with its place', async (check) => {
      const problem = new Problem();
      const p = problem.parameters('p', { dim: 1, values: [0.5] });
      // log(x) + 3: the Gauss-Newton step from 0.5 leads below 0. The radius of the CPU ends it before.
      problem.residuals('logarithm', { inputs: { p: p.shared() }, residual: ({ p }) => V.add(V.log(p), 3) });
      const functions = await check.compile(problem);
      const solved = await levenbergMarquardt(functions);
      p.set([-1]);
      const error = await check.failureInWords(levenbergMarquardt(functions));
      const [, first, second] = solved.history;
      check.equal(first.accepted, check.backend === 'cpu');
      if (!first.accepted) check.ok(second.damping > first.damping && second.stepNorm < first.stepNorm, 'damping grows, and the next step is shorter');
      check.close(solved.x[0], Math.exp(-3), { within: 1e-5, because: 'a rounding of f32 in a residual whose terms are 3, over its slope of 20, with room' }, solved.message);
      check.match(error, /^non-finite: residual 0 \(block 'logarithm', instance 0, residual 0 of 1\) is NaN at the start/);
    }),

    ...onEach('a singular system, a column of zeros and a flat cost end with a status', async (check) => {
      const solved = async (residual) => {
        const problem = new Problem();
        const p = problem.parameters('p', { dim: 3, values: [0, 0, 7] });
        problem.residuals('r', { inputs: { p: p.shared() }, residual });
        return levenbergMarquardt(await check.compile(problem));
      };
      // x and y occur only as their sum, z not at all.
      const singular = await solved(({ p }) => [V.sub(V.add(p.x, p.y), 4), V.mul(0.5, V.add(p.x, p.y))]);
      const flat = await solved(({ p }) => V.add(1, V.mul(0, p.x)));
      check.ok(singular.success, singular.message);
      // Least squares of s − 4 and s/2.
      check.close(singular.x[0] + singular.x[1], 3.2, within[check.backend], singular.message);
      check.equal(singular.x[2], 7);
      check.equal(flat.termination, 'gradient-tolerance', flat.message);
      check.same(flat.x, [0, 0, 7]);
      const lacksRank = (rank) => new RegExp(`The Jacobian has rank ${rank} of 3: the residuals do not determine ${Array(3).fill('p\\[0\\] coordinate [012]').join(', ')} separately`);
      check.match(singular.message, lacksRank(1));
      check.match(singular.report(), lacksRank(1));
      check.match(flat.message, check.backend === 'cpu' ? lacksRank(0) : /p\[0\] coordinate 0 has no effect on the cost there/);
    }),

    ...onEach('a parameter whose residuals have the weight 0 is named, and nothing is said where all are determined', async (check) => {
      const problem = new Problem();
      const [p, q] = ['p', 'q'].map((name) => problem.parameters(name, { dim: 1, values: [2] }));
      const block = problem.residuals('q', { inputs: { q: q.shared() }, residual: ({ q }) => q.sub(1) });
      problem.residuals('p', { inputs: { p: p.shared() }, residual: ({ p }) => [p.sub(1), p.sub(3)] });
      const functions = await check.compile(problem);
      const determined = await levenbergMarquardt(functions);
      check.ok(determined.success, determined.message);
      check.ok(!/rank|effect/.test(determined.message), determined.message);
      block.setWeight(0);
      const { success, message } = await levenbergMarquardt(functions);
      check.ok(success, message);
      check.match(message, check.backend === 'cpu' ? /has rank 1 of 2: the residuals do not determine q\[0\] separately/ : /q\[0\] has no effect on the cost there, as with a weight of 0, or where/);
    }),

    ...onEach('ranges to satellites converge where the arithmetic keeps their digits, and say so where it does not', async (check) => {
      const { problem, receiver } = ranges();
      const functions = await check.compile(problem);
      const result = await levenbergMarquardt(functions);
      const distance = Math.hypot(...result.x.map((x, axis) => x - receiver[axis]));
      if (check.backend === 'cpu') {
        check.ok(result.success && result.precisionLoss === 0, result.message);
        check.ok(distance < 0.5, `${distance} m from the receiver`);
        return;
      }
      // Neighbouring numbers of this size are half a metre to two metres apart in f32, and the ranges are right to centimetres.
      check.equal(result.termination, 'precision-limit');
      check.equal(result.success, false);
      check.ok(result.precisionLoss > 1e-3, `${result.precisionLoss} of the cost is rounding`);
      check.match(result.message, /Rounding in single precision explains/);
      check.match(result.report(), /NO CONVERGENCE/);
    }),

    ...gpuAgainstCpu('ranges to satellites reach the digits of the CPU in pairs, and with \'auto\'', async (check) => {
      const located = async (options) => solve(ranges().problem, options);
      const exact = await located({ backend: 'cpu' });
      const single = await located({ backend: 'gpu' });
      const pairs = await located({ backend: 'gpu', precision: 'f32x2' });
      const automatic = await located({ backend: 'auto', precision: 'f32x2' });
      // Begins in f32, and goes on in pairs.
      const continued = await located({ backend: 'auto', fallbackThreshold: 0 });
      const metresOff = ({ x }) => Math.hypot(...x.map((coordinate, axis) => coordinate - exact.x[axis]));
      check.same([exact, single, pairs, continued].map(({ arithmetic }) => arithmetic), ['f64', 'f32', 'f32x2', 'f32x2'], continued.message);
      check.equal(single.termination, 'precision-limit', single.message);
      check.ok(metresOff(single) > 1e-3, `f32 is as good: ${metresOff(single)} m`);
      check.note('metres from the CPU: f32', metresOff(single), 'f32x2', metresOff(pairs), 'auto', metresOff(automatic), 'f32 and then f32x2', metresOff(continued), 'cost', pairs.finalCost / exact.finalCost - 1);
      for (const result of [pairs, automatic, continued]) {
        check.ok(result.success, result.message);
        check.below(metresOff(result), 1e-3, 'pairs of 2.5e7 m are rounded by up to 3e-8 m; a millimetre is what positioning asks for', `metres off, ${result.arithmetic}`);
        check.close(result.finalCost / exact.finalCost, 1, { within: 2e-6, because: 'data of 2.5e7 m are rounded by up to 3e-8 m, which is 1e-6 of residuals of 0.03 m, and twice that of their squares' }, result.message);
      }
    }),

    ...gpuAgainstCpu('L-BFGS on ranges to satellites goes on in pairs with \'auto\'', async (check) => {
      const exact = await solve(ranges().problem, { backend: 'cpu' });
      const functions = await check.compile(ranges().problem, { backend: 'auto', fallbackThreshold: 0 });
      const iterations = [];
      const options = { objective: 'least-squares', maxIterations: 300, onIteration: ({ iteration }) => { iterations.push(iteration); } };
      const result = await lbfgs(functions, options);
      check.equal(functions.precision, 'f32');
      check.equal(result.arithmetic, 'f32x2', result.message);
      check.match(result.message, /^The GPU ended with 'precision-limit' after \d+ iterations in single precision, and the GPU continued for \d+ in double-single precision: \d+ iterations in all\./);
      const metresOff = Math.hypot(...result.x.map((coordinate, axis) => coordinate - exact.x[axis]));
      check.below(metresOff, 1e-3, 'pairs of 2.5e7 m are rounded by up to 3e-8 m; a millimetre is what positioning asks for', result.message);
      check.same(iterations, Array.from({ length: result.iterations + 1 }, (_, i) => i));
      // A solution that stays on the GPU is one of a loop of frames, which ends there.
      const frame = await lbfgs(functions, { objective: 'least-squares', readBack: false });
      check.equal(frame.arithmetic, 'f32', frame.message);
    }),

    ...onEach('blocks that no residual uses are named', async (check) => {
      const problem = new Problem();
      const vertices = problem.parameters('vertices', { dim: 2, values: new Float64Array(40) });
      problem.residuals('pins', { inputs: { v: vertices.at(Array.from({ length: 17 }, (_, i) => i)) }, residual: ({ v }) => [v.x.sub(1), v.y] });
      const functions = await check.compile(problem);
      vertices.setConstant([18]);
      const result = await levenbergMarquardt(functions);
      check.match(result.message, /vertices\[17\], vertices\[19\] are touched by no residual\./);
      check.match(result.report(), /vertices\[17\]/);
    }),

    ...onGpu('conjugate gradients that use up their iterations make no success', async (check) => {
      // Heights drawn to samples and to a stiff line: of all waves conjugate gradients find the long ones, which the samples ask for, last.
      const count = 100;
      const problem = new Problem();
      const heights = problem.parameters('heights', { dim: 1, values: new Float64Array(count) });
      const all = Uint32Array.from({ length: count }, (_, i) => i), firsts = all.slice(0, count - 2);
      const samples = Float64Array.from(all, (i) => Math.sin(i / 20) + 0.5 * Math.sin(7 * i * i));
      problem.residuals('samples', { inputs: { height: heights.at(all), sample: problem.data(samples) }, residual: ({ height, sample }) => height.sub(sample) });
      problem.residuals('bends', {
        inputs: { a: heights.at(firsts), b: heights.at(firsts.map((i) => i + 1)), c: heights.at(firsts.map((i) => i + 2)) },
        residual: ({ a, b, c }) => V.mul(1000, a.sub(V.mul(2, b)).add(c)),
      });
      // Each system is solved to nine tenths of its residual, so that steps are complete, and the cost falls by less than a hundredth.
      const options = { linearSolver: 'pcg', linearTolerance: 0.9, costTolerance: 1e-2, maxLinearIterations: 5, maxIterations: 30 };
      const functions = await check.compile(problem);
      const { success, termination, message } = await levenbergMarquardt(functions, options);
      check.ok(!success, message);
      check.equal(termination, 'max-iterations', message);
      // Of such a band a factorisation takes less than they do, and is what 'auto' takes.
      const { success: isSolved, arithmetic, message: how } = await levenbergMarquardt(functions);
      check.same([isSolved, arithmetic], [true, 'f64'], how);
    }),

    ...onEach('a run of Levenberg-Marquardt repeats bit for bit', async (check) => {
      const { problem, curve } = decay();
      const functions = await check.compile(problem);
      const run = async () => {
        curve.set([1, -1]);
        const { history, x } = await levenbergMarquardt(functions);
        return { x: [...x], history: history.map((one) => ({ ...one, elapsedMs: 0 })) };
      };
      const first = await run();
      check.same(await run(), first);
    }),

    ...onEach('the caller, the signal and the time limit end a run, and the best point so far is kept', async (check) => {
      const { problem, curve } = decay();
      const functions = await check.compile(problem);
      const run = (options) => {
        curve.set([1, -1]);
        return levenbergMarquardt(functions, { costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0, maxIterations: 1e6, ...options });
      };
      const stopped = await run({ onIteration: ({ iteration }) => iteration >= 2 });
      const controller = new AbortController();
      const aborted = await run({ signal: controller.signal, onIteration: ({ iteration }) => void (iteration === 1 && controller.abort()) });
      // Clocks of pages may have a resolution of 1 ms, longer than the run, so the check waits until the clock changes.
      const nextTick = () => { const now = performance.now(); while (performance.now() === now); };
      const late = await run({ maxTimeMs: 1e-3, onIteration: nextTick });
      const results = [stopped, aborted, late];
      check.same(results.map((result) => result.termination), ['aborted', 'aborted', 'max-time']);
      for (const result of results) check.ok(result.finalCost <= result.initialCost, result.message);
    }),

    ...onCpu('the CPU solver yields to the event loop', async (check) => {
      const n = 100;
      const problem = new Problem();
      const start = Float64Array.from({ length: 3 * n * n }, (_, i) => Math.sin(i * 12.9898) * 5);
      const grid = problem.parameters('grid', { dim: 3, values: start });
      const pairs = [];
      for (let i = 0; i < n; i++) for (let j = 0; j + 1 < n; j++) pairs.push(i * n + j, i * n + j + 1, j * n + i, (j + 1) * n + i);
      problem.residuals('springs', { inputs: { ends: grid.at(pairs, 2) }, residual: ({ ends: [a, b] }) => V.sub(a.distance(b), 1) });
      const functions = await check.compile(problem);
      const solved = () => levenbergMarquardt(functions, { maxIterations: 10, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 });
      // The first solve makes kernels, which a browser may compile in one piece; troubleshooting.md says so.
      await solved();
      let turns = 0, running = true;
      const count = () => { turns++; if (running) setTimeout(count, 0); };
      setTimeout(count, 0);
      const begin = performance.now();
      // A fast machine solves more than once, so that there are slices to count on each.
      do {
        grid.set(start);
        await solved();
      } while (performance.now() - begin < 20 * SLICE_MS);
      const duration = performance.now() - begin;
      running = false;
      // One turn in 4 slices: a slice runs over by the step between two places where it can pause, taken to be as long as the slice on a slow
      // machine, and the message that continues the solve may precede the timer that is due.
      const least = duration / (4 * SLICE_MS);
      check.ok(turns > least, `${turns} turns in ${duration} ms, of at least ${least}`);
    }, { long: true }), // It counts turns of the page in a time, which other work on the machine takes as well.

    ...anywhere('solve() uses Levenberg-Marquardt', async (check) => {
      const { problem, curve } = decay();
      const result = await solve(problem);
      check.match(result.report(), /Levenberg-Marquardt/);
      check.close(curve.values()[0], 2, within.cpu, 'factor');
    }),
  ],
};
