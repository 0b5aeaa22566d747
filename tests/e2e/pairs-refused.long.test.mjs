// Where pairs of f32 do not hold, a compile and a change of a loss refuse them in words, and 'auto' takes the CPU. What a compiler would do that sees
// through the guard's zero is done to the shaders' text on its way to the browser: Firefox's software adapter then rearranges sums. Chromium's does not.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { browserName, launch, openBlankPage } from '../browser.mjs';

/** The distance from the CPU's solution and from its cost at the start, of numbers near 1: pairs are within 1e-12 or so, single precision within 1e-6. */
const EXACT = 1e-10;
const REFUSAL = /^double-single arithmetic does not hold on this device: /;

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/**
 * In the page: `window.fit(options)` compiles a fit and solves it, with a change of the loss between if `changeLoss`. `window.zero(entry)` says what the
 * guard of a shader becomes: 'literal' or 'uniform', `zeroAfterCompile` of those that are made later; undefined leaves it as it is.
 */
async function defineFit() {
  const { createBindGroup, createBuffer, createShaderModule } = GPUDevice.prototype;
  window.zero = () => undefined;
  window.changed = new Set();
  const isUniform = (buffer) => (buffer?.usage & GPUBufferUsage.UNIFORM) !== 0;
  // Room for a word behind every uniform structure.
  GPUDevice.prototype.createBuffer = function (descriptor) {
    return createBuffer.call(this, descriptor.usage & GPUBufferUsage.UNIFORM ? { ...descriptor, size: descriptor.size + 16 } : descriptor);
  };
  GPUDevice.prototype.createBindGroup = function (descriptor) {
    const entries = [...descriptor.entries].map((entry) => {
      const { buffer, size } = entry.resource;
      return size === undefined || !isUniform(buffer) ? entry : { ...entry, resource: { ...entry.resource, size: size + 16 } };
    });
    return createBindGroup.call(this, { ...descriptor, entries });
  };
  GPUDevice.prototype.createShaderModule = function (descriptor) {
    const { code } = descriptor, [, entry] = /@compute @workgroup_size\(\d+\)\s*fn (\w+)/.exec(code) ?? [];
    const zero = window.zero(entry), guard = /(fn guard_zero\(\) -> u32 \{\s*return )[^;]*;/;
    const [, name, structure] = /var<uniform> (\w+): (\w+);/.exec(code) ?? [];
    if (zero === undefined || name === undefined || !guard.test(code)) return createShaderModule.call(this, descriptor);
    window.changed.add(entry);
    if (zero === 'literal') return createShaderModule.call(this, { ...descriptor, code: code.replace(guard, (_, head) => `${head}0u;`) });
    const widened = code.replace(new RegExp(`(struct ${structure} \\{[^}]*\\n)\\}`), (_, head) => `${head}    guard_word: u32,\n}`);
    return createShaderModule.call(this, { ...descriptor, code: widened.replace(guard, (_, head) => `${head}${name}.guard_word;`) });
  };

  const { GpuCompiledFunctions, Problem, V, levenbergMarquardt, loss } = window.residua;
  const tolerances = { costTolerance: 1e-15, gradientTolerance: 1e-15, parameterTolerance: 1e-15 };
  const times = Float64Array.from({ length: 50 }, (_, i) => i / 9);
  // What the decay leaves is no rounding.
  const observed = times.map((t, i) => 1.1 * Math.exp(-0.7 * t) + 0.3 + 0.01 * Math.sin(13 * i));

  async function solved({ changeLoss, zeroAfterCompile, ...engine }) {
    const problem = new Problem();
    const b = problem.parameters('b', { dim: 3, values: [1, 1, 0] });
    const block = problem.residuals('decay', {
      inputs: { b: b.shared(), t: problem.data(times), y: problem.data(observed) },
      residual: ({ b: [a, rate, rest], t, y }) => a.mul(V.exp(rate.mul(t).neg())).add(rest).sub(y),
    });
    const functions = await GpuCompiledFunctions.compile(problem, { precision: 'f32x2', ...engine });
    if (zeroAfterCompile !== undefined) window.zero = () => zeroAfterCompile;
    if (changeLoss) block.setLoss(loss.cauchy(0.02));
    const { backend, precision, fallbackReason } = functions;
    const { value: cost } = await functions.evaluateCostWithGradient();
    const { x, arithmetic, message } = await levenbergMarquardt(functions, tolerances);
    return { backend, precision, fallbackReason, cost, x, arithmetic, message };
  }

  window.fit = async (options) => {
    const exact = await solved({ backend: 'cpu', changeLoss: options.changeLoss });
    try {
      const { x, cost, ...found } = await solved(options);
      return { ...found, error: Math.max(Math.abs(cost - exact.cost), ...x.map((value, i) => Math.abs(value - exact.x[i]))) };
    } catch ({ code, message }) {
      return { code, message };
    }
  };
}

/** Fits in a page of its own, whose device no test has seen: `zero(entry)` says what guards are. */
async function fits(zero, ...options) {
  const { page, close } = await openBlankPage(browser);
  try {
    await page.evaluate(defineFit);
    await page.evaluate(`window.zero = ${zero}`);
    const results = [];
    for (const option of options) results.push(await page.evaluate((option) => window.fit(option), option));
    return { results, changed: await page.evaluate(() => [...window.changed]) };
  } finally {
    await close();
  }
}

const gpu = { backend: 'gpu' }, auto = { backend: 'auto', fallbackThreshold: 0 }, single = { backend: 'gpu', precision: 'f32' };
const rearranges = browserName === 'firefox';
const isExact = ({ error }) => error < EXACT;
const isRefused = ({ code, message }) => code === 'gpu-unavailable' && REFUSAL.test(message);

describe('pairs that do not hold are refused', () => {
  test('without a change they hold', async () => {
    const { results, changed } = await fits('() => undefined', gpu, { ...gpu, changeLoss: true }, auto);
    assert.deepEqual(changed, []);
    for (const result of results) assert.deepEqual([result.backend, result.precision, result.arithmetic, isExact(result)], ['gpu', 'f32x2', 'f32x2', true]);
  });

  test('by the test of the arithmetic, where the guard of its kernel is a zero that the compiler knows', async () => {
    const { results: [onGpu, byAuto, inSingle], changed } = await fits(`(entry) => (entry === 'pair_arithmetic_test' ? 'literal' : undefined)`, gpu, auto, single);
    assert.deepEqual(changed, ['pair_arithmetic_test']);
    assert.equal(inSingle.precision, 'f32');
    if (!rearranges) return assert.ok([onGpu, byAuto].every(isExact));
    assert.ok(isRefused(onGpu) && onGpu.message.endsWith('additions are not rounded to nearest, or are rearranged'), JSON.stringify(onGpu));
    assert.deepEqual([byAuto.backend, byAuto.precision, byAuto.fallbackReason, isExact(byAuto)], ['cpu', 'f64', onGpu.message, true]);
  });

  test('by the check of a compile, where the guards of its kernels are', async () => {
    const { results: [onGpu, byAuto], changed } = await fits(`(entry) => (entry === 'pair_arithmetic_test' ? undefined : 'literal')`, gpu, auto);
    assert.ok(changed.includes('costGradient') && changed.includes('values'));
    if (!rearranges) return assert.ok([onGpu, byAuto].every(isExact));
    assert.ok(isRefused(onGpu) && onGpu.message.includes(`block 'decay'`), JSON.stringify(onGpu));
    assert.deepEqual([byAuto.backend, byAuto.precision, byAuto.fallbackReason, isExact(byAuto)], ['cpu', 'f64', onGpu.message, true]);
  });

  test('by the check of kernels that a change of the loss replaces', async () => {
    const changeLoss = { changeLoss: true, zeroAfterCompile: 'literal' };
    const onGpu = (await fits('() => undefined', { ...gpu, ...changeLoss })).results[0], byAuto = (await fits('() => undefined', { ...auto, ...changeLoss })).results[0];
    if (!rearranges) return assert.ok([onGpu, byAuto].every(isExact));
    assert.ok(isRefused(onGpu) && onGpu.message.includes(`block 'decay'`), JSON.stringify(onGpu));
    assert.deepEqual([byAuto.backend, byAuto.arithmetic, isExact(byAuto)], ['gpu', 'f64', true]);
    assert.ok(byAuto.message.endsWith(` On the CPU, since ${onGpu.message}.`), byAuto.message);
  });

  test('or are right, where the guard is a zero in a uniform', async () => {
    const { results: [onGpu, byAuto], changed } = await fits(`() => 'uniform'`, gpu, auto);
    assert.ok(changed.includes('pair_arithmetic_test') && changed.length > 1);
    assert.ok(isRefused(onGpu) || isExact(onGpu), JSON.stringify(onGpu));
    assert.ok(isExact(byAuto), JSON.stringify(byAuto));
  });
});
