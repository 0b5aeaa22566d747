/**
 * Mat3.smallestEigenvalue against Jacobi rotations, in double precision and with every operation rounded to f32.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mat3, V, Vec3 } from '../../pkg-template/dist/index.js';
import { evaluate, gradient, jacobiEigen, randomNumbers, tapeOf } from './reference.mjs';

const params = Array.from({ length: 9 }, () => V.W(0));
const tape = tapeOf(params, (p) => {
  const rows = [0, 3, 6].map((i) => new Vec3(p[i], p[i + 1], p[i + 2]));
  return Mat3.fromRows(...rows).smallestEigenvalue;
});

const outer = (n, factor) => n.map((x) => n.map((y) => factor * x * y));
const sum = (a, b) => a.map((row, i) => row.map((x, j) => x + b[i][j]));
const ZERO = [[0, 0, 0], [0, 0, 0], [0, 0, 0]];
const diagonal = (...d) => ZERO.map((row, i) => row.map((_, j) => (i === j ? d[i] : 0)));
const unit = (v) => v.map((x) => x / Math.hypot(...v));

/** Families of matrices, each from a source of random numbers. */
const FAMILIES = {
  random: (r, size = 1) => {
    const m = ZERO.map((row) => [...row]);
    for (let i = 0; i < 3; i++) for (let j = i; j < 3; j++) m[i][j] = m[j][i] = (2 * r() - 1) * size;
    return m;
  },
  'random, entries to 1e6': (r) => FAMILIES.random(r, 1e6),
  'random, entries to 1e-6': (r) => FAMILIES.random(r, 1e-6),
  'normals spread by 0.1 around any direction': (r) => spread(r, 0.1, unit([2 * r() - 1, 2 * r() - 1, r() + 0.1])),
  'normals spread by 0.01 around any direction': (r) => spread(r, 0.01, unit([2 * r() - 1, 2 * r() - 1, r() + 0.1])),
  'normals spread by 0.001 around an axis': (r) => spread(r, 0.001, [0, 0, 1]),
  'negative, spread by 0.1': (r) => spread(r, 0.1, [0, 1, 0]).map((row) => row.map((x) => -x)),
};

function spread(r, width, direction) {
  let m = ZERO;
  for (let k = 0; k < 6; k++) m = sum(m, outer(unit(direction.map((x) => x + width * (2 * r() - 1))), 0.8 + 0.4 * r()));
  return m;
}

for (const [precision, round, epsilon] of [['f64', (x) => x, 2 ** -53], ['f32', Math.fround, 2 ** -24]]) {
  for (const [family, make] of Object.entries(FAMILIES)) {
    test(`value and derivative agree with Jacobi rotations within rounding, ${precision}, ${family}`, () => {
      const random = randomNumbers(7);
      for (let k = 0; k < 400; k++) {
        const matrix = make(random).map((row) => row.map(round));
        const size = Math.max(...matrix.flat().map(Math.abs));
        const { values, vectors } = jacobiEigen(matrix);
        const found = gradient(tape, matrix.flat(), round);
        // About ten roundings of numbers as large as the matrix lie between the entries and the value, and about fifty in double precision
        // between the entries and the result of the rotations.
        assert.ok(Math.abs(found.value - values[0]) <= (16 * epsilon + 64 * 2 ** -53) * size, `value ${found.value}, not ${values[0]}`);
        // The error of an eigenvector is the perturbation over the gap, so the derivative is not compared where the gap is within rounding.
        const gap = (values[1] - values[0]) / size;
        if (found.gradient.every((x) => x === 0)) {
          assert.ok(gap < 64 * epsilon, `derivative 0 at a gap of ${gap}`);
          continue;
        }
        const [x, y, z] = vectors[0];
        const expected = [x * x, x * y, x * z, y * x, y * y, y * z, z * x, z * y, z * z];
        const difference = Math.max(...expected.map((e, i) => Math.abs(e - found.gradient[i])));
        assert.ok(difference <= 64 * epsilon + (16 * epsilon) / gap, `derivative differs by ${difference} at a gap of ${gap}`);
      }
    });
  }
}

test('for nearly equal normals around an axis the small eigenvalue keeps its digits in f32', () => {
  const random = randomNumbers(3);
  for (const width of [1e-1, 1e-2, 1e-3, 1e-4]) {
    for (let k = 0; k < 200; k++) {
      const matrix = spread(random, width, [0, 0, 1]).map((row) => row.map(Math.fround));
      const { values } = jacobiEigen(matrix);
      // The matrix of tangential components has entries of about 6·width²/3; rounding is relative to them.
      const error = Math.abs(evaluate(tape, matrix.flat(), Math.fround) - values[0]);
      assert.ok(error <= 32 * 2 ** -24 * width * width, `${error} at spread ${width}`);
    }
  }
});

test('the derivative agrees with central differences in f64', () => {
  const random = randomNumbers(11);
  for (let k = 0; k < 50; k++) {
    const matrix = FAMILIES.random(random);
    const { values } = jacobiEigen(matrix);
    if (values[1] - values[0] < 0.05) continue; // the second derivative grows with 1/gap
    const found = gradient(tape, matrix.flat());
    const h = 1e-5;
    for (const [i, j] of [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]]) {
      const at = (step) => {
        const moved = matrix.map((row) => [...row]);
        moved[i][j] += step;
        if (i !== j) moved[j][i] += step;
        return evaluate(tape, moved.flat());
      };
      const difference = (at(h) - at(-h)) / (2 * h);
      const derivative = i === j ? found.gradient[4 * i] : found.gradient[3 * i + j] + found.gradient[3 * j + i];
      // h²/gap² of truncation and 1e-16/h of rounding.
      assert.ok(Math.abs(difference - derivative) < 1e-6, `entry ${i}${j}: ${derivative}, by differences ${difference}`);
    }
  }
});

for (const [name, matrix, value, derivative] of [
  ['zero', ZERO, 0, ZERO],
  ['the identity', diagonal(1, 1, 1), 1, ZERO],
  ['3.7 times the identity', diagonal(3.7, 3.7, 3.7), 3.7, ZERO],
  ['diag(1, 1, 2)', diagonal(1, 1, 2), 1, ZERO],
  ['diag(2, 1, 1)', diagonal(2, 1, 1), 1, ZERO],
  ['diag(1, 2, 2)', diagonal(1, 2, 2), 1, diagonal(1, 0, 0)],
  ['diag(3, 2, 1)', diagonal(3, 2, 1), 1, diagonal(0, 0, 1)],
  ['rank 1 along an axis', diagonal(0, 5, 0), 0, ZERO],
  ['rank 1', outer([0.6, -0.8, 0], 2), 0, ZERO],
  ['1e-30 times the identity', diagonal(1e-30, 1e-30, 1e-30), 1e-30, ZERO],
]) {
  test(`for ${name} the value is ${value}, with a derivative of 0 where the eigenvalue is repeated`, () => {
    const found = gradient(tape, matrix.flat());
    const size = Math.max(...matrix.flat().map(Math.abs));
    assert.ok(Math.abs(found.value - value) <= 8 * 2 ** -53 * size, `value ${found.value}`);
    derivative.flat().forEach((d, i) => assert.ok(Math.abs(found.gradient[i] - d) <= 8 * 2 ** -53, `derivative ${i}: ${found.gradient[i]}`));
    const single = gradient(tape, matrix.flat().map(Math.fround), Math.fround);
    assert.ok([single.value, ...single.gradient].every(Number.isFinite), 'finite in f32');
  });
}
