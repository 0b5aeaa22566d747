// Files that are wrong in random ways: a parser reads them or throws its own error with a line, and ends soon. RESIDUA_CASES is the number of files of each kind.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { icosphere } from '../../www/mesh/icosphere.js';
import { ObjError, parseObj, writeObj } from '../../www/mesh/obj.js';
import { randomNumbers } from '../facade/reference.mjs';

const { residua } = await import('./residua.mjs');
const { parseBal, parseG2o, ResiduaError } = residua;
const { NistError, parseNist } = await import('../../www/problems/nist.js');

const CASES = Number(process.env.RESIDUA_CASES ?? 2000);

const KINDS = [
  { name: '.obj', parse: parseObj, Failure: ObjError, words: ['v', 'f', 'vt', 'usemtl', '1/2/3', '-1', '0', '\\'], file: `# a mesh\n${writeObj(icosphere(0))}f 1 2 3 4\n` },
  {
    name: '.dat', parse: parseNist, Failure: NistError, words: ['b1', 'b3', '=', 'Data:', 'Dataset Name:', 'Residual Sum of Squares:'],
    file: 'NIST/ITL StRD\nDataset Name:  Misra1a           (Misra1a.dat)\n\nData:          1 Response Variable  (y = volume)\n\n  b1 =   500         250           2.5E+02  2.7E+00\n  b2 =     0.0001      .0005      -5.5E-04  7.2E-06\n\nResidual Sum of Squares:                    1.2E-01\n\nData:   y               x\n      10.07E0      77.6E0\n      -1        114.9\n',
  },
  {
    name: '.g2o', parse: parseG2o, Failure: ResiduaError, words: ['FIX', 'VERTEX_XY', 'EDGE_SE2', 'EDGE2', 'VERTEX_SE3:QUAT', '#', '0', '-4'],
    file: 'VERTEX_SE2 0 1 2 0.5\nVERTEX2 7 3 4 -0.25\nVERTEX_XY 9 5 6\nPARAMS_SE2OFFSET 0 0.1 0.2 0.3\nEDGE_SE2 0 7 1.5 2.5 0.75 4 6 8 34 42 101\nEDGE2 7 0 1 2 3 4 6 34 101 8 42\nEDGE_SE2_XY 0 9 1 2 1 0 0\nEDGE_SE2_OFFSET 0 7 0 0 1 2 3 1 0 0 1 0 1\nEDGE_PRIOR_SE2 7 1 2 3 1 0 0 1 0 1\nEDGE_BEARING_SE2_XY 0 9 1 2\nFIX 0 9\n',
  },
  {
    name: '.g2o (space)', parse: parseG2o, Failure: ResiduaError, words: ['FIX', 'VERTEX_TRACKXYZ', 'EDGE_SE3_PRIOR', 'EDGE3', 'VERTEX_SE2', '#', '0', '-4'],
    file: 'VERTEX_SE3:QUAT 0 1 2 3 0.5 -0.5 0.5 -0.5\nVERTEX3 1 4 5 6 0.1 0.2 0.3\nVERTEX_TRACKXYZ 5 1 2 3\nPARAMS_SE3OFFSET 0 0 0 0 0 0 0 1\nEDGE_SE3:QUAT 1 0 1 2 3 0 0 0 2 1 0 0 0 0 0 4 0 0 0 0 9 0 0 0 16 0 0 25 0 36\nEDGE_SE3_TRACKXYZ 1 5 0 1 2 3 1 0 0 1 0 0\nEDGE_SE3_XYZ_PRIOR 1 0 1 2 3 1 0 0 1 0 1\nFIX 1\n',
  },
  { name: '.txt (BAL)', parse: parseBal, Failure: ResiduaError, words: ['0', '1', '2', '1e3', '#'], file: '2 1 3\n0 0 -1.5 2e1\n1 0 3 4\n0 0 5 6\n1 2 3 4 5 6 7 8 9\n10\n11 12 13 14 15 16 17 18\n.5 .25 1.\n' },
];
const WORDS = ['', '1e309', '-1e309', 'NaN', 'Infinity', '1e-320', '-0', '9007199254740993', '4294967296', '0x10', '1,5', '.', '-', '\0', '\u2028', '\ufeff', '😀', '__proto__', 'constructor', 'x'.repeat(5000)];

/** A file with some pieces removed, repeated, exchanged or replaced by a word. */
function mutated(file, words, next) {
  const below = (count) => Math.floor(next() * count);
  for (let edits = 1 + below(4); edits > 0; edits--) {
    const pieces = file.split(next() < 0.3 ? /(\n)/ : next() < 0.8 ? /([ \n])/ : '');
    const place = below(pieces.length);
    const choice = below(5);
    if (choice === 0) pieces.splice(place, 1 + below(4));
    else if (choice === 1) pieces.splice(place, 0, pieces[below(pieces.length)], '\n');
    else if (choice === 2) pieces[place] = pieces[below(pieces.length)];
    else if (choice === 3) pieces.length = place;
    else pieces[place] = [...words, ...WORDS][below(words.length + WORDS.length)];
    file = pieces.join('');
  }
  return file;
}

for (const { name, parse, Failure, words, file } of KINDS) {
  test(`a ${name} file that is wrong in any way is read, or refused with a line`, () => {
    parse(file.replace('f 1 2 3 4\n', ''));
    const next = randomNumbers(11);
    let refused = 0;
    const lines = (text) => text.split(/\r\n|\n|\r/).length;
    for (let number = 0; number < CASES; number++) {
      const text = mutated(file, words, next);
      try {
        parse(text);
      } catch (error) {
        refused++;
        assert.ok(error instanceof Failure, `${JSON.stringify(text.slice(0, 2000))}\n${error.stack}`);
        const line = error.line ?? Number(/^\w+: line (\d+): got .*; takes /s.exec(error.message)?.[1]);
        assert.ok(Number.isInteger(line) && line >= 1 && line <= lines(text), `line ${line} of ${JSON.stringify(text.slice(0, 2000))}`);
      }
    }
    // Edits of comments and of texts that are skipped change nothing.
    assert.ok(refused > CASES / 4 && refused < CASES, `${refused} of ${CASES} were refused`);
  });
}
