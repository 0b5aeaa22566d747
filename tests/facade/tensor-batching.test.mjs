// Many examples at once: vmap() of a function beside the function of each example, by plain loops in double precision. And shapes, axes, errors.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { randomNumbers } from './reference.mjs';
import { operationsOfRecipes } from './tensor-random-recipes.mjs';
import { flatOf, made, valueOf } from './tensor-meaning.mjs';

const numbers = (shape, seed, dtype = 'f32') => {
  const random = randomNumbers(seed);
  return made(shape, () => (dtype === 'f32' ? Math.round((random() * 4 - 2) * 64) / 64 : Math.floor(random() * 8) - 3), dtype);
};

/** f of each example, which stand along axes of the inputs. */
function each(f, inputs, axes, examples) {
  return Array.from({ length: examples }, (_, k) => f(...inputs.map((x, place) => (axes[place] === null ? x : x.pick(axes[place], k)))));
}

/** Whether vmap() of f gives what f gives of each example. The sums of both are in one order, but for products of all rows at once. */
function assertBatched(f, inputs, axes, examples) {
  const found = [T.vmap(f, axes)(...inputs)].flat();
  const expected = each(f, inputs, axes, examples).map((result) => [result].flat());
  found.forEach((tensor, place) => {
    assert.deepEqual(tensor.shape, [examples, ...expected[0][place].shape]);
    const values = flatOf(tensor);
    const wanted = expected.flatMap((results) => flatOf(results[place]));
    values.forEach((value, k) => assert.ok(Object.is(value, wanted[k]) || value === wanted[k] || Math.abs(value - wanted[k]) <= 1e-12 * (1 + Math.abs(wanted[k])), `element ${k} is ${value}, not ${wanted[k]}`));
  });
}

const u8 = (x) => x.abs().cast('u8');
/** Of x [3, 4], y [4], weights [4, 5], indices of [3] with some out of range. */
const FUNCTIONS = {
  elementwise: (x, y) => x.mul(y).sin().add(x.square()).sub(y.exp()),
  'numbers and casts': (x) => x.mul(2).cast('i32').add(1).cast('f32').div(3),
  'a condition': (x, y) => T.where(x.gt(y), x, 7),
  'of bytes': (x) => u8(x).add(3),
  'broadcast by a scalar of the example': (x, y) => x.mul(y.sum()).add(y.pick(0, 1)),
  'all reductions': (x) => [x.sum(), x.prod(0), x.min(-1), x.max(), x.variance(1), x.mean([0, 1]), x.norm(0), x.logSumExp(-1, { keep: true })],
  places: (x) => [x.argmin(), x.argmax(1)],
  softmax: (x) => [x.softmax(), x.logSoftmax(0)],
  norms: (x, y) => [T.layerNorm(x, { weight: y, bias: y }), T.rmsNorm(x, { weight: y })],
  scans: (x) => [x.cumsum(0), x.cumprod(1, { exclusive: true, reverse: true }), x.cummax(-1)],
  'a product with a matrix of all': (x, y, w) => x.matmul(w),
  'a vector times a matrix of all': (x, y, w) => y.matmul(w),
  'a matrix of all times a column': (x, y, w) => w.T.matmul(y),
  'a product of two of the example': (x, y) => [x.matmul(x.T), x.matmul(y), y.dot(y), y.outer(y)],
  einsum: (x, y, w) => [T.einsum('ij,jk->ik', x, w), T.einsum('ij,j->i', x, y), T.einsum('ij->j', x), T.einsum('ij,kj->', x, x)],
  linear: (x, y, w) => T.linear(x, w.T, w.pick(0, 0)),
  shapes: (x, y) => [x.reshape([2, 6]), x.flatten(), x.T, x.expandDims(0, 2), y.broadcastTo([2, 4]), x.repeat(2, 1), x.tile([2, 1])],
  parts: (x) => [x.slice([1, 3], [0, 4, 2]), x.slice(null, [-1, null, -1]), x.pick(1, -1), ...x.split(2, 1), x.flip(0), x.roll(1, -1), x.diagonal()],
  borders: (x) => [x.pad([[1, 0], [0, 2]], { value: 5 }), x.pad([[1, 1], [1, 1]], { mode: 'mirror' }), x.shift([1]), x.windows(1, 2)],
  concat: (x, y, w) => [T.concat([x, w.T.slice([0, 2])]), T.stack([y, y.mul(2)], 1), T.concat([w, y.expandDims(1)], 1)],
  triangles: (x) => [x.tril(), x.triu(1)],
  'a part replaced': (x, y) => x.setSlice([1, 0], y.expandDims(0)),
  'slices by indices of all': (x) => [x.indexSelect(T.arange(2, 'i32').sub(1)), x.indexSelect(T.arange(2, 'u32'), 1)],
  'slices by indices of the example': (x, y, w, i) => [x.indexSelect(i), x.indexSelect(i.reshape([3, 1]), 1), y.indexSelect(i), w.indexSelect(i, 1), w.indexSelect(i.cast('u32'))],
  'elements by indices': (x, y, w, i) => [y.gather(i), x.gather(i.reshape([3, 1]).broadcastTo([3, 2]), 1), x.gatherNd(T.stack([i, i], 1))],
  'elements put': (x, y, w, i) => [y.scatter(i, x.pick(1, 0)), y.scatter(i, 1, { combine: 'add' }), w.scatter(i.expandDims(1), y.slice([0, 3]).expandDims(1))],
  'slices put': (x, y, w, i) => [x.indexAdd(i, x), x.indexAdd(i, x.square(), { combine: 'set' }), w.indexAdd(i, x.matmul(w)), x.indexAdd(i, T.ones([3, 3]), { axis: 1, combine: 'max' })],
  'a mask': (x) => [x.maskedFill(x.lt(0), 9), x.maskedSelect(x.gt(0)).values, x.maskedSelect(x.gt(0)).count],
  sorts: (x) => [x.sort(), x.argsort(0, { descending: true }), x.topk(2).values, x.median(1), x.quantile([0.25, 0.5], 0)],
  searches: (x, y) => y.sort().searchSorted(x),
  attention: (x, y, w) => [T.attention(x, x, x), T.attention(x, w.T, w.T, { mask: x.matmul(w).gt(0) }), T.attention(x, x, x, { causal: true })],
  'an own reduction': (x) => T.fold(x, 1, { identity: [0, 1], merge: ([a, b], [c, d]) => [a.add(c), b.mul(d)], lift: (v) => [v, v], result: ([a, b]) => a.mul(b) }),
  convolution: (x) => T.conv2d(x.reshape([1, 1, 3, 4]), T.ones([2, 1, 2, 2])),
  pools: (x) => T.maxPool(x.reshape([1, 1, 3, 4]), [2, 2], { stride: 1 }),
  'a loss': (x, y, w, i) => T.crossEntropy(x, i.abs().minimum(3)),
  'sums of segments': (x, y, w, i) => T.segmentSum(x, i, 4),
  'nothing of the example': (x, y, w) => w.sum(),
  'complex numbers': (x, y) => { const z = T.complex(x, x.mul(y)); return [z.mul(z).real(), z.abs(), z.matmul(z.T).imag(), z.sum().real()]; },
  'a transform': (x) => { const z = T.fft(x); return [z.real(), z.imag(), T.irfft(T.rfft(x, { axes: 0 }), { axes: 0, length: 3 })]; },
};

for (const [name, f] of Object.entries(FUNCTIONS)) {
  test(`of ${name}`, () => {
    const inputs = [numbers([2, 3, 4], 1), numbers([2, 4], 2), numbers([4, 5], 3), numbers([2, 3], 4, 'i32')];
    assertBatched(f, inputs, [0, 0, null, 0], 2);
    // Examples along other axes, all inputs examples, and one alone.
    assertBatched(f, [inputs[0].permute([1, 0, 2]), inputs[1].T, T.stack([inputs[2], inputs[2].sin()], -1), inputs[3].T], [1, -1, 2, 1], 2);
    assertBatched(f, [inputs[0].pick(0, 0), inputs[1].pick(0, 1), T.stack([inputs[2], inputs[2].cos()]), inputs[3].pick(0, 1)], [null, null, 0, null], 2);
    assertBatched(f, [inputs[0].pick(0, 0), inputs[1].pick(0, 1), inputs[2], inputs[3]], [null, null, null, 0], 2);
    assertBatched(f, [inputs[0].slice([0, 1]), inputs[1].slice([0, 1]), inputs[2], inputs[3].slice([0, 1])], [0, 0, null, 0], 1);
  });
}

test('random compositions', () => {
  const operations = operationsOfRecipes();
  const cases = Number(process.env.RESIDUA_CASES ?? 300);
  const random = randomNumbers(11);
  const whole = (low, high) => low + Math.floor(random() * (high - low + 1));
  const shapeOf = () => Array.from({ length: whole(0, 3) }, () => whole(1, 4));
  for (let k = 0; k < cases; k++) {
    const [shapes, examples] = [[shapeOf(), shapeOf(), shapeOf()], whole(1, 3)];
    const axes = [0, [0, null][whole(0, 1)], [0, null][whole(0, 1)]];
    const inputs = shapes.map((shape, place) => numbers(axes[place] === null ? shape : [examples, ...shape], 100 * k + place));
    // The choices of a run are repeated in each other one.
    const steps = Array.from({ length: whole(1, 6) }, () => ({ operation: operations[whole(0, operations.length - 1)], seed: whole(1, 2 ** 30), of: whole(0, 2), other: random() }));
    const f = (...tensors) => {
      const pool = [...tensors];
      for (const { operation, seed, of, other } of steps) {
        const own = randomNumbers(seed);
        const wholeOf = (low, high) => low + Math.floor(own() * (high - low + 1));
        const choices = { whole: wholeOf, axis: (x) => wholeOf(-x.rank, x.rank - 1), flag: () => own() < 0.5, mode: (list) => list[wholeOf(0, list.length - 1)] };
        try {
          const next = operation(pool[Math.max(0, pool.length - 1 - of)], pool[Math.floor(other * pool.length)], choices);
          if (next.rank <= 4 && next.sizes.reduce((a, b) => a * b, 1) <= 200) pool.push(next);
        } catch (error) {
          if (error.code !== 'invalid-argument') throw error;
        }
      }
      return pool.slice(-3);
    };
    assertBatched(f, inputs, axes, examples);
  }
});

test('axes of results, lists and records, and one in another', () => {
  const x = numbers([2, 3, 4], 5);
  assert.deepEqual(T.vmap((a) => a, 0, -1)(x).shape, [3, 4, 2]);
  assert.deepEqual(valueOf(T.vmap((a) => a, 1, 1)(x)), valueOf(x));
  const { sum, list: shapes } = T.vmap(({ a }, b) => ({ sum: a.add(b), list: b }), [0, null], [1, 0])({ a: x }, x.pick(0, 0));
  assert.deepEqual([sum.shape, shapes.shape], [[3, 2, 4], [2, 3, 4]]);
  const outer = T.vmap((row) => T.vmap((number) => row.mul(number).sum())(row));
  assert.deepEqual(valueOf(outer(x.pick(0, 0))), valueOf(x.pick(0, 0).expandDims(1).mul(x.pick(0, 0).expandDims(2)).sum(2)));
  const n = T.dim('n', 5);
  assert.deepEqual(T.vmap((a) => a.sum())(T.zeros([n, 3])).shape, [n]);
});

test('a function of one example has one alone', () => {
  const shapes = [];
  T.vmap((x, y) => { shapes.push(x.shape, y.shape); return x; }, [1, null])(T.zeros([2, 3]), T.zeros([5]));
  assert.deepEqual(shapes, [[2], [5]]);
});

const x = T.zeros([2, 3]);
for (const [call, code, message] of [
  [() => T.vmap(3), 'invalid-argument', /^vmap: f: got 3; takes a function/],
  [() => T.vmap((a) => a)(3), 'invalid-argument', /^vmap: inputs\[0\]: got 3; takes a Tensor/],
  [() => T.vmap((a) => a, 2)(x), 'invalid-argument', /^vmap: inputs\[0\]: axis: got 2; takes a whole number from -2 to 1/],
  [() => T.vmap((a) => a, [0, 0])(x), 'invalid-argument', /^vmap: inAxes: got an array of 2; takes 1 axes or null/],
  [() => T.vmap((a) => a, null)(x), 'invalid-argument', /^vmap: inAxes: got no axis of examples/],
  [() => T.vmap(() => T.zeros([]))(), 'invalid-argument', /^vmap: inAxes: got no axis of examples/],
  [() => T.vmap((a, b) => a.mul(b.sum()))(x, T.zeros([3])), 'invalid-argument', /^vmap: inputs\[1\]: got 3 examples; takes 2, as vmap: inputs\[0\] has/],
  [() => T.vmap((a) => a, 0, 2)(x), 'invalid-argument', /^vmap: outAxes: got 2; takes a whole number from -2 to 1/],
  [() => T.vmap((a) => a, 0, [0, 1])(x), 'invalid-argument', /^vmap: outAxes: got an array of 2; takes 1 axes/],
  [() => T.vmap(() => 3)(x), 'invalid-argument', /^vmap: the result of f: got 3; takes a Tensor/],
  [() => T.vmap(() => undefined)(x), 'invalid-argument', /^vmap: the result of f: got undefined; takes a Tensor/],
  [() => T.vmap((a) => a.transpose())(x), 'invalid-argument', /^transpose: got a tensor of f32 of shape \[3\]; takes a tensor with at least two axes/],
]) {
  test(`${call.toString().slice(6)} is refused`, () => assert.throws(call, { name: 'ResiduaError', code, message }));
}
