/** Gradients that stay on the GPU, as an application reads them there. */
import { GpuContext, levenbergMarquardt, Problem } from 'residua';
import { onCpu, onEach, onGpu } from '../define.js';
import { bufferNumbers } from '../buffer-numbers.js';

/** A straight chain of stretched springs between 50 points. */
async function chain(check) {
  const problem = new Problem();
  const values = Float64Array.from({ length: 150 }, (_, k) => (k % 3 === 0 ? k / 2 : (k % 7) / 8));
  const points = problem.parameters('points', { dim: 3, values });
  const ends = Uint32Array.from({ length: 98 }, (_, k) => (k >> 1) + (k & 1));
  problem.residuals('springs', { inputs: { ends: points.at(ends, 2) }, residual: ({ ends: [a, b] }) => a.distance(b).sub(1) });
  return { points, values, functions: await check.compile(problem) };
}

export const group = {
  id: 'gradient-on-device',
  title: 'Gradients left on the GPU',
  about: 'The same numbers as those that are read back, in one buffer for the object’s life.',
  checks: [
    ...onGpu('a gradient left on the GPU equals the one that is read back, in one buffer for the object’s life, tightly packed', async (check) => {
      const { functions, points, values } = await chain(check);
      let buffer = null;
      for (const objective of ['Sum', 'Cost']) {
        for (const x of [undefined, values.map((value) => value * 1.25)]) {
          const expected = await functions[`evaluate${objective}WithGradient`](x);
          const left = await functions[`evaluate${objective}WithGradientOnDevice`](x);
          buffer ??= left.gradient;
          check.ok(left.gradient === buffer, 'the same buffer');
          check.equal(left.value, expected.value, 'the value');
          const numbers = await bufferNumbers((await GpuContext.default()).device, left.gradient);
          check.same(numbers.slice(0, expected.gradient.length), expected.gradient, 'the gradient');
          check.ok(numbers.some((number) => number !== 0), 'not zeros alone');
        }
      }
      points.setAt(0, [100, 0, 0]);
      const moved = await functions.evaluateCostWithGradientOnDevice();
      const cost = (await functions.evaluateCostWithGradient()).value;
      check.equal(buffer.size, 608, 'bytes, rounded up to 16');
      check.equal(moved.value, cost, 'what is set applies to the next call');
    }),

    ...onGpu('a gradient left on the GPU is evaluated at the parameters of a solve without read-back', async (check) => {
      const { functions } = await chain(check);
      const before = (await functions.evaluateCostWithGradientOnDevice()).value;
      await levenbergMarquardt(functions, { maxIterations: 12, readBack: false });
      const left = (await functions.evaluateCostWithGradientOnDevice()).value;
      await functions.download();
      const after = (await functions.evaluateCostWithGradient()).value;
      check.ok(left < before, `${left} is less than ${before}`);
      check.equal(left, after);
    }),

    ...onGpu('a gradient left on the GPU has zeros for constant numbers', async (check) => {
      const { functions, points } = await chain(check);
      points.setConstant([3, 4]);
      points.setConstant([10], true, [1]);
      const { gradient } = await functions.evaluateCostWithGradientOnDevice();
      const numbers = await bufferNumbers((await GpuContext.default()).device, gradient);
      const read = await functions.evaluateCostWithGradient();
      check.same(numbers.slice(0, read.gradient.length), read.gradient);
      check.same([numbers.slice(9, 15), numbers[31]], [[0, 0, 0, 0, 0, 0], 0]);
      check.notEqual(numbers[30], 0);
    }),

    ...onEach('a gradient in an array of the caller equals the one in a fresh array', async (check) => {
      const { functions } = await chain(check);
      const into = new Float64Array(150).fill(7);
      const { gradient } = await functions.evaluateCostWithGradient(undefined, into);
      const fresh = await functions.evaluateCostWithGradient();
      check.ok(gradient === into && fresh.gradient !== into, 'the caller’s array, and one of its own');
      check.same(into, fresh.gradient);
    }),

    ...onEach('an array that is transferred during the call is refused, and the functions stay usable', async (check) => {
      const { functions } = await chain(check);
      const fresh = await functions.evaluateCostWithGradient();
      // The number of turns after the call at which its array is transferred: before the engine begins, while it computes and, on the CPU,
      // after the end.
      for (let turns = 0; turns < 12; turns++) {
        const into = new Float64Array(150);
        let written = false;
        const call = functions.evaluateCostWithGradient(undefined, into).then(() => {
          written = true;
        });
        const outcome = check.failure(() => call);
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        const early = !written;
        structuredClone(into.buffer, { transfer: [into.buffer] });
        const error = await outcome;
        if (turns === 0 || check.backend === 'gpu') check.ok(early && error !== null, `refused after ${turns} turns`);
        if (error === null) continue;
        check.equal(error.code, 'invalid-argument', error.message);
        check.match(error.message, /evaluateCostWithGradient: into: got an array that was transferred or resized during the call/);
      }
      check.same((await functions.evaluateCostWithGradient()).gradient, fresh.gradient);
    }),

    ...onCpu('a gradient left on the device is null on the CPU, and the value is computed', async (check) => {
      const { functions } = await chain(check);
      const left = await functions.evaluateCostWithGradientOnDevice();
      const { value } = await functions.evaluateCostWithGradient();
      check.same(left, { value, gradient: null });
    }),
  ],
};
