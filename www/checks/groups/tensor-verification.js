/** What shows where a kernel or its use goes wrong: programs that are compared kernel by kernel with the CPU, and devices that check indices and numbers. */
import { attention, crossEntropy, Device, dim, grad, linear, Random, scalar, spec } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';
import { onCpu, onEach, onGpu } from '../define.js';

const list = async (tensor) => [...(await tensor.data())];

export const group = {
  id: 'tensor-verification',
  title: 'Tensors: verification and checks',
  about: 'Each kernel of a program on the GPU beside the same kernel on the CPU, from the same numbers; indices out of range and numbers that are not finite, with the operation that they come from.',
  checks: [
    ...onGpu('every kernel of a program is compared with the CPU, at each size', async (check) => {
      const device = await tensorDevice(check);
      const n = dim('n', 3000);
      const program = await device.compile({ x: spec('f32', [n, 6]) }, ({ x }) => ({
        sums: x.sum(0), softmax: x.softmax(0), gram: x.T.matmul(x), product: x.matmul(x.T.slice([0, 6], [0, 1])), flipped: x.flip(0), total: x.cumsum(0), large: x.gt(0.5), half: x.cast('f16'), last: x.argmax(0),
        rounded: x.mul(100).cast('i32'),
      }));
      for (const size of [1, 4, 257, 3000]) {
        const x = fill([-2, 2], size * 6, 'f32', 3);
        const compared = await program.verify({ x }, { n: size });
        check.ok(compared.length > 5, `${compared.length} kernels`);
        for (const { kernel, maxError, maxUlps } of compared) {
          check.below(maxError, 2 ** -18 * (size + 1), 'n roundings of partial sums below 4 n', `${kernel} at n = ${size}`);
          check.ok(maxUlps >= 0 && (maxUlps === 0) === (maxError === 0), `${maxUlps} units at an error of ${maxError}`);
        }
      }
    }),

    ...onGpu('a training step is compared and changes nothing: weights, outputs and random numbers', async (check) => {
      const device = await tensorDevice(check);
      const make = async () => {
        const random = new Random(7);
        const images = device.tensor(fill([-2, 2], 40 * 12, 'f32', 1), [40, 12]);
        const labels = device.tensor(Array.from({ length: 40 }, (_, i) => i % 4), [40], 'i32');
        const weights = await device.store([random.normal([12, 20], 0, 0.4), random.normal([20, 4], 0, 0.3)]);
        const step = await device.compile({ rate: scalar }, ({ rate }) => {
          const rows = random.integers([16], 0, 40);
          const loss = crossEntropy(images.indexSelect(rows).matmul(weights[0]).relu().matmul(weights[1]), labels.indexSelect(rows)).mean();
          grad(loss, weights).forEach((slope, k) => weights[k].assign(weights[k].sub(slope.mul(rate))));
          return loss;
        });
        return { weights, step };
      };
      const [one, other] = [await make(), await make()];
      for (const { step } of [one, other]) step.run({ rate: 0.1 });
      const before = await list(one.weights[0]);
      const loss = await one.step.outputs.item();
      const compared = await one.step.verify({ rate: 0.1 });
      check.equal(compared.length, one.step.plan.dispatches, 'kernels that are compared');
      for (const { kernel, maxError } of compared) check.below(maxError, 1e-5, 'some roundings of numbers below 10', kernel);
      check.same(await list(one.weights[0]), before, 'the weights after verify');
      check.equal(await one.step.outputs.item(), loss, 'the loss of the run before');
      for (const { step } of [one, other]) step.run({ rate: 0.1 });
      check.same(await list(one.weights[0]), await list(other.weights[0]), 'the weights of the next run, beside those of a program that was not compared');
    }),

    ...onGpu('sorts, attention and quantised products are compared too', async (check) => {
      const device = await tensorDevice(check);
      const weights = await device.quantize(device.tensor(fill([-2, 2], 8 * 64, 'f32', 5), [8, 64]), 'q8_0');
      const program = await device.compile({ x: spec('f32', [2, 12, 64]) }, ({ x }) => ({ sorted: x.sort(), mixed: attention(x, x, x), product: linear(x, weights) }));
      const compared = await program.verify({ x: fill([-2, 2], 2 * 12 * 64, 'f32', 4) });
      check.ok(compared.length >= 3, `${compared.length} kernels`);
      for (const { kernel, maxError } of compared) check.below(maxError, 1e-3, 'sums of 64 products below 4', kernel);
    }),

    ...onGpu('a kernel whose text is wrong is found, and no other', async (check) => {
      const device = await tensorDevice(check);
      const { gpu } = device;
      // A literal of the second kernel, which no other program has.
      let changed = 0;
      gpu.createShaderModule = (descriptor) => {
        const code = descriptor.code.replaceAll('1.40625', () => {
          changed += 1;
          return '1.5';
        });
        return Object.getPrototypeOf(gpu).createShaderModule.call(gpu, { ...descriptor, code });
      };
      check.defer(() => delete gpu.createShaderModule);
      const program = await device.compile({ x: spec('f32', [70]) }, ({ x }) => {
        const scaled = x.cumsum().mul(1.40625);
        return { first: x.sum(), scaled, last: scaled.flip(0).cumsum() };
      });
      check.ok(changed > 0, 'the text has the literal');
      const compared = await program.verify({ x: fill([-2, 2], 70, 'f32', 2) });
      const wrong = compared.filter(({ maxError }) => !(maxError < 1e-4));
      check.equal(wrong.length, 1, `wrong kernels among ${compared.map(({ kernel, maxError }) => `${kernel}: ${maxError}`).join(', ')}`);
    }),

    ...onGpu('inputs that a run refuses are refused, and a program that was disposed', async (check) => {
      const device = await tensorDevice(check);
      const program = await device.compile({ x: spec('f32', [3]) }, ({ x }) => x.mul(2));
      check.match(await check.failureInWords(program.verify({ x: [1, 2] })), /^invalid-argument:/);
      check.match(await check.failureInWords(program.verify({})), /^invalid-argument:/);
      program.dispose();
      check.match(await check.failureInWords(program.verify({ x: [1, 2, 3] })), /^disposed:/);
    }),

    ...onCpu('a program on the CPU has no other kernels to compare with', async (check) => {
      const device = await tensorDevice(check);
      const program = await device.compile({ x: spec('f32', [3]) }, ({ x }) => x.mul(2));
      check.match(await check.failureInWords(program.verify({ x: [1, 2, 3] })), /^gpu-unavailable:/);
    }),

    ...onEach('an index that is out of range rejects the next read, which names the operation', async (check) => {
      const device = await tensorDevice(check, { checks: true });
      const x = device.tensor([[1, 2], [3, 4], [5, 6]]);
      const at = (...places) => device.tensor(places, [places.length], 'i32');
      check.same(await list(x.indexSelect(at(-3, 2))), [1, 2, 5, 6]);
      check.same(await list(device.tensor([1, 2, 3, 4, 5]).searchSorted(device.tensor([9, 0, 3]))), [5, 0, 2], 'a bisection reads no place beyond the end');
      check.match(await check.failureInWords(x.indexSelect(at(0, 3)).data()), /^invalid-argument: data: indexSelect: .*axis 0 of \[3, 2\], which has 3$/);
      check.same(await list(x), [1, 2, 3, 4, 5, 6], 'the read after that');
      check.match(await check.failureInWords(x.gather(at(-3).reshape([1, 1]), 1).data()), /^invalid-argument: data: gather: .*axis 1 of \[3, 2\]/);
      check.match(await check.failureInWords(x.indexAdd(at(7), device.tensor([[1, 1]])).data()), /^invalid-argument: data: indexAdd: /);

      const n = dim('n', 8);
      const ofNothing = await device.compile({ x: spec('f32', [n]) }, ({ x }) => [x.quantile([0, 0.3, 1]), x.searchSorted(x.sum().expandDims(0))]);
      for (const [numbers, expected] of [[[], [NaN, NaN, NaN, 0]], [[2, 4], [2, 2.6, 4, 2]]]) {
        const [quantiles, places] = await device.read(...ofNothing.run({ x: numbers }, { n: numbers.length }));
        check.same([...quantiles, ...places].map((number) => Math.fround(number)), expected.map(Math.fround), `quantiles and a place of ${numbers.length} numbers`);
      }
      const program = await device.compile({ x: spec('f32', [n]), places: spec('i32', [2]) }, ({ x, places }) => x.indexSelect(places), { name: 'select' });
      check.same(await list(program.run({ x: [1, 2, 3, 4], places: [3, -4] }, { n: 4 })), [4, 1]);
      // Runs after the wrong one do not hide it.
      program.run({ x: [1, 2, 3], places: [3, 0] }, { n: 3 });
      program.run({ x: [1, 2, 3], places: [2, 0] }, { n: 3 });
      check.match(await check.failureInWords(x.data()), /^invalid-argument: select: indexSelect: .*which has n$/);
      check.same(await list(program.outputs), [3, 1]);
    }),

    ...onEach('a NaN or an infinity rejects the next read, which names the operation that made it', async (check) => {
      const device = await tensorDevice(check, { checks: 'finite' });
      const x = device.tensor([1, 0, 4]);
      check.same(await list(x.sqrt()), [1, 0, 2]);
      check.match(await check.failureInWords(x.add(0).log().mul(2).data()), /^non-finite: data: log gives a NaN or an infinity from finite numbers, in a tensor of f32 of shape \[3\]$/);
      check.same(await list(x), [1, 0, 4], 'the read after that');
      // An infinity on the way to finite results is none of one's mistakes.
      check.same(await list(x.maskedFill(x.lte(2), -Infinity).softmax()), [0, 0, 1]);
      const given = device.tensor([1, NaN]);
      check.match(await check.failureInWords(given.mul(2).data()), /^non-finite: data: a result has a NaN or an infinity, as what it is computed from$/);

      const weight = device.tensor([2]);
      const program = await device.compile({ rate: scalar }, ({ rate }) => weight.assign(weight.div(rate)), { name: 'step' });
      program.run({ rate: 0 });
      check.match(await check.failureInWords(x.data()), /^non-finite: step: div gives /);
      check.equal(await weight.item(), Infinity, 'a stored tensor is read as it is');
    }),

    ...onEach('without checks an index that is out of range reads 0', async (check) => {
      const device = await tensorDevice(check);
      check.same(await list(device.tensor([1, 2]).indexSelect(device.tensor([5, 1], [2], 'i32'))), [0, 2]);
      check.match(await check.failureInWords(Device.create({ checks: 'all' })), /^invalid-argument: Device.create: checks: /);
    }),
  ],
};
