/** Tiles of products: that every tile gives the same bits, and what 'measure' finds. */
import { Device, conv2d, linear } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { onCpu, onGpu } from '../define.js';
import { blocksOf } from '../tensors/ggml-numbers.js';

/** Numbers between −1 and 1 that repeat nothing. */
const numbers = (count, seed) => Float32Array.from({ length: count }, (_, i) => Math.sin(0.37 * (i + 1) * seed) * Math.cos(1.7 * i));
const matrix = (device, shape, seed, dtype = 'f32') => {
  const count = shape.reduce((a, b) => a * b, 1);
  return device.tensor(dtype === 'f32' || dtype === 'f16' ? numbers(count, seed) : numbers(count, seed).map((x) => Math.trunc(1e6 * Math.abs(x))), shape, dtype);
};

/** Recipes with products, with sizes about those of tiles. The first is that of the quick check. */
const QUICK = {
  'weights of a layer, with a bias and what follows': (device) => linear(matrix(device, [130, 40], 1), matrix(device, [70, 40], 2), matrix(device, [70], 3)).tanh(),
};
const MORE = {
  'both in order': (device) => matrix(device, [130, 64], 1).matmul(matrix(device, [64, 132], 2)),
  'weights of 4 bits': async (device) => linear(matrix(device, [33, 64], 1), await device.quantize(matrix(device, [132, 64], 2), 'q4_0')),
  'weights of 4 bits in long blocks with minima': (device) => linear(matrix(device, [33, 512], 1), device.quantized(blocksOf(132 * 2, 'q4_K'), [132, 512], 'q4_K')),
  'weights of 6 bits in long blocks': (device) => linear(matrix(device, [66, 256], 1), device.quantized(blocksOf(132, 'q6_K'), [132, 256], 'q6_K')),
  'the left one transposed': (device) => matrix(device, [36, 65], 1).T.matmul(matrix(device, [36, 129], 2)),
  'both transposed': (device) => matrix(device, [31, 65], 1).T.matmul(matrix(device, [129, 31], 2).T),
  batches: (device) => matrix(device, [3, 40, 33], 1).matmul(matrix(device, [3, 33, 50], 2)),
  'a long depth in slices': (device) => matrix(device, [40, 2048], 1).matmul(matrix(device, [64, 2048], 2).T),
  'half precision': (device) => linear(matrix(device, [66, 64], 1), matrix(device, [132, 64], 2, 'f16')),
  'weights of 8 bits': async (device) => linear(matrix(device, [66, 96], 1), await device.quantize(matrix(device, [132, 96], 2), 'q8_0')),
  'signed integers': (device) => matrix(device, [34, 30], 1, 'i32').matmul(matrix(device, [30, 140], 2, 'i32')),
  'windows of pictures': (device) => conv2d(matrix(device, [2, 3, 11, 13], 1), matrix(device, [66, 3, 3, 3], 2), { padding: 1 }),
  'unsigned integers': (device) => matrix(device, [129, 20], 1, 'u32').matmul(matrix(device, [20, 36], 2, 'u32')),
};

/** A device of a named adapter, since what was found is kept for those alone: Firefox gives adapters no name. */
async function namedGpu(check) {
  const gpu = await check.ownDevice({ requiredFeatures: [...(await navigator.gpu.requestAdapter()).features].filter((feature) => feature === 'timestamp-query') });
  if (!gpu.adapterInfo?.vendor) Object.defineProperty(gpu, 'adapterInfo', { value: { vendor: 'a vendor' } });
  return gpu;
}

async function tuned(check, tuning) {
  const device = await Device.create({ share: await namedGpu(check), tuning });
  check.defer(() => device.dispose());
  return device;
}

/** A device, and the texts of the kernels of products that it compiles. */
async function listened(check, gpu, tuning) {
  const texts = new Set();
  const make = GPUDevice.prototype.createShaderModule;
  gpu.createShaderModule = (descriptor) => {
    if (descriptor.label.startsWith('product')) texts.add(descriptor.code);
    return make.call(gpu, descriptor);
  };
  const device = await Device.create({ share: gpu, tuning });
  check.defer(() => device.dispose());
  return { device, texts };
}

const withTiles = (found, tile) => JSON.stringify({ ...found, tiles: Object.fromEntries(Object.keys(found.tiles).map((key) => [key, tile])) });

async function compareTiles(check, recipes) {
  const gpu = await namedGpu(check);
  const read = async ({ device }) => device.read(...(await Promise.all(Object.values(recipes).map((recipe) => recipe(device)))));
  const expected = await read(await listened(check, gpu, 'table'));
  const measured = await listened(check, gpu, 'measure');
  const names = Object.keys(recipes);
  (await read(measured)).forEach((each, k) => check.same([...each], [...expected[k]], `${names[k]}, measured`));
  const found = JSON.parse(measured.device.tuning.found);
  const keys = Object.keys(found.tiles);
  check.equal(keys.length, names.length, `kinds of products: ${keys.join(', ')}`);
  // Both large tiles have one text but for real factors along the depth without a batch.
  const alongDepth = keys.filter((key) => /^f32 \d+ kk 1x/.test(key)).length;
  check.ok(alongDepth > 0, 'a product of real factors along the depth');
  const seen = new Set();
  for (const tile of ['large', 'large-of-64', 'medium', 'small']) {
    const chosen = await listened(check, gpu, { found: withTiles(found, tile) });
    (await read(chosen)).forEach((each, k) => check.same([...each], [...expected[k]], `${names[k]}, ${tile}`));
    check.same(Object.values(JSON.parse(chosen.device.tuning.found).tiles), keys.map(() => tile));
    const before = seen.size;
    for (const text of chosen.texts) seen.add(text);
    const least = tile === 'large-of-64' ? alongDepth : names.length;
    check.ok(seen.size - before >= least, `${seen.size - before} new texts with ${tile}, of at least ${least}`);
  }
  check.note(Object.entries(found.tiles).map(([key, tile]) => `${key}: ${tile}`).join('; '));
}

export const group = {
  id: 'tensor-tuning',
  title: 'Tensors: tiles of products',
  about: 'Every tile of a product gives the same bits, whether a table, a measurement or an earlier measurement chose it.',
  checks: [
    ...onGpu('every tile gives the same bits', (check) => compareTiles(check, QUICK), { slow: true }),
    ...onGpu('every tile gives the same bits, in all forms', (check) => compareTiles(check, MORE), { long: true }),

    ...onGpu('a kind of product is timed once, by programs and reads alike, and its memory is freed', async (check) => {
      const device = await tuned(check, 'measure');
      check.equal(device.tuning.found, '');
      const [a, b] = [matrix(device, [40, 24], 1), matrix(device, [24, 48], 2)];
      const programs = await Promise.all([device.compile({}, () => a.matmul(b)), device.compile({}, () => a.matmul(b).add(1))]);
      const { found } = device.tuning;
      check.equal(Object.keys(JSON.parse(found).tiles).length, 1);
      for (const program of programs) program.dispose();
      await device.synchronize();
      const { pipelines, programBytes } = device.stats();
      check.equal(programBytes, 0, 'bytes of programs');
      await a.slice([0, 36]).matmul(b).data();
      check.equal(device.tuning.found, found);
      check.ok(device.stats().pipelines - pipelines <= 1, 'pipelines of a product that is known');
    }),

    ...onGpu('what another adapter found is ignored', async (check) => {
      const first = await tuned(check, 'measure');
      await matrix(first, [40, 24], 1).matmul(matrix(first, [24, 48], 2)).data();
      const found = JSON.parse(first.tuning.found);
      const other = await tuned(check, { found: JSON.stringify({ ...found, adapter: 'another' }) });
      check.equal(other.tuning.found, '');
      const same = await tuned(check, { found: first.tuning.found });
      check.equal(same.tuning.found, first.tuning.found);
    }),

    ...onCpu('on the CPU nothing is found', async (check) => {
      const device = await tensorDevice(check, { tuning: 'measure' });
      await matrix(device, [40, 24], 1).matmul(matrix(device, [24, 48], 2)).data();
      check.equal(device.tuning.found, '');
    }),
  ],
};
