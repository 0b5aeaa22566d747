// The meshes of the pages: spheres, displacements, and topology.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundingSphere, intoUnitSphere, outOfUnitSphere } from '../../www/mesh/bounding-sphere.js';
import { icosphere } from '../../www/mesh/icosphere.js';
import { perturb } from '../../www/mesh/perturb.js';
import { meshTopology } from '../../www/mesh/topology.js';

const starOf = (stars, vertex) => {
  const i = stars.vertices.indexOf(vertex);
  return i < 0 ? undefined : Array.from(stars.indices.subarray(stars.offsets[i], stars.offsets[i + 1]));
};
/** A ring has no first entry: it is rotated so that the smallest is first. */
const turned = (ring) => {
  const start = ring.indexOf(Math.min(...ring));
  return [...ring.slice(start), ...ring.slice(0, start)];
};

test('an icosphere of n subdivisions has 10·4ⁿ + 2 vertices on the unit sphere and faces that face outwards', () => {
  for (const n of [0, 1, 2, 4]) {
    const { positions, triangles } = icosphere(n);
    assert.equal(positions.length / 3, 10 * 4 ** n + 2);
    assert.equal(triangles.length / 3, 20 * 4 ** n);
    for (let i = 0; i < positions.length; i += 3) {
      // Three products, two sums, a root and a quotient: a few units in the last place.
      assert.ok(Math.abs(Math.hypot(positions[i], positions[i + 1], positions[i + 2]) - 1) < 1e-15);
    }
    for (let t = 0; t < triangles.length; t += 3) {
      const [a, b, c] = [0, 1, 2].map((k) => positions.subarray(3 * triangles[t + k], 3 * triangles[t + k] + 3));
      const volume = a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
      assert.ok(volume > 0, `face ${t / 3} of n = ${n}`);
    }
  }
});

test('an invalid number of subdivisions is named in the message', () => {
  for (const bad of [-1, 1.5, NaN, 9, '4']) assert.throws(() => icosphere(bad), { name: 'RangeError', message: /subdivisions is/ });
});

test('a displacement is the same each time, within its amplitude, and spread over its range', () => {
  const zeros = new Float64Array(3000);
  const moved = perturb(zeros, 1e-3);
  assert.deepEqual(perturb(zeros, 1e-3), moved);
  assert.notDeepEqual(perturb(zeros, 1e-3, 5), moved);
  assert.ok(moved.every((move) => Math.abs(move) <= 1e-3));
  assert.equal(new Set(moved).size, moved.length);
  // The mean of 3,000 uniform numbers has a standard deviation of 1e-3/√9000 ≈ 1.05e-5; five of those.
  assert.ok(Math.abs(moved.reduce((sum, move) => sum + move, 0) / moved.length) < 5.3e-5);
  assert.ok(moved.filter((move) => Math.abs(move) > 9e-4).length > 200);
  assert.throws(() => perturb(zeros, 1e-3, 0), RangeError);
});

test('positions are scaled to the unit sphere and back', () => {
  const positions = Float64Array.of(1000, 2000, 3000, 1002, 2000, 3000, 1000, 2004, 3000);
  const sphere = boundingSphere(positions);
  assert.deepEqual(sphere.center, [1001, 2002, 3000]);
  const inside = intoUnitSphere(positions, sphere);
  const back = outOfUnitSphere(inside, sphere);
  assert.ok(inside.every((coordinate) => Math.abs(coordinate) <= 1));
  // One rounding of numbers near 3,000.
  back.forEach((coordinate, i) => assert.ok(Math.abs(coordinate - positions[i]) < 1e-12));
  assert.equal(boundingSphere(Float64Array.of(5, 5, 5)).radius, 1);
});

test('every vertex of a closed mesh has its neighbours in order, and each edge occurs once', () => {
  const { positions, triangles } = icosphere(2);
  const { edges, interior, boundary, irregular, boundaryEdgeCount, nonManifoldEdgeCount } = meshTopology(positions.length / 3, triangles);
  assert.equal(interior.vertices.length, 162);
  assert.equal(boundary.vertices.length + irregular.vertices.length + boundaryEdgeCount + nonManifoldEdgeCount, 0);
  assert.equal(edges.length / 2, 162 + 320 - 2); // Euler
  assert.equal(new Set(Array.from({ length: edges.length / 2 }, (_, e) => `${edges[2 * e]} ${edges[2 * e + 1]}`)).size, edges.length / 2);
  const faces = new Set();
  for (let t = 0; t < triangles.length; t += 3) faces.add(turned([...triangles.subarray(t, t + 3)]).join());
  for (const vertex of interior.vertices) {
    const ring = starOf(interior, vertex);
    ring.forEach((b, i) => assert.ok(faces.has(turned([vertex, b, ring[(i + 1) % ring.length]]).join())));
  }
  const rings = Array.from({ length: 162 }, (_, v) => starOf(interior, v).length);
  assert.equal(rings.filter((length) => length === 5).length, 12);
});

test('each kind of vertex is recognised', () => {
  const cases = [
    { name: 'one triangle', vertices: 3, faces: [0, 1, 2], boundary: { 0: [1, 2], 1: [2, 0], 2: [0, 1] }, edges: 3, open: 3 },
    { name: 'a fan around 0 with a boundary', vertices: 5, faces: [0, 3, 4, 0, 1, 2, 0, 2, 3], boundary: { 0: [1, 2, 3, 4] }, edges: 7, open: 5 },
    { name: 'a closed ring around 0, faces in any order', vertices: 5, faces: [0, 3, 4, 0, 1, 2, 4, 1, 0, 0, 2, 3], interior: { 0: [1, 2, 3, 4] }, edges: 8, open: 4 },
    { name: 'two fans that touch in 0', vertices: 5, faces: [0, 1, 2, 0, 3, 4], irregular: { 0: [1, 2, 3, 4] }, edges: 6, open: 6 },
    { name: 'three faces on the edge 0 1', vertices: 5, faces: [0, 1, 2, 1, 0, 3, 0, 1, 4], irregular: { 0: [1, 2, 3, 1, 1, 4] }, edges: 7, open: 6, nonManifold: 1 },
    { name: 'neighbours turned the other way', vertices: 4, faces: [0, 1, 2, 0, 1, 3], irregular: { 0: [1, 2, 1, 3] }, edges: 5, open: 4 },
    { name: 'two closed rings that touch in 0', vertices: 7, faces: [0, 1, 2, 0, 2, 3, 0, 3, 1, 0, 4, 5, 0, 5, 6, 0, 6, 4], irregular: { 0: [1, 2, 2, 3, 3, 1, 4, 5, 5, 6, 6, 4] }, edges: 12, open: 6 },
    { name: 'a vertex without a face', vertices: 4, faces: [0, 1, 2], boundary: { 3: undefined }, edges: 3, open: 3 },
  ];
  for (const { name, vertices, faces, edges, open, nonManifold = 0, ...kinds } of cases) {
    const topology = meshTopology(vertices, Uint32Array.from(faces));
    assert.equal(topology.edges.length / 2, edges, name);
    assert.equal(topology.boundaryEdgeCount, open, name);
    assert.equal(topology.nonManifoldEdgeCount, nonManifold, name);
    for (const [kind, stars] of Object.entries(kinds)) {
      for (const [vertex, star] of Object.entries(stars)) {
        const found = starOf(topology[kind], Number(vertex));
        assert.deepEqual(kind === 'interior' ? turned(found) : found, star, `${name}: ${vertex}`);
      }
    }
  }
});
