/** Random numbers of tensors: what is recorded, and the distributions that follow from the bits. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { flatOf, given, threefry, valueOf } from './tensor-meaning.mjs';

const COUNT = 8000;
const mean = (list) => list.reduce((sum, x) => sum + x, 0) / list.length;
/** Five standard errors of a mean: a test fails by chance once in two million. */
const within = (list, expected, deviation) => assert.ok(Math.abs(mean(list) - expected) < (5 * deviation) / Math.sqrt(list.length), `${mean(list)}, not ${expected}`);

test('the generator gives the known answers of Threefry', () => {
  const hex = (key, counter) => threefry(key, counter).map((word) => word.toString(16));
  assert.deepEqual(hex([0, 0], [0, 0]), ['6b200159', '99ba4efe']);
  assert.deepEqual(hex([0xffffffff, 0xffffffff], [0xffffffff, 0xffffffff]), ['1cb996fc', 'bb002be7']);
  assert.deepEqual(hex([0x13198a2e, 0x03707344], [0x243f6a88, 0x85a308d3]), ['c4923a9c', '483df7a0']);
});

test('each call has a stream of its own, and a seed starts over', () => {
  const random = new T.Random(7n);
  const draw = () => flatOf(random.bits([3]));
  const [first, second] = [draw(), draw()];
  assert.notDeepEqual(first, second);
  assert.deepEqual(first[0], threefry([7, 0], [0, 0])[0]);
  random.setSeed(7);
  assert.deepEqual(draw(), first);
  assert.equal(random.seed, 7n);
  assert.equal(new T.Random(-1).seed, 2n ** 64n - 1n);
  assert.throws(() => new T.Random(0.5), { code: 'invalid-argument' });
});

test('uniform numbers fill their range', () => {
  const numbers = flatOf(new T.Random(1).uniform([COUNT], -1, 3));
  within(numbers, 1, 4 / Math.sqrt(12));
  assert.ok(Math.min(...numbers) >= -1 && Math.max(...numbers) < 3);
});

test('integers are the high half of the product of bits and range', () => {
  for (const [low, high] of [[-2, 3], [0, 100000], [-(2 ** 31), 2 ** 31], [5, 6], [-(2 ** 31), 2 ** 31 - 1]]) {
    const bits = flatOf(new T.Random(2).bits([100]));
    const expected = bits.map((word) => Number((BigInt(word) * BigInt(high - low)) >> 32n) + low);
    assert.deepEqual(flatOf(new T.Random(2).integers([100], low, high)), expected);
  }
});

test('normal numbers have their moments', () => {
  const numbers = flatOf(new T.Random(3).normal([COUNT], 2, 3));
  within(numbers, 2, 3);
  // The deviation of a square of a standard normal number is √2.
  within(numbers.map((x) => ((x - 2) / 3) ** 2), 1, Math.SQRT2);
  assert.ok(numbers.every(Number.isFinite));
});

test('normal numbers are the inverse of their distribution', () => {
  // Quantiles of the normal distribution at 0.975 and 0.9999, beside shares of sorted numbers.
  const numbers = flatOf(new T.Random(4).normal([COUNT])).sort((a, b) => a - b);
  const share = numbers.filter((x) => x < 1.959963985).length / COUNT;
  assert.ok(Math.abs(share - 0.975) < 5 * Math.sqrt((0.975 * 0.025) / COUNT), `${share}`);
});

test('truncated normal numbers stay within two deviations', () => {
  const numbers = flatOf(new T.Random(5).truncatedNormal([COUNT], 1, 0.5));
  within(numbers, 1, 0.5);
  // Rounding of the polynomial may pass the limit by some units of the last place.
  assert.ok(numbers.every((x) => Math.abs(x - 1) < 1 + 1e-5));
});

test('a permutation has each number once, and each order is as likely', () => {
  const random = new T.Random(8);
  const counts = new Map();
  const rounds = 1200;
  for (let round = 0; round < rounds; round++) {
    const order = flatOf(random.permutation(3)).join('');
    counts.set(order, (counts.get(order) ?? 0) + 1);
  }
  assert.deepEqual([...counts.keys()].sort(), ['012', '021', '102', '120', '201', '210']);
  // Five standard deviations of a binomial number.
  for (const count of counts.values()) assert.ok(Math.abs(count - rounds / 6) < 5 * Math.sqrt((rounds * 5) / 36), `${count}`);
  assert.deepEqual(flatOf(random.permutation(50)).sort((a, b) => a - b), Array.from({ length: 50 }, (_, i) => i));
  assert.deepEqual(flatOf(random.permutation(0)), []);
  assert.throws(() => random.permutation(2 ** 31), { code: 'invalid-argument', message: /from 0 to 2147483647/ });
});

test('bernoulli, categorical and dropout have their probabilities', () => {
  const random = new T.Random(6);
  within(flatOf(random.bernoulli([COUNT], 0.3)), 0.3, 0.5);
  const logits = T.full([COUNT, 3], 0).add(given([Math.log(1), Math.log(2), -Infinity]));
  const drawn = flatOf(random.categorical(logits));
  within(drawn, 2 / 3, 0.5);
  assert.ok(drawn.every((index) => index < 2));
  const dropped = flatOf(random.dropout(T.ones([COUNT]), 0.25));
  within(dropped, 1, 0.6);
  assert.ok(dropped.every((x) => x === 0 || Math.abs(x - 4 / 3) < 1e-12));
  assert.equal(valueOf(random.dropout(T.ones([]), 1)), 0);
});
