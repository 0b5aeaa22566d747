/** Lenses: pixels against OpenCV's, expressions against numbers, derivatives against differences, directions of pixels and their folds. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lenses } from '../../pkg-template/dist/cameras.js';
import { V, Vec2, Vec3 } from '../../pkg-template/dist/index.js';
import { evaluate, gradient, randomNumbers, tapeOf } from './reference.mjs';

const K = [500, 510, 320, 240];
/** Parameters of each lens with a distortion of some 20 %. */
const CAMERAS = [
  ['pinhole', K],
  ['radialTangential', [...K, -0.28, 0.07, 0.0012, -0.0007]],
  ['radialTangential', [...K, -0.28, 0.07, 0.0012, -0.0007, 0.011]],
  ['rational', [...K, 0.4, -0.1, 0.0012, -0.0007, 0.02, 0.6, -0.05, 0.03]],
  ['fisheye', [...K, 0.05, -0.012, 0.004, -0.0006]],
];
const POINTS = [0.3, -0.2, 1.5, -0.7, 0.5, 1.1, 0, 0, 2, 1.2, 0.9, 1.3, 0.01, -0.02, 4];
/** What cv2.projectPoints and cv2.fisheye.projectPoints of OpenCV 5.0 give for these points and cameras. */
const PIXELS = [
  [420, 172, 1.818181818181813, 471.8181818181818, 320, 240, 781.5384615384614, 593.0769230769231, 321.25, 237.45],
  [418.3253679012346, 173.1603587160494, 47.12849842596444, 439.0247102967383, 320, 240, 666.4561945687099, 506.21025363796247, 321.24995875008545, 237.45008096232567],
  [418.32558006694103, 173.160214443369, 46.32791408255201, 439.60799317551016, 320, 240, 678.4370554072218, 515.375612179424, 321.24995875008545, 237.45008096232567],
  [418.7864442703051, 172.84682678508142, 34.62131812412906, 448.13708451664695, 320, 240, 683.1563025390167, 518.9858362352471, 321.24996187508543, 237.4500745873257],
  [418.4076746380201, 173.08278124614628, 44.563179106385974, 440.67539807963317, 320, 240, 673.5248748567936, 510.4465292654471, 321.2499889324601, 237.45002257778134],
];

const close = (found, expected, tolerance, what) => {
  assert.equal(found.length, expected.length, what);
  found.forEach((x, i) => assert.ok(Math.abs(x - expected[i]) <= tolerance, `${what}: ${[...found]}, not ${[...expected]}`));
};
/** The expressions of a pixel of a point and a camera, as tapes of 3 + parameters.length numbers. */
const tapesOf = (lens, parameters) => {
  const params = Array.from({ length: 3 + parameters.length }, () => V.W(0));
  return ['x', 'y'].map((name) => tapeOf(params, (p) => lens.project(new Vec3(...p.slice(0, 3)), p.slice(3))[name]));
};

CAMERAS.forEach(([name, parameters], k) => {
  const lens = lenses[name];
  const what = `${name} of ${parameters.length} numbers`;

  test(`${what}: pixels are OpenCV's, in numbers and as expressions`, () => {
    // Pixels of up to a thousand have an error of 1e-13.
    close(lens.distort(POINTS, parameters), PIXELS[k], 1e-12, 'numbers');
    const tapes = tapesOf(lens, parameters);
    const found = POINTS.flatMap((_, i) => (i % 3 === 0 ? tapes.map((tape) => evaluate(tape, [...POINTS.slice(i, i + 3), ...parameters])) : []));
    close(found, PIXELS[k], 1e-12, 'expressions');
  });

  test(`${what}: derivatives are those by differences, also on the axis, and finite in f32`, () => {
    const random = randomNumbers(5);
    const points = [[0, 0, 1], [0, 0, 7], [1e-9, 0, 1], [1e-3, -2e-3, 1], [0.031, 0, 1], [0.032, 0, 1], ...Array.from({ length: 6 }, () => [random() - 0.5, random() - 0.5, 0.5 + random()])];
    for (const tape of tapesOf(lens, parameters)) {
      for (const point of points) {
        const x = [...point, ...parameters];
        const found = gradient(tape, x);
        for (let i = 0; i < x.length; i++) {
          const h = 1e-5 * Math.max(1, Math.abs(x[i]) / 100);
          const at = (step) => evaluate(tape, x.map((number, j) => (j === i ? number + step : number)));
          const difference = (at(h) - at(-h)) / (2 * h);
          // h² times third derivatives of up to some 10⁴ pixels, and 1e-13/h of rounding.
          assert.ok(Math.abs(found.gradient[i] - difference) < 2e-6, `by ${i} at ${x}: ${found.gradient[i]}, by differences ${difference}`);
        }
        const single = gradient(tape, x.map(Math.fround), Math.fround);
        // Pixels and derivatives of up to a thousand, by some ten operations of 6e-8 each.
        single.gradient.forEach((d, i) => assert.ok(Math.abs(d - found.gradient[i]) < 5e-3, `f32 at ${x}: ∂${i} ${d}, in f64 ${found.gradient[i]}`));
      }
    }
  });

  test(`${what}: pixels have the directions from which they come`, () => {
    const random = randomNumbers(k);
    const points = Array.from({ length: 300 }, () => [1.6 * random() - 0.8, 1.2 * random() - 0.6, 1]).flat().concat([0, 0, 1, 1e-12, 0, 1]);
    const { directions, failed } = lens.undistort(lens.distort(points, parameters), parameters);
    assert.equal(failed.length, 0);
    for (let i = 0; i < points.length; i += 3) {
      const length = Math.hypot(...points.slice(i, i + 3));
      // Newton's method ends at the rounding of a pixel, which is 1e-16 of some hundred focal lengths, or 1e-13 with the slope of the distortion.
      close(directions.subarray(i, i + 3), points.slice(i, i + 3).map((x) => x / length), 1e-13, `direction ${i / 3}`);
    }
  });
});

test('OpenCV finds the same directions of pixels of a fisheye', () => {
  const { directions } = lenses.fisheye.undistort([320, 240, 100, 80, 600, 470, 10, 300], CAMERAS[4][1]);
  // cv2.fisheye.undistortPoints of OpenCV 5.0.
  const expected = [0, 0, -0.48066163821235613, -0.342717745605958, 0.6605060832584662, 0.5319201650891009, -0.7015536291651794, 0.13312213077138127];
  // OpenCV ends its iterations at 1e-8, which Newton's method has then squared.
  close(expected.map((_, i) => directions[3 * (i >> 1) + (i % 2)] / directions[3 * (i >> 1) + 2]), expected, 1e-14, 'directions');
});

test('a fisheye sees points beside and behind the camera, up to the axis behind', () => {
  const camera = [100, 100, 0, 0, 0, 0, 0, 0];
  const angles = [Math.PI / 2, 2, 3, Math.PI - 1e-3];
  const points = angles.flatMap((angle) => [0.6 * Math.sin(angle), 0.8 * Math.sin(angle), Math.cos(angle)]);
  // Without distortion the pixel's distance is the angle times the focal length.
  close(lenses.fisheye.distort(points, camera), angles.flatMap((angle) => [60 * angle, 80 * angle]), 1e-12, 'pixels');
  const { directions, failed } = lenses.fisheye.undistort(lenses.fisheye.distort(points, camera), camera);
  assert.equal(failed.length, 0);
  close(directions, points, 1e-14, 'directions');
  assert.deepEqual([...lenses.fisheye.undistort([0, 315, 0, 314], camera).failed], [0]);
  const [tape] = tapesOf(lenses.fisheye, camera);
  assert.equal(evaluate(tape, [0, 0, -1, ...camera]), 0);
  assert.ok(gradient(tape, [0, 0, -1, ...camera]).gradient.every(Number.isFinite));
  close(angles.map((_, i) => evaluate(tape, [...points.slice(3 * i, 3 * i + 3), ...camera])), angles.map((angle) => 60 * angle), 1e-12, 'as expressions');
});

test('residuals stay finite at depth 0', () => {
  for (const [name, parameters] of CAMERAS) {
    for (const tape of tapesOf(lenses[name], parameters)) {
      for (const point of [[0.1, 0.2, 0], [0, 0, 0]]) {
        const { value, gradient: slopes } = gradient(tape, [...point, ...parameters]);
        assert.ok([value, ...slopes].every(Number.isFinite), `${name} at ${point}: ${value}, ${slopes}`);
      }
    }
  }
  assert.deepEqual([...lenses.pinhole.distort([0.1, 0.2, 0], [10, 10, 0, 0])], [1, 2]);
});

test('pixels beyond the fold of a distortion fail, those before it do not', () => {
  // r (1 − 0.28 r²) has its largest value, 0.7274, at r = 1.0911.
  const camera = [1000, 1000, 0, 0, -0.28, 0, 0, 0];
  const { directions, failed } = lenses.radialTangential.undistort([727, 0, 728, 0, 0, -900, 0, 0, 3e5, 1, -1e200, 1], camera);
  assert.deepEqual([...failed], [1, 2, 4, 5]);
  assert.ok(directions.every(Number.isFinite));
  for (let i = 0; i < directions.length; i += 3) assert.ok(Math.abs(Math.hypot(...directions.subarray(i, i + 3)) - 1) < 1e-15);
  const radius = directions[0] / directions[2];
  assert.ok(radius < 1.0911 && Math.abs(radius * (1 - 0.28 * radius ** 2) - 0.727) < 1e-12, `${radius}`);
  // Beyond the fold the nearest direction is at the fold.
  assert.ok(Math.abs(directions[3] / directions[5] - 1.0911) < 5e-3);
  // The sum of both terms is 0.3 at a radius of 0.334 before the fold, and again on two branches behind it.
  const folded = lenses.radialTangential.undistort([300, 0], [1000, 1000, 0, 0, -1.2, 0.45, 0, 0]);
  const r = folded.directions[0] / folded.directions[2];
  assert.equal(folded.failed.length, 0);
  assert.ok(r < 0.4 && Math.abs(r - 1.2 * r ** 3 + 0.45 * r ** 5 - 0.3) < 1e-13, `${r}`);
  // A denominator with the zero r = 2: the region around the centre ends there, and all pixels have directions within it.
  const poled = lenses.rational.undistort([100, 0], [1, 1, 0, 0, 0, 0, 0, 0, 0, -0.25, 0, 0]);
  assert.equal(poled.failed.length, 0);
  // r/(1 − r²/4) = 100
  assert.ok(Math.abs(poled.directions[0] / poled.directions[2] - (Math.sqrt(40_004) - 2) / 100) < 1e-13);
});

test('wrong arguments are named', () => {
  const point = Vec3.C(1, 2, 3);
  for (const [call, message] of [
    [() => lenses.pinhole.project(Vec2.C(1, 2), K), 'lenses.pinhole.project: point: got a Vec2; takes a Vec3'],
    [() => lenses.pinhole.project(point, 7), 'lenses.pinhole.project: parameters: got 7; takes a list of 4 Values and numbers'],
    [() => lenses.pinhole.project(point, [1, 2, 3]), 'lenses.pinhole.project: parameters: got 3 entries; takes 4 Values and numbers'],
    [() => lenses.radialTangential.project(point, [...K, 1, 2, 3]), 'lenses.radialTangential.project: parameters: got 7 entries; takes 9 Values and numbers'],
    [() => lenses.fisheye.project(point, [...K, 1, 2, 'x', 4]), 'lenses.fisheye.project: parameters[6]: got "x"; takes a Value or a number that is not NaN'],
    [() => lenses.fisheye.undistort([1, 2], K), 'lenses.fisheye.undistort: parameters: got 4 numbers; takes 8: fx, fy, cx, cy, k1, k2, k3, k4'],
    [() => lenses.radialTangential.distort([1, 2, 3], K), 'lenses.radialTangential.distort: parameters: got 4 numbers; takes 9: fx, fy, cx, cy, k1, k2, p1, p2, k3, of which the last may be absent'],
    [() => lenses.pinhole.distort([1, 2], K), 'lenses.pinhole.distort: points: got 2 numbers; takes a multiple of 3'],
    [() => lenses.pinhole.distort([1, Number.NaN, 1], K), 'lenses.pinhole.distort: points[1]: got NaN; takes a finite number'],
    [() => lenses.pinhole.distort([0, 0, 1, 1e300, 1, 1e-300], K), 'lenses.pinhole.distort: points: got a point without a finite pixel at position 1; takes points that the lens takes to pixels'],
    [() => lenses.pinhole.undistort([1], K), 'lenses.pinhole.undistort: pixels: got 1 numbers; takes an even number'],
    [() => lenses.pinhole.undistort([1, 2], [500, 0, 1, 1]), 'lenses.pinhole.undistort: parameters: got fy = 0; takes focal lengths other than 0'],
  ]) {
    assert.throws(call, (error) => error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message)));
  }
  assert.deepEqual(lenses.fisheye.parameters, ['fx', 'fy', 'cx', 'cy', 'k1', 'k2', 'k3', 'k4']);
});
