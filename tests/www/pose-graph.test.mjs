// Pose graphs: reading of .g2o files, and the residual compared with rotation matrices.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomNumbers } from '../facade/reference.mjs';
import { hasData, readData } from '../shared-data.mjs';
import { onCpu, residua } from './residua.mjs';
const { parseG2o, poseGraphProblem, writeG2o } = await import('../../www/problems/pose-graph.js');

const DIAGONAL = '4 0 0 0 0 0 4 0 0 0 0 4 0 0 0 9 0 0 9 0 9';
const FILE = `# two poses
VERTEX_SE3:QUAT 7 1 2 3 0 0 0.6 0.8
EDGE_SE3:QUAT 7 3 1 0 0 0 0 0 2 ${DIAGONAL}
VERTEX_SE3:QUAT 3 0 0 0 0 0 0 1
FIX 3
`;

test('poses, measurements and fixed poses are read, with quaternions as w, x, y, z of unit length', () => {
  const graph = parseG2o(FILE.replaceAll('\n', '\r\n'));
  assert.deepEqual([...graph.positions], [1, 2, 3, 0, 0, 0]);
  assert.deepEqual([...graph.rotations], [0.8, 0, 0, 0.6, 1, 0, 0, 0]);
  assert.deepEqual([...graph.edges], [0, 1]);
  assert.deepEqual(graph.fixed, [1]);
  assert.deepEqual([...graph.measuredPositions], [1, 0, 0]);
  assert.deepEqual([...graph.measuredRotations], [1, 0, 0, 0]);
  assert.deepEqual([...graph.squareRoots], [2, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 3, 0, 3]);
});

test('an invalid file is refused with its line', () => {
  const text = FILE.replace('0.8', 'one');
  assert.throws(() => parseG2o(text), (error) => error instanceof residua.ResiduaError && error.message.startsWith('parseG2o: line 2: got "one"'));
});

const TRIANGLE = Array.from({ length: 6 }, (_, i) => Array.from({ length: 6 - i }, (_, k) => [i, i + k])).flat();

/** The symmetric matrix AAᵀ + 2I as its upper triangle. */
function definite(next) {
  const a = Array.from({ length: 6 }, () => Array.from({ length: 6 }, () => 2 * next() - 1));
  return TRIANGLE.map(([i, j]) => a[i].reduce((sum, value, k) => sum + value * a[j][k], i === j ? 2 : 0));
}

const PLANAR = `VERTEX_SE2 0 1 2 0.5
VERTEX_SE2 1 -1 0.5 3
EDGE_SE2 0 1 1.5 -0.5 -2.9 4 0.5 0.25 9 0.125 16
`;

test('a file in which no pose measures another is refused', () => {
  assert.throws(() => parseG2o('VERTEX_SE2 0 0 0 0\nEDGE_PRIOR_SE2 0 0 0 0 1 0 0 1 0 1'), (error) => error instanceof residua.ResiduaError && /no pose measures another; takes pose graphs/.test(error.message));
});

test('poses in the plane are read: two numbers per position, the heading, and six of the information matrix', () => {
  const graph = parseG2o(PLANAR);
  assert.equal(graph.dimension, 2);
  assert.deepEqual([[...graph.positions], [...graph.rotations]], [[1, 2, -1, 0.5], [0.5, 3]]);
  assert.deepEqual([[...graph.measuredPositions], [...graph.measuredRotations]], [[1.5, -0.5], [-2.9]]);
  // Cholesky in closed form: the first row of Lᵀ is that of the matrix over the root of its pivot.
  assert.deepEqual([...graph.squareRoots].slice(0, 3), [2, 0.25, 0.125]);
});

test('a written graph is read back unchanged', () => {
  for (const text of [FILE, PLANAR]) {
    const graph = parseG2o(text), again = parseG2o(writeG2o(graph));
    assert.deepEqual(Object.keys(again), Object.keys(graph));
    for (const [key, values] of Object.entries(graph)) {
      if (typeof values === 'number') assert.equal(again[key], values);
      // A few roundings of numbers up to 16.
      else values.forEach((value, k) => assert.ok(Math.abs(again[key][k] - value) < 1e-14, `${key} ${k}: ${again[key][k]} for ${value}`));
    }
  }
});

test('the squared residual of an edge in the plane is eᵀΩe, with the angle wrapped', async () => {
  const { value } = await onCpu(poseGraphProblem(parseG2o(PLANAR)).problem, (functions) => functions.evaluateCostWithGradient());
  const [c, s] = [Math.cos(0.5), Math.sin(0.5)];
  // Pose 1 relative to pose 0 is (−2, −1.5), rotated back by 0.5.
  const e = [-2 * c - 1.5 * s - 1.5, 2 * s - 1.5 * c + 0.5, 3 - 0.5 + 2.9 - 2 * Math.PI];
  const information = [[4, 0.5, 0.25], [0.5, 9, 0.125], [0.25, 0.125, 16]];
  const expected = matrixTimes(information, e).reduce((sum, value, k) => sum + value * e[k], 0) / 2;
  // A dozen roundings of 1e-16 each.
  assert.ok(Math.abs(value / expected - 1) < 1e-14, `${value}, ${expected}`);
});

const transposed = (m) => m[0].map((_, j) => m.map((row) => row[j]));
const matrixTimes = (m, v) => m.map((row) => row.reduce((sum, value, k) => sum + value * v[k], 0));
const product = (a, b) => transposed(transposed(b).map((column) => matrixTimes(a, column)));

/** The rotation by `angle` around a unit axis: Rodrigues' formula, and the quaternion of the same. */
function rotation(axis, angle) {
  const [x, y, z] = axis.map((value) => value / Math.hypot(...axis));
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const cross = [[0, -z, y], [z, 0, -x], [-y, x, 0]], outer = [x, y, z].map((a) => [x, y, z].map((b) => a * b));
  return {
    matrix: cross.map((row, i) => row.map((value, j) => s * value + (1 - c) * outer[i][j] + (i === j ? c : 0))),
    quaternion: [x * Math.sin(angle / 2), y * Math.sin(angle / 2), z * Math.sin(angle / 2), Math.cos(angle / 2)],
  };
}

test('the squared residual of an edge is eᵀΩe, with e from rotation matrices', async () => {
  const next = randomNumbers(5);
  const vector = () => [0, 0, 0].map(() => 4 * next() - 2);
  for (let trial = 0; trial < 5; trial++) {
    const [from, to, measured] = [0, 0, 0].map(() => ({ t: vector(), ...rotation(vector(), 2 * next()) }));
    const upper = definite(next);
    const pose = ({ t, quaternion }) => [...t, ...quaternion].join(' ');
    const text = `VERTEX_SE3:QUAT 0 ${pose(from)}\nVERTEX_SE3:QUAT 1 ${pose(to)}\nEDGE_SE3:QUAT 0 1 ${pose(measured)} ${upper.join(' ')}\n`;
    const { value } = await onCpu(poseGraphProblem(parseG2o(text)).problem, (functions) => functions.evaluateCostWithGradient());

    const seen = matrixTimes(transposed(from.matrix), to.t.map((value, d) => value - from.t[d])).map((value, d) => value - measured.t[d]);
    // The vector part of a unit quaternion, (R − Rᵀ)∨ / (4 w) with 4w² = 1 + trace R; twice it. Its sign goes with w > 0.
    const turn = product(transposed(measured.matrix), product(transposed(from.matrix), to.matrix));
    const w = Math.sqrt(Math.max(1 + turn[0][0] + turn[1][1] + turn[2][2], 0)) / 2;
    const angle = [turn[2][1] - turn[1][2], turn[0][2] - turn[2][0], turn[1][0] - turn[0][1]].map((value) => value / (2 * w));
    const costs = [1, -1].map((sign) => {
      const e = [...seen, ...angle.map((value) => sign * value)];
      return TRIANGLE.reduce((sum, [i, j], n) => sum + (i === j ? 0.5 : 1) * upper[n] * e[i] * e[j], 0);
    });
    // The quaternions' own w may have either sign.
    assert.ok(costs.some((cost) => Math.abs(cost / value - 1) < 1e-11), `${value}, ${costs}`);
  }
});

test('sphere2500 has 2,500 poses and 4,949 measurements, and the cost of its start', async (t) => {
  if (!hasData(t, 'pose-graphs/sphere2500.g2o')) return;
  const graph = parseG2o(readData('pose-graphs/sphere2500.g2o'));
  assert.deepEqual([graph.positions.length / 3, graph.edges.length / 2, graph.fixed], [2500, 4949, []]);
  const { value } = await onCpu(poseGraphProblem(graph).problem, (functions) => functions.evaluateCostWithGradient());
  // Computed by a separate program in Python with NumPy.
  assert.ok(Math.abs(value / 1292302.995442148 - 1) < 1e-12, `${value}`);
});
