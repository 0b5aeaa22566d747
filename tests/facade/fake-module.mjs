/** A fake of the WebAssembly module: it records the calls it receives, and tests control when its calls end. */

import { start } from '../../pkg-template/dist/module/loading.js';
import { rawSolve } from './raw-solve.mjs';

/** Installs a new fake module and returns its controls. */
export function install({ gpu = true } = {}) {
  const fake = { problems: [], compiled: [], solvedMany: [], many: [], nonFinite: [], contexts: [], restarts: 0, panic: null, trap: null, refusedBytes: 0, gpu, reason: null, stats: {} };

  /** The engine's context, as requested from the facade: undefined for 'cpu', and for 'auto' with a reason or without a GPU. */
  async function contextOf(engine) {
    if (engine.backend === 'cpu') return { context: undefined, reason: undefined };
    if (engine.backend === 'auto' && fake.reason !== null) return { context: undefined, reason: fake.reason };
    try {
      return { context: await engine.requestContext(), reason: undefined };
    } catch (error) {
      if (engine.backend !== 'auto' || error.code !== 'gpu-unavailable') throw error;
      return { context: undefined, reason: error.message };
    }
  }

  class RawProblem {
    static fromTape(paramCount, entries, constants, outputs) {
      const problem = new RawProblem();
      const column = (k) => entries.flatMap((piece) => [...(piece[k] ?? new Uint32Array(piece[0].length))]);
      const [ops, a, b, c] = [0, 1, 2, 3].map((k) => (k === 0 ? Uint8Array : Uint32Array).from(column(k)));
      problem.tape = { paramCount, ops, a, b, c, constants: Float64Array.from(constants.flatMap((piece) => [...piece])), outputs };
      return problem;
    }
    arrays = [];
    blocks = [];
    templates = [];
    freed = false;
    constructor() {
      fake.problems.push(this);
    }
    addArray(...args) {
      return this.arrays.push(args) - 1;
    }
    groups = [];
    setElimination(...args) {
      this.groups.push(args);
    }
    tables = [];
    setTables(numbers) {
      this.tables.push(Array.from(numbers));
    }
    weightColumns = [];
    setInstanceWeights(...args) {
      this.weightColumns.push(args);
    }
    plain = [];
    setPlain(...args) {
      this.plain.push(args);
    }
    addBlock(...args) {
      return this.blocks.push(args) - 1;
    }
    /** The tables are read at once, in pieces of two instances. */
    addTemplate(block, count, instances, rows, slotArrays, readIndices, dataColumns, readData, ...tape) {
      const read = (reader, columns) => {
        const table = [];
        for (let column = 0; column < columns; column++) {
          for (let first = 0; first < count; first += 2) table.push(...reader(column, first, Math.min(2, count - first)));
        }
        return table;
      };
      const indices = read(readIndices, slotArrays.length);
      return this.templates.push([block, count, instances, rows, slotArrays, indices, dataColumns, read(readData, dataColumns), ...tape]) - 1;
    }
    free() {
      this.freed = true;
    }
  }

  class RawContext {
    disposed = false;
    isGone = false;
    loss = deferred();
    constructor() {
      fake.contexts.push(this);
    }
    static async isAvailable() {
      return fake.gpu;
    }
    static async create() {
      if (!fake.gpu) throw Object.assign(new Error('there is no navigator.gpu'), { code: 'gpu-unavailable' });
      return new RawContext();
    }
    share() {
      return this;
    }
    device() {
      return { fake: 'device' };
    }
    adapter() {
      return { vendor: 'fake', architecture: '', description: '', isSoftware: false };
    }
    lost() {
      return this.loss.promise;
    }
    isLost() {
      return this.isGone;
    }
    stats() {
      return { ...fake.stats };
    }
    trim() {}
    dispose() {
      this.disposed = true;
    }
  }

  class RawFunctions {
    /** Names and arguments of the calls, in order. */
    log = [];
    /** Number of running calls; more than one is an error of the facade. */
    running = 0;
    /** Called by the next call, which waits for its result. */
    hold = null;
    disposed = false;
    constructor(problem, values) {
      this.problem = problem;
      this.x = values.slice();
    }
    static async compile(problem, values, fillValues, engine, batchSize, onProgress, aborted) {
      const { context, reason } = await contextOf(engine);
      await fake.compileHold?.(onProgress, aborted);
      fillValues(0, values.length);
      const functions = new RawFunctions(problem, values);
      Object.assign(functions, { context, reason, engine });
      fake.compiled.push(functions);
      return functions;
    }
    async run(name, result) {
      if (this.running > 0) throw new Error('two calls at once');
      if (this.disposed) throw new Error('called after dispose');
      this.running += 1;
      this.log.push([name]);
      try {
        await this.hold?.(name);
        return result();
      } finally {
        this.running -= 1;
      }
    }
    note(name, ...args) {
      if (this.running > 0) throw new Error('a setter during a call');
      this.log.push([name, ...args]);
    }
    isOnGpu = () => this.context !== undefined;
    areGradientsOnCpu = () => this.context === undefined;
    fallbackReason = () => this.reason;
    precision = () => (this.context === undefined ? 'f64' : this.engine.precision);
    numParams = () => this.x.length;
    numResiduals = () => this.x.length;
    kernelCount = () => 1;
    kernels = () => [];
    compileTimes = () => ({ group: 1 });
    setValuesAt(starts, lengths, numbers) {
      const set = {};
      let end = 0;
      starts.forEach((start, i) => {
        set[start] = Array.from(numbers.subarray(end, (end += lengths[i])));
        this.x.set(set[start], start);
      });
      this.note('setValuesAt', set);
    }
    setConstant = (mask) => this.note('setConstant', Array.from(mask));
    setBounds = (lower, upper) => this.note('setBounds', Array.from(lower), Array.from(upper));
    setData = (template, column, numbers) => this.note('setData', template, column, Array.from(numbers));
    setTables = (first, numbers) => this.note('setTables', first, Array.from(numbers));
    setWeight = (block, weight) => this.note('setWeight', block, weight);
    setLoss = (block, kind, a, b, factor) => this.note('setLoss', block, kind, a, b, factor);
    setEnabled = (block, on) => this.note('setEnabled', block, on);
    pointPlace = () => (this.place ??= new Float64Array(this.x.length));
    isPointFinite = () => this.place.every(Number.isFinite);
    /** The point of a call: undefined is the current numbers, null the numbers in `pointPlace`. */
    at = (x) => (x === undefined ? this.x : (x ?? this.place));
    evaluate(x) {
      const at = Array.from(x ?? this.x);
      return this.run('evaluate', () => Float64Array.from(at));
    }
    evaluateCostWithGradientOnDevice(x) {
      return this.run('cost on the device', () => ({ value: this.at(x)[0], gradient: null }));
    }
    evaluateSumWithGradient(x, into) {
      return this.run('sum', () => ({ value: 0, gradient: fill(into, 1) }));
    }
    evaluateCostWithGradient(x, into) {
      return this.run('cost', () => ({ value: 0, gradient: fill(into, 1) }));
    }
    evaluateJacobian(x, pattern, values = new Float64Array(2), entries = new Float64Array(4)) {
      this.lastJacobian = { values, entries };
      const known = pattern ? { rowOffsets: Uint32Array.of(0, 2, 4), colIndices: Uint32Array.of(0, 1, 2, 3) } : {};
      return this.run('jacobian', () => ({ values: fill(values, 1), entries: fill(entries, 2), ...known }));
    }
    covariance(blocks, ...estimate) {
      this.covarianceOf = blocks && Array.from(blocks);
      this.covarianceEstimate = estimate;
      return this.run('covariance', () => Float64Array.from(fake.covariance));
    }
    rank(tolerance) {
      return this.run('rank', () => ({ ...fake.rank, tolerance }));
    }
    lbfgs(options, onIteration, aborted) {
      return this.solve('lbfgs', options, onIteration, aborted);
    }
    levenbergMarquardt(options, onIteration, aborted) {
      return this.solve('levenbergMarquardt', options, onIteration, aborted);
    }
    solve(name, options, onIteration, aborted) {
      this.options = options;
      return this.run(name, () => {
        let stopped = aborted();
        for (let iteration = 0; !stopped && iteration < 3; iteration++) stopped = onIteration({ iteration, cost: 1 }) || aborted();
        this.x = this.x.map((value) => value + 100);
        return rawSolve({ success: !stopped, termination: stopped ? 'aborted' : 'cost-tolerance', checkIsDue: fake.checkIsDue, x: this.x });
      });
    }
    parameterBuffer = () => undefined;
    dataBuffer = () => null;
    download() {
      return this.run('download', () => this.x.slice());
    }
    checkDigits() {
      return this.run('digits', async () => void (await fake.digits));
    }
    dispose() {
      if (this.running > 0) throw new Error('freed during a call');
      this.disposed = true;
    }
  }

  class RawMany {
    constructor(problem, values, constant, lower, upper, count) {
      Object.assign(this, { problem, values, count });
      fake.many.push(this);
    }
    /** Arguments of the calls, by their names. */
    log = [];
    setBlock() {}
    addParameters(...args) {
      this.log.push(['addParameters', ...args]);
    }
    addData(...args) {
      this.log.push(['addData', ...args]);
    }
    async solve(engine, options) {
      const { context, reason } = await contextOf(engine);
      fake.solvedMany.push({ engine, options, context });
      const { values, count } = this;
      return {
        x: new Float64Array(values.length * count), cost: new Float64Array(count), standardErrors: options.standardErrors ? new Float64Array(values.length * count) : null, iterations: new Uint32Array(count), termination: Uint8Array.from({ length: count }, (_, problem) => Number(fake.nonFinite.includes(problem))),
        terminations: ['cost-tolerance', 'non-finite'], findings: '', converged: count, computationTime: 1, backend: context === undefined ? 'cpu' : 'gpu', fallbackReason: reason ?? null,
        arithmetic: context === undefined ? 'f64' : 'f32', precisionLoss: context === undefined ? 0 : 0.25, message: 'All converged.',
      };
    }
  }

  fake.module = {
    default: async () => {},
    RawMany,
    RawProblem,
    RawContext,
    RawFunctions,
    evaluateExpression: (ops, a, b, c, constants, parameters, output) => fake.evaluate(ops, a, b, c, constants, parameters, output),
    onPanic: (listener) => {
      fake.panic = listener;
    },
    onTrap: (listener) => {
      fake.trap = listener;
    },
    refusedBytes: () => fake.refusedBytes,
    memoryBytes: () => 3_000_000_000,
    restart: () => {
      fake.restarts += 1;
    },
  };
  fake.restart = fake.module.restart;
  start(fake.module);
  return fake;
}

/** Fills an array, as the module does, unless its buffer is detached. */
const fill = (array, number) => (array.length > 0 ? array.fill(number) : array);

/** A promise with its resolve and reject. */
export function deferred() {
  const handles = {};
  handles.promise = new Promise((resolve, reject) => Object.assign(handles, { resolve, reject }));
  return handles;
}

/** Waits until all microtasks have run. */
export const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

/** For assert.rejects and assert.throws: a ResiduaError of a code whose message matches. */
export function residuaError(code, message = /./) {
  return (error) => {
    if (error.name !== 'ResiduaError' || error.code !== code || !message.test(error.message)) {
      throw new Error(`expected ${code} ${message}, got ${error.name} ${error.code}: ${error.message}`, { cause: error });
    }
    return true;
  };
}
