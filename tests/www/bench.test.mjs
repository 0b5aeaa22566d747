// The benchmarks' pure functions: statistics, sizes, and the plain loops, whose derivatives are compared with differences and whose values
// with residua's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decades } from '../../www/bench/plot.js';
import { PlainDevelopable, smallestEigenpair } from '../../www/bench/plain/developable.js';
import { lbfgs } from '../../www/bench/plain/lbfgs.js';
import { levenbergMarquardt } from '../../www/bench/plain/levenberg-marquardt.js';
import { PlainRigid } from '../../www/bench/plain/rigid.js';
import { PlainNet } from '../../www/bench/plain/net.js';
import { plainSprings } from '../../www/bench/plain/springs.js';
import { repeated } from '../../www/bench/repeated.js';
import { gridNearest, readSizes, subdivisionsNearest } from '../../www/bench/sizes.js';
import { extrapolated, inWords, least, median, oneOfMany, relativeDifference, vectorDifference } from '../../www/bench/statistics.js';
import { columnsOf } from '../../www/bench/table.js';
import { convolution } from '../../www/bench/tensors/convolution.js';
import { mlpStep } from '../../www/bench/tensors/mlp-step.js';
import { numbersOf, signsOfElements, transposed, works } from '../../www/bench/tensors/works.js';
import * as loops from '../../www/checks/tensors/picture-loops.js';
import { onCpu, residua } from './residua.mjs';
const { waveSheetWithTopology } = await import('../../www/bench/jobs/sheet-meshes.js');
const { springMesh } = await import('../../www/bench/jobs/spring-meshes.js');
const { developableProblem, edgeLengths } = await import('../../www/energies/developable.js');
const { rigidInstances, rigidProblem } = await import('../../www/problems/as-rigid-as-possible.js');
const { springsProblem } = await import('../../www/problems/springs.js');

test('least, median and differences of numbers are correct', () => {
  assert.equal(least([3, 1, 2]), 1);
  assert.equal(median([5, 1, 3]), 3);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.equal(relativeDifference(1.1, 1) > 0.099, true);
  assert.equal(relativeDifference(0, 0), 0);
  assert.ok(Number.isNaN(relativeDifference(NaN, 1)));
  assert.equal(vectorDifference([1, 2], [1, 4]), 0.5);
  assert.ok(Number.isNaN(vectorDifference([1], [1, 2])));
  assert.ok(Number.isNaN(vectorDifference([NaN, 1], [1, 1])));
});

test('a time of runs in a row is a difference of medians, and none where that is not positive', () => {
  assert.equal(oneOfMany([22, 1000, 22], [2, 2, 900], 20), 1);
  assert.equal(oneOfMany([3, 3, 3], [3, 4, 2], 20), undefined);
  assert.equal(oneOfMany([2], [3], 20), undefined);
});

test('of runs in a row the last is read alone', async () => {
  const calls = [];
  const { alone, inARow } = await repeated({ submit: () => void calls.push('submit'), read: async () => void calls.push('read'), count: 3, samples: 2 });
  assert.deepEqual(calls, ['read', 'submit', 'submit', 'read', 'read', 'submit', 'submit', 'read']);
  assert.ok(alone >= 0 && inARow >= 0);
});

/** A mean of a result, and that of its elements with signs. */
const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;
const weighted = (values, shape) => mean(Array.from(signsOfElements(shape), (sign, k) => sign * values[k]));

test('expected results of tensors tell apart what has the same mean', () => {
  const all = works(256);
  const named = (name) => {
    const work = all.find((work) => work.name === name);
    const [x] = work.inputs.map((shape, k) => numbersOf(shape.reduce((a, b) => a * b, 1), k));
    return { x, expected: work.expected([x]) };
  };
  const difference = ({ value, scale, shape, weighted: signed, weightedScale }, result) => Math.max(Math.abs(mean(result) - value) / scale, Math.abs(weighted(result, shape) - signed) / weightedScale);
  const rowsOf = (x, columns, of) => Array.from({ length: x.length / columns }, (_, i) => [...of(x.subarray(i * columns, (i + 1) * columns))]).flat();
  const softmax = (row) => {
    const sum = row.reduce((sum, value) => sum + Math.exp(value), 0);
    return row.map((value) => Math.exp(value) / sum);
  };

  const { x, expected } = named('softmax');
  const columns = expected.shape[1];
  // The benchmark's own tolerance is 1e-3.
  assert.ok(difference(expected, rowsOf(x, columns, softmax)) < 1e-4);
  assert.ok(difference(expected, new Float64Array(x.length).fill(1 / columns)) > 0.01, 'equal shares');
  assert.ok(difference(expected, rowsOf(x, columns, (row) => softmax(row).reverse())) > 0.01, 'elements in another order');
  const norm = named('layer norm');
  assert.ok(difference(norm.expected, new Float64Array(x.length)) > 0.01, 'zeros');

  const n = all[0].inputs[0][0];
  const [a, b] = [0, 1].map((k) => numbersOf(n * n, k));
  const product = Array.from({ length: n * n }, (_, k) => Array.from({ length: n }, (_, l) => a[Math.floor(k / n) * n + l] * b[l * n + (k % n)]).reduce((sum, term) => sum + term, 0));
  assert.ok(difference(all[0].expected([a, b]), product) < 1e-10);
  assert.ok(difference(all[0].expected([a, b]), product.map((_, k) => product[(k % n) * n + Math.floor(k / n)])) > 0.01, 'the transposed product');
});

test('the expected convolution is that of plain loops, for each order of the axes', () => {
  const work = convolution(32);
  const expected = work.expected();
  const [x, weight] = work.constants.residua;
  const { values } = loops.convolution({ shape: x.shape, values: x.values }, { shape: weight.shape, values: weight.values }, { padding: 'same' });
  assert.ok(Math.abs(mean(values) - expected.value) < 1e-10);
  assert.ok(Math.abs(weighted(values, expected.shape) - expected.weighted) < 1e-10);
  const [last, kernel] = work.constants.tfjs;
  const [, , height, width] = x.shape;
  for (const [c, row, column] of [[0, 0, 0], [5, 3, 7], [63, 7, 1]]) assert.equal(last.values[(row * width + column) * 64 + c], x.values[(c * height + row) * width + column]);
  for (const [o, c, t] of [[0, 0, 0], [5, 9, 4], [63, 1, 8]]) assert.equal(kernel.values[(t * 64 + c) * 64 + o], weight.values[(o * 64 + c) * 9 + t]);
  assert.deepEqual([...transposed([1, 2, 3, 4, 5, 6], [2, 3])], [1, 4, 2, 5, 3, 6]);
});

test('the rate and the labels of the training step are operands of every library', () => {
  for (const library of ['residua', 'tfjs', 'jax']) {
    const [rate, labels] = mlpStep.constants[library];
    assert.deepEqual([...rate.values], [0]);
    assert.equal(labels.shape[0], 128);
  }
});

test('a predicted time grows with the size, and never decreases', () => {
  assert.equal(extrapolated(2, 100, 1000), 20);
  assert.equal(extrapolated(2, 100, 1000, 2), 200);
  assert.equal(extrapolated(2, 1000, 100), 2);
  assert.deepEqual([12.34, 4321, 600_000, Infinity].map(inWords), ['12 ms', '4.3 s', '10 min', 'for ever']);
});

test('sizes are read in ascending order, and an invalid one is named', () => {
  assert.deepEqual(readSizes(' 100, 12,1e4,12'), [12, 100, 10_000]);
  assert.deepEqual(readSizes(' '), []);
  const rule = 'Sizes are whole numbers from 4 to 10,000,000 with commas between, such as 12,100,1000:';
  for (const [text, none] of [['abc', 'abc'], ['12,-5', '-5'], ['1e99', '1e99'], ['3', '3'], ['12.5', '12.5'], ['10000001', '10000001'], ['1 2', '1 2']]) {
    assert.throws(() => readSizes(text), { name: 'RangeError', message: `${rule} "${none}" is none.` }, text);
  }
  for (const text of ['12,,5', '12,', ',']) assert.throws(() => readSizes(text), { message: `${rule} nothing stands between two commas.` }, text);
});

test('grids and spheres are the nearest to the requested size', () => {
  const grids = { 12: [3, 4], 100: [10, 10], 1000: [32, 32], 10_000: [100, 100], 100_000: [316, 316], 1_000_000: [1000, 1000], 10_000_000: [3162, 3162] };
  for (const [asked, sides] of Object.entries(grids)) assert.deepEqual(Object.values(gridNearest(Number(asked))), sides);
  assert.deepEqual([12, 100, 1000, 10_000, 100_000, 1_000_000].map(subdivisionsNearest), [0, 2, 3, 5, 7, 8]);
});

test('axes enclose their range, and tables have the columns of all rows', () => {
  assert.deepEqual(decades(12, 999), [1, 2, 3]);
  assert.deepEqual(decades(1, 1), [0, 1]);
  assert.deepEqual(columnsOf([{ b: 1, a: undefined }, { c: 2, a: 3 }], ['a']), ['a', 'b', 'c']);
});

/** Central differences of a function at x, in the directions of the unit vectors. */
function differences(value, x, step = 1e-5) {
  return Float64Array.from(x, (number, i) => {
    const moved = (by) => value(Float64Array.from(x, (other, k) => (k === i ? number + by : other)));
    return (moved(step) - moved(-step)) / (2 * step);
  });
}

// Central differences have an error of step² times third derivatives, all near 1 here, and of rounding over the step: 1e-10 and 1e-9 of
// values up to 100.
const DIFFERENCES = 1e-7;
// Sums in another order, of at most a few hundred terms.
const ROUNDING = 1e-12;

const sheet = waveSheetWithTopology(30);
const restLengths = edgeLengths(sheet.positions, sheet.topology.edges).map((length) => 1.1 * length);
const held = [0, 1, 2];
const instances = rigidInstances(sheet.positions, sheet.topology.edges, new Float64Array(sheet.topology.edges.length / 2).fill(2));
/** Displaced vertices, and unit quaternions near 1. */
const deformed = (() => {
  const x = new Float64Array(7 * sheet.size);
  sheet.positions.forEach((number, i) => (x[i] = number + 0.2 * Math.sin(7 * i)));
  for (let vertex = 0; vertex < sheet.size; vertex++) {
    const q = [1, 0.2 * Math.sin(vertex), 0.1 * Math.cos(3 * vertex), 0.3 * Math.sin(5 * vertex)];
    const length = Math.hypot(...q);
    x.set(q.map((number) => number / length), 3 * sheet.size + 4 * vertex);
  }
  return x;
})();
const springs = springMesh(30);

/** The plain springs with the interface of the other plain energies. */
const ofSprings = (call) => {
  const [plain, gradient] = [plainSprings(springs.edges, 1), new Float64Array(3 * springs.size)];
  return { gradient, [call]: (x) => plain[call](x, gradient) };
};

const ENERGIES = [
  { name: 'sum of springs', x: springs.positions, plain: () => ofSprings('sumWithGradient'), call: 'sumWithGradient', problem: () => springsProblem(springs.positions, springs.edges, 1).problem, theirs: 'evaluateSumWithGradient' },
  { name: 'cost of springs', x: springs.positions, plain: () => ofSprings('costWithGradient'), call: 'costWithGradient', problem: () => springsProblem(springs.positions, springs.edges, 1).problem, theirs: 'evaluateCostWithGradient' },
  { name: 'rigidity', x: deformed, plain: () => new PlainRigid(instances, sheet.size), call: 'costWithGradient', problem: () => rigidProblem(sheet, sheet.topology, { vertices: [], targets: [] }, new Float64Array(sheet.topology.edges.length / 2).fill(2)).problem, theirs: 'evaluateCostWithGradient' },
  { name: 'developability', x: sheet.positions, plain: () => new PlainDevelopable(sheet.topology, restLengths, sheet.size), call: 'sumWithGradient', problem: () => developableProblem(sheet, sheet.topology, restLengths).problem, theirs: 'evaluateSumWithGradient' },
];

for (const { name, x, plain, call, problem, theirs } of ENERGIES) {
  test(`the gradient of the plain loop of ${name} agrees with differences, and value and gradient with residua's`, async () => {
    const model = plain();
    const value = model[call](x);
    const gradient = model.gradient.slice();
    assert.ok(vectorDifference(gradient, differences((point) => model[call](point), x)) < DIFFERENCES);
    const reference = await onCpu(problem(), (functions) => functions[theirs](x));
    assert.ok(relativeDifference(value, reference.value) < ROUNDING, `${value} for ${reference.value}`);
    assert.ok(vectorDifference(gradient, reference.gradient) < 100 * ROUNDING, `${vectorDifference(gradient, reference.gradient)}`);
  });
}

test("the plain Jacobian of springs equals residua's, entry by entry", async () => {
  const [values, entries] = [new Float64Array(springs.residuals), new Float64Array(6 * springs.residuals)];
  plainSprings(springs.edges, 1).jacobian(springs.positions, values, entries);
  const theirs = await onCpu(springsProblem(springs.positions, springs.edges, 1).problem, (functions) => functions.evaluateJacobian(springs.positions));
  assert.ok(vectorDifference(entries, theirs.jacobian.values) < ROUNDING);
  assert.ok(vectorDifference(values, theirs.values) < ROUNDING);
});

test('linearisations and products of the Levenberg-Marquardt models agree with differences along a step', () => {
  const models = [
    { model: plainSprings(springs.edges, 1), x: springs.positions },
    { model: new PlainNet(springs.edges, new Float64Array(springs.residuals).fill(1.2), sheet.positions.map((number) => number + 1), 0.5), x: sheet.positions },
    { model: new PlainRigid(instances, sheet.size, held), x: deformed },
  ];
  for (const { model, x } of models) {
    const n = 3 * (model.blocks ?? x.length / 3);
    const gradient = new Float64Array(n), diagonal = new Float64Array(2 * n), image = new Float64Array(n);
    const cost = model.linearise(x, gradient, diagonal);
    assert.ok(relativeDifference(model.cost(x), cost) < ROUNDING);
    const step = Float64Array.from({ length: n }, (_, i) => (model.frozen?.[i] ? 0 : Math.sin(i + 1)));
    const along = (t) => {
      const out = new Float64Array(x.length);
      const moved = step.map((number) => t * number);
      if (model.retract === undefined) moved.forEach((number, i) => (out[i] = x[i] + number));
      else model.retract(x, moved, out);
      return model.cost(out);
    };
    const slope = gradient.reduce((sum, number, i) => sum + number * step[i], 0);
    assert.ok(relativeDifference((along(1e-6) - along(-1e-6)) / 2e-6, slope) < DIFFERENCES);
    // pᵀJᵀJp, from the blocks of JᵀJ where p is not 0 in one block alone.
    for (let block = 3; block < 6; block++) {
      const p = new Float64Array(n);
      p.set([1, -2, 3], 3 * block);
      const [a, b, d, c, e, f] = diagonal.subarray(6 * block, 6 * block + 6);
      const expected = a + 4 * d + 9 * f + 2 * (-2 * b + 3 * c - 6 * e);
      image.fill(0);
      const curvature = model.product(p, image);
      assert.ok(relativeDifference(curvature, expected) < ROUNDING);
      assert.ok(relativeDifference(image.reduce((sum, number, i) => sum + number * p[i], 0), expected) < ROUNDING);
    }
  }
});

test('the plain Levenberg-Marquardt takes the same steps as residua', async () => {
  // Each vertex is pulled to a place, so that all blocks of JᵀJ are regular. The starts are far from the places: steps are rejected and cut.
  const { edges, positions, size } = springs, places = Float64Array.from(positions, (number, i) => 0.1 * number + Math.sin(i));
  const { problem, vertices } = springsProblem(positions, edges, 1);
  problem.residuals('pulls', {
    inputs: { vertex: vertices.at(Uint32Array.from({ length: size }, (_, vertex) => vertex)), place: problem.data(places, 3) },
    residual: ({ vertex, place }) => vertex.sub(place).mul(0.1),
  });
  const options = { maxIterations: 12, maxLinearIterations: 100, linearTolerance: 0.1, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 };
  const plain = levenbergMarquardt(new PlainNet(edges, new Float64Array(edges.length / 2).fill(1), places, 0.1), positions, options);
  const result = await onCpu(problem, (functions) => residua.levenbergMarquardt(functions, { ...options, linearSolver: 'pcg' }));
  assert.equal(plain.iterations, result.iterations);
  assert.ok(plain.costs.some((cost, k) => k > 0 && cost === plain.costs[k - 1]), 'a step is rejected');
  // Rounding grows from step to step by the condition number of each.
  assert.ok(relativeDifference(plain.finalCost, result.finalCost) < 1e-6, `${plain.finalCost} for ${result.finalCost}`);
});

test('the plain L-BFGS finds the minimum of a convex function', async () => {
  const value = (x) => x.reduce((sum, number, i) => sum + (i + 1) * (number - i) ** 2 + (number - i) ** 4, 0);
  const evaluate = (x) => ({ value: value(x), gradient: x.map((number, i) => 2 * (i + 1) * (number - i) + 4 * (number - i) ** 3) });
  const { x, termination } = await lbfgs(evaluate, new Float64Array(8).fill(3), { costTolerance: 0, parameterTolerance: 0, gradientTolerance: 1e-9 });
  assert.equal(termination, 'gradient-tolerance');
  x.forEach((number, i) => assert.ok(Math.abs(number - i) < 1e-8));
});

test('the smallest eigenpair of a symmetric matrix is found, and v is 0 where the eigenvalue is repeated', () => {
  const out = new Float64Array(4);
  smallestEigenpair(2, -1, 0, 2, -1, 2, out);
  assert.ok(Math.abs(out[0] - (2 - Math.SQRT2)) < 1e-15);
  assert.ok(Math.abs(Math.abs(out[1]) - 0.5) < 1e-15 && Math.abs(Math.abs(out[2]) - Math.SQRT1_2) < 1e-15);
  smallestEigenpair(1, 0, 0, 1, 0, 2, out);
  assert.deepEqual([...out.subarray(1)].map(Math.abs), [0, 0, 0]);
  assert.ok(Math.abs(out[0] - 1) < 1e-15);
});
