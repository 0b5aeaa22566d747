// Grids on the CPU in the built package: values and derivatives of every interpolation, border and dimension against their definition, registration, changes between
// solves, and what is refused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from '../www/residua.mjs';
import { BORDERS, gridReference, gridSample, INTERPOLATIONS as OF_PAGES, SIZES } from '../../www/checks/grid-reference.js';

const { covariance, GpuCompiledFunctions, levenbergMarquardt, newton, pictureGrid, Problem, solve, solveMany, V } = await import('residua');

/** With the spline of given coefficients, which does not go through its numbers. */
const INTERPOLATIONS = [...OF_PAGES, { interpolation: 'b-spline' }];

/** A problem whose residuals are a grid at points, which are its parameters. */
function atPoints(spec, points) {
  const problem = new Problem();
  const dim = spec.size.length;
  const at = problem.parameters('at', { dim, values: points.flat() });
  const grid = problem.grid('g', spec);
  problem.residuals('values', { inputs: { at: at.at(points.map((_, k) => k)) }, residual: ({ at }) => grid.at(...at) });
  return { problem, grid, at };
}

const near = (found, expected, tolerance, what) => assert.ok(Math.abs(found - expected) <= tolerance, `${what}: ${found}, not ${expected}`);
const named = (spec) => JSON.stringify({ ...spec, values: undefined });

for (const size of SIZES) {
  for (const kind of INTERPOLATIONS) {
    test(`values and derivatives are those of the definition: ${size.length} dimensions, ${kind.interpolation}${kind.prefilter ? ' B-spline' : ''}`, async () => {
      for (const border of BORDERS) {
        const channels = size.length === 2 ? 3 : 1;
        const { values, points } = gridSample(size, channels);
        const spec = { size, values, channels, border, ...kind };
        const expected = points.map(gridReference(spec));
        const dim = size.length;
        await onCpu(atPoints(spec, points).problem, async (functions) => {
          const found = await functions.evaluate();
          const { jacobian } = await functions.evaluateJacobian();
          const dense = jacobian.toDense();
          const columns = jacobian.cols;
          points.forEach((_, k) => {
            for (let channel = 0; channel < channels; channel++) {
              const row = k * channels + channel;
              const { value, gradient } = expected[k][channel];
              // Sums of up to 64 products of numbers of 1, with factors of up to 3 in derivatives.
              near(found[row], value, 1e-13, `${named(spec)} at ${points[k]}`);
              gradient.forEach((slope, axis) => near(dense[row * columns + k * dim + axis], slope, 1e-12, `${named(spec)} at ${points[k]}, derivative ${axis}`));
            }
          });
          const hessian = (await functions.evaluateHessian()).toDense();
          points.forEach((_, k) => {
            for (let row = 0; row < dim; row++) {
              for (let column = 0; column < dim; column++) {
                const bend = expected[k].reduce((sum, { hessian: of }) => sum + of[row][column], 0);
                near(hessian[(k * dim + row) * columns + k * dim + column], bend, 1e-11, `${named(spec)} at ${points[k]}, second derivative ${row}, ${column}`);
              }
            }
          });
          // Differences lose 6e-11 of a change of 1 in a place, and the least slope is a thousandth, or less with smooth kernels.
          const slopes = expected.flatMap((of) => of.flatMap(({ gradient }) => gradient.map(Math.abs))).filter((slope) => slope > 0);
          const least = Math.min(1e-3, ...slopes);
          const { maxRelativeError } = await functions.checkGradients();
          assert.ok(maxRelativeError < 2e-9 / least, `${named(spec)}: ${maxRelativeError} with slopes from ${least}`);
        });
      }
    });
  }
}

test('grids of one number along an axis are constant along it, or end there', async () => {
  for (const kind of INTERPOLATIONS) {
    for (const border of BORDERS) {
      for (const [size, values] of [[[1], [2.5]], [[2], [1, 3]], [[1, 3], [1, 2, -1]], [[2, 1], [1, 4]]]) {
        const points = [-2.4, -0.3, 0.2, 0.8, 1.3, 2.6].map((u) => size.map((_, axis) => u + 0.17 * axis));
        const spec = { size, values, border, ...kind };
        const expected = points.map(gridReference(spec));
        await onCpu(atPoints(spec, points).problem, async (functions) => {
          (await functions.evaluate()).forEach((value, k) => near(value, expected[k][0].value, 1e-13, `${named(spec)} at ${points[k]}`));
        });
      }
    }
  }
});

test('a grid goes through its numbers at whole coordinates, far outside too, with the derivatives from above where they jump', async () => {
  const values = [3, 1, 4, 1, 5, 9];
  const at = (border, u) => {
    if (u >= 0 && u < 6) return values[u];
    if (border === 'clamp') return values[u < 0 ? 0 : 5];
    if (border === 'repeat') return values[((u % 6) + 6) % 6];
    const within = ((u % 10) + 10) % 10;
    return border === 'mirror' ? values[within < 6 ? within : 10 - within] : border;
  };
  const whole = [-1001, -7, -3, 0, 1, 2, 5, 6, 8, 1000];
  for (const kind of OF_PAGES) {
    for (const border of BORDERS) {
      const points = kind.prefilter && typeof border === 'number' ? whole.filter((u) => u !== -1 && u !== 6) : whole;
      await onCpu(atPoints({ size: [6], values, border, ...kind }, points.map((u) => [u])).problem, async (functions) => {
        // 1,000 periods of 10 are rounded to 2⁻⁴³.
        (await functions.evaluate()).forEach((value, k) => near(value, at(border, points[k]), 1e-11, `${named(kind)}, ${border} at ${points[k]}`));
        if (kind.interpolation !== 'linear' || border === 'mirror') return;
        const { gradient } = await functions.evaluateSumWithGradient();
        points.forEach((u, k) => near(gradient[k], at(border, u + 1) - at(border, u), 1e-10, `slope above ${u}`));
      });
    }
  }
});

test('coordinates that are NaN are said, and large ones are no error', async () => {
  for (const kind of INTERPOLATIONS) {
    for (const border of BORDERS) {
      const problem = new Problem();
      const u = problem.parameters('u', { dim: 1, values: [2] });
      const grid = problem.grid('g', { size: [4, 4], values: Array.from({ length: 16 }, (_, k) => k), border, ...kind });
      problem.residuals('values', { inputs: { u: u.shared(), d: problem.data([1, -1, 1]) }, residual: ({ u, d }) => grid.at(u, u.mul(d).sqrt()).sub(1) });
      const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
      assert.deepEqual([...(await functions.evaluate())].map(Number.isNaN), [false, true, false], `${named(kind)}, ${border}`);
      await assert.rejects(levenbergMarquardt(functions), (error) => error.code === 'non-finite' && /block 'values', instance 1/.test(error.message));
      functions.dispose();
      const far = atPoints({ size: [4], values: [1, 2, 3, 4], border, ...kind }, [[1e300], [-1e300], [1e18]]);
      await onCpu(far.problem, async (functions) => (await functions.evaluate()).forEach((value) => assert.ok(value >= -6 && value <= 9, `${named(kind)}, ${border}: ${value}`)));
    }
  }
});

/** A smooth picture of blobs. */
const blobs = Array.from({ length: 24 }, (_, k) => ({ x: 20 + (k * 67) % 210, y: 25 + (k * 101) % 200, width: 9 + (k * 5) % 17, height: Math.cos(k) }));
const picture = (x, y) => blobs.reduce((sum, blob) => sum + blob.height * Math.exp(-((x - blob.x) ** 2 + (y - blob.y) ** 2) / (2 * blob.width ** 2)), 0.4);

/** Residuals gain · grid(A x + b) + offset − target, over a part of the grid's places. */
function registration(spec, target, places) {
  const problem = new Problem();
  const grid = problem.grid('picture', spec);
  const affine = problem.parameters('affine', { dim: 6, values: [1, 0, 0, 0, 1, 0] });
  const tone = problem.parameters('tone', { dim: 2, values: [1, 0] });
  problem.residuals('pixels', {
    inputs: { a: affine.shared(), tone: tone.shared(), x: problem.data(places.map(([x]) => x)), y: problem.data(places.map(([, y]) => y)), target: problem.data(target) },
    residual: ({ a, tone, x, y, target }) => {
      const [u, v] = [a[0].mul(x).add(a[1].mul(y)).add(a[2]), a[3].mul(x).add(a[4].mul(y)).add(a[5])];
      return grid.at(u, v).mul(tone.x).add(tone.y).sub(target);
    },
  });
  return { problem, grid, affine, tone };
}

const TRUTH = [1.02, -0.03, 1.7, 0.02, 0.98, -2.1];
const TONE = [1.15, -0.08];
const PLACES = Array.from({ length: 216 * 216 }, (_, k) => [20 + (k % 216), 20 + Math.floor(k / 216)]);
const there = ([x, y], a = TRUTH) => [a[0] * x + a[1] * y + a[2], a[3] * x + a[4] * y + a[5]];

test('registration of a picture of 256 × 256 recovers the affine map, gain and offset', async () => {
  const values = Float64Array.from({ length: 256 * 256 }, (_, k) => picture(k % 256, Math.floor(k / 256)));
  for (const prefilter of [false, true]) {
    const spec = { size: [256, 256], values, prefilter };
    // A target that is the grid itself at the mapped places, by its definition.
    const reference = gridReference({ ...spec, prefilter: false });
    const target = PLACES.map((place) => TONE[0] * (prefilter ? picture(...there(place)) : reference(there(place))[0].value) + TONE[1]);
    const { problem } = registration(spec, target, PLACES);
    const { x, success, message } = await solve(problem, { backend: 'cpu', gradientTolerance: 1e-12 });
    assert.ok(success, message);
    // The spline is within 1e-4 of the smooth picture, and an error of a pixel by that over a slope of 0.1 is averaged over 46,656 pixels.
    [...TRUTH, ...TONE].forEach((value, k) => near(x[k], value, prefilter ? 1e-6 : 1e-9, `parameter ${k}, prefilter ${prefilter}`));
  }
});

test('numbers change between solves without a new compile, and compiled problems have those of their grids', async () => {
  const places = PLACES.filter((_, k) => k % 37 === 0);
  const values = (shift) => Float64Array.from({ length: 256 * 256 }, (_, k) => picture((k % 256) + shift, Math.floor(k / 256)));
  const target = places.map(([x, y]) => picture(x, y));
  const { problem, grid, affine, tone } = registration({ size: [256, 256], values: values(0), prefilter: true }, target, places);
  tone.setConstant([0]);
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  const kernels = functions.kernels().length;
  for (const shift of [0, 1.5, -2.25]) {
    grid.setValues(values(shift));
    affine.set([1, 0, 0, 0, 1, 0]);
    await levenbergMarquardt(functions, { gradientTolerance: 1e-13 });
    near(affine.values()[2], -shift, 2e-4, `shift ${shift}`);
  }
  assert.equal(functions.kernels().length, kernels);
  const other = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  assert.deepEqual(await other.evaluate(), await functions.evaluate());
  other.dispose();
  functions.dispose();
});

test('solveMany, covariance and Newton read grids', async () => {
  const values = Array.from({ length: 50 }, (_, k) => Math.sin(0.4 * k) + 0.02 * k);
  const reference = gridReference({ size: [50], values });
  const times = Array.from({ length: 30 }, (_, k) => k);
  const make = (delay, height, y) => {
    const problem = new Problem();
    const grid = problem.grid('curve', { size: [50], values });
    const p = problem.parameters('p', { dim: 2, values: [delay, height] });
    problem.residuals('samples', { inputs: { p: p.shared(), t: problem.data(times), y: problem.data(y) }, residual: ({ p, t, y }) => grid.at(t.add(p.x)).mul(p.y).sub(y) });
    return problem;
  };
  const truth = [[4.3, 1.2], [6.1, 0.7], [5.4, 2.5]];
  const samples = truth.map(([delay, height]) => times.map((t) => height * reference([t + delay])[0].value));
  const many = await solveMany(make(5, 1, samples[0]), { count: 3, data: { samples: { y: samples.flat() } } }, { backend: 'cpu' });
  truth.flat().forEach((value, k) => near(many.x[k], value, 1e-9, `problem ${Math.floor(k / 2)}`));
  const differing = await solveMany(make(5, 1, samples[0]), { count: 3, data: { samples: { t: truth.map((_, k) => times.slice(0, 20 + k)), y: samples.map((own, k) => own.slice(0, 20 + k)) } } }, { backend: 'cpu' });
  truth.flat().forEach((value, k) => near(differing.x[k], value, 1e-9, `problem ${Math.floor(k / 2)} of differing lengths`));

  const noisy = samples[0].map((value, k) => value + 0.01 * Math.sin(37 * k));
  const functions = await GpuCompiledFunctions.compile(make(5, 1, noisy), { backend: 'cpu' });
  const { x } = await levenbergMarquardt(functions, { gradientTolerance: 1e-13 });
  const rows = times.map((t) => [x[1] * reference([t + x[0]])[0].gradient[0], reference([t + x[0]])[0].value]);
  const [a, b, c] = [[0, 0], [0, 1], [1, 1]].map(([i, j]) => rows.reduce((sum, row) => sum + row[i] * row[j], 0));
  const cost = times.reduce((sum, t, k) => sum + (x[1] * reference([t + x[0]])[0].value - noisy[k]) ** 2, 0);
  const variance = (cost / 28) * (c / (a * c - b * b));
  near((await covariance(functions)).standardDeviations[0] / Math.sqrt(variance), 1, 1e-9, 'standard error');
  functions.dispose();

  // The lowest point of a field: a sum, not a least-squares problem.
  const field = new Problem();
  const at = field.parameters('at', { dim: 2, values: [10, 14] });
  const bowl = field.grid('bowl', { size: [30, 30], values: Array.from({ length: 900 }, (_, k) => ((k % 30) - 12.3) ** 2 + 0.5 * (Math.floor(k / 30) - 16.8) ** 2), prefilter: true });
  field.residuals('energy', { inputs: { at: at.shared() }, residual: ({ at }) => bowl.at(at.x, at.y) });
  const lowest = await onCpu(field, (functions) => newton(functions));
  // The slope of 0 at the edges is 0.27¹² of 24 there.
  [12.3, 16.8].forEach((value, k) => near(lowest.x[k], value, 1e-4, 'lowest point'));
});

test('constraints read grids', async () => {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [6, 4] });
  const distance = problem.grid('distance', { size: [21, 21], values: Array.from({ length: 441 }, (_, k) => Math.hypot((k % 21) - 10, Math.floor(k / 21) - 10) ** 2), interpolation: 'cubic' });
  problem.residuals('near', { inputs: { p: p.shared() }, residual: ({ p }) => [p.x.sub(2), p.y.sub(10)] });
  problem.equalities('on the circle', { inputs: { p: p.shared() }, constraint: ({ p }) => distance.at(p.x, p.y).sub(25) });
  const { x, success } = await solve(problem, { backend: 'cpu' });
  assert.ok(success);
  // Catmull-Rom reproduces squares.
  [5, 10].forEach((value, k) => near(x[k], value, 1e-6, 'nearest point of a circle'));
});

const refused = (message, code = 'invalid-argument') => (error) => (error.code === code && error.message.includes(message)) || assert.fail(`${error.code}: ${error.message}`);

test('wrong arguments are refused by name', () => {
  const grid = (spec, name = 'g') => () => new Problem().grid(name, spec);
  const good = { size: [2, 2], values: [1, 2, 3, 4] };
  for (const [make, message] of [
    [grid(good, ''), 'grid: name: got ""'],
    [grid(undefined), 'grid "g": spec: got undefined; takes an object'],
    [grid({ ...good, boarder: 'clamp' }), "got the unknown option \"boarder\"; did you mean 'border'?"],
    [grid({ ...good, size: 4 }), 'grid "g": size: got 4; takes an array of one, two or three whole numbers'],
    [grid({ ...good, size: [] }), 'grid "g": size: got an array of 0'],
    [grid({ ...good, size: [1, 1, 2, 2] }), 'grid "g": size: got an array of 4'],
    [grid({ ...good, size: [0, 2] }), 'grid "g": size[0]: got 0; takes a whole number of at least 1'],
    [grid({ ...good, size: [2, 2.5] }), 'grid "g": size[1]: got 2.5'],
    [grid({ ...good, size: [2, NaN] }), 'grid "g": size[1]: got NaN'],
    [grid({ ...good, size: [2, '2'] }), 'grid "g": size[1]: got "2"'],
    [grid({ ...good, channels: 0 }), 'grid "g": channels: got 0'],
    [grid({ ...good, channels: 2 }), 'grid "g": values: got 4 numbers; takes 8: 2 × 2 places of 2 channels'],
    [grid({ ...good, values: [1, 2, 3] }), 'grid "g": values: got 3 numbers; takes 4: 2 × 2 places'],
    [grid({ ...good, values: [1, 2, NaN, 4] }), 'grid "g": values[2]: got NaN; takes a finite number'],
    [grid({ ...good, values: [1, 2, 3, Infinity] }), 'grid "g": values[3]: got Infinity'],
    [grid({ ...good, values: undefined }), 'grid "g": values: got undefined; takes an array of finite numbers'],
    [grid({ ...good, interpolation: 'bicubic' }), "grid \"g\": interpolation: got \"bicubic\"; takes 'nearest', 'linear', 'cubic', 'b-spline'"],
    [grid({ ...good, border: 'wrap' }), "grid \"g\": border: got \"wrap\"; takes 'clamp', 'mirror', 'repeat' or a finite number"],
    [grid({ ...good, border: NaN }), 'grid "g": border: got NaN'],
    [grid({ ...good, border: null }), 'grid "g": border: got null'],
    [grid({ ...good, prefilter: 1 }), 'grid "g": prefilter: got 1; takes true or false'],
    [grid({ ...good, prefilter: true, interpolation: 'linear' }), "grid \"g\": prefilter: got true with interpolation 'linear'; takes true with 'cubic' alone"],
  ]) {
    assert.throws(make, refused(message));
  }
  assert.throws(grid({ size: [256, 256, 257], values: [] }), refused('takes at most 16777216 in a grid', 'limit-exceeded'));
  const problem = new Problem();
  const field = problem.grid('g', good);
  assert.throws(() => problem.grid('g', good), refused('grid: name: got "g" a second time'));
  assert.throws(() => field.setValues([1, 2]), refused('grid "g".setValues: values: got 2 numbers; takes 4'));
  assert.throws(() => field.setValues([1, 2, 3, NaN]), refused('grid "g".setValues: values[3]: got NaN'));
});

test('calls outside a function of the problem, and of wrong coordinates, are refused', async () => {
  const problem = new Problem();
  const field = problem.grid('g', { size: [2, 2], values: [1, 2, 3, 4] });
  const x = problem.parameters('x', { dim: 2, values: [0, 0] });
  const recorded = (residual) => () => problem.residuals('r', { inputs: { x: x.shared() }, residual });
  assert.throws(() => field.at(0, 0), refused('grid "g".at: got a call outside a residual or constraint function of a problem'));
  assert.throws(recorded(({ x }) => field.at(x.x)), refused('grid "g".at: got 1 coordinates; takes 2: one for each axis'));
  assert.throws(recorded(({ x }) => field.at(x.x, x.y, 0)), refused('grid "g".at: got 3 coordinates; takes 2'));
  assert.throws(recorded(({ x }) => field.at(x.x, NaN)), refused('grid "g".at: v: got NaN; takes a Value or a number'));
  assert.throws(recorded(({ x }) => field.at(x, x.y)), refused('grid "g".at: u: got a Vec2'));
  const other = new Problem();
  const y = other.parameters('y', { dim: 2, values: [0, 0] });
  const foreign = () => other.residuals('r', { inputs: { y: y.shared() }, residual: ({ y }) => field.at(y.x, y.y) });
  assert.throws(foreign, refused('grid "g".at: got a call in a function of another problem'));
  assert.throws(recorded(({ x }) => [x.x, field.at(0.5, 0.5).mul(2).data]), refused('data: got a read of what a grid gives; takes expressions without a grid'));
  // Numbers are coordinates too.
  problem.residuals('fixed', { inputs: { x: x.shared() }, residual: ({ x }) => field.at(0.5, 0.5).add(x.x) });
  await onCpu(problem, async (functions) => near((await functions.evaluate())[0], 2.5, 1e-15, 'the middle of four numbers'));
});

test('pictures become grids', async () => {
  const data = Uint8ClampedArray.from([255, 0, 0, 255, 0, 255, 0, 128, 0, 0, 255, 0, 51, 51, 51, 255, 0, 0, 0, 0, 255, 255, 255, 255]);
  const grey = pictureGrid({ width: 3, height: 2, data });
  assert.deepEqual([grey.size, grey.channels], [[3, 2], 1]);
  [0.2126, 0.7152, 0.0722, 0.2, 0, 1].forEach((value, k) => near(grey.values[k], value, 1e-15, `pixel ${k}`));
  const all = pictureGrid({ width: 3, height: 2, data }, 4);
  assert.deepEqual([all.channels, all.values.length, all.values[7]], [4, 24, 128 / 255]);
  assert.deepEqual([...pictureGrid({ width: 1, height: 1, data: [0.25, 0.5, 2, 1] }, 3).values], [0.25, 0.5, 2]);
  new Problem().grid('picture', { ...all, border: 'repeat' });
  assert.throws(() => pictureGrid({ width: 3, height: 2, data: data.subarray(4) }), refused('pictureGrid: picture.data: got 20 numbers; takes 24'));
  const problem = new Problem();
  const field = problem.grid('g', { size: [3, 2], channels: 3, values: new Float64Array(18), interpolation: 'nearest' });
  field.setValues({ width: 3, height: 2, data });
  const x = problem.parameters('x', { dim: 1, values: [0] });
  problem.residuals('r', { inputs: { x: x.shared() }, residual: ({ x }) => [...field.at(0, 0), ...field.at(x, 1)] });
  await onCpu(problem, async (functions) => assert.deepEqual([...(await functions.evaluate())], [1, 0, 0, 0.2, 0.2, 0.2]));
  const of = (values) => () => field.setValues(values);
  assert.throws(of({ width: 2, height: 3, data }), refused('grid "g".setValues: values: got a picture of 2 × 3 pixels; takes one of 3 × 2 places'));
  assert.throws(of({ width: 3, height: 2, data: data.subarray(4) }), refused('grid "g".setValues: values.data: got 20 numbers; takes 24'));
  const pair = problem.grid('pair', { size: [3, 2], channels: 2, values: new Float64Array(12) });
  assert.throws(() => pair.setValues({ width: 3, height: 2, data }), refused('grid "pair".setValues: values: got a picture for 2 channels; takes a picture for 1, 3 or 4'));
  assert.throws(() => pictureGrid(null), refused('pictureGrid: picture: got null'));
  assert.throws(() => pictureGrid({ width: 3.5, height: 2, data }), refused('pictureGrid: picture.width: got 3.5'));
  assert.throws(() => pictureGrid({ width: 3, height: 2, data }, 2), refused('pictureGrid: channels: got 2; takes 1, 3 or 4'));
});

test('a buffer of the GPU is refused where its numbers cannot stay there', async () => {
  const problem = new Problem();
  const field = problem.grid('g', { size: [4], values: [1, 2, 3, 4] });
  const smooth = problem.grid('smooth', { size: [4], values: [1, 2, 3, 4], prefilter: true });
  const buffer = (size, usage) => ({ size, usage, mapAsync() {} });
  assert.equal(field.valuesBuffer(), null);
  assert.throws(() => field.setValues(buffer(16, 4)), refused('grid "g".setValues: values: got a GPUBuffer without compiled functions'));
  const x = problem.parameters('x', { dim: 1, values: [0.5] });
  problem.residuals('r', { inputs: { x: x.shared() }, residual: ({ x }) => field.at(x) });
  await onCpu(problem, async (functions) => {
    assert.equal(field.valuesBuffer(), null);
    assert.throws(() => field.setValues(buffer(16, 4)), refused('got a GPUBuffer with functions on the CPU or in a worker'));
    assert.throws(() => field.setValues(buffer(12, 4)), refused('got a GPUBuffer of 12 bytes; takes 16 or more: 4 places'));
    assert.throws(() => field.setValues(buffer(16, 8)), refused('got a GPUBuffer of usage 8; takes usage COPY_SRC'));
    assert.throws(() => smooth.setValues(buffer(16, 4)), refused('got a grid with prefilter, whose spline the page computes'));
    assert.throws(() => smooth.valuesBuffer(), refused('grid "smooth".valuesBuffer: got a grid with prefilter'));
    // Catmull-Rom with the first number twice.
    near((await functions.evaluate())[0], 1.4375, 1e-14, 'nothing has changed');
  });
});

/** A tank whose level x falls by a share and rises with a measured inflow, which a loop reads at its counter and at places that the level moves. */
function tank({ unrolled, numbers = 3, steps = 40, count = 1 }) {
  const problem = new Problem();
  const inflow = problem.grid('inflow', { size: [steps], values: Array.from({ length: steps }, (_, k) => Math.sin(0.3 * k) + 0.02 * k), interpolation: 'linear' });
  const valve = problem.grid('valve', { size: [6], values: [0.9, 0.8, 0.4, 0.5, 0.2, 0.1], prefilter: true });
  const p = problem.parameters('p', { dim: numbers, values: Array.from({ length: numbers }, (_, k) => 0.3 + 0.1 * Math.cos(k)) });
  problem.residuals('level', {
    inputs: { p: p.shared(), count: problem.data(Array.from({ length: count }, (_, k) => steps - 3 * k)), seen: problem.data(Array(count).fill(0.5)) },
    residual: ({ p, count, seen }) => {
      const share = Array.from({ length: numbers }, (_, k) => p.at(k)).reduce((sum, number, k) => sum.add(number.mul(k === 0 ? 1 : 0.1 / numbers)));
      const step = ([level], k) => [level.sub(valve.at(level).mul(share).mul(0.2)).add(inflow.at(k).mul(0.1)).add(p.at(1).mul(0.01))];
      let state = [p.at(0)];
      if (unrolled) for (let k = 0; k < steps; k++) state = step(state, k);
      else state = V.loop(count, state, step);
      return state[0].sub(seen);
    },
  });
  return { problem, inflow };
}

test('bodies of loops read grids at their counter and state, with the derivatives of their steps, forward and backward', async () => {
  for (const numbers of [3, 60]) {
    const of = ({ problem }) => GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
    const [loop, steps] = [await of(tank({ numbers })), await of(tank({ numbers, unrolled: true }))];
    const [[a], [b]] = [await loop.evaluate(), await steps.evaluate()];
    near(a, b, 1e-12, 'the value');
    const [[ofLoop], [ofSteps]] = [await loop.evaluateJacobian(), await steps.evaluateJacobian()].map(({ jacobian }) => [jacobian.toDense()]);
    ofSteps.forEach((entry, j) => near(ofLoop[j], entry, 1e-10, `the derivative by ${j}`));
    const gradients = [await loop.evaluateCostWithGradient(), await steps.evaluateCostWithGradient()].map(({ gradient }) => gradient);
    gradients[1].forEach((entry, j) => near(gradients[0][j], entry, 1e-10, `the gradient by ${j}`));
    // Second derivatives by each of two numbers are states of their own.
    const hessians = numbers > 3 ? [[], []] : [await loop.evaluateHessian(undefined, { objective: 'least-squares' }), await steps.evaluateHessian(undefined, { objective: 'least-squares' })].map((hessian) => hessian.toDense());
    hessians[1].forEach((entry, k) => near(hessians[0][k], entry, 1e-9, `the second derivative ${k}`));
    loop.dispose();
    steps.dispose();
  }
});

test('a loop reads the numbers that a grid is set to, and many problems have counts of their own', async () => {
  const { problem, inflow } = tank({});
  await onCpu(problem, async (functions) => {
    const [before] = await functions.evaluate();
    inflow.setValues(Array.from({ length: 40 }, () => 0));
    const [after] = await functions.evaluate();
    assert.ok(Math.abs(after - before) > 0.1, `${before}, ${after}`);
  });
  const { problem: template } = tank({});
  const { converged, x } = await solveMany(template, { count: 3, data: { level: { count: [40, 37, 34] } } }, { backend: 'cpu' });
  assert.equal(converged, 3);
  for (let k = 0; k < 3; k++) {
    const { problem: single } = tank({ count: 3 });
    await onCpu(single, async (functions) => {
      const values = await functions.evaluate(x.slice(3 * k, 3 * k + 3));
      near(values[k], 0, 1e-7, `problem ${k}`);
    });
  }
});
