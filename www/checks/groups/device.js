/** The device: its description and counters, a device of the application, and the effects of a loss. */
import { GpuCompiledFunctions, GpuContext, Problem, V } from 'residua';
import { onGpu } from '../define.js';
import { bufferNumbers } from '../buffer-numbers.js';

/** x² at 3 with `auto`, which takes the GPU for any work with a threshold of 0. */
async function square(options) {
  const functions = await GpuCompiledFunctions.compile([V.W(3)], ([x]) => x.square(), { fallbackThreshold: 0, ...options });
  const [value] = await functions.evaluate();
  const { backend, fallbackReason } = functions;
  functions.dispose();
  return { backend, fallbackReason, value };
}

export const group = {
  id: 'device',
  title: 'The device',
  about: 'Description and counters, a device of the application, and loss.',
  checks: [
    ...onGpu('the device is described and its use is counted', async (check) => {
      check.equal(await GpuContext.isAvailable(), true);
      const context = await GpuContext.default();
      const before = context.stats();
      await square({ backend: 'gpu' });
      const after = context.stats();
      check.equal(typeof context.adapter.vendor, 'string');
      check.equal(typeof context.adapter.isSoftware, 'boolean');
      for (const count of ['dispatches', 'readbacks']) check.ok(after[count] > before[count], `${count}: ${before[count]}, then ${after[count]}`);
    }),

    ...onGpu('auto takes the GPU where there is one, without a reason', async (check) => {
      check.same(await square(), { backend: 'gpu', fallbackReason: null, value: 9 });
    }),

    ...onGpu('an application can pass its own device', async (check) => {
      const device = await check.ownDevice();
      const context = await GpuContext.create({ device });
      const { value } = await square({ backend: 'gpu', context });
      context.dispose();
      // The application keeps owning it: a buffer can still be created.
      device.pushErrorScope('validation');
      device.createBuffer({ size: 16, usage: GPUBufferUsage.STORAGE }).destroy();
      const alive = (await device.popErrorScope()) === null;
      check.same([context.device === device, value, alive], [true, 9, true]);
    }),

    ...onGpu('two contexts have separate buffers and counters', async (check) => {
      const contexts = [await check.context(), await check.context()];
      const functions = [];
      for (const [k, context] of contexts.entries()) functions.push(await check.compile([V.W(2 + k)], ([x]) => x.square(), { context }));
      const values = await Promise.all([...functions, ...functions].map(async (one) => (await one.evaluate())[0]));
      check.same(values, [4, 9, 4, 9]);
      check.ok(contexts[0].device !== contexts[1].device, 'devices of their own');
      check.same(contexts.map((context) => context.stats().readbacks), [2, 2], 'read-backs');
    }),

    ...onGpu('a lost device is reported, its objects reject calls, and the next default context is a new one', async (check) => {
      const context = await GpuContext.default();
      const functions = await check.compile([V.W(3)], ([x]) => x.square());
      context.device.destroy();
      const { reason } = await context.lost;
      const error = await check.failure(functions.evaluate());
      functions.dispose();
      const { value } = await square({ backend: 'gpu' });
      check.equal(reason, 'destroyed');
      check.equal(error?.code, 'device-lost');
      check.equal(value, 9);
    }),

    // After the loss of the default device: later checks solve with the kernels that are compiled here.
    ...onGpu('parameterBuffer holds the parameters in the layout of a vertex buffer, and after a solve its solution', async (check) => {
      const context = await GpuContext.default();
      const problem = new Problem();
      const first = problem.parameters('first', { dim: 3, values: [1, 2, 3, 4, 5, 6] });
      const second = problem.parameters('second', { dim: 2, values: [7, 8] });
      problem.residuals('r', { inputs: { a: first.at([0, 1]), b: second.at([0, 0]) }, residual: ({ a, b }) => [a.x.sub(9), a.y, a.z, b.x, b.y] });
      const functions = await check.compile(problem);
      const buffer = functions.parameterBuffer;
      check.equal(buffer.usage & (GPUBufferUsage.STORAGE | GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_SRC), GPUBufferUsage.STORAGE | GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_SRC, 'usage');
      check.same((await bufferNumbers(context.device, buffer)).slice(0, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
      const { levenbergMarquardt } = await import('residua');
      await levenbergMarquardt(functions, { readBack: false });
      check.ok(functions.parameterBuffer === buffer, 'one buffer for the object’s life');
      const found = (await bufferNumbers(context.device, buffer)).slice(0, 8);
      check.same(found, await functions.download(), 'what is downloaded is what stands there');
      check.close(found[0], 9, { within: 1e-5, because: 'a linear problem; Levenberg’s damping leaves a thousandth of a thousandth after two steps' }, 'the first coordinate');
    }),
  ],
};
