/**
 * Mat2 and Mat3 against matrices that are made from their factors, and the barrier against its formula.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mat2, Mat3, V, Vec2, Vec3 } from '../../pkg-template/dist/index.js';
import { evaluate, gradient, randomNumbers, tapeOf } from './reference.mjs';

const near = (found, expected, tolerance, what) =>
  expected.forEach((number, k) => assert.ok(Math.abs(found[k] - number) <= tolerance, `${what}: [${found}] is not [${expected}]`));

/** The numbers that a function of a 2×2 matrix has at one. */
const of2 = (f, count) => {
  const params = Array.from({ length: 4 }, () => V.W(0));
  const tapes = Array.from({ length: count }, (_, k) => tapeOf(params, (p) => f(Mat2.fromRows(new Vec2(p[0], p[1]), new Vec2(p[2], p[3])))[k]));
  return (matrix) => tapes.map((tape) => gradient(tape, matrix, (x) => x).value);
};
const flat = ({ rows }) => rows.flatMap((row) => [...row]);
const turn = (angle) => [Math.cos(angle), -Math.sin(angle), Math.sin(angle), Math.cos(angle)];
const product = ([a, b, c, d], [e, f, g, h]) => [a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h];

/** Matrices with their singular values, as they are made: U diag(σ) Vᵀ. */
function* made() {
  const random = randomNumbers(5);
  for (const [large, small] of [[3, 1], [1, 1], [2, 1e-3], [1e5, 2e4], [1, -0.5], [2e-7, 1e-7], [1, 1 - 1e-7]]) {
    for (let k = 0; k < 20; k++) {
      const [u, v] = [turn(7 * random()), turn(7 * random())];
      yield { large, small, matrix: product(product(u, [large, 0, 0, small]), v), rotation: product(u, v) };
    }
  }
}

test('singular values are those that a matrix was made of', () => {
  const singularValues = of2((matrix) => matrix.singularValues, 2);
  // Equal values are 2e-9 apart.
  for (const { large, small, matrix } of made()) near(singularValues(matrix), [large, Math.abs(small)], 1.1e-9 * large * Math.SQRT2, 'singular values');
});

test('symmetric functions of singular values have their second derivatives where both are equal', () => {
  // Σ σ² + 1/σ² has at the unit matrix the gradient 0 and, along a symmetric change, 8 times its square; turning it changes nothing.
  const params = Array.from({ length: 4 }, () => V.W(0));
  const tape = tapeOf(params, (p) => {
    const [a, b] = Mat2.fromRows(new Vec2(p[0], p[1]), new Vec2(p[2], p[3])).singularValues;
    return V.sum([a.square(), b.square(), a.square().reciprocal(), b.square().reciprocal()]);
  });
  near(gradient(tape, [1, 0, 0, 1], (x) => x).gradient, [0, 0, 0, 0], 1e-7, 'gradient at the unit matrix');
  const [scaled] = [gradient(tape, [2, 0, 0, 2], (x) => x).gradient];
  // 2σ − 2/σ³ of each.
  near(scaled, [3.75, 0, 0, 3.75], 1e-7, 'gradient at twice the unit matrix');
});

test('the polar decomposition is the nearest rotation and a symmetric matrix', () => {
  const polar = of2((matrix) => [...flat(matrix.polar.rotation), ...flat(matrix.polar.stretch)], 8);
  for (const { large, small, matrix, rotation } of made()) {
    const found = polar(matrix);
    // With a negative determinant the nearest rotation is that of |σ₂| < σ₁ too.
    near(found.slice(0, 4), rotation, 1e-9, 'rotation');
    near(product(found.slice(0, 4), found.slice(4)), matrix, 1e-12 * large, 'product');
    near([found[5]], [found[6]], 1e-12 * large, 'a symmetric stretch');
    assert.ok(Math.abs(found[4] * found[7] - found[5] * found[6] - large * small) <= 1e-12 * large * large);
  }
  near(polar([1, 0, 0, -1]), [0, 0, 0, 0, 0, 0, 0, 0], 0, 'a reflection has no nearest rotation');
});

test('products, sums, determinants and inverses are those of arithmetic', () => {
  const random = randomNumbers(9);
  const inverse = of2((matrix) => [...flat(matrix.inverse), matrix.determinant, matrix.trace, matrix.squaredNorm], 7);
  for (let k = 0; k < 50; k++) {
    const matrix = Array.from({ length: 4 }, () => 2 * random() - 1);
    const [a, b, c, d] = matrix;
    const determinant = a * d - b * c;
    const found = inverse(matrix);
    near(product(found.slice(0, 4), matrix), [1, 0, 0, 1], 1e-13 / Math.abs(determinant), 'inverse');
    near(found.slice(4), [determinant, a + d, a * a + b * b + c * c + d * d], 1e-15, 'determinant, trace, squared norm');
  }
  const [m, n] = [Mat2.fromColumns(Vec2.C(1, 3), Vec2.C(2, 4)), Mat2.outer(Vec2.C(1, 2), Vec2.C(3, 5))];
  const numbers = (matrix) => flat(matrix).map((value) => evaluate(tapeOf([], () => value), []));
  assert.deepEqual(numbers(m), [1, 2, 3, 4]);
  assert.deepEqual(numbers(n), [3, 5, 6, 10]);
  assert.deepEqual(numbers(m.matmul(n)), product([1, 2, 3, 4], [3, 5, 6, 10]));
  assert.deepEqual(numbers(m.add(n).sub(n).mul(2).transpose()), [2, 6, 4, 8]);
  assert.deepEqual([...m.mulVec(Vec2.C(5, 6))].map((value) => evaluate(tapeOf([], () => value), [])), [17, 39]);
});

test('the inverse of a Mat3 times the matrix is the unit matrix', () => {
  const random = randomNumbers(11);
  const params = Array.from({ length: 9 }, () => V.W(0));
  const matrix = (p) => Mat3.fromColumns(...[0, 3, 6].map((i) => new Vec3(p[i], p[i + 1], p[i + 2])));
  const tapes = Array.from({ length: 9 }, (_, k) => tapeOf(params, (p) => flat(matrix(p).inverse.matmul(matrix(p)))[k]));
  const size = tapeOf(params, (p) => matrix(p).sub(Mat3.fromColumns(Vec3.C(1, 0, 0), Vec3.C(0, 1, 0), Vec3.C(0, 0, 1))).squaredNorm);
  const determinant = tapeOf(params, (p) => matrix(p).determinant);
  for (let k = 0; k < 50; k++) {
    const numbers = Array.from({ length: 9 }, () => 2 * random() - 1);
    const value = (tape) => gradient(tape, numbers, (x) => x).value;
    near(tapes.map(value), [1, 0, 0, 0, 1, 0, 0, 0, 1], 1e-13 / Math.abs(value(determinant)), 'product');
    near([value(size)], [numbers.reduce((sum, x, i) => sum + (x - (i % 4 === 0 ? 1 : 0)) ** 2, 0)], 1e-14, 'squared norm');
  }
});

/** A rotation by a unit quaternion that is drawn. */
function drawnRotation(random) {
  const q = Array.from({ length: 4 }, () => 2 * random() - 1);
  const length = Math.hypot(...q);
  const [w, x, y, z] = q.map((each) => each / length);
  return [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)];
}
const times3 = (a, b) => Array.from({ length: 9 }, (_, k) => [0, 1, 2].reduce((sum, l) => sum + a[3 * Math.floor(k / 3) + l] * b[3 * l + (k % 3)], 0));
const transpose3 = (a) => Array.from({ length: 9 }, (_, k) => a[3 * (k % 3) + Math.floor(k / 3)]);
const PARAMS9 = Array.from({ length: 9 }, () => V.W(0));
const mat3 = (p) => Mat3.fromRows(...[0, 3, 6].map((i) => new Vec3(p[i], p[i + 1], p[i + 2])));

test('the polar decomposition of a Mat3 is the nearest rotation and a symmetric matrix', () => {
  const random = randomNumbers(13);
  const tapes = Array.from({ length: 18 }, (_, k) => tapeOf(PARAMS9, (p) => [...flat(mat3(p).polar.rotation), ...flat(mat3(p).polar.stretch)][k]));
  const polar = (numbers) => tapes.map((tape) => gradient(tape, numbers, (x) => x).value);
  for (const [a, b, c] of [[3, 2, 1], [1, 1, 1], [2, 1, 1], [2, 2, 1e-3], [1, 1e-2, 1e-3], [1e5, 3e4, 2e4], [2e-7, 1e-7, 1e-7], [3, 2, -1], [1, 0.5, -0.4], [1, 1, 0], [1, 1, 1 - 1e-8]]) {
    for (let k = 0; k < 20; k++) {
      const [u, v] = [drawnRotation(random), drawnRotation(random)];
      const numbers = times3(times3(u, [a, 0, 0, 0, b, 0, 0, 0, c]), v);
      const found = polar(numbers);
      // The gap of the two smallest values divides errors of the root, and these in the rotation once more.
      const tolerance = 1e-14 * (a / (b + c)) ** 2;
      near(found.slice(0, 9), times3(u, v), tolerance, `rotation of ${[a, b, c]}`);
      const stretch = times3(times3(transpose3(v), [a, 0, 0, 0, b, 0, 0, 0, c]), v);
      near(found.slice(9), stretch, a * tolerance, `stretch of ${[a, b, c]}`);
    }
  }
  near(polar([1, 0, 0, 0, 1, 0, 0, 0, -1]), Array.from({ length: 18 }, () => 0), 0, 'no rotation is nearest to a reflection');
  near(polar(Array.from({ length: 9 }, () => 0)), Array.from({ length: 18 }, () => 0), 0, 'nor to 0');
});

test('the derivative of |A − R|² by a Mat3 is 2 (A − R), also where singular values are equal', () => {
  const random = randomNumbers(17);
  const energy = tapeOf(PARAMS9, (p) => mat3(p).sub(mat3(p).polar.rotation).squaredNorm);
  const sums = tapeOf(PARAMS9, (p) => mat3(p).polar.stretch.trace);
  for (const values of [[3, 2, 1], [1, 1, 1], [2, 1, 1], [2, 2, 1], [1, 0.5, -0.3]]) {
    for (let k = 0; k < 10; k++) {
      const [u, v] = [drawnRotation(random), drawnRotation(random)];
      const numbers = times3(times3(u, [values[0], 0, 0, 0, values[1], 0, 0, 0, values[2]]), v);
      const rotation = times3(u, v);
      // The same tolerance as of the rotation, times some entries.
      near(gradient(energy, numbers, (x) => x).gradient, numbers.map((x, i) => 2 * (x - rotation[i])), 1e-12, `${values}`);
      near(gradient(sums, numbers, (x) => x).gradient, rotation, 1e-12, `the sum of ${values} has the rotation for its derivative`);
    }
  }
});

test('the barrier is that of its formula, smooth at its range, and infinite from 0 down', () => {
  const tape = tapeOf([V.W(1)], ([d]) => V.barrier(d, 0.5));
  for (const d of [1e-9, 0.01, 0.2, 0.4999, 0.5, 0.7, 40]) {
    const { value, gradient: [slope] } = gradient(tape, [d], (x) => x);
    const inside = d < 0.5;
    near([value], [inside ? -((d - 0.5) ** 2) * Math.log(d / 0.5) : 0], 1e-15 * Math.max(1, value), `at ${d}`);
    const expected = inside ? -2 * (d - 0.5) * Math.log(d / 0.5) - (d - 0.5) ** 2 / d : 0;
    near([slope], [expected], 1e-14 * Math.max(1, Math.abs(expected)), `the slope at ${d}`);
  }
  for (const d of [0, -1e-9, -3]) assert.equal(gradient(tape, [d], (x) => x).value, Infinity);
});

test('wrong arguments are refused by name', () => {
  const m = Mat2.fromRows(Vec2.C(1, 2), Vec2.C(3, 4));
  const cases = [
    [() => Mat2.fromRows(Vec2.C(1, 2), Vec3.C(1, 2, 3)), /Mat2\.fromRows: b: .*takes a Vec2/],
    [() => Mat2.fromColumns(1, Vec2.C(1, 2)), /Mat2\.fromColumns: a: got 1; takes a Vec2/],
    [() => m.matmul(Vec2.C(1, 2)), /Mat2\.matmul: b: .*takes a Mat2/],
    [() => m.add(3), /Mat2\.add: b: got 3; takes a Mat2/],
    [() => m.mul('x'), /Mat2\.mul: s: got "x"/],
    [() => m.mulVec([1, 2]), /Mat2\.mulVec: v: .*takes a Vec2/],
    [() => V.barrier('near', 1), /V\.barrier: distance: got "near"/],
    [() => V.barrier(1, NaN), /V\.barrier: range: got NaN/],
  ];
  for (const [call, message] of cases) assert.throws(call, (error) => error.code === 'invalid-argument' && (message.test(error.message) || assert.fail(error.message)));
  assert.throws(() => m + 1, (error) => error.code === 'invalid-graph');
});
