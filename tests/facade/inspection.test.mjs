// What consoles, JSON and text show of objects: names, sizes and values, never what they are made of.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { GpuCompiledFunctions, init, Pose2, Problem, V, Vec3 } from '../../pkg-template/dist/index.js';
import * as tensors from '../../pkg-template/dist/tensor.js';

await init();

/** Checks all three, and that Deno's symbol shows the same as Node's. */
function shows(object, name, json) {
  const text = inspect(object);
  assert.equal(text, `${name} ${inspect(json)}`);
  assert.equal(object[Symbol.for('Deno.customInspect')](inspect, {}), text);
  assert.deepEqual(JSON.parse(JSON.stringify(object)), JSON.parse(JSON.stringify(json)));
}

test('problems, arrays, blocks, inputs and compiled functions show names and sizes', async () => {
  const problem = new Problem();
  const line = problem.parameters('line', { dim: 2, values: [1, 2] });
  const inputs = { l: line.shared(), x: problem.data([1, 2, 3]) };
  const samples = problem.residuals('samples', { inputs, residual: ({ l, x }) => l.x.mul(x).add(l.y) });
  const limit = problem.inequalities('limit', { inputs: { l: line.at([0]) }, constraint: ({ l }) => l.x.sub(9) });
  shows(problem, 'Problem', { parameters: { line: { count: 1, dim: 2 } }, residuals: { samples: { instances: 3, residuals: 3 } }, constraints: { limit: { instances: 1, residuals: 1 } } });
  assert.equal(String(problem), `Problem ${JSON.stringify(problem)}`);
  shows(line, 'ParameterArray', { name: 'line', count: 1, dim: 2, values: [1, 2] });
  shows(samples, 'ResidualBlock', { name: 'samples', instances: 3, residuals: 3, inputs: ['l', 'x'], enabled: true });
  shows(limit, 'ConstraintBlock', { name: 'limit', instances: 1, residuals: 1, inputs: ['l'], enabled: true });
  shows(inputs.l, 'Input', { dim: 2 });
  shows(inputs.x, 'Input', { dim: 1, instances: 3 });
  shows(line.at([0, 0], 2), 'Input', { dim: 2, instances: 1 });
  shows(line.star([0, 1, 3], [0, 0, 0]), 'Input', { dim: 2, instances: 2 });
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'cpu' });
  shows(functions, 'GpuCompiledFunctions', { backend: 'cpu', precision: 'f64', fallbackReason: null, numParams: 2, numResiduals: 3, kernelCount: functions.kernelCount, warnings: [] });
  functions.dispose();
  shows(functions, 'GpuCompiledFunctions', { backend: 'cpu', precision: 'f64', fallbackReason: null, numParams: 2, numResiduals: 3, kernelCount: functions.kernelCount, warnings: [] });
});

test('expressions show their numbers, or none while a function is recorded', () => {
  shows(V.C(3).add(2), 'Value', 5);
  assert.equal(inspect(new Vec3(1, 2, 3)), 'Vec3 { x: Value 1, y: Value 2, z: Value 3 }');
  assert.equal(JSON.stringify(new Vec3(1, 2, 3)), '{"x":1,"y":2,"z":3}');
  assert.ok(!inspect(Pose2.exp([1, 2, 0.5]), { depth: 5 }).includes('node'));
  const problem = new Problem();
  const seen = [];
  problem.residuals('r', { inputs: { a: problem.parameters('a', { dim: 1, values: [7] }).shared() }, residual: ({ a }) => (seen.push(inspect(a.square()), JSON.stringify({ a })), a) });
  assert.deepEqual([seen[0], seen[1]], ['Value null', '{"a":null}']);
});

test('tensors, sizes, devices and programs show types and shapes', async () => {
  const { arange, Device, dim, init: initTensors, ones, spec } = tensors;
  await initTensors();
  shows(ones([2, 2]), 'Tensor', { dtype: 'f32', shape: [2, 2] });
  assert.equal(`${arange(3).add(1)}`, `Tensor ${arange(3).dtype} [3]`);
  const rows = dim('rows', 8);
  assert.ok(!inspect(rows).includes('\n'), inspect(rows));
  const device = await Device.create({ backend: 'cpu' });
  assert.match(inspect(device), /^Device \{ backend: 'cpu'/);
  const program = await device.compile({ x: spec('f32', [3]) }, ({ x }) => x.add(1));
  assert.match(inspect(program), /^Program \{ name: .* inputs: \{ x: \{ dtype: 'f32', shape: .* \} \} \}$/);
  program.dispose();
  device.dispose();
});
