/** Writers of .g2o, BAL and TUM files: what is written is read back with the same bits; what does not fit is refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBal, parseG2o, parseTum, ResiduaError, writeBal, writeG2o, writeTum } from '../../pkg-template/dist/index.js';
import { randomNumbers } from './reference.mjs';

const refused = (message) => (error) => error instanceof ResiduaError && error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message));
/** Numbers of very different sizes, whose decimal expansions are long. */
const awkward = (random, count) => Float64Array.from({ length: count }, () => (random() - 0.5) * 10 ** Math.floor(40 * random() - 20));
const unit = (values) => values.map((x) => x / Math.hypot(...values));

/** A random graph with measurements of every kind. Roots have rows of zeros now and then. */
function randomGraph(dim, seed) {
  const random = randomNumbers(seed);
  const below = (count) => Math.floor(count * random());
  const [count, points, rows] = [3 + below(5), 2 + below(3), dim === 2 ? 3 : 6];
  const pose = () => (dim === 2 ? [6 * random() - 3, ...awkward(random, 2)] : [...unit([0, 1, 2, 3].map(() => random() - 0.5)), ...awkward(random, 3)]);
  const poses = (length) => Float64Array.from(Array.from({ length }, pose).flat());
  const roots = (n, length) => Float64Array.from(Array.from({ length }, () => Array.from({ length: n }, (_, i) => Array.from({ length: n - i }, (_, k) => (k === 0 ? 1 : 0) + random() / 4)).flat()).flat());
  const pairs = (length, limit) => {
    const table = Array.from({ length }, () => [below(limit), below(limit - 1)]).map(([a, b]) => [a, b >= a ? b + 1 : b]);
    return { from: Uint32Array.from(table, ([a]) => a), to: Uint32Array.from(table, ([, b]) => b) };
  };
  const indices = (length, limit) => Uint32Array.from({ length }, () => below(limit));
  const ofPose = (length) => ({ measurements: poses(length), sqrtInformation: roots(rows, length) });
  const ofPoint = (length) => ({ measurements: awkward(random, dim * length), sqrtInformation: roots(dim, length) });
  const offsets = poses(2);
  const size = dim === 2 ? 3 : 7;
  const identity = dim === 2 ? [0, 0, 0] : [1, 0, 0, 0, 0, 0, 0];
  const sensors = (length) => Float64Array.from(Array.from({ length }, () => [[...offsets.subarray(0, size)], [...offsets.subarray(size)], identity][below(3)]).flat());
  return {
    dim, poses: poses(count), ids: Array.from({ length: count }, (_, k) => `p${k}`), fixed: Uint32Array.of(1), ...pairs(6, count), ...ofPose(6),
    landmarks: { points: awkward(random, dim * points), ids: Array.from({ length: points }, (_, k) => `${k}`), fixed: Uint32Array.of(0) },
    offsets: { poses: Float64Array.from([...offsets, ...identity]), ids: ['0', '7', '3'] },
    landmarkEdges: { from: indices(4, count), to: indices(4, points), offsets: sensors(4), ...ofPoint(4) },
    offsetEdges: { ...pairs(3, count), fromOffsets: sensors(3), toOffsets: sensors(3), ...ofPose(3) },
    priors: { poses: indices(2, count), offsets: dim === 2 ? new Float64Array(6) : sensors(2), ...ofPose(2) },
    positionPriors: { poses: indices(2, count), ...ofPoint(2) },
    landmarkPriors: { landmarks: indices(2, points), ...ofPoint(2) },
    landmarkPairs: { ...pairs(2, points), ...ofPoint(2) },
    skipped: [],
  };
}

/** Compares graphs: roots but for rounding, all else bit for bit. */
function sameGraph(again, graph, where = '') {
  assert.deepEqual(Object.keys(again).sort(), Object.keys(graph).sort(), where);
  for (const [name, values] of Object.entries(graph)) {
    const place = `${where}${name}`;
    if (name === 'sqrtInformation') {
      assert.equal(again[name].length, values.length, place);
      // A matrix of condition 100 at most is squared and factorised: some hundred roundings.
      values.forEach((x, k) => assert.ok(Math.abs(again[name][k] - x) < 1e-13, `${place}[${k}]: ${again[name][k]} for ${x}`));
    } else if (ArrayBuffer.isView(values) || typeof values !== 'object' || Array.isArray(values)) assert.deepEqual(again[name], values, place);
    else sameGraph(again[name], values, `${place}.`);
  }
}

for (const dim of [2, 3]) {
  test(`random graphs with measurements of every kind in ${dim} dimensions are read back with the same bits`, () => {
    for (let seed = 1; seed <= 200; seed++) {
      const graph = randomGraph(dim, seed);
      sameGraph(parseG2o(writeG2o(graph)), graph);
    }
  });
}

test('a graph of poses and measurements alone gets ids from 0, and sensors that no offset has get ids of their own', () => {
  const plain = { dim: 2, poses: [0, 1, 2, 0.5, 3, -0], from: [1], to: [0], measurements: [0.25, 1, 1e-300], sqrtInformation: [2, 3, 4, 5, 6, 7] };
  assert.equal(writeG2o(plain), 'VERTEX_SE2 0 1 2 0\nVERTEX_SE2 1 3 -0 0.5\nEDGE_SE2 1 0 1 1e-300 0.25 4 6 8 34 42 101\n');
  const seen = { from: [0], to: [0], offsets: [0.1, 0.2, 0.3], measurements: [4, 5], sqrtInformation: [1, 0, 1] };
  const graph = parseG2o(writeG2o({ ...plain, landmarks: { points: [7, 8] }, landmarkEdges: seen }));
  assert.deepEqual([graph.landmarks.ids, graph.offsets.ids, [...graph.landmarkEdges.offsets]], [['2'], ['0'], [0.1, 0.2, 0.3]]);
});

const PLAIN = { dim: 2, poses: [0, 1, 2, 0, 3, 4], from: [1], to: [0], measurements: [0, 1, 1], sqrtInformation: [1, 0, 0, 1, 0, 1] };
for (const [change, message] of [
  [{ poses: [0, 1, Infinity, 0, 3, 4] }, 'writeG2o: graph.poses[2]: got Infinity; takes a finite number'],
  [{ to: [1] }, 'writeG2o: graph.to[0]: got 1, relative to itself; takes two poses'],
  [{ ids: ['a', 'a'] }, 'writeG2o: graph.ids: got "a" a second time; takes an id for each pose and landmark'],
  [{ ids: ['a', '0'], landmarks: { points: [1, 2], ids: ['0'] } }, 'writeG2o: graph.ids: got "0" a second time; takes an id for each pose and landmark'],
  [{ ids: ['a', 'b\nFIX 0'] }, "writeG2o: graph.ids[1]: got \"b\\nFIX 0\"; takes a word that does not begin with '#'"],
  [{ sqrtInformation: [1e200, 0, 0, 1, 0, 1] }, 'writeG2o: graph: got a square root of information whose square is Infinity; takes roots whose squares are finite'],
  [{ priors: { poses: [0], offsets: [0, 1, 0], measurements: [0, 0, 0], sqrtInformation: [1, 0, 0, 1, 0, 1] } }, 'writeG2o: graph.priors.offsets: got a sensor at position 0; takes the identity in the plane: the format has no other prior there'],
]) {
  test(`refused: ${message}`, () => assert.throws(() => writeG2o({ ...PLAIN, ...change }), refused(message)));
}

test('bundles are read back with the same bits, with cameras of 9 and 10 numbers', () => {
  const random = randomNumbers(5);
  for (const cameraSize of [9, 10]) {
    const bundle = {
      cameras: Float64Array.from([0, 1].flatMap(() => [...unit(Array.from({ length: 4 }, () => random() - 0.5)), ...awkward(random, 6)].slice(0, cameraSize))), cameraSize, rotation: cameraSize === 9 ? 'angle-axis' : 'quaternion',
      points: awkward(random, 9), cameraIndices: Uint32Array.of(0, 1, 1, 0), pointIndices: Uint32Array.of(2, 0, 1, 1), observations: Float64Array.from([...awkward(random, 7), -0]),
    };
    assert.deepEqual(parseBal(writeBal(bundle)), bundle);
  }
});

const BUNDLE = { cameras: new Float64Array(9), cameraSize: 9, points: new Float64Array(3), cameraIndices: [0], pointIndices: [0], observations: [1, 2] };
for (const [change, message] of [
  [{ cameraSize: 8 }, 'writeBal: bundle.cameraSize: got 8; takes 9 or 10'],
  [{ cameras: new Float64Array(8) }, 'writeBal: bundle.cameras: got 8 numbers; takes a positive multiple of 9'],
  [{ points: [1, NaN, 2] }, 'writeBal: bundle.points[1]: got NaN; takes a finite number'],
  [{ cameraIndices: [1] }, 'writeBal: bundle.cameraIndices[0]: got 1; takes a whole number from 0 below the number of cameras, 1'],
  [{ pointIndices: [] }, 'writeBal: bundle.pointIndices: got 0 indices; takes 1, as there are observations'],
]) {
  test(`refused: ${message}`, () => assert.throws(() => writeBal({ ...BUNDLE, ...change }), refused(message)));
}

test('a trajectory has its times, and poses with quaternions w, x, y, z of length 1', () => {
  const { timestamps, poses } = parseTum('# time x y z qx qy qz qw\n1305031098.6659 1 2 3 0 0 3 4\n\n1305031099 4 5 6 0 0 0 -2 # the last\n');
  assert.deepEqual([...timestamps], [1305031098.6659, 1305031099]);
  assert.deepEqual([...poses], [0.8, 0, 0, 0.6, 1, 2, 3, -1, 0, 0, 0, 4, 5, 6]);
});

test('trajectories are read back with the same bits', () => {
  const random = randomNumbers(6);
  for (let round = 0; round < 100; round++) {
    const poses = Float64Array.from(Array.from({ length: 5 }, () => [...unit(Array.from({ length: 4 }, () => random() - 0.5)), ...awkward(random, 3)]).flat());
    const trajectory = { timestamps: awkward(random, 5), poses };
    assert.deepEqual(parseTum(writeTum(trajectory)), trajectory);
  }
});

for (const [call, message] of [
  [() => parseTum(''), 'parseTum: line 1: got the end of a file without poses; takes a line for each pose'],
  [() => parseTum('1 2 3'), 'parseTum: line 1: got 3 words; takes 8: time, x, y, z, and a quaternion x, y, z, w'],
  [() => parseTum('# \n1 0 0 0 0 0 0 0'), 'parseTum: line 2: got a quaternion of length 0; takes one that has a direction'],
  [() => parseTum('1 0 0 nan 0 0 0 1'), 'parseTum: line 1: got "nan"; takes a finite decimal number'],
  [() => parseTum(null), 'parseTum: text: got null; takes the text of a file'],
  [() => writeTum({ timestamps: [1], poses: [1, 0, 0] }), 'writeTum: trajectory.poses: got 3 numbers; takes 7 for each of the 1 times'],
  [() => writeTum({ timestamps: [NaN], poses: [1, 0, 0, 0, 0, 0, 0] }), 'writeTum: trajectory.timestamps[0]: got NaN; takes a finite number'],
  [() => writeTum({ timestamps: [1], poses: new Float64Array(7) }), 'writeTum: trajectory.poses: got a quaternion of length 0 at position 0; takes quaternions that have a direction'],
]) {
  test(`refused: ${message}`, () => assert.throws(call, refused(message)));
}
