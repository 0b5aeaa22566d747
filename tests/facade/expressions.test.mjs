/**
 * Composed expressions: vectors, mesh geometry, losses. Values are compared with their definitions, derivatives with differences;
 * degenerate shapes must give numbers, not NaN.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { geometry, Mat3, V, Vec2, Vec3, Vec4 } from '../../pkg-template/dist/index.js';
import { evaluate, gradient, randomNumbers, tapeOf } from './reference.mjs';

/** `build` takes points (of `dim` numbers each) and returns a Value; `expected` computes it from arrays of numbers. */
const CASES = [
  ['triangle area', 3, 3, (p) => geometry.triangleArea(...p), ([a, b, c]) => length(cross(minus(b, a), minus(c, a))) / 2],
  ['triangle normal', 3, 3, (p) => geometry.triangleNormal(...p).y, ([a, b, c]) => unit(cross(minus(b, a), minus(c, a)))[1]],
  ['interior angle', 3, 3, (p) => geometry.interiorAngle(...p), ([a, b, c]) => angle(minus(b, a), minus(c, a))],
  ['angle defect', 3, 5, ([center, ...ring]) => geometry.angleDefect(center, ring), ([center, ...ring]) => {
    const spokes = ring.map((vertex) => minus(vertex, center));
    return 2 * Math.PI - spokes.reduce((total, spoke, i) => total + angle(spoke, spokes[(i + 1) % spokes.length]), 0);
  }],
  ['dihedral angle', 3, 4, (p) => geometry.dihedralAngle(...p), ([a, b, c, d]) => {
    const [n1, n2] = [cross(minus(b, a), minus(c, a)), cross(minus(d, a), minus(b, a))];
    return Math.sign(dot(cross(n1, n2), minus(b, a))) * angle(n1, n2);
  }],
  ['centroid', 3, 4, (p) => geometry.centroid(p).z, (p) => p.reduce((total, q) => total + q[2], 0) / 4],
  ['distance to a plane', 3, 3, (p) => geometry.distanceToPlane(...p), ([p, o, n]) => dot(minus(p, o), unit(n))],
  ['distance to a line', 3, 3, (p) => geometry.distanceToLine(...p), ([p, a, b]) => length(cross(minus(p, a), unit(minus(b, a))))],
  ['angle between vectors', 3, 2, ([a, b]) => a.angleBetween(b), ([a, b]) => angle(a, b)],
  ['angle between vectors of the plane', 2, 2, ([a, b]) => a.angleBetween(b), ([a, b]) => Math.acos((a[0] * b[0] + a[1] * b[1]) / (Math.hypot(...a) * Math.hypot(...b)))],
  ['cross product of the plane', 2, 2, ([a, b]) => a.cross(b), ([a, b]) => a[0] * b[1] - a[1] * b[0]],
  ['perpendicular', 2, 2, ([a, b]) => a.perpendicular().dot(b), ([a, b]) => -a[1] * b[0] + a[0] * b[1]],
  ['lerp', 3, 2, ([a, b]) => a.lerp(b, 0.3).x, ([a, b]) => 0.7 * a[0] + 0.3 * b[0]],
  ['projection', 3, 2, ([a, b]) => a.project(b).x, ([a, b]) => (b[0] * dot(a, b)) / dot(b, b)],
  ['rejection', 3, 2, ([a, b]) => a.reject(b).dot(b).add(a.reject(b).y), ([a, b]) => a[1] - (b[1] * dot(a, b)) / dot(b, b)],
  ['distance', 3, 2, ([a, b]) => a.distance(b), ([a, b]) => length(minus(a, b))],
  ['quaternion product', 4, 2, ([a, b]) => a.quaternionMul(b).y, ([[aw, ax, ay, az], [bw, bx, by, bz]]) => aw * by - ax * bz + ay * bw + az * bx],
  ['quaternion rotation', 4, 2, ([q, v]) => q.normalized.rotate(new Vec3(v.x, v.y, v.z)).x, ([q, [, ...v]]) => {
    const [w, x, y, z] = unit(q);
    return (1 - 2 * (y * y + z * z)) * v[0] + 2 * (x * y - w * z) * v[1] + 2 * (x * z + w * y) * v[2];
  }],
  ['determinant', 3, 3, (p) => Mat3.fromRows(...p).determinant, ([a, b, c]) => dot(a, cross(b, c))],
  ['trace of a product', 3, 3, (p) => Mat3.fromRows(...p).matmul(Mat3.fromRows(...p).transpose()).trace, (p) => p.flat().reduce((t, x) => t + x * x, 0)],
  ['matrix times vector', 3, 3, ([a, b, c]) => Mat3.outer(a, b).mulVec(c).z, ([a, b, c]) => a[2] * dot(b, c)],
  ['Huber inside', 2, 1, ([p]) => V.huber(p.x, 5), ([[r]]) => (r * r) / 2],
  ['Huber outside', 2, 1, ([p]) => V.huber(p.x.add(10), 3), ([[r]]) => 3 * (r + 10 - 1.5)],
  ['Tukey inside', 2, 1, ([p]) => V.tukey(p.x), ([[r]]) => (4.685 ** 2 / 6) * (1 - (1 - (r / 4.685) ** 2) ** 3)],
  ['Tukey outside', 2, 1, ([p]) => V.tukey(p.x.add(9), 2).add(p.y), ([[, y]]) => 4 / 6 + y],
  ['mean squared error', 3, 1, ([p]) => V.mse([...p], [1, 2, 3]), ([p]) => ((p[0] - 1) ** 2 + (p[1] - 2) ** 2 + (p[2] - 3) ** 2) / 3],
  ['mean absolute error', 3, 1, ([p]) => V.mae([...p], [10, 20, 30]), ([p]) => (60 - p[0] - p[1] - p[2]) / 3],
  ['binary cross-entropy', 2, 1, ([p]) => V.binaryCrossEntropy([p.x.mul(0.1).add(0.5), p.y.mul(0.1).add(0.5)], [1, 0.25]), ([p]) => {
    const [a, b] = p.map((x) => 0.1 * x + 0.5);
    return -(Math.log(a) + 0.25 * Math.log(b) + 0.75 * Math.log(1 - b)) / 2;
  }],
  ['categorical cross-entropy', 3, 1, ([p]) => V.categoricalCrossEntropy([...p], [0.2, 0.5, 0.3]), ([p]) => {
    const total = Math.log(p.reduce((t, z) => t + Math.exp(z), 0));
    return 0.2 * (total - p[0]) + 0.5 * (total - p[1]) + 0.3 * (total - p[2]);
  }],
];

const SHAPES = { 2: Vec2, 3: Vec3, 4: Vec4 };
const minus = (a, b) => a.map((x, i) => x - b[i]);
const dot = (a, b) => a.reduce((total, x, i) => total + x * b[i], 0);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const length = (a) => Math.hypot(...a);
const unit = (a) => a.map((x) => x / length(a));
const angle = (a, b) => Math.acos(dot(a, b) / (length(a) * length(b)));

/** The tape of an expression of `count` points. */
function tapeOfPoints(dim, count, build) {
  const params = Array.from({ length: dim * count }, () => V.W(0));
  return tapeOf(params, (p) => build(Array.from({ length: count }, (_, i) => new SHAPES[dim](...p.slice(i * dim, (i + 1) * dim)))));
}

for (const [name, dim, count, build, expected] of CASES) {
  test(`${name}: the value agrees with its definition, the derivative with differences`, () => {
    const tape = tapeOfPoints(dim, count, build);
    const random = randomNumbers(5);
    for (let k = 0; k < 20; k++) {
      const x = Array.from({ length: dim * count }, () => 2 * random() - 1);
      const points = Array.from({ length: count }, (_, i) => x.slice(i * dim, (i + 1) * dim));
      const found = gradient(tape, x);
      // acos in the definitions loses half of the digits near 0 and π; the other tolerance is some roundings.
      assert.ok(Math.abs(found.value - expected(points)) < 1e-7, `${found.value}, not ${expected(points)}`);
      const size = Math.max(1, ...found.gradient.map(Math.abs));
      if (size > 100) continue; // nearly degenerate: the third derivative is large, and so is the error of differences
      const h = 1e-6;
      for (let i = 0; i < x.length; i++) {
        const at = (step) => evaluate(tape, x.with === undefined ? Object.assign([...x], { [i]: x[i] + step }) : x.with(i, x[i] + step));
        const difference = (at(h) - at(-h)) / (2 * h);
        // 1e-16/h of rounding and h² times a third derivative of up to size³.
        assert.ok(Math.abs(difference - found.gradient[i]) < 1e-8 + 1e-11 * size ** 3, `∂${i}: ${found.gradient[i]}, by differences ${difference}`);
      }
    }
  });
}

test('the dihedral angle is 0 when flat, positive when convex, negative when concave', () => {
  // The edge is along +y; C is to the left of it and D to the right, seen from above.
  const tape = tapeOfPoints(3, 4, (p) => geometry.dihedralAngle(...p));
  const at = (height) => evaluate(tape, [0, 0, 0, 0, 1, 0, -1, 0.5, height, 1, 0.5, height]);
  assert.equal(Math.abs(at(0)), 0);
  assert.ok(Math.abs(at(-1) - Math.PI / 2) < 1e-15, 'a roof of 90°');
  assert.ok(Math.abs(at(1) + Math.PI / 2) < 1e-15, 'a valley of 90°');
});

const ORIGIN = [0, 0, 0];
for (const [name, count, build, points] of [
  ['the area of a point', 3, (p) => geometry.triangleArea(...p), [ORIGIN, ORIGIN, ORIGIN]],
  ['the normal of a needle', 3, (p) => geometry.triangleNormal(...p).x, [ORIGIN, [1, 2, 3], [2, 4, 6]]],
  ['an interior angle without an arm', 3, (p) => geometry.interiorAngle(...p), [ORIGIN, ORIGIN, [1, 0, 0]]],
  ['an angle defect with a neighbour on the center', 4, ([c, ...ring]) => geometry.angleDefect(c, ring), [ORIGIN, ORIGIN, [1, 0, 0], [0, 1, 0]]],
  ['a dihedral angle over an edge without length', 4, (p) => geometry.dihedralAngle(...p), [ORIGIN, ORIGIN, [1, 0, 0], [0, 1, 0]]],
  ['a dihedral angle of a needle', 4, (p) => geometry.dihedralAngle(...p), [ORIGIN, [1, 0, 0], [2, 0, 0], [0, 1, 0]]],
  ['the distance to a plane without a normal', 3, (p) => geometry.distanceToPlane(...p), [[1, 2, 3], ORIGIN, ORIGIN]],
  ['the distance of a point on the line', 3, (p) => geometry.distanceToLine(...p), [[0.5, 0, 0], ORIGIN, [1, 0, 0]]],
  ['the distance to a line through one point', 3, (p) => geometry.distanceToLine(...p), [[1, 2, 3], ORIGIN, ORIGIN]],
  ['the length of the zero vector', 1, ([v]) => v.magnitude, [ORIGIN]],
  ['the zero vector normalised', 1, ([v]) => v.normalized.y, [ORIGIN]],
  ['a projection onto the zero vector', 2, ([a, b]) => a.project(b).x, [[1, 2, 3], ORIGIN]],
  ['the angle with the zero vector', 2, ([a, b]) => a.angleBetween(b), [[1, 2, 3], ORIGIN]],
]) {
  test(`${name} and its derivative are finite, in f32 too`, () => {
    const tape = tapeOfPoints(3, count, build);
    for (const round of [(x) => x, Math.fround]) {
      const found = gradient(tape, points.flat(), round);
      assert.ok([found.value, ...found.gradient].every(Number.isFinite), `${found.value}, ${found.gradient}`);
    }
  });
}

test('the distance to a line through one point is that to the point', () => {
  const tape = tapeOfPoints(3, 3, (p) => geometry.distanceToLine(...p));
  assert.equal(evaluate(tape, [1, 2, 2, 0, 0, 0, 0, 0, 0]), 3);
});

for (const [p, t, value, slope] of [
  [1, 1, 0, -1],
  [0, 0, 0, 1],
  [0.5, 0.5, Math.log(2), 0],
  [0.5, 1, Math.log(2), -2],
  [0.25, 0, Math.log(4 / 3), 4 / 3],
  // The slope of −t log p − (1 − t) log(1 − p) is (p − t)/(p (1 − p)).
  [2 ** -100, 1, 100 * Math.log(2), -(2 ** 100)],
  [2 ** -100, 0.5, 50 * Math.log(2), -(2 ** 99)],
  [1 - 2 ** -24, 0, 24 * Math.log(2), 2 ** 24],
  // Certain and wrong: the value at 2⁻¹²⁶, with gradient 0.
  [0, 1, 126 * Math.log(2), 0],
  [1, 0, 126 * Math.log(2), 0],
  // Outside of [0, 1]: the value at the nearer end, with gradient 0.
  [1.5, 1, 0, 0],
  [-0.5, 0, 0, 0],
]) {
  test(`the binary cross-entropy of ${p} with target ${t} is ${value}, its slope ${slope}, in f32 too`, () => {
    const tape = tapeOfPoints(2, 1, ([v]) => V.binaryCrossEntropy([v.x], [v.y.mul(0).add(t)]));
    // A few roundings in each precision, of the value or of the terms near 1 whose difference is the slope.
    for (const [round, tolerance] of [[(v) => v, 2 ** -50], [Math.fround, 2 ** -21]]) {
      const found = gradient(tape, [p, 0], round);
      assert.ok(Math.abs(found.value - value) <= tolerance * value, `${found.value}`);
      assert.ok(Math.abs(found.gradient[0] - slope) <= tolerance * Math.max(1, Math.abs(slope)), `${found.gradient[0]}`);
    }
  });
}

test('a NaN output makes the binary cross-entropy NaN for every target', () => {
  for (const t of [0, 0.5, 1]) {
    assert.ok(Number.isNaN(evaluate(tapeOfPoints(2, 1, ([p]) => V.binaryCrossEntropy([p.x], [t])), [NaN, 0])));
  }
});

test('cross-entropies are finite at certain outputs and large logits', () => {
  const certain = tapeOfPoints(2, 1, ([p]) => V.binaryCrossEntropy([p.x, p.y], [1, 0]));
  for (const x of [[1, 0], [0, 1]]) {
    for (const round of [(v) => v, Math.fround]) {
      const found = gradient(certain, x, round);
      assert.ok([found.value, ...found.gradient].every(Number.isFinite), `${x}: ${found.value}`);
    }
  }
  const large = tapeOfPoints(3, 1, ([p]) => V.categoricalCrossEntropy([...p], [0, 1, 0]));
  const found = gradient(large, [1000, -1000, 0]);
  assert.equal(found.value, 2000);
  assert.deepEqual([...found.gradient].map((d) => Math.round(d)), [1, -1, 0]);
});

test('vectors iterate over their coordinates in order', () => {
  const numbers = (vector) => [...vector].map((value) => value.data);
  assert.deepEqual(numbers(Vec2.C(1, 2)), [1, 2]);
  assert.deepEqual(numbers(Vec3.W(1, 2, 3)), [1, 2, 3]);
  assert.deepEqual(numbers(Vec4.C(1, 2, 3, 4)), [1, 2, 3, 4]);
});
