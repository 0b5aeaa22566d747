// What a context that is created with `profile: true` tells of its time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser, page;
before(async () => {
  browser = await launch();
  ({ page } = await openBlankPage(browser));
  await page.evaluate(() => {
    const { Problem, GpuCompiledFunctions } = window.residua;
    /** A chain of springs with rest length 1 between `count` points that are 2 apart. */
    window.chain = async (count, context) => {
      const problem = new Problem();
      const points = problem.parameters('points', { dim: 3, values: Float64Array.from({ length: 3 * count }, (_, i) => (i % 3 === 0 ? (2 * i) / 3 : 0.1 * (i % 7))) });
      const ends = Uint32Array.from({ length: 2 * (count - 1) }, (_, i) => (i + 1) >> 1);
      problem.residuals('springs', { inputs: { ends: points.at(ends, 2) }, residual: ({ ends: [a, b] }) => a.distance(b).sub(1) });
      return GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
    };
    /** The figures once the device has told all times that it was asked for. */
    window.settled = async (context) => {
      for (let turn = 0; turn < 500; turn++) {
        const stats = context.stats();
        if (Object.values(stats.profile.kernels).every(({ dispatches, timed }) => timed === dispatches)) return stats;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      throw new Error(`times did not come: ${JSON.stringify(context.stats())}`);
    };
  });
});
after(() => browser.close());

test('a profiled context tells times by stage and kernel, whose sums lie within the calls', async () => {
  const { stats, wall, calls, names } = await page.evaluate(async () => {
    const { GpuContext, levenbergMarquardt, lbfgs } = window.residua;
    const began = performance.now();
    const context = await GpuContext.create({ profile: true });
    const functions = await window.chain(500, context);
    for (let i = 0; i < 3; i++) await functions.evaluateCostWithGradient();
    const calls = context.stats();
    await levenbergMarquardt(functions, { maxIterations: 2, maxLinearIterations: 2 });
    await lbfgs(functions, { objective: 'least-squares', maxIterations: 2 });
    const wall = performance.now() - began;
    const stats = await window.settled(context);
    const names = functions.kernels().map(({ name }) => name);
    functions.dispose();
    context.dispose();
    return { stats, wall, calls, names };
  });
  const { profile } = stats;
  assert.equal(profile.hasGpuTimes, true);
  assert.equal(calls.profile.kernels['springs costGradient'].dispatches, 3);
  assert.ok(names.includes('springs costGradient'), 'kernels are called the same by kernels()');
  for (const kernel of ['gather', 'springs linearise', 'decide', 'measure']) {
    assert.ok(profile.kernels[kernel]?.dispatches > 0, `${kernel} among ${Object.keys(profile.kernels)}`);
  }
  const kernels = Object.values(profile.kernels);
  assert.equal(kernels.reduce((sum, { dispatches }) => sum + dispatches, 0), stats.dispatches);
  assert.ok(kernels.every(({ dispatches, timed, gpuMs }) => timed === dispatches && Number.isFinite(gpuMs) && gpuMs >= 0));
  // Timestamps are rounded to 0.1 ms, and passes follow one another: at most one tick is added by each submission.
  const gpuMs = kernels.reduce((sum, kernel) => sum + kernel.gpuMs, 0);
  assert.ok(gpuMs > 0 && gpuMs <= wall + 0.1 * stats.submits, `${gpuMs} ms on the GPU in ${wall}`);
  const { compile, encode, readBack } = profile;
  assert.deepEqual([compile.count, readBack.count], [stats.pipelines, stats.readbacks]);
  assert.ok(encode.count > 0 && encode.count <= stats.submits);
  for (const stage of [compile, encode, readBack]) assert.ok(stage.ms >= 0 && stage.ms <= wall, JSON.stringify(stage));
  assert.ok(compile.ms + encode.ms <= wall);
});

test('what is told is a copy that later work leaves alone', async () => {
  const [before, after] = await page.evaluate(async () => {
    const context = await window.residua.GpuContext.create({ profile: true });
    const functions = await window.chain(10, context);
    await functions.evaluate();
    const stats = context.stats();
    const before = JSON.stringify(stats);
    await functions.evaluate();
    context.dispose();
    return [before, JSON.stringify(stats)];
  });
  assert.equal(after, before);
});

test('buffers do not grow while many calls are timed', async () => {
  const [first, last] = await page.evaluate(async () => {
    const context = await window.residua.GpuContext.create({ profile: true });
    const functions = await window.chain(100, context);
    await functions.evaluateCostWithGradient();
    const first = await window.settled(context);
    for (let i = 0; i < 200; i++) await functions.evaluateCostWithGradient();
    const last = await window.settled(context);
    context.dispose();
    return [first, last];
  });
  assert.equal(last.readbacks, first.readbacks + 200);
  // A call may return before its times are read: then results and timestamps of the next one need buffers of their own.
  assert.ok(last.buffers <= first.buffers + 3, `${first.buffers} buffers, then ${last.buffers}`);
});

test('many problems at once are one kernel that is counted by its name', async () => {
  const kernels = await page.evaluate(async () => {
    const { GpuContext, Problem, solveMany } = window.residua;
    const context = await GpuContext.create({ profile: true });
    const template = new Problem();
    const x = template.parameters('x', { dim: 1, values: [1] });
    template.residuals('root', { inputs: { x: x.shared(), y: template.data([2]) }, residual: ({ x, y }) => x.square().sub(y) });
    await solveMany(template, { count: 50, parameters: { x: new Float64Array(50).fill(1) } }, { backend: 'gpu', context });
    const { profile } = await window.settled(context);
    context.dispose();
    return profile.kernels;
  });
  assert.ok(kernels.solve_many.dispatches > 0, JSON.stringify(kernels));
});

test('without profile the stats have no such member', async () => {
  const stats = await page.evaluate(async () => {
    const context = await window.residua.GpuContext.create();
    const functions = await window.chain(10, context);
    await functions.evaluate();
    const stats = context.stats();
    context.dispose();
    return stats;
  });
  assert.equal('profile' in stats, false);
  assert.ok(stats.dispatches > 0);
});
