/**
 * Wrong arguments: each gives a ResiduaError of the right code, whose message names the argument, what it got and what it takes.
 */

import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { geometry, GpuCompiledFunctions, GpuContext, lbfgs, levenbergMarquardt, loss, Mat3, Problem, solveMany, V, Vec3 } from '../../pkg-template/dist/index.js';
import { install, residuaError } from './fake-module.mjs';

/** A problem with an array `p` of 3 blocks of 2 numbers, one `q` of 2 numbers, and a block with data. */
function setUp() {
  const problem = new Problem();
  const p = problem.parameters('p', { dim: 2, values: [1, 2, 3, 4, 5, 6] });
  const q = problem.parameters('q', { dim: 1, values: [1, 2] });
  const block = problem.residuals('r', { inputs: { p: p.at([0, 1, 2]), d: problem.data([1, 2, 3]) }, residual: ({ p, d }) => p.x.sub(d) });
  const bare = problem.residuals('bare', { inputs: { q: q.shared() }, residual: ({ q }) => q });
  const add = (inputs, residual = () => V.C(1), more = {}) => problem.residuals('new', { inputs, residual, ...more });
  return { problem, p, q, block, bare, add };
}
const other = new Problem();
const foreignArray = other.parameters('f', { dim: 1, values: [1] });

const CASES = [
  // Parameter arrays.
  ['a dim of 0', ({ problem }) => problem.parameters('n', { dim: 0, values: [1] }), /"n": dim: got 0; takes a whole number of at least 1/],
  ['a dim that is not whole', ({ problem }) => problem.parameters('n', { dim: 1.5, values: [1] }), /dim: got 1\.5/],
  ['values that are no blocks', ({ problem }) => problem.parameters('n', { dim: 2, values: [1, 2, 3] }), /values: got 3 numbers; takes a positive multiple of dim, 2/],
  ['no values', ({ problem }) => problem.parameters('n', { dim: 2, values: [] }), /values: got 0 numbers/],
  ['a NaN among values', ({ problem }) => problem.parameters('n', { dim: 1, values: [0, NaN] }), /values\[1\]: got NaN; takes a finite number/],
  ['an infinity among values', ({ problem }) => problem.parameters('n', { dim: 1, values: Float64Array.of(Infinity) }), /values\[0\]: got Infinity/],
  ['a string among values', ({ problem }) => problem.parameters('n', { dim: 1, values: ['1'] }), /values\[0\]: got "1"/],
  ['values that are no list', ({ problem }) => problem.parameters('n', { dim: 1, values: 3 }), /values: got 3; takes an array/],
  ['a name that is taken', ({ problem }) => problem.parameters('p', { dim: 1, values: [1] }), /name: got "p" a second time/],
  ['an empty name', ({ problem }) => problem.parameters('', { dim: 1, values: [1] }), /name: got ""/],
  ['no spec', ({ problem }) => problem.parameters('n'), /spec: got undefined; takes an object/],
  ['set with another length', ({ p }) => p.set([1, 2]), /p\.set: values: got 2 numbers; takes 6: 3 blocks of 2/],
  ['setAt beyond the end', ({ p }) => p.setAt(3, [1, 2]), /p\.setAt: index: got 3; takes a whole number from 0 to 2/],
  ['setAt with another length', ({ p }) => p.setAt(0, [1]), /p\.setAt: values: got 1 numbers; takes 2/],
  ['setAt with NaN', ({ p }) => p.setAt(0, [1, NaN]), /p\.setAt: values\[1\]: got NaN/],
  ['setConstant beyond the end', ({ p }) => p.setConstant([0, 7]), /p\.setConstant: indices\[1\]: got 7; .*blocks of "p", 3/],
  ['setConstant of a coordinate that is not there', ({ p }) => p.setConstant([0], true, [2]), /coordinates\[0\]: got 2; .*coordinates of a block, 2/],
  ['setConstant with a word', ({ p }) => p.setConstant([0], 'yes'), /constant: got "yes"; takes true or false/],
  ['bounds that are none', ({ p }) => p.setBounds({}), /bounds: got neither lower nor upper/],
  ['bounds of another length', ({ p }) => p.setBounds({ lower: [1, 2, 3] }), /lower: got 3 numbers; takes one number or 2/],
  ['a NaN bound', ({ p }) => p.setBounds({ upper: NaN }), /upper\[0\]: got NaN/],
  ['a lower bound that nothing is above', ({ p }) => p.setBounds({ lower: Infinity }), /p\.setBounds: lower\[0\]: got Infinity; takes a finite number, or -Infinity for no bound/],
  ['an upper bound that nothing is below', ({ p }) => p.setBounds({ upper: [1, -Infinity] }), /p\.setBounds: upper\[1\]: got -Infinity; takes a finite number, or Infinity for no bound/],
  ['bounds the wrong way round', ({ p }) => p.setBounds({ lower: 2, upper: [3, 1] }), /lower bound 2 above the upper bound 1 at block 0, coordinate 1/],
  ['a manifold of a number', ({ p }) => p.setManifold(1n), /manifold: got the bigint 1n/],
  ['a manifold that every object has', ({ p }) => p.setManifold('toString'), /manifold: got "toString"; takes one of/],
  ['an unknown manifold', ({ p }) => p.setManifold('torus'), /manifold: got "torus"; takes one of 'euclidean'/],
  ['a manifold of another dimension', ({ p }) => p.setManifold('unit-quaternion'), /'unit-quaternion' for blocks of 2/],
  ['bounds on a manifold', ({ q }) => { q.setManifold('angle'); q.setBounds({ lower: 0 }); }, /bounds for "q", which has the manifold 'angle'/],
  ['constant coordinates on a manifold', ({ p }) => { p.setManifold('unit-vector'); p.setConstant([0], true, [1]); }, /coordinates: got some coordinates of blocks on the manifold 'unit-vector'/],
  ['a manifold on bounds', ({ q }) => { q.setBounds({ lower: 0 }); q.setManifold('angle'); }, /'angle' for "q", which has bounds/],
  ['an elimination group that is no number', ({ p }) => p.setElimination('first'), /p\.setElimination: group: got "first"; takes a whole number of at least 0/],
  ['a negative elimination group', ({ p }) => p.setElimination(-1), /p\.setElimination: group: got -1/],
  ['an elimination group that is too large', ({ p }) => p.setElimination(2 ** 32), /p\.setElimination: group: got 4294967296; takes a whole number from 0 to \d+$/],
  // Inputs.
  ['an index out of range', ({ p }) => p.at([0, 1, 3]), /p\.at: indices\[2\]: got 3; takes a whole number from 0 below the number of blocks of "p", 3/],
  ['a negative index', ({ p }) => p.at(Int32Array.of(0, -1)), /indices\[1\]: got -1/],
  ['an index that is not whole', ({ p }) => p.at([0.5]), /indices\[0\]: got 0\.5/],
  ['a NaN index', ({ p }) => p.at([NaN]), /indices\[0\]: got NaN/],
  ['indices that are no list', ({ p }) => p.at('012'), /indices: got "012"; takes an array of indices/],
  ['indices that are no multiple of n', ({ p }) => p.at([0, 1, 2], 2), /indices: got 3 indices; takes a multiple of n, 2/],
  ['an n of 0', ({ p }) => p.at([0], 0), /n: got 0/],
  ['a shared index out of range', ({ q }) => q.shared(2), /q\.shared: index: got 2; takes a whole number from 0 to 1/],
  ['offsets that descend', ({ p }) => p.star([0, 2, 1, 3], [0, 1, 2]), /offsets\[2\]: got 1; takes at least the offset before it, 2/],
  ['offsets that begin above 0', ({ p }) => p.star([1, 3], [0, 1, 2]), /offsets\[0\]: got 1; takes 0/],
  ['offsets that end early', ({ p }) => p.star([0, 2], [0, 1, 2]), /offsets\[1\]: got 2; takes the number of indices, 3/],
  ['no offsets', ({ p }) => p.star([], []), /offsets: got an empty array/],
  ['data that are no multiple of dim', ({ problem }) => problem.data([1, 2, 3], 2), /data: values: got 3 numbers; takes a multiple of dim, 2/],
  ['data with NaN', ({ problem }) => problem.data([1, NaN]), /data: values\[1\]: got NaN/],
  ['star data that do not fit the offsets', ({ problem }) => problem.dataStar([0, 2], [1, 2, 3]), /dataStar: offsets\[1\]: got 2; takes the number of values, 3/],
  ['star data without a star', ({ p, problem, add }) => add({ p: p.at([0, 1]), w: problem.dataStar([0, 1, 2], [1, 2]) }), /"new": inputs\.w: got a dataStar in a block without a star; takes a star/],
  ['star data with the offsets of no star', ({ p, problem, add }) => add({
    r: p.star([0, 2, 3, 4], [0, 1, 2, 0]), s: p.star([0, 1, 3, 4], [0, 1, 2, 0]), w: problem.dataStar([0, 1, 2, 4], [1, 2, 3, 4]),
  }), /"new": inputs\.w: got offsets\[2\] = 2; takes the offsets of a star of the block: "r", "s"/],
  // Residual blocks.
  ['inputs that disagree on instances', ({ p, problem, add }) => add({ a: p.at([0, 1]), b: problem.data([1, 2, 3]) }), /"new": inputs\.b: got 3 instances; takes as many as a has, 2/],
  ['an input that is none', ({ add }) => add({ a: [0, 1] }), /inputs\.a: got an array of 2; takes what at, shared, star/],
  ['an input of another problem', ({ add }) => add({ a: foreignArray.shared() }), /inputs\.a: got an input of another problem/],
  ['no inputs', ({ add }) => add({}), /inputs: got no input/],
  ['a residual that is no function', ({ q, add }) => add({ q: q.shared() }, 'q'), /residual: got "q"; takes a function/],
  ['a block name that is taken', ({ problem, q }) => problem.residuals('r', { inputs: { q: q.shared() }, residual: ({ q }) => q }), /name: got "r" a second time/],
  ['a residual that is NaN', ({ q, add }) => add({ q: q.shared() }, ({ q }) => [q, NaN]), /what residual returned\[1\]: got NaN/],
  ['reading data of an input', ({ q, add }) => add({ q: q.shared() }, ({ q }) => (q.data > 0 ? q : q.neg())), /called once to record/],
  ['reading data of an expression', ({ q, add }) => add({ q: q.shared() }, ({ q }) => q.mul(q.add(1).data)), /called once to record/],
  ['a loss that is none', ({ q, add }) => add({ q: q.shared() }, ({ q }) => q, { loss: { kind: 'huber' } }), /loss: got an object; takes a loss made by/],
  ['a negative weight', ({ q, add }) => add({ q: q.shared() }, ({ q }) => q, { weight: -1 }), /weight: got -1; takes a finite number of at least 0/],
  ['a NaN weight', ({ block }) => block.setWeight(NaN), /r\.setWeight: weight: got NaN/],
  ['data for an input that is not there', ({ block }) => block.setData('x', [1]), /r\.setData: input: got "x"; takes a data input: "d"/],
  ['data for a block without any', ({ bare }) => bare.setData('x', [1]), /the block has no data input/],
  ['data of another length', ({ block }) => block.setData('d', [1]), /r\.setData: values: got 1 numbers; takes 3/],
  ['enabled by a number', ({ block }) => block.setEnabled(1), /enabled: got 1; takes true or false/],
  ['a Huber loss of 0', () => loss.huber(0), /loss\.huber: delta: got 0; takes a finite number above 0/],
  ['a scaled loss of nothing', () => loss.scaled(undefined, 1), /loss\.scaled: inner: got undefined/],
  // Expressions.
  ['an operand that is undefined', () => V.W(1).add(undefined), /^add: b: got undefined; takes a Value or a number/],
  ['an operand that is NaN', () => V.mul(NaN, 2), /^mul: a: got NaN/],
  ['an operand that is a vector', () => V.W(1).mul(Vec3.C(1, 2, 3)), /^mul: b: got a Vec3/],
  ['a NaN constant', () => V.C(NaN), /V\.C: value: got NaN/],
  ['a parameter of a word', () => V.W('1'), /V\.W: value: got "1"/],
  ['a parameter without a name', () => V.Param(1), /V\.Param: name: got undefined/],
  ['data set on an expression', () => { V.W(1).add(1).data = 2; }, /data: got a number for an expression/],
  ['data set to NaN', () => { V.W(1).data = NaN; }, /data: got NaN/],
  ['the mean of nothing', () => V.mean([]), /V\.mean: a: got an empty array/],
  ['lists of two lengths', () => V.mse([1, 2], [1]), /V\.mse: targets: got 1 terms; takes as many as outputs, 2/],
  ['a Huber bound below 0', () => V.huber(1, -1), /V\.huber: delta: got -1/],
  ['a probability above 1', () => V.binaryCrossEntropy([0.5, 1.1], [0, 1]), /V\.binaryCrossEntropy: outputs\[1\]: got 1\.1; takes a probability, from 0 to 1/],
  ['a target below 0', () => V.binaryCrossEntropy([V.W(0.5)], [-1]), /V\.binaryCrossEntropy: targets\[0\]: got -1; takes a probability/],
  ['a ring of two', () => geometry.angleDefect(Vec3.C(0, 0, 0), [Vec3.C(1, 0, 0), Vec3.C(0, 1, 0)]), /ring: got 2 vertices; takes at least 3/],
  ['the centroid of nothing', () => geometry.centroid([]), /points: got an empty array/],
  ['rows that are no vectors', () => Mat3.fromRows([1, 0, 0], Vec3.C(0, 1, 0), Vec3.C(0, 0, 1)), /Mat3\.fromRows: a: got an array of 3; takes a Vec3/],
];

for (const [name, act, message] of CASES) {
  test(`${name} is an invalid argument`, () => assert.throws(() => act(setUp()), residuaError('invalid-argument', message)));
}

const compile = (...args) => GpuCompiledFunctions.compile(...args);
const sum = (x) => x[0];
/** A typed array whose buffer was transferred. */
function detached(numbers) {
  structuredClone(numbers.buffer, { transfer: [numbers.buffer] });
  return numbers;
}
const throwing = { valueOf() { throw new RangeError('mine'); } };
const functionsOf = async (options) => (install(), compile([V.W(1), V.W(2)], ([a, b]) => a.mul(b), options));

// Every argument that takes a list: its name, a call with it, a valid list, and a typed array to detach.
for (const [argument, act, right, typed] of [
  ['parameters "n": values', ({ problem }, values) => problem.parameters('n', { dim: 1, values }), [0, 1], Float64Array],
  ['p.set: values', ({ p }, values) => p.set(values), [1, 2, 3, 4, 5, 6], Float32Array],
  ['p.setAt: values', ({ p }, values) => p.setAt(0, values), [1, 2], Float64Array],
  ['p.setConstant: indices', ({ p }, indices) => p.setConstant(indices), [0, 1], Uint32Array],
  ['p.setConstant: coordinates', ({ p }, coordinates) => p.setConstant([0], true, coordinates), [0, 1], Uint32Array],
  ['p.setBounds: lower', ({ p }, lower) => p.setBounds({ lower }), [0, -Infinity], Float64Array],
  ['p.setBounds: upper', ({ p }, upper) => p.setBounds({ upper }), [9, Infinity], Float32Array],
  ['p.setBounds: indices', ({ p }, indices) => p.setBounds({ lower: 0 }, indices), [0, 1], Int32Array],
  ['p.at: indices', ({ p }, indices) => p.at(indices), [0, 1], Uint32Array],
  ['p.star: offsets', ({ p }, offsets) => p.star(offsets, [0, 1]), [0, 2], Uint32Array],
  ['p.star: indices', ({ p }, indices) => p.star([0, 2], indices), [0, 1], Int32Array],
  ['data: values', ({ problem }, values) => problem.data(values), [1, 2], Float64Array],
  ['dataStar: offsets', ({ problem }, offsets) => problem.dataStar(offsets, [1, 2]), [0, 2], Uint32Array],
  ['dataStar: values', ({ problem }, values) => problem.dataStar([0, 2], values), [1, 2], Float32Array],
  ['r.setData: values', ({ block }, values) => block.setData('d', values), [1, 2, 3], Float64Array],
  ['evaluate: x', async (_, x) => (await functionsOf()).evaluate(x), [1, 2], Float64Array],
]) {
  test(`${argument}: messages name an element that is not a number, and a value that is not a list`, async () => {
    const attempt = async (list) => act(setUp(), list);
    await attempt(right);
    await attempt(typed.from(right));
    const refused = async (list, message) => {
      await assert.rejects(attempt(list), (error) => {
        residuaError('invalid-argument')(error);
        assert.ok(error.message.startsWith(message), error.message);
        return true;
      });
    };
    for (const [wrong, got] of [[1n, 'the bigint 1n'], [Symbol('s'), 'a symbol'], ['1', '"1"'], [null, 'null'], [undefined, 'undefined'], [throwing, 'an object'], [NaN, 'NaN']]) {
      const list = Object.assign([...right], { 1: wrong });
      await refused(list, `${argument}[1]: got ${got}; takes `);
    }
    await refused(detached(typed.from(right)), `${argument}: got a detached ${typed.name}; takes `);
    for (const [wrong, got] of [
      [new BigInt64Array(2), 'a BigInt64Array'], [new BigUint64Array(0), 'a BigUint64Array'], [new DataView(new ArrayBuffer(8)), 'a DataView'],
      [Symbol('s'), 'a symbol'], [null, 'null'], [new Set(right), 'a Set'],
    ]) {
      await refused(wrong, `${argument}: got ${got}; takes `);
    }
  });
}

for (const [argument, act] of [
  ['parameters "n": dim', ({ problem }, dim) => problem.parameters('n', { dim, values: [1] })],
  ['p.at: n', ({ p }, n) => p.at([0], n)],
  ['p.shared: index', ({ p }, index) => p.shared(index)],
  ['p.setAt: index', ({ p }, index) => p.setAt(index, [1, 2])],
  ['p.setBounds: lower', ({ p }, lower) => p.setBounds({ lower })],
  ['data: dim', ({ problem }, dim) => problem.data([1], dim)],
  ['dataStar: dim', ({ problem }, dim) => problem.dataStar([0, 1], [1], dim)],
  ['r.setWeight: weight', ({ block }, weight) => block.setWeight(weight)],
  ['loss.huber: delta', (_, delta) => loss.huber(delta)],
  ['loss.scaled: factor', (_, factor) => loss.scaled(loss.squared(), factor)],
  ['V.C: value', (_, value) => V.C(value)],
  ['V.W: value', (_, value) => V.W(value)],
  ['V.Param: value', (_, value) => V.Param(value, 'x')],
  ['V.huber: delta', (_, delta) => V.huber(1, delta)],
  ['V.tukey: c', (_, c) => V.tukey(1, c)],
  ['data', (_, number) => { V.W(1).data = number; }],
  ['compile: batchSize', (_, batchSize) => compile([V.W(1)], sum, { batchSize })],
  ['compile: fallbackThreshold', (_, fallbackThreshold) => compile([V.W(1)], sum, { fallbackThreshold })],
  ...['maxIterations', 'maxTimeMs', 'costTolerance', 'gradientTolerance', 'parameterTolerance', 'historySize', 'maxLineSearchSteps', 'c1', 'c2'].map(
    (name) => [`lbfgs: ${name}`, async (_, value) => lbfgs(await functionsOf(), { [name]: value })],
  ),
  ...['initialDamping', 'maxLinearIterations', 'linearTolerance'].map(
    (name) => [`levenbergMarquardt: ${name}`, async (_, value) => levenbergMarquardt(await functionsOf(), { [name]: value })],
  ),
]) {
  test(`${argument}: messages name a value that is not a number`, async () => {
    for (const [wrong, got] of [[1n, 'the bigint 1n'], [Symbol('s'), 'a symbol'], ['1', '"1"'], [throwing, 'an object']]) {
      await assert.rejects(async () => act(setUp(), wrong), (error) => {
        residuaError('invalid-argument')(error);
        assert.ok(error.message.startsWith(`${argument}: got ${got}; takes `), error.message);
        return true;
      });
    }
  });
}

for (const [name, act, code, message] of [
  ['an empty problem', () => compile(new Problem()), 'invalid-argument', /a problem without parameters/],
  ['a problem without residuals', () => { const p = new Problem(); p.parameters('p', { dim: 1, values: [1] }); return compile(p); }, 'invalid-argument', /a problem without residuals/],
  ['params that are none', () => compile('x', sum), 'invalid-argument', /params: got "x"; takes an array of parameters/],
  ['no params', () => compile([], () => V.C(1)), 'invalid-argument', /params: got an empty array/],
  ['a number among params', () => compile([V.W(1), 2], sum), 'invalid-argument', /params\[1\]: got 2; takes a parameter/],
  ['a constant among params', () => compile([V.C(1)], sum), 'invalid-argument', /params\[0\]: got a constant/],
  ['an expression among params', () => compile([V.W(1).add(1)], sum), 'invalid-argument', /params\[0\]: got an expression/],
  ['a parameter twice', () => { const x = V.W(1); return compile([V.W(0), x, x], sum); }, 'invalid-argument', /params\[2\]: got the same parameter as params\[1\]/],
  ['no function', () => compile([V.W(1)], { backend: 'cpu' }), 'invalid-argument', /fn: got an object; takes a function/],
  ['a function that returns nothing', () => compile([V.W(1)], () => {}), 'invalid-graph', /what fn returned: got undefined; takes a Value/],
  ['an async function', () => compile([V.W(1)], async ([x]) => x), 'invalid-graph', /what fn returned: got a Promise/],
  ['a function that returns no residuals', () => compile([V.W(1)], () => []), 'invalid-graph', /empty array; takes at least one Value/],
  ['a string among residuals', () => compile([V.W(1)], ([x]) => [x, 'x']), 'invalid-graph', /returned\[1\]: got "x"/],
  ['a NaN among residuals', () => compile([V.W(1)], ([x]) => [x, NaN]), 'invalid-argument', /returned\[1\]: got NaN/],
  ['an unknown precision', () => compile([V.W(1)], sum, { precision: 'f64' }), 'invalid-argument', /precision: got "f64"; takes 'f32' or 'f32x2'/],
  ['an unknown backend', () => compile([V.W(1)], sum, { backend: 'webgl' }), 'invalid-argument', /backend: got "webgl"; takes 'auto', 'gpu' or 'cpu'/],
  ['a context that is none', () => compile([V.W(1)], sum, { context: {} }), 'invalid-argument', /context: got an object; takes a GpuContext/],
  ['a batch size of 0', () => compile([V.W(1)], sum, { batchSize: 0 }), 'invalid-argument', /batchSize: got 0/],
  ['a threshold below 0', () => compile([V.W(1)], sum, { fallbackThreshold: -1 }), 'invalid-argument', /fallbackThreshold: got -1/],
  ['a signal that is none', () => compile([V.W(1)], sum, { signal: true }), 'invalid-argument', /signal: got true; takes an AbortSignal/],
  ['a listener that is none', () => compile([V.W(1)], sum, { onProgress: 1 }), 'invalid-argument', /onProgress: got 1; takes a function/],
  ['options that are none', () => compile([V.W(1)], sum, 'cpu'), 'invalid-argument', /options: got "cpu"; takes an object/],
  ['a profile that is no yes or no', () => GpuContext.create({ profile: 1 }), 'invalid-argument', /profile: got 1; takes true or false/],
  ['a device that is none', () => GpuContext.create({ device: null }), 'invalid-argument', /^GpuContext\.create: device: got null; takes a GPUDevice$/],
  ['an adapter in place of a device', () => GpuContext.create({ device: { requestDevice() {} } }), 'invalid-argument', /^GpuContext\.create: device: got an object; takes a GPUDevice$/],
  ['an unknown power preference', () => GpuContext.create({ powerPreference: 'high' }), 'invalid-argument', /powerPreference: got "high"/],
  ['x of another length', async () => (await functionsOf()).evaluate([1]), 'invalid-argument', /evaluate: x: got 1 numbers; takes 2/],
  ['x with NaN', async () => (await functionsOf()).evaluateJacobian([1, NaN]), 'invalid-argument', /evaluateJacobian: x\[1\]: got NaN/],
  ['Levenberg-Marquardt of something else', () => levenbergMarquardt({}), 'invalid-argument', /levenbergMarquardt: functions: got an object; takes GpuCompiledFunctions/],
  ['an unknown linear solver', async () => levenbergMarquardt(await functionsOf(), { linearSolver: 'lu' }), 'invalid-argument', /linearSolver: got "lu"; takes one of 'auto'/],
  ['a direct solver on the GPU', async () => levenbergMarquardt(await functionsOf({ backend: 'gpu' }), { linearSolver: 'dense-qr' }), 'invalid-argument', /linearSolver: got "dense-qr"; takes one of 'auto', 'pcg', 'iterative-schur' with functions on the GPU/],
  ['an unknown trust region', async () => levenbergMarquardt(await functionsOf(), { trustRegion: 'ball' }), 'invalid-argument', /levenbergMarquardt: trustRegion: got "ball"; takes one of 'levenberg-marquardt', 'dogleg'/],
  ['the dogleg on the GPU', async () => levenbergMarquardt(await functionsOf({ backend: 'gpu' }), { trustRegion: 'dogleg' }), 'invalid-argument', /trustRegion: got "dogleg"; takes 'levenberg-marquardt' with backend 'gpu'/],
  ['the dogleg with conjugate gradients', async () => levenbergMarquardt(await functionsOf({ backend: 'cpu' }), { trustRegion: 'dogleg', linearSolver: 'pcg' }), 'invalid-argument', /trustRegion: got "dogleg"; takes 'levenberg-marquardt' with linearSolver 'pcg'/],
  ['the dogleg in solveMany', () => solveMany(new Problem(), { count: 1 }, { trustRegion: 'dogleg' }), 'invalid-argument', /solveMany: options: got the unknown option "trustRegion"; takes '/],
  ['a negative damping', async () => levenbergMarquardt(await functionsOf(), { initialDamping: -1 }), 'invalid-argument', /initialDamping: got -1/],
  ['no linear iterations', async () => levenbergMarquardt(await functionsOf(), { maxLinearIterations: 0 }), 'invalid-argument', /maxLinearIterations: got 0/],
  ['a linear tolerance of 1', async () => levenbergMarquardt(await functionsOf(), { linearTolerance: 1 }), 'invalid-argument', /linearTolerance: got 1/],
  ['lbfgs of something else', () => lbfgs(new Problem()), 'invalid-argument', /lbfgs: functions: got a Problem; takes GpuCompiledFunctions/],
  ['iterations below 0', async () => lbfgs(await functionsOf(), { maxIterations: -1 }), 'invalid-argument', /maxIterations: got -1/],
  ['a NaN tolerance', async () => lbfgs(await functionsOf(), { costTolerance: NaN }), 'invalid-argument', /costTolerance: got NaN/],
  ['a c1 of ½', async () => lbfgs(await functionsOf(), { c1: 0.5 }), 'invalid-argument', /lbfgs: c1: got 0\.5; takes a number above 0 and below 0\.5/],
  ['a c1 of 0', async () => lbfgs(await functionsOf(), { c1: 0 }), 'invalid-argument', /lbfgs: c1: got 0;/],
  ['a c2 of c1', async () => lbfgs(await functionsOf(), { c1: 0.2, c2: 0.2 }), 'invalid-argument', /lbfgs: c2: got 0\.2; takes a number above c1, here 0\.2, and below 1/],
  ['a c2 of 1', async () => lbfgs(await functionsOf(), { c2: 1 }), 'invalid-argument', /lbfgs: c2: got 1;/],
  ['a history of 0', async () => lbfgs(await functionsOf(), { historySize: 0 }), 'invalid-argument', /historySize: got 0/],
  ['an unknown objective', async () => lbfgs(await functionsOf(), { objective: 'cost' }), 'invalid-argument', /objective: got "cost"/],
  ['a time limit of 0', async () => lbfgs(await functionsOf(), { maxTimeMs: 0 }), 'invalid-argument', /maxTimeMs: got 0/],
]) {
  test(`${name} rejects with ${code}`, async () => {
    install();
    await assert.rejects(act(), residuaError(code, message));
  });
}

test('the error for a residual function that returns no Value names its block', () => {
  const { q, add } = setUp();
  for (const [result, message] of [[undefined, /"new": what residual returned: got undefined/], [[q], /returned\[0\]: got a ParameterBlocks/], [[], /empty array/], [{ x: 1 }, /got an object/]]) {
    assert.throws(() => add({ q: q.shared() }, () => result), residuaError('invalid-graph', message));
  }
});

test('a block that could not be added leaves the problem unchanged', () => {
  const { problem, q, add } = setUp();
  const before = [problem.numResiduals, problem.blocks.length];
  assert.throws(() => add({ q: q.shared() }, () => undefined));
  assert.throws(() => add({ q: q.shared() }, ({ q }) => q, { weight: -1 }));
  assert.deepEqual([problem.numResiduals, problem.blocks.length], before);
  add({ q: q.shared() }, ({ q }) => q);
});

test('a manifold and an elimination group set after compiling are invalid arguments', async () => {
  install();
  const { problem, q } = setUp();
  await GpuCompiledFunctions.compile(problem);
  assert.throws(() => q.setManifold('angle'), residuaError('invalid-argument', /"angle" after compiling/));
  assert.throws(() => q.setElimination(1), residuaError('invalid-argument', /q\.setElimination: group: got 1 after compiling/));
});

test('a refused argument changes nothing', async () => {
  install();
  const { problem, p } = setUp();
  const functions = await GpuCompiledFunctions.compile(problem);
  assert.throws(() => p.set([1, 2, 3, 4, 5, NaN]));
  assert.throws(() => p.setBounds({ lower: 5, upper: 1 }));
  assert.deepEqual([...p.values()], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual([...(await functions.evaluate())], [1, 2, 3, 4, 5, 6, 1, 2]);
});

test('objects of another copy of the package are refused, and the message says so', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'residua-copy-'));
  t.after(() => rm(folder, { recursive: true }));
  await cp(new URL('../../pkg-template/dist/', import.meta.url), folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  const other = await import(pathToFileURL(join(folder, 'index.js')).href);
  const { q, add } = setUp();
  const foreign = (code, what) => residuaError(code, new RegExp(`got ${what} that is not of this copy of residua; takes `));
  await assert.rejects(solveMany(new other.Problem(), { count: 1 }), foreign('invalid-argument', 'a Problem'));
  assert.throws(() => V.W(1).add(other.V.W(1)), foreign('invalid-argument', 'a Value'));
  assert.throws(() => Vec3.W(1, 2, 3).dot(other.Vec3.W(1, 2, 3)), foreign('invalid-argument', 'a Vec3'));
  assert.throws(() => add({ q: q.shared() }, () => other.Vec3.W(1, 2, 3)), foreign('invalid-graph', 'a Vec3'));
  assert.throws(() => add({ q: q.shared() }, () => [other.V.W(1)]), foreign('invalid-graph', 'a Value'));
  // An object of this copy is accepted.
  assert.throws(() => V.W(1).add(Vec3.W(1, 2, 3)), residuaError('invalid-argument', /got a Vec3; takes a Value/));
});
