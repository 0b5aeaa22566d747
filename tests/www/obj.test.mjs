// OBJ files: reading, repairs with notes, and errors with lines.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { icosphere } from '../../www/mesh/icosphere.js';
import { ObjError, parseObj, writeObj } from '../../www/mesh/obj.js';

const SQUARE = 'v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n';

test('a mesh that is written and read is equal to the last bit', () => {
  const mesh = icosphere(2);
  const { positions, triangles, notes } = parseObj(writeObj(mesh, 'a comment\nof two lines'));
  assert.deepEqual(positions, mesh.positions);
  assert.deepEqual(triangles, mesh.triangles);
  assert.deepEqual(notes, []);
});

test('every notation of a triangle is read', () => {
  const cases = {
    plain: 'f 1 2 3',
    'with texture numbers': 'f 1/5 2/6 3/7',
    'with normal numbers': 'f 1//5 2//6 3//7',
    'with both': 'f 1/5/5 2/6/6 3/7/7',
    'counted back': 'f -4 -3 -2',
    'texture counted back': 'f 1/-1 2/-1 3/-1',
    continued: 'f 1 \\\n 2 3',
    'with tabs and a comment': 'f\t1  2 \t3 # the first',
    'with Windows line ends': 'f 1 2 3\r\ng part\r\nusemtl red\r\n',
  };
  for (const [name, face] of Object.entries(cases)) {
    const { triangles } = parseObj(`${SQUARE}${face}\nf 1 3 4\n`);
    assert.deepEqual([...triangles], [0, 1, 2, 0, 2, 3], name);
  }
});

test('numbers are read in every decimal notation, and a face may precede its vertices', () => {
  const { positions, triangles } = parseObj('f 1 2 3\nv +1 -.5 2.\nv 1e1 1E-2 0.25 1.0\nv 0 0 0 0.5 0.5 0.5\n');
  assert.deepEqual([...positions], [1, -0.5, 2, 10, 0.01, 0.25, 0, 0, 0]);
  assert.deepEqual([...triangles], [0, 1, 2]);
});

test('repairs are made and listed in the notes', () => {
  const cases = [
    { name: 'a quad', text: `${SQUARE}f 1 2 3 4\n`, triangles: [0, 1, 2, 0, 2, 3], note: /1 face with more than three corners was cut .*line 5/ },
    { name: 'a dangling vertex', text: `v 9 9 9\n${SQUARE}f 2 3 4\n`, triangles: [0, 1, 2], vertices: 3, note: /2 vertices that no face uses were left out/ },
    { name: 'a vertex twice in a face', text: `${SQUARE}f 1 1 2\nf 1 2 3\nf 1 3 4\n`, triangles: [0, 1, 2, 0, 2, 3], note: /1 triangle that uses a vertex twice was left out .*line 5/ },
    { name: 'two vertices in one place', text: `${SQUARE}v 0 0 0\nf 1 2 3\nf 1 5 3\n`, triangles: [0, 1, 2], vertices: 3, note: /1 triangle with two corners in one place was left out .*line 7/ },
    { name: 'a face without area', text: 'v 0 0 0\nv 1 0 0\nv 2 0 0\nv 0 1 0\nf 1 2 4\nf 1 2 3\n', triangles: [0, 1, 3, 0, 1, 2], note: /1 triangle has no area .*line 6/ },
    { name: 'an unknown word', text: `${SQUARE}f 1 2 3\nf 1 3 4\nhello world\n`, triangles: [0, 1, 2, 0, 2, 3], note: /1 line was not understood .*line 7, "hello"/ },
  ];
  for (const { name, text, triangles, vertices = 4, note } of cases) {
    const mesh = parseObj(text);
    assert.deepEqual([...mesh.triangles], triangles, name);
    assert.equal(mesh.positions.length / 3, vertices, name);
    assert.match(mesh.notes.join('\n'), note, name);
  }
});

test('a triangle at the limit of single precision has its area', () => {
  const { positions, notes } = parseObj('v 0 0 0\nv 3e38 0 0\nv 0 3e38 0\nf 1 2 3\n');
  assert.deepEqual([[...positions], notes], [[0, 0, 0, 3e38, 0, 0, 0, 3e38, 0], []]);
});

test('an invalid file is refused with its line, the error and the expected content', () => {
  const cases = [
    { name: 'a word for a number', text: 'v 0 0 0\nv 1 zero 0\n', line: 2, message: /coordinate y .* "zero"/ },
    { name: 'a number that is not finite', text: 'v 0 0 1e999\n', line: 1, message: /"1e999"/ },
    { name: 'a number that single precision does not hold', text: `${SQUARE}v 0 -1e300 0\nf 1 2 5\n`, line: 5, message: /coordinate y of the vertex is "-1e300", which is larger than single precision holds, 3\.4e38/ },
    { name: 'NaN', text: 'v nan 0 0\n', line: 1, message: /coordinate x/ },
    { name: 'a hexadecimal number', text: 'v 0x10 0 0\n', line: 1, message: /"0x10"/ },
    { name: 'two coordinates', text: 'v 0 0\n', line: 1, message: /three coordinates, this one has 2/ },
    { name: 'two corners', text: `${SQUARE}f 1 2\n`, line: 5, message: /at least three corners, this one has 2/ },
    { name: 'a corner that is no number', text: `${SQUARE}f 1 2 x\n`, line: 5, message: /"x" is not a corner/ },
    { name: 'a corner with a fraction', text: `${SQUARE}f 1 2 2.5\n`, line: 5, message: /"2.5"/ },
    { name: 'too many slashes', text: `${SQUARE}f 1/1/1/1 2 3\n`, line: 5, message: /"1\/1\/1\/1"/ },
    { name: 'vertex 0', text: `${SQUARE}f 0 1 2\n`, line: 5, message: /counted from 1/ },
    { name: 'a vertex beyond the last', text: `# comment\n${SQUARE}\nf 1 2 5\n`, line: 7, message: /vertex 5, but the file has 4 vertices/ },
    { name: 'a vertex before the first', text: `${SQUARE}f 1 2 -5\n`, line: 5, message: /vertex -5, .* only 4 vertices/ },
    { name: 'no vertex', text: '# nothing\n', line: 1, message: /without a vertex/ },
    { name: 'an empty file', text: '', line: 1, message: /without a vertex/ },
    { name: 'no face', text: SQUARE, line: 4, message: /without a face/ },
    { name: 'no face that is one', text: `${SQUARE}f 1 1 1\n`, line: 5, message: /three corners in different places/ },
  ];
  for (const { name, text, line, message } of cases) {
    assert.throws(() => parseObj(text), (error) => {
      assert.ok(error instanceof ObjError, `${name}: ${error.stack}`);
      assert.equal(error.line, line, name);
      assert.match(error.message, message, name);
      assert.ok(error.message.startsWith(`OBJ line ${line}: `), name);
      return true;
    });
  }
});
