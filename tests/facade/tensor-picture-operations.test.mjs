/**
 * Convolutions, pools, other sizes and grids: the meaning of their recipes beside plain loops, over random strides, padding, dilations and groups. The
 * seed is fixed.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import * as loops from '../../www/checks/tensors/picture-loops.js';
import { residuaError } from './fake-module.mjs';
import { flatOf, given, made, valueOf } from './tensor-meaning.mjs';

const CASES = 150;
/** Both sides are in double precision; sums of some hundred terms below 100 in another order. */
const TOLERANCE = 1e-10;

/** Whole numbers below n, by xorshift. */
function random(seed) {
  let state = seed;
  return (n) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % n;
  };
}

const arrayOf = (tensor) => ({ shape: [...tensor.sizes], values: tensor.node.source.data });
const whole = (next, shape) => made(shape, () => next(19) - 9);

function alike(found, expected, words) {
  assert.deepEqual([...found.shape], expected.shape, words);
  flatOf(found).forEach((value, i) => {
    const isSame = Object.is(value, expected.values[i]) || Math.abs(value - expected.values[i]) <= TOLERANCE * (1 + Math.abs(expected.values[i]));
    assert.ok(isSame, `${words}: element ${i} is ${value}, not ${expected.values[i]}`);
  });
}

/** Random stride, padding and dilation for windows of some sizes; the padded extents are at least as large as a window. */
function sliding(next, sizes, extents) {
  const axes = sizes.length;
  const list = (from, to) => Array.from({ length: axes }, () => from + next(to - from + 1));
  const either = (values) => (next(2) === 0 ? values : values[0]);
  const options = {};
  if (next(3) > 0) options.stride = either(list(1, 3));
  if (next(3) > 0) options.dilation = either(list(1, 2));
  const kind = next(5);
  if (kind === 1) options.padding = 'same';
  if (kind === 2) options.padding = next(3);
  if (kind === 3) options.padding = list(0, 2);
  if (kind === 4) options.padding = list(0, 2).map((before) => [before, next(3)]);
  const spans = sizes.map((size, k) => (size - 1) * (Array.isArray(options.dilation) ? options.dilation[k] : (options.dilation ?? 1)) + 1);
  const widths = options.padding === 'same' ? spans.map((span) => [span, 0]) : loops.widthsOf(options.padding, extents, sizes, list(1, 1), list(1, 1));
  return { options, fits: spans.every((span, k) => span <= extents[k] + widths[k][0] + widths[k][1]) };
}

test('convolutions are those of plain loops', () => {
  const next = random(2026);
  let seen = 0;
  for (let k = 0; k < CASES; k++) {
    const axes = 1 + next(2);
    const [images, groups, from, to] = [next(3), 1 + next(3), 1 + next(3), 1 + next(3)];
    const sizes = Array.from({ length: axes }, () => 1 + next(3));
    const extents = Array.from({ length: axes }, () => 1 + next(6));
    const { options, fits } = sliding(next, sizes, extents);
    if (!fits) continue;
    seen++;
    const x = whole(next, [images, groups * from, ...extents]);
    const weight = whole(next, [groups * to, from, ...sizes]);
    const bias = next(2) === 0 ? undefined : whole(next, [groups * to]);
    const found = (axes === 1 ? T.conv1d : T.conv2d)(x, weight, { ...options, groups, ...(bias && { bias }) });
    alike(found, loops.convolution(arrayOf(x), arrayOf(weight), { ...options, groups, bias: bias && arrayOf(bias) }), JSON.stringify({ x: x.shape, weight: weight.shape, groups, options }));
  }
  assert.ok(seen > CASES / 2, `${seen} cases`);
});

test('transposed convolutions are those of plain loops', () => {
  const next = random(77);
  let seen = 0;
  for (let k = 0; k < CASES; k++) {
    const axes = 1 + next(2);
    const [images, groups, from, to] = [next(3), 1 + next(3), 1 + next(3), 1 + next(3)];
    const sizes = Array.from({ length: axes }, () => 1 + next(4));
    const extents = Array.from({ length: axes }, () => 1 + next(4));
    const { options } = sliding(next, sizes, extents);
    if (options.padding !== 'same' && next(2) === 0) options.outputPadding = next(3);
    const x = whole(next, [images, groups * from, ...extents]);
    const weight = whole(next, [groups * from, to, ...sizes]);
    const bias = next(2) === 0 ? undefined : whole(next, [groups * to]);
    const expected = (() => {
      try {
        return loops.transposedConvolution(arrayOf(x), arrayOf(weight), { ...options, groups, bias: bias && arrayOf(bias) });
      } catch (error) {
        if (error instanceof RangeError) return null;
        throw error;
      }
    })();
    const record = () => (axes === 1 ? T.convTranspose1d : T.convTranspose2d)(x, weight, { ...options, groups, ...(bias && { bias }) });
    if (expected === null || expected.shape.slice(2).some((size) => size < 1)) {
      assert.throws(record, residuaError('invalid-argument', /padding that leaves elements/));
      continue;
    }
    seen++;
    alike(record(), expected, JSON.stringify({ x: x.shape, weight: weight.shape, groups, options }));
  }
  assert.ok(seen > CASES / 2, `${seen} cases`);
});

test('pools are those of plain loops', () => {
  const next = random(5);
  let seen = 0;
  for (let k = 0; k < CASES; k++) {
    const axes = 1 + next(3);
    const sizes = Array.from({ length: axes }, () => 1 + next(3));
    const extents = Array.from({ length: axes }, () => 1 + next(6));
    const lead = Array.from({ length: next(3) }, () => next(3));
    const { options, fits } = sliding(next, sizes, extents);
    if (!fits) continue;
    seen++;
    const x = whole(next, [...lead, ...extents]);
    const words = JSON.stringify({ x: x.shape, sizes, options });
    alike(T.maxPool(x, sizes, options), loops.pool(arrayOf(x), sizes, options, loops.largest), `maxPool ${words}`);
    alike(T.avgPool(x, sizes, options), loops.pool(arrayOf(x), sizes, options, loops.mean), `avgPool ${words}`);
    alike(T.avgPool(x, sizes, { ...options, countPadding: true }), loops.pool(arrayOf(x), sizes, options, loops.meanWithPadding), `avgPool with padding ${words}`);
  }
  assert.ok(seen > CASES / 2, `${seen} cases`);
});

test('adaptive pools are those of plain loops', () => {
  const next = random(9);
  for (let extent = 1; extent <= 9; extent++) {
    for (let count = 1; count <= 11; count++) {
      const [x, sizes] = [whole(next, [2, extent, 4]), [count, 1 + next(5)]];
      const words = JSON.stringify({ x: x.shape, sizes });
      alike(T.adaptiveMaxPool(x, sizes), loops.adaptivePool(arrayOf(x), sizes, loops.largest), `adaptiveMaxPool ${words}`);
      alike(T.adaptiveAvgPool(x, sizes), loops.adaptivePool(arrayOf(x), sizes, loops.mean), `adaptiveAvgPool ${words}`);
    }
  }
});

test('pictures of other sizes are those of plain loops', () => {
  const next = random(13);
  for (const mode of ['nearest', 'linear', 'cubic']) {
    for (const alignCorners of [false, true]) {
      for (let extent = 1; extent <= 7; extent++) {
        for (let count = 1; count <= 14; count++) {
          const [x, size] = [whole(next, [2, extent, 3]), [count, 1 + next(6)]];
          alike(T.resize(x, size, { mode, alignCorners }), loops.resize(arrayOf(x), size, { mode, alignCorners }), JSON.stringify({ mode, alignCorners, x: x.shape, size }));
        }
      }
    }
  }
});

test('places are exact where products of sizes are beyond 31 bits', () => {
  // Long signals whose ratio is 147 / 160: places repeat.
  const count = 48_000;
  const signal = T.iota([44_100], 0, 'i32');
  const found = T.resize(signal, [count]).slice([count - 3]);
  alike(found, { shape: [3], values: [3, 2, 1].map((from) => Math.ceil(((2 * (count - from) + 1) * 44_100) / (2 * count) - 1)) }, 'nearest');
  // Of 1 / 2 the lower, at the end too.
  assert.throws(() => T.resize(T.iota([1_000_003], 0), [1_999_993]), residuaError('invalid-argument', /^resize: size: got 1999993 for an axis of 1000003; takes sizes whose ratio has smaller terms/));
});

test('pictures at places of a grid are those of plain loops', () => {
  const next = random(21);
  const places = [-1, 1, 0, -0.25, 0.75, -1.5, 2.25, -7, 9, 0.3, 1e30, -Infinity];
  for (const mode of ['nearest', 'linear']) {
    for (const border of ['clamp', 'zero', 'mirror']) {
      for (const alignCorners of [false, true]) {
        for (const [height, width] of [[3, 4], [1, 2], [1, 1], [5, 1]]) {
          // What is infinitely far has no place between mirrors, and none of one pixel whose centre is both ends.
          const known = border === 'mirror' ? places.slice(0, -2) : alignCorners ? places.slice(0, -1) : places;
          const [x, grid] = [whole(next, [2, 3, height, width]), made([2, 3, 7, 2], () => known[next(known.length)])];
          alike(T.gridSample(x, grid, { mode, border, alignCorners }), finite(loops.gridSample, x, grid, { mode, border, alignCorners }), JSON.stringify({ mode, border, alignCorners, height, width }));
        }
      }
    }
  }
});

/** Far places as near ones, which the loops compute without infinities. */
function finite(sample, x, grid, options) {
  const values = grid.node.source.data.map((place) => (options.border === 'mirror' ? place : Math.min(Math.max(place, -100), 100)));
  return sample(arrayOf(x), { shape: [...grid.sizes], values }, options);
}

test('integers, halves, and sizes that are Dims', () => {
  const bytes = given([[[[250, 1], [2, 3]]]], 'u8');
  assert.deepEqual(valueOf(T.maxPool(bytes.cast('i32').sub(300), [2, 2], { stride: 1, padding: 1 })), [[[[-50, -50, -299], [-50, -50, -297], [-298, -297, -297]]]]);
  assert.deepEqual(valueOf(T.avgPool(bytes, [2, 2])), [[[[64]]]]);
  assert.deepEqual(valueOf(T.adaptiveAvgPool(bytes, [1, 1])), [[[[64]]]]);
  assert.deepEqual(valueOf(T.conv2d(bytes, given([[[[1, 0], [0, 1]]]], 'u8'))), [[[[253]]]]);
  for (const half of [T.conv2d(bytes.cast('f16'), T.ones([3, 1, 2, 2])), T.convTranspose2d(bytes.cast('f16'), T.ones([1, 3, 2, 2], 'f16')), T.maxPool(bytes.cast('f16'), [2, 2]), T.avgPool(bytes.cast('f16'), [2, 2]), T.resize(bytes.cast('f16'), [3, 3], { mode: 'cubic' })]) {
    assert.equal(half.dtype, 'f16');
  }
  const n = T.dim('n', 9);
  const x = T.iota([n, 1, n, 4], 2);
  const kernel = T.ones([2, 1, 3, 3]);
  assert.deepEqual(valueOf(T.conv2d(x, kernel, { padding: 'same' }), { n: 2 })[1][1], [[2, 3, 3, 2], [2, 3, 3, 2]]);
  assert.deepEqual(valueOf(T.conv2d(x, T.ones([1, 1, 3, 3]), { padding: [0, 1] }), { n: 3 })[2][0], [[6, 9, 9, 6]]);
  assert.deepEqual(valueOf(T.avgPool(x, [2, 2], { stride: [1, 2], padding: [1, 0] }), { n: 2 })[0][0], [[0, 0], [0.5, 0.5], [1, 1]]);
  assert.deepEqual(valueOf(T.convTranspose2d(T.iota([1, 1, n, 1], 2), T.ones([1, 1, 2, 1]), { stride: [3, 1] }), { n: 2 }), [[[[0], [0], [0], [1], [1]]]]);
  assert.deepEqual(valueOf(T.convTranspose2d(T.iota([1, 1, n, 1], 2).add(1), T.ones([1, 1, 3, 1]), { stride: [2, 1], padding: 'same' }), { n: 2 }), [[[[1], [1], [3], [2]]]]);
  assert.deepEqual(valueOf(T.gridSample(x, T.zeros([n, 1, 1, 2]), { mode: 'linear' }), { n: 2 }), [[[[0.5]]], [[[0.5]]]]);
});

test('windows with more elements than kernels count are limit-exceeded', () => {
  const refused = residuaError('limit-exceeded', /: got windows with \d+ elements in all; takes fewer than 4294967296: fewer images or channels at once/);
  assert.throws(() => T.conv2d(T.zeros([1, 64, 4096, 4096]), T.zeros([1, 64, 3, 3])), refused);
  assert.throws(() => T.maxPool(T.zeros([8, 64, 1024, 1024]), [3, 3], { stride: 1 }), refused);
  assert.throws(() => T.convTranspose2d(T.zeros([1, 1, 4096, 4096]), T.zeros([1, 1, 7, 7])), refused);
  T.conv2d(T.zeros([7, 64, 1024, 1024]), T.zeros([1, 64, 3, 3]));
});

test('what does not fit is invalid-argument', () => {
  const [x, weight] = [T.zeros([1, 4, 5, 5]), T.zeros([6, 2, 3, 3])];
  const n = T.dim('n', 9);
  const refused = [
    [() => T.conv2d(x, weight), /^conv2d: weight: got a tensor of f32 of shape \[6, 2, 3, 3\]; takes a tensor \[out, in\/groups, height, width\].*4 \/ 1 channels second/],
    [() => T.conv2d(x, weight, { groups: 4 }), /^conv2d: weight/],
    [() => T.conv2d(x, T.zeros([5, 2, 3, 3]), { groups: 2 }), /^conv2d: weight: .*a multiple of 2 first/],
    [() => T.conv2d(x, weight, { groups: 0 }), /^conv2d: groups: got 0/],
    [() => T.conv2d(x, weight, { groups: 2, algorithm: 'winograd' }), /^conv2d: algorithm: got "winograd"; takes 'auto' or 'direct'/],
    [() => T.convTranspose2d(x, T.zeros([4, 6, 3, 3]), { algorithm: 'direct' }), /^convTranspose2d: options: got the unknown option "algorithm"/],
    [() => T.conv2d(x, weight, { groups: 2, bias: T.zeros([4]) }), /^conv2d: bias: got .*a vector with a number for each of the 6 channels/],
    [() => T.conv2d(x, weight, { groups: 2, bias: T.zeros([6], 'i32') }), /^conv2d: bias/],
    [() => T.conv2d(x, weight, { groups: 2, bias: 1 }), /^conv2d: bias: got 1; takes a Tensor/],
    [() => T.conv2d(x, weight, { groups: 2, strides: 1 }), /^conv2d: options: got the unknown option "strides"; did you mean 'stride'/],
    [() => T.conv2d(x, weight, { groups: 2, stride: 0 }), /^conv2d: stride: got 0; takes a whole number/],
    [() => T.conv2d(x, weight, { groups: 2, stride: [1, 2, 3] }), /^conv2d: stride: got 3 numbers; takes one number, or 2/],
    [() => T.conv2d(x, weight, { groups: 2, stride: [1, 1.5] }), /^conv2d: stride\[1\]: got 1.5/],
    // A list with a hole.
    [() => T.conv2d(x, weight, { groups: 2, stride: Array(2) }), /^conv2d: stride\[0\]: got undefined; takes a whole number/],
    [() => T.conv2d(x, weight, { groups: 2, padding: [[1, 1], Array(2)] }), /^conv2d: padding\[1\]\[0\]: got undefined/],
    [() => T.maxPool(x, Array(2)), /^maxPool: size\[0\]: got undefined/],
    [() => T.resize(x, Array(1)), /^resize: size\[0\]: got undefined/],
    [() => T.conv2d(x, weight, { groups: 2, dilation: 3 }), /^conv2d: got windows over 7 elements of axis 2 .*at most the 5 elements/],
    [() => T.conv2d(x, weight, { groups: 2, padding: -1 }), /^conv2d: padding: got -1/],
    [() => T.conv2d(x, weight, { groups: 2, padding: 'full' }), /^conv2d: padding: got "full"; takes 'valid', 'same'/],
    [() => T.conv2d(x, weight, { groups: 2, padding: [[1, 1]] }), /^conv2d: padding: got 1 pairs; takes 2/],
    [() => T.conv2d(x, weight, { groups: 2, padding: [1, [1, 1]] }), /^conv2d: padding\[0\]: got 1; takes a pair/],
    [() => T.conv2d(x, weight, { groups: 2, padding: 2 ** 31 - 1 }), /^conv2d: padding: .*at most 2147483647 elements in all/],
    [() => T.conv2d(x.cast('bool'), weight, { groups: 2 }), /^conv2d: got .*takes a tensor of f32 or/],
    [() => T.conv2d(x.cast('i32'), weight, { groups: 2 }), /^conv2d: got tensors of i32 and f32/],
    [() => T.conv2d(T.zeros([4, 5, 5]), weight, { groups: 2 }), /^conv2d: got .*takes a tensor \[images, channels, height, width\]/],
    [() => T.conv2d(x, T.zeros([6, 2, 0, 3]), { groups: 2 }), /^conv2d: weight: .*whose windows have elements/],
    [() => T.conv2d(x, T.zeros([n, 2, 3, 3]), { groups: 2 }), /^conv2d: weight: .*of numbers/],
    [() => T.conv2d(T.zeros([1, 4, n, 5]), weight, { groups: 2, stride: 2 }), /^conv2d: stride: got 2; takes 1 along axis 2, whose size is the Dim n/],
    [() => T.conv1d(x, weight), /^conv1d: got .*takes a tensor \[images, channels, width\]/],
    [() => T.conv2d(x, 1), /^conv2d: weight: got 1; takes a Tensor/],
    [() => T.conv2d(x, weight, null), /^conv2d: options/],
    [() => T.convTranspose2d(x, T.zeros([2, 3, 3, 3])), /^convTranspose2d: weight: .*4 channels first/],
    [() => T.convTranspose2d(x, T.zeros([4, 3, 3, 3]), { padding: 4 }), /^convTranspose2d: got .*padding leaves a result of \[-1, -1\]/],
    [() => T.convTranspose2d(T.zeros([1, 4, 0, 5]), T.zeros([4, 3, 3, 3])), /^convTranspose2d: got .*elements along the last axes/],
    [() => T.convTranspose2d(x, T.zeros([4, 3, 3, 3]), { padding: 'same', outputPadding: 1 }), /^convTranspose2d: outputPadding: got \[1, 1\]; takes 0 with the padding 'same'/],
    [() => T.maxPool(x, [6, 6]), /^maxPool: got windows over 6 elements/],
    [() => T.maxPool(x, 2), /^maxPool: size: got 2; takes an array of 1 to 4/],
    [() => T.maxPool(x, []), /^maxPool: size/],
    [() => T.maxPool(x, [0]), /^maxPool: size\[0\]: got 0/],
    [() => T.maxPool(x.cast('bool'), [2]), /^maxPool: got .*bool/],
    [() => T.avgPool(x, [2], { countPadding: 1 }), /^avgPool: countPadding: got 1; takes true or false/],
    [() => T.avgPool(T.zeros([n]), [2]), /^avgPool: stride: got 2; takes 1 along axis 0/],
    [() => T.adaptiveAvgPool(T.zeros([n]), [2]), /^adaptiveAvgPool: .*sizes that are numbers of at least 1/],
    [() => T.adaptiveMaxPool(T.zeros([2, 0]), [2]), /^adaptiveMaxPool: .*at least 1/],
    [() => T.adaptiveMaxPool(x, [-1]), /^adaptiveMaxPool: size\[0\]: got -1/],
    [() => T.resize(x, [3, 0]), /^resize: size\[1\]: got 0/],
    [() => T.resize(x, [3, 3], { mode: 'bilinear' }), /^resize: mode: got "bilinear"; takes 'nearest', 'linear' or 'cubic'/],
    [() => T.resize(x.cast('u8'), [3, 3], { mode: 'linear' }), /^resize: .*takes a tensor of f32 or f16 with the mode 'linear'/],
    [() => T.resize(T.zeros([n]), [3]), /^resize: got .*sizes that are numbers/],
    [() => T.resize(x, [3], { alignCorners: 'yes' }), /^resize: alignCorners/],
    [() => T.gridSample(x, T.zeros([2, 3, 3, 2])), /^gridSample: grid: .*a grid for each image/],
    [() => T.gridSample(x, T.zeros([1, 3, 3, 3])), /^gridSample: grid/],
    [() => T.gridSample(x, T.zeros([1, 3, 3, 2], 'i32')), /^gridSample: grid: .*takes a tensor of f32/],
    [() => T.gridSample(T.zeros([1, 1, 0, 3]), T.zeros([1, 3, 3, 2])), /^gridSample: got .*whose images have pixels/],
    [() => T.gridSample(x, T.zeros([1, 3, 3, 2]), { border: 'wrap' }), /^gridSample: border: got "wrap"; takes 'clamp', 'zero' or 'mirror'/],
    [() => T.gridSample(x.cast('i32'), T.zeros([1, 3, 3, 2]), { mode: 'linear' }), /^gridSample: .*cast\(\) makes one/],
    [() => T.gridSample(T.zeros([1, 1, 65536, 32768]), T.zeros([1, 3, 3, 2])), /^gridSample: .*fewer than 2147483648 pixels/],
  ];
  for (const [call, message] of refused) assert.throws(call, residuaError('invalid-argument', message));
});
