// The developability energy, recorded by the package and evaluated by the facade tests' evaluator of tapes, so that the formula is tested
// independently of both engines, in double precision and with every operation rounded to single.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { icosphere } from '../../www/mesh/icosphere.js';
import { perturb } from '../../www/mesh/perturb.js';
import { meshTopology } from '../../www/mesh/topology.js';
import { evaluate, gradient, jacobiEigen, tapeOf } from '../facade/reference.mjs';
import { mapImports } from './import-map.mjs';

// The pages' import map, for Node.
mapImports({ residua: new URL('../../pkg-template/dist/index.js', import.meta.url).href });
const { V, Vec3 } = await import('residua');
const { developableEnergies, edgeLengths, normalSpread } = await import('../../www/energies/developable.js');

const closed = (count) => Array.from({ length: count }, (_, i) => [i, (i + 1) % count]);

/** The tape of one star's energy: center first, then its neighbours. */
function starTape(points, faces) {
  const params = points.flat().map((coordinate) => V.W(coordinate));
  return tapeOf(params, (values) => {
    const vertices = points.map((_, i) => new Vec3(...values.slice(3 * i, 3 * i + 3)));
    return normalSpread(vertices[0], faces.map(([b, c]) => [vertices[b + 1], vertices[c + 1]]));
  });
}

const subtract = (a, b) => a.map((coordinate, d) => coordinate - b[d]);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/** λ_min(Σ θ N Nᵀ) as in the paper, in world coordinates. */
function byDefinition([center, ...ring], faces) {
  const sum = [[0, 0, 0], [0, 0, 0], [0, 0, 0]];
  for (const [b, c] of faces) {
    const u = subtract(ring[b], center), w = subtract(ring[c], center);
    const normal = cross(u, w).map((coordinate) => coordinate / Math.hypot(...cross(u, w)));
    const angle = Math.acos(dot(u, w) / Math.hypot(...u) / Math.hypot(...w));
    for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) sum[i][j] += angle * normal[i] * normal[j];
  }
  return jacobiEigen(sum).values[0];
}

/** The stars of the perturbed icosphere of 2,562 vertices: samples of all regions and both valences. */
function sphereStars() {
  const { positions, triangles } = icosphere(4);
  const moved = perturb(positions);
  const { interior } = meshTopology(moved.length / 3, triangles);
  const point = (vertex) => Array.from(moved.subarray(3 * vertex, 3 * vertex + 3));
  return [0, 5, 11, 12, 100, 777, 1500, 2561].map((vertex) => {
    const i = interior.vertices.indexOf(vertex);
    return [point(vertex), ...Array.from(interior.indices.subarray(interior.offsets[i], interior.offsets[i + 1]), point)];
  });
}

test('the energy of a star is the smallest eigenvalue of its covariance of normals, closed or open', () => {
  for (const points of sphereStars()) {
    for (const faces of [closed(points.length - 1), closed(points.length - 1).slice(0, -2)]) {
      const expected = byDefinition(points, faces);
      // arccos of a cosine near 1/2 and a sum of terms up to 2π: a few units in the last place of 2π.
      assert.ok(Math.abs(evaluate(starTape(points, faces), points.flat()) - expected) < 2e-14);
    }
  }
});

test('in single precision a fine mesh keeps its energy and its gradient', () => {
  let worstValue = 0, worstGradient = 0;
  for (const exact of sphereStars()) {
    const points = exact.map((point) => point.map(Math.fround));
    const tape = starTape(points, closed(points.length - 1));
    const double = gradient(tape, points.flat()), single = gradient(tape, points.flat(), Math.fround);
    const largest = Math.max(...double.gradient.map(Math.abs));
    worstValue = Math.max(worstValue, Math.abs(single.value / double.value - 1));
    worstGradient = Math.max(worstGradient, ...double.gradient.map((entry, i) => Math.abs(single.gradient[i] - entry) / largest));
  }
  console.log(`f32 against f64: value ${worstValue.toExponential(1)}, gradient ${worstGradient.toExponential(1)}`);
  // Edges are a fourteenth of the coordinates and the normals tilt by a thirtieth, which amplifies 2⁻²⁴ up to a hundredfold. Summed in
  // world coordinates the eigenvalue, a thousandth of the matrix, would have an error of 2⁻²⁴ of the matrix, which is more.
  assert.ok(worstValue < 1e-5);
  assert.ok(worstGradient < 1e-5);
});

test('its gradient agrees with central differences, although the frame is constant for differentiation', () => {
  for (const points of sphereStars().slice(2, 5)) {
    const x = points.flat();
    const tape = starTape(points, closed(points.length - 1));
    const { gradient: exact } = gradient(tape, x);
    const largest = Math.max(...exact.map(Math.abs));
    exact.forEach((entry, i) => {
      const at = (step) => evaluate(tape, x.map((coordinate, k) => (k === i ? coordinate + step : coordinate)));
      // The truncation error decreases with the square of the step and is 3e-7 at 1e-6, where rounding, 1e-16/1e-6, is still below it.
      assert.ok(Math.abs((at(1e-6) - at(-1e-6)) / 2e-6 - entry) < 1e-6 * largest);
    });
  }
});

test('developable stars have no energy: flat stars, folds, single faces', () => {
  const around = (count, height) => Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count;
    return [Math.cos(angle), Math.sin(angle), height(Math.cos(angle))];
  });
  const cases = {
    flat: [[0, 0, 0], ...around(6, () => 0)],
    'folded along an edge': [[0, 0, 0], ...around(4, (x) => -Math.abs(x))],
    'bent along two edges in one line': [[0, 0, 0], [0, 1, 0], [1, 0.5, -0.3], [1, -0.5, -0.3], [0, -1, 0], [-1, 0, -0.8]],
  };
  for (const [name, points] of Object.entries(cases)) assert.ok(Math.abs(evaluate(starTape(points, closed(points.length - 1)), points.flat())) < 1e-15, name);
  const open = [[0, 0, 0], [1, 0, 0.3], [0, 1, 0.5], [-1, 0.2, 0]];
  assert.ok(Math.abs(evaluate(starTape(open.slice(0, 3), [[0, 1]]), open.slice(0, 3).flat())) < 1e-15, 'one face');
  assert.ok(Math.abs(evaluate(starTape(open, [[0, 1], [1, 2]]), open.flat())) < 1e-15, 'two faces');
});

test('the corner of a cube has the energy π/2 in every orientation', () => {
  for (const corner of [[[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 0, -1], [0, 1, 0], [1, 0, 0]], [[-1, 0, 0], [0, -1, 0], [0, 0, 1]]]) {
    const points = [[0, 0, 0], ...corner];
    // Three right angles with perpendicular normals: Σ θ N Nᵀ = π/2 · I.
    assert.ok(Math.abs(evaluate(starTape(points, closed(3)), points.flat()) - Math.PI / 2) < 1e-14);
  }
});

test('a mesh has one energy for each vertex and each edge, and the edges have energy 0 at the start', () => {
  const { positions, triangles } = icosphere(1);
  const topology = meshTopology(positions.length / 3, triangles);
  const { params, energies } = developableEnergies({ positions }, topology);
  assert.equal(params.length, 3 * 42);
  assert.equal(energies(params).length, 42 + 120);
  assert.equal(edgeLengths(positions, topology.edges).length, 120);
  const edgesOnly = tapeOf(params, (values) => V.sum(energies(values).slice(42)));
  // The sum of 120 squared rounding errors.
  assert.ok(evaluate(edgesOnly, positions) < 1e-28);
  // At twice the size the energy is (2 − 1)² per edge.
  assert.ok(Math.abs(evaluate(edgesOnly, positions.map((coordinate) => 2 * coordinate)) - 120) < 1e-10);
});

test('the tape of a vertex of valence 12 is the one whose kernels are measured; RESIDUA_BLESS=1 writes it', () => {
  const { ops, a, b, c, constants, outputs } = starTape(Array.from({ length: 13 }, (_, i) => [i, i * i, 1]), closed(12));
  const entries = Array.from(ops, (op, i) => [op, a[i], b[i], c[i]].join(' '));
  const text = [...entries, `constants ${constants.join(' ')}`, `outputs ${outputs.join(' ')}`, ''].join('\n');
  const file = new URL('../tapes/developable-12.txt', import.meta.url);
  if (process.env.RESIDUA_BLESS) writeFileSync(file, text);
  assert.equal(readFileSync(file, 'utf8'), text);
});
