/** Numbers near the ends of the range of f32: units, derivatives whose squares overflow, and parameters whose effect vanishes on the way. */
import { lbfgs, levenbergMarquardt, Problem, solveMany, V } from 'residua';
import { gpuAgainstCpu, onGpu } from '../define.js';

/** BoxBOD of NIST's Statistical Reference Datasets: b₁(1 − exp(−b₂t)), and half of the certified sum of squares. */
const TIMES = [1, 2, 3, 5, 7, 10], MEASURED = [109, 149, 149, 191, 213, 224];
const LEAST = 1168.0088766 / 2;
/** Starts from which steps without a rule against it lose b₂: the exponential vanishes, and a cost of 4885.75 is the least. */
const STARTS = [[1, 1], [10, 10], [1, 10], [0.1, 0.1]];

/** NIST's second start, each parameter times a power of ten between -1.5 and 1.5. */
function randomStarts(count) {
  let state = 12345;
  const power = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 10 ** ((3 * state) / 2 ** 32 - 1.5);
  };
  return Array.from({ length: count }, () => [100 * power(), 0.75 * power()]);
}

/** The fit, whose residuals and parameters are numbers of units that are so many times smaller. */
function rise(start, ofResiduals = 1, units = [1, 1]) {
  const problem = new Problem();
  const b = problem.parameters('b', { dim: 2, values: start.map((number, k) => number * units[k]) });
  problem.residuals('rise', {
    inputs: { b: b.shared(), t: problem.data(TIMES), y: problem.data(MEASURED) },
    residual: ({ b, t, y }) => V.sub(1, V.exp(V.neg(b.y.mul(1 / units[1]).mul(t)))).mul(b.x).mul(1 / units[0]).sub(y).mul(ofResiduals),
  });
  return { problem, b };
}

/** A fit from each start in one problem; the heights grow by a hundredth from fit to fit. `others`: blocks of six numbers besides, of no residual. */
function rises(starts, others = 0) {
  const problem = new Problem();
  if (others > 0) problem.parameters('others', { dim: 6, values: Array(6 * others).fill(0) });
  const b = problem.parameters('b', { dim: 2, values: starts.flat() });
  const height = (fit) => 1 + 0.01 * fit;
  problem.residuals('rise', {
    inputs: { b: b.at(starts.flatMap((_, fit) => TIMES.map(() => fit))), t: problem.data(starts.flatMap(() => TIMES)), y: problem.data(starts.flatMap((_, fit) => MEASURED.map((y) => y * height(fit)))) },
    residual: ({ b, t, y }) => V.sub(1, V.exp(V.neg(b.y.mul(t)))).mul(b.x).sub(y),
  });
  return { problem, b, least: starts.reduce((sum, _, fit) => sum + LEAST * height(fit) ** 2, 0) };
}

const isThere = ({ finalCost }) => Math.abs(finalCost / LEAST - 1) < 1e-5;

export const group = {
  id: 'range',
  title: 'Range of numbers',
  about: 'Units of residuals and parameters, derivatives whose squares are beyond single precision, and parameters that lose their effect.',
  checks: [
    ...onGpu('units of 2^±30 of the residuals or of a parameter change no decision', async (check) => {
      const decisions = async (...units) => {
        const { termination, history } = await levenbergMarquardt(await check.compile(rise([100, 0.75], ...units).problem));
        return [termination, ...history.map(({ accepted }) => accepted)];
      };
      const usual = await decisions();
      check.ok(usual.length > 4, `steps to compare: ${usual}`);
      for (const unit of [2 ** 30, 2 ** -30]) {
        for (const units of [[unit], [1, [unit, 1]], [1, [1, unit]]]) check.same(await decisions(...units), usual, `units ${JSON.stringify(units)}`);
      }
    }),

    ...gpuAgainstCpu('a start at which squares of derivatives overflow f32 is refused with their names, and with \'auto\' solved by the CPU', async (check) => {
      const line = () => {
        const problem = new Problem();
        const slope = problem.parameters('slope', { dim: 1, values: [5e-20] });
        problem.residuals('line', { inputs: { slope: slope.shared(), t: problem.data([1, 2, 3]), y: problem.data([2, 4, 6]) }, residual: ({ slope, t, y }) => slope.mul(1e20).mul(t).sub(y) });
        return problem;
      };
      const refused = await check.failureInWords(levenbergMarquardt(await check.compile(line(), { backend: 'gpu' })));
      check.match(refused, /^non-finite: the derivative of residual 2 \(block 'line', instance 2, residual 0 of 1\) with respect to slope\S* is 3\.0e20 at the start, too large for sums of squares in single precision/);
      for (const options of [{ backend: 'cpu' }, { backend: 'auto', fallbackThreshold: 0 }]) {
        const { success, x, message, arithmetic } = await levenbergMarquardt(await check.compile(line(), options));
        check.ok(success, message);
        check.close(x[0] / 2e-20, 1, { within: 1e-8, because: 'parameterTolerance' }, options.backend);
        check.equal(arithmetic, 'f64');
        check.equal(message.startsWith('Not in single precision: the derivative of residual 2'), options.backend === 'auto', message);
      }
    }),

    ...onGpu('a step on the GPU that loses a parameter is rejected, in single precision and in pairs', async (check) => {
      const starts = [...STARTS, ...randomStarts(20)];
      // Without the rule no run on the GPU arrives from the first four, and 14 do from the others.
      for (const engine of [{ backend: 'gpu' }, { backend: 'gpu', precision: 'f32x2' }]) {
        const { problem, b } = rise(starts[0]);
        const functions = await check.compile(problem, engine);
        let arrived = 0;
        for (const [k, start] of starts.entries()) {
          b.set(start);
          const result = await levenbergMarquardt(functions);
          const told = `${JSON.stringify(engine)} ${start}: ${result.finalCost} ${result.message}`;
          check.equal(result.arithmetic, engine.precision ?? 'f32');
          check.equal(result.success, isThere(result), told);
          if (k < STARTS.length) check.ok(result.success, told);
          else if (result.success) arrived += 1;
          else check.note(told);
        }
        check.note('of 20 random starts arrive', arrived, engine.precision ?? 'f32');
        check.ok(arrived > 14, `${JSON.stringify(engine)}: ${arrived} of 20 arrive`);
      }
    }, { slow: true }),

    ...onGpu('of many fits in one problem each arrives where steps lose a parameter, in frames too', async (check) => {
      // Without the rule none of the first and 49 of the second arrive, as successes.
      const sets = { all: Array.from({ length: 40 }, () => [1, 1]), one: Array.from({ length: 50 }, (_, fit) => (fit === 0 ? [1, 1] : [100, 0.75])) };
      for (const engine of [{ backend: 'gpu' }, { backend: 'gpu', precision: 'f32x2' }]) {
        for (const [name, starts] of Object.entries(sets)) {
          const { problem, b, least } = rises(starts);
          const functions = await check.compile(problem, engine);
          const arrives = (result, of) => {
            check.ok(result.success, `${of}: ${result.message}`);
            check.close(result.finalCost / least, 1, { within: 1e-5, because: 'the cost in f32' }, of);
          };
          arrives(await levenbergMarquardt(functions), `${JSON.stringify(engine)} ${name}`);
          for (let frame = 0; frame < 3; frame += 1) {
            b.set(starts.flat());
            arrives(await levenbergMarquardt(functions, { readBack: false }), `${JSON.stringify(engine)} ${name}, frame ${frame}`);
          }
        }
      }
    }, { slow: true }),

    ...gpuAgainstCpu('a solve of more than 65,536 numbers on the GPU that loses a parameter is no success, and with \'auto\' the CPU begins again at the start', async (check) => {
      // Steps that lose a parameter are taken there.
      const solved = async (backend) => levenbergMarquardt(await check.compile(rises([[1, 1]], 10_923).problem, { backend, fallbackThreshold: 0 }));
      const gpu = await solved('gpu');
      check.ok(!isThere(gpu), `${gpu.finalCost}`);
      check.equal(gpu.termination, 'precision-limit', gpu.message);
      check.match(gpu.message, / b\[0\] coordinate 1 (could not be moved|has no effect)/);
      const auto = await solved('auto');
      check.ok(auto.success && isThere(auto), auto.message);
      check.match(auto.message, /and the CPU began again at the start for \d+ in double precision/);
      check.equal(auto.arithmetic, 'f64');
    }, { slow: true }),

    ...onGpu('L-BFGS that loses a parameter is no success', async (check) => {
      // A unit step leads to exp(−999), which is 0 in f64 too.
      const problem = new Problem();
      const x = problem.parameters('x', { dim: 1, values: [-0.001] });
      problem.residuals('power', { inputs: { x: x.shared() }, residual: ({ x }) => V.exp(x.mul(-1000)).sub(0.5) });
      const { termination, message } = await lbfgs(await check.compile(problem), { objective: 'least-squares' });
      check.equal(termination, 'precision-limit', message);
      check.match(message, /x\[0\] has no effect on the cost there/);
    }),

    ...gpuAgainstCpu('of many problems those that lose a parameter are no success on the GPU, and all arrive on the CPU', async (check) => {
      const starts = [...STARTS, ...randomStarts(20)];
      const batch = { count: starts.length, parameters: { b: starts.flat() } };
      const least = ({ cost }) => cost.reduce((count, finalCost) => count + Number(isThere({ finalCost })), 0);
      const cpu = await solveMany(rise([1, 1]).problem, batch, { backend: 'cpu' });
      check.equal(least(cpu), 24, cpu.message);
      for (const precision of ['f32', 'f32x2']) {
        const gpu = await solveMany(rise([1, 1]).problem, batch, { backend: 'gpu', precision });
        check.note('of 24 problems arrive on the GPU', least(gpu), precision);
        check.equal(gpu.converged, least(gpu), gpu.message);
        const isLost = (end, k) => isThere({ finalCost: gpu.cost[k] }) || ['precision-limit', 'non-finite'].includes(end);
        check.ok(gpu.termination.every(isLost), `no success where a problem has lost its parameter: ${gpu.termination}`);
        check.match(gpu.message, /\d+ ended with 'precision-limit': (single|double-single) precision tells no minimum there\./);
      }
    }),
  ],
};
