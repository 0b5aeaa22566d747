/** What a program does with tensors, in a page and in a worker: a product with what follows it, a program that is run twice, a derivative, and a training. */
async function on({ Device, grad, scalar, compileStep, fit, Sgd }, backend) {
  const device = await Device.create({ backend });
  const x = device.tensor([1, 2, 3, 4], [2, 2]);
  const product = [...(await x.matmul(x.T).add(1).data())];
  const step = await device.compile({ rate: scalar }, ({ rate }) => {
    const loss = x.square().sum();
    const [slope] = grad(loss, [x]);
    x.assign(x.sub(slope.mul(rate)));
    return loss;
  });
  const losses = [await step.run({ rate: 0.25 }).item(), await step.run({ rate: 0.25 }).item()];
  const w = device.tensor([1, 2]);
  const training = await compileStep(new Sgd([w], { rate: 0.25 }), {}, () => w.square().sum());
  const [{ means }] = await fit(training, [{ inputs: {} }, { inputs: {} }], { epochs: 1 });
  const found = { backend: device.backend, product, losses, x: [...(await x.data())], means, w: [...(await w.data())] };
  device.dispose();
  return found;
}

export const useTensors = async (tensor) => [await on(tensor, 'gpu'), await on(tensor, 'cpu')];

/** Small whole numbers and halves: exact on both engines. */
export const EXPECTED = ['gpu', 'cpu'].map((backend) => ({ backend, product: [6, 12, 12, 26], losses: [30, 7.5], x: [0.25, 0.5, 0.75, 1], means: { loss: 3.125 }, w: [0.25, 0.5] }));
