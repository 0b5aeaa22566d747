/** Grids: every interpolation, border and dimension against its definition in double precision, in f32 and in pairs, and solves that read them. */
import { GpuContext, lbfgs, levenbergMarquardt, Problem, solveMany } from 'residua';
import { gpuAgainstCpu, onEach, onGpu } from '../define.js';
import { BORDERS, gridReference, gridSample, INTERPOLATIONS, SIZES, spread } from '../grid-reference.js';

const titleOf = (size, { interpolation, prefilter }) => `${size.length} dimensions, ${prefilter ? 'B-spline' : interpolation}`;

/** A problem whose residuals are grids with these borders at points, which are its parameters. */
function atPoints(size, kind, borders) {
  const { values, points } = gridSample(size, 1);
  const specs = borders.map((border) => ({ size, values, border, ...kind }));
  const problem = new Problem();
  const grids = specs.map((spec, k) => problem.grid(`g${k}`, spec));
  const at = problem.parameters('at', { dim: size.length, values: points.flat() });
  problem.residuals('values', { inputs: { at: at.at(points.map((_, k) => k)) }, residual: ({ at }) => grids.map((grid) => grid.at(...at)) });
  const references = specs.map(gridReference);
  const expected = points.map((point) => references.map((reference) => reference(point)[0]));
  return { problem, grids, points, expected };
}

/** Compares residuals and Jacobian with the definition. */
async function compare(check, size, kind, borders, options, values, slopes) {
  const { problem, points, expected } = atPoints(size, kind, borders);
  const functions = await check.compile(problem, options);
  const { values: found, jacobian } = await functions.evaluateJacobian();
  const dense = jacobian.toDense();
  points.forEach((point, k) => {
    borders.forEach((border, output) => {
      const row = k * borders.length + output;
      const about = `${titleOf(size, kind)}, ${border} at ${point}`;
      check.close(found[row], expected[k][output].value, values, about);
      expected[k][output].gradient.forEach((slope, axis) => check.close(dense[row * jacobian.cols + k * size.length + axis], slope, slopes, `${about}, derivative ${axis}`));
    });
  });
}

const F32 = [
  { within: 1e-5, because: 'Coordinates up to 9 are rounded to 2⁻²⁴ of themselves, at slopes of 4, and so are some 20 sums of numbers of 1.' },
  { within: 5e-5, because: 'Second derivatives are up to 30, at coordinates with an error of 5e-7, and slopes are sums of some 60 products.' },
];
const PAIRS = [
  { within: 1e-12, because: 'The same with numbers of 47 bits.' },
  { within: 1e-11, because: 'The same with numbers of 47 bits.' },
];

/** sin(x/5) cos(y/6), moved. */
const waves = (size, dx, dy) => Float64Array.from({ length: size * size }, (_, k) => Math.sin(((k % size) - dx) / 5) * Math.cos((Math.floor(k / size) - dy) / 6));

export const group = {
  id: 'grids',
  title: 'Grids',
  about: 'Tables that residuals read at computed places.',
  checks: [
    ...SIZES.flatMap((size) =>
      INTERPOLATIONS.flatMap((kind) => onEach(`values and derivatives by definition: ${titleOf(size, kind)}`, async (check) => compare(check, size, kind, BORDERS, {}, ...F32))),
    ),

    // Cubic in three dimensions has more operations than a kernel in pairs may have.
    ...SIZES.flatMap((size) =>
      INTERPOLATIONS.filter(({ interpolation }) => interpolation !== 'cubic' || size.length < 3).flatMap((kind) =>
        gpuAgainstCpu(
          `values and derivatives in pairs: ${titleOf(size, kind)}`,
          async (check) => {
            for (const border of BORDERS) await compare(check, size, kind, [border], { backend: 'gpu', precision: 'f32x2' }, ...PAIRS);
          },
          { long: size.length > 1 },
        ),
      ),
    ),

    ...onEach('a picture is registered by both solvers, and again after its numbers have changed', async (check) => {
      const size = 48;
      const problem = new Problem();
      const picture = problem.grid('picture', { size: [size, size], values: waves(size, 0, 0), prefilter: true });
      const shift = problem.parameters('shift', { dim: 2, values: [0, 0] });
      const target = waves(size, 0, 0);
      const inner = Array.from(target.keys()).filter((k) => Math.abs((k % size) - 24) < 15 && Math.abs(Math.floor(k / size) - 24) < 15);
      problem.residuals('pixels', {
        inputs: { s: shift.shared(), x: problem.data(inner.map((k) => k % size)), y: problem.data(inner.map((k) => Math.floor(k / size))), target: problem.data(inner.map((k) => target[k])) },
        residual: ({ s, x, y, target }) => picture.at(x.add(s.x), y.add(s.y)).sub(target),
      });
      const functions = await check.compile(problem);
      for (const [dx, dy] of [[1.25, -0.75], [-0.5, 2]]) {
        picture.setValues(waves(size, dx, dy));
        for (const minimise of [levenbergMarquardt, (of) => lbfgs(of, { objective: 'least-squares' })]) {
          shift.set([0, 0]);
          const { message } = await minimise(functions);
          [dx, dy].forEach((value, axis) => check.close(shift.values()[axis], value, { within: 1e-3, because: 'The spline is within 1e-4 of waves of 31 places, and a gradient at rest in f32 leaves as much.' }, `${message} Coordinate ${axis}`));
        }
      }
    }),

    ...onEach('grids of parameters by definition: values, slopes and derivatives by their numbers', async (check) => {
      for (const [size, interpolation, border] of [[[5, 4], 'cubic', 'mirror'], [[5, 4], 'b-spline', 'clamp'], [[3, 4, 5], 'linear', 'repeat']]) {
        const { values, points } = gridSample(size, 1);
        const problem = new Problem();
        const grid = problem.grid('g', { size, values: problem.parameters('numbers', { dim: 1, values }), interpolation, border });
        const along = size.map((_, axis) => Number(axis === 0));
        problem.residuals('values', { inputs: { g: grid.at(points.flat()) }, residual: ({ g }) => [g.value, g.derivative(...along)] });
        const others = values.map((_, k) => Math.cos(2.3 * k));
        const [expected, slopes] = [values, others].map((numbers) => points.flatMap((point) => {
          const [{ value, gradient }] = gridReference({ size, values: numbers, interpolation, border })(point);
          return [value, gradient[0]];
        }));
        const functions = await check.compile(problem);
        const { values: found, jacobian } = await functions.evaluateJacobian();
        const dense = jacobian.toDense();
        expected.forEach((value, row) => {
          const about = `${interpolation}, ${border}, residual ${row}`;
          check.close(found[row], value, F32[0], about);
          check.close(others.reduce((sum, other, k) => sum + other * dense[row * jacobian.cols + k], 0), slopes[row], F32[0], `${about} of other numbers`);
        });
      }
    }),

    ...onEach('a spline surface goes through scattered points', async (check) => {
      const size = 10;
      const wave = (u, v) => Math.sin(u / 2) * Math.cos(v / 3);
      const points = Array.from({ length: 400 }, (_, k) => [1 + (size - 3) * spread(k), 1 + (size - 3) * spread(3 * k + 11)]);
      const problem = new Problem();
      const coefficients = problem.parameters('coefficients', { dim: 1, values: new Float64Array(size * size) });
      const surface = problem.grid('surface', { size: [size, size], values: coefficients, interpolation: 'b-spline' });
      problem.residuals('points', { inputs: { s: surface.at(points.flat()), z: problem.data(points.map(([u, v]) => wave(u, v))) }, residual: ({ s, z }) => s.value.sub(z) });
      const functions = await check.compile(problem);
      const { message } = await levenbergMarquardt(functions);
      surface.evaluate(points.flat()).forEach((value, k) => {
        check.close(value, wave(...points[k]), { within: 2e-3, because: 'A spline of cells of 1 follows waves of 12 and 19 places to the fourth power of half a radian, over 384.' }, message);
      });
    }),

    ...onGpu('numbers of grids come from a GPUBuffer, with their borders, and stay on the device', async (check) => {
      for (const precision of ['f32', 'f32x2']) {
        const made = atPoints([5, 4], { interpolation: 'linear' }, BORDERS);
        const functions = await check.compile(made.problem, { precision });
        const { device } = await GpuContext.default();
        const numbers = Float32Array.from({ length: 20 }, (_, k) => Math.cos(1.3 * k));
        const source = device.createBuffer({ size: 80, usage: GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST });
        check.defer(() => source.destroy());
        device.queue.writeBuffer(source, 0, numbers);
        // Numbers of the page that no call takes are replaced too.
        made.grids[1].setValues(numbers.map((value) => -value));
        for (const grid of made.grids) grid.setValues(source);
        const compare = async (values, what) => {
          const found = await functions.evaluate();
          made.points.forEach((point, k) => {
            BORDERS.forEach((border, output) => {
              const [{ value }] = gridReference({ size: [5, 4], values, border, interpolation: 'linear' })(point);
              check.close(found[k * BORDERS.length + output], value, F32[0], `${what}, ${border} at ${point}, ${precision}`);
            });
          });
        };
        await compare(numbers, 'copied');
        // Differences are in double precision on the host, which reads the numbers.
        const { maxRelativeError } = await functions.checkGradients();
        check.ok(maxRelativeError < 1e-2, `gradients differ by ${maxRelativeError}`);
        const failure = await check.failureInWords(check.compile(made.problem));
        check.ok(failure.startsWith('invalid-argument: compile: problem: got the grid "g0", whose numbers setValues had from a GPUBuffer'), failure);
        const doubled = numbers.map((value) => 2 * value);
        for (const grid of made.grids) device.queue.writeBuffer(grid.valuesBuffer(), 0, doubled);
        await compare(doubled, 'written');
        for (const grid of made.grids) grid.setValues(numbers);
        await compare(numbers, 'set by the page');
      }
    }),

    ...onEach('pictures of the page set a grid', async (check) => {
      const image = new ImageData(4, 3);
      image.data.forEach((_, k) => (image.data[k] = k % 4 === 3 ? 255 : (37 * k) % 256));
      const canvas = new OffscreenCanvas(4, 3);
      canvas.getContext('2d').putImageData(image, 0, 0);
      const bitmap = await createImageBitmap(image);
      check.defer(() => bitmap.close());
      const problem = new Problem();
      const grid = problem.grid('picture', { size: [4, 3], channels: 3, values: new Float64Array(36), interpolation: 'nearest' });
      const at = problem.parameters('at', { dim: 2, values: Array.from({ length: 12 }, (_, k) => [k % 4, Math.floor(k / 4)]).flat() });
      problem.residuals('pixels', { inputs: { at: at.at(Array.from({ length: 12 }, (_, k) => k)) }, residual: ({ at }) => grid.at(at.x, at.y) });
      const functions = await check.compile(problem);
      const expected = Array.from({ length: 36 }, (_, k) => image.data[4 * Math.floor(k / 3) + (k % 3)] / 255);
      for (const source of [image, canvas, bitmap]) {
        grid.setValues(new Float64Array(36));
        grid.setValues(source);
        const found = await functions.evaluate();
        expected.forEach((value, k) => check.close(found[k], value, { within: 1e-7, because: 'Bytes over 255, rounded to f32.' }, `${source.constructor.name}, number ${k}`));
      }
      const failure = await check.failureInWords(() => grid.setValues(new OffscreenCanvas(3, 4)));
      check.equal(failure, 'invalid-argument: grid "picture".setValues: values: got a picture of 3 × 4 pixels; takes one of 4 × 3 places');
    }),

    ...onEach('many problems share a grid', async (check) => {
      const values = Array.from({ length: 60 }, (_, k) => Math.sin(0.4 * k) + 0.02 * k);
      const reference = gridReference({ size: [60], values });
      const times = Array.from({ length: 30 }, (_, k) => k);
      const truth = Array.from({ length: 40 }, (_, k) => [4 + (k % 7) / 3, 0.5 + (k % 5) / 2]);
      const samples = truth.map(([delay, height]) => times.map((t) => height * reference([t + delay])[0].value));
      const problem = new Problem();
      const curve = problem.grid('curve', { size: [60], values });
      const p = problem.parameters('p', { dim: 2, values: [5, 1] });
      problem.residuals('samples', { inputs: { p: p.shared(), t: problem.data(times), y: problem.data(samples[0]) }, residual: ({ p, t, y }) => curve.at(t.add(p.x)).mul(p.y).sub(y) });
      const { x } = await solveMany(problem, { count: truth.length, data: { samples: { y: samples.flat() } } }, { backend: check.backend });
      truth.flat().forEach((value, k) => check.close(x[k], value, { within: 1e-4, because: 'Samples of 3 in f32 at slopes of 0.4, and 30 of them.' }, `problem ${Math.floor(k / 2)}`));
    }),
  ],
};
