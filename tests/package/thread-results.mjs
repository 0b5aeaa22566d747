// Results on a number of threads, as a JSON object of hashes of their bits. Run in a project that has the package: `node thread-results.mjs THREADS`.
import { createHash } from 'node:crypto';
import { GpuCompiledFunctions, init, levenbergMarquardt, Problem, solveMany } from 'residua';
import * as tensor from 'residua/tensor';

const threads = Number(process.argv[2]);
const reports = [await init({ threads }), await tensor.init({ threads })];
const hash = ({ buffer, byteOffset, byteLength }) => createHash('sha256').update(new Uint8Array(buffer, byteOffset, byteLength)).digest('hex');
const wave = (length, step) => Float64Array.from({ length }, (_, i) => Math.sin(step * (i + 1)));
const results = {};

const device = await tensor.Device.create({ backend: 'cpu' });
const matrix = (rows, columns, step) => device.tensor(Float32Array.from(wave(rows * columns, step)), [rows, columns]);
const kernels = {
  // More than a block of rows, of columns and of the depth, and rests of all.
  product: () => matrix(1201, 401, 0.7).matmul(matrix(401, 523, 0.3)),
  'few rows': () => matrix(7, 400, 0.7).matmul(matrix(301, 400, 0.3).transpose(0, 1)),
  'one row': () => matrix(1, 300, 0.7).matmul(matrix(300, 1203, 0.3)),
  elements: () => matrix(211, 601, 0.7).exp().add(1).log(),
  rows: () => matrix(301, 501, 0.7).softmax(-1),
  sums: () => matrix(301, 501, 0.7).sum(0),
};
for (const [name, recipe] of Object.entries(kernels)) {
  const program = await device.compile({}, recipe);
  // The second run is on threads that have compiled the kernels.
  results[name] = await Promise.all([program.run().data(), program.run().data()].map(async (numbers) => hash(await numbers)));
}

// Springs in a grid: fronts of all sizes, and Jacobians of more than a piece.
const side = 60;
const grid = new Problem();
const positions = grid.parameters('où → 位置', { dim: 2, values: wave(2 * side * side, 0.9).map((noise, i) => (i % 2 === 0 ? (i >> 1) % side : Math.floor((i >> 1) / side)) + 0.1 * noise) });
const all = Array.from({ length: side * side }, (_, i) => i);
const edges = all.flatMap((i) => [...(i % side < side - 1 ? [[i, i + 1]] : []), ...(i + side < side * side ? [[i, i + side]] : []), ...(i % side < side - 1 && i + side < side * side ? [[i, i + side + 1]] : [])]);
const ends = [0, 1].map((end) => Uint32Array.from(edges, (edge) => edge[end]));
grid.residuals('springs', {
  inputs: { a: positions.at(ends[0]), b: positions.at(ends[1]), length: grid.data(Float64Array.from(edges, ([i, j]) => (j - i === side + 1 ? Math.SQRT2 : 1))) },
  residual: ({ a, b, length }) => a.distance(b).sub(length),
});
const functions = await GpuCompiledFunctions.compile(grid, { backend: 'cpu' });
const { values, jacobian } = await functions.evaluateJacobian();
results.residuals = hash(values);
results.jacobian = hash(jacobian.values);
const { x, finalCost, iterations } = await levenbergMarquardt(functions, { linearSolver: 'sparse-cholesky', maxIterations: 4 });
results.solve = { x: hash(x), finalCost, iterations };

const fit = new Problem();
const curve = fit.parameters('curve', { dim: 2, values: [1, 1] });
const times = Float64Array.from({ length: 31 }, (_, i) => i / 10);
fit.residuals('samples', { inputs: { c: curve.shared(), t: fit.data(times), y: fit.data(new Float64Array(31)) }, residual: ({ c, t, y }) => c.x.mul(c.y.mul(t).neg().exp()).sub(y) });
const count = 600;
const y = Float64Array.from({ length: 31 * count }, (_, i) => (1 + Math.floor(i / 31) / count) * Math.exp(-times[i % 31]) + 0.01 * Math.sin(i));
const many = await solveMany(fit, { count, data: { samples: { y } } }, { backend: 'cpu' });
results.many = { x: hash(many.x), converged: many.converged };

console.log(JSON.stringify({ reports, results }));
