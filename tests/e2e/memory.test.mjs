// What does not fit: work larger than a binding is split, and work for which the device has no room fails and leaves everything as it was.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openBlankPage } from '../browser.mjs';

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** In the page: springs on a grid, and a device whose limits and memory the test decides. */
const tools = `
  const { GpuCompiledFunctions, GpuContext, Problem, lbfgs, levenbergMarquardt } = window.residua;
  const SIDE = 15;
  const springs = () => {
    const rest = Float64Array.from({ length: 3 * SIDE * SIDE }, (_, i) => [i / 3 % SIDE | 0, i / 3 / SIDE | 0, 0][i % 3]);
    const positions = rest.map((coordinate, i) => coordinate + 0.3 * Math.sin(7 * i));
    const edges = [], lengths = [];
    for (let v = 0; v < SIDE * SIDE; v++) {
      for (const [across, down] of [[1, 0], [0, 1], [1, 1], [-1, 1], [2, 0], [0, 2]]) {
        const [x, y] = [v % SIDE + across, (v / SIDE | 0) + down];
        if (x < 0 || x >= SIDE || y >= SIDE) continue;
        edges.push(v, y * SIDE + x);
        lengths.push(Math.hypot(across, down));
      }
    }
    const problem = new Problem();
    const vertices = problem.parameters('vertices', { dim: 3, values: positions });
    problem.residuals('springs', {
      inputs: { ends: vertices.at(edges, 2), length: problem.data(lengths) },
      residual: ({ ends: [a, b], length }) => a.distance(b).sub(length),
    });
    // Each vertex wants to be where all springs are at rest, so that there is one minimum.
    problem.residuals('anchors', {
      inputs: { vertex: vertices.at(Uint32Array.from({ length: SIDE * SIDE }, (_, v) => v)), to: problem.data(rest, 3) },
      residual: ({ vertex, to }) => vertex.sub(to),
      weight: 0.1,
    });
    return { problem, vertices, positions };
  };
  const ownDevice = async () => {
    const adapter = await navigator.gpu.requestAdapter();
    return adapter.requestDevice();
  };
  const OPTIONS = { maxIterations: 4, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 };
  const numbers = (array) => Array.from(array);
  /** Every call of the functions, by name. */
  const calls = {
    evaluate: async (f) => numbers(await f.evaluate()),
    sum: async (f) => { const { value, gradient } = await f.evaluateSumWithGradient(); return [value, ...gradient]; },
    cost: async (f) => { const { value, gradient } = await f.evaluateCostWithGradient(); return [value, ...gradient]; },
    jacobian: async (f) => { const { values, jacobian } = await f.evaluateJacobian(); return [...values, ...jacobian.values]; },
    levenbergMarquardt: async (f) => { const { finalCost, x } = await levenbergMarquardt(f, OPTIONS); return [finalCost, ...x]; },
    lbfgs: async (f) => { const { finalCost, x } = await lbfgs(f, { ...OPTIONS, objective: 'least-squares' }); return [finalCost, ...x]; },
  };
  const allResults = async (context) => {
    const { problem, vertices, positions } = springs();
    const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
    const results = {};
    for (const name of Object.keys(calls)) {
      vertices.set(positions);
      results[name] = await calls[name](functions);
    }
    functions.dispose();
    return results;
  };
`;

async function inPage(work) {
  const blank = await openBlankPage(browser);
  try {
    return await blank.page.evaluate(`(async () => { ${tools} ${work} })()`);
  } finally {
    await blank.close();
  }
}

/** The largest difference between two lists, relative to the second's largest number. */
function difference(got, expected) {
  assert.equal(got.length, expected.length);
  const largest = Math.max(...expected.map(Math.abs));
  return Math.max(...got.map((number, i) => Math.abs(number - expected[i]))) / largest;
}

test('tables larger than one binding are split, and every call gives what it gives in one piece', { timeout: 300_000 }, async () => {
  const { whole, split, dispatches } = await inPage(`
    const plain = await GpuContext.create({ device: await ownDevice() });
    const whole = await allResults(plain);
    const device = await ownDevice();
    const limits = {};
    for (const name in device.limits) limits[name] = device.limits[name];
    // Some 1,200 instances with 13 columns of 4 bytes are 62 kB; 675 parameters, five vectors of them side by side, 14 kB.
    Object.defineProperty(device, 'limits', { value: { ...limits, maxStorageBufferBindingSize: 16384, maxBufferSize: 65536 } });
    const small = await GpuContext.create({ device });
    const before = [plain.stats().dispatches, small.stats().dispatches];
    const split = await allResults(small);
    return { whole, split, dispatches: [before[0], small.stats().dispatches - before[1]] };
  `);
  assert.ok(dispatches[1] > 1.5 * dispatches[0], `${dispatches[1]} dispatches for ${dispatches[0]}`);
  assert.deepEqual(split.evaluate, whole.evaluate, 'residuals are the same kernels on the same numbers');
  assert.deepEqual(split.jacobian, whole.jacobian);
  // Sums of up to 13 addends a vertex and of 1,900 residuals in another order: some units of 2⁻²⁴.
  for (const name of ['sum', 'cost']) assert.ok(difference(split[name], whole[name]) < 1e-6, `${name} ${difference(split[name], whole[name])}`);
  // Four steps that reach the minimum to single precision's rounding of the cost, 2⁻²⁴, of which the point's is the root.
  for (const name of ['levenbergMarquardt', 'lbfgs']) {
    assert.ok(difference(split[name], whole[name]) < 1e-4, `${name} ${difference(split[name], whole[name])}`);
    assert.ok(Math.abs(split[name][0] / whole[name][0] - 1) < 1e-5, name);
  }
});

test('parameters that one binding does not cover are refused by the name of the limit', async () => {
  const refusal = await inPage(`
    const device = await ownDevice();
    const limits = {};
    for (const name in device.limits) limits[name] = device.limits[name];
    Object.defineProperty(device, 'limits', { value: { ...limits, maxStorageBufferBindingSize: 2048 } });
    const context = await GpuContext.create({ device });
    return GpuCompiledFunctions.compile(springs().problem, { backend: 'gpu', context }).then(() => null, ({ code, message }) => ({ code, message, ...context.stats() }));
  `);
  assert.equal(refusal.code, 'limit-exceeded');
  assert.match(refusal.message, /675 parameters take 2700 bytes; the device's maxStorageBufferBindingSize is 2048/);
  assert.equal(refusal.buffers, 0);
});

test('whichever buffer the device refuses, the call fails with out-of-memory, nothing is lost, and the next one works', { timeout: 600_000 }, async () => {
  const { refusals, complaints } = await inPage(`
    const device = await ownDevice();
    const { createBuffer, pushErrorScope, popErrorScope } = GPUDevice.prototype;
    // The device says that it has no room for any buffer beyond those allowed, as a real one would: to the innermost scope of that kind.
    let allowed = Infinity;
    let alive = 0;
    const scopes = [];
    device.pushErrorScope = (filter) => { scopes.push({ filter, refused: false }); pushErrorScope.call(device, filter); };
    device.popErrorScope = () => {
      const scope = scopes.pop();
      const answer = popErrorScope.call(device);
      return scope.refused ? answer.then(() => new GPUOutOfMemoryError('no room')) : answer;
    };
    device.createBuffer = (descriptor) => {
      const buffer = createBuffer.call(device, descriptor);
      alive += 1;
      buffer.destroy = () => { if (!buffer.gone) alive -= 1; buffer.gone = true; GPUBuffer.prototype.destroy.call(buffer); };
      allowed -= 1;
      if (allowed < 0) scopes.findLast(({ filter }) => filter === 'out-of-memory').refused = true;
      return buffer;
    };
    const context = await GpuContext.create({ device });
    /** What is alive once unused buffers are given back. */
    const figures = () => {
      context.trim();
      const { buffers, bufferBytes } = context.stats();
      if (buffers !== alive) complaints.push(alive + ' buffers are alive, and ' + buffers + ' are known of');
      return bufferBytes;
    };
    const complaints = [];
    const refusals = {};
    /**
     * Refuses the first buffer of a call, then the second, and so on until it has what it needs. A call that fails leaves no more than there was before. Only
     * when the last buffer is refused, to which the result would have come back, do tables of the functions stay for the next call.
     */
    const starve = async (name, call, expected) => {
      refusals[name] = 0;
      const failures = [];
      for (let room = 0; room < 200; room++) {
        const before = figures();
        allowed = room;
        let failure = null, result;
        try { result = await call(); } catch (error) { failure = error; }
        const enough = allowed >= 0;
        allowed = Infinity;
        if (failure !== null) {
          refusals[name] += 1;
          if (failure.code !== 'out-of-memory') complaints.push(name + ' with room for ' + room + ': ' + failure.code + ' ' + failure.message);
          failures.push({ room, before, now: figures() });
          continue;
        }
        if (expected && JSON.stringify(result) !== JSON.stringify(expected)) complaints.push(name + ' with room for ' + room + ' gave something else');
        if (!enough) continue;
        const whole = figures();
        const last = failures.pop();
        for (const { room, before, now } of failures) {
          if (now > before) complaints.push(name + ' with room for ' + room + ': ' + before + ' became ' + now);
        }
        if (last && last.now > whole) complaints.push(name + ' refused at the end keeps ' + last.now + ', and ' + whole + ' when it succeeds');
        return result;
      }
      complaints.push(name + ' never had enough');
      return null;
    };
    const { problem, vertices, positions } = springs();
    const compile = () => GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
    const reference = {};
    {
      const functions = await compile();
      for (const name of Object.keys(calls)) { vertices.set(positions); reference[name] = await calls[name](functions); }
      functions.dispose();
    }
    let functions = null;
    vertices.set(positions);
    refusals.compile = 0;
    for (let room = 0; functions === null; room++) {
      const before = figures();
      allowed = room;
      functions = await compile().catch((error) => {
        refusals.compile += 1;
        if (error.code !== 'out-of-memory') complaints.push('compile: ' + error.code + ' ' + error.message);
        return null;
      });
      allowed = Infinity;
      if (functions === null && figures() !== before) complaints.push('compile with room for ' + room + ': ' + before + ' became ' + figures());
    }
    for (const name of Object.keys(calls)) {
      await starve(name, () => { vertices.set(positions); return calls[name](functions); }, name === 'lbfgs' ? null : reference[name]);
    }
    functions.dispose();
    if (figures() !== 0) complaints.push('after all ' + figures());
    return { refusals, complaints };
  `);
  assert.deepEqual(complaints, []);
  for (const name of ['compile', 'evaluate', 'jacobian', 'levenbergMarquardt']) assert.ok(refusals[name] > 0, `${name} was never refused`);
  console.log('refused buffers:', refusals);
});
