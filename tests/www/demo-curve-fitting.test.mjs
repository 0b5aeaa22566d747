// The curve fitting demonstration's models: fits find the true parameters, standard errors agree with closed formulas, searches find minima
// that single starts miss.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hasData, readData } from '../shared-data.mjs';
await import('./residua.mjs');
const { parseExpression } = await import('../../www/demos/curve-fitting/expression.js');
const { examplePoints, MODELS } = await import('../../www/demos/curve-fitting/models.js');
const { CurveFit, searchStarts } = await import('../../www/demos/curve-fitting/model.js');
const { extentOf, ticks } = await import('../../www/demos/curve-fitting/ticks.js');
const { parseNist } = await import('../../www/problems/nist.js');

/** Compiles on the CPU, solves, and returns the result of `use`. */
async function fitted(text, points, start, options, use = async (fit) => ({ parameters: fit.parameters, estimates: await fit.estimates(), result: fit.result })) {
  const fit = new CurveFit(parseExpression(text), points, start, options);
  try {
    await fit.compile({ backend: 'cpu' });
    await fit.solve();
    return await use(fit);
  } finally {
    fit.dispose();
  }
}

describe('models to choose from', () => {
  for (const model of MODELS) {
    const expression = parseExpression(model.text);

    test(`${model.id}: from the start estimated from exact points, the fit finds the true parameters`, async () => {
      const points = examplePoints(model, expression, { noise: 0 });
      const { parameters, result } = await fitted(model.text, points, model.start(points));
      assert.ok(result.success, result.message);
      // Residuals vanish, so convergence is quadratic, and the error follows from the tolerances: 1e-10 in the gradient over curvatures
      // above 1e-2.
      parameters.forEach((value, k) => assert.ok(Math.abs(value - model.truth[k]) < 1e-6 * (1 + Math.abs(model.truth[k])), `${expression.parameters[k]}: ${value} for ${model.truth[k]}`));
    });

    test(`${model.id}: with noise, the errors of the parameters are within their standard errors`, async () => {
      const points = examplePoints(model, expression);
      const { estimates: { rows, deviation, reason } } = await fitted(model.text, points, model.start(points));
      assert.equal(reason, null);
      // Three and a half standard errors, which are exceeded once in two thousand cases.
      rows.forEach(({ name, value, error }, k) => assert.ok(Math.abs(value - model.truth[k]) < 3.5 * error, `${name}: ${value} ± ${error} for ${model.truth[k]}`));
      // The relative error of the scatter is 1/√(2 · 20).
      assert.ok(Math.abs(deviation / 0.22 - 1) < 3.5 / Math.sqrt(2 * 20), `${deviation}`);
    });
  }
});

test('the estimates and standard errors of a line agree with the closed formulas', async () => {
  const points = [[0, 1.2], [1, 2.9], [2.5, 4.1], [3, 6.3], [4.2, 7.4], [6, 11.8]].map(([x, y]) => ({ x, y }));
  const { estimates: { rows } } = await fitted('a + b * x', points, [0, 0]);
  const mean = (read) => points.reduce((sum, point) => sum + read(point), 0) / points.length;
  const [mx, my] = [mean(({ x }) => x), mean(({ y }) => y)];
  const sxx = points.reduce((sum, { x }) => sum + (x - mx) ** 2, 0);
  const slope = points.reduce((sum, { x, y }) => sum + (x - mx) * (y - my), 0) / sxx, intercept = my - slope * mx;
  const variance = points.reduce((sum, { x, y }) => sum + (y - intercept - slope * x) ** 2, 0) / (points.length - 2);
  const expected = [[intercept, Math.sqrt(variance * (1 / points.length + (mx * mx) / sxx))], [slope, Math.sqrt(variance / sxx)]];
  rows.forEach(({ value, error }, k) => {
    // Solved to a gradient of 1e-10; the condition number of the problem is about 10.
    assert.ok(Math.abs(value - expected[k][0]) < 1e-9 && Math.abs(error - expected[k][1]) < 1e-9, `${value} ± ${error} for ${expected[k]}`);
  });
});

test("a typed model reproduces NIST's certified parameters and standard deviations", async (t) => {
  const FILE = 'nist/Misra1a.dat';
  if (!hasData(t, FILE)) return;
  const { starts, certified, deviations, y, predictors } = parseNist(readData(FILE));
  const points = Array.from(y, (value, k) => ({ x: predictors[0][k], y: value }));
  const { estimates: { rows } } = await fitted('b1 * (1 - exp(-b2 * x))', points, starts[1]);
  rows.forEach(({ value, error }, k) => {
    // Certified to 11 digits; the cost's relative tolerance of 1e-12 leaves half as many in the parameters.
    assert.ok(Math.abs(value / certified[k] - 1) < 1e-6, `${value} for ${certified[k]}`);
    assert.ok(Math.abs(error / deviations[k] - 1) < 1e-5, `${error} for ${deviations[k]}`);
  });
});

test('points are moved, added up to the capacity and removed without compiling again', async () => {
  const line = (count, shift = 0) => Array.from({ length: count }, (_, k) => ({ x: k, y: 2 + 3 * k + shift }));
  await fitted('a + b * x', line(5), [0, 0], {}, async (fit) => {
    const { functions, capacity } = fit;
    for (const [points, expected] of [[line(5, 1), [3, 3]], [line(capacity), [2, 3]], [line(2, -2), [0, 3]]]) {
      fit.setPoints(points);
      await fit.solve();
      assert.equal(fit.functions, functions);
      // Exact points: rounding alone.
      fit.parameters.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) < 1e-8, `${points.length} points: ${value}`));
    }
    assert.equal(fit.holds(line(capacity + 1)), false);
    assert.throws(() => fit.setPoints([]), RangeError);
  });
});

test('unused capacity does not count as points, even for a model without values elsewhere', async () => {
  const points = [1, 2, 4, 8].map((x) => ({ x, y: 3 * Math.log(x) + 1 }));
  const { parameters } = await fitted('a * ln(x) + b', points, [1, 0]);
  [3, 1].forEach((expected, k) => assert.ok(Math.abs(parameters[k] - expected) < 1e-8));
});

test('a constant parameter keeps its number and counts as no degree of freedom', async () => {
  const points = [0, 1, 2, 3].map((x) => ({ x, y: 2 + 3 * x + (x % 2) * 0.1 }));
  await fitted('a + b * x', points, [2.5, 0], {}, async (fit) => {
    fit.parameters = [2.5, 0];
    fit.hold(0, true);
    await fit.solve();
    const { rows } = await fit.estimates();
    assert.deepEqual([rows[0].value, rows[0].error, rows[0].held, fit.freedom], [2.5, null, true, 3]);
    assert.ok(rows[1].error > 0);
  });
});

test('where there are no standard errors, the reason is given', async () => {
  const points = [0, 1, 2, 3].map((x) => ({ x, y: x }));
  const reason = async (text, start, some = points) => (await fitted(text, some, start)).estimates.reason;
  assert.match(await reason('a + b * x', [0, 0], points.slice(0, 2)), /2 points cannot tell/);
  assert.match(await reason('a + b + c * x', [0, 0, 0]), /free to move/);
});

test('with outliers a robust loss follows the other points', async () => {
  const points = Array.from({ length: 20 }, (_, k) => ({ x: k / 2, y: 1 + 0.5 * (k / 2) + (k % 6 === 5 ? 8 : 0) }));
  const distance = async (loss) => {
    const { parameters } = await fitted('a + b * x', points, [0, 0], { loss, scale: 0.2 });
    return Math.hypot(parameters[0] - 1, parameters[1] - 0.5);
  };
  const [squared, cauchy, huber] = [await distance('squared'), await distance('cauchy'), await distance('huber')];
  console.log(`from the truth: squared ${squared}, Huber ${huber}, Cauchy ${cauchy}`);
  // Three outliers of 8 among 20 points shift a mean by 1.2; with Huber each has a gradient of at most 3 · 0.2 of it, with Cauchy of
  // 0.2²/8.
  assert.ok(squared > 0.5 && huber < 0.25 && cauchy < 0.01);
});

test('a search from many starts finds the fit that a bad start misses', async () => {
  const model = MODELS.find(({ id }) => id === 'gaussian');
  const expression = parseExpression(model.text), points = examplePoints(model, expression);
  // A narrow peak far from all points: the gradient there is 0.
  const bad = [1, -6, 0.3, 0];
  const { result } = await fitted(model.text, points, bad);
  const found = await searchStarts(expression, points, [bad]);
  const { result: best } = await fitted(model.text, points, found.parameters);
  const { result: known } = await fitted(model.text, points, model.truth);
  console.log(`Gaussian peak: from a bad start ${result.finalCost}, searched ${best.finalCost} in ${found.milliseconds.toFixed(0)} ms`);
  assert.ok(result.finalCost > 2 * known.finalCost);
  assert.ok(Math.abs(best.finalCost / known.finalCost - 1) < 1e-6, `${best.finalCost}, ${known.finalCost}`);
  assert.deepEqual((await searchStarts(expression, points, [bad])).parameters, found.parameters);
});

test('the ticks of an axis are round numbers within it, and its range includes all numbers', () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(-0.25, 0.31, 6), [-0.2, -0.1, 0, 0.1, 0.2, 0.3]);
  assert.deepEqual(ticks(1e6, 1.001e6, 4), [1e6, 1000500, 1001000]);
  assert.deepEqual(extentOf([0, 10, NaN], 0.1), [-1, 11]);
  for (const numbers of [[], [3], [0, 0]]) assert.ok(extentOf(numbers)[1] > extentOf(numbers)[0]);
});
