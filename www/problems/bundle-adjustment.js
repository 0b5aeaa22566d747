/**
 * Made bundle adjustments, along a road or around an object. Camera blocks are those of the BAL data set (http://grail.cs.washington.edu/projects/bal): angle-axis vector and translation of the motion
 * into the camera's frame, focal length, and two coefficients of radial distortion; a camera looks along −z.
 */
import { Problem, Rotation3, Vec2, Vec3 } from 'residua';
import { seededNoise } from './seeded-noise.js';

/** Pixels. */
const FOCAL_LENGTH = 500;
const NOISE = 0.5;
/** Cameras from one to the next that sees the same point, at most. */
const LONGEST_LEAP = 2;
/** Cameras of the whole circle at least: the road of fewer is an arc. */
const LEAST_CIRCLE = 400;

/** A point turned about the vertical axis. */
const rotated = (heading, [x, y, z]) => [Math.cos(heading) * x + Math.sin(heading) * z, y, Math.cos(heading) * z - Math.sin(heading) * x];

/** The image of a point by a camera whose motion is a turn about the vertical axis, as `projection` computes it for all. */
function image(camera, point) {
  const [x, y, z] = rotated(camera[1], point).map((number, axis) => number + camera[3 + axis]);
  const [u, v] = [-x / z, -y / z];
  const square = u * u + v * v;
  const scale = camera[6] * (1 + square * (camera[7] + camera[8] * square));
  return [scale * u, scale * v];
}

/** Cameras on a circular road look outwards at points beside it, and a point is seen by cameras that follow one another. */
function road(count, seenBy, { uniform, normal, below }) {
  const circle = Math.max(count, LEAST_CIRCLE);
  const radius = circle / (2 * Math.PI);
  const most = Math.max(1, Math.min(LONGEST_LEAP, Math.floor((count - 1) / seenBy)));
  const firsts = circle === count ? count : count - most * (seenBy - 1);
  const angleOf = (camera) => (2 * Math.PI * camera) / circle;
  return {
    camera(c) {
      const angle = angleOf(c);
      // −z is outwards.
      return { centre: [radius * Math.cos(angle), 0.3 * normal(), radius * Math.sin(angle)], heading: angle + Math.PI / 2 };
    },
    seers() {
      const seers = [below(firsts)];
      while (seers.length < seenBy) seers.push((seers.at(-1) + 1 + below(most)) % count);
      return seers;
    },
    point(seers) {
      const angle = angleOf(seers[seenBy >> 1]);
      const outwards = radius + 6 + 12 * uniform(), aside = 4 * (uniform() - 0.5), height = 6 * (uniform() - 0.5);
      return [outwards * Math.cos(angle) - aside * Math.sin(angle), height, outwards * Math.sin(angle) + aside * Math.cos(angle)];
    },
  };
}

/** Cameras around an object look inwards, and a point is seen by any of them. */
function object(count, seenBy, { uniform, normal, below }) {
  return {
    camera(c) {
      const angle = (2 * Math.PI * c) / count;
      return { centre: [10 * Math.cos(angle), normal(), 10 * Math.sin(angle)], heading: angle - Math.PI / 2 };
    },
    seers() {
      const seers = new Set();
      while (seers.size < seenBy) seers.add(below(count));
      return [...seers];
    },
    point: () => [8 * (uniform() - 0.5), 6 * (uniform() - 0.5), 8 * (uniform() - 0.5)],
  };
}

const SCENES = { road, object };

/**
 * A made adjustment: where everything is, and where a start has it.
 * @param {{ cameras: number, points: number, seenBy?: number, seed?: number, outliers?: number, scene?: 'road' | 'object' }} spec a point is seen by
 *   `seenBy` cameras; `outliers` is the share of observations that are wrong by some 50 pixels
 */
export function madeBundle({ cameras: count, points: pointCount, seenBy = 5, seed = 1, outliers = 0, scene = 'road' }) {
  const noise = seededNoise(seed);
  const { uniform, normal } = noise;
  const made = SCENES[scene](count, seenBy, noise);
  const cameras = new Float64Array(9 * count);
  for (let c = 0; c < count; c++) {
    const { centre, heading } = made.camera(c);
    // Angles are within ±π.
    const turn = heading > Math.PI ? heading - 2 * Math.PI : heading;
    cameras.set([0, turn, 0, ...rotated(turn, centre).map((number) => -number), FOCAL_LENGTH, -0.05, 0.01], 9 * c);
  }
  const points = new Float64Array(3 * pointCount);
  const observations = pointCount * seenBy;
  const cameraIndices = new Uint32Array(observations), pointIndices = new Uint32Array(observations), images = new Float64Array(2 * observations);
  let next = 0;
  for (let p = 0; p < pointCount; p++) {
    const seers = made.seers();
    const point = made.point(seers);
    points.set(point, 3 * p);
    for (const seer of seers) {
      const spread = uniform() < outliers ? 50 : NOISE;
      const [u, v] = image(cameras.subarray(9 * seer, 9 * seer + 9), point);
      cameraIndices[next] = seer;
      pointIndices[next] = p;
      images.set([u + spread * normal(), v + spread * normal()], 2 * next++);
    }
  }
  const scatter = [0.003, 0.003, 0.003, 0.03, 0.03, 0.03, 2, 0.002, 0.0005];
  return {
    cameraIndices, pointIndices, observations: images,
    cameras: cameras.map((number, k) => Math.fround(number + scatter[k % 9] * normal())),
    points: points.map((number) => Math.fround(number + 0.05 * normal())),
  };
}

/** Where a camera sees a point. */
export function projection(camera, point) {
  const [a, b, c, x, y, z, focal, k1, k2] = camera;
  const seen = Rotation3.fromAngleAxis(new Vec3(a, b, c)).act(point).add(new Vec3(x, y, z));
  const flat = new Vec2(seen.x, seen.y).div(seen.z.neg());
  const square = flat.x.square().add(flat.y.square());
  return flat.mul(square.mul(square.mul(k2).add(k1)).add(1).mul(focal));
}

/**
 * The estimation problem of a bundle adjustment with cameras of 9 numbers, as `madeBundle` and `parseBal` return them.
 * @param {import('residua').BundleAdjustment} bundle
 * @param {import('residua').Loss} [loss] of the two numbers of an observation
 */
export function bundleProblem(bundle, loss) {
  const problem = new Problem();
  const cameras = problem.parameters('cameras', { dim: 9, values: bundle.cameras });
  const points = problem.parameters('points', { dim: 3, values: bundle.points });
  problem.residuals('observations', {
    inputs: { camera: cameras.at(bundle.cameraIndices), point: points.at(bundle.pointIndices), seen: problem.data(bundle.observations, 2) },
    residual: ({ camera, point, seen }) => projection(camera, point).sub(seen),
    ...(loss === undefined ? {} : { loss }),
  });
  return { problem, cameras, points };
}
