// The start of a pose graph: exact where measurements are, near the minimum where they have noise, whatever the graph's own poses are.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockLeastSquares } from '../../pkg-template/dist/graphs/block-least-squares.js';
import { cityGraph, sphereGraph, torusGraph } from '../../www/demos/pose-graph/graphs.js';
import { randomNumbers } from '../facade/reference.mjs';
import { residua } from '../www/residua.mjs';

const { initialisePoses, Pose2, Pose3, Problem, ResiduaError, solve, sqrtInformation, Vec2, Vec3 } = residua;

const POSE = { 2: Pose2, 3: Pose3 };
const POINT = { 2: Vec2, 3: Vec3 };
const SIZE = { 2: 3, 3: 7 };
const numbers = (value) => [...value].map((entry) => entry.data);
const flat = (values) => values.flatMap(numbers);
const block = (graph, k) => graph.poses.subarray(SIZE[graph.dim] * k, SIZE[graph.dim] * (k + 1));

/** The unit matrix as an upper triangle, for each of `count` measurements. */
const units = (n, count) => Array.from({ length: count }, () => Array.from({ length: n }, (_, i) => Array.from({ length: n - i }, (_, k) => Number(k === 0))).flat()).flat();

/** The largest distance of a graph's poses from others: a quaternion and its negative are the same rotation. */
function distance(graph, poses) {
  return Math.max(...poses.map((pose, k) => {
    const [found, right] = [block(graph, k), numbers(pose)];
    const sign = graph.dim === 3 && right.slice(0, 4).reduce((sum, x, i) => sum + x * found[i], 0) < 0 ? -1 : 1;
    return Math.max(...right.map((x, i) => {
      const difference = Math.abs((graph.dim === 3 && i < 4 ? sign : 1) * found[i] - x);
      return graph.dim === 2 && i === 0 ? Math.abs(Math.sin(difference / 2)) : difference;
    }));
  }));
}

/** Random poses and landmarks, with exact measurements of every kind; the graph's own poses are others. */
function exactGraph(dim, count = 12) {
  const random = randomNumbers(dim + 20);
  const tangent = (size) => Array.from({ length: dim === 2 ? 3 : 6 }, () => size * (2 * random() - 1));
  const [Pose, Point] = [POSE[dim], POINT[dim]];
  const anyPoses = (size) => Array.from({ length: count }, () => Pose.exp(tangent(size)));
  const anyPoints = () => Array.from({ length: 4 }, () => new Point(...tangent(5).slice(0, dim)));
  const [poses, landmarks, offsets] = [anyPoses(2), anyPoints(), [0, 1].map(() => Pose.exp(tangent(1)))];
  const rows = dim === 2 ? 3 : 6;
  // Each matrix of information is another one, with correlations of all entries.
  const roots = (n, length) => {
    const information = Array.from({ length }, () => {
      const factor = Array.from({ length: n }, () => Array.from({ length: n }, () => random() - 0.5));
      return factor.flatMap((row, i) => factor.slice(i).map((other, j) => row.reduce((sum, x, k) => sum + x * other[k], 0) + (j === 0 ? 1 : 0)));
    });
    return sqrtInformation(information.flat(), n);
  };
  const edges = [...Array.from({ length: count - 3 }, (_, k) => [k, k + 1]), [7, 2], [5, 0], [3, 8]];
  const carried = [[count - 2, 1, 0, 1], [count - 2, 4, 1, 0]];
  const seen = [[1, 0, 0], [4, 0, 1], [6, 1, 1], [2, 2, 0]];
  const sensor = (k, o) => poses[k].compose(offsets[o]);
  const list = (measured, n, rest) => ({ measurements: Float64Array.from(flat(measured)), sqrtInformation: roots(n, measured.length), ...rest });
  const column = (table, k) => Uint32Array.from(table, (row) => row[k]);
  const sensors = (table, k) => Float64Array.from(table.flatMap((row) => numbers(offsets[row[k]])));
  const graph = {
    dim,
    poses: Float64Array.from(flat(anyPoses(2))),
    ...list(edges.map(([a, b]) => poses[a].between(poses[b])), rows, { from: column(edges, 0), to: column(edges, 1) }),
    offsetEdges: list(carried.map(([a, b, o, p]) => sensor(a, o).between(sensor(b, p))), rows, {
      from: column(carried, 0), to: column(carried, 1), fromOffsets: sensors(carried, 2), toOffsets: sensors(carried, 3),
    }),
    landmarks: { points: Float64Array.from(flat(anyPoints())), ids: ['a', 'b', 'c', 'd'], fixed: new Uint32Array() },
    landmarkEdges: list(seen.map(([k, l, o]) => sensor(k, o).inverse().act(landmarks[l])), dim, { from: column(seen, 0), to: column(seen, 1), offsets: sensors(seen, 2) }),
    landmarkPairs: list([landmarks[3].sub(landmarks[2])], dim, { from: [2], to: [3] }),
    landmarkPriors: list([landmarks[1]], dim, { landmarks: [1] }),
    positionPriors: list([poses[3].translation], dim, { poses: [3] }),
    // The last pose is a part of its own.
    priors: list([sensor(2, 1), sensor(count - 1, 0)], rows, { poses: [2, count - 1], offsets: Float64Array.from([offsets[1], offsets[0]].flatMap(numbers)) }),
  };
  return { graph, poses, landmarks };
}

for (const dim of [2, 3]) {
  test(`exact measurements of every kind in ${dim} dimensions give the right poses and landmarks, whatever the graph's are`, () => {
    const { graph, poses, landmarks } = exactGraph(dim);
    const start = initialisePoses(graph);
    // Numbers up to 5 through two systems with condition numbers of some thousands.
    assert.ok(distance(start, poses) < 1e-11, `${distance(start, poses)}`);
    flat(landmarks).forEach((x, k) => assert.ok(Math.abs(start.landmarks.points[k] - x) < 1e-11));
    assert.ok(distance(graph, poses) > 0.5, 'the graph itself is not changed');
  });

  test(`in ${dim} dimensions what is fixed keeps every bit, and parts that nothing holds keep their first pose`, () => {
    const Pose = POSE[dim];
    const random = randomNumbers(7 + dim);
    const any = (size) => Pose.exp(Array.from({ length: dim === 2 ? 3 : 6 }, () => size * (2 * random() - 1)));
    const poses = Array.from({ length: 9 }, () => any(2));
    // Two chains, of which the second has a fixed pose in its middle, a pair, and a pose without measurements.
    const chain = [[0, 1], [1, 2], [3, 4], [4, 5], [7, 6]];
    const graph = {
      dim, poses: Float64Array.from(flat(poses.map((pose) => pose.compose(any(1))))), fixed: [4], from: chain.map(([from]) => from), to: chain.map(([, to]) => to),
      measurements: flat(chain.map(([a, b]) => poses[a].between(poses[b]))), sqrtInformation: units(dim === 2 ? 3 : 6, chain.length),
    };
    const poseOf = (of, k) => Pose.fromBlock([...block(of, k)]);
    const start = initialisePoses(graph);
    for (const [held, ...others] of [[0, 1, 2], [4, 3, 5], [6, 7], [8]]) {
      assert.deepEqual(block(start, held), block(graph, held));
      for (const other of others) {
        const error = poses[held].between(poses[other]).between(poseOf(start, held).between(poseOf(start, other))).log();
        assert.ok(Math.hypot(...error.map((entry) => entry.data)) < 1e-12, `${held} to ${other}`);
      }
    }
    const held = initialisePoses(graph, { fixed: [2, 6] });
    assert.deepEqual(block(held, 2), block(graph, 2));
    assert.notDeepEqual(block(held, 0), block(graph, 0), 'then the first pose of that part is not held');
  });
}

test('two measurements of a rotation are averaged with their information, also where that has a preferred axis or is singular', () => {
  const [small, other] = [[2e-4, -1e-4, 3e-4], [-1e-4, 3e-4, 1e-4]];
  const matrices = [[4, 1, 0, 3, 1, 5], [3, 0, 0.5, 2, 0.5, 2.5]];
  // Of the second pair neither says anything about the third axis.
  for (const [first, second, size] of [[...matrices, 3], [[1.5, 0, 0, 1.5, 0, 0], [2, 0, 0, 2, 0, 0], 2]]) {
    const full = (rotation) => [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, ...rotation];
    const start = initialisePoses({
      dim: 3, poses: [1, 0, 0, 0, 0, 0, 0, Math.cos(1e-4), 0, 0, Math.sin(1e-4), 0, 0, 0], from: [0, 0], to: [1, 1],
      measurements: flat([small, other].map((turn) => Pose3.exp([...turn, 0, 0, 0]))), sqrtInformation: sqrtInformation([...full(first), ...full(second)], 6),
    });
    const turn = [8, 9, 10].map((k) => 2 * start.poses[k]);
    // (Ω₁ + Ω₂) turn = Ω₁ small + Ω₂ other, but for terms of second order in the turns.
    const times = ([xx, xy, xz, yy, yz, zz], [x, y, z]) => [xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z];
    const difference = (t) => times(first, t.map((x, k) => x - small[k])).map((x, k) => x + times(second, t.map((y, l) => y - other[l]))[k]);
    difference(turn).slice(0, size).forEach((x) => assert.ok(Math.abs(x) < 1e-6, `${turn}`));
    if (size === 2) assert.ok(Math.abs(turn[2] - 2e-4) < 1e-7, `the axis of which nothing is known keeps its value: ${turn[2]}`);
  }
});

test('positions are those of the least cost with the rotations that were found', async () => {
  const { graph } = exactGraph(3);
  const random = randomNumbers(3);
  const measurements = graph.measurements.map((x, k) => x + (k % 7 > 3 ? 0.1 * random() : 0));
  const onlyEdges = { dim: 3, poses: graph.poses, from: graph.from, to: graph.to, sqrtInformation: graph.sqrtInformation, measurements };
  const start = initialisePoses(onlyEdges);
  const problem = new Problem();
  const rotations = Float64Array.from(start.poses).filter((_, k) => k % 7 < 4);
  const turns = problem.rotations('rotations', { dim: 3, values: rotations });
  const places = problem.parameters('positions', { dim: 3, values: start.poses.filter((_, k) => k % 7 > 3) });
  turns.setConstant(Array.from({ length: turns.count }, (_, k) => k));
  places.setConstant([0, 11]);
  problem.residuals('edges', {
    inputs: { p: turns.at(graph.from), q: turns.at(graph.to), s: places.at(graph.from), t: places.at(graph.to), z: problem.data(measurements, 7) },
    residual: ({ p, q, s, t, z }) => {
      const error = Pose3.fromBlock(z).between(new Pose3(p, s).between(new Pose3(q, t)));
      return [...error.translation, ...error.rotation.log()];
    },
    sqrtInformation: graph.sqrtInformation,
  });
  const { initialCost, finalCost } = await solve(problem, { backend: 'cpu' });
  assert.ok(initialCost > 1e-3, `${initialCost}: the measurements contradict each other`);
  // A linear problem at its minimum.
  assert.ok(initialCost - finalCost < 1e-12 * initialCost, `${initialCost} to ${finalCost}`);
});

/** A made graph of the demonstration as a PoseGraph, with its truth. */
function madeGraph({ dimension, positions, rotations, edges, measuredPositions, measuredRotations, squareRoots, truth }) {
  const turns = dimension === 2 ? 1 : 4;
  const joined = (turn, place) => Float64Array.from({ length: (turns + dimension) * (place.length / dimension) }, (_, i) => {
    const [k, entry] = [Math.floor(i / (turns + dimension)), i % (turns + dimension)];
    return entry < turns ? turn[turns * k + entry] : place[dimension * k + entry - turns];
  });
  const end = (which) => edges.filter((_, k) => k % 2 === which);
  const graph = { dim: dimension, poses: joined(rotations, positions), from: end(0), to: end(1), measurements: joined(measuredRotations, measuredPositions), sqrtInformation: squareRoots };
  return { graph, truth: joined(truth.rotations, truth.positions) };
}

function solveFrom(graph, values) {
  const problem = new Problem();
  const Pose = POSE[graph.dim];
  const poses = problem.poses('poses', { dim: graph.dim, values });
  poses.setConstant([0]);
  problem.residuals('edges', {
    inputs: { a: poses.at(graph.from), b: poses.at(graph.to), z: problem.data(graph.measurements, poses.dim) },
    residual: ({ a, b, z }) => {
      const error = Pose.fromBlock(z).between(a.between(b));
      return graph.dim === 2 ? [...error.translation, error.rotation.log()] : [...error.translation, ...error.rotation.log()];
    },
    sqrtInformation: graph.sqrtInformation,
  });
  return solve(problem, { backend: 'cpu' });
}

for (const [name, make] of Object.entries({ sphere: sphereGraph, torus: torusGraph, city: cityGraph })) {
  test(`a solve of a ${name} with noise ends from here where it ends from the truth, though the graph's own poses are random`, async () => {
    const { graph, truth } = madeGraph(make({ poses: 400, lap: 25 }));
    const random = randomNumbers(9);
    const size = SIZE[graph.dim];
    const lost = graph.poses.map((x, k) => (k < size ? truth[k] : 10 * random() - 5));
    const start = initialisePoses({ ...graph, poses: lost });
    const [found, right] = [await solveFrom(graph, start.poses), await solveFrom(graph, truth)];
    assert.ok(Math.abs(found.finalCost - right.finalCost) < 1e-6 * right.finalCost, `${found.initialCost} to ${found.finalCost}; from the truth ${right.initialCost} to ${right.finalCost}`);
    const reckoned = await solveFrom(graph, graph.poses);
    assert.ok(found.initialCost < 0.01 * reckoned.initialCost, `${found.initialCost}, of dead reckoning ${reckoned.initialCost}, at the end ${right.finalCost}`);
  });
}

test('sparse least squares agree with their normal equations, and undetermined unknowns are 0', () => {
  for (const size of [2, 3]) {
    for (let seed = 1; seed <= 20; seed++) {
      const random = randomNumbers(seed);
      const count = 1 + Math.floor(40 * random());
      const columns = 1 + (seed % 3);
      const problem = new BlockLeastSquares(count, size, columns);
      const list = (length) => Array.from({ length }, () => 2 * random() - 1);
      const vertex = () => Math.floor((count + 1) * random()) - 1;
      const terms = Array.from({ length: Math.floor(2.5 * count) }, () => {
        const i = vertex();
        let j = vertex();
        while (j === i) j = vertex();
        return { i, j, a: list(size * size), b: list(size * size), e: list(size * columns) };
      });
      for (const { i, j, a, b, e } of terms) problem.add(i, a, j, b, e);
      const x = problem.solve();
      assert.ok(x.every(Number.isFinite));
      const gradient = new Float64Array(x.length);
      const touched = new Set(terms.flatMap(({ i, j }) => [i, j]));
      for (const { i, j, a, b, e } of terms) {
        for (let row = 0; row < size; row++) {
          for (let c = 0; c < columns; c++) {
            let r = e[row * columns + c];
            for (let k = 0; k < size; k++) {
              if (i >= 0) r += a[row * size + k] * x[(i * size + k) * columns + c];
              if (j >= 0) r += b[row * size + k] * x[(j * size + k) * columns + c];
            }
            for (let k = 0; k < size; k++) {
              if (i >= 0) gradient[(i * size + k) * columns + c] += a[row * size + k] * r;
              if (j >= 0) gradient[(j * size + k) * columns + c] += b[row * size + k] * r;
            }
          }
        }
      }
      // Rounding times condition numbers of up to 1e6 or so: solutions are then that large.
      const scale = Math.max(1, ...x.map(Math.abs));
      gradient.forEach((entry) => assert.ok(Math.abs(entry) < 1e-12 * scale, `size ${size}, seed ${seed}: ${entry}`));
      for (let k = 0; k < count; k++) if (!touched.has(k)) assert.ok(x.subarray(k * size * columns, (k + 1) * size * columns).every((entry) => entry === 0));
    }
  }
});

const PLANE = { dim: 2, poses: [0, 0, 0, 0, 1, 0], from: [0], to: [1], measurements: [0, 1, 0], sqrtInformation: [1, 0, 0, 1, 0, 1] };
for (const [change, message] of [
  [{ dim: 4 }, 'initialisePoses: graph.dim: got 4; takes 2 for the plane or 3 for space'],
  [{ poses: [0, 0, NaN, 0, 1, 0] }, 'initialisePoses: graph.poses[2]: got NaN; takes a finite number'],
  [{ poses: [0, 0] }, 'initialisePoses: graph.poses: got 2 numbers; takes a multiple of 3'],
  [{ from: [2] }, 'initialisePoses: graph.from[0]: got 2; takes a whole number from 0 below the number of poses, 2'],
  [{ to: [] }, 'initialisePoses: graph.to: got 0 indices; takes 1, as there are measurements'],
  [{ sqrtInformation: [1] }, 'initialisePoses: graph.sqrtInformation: got 1 numbers; takes 6: 6 for each of the 1 measurements'],
  [{ measurements: undefined }, 'initialisePoses: graph.measurements: got undefined; takes an array of finite numbers'],
  [{ priors: 5 }, 'initialisePoses: graph.priors: got 5; takes an object'],
  [{ landmarks: 5 }, 'initialisePoses: graph.landmarks: got 5; takes an object'],
  [{ offsets: 'none' }, 'initialisePoses: graph.offsets: got "none"; takes an object'],
  [{ from: [1], to: [1] }, 'initialisePoses: graph.to[0]: got 1, relative to itself; takes two poses'],
  [{ landmarks: { points: [1, 2] }, landmarkPairs: { from: [0], to: [0], measurements: [0, 0], sqrtInformation: [1, 0, 1] } }, 'initialisePoses: graph.landmarkPairs.to[0]: got 0, relative to itself; takes two landmarks'],
  [{ priors: { poses: [0], offsets: [0, 0, 0], measurements: [0, 0, 0] } }, 'initialisePoses: graph.priors.sqrtInformation: got undefined; takes an array of finite numbers'],
  [{ ids: ['a', 'b c'] }, 'initialisePoses: graph.ids[1]: got "b c"; takes a word that does not begin with \'#\''],
]) {
  test(`refused: ${message}`, () => {
    assert.throws(() => initialisePoses({ ...PLANE, ...change }), (error) => error instanceof ResiduaError && error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message)));
  });
}

test('options are checked, and a graph without measurements stays', () => {
  assert.throws(() => initialisePoses(PLANE, { fix: [0] }), { code: 'invalid-argument', message: "initialisePoses: options: got the unknown option \"fix\"; did you mean 'fixed'?" });
  assert.throws(() => initialisePoses(PLANE, { fixed: [2] }), { code: 'invalid-argument', message: 'initialisePoses: fixed[0]: got 2; takes a whole number from 0 below the number of poses, 2' });
  assert.throws(() => initialisePoses(null), { code: 'invalid-argument', message: 'initialisePoses: graph: got null; takes an object' });
  assert.deepEqual([...initialisePoses({ ...PLANE, from: [], to: [], measurements: [], sqrtInformation: [] }).poses], PLANE.poses);
});
