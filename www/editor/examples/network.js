import { Device, linspace, Random, zeros } from 'residua/tensor';
import { AdamW, compileStep, schedule } from 'residua/tensor/train';

// A network with one hidden layer learns a curve from 80 points.
const count = 80, units = 32, steps = 600;
const x = Float32Array.from({ length: count }, (_, i) => (6 * i) / count - 3);
const y = x.map((t, i) => Math.sin(2 * t) * Math.exp(-t * t / 4) + 0.05 * Math.sin(i * i));

const device = await Device.create({ backend: 'cpu' });
const random = new Random(1);
const weights = await device.store({
  first: random.normal([1, units], 0, 2), bias: random.normal([units], 0, 2),
  last: random.normal([units, 1], 0, 0.2), offset: zeros([1]),
});
const network = (t) => t.matmul(weights.first).add(weights.bias).tanh().matmul(weights.last).add(weights.offset);

const optimizer = new AdamW(weights, { rate: schedule.cosine(0.02, steps) });
const points = device.tensor(x, [count, 1]), goals = device.tensor(y, [count, 1]);
const step = await compileStep(optimizer, {}, () => ({ loss: network(points).sub(goals).square().mean() }));
for (let k = 1; k <= steps; k++) {
  const { loss } = await step.run({});
  if (k % 100 === 0) console.log(`step ${k}: loss ${(await loss.data())[0].toFixed(5)}`);
}

const places = linspace(-3, 3, 200);
const found = await network(places.reshape([200, 1])).data();
plot({ x, y, curve: Array.from(found, (value, k) => [-3 + (6 * k) / 199, value]) });
