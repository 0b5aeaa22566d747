/** Reductions and scans of tensors, and what is made of them: softmax, norms, cross entropy. */
import { crossEntropy, groupNorm, layerNorm, rmsNorm } from 'residua/tensor';
import { along, map, reduce } from '../tensors/arrays.js';
import { compare, tensorDevice } from '../tensors/compare.js';
import { LAYOUT_NAMES, LAYOUTS } from '../tensors/layouts.js';
import { fill, isReal } from '../tensors/numbers.js';
import { onEach } from '../define.js';

const sum = (list) => list.reduce((a, b) => a + b, 0);
const mean = (list) => sum(list) / list.length;
const variance = (correction) => (list) => {
  const middle = mean(list);
  return sum(list.map((x) => (x - middle) ** 2)) / (list.length - correction);
};
/** (x − mean) / √(variance + ε). */
const standardised = (epsilon) => (list) => {
  const [middle, deviation] = [mean(list), Math.sqrt(variance(0)(list) + epsilon)];
  return list.map((x) => (x - middle) / deviation);
};
const divided = (by) => (list) => {
  const divisor = by(list);
  return list.map((x) => x / divisor);
};
const logSumExp = (list) => {
  const largest = Math.max(...list);
  return largest + Math.log(sum(list.map((x) => Math.exp(x - largest))));
};
const first = (better) => (list) => list.reduce((best, x, i) => (better(x, list[best]) ? i : best), 0);

const REALS = ['f32', 'f16'];
const NUMBERS = [...REALS, 'i32', 'u32'];
const whole = (dtype) => (isReal(dtype) ? [-4, 4] : dtype === 'i32' ? [-9, 9, 1] : [0, 9, 1]);

/** A compensated sum is off by two units of its result and n · 2⁻⁴⁸ of the sum of magnitudes. */
const SUM = { ulps: 3, floor: 2 ** -16, because: 'a compensated sum, stored once' };
const ROUNDINGS = { because: 'a few roundings of f32 an element, merged in a tree' };

/** [name, types, operation, value of a list, { ulps, floor, because, result, domain }] */
const REDUCTIONS = [
  ['sum', NUMBERS, (x, axes, keep) => x.sum(axes, keep), sum, SUM],
  ['mean', REALS, (x, axes, keep) => x.mean(axes, keep), mean, { ...SUM, ulps: 4 }],
  ['prod', ['f32'], (x, axes, keep) => x.prod(axes, keep), (list) => list.reduce((a, b) => a * b, 1), { ulps: 2, because: 'a product with its error, stored once', domain: () => [0.9, 1.1] }],
  ['min', NUMBERS, (x, axes, keep) => x.min(axes, keep), (list) => Math.min(...list), {}],
  ['max', NUMBERS, (x, axes, keep) => x.max(axes, keep), (list) => Math.max(...list), {}],
  ['any', ['bool'], (x, axes, keep) => x.any(axes, keep), (list) => Number(list.some((x) => x !== 0)), { domain: () => [0, 1, 1] }],
  ['all', ['bool'], (x, axes, keep) => x.all(axes, keep), (list) => Number(list.every((x) => x !== 0)), { domain: () => [0, 1, 1] }],
  ['countNonzero', NUMBERS, (x, axes, keep) => x.countNonzero(axes, keep), (list) => list.filter((x) => x !== 0).length, { result: 'u32', domain: (dtype) => [0, isReal(dtype) ? 3 : 2, 1] }],
  ['logSumExp', ['f32'], (x, axes, keep) => x.logSumExp(axes, keep), logSumExp, { ulps: 8, floor: 1, ...ROUNDINGS }],
  ['variance', REALS, (x, axes, keep) => x.variance(axes, keep), variance(0), { ulps: 64, ...ROUNDINGS }],
  ['variance of a sample', ['f32'], (x, axes, keep) => x.variance(axes, { ...keep, correction: 1 }), variance(1), { ulps: 64, ...ROUNDINGS }],
  ['std', ['f32'], (x, axes, keep) => x.std(axes, keep), (list) => Math.sqrt(variance(0)(list)), { ulps: 64, ...ROUNDINGS }],
  ['norm', ['f32'], (x, axes, keep) => x.norm(axes, keep), (list) => Math.hypot(...list), { ulps: 8, ...ROUNDINGS }],
];

/** Matrices by their rows and columns; of more than a workgroup along either axis, and of more than a workgroup takes at once along the last. */
const SHAPES = [[1, 1], [7, 13], [33, 300], [300, 3], [2, 9001]];
/** Those of the quick checks: each shape is a kernel or two, which software devices compile slowly. */
const FEW_SHAPES = [[7, 13], [300, 3], [2, 9001]];
const AXES = [undefined, 0, 1];

async function checkReduction(check, [name, types, apply, value, { ulps = 0, floor = 0, because, result, domain = whole }], { layouts, shapes, kinds = types.length }) {
  const device = await tensorDevice(check);
  let worst = 0;
  for (const dtype of types.slice(0, kinds)) {
    for (const layout of layouts) {
      const type = result ?? dtype;
      const cases = shapes.flatMap((shape, k) => {
        const { tensor, array } = LAYOUTS[layout](device, shape, dtype, (count) => fill(domain(dtype), count, dtype));
        return AXES.map((axes) => {
          const keep = { keep: k % 2 === 1 };
          const length = axes === undefined ? array.values.length : shape[axes];
          const bound = typeof ulps === 'function' ? ulps(length) : ulps;
          const allowed = type === 'f16' ? 0.5 + (bound + 1) * 2 ** -12 : bound;
          return { name: `${name} of ${dtype}, ${layout}, ${shape.join(' × ')}, axes ${axes}`, tensor: apply(tensor, axes, keep), array: reduce(array, axes, value, keep.keep), allowed: bound === 0 ? 0 : allowed, because, floor };
        });
      });
      worst = Math.max(worst, await compare(check, device, type, cases));
    }
  }
  check.note(`${worst.toFixed(2)} ulp`);
}

/** [name, operation, value of a list, { ulps, floor, because, domain }], along one axis. */
const softmax = (list) => {
  const largest = Math.max(...list);
  return divided(sum)(list.map((x) => Math.exp(x - largest)));
};
const logSoftmax = (list) => {
  const total = logSumExp(list);
  return list.map((x) => x - total);
};
const ROW = { ulps: 24, because: 'an exponential of a rounded difference, a sum and a quotient' };
const NORMALISED = { ulps: 48, floor: 1, because: 'a difference from a rounded mean, and a product with a rounded reciprocal' };
const running = (merge) => (list) => {
  let state;
  return list.map((x, i) => (state = i === 0 ? x : merge(state, x)));
};
const ROWS = [
  ['softmax', (x, axis) => x.softmax(axis), softmax, ROW],
  ['logSoftmax', (x, axis) => x.logSoftmax(axis), logSoftmax, { ...ROW, floor: 8 }],
  // Where all numbers of a row are equal, the rounding of the mean is divided by √ε: with the default of 1e-5 it is 316 times as large.
  ['layerNorm', (x, axis) => layerNorm(x, { axes: axis, epsilon: 0.1 }), standardised(0.1), NORMALISED],
  ['rmsNorm', (x, axis) => rmsNorm(x, { axes: axis }), divided((list) => Math.sqrt(mean(list.map((x) => x * x)) + 1e-5)), NORMALISED],
  ['a row divided by its norm', (x, axis) => x.div(x.norm(axis, { keep: true })), divided((list) => Math.hypot(...list)), NORMALISED],
  // A sum of n numbers in blocks: the error of a prefix is that of a few roundings of partial sums, which are at most 9001 · 4 here.
  ['cumsum', (x, axis) => x.cumsum(axis), running((a, b) => a + b), { ulps: 16, floor: 256, because: 'roundings of partial sums' }],
  ['cumsum from the end, exclusive', (x, axis) => x.cumsum(axis, { reverse: true, exclusive: true }), (list) => running((a, b) => a + b)([0, ...list.toReversed()]).slice(0, -1).toReversed(), { ulps: 16, floor: 256, because: 'roundings of partial sums' }],
  ['cumprod', (x, axis) => x.cumprod(axis), running((a, b) => a * b), { ulps: 2, because: 'a product with its error, stored once', domain: () => [0.95, 1.05] }],
  ['cummax', (x, axis) => x.cummax(axis), running(Math.max), {}],
  ['cummin', (x, axis) => x.cummin(axis, { reverse: true }), (list) => running(Math.min)(list.toReversed()).toReversed(), {}],
];

async function checkRows(check, [name, apply, value, { ulps = 0, floor = 0, because, domain = whole }], { layouts, shapes }) {
  const device = await tensorDevice(check);
  let worst = 0;
  for (const layout of layouts) {
    const cases = shapes.flatMap((shape) => {
      const { tensor, array } = LAYOUTS[layout](device, shape, 'f32', (count) => fill(domain('f32'), count, 'f32'));
      return [0, 1].map((axis) => (
        { name: `${name}, ${layout}, ${shape.join(' × ')}, axis ${axis}`, tensor: apply(tensor, axis), array: along(array, axis, value), allowed: ulps, because, floor }
      ));
    });
    worst = Math.max(worst, await compare(check, device, 'f32', cases));
  }
  check.note(`${worst.toFixed(2)} ulp`);
}

/** One layout by turns: all operations together take all of them. */
const some = (k) => ({ layouts: [LAYOUT_NAMES[k % LAYOUT_NAMES.length]], shapes: FEW_SHAPES, kinds: 1 });
const ALL = { layouts: LAYOUT_NAMES, shapes: SHAPES };

export const group = {
  id: 'tensor-reductions',
  title: 'Tensors: reductions, scans, norms',
  about: 'Along each axis and along all, of rows shorter and longer than a workgroup, in every layout, against double precision.',
  checks: [
    ...REDUCTIONS.flatMap((row, k) => onEach(`${row[0]} agrees with its definition`, (check) => checkReduction(check, row, some(k)))),
    ...ROWS.flatMap((row, k) => onEach(`${row[0]} agrees with its definition`, (check) => checkRows(check, row, some(k)))),
    ...REDUCTIONS.flatMap((row) => onEach(`${row[0]} agrees in every layout and type`, (check) => checkReduction(check, row, ALL), { long: true })),
    ...ROWS.flatMap((row) => onEach(`${row[0]} agrees in every layout`, (check) => checkRows(check, row, ALL), { long: true })),

    ...onEach('argmin and argmax give the place of the first extreme', async (check) => {
      const device = await tensorDevice(check);
      const cases = ['contiguous', 'flipped'].flatMap((layout) => FEW_SHAPES.flatMap((shape) => {
        const { tensor, array } = LAYOUTS[layout](device, shape, 'f32', (count) => fill([-40, 40, 1], count, 'f32'));
        return [0, 1].flatMap((axis) => [
          { name: `argmin, ${layout}, ${shape}, axis ${axis}`, tensor: tensor.argmin(axis), array: reduce(array, axis, first((a, b) => a < b)) },
          { name: `argmax, ${layout}, ${shape}, axis ${axis}`, tensor: tensor.argmax(axis, { keep: true }), array: reduce(array, axis, first((a, b) => a > b), true) },
        ]);
      }));
      await compare(check, device, 'i32', cases);
    }),

    ...onEach('the variance of numbers far from 0 is that of their differences', async (check) => {
      const device = await tensorDevice(check);
      const values = fill([1e6 - 2, 1e6 + 2], 10_000, 'f32');
      const got = await device.tensor(values).variance().item();
      check.close(got / variance(0)(values), 1, { within: 1e-5, because: 'two passes in single precision are that near; squares alone would be off by 10⁵' });
    }),

    ...onEach('a row of several axes, whose last is no multiple of four, has all of its elements in each of two reductions', async (check) => {
      const device = await tensorDevice(check);
      const x = device.tensor([1, 2, 3], [1, 3]).broadcastTo([300, 3]);
      const [sum, powers] = await device.read(x.sub(x.max()).sum(), x.logSumExp());
      check.equal(sum[0], -900);
      check.close(powers[0], Math.log(300 * (Math.exp(1) + Math.exp(2) + Math.exp(3))), { within: 8 * 2 ** -20, because: 'eight units of a number of about 9' });
    }),

    ...onEach('a long sum carries its error', async (check) => {
      const device = await tensorDevice(check);
      const count = 1_000_003;
      const values = fill([0, 1], count, 'f32');
      const [got] = await device.read(device.tensor(values).sum());
      check.close(got[0], sum(values), { within: 2 * 2 ** -24 * count, because: 'two units of the result; a sum in order would be off by hundreds' });
    }),

    ...onEach('norms with weight and bias, in groups, and cross entropy agree with their definitions', async (check) => {
      const device = await tensorDevice(check);
      const [x, weight, bias] = [[6, 8, 5], [5], [5]].map((shape, k) => ({ shape, values: fill([-2, 2], shape.reduce((a, b) => a * b), 'f32', k) }));
      const [t, w, b] = [x, weight, bias].map(({ values, shape }) => device.tensor(values, shape));
      const normal = along(x, 2, standardised(1e-3));
      const inGroups = along({ shape: [6, 4, 10], values: x.values }, 2, standardised(1e-5));
      const labels = fill([0, 4, 1], 48, 'i32');
      const losses = labels.map((label, i) => logSumExp(x.values.slice(5 * i, 5 * i + 5)) - x.values[5 * i + label]);
      const allowed = { allowed: 48, floor: 1, because: NORMALISED.because };
      await compare(check, device, 'f32', [
        { name: 'layerNorm', tensor: layerNorm(t, { axes: -1, weight: w, bias: b, epsilon: 1e-3 }), array: map((v, s, o) => v * s + o, normal, weight, bias), ...allowed },
        { name: 'groupNorm', tensor: groupNorm(t, 4), array: { shape: x.shape, values: inGroups.values }, ...allowed },
        { name: 'crossEntropy', tensor: crossEntropy(t.reshape([48, 5]), device.tensor(labels, [48], 'i32')), array: { shape: [48], values: losses }, ...allowed },
      ]);
    }),
  ],
};
