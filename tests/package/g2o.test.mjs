// Measurements of every kind in a .g2o file: their residuals are 0 where the graph is right, and a solve finds it from a wrong start.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomNumbers } from '../facade/reference.mjs';
import { residua } from '../www/residua.mjs';

const { parseG2o, Pose2, Pose3, Problem, solve, Vec2, Vec3 } = residua;

const UNIT = { 2: '1 0 1', 3: '1 0 0 1 0 1', 6: '1 0 0 0 0 0 1 0 0 0 0 1 0 0 0 1 0 0 1 0 1' };
/** The numbers of constants. */
const numbers = (value) => [...value].map((entry) => entry.data);

/** The words of a pose in a line. */
function words(pose) {
  const block = numbers(pose);
  return (block.length === 3 ? [block[1], block[2], block[0]] : [...block.slice(4), ...block.slice(1, 4), block[0]]).join(' ');
}

/** A graph with two measurements of each kind, whose vertices are moved by up to `amount`; returns its text and the right poses and landmarks. */
function graphText(dim, amount) {
  const random = randomNumbers(dim);
  const [Pose, Point] = dim === 2 ? [Pose2, Vec2] : [Pose3, Vec3];
  const tangent = (size = 1) => Array.from({ length: dim === 2 ? 3 : 6 }, () => size * (2 * random() - 1));
  const [poses, offsets, landmarks] = [[0, 1, 2].map(() => Pose.exp(tangent())), [0, 1].map(() => Pose.exp(tangent())), [0, 1].map(() => new Point(...tangent().slice(0, dim)))];
  const point = (value) => numbers(value).join(' ');
  const sensor = (pose, offset) => poses[pose].compose(offsets[offset]);
  const seen = (pose, offset, landmark) => point(sensor(pose, offset).inverse().act(landmarks[landmark]));
  const [vertex, edge, small, large] = dim === 2 ? ['VERTEX_SE2', 'EDGE_SE2', UNIT[2], UNIT[3]] : ['VERTEX_SE3:QUAT', 'EDGE_SE3:QUAT', UNIT[3], UNIT[6]];
  const moved = (landmark) => landmark.add(new Point(...tangent(amount).slice(0, dim)));
  const text = [
    ...poses.map((pose, k) => `${vertex} ${k} ${words(pose.compose(Pose.exp(tangent(amount))))}`),
    ...landmarks.map((landmark, k) => `${dim === 2 ? 'VERTEX_XY' : 'VERTEX_TRACKXYZ'} ${10 + k} ${point(moved(landmark))}`),
    ...offsets.map((offset, k) => `PARAMS_SE${dim}OFFSET ${k} ${words(offset)}`),
    ...[[2, 0], [0, 1]].map(([a, b]) => `${edge} ${a} ${b} ${words(poses[a].between(poses[b]))} ${large}`),
    ...[[1, 2, 0, 1], [2, 0, 1, 0]].map(([a, b, o, p]) => `EDGE_SE${dim}_OFFSET ${a} ${b} ${o} ${p} ${words(sensor(a, o).between(sensor(b, p)))} ${large}`),
    ...[[1, 1, 1], [0, 0, 0]].map(([a, l, o]) => `${dim === 2 ? 'EDGE_SE2_POINTXY_OFFSET' : 'EDGE_SE3_TRACKXYZ'} ${a} ${10 + l} ${o} ${seen(a, o, l)} ${small}`),
    ...[1, 2].map((k) => (dim === 2 ? `EDGE_PRIOR_SE2 ${k} ${words(poses[k])} ${large}` : `EDGE_SE3_PRIOR ${k} 1 ${words(sensor(k, 1))} ${large}`)),
    ...[2, 0].map((k) => `${dim === 2 ? `EDGE_PRIOR_SE2_XY ${k}` : `EDGE_SE3_XYZ_PRIOR ${k} 1`} ${point(poses[k].translation)} ${small}`),
    ...[1, 0].map((k) => `${dim === 2 ? 'EDGE_PRIOR_XY' : 'EDGE_POINTXYZ_PRIOR'} ${10 + k} ${point(landmarks[k])} ${small}`),
    ...[[1, 0], [0, 1]].map(([a, b]) => `${dim === 2 ? 'EDGE_POINTXY' : 'EDGE_POINTXYZ'} ${10 + a} ${10 + b} ${point(landmarks[b].sub(landmarks[a]))} ${small}`),
  ].join('\n');
  return { text, poses: poses.flatMap(numbers), landmarks: landmarks.flatMap(numbers) };
}

/** The problem of a graph by the formulas of PoseGraph. */
function problemOf(graph) {
  const { dim, landmarkEdges, offsetEdges, priors, positionPriors, landmarkPriors, landmarkPairs } = graph;
  const Pose = dim === 2 ? Pose2 : Pose3;
  const problem = new Problem();
  const poses = problem.poses('poses', { dim, values: graph.poses });
  const landmarks = problem.parameters('landmarks', { dim, values: graph.landmarks.points });
  const pose = (values) => problem.data(values, dim === 2 ? 3 : 7), point = (values) => problem.data(values, dim);
  const parts = ({ translation, rotation }) => [...translation, ...(dim === 2 ? [rotation.log()] : rotation.log())];
  const error = (measured, actual) => parts(Pose.fromBlock(measured).between(actual));
  const carried = (body, sensor) => body.compose(Pose.fromBlock(sensor));
  const add = (name, { measurements, sqrtInformation }, value, inputs, residual) => problem.residuals(name, { inputs: { ...inputs, z: value(measurements) }, residual, sqrtInformation });
  add('edges', graph, pose, { a: poses.at(graph.from), b: poses.at(graph.to) }, ({ a, b, z }) => error(z, a.between(b)));
  add('offset edges', offsetEdges, pose, { a: poses.at(offsetEdges.from), b: poses.at(offsetEdges.to), o: pose(offsetEdges.fromOffsets), p: pose(offsetEdges.toOffsets) },
    ({ a, b, o, p, z }) => error(z, carried(a, o).between(carried(b, p))));
  add('landmark edges', landmarkEdges, point, { a: poses.at(landmarkEdges.from), l: landmarks.at(landmarkEdges.to), o: pose(landmarkEdges.offsets) }, ({ a, l, o, z }) => carried(a, o).inverse().act(l).sub(z));
  add('priors', priors, pose, { a: poses.at(priors.poses), o: pose(priors.offsets) }, ({ a, o, z }) => error(z, carried(a, o)));
  add('position priors', positionPriors, point, { a: poses.at(positionPriors.poses) }, ({ a, z }) => a.translation.sub(z));
  add('landmark priors', landmarkPriors, point, { l: landmarks.at(landmarkPriors.landmarks) }, ({ l, z }) => l.sub(z));
  add('landmark pairs', landmarkPairs, point, { k: landmarks.at(landmarkPairs.from), l: landmarks.at(landmarkPairs.to) }, ({ k, l, z }) => l.sub(k).sub(z));
  return { problem, poses, landmarks };
}

for (const dim of [2, 3]) {
  test(`measurements of every kind in ${dim} dimensions have their least cost, 0, where the graph is right`, async () => {
    for (const amount of [0, 0.1]) {
      const { text, poses: rightPoses, landmarks: rightLandmarks } = graphText(dim, amount);
      const { problem, poses, landmarks } = problemOf(parseG2o(text));
      const { initialCost, finalCost } = await solve(problem, { backend: 'cpu' });
      // Residuals of 0 are some rounding errors of numbers about 1.
      if (amount === 0) assert.ok(initialCost < 1e-28, `${initialCost}`);
      else assert.ok(initialCost > 1e-3, `${initialCost}`);
      assert.ok(finalCost < 1e-20, `${finalCost}`);
      const size = dim === 2 ? 3 : 7;
      const values = poses.values();
      for (let k = 0; k < 3; k++) {
        const block = [...values.subarray(size * k, size * (k + 1))], right = rightPoses.slice(size * k, size * (k + 1));
        // A quaternion and its negative are the same rotation.
        const sign = dim === 3 && block.slice(0, 4).reduce((sum, x, i) => sum + x * right[i], 0) < 0 ? -1 : 1;
        block.forEach((x, i) => assert.ok(Math.abs((i < 4 && dim === 3 ? sign : 1) * x - right[i]) < 1e-9, `pose ${k}: ${block} is not ${right}`));
      }
      landmarks.values().forEach((x, i) => assert.ok(Math.abs(x - rightLandmarks[i]) < 1e-9));
    }
  });
}
