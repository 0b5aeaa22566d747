/** Starts in closed form: exact data give back what made them, noisy data nearly, and degenerate data are named. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { absoluteOrientation, handEye, lenses, relativePose, solvePnp, triangulate } from '../../pkg-template/dist/cameras.js';
import { randomNumbers } from './reference.mjs';

const random = randomNumbers(3);
const spread = (size) => size * (2 * random() - 1);
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const unit = (v) => v.map((x) => x / Math.hypot(...v));
const vector = (size) => [spread(size), spread(size), spread(size)];
const quaternion = () => unit([normal(), normal(), normal(), normal()]);

/** q v q* by the quaternion's product: independent of the matrices of the package. */
const times = ([a, b, c, d], [e, f, g, h]) => [a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e];
const conjugate = ([w, x, y, z]) => [w, -x, -y, -z];
const rotate = (q, v) => times(times(q, [0, ...v]), conjugate(q)).slice(1);
const move = (pose, v) => rotate(pose.slice(0, 4), v).map((x, k) => x + pose[4 + k]);
const compose = (a, b) => [...times(a.slice(0, 4), b.slice(0, 4)), ...move(a, b.slice(4))];
const inverse = (a) => [...conjugate(a.slice(0, 4)), ...rotate(conjugate(a.slice(0, 4)), a.slice(4)).map((x) => -x)];
const angleOf = (p, q) => 2 * Math.asin(Math.min(1, Math.hypot(...times(conjugate(p), q).slice(1))));
const distance = (a, b) => Math.hypot(...a.map((x, k) => x - b[k]));
const nearPose = (found, expected, angle, length, what) => {
  assert.ok(angleOf(found.slice(0, 4), expected.slice(0, 4)) <= angle, `${what}: ${[...found]}, not ${expected}`);
  assert.ok(distance(found.slice(4), expected.slice(4)) <= length, `${what}: ${[...found]}, not ${expected}`);
};
const refused = (message) => (error) => error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message));

/** Corners of a tetrahedron, or of a square: the first of all points, so that none are nearly on a line. */
const CORNERS = { space: [[1, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]], plane: [[1, 1], [-1, -1], [-1, 1], [1, -1]] };

/** Points, and a camera at a distance that sees them in front of it. */
function view(count, { flat = false, far = 4, noise = 0, wide = false } = {}) {
  const pose = [...quaternion(), spread(far / 4), spread(far / 4), far];
  const [points, directions] = [[], []];
  while (points.length < 3 * count) {
    const corner = CORNERS[flat ? 'plane' : 'space'][points.length / 3]?.map((x) => 0.7 * x + spread(0.3));
    const point = [...(corner ?? vector(1)).slice(0, 2), flat ? 0.3 : (corner?.[2] ?? spread(1))];
    const seen = move(pose, point);
    if (!wide && seen[2] < 0.1) continue;
    points.push(...point);
    const length = 0.1 + random();
    directions.push(...unit(seen).map((x) => length * (x + noise * normal())));
  }
  return { pose, points, directions };
}

test('solvePnp finds the pose of exact directions: in space, of a plane, near, far, and all around the camera', () => {
  for (const options of [{}, { flat: true }, { far: 1.2 }, { far: 100 }, { flat: true, far: 20 }, { far: 0.2, wide: true }]) {
    for (const count of [4, 5, 6, 20]) {
      for (let run = 0; run < 20; run++) {
        const { pose, points, directions } = view(count, options);
        // The world's origin is somewhere else.
        const shift = vector(50);
        const world = points.map((x, k) => x + shift[k % 3]);
        const found = solvePnp(world, directions);
        const expected = [...pose.slice(0, 4), ...move([...pose.slice(0, 4), ...pose.slice(4)], shift.map((x) => -x))];
        // Of a distance of 100 sizes the turn out of the image's plane has some 1e-16 · 100² of rounding in each of the squares. Arms of up to 50 move the origin.
        nearPose(found.pose, expected, 1e-7, 1e-5, `${JSON.stringify(options)}, ${count} points`);
        assert.ok(found.error < 1e-8, `${found.error}`);
      }
    }
  }
});

test('solvePnp of noisy directions is about as good as their noise, and tells it', () => {
  for (const flat of [false, true]) {
    const { pose, points, directions } = view(200, { flat, noise: 1e-3 });
    const { pose: found, error } = solvePnp(points, directions);
    // Five standard errors: the depth and the tilt of a plane have those of 200 directions times the square of the distance, 4.
    const bound = (5 * 16 * 1e-3) / Math.sqrt(200);
    nearPose(found, pose, bound, bound, flat ? 'a plane' : 'in space');
    // Two of the three coordinates of noise turn a direction.
    assert.ok(Math.abs(error / (Math.SQRT2 * 1e-3) - 1) < 0.15, `${error}`);
  }
});

test('solvePnp takes what a lens gives', () => {
  const { pose, points } = view(12);
  const inFrame = Array.from({ length: 12 }, (_, k) => move(pose, points.slice(3 * k, 3 * k + 3))).flat();
  const camera = [600, 610, 320, 240, -0.1, 0.02, 1e-3, -1e-3, 0];
  const { directions, failed } = lenses.radialTangential.undistort(lenses.radialTangential.distort(inFrame, camera), camera);
  assert.equal(failed.length, 0);
  nearPose(solvePnp(points, directions).pose, pose, 1e-10, 1e-10, 'through a lens');
});

test('solvePnp of a small plane far away has the mirrored pose among the others', () => {
  // Seen from far, a tilt by an angle and by its negative differ by the perspective alone.
  const tilt = 0.5;
  const pose = [Math.cos(tilt / 2), Math.sin(tilt / 2), 0, 0, 0, 0, 100];
  const points = [-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0];
  const exact = [0, 3, 6, 9].flatMap((k) => move(pose, points.slice(k, k + 3)));
  const alone = solvePnp(points, exact);
  nearPose(alone.pose, pose, 1e-6, 1e-4, 'the pose');
  assert.deepEqual(alone.others, []);
  const noisy = solvePnp(points, exact.map((x, k) => x + 0.005 * Math.sin(3 * k)));
  const tilts = [noisy, ...noisy.others].map(({ pose: [w, x] }) => 2 * Math.atan(x / w));
  assert.ok(tilts.length === 2 && tilts.every((found) => Math.abs(Math.abs(found) - tilt) < 0.1) && tilts[0] * tilts[1] < 0, `${tilts}`);
  // The perspective of a tilt of 0.5 over 100 sizes is some 1e-4.
  assert.ok(noisy.others[0].error < 3e-4 && noisy.others[0].error >= noisy.error);
});

test('solvePnp names what does not determine a pose', () => {
  const { directions, points } = view(6);
  const line = Array.from({ length: 6 }, (_, k) => [k, 2 * k, 1 - k]).flat();
  const onLine = Array.from({ length: 6 }, (_, k) => [0.1 * k, 0.2 * k, 5 - 0.1 * k]).flat();
  const takes = '; takes points that determine a pose';
  for (const [call, message] of [
    [() => solvePnp(points.slice(0, 9), directions.slice(0, 9)), 'solvePnp: points: got 3 points; takes at least 4: three have up to four poses'],
    [() => solvePnp(line, onLine), `solvePnp: points: got points on one line, or of parallel directions${takes}`],
    [() => solvePnp(Array.from({ length: 6 }, () => [1, 2, 3]).flat(), directions), `solvePnp: points: got points at one place${takes}`],
    [() => solvePnp(points, Array.from({ length: 6 }, () => [0, 0, 1]).flat()), `solvePnp: points: got points of parallel directions${takes}`],
    [() => solvePnp(points, directions.slice(3)), 'solvePnp: directions: got 5 entries; takes 6, as there are points'],
    [() => solvePnp(points, [...directions.slice(0, 15), 0, 0, 0]), 'solvePnp: directions: got a direction of length 0 at position 5; takes directions of any other length'],
    [() => solvePnp([...points.slice(0, 17), Number.NaN], directions), 'solvePnp: points[17]: got NaN; takes a finite number'],
    [() => solvePnp([1, 2, 3, 4], directions), 'solvePnp: points: got 4 numbers; takes a positive multiple of 3'],
    [() => solvePnp([], []), 'solvePnp: points: got 0 numbers; takes a positive multiple of 3'],
  ]) {
    assert.throws(call, refused(message));
  }
});

test('triangulate finds points of exact directions, each from the poses that see it', () => {
  const poses = Array.from({ length: 4 }, () => [...quaternion(), ...vector(3)]);
  const points = Array.from({ length: 10 }, () => vector(20));
  const seen = points.flatMap((_, point) => poses.flatMap((_, pose) => (point % 4 === pose ? [] : [[pose, point]]))).reverse();
  const directions = seen.flatMap(([pose, point]) => move(poses[pose], points[point]).map((x) => 3 * x));
  const found = triangulate(poses.flat(), directions, { poseIndices: seen.map(([pose]) => pose), pointIndices: seen.map(([, point]) => point) });
  assert.deepEqual(found.status, points.map(() => 'found'));
  points.forEach((point, k) => {
    // Squares of sines of the parallax have some fifty roundings of 1, at a distance of up to 40.
    const tolerance = (40 * 1e-14) / found.parallax[k] ** 2;
    assert.ok(distance(found.points.slice(3 * k, 3 * k + 3), point) < tolerance, `${k}`);
    assert.ok(found.errors[k] < tolerance);
  });
});

test('triangulate: the parallax of two directions is the angle between their lines, and noise moves a point by noise over parallax', () => {
  const poses = [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0];
  const found = triangulate(poses, [0, 0, 1, -0.1, 0, 1]);
  assert.ok(Math.abs(found.parallax[0] - Math.atan(0.1)) < 1e-14);
  assert.ok(distance(found.points, [0, 0, 10]) < 1e-12);
  const noisy = triangulate(poses, [0, 1e-4, 1, -0.1, -1e-4, 1]);
  assert.ok(distance(noisy.points, [0, 0, 10]) < 1e-3);
  // Both are turned off the point by 1e-4.
  assert.ok(Math.abs(noisy.errors[0] - 1e-4) < 1e-6, `${noisy.errors}`);
});

test('triangulate says which points the directions do not determine, and makes all of them finite and ahead', () => {
  const poses = [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
  const cases = [
    ['few-views', [[0, [0, 0.1, 1]]]],
    ['no-parallax', [[0, [0.2, 0.1, 1]], [1, [0.2, 0.1, 1]]]],
    ['no-parallax', [[0, [0.2, 0.1, 1]], [2, [0.2, 0.1, 1]]]],
    ['no-parallax', [[0, [1, 0, 0]], [1, [-1, 0, 0]]]],
    ['diverging', [[0, [0, 0, 1]], [1, [0.1, 0, 1]]]],
    ['few-views', []],
    ['found', [[0, [0, 0, 1]], [1, [-1, 0, 1]]]],
    ['behind', [[0, [0, 0, 1]], [1, [1, 0, -1]]]],
  ];
  const seen = cases.flatMap(([, views], point) => views.map(([pose, direction]) => ({ pose, point, direction })));
  const found = triangulate(poses, seen.flatMap(({ direction }) => direction), { poseIndices: seen.map(({ pose }) => pose), pointIndices: seen.map(({ point }) => point) });
  assert.deepEqual(found.status, cases.map(([status]) => status));
  assert.ok([...found.points, ...found.errors, ...found.parallax].every(Number.isFinite), JSON.stringify(found));
  // What is far, or seen once, lies in its direction.
  assert.ok(distance(unit(found.points.slice(0, 3)), unit([0, 0.1, 1])) < 1e-15);
  assert.ok(distance(unit(found.points.slice(3, 6)), unit([0.2, 0.1, 1])) < 2e-4);
  // The system of three equations has some ten roundings.
  assert.ok(distance(found.points.slice(18, 21), [0, 0, 1]) < 1e-14);
  // A larger bound says that a parallax of 45° is not enough.
  assert.equal(triangulate(poses.slice(0, 14), [0, 0, 1, -1, 0, 1], { minParallax: 1 }).status[0], 'no-parallax');
  for (const [call, message] of [
    [() => triangulate(poses, [0, 0, 1]), 'triangulate: directions: got 1 entries; takes 3, as there are poses'],
    [() => triangulate(poses, [0, 0, 1], { poseIndices: [3] }), 'triangulate: poseIndices[0]: got 3; takes a whole number from 0 below the number of poses, 3'],
    [() => triangulate(poses, [0, 0, 1], { poseIndices: [1], pointIndices: [0, 1] }), 'triangulate: pointIndices: got 2 indices; takes 1, as there are directions'],
    [() => triangulate([0, 0, 0, 0, 1, 2, 3], [0, 0, 1]), 'triangulate: poses: got a quaternion of length 0 at position 0; takes quaternions that have a direction'],
    [() => triangulate(poses, [0, 0, 1], { minParalax: 1 }), "triangulate: options: got the unknown option \"minParalax\"; did you mean 'minParallax'?"],
  ]) {
    assert.throws(call, refused(message));
  }
});

test('absoluteOrientation finds the motion of exact points, with and without scale, in space and in the plane', () => {
  for (let run = 0; run < 10; run++) {
    const pose = [...quaternion(), ...vector(10)];
    const flat = run % 3 === 0;
    const points = Array.from({ length: 3 + run }, (_, k) => {
      const [x, y, z] = CORNERS.space[k]?.map((entry) => entry + spread(0.3)) ?? vector(1);
      return [x, y, flat ? 0.5 : z];
    });
    for (const scale of [1, 7.5]) {
      const to = points.flatMap((point) => rotate(pose, point).map((x, k) => scale * x + pose[4 + k]));
      const found = absoluteOrientation(points.flat(), to, { scale: scale !== 1 });
      nearPose(found.pose, pose, 1e-13, 1e-13, `run ${run}`);
      assert.ok(Math.abs(found.scale - scale) < 1e-13);
      assert.ok(found.error < 1e-13);
    }
  }
  const to = [[0, 0], [1, 0], [0, 2]].flatMap(([x, y]) => [3 - 2 * y, 4 + 2 * x]);
  const { pose, scale } = absoluteOrientation([0, 0, 1, 0, 0, 2], to, { dim: 2, scale: true });
  [Math.PI / 2, 3, 4].forEach((x, k) => assert.ok(Math.abs(pose[k] - x) < 1e-15));
  assert.ok(Math.abs(scale - 2) < 1e-15);
});

test('absoluteOrientation has the least squares of noisy points, is no reflection, and takes weights', () => {
  const pose = [...quaternion(), ...vector(2)];
  const points = Array.from({ length: 40 }, () => vector(1));
  const to = points.map((point) => move(pose, point).map((x) => x + 0.05 * normal()));
  const { pose: found, scale, error } = absoluteOrientation(points.flat(), to.flat(), { scale: true });
  const cost = (p, s) => points.reduce((sum, point, k) => sum + distance(rotate(p, point).map((x, i) => s * x + p[4 + i]), to[k]) ** 2, 0);
  const best = cost([...found], scale);
  assert.ok(Math.abs(Math.sqrt(best / 40) - error) < 1e-12);
  for (let run = 0; run < 50; run++) {
    const nudged = compose([...found], [...unit([1, spread(1e-3), spread(1e-3), spread(1e-3)]), ...vector(1e-3)]);
    assert.ok(cost(nudged, scale * (1 + spread(1e-3))) >= best);
  }
  // The nearest rotation of a reflected set has a positive determinant by construction: it is a quaternion of length 1.
  const mirrored = absoluteOrientation(points.flat(), points.flatMap(([x, y, z]) => [x, y, -z]));
  assert.ok(Math.abs(Math.hypot(...mirrored.pose.slice(0, 4)) - 1) < 1e-14 && mirrored.error > 0.3);
  const outlier = [...to.slice(1), [100, 100, 100]].flat();
  const weights = points.map((_, k) => (k === 39 ? 0 : 1));
  nearPose(absoluteOrientation([...points.slice(1), points[0]].flat(), outlier, { weights }).pose, pose, 0.1, 0.1, 'with a weight of 0');
});

test('absoluteOrientation names what does not determine a rotation', () => {
  const three = [0, 0, 0, 1, 0, 0, 0, 1, 0];
  const takes = '; takes points that determine a rotation';
  for (const [call, message] of [
    [() => absoluteOrientation([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]), `absoluteOrientation: points: got points on one line${takes}`],
    [() => absoluteOrientation([0, 0, 0, 1, 1, 1, 3, 3, 3], three), `absoluteOrientation: points: got points on one line${takes}`],
    [() => absoluteOrientation(three, [1, 1, 1, 1, 1, 1, 1, 1, 1]), `absoluteOrientation: points: got points at one place${takes}`],
    [() => absoluteOrientation([1, 2], [3, 4], { dim: 2 }), `absoluteOrientation: points: got points at one place${takes}`],
    [() => absoluteOrientation(three, three.slice(3)), 'absoluteOrientation: to: got 2 entries; takes 3, as there are points in from'],
    [() => absoluteOrientation(three, three, { dim: 4 }), 'absoluteOrientation: dim: got 4; takes 2 or 3'],
    [() => absoluteOrientation(three, three, { weights: [1, 1, -1] }), 'absoluteOrientation: weights[2]: got -1; takes a number of at least 0'],
    [() => absoluteOrientation(three, three, { weights: [0, 0, 0] }), 'absoluteOrientation: weights: got weights of 0 alone; takes positive weights of enough points'],
    [() => absoluteOrientation(three, three, { weights: [1] }), 'absoluteOrientation: weights: got 1 entries; takes 3, as there are points'],
  ]) {
    assert.throws(call, refused(message));
  }
});

/** Positions of a hand, and of a target in the frame of the eye on it. */
function positions(count, turn, noise = 0) {
  const [x, target] = [[...quaternion(), ...vector(0.1)], [...quaternion(), ...vector(2)]];
  const noisy = (pose) => compose(pose, [...unit([1, noise * normal() / 2, noise * normal() / 2, noise * normal() / 2]), noise * normal(), noise * normal(), noise * normal()]);
  const hands = Array.from({ length: count }, () => [...turn(), ...vector(1)]);
  // H X E is the target in the fixed frame.
  const eyes = hands.map((hand) => noisy(compose(inverse(compose(hand, x)), target)));
  return { x, hands: hands.flat(), eyes: eyes.flat() };
}

test('handEye finds where the eye is on the hand, also of turns by half a turn', () => {
  for (const count of [3, 4, 20]) {
    const { x, hands, eyes } = positions(count, quaternion);
    const { pose, rotationError, translationError } = handEye(hands, eyes);
    nearPose(pose, x, 1e-7, 1e-7, `${count} positions`);
    assert.ok(rotationError < 1e-7 && translationError < 1e-7);
  }
  // Turns by π about x, by 2 about y, and by π about an axis between: quaternions have real parts about 0.
  const turns = [[1, 0, 0, 0], [1e-17, 1, 0, 0], [Math.cos(1), 0, Math.sin(1), 0], [-1e-17, 0, 0.6, 0.8]];
  const { x, hands, eyes } = positions(4, () => turns.shift());
  nearPose(handEye(hands, eyes).pose, x, 1e-7, 1e-7, 'half turns');
});

test('handEye of noisy positions is about as good as their noise, and tells it', () => {
  const { x, hands, eyes } = positions(30, quaternion, 1e-3);
  const { pose, rotationError, translationError } = handEye(hands, eyes);
  nearPose(pose, x, 2e-3, 5e-3, 'noisy');
  // A pair has the noise of two positions; translations of B also their turns by an arm of some 2.
  assert.ok(rotationError > 1e-3 && rotationError < 5e-3, `${rotationError}`);
  assert.ok(translationError > 1e-3 && translationError < 2e-2, `${translationError}`);
});

test('handEye names what does not determine the eye', () => {
  const about = (axis) => () => [Math.cos(random()), ...axis.map((x) => x * Math.sin(random()))];
  const takes = 'handEye: hands: got motions that turn about parallel axes, or not at all; takes turns about two axes or more';
  const parallel = positions(10, () => {
    const angle = spread(1);
    return [Math.cos(angle), 0, Math.sin(angle), 0];
  });
  assert.throws(() => handEye(parallel.hands, parallel.eyes), refused(takes));
  const noisy = positions(30, () => {
    const angle = spread(1);
    return [Math.cos(angle), 0, Math.sin(angle), 0];
  }, 1e-3);
  assert.throws(() => handEye(noisy.hands, noisy.eyes), refused(takes));
  const still = positions(5, () => [1, 0, 0, 0]);
  assert.throws(() => handEye(still.hands, still.eyes), refused(takes));
  const two = positions(2, about([1, 0, 0]));
  assert.throws(() => handEye(two.hands, two.eyes), refused('handEye: hands: got 2 poses; takes at least 3'));
  assert.throws(() => handEye(parallel.hands, two.eyes), refused('handEye: eyes: got 2 poses; takes 10, as there are hands'));
  assert.throws(() => handEye([1, 2], two.eyes), refused('handEye: hands: got 2 numbers; takes a positive multiple of 7'));
});

/** Directions of points in the frames of two cameras. */
function twoViews(count, { flat = false, still = false, noise = 0, narrow = false } = {}) {
  const size = narrow ? 0.1 : 1;
  const turn = unit([1, spread(0.3), spread(0.3), spread(0.3)]);
  const pose = [...turn, ...(still ? [0, 0, 0] : unit(vector(1)))];
  const points = Array.from({ length: count }, () => [spread(3 * size), spread(3 * size), flat ? 6 : 6 + spread(2)]);
  const noisy = (v) => unit(v).map((x) => 5 * (x + noise * normal()));
  return { pose, first: points.flatMap(noisy), second: points.flatMap((point) => noisy(move(pose, point))) };
}

test('relativePose finds the turn and the way between exact views, wide and narrow', () => {
  for (const narrow of [false, true]) {
    for (const count of [8, 9, 30]) {
      for (let run = 0; run < 10; run++) {
        const { pose, first, second } = twoViews(count, { narrow });
        const { pose: found, error, ahead } = relativePose(first, second);
        // Squares of equations of condition 1e4 have an error of 1e-16 · 1e8, which an eight of points can exceed.
        nearPose(found, pose, 1e-5, 1e-5, `${count} points, narrow: ${narrow}`);
        assert.ok(error < 1e-5 && ahead === count, `${error}, ${ahead}`);
        assert.ok(Math.abs(Math.hypot(...found.slice(4)) - 1) < 1e-14);
      }
    }
  }
});

test('relativePose of noisy views is about as good as their noise', () => {
  const { pose, first, second } = twoViews(200, { noise: 1e-4 });
  const { pose: found, error, ahead } = relativePose(first, second);
  nearPose(found, pose, 2e-3, 1e-2, 'noisy');
  // Both views have the noise across the plane.
  assert.ok(error > 0.5e-4 && error < 3e-4, `${error}`);
  assert.equal(ahead, 200);
});

test('relativePose names what does not determine a pose', () => {
  const takes = 'relativePose: first: got directions of points on a plane, or seen from one place; takes directions that determine a pose';
  for (const options of [{ flat: true }, { still: true }, { still: true, noise: 1e-4 }, { flat: true, noise: 1e-4 }]) {
    const { first, second } = twoViews(60, options);
    assert.throws(() => relativePose(first, second), refused(takes), JSON.stringify(options));
  }
  const { first, second } = twoViews(8);
  assert.throws(() => relativePose(first, Array.from({ length: 8 }, () => [0, 0, 1]).flat()), refused(takes));
  assert.throws(() => relativePose(first.slice(3), second.slice(3)), refused('relativePose: first: got 7 directions; takes at least 8'));
  assert.throws(() => relativePose(first, second.slice(3)), refused('relativePose: second: got 7 entries; takes 8, as there are directions in first'));
});
