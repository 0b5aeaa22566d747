/**
 * Rotations and poses: values against matrices, derivatives against differences, the shorter way of the logarithm, and the neighbourhood of
 * the identity.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mat3, Pose2, Pose3, Rotation2, Rotation3, V, Vec2, Vec3, Vec4 } from '../../pkg-template/dist/index.js';
import { evaluate, gradient, randomNumbers, tapeOf } from './reference.mjs';

/** The numbers of a list of Values at `x`. */
const numbers = (count, x, build) => {
  const params = Array.from({ length: x.length }, () => V.W(0));
  return Array.from({ length: count }, (_, i) => evaluate(tapeOf(params, (p) => [...build(p)][i]), x));
};
const close = (found, expected, tolerance, what) => {
  found.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) <= tolerance, `${what}: ${found}, not ${expected}`));
};
const unit = (a) => a.map((x) => x / Math.hypot(...a));
const matmul = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));
const rows = ({ rows: [a, b, c] }) => [...a, ...b, ...c];

/** exp of a square matrix, by scaling, a series and squaring. */
function matrixExp(a) {
  const n = a.length;
  const identity = a.map((_, i) => a.map((_, j) => Number(i === j)));
  let [sum, term] = [identity, identity];
  for (let k = 1; k < 25; k++) {
    term = matmul(term, a).map((row) => row.map((x) => x / (1024 * k)));
    sum = sum.map((row, i) => row.map((x, j) => x + term[i][j]));
  }
  for (let k = 0; k < 10; k++) sum = matmul(sum, sum);
  return sum.length === n ? sum : [];
}
const skew = ([x, y, z]) => [[0, -z, y], [z, 0, -x], [-y, x, 0]];
const se3 = ([a, b, c, x, y, z]) => [...skew([a, b, c]).map((row, i) => [...row, [x, y, z][i]]), [0, 0, 0, 0]];
const se2 = ([t, x, y]) => [[0, -t, x], [t, 0, y], [0, 0, 0]];

const random = randomNumbers(11);
const vector = (size, count = 3) => Array.from({ length: count }, () => size * (2 * random() - 1));
/** Angles from 0 to almost π, on both sides of every bound of a series. */
const TURNS = [0, 1e-20, 1e-9, 1e-4, 0.0316, 0.3, 0.316, 0.317, 1, 2, 3.1, 3.14].map((angle) => unit(vector(1)).map((x) => x * angle));

test('exp of an angle-axis vector is the exponential of its matrix, and log its inverse', () => {
  for (const turn of TURNS) {
    const found = numbers(9, turn, (p) => rows(Rotation3.exp(new Vec3(...p)).toMatrix()));
    // The squarings of the reference cost 2¹⁰ roundings.
    close(found, matrixExp(skew(turn)).flat(), 1e-12, `exp ${turn}`);
    close(numbers(3, turn, (p) => Rotation3.exp(new Vec3(...p)).log()), turn, 1e-15 * 16, `log exp ${turn}`);
    close(numbers(3, turn, (p) => Rotation3.fromAngleAxis(new Vec3(...p)).toAngleAxis()), turn, 1e-15 * 16, 'the same by other names');
  }
});

test('log takes the shorter way: a quaternion and its negative have one logarithm', () => {
  for (const turn of TURNS) {
    const negative = (p) => {
      const { w, x, y, z } = Rotation3.exp(new Vec3(...p)).quaternion;
      return new Rotation3(new Vec4(w.neg(), x.neg(), y.neg(), z.neg())).log();
    };
    close(numbers(3, turn, negative), turn, 1e-15 * 16, `${turn}`);
  }
  // By 4 about an axis is by 2π − 4 the other way.
  close(numbers(3, [4, 0, 0], (p) => Rotation3.exp(new Vec3(...p)).log()), [4 - 2 * Math.PI, 0, 0], 1e-15, 'more than π');
  close(numbers(3, [Math.PI, 0, 0], (p) => Rotation3.fromAxis(Vec3.C(1, 0, 0), p[0]).log()), [Math.PI, 0, 0], 1e-15, 'π itself');
});

test('the logarithm of a pose is the inverse of its exponential, which is that of its matrix', () => {
  for (const turn of TURNS) {
    const tangent = [...turn, ...vector(3)];
    const reference = matrixExp(se3(tangent));
    const found = numbers(12, tangent, (p) => {
      const { rotation, translation } = Pose3.exp(p);
      return [...rows(rotation.toMatrix()), ...translation];
    });
    close(found, [0, 1, 2].flatMap((i) => reference[i].slice(0, 3)).concat([0, 1, 2].map((i) => reference[i][3])), 1e-11, `exp ${tangent}`);
    // 1 − (θ/2) cot(θ/2) cancels above the bound of its series, where θ² is 0.1: ten roundings of numbers up to 3.
    close(numbers(6, tangent, (p) => Pose3.exp(p).log()), tangent, 1e-14, `log exp ${tangent}`);
  }
  for (const angle of [0, 1e-20, -1e-9, 1e-4, 0.3, -0.316, 0.317, -2, 3.1]) {
    const tangent = [angle, ...vector(3, 2)];
    const reference = matrixExp(se2(tangent));
    const pose = numbers(6, tangent, (p) => {
      const { rotation, translation } = Pose2.exp(p);
      return [...rotation.toMatrix().flatMap((row) => [...row]), ...translation];
    });
    close(pose, [...reference[0].slice(0, 2), ...reference[1].slice(0, 2), reference[0][2], reference[1][2]], 1e-11, `exp ${tangent}`);
    close(numbers(3, tangent, (p) => Pose2.exp(p).log()), tangent, 1e-14, `log exp ${tangent}`);
  }
});

/** Expressions of 14 numbers, two poses in space, or of 6, two poses in the plane. */
const CASES = [
  ['compose, in space', 14, (a, b) => a.compose(b)],
  ['inverse, in space', 14, (a) => a.inverse()],
  ['between, in space', 14, (a, b) => a.between(b)],
  ['log of between, in space', 14, (a, b) => a.between(b).log()],
  ['act, in space', 14, (a, b) => a.act(b.translation)],
  ['a rotation from its matrix', 14, (a) => Rotation3.fromMatrix(a.rotation.toMatrix())],
  ['exp, in space', 14, (a, b) => Pose3.exp([...a.translation, ...b.translation])],
  ['compose, in the plane', 6, (a, b) => a.compose(b)],
  ['inverse, in the plane', 6, (a) => a.inverse()],
  ['between, in the plane', 6, (a, b) => a.between(b)],
  ['log of between, in the plane', 6, (a, b) => a.between(b).log()],
  ['act, in the plane', 6, (a, b) => a.act(b.translation)],
  ['exp, in the plane', 6, (a, b) => Pose2.exp([...a.translation, b.translation.x])],
];
const posesOf = (p) => (p.length === 14 ? [Pose3.fromBlock(p.slice(0, 7)), Pose3.fromBlock(p.slice(7))] : [Pose2.fromBlock(p.slice(0, 3)), Pose2.fromBlock(p.slice(3))]);

/** Numbers of two poses: at random, equal, nearly equal, and at the identity. */
function points(size) {
  const half = size / 2;
  const one = () => (size === 14 ? [...unit(vector(1, 4)), ...vector(2)] : [3 * random(), ...vector(2, 2)]);
  const rest = size === 14 ? [1, 0, 0, 0, 0, 0, 0] : [0, 0, 0];
  const a = one();
  const nudged = a.map((x) => x + 1e-7 * random());
  return [[...one(), ...one()], [...one(), ...one()], [...a, ...a], [...a, ...nudged], [...rest, ...rest], Array.from({ length: 2 * half }, (_, i) => rest[i % half])];
}

for (const [name, size, build] of CASES) {
  test(`${name}: derivatives are those by differences, also at the identity, and finite in f32`, () => {
    const params = Array.from({ length: size }, () => V.W(0));
    const outputs = tapeOf(params, (p) => V.C([...build(...posesOf(p))].length)).constants[0];
    for (let output = 0; output < outputs; output++) {
      const tape = tapeOf(params, (p) => [...build(...posesOf(p))][output]);
      for (const x of points(size)) {
        const found = gradient(tape, x);
        for (let i = 0; i < size; i++) {
          const h = 1e-5;
          const at = (step) => evaluate(tape, x.map((number, k) => (k === i ? number + step : number)));
          const difference = (at(h) - at(-h)) / (2 * h);
          // h² times third derivatives of up to about 30, and 1e-15/h of rounding.
          assert.ok(Math.abs(found.gradient[i] - difference) < 1e-8, `output ${output} by ${i} at ${x}: ${found.gradient[i]}, by differences ${difference}`);
        }
        const single = gradient(tape, x.map(Math.fround), Math.fround);
        assert.ok([single.value, ...single.gradient].every(Number.isFinite), `f32 at ${x}: ${single.value}, ${single.gradient}`);
        // Closed forms cancel by θ² = 0.1 at most: some hundred roundings of 6e-8.
        single.gradient.forEach((d, i) => assert.ok(Math.abs(d - found.gradient[i]) < 1e-3, `f32 at ${x}: ∂${i} ${d}, in f64 ${found.gradient[i]}`));
      }
    }
  });
}

test('algebra: between and compose, inverse, and the action on points agree', () => {
  for (const size of [14, 6]) {
    for (const x of points(size).slice(0, 4)) {
      const count = size / 2;
      const [b, again] = [(p) => posesOf(p)[1], (p) => posesOf(p)[0].compose(posesOf(p)[0].between(posesOf(p)[1]))];
      // Quaternions of unit length to 1e-7 in one of the points.
      close(numbers(count, x, again), numbers(count, x, b), 1e-6, 'a (a⁻¹ b) is b');
      const there = (p) => posesOf(p)[0].inverse().act(posesOf(p)[0].act(posesOf(p)[1].translation));
      const dimension = size === 14 ? 3 : 2;
      close(numbers(dimension, x, there), numbers(dimension, x, (p) => posesOf(p)[1].translation), 1e-6, 'there and back');
    }
  }
});

test('matrices: rotations in each of the four cases come back, those of the plane too', () => {
  for (const q of [[1, 0.1, 0.2, 0.3], [0.1, 1, -0.2, 0.3], [0.1, 0.2, 1, 0.3], [-0.1, 0.2, 0.3, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]) {
    const x = unit(q);
    const found = numbers(4, x, (p) => Rotation3.fromMatrix(new Rotation3(new Vec4(...p)).toMatrix()));
    const sign = Math.sign(found.reduce((sum, n, i) => sum + n * x[i], 0));
    close(found.map((n) => sign * n), x, 1e-15 * 8, `${x}`);
  }
  for (const angle of [-3, -1, 0, 2]) close(numbers(1, [angle], ([a]) => Rotation2.fromMatrix(...new Rotation2(a).toMatrix())), [angle], 1e-15, `${angle}`);
});

test('a rotation of the plane reports its angle within half a turn', () => {
  for (const [angle, expected] of [[0, 0], [3, 3], [4, 4 - 2 * Math.PI], [-4, 2 * Math.PI - 4], [100, 100 - 32 * Math.PI]]) {
    // 100 radians are rounded to 1.4e-14.
    close(numbers(1, [angle], ([a]) => [new Rotation2(a).log()]), [expected], 3e-14, `${angle}`);
  }
});

test('identities move nothing, and blocks are read by position', () => {
  assert.deepEqual(numbers(7, [0], () => Pose3.identity()), [1, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(numbers(3, [0], () => Pose2.identity()), [0, 0, 0]);
  assert.deepEqual(numbers(4, [0], () => Rotation3.identity()), [1, 0, 0, 0]);
  assert.deepEqual(numbers(1, [0], () => Rotation2.identity()), [0]);
  const pose = Pose3.fromBlock([1, 0, 0, 0, 5, 6, 7]);
  assert.equal(pose.at(4), pose.translation.x);
  assert.equal(pose.length, 7);
  assert.throws(() => pose.at(7), /position in a Pose3: got 7; takes a position from 0 to 6/);
});

test('wrong operands are named', () => {
  const [rotation, pose, v] = [Rotation3.identity(), Pose3.identity(), Vec3.C(1, 2, 3)];
  for (const [call, message] of [
    [() => new Rotation3([1, 0, 0, 0]), 'Rotation3: quaternion: got an array of 4; takes a Vec4'],
    [() => rotation.compose(pose), 'Rotation3.compose: b: got a Pose3; takes a Rotation3'],
    [() => rotation.act(Vec2.C(1, 2)), 'Rotation3.act: v: got a Vec2; takes a Vec3'],
    [() => Rotation3.fromMatrix(v), 'Rotation3.fromMatrix: matrix: got a Vec3; takes a Mat3'],
    [() => pose.between(rotation), 'Pose3.between: b: got a Rotation3; takes a Pose3'],
    [() => Pose3.fromBlock([1, 2, 3]), 'Pose3.fromBlock: block: got 3 entries; takes 7 Values and numbers'],
    [() => Pose3.exp(7), 'Pose3.exp: tangent: got 7; takes a list of 6 Values and numbers'],
    [() => Pose2.fromBlock([1, 'x', 3]), 'Pose2.fromBlock: block[1]: got "x"; takes a Value or a number that is not NaN'],
    [() => new Pose2(rotation, Vec2.C(0, 0)), 'Pose2: rotation: got a Rotation3; takes a Rotation2'],
    [() => new Rotation2('x'), 'Rotation2: angle: got "x"; takes a Value or a number that is not NaN'],
    [() => Mat3.fromRows(v, v, v).rows[0].at(3), 'position in a Vec3: got 3; takes a position from 0 to 2: it has 3 numbers'],
  ]) {
    assert.throws(call, (error) => error.code === 'invalid-argument' && error.message === message, message);
  }
});
