// The elastic body: free fall, contact, rest and what is held, against mechanics.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu, residua } from './residua.mjs';

const { bar, BOX, clearance, doubleArea, elasticBody, GRAVITY, GRIP, lame, OBSTACLE, RANGE, STEP } = await import('../../www/demos/elastic-body/model.js');
const YOUNG = 3e4;

/** Runs steps with `use(functions, body, step)` after each. */
async function run(mesh, steps, { gravity = GRAVITY, young = YOUNG, prepare, use } = {}) {
  const body = elasticBody(mesh, young);
  await onCpu(body.problem, async (functions) => {
    prepare?.(body);
    for (let step = 1; step <= steps; step++) {
      const end = body.begin(gravity);
      await residua.newton(functions, { costTolerance: 1e-12, maxIterations: 100 });
      end();
      await use?.(functions, body, step);
    }
  });
  return body;
}

const SMALL = { columns: 8, rows: 2, width: 0.8, height: 0.2 };

test('a bar has the area of its rectangle, its whole skin, and triangles that face upwards', () => {
  const mesh = bar({ ...SMALL, y: 1 });
  assert.deepEqual([mesh.positions.length, mesh.triangles.length, mesh.boundary.length], [2 * 27, 3 * 32, 20]);
  const { areas, masses } = elasticBody(mesh, YOUNG);
  assert.ok(areas.every((area) => area > 0));
  assert.ok(Math.abs(areas.reduce((sum, area) => sum + area) - 0.16) < 1e-12);
  assert.ok(Math.abs(masses.reduce((sum, mass) => sum + mass) - 16) < 1e-9);
  // In the plane, under plane stress: E = μ (3λ + 2μ) / (λ + μ) holds in space; here E = 4 μ (λ + μ) / (λ + 2μ).
  const { mu, lambda } = lame(YOUNG);
  assert.ok(Math.abs((4 * mu * (lambda + mu)) / (lambda + 2 * mu) / YOUNG - 1) < 1e-12);
});

test('it falls freely as backward Euler does, without a change of shape', async () => {
  const mesh = bar({ ...SMALL, x: -1.3, y: 1 });
  const { places } = await run(mesh, 10);
  // x after n steps: −g h² (1 + 2 + … + n).
  const fall = -GRAVITY * STEP ** 2 * 55;
  places.values().forEach((x, i) => assert.ok(Math.abs(x - mesh.positions[i] - (i % 2 === 1 ? fall : 0)) < 1e-6, `${i}`));
});

test('it never touches, turns no triangle over, and its weight rests on the floor at last', async () => {
  const mesh = bar({ ...SMALL, x: -1.3, y: 0.3 });
  let least = Infinity;
  const body = await run(mesh, 240, { use: (_, { places, corners, boundary }) => {
    const x = places.values();
    least = Math.min(least, clearance(x, boundary));
    assert.ok(corners.every((corner) => doubleArea(x, corner) > 0));
  } });
  assert.ok(least > 0 && least < RANGE, `${least}`);
  const x = body.places.values();
  const speed = Math.max(...body.velocity.map(Math.abs));
  assert.ok(speed < 1e-3, `${speed} m/s`);
  // Barrier forces −κ b′(d) of the lower side carry the weight. Speeds of 1 mm/s change by less in a step than 1e-3 / STEP of 9.81 m/s².
  const force = (d) => (d >= RANGE ? 0 : 3000 * (2 * (d - RANGE) * Math.log(d / RANGE) + (d - RANGE) ** 2 / d));
  const carried = Array.from(body.boundary, (v) => force(x[2 * v + 1])).reduce((sum, value) => sum + value);
  assert.ok(Math.abs(carried / (16 * GRAVITY) - 1) < 0.01, `${carried} N of ${16 * GRAVITY}`);
});

test('it falls over the obstacle without going into it', async () => {
  const mesh = bar({ columns: 12, rows: 3, width: 1.2, height: 0.3, x: OBSTACLE.x - 0.6, y: OBSTACLE.y + OBSTACLE.radius + 0.1 });
  let least = Infinity;
  const body = await run(mesh, 30, { young: 1e4, use: (_, { places, boundary }) => void (least = Math.min(least, clearance(places.values(), boundary))) });
  assert.ok(least > 0 && least < RANGE, `${least}`);
  // Half a second after it began to fall its middle is held up, and its ends hang lower.
  const x = body.places.values();
  assert.ok(x[2 * 6 + 1] > Math.max(x[1], x[2 * 12 + 1]) + 0.05 && x[2 * 6 + 1] > OBSTACLE.y + OBSTACLE.radius, `${[x[1], x[2 * 6 + 1], x[2 * 12 + 1]]}`);
});

test('what is held comes to where springs and weight balance', async () => {
  const mesh = bar({ columns: 2, rows: 2, width: 0.2, height: 0.2, x: -1, y: 1 });
  const vertices = Array.from({ length: 9 }, (_, v) => v);
  const goals = vertices.map((v) => [mesh.positions[2 * v] + 0.3, mesh.positions[2 * v + 1]]);
  const body = await run(mesh, 200, { prepare: (held) => held.hold(vertices, goals) });
  const x = body.places.values();
  const middle = [0, 1].map((axis) => vertices.reduce((sum, v) => sum + x[2 * v + axis] - goals[v][axis], 0) / 9);
  const sag = (-body.masses.reduce((sum, mass) => sum + mass) * GRAVITY) / (9 * GRIP);
  assert.ok(Math.abs(middle[0]) < 1e-4 && Math.abs(middle[1] - sag) < 1e-4, `${middle}, ${sag}`);
  body.reset();
  assert.deepEqual([...body.places.values()], [...mesh.positions]);
});

test('a push against the wall ends in the box', async () => {
  const mesh = bar({ ...SMALL, x: 0.5, y: 1 });
  const body = await run(mesh, 40, { gravity: 0, prepare: (pushed) => pushed.push(4, 0) });
  assert.ok(clearance(body.places.values(), body.boundary) > 0);
  assert.ok(Math.max(...body.places.values().filter((_, i) => i % 2 === 0)) < BOX.width / 2);
});
