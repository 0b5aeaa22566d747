/** Readers of .g2o and BAL files: what they return, errors by line, and texts that were damaged at random. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBal, parseG2o, ResiduaError } from '../../pkg-template/dist/index.js';
import { randomNumbers } from './reference.mjs';

const PLANE = `# a triangle
VERTEX_SE2 0 1 2 0.5
VERTEX_SE2 7 3 4 -0.25
EDGE_SE2 0 7 1.5 2.5 0.75 4 6 8 34 42 101
FIX 0
`;
const SPACE = `EDGE_SE3:QUAT b a 1 2 3 0 0 0 2 ${[1, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 9, 0, 0, 0, 16, 0, 0, 25, 0, 36].join(' ')}
VERTEX_SE3:QUAT a 1 2 3 0.5 -0.5 0.5 -0.5
VERTEX_SE3:QUAT b 4 5 6 0 0 0 1`;
const BAL = `2 1 3
0 0 -1.5 2e1
1 0 3 4
0 0 5 6
1 2 3 4 5 6 7 8 9
10
11 12 13 14 15 16 17 18
.5 .25 1.
`;

test('a graph in the plane has its poses, measurements and square roots in the order of blocks', () => {
  const graph = parseG2o(PLANE);
  assert.equal(graph.dim, 2);
  assert.deepEqual([...graph.poses], [0.5, 1, 2, -0.25, 3, 4]);
  assert.deepEqual(graph.ids, ['0', '7']);
  assert.deepEqual([[...graph.fixed], [...graph.from], [...graph.to]], [[0], [0], [1]]);
  assert.deepEqual([...graph.measurements], [0.75, 1.5, 2.5]);
  assert.deepEqual([...graph.sqrtInformation], [2, 3, 4, 5, 6, 7]);
});

test('poses that lines fix are listed once, in the order of the lines', () => {
  assert.deepEqual([...parseG2o(`${PLANE}FIX 7 0\nFIX 7`).fixed], [0, 1]);
});

test('a graph in space has quaternions w, x, y, z of length 1, also where edges precede their poses', () => {
  const graph = parseG2o(SPACE);
  assert.deepEqual([...graph.poses], [-0.5, 0.5, -0.5, 0.5, 1, 2, 3, 1, 0, 0, 0, 4, 5, 6]);
  assert.deepEqual([[...graph.from], [...graph.to]], [[1], [0]]);
  assert.deepEqual([...graph.measurements], [1, 0, 0, 0, 1, 2, 3]);
  assert.deepEqual([...graph.sqrtInformation].filter((x) => x !== 0), [1, 2, 3, 4, 5, 6]);
});

test('a bundle adjustment has its cameras, points and observations', () => {
  const { cameras, cameraSize, rotation, points, cameraIndices, pointIndices, observations } = parseBal(BAL);
  assert.deepEqual([cameraSize, rotation], [9, 'angle-axis']);
  assert.deepEqual([...cameras], Array.from({ length: 18 }, (_, i) => i + 1));
  assert.deepEqual([...points], [0.5, 0.25, 1]);
  assert.deepEqual([[...cameraIndices], [...pointIndices], [...observations]], [[0, 1, 0], [0, 0, 0], [-1.5, 20, 3, 4, 5, 6]]);
});

test('a bundle adjustment may have cameras of 10 numbers, which begin with a quaternion or are not known', () => {
  const text = (cameras) => `2 1 1\n0 0 1 2 # seen\n${cameras.join('\n')}\n7 8 9`;
  for (const [cameras, rotation] of [
    [['1 0 0 0 2 3 4 500 0.1 0.2', '0.5 -0.5 0.5 -0.5 5 6 7 600 0.3 0.4'], 'quaternion'],
    [['0.707 0.707 0 0 2 3 4 500 0.1 0.2', '0.6 0 -0.8 0 5 6 7 600 0.3 0.4'], 'quaternion'],
    [['1 0 0 0 2 3 4 500 0.1 0.2', '0.1 0.2 0.3 4 5 6 500 500 0.3 0.4'], null],
  ]) {
    const bundle = parseBal(text(cameras));
    assert.deepEqual([bundle.cameraSize, bundle.rotation], [10, rotation]);
    assert.deepEqual([[...bundle.cameras], [...bundle.points]], [cameras.join(' ').split(' ').map(Number), [7, 8, 9]]);
  }
});

for (const [read, text, message] of [
  [parseG2o, '', 'parseG2o: line 1: got the end of a file with no pose; takes poses and measurements'],
  [parseG2o, 'VERTEX_SE2 0 0 0 0\n', 'parseG2o: line 2: got the end of a file with no measurement; takes poses and measurements'],
  [parseG2o, '\n<html>\n<p>', 'parseG2o: line 3: got the end of a file with no pose and 2 lines of unknown tags, the first "<html>" in line 2; takes poses and measurements'],
  [parseG2o, 'VERTEX_SE2 0 0 0', 'parseG2o: line 1: got 3 words after VERTEX_SE2; takes 4'],
  [parseG2o, 'VERTEX_SE2 0 0 0x1 0', 'parseG2o: line 1: got "0x1" in VERTEX_SE2; takes a finite decimal number'],
  [parseG2o, 'VERTEX_SE2 0 0 1e999 0', 'parseG2o: line 1: got "1e999" in VERTEX_SE2; takes a finite decimal number'],
  [parseG2o, 'VERTEX_SE2 0 0 1 0\nVERTEX_SE2 0 0 1 0', 'parseG2o: line 2: got pose "0" a second time in VERTEX_SE2; takes each pose once'],
  [parseG2o, `${SPACE}\nVERTEX_SE2 0 0 1 0`, 'parseG2o: line 4: got VERTEX_SE2; takes 3 dimensions, as EDGE_SE3:QUAT in line 1 has'],
  [parseG2o, `${SPACE}\nVERTEX_SE3:QUAT c 0 0 0 0 0 0 0`, 'parseG2o: line 4: got a quaternion of length 0 in VERTEX_SE3:QUAT; takes one that has a direction'],
  [parseG2o, `${PLANE}FIX 3`, 'parseG2o: line 6: got pose "3" in FIX, which the file does not have; takes the id of a pose or landmark'],
  [parseG2o, `${PLANE}FIX`, 'parseG2o: line 6: got 0 words after FIX; takes ids of poses and landmarks'],
  [parseG2o, PLANE.replace('EDGE_SE2 0 7', 'EDGE_SE2 7 7'), 'parseG2o: line 4: got pose "7" relative to itself in EDGE_SE2; takes two poses'],
  [parseG2o, PLANE.replace('EDGE_SE2 0 7', 'EDGE_SE2 0 8'), 'parseG2o: line 4: got pose "8" in EDGE_SE2, which the file does not have; takes the id of a pose'],
  [parseG2o, PLANE.replace('4 6 8', '0 6 8'), 'parseG2o: line 4: got an information matrix in EDGE_SE2 that is not positive semi-definite: its smallest eigenvalue is -1.04003; takes positive semi-definite matrices'],
  [parseG2o, 7, 'parseG2o: text: got 7; takes the text of a file'],
  [parseBal, '', 'parseBal: line 1: got the end of a file without numbers; takes the numbers of cameras, points and observations'],
  [parseBal, '1 1', 'parseBal: line 1: got 2 words; takes 3: the numbers of cameras, points and observations'],
  [parseBal, '1 -1 1', 'parseBal: line 1: got "-1"; takes a count, a whole number from 0 below 2147483648'],
  [parseBal, '1 0 1', 'parseBal: line 1: got a count of 0; takes counts from 1'],
  [parseBal, '2 1 3\n0 0 1 2\n2 0 1 2', 'parseBal: line 3: got "2"; takes the index of a camera, a whole number from 0 below 2'],
  [parseBal, '2 1 3\n0 0 1 2\n1 0 1', 'parseBal: line 3: got 3 words; takes 4: camera, point, x and y'],
  [parseBal, '2 1 3\n0 0 1 2', 'parseBal: line 2: got the end after 1 observations; takes 3'],
  [parseBal, BAL.slice(0, -10), 'parseBal: line 8: got the end after 18 numbers of cameras and points; takes 21: 9 a camera and 3 a point, or 23: 10 a camera'],
  [parseBal, `${BAL}1`, 'parseBal: line 9: got the end after 22 numbers of cameras and points; takes 21: 9 a camera and 3 a point, or 23: 10 a camera'],
  [parseBal, `${BAL}1 2 3`, 'parseBal: line 9: got more than 23 numbers after the observations; takes 21: 9 a camera and 3 a point, or 23: 10 a camera'],
  [parseBal, BAL.replace('.25', 'NaN'), 'parseBal: line 8: got "NaN"; takes a finite decimal number'],
]) {
  test(`refused: ${message}`, () => {
    assert.throws(() => read(text), (error) => error instanceof ResiduaError && error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message)));
  });
}

test('damaged texts give a result or an error with a line, and finite numbers', () => {
  const random = randomNumbers(23);
  const below = (count) => Math.floor(count * random());
  const characters = '0123456789 \n\r\t.-+eE#xN∞VEFIX_SE2:QUAT\u0000';
  const counts = { result: 0, error: 0 };
  for (let round = 0; round < 6000; round++) {
    const [read, original] = [[parseG2o, PLANE], [parseG2o, SPACE], [parseBal, BAL]][round % 3];
    let text = original;
    for (let change = below(4); change >= 0; change--) {
      const [at, length] = [below(text.length), below(8)];
      const damages = [
        () => text.slice(0, at),
        () => text.slice(0, at) + text.slice(at + length),
        () => text.slice(0, at) + characters[below(characters.length)] + text.slice(at + 1),
        () => text.slice(0, at) + text.slice(below(text.length)),
        () => text.slice(0, at) + text.slice(at, at + length).repeat(2) + text.slice(at + length),
      ];
      text = damages[below(damages.length)]();
    }
    try {
      const result = read(text);
      const lists = Object.values(result).flatMap((value) => (ArrayBuffer.isView(value) ? [value] : Object.values(value ?? {})));
      for (const numbers of lists) if (ArrayBuffer.isView(numbers)) assert.ok(numbers.every(Number.isFinite), text);
      counts.result += 1;
    } catch (error) {
      assert.ok(error instanceof ResiduaError && error.code === 'invalid-argument', `${error.stack}\n${text}`);
      assert.match(error.message, /^parse(G2o|Bal): line \d+: got .*; takes /);
      counts.error += 1;
    }
  }
  assert.ok(counts.result > 100 && counts.error > 100, `${JSON.stringify(counts)}: both ends are reached`);
});
