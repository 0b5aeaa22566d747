/** The dual method for quadratic programs: conditions of Karush, Kuhn and Tucker of random programs, dependent and contradictory rows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { solveQuadraticProgram } from '../../pkg-template/dist/solvers/constrained/quadratic-program.js';
import { dependentRows, negativeCurvature } from '../../pkg-template/dist/solvers/constrained/dense.js';
import { groupColumns } from '../../pkg-template/dist/solvers/constrained/hessian.js';
import { TangentSpace } from '../../pkg-template/dist/solvers/constrained/tangent-space.js';
import { randomNumbers } from './reference.mjs';

const product = (rows, x) => Array.from({ length: rows.length / x.length }, (_, i) => x.reduce((sum, entry, j) => sum + rows[i * x.length + j] * entry, 0));

test('solutions of random programs meet the conditions of optimality', () => {
  const random = randomNumbers(5);
  const number = () => 2 * random() - 1;
  let active = 0;
  for (let round = 0; round < 300; round++) {
    const size = 1 + (round % 9);
    const equalities = round % 3 === 0 ? 0 : Math.min(1 + (round % 4), Math.floor(size / 2));
    const count = equalities + (round % 13);
    const root = Array.from({ length: size * size }, number);
    const hessian = new Float64Array(size * size);
    for (let a = 0; a < size; a++) for (let b = 0; b < size; b++) for (let k = 0; k < size; k++) hessian[a * size + b] += root[k * size + a] * root[k * size + b] + (a === b ? 0.01 : 0);
    const inside = Array.from({ length: size }, number);
    const rows = Float64Array.from({ length: count * size }, number);
    // Constraints that a known point meets, so that there is a solution.
    const values = Float64Array.from(product(rows, inside), (value, i) => -value - (i < equalities ? 0 : random()));
    const gradient = Float64Array.from({ length: size }, () => 3 * number());
    const solution = solveQuadraticProgram({ size, hessian, gradient, rows, values, equalities });
    assert.equal(typeof solution, 'object', `round ${round}: ${solution}`);
    const { step, multipliers } = solution;
    const slope = product(hessian, step).map((value, j) => value + gradient[j] + multipliers.reduce((sum, multiplier, i) => sum + multiplier * rows[i * size + j], 0));
    const scale = 1 + Math.max(...multipliers.map(Math.abs), 0) + Math.max(...step.map(Math.abs));
    slope.forEach((entry) => assert.ok(Math.abs(entry) <= 1e-9 * scale, `round ${round}: slope ${entry}`));
    product(rows, step).forEach((value, i) => {
      const c = value + values[i];
      if (i < equalities) assert.ok(Math.abs(c) <= 1e-10 * scale, `round ${round}: equality ${c}`);
      else {
        assert.ok(c <= 1e-10 * scale && multipliers[i] >= 0 && Math.abs(c * multipliers[i]) <= 1e-9 * scale ** 2, `round ${round}: inequality ${c}, ${multipliers[i]}`);
        if (multipliers[i] > 0) active++;
      }
    });
  }
  assert.ok(active > 200, `${active} active inequalities`);
});

test('rows that depend on others do no harm, and those that contradict others have no solution', () => {
  const of = (rows, values, equalities) => solveQuadraticProgram({ size: 2, hessian: Float64Array.of(1, 0, 0, 1), gradient: Float64Array.of(-3, -4), rows: Float64Array.from(rows), values: Float64Array.from(values), equalities });
  const { step } = of([1, 1, 2, 2], [-2, -4], 2);
  assert.deepEqual([...step], [0.5, 1.5]);
  assert.deepEqual([...of([1, 1, 1, 1], [-2, -2], 1).step], [0.5, 1.5]);
  assert.equal(of([1, 1, 1, 1], [-2, -3], 2), 'infeasible');
  assert.equal(of([1, 0, -1, 0], [1, 1], 0), 'infeasible');
  assert.equal(of([0, 0], [1], 0), 'infeasible');
  assert.equal(typeof of([0, 0], [-1], 0), 'object');
  assert.equal(solveQuadraticProgram({ size: 2, hessian: Float64Array.of(1, 2, 2, 1), gradient: new Float64Array(2), rows: new Float64Array(0), values: new Float64Array(0), equalities: 0 }), 'indefinite');
});

test('a direction of negative curvature is one, and definite matrices have none', () => {
  assert.equal(negativeCurvature(Float64Array.of(2, 1, 1, 2), 2), null);
  const direction = negativeCurvature(Float64Array.of(2, 3, 0, 3, 2, 0, 0, 0, 1), 3);
  const [a, b, c] = direction;
  assert.ok(2 * a * a + 6 * a * b + 2 * b * b + c * c < 0);
  assert.deepEqual(dependentRows(Float64Array.of(1, 2, 2, 4, 0, 1, 0, 0), 2, 1e-9), [1, 3]);
});

test('columns that are found together have no row in common', () => {
  const size = 40;
  const band = Uint8Array.from({ length: size * size }, (_, at) => Number(Math.abs(Math.floor(at / size) - (at % size)) <= 1));
  assert.equal(groupColumns(band, size).groups.length, 3);
  assert.equal(groupColumns(new Uint8Array(size * size).fill(1), size).groups.length, size);
  const random = randomNumbers(9);
  const pattern = new Uint8Array(size * size);
  for (let a = 0; a < size; a++) for (let b = 0; b <= a; b++) pattern[a * size + b] = pattern[b * size + a] = Number(a === b || random() < 0.06);
  const { groups } = groupColumns(pattern, size);
  assert.deepEqual(groups.flat().toSorted((a, b) => a - b), Array.from({ length: size }, (_, k) => k));
  for (const columns of groups) for (let row = 0; row < size; row++) assert.ok(columns.reduce((sum, column) => sum + pattern[column * size + row], 0) <= 1);
});

test('a tangent space minimises along what rows and fixed coordinates leave, and null stands for dependent rows and saddles', () => {
  const random = randomNumbers(7);
  const number = () => 2 * random() - 1;
  for (let round = 0; round < 100; round++) {
    const size = 3 + (round % 5);
    const fixed = Array.from({ length: size }, (_, j) => j === round % size);
    const rows = Array.from({ length: round % (size - 1) }, () => Float64Array.from({ length: size }, number));
    const values = rows.map(number);
    const at = Float64Array.from({ length: size }, (_, j) => (fixed[j] ? number() : 0));
    const matrix = new Float64Array(size * size);
    for (let a = 0; a < size; a++) for (let b = 0; b <= a; b++) matrix[a * size + b] = matrix[b * size + a] = number() + (a === b ? size : 0);
    const gradient = Float64Array.from({ length: size }, number);
    const space = TangentSpace.of(rows, fixed, size);
    assert.equal(space.dimension, size - 1 - rows.length);
    const { step, multipliers } = space.minimize(matrix, gradient, rows, values, at);
    rows.forEach((row, i) => assert.ok(Math.abs(values[i] + row.reduce((sum, entry, j) => sum + entry * step[j], 0)) < 1e-10, `round ${round}: row ${i}`));
    const slopes = product(matrix, Array.from(step)).map((entry, j) => entry + gradient[j] + rows.reduce((sum, row, i) => sum + multipliers[i] * row[j], 0));
    slopes.forEach((slope, j) => (fixed[j] ? assert.equal(step[j], at[j]) : assert.ok(Math.abs(slope) < 1e-9, `round ${round}: slope ${j} is ${slope}`)));
    // ZᵀMZ against products of its directions.
    const reduced = space.reduced(matrix, size);
    const directions = Array.from({ length: space.dimension }, (_, k) => space.along(Float64Array.from({ length: space.dimension }, (_, i) => Number(i === k)), size));
    directions.forEach((a, i) => directions.forEach((b, k) => {
      const expected = product(matrix, Array.from(b)).reduce((sum, entry, j) => sum + entry * a[j], 0);
      assert.ok(Math.abs(reduced[i * space.dimension + k] - expected) < 1e-12 * size, `round ${round}`);
    }));
    if (space.dimension > 0) assert.equal(space.minimize(matrix.map((entry) => -entry), gradient, rows, values, at), null);
  }
  const twice = [Float64Array.of(1, 2, 0), Float64Array.of(2, 4, 0)];
  assert.equal(TangentSpace.of(twice, [], 3), null);
  // Of the second row the fixed coordinate has all but what rounding is.
  assert.equal(TangentSpace.of([Float64Array.of(1, 1e-17, 0)], [true], 3), null);
  assert.notEqual(TangentSpace.of([Float64Array.of(1, 1e-12, 0)], [true], 3), null);
});
