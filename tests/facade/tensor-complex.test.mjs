/** Complex numbers: what throws, and what never becomes a node of the tape. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { writeTape } from '../../pkg-template/dist/tensor/recipe/tape.js';
import { Node } from '../../pkg-template/dist/tensor/recipe/node.js';
import { given } from './tensor-meaning.mjs';

const z = given([[1, 2], [3, 4]], 'c64');
const square = given([[[1, 0], [0, 1]], [[1, 1], [2, 0]]], 'c64');
const v = given([1, 2]);
const i = given([0, 1], 'i32');
const n = T.dim('n', 8);

/** Operations of real numbers alone, by the name in the message. */
const REAL_ALONE = {
  mod: (x) => x.mod(x), floorMod: (x) => x.floorMod(2), pow: (x) => x.pow(2), minimum: (x) => x.minimum(x), maximum: (x) => x.maximum(0), 'clamp: low': (x) => x.clamp(0, 1), atan2: (x) => x.atan2(x),
  lt: (x) => x.lt(0), lte: (x) => x.lte(x), gt: (x) => x.gt(x), gte: (x) => x.gte(1), and: (x) => x.and(x), or: (x) => x.or(x), xor: (x) => x.xor(x), not: (x) => x.not(), shl: (x) => x.shl(1), shr: (x) => x.shr(1),
  sign: (x) => x.sign(), rsqrt: (x) => x.rsqrt(), expm1: (x) => x.expm1(), log1p: (x) => x.log1p(), log2: (x) => x.log2(), erf: (x) => x.erf(), sin: (x) => x.sin(), cos: (x) => x.cos(), tan: (x) => x.tan(),
  asin: (x) => x.asin(), acos: (x) => x.acos(), atan: (x) => x.atan(), sinh: (x) => x.sinh(), cosh: (x) => x.cosh(), tanh: (x) => x.tanh(), floor: (x) => x.floor(), ceil: (x) => x.ceil(), round: (x) => x.round(), trunc: (x) => x.trunc(),
  relu: (x) => x.relu(), relu6: (x) => x.relu6(), leakyRelu: (x) => x.leakyRelu(), prelu: (x) => x.prelu(2), elu: (x) => x.elu(), selu: (x) => x.selu(), sigmoid: (x) => x.sigmoid(), logSigmoid: (x) => x.logSigmoid(), hardSigmoid: (x) => x.hardSigmoid(),
  softplus: (x) => x.softplus(), softsign: (x) => x.softsign(), silu: (x) => x.silu(), gelu: (x) => x.gelu(), mish: (x) => x.mish(), hardSwish: (x) => x.hardSwish(), bitcast: (x) => x.bitcast('i32'),
  min: (x) => x.min(), max: (x) => x.max(), logSumExp: (x) => x.logSumExp(), variance: (x) => x.variance(), std: (x) => x.std(), norm: (x) => x.norm(), argmin: (x) => x.argmin(), argmax: (x) => x.argmax(), quantile: (x) => x.quantile(0.5), median: (x) => x.median(),
  cumprod: (x) => x.cumprod(), cummax: (x) => x.cummax(), cummin: (x) => x.cummin(), softmax: (x) => x.softmax(), logSoftmax: (x) => x.logSoftmax(), sort: (x) => x.sort(), argsort: (x) => x.argsort(), topk: (x) => x.topk(1), searchSorted: (x) => x.searchSorted(x),
  linear: (x) => T.linear(x, square), embedding: (x) => T.embedding(i, x), layerNorm: (x) => T.layerNorm(x), rmsNorm: (x) => T.rmsNorm(x), groupNorm: (x) => T.groupNorm(x.reshape([1, 2]), 1), batchNorm: (x) => T.batchNorm(x.reshape([1, 2])), rope: () => T.rope(square, { position: 0 }),
  'attention: q': () => T.attention(square, square, square), crossEntropy: () => T.crossEntropy(square, i), map: (x) => T.map((a) => a, x), fold: (x) => T.fold(x, 0, { identity: [0], lift: (a) => [a], merge: ([p], [q]) => [p.add(q)] }),
  segmentSum: (x) => T.segmentSum(x, i, 2), segmentMean: (x) => T.segmentMean(x, i, 2), segmentMax: (x) => T.segmentMax(x, i, 2), segmentMin: (x) => T.segmentMin(x, i, 2), histogram: (x) => T.histogram(x, 2, 0, 1),
};

test('operations of real numbers refuse complex ones, and name themselves', () => {
  const wrong = [];
  for (const [name, record] of Object.entries(REAL_ALONE)) {
    try {
      record(z);
      wrong.push(`${name} computes something`);
    } catch (error) {
      if (error.code !== 'invalid-argument' || !error.message.startsWith(name) || !error.message.includes('c64')) wrong.push(`${name}: ${error.message}`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** A call, and what its message is. */
const ERRORS = [
  [() => z.add(v), /^add: got tensors of c64 and f32; takes tensors of one type: cast\(\) changes it/],
  [() => v.add(z), /^add: got tensors of (f32 and c64|c64 and f32)/],
  [() => T.where(given([1, 0], 'bool'), z, v), /^where: got tensors of c64 and f32/],
  [() => T.concat([z, v]), /^concat: got a tensor of c64 .* and a tensor of f32/],
  [() => z.matmul(square.real()), /^matmul: got tensors of c64 and f32/],
  [() => z.dot(v), /^dot: got tensors of/],
  [() => z.cast('f32'), /^cast: dtype: got "f32" for a tensor of c64 of shape \[2\]; takes 'c64' or 'bool'; real\(\), imag\(\) and abs\(\)/],
  [() => T.complex(v, i), /^complex: im: got a tensor of i32.*takes a tensor of f32/],
  [() => T.complex(z, v), /^complex: re: got a tensor of c64/],
  [() => T.complex(v, given([1, 2, 3])), /^complex: got shapes \[2\] and \[3\]/],
  [() => v.real(), /^real: got a tensor of f32 of shape \[2\]; takes a tensor of c64/],
  [() => v.conj(), /^conj: got a tensor of f32/],
  [() => i.angle(), /^angle: got a tensor of i32/],
  [() => T.arange(3, 'c64'), /^arange: dtype: got 'c64'; takes a type of real numbers/],
  [() => T.full([2], '1', 'c64'), /^full: value: got "1"; takes a number of type c64/],
  [() => z.scatter(i, z, { combine: 'mul' }), /^scatter: combine: got 'mul' of c64; takes 'set' or 'add'/],
  [() => z.indexAdd(i, v), /^indexAdd: source: got a tensor of f32.*takes a tensor of c64/],
  [() => T.grad(z.sum(), [z]), /^grad: scalar: got a tensor of c64/],
  [() => T.zeros([n], 'c64').prod(), /^prod: got n elements of c64; takes axes whose sizes are numbers/],
  [() => T.fft(i), /^fft: got a tensor of i32 of shape \[2\]; takes a tensor of f32 or c64/],
  [() => T.ifft(v), /^ifft: got a tensor of f32.*takes a tensor of c64/],
  [() => T.rfft(z), /^rfft: got a tensor of c64.*takes a tensor of f32/],
  [() => T.irfft(v), /^irfft: got a tensor of f32/],
  [() => T.fft(T.zeros([])), /^fft: got a tensor of f32 of shape \[\]; takes a tensor with at least one axis/],
  [() => T.fft(T.zeros([2, 0])), /^fft: got axis 1 without elements/],
  [() => T.fft(T.zeros([2, n])), /^fft: got the Dim n as the size of axis 1; takes an axis whose size is a number/],
  [() => T.fft(z, { axes: 1 }), /^fft: axes: got 1; takes a whole number from -1 to 0/],
  [() => T.fft(square, { axes: [0, -2] }), /^fft: axes: got axis 0 twice/],
  [() => T.rfft(v, { axes: [] }), /^rfft: axes: got no axis; takes at least one/],
  [() => T.fft(z, { norm: 'unitary' }), /^fft: norm: got "unitary"; takes 'backward', 'ortho' or 'forward'/],
  [() => T.fft(z, { length: 4 }), /^fft: options: got the unknown option "length"/],
  [() => T.irfft(z, { length: 0 }), /^irfft: length: got 0; takes a whole number/],
  [() => T.irfft(z, { length: 2.5 }), /^irfft: length: got 2.5/],
  [() => T.irfft(z.slice([0, 1])), /^irfft: got one frequency along axis 0.*takes the option `length`/],
  [() => T.fft(T.zeros([2 ** 24 + 2])), /^fft: got a transform of 16777218 elements; takes at most 16777216, or 8388608 where/],
  [() => T.fft(T.zeros([8388617])), /^fft: got a transform of 8388617 elements/],
  [() => T.irfft(z, { length: 2 ** 25 }), /^irfft: got a transform of 33554432 elements/],
];

test('messages name the operation, what it got and what it takes', () => {
  for (const [call, message] of ERRORS) assert.throws(call, (error) => error.code === 'invalid-argument' && message.test(error.message) || assert.fail(`${error.message} is not ${message}`));
});

test('a number with other digits than a c64 has, or a tensor of c64 as a number, rejects', async () => {
  await assert.rejects(z.item(), /^ResiduaError: item: got a tensor of c64; takes a tensor of one number: real\(\) and imag\(\)/);
  await assert.rejects(T.saveNpy(z), /saveNpy: tensor: got a tensor of c64.*takes a tensor of real numbers/);
  await assert.rejects(T.saveSafetensors({ z }), /saveSafetensors: tensors\["z"\]: got a tensor of c64/);
});

test('no node of the tape has the type c64 or takes one', () => {
  const part = T.zeros([2]).node;
  assert.throws(() => new Node('reshape', 'c64', [2], [part]), /^ResiduaError: reshape: got a tensor of c64/);
  assert.throws(() => new Node('elementwise', 'f32', [2], [z.node]), /^ResiduaError: elementwise: got a tensor of c64/);
  // A result is written as pairs of f32.
  const { tape } = writeTape([T.fft(z).node]);
  assert.ok(tape.length > 0);
});

test('derivatives by a part leave out what another tensor has of it', () => {
  const x = given([1, 2]);
  const [one, other] = [T.complex(x, x), T.complex(x, x)];
  const loss = one.abs().square().add(x).sum();
  const [slope, none, whole] = T.grad(loss, [one, other, x]);
  assert.equal(slope.dtype, 'c64');
  assert.deepEqual(slope.shape, [2]);
  assert.equal(none.dtype, 'c64');
  assert.equal(whole.dtype, 'f32');
});
