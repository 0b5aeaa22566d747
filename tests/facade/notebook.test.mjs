// What notebooks show: results as text and as tables of HTML, tensors as types, shapes and their first numbers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fit, GpuCompiledFunctions, levenbergMarquardt, Problem } from '../../pkg-template/dist/index.js';
import { complex, Device, dim, init, linspace, spec } from '../../pkg-template/dist/tensor.js';

const DISPLAY = Symbol.for('Jupyter.display');
/** The cells of a table, row by row; what stands in them is text. */
const cellsOf = (html) => [...html.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row]) => [...row.matchAll(/<t[hd][^>]*>([^<]*)<\/t[hd]>/g)].map(([, text]) => text));
const captionOf = (html) => /<caption>([^<]*)<\/caption>/.exec(html)[1];

test('a result is its report, and its table in HTML', async () => {
  const problem = new Problem();
  const x = problem.parameters('<b>&"x"', { dim: 1, values: [3] });
  problem.parameters('<i>', { dim: 1, values: [3] });
  problem.residuals('r', { inputs: { x: x.shared() }, residual: ({ x }) => x.sub(2) });
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  const result = await levenbergMarquardt(functions);
  const shown = result[DISPLAY]();
  assert.equal(shown['text/plain'], result.report());
  assert.match(result.message, /<i>/);
  assert.match(captionOf(shown['text/html']), /&lt;i&gt;/);
  assert.deepEqual(cellsOf(shown['text/html']), result.table().map(({ title, value }) => [title, typeof value === 'number' ? String(Number(value.toPrecision(7))) : value]));
  assert.ok(!Object.keys(result).includes('Symbol(Jupyter.display)') && Object.getOwnPropertySymbols({ ...result }).length === 0);
  functions.dispose();
});

test('a fit is a row for each parameter', async () => {
  const x = [0, 1, 2, 3];
  const found = await fit(({ a, b }) => (t) => a * t + b, { x, y: [1, 3.1, 4.9, 7] }, { initialValues: { a: 1, b: 0 }, backend: 'cpu' });
  const shown = found[DISPLAY]();
  assert.equal(shown['text/plain'], found.report());
  const [titles, ...rows] = cellsOf(shown['text/html']);
  assert.deepEqual([titles, rows.map(([name]) => name), rows.map(([, value]) => Number(value).toFixed(2))], [['Parameter', 'Value', 'Standard error'], ['a', 'b'], ['1.98', '1.03']]);
});

test('tensors show type, shape and their first numbers', async () => {
  await init();
  const device = await Device.create({ backend: 'cpu' });
  const show = (tensor) => tensor[DISPLAY]();
  const matrix = await show(device.tensor([[1, 2], [3, 0.5]]));
  assert.deepEqual([captionOf(matrix['text/html']), cellsOf(matrix['text/html'])], ['Tensor f32 [2, 2]', [['', '0', '1'], ['0', '1', '2'], ['1', '3', '0.5']]]);
  assert.equal(matrix['text/plain'], 'Tensor f32 [2, 2]\n0  1  2\n1  3  0.5');
  // Of a recipe, what is shown is computed.
  const cube = cellsOf((await show(linspace(0, 23, 24).reshape([2, 3, 4]).add(1)))['text/html']);
  assert.deepEqual(cube.slice(1).map(([index, first]) => [index, first]), [['0, 0', '1'], ['0, 1', '5'], ['0, 2', '9'], ['1, 0', '13'], ['1, 1', '17'], ['1, 2', '21']]);
  const large = cellsOf((await show(device.zeros([1000, 500])))['text/html']);
  assert.deepEqual([large.length, large[0].length, large[0].at(-1), large.at(-1)], [12, 12, '…', ['…']]);
  assert.deepEqual(cellsOf((await show(device.tensor(7)))['text/html']), [['', '7']]);
  assert.deepEqual(cellsOf((await show(device.zeros([0, 3])))['text/html']), [['', '0', '1', '2']]);
  const bits = await show(device.tensor([1, 2]).gt(1));
  assert.deepEqual(cellsOf(bits['text/html'])[1], ['', 'false', 'true']);
  const waves = await show(complex(device.tensor([1, 2]), device.tensor([-3, 4])));
  assert.deepEqual(cellsOf(waves['text/html'])[1], ['', '1 − 3i', '2 + 4i']);
  const gone = device.tensor([1]);
  gone.dispose();
  assert.match(cellsOf((await show(gone))['text/html'])[0][0], /dispose/);
  let inside;
  const program = await device.compile({ x: spec('f32', [dim('n<', 5)]) }, ({ x }) => (inside = show(x), x.sum()));
  const input = await inside;
  assert.match(captionOf(input['text/html']), /\[n&lt;\]/);
  program.dispose();
  device.dispose();
});
