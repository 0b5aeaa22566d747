/**
 * Generated pose graphs: a vehicle on a path around a sphere or a torus, and one in a city of square blocks. The truth is known.
 * Measurements have seeded noise, and the start is dead reckoning from odometry, which drifts. Returns graphs as g2o.js does, with the
 * truth.
 */
import { motions, quaternionOfFrame } from './rigid-motion.js';
import { seededNoise } from '../../problems/seeded-noise.js';

/** Standard deviations: of a position in units of length, of a rotation around each axis in radians. */
const NOISE = { sphere: { position: 0.08, rotation: 0.02 }, torus: { position: 0.1, rotation: 0.02 }, city: { position: 0.03, rotation: 0.012 } };

const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];
const unit = (v) => v.map((component) => component / Math.hypot(...v));

/** Poses along a path, with the heading along the path and upright on the surface. */
function posesOn(count, place, normal) {
  return Array.from({ length: count }, (_, k) => {
    const [before, after] = [place(k - 0.01), place(k + 0.01)];
    const up = unit(normal(k)), along = after.map((component, d) => component - before[d]);
    const forward = unit(cross(cross(up, along), up));
    return { position: place(k), rotation: quaternionOfFrame(forward, up) };
  });
}

/** The upper triangle of the root of a diagonal matrix, row after row: the inverses of the standard deviations. */
function diagonalRoot(dimension, { position, rotation }) {
  const deviations = dimension === 3 ? [position, position, position, rotation, rotation, rotation] : [position, position, rotation];
  return deviations.flatMap((deviation, row) => deviations.slice(row).map((_, k) => (k === 0 ? 1 / deviation : 0)));
}

/** The poses from odometry alone: edge k must connect pose k and pose k + 1. */
function deadReckoning(motion, first, steps) {
  const poses = [first];
  for (const step of steps) poses.push(motion.compose(poses.at(-1), step));
  return poses;
}

/** The arrays of a list of poses. */
const flat = (poses, key) => Float64Array.from(poses.flatMap((pose) => pose[key]));

/**
 * Measures a true path: from each pose to the next, and between the pairs in `closures`.
 * @param {2 | 3} dimension
 * @param {{ position: number[], rotation: number[] }[]} truth
 * @param {[number, number][]} closures
 */
function measure(dimension, truth, closures, noise, seed) {
  const motion = motions[dimension];
  const { normal } = seededNoise(seed);
  const noisy = (deviation, count) => Array.from({ length: count }, () => deviation * normal());
  const edges = [...truth.slice(1).map((_, k) => [k, k + 1]), ...closures];
  const measured = edges.map(([from, to]) => {
    const { position, rotation } = motion.between(truth[from], truth[to]);
    const shift = noisy(noise.position, dimension);
    return { position: position.map((component, d) => component + shift[d]), rotation: motion.turned(rotation, noisy(noise.rotation, motion.turns)) };
  });
  const start = deadReckoning(motion, truth[0], measured.slice(0, truth.length - 1));
  const root = diagonalRoot(dimension, noise);
  return {
    dimension,
    positions: flat(start, 'position'), rotations: flat(start, 'rotation'), fixed: [],
    edges: Uint32Array.from(edges.flat()),
    measuredPositions: flat(measured, 'position'), measuredRotations: flat(measured, 'rotation'),
    squareRoots: Float64Array.from(edges.flatMap(() => root)),
    truth: { positions: flat(truth, 'position'), rotations: flat(truth, 'rotation') },
  };
}

/** Laps of `lap` poses from pole to pole of a sphere; each pose also measures the one below it, a lap earlier. */
export function sphereGraph({ poses = 2500, lap = 50, radius = 50, noise = NOISE.sphere, seed = 11 } = {}) {
  const angles = (k) => [Math.PI * ((k + 0.5 * lap) / (poses + lap) - 0.5), (2 * Math.PI * k) / lap];
  const outward = (k) => {
    const [latitude, longitude] = angles(k);
    return [Math.cos(latitude) * Math.cos(longitude), Math.cos(latitude) * Math.sin(longitude), Math.sin(latitude)];
  };
  const truth = posesOn(poses, (k) => outward(k).map((component) => radius * component), outward);
  return measure(3, truth, lapClosures(poses, lap), noise, seed);
}

/** Laps of `lap` poses around the tube of a torus, once along it; the last laps also measure the first, where the ring closes. */
export function torusGraph({ poses = 2500, lap = 50, radius = 40, tube = 18, noise = NOISE.torus, seed = 12 } = {}) {
  const frame = (k) => {
    const along = (2 * Math.PI * k) / poses, around = (2 * Math.PI * k) / lap;
    const [c, s] = [Math.cos(along), Math.sin(along)];
    return { center: [radius * c, radius * s, 0], outward: [Math.cos(around) * c, Math.cos(around) * s, Math.sin(around)] };
  };
  const place = (k) => {
    const { center, outward } = frame(k);
    return center.map((component, d) => component + tube * outward[d]);
  };
  const truth = posesOn(poses, place, (k) => frame(k).outward);
  const ring = Array.from({ length: Math.min(lap, poses - lap) }, (_, k) => [poses - lap + k, k]);
  return measure(3, truth, [...lapClosures(poses, lap), ...ring], noise, seed);
}

const lapClosures = (poses, lap) => Array.from({ length: Math.max(0, poses - lap) }, (_, k) => [k, k + lap]);

/**
 * A drive through a city of square blocks in steps of length 1 with random turns at corners. A pose measures the latest earlier one at the
 * same place, and the previous one in the same street, each with probability `chance`.
 */
export function cityGraph({ poses = 2500, block = 4, blocks = 9, chance = 0.5, noise = NOISE.city, seed = 13 } = {}) {
  const random = seededNoise(seed);
  const size = block * blocks;
  const ways = [[1, 0], [0, 1], [-1, 0], [0, -1]];
  let [x, y, way] = [Math.floor(blocks / 2) * block, Math.floor(blocks / 2) * block, 0];
  const truth = [], closures = [], lastAt = new Map();
  for (let k = 0; k < poses; k++) {
    truth.push({ position: [x, y], rotation: [(Math.PI / 2) * way] });
    const key = x * (size + 1) + y, seen = lastAt.get(key);
    if (seen !== undefined && k - seen > block && random.uniform() < chance) closures.push([seen, k]);
    lastAt.set(key, k);
    if (x % block === 0 && y % block === 0) {
      // Straight on half of the time; never back, and never out of the city.
      const inside = (turn) => {
        const [dx, dy] = ways[(way + turn + 4) % 4];
        return x + dx >= 0 && x + dx <= size && y + dy >= 0 && y + dy <= size;
      };
      const choices = [0, 0, 1, -1].filter(inside);
      way = (way + choices[random.below(choices.length)] + 4) % 4;
    }
    x += ways[way][0];
    y += ways[way][1];
  }
  return measure(2, truth, closures, noise, seed + 1);
}

/** Separates odometry edges, from a pose to the next, from loop closures. */
export function edgeGroups({ edges }) {
  const odometry = [], closures = [];
  for (let edge = 0; edge < edges.length / 2; edge++) (edges[2 * edge + 1] - edges[2 * edge] === 1 ? odometry : closures).push(edge);
  return { odometry, closures };
}

/**
 * The graph with wrong loop closures after the others: measurements with the information matrix of the first closure, which claim that one
 * place was seen from another when it was a third.
 * @param {import('../../problems/g2o.js').PoseGraph} graph
 * @param {number} count the number of wrong closures
 */
export function withOutliers(graph, count, seed = 14) {
  if (count === 0) return graph;
  const { dimension, positions, edges, measuredRotations, squareRoots } = graph;
  const random = seededNoise(seed);
  const poses = positions.length / dimension;
  const turns = measuredRotations.length / (edges.length / 2), roots = squareRoots.length / (edges.length / 2);
  const model = edgeGroups(graph).closures[0] ?? 0;
  const wrong = { edges: [], measuredPositions: [], measuredRotations: [], squareRoots: [] };
  while (wrong.edges.length < 2 * count) {
    const [a, b] = [random.below(poses), random.below(poses)];
    // Adjacent poses would be classified as odometry.
    if (Math.abs(a - b) < 2) continue;
    wrong.edges.push(Math.min(a, b), Math.max(a, b));
    // The measurement of the same place: nearly no distance, any heading.
    for (let d = 0; d < dimension; d++) wrong.measuredPositions.push(random.normal());
    const heading = 2 * Math.PI * random.uniform();
    wrong.measuredRotations.push(...(turns === 1 ? [heading] : [Math.cos(heading / 2), 0, 0, Math.sin(heading / 2)]));
    wrong.squareRoots.push(...squareRoots.subarray(roots * model, roots * (model + 1)));
  }
  const joined = (name) => graph[name].constructor.from([...graph[name], ...wrong[name]]);
  return { ...graph, edges: joined('edges'), measuredPositions: joined('measuredPositions'), measuredRotations: joined('measuredRotations'), squareRoots: joined('squareRoots'), outliers: count };
}
