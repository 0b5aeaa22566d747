/** Square roots of information matrices: what is recorded, the data input of instances' matrices, and the factorisation. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GpuCompiledFunctions, Problem, sqrtInformation } from '../../pkg-template/dist/index.js';
import { Op } from '../../pkg-template/dist/expressions/op-codes.js';
import { install } from './fake-module.mjs';
import { randomNumbers } from './reference.mjs';

/** Compiles a block of three instances with two residuals, x and y of a point; returns the template's tape and data, and the block. */
async function recorded(matrices, residual = ({ p }) => p) {
  const fake = install();
  const problem = new Problem();
  const points = problem.parameters('points', { dim: 2, values: new Float64Array(6) });
  const block = problem.residuals('r', { inputs: { p: points.at([0, 1, 2]) }, residual, sqrtInformation: matrices });
  const functions = await GpuCompiledFunctions.compile(problem);
  const [, , , , , , dataColumns, data, ops, a, b, , constants] = fake.problems[0].templates[0];
  const outputs = fake.problems[0].templates[0][13];
  /** Evaluates the tape at a point with an instance's columns. */
  const evaluate = (x, columns = []) => {
    const values = [];
    ops.forEach((op, i) => {
      if (op === Op.parameter) values.push(x[a[i]]);
      else if (op === Op.data) values.push(columns[a[i]]);
      else if (op === Op.literal || op === Op.constant) values.push(constants[a[i]]);
      else if (op === Op.add) values.push(values[a[i]] + values[b[i]]);
      else if (op === Op.mul) values.push(values[a[i]] * values[b[i]]);
      else assert.fail(`op ${op}`);
    });
    return [...outputs].map((position) => values[position]);
  };
  return { functions, block, dataColumns, data, ops, evaluate };
}

test('one matrix for all instances is part of the expression, without its zeros and ones', async () => {
  const full = await recorded([2, 3, 4, 5]);
  assert.deepEqual(full.evaluate([10, 100]), [320, 540]);
  assert.equal(full.dataColumns, 0);
  const triangle = await recorded([2, 3, 5]);
  assert.deepEqual(triangle.evaluate([10, 100]), [320, 500]);
  const diagonal = await recorded([2, 0, 0, 1]);
  assert.deepEqual(diagonal.evaluate([10, 100]), [20, 100]);
  assert.equal([...diagonal.ops].filter((op) => op === Op.mul).length, 1);
  assert.equal([...diagonal.ops].filter((op) => op === Op.add).length, 0);
  assert.deepEqual((await recorded([0, 0, 0, 1])).evaluate([10, 100]), [0, 100], 'a row of zeros');
});

test("instances' matrices are a data input, full or as upper triangles", async () => {
  const full = await recorded([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  assert.equal(full.dataColumns, 4);
  assert.deepEqual([...full.data], [1, 5, 9, /**/ 2, 6, 10, /**/ 3, 7, 11, /**/ 4, 8, 12]);
  assert.deepEqual(full.evaluate([10, 100], [5, 6, 7, 8]), [650, 870]);
  const triangle = await recorded([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  assert.equal(triangle.dataColumns, 3);
  assert.deepEqual(triangle.evaluate([10, 100], [4, 5, 6]), [540, 600]);
  triangle.block.setData('sqrtInformation', [9, 8, 7, 6, 5, 4, 3, 2, 1]);
  assert.throws(() => triangle.block.setData('sqrtInformation', [1]), /r.setData: values: got 1 numbers; takes 9/);
});

test('numbers that fit no matrix, and names that are taken, are refused', async () => {
  const message = 'residuals "r": sqrtInformation: got 5 numbers; takes 4 numbers, row after row, or 3, the upper triangle, for all instances or for each of the 3';
  await assert.rejects(recorded([1, 2, 3, 4, 5]), (error) => error.code === 'invalid-argument' && error.message === message);
  await assert.rejects(recorded([1, 2, Number.NaN]), /sqrtInformation\[2\]: got NaN/);
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 1, values: [1] });
  const inputs = { sqrtInformation: p.shared() };
  assert.throws(() => problem.residuals('r', { inputs, residual: ({ sqrtInformation: x }) => x, sqrtInformation: [1] }), /got an input of the same name/);
  const stars = () => problem.residuals('s', { inputs: { star: p.star([0, 1, 3], [0, 0, 0]) }, residual: ({ star }) => star, sqrtInformation: [1] });
  assert.throws(stars, /sqrtInformation: got residuals of 1 and of 2 numbers; takes as many/);
  assert.equal(problem.numResiduals, 0, 'a refused block is not added');
});

test('the square root of an information matrix is its upper triangular Cholesky factor', () => {
  // ΛᵀΛ with Λ = [2 3 4; 0 5 6; 0 0 7], then the unit matrix.
  const upper = [4, 6, 8, 34, 42, 101, 1, 0, 0, 1, 0, 1];
  assert.deepEqual([...sqrtInformation(upper, 3)], [2, 3, 4, 5, 6, 7, 1, 0, 0, 1, 0, 1]);
  assert.deepEqual([...sqrtInformation([4, 6, 8, 6, 34, 42, 8, 42, 101], 3, 'full')], [2, 3, 4, 5, 6, 7]);
  assert.equal(sqrtInformation([], 3).length, 0);
  for (const [call, message] of [
    [() => sqrtInformation([1, 0, 1, 1, 2, 1], 2), 'sqrtInformation: information: got a matrix that is not positive semi-definite at index 1: its smallest eigenvalue is -1; takes positive semi-definite matrices'],
    [() => sqrtInformation([4, 0, -25e-10], 2), 'sqrtInformation: information: got a matrix that is not positive semi-definite at index 0: its smallest eigenvalue is -2.5e-9; takes positive semi-definite matrices'],
    [() => sqrtInformation([0, 1, 0], 2), /smallest eigenvalue is -1; /],
    [() => sqrtInformation([1e-300, 1e300, 1], 2), /not positive semi-definite at index 0/],
    [() => sqrtInformation([1, 2, 3, 4], 2, 'full'), 'sqrtInformation: information: got 2 at row 0, column 1 and 3 at row 1, column 0 in matrix 0; takes symmetric matrices'],
    [() => sqrtInformation([1, 2], 2), 'sqrtInformation: information: got 2 numbers; takes a multiple of 3, the numbers of a matrix'],
    [() => sqrtInformation([1], 0), 'sqrtInformation: dim: got 0; takes a whole number of at least 1'],
    [() => sqrtInformation([1], 1, 'lower'), 'sqrtInformation: layout: got "lower"; takes \'upper\' or \'full\''],
  ]) {
    const isRight = (text) => (typeof message === 'string' ? text === message : message.test(text));
    assert.throws(call, (error) => error.code === 'invalid-argument' && (isRight(error.message) || assert.fail(error.message)));
  }
});

test('a singular information matrix has a singular root, with zeros where measurements say nothing', () => {
  for (const [upper, dim, root] of [
    [[0, 0, 0], 2, [0, 0, 0]],
    [[100, 0, 0, 0, 0, 400], 3, [10, 0, 0, 0, 0, 20]],
    [[0, 0, 0, 4, 6, 34], 3, [0, 0, 0, 2, 3, 5]],
    [[4, 6, 0, 9, 0, 16], 3, [2, 3, 0, 0, 0, 4]],
    [[1e-12, 0, 0, 0, 0, 1e12], 3, [1e-6, 0, 0, 0, 0, 1e6]],
  ]) {
    assert.deepEqual([...sqrtInformation(upper, dim)], root);
  }
});

/** The upper triangle of ΛᵀΛ. */
function squared(root, dim) {
  const at = (i, j) => (i > j ? 0 : root[dim * i - (i * (i + 1)) / 2 + j]);
  return Array.from({ length: dim }, (_, i) => Array.from({ length: dim - i }, (__, k) => root.slice(0, i + 1).reduce((sum, ___, row) => sum + at(row, i) * at(row, i + k), 0))).flat();
}

test('roots of matrices of every rank give the matrices back, exact or with six digits as texts have them', () => {
  const random = randomNumbers(5);
  for (let round = 0; round < 600; round++) {
    const dim = 1 + (round % 6), rank = Math.floor(random() * (dim + 1));
    // Units of each number between a thousandth and a thousand.
    const units = Array.from({ length: dim }, () => 10 ** (6 * random() - 3));
    const factors = Array.from({ length: rank }, () => units.map((unit) => unit * (random() - 0.5)));
    const upper = units.flatMap((_, i) => units.slice(i).map((__, k) => factors.reduce((sum, row) => sum + row[i] * row[i + k], 0)));
    const diagonal = (i) => upper[dim * i - (i * (i - 1)) / 2];
    // Of exact entries the root is wrong by rounding; of six digits by what makes the matrix semi-definite, at most that rounding times the dimension.
    for (const [matrix, tolerance] of [[upper, 1e-13], [upper.map((x) => Number(x.toPrecision(6))), 6 * 5e-6]]) {
      const again = squared(sqrtInformation(matrix, dim), dim);
      let place = 0;
      for (let i = 0; i < dim; i++) {
        for (let j = i; j < dim; j++, place++) {
          const wrong = Math.abs(again[place] - matrix[place]);
          assert.ok(wrong <= tolerance * Math.sqrt(diagonal(i) * diagonal(j)), `${matrix}: entry ${i}, ${j} is ${again[place]}`);
        }
      }
    }
  }
});
