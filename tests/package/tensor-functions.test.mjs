// Functions of numbers on the CPU, by the module that is packed, beside values of SciPy 1.17 and NumPy 2.4 in double precision.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

/** Some roundings of single precision, each 6e-8 of a number. */
const TOLERANCE = 1e-6;
/** The slope of a polynomial that is within 1e-7 of a function is further from that of the function. */
const SLOPE_TOLERANCE = 2e-5;

function assertNear(found, expected, tolerance = TOLERANCE) {
  assert.equal(found.length, expected.length);
  expected.forEach((each, k) => assert.ok(Object.is(found[k], each) || found[k] === each || Math.abs(found[k] - each) <= tolerance * Math.abs(each), `element ${k} is ${found[k]}, not ${each}`));
}

test('log10 is exact at the powers of 10, with the derivative of the logarithm', async () => {
  const exponents = Array.from({ length: 76 }, (_, k) => k - 37);
  const x = device.tensor(exponents.map((k) => 10 ** k));
  assert.deepEqual([...(await x.log10().data())], exponents);
  assertNear(await device.tensor([0, -1, Infinity, NaN, 2, 0.3]).log10().data(), [-Infinity, NaN, Infinity, NaN, Math.log10(2), Math.log10(Math.fround(0.3))]);
  const [slope] = T.grad(x.slice([27, 50]).log10().sum(), [x]);
  assertNear((await slope.mul(x).slice([27, 50]).data()), exponents.slice(27, 50).map(() => Math.LOG10E));
});

test('erfinv is that of SciPy up to the last number below 1', async () => {
  // SciPy's values at the numbers of single precision next to these.
  const x = device.tensor([0, 1e-30, 0.1, -0.5, 0.9, 0.999, 1 - 2 ** -20, 1 - 2 ** -24, 1, -1, 2, NaN]);
  const expected = [0, 8.862269282630517e-31, 0.08885599182530647, -0.4769362762044699, 1.1630870719457722, 2.3267563267961546, 3.4655050258033304, 3.8325068569007104, Infinity, -Infinity, NaN, NaN];
  assertNear(await x.erfinv().data(), expected);
  const inner = device.tensor([0, 0.1, -0.5, 0.9, 0.999]);
  const [slope] = T.grad(inner.erfinv().sum(), [inner]);
  assertNear(await slope.data(), expected.filter((_, k) => [0, 2, 3, 4, 5].includes(k)).map((y) => (Math.sqrt(Math.PI) / 2) * Math.exp(y * y)), SLOPE_TOLERANCE);
});

test('hypot has no overflow in between, and is infinite beside a NaN', async () => {
  const [a, b] = [device.tensor([3e30, 3e-40, Infinity, NaN, 0, -5]), device.tensor([4e30, 4e-40, NaN, 1, 0, 12])];
  // Subnormal numbers are multiples of 1.4e-45.
  assertNear(await a.hypot(b).data(), [5e30, 5e-40, Infinity, NaN, 0, 13], 5e-6);
  const zero = device.tensor([0]);
  assert.deepEqual(await Promise.all(T.grad(zero.hypot(zero).sum(), [zero]).map((slope) => slope.item())), [0]);
});

test('rounding to even takes the even one of two, also where no halves are left', async () => {
  const x = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 4194303.5, 8388607.5, 8388609, 1e30, Infinity, NaN];
  assert.deepEqual([...(await device.tensor(x).round('even').data())].map((each) => each + 0), [0, 2, 2, 0, -2, -2, 0, 4194304, 8388608, 8388609, Math.fround(1e30), Infinity, NaN]);
  assert.throws(() => device.tensor(x).round('odd'), { code: 'invalid-argument', message: /halves: got "odd"; takes 'up' or 'even'/ });
});

test('meshgrid has the axes of NumPy, or those of the vectors', async () => {
  const vectors = [device.tensor([1, 2, 3]), device.tensor([4, 5]), device.tensor([6])];
  const all = async (list) => Promise.all(list.map((each) => each.toArray()));
  assert.deepEqual(await all(T.meshgrid(vectors.slice(0, 2))), [[[1, 2, 3], [1, 2, 3]], [[4, 4, 4], [5, 5, 5]]]);
  assert.deepEqual(await all(T.meshgrid(vectors.slice(0, 2), 'ij')), [[[1, 1], [2, 2], [3, 3]], [[4, 5], [4, 5], [4, 5]]]);
  assert.deepEqual(T.meshgrid(vectors).map(({ sizes }) => sizes), [[2, 3, 1], [2, 3, 1], [2, 3, 1]]);
  assert.throws(() => T.meshgrid([device.tensor([[1]])]), { code: 'invalid-argument', message: /meshgrid: vectors\[0\]/ });
});

test('cdist keeps the digits of points that are near each other and far from 0, and has finite slopes', async () => {
  const a = device.tensor([[1e6, 0], [1e6 + 3, 4]]);
  assert.deepEqual(await T.cdist(a, a).toArray(), [[0, 5], [5, 0]]);
  assert.deepEqual(T.cdist(T.zeros([2, 1, 4, 3]), T.zeros([5, 6, 3])).sizes, [2, 5, 4, 6]);
  const [slope] = T.grad(T.cdist(a, a).sum(), [a]);
  assertNear([...(await slope.data())], [-1.2, -1.6, 1.2, 1.6]);
  assert.throws(() => T.cdist(a, device.tensor([[1]])), { code: 'invalid-argument', message: /cdist: b: got .* takes points of 2 numbers/ });
  // Differences of bytes would wrap.
  assert.throws(() => T.cdist(a.cast('u8'), a.cast('u8')), { code: 'invalid-argument', message: /cdist: a: got a tensor of u8/ });
});

test('1 − erf keeps its digits where it is small', async () => {
  // SciPy's special.erfc of these numbers in single precision.
  assertNear(await device.tensor([-3, -0.5, 0, 0.75, 1, 2, 4, 6, 9]).erfc().data(), [1.9999779095030015, 1.5204998778130465, 1, 0.28884436634648486, 0.15729920705028513, 0.004677734981047266, 1.541725790028002e-8, 2.1519736712498913e-17, 4.13703174651381e-37]);
});

test('log Γ and its derivatives, beside their roots too', async () => {
  // mpmath's values at the numbers of single precision next to these.
  const x = device.tensor([1e-30, 0.001, 0.5, 0.9995, 1.0001, 1.4616321, 1.9999, 2.5, 3, 3.4, 10, 1000, 1e20, -0.5, -1.5, -2.7, -10.25]);
  const values = [69.07755279, 6.907178838, 0.5723649429, 0.0002888270052, -5.772291777e-5, -0.1214862905, -4.228222336e-5, 0.2846828705, Math.LN2, 1.092328162, 12.80182748, 5905.220423, 4.505170278e21, 1.265512123, 0.8600470154, -0.07140703213, -14.2039979];
  const slopes = [-9.999999968e29, -1000.575524, -1.963510026, -0.578038471, -0.5770511562, -1.203605255e-8, 0.422719829, 0.7031566406, 0.9227843351, 1.069567869, 2.251752589, 6.907255196, 46.05170188, 0.03648997398, 0.7031566406, -1.115347833, 5.51685842];
  const seconds = [1000001.548, 4.934802201, 1.646136992, 1.644693648, 0.9676722565, 0.6449744874, 0.4903577561, 0.3949340668, 0.3415413868, 0.1051663357, 0.001000500167];
  const near = (found, expected, tolerance) => expected.forEach((each, k) => assert.ok(Math.abs(found[k] - each) <= tolerance * Math.max(1, Math.abs(each)), `element ${k} is ${found[k]}, not ${each}`));
  const [value, slope, second, derivative] = await device.read(x.logGamma(), x.digamma(), T.grad(x.digamma().sum(), [x])[0].slice([1, 12]), T.grad(x.logGamma().sum(), [x])[0]);
  // From 0 on relatively, below beside the larger of the value and 1.
  assertNear(value.slice(0, 13), values.slice(0, 13));
  near(value, values, TOLERANCE);
  near(slope, slopes, TOLERANCE);
  near(derivative, slopes, 2e-6);
  near(second, seconds, 2e-6);
  assertNear(await device.tensor([1, 2, 0, -1, -7, Infinity, -Infinity, NaN, 3e38]).logGamma().data(), [0, 0, Infinity, Infinity, Infinity, Infinity, Infinity, NaN, Infinity]);
  assertNear(await device.tensor([0, -1, -7, Infinity, NaN]).digamma().data(), [NaN, NaN, NaN, Infinity, NaN]);
  // Slopes at poles and infinities are those of the functions, not those of the numbers that stand for them.
  const ends = device.tensor([-1, -7, Infinity, NaN]);
  assertNear(await T.grad(ends.logGamma().sum(), [ends])[0].data(), [NaN, NaN, Infinity, NaN]);
  assertNear(await T.grad(ends.digamma().sum(), [ends])[0].data(), [NaN, NaN, 0, NaN]);
  assertNear(await x.slice([9, 11]).cast('f16').logGamma().cast('f32').data(), [1.0927734375, 12.8046875]);
});
