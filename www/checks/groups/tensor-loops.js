/** Loops over tensors, beside the same steps written out. */
import * as T from 'residua/tensor';
import { noise } from '../tensors/linalg.js';
import { LONG_LOOPS, LOOPS } from '../tensors/loops.js';
import { tensorDevice } from '../tensors/compare.js';
import { onEach, onGpu } from '../define.js';

export const group = {
  id: 'tensor-loops',
  title: 'Tensors: loops',
  about: 'One compiled body that runs many times: recurrent layers, loops in loops, counts that are Dims or tensors, all types, derivatives, memory.',
  checks: [
    ...[LOOPS, LONG_LOOPS].flatMap((facts, long) => facts.flatMap(([name, run]) => onEach(name, async (check) => run(T, await tensorDevice(check), (holds, claim) => check.ok(holds, claim)), { long: long === 1 }))),
    ...onGpu('verify() compares the kernels of a loop', async (check) => {
      const device = await tensorDevice(check);
      const [w, h] = [device.tensor(noise(9, 1), [3, 3]), device.tensor(noise(6, 2), [2, 3])];
      const program = await device.compile({ x: T.spec('f32', [5, 2, 3]) }, ({ x }) => {
        const [last] = T.scan(x, h, (s, each) => [s.matmul(w).add(each).tanh()]);
        const [derivative] = T.grad(last.square().sum(), [w]);
        w.assign(w.sub(derivative.mul(0.1)));
        return { last };
      });
      const before = await w.data();
      const compared = await program.verify({ x: noise(30, 3) });
      check.same([...(await w.data())], [...before], 'the weight after verify()');
      check.ok(compared.length === program.plan.dispatches, `${compared.length} kernels are compared, of ${program.plan.dispatches}`);
      for (const { kernel, maxError } of compared) check.ok(maxError <= 2 ** -18, `${kernel} is off by ${maxError}`);
      const { last } = program.run({ x: noise(30, 3) });
      const written = await last.data();
      check.ok(written.every(Number.isFinite), 'a run afterwards gives numbers');
    }),
  ],
};
