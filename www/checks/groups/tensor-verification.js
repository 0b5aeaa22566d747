/** What shows where a kernel or its use goes wrong: programs that are compared kernel by kernel with the CPU. */
import { attention, crossEntropy, dim, grad, linear, Random, scalar, spec } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { fill } from '../tensors/numbers.js';
import { onCpu, onGpu } from '../define.js';

const list = async (tensor) => [...(await tensor.data())];

export const group = {
  id: 'tensor-verification',
  title: 'Tensors: kernels compared',
  about: 'Each kernel of a program on the GPU beside the same kernel on the CPU, from the same numbers.',
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
  ],
};
