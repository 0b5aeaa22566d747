/**
 * Error codes that need more than a wrong argument: each is provoked, and its message is checked. Other codes are checked in the groups of
 * their topics.
 */
import { GpuCompiledFunctions, GpuContext, levenbergMarquardt, Problem, ResiduaError, solveMany, V } from 'residua';
import { anywhere, onGpu } from '../define.js';
import { inFreshPage } from '../fresh-page.js';

/** While `work` runs, this page has no navigator.gpu. */
async function withoutWebGpu(gpu, work) {
  Object.defineProperty(navigator, 'gpu', { value: gpu, configurable: true });
  try {
    return await work();
  } finally {
    delete navigator.gpu;
  }
}

export const group = {
  id: 'error-codes',
  title: 'Error codes',
  about: 'Each failure has a code for programs and a message for people.',
  checks: [
    ...anywhere("reading a composed value before init() is 'not-initialized'", async (check) => {
      const { answer: heard } = await inFreshPage(check, async ({ ResiduaError, V }) => {
        try {
          return { value: V.W(2).square().sin().data };
        } catch (error) {
          return { code: error.code, message: error.message, ours: error instanceof ResiduaError };
        }
      });
      check.equal(heard.code, 'not-initialized');
      check.ok(heard.ours, 'a ResiduaError');
      check.match(heard.message, /init\(\)/);
    }),

    ...anywhere("a browser without navigator.gpu is 'gpu-unavailable', and isAvailable() is false", async (check) => {
      await withoutWebGpu(undefined, async () => {
        check.equal(await GpuContext.isAvailable(), false);
        const error = await check.failure(GpuContext.create());
        check.equal(error?.code, 'gpu-unavailable');
        check.ok(error instanceof ResiduaError, 'a ResiduaError');
        check.match(error.message, /navigator\.gpu/);
      });
    }),

    ...anywhere("a browser without an adapter is 'gpu-unavailable', and so is one whose adapter has no device", async (check) => {
      await withoutWebGpu({ requestAdapter: async () => null }, async () => check.match(await check.failureInWords(GpuContext.create()), /^gpu-unavailable: .*adapter/));
      const adapter = { limits: {}, features: new Set(), requestDevice: async () => { throw new Error('limit too high'); } };
      await withoutWebGpu({ requestAdapter: async () => adapter }, async () => check.match(await check.failureInWords(GpuContext.create()), /^gpu-unavailable: .*no device.*limit too high/));
    }),

    ...onGpu("a kernel that the device does not compile is 'shader-compilation', with the kernel and the compiler's message", async (check) => {
      const device = await check.ownDevice();
      const { createShaderModule } = GPUDevice.prototype;
      device.createShaderModule = (descriptor) => createShaderModule.call(device, { ...descriptor, code: `${descriptor.code}\nfn broken( { nonsense }` });
      const context = await check.context({ device });
      const error = await check.failure(async () => (await check.compile([V.W(3)], ([x]) => x.square(), { context })).evaluate());
      check.equal(error?.code, 'shader-compilation', error?.message);
      check.match(error.wgsl, /@compute/, 'the kernel as residua wrote it');
      check.ok(error.message.length > 30, `the compiler's words: ${error.message}`);
    }),

    ...onGpu("where double-single arithmetic does not hold 'f32x2' is 'gpu-unavailable', and 'auto' takes the CPU", async (check) => {
      const device = await check.ownDevice();
      // The kernel that tests the device's arithmetic computes nothing.
      const entryPoint = 'pair_arithmetic_test';
      const empty = device.createShaderModule({ code: `@compute @workgroup_size(1) fn ${entryPoint}() {}` });
      for (const create of ['createComputePipeline', 'createComputePipelineAsync']) {
        device[create] = (descriptor) => {
          const { compute } = descriptor;
          const changed = compute.entryPoint === entryPoint ? { ...descriptor, compute: { ...compute, module: empty } } : descriptor;
          return GPUDevice.prototype[create].call(device, changed);
        };
      }
      const context = await check.context({ device });
      const compile = (options) => check.compile([V.W(3)], ([x]) => x.square(), { context, fallbackThreshold: 0, ...options });
      const reason = /double-single arithmetic does not hold on this device: \w+/;
      const p = new Problem();
      const x = p.parameters('x', { dim: 1, values: [3] });
      p.residuals('r', { inputs: { x: x.shared() }, residual: ({ x }) => x.sub(1) });
      const many = () => solveMany(p, { count: 1 }, { backend: 'gpu', precision: 'f32x2', context });
      for (const refused of [() => compile({ precision: 'f32x2' }), many]) {
        const error = await check.failure(refused);
        check.equal(error?.code, 'gpu-unavailable', error?.message);
        check.match(error.message, reason);
      }
      const automatic = await compile({ backend: 'auto', precision: 'f32x2' });
      check.same([automatic.backend, automatic.precision], ['cpu', 'f64']);
      check.match(automatic.fallbackReason, reason);
      const single = await compile({ backend: 'auto' });
      check.same([single.backend, single.precision, single.fallbackReason], ['gpu', 'f32', null]);
      // A line at times that f32 loses: a solve that wants digits skips pairs.
      const times = Array.from({ length: 40 }, (_, k) => 1.7e8 + 50 * k);
      const line = new Problem();
      const of = line.parameters('line', { dim: 2, values: [0, 0] });
      line.residuals('points', {
        inputs: { p: of.shared(), t: line.data(times), y: line.data(times.map((_, k) => 0.5 * k + 0.2 * Math.sin(0.7 * k * k))) },
        residual: ({ p, t, y }) => p.x.mul(t).add(p.y).sub(y),
      });
      const { arithmetic, message } = await levenbergMarquardt(await check.compile(line, { backend: 'auto', context, fallbackThreshold: 0 }));
      check.equal(arithmetic, 'f64', message);
      check.match(message, /the CPU continued/);
    }),

    ...onGpu("an internal error of the device is 'internal'", async (check) => {
      const device = await check.ownDevice();
      const { popErrorScope, pushErrorScope } = GPUDevice.prototype;
      const scopes = [];
      device.pushErrorScope = (filter) => { scopes.push(filter); pushErrorScope.call(device, filter); };
      device.popErrorScope = () => {
        const answer = popErrorScope.call(device);
        return scopes.pop() === 'internal' ? answer.then(() => new GPUInternalError('the driver gave up')) : answer;
      };
      const context = await check.context({ device });
      const error = await check.failure(async () => (await check.compile([V.W(3)], ([x]) => x.square(), { context })).evaluate());
      check.equal(error?.code, 'internal', error?.message);
      check.match(error.message, /the driver gave up/);
    }),

    ...onGpu("functions on a disposed context are 'disposed'", async (check) => {
      const context = await GpuContext.create();
      const functions = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { backend: 'gpu', context });
      context.dispose();
      check.equal((await check.failure(functions.evaluate()))?.code, 'disposed');
      check.equal((await check.failure(() => context.stats()))?.code, 'disposed');
      functions.dispose();
    }),
  ],
};
