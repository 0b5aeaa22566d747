/**
 * The libraries of the benchmark of tensors, each with a `key` in works and behind `prepare(work, operands)` → `{ run, read, weighted, finish, gpuMs, dispose }`: `run()` submits a run of the work, `read()` resolves with
 * the mean of the last result's elements, `weighted(factors, shape)` with that of their products with factors, `finish()` when all that was submitted is done, `gpuMs(count)` with the
 * milliseconds of the GPU for one of so many runs, or null where the library has no clock for that; `repeatedMs(samples)`, where the library has it, with those of one of many dispatches in a
 * pass. A rejected `prepare` keeps nothing.
 */
import * as tensor from 'residua/tensor';
import { jaxOnGpu } from '../contenders/jax.js';
import { peer } from '../contenders/peers.js';
import { tfjsOnGpu } from '../contenders/tfjs.js';
import { repeatedMs } from './repeated-dispatches.js';
import { warmUp } from './warm-up.js';

/** Operands of a work for a library: its inputs and the constants that this library takes. */
const operandsOf = (work, library, operands) => [...work.inputs.map((shape, k) => ({ values: operands[k], shape, dtype: 'f32' })), ...(work.constants?.[library] ?? [])];

/** residua on an engine. A device of its own has a clock for each kernel, which costs a pass for each; the others run without. */
export const residua = (backend) => ({
  name: `residua ${backend.toUpperCase()}`,
  key: 'residua',
  async prepare(work, operands) {
    const device = await tensor.Device.create({ backend });
    const program = await compile(device, work, operands).catch((error) => {
      device.dispose();
      throw error;
    });
    return {
      run: () => void program.run(),
      // A scalar is read as it is; of another result the mean is computed first.
      read: () => (program.outputs.rank === 0 ? program.outputs : program.outputs.mean()).item(),
      weighted: (factors, shape) => program.outputs.mul(device.tensor(factors, shape)).mean().item(),
      // A read comes after all that was submitted before it.
      finish: () => device.synchronize(),
      gpuMs: backend === 'gpu' && device.features.timestamps ? (count) => clocked(work, operands, count) : () => null,
      repeatedMs: backend === 'gpu' && device.features.timestamps ? (samples) => repeatedMs(device.gpu, () => program.run(), samples) : () => null,
      dispose: () => device.dispose(),
    };
  },
});

const compile = async (device, work, operands) => {
  const inputs = operandsOf(work, 'residua', operands).map(({ values, shape, dtype }) => device.tensor(values, shape, dtype));
  return device.compile({}, () => work.residua(tensor, inputs));
};

async function clocked(work, operands, count) {
  const device = await tensor.Device.create({ backend: 'gpu', profile: true });
  try {
    const program = await compile(device, work, operands);
    const total = () => Object.values(device.stats().kernels ?? {}).reduce((sum, { gpuMs }) => sum + gpuMs, 0);
    await warmUp({ run: () => program.run(), finish: () => device.synchronize() });
    const before = total();
    for (let i = 0; i < count; i++) program.run();
    await device.synchronize();
    return (total() - before) / count;
  } finally {
    device.dispose();
  }
}

const tfjsOf = (name, load, hasClock) => ({
  name,
  key: 'tfjs',
  async prepare(work, operands) {
    const tf = await load();
    const inputs = [];
    try {
      for (const { values, shape, dtype } of operandsOf(work, 'tfjs', operands)) inputs.push(tf.tensor(values, shape, dtype === 'f32' ? 'float32' : 'int32'));
    } catch (error) {
      tf.dispose(inputs);
      throw error;
    }
    let last = null;
    const run = () => {
      last?.dispose();
      last = tf.tidy(() => work.tfjs(tf, inputs));
    };
    return {
      run,
      async read() {
        const mean = tf.tidy(() => tf.mean(last));
        const [value] = await mean.data();
        mean.dispose();
        return value;
      },
      async weighted(factors, shape) {
        const mean = tf.tidy(() => tf.mean(tf.mul(last, tf.tensor(factors, shape))));
        const [value] = await mean.data();
        mean.dispose();
        return value;
      },
      async finish() {
        const probe = tf.tidy(() => tf.reshape(tf.slice(tf.reshape(last, [-1]), [0], [1]), [1]));
        await probe.data();
        probe.dispose();
      },
      async gpuMs(count) {
        if (!hasClock) return null;
        const { kernelMs } = await tf.time(() => {
          for (let i = 0; i < count; i++) run();
        });
        return typeof kernelMs === 'number' && kernelMs > 0 ? kernelMs / count : null;
      },
      dispose: () => tf.dispose([last, ...inputs]),
    };
  },
});

export const tfjs = tfjsOf('TensorFlow.js', tfjsOnGpu, true);

/** One thread: the threaded one needs headers for SharedArrayBuffer. */
export const tfjsWasm = tfjsOf('TensorFlow.js wasm', async () => {
  const tf = await peer('tfjs-wasm');
  tf.setWasmPaths(new URL('../../peers/', import.meta.url).href);
  tf.setThreadsCount(1);
  if (!(await tf.setBackend('wasm'))) throw new Error('the WebAssembly backend of TensorFlow.js does not start');
  await tf.ready();
  return tf;
}, false);

export const jax = {
  name: 'jax-js',
  key: 'jax',
  async prepare(work, operands) {
    const jax = await jaxOnGpu();
    const inputs = [];
    try {
      for (const { values, shape } of operandsOf(work, 'jax', operands)) inputs.push(jax.numpy.array(values).reshape(shape));
    } catch (error) {
      for (const array of inputs) array.dispose();
      throw error;
    }
    const compiled = jax.jit((...arrays) => work.jax(jax, arrays));
    // A result that is disposed before it is needed is never computed, so those of a row of runs are kept until they are done.
    let pending = [];
    let last = null;
    const clear = () => {
      for (const array of pending) array.dispose();
      pending = [];
    };
    return {
      run() {
        const results = [compiled(...inputs.map((array) => array.ref))].flat();
        pending.push(...results);
        [last] = results;
      },
      async read() {
        // jax-js computes a result when it is awaited.
        const [[value]] = await Promise.all([jax.numpy.mean(last.ref).data(), jax.blockUntilReady(pending)]);
        clear();
        return value;
      },
      async weighted(factors, shape) {
        const [value] = await jax.numpy.mean(last.ref.mul(jax.numpy.array(factors).reshape(shape))).data();
        clear();
        return value;
      },
      async finish() {
        await jax.blockUntilReady(pending);
        clear();
      },
      gpuMs: () => null,
      dispose() {
        clear();
        for (const array of inputs) array.dispose();
        compiled.dispose?.();
      },
    };
  },
};
