/** The network: two layers, trained by Adam (Kingma and Ba, 2015) on batches that the device draws. Nothing here uses the page. */
import { crossEntropy, grad, map, Random, scalar, spec, zeros } from 'residua/tensor';
import { PIXELS } from './data.js';

export const BATCH = 128;
const HIDDEN = 256;
const CLASSES = 10;
const RATE = 1e-3;

export class Network {
  #steps = 0;

  /** Uploads the digits, makes the weights and compiles the three programs. @param {{ trained: import('./data.js').Digits, tested: import('./data.js').Digits }} digits */
  static async create(device, { trained, tested }) {
    const network = new Network();
    const random = new Random(1);
    const images = device.tensor(trained.images, [trained.count, PIXELS], 'u8');
    const labels = device.tensor(trained.labels, [trained.count], 'i32');
    // Half of a rectifier's inputs pass, so the variance of weights is 2 over their number.
    network.weights = await device.store([random.normal([PIXELS, HIDDEN], 0, Math.sqrt(2 / PIXELS)), zeros([HIDDEN]), random.normal([HIDDEN, CLASSES], 0, Math.sqrt(2 / HIDDEN)), zeros([CLASSES])]);
    const logits = (pixels) => network.#logits(pixels);

    const moments = network.weights.map((weight) => [device.zeros(weight.shape), device.zeros(weight.shape)]);
    network.step = await device.compile({ rate: scalar, correction1: scalar, correction2: scalar }, ({ rate, correction1, correction2 }) => {
      const rows = random.integers([BATCH], 0, trained.count);
      const loss = crossEntropy(logits(images.indexSelect(rows)), labels.indexSelect(rows)).mean();
      grad(loss, network.weights).forEach((slope, k) => adam(network.weights[k], moments[k], slope, rate, correction1, correction2));
      return loss;
    });
    const [testImages, testLabels] = [device.tensor(tested.images, [tested.count, PIXELS], 'u8'), device.tensor(tested.labels, [tested.count], 'i32')];
    network.right = await device.compile({}, () => logits(testImages).argmax(-1).eq(testLabels).cast('f32').mean());
    network.reading = await device.compile({ pixels: spec('u8', [1, PIXELS]) }, ({ pixels }) => logits(pixels).softmax());
    return network;
  }

  #logits(pixels) {
    const [w1, b1, w2, b2] = this.weights;
    return pixels.cast('f32').div(255).matmul(w1).add(b1).relu().matmul(w2).add(b2);
  }

  get steps() {
    return this.#steps;
  }

  /** Submits steps, and resolves with the loss of the last one. */
  async train(count) {
    for (let i = 0; i < count; i++) {
      this.#steps++;
      this.step.run({ rate: RATE, correction1: 1 - 0.9 ** this.#steps, correction2: 1 - 0.999 ** this.#steps });
    }
    return this.step.outputs.item();
  }

  /** The share of the tested digits that it reads right. */
  async accuracy() {
    return this.right.run().item();
  }

  /** How likely each digit is. @param {Uint8Array} pixels of one image */
  async read(pixels) {
    return this.reading.run({ pixels }).data();
  }
}

/** One kernel for each weight: both moments and the weight, in place. */
function adam(weight, [first, second], slope, rate, correction1, correction2) {
  const [m, v, w] = map(
    (w, m, v, g, rate, c1, c2) => {
      const [m1, v1] = [m.mul(0.9).add(g.mul(0.1)), v.mul(0.999).add(g.square().mul(0.001))];
      return [m1, v1, w.sub(rate.mul(m1.div(c1)).div(v1.div(c2).sqrt().add(1e-8)))];
    },
    weight, first, second, slope, rate, correction1, correction2,
  );
  first.assign(m);
  second.assign(v);
  weight.assign(w);
}
