// The problems of Moré, Garbow and Hillstrom compared with the paper: dimensions and minima.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jacobianError, onCpu, residua } from './residua.mjs';
const { problems, testProblem } = await import('../../www/problems/more-garbow-hillstrom.js');

/**
 * Number in the paper: unknowns, residuals, and the sum of squares at the standard start, computed from the formulas where that is short.
 */
const FIGURES = {
  1: [2, 2, 24.2], 2: [2, 2, 400.5], 4: [2, 3, 999998000003], 5: [2, 3, 14.203125], 6: [2, 10], 7: [3, 3, 2500], 8: [3, 15], 9: [3, 15], 10: [3, 16],
  12: [3, 10], 13: [4, 4, 215], 14: [4, 6, 19192], 15: [4, 11], 16: [4, 20], 17: [5, 33], 18: [6, 13], 19: [11, 65], 20: [6, 31, 30],
  23: [4, 5, 885.06264], 30: [10, 10, 21], 33: [5, 10, 84985], 35: [8, 8],
};

test('every problem has the unknowns, the residuals and the start of the paper', async () => {
  assert.deepEqual(problems.map(({ number }) => number), Object.keys(FIGURES).map(Number));
  for (const definition of problems) {
    const [unknowns, residuals, sumOfSquares] = FIGURES[definition.number];
    await onCpu(testProblem(definition).problem, async (functions) => {
      const values = await functions.evaluate();
      assert.deepEqual([functions.numParams, values.length], [unknowns, residuals], definition.name);
      const total = values.reduce((sum, value) => sum + value * value, 0);
      if (sumOfSquares !== undefined) assert.ok(Math.abs(total / sumOfSquares - 1) < 1e-9, `${definition.name}: ${total}`);
    });
  }
});

test('every derivative agrees with differences', async () => {
  for (const definition of problems) {
    // Not at 0, where a relative step would be 0.
    const x = definition.start.map((value, i) => (value === 0 ? 0.1 * (i + 1) : value));
    const error = await onCpu(testProblem(definition).problem, (functions) => jacobianError(functions, x));
    // Differences keep two thirds of 16 digits, and lose some where terms cancel.
    assert.ok(error < 1e-6, `${definition.name}: ${error}`);
  }
});

test('the minima of the paper are minima: L-BFGS ends at one of them from the standard start', async () => {
  for (const definition of problems) {
    const { finalCost } = await onCpu(testProblem(definition).problem, (functions) =>
      residua.lbfgs(functions, { objective: 'least-squares', maxIterations: 5000, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 }));
    const found = 2 * finalCost;
    // The paper's values have twelve digits; where the minimum is 0, rounding of the terms is below this.
    const near = definition.minima.some((minimum) => (minimum === 0 ? found < 1e-20 : Math.abs(found / minimum - 1) < 1e-7));
    assert.ok(near, `${definition.name}: ${found}, not one of ${definition.minima}`);
  }
});
