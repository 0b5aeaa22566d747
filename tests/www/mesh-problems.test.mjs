// Springs and as-rigid-as-possible deformation: counts, states of energy 0, and weights in closed form.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { icosphere } from '../../www/mesh/icosphere.js';
import { meshTopology } from '../../www/mesh/topology.js';
import { onCpu } from './residua.mjs';
const { cotangentWeights, endVertices, rigidProblem } = await import('../../www/problems/as-rigid-as-possible.js');
const { gridEdges, scatteredPositions, springGrid, springsProblem } = await import('../../www/problems/springs.js');

test('a grid has (side − 1)(3 side − 1) springs to the right, down and across, each once', () => {
  assert.deepEqual([...gridEdges(2)], [0, 1, 0, 2, 0, 3, 1, 3, 2, 3]);
  for (const side of [1, 2, 3, 71]) {
    const edges = gridEdges(side);
    const pairs = new Set();
    for (let e = 0; e < edges.length; e += 2) {
      pairs.add(`${edges[e]},${edges[e + 1]}`);
      assert.ok([1, side, side + 1].includes(edges[e + 1] - edges[e]));
    }
    assert.deepEqual([edges.length / 2, pairs.size], [(side - 1) * (3 * side - 1), (side - 1) * (3 * side - 1)]);
  }
});

test('scattered positions fill the cube evenly, and are the same for the same seed', () => {
  const positions = scatteredPositions(10000, 10, 5);
  assert.deepEqual(scatteredPositions(10000, 10, 5), positions);
  assert.notDeepEqual(scatteredPositions(10000, 10, 6), positions);
  for (let d = 0; d < 3; d++) {
    const coordinates = positions.filter((_, i) => i % 3 === d);
    assert.ok(coordinates.every((value) => value >= 0 && value < 10));
    // The mean of 10,000 uniform numbers has a standard deviation of 10/√120000 = 0.029.
    assert.ok(Math.abs(coordinates.reduce((sum, value) => sum + value, 0) / coordinates.length - 5) < 0.12);
  }
});

test('the residual of a spring is its length minus its rest length', async () => {
  const { problem } = springsProblem([0, 0, 0, 3, 4, 0, 3, 4, 12], Uint32Array.of(0, 1, 0, 2), [4, 15]);
  assert.deepEqual([...await onCpu(problem, (functions) => functions.evaluate())], [1, -2]);
  assert.equal(springGrid(71).problem.numResiduals, 14840);
});

test('cotangent weights are those of the angles opposite to the edge', () => {
  // Two right-angled halves of a unit square: 45° opposite to its sides, 90° opposite to the diagonal.
  const positions = Float64Array.of(0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0);
  const triangles = Uint32Array.of(0, 1, 2, 0, 2, 3);
  const { edges } = meshTopology(4, triangles);
  const weights = cotangentWeights(positions, triangles, edges);
  const at = (a, b) => weights[Array.from({ length: edges.length / 2 }, (_, e) => e).find((e) => edges[2 * e] === a && edges[2 * e + 1] === b)];
  for (const [a, b] of [[0, 1], [1, 2], [2, 3], [0, 3]]) assert.ok(Math.abs(at(a, b) - 0.5) < 1e-15, `${a}, ${b}`);
  // Its cotangents are 0, so it has the least weight.
  assert.equal(at(0, 2), 1e-3);
});

test('a rigid motion of mesh and rotations has energy 0, and a stretched mesh does not', async () => {
  const mesh = icosphere(1);
  const topology = meshTopology(mesh.positions.length / 3, mesh.triangles);
  const { problem, vertices, rotations } = rigidProblem(mesh, topology, { vertices: [0], targets: [[...mesh.positions.subarray(0, 3)]] });
  const quaternion = [Math.cos(0.4), 0, Math.sin(0.4), 0];
  const turned = mesh.positions.map((_, i) => {
    const [x, y, z] = mesh.positions.subarray(i - (i % 3), i - (i % 3) + 3);
    return [Math.cos(0.8) * x + Math.sin(0.8) * z + 5, y - 2, Math.cos(0.8) * z - Math.sin(0.8) * x][i % 3];
  });
  await onCpu(problem, async (functions) => {
    const cost = async () => (await functions.evaluateCostWithGradient()).value;
    // At rest the energy is 0.
    assert.equal(functions.numResiduals, 3 * 240);
    assert.equal(await cost(), 0);
    vertices.set(turned);
    rotations.set(Float64Array.from({ length: 4 * 42 }, (_, i) => quaternion[i % 4]));
    // Residuals are rounding, 1e-16 of a length, squared and summed over 720.
    assert.ok(await cost() < 1e-26);
    vertices.set(mesh.positions.map((value) => 2 * value));
    assert.ok(await cost() > 1);
  });
});

test('the ends of a mesh are its lowest and highest vertices', () => {
  const positions = Float64Array.from({ length: 300 }, (_, i) => (i % 3 === 1 ? (37 * ((i - 1) / 3)) % 100 : 0));
  const { low, high } = endVertices(positions, 1, 0.03);
  assert.deepEqual([low, high].map((end) => end.map((vertex) => positions[3 * vertex + 1])), [[0, 1, 2], [97, 98, 99]]);
});
