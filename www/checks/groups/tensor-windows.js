/** Tensors that are longer than a binding: what kernels of each kind compute on a device with short bindings, against one with long ones. */
import { Device, attention, concat, dim, grad, linear, spec, where } from 'residua/tensor';
import { onGpu } from '../define.js';

/** Bytes of a binding. Matrices below have 40,000 bytes, which take two. */
const BINDING = 20480;
/** Rows and columns. */
const SIDE = 100;
const COUNT = SIDE * SIDE;

/** A GPUDevice that allows so long bindings, and refuses longer ones. */
async function shortDevice(check) {
  const gpu = await check.ownDevice();
  const limits = {};
  for (const name in gpu.limits) limits[name] = gpu.limits[name];
  Object.defineProperty(gpu, 'limits', { value: { ...limits, maxStorageBufferBindingSize: BINDING } });
  const make = gpu.createBindGroup.bind(gpu);
  gpu.createBindGroup = (descriptor) => {
    for (const { resource: { buffer, size = buffer.size } } of descriptor.entries) check.ok(size <= BINDING, `a binding of ${size} bytes`);
    return make(descriptor);
  };
  return gpu;
}

/** Numbers between −1 and 1 that repeat nothing. */
const numbers = (count, seed) => Float32Array.from({ length: count }, (_, i) => Math.sin(0.37 * (i + 1) * seed) * Math.cos(1.7 * i));

const flat = (x) => x.reshape([COUNT]);

/** Sums by places, of which a software adapter computes a hundred million steps. */
const sumsByPlaces = ({ a, b, places }) => [flat(b).indexAdd(places, flat(a))];

/** Recipes of two matrices, bytes and places, by the kernels that they become. */
const RECIPES = {
  maps: ({ a, b }) => [a.mul(b).add(1).tanh(), a.T.sub(b), concat([a.flip(0), b], 0), a.pad([[1, 3], [0, 5]])],
  'numbers of few bits': ({ a, bytes }) => [a.gt(0), bytes.add(bytes), a.cast('f16').T, where(a.gt(0.5), a.cast('f16'), 0)],
  reductions: ({ a, bytes }) => [a.sum(0), a.variance(1), a.sum(), bytes.cast('f32').sum(0), a.softmax()],
  'running sums and sorts': ({ a }) => [flat(a).cumsum(0), flat(a).sort(), a.argsort()],
  products: ({ a, b }) => [a.matmul(b), a.T.matmul(b), a.slice([0, 2]).matmul(b.T)],
  'places from a table': ({ a, places }) => [flat(a).indexSelect(places)],
  attention: ({ a, b }) => {
    const [q, k] = [a, b].map((x) => x.reshape([2, 250, 20]));
    return [attention(q, k, k, { causal: true })];
  },
  derivatives: ({ a, b }) => grad(a.matmul(b).tanh().sum(), [a, b]),
};

async function computed(device, recipe) {
  const [a, b] = [1, 2].map((seed) => device.tensor(numbers(COUNT, seed), [SIDE, SIDE]));
  const bytes = device.tensor(Uint8Array.from({ length: 4 * COUNT }, (_, i) => (i * 7) % 251), [2 * SIDE, 2 * SIDE], 'u8');
  const places = device.tensor(Int32Array.from({ length: COUNT }, (_, i) => (i * 7919) % COUNT), [COUNT], 'i32');
  return device.read(...recipe({ a, b, bytes, places }));
}

async function devices(check) {
  const long = await Device.create({ backend: 'gpu', share: await check.ownDevice() });
  const short = await Device.create({ backend: 'gpu', share: await shortDevice(check) });
  check.defer(() => [long, short].forEach((device) => device.dispose()));
  return [long, short];
}

async function compareDevices(check, recipe) {
  const [expected, got] = await Promise.all((await devices(check)).map((device) => computed(device, recipe)));
  expected.forEach((each, k) => check.same([...got[k]], [...each], `result ${k}`));
}

export const group = {
  id: 'tensor-windows',
  title: 'Tensors: longer than a binding',
  about: `A device whose bindings have ${BINDING} bytes computes the bits that a device with longer ones computes, by kernels that bind a tensor in parts.`,
  checks: [
    ...Object.entries(RECIPES).flatMap(([name, recipe]) => onGpu(`${name} of tensors in parts have the same bits`, (check) => compareDevices(check, recipe))),
    ...onGpu('sums by places of tensors in parts have the same bits', (check) => compareDevices(check, sumsByPlaces), { long: true }),

    ...onGpu('quantised weights in parts, and bytes that are written to a part of a word', async (check) => {
      const [expected, got] = await Promise.all(
        (await devices(check)).map(async (device) => {
          const weights = await device.quantize(device.tensor(numbers(192 * 112, 3), [112, 192]), 'q8_0');
          const rows = device.tensor(numbers(20 * 192, 4), [20, 192]);
          const bytes = device.zeros([40001], 'u8');
          bytes.set(new Uint8Array(3).fill(9), 39997);
          return [...(await device.read(linear(rows, weights), linear(rows.slice([0, 1]), weights))), await bytes.data()];
        }),
      );
      expected.forEach((each, k) => check.same([...got[k]], [...each], `result ${k}`));
      check.same([...got[2]].slice(-5), [0, 9, 9, 9, 0]);
    }),

    ...onGpu('an input with a Dim takes a tensor of fewer parts than the largest, and verify() compares what lies in parts', async (check) => {
      const [, device] = await devices(check);
      const program = await device.compile({ x: spec('f32', [dim('n', COUNT)]) }, ({ x }) => x.mul(2));
      for (const count of [COUNT, 10, BINDING / 4]) {
        const x = numbers(count, 5);
        check.same([...(await program.run({ x: device.tensor(x, [count]) }, { n: count }).data())], Array.from(x, (number) => 2 * number), `${count} numbers`);
      }
      const table = device.tensor(numbers(COUNT, 6), [SIDE, SIDE]);
      const sums = await device.compile({}, () => table.add(1).sum(0));
      const kernels = await sums.verify();
      // Sums of 100 numbers of about 1, in single precision; the kernels of the next program get another number than they were written for.
      check.ok(kernels.length > 0 && kernels.every(({ maxError }) => maxError < 1e-4), JSON.stringify(kernels));
      const { gpu } = device;
      const { createShaderModule } = Object.getPrototypeOf(gpu);
      let changed = 0;
      gpu.createShaderModule = ({ code, ...rest }) => createShaderModule.call(gpu, { ...rest, code: code.replaceAll('1.40625', () => ((changed += 1), '1.5')) });
      const wrong = await device.compile({}, () => table.add(1.40625).sum(0));
      delete gpu.createShaderModule;
      check.ok(changed > 0, 'a text has the number');
      // 100 times 0.09375 in one kernel, less in partial sums.
      const found = await wrong.verify();
      check.ok(found.some(({ maxError }) => maxError > 0.05), JSON.stringify(found));
    }),

    ...onGpu('a tensor in more parts than a kernel can bind is refused, with both figures', async (check) => {
      const [, device] = await devices(check);
      const refusal = await check.failure(() => device.zeros([30 * BINDING]).add(1).data());
      check.equal(refusal?.code, 'limit-exceeded');
      check.match(refusal.message, /bound in \d+ parts of at most 20480 bytes; the device binds \d+/);
    }),
  ],
};
