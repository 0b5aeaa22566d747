// Recipes of tensors on the CPU, by the module that is packed, beside their meaning in double precision; and their derivatives beside differences.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { writeTape } from '../../pkg-template/dist/tensor/recipe/tape.js';
import { flatOf } from '../facade/tensor-meaning.mjs';
import { randomRecipes } from '../facade/tensor-random-recipes.mjs';
import { recipes } from '../facade/tensor-recipes.mjs';

let device;
before(async () => {
  await T.init(await readFile(new URL('../../pkg-template/wasm-tensor/residua_tensor_bg.wasm', import.meta.url)));
  device = await T.Device.create({ backend: 'cpu' });
});

/** Results of up to ten operations on numbers below 100, each rounded to single precision, which is 6e-8 of a number. */
const TOLERANCE = 1e-5;
/** The same of derivatives, which are sums of products of these. */
const SLOPE_TOLERANCE = 1e-4;

const isNear = (found, expected, tolerance) => Object.is(found, expected) || found === expected || Math.abs(found - expected) <= tolerance * (1 + Math.abs(expected));

/** Puts the inputs of a tape on the device, where they have sizes that are numbers. Returns whether they have. */
function upload(inputs) {
  const own = inputs.filter(({ source }) => source.data !== undefined);
  if (own.some(({ shape }) => shape.some((size) => typeof size !== 'number'))) return false;
  for (const input of own) {
    const { data } = input.source;
    // The evaluator of the tests finds the numbers in the source too.
    input.source = Object.assign(device.tensor(data, input.shape, input.dtype).cell, { data });
  }
  return true;
}

test('recipes give on the CPU what they mean', async () => {
  const wrong = [];
  let count = 0;
  for (const [title, tensor, dims] of recipes()) {
    const expected = flatOf(tensor, dims);
    const tape = writeTape([tensor.node]);
    if (!upload(tape.inputs)) continue;
    let found;
    if (tape.dims.length === 0) [found] = await device.read(tensor);
    else {
      const program = await device.compile({}, () => tensor);
      found = await program.run({}, dims).data();
      program.dispose();
    }
    count += 1;
    const isSame = found.length === expected.length && expected.every((number, i) => isNear(found[i], number, TOLERANCE));
    if (!isSame) wrong.push(`${title}: ${[...found].slice(0, 8)}, not ${expected.slice(0, 8)}`);
  }
  assert.ok(count > 220, `${count} recipes`);
  assert.deepEqual(wrong, []);
});

// 800² beside (log 2)² leaves few digits, at 2 the derivative of min(x, 2) jumps, at halves rounding does, and the square of 5·10³⁰ is beyond single precision.
const NOT_BY_DIFFERENCES = new Set(['activations: logSigmoid does not overflow', 'elementwise: round to even', 'map: min and max', 'reductions: norm without overflow']);
const STEP = 1e-5;

test('chains of operations give in programs what they mean, with sizes that are told at each run', async () => {
  const wrong = [];
  let withDims = 0;
  for (const { tensor, dims } of randomRecipes(150, 77)) {
    const expected = flatOf(tensor, dims);
    const tape = writeTape([tensor.node]);
    const own = tape.inputs.filter(({ source }) => source.data !== undefined);
    const named = (of) => Object.fromEntries(own.map((input, k) => [`x${k}`, of(input)]));
    const feeds = named(({ source }) => source.data);
    const program = await device.compile(named(({ dtype, shape }) => T.spec(dtype, shape)), (inputs) => {
      // The recorded inputs stand for those of the program.
      own.forEach((input, k) => (input.source = inputs[`x${k}`].node.source));
      return tensor;
    });
    const names = new Set([...tape.dims, ...own.flatMap(({ shape }) => shape.filter((size) => typeof size !== 'number'))].map(({ name }) => name));
    const sizes = names.size === 0 ? undefined : Object.fromEntries([...names].map((name) => [name, dims[name]]));
    const found = await program.run(feeds, sizes).data();
    program.dispose();
    withDims += Number(names.size > 0);
    const isSame = found.length === expected.length && expected.every((number, i) => isNear(found[i], number, TOLERANCE));
    if (!isSame) wrong.push(`${tensor}: ${[...found].slice(0, 8)}, not ${expected.slice(0, 8)}`);
  }
  assert.ok(withDims > 40, `${withDims} chains with dims`);
  assert.deepEqual(wrong, []);
});

test('recipes have on the CPU the derivatives of central differences', async () => {
  const wrong = [];
  let count = 0;
  for (const [title, tensor, dims] of recipes()) {
    if (tensor.dtype !== 'f32' || title.startsWith('chain') || title.startsWith('dims') || NOT_BY_DIFFERENCES.has(title)) continue;
    if (!flatOf(tensor, dims).every(Number.isFinite)) continue;
    const { inputs } = writeTape([tensor.node]);
    const leaves = inputs.filter(({ dtype, source }) => dtype === 'f32' && source.data !== undefined);
    if (leaves.length === 0 || !upload(inputs)) continue;
    // The sum of the squares: a sum alone would be constant for a softmax.
    const scalar = tensor.square().sum();
    const slopes = await device.read(...T.grad(scalar, leaves.map((node) => T.Tensor.make(node))));
    leaves.forEach(({ source: { data } }, k) => {
      data.forEach((number, i) => {
        const at = (x) => {
          data[i] = x;
          const [value] = flatOf(scalar);
          data[i] = number;
          return value;
        };
        const step = STEP * (1 + Math.abs(number));
        const expected = (at(number + step) - at(number - step)) / (2 * step);
        count += 1;
        if (!isNear(slopes[k][i], expected, SLOPE_TOLERANCE)) wrong.push(`${title}: input ${k}, element ${i}: ${slopes[k][i]}, not ${expected}`);
      });
    });
  }
  assert.ok(count > 300, `${count} derivatives`);
  assert.deepEqual(wrong, []);
});

test('log2 is exact at the powers of 2, as floor() of it needs, and has the derivative of the logarithm there', async () => {
  const powers = Float32Array.from({ length: 254 }, (_, k) => 2 ** (k - 126));
  const x = device.tensor(powers);
  assert.deepEqual([...(await x.log2().data())], Array.from(powers, (each) => Math.log2(each)));
  const [slope] = T.grad(x.slice([100, 150]).log2().sum(), [x]);
  (await slope.slice([100, 150]).data()).forEach((each, k) => assert.ok(isNear(each * powers[100 + k], Math.LOG2E, TOLERANCE)));
  const special = await device.tensor([0, -0, -1, Infinity, NaN, 3]).log2().data();
  special.forEach((each, k) => assert.ok(isNear(each, Math.log2([0, -0, -1, Infinity, NaN, 3][k]), TOLERANCE), `${each}`));
});

test('a quantile between numbers whose difference overflows is between them', async () => {
  const most = Math.fround(3e38);
  const x = device.tensor([-most, most]);
  assert.equal(await x.median().item(), 0);
  const found = await x.quantile([0, 0.25, 0.75, 1]).data();
  [-most, -most / 2, most / 2, most].forEach((each, k) => assert.ok(Math.abs(found[k] - each) <= TOLERANCE * most, `${found[k]}`));
  // Between a number and an infinity is the infinity, and between two of either sign nothing.
  assert.deepEqual([...(await device.tensor([[1, Infinity], [-Infinity, 1], [-Infinity, Infinity]]).quantile(0.25, 1).data())], [Infinity, -Infinity, NaN]);
  const count = T.dim('count', 4);
  const program = await device.compile({ y: T.spec('f32', [count]) }, ({ y }) => y.quantile(0.25));
  assert.ok(Math.abs((await program.run({ y: [most, -most] }, { count: 2 }).item()) + most / 2) <= TOLERANCE * most);
  program.dispose();
});
