/** Differences of elements, which Program.verify reports. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { difference } from '../../pkg-template/dist/tensor/memory/difference.js';

const bytes = (array) => new Uint8Array(array.buffer);
const f32 = (...numbers) => bytes(Float32Array.from(numbers));

test('differences are of the numbers, and in units in the last place', () => {
  assert.deepEqual(difference('f32', f32(1, 2), f32(1, 2)), { maxError: 0, maxUlps: 0 });
  assert.deepEqual(difference('f32', f32(1, -4), f32(1 + 2 ** -23, -4)), { maxError: 2 ** -23, maxUlps: 1 });
  // Both sides of 0 are neighbours.
  assert.deepEqual(difference('f32', f32(2 ** -149), f32(-(2 ** -149))), { maxError: 2 ** -148, maxUlps: 2 });
  assert.deepEqual(difference('f32', f32(0), f32(-0)), { maxError: 0, maxUlps: 0 });
  // 1 and the next half, 1 + 2⁻¹⁰.
  assert.deepEqual(difference('f16', bytes(Uint16Array.of(0x3c00)), bytes(Uint16Array.of(0x3c01))), { maxError: 2 ** -10, maxUlps: 1 });
  assert.deepEqual(difference('f16', bytes(Uint16Array.of(0x8001)), bytes(Uint16Array.of(0x0001))).maxUlps, 2);
  assert.deepEqual(difference('i32', bytes(Int32Array.of(-3, 7)), bytes(Int32Array.of(2, 7))), { maxError: 5, maxUlps: 5 });
  assert.deepEqual(difference('bool', Uint8Array.of(1, 0), Uint8Array.of(1, 1)), { maxError: 1, maxUlps: 1 });
});

test('a NaN or an infinity differs by infinity from all but itself', () => {
  assert.deepEqual(difference('f32', f32(NaN, Infinity), f32(NaN, Infinity)), { maxError: 0, maxUlps: 0 });
  assert.deepEqual(difference('f32', f32(NaN, 1), f32(0, 1)), { maxError: Infinity, maxUlps: Infinity });
  assert.equal(difference('f32', f32(Infinity), f32(3)).maxError, Infinity);
  assert.equal(difference('f32', f32(Infinity), f32(-Infinity)).maxError, Infinity);
});
