/** The dialects of .g2o files: what lines of each tag become, random graphs that are written and read, and what is skipped. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseG2o, ResiduaError } from '../../pkg-template/dist/index.js';
import { randomNumbers } from './reference.mjs';

const UNIT = { 2: '1 0 1', 3: '1 0 0 1 0 1', 6: [1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1].join(' ') };
const close = (actual, expected, tolerance, what) => {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((x, k) => assert.ok(Math.abs(x - expected[k]) <= tolerance * Math.max(1, Math.abs(expected[k])), `${what}: ${[...actual]} is not ${[...expected]}`));
};

/** The quaternion of turns about x, y and z of the fixed frame, in this order. */
function turned(roll, pitch, yaw) {
  const about = (axis, angle) => [Math.cos(angle / 2), ...axis.map((entry) => entry * Math.sin(angle / 2))];
  const product = ([a, b, c, d], [e, f, g, h]) => [a * e - b * f - c * g - d * h, a * f + b * e + c * h - d * g, a * g - b * h + c * e + d * f, a * h + b * g - c * f + d * e];
  return product(about([0, 0, 1], yaw), product(about([0, 1, 0], pitch), about([1, 0, 0], roll)));
}

test('landmarks, priors and sensors in the plane', () => {
  const graph = parseG2o(`
    VERTEX_SE2 0 1 2 0.5   # a pose
    VERTEX_XY 5 7 8        # a landmark
    VERTEX_XY 6 9 10
    PARAMS_SE2OFFSET 0 0.1 0.2 0.3 # ids of offsets are their own
    EDGE_SE2_XY 0 5 1 -1 4 6 34
    EDGE_SE2_POINTXY_OFFSET 0 6 0 2 -2 1 0 1
    EDGE_POINTXY 5 6 2 2 1 0 1
    EDGE_PRIOR_SE2 0 1 2 0.5 4 6 8 34 42 101
    EDGE_PRIOR_SE2_XY 0 1.5 2.5 9 0 16
    EDGE_PRIOR_XY 6 9 11 25 0 36
    FIX 5 0
  `);
  assert.deepEqual([[...graph.poses], graph.ids, [...graph.fixed], [...graph.from], [...graph.measurements]], [[0.5, 1, 2], ['0'], [0], [], []]);
  assert.deepEqual([[...graph.landmarks.points], graph.landmarks.ids, [...graph.landmarks.fixed]], [[7, 8, 9, 10], ['5', '6'], [0]]);
  assert.deepEqual([[...graph.offsets.poses], graph.offsets.ids], [[0.3, 0.1, 0.2], ['0']]);
  const numbers = (list) => Object.fromEntries(Object.entries(list).map(([name, values]) => [name, [...values]]));
  assert.deepEqual(numbers(graph.landmarkEdges), { from: [0, 0], to: [0, 1], offsets: [0, 0, 0, 0.3, 0.1, 0.2], measurements: [1, -1, 2, -2], sqrtInformation: [2, 3, 5, 1, 0, 1] });
  assert.deepEqual(numbers(graph.landmarkPairs), { from: [0], to: [1], measurements: [2, 2], sqrtInformation: [1, 0, 1] });
  assert.deepEqual(numbers(graph.priors), { poses: [0], offsets: [0, 0, 0], measurements: [0.5, 1, 2], sqrtInformation: [2, 3, 4, 5, 6, 7] });
  assert.deepEqual(numbers(graph.positionPriors), { poses: [0], measurements: [1.5, 2.5], sqrtInformation: [3, 0, 4] });
  assert.deepEqual(numbers(graph.landmarkPriors), { landmarks: [1], measurements: [9, 11], sqrtInformation: [5, 0, 6] });
  assert.deepEqual([numbers(graph.offsetEdges).from, graph.skipped], [[], []]);
});

test('an edge of TORO has its information as 11 12 22 33 13 23, and its poses are turned by roll, pitch, then yaw', () => {
  for (const [vertex, edge] of [['VERTEX2', 'EDGE2'], ['VERTEX', 'EDGE']]) {
    const { poses, measurements, sqrtInformation } = parseG2o(`${vertex} 0 1 2 3\n${vertex} 1 4 5 6\n${edge} 0 1 7 8 9 4 6 34 101 8 42`);
    assert.deepEqual([[...poses], [...measurements], [...sqrtInformation]], [[3, 1, 2, 6, 4, 5], [9, 7, 8], [2, 3, 4, 5, 6, 7]]);
  }
  const { poses, measurements, sqrtInformation } = parseG2o(`VERTEX3 0 1 2 3 ${Math.PI / 2} 0 0\nVERTEX3 1 0 0 0 0.3 -0.4 0.5\nEDGE3 0 1 4 5 6 0 0 ${Math.PI / 2} ${UNIT[6].replace('1', '4')}`);
  close(poses.subarray(0, 7), [Math.SQRT1_2, Math.SQRT1_2, 0, 0, 1, 2, 3], 1e-15, 'roll');
  close(measurements, [Math.SQRT1_2, 0, 0, Math.SQRT1_2, 4, 5, 6], 1e-15, 'yaw');
  assert.equal(sqrtInformation[0], 2);
  close(poses.subarray(7), [...turned(0.3, -0.4, 0.5), 0, 0, 0], 1e-15, 'roll, pitch and yaw');
});

test('other spellings of priors, and prior and sensors in space', () => {
  const pose = 'VERTEX_SE2 0 0 0 0\nVERTEX_XY 1 0 0\n';
  assert.deepEqual([...parseG2o(`${pose}EDGE_SE2_PRIOR 0 1 2 3 ${UNIT[3]}`).priors.measurements], [3, 1, 2]);
  for (const tag of ['EDGE_SE2_XY_PRIOR', 'EDGE_SE2_XYPRIOR']) assert.deepEqual([...parseG2o(`${pose}${tag} 0 1 2 ${UNIT[2]}`).positionPriors.measurements], [1, 2]);
  assert.deepEqual([...parseG2o(`${pose}EDGE_XY_PRIOR 1 1 2 ${UNIT[2]}`).landmarkPriors.measurements], [1, 2]);
  const space = parseG2o(`EDGE_SE3_PRIOR 0 4 1 2 3 0 0 0 1 ${UNIT[6]}\nEDGE_SE3_XYZ_PRIOR 0 4 4 5 6 ${UNIT[3]}\nVERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\nPARAMS_SE3OFFSET 4 7 8 9 0 0 2 0`);
  assert.deepEqual([[...space.priors.offsets], [...space.priors.measurements]], [[0, 0, 0, 1, 7, 8, 9], [1, 0, 0, 0, 1, 2, 3]]);
  assert.deepEqual([[...space.positionPriors.poses], [...space.positionPriors.measurements]], [[0], [4, 5, 6]]);
});

test('lines with other tags are listed, and FIX of a vertex that is among them', () => {
  const { skipped } = parseG2o(`# made by hand\nVERTEX_SE2 0 0 0 0\n\nVERTEX_PLANE 9 1 0 0 1\n  #EDGE\nFIX 0 9\nEDGE_PRIOR_SE2 0 0 0 0 ${UNIT[3]}\nEDGE_BEARING_SE2_XY 0 8 0.5 1\nEQUIV`);
  assert.deepEqual(skipped, [{ line: 4, tag: 'VERTEX_PLANE' }, { line: 6, tag: 'FIX' }, { line: 8, tag: 'EDGE_BEARING_SE2_XY' }, { line: 9, tag: 'EQUIV' }]);
});

for (const [text, message] of [
  ['VERTEX_XY 0 0 0\nVERTEX_SE2 0 0 0 0', 'line 2: got pose "0" in VERTEX_SE2, the id of a landmark; takes an id for each'],
  ['VERTEX_SE2 0 0 0 0\nVERTEX_XY 0 0 0', 'line 2: got landmark "0" in VERTEX_XY, the id of a pose; takes an id for each'],
  ['VERTEX_XY 0 0 0\nVERTEX_XY 0 0 0', 'line 2: got landmark "0" a second time in VERTEX_XY; takes each landmark once'],
  ['PARAMS_SE2OFFSET 0 0 0 0\nPARAMS_SE2OFFSET 0 0 0 0', 'line 2: got offset "0" a second time in PARAMS_SE2OFFSET; takes each offset once'],
  ['VERTEX_XY 0 0', 'line 1: got 2 words after VERTEX_XY; takes 3'],
  // Infinity as some programs write it is no comment.
  ['VERTEX_XY 0 0 1.#INF', 'line 1: got "1.#INF" in VERTEX_XY; takes a finite decimal number'],
  ['VERTEX_XY 0 0 1,5', 'line 1: got "1,5" in VERTEX_XY; takes a finite decimal number'],
  ['EDGE_SE2_POINTXY_OFFSET 0 1 0 0 1 0 1', 'line 1: got 7 words after EDGE_SE2_POINTXY_OFFSET; takes 8'],
  ['VERTEX2 0 0 0 0\nEDGE2 0 0 1 2 3 1 0 1 1 0 0', 'line 2: got pose "0" relative to itself in EDGE2; takes two poses'],
  ['EDGE_POINTXY 0 0 1 2 1 0 1', 'line 1: got landmark "0" relative to itself in EDGE_POINTXY; takes two landmarks'],
  ['VERTEX_SE2 0 0 0 0\nEDGE_SE2_XY 0 0 1 2 1 0 1', 'line 2: got pose "0" in EDGE_SE2_XY; takes the id of a landmark'],
  ['VERTEX_SE2 0 0 0 0\nEDGE_SE2_XY 0 4 1 2 1 0 1', 'line 2: got landmark "4" in EDGE_SE2_XY, which the file does not have; takes the id of a landmark'],
  ['VERTEX_SE2 0 0 0 0\nVERTEX_XY 1 0 0\nEDGE_SE2_POINTXY_OFFSET 0 1 2 1 2 1 0 1', 'line 3: got offset "2" in EDGE_SE2_POINTXY_OFFSET, which the file does not have; takes the id of an offset'],
  [`VERTEX_SE3:QUAT 0 0 0 0 0 0 0 1\nEDGE_SE3_XYZ_PRIOR 0 3 1 2 3 ${UNIT[3]}`, 'line 2: got offset "3" in EDGE_SE3_XYZ_PRIOR, which the file does not have; takes the id of an offset'],
  ['VERTEX_SE2 0 0 0 0\nVERTEX_TRACKXYZ 1 0 0 0', 'line 2: got VERTEX_TRACKXYZ; takes 2 dimensions, as VERTEX_SE2 in line 1 has'],
  ['VERTEX_SE2 0 0 0 0\nVERTEX_XY 1 0 0\nEDGE_SE2_XY 0 1 1 2 1 -2 1', 'line 3: got an information matrix in EDGE_SE2_XY that is not positive semi-definite: its smallest eigenvalue is -1; takes positive semi-definite matrices'],
]) {
  test(`refused: ${message}`, () => {
    assert.throws(() => parseG2o(text), (error) => error instanceof ResiduaError && (error.message === `parseG2o: ${message}` || assert.fail(error.message)));
  });
}

/** Poses, landmarks, offsets and measurements of every kind in a dialect, in random order; returns the text and what was written. */
function randomGraph(random, dim, toro) {
  const below = (count) => Math.floor(count * random());
  const pick = (list) => list[below(list.length)];
  const number = () => Number(((random() - 0.5) * 10 ** (4 * random() - 1)).toPrecision(1 + below(17)));
  const numbers = (count) => Array.from({ length: count }, number);
  const ids = Array.from({ length: 40 }, (_, k) => String(3 * k + below(3)));
  const lines = [];
  const line = (...words) => lines.push(words.flat().join(pick([' ', '  ', '\t'])) + pick(['', ' ', ' # comment', '\t#']));
  /** A pose as a block and as the words of a line. */
  const pose = () => {
    const place = numbers(dim);
    if (dim === 2) {
      const angle = number();
      return { block: [angle, ...place], words: [...place, angle] };
    }
    const [x, y, z, w] = numbers(4).map((entry) => entry + 1e-3);
    const length = Math.hypot(w, x, y, z);
    if (!toro) return { block: [...[w, x, y, z].map((entry) => entry / length), ...place], words: [...place, x, y, z, w] };
    const [roll, pitch, yaw] = numbers(3).map((entry) => entry % 3);
    return { block: [...turned(roll, pitch, yaw), ...place], words: [...place, roll, pitch, yaw] };
  };
  /** The upper triangle of a semi-definite matrix of a random rank. */
  const information = (size) => {
    const rows = Array.from({ length: below(size + 1) }, () => numbers(size));
    return Array.from({ length: size }, (_, i) => Array.from({ length: size - i }, (__, k) => rows.reduce((sum, row) => sum + row[i] * row[i + k], 0))).flat();
  };
  const tags = {
    2: { pose: 'VERTEX_SE2', landmark: 'VERTEX_XY', offset: 'PARAMS_SE2OFFSET', edge: 'EDGE_SE2', pair: 'EDGE_POINTXY', landmarkPrior: 'EDGE_PRIOR_XY' },
    3: { pose: 'VERTEX_SE3:QUAT', landmark: 'VERTEX_TRACKXYZ', offset: 'PARAMS_SE3OFFSET', edge: 'EDGE_SE3:QUAT', pair: 'EDGE_POINTXYZ', landmarkPrior: 'EDGE_POINTXYZ_PRIOR' },
  }[dim];
  if (toro) Object.assign(tags, { pose: `VERTEX${dim}`, edge: `EDGE${dim}` });
  const [poseIds, landmarkIds, offsetIds] = [ids.slice(0, 2 + below(9)), ids.slice(20, 22 + below(9)), ids.slice(10, 11 + below(20))];
  /** The same, of a line that TORO does not have. */
  const g2oPose = () => {
    const { block, words } = pose();
    return { block, words: dim === 3 && toro ? [...block.slice(4), ...block.slice(1, 4), block[0]] : words };
  };
  const written = { poses: new Map(), landmarks: new Map(), offsets: new Map(), edges: [], landmarkEdges: [], offsetEdges: [], priors: [], positionPriors: [], landmarkPriors: [], landmarkPairs: [] };
  for (const id of poseIds) {
    const { block, words } = pose();
    written.poses.set(id, block);
    line(tags.pose, id, words);
  }
  for (const id of landmarkIds) {
    written.landmarks.set(id, numbers(dim));
    line(tags.landmark, id, written.landmarks.get(id));
  }
  for (const id of offsetIds) {
    const { block, words } = g2oPose();
    written.offsets.set(id, block);
    line(tags.offset, id, words);
  }
  const identity = dim === 2 ? [0, 0, 0] : [1, 0, 0, 0, 0, 0, 0];
  const two = (list) => {
    const one = below(list.length);
    return [list[one], list[(one + 1 + below(list.length - 1)) % list.length]];
  };
  for (let count = 1 + below(30); count > 0; count--) {
    const choice = below(7);
    const [a, b, l] = [...two(poseIds), pick(landmarkIds)], [o, p] = [pick(offsetIds), pick(offsetIds)];
    const [point, square, full] = [numbers(dim), information(dim), information(dim === 2 ? 3 : 6)];
    const triangle = (upper) => (toro && dim === 2 ? [0, 1, 3, 5, 2, 4].map((k) => upper[k]) : upper);
    if (choice === 0) {
      const { block, words } = pose();
      written.edges.push({ ids: [a, b], value: block, information: full });
      line(tags.edge, a, b, words, triangle(full));
    } else if (choice === 1) {
      const hasOffset = dim === 3 || random() < 0.5;
      written.landmarkEdges.push({ ids: [a, l], offsets: [hasOffset ? written.offsets.get(o) : identity], value: point, information: square });
      line(dim === 3 ? 'EDGE_SE3_TRACKXYZ' : hasOffset ? 'EDGE_SE2_POINTXY_OFFSET' : 'EDGE_SE2_XY', a, l, hasOffset ? [o] : [], point, square);
    } else if (choice === 2) {
      const { block, words } = g2oPose();
      written.offsetEdges.push({ ids: [a, b], offsets: [written.offsets.get(o), written.offsets.get(p)], value: block, information: full });
      line(`EDGE_SE${dim}_OFFSET`, a, b, o, p, words, full);
    } else if (choice === 3) {
      const { block, words } = g2oPose();
      written.priors.push({ ids: [a], offsets: [dim === 3 ? written.offsets.get(o) : identity], value: block, information: full });
      line(dim === 3 ? ['EDGE_SE3_PRIOR', a, o] : [pick(['EDGE_PRIOR_SE2', 'EDGE_SE2_PRIOR']), a], words, full);
    } else if (choice === 4) {
      written.positionPriors.push({ ids: [a], value: point, information: square });
      line(dim === 3 ? ['EDGE_SE3_XYZ_PRIOR', a, o] : ['EDGE_PRIOR_SE2_XY', a], point, square);
    } else if (choice === 5) {
      written.landmarkPriors.push({ ids: [l], value: point, information: square });
      line(tags.landmarkPrior, l, point, square);
    } else {
      const ends = two(landmarkIds);
      written.landmarkPairs.push({ ids: ends, value: point, information: square });
      line(tags.pair, ends, point, square);
    }
  }
  // Measurements keep their order; definitions may stand behind them.
  const isDefinition = (text) => /^(VERTEX|PARAMS)/.test(text);
  const [definitions, measurements] = [lines.filter(isDefinition), lines.filter((text) => !isDefinition(text))];
  const mixed = [];
  while (definitions.length + measurements.length > 0) {
    const list = measurements.length === 0 || (definitions.length > 0 && random() < 0.6) ? definitions : measurements;
    mixed.push(list.shift(), ...(random() < 0.1 ? ['', '# nothing'] : []));
  }
  return { text: mixed.join(pick(['\n', '\r\n', '\r'])), written };
}

/** The upper triangle of ΛᵀΛ. */
function squared(root, size) {
  const at = (i, j) => (i > j ? 0 : root[size * i - (i * (i + 1)) / 2 + j]);
  return Array.from({ length: size }, (_, i) => Array.from({ length: size - i }, (__, k) => root.slice(0, i + 1).reduce((sum, ___, row) => sum + at(row, i) * at(row, i + k), 0))).flat();
}

for (const [dim, toro] of [[2, false], [2, true], [3, false], [3, true]]) {
  test(`random graphs ${toro ? 'of TORO' : 'of g2o'} in ${dim} dimensions are read as they were written`, () => {
    const random = randomNumbers(17 * dim + Number(toro));
    for (let round = 0; round < 60; round++) {
      const { text, written } = randomGraph(random, dim, toro);
      const graph = parseG2o(text);
      assert.equal(graph.dim, dim);
      assert.deepEqual([graph.ids, graph.landmarks.ids, graph.offsets.ids], [[...written.poses.keys()], [...written.landmarks.keys()], [...written.offsets.keys()]]);
      // Quaternions are normalised, or made of angles, in one or two more roundings.
      for (const [values, expected] of [[graph.poses, written.poses], [graph.landmarks.points, written.landmarks], [graph.offsets.poses, written.offsets]]) close(values, [...expected.values()].flat(), 1e-15, text);
      const edges = { from: graph.from, to: graph.to, measurements: graph.measurements, sqrtInformation: graph.sqrtInformation };
      for (const name of ['edges', 'landmarkEdges', 'offsetEdges', 'priors', 'positionPriors', 'landmarkPriors', 'landmarkPairs']) {
        const read = name === 'edges' ? edges : graph[name], list = written[name];
        const indices = (column) => list.map(({ ids: names }) => Math.max(graph.ids.indexOf(names[column]), graph.landmarks.ids.indexOf(names[column])));
        const ends = [read.from ?? read.poses ?? read.landmarks, read.to].filter((column) => column !== undefined);
        ends.forEach((column, k) => assert.deepEqual([...column], indices(k), text));
        const offsets = [read.offsets ?? read.fromOffsets, read.toOffsets].filter((column) => column !== undefined);
        offsets.forEach((column, k) => close(column, list.flatMap((measurement) => measurement.offsets[k]), 1e-15, text));
        close(read.measurements, list.flatMap(({ value }) => value), 1e-15, text);
        list.forEach(({ information }, k) => {
          const size = (Math.sqrt(1 + 8 * information.length) - 1) / 2;
          const again = squared(read.sqrtInformation.subarray(k * information.length, (k + 1) * information.length), size);
          const diagonal = (i) => information[size * i - (i * (i - 1)) / 2];
          // The rounding of sums of products of up to six numbers.
          for (let i = 0, place = 0; i < size; i++) for (let j = i; j < size; j++, place++) assert.ok(Math.abs(again[place] - information[place]) <= 1e-13 * Math.sqrt(diagonal(i) * diagonal(j)), text);
        });
      }
      assert.deepEqual(graph.skipped, []);
    }
  });
}

test('a file of 100,000 lines is read, whatever its lines are', () => {
  const lines = (make) => Array.from({ length: 100_000 }, (_, k) => make(k)).join('\n');
  const prior = `\nEDGE_PRIOR_SE2 0 0 0 0 ${UNIT[3]}`;
  assert.equal(parseG2o(lines((k) => `VERTEX_SE2 ${k} 1 2 3`) + prior).ids.length, 100_000);
  assert.equal(parseG2o(`VERTEX_SE2 0 0 0 0\n${lines(() => `EDGE_PRIOR_SE2 0 0 0 0 ${UNIT[3]}`)}`).priors.poses.length, 100_000);
  assert.equal(parseG2o(`VERTEX_SE2 0 0 0 0\n${lines(() => 'FIX 0')}${prior}`).fixed.length, 1);
  assert.equal(parseG2o(`VERTEX_SE2 0 0 0 0\n${lines(() => 'ROBOTLASER1 0 0')}${prior}`).skipped.length, 100_000);
});
