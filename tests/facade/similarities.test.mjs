/** Similarities, interpolation and splines: values against matrices, derivatives against differences, and the neighbourhood of the identity. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pose2, Pose3, poseSpline, Problem, Rotation2, Rotation3, Sim2, Sim3, V, Vec2, Vec3, Vec4 } from '../../pkg-template/dist/index.js';
import { evaluate, gradient, randomNumbers, tapeOf } from './reference.mjs';

/** How many Values `build` gives. */
const countOf = (params, build) => {
  let count = 0;
  tapeOf(params, (p) => {
    count = [...build(p)].length;
    return V.C(0);
  });
  return count;
};
/** The numbers of a list of Values at `x`. */
const numbers = (x, build) => {
  const params = Array.from({ length: x.length }, () => V.W(0));
  const count = countOf(params, build);
  return Array.from({ length: count }, (_, i) => evaluate(tapeOf(params, (p) => [...build(p)][i]), x));
};
const close = (found, expected, tolerance, what) => {
  assert.equal(found.length, expected.length, what);
  found.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) <= tolerance, `${what}: ${found}, not ${expected}`));
};
const unit = (a) => a.map((x) => x / Math.hypot(...a));
const random = randomNumbers(29);
const vector = (size, count = 3) => Array.from({ length: count }, () => size * (2 * random() - 1));
const matmul = (a, b) => a.map((row) => b[0].map((_, j) => row.reduce((sum, x, k) => sum + x * b[k][j], 0)));

/** exp of a square matrix, by scaling, a series and squaring. */
function matrixExp(a) {
  const identity = a.map((_, i) => a.map((_, j) => Number(i === j)));
  let [sum, term] = [identity, identity];
  for (let k = 1; k < 25; k++) {
    term = matmul(term, a).map((row) => row.map((x) => x / (64 * k)));
    sum = sum.map((row, i) => row.map((x, j) => x + term[i][j]));
  }
  for (let k = 0; k < 6; k++) sum = matmul(sum, sum);
  return sum;
}
const sim3 = ([a, b, c, x, y, z, s]) => [[s, -c, b, x], [c, s, -a, y], [-b, a, s, z], [0, 0, 0, 0]];
const sim2 = ([t, x, y, s]) => [[s, -t, x], [t, s, y], [0, 0, 0]];
/** The images of the corners of a frame, which tell a motion. */
const frame3 = (motion) => [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]].flatMap((v) => [...motion.act(Vec3.C(...v))]);
const frame2 = (motion) => [[0, 0], [1, 0], [0, 1]].flatMap((v) => [...motion.act(Vec2.C(...v))]);

const ANGLES = [0, 1e-20, 1e-9, 1e-4, 0.03, 0.3, 0.316, 0.317, 0.49, 0.51, 1, 2, 3.1];
const SCALES = [0, 1e-20, -1e-9, 1e-4, -0.03, 0.3, -0.4, 0.49, -0.51, 1, -2, 3];

test('exp of a tangent is the exponential of its matrix, and log its inverse, for all sizes of turns and scales', () => {
  for (const angle of ANGLES) {
    for (const sigma of SCALES) {
      const turn = unit(vector(1)).map((x) => x * angle);
      const tangent = [...turn, ...vector(2), sigma];
      const reference = matrixExp(sim3(tangent));
      const corners = [0, 1, 2, 3].flatMap((corner) => [0, 1, 2].map((i) => reference[i][3] + (corner === 0 ? 0 : reference[i][corner - 1])));
      // Scales of up to e³, by the 2⁶ roundings of the reference's squarings.
      close(numbers(tangent, (p) => frame3(Sim3.exp(p))), corners, 1e-12, `exp ${tangent}`);
      // Closed forms lose a factor of 25 at most; a scale of e⁻² to e³ divides and multiplies numbers of a few units.
      close(numbers(tangent, (p) => Sim3.exp(p).log()), tangent, 2e-13, `log exp ${tangent}`);
      const flat = [random() < 0.5 ? -angle : angle, ...vector(2, 2), sigma];
      const plane = matrixExp(sim2(flat));
      close(numbers(flat, (p) => frame2(Sim2.exp(p))), [0, 1, 2].flatMap((corner) => [0, 1].map((i) => plane[i][2] + (corner === 0 ? 0 : plane[i][corner - 1]))), 1e-12, `exp ${flat}`);
      close(numbers(flat, (p) => Sim2.exp(p).log()), flat, 2e-13, `log exp ${flat}`);
    }
  }
});

test('a similarity of scale 1 is a pose', () => {
  for (const angle of ANGLES) {
    const tangent = [...unit(vector(1)).map((x) => x * angle), ...vector(2)];
    close(numbers(tangent, (p) => [...Sim3.exp([...p, 0])].slice(0, 7)), numbers(tangent, (p) => Pose3.exp(p)), 1e-14, `${tangent}`);
    const flat = [angle, ...vector(2, 2)];
    close(numbers(flat, (p) => [...Sim2.exp([...p, 0])].slice(0, 3)), numbers(flat, (p) => Pose2.exp(p)), 1e-14, `${flat}`);
  }
});

/** Two motions of each kind from one list of numbers. */
const KINDS = {
  Rotation2: { size: 1, make: ([angle]) => new Rotation2(angle), rest: [0], one: () => vector(1, 1), corners: frame2 },
  Rotation3: { size: 4, make: (p) => new Rotation3(new Vec4(...p)), rest: [1, 0, 0, 0], one: () => unit(vector(1, 4)), corners: frame3 },
  Pose2: { size: 3, make: (p) => Pose2.fromBlock(p), rest: [0, 0, 0], one: () => vector(1), corners: frame2 },
  Pose3: { size: 7, make: (p) => Pose3.fromBlock(p), rest: [1, 0, 0, 0, 0, 0, 0], one: () => [...unit(vector(1, 4)), ...vector(2)], corners: frame3 },
  Sim2: { size: 4, make: (p) => Sim2.fromBlock(p), rest: [0, 0, 0, 0], one: () => vector(1, 4), corners: frame2 },
  Sim3: { size: 8, make: (p) => Sim3.fromBlock(p), rest: [1, 0, 0, 0, 0, 0, 0, 0], one: () => [...unit(vector(1, 4)), ...vector(1, 4)], corners: frame3 },
};

/** Numbers of two motions: at random, equal, nearly equal, and at the identity. */
function pairs({ one, rest }) {
  const a = one();
  return [[...one(), ...one()], [...a, ...a], [...a, ...a.map((x) => x + 1e-7 * random())], [...rest, ...rest]];
}

/** Compares derivatives with differences. Entries of `x` from `free` on are not varied. */
function checkDerivatives(x, build, what) {
  const params = Array.from({ length: x.length }, () => V.W(0));
  const count = countOf(params, build);
  for (let output = 0; output < count; output++) {
    const tape = tapeOf(params, (p) => [...build(p)][output]);
    const found = gradient(tape, x);
    for (let i = 0; i < x.length; i++) {
      const h = 1e-5;
      const at = (step) => evaluate(tape, x.map((number, k) => (k === i ? number + step : number)));
      const difference = (at(h) - at(-h)) / (2 * h);
      // h² times third derivatives of up to some hundred, and 1e-14/h of rounding.
      assert.ok(Math.abs(found.gradient[i] - difference) < 2e-8 * (1 + Math.abs(difference)), `${what}, output ${output} by ${i} at ${x}: ${found.gradient[i]}, by differences ${difference}`);
    }
    const single = gradient(tape, x.map(Math.fround), Math.fround);
    assert.ok([single.value, ...single.gradient].every(Number.isFinite), `${what}, f32 at ${x}: ${single.value}, ${single.gradient}`);
    single.gradient.forEach((d, i) => assert.ok(Math.abs(d - found.gradient[i]) < 2e-3 * (1 + Math.abs(d)), `${what}, f32 at ${x}: ∂${i} ${d}, in f64 ${found.gradient[i]}`));
  }
}

for (const name of ['Sim2', 'Sim3']) {
  const { size, make } = KINDS[name];
  for (const [what, build] of [
    ['compose', (a, b) => a.compose(b)],
    ['inverse', (a) => a.inverse()],
    ['between', (a, b) => a.between(b)],
    ['log of between', (a, b) => a.between(b).log()],
    ['exp', (a) => a.constructor.exp([...a].slice(size === 8 ? 1 : 0))],
    ['act', (a, b) => a.act(b.translation)],
  ]) {
    test(`${name}: derivatives of ${what} are those by differences, also at the identity, and finite in f32`, () => {
      for (const x of pairs(KINDS[name])) checkDerivatives(x, (p) => build(make(p.slice(0, size)), make(p.slice(size))), what);
    });
  }

  test(`${name}: compose, inverse, between and the action on points agree`, () => {
    const { one, corners } = KINDS[name];
    const x = [...one(), ...one()];
    const two = (p) => [make(p.slice(0, size)), make(p.slice(size))];
    const expected = numbers(x, (p) => corners(two(p)[1]));
    close(numbers(x, (p) => corners(two(p)[0].compose(two(p)[0].between(two(p)[1])))), expected, 1e-14, 'a (a⁻¹ b) is b');
    close(numbers(x, (p) => corners(two(p)[0].inverse().compose(two(p)[0]).compose(two(p)[1]))), expected, 1e-14, 'a⁻¹ a b is b');
    const point = name === 'Sim3' ? Vec3.C(1, 2, 3) : Vec2.C(1, 2);
    close(numbers(x, (p) => two(p)[0].compose(two(p)[1]).act(point)), numbers(x, (p) => two(p)[0].act(two(p)[1].act(point))), 1e-14, '(a b) p is a (b p)');
  });
}

for (const [name, { size, make, one, corners, ...kind }] of Object.entries(KINDS)) {
  test(`${name}.interpolate goes from one to the other with a constant motion`, () => {
    const x = [...one(), ...one(), 0];
    const at = (t) => numbers([...x.slice(0, -1), t], (p) => corners(make(p.slice(0, size)).interpolate(make(p.slice(size, 2 * size)), p[2 * size])));
    close(at(0), numbers(x, (p) => corners(make(p.slice(0, size)))), 1e-14, 'at 0');
    close(at(1), numbers(x, (p) => corners(make(p.slice(size, 2 * size)))), 1e-13, 'at 1');
    // The same motion twice: from 0 to ½ and from ½ to 1.
    const halves = numbers(x, (p) => {
      const [a, b] = [make(p.slice(0, size)), make(p.slice(size, 2 * size))];
      const half = a.interpolate(b, 0.5);
      return corners(half.compose(a.between(half)));
    });
    close(halves, at(1), 1e-13, 'twice a half');
  });

  test(`${name}.interpolate has right derivatives, also between equal ones`, () => {
    for (const x of pairs({ one, ...kind })) {
      for (const t of [0, 0.3, 1]) checkDerivatives([...x, t], (p) => make(p.slice(0, size)).interpolate(make(p.slice(size, 2 * size)), p[2 * size]), 'interpolate');
    }
  });
}

for (const name of ['Pose2', 'Pose3']) {
  const { size, make, one, rest, corners } = KINDS[name];
  const controlsOf = (p) => [0, 1, 2, 3].map((k) => make(p.slice(k * size, (k + 1) * size)));

  test(`a spline of ${name} is the uniform cubic B-spline where nothing turns`, () => {
    const places = Array.from({ length: 4 }, () => vector(3));
    const x = places.flatMap((place) => [...rest.slice(0, size === 7 ? 4 : 1), ...place.slice(0, size === 7 ? 3 : 2)]);
    for (const u of [0, 0.25, 1]) {
      const basis = [(1 - u) ** 3, 3 * u ** 3 - 6 * u ** 2 + 4, -3 * u ** 3 + 3 * u ** 2 + 3 * u + 1, u ** 3].map((b) => b / 6);
      const expected = places[0].map((_, i) => places.reduce((sum, place, k) => sum + basis[k] * place[i], 0)).slice(0, size === 7 ? 3 : 2);
      close(numbers(x, (p) => poseSpline.pose(controlsOf(p), u).translation), expected, 1e-14, `u = ${u}`);
    }
  });

  test(`a spline of ${name} goes on from one interval to the next, with its velocity and acceleration`, () => {
    const x = Array.from({ length: 5 }, one).flat();
    const first = (p) => [0, 1, 2, 3].map((k) => make(p.slice(k * size, (k + 1) * size)));
    const second = (p) => [1, 2, 3, 4].map((k) => make(p.slice(k * size, (k + 1) * size)));
    close(numbers(x, (p) => corners(poseSpline.pose(first(p), 1))), numbers(x, (p) => corners(poseSpline.pose(second(p), 0))), 1e-13, 'pose');
    close(numbers(x, (p) => poseSpline.velocity(first(p), 1, 0.5)), numbers(x, (p) => poseSpline.velocity(second(p), 0, 0.5)), 1e-12, 'velocity');
    const slope = (controls, u, h) => numbers(x, (p) => poseSpline.velocity(controls(p), u + h, 1)).map((v, i) => (v - numbers(x, (p) => poseSpline.velocity(controls(p), u, 1))[i]) / h);
    // One-sided differences of step 1e-6 have an error of 1e-6 times the third derivatives, which differ.
    close(slope(first, 1, -1e-6), slope(second, 0, 1e-6), 1e-4, 'acceleration');
  });

  test(`the velocity of a spline of ${name} is the derivative of its pose, in the frame of the pose`, () => {
    const x = Array.from({ length: 4 }, one).flat();
    for (const u of [0, 0.4, 1]) {
      const [h, spacing] = [1e-4, 0.2];
      const found = numbers(x, (p) => poseSpline.velocity(controlsOf(p), u, spacing));
      const moved = numbers(x, (p) => poseSpline.pose(controlsOf(p), u - h).between(poseSpline.pose(controlsOf(p), u + h)).log());
      // h² times third derivatives of up to a hundred.
      close(found, moved.map((entry) => entry / (2 * h * spacing)), 1e-5, `u = ${u}`);
    }
    // Equal steps of one motion have a constant velocity.
    const motion = vector(0.5, size === 7 ? 6 : 3);
    const powers = (p) => [0, 1, 2, 3].map((k) => (size === 7 ? Pose3 : Pose2).exp(p.map((entry) => entry.mul(k))));
    for (const u of [0, 0.7]) close(numbers(motion, (p) => poseSpline.velocity(powers(p), u, 2)), motion.map((entry) => entry / 2), 1e-14, 'constant');
  });

  test(`derivatives of a spline of ${name} are those by differences, also at equal poses`, () => {
    const a = one();
    for (const x of [Array.from({ length: 4 }, one).flat(), [...a, ...a, ...a, ...a], [...rest, ...rest, ...rest, ...rest]]) {
      // Poses near each other, as control poses are: a half turn between two has no derivative.
      const close = x.map((entry, i) => (i < size ? entry : x[i % size] + 0.3 * (entry - x[i % size])));
      checkDerivatives([...close, 0.3], (p) => poseSpline.pose(controlsOf(p), p[4 * size]), 'pose');
      checkDerivatives([...close, 0.3, 0.5], (p) => poseSpline.velocity(controlsOf(p), p[4 * size], p[4 * size + 1]), 'velocity');
    }
  });
}

test('arrays of similarities have the manifold of each part, and reach residual functions as Sim2 and Sim3', () => {
  const problem = new Problem();
  const [plane, space] = [problem.similarities('plane', { dim: 2, values: [0, 1, 2, 0.5] }), problem.similarities('space', { dim: 3, values: [1, 0, 0, 0, 1, 2, 3, 0.5] })];
  assert.deepEqual([plane.dim, space.dim], [4, 8]);
  let seen;
  problem.residuals('r', { inputs: { a: plane.shared(), b: space.shared() }, residual: ({ a, b }) => (seen = [a, b], [a.logScale, b.logScale]) });
  assert.ok(seen[0] instanceof Sim2 && seen[1] instanceof Sim3);
  assert.throws(() => problem.similarities('x', { dim: 4, values: [1] }), /similarities "x": dim: got 4; takes 2 for the plane or 3 for space/);
  assert.throws(() => problem.similarities('x', { dim: 3, values: [1, 2] }), /similarities "x": values: got 2 numbers; takes a positive multiple of 8/);
});

test('identities move nothing, scales are positive, and wrong operands are named', () => {
  assert.deepEqual(numbers([0], () => Sim3.identity()), [1, 0, 0, 0, 0, 0, 0, 0]);
  assert.deepEqual(numbers([0], () => Sim2.identity()), [0, 0, 0, 0]);
  assert.deepEqual(numbers([Math.log(5)], ([s]) => [Sim2.fromBlock([0, 0, 0, s]).scale, Sim3.fromBlock([1, 0, 0, 0, 0, 0, 0, s]).scale]).map((x) => Math.round(1e12 * x) / 1e12), [5, 5]);
  const [similarity, flat, pose] = [Sim3.identity(), Sim2.identity(), Pose3.identity()];
  assert.equal(similarity.at(7), similarity.logScale);
  assert.deepEqual([similarity.length, flat.length, `${similarity}`], [8, 4, 'a Sim3']);
  for (const [call, message] of [
    [() => similarity.compose(pose), 'Sim3.compose: b: got a Pose3; takes a Sim3'],
    [() => similarity.between(flat), 'Sim3.between: b: got a Sim2; takes a Sim3'],
    [() => flat.interpolate(similarity, 0), 'Sim2.interpolate: b: got a Sim3; takes a Sim2'],
    [() => similarity.interpolate(similarity, 'x'), 'Sim3.interpolate: t: got "x"; takes a Value or a number that is not NaN'],
    [() => Sim3.fromBlock([1, 2]), 'Sim3.fromBlock: block: got 2 entries; takes 8 Values and numbers'],
    [() => Sim2.exp([1, 2, 3]), 'Sim2.exp: tangent: got 3 entries; takes 4 Values and numbers'],
    [() => new Sim3(pose.rotation, pose.translation), 'Sim3: logScale: got undefined; takes a Value or a number that is not NaN'],
    [() => flat.act(Vec3.C(1, 2, 3)), 'Sim2.act: v: got a Vec3; takes a Vec2'],
    [() => poseSpline.pose([pose, pose, pose], 0), 'poseSpline.pose: controls: got an array of 3; takes an array of 4 poses'],
    [() => poseSpline.pose([pose, pose, pose, Pose2.identity()], 0), 'poseSpline.pose: controls[3]: got a Pose2; takes a Pose3, as the first'],
    [() => poseSpline.velocity([flat, flat, flat, flat], 0, 1), 'poseSpline.velocity: controls[0]: got a Sim2; takes a Pose2 or a Pose3'],
  ]) {
    assert.throws(call, (error) => error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message)));
  }
});
