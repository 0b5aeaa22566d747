/** The times of a context that was created with `profile: true`. */
import { lbfgs, levenbergMarquardt, Problem, solveMany } from 'residua';
import { onGpu } from '../define.js';

/** A chain of springs with rest length 1 between `count` points that are 2 apart. */
function chain(check, count, context) {
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 3, values: Float64Array.from({ length: 3 * count }, (_, i) => (i % 3 === 0 ? (2 * i) / 3 : 0.1 * (i % 7))) });
  const ends = Uint32Array.from({ length: 2 * (count - 1) }, (_, i) => (i + 1) >> 1);
  problem.residuals('springs', { inputs: { ends: points.at(ends, 2) }, residual: ({ ends: [a, b] }) => a.distance(b).sub(1) });
  return check.compile(problem, { context });
}

/** The profile after the device has delivered all requested times. */
async function settled(context) {
  for (let turn = 0; turn < 500; turn++) {
    const stats = context.stats();
    if (Object.values(stats.profile.kernels).every(({ dispatches, timed }) => timed === dispatches)) return stats;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`no times were delivered: ${JSON.stringify(context.stats())}`);
}

/** The clocks of the device. */
const TIMED = { needs: ['timestamp-query'] };

export const group = {
  id: 'profile',
  title: 'Profile',
  about: 'stats().profile counts stages and kernels, and times them where the device has timestamps.',
  checks: [
    ...onGpu('a profiled context has times by stage and kernel, whose sums are within the duration of the calls', async (check) => {
      const began = performance.now();
      const context = await check.context({ profile: true });
      const functions = await chain(check, 500, context);
      for (let i = 0; i < 3; i++) await functions.evaluateCostWithGradient();
      const calls = context.stats();
      await levenbergMarquardt(functions, { maxIterations: 2, maxLinearIterations: 2 });
      await lbfgs(functions, { objective: 'least-squares', maxIterations: 2 });
      const wall = performance.now() - began;
      const stats = await settled(context);
      const names = functions.kernels().map(({ name }) => name);
      const { profile } = stats;
      check.equal(profile.hasGpuTimes, true);
      check.equal(calls.profile.kernels['springs costGradient'].dispatches, 3);
      check.ok(names.includes('springs costGradient'), 'kernels are called the same by kernels()');
      for (const kernel of ['gather', 'springs linearise', 'decide', 'measure']) {
        check.ok(profile.kernels[kernel]?.dispatches > 0, `${kernel} among ${Object.keys(profile.kernels)}`);
      }
      const kernels = Object.values(profile.kernels);
      check.equal(kernels.reduce((sum, { dispatches }) => sum + dispatches, 0), stats.dispatches);
      check.ok(kernels.every(({ dispatches, timed, gpuMs }) => timed === dispatches && Number.isFinite(gpuMs) && gpuMs >= 0), `every kernel is timed: ${JSON.stringify(kernels)}`);
      // Timestamps are rounded to 0.1 ms, and passes are consecutive: each submission adds at most one tick.
      const gpuMs = kernels.reduce((sum, kernel) => sum + kernel.gpuMs, 0);
      check.ok(gpuMs > 0 && gpuMs <= wall + 0.1 * stats.submits, `${gpuMs} ms on the GPU in ${wall}`);
      const { compile, encode, readBack } = profile;
      check.same([compile.count, readBack.count], [stats.pipelines, stats.readbacks]);
      check.ok(encode.count > 0 && encode.count <= stats.submits, `${encode.count} encoded of ${stats.submits} submits`);
      for (const stage of [compile, encode, readBack]) check.ok(stage.ms >= 0 && stage.ms <= wall, JSON.stringify(stage));
      check.ok(compile.ms + encode.ms <= wall, `${compile.ms} + ${encode.ms} ms in ${wall}`);
    }, TIMED),

    ...onGpu('a profile is a copy that later work does not change', async (check) => {
      const context = await check.context({ profile: true });
      const functions = await chain(check, 10, context);
      await functions.evaluate();
      const stats = context.stats();
      const before = JSON.stringify(stats);
      await functions.evaluate();
      check.equal(JSON.stringify(stats), before);
    }),

    ...onGpu('buffers do not grow while many calls are timed', async (check) => {
      const context = await check.context({ profile: true });
      const functions = await chain(check, 100, context);
      await functions.evaluateCostWithGradient();
      const first = await settled(context);
      for (let i = 0; i < 200; i++) await functions.evaluateCostWithGradient();
      const last = await settled(context);
      check.equal(last.readbacks, first.readbacks + 200);
      // A call may return before its times are read. Results and timestamps of the next one then need other buffers.
      check.ok(last.buffers <= first.buffers + 3, `${first.buffers} buffers, then ${last.buffers}`);
    }, TIMED),

    ...onGpu('many problems at once are one kernel with its own name', async (check) => {
      const context = await check.context({ profile: true });
      const template = new Problem();
      const x = template.parameters('x', { dim: 1, values: [1] });
      template.residuals('root', { inputs: { x: x.shared(), y: template.data([2]) }, residual: ({ x, y }) => x.square().sub(y) });
      await solveMany(template, { count: 50, parameters: { x: new Float64Array(50).fill(1) } }, { backend: 'gpu', context });
      const { profile } = await settled(context);
      check.ok(profile.kernels.solve_many.dispatches > 0, JSON.stringify(profile.kernels));
    }, TIMED),

    ...onGpu('without profile the stats have no such member', async (check) => {
      const context = await check.context();
      const functions = await chain(check, 10, context);
      await functions.evaluate();
      const stats = context.stats();
      check.equal('profile' in stats, false);
      check.ok(stats.dispatches > 0, 'dispatches are counted');
    }),
  ],
};
