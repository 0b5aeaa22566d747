/** The network: two layers, trained by Adam on batches that the device draws. Nothing here uses the page. */
import { crossEntropy, grad, Random, spec, zeros } from 'residua/tensor';
import { Adam } from '../models/adam.js';
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

    network.adam = new Adam(device, network.weights);
    network.step = await device.compile(Adam.inputs, (inputs) => {
      const rows = random.integers([BATCH], 0, trained.count);
      const loss = crossEntropy(logits(images.indexSelect(rows)), labels.indexSelect(rows)).mean();
      network.adam.update(grad(loss, network.weights), inputs);
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
      this.step.run(this.adam.numbers(this.#steps, RATE));
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
