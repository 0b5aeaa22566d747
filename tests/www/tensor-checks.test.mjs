// What checks of tensors are compared with: arrays in plain JavaScript, numbers of half precision, errors in units in the last place.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { along, broadcastTo, build, einsum, get, map, reduce } from '../../www/checks/tensors/arrays.js';
import { f16round, fill, rounded, ulps, unitOf } from '../../www/checks/tensors/numbers.js';
import { threefry } from '../../www/checks/tensors/threefry.js';

const matrix = { shape: [2, 3], values: [1, 2, 3, 4, 5, 6] };
const sum = (list) => list.reduce((a, b) => a + b, 0);

test('arrays are reduced, mapped and built by coordinates in C order', () => {
  assert.deepEqual(reduce(matrix, 0, sum), { shape: [3], values: [5, 7, 9] });
  assert.deepEqual(reduce(matrix, -1, sum, true), { shape: [2, 1], values: [6, 15] });
  assert.deepEqual(reduce(matrix, undefined, sum), { shape: [], values: [21] });
  assert.deepEqual(reduce({ shape: [0, 2], values: [] }, 0, sum), { shape: [2], values: [0, 0] });
  assert.deepEqual(along(matrix, 0, (list) => list.toReversed()), { shape: [2, 3], values: [4, 5, 6, 1, 2, 3] });
  assert.deepEqual(map((a, b) => a - b, matrix, { shape: [2, 1], values: [1, 4] }), { shape: [2, 3], values: [0, 1, 2, 0, 1, 2] });
  assert.deepEqual(broadcastTo({ shape: [3], values: [1, 2, 3] }, [2, 3]).values, [1, 2, 3, 1, 2, 3]);
  assert.deepEqual(build([3, 2], ([i, j]) => get(matrix, [j, i])), { shape: [3, 2], values: [1, 4, 2, 5, 3, 6] });
});

test('einsum sums products over the letters that the result lacks', () => {
  const other = { shape: [3, 2], values: [1, 0, 0, 1, 1, 1] };
  assert.deepEqual(einsum('ij,jk->ik', matrix, other), { shape: [2, 2], values: [4, 5, 10, 11] });
  assert.deepEqual(einsum('ij->j', matrix), { shape: [3], values: [5, 7, 9] });
  assert.deepEqual(einsum('ij,ij->', matrix, matrix), { shape: [], values: [91] });
});

test('half precision rounds to even, and overflows', () => {
  // IEEE 754 binary16: 11 bits, exponents from -14 to 15.
  for (const [x, half] of [[1 + 2 ** -11, 1], [1 + 3 * 2 ** -11, 1 + 2 ** -9], [65519, 65504], [65520, Infinity], [-1e9, -Infinity], [2 ** -24, 2 ** -24], [2 ** -25, 0], [0.1, 0.0999755859375]]) assert.equal(f16round(x) + 0, half, x);
  for (const x of [0, -0, Number.NaN, Infinity]) assert.ok(Object.is(f16round(x), x));
});

test('errors are counted in units in the last place', () => {
  assert.equal(ulps('f32', 1 + 2 ** -23, 1), 1);
  assert.equal(ulps('f32', Math.fround(1 - 2 ** -24), 1), 0.5);
  assert.equal(ulps('f16', 1 + 2 ** -10, 1), 1);
  assert.equal(ulps('f32', Number.NaN, Number.NaN), 0);
  assert.equal(ulps('f32', -0, 0), 0);
  assert.equal(ulps('f32', 2 ** -20, 0, 8), 1);
  for (const [got, expected] of [[Number.NaN, 1], [1, Number.NaN], [Infinity, 1], [Infinity, -Infinity]]) assert.equal(ulps('f32', got, expected), Infinity);
  assert.equal(ulps('i32', 3, 4), Infinity);
  assert.equal(unitOf('f32', 1e-45), 2 ** -126);
});

test('operands are of their type, and of their domain', () => {
  for (const [dtype, domain] of [['f32', [-3, 3]], ['f16', [-3, 3]], ['i32', [-3, 3, 1]], ['u8', [0, 255, 1]], ['bool', [0, 1, 1]]]) {
    const values = fill(domain, 500, dtype, 1);
    assert.ok(values.every((x) => Object.is(rounded(dtype, x), x) && x >= domain[0] && x <= domain[1]), dtype);
    assert.ok(new Set(values).size > 1, dtype);
  }
});

test('the random generator gives the vectors of Random123 1.14', () => {
  assert.deepEqual(threefry([0, 0], [0, 0]), [0x6b200159, 0x99ba4efe]);
  assert.deepEqual(threefry([0x13198a2e, 0x03707344], [0x243f6a88, 0x85a308d3]), [0xc4923a9c, 0x483df7a0]);
});
