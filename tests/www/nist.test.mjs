// NIST's files and models: reading, errors, and the agreement of each model with its certified values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasData, listData, readData } from '../shared-data.mjs';
import { jacobianError, onCpu } from './residua.mjs';
const { matchingDigits, models, NistError, nistProblem, parseNist } = await import('../../www/problems/nist.js');

const FILE = `NIST/ITL StRD
Dataset Name:  Misra1a           (Misra1a.dat)

Data:          1 Response Variable  (y = volume)

  b1 =   500         250           2.5E+02  2.7070075241E+00
  b2 =     0.0001      .0005      -5.5015643181e-04  7.2668688436E-06

Residual Sum of Squares:                    1.2455138894E-01

Data:   y               x
      10.07E0      77.6E0
      -1        114.9
`;

test('a file gives starts, certified coefficients, sum of squares and observations', () => {
  const { name, starts, certified, deviations, sumOfSquares, y, predictors } = parseNist(FILE.replaceAll('\n', '\r\n'));
  assert.equal(name, 'Misra1a');
  assert.deepEqual(starts.map((start) => [...start]), [[500, 0.0001], [250, 0.0005]]);
  assert.deepEqual([...certified], [250, -5.5015643181e-4]);
  assert.deepEqual([...deviations], [2.7070075241, 7.2668688436e-6]);
  assert.equal(sumOfSquares, 0.12455138894);
  assert.deepEqual([[...y], predictors.map((column) => [...column])], [[10.07, -1], [[77.6, 114.9]]]);
});

test('an invalid file is refused with its line', () => {
  const cases = [
    { name: 'no name', text: 'b1 = 1 2 3 4\n', line: 1, message: /Dataset Name/ },
    { name: 'a word for a number', text: FILE.replace('0.0001', 'small'), line: 7, message: /"small" is not a decimal number/ },
    { name: 'a coefficient left out', text: FILE.replace('b1', 'b0'), line: 6, message: /b0 is where b1 is expected/ },
    { name: 'no certified value', text: FILE.replace('7.2668688436E-06', ''), line: 7, message: /this one has 3 numbers/ },
    { name: 'no sum of squares', text: FILE.replace('Residual Sum', 'Sum'), line: 14, message: /without a residual sum of squares/ },
    { name: 'an observation without its predictor', text: FILE.replace('114.9', ''), line: 13, message: /takes 2 numbers, this one has 1/ },
    { name: 'too few observations', text: FILE.replace(/\n +-1.*/, ''), line: 13, message: /1 observations for 2 coefficients/ },
  ];
  for (const { name, text, line, message } of cases) {
    assert.throws(() => parseNist(text), (error) => {
      assert.ok(error instanceof NistError, `${name}: ${error.stack}`);
      assert.equal(error.line, line, name);
      assert.match(error.message, message, name);
      return true;
    });
  }
  assert.throws(() => nistProblem({ ...parseNist(FILE), name: 'Thurber' }, [1, 2]), /no model of "Thurber"/);
});

test('matching digits are those of the worst coefficient, from 0 to 11', () => {
  const cases = [
    [[1, 200], [1, 200], 11], [[1.00001, 200], [1, 200], 5], [[1.00001, 202], [1, 200], 2], [[-3], [1], 0], [[NaN], [1], 0],
  ];
  for (const [computed, certified, digits] of cases) assert.ok(Math.abs(matchingDigits(computed, certified) - digits) < 1e-6, `${computed} for ${certified}`);
});

test('at the certified coefficients each model has the certified sum of squares, and its derivatives agree with differences', async (t) => {
  if (!hasData(t, 'nist')) return;
  const files = listData('nist', '.dat');
  assert.deepEqual(files.map((file) => file.replace('.dat', '')).sort(), Object.keys(models).sort());
  for (const file of files) {
    const dataset = parseNist(readData(`nist/${file}`));
    await onCpu(nistProblem(dataset, dataset.certified).problem, async (functions) => {
      const { value } = await functions.evaluateCostWithGradient();
      // Eleven digits are printed; at a minimum the rounding of coefficients changes the sum in second order only.
      assert.ok(Math.abs(2 * value / dataset.sumOfSquares - 1) < 6e-11, `${file}: ${2 * value}`);
      for (const x of [dataset.certified, ...dataset.starts]) {
        // Differences keep two thirds of 16 digits, and lose some where terms cancel.
        const error = await jacobianError(functions, x);
        assert.ok(error < 1e-7, `${file}: ${error}`);
      }
    });
  }
});
