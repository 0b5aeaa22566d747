/**
 * Work beyond the memory limits: work larger than a binding is split; work for which the device has no memory fails and changes nothing.
 */
import { GpuCompiledFunctions, lbfgs, levenbergMarquardt, Problem } from 'residua';
import { onGpu } from '../define.js';

const SIDE = 15;
/** Springs on a grid. Each vertex is also attached to its position at rest, so that there is one minimum. */
function springs() {
  const rest = Float64Array.from({ length: 3 * SIDE * SIDE }, (_, i) => [Math.floor((i / 3) % SIDE), Math.floor(i / 3 / SIDE), 0][i % 3]);
  const positions = rest.map((coordinate, i) => coordinate + 0.3 * Math.sin(7 * i));
  const edges = [], lengths = [];
  for (let v = 0; v < SIDE * SIDE; v++) {
    for (const [across, down] of [[1, 0], [0, 1], [1, 1], [-1, 1], [2, 0], [0, 2]]) {
      const [x, y] = [(v % SIDE) + across, Math.floor(v / SIDE) + down];
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
  problem.residuals('anchors', {
    inputs: { vertex: vertices.at(Uint32Array.from({ length: SIDE * SIDE }, (_, v) => v)), to: problem.data(rest, 3) },
    residual: ({ vertex, to }) => vertex.sub(to),
    weight: 0.1,
  });
  return { problem, vertices, positions };
}

const OPTIONS = { maxIterations: 4, costTolerance: 0, gradientTolerance: 0, parameterTolerance: 0 };

/** Every call of the functions, by name. */
const CALLS = {
  evaluate: async (f) => [...(await f.evaluate())],
  sum: async (f) => { const { value, gradient } = await f.evaluateSumWithGradient(); return [value, ...gradient]; },
  cost: async (f) => { const { value, gradient } = await f.evaluateCostWithGradient(); return [value, ...gradient]; },
  jacobian: async (f) => { const { values, jacobian } = await f.evaluateJacobian(); return [...values, ...jacobian.values]; },
  levenbergMarquardt: async (f) => { const { finalCost, x } = await levenbergMarquardt(f, OPTIONS); return [finalCost, ...x]; },
  lbfgs: async (f) => { const { finalCost, x } = await lbfgs(f, { ...OPTIONS, objective: 'least-squares' }); return [finalCost, ...x]; },
};

async function allResults(context) {
  const { problem, vertices, positions } = springs();
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
  const results = {};
  for (const name of Object.keys(CALLS)) {
    vertices.set(positions);
    results[name] = await CALLS[name](functions);
  }
  functions.dispose();
  return results;
}

/** The cost after eight steps of Levenberg-Marquardt. */
async function minimum(context) {
  const { problem } = springs();
  const functions = await GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
  const { finalCost } = await levenbergMarquardt(functions, { ...OPTIONS, maxIterations: 8 });
  functions.dispose();
  return finalCost;
}

/** A device of an application that reports other limits. */
async function limitedDevice(check, others) {
  const device = await check.ownDevice();
  const limits = {};
  for (const name in device.limits) limits[name] = device.limits[name];
  Object.defineProperty(device, 'limits', { value: { ...limits, ...others } });
  return device;
}

/** The largest difference between two lists, relative to the second's largest number. */
function difference(check, got, expected) {
  check.equal(got.length, expected.length, 'how many numbers there are');
  const largest = Math.max(...expected.map(Math.abs));
  return Math.max(...got.map((number, i) => Math.abs(number - expected[i]))) / largest;
}

/**
 * A device that refuses buffers beyond a number, and reports it as a real one does: to the innermost error scope of that kind. `room` holds
 * how many are `allowed`, how many are `alive`, and whether the first that was refused was for read-back.
 */
async function crampedDevice(check) {
  const device = await check.ownDevice();
  const { createBuffer, pushErrorScope, popErrorScope } = GPUDevice.prototype;
  const room = { allowed: Infinity, alive: 0, refusedReadBack: false };
  const scopes = [];
  device.pushErrorScope = (filter) => { scopes.push({ filter, refused: false }); pushErrorScope.call(device, filter); };
  device.popErrorScope = () => {
    const scope = scopes.pop();
    const answer = popErrorScope.call(device);
    return scope.refused ? answer.then(() => new GPUOutOfMemoryError('no room')) : answer;
  };
  device.createBuffer = (descriptor) => {
    const buffer = createBuffer.call(device, descriptor);
    room.alive += 1;
    buffer.destroy = () => { if (!buffer.gone) room.alive -= 1; buffer.gone = true; GPUBuffer.prototype.destroy.call(buffer); };
    room.allowed -= 1;
    if (room.allowed === -1) room.refusedReadBack = (descriptor.usage & GPUBufferUsage.MAP_READ) !== 0;
    if (room.allowed < 0) scopes.findLast(({ filter }) => filter === 'out-of-memory').refused = true;
    return buffer;
  };
  return { device, room };
}

/** Refuses each buffer of each call in turn. Returns the number of refusals of each call, and the violations. */
async function starveAll(check) {
  const { device, room } = await crampedDevice(check);
  const context = await check.context({ device });
  const refusals = {}, complaints = [];
  /** The live buffers after unused ones are freed. */
  const figures = () => {
    context.trim();
    const { buffers, bufferBytes } = context.stats();
    if (buffers !== room.alive) complaints.push(`${room.alive} buffers are alive, and ${buffers} are known of`);
    return bufferBytes;
  };
  /**
   * Refuses the first buffer of a call, then the second, and so on until the call succeeds. A call that fails leaves no more buffers than
   * before. Only when a buffer for read-back is refused may tables of the functions stay for the next call.
   */
  const starve = async (name, call, expected) => {
    refusals[name] = 0;
    const failures = [];
    for (let most = 0; most < 200; most++) {
      const before = figures();
      room.allowed = most;
      let failure = null, result;
      try { result = await call(); } catch (error) { failure = error; }
      const enough = room.allowed >= 0;
      room.allowed = Infinity;
      if (failure !== null) {
        refusals[name] += 1;
        if (failure.code !== 'out-of-memory') complaints.push(`${name} with room for ${most}: ${failure.code} ${failure.message}`);
        failures.push({ most, before, now: figures(), readBack: room.refusedReadBack });
        continue;
      }
      if (expected && JSON.stringify(result) !== JSON.stringify(expected)) complaints.push(`${name} with room for ${most} gave something else`);
      if (!enough) continue;
      const whole = figures();
      for (const { most, before, now, readBack } of failures) {
        if (!readBack && now > before) complaints.push(`${name} with room for ${most}: ${before} became ${now}`);
        if (readBack && now > whole) complaints.push(`${name} without room for its result keeps ${now}, and ${whole} when it succeeds`);
      }
      return;
    }
    complaints.push(`${name} never had enough`);
  };

  const { problem, vertices, positions } = springs();
  const compile = () => GpuCompiledFunctions.compile(problem, { backend: 'gpu', context });
  const reference = {};
  {
    const functions = await compile();
    for (const name of Object.keys(CALLS)) { vertices.set(positions); reference[name] = await CALLS[name](functions); }
    functions.dispose();
  }
  let functions = null;
  vertices.set(positions);
  refusals.compile = 0;
  for (let most = 0; functions === null; most++) {
    const before = figures();
    room.allowed = most;
    functions = await compile().catch((error) => {
      refusals.compile += 1;
      if (error.code !== 'out-of-memory') complaints.push(`compile: ${error.code} ${error.message}`);
      return null;
    });
    room.allowed = Infinity;
    if (functions === null && figures() !== before) complaints.push(`compile with room for ${most}: ${before} became ${figures()}`);
  }
  for (const name of Object.keys(CALLS)) {
    await starve(name, () => { vertices.set(positions); return CALLS[name](functions); }, name === 'lbfgs' ? null : reference[name]);
  }
  functions.dispose();
  if (figures() !== 0) complaints.push(`after all ${figures()}`);
  return { refusals, complaints };
}

export const group = {
  id: 'memory',
  title: 'Memory limits',
  about: 'Work beyond a limit is split or refused with the limit’s name; a failed allocation fails only its call.',
  checks: [
    ...onGpu('tables larger than one binding are split, and every call gives the same result as without splitting', async (check) => {
      const plain = await check.context({ device: await check.ownDevice() });
      const whole = await allResults(plain);
      // About 1,200 instances with 13 columns of 4 bytes are 62 kB; five vectors of 675 parameters, 14 kB.
      const small = await check.context({ device: await limitedDevice(check, { maxStorageBufferBindingSize: 16384, maxBufferSize: 65536 }) });
      const before = [plain.stats().dispatches, small.stats().dispatches];
      const split = await allResults(small);
      const dispatches = [before[0], small.stats().dispatches - before[1]];
      check.ok(dispatches[1] > 1.5 * dispatches[0], `${dispatches[1]} dispatches for ${dispatches[0]}`);
      check.same(split.evaluate, whole.evaluate, 'residuals are the same kernels on the same numbers');
      check.same(split.jacobian, whole.jacobian, 'Jacobians');
      for (const name of ['sum', 'cost']) {
        check.below(difference(check, split[name], whole[name]), 1e-6, 'Sums of up to 13 addends a vertex and of 1,900 residuals in another order: some units of 2⁻²⁴.', name);
      }
      for (const name of ['levenbergMarquardt', 'lbfgs']) {
        check.below(difference(check, split[name], whole[name]), 1e-4, 'Four steps through another order of sums: single precision’s rounding of the cost, 2⁻²⁴, of which the point’s is the root.', name);
      }
      check.below(Math.abs(split.lbfgs[0] / whole.lbfgs[0] - 1), 1e-5, 'Four steps, after which a hundredth of the cost is left: far above its rounding.', 'the cost of lbfgs');
      // The cost of Levenberg-Marquardt is below that after four steps, so its digits cannot be compared. It continues to the minimum,
      // which is 0.
      for (const [name, context] of [['in one piece', plain], ['split', small]]) {
        check.below(await minimum(context), 1e-9, '½ Σ r² of 1,900 residuals that are what single precision leaves of coordinates up to 14, 8 · 2⁻²³', `the cost after eight steps, ${name}`);
      }
    }, { long: true }),

    ...onGpu('parameters that do not fit into one binding are refused with the name of the limit', async (check) => {
      const context = await check.context({ device: await limitedDevice(check, { maxStorageBufferBindingSize: 2048 }) });
      const refusal = await check.failure(check.compile(springs().problem, { context }));
      check.equal(refusal?.code, 'limit-exceeded');
      check.match(refusal.message, /675 parameters take 2700 bytes; the device's maxStorageBufferBindingSize is 2048/);
      check.equal(context.stats().buffers, 0, 'buffers');
    }),

    ...onGpu("for each buffer that the device refuses, the call fails with 'out-of-memory', no memory leaks, and the next call succeeds", async (check) => {
      const { refusals, complaints } = await starveAll(check);
      check.same(complaints, []);
      for (const name of ['compile', 'evaluate', 'jacobian', 'levenbergMarquardt']) check.ok(refusals[name] > 0, `${name} was refused at least once`);
      check.note('refused buffers:', refusals);
    }, { long: true }),
  ],
};
