// Derivatives of functions and functions of many examples on the CPU, by the module that is packed; and errors that name the argument, what it got and what it takes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { TRANSFORMS } from '../../www/checks/tensors/transforms.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});
after(() => device.dispose());

for (const [name, run] of TRANSFORMS) test(name, () => run(T, device, (holds, claim) => assert.ok(holds, claim)));

test('an argument that f uses from outside too is constant there', async () => {
  const x = device.tensor([2, 3]);
  const [, tangent] = T.jvp((v) => v.mul(x), [x], [device.tensor([1, 1])]);
  assert.deepEqual([...(await tangent.data())], [2, 3]);
  assert.deepEqual(await T.jacobian((v) => v.mul(x).sum())(x).toArray(), [2, 3]);
});

test('in a program, with sizes that runs tell', async () => {
  const n = T.dim('n', 6);
  const program = await device.compile({ x: T.spec('f32', [n, 2]) }, ({ x }) => ({
    rows: T.vmap((row) => row.softmax().mul(row).sum())(x),
    jacobian: T.jacobian((v) => v.square().sum(1))(x),
  }));
  const { rows, jacobian } = program.run({ x: [0, 1, 2, 2] }, { n: 2 });
  const weight = Math.E / (1 + Math.E);
  (await rows.data()).forEach((each, k) => assert.ok(Math.abs(each - [weight, 2][k]) <= 1e-6));
  assert.deepEqual(await jacobian.toArray(), [[[0, 2], [0, 0]], [[0, 0], [4, 4]]]);
});

test('a result that depends on too many numbers of a state is refused, one that depends on few of many is not', async () => {
  const identity = Array.from({ length: 8 }, () => 0);
  const slope = (merge) => { const v = device.tensor([1, 2]); return T.grad(T.scan(v, 0, { identity, lift: (each) => identity.map(() => each), merge }).sum(), [v])[0].data(); };
  assert.deepEqual([...(await slope((a, b) => a.map((each, k) => each.add(b[k]))))], [2, 1]);
  const message = /^grad: got a scan by a rule whose result depends on 8 numbers of its state; takes at most 7$/;
  await assert.rejects(slope((a, b) => b.map((each, k) => a[(k + 1) % 8].add(each))), { name: 'ResiduaError', code: 'invalid-graph', message });
});

test('what leaves the body is refused where it is computed', async () => {
  let left;
  T.vmap((v) => (left = v.mul(2)))(device.tensor([1, 2]));
  await assert.rejects(left.data(), { name: 'ResiduaError', code: 'invalid-graph' });
  await assert.rejects(device.compile({}, () => left), { name: 'ResiduaError', code: 'invalid-graph' });
});

const x = T.zeros([2, 3]);
const whole = T.zeros([2], 'i32');
const custom = (backward, ...inputs) => T.customGradient((v) => v.mul(2), backward)(...inputs);
for (const [call, code, message] of [
  [() => T.jvp(3, [x], [x]), 'invalid-argument', /^jvp: f: got 3; takes a function of Tensors/],
  [() => T.jvp((v) => v, x, [x]), 'invalid-argument', /^jvp: primals: got a Tensor.*; takes an array of Tensors/],
  [() => T.jvp((v) => v, [x], [x, x]), 'invalid-argument', /^jvp: tangents: got 2 tensors; takes 1, as there are primals/],
  [() => T.jvp((v) => v, [x], [x.T]), 'invalid-argument', /^jvp: tangents\[0\]: got a tensor of f32 of shape \[3, 2\]; takes a tensor of f32 of shape \[2, 3\], as primals\[0\] is/],
  [() => T.jvp((v) => v, [x], [x.cast('f16')]), 'invalid-argument', /^jvp: tangents\[0\]: got a tensor of f16/],
  [() => T.jvp((v) => v, [whole], [whole]), 'invalid-argument', /^jvp: primals\[0\]: got a tensor of i32 of shape \[2\]; takes a tensor of f32, f16 or c64/],
  [() => T.jvp((v) => v.argmax(), [x], [x]), 'invalid-argument', /^jvp: the result of f: got a tensor of i32/],
  [() => T.jvp(() => 7, [x], [x]), 'invalid-argument', /^jvp: the result of f: got 7; takes a Tensor/],
  [() => T.jvp((v) => custom((a) => [a.mul(2)], v), [x], [x]), 'invalid-graph', /^jvp: got a function that goes through customGradient\(\)/],
  [() => T.jacobian(null), 'invalid-argument', /^jacobian: f: got null; takes a function/],
  [() => T.jacobian((v) => v, 1)(x), 'invalid-argument', /^jacobian: argnums: got 1; takes numbers of the 1 arguments, from 0/],
  [() => T.jacobian((v) => v, [0, 0.5])(x, x), 'invalid-argument', /^jacobian: argnums: got 0.5/],
  [() => T.jacobian((v) => v)(whole), 'invalid-argument', /^jacobian: inputs\[0\]: got a tensor of i32/],
  [() => T.jacobian((v) => v)(3), 'invalid-argument', /^jacobian: inputs\[0\]: got 3; takes a Tensor/],
  [() => T.jacobian((v) => v.argmax())(x), 'invalid-argument', /^jacobian: the result of f: got a tensor of i32/],
  [() => T.hessian(3), 'invalid-argument', /^hessian: f: got 3/],
  [() => T.hessian((v) => v.sum())(whole), 'invalid-argument', /^hessian: inputs\[0\]: got a tensor of i32/],
  [() => T.customGradient(3, () => []), 'invalid-argument', /^customGradient: f: got 3; takes a function/],
  [() => T.customGradient((v) => v), 'invalid-argument', /^customGradient: backward: got undefined; takes a function/],
  [() => custom(() => [], x), 'invalid-argument', /^customGradient: the result of backward: got an array of 0; takes an array of 1 Tensors or null/],
  [() => custom((a) => a, x), 'invalid-argument', /^customGradient: the result of backward: got a Tensor/],
  [() => custom((a) => [a.T], x), 'invalid-argument', /^customGradient: the result of backward\[0\]: got a tensor of f32 of shape \[3, 2\]; takes a tensor of f32 of shape \[2, 3\], as the input is/],
  [() => custom(() => [7], x), 'invalid-argument', /^customGradient: the result of backward\[0\]: got 7; takes a Tensor/],
  [() => T.customGradient((v) => v.cast('f32'), () => [whole])(whole), 'invalid-argument', /^customGradient: the result of backward\[0\]: got a tensor of i32.*; takes null, as the input is a tensor of i32/],
  [() => T.customGradient((v) => v.argmax(), () => [x])(x), 'invalid-argument', /^customGradient: the result of f: got a tensor of i32/],
  [() => custom((a) => [T.loop(2, a, (s) => s.mul(2))], x), 'invalid-argument', /^customGradient: backward: got a loop\(\) or scan\(\) over the adjoint/],
]) {
  test(`${call.toString().slice(6)} is refused`, () => assert.throws(call, { name: 'ResiduaError', code, message }));
}

test('derivatives of the caller inside of loops are of the adjoint in each step', async () => {
  const x = device.tensor([[1, 2, 3], [4, 5, 6]]);
  const twice = (backward) => (s) => T.customGradient((v) => v.mul(2), backward)(s);
  const by = (body) => T.grad(T.loop(2, x, body).sum(), [x])[0];
  const filled = (number) => new Float32Array(6).fill(number);
  for (const [body, expected] of [
    [twice((a) => [a.mul(3)]), 9],
    [twice((a) => [a.clamp(-0.5, 0.5)]), 0.5],
    [(s) => twice((a) => [a.mul(3)])(s).add(s), 16],
    [(s) => T.loop(2, s, twice((a) => [a.mul(3)])), 81],
  ]) {
    assert.deepEqual(await by(body).data(), filled(expected), `${body}`);
  }
  const step = twice((a) => [a.mul(3)]);
  const [scanned] = T.grad(T.scan(T.zeros([3, ...x.sizes]), x, (s, each) => [step(s).add(each), s])[0].sum(), [x]);
  assert.deepEqual(await scanned.data(), filled(27));
  const rows = T.vmap((v) => T.grad(T.loop(2, v, step).sum(), [v])[0])(x);
  assert.deepEqual(await rows.data(), filled(9));
});

test('derivatives by examples of what does not depend on them are 0', async () => {
  const x = device.tensor([[1, 2, 3], [4, 5, 6]]);
  const constant = () => T.full([], 2);
  for (const tensor of [T.vmap((v) => T.grad(device.tensor([1, 2]).sum(), [v])[0])(x), T.vmap(T.jacobian(constant))(x), T.vmap(T.hessian(constant))(x)]) {
    assert.ok((await tensor.data()).every((each) => each === 0));
  }
});

test('a jacobian has the type of what it is by, by rows and by columns', () => {
  const half = (v) => v.cast('f16').square();
  const v = device.tensor([1, 2, 3]);
  assert.deepEqual([T.jacobian(half)(v).dtype, T.jacobian((each) => half(each).tile([2]))(v).dtype], ['f32', 'f32']);
});
