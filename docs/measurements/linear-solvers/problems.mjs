// Problems for comparisons of linear solvers, the same in every run. `node problems.mjs FOLDER` writes them there, for residua.mjs and
// ceres.cpp: pose graphs as .g2o, bundle adjustments as .bal, and deformations and springs as .net (a line with the numbers of vertices, edges
// and constant vertices; the vertices, three numbers each, and where they start; the edges: two vertices and a number; the constant vertices).
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';

/** Numbers in [0, 1) from Lehmer's generator, and normal ones. */
function generator(seed) {
  let state = seed;
  const uniform = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const normal = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  return { uniform, normal };
}

// Quaternions are w, x, y, z.
const multiply = ([a, b, c, d], [e, f, g, h]) => [a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e];
const conjugate = ([w, x, y, z]) => [w, -x, -y, -z];
const rotate = (q, v) => multiply(multiply(q, [0, ...v]), conjugate(q)).slice(1);
const about = ([x, y, z]) => {
  const angle = Math.hypot(x, y, z);
  const s = angle > 0 ? Math.sin(angle / 2) / angle : 0.5;
  return [Math.cos(angle / 2), s * x, s * y, s * z];
};
const minus = (a, b) => a.map((value, k) => value - b[k]);
const plus = (a, b) => a.map((value, k) => value + b[k]);

/** A graph in space from true poses and pairs: measurements with noise; the start is what the chain of poses measures. */
function spatialGraph(poses, pairs, [place, turn], seed) {
  const { normal } = generator(seed);
  const vector = (size) => [0, 1, 2].map(() => size * normal());
  const measure = ([i, j]) => {
    const [a, b] = [poses[i], poses[j]];
    const back = conjugate(a.q);
    return { i, j, t: plus(rotate(back, minus(b.t, a.t)), vector(place)), q: multiply(multiply(back, b.q), about(vector(turn))) };
  };
  const chain = poses.slice(1).map((_, k) => measure([k, k + 1]));
  const start = [poses[0]];
  for (const { t, q } of chain) {
    const last = start.at(-1);
    const turned = multiply(last.q, q);
    const length = Math.hypot(...turned);
    start.push({ t: plus(last.t, rotate(last.q, t)), q: turned.map((value) => value / length) });
  }
  const xyzw = ([w, x, y, z]) => [x, y, z, w];
  const weights = [place, place, place, turn, turn, turn].map((sigma) => 1 / sigma ** 2);
  const information = weights.flatMap((weight, k) => [weight, ...Array.from({ length: 5 - k }, () => 0)]);
  const lines = start.map(({ t, q }, k) => ['VERTEX_SE3:QUAT', k, ...t, ...xyzw(q)].join(' '));
  for (const { i, j, t, q } of [...chain, ...pairs.map(measure)]) lines.push(['EDGE_SE3:QUAT', i, j, ...t, ...xyzw(q), ...information].join(' '));
  return `${lines.join('\n')}\n`;
}

/** A walk along the streets of a city in the plane, with closures where it comes by again. */
export function city(count = 3500) {
  const { uniform, normal } = generator(11);
  const [place, turn] = [0.05, 0.01];
  const poses = [{ x: 0, y: 0, heading: 0 }];
  const seen = new Map();
  const pairs = [];
  while (poses.length < count) {
    const { x, y, heading } = poses.at(-1);
    const corner = (poses.length - 1) % 4 === 0;
    let next = heading;
    if (corner && uniform() < 0.5) next += uniform() < 0.5 ? 1 : -1;
    const ahead = (way) => [x + Math.round(Math.cos((way * Math.PI) / 2)), y + Math.round(Math.sin((way * Math.PI) / 2))];
    if (corner) while (Math.max(...ahead(next).map(Math.abs)) > 40) next += 1;
    const [nextX, nextY] = ahead(next);
    const number = poses.length;
    poses.push({ x: nextX, y: nextY, heading: next });
    const before = seen.get(`${nextX} ${nextY}`) ?? [];
    for (const other of before.slice(-2)) pairs.push([other, number]);
    seen.set(`${nextX} ${nextY}`, [...before, number]);
  }
  const angle = ({ heading }) => (heading * Math.PI) / 2;
  const measure = ([i, j]) => {
    const [a, b] = [poses[i], poses[j]];
    const [c, s, dx, dy] = [Math.cos(angle(a)), Math.sin(angle(a)), b.x - a.x, b.y - a.y];
    const theta = angle(b) - angle(a) + turn * normal();
    return { i, j, x: c * dx + s * dy + place * normal(), y: c * dy - s * dx + place * normal(), theta: Math.atan2(Math.sin(theta), Math.cos(theta)) };
  };
  const chain = poses.slice(1).map((_, k) => measure([k, k + 1]));
  const start = [[0, 0, 0]];
  for (const { x, y, theta } of chain) {
    const [px, py, heading] = start.at(-1);
    const [c, s] = [Math.cos(heading), Math.sin(heading)];
    const turned = heading + theta;
    start.push([px + c * x - s * y, py + s * x + c * y, Math.atan2(Math.sin(turned), Math.cos(turned))]);
  }
  const [p, r] = [place ** -2, turn ** -2];
  const lines = start.map((pose, k) => ['VERTEX_SE2', k, ...pose].join(' '));
  for (const { i, j, x, y, theta } of [...chain, ...pairs.map(measure)]) lines.push(['EDGE_SE2', i, j, x, y, theta, p, 0, 0, p, 0, r].join(' '));
  return `${lines.join('\n')}\n`;
}

/** A path around the tube of a torus, 50 poses a turn, measured against the turn before. */
export function torus(count = 5000, turn = 50) {
  const poses = Array.from({ length: count }, (_, k) => {
    const [along, around] = [(2 * Math.PI * k) / count, (2 * Math.PI * k) / turn];
    const radius = 6 + 2 * Math.cos(around);
    return { t: [radius * Math.cos(along), radius * Math.sin(along), 2 * Math.sin(around)], q: multiply(about([0, 0, along]), about([0, -around, 0])) };
  });
  const pairs = Array.from({ length: count - turn }, (_, k) => [k, k + turn]);
  return spatialGraph(poses, pairs, [0.02, 0.01], 13);
}

/** Four storeys of a garage, one above the other, with few closures between them. */
export function garage(count = 1661) {
  const poses = Array.from({ length: count }, (_, k) => {
    const angle = (2 * Math.PI * k) / 415;
    return { t: [30 * Math.cos(angle), 15 * Math.sin(angle), (3 * k) / 415], q: about([0, 0, angle + Math.PI / 2]) };
  });
  const pairs = [];
  for (let k = 415; k < count; k++) if (k % 415 < 10) pairs.push([k - 415, k]);
  return spatialGraph(poses, pairs, [0.02, 0.002], 17);
}

/** Cameras around a ball of points, at different distances and heights, that look at its middle; each point is seen by neighbouring cameras; some observations are wrong. */
export function bundle(cameraCount, pointCount, perPoint) {
  const { uniform, normal } = generator(19);
  const cameras = Array.from({ length: cameraCount }, (_, k) => {
    const angle = (2 * Math.PI * k) / cameraCount;
    // The camera looks along −z, and its y axis points upwards.
    const raised = multiply(about([0, 0, angle]), about([0, 0.6 * uniform() - 0.3, 0]));
    const q = conjugate(multiply(raised, multiply(about([0, Math.PI / 2, 0]), about([0, 0, Math.PI / 2]))));
    return { q, t: [0, 0, -3 - 3 * uniform()], f: 500, k1: -0.05, k2: 0.01 };
  });
  const points = Array.from({ length: pointCount }, () => [0, 1, 2].map(() => 2 * uniform() - 1));
  const observations = points.flatMap((point, number) => {
    const first = Math.floor(cameraCount * uniform());
    return Array.from({ length: perPoint }, (_, k) => {
      const camera = (first + k) % cameraCount;
      const { q, t, f, k1, k2 } = cameras[camera];
      const [x, y, z] = plus(rotate(q, point), t);
      const [u, v] = [-x / z, -y / z];
      const scale = f * (1 + (u * u + v * v) * (k1 + k2 * (u * u + v * v)));
      const noise = uniform() < 0.02 ? 20 : 0.5;
      return [camera, number, scale * u + noise * normal(), scale * v + noise * normal()].join(' ');
    });
  });
  const moved = (values, size) => values.map((value) => value + size * normal());
  const angleAxis = ([w, x, y, z]) => {
    const sine = Math.hypot(x, y, z);
    const angle = 2 * Math.atan2(w < 0 ? -sine : sine, Math.abs(w));
    return [x, y, z].map((value) => (sine > 0 ? (angle / sine) * value : 0));
  };
  const parameters = [
    ...cameras.flatMap(({ q, t, f, k1, k2 }) => [...moved(angleAxis(q), 0.01), ...moved(t, 0.05), ...moved([f], 3), k1, k2]),
    ...points.flatMap((point) => moved(point, 0.03)),
  ];
  return `${cameraCount} ${pointCount} ${observations.length}\n${observations.join('\n')}\n${parameters.join('\n')}\n`;
}

const net = (rest, start, edges, constant) => {
  const count = rest.length / 3;
  const triples = (values) => Array.from({ length: count }, (_, k) => values.slice(3 * k, 3 * k + 3).join(' '));
  return [`${count} ${edges.length} ${constant.length}`, ...triples(rest), ...triples(start), ...edges.map((edge) => edge.join(' ')), ...constant, ''].join('\n');
};

/** The mesh spot, whose upper end is moved and turned: edges with the square roots of their cotangent weights. */
export async function rigid(file) {
  await import('../../../tests/www/residua.mjs');
  const { parseObj } = await import('../../../www/mesh/obj.js');
  const { meshTopology } = await import('../../../www/mesh/topology.js');
  const { cotangentWeights, endVertices } = await import('../../../www/problems/as-rigid-as-possible.js');
  const { positions, triangles } = parseObj(readFileSync(file, 'utf8'));
  const { edges } = meshTopology(positions.length / 3, triangles);
  const weights = cotangentWeights(positions, triangles, edges);
  const { low, high } = endVertices(positions, 1);
  const start = Float64Array.from(positions);
  for (const vertex of high) {
    const [x, y, z] = rotate(about([0, 1, 0]), positions.subarray(3 * vertex, 3 * vertex + 3));
    start.set([x + 0.3, y + 0.2, z], 3 * vertex);
  }
  const list = Array.from({ length: edges.length / 2 }, (_, k) => [edges[2 * k], edges[2 * k + 1], Math.sqrt(weights[k])]);
  return net(positions, start, list, [...low, ...high]);
}

/** The net of springs of the benchmarks, from positions at random. */
export async function springs(side = 100) {
  await import('../../../tests/www/residua.mjs');
  const { gridEdges, scatteredPositions } = await import('../../../www/problems/springs.js');
  const edges = gridEdges(side);
  const start = scatteredPositions(side * side);
  return net(start, start, Array.from({ length: edges.length / 2 }, (_, k) => [edges[2 * k], edges[2 * k + 1], 1]), []);
}

/** The problems by file; `data` is the folder of public data. */
export const PROBLEMS = {
  'city.g2o': () => city(),
  'sphere2500.g2o': (data) => readFileSync(`${data}/pose-graphs/sphere2500.g2o`, 'utf8'),
  'torus.g2o': () => torus(),
  'garage.g2o': () => garage(),
  'bundle-30.bal': () => bundle(30, 3000, 4),
  'bundle-50.bal': () => bundle(50, 10000, 6),
  'rigid.net': (data) => rigid(`${data}/meshes/spot.obj`),
  'springs.net': () => springs(),
};

if (import.meta.url === `file://${argv[1]}`) {
  const [, , folder, data = '../shared/data'] = argv;
  mkdirSync(folder, { recursive: true });
  for (const [name, make] of Object.entries(PROBLEMS)) writeFileSync(`${folder}/${name}`, await make(data));
}
