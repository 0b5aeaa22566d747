/** Convolutions, pools, other sizes and grids of pictures, against plain loops; their gradients on one engine against the other. */
import {
  adaptiveAvgPool, adaptiveMaxPool, avgPool, conv1d, conv2d, convTranspose1d, convTranspose2d, dim, grad, gridSample, maxPool, resize, scalar, spec,
} from 'residua/tensor';
import { compare, tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';
import { blurred, filtered } from '../tensors/picture-filter.js';
import * as loops from '../tensors/picture-loops.js';
import { gpuAgainstCpu, onEach } from '../define.js';

/** Whole numbers: sums of their products are exact in single precision. */
const WHOLE = [-4, 4, 1];
const array = (shape, seed = 0, domain = WHOLE, dtype = 'f32') => ({ shape, values: fill(domain, shape.reduce((a, b) => a * b, 1), dtype, seed) });
const stored = (device, { shape, values }, dtype = 'f32') => device.tensor(values, shape, dtype);

/** A convolution of an array and a weight, beside the loops. */
function convolved(device, name, apply, loop, shape, weightShape, options = {}, dtype = 'f32') {
  const [x, weight] = [array(shape), array(weightShape, 1)];
  const bias = options.bias === undefined ? undefined : array([options.bias], 2);
  const tensor = apply(stored(device, x, dtype), stored(device, weight), { ...options, ...(bias && { bias: stored(device, bias) }) });
  return { name, tensor, array: loop(x, weight, { ...options, bias }) };
}

const conv = loops.convolution;
const transposed = loops.transposedConvolution;

/** [name, function, loop, shape of x, shape of the weight, options] */
const CONVOLUTIONS = [
  ['3 × 3, with what follows', (x, w, o) => conv2d(x, w, o).relu(), (...given) => relu(conv(...given)), [2, 3, 9, 7], [40, 3, 3, 3], { padding: 1, bias: 40 }],
  ['groups, strides and dilation', conv2d, conv, [1, 4, 11, 10], [6, 2, 3, 2], { groups: 2, stride: [2, 1], dilation: [1, 2], padding: [[0, 1], [2, 0]] }],
  ['each channel by itself', conv2d, conv, [1, 5, 6, 8], [5, 1, 3, 3], { groups: 5, padding: 'same', bias: 5 }],
];
const MORE_CONVOLUTIONS = [
  ['1 × 1', conv2d, conv, [2, 9, 5, 5], [4, 9, 1, 1]],
  ['of what is computed', (x, w, o) => conv2d(x.mul(2).add(1), w, o), (x, w, o) => conv({ ...x, values: x.values.map((value) => 2 * value + 1) }, w, o), [1, 2, 8, 8], [36, 2, 3, 3], { padding: 1, stride: 2 }],
  ['a tile and a row more', conv2d, conv, [1, 3, 17, 13], [65, 3, 3, 3], { padding: 'same' }],
  ['as many places as wide tiles take, in rows of fours', conv2d, conv, [1, 1, 224, 224], [33, 1, 3, 2], { padding: [[1, 1], [0, 1]] }],
  ['rows of fours with strides and dilation', conv2d, conv, [2, 3, 24, 16], [40, 3, 3, 2], { padding: [[1, 1], [0, 1]], stride: [2, 1] }],
  ['each channel by itself, with strides and dilation', conv2d, conv, [2, 4, 13, 16], [4, 1, 3, 2], { groups: 4, stride: [2, 3], dilation: [1, 2], padding: [[2, 1], [0, 3]] }],
  ['each channel by itself, in windows of 5 × 5', conv2d, conv, [1, 3, 12, 12], [3, 1, 5, 5], { groups: 3, padding: 2 }],
  ['each channel by itself, in large windows', conv2d, conv, [1, 2, 12, 12], [2, 1, 7, 7], { groups: 2, padding: 3 }],
  ['a signal', conv1d, conv, [2, 3, 50], [7, 3, 5], { stride: 3, padding: 2, bias: 7 }],
  ['no images', conv1d, conv, [0, 3, 9], [2, 3, 5]],
];
const TRANSPOSED = [
  ['with stride, padding and a bias', convTranspose2d, transposed, [2, 4, 5, 3], [4, 3, 3, 4], { stride: [2, 3], padding: [1, 0], outputPadding: 1, bias: 3 }],
];
const MORE_TRANSPOSED = [
  ['groups and dilation', convTranspose2d, transposed, [1, 6, 4, 4], [6, 2, 3, 2], { groups: 3, dilation: 2, stride: [3, 1] }],
  ['a signal, as long as its stride', convTranspose1d, transposed, [2, 2, 7], [2, 9, 4], { stride: 4 }],
  ['the same size times the stride', convTranspose1d, transposed, [1, 2, 7], [2, 3, 5], { stride: 2, padding: 'same' }],
];

function relu({ shape, values }) {
  return { shape, values: values.map((value) => Math.max(value, 0)) };
}

async function compareConvolutions(check, rows) {
  const device = await tensorDevice(check);
  await compare(check, device, 'f32', rows.map((row) => convolved(device, ...row)));
}

/** A mean is a quotient of exact numbers. */
const QUOTIENT = { allowed: 2.5, because: 'a division in single precision, which WGSL allows to be off by 2.5 units' };
/** Weights of half a unit each, products and sums; results are differences of numbers up to 4, whose unit is 2⁻²¹. */
const WEIGHTED = { allowed: 24, floor: 4, because: 'roundings of weights, of their products and of the sums of up to sixteen of them' };

function poolsOf(device, shape, size, options) {
  const x = array(shape);
  const tensor = stored(device, x);
  return [
    { name: `maxPool ${JSON.stringify(options)}`, tensor: maxPool(tensor, size, options), array: loops.pool(x, size, options, loops.largest) },
    { name: `avgPool ${JSON.stringify(options)}`, tensor: avgPool(tensor, size, options), array: loops.pool(x, size, options, loops.mean), ...QUOTIENT },
    { name: `avgPool with padding ${JSON.stringify(options)}`, tensor: avgPool(tensor, size, { ...options, countPadding: true }), array: loops.pool(x, size, options, loops.meanWithPadding), ...QUOTIENT },
  ];
}

function resized(device, size, options) {
  const x = array([1, 2, 5, 6]);
  return { name: `resize ${JSON.stringify([size, options])}`, tensor: resize(stored(device, x), size, options), array: loops.resize(x, size, options), ...(options.mode === undefined ? {} : WEIGHTED) };
}

function sampled(device, options) {
  const [x, grid] = [array([2, 3, 5, 6]), array([2, 4, 3, 2], 1, [-1.4, 1.4])];
  const bounds = options.mode === 'linear' ? { ...WEIGHTED, because: 'roundings of coordinates up to 8, whose parts weigh numbers up to 4, and of the weighted sums' } : {};
  return { name: `gridSample ${JSON.stringify(options)}`, tensor: gridSample(stored(device, x), stored(device, grid), options), array: loops.gridSample(x, grid, options), ...bounds };
}

const SAMPLES = ['clamp', 'zero', 'mirror'].flatMap((border) => [false, true].map((alignCorners) => ({ mode: 'linear', border, alignCorners })));

/** A small network whose loss has gradients through each operation, on an engine. */
async function slopes(check, backend) {
  const device = await tensorDevice(check, { backend });
  const domain = [-1, 1];
  const leaves = [array([2, 3, 8, 8], 0, domain), array([6, 3, 3, 3], 1, domain), array([6, 1, 3, 3], 2, domain), array([6, 4, 2, 2], 3, domain), array([2, 3, 3, 2], 0, domain)].map((each) => stored(device, each));
  const [x, first, each, last, grid] = leaves;
  const wide = conv2d(conv2d(x, first, { padding: 1, stride: 2 }).tanh(), each, { groups: 6, padding: 'same' });
  const pooled = avgPool(maxPool(wide, [2, 2], { stride: 1 }), [2, 2], { stride: 1, padding: 1 });
  const found = gridSample(resize(convTranspose2d(pooled, last, { stride: 2 }), [5, 6], { mode: 'linear' }), grid, { mode: 'linear', border: 'zero' });
  return device.read(...grad(found.square().sum(), leaves));
}

const long = { long: true };

export const group = {
  id: 'tensor-convolutions',
  title: 'Tensors: convolutions, pools, sizes and grids',
  about: 'Convolutions, pools, resize and gridSample agree with plain loops in double precision, and their gradients on one engine with those on the other.',
  checks: [
    ...onEach('convolutions are those of plain loops', (check) => compareConvolutions(check, CONVOLUTIONS)),
    ...onEach('more convolutions are those of plain loops', (check) => compareConvolutions(check, MORE_CONVOLUTIONS), long),
    ...onEach('transposed convolutions are those of plain loops', (check) => compareConvolutions(check, TRANSPOSED)),
    ...onEach('more transposed convolutions are those of plain loops', (check) => compareConvolutions(check, MORE_TRANSPOSED), long),

    ...onEach('convolutions in tiles are those of direct products, and so are their derivatives', async (check) => {
      const device = await tensorDevice(check);
      for (const [height, width, padding] of [[107, 106, 1], [128, 127, [[0, 1], [2, 1]]]]) {
        const [x, weight, bias] = [array([1, 32, height, width], 0, [-1, 1]), array([32, 32, 3, 3], 1, [-1, 1]), array([32], 2, [-1, 1])].map((each) => stored(device, each));
        const [found, expected] = await Promise.all(['auto', 'direct'].map(async (algorithm) => {
          const y = conv2d(x, weight, { padding, bias, algorithm }).relu();
          return device.read(y, ...grad(y.square().sum().mul(2 ** -12), [x, weight]));
        }));
        // Of 752 (n + 36) u Σ max |x| max |w| a few u are what random numbers give.
        const within = [64 * 2 ** -24 * 32, 3e-5, 3e-5];
        found.forEach((numbers, k) => {
          const largest = k === 0 ? 1 : expected[k].reduce((most, value) => Math.max(most, Math.abs(value)), 0);
          numbers.forEach((value, i) => check.close(value, expected[k][i], { within: within[k] * largest, because: 'errors of a tile are 64 units of the largest sum of its products' }, `element ${i} of ${k} at ${height} × ${width}`));
        });
      }
    }, long),

    ...onEach('convolutions of half precision are summed in single, and integers wrap', async (check) => {
      const device = await tensorDevice(check);
      await compare(check, device, 'f16', [convolved(device, 'halves', conv2d, conv, [1, 3, 6, 5], [34, 3, 3, 3], { padding: 1, bias: 34 }, 'f16')]);
      const [x, weight] = [array([1, 2, 9], 0, [0, 255, 1], 'u8'), array([3, 2, 3], 1, [0, 255, 1], 'u8')];
      await compare(check, device, 'u8', [{ name: 'bytes', tensor: conv1d(stored(device, x, 'u8'), stored(device, weight, 'u8')), array: loops.convolution(x, weight) }]);
    }),

    ...onEach('a convolution of pictures whose number and height a run tells is compiled once', async (check) => {
      const device = await tensorDevice(check);
      const weight = array([33, 2, 3, 3], 1);
      const kernel = stored(device, weight);
      const [images, height] = [dim('images', 3), dim('height', 9)];
      const program = await device.compile({ x: spec('f32', [images, 2, height, 6]) }, ({ x }) => conv2d(x, kernel, { padding: 'same' }));
      for (const sizes of [{ images: 2, height: 5 }, { images: 3, height: 9 }, { images: 0, height: 5 }, { images: 2, height: 0 }, { images: 1, height: 1 }]) {
        const x = array([sizes.images, 2, sizes.height, 6]);
        const { shape, values } = loops.convolution(x, weight, { padding: 'same' });
        check.same([...(await program.run({ x: x.values }, sizes).data())], values.map((value) => value + 0), `[${shape}]`);
      }
    }),

    ...onEach('pools are those of plain loops', async (check) => {
      const device = await tensorDevice(check);
      const x = array([2, 7, 5]);
      const adaptive = [
        { name: 'adaptiveMaxPool', tensor: adaptiveMaxPool(stored(device, x), [3, 2]), array: loops.adaptivePool(x, [3, 2], loops.largest) },
        { name: 'adaptiveAvgPool', tensor: adaptiveAvgPool(stored(device, x), [3, 2]), array: loops.adaptivePool(x, [3, 2], loops.mean), ...QUOTIENT },
      ];
      await compare(check, device, 'f32', [...poolsOf(device, [2, 3, 7, 8], [3, 2], { stride: 2, padding: 1 }), ...adaptive]);
    }),

    ...onEach('pools along one to three axes are those of plain loops', async (check) => {
      const device = await tensorDevice(check);
      await compare(check, device, 'f32', [...poolsOf(device, [5, 40], [7], { padding: [[3, 1]] }), ...poolsOf(device, [2, 5, 6, 7], [2, 3, 2], { dilation: [2, 1, 2], stride: [1, 2, 3], padding: 'same' })]);
    }),

    ...onEach('pictures of other sizes are those of plain loops', async (check) => {
      const device = await tensorDevice(check);
      await compare(check, device, 'f32', [resized(device, [7, 4], {}), resized(device, [9, 4], { mode: 'linear' }), resized(device, [3, 11], { mode: 'cubic', alignCorners: true })]);
    }),

    ...onEach('pictures of all other sizes are those of plain loops', async (check) => {
      const device = await tensorDevice(check);
      const options = ['linear', 'cubic'].flatMap((mode) => [false, true].map((alignCorners) => ({ mode, alignCorners })));
      const nearest = [[10, 12], [5, 3], [1, 2]].map((size) => resized(device, size, {}));
      await compare(check, device, 'f32', [...nearest, resized(device, [7, 4], { alignCorners: true }), ...options.map((each) => resized(device, [8, 4], each))]);
    }),

    ...onEach('pictures at places of a grid are those of plain loops', async (check) => {
      const device = await tensorDevice(check);
      await compare(check, device, 'f32', [sampled(device, {}), sampled(device, SAMPLES[2])]);
    }),

    ...onEach('pictures at places of a grid are those of plain loops beyond all borders', async (check) => {
      const device = await tensorDevice(check);
      await compare(check, device, 'f32', [...SAMPLES, { border: 'zero' }, { border: 'mirror', alignCorners: true }].map((options) => sampled(device, options)));
    }, long),

    ...onEach('a blur is a convolution of each plane by itself along one axis after the other', async (check) => {
      const device = await tensorDevice(check);
      const planes = array([3, 6, 7], 0, [0, 1]);
      const weights = Array.from({ length: 5 }, (_, k) => Math.exp(-0.5 * ((k - 2) / 0.6) ** 2));
      const sum = weights.reduce((a, b) => a + b);
      const kernel = (shape) => ({ shape, values: [0, 1, 2].flatMap(() => weights.map((weight) => weight / sum)) });
      const options = { groups: 3, padding: 'same' };
      const expected = conv(conv({ shape: [1, 3, 6, 7], values: planes.values }, kernel([3, 1, 5, 1]), options), kernel([3, 1, 1, 5]), options);
      await compare(check, device, 'f32', [{ name: 'blur', tensor: blurred(stored(device, planes), 0.6), array: { shape: [3, 6, 7], values: expected.values }, allowed: 24, floor: 1, because: 'roundings of exponentials, weights and sums of numbers up to 1' }]);
    }),

    ...gpuAgainstCpu('gradients through convolutions, pools, sizes and grids agree', async (check) => {
      const [onGpu, onCpu] = [await slopes(check, 'gpu'), await slopes(check, 'cpu')];
      onGpu.forEach((found, k) => {
        // Sums of some hundred terms of both signs.
        const size = onCpu[k].reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        found.forEach((value, i) => check.close(value, onCpu[k][i], { within: 1e-5 * size, because: 'roundings of sums of some hundred terms as large as the largest slope' }, `element ${i} of gradient ${k}`));
      });
    }, long),

    ...gpuAgainstCpu('a filter of pictures gives the same on both engines', async (check) => {
      const frame = Uint8Array.from({ length: 4 * 6 * 9 }, (_, i) => (37 * i + (i >> 4) * 11) % 256);
      const [onGpu, onCpu] = await Promise.all(['gpu', 'cpu'].map(async (backend) => {
        const device = await tensorDevice(check, { backend });
        const program = await device.compile({ frame: spec('u8', [6, 9, 4]), strength: scalar }, (inputs) => filtered(inputs.frame, inputs.strength));
        return program.run({ frame, strength: 0.7 }).data();
      }));
      check.equal(onGpu.length, 6 * 9 * 3);
      // A power of 1/2.2 makes more of a rounding near 0.
      onGpu.forEach((value, i) => check.close(value, onCpu[i], { within: 1e-3, because: 'roundings near 0 grow by the power of 1/2.2: an error of 1e-7 becomes 7e-4' }, `number ${i}`));
    }),
  ],
};
