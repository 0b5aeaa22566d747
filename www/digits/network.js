/** The network: two convolutions and a layer, trained by residua/tensor/train on digits that lie on the device. Nothing here uses the page. */
import { arange, conv2d, crossEntropy, Random, spec, zeros } from 'residua/tensor';
import { AdamW, compileStep, DataLoader, samples, schedule } from 'residua/tensor/train';
import { SIZE } from './data.js';

export const BATCH = 32;
/** Passes over the digits in which the learning rate falls; later ones have the last rate. */
const PASSES = 9;
const [FIRST, SECOND, CLASSES] = [16, 32, 10];
/** Filters of 5 × 5 at every other pixel, twice: 28 → 12 → 4. */
const [FILTER, STRIDE] = [5, 2];
const LAST = SECOND * 4 * 4;
const [RATE, LAST_RATE, WARM_UP] = [5e-3, 5e-5, 100];
/** Digits are moved by up to so many pixels each way while they are trained with: a net that sees them at 25 places reads more of those that it has not seen. */
const MOST_MOVED = 2;
const PADDED = SIZE + 2 * MOST_MOVED;
/** Tested digits of a run: all of them at once would take 100 MB. */
const TESTED_AT_ONCE = 500;

export class Network {
  #loader;
  #batches;

  /** Uploads the digits, makes the weights and compiles the three programs. @param {{ trained: import('./data.js').Digits, tested: import('./data.js').Digits }} digits */
  static async create(device, { trained, tested }) {
    const network = new Network();
    const random = new Random(1);
    const stored = ({ images, labels, count }) => [device.tensor(images, [count, 1, SIZE, SIZE], 'u8'), device.tensor(labels, [count], 'i32')];
    // Half of a rectifier's inputs pass, so the variance of weights is 2 over their number.
    const filters = (shape, inputs) => random.normal(shape, 0, Math.sqrt(2 / inputs));
    network.weights = await device.store({
      first: { weight: filters([FIRST, 1, FILTER, FILTER], FILTER ** 2), bias: zeros([FIRST]) },
      second: { weight: filters([SECOND, FIRST, FILTER, FILTER], FIRST * FILTER ** 2), bias: zeros([SECOND]) },
      last: { weight: random.normal([LAST, CLASSES], 0, Math.sqrt(1 / LAST)), bias: zeros([CLASSES]) },
    });
    const logits = (pixels) => network.#logits(pixels);

    const [images, labels] = stored(trained);
    const padded = await device.store(images.squeeze(1).pad([[0, 0], [MOST_MOVED, MOST_MOVED], [MOST_MOVED, MOST_MOVED]]).flatten());
    images.dispose();
    /** Images of rows, each at a place of its own within its border. */
    const moved = (rows) => {
      const along = () => arange(SIZE, 'i32').add(random.integers([BATCH, 1], 0, 2 * MOST_MOVED + 1));
      const places = rows.mul(PADDED ** 2).expandDims(1, 2).add(along().mul(PADDED).expandDims(2)).add(along().expandDims(1));
      return padded.indexSelect(places).expandDims(1);
    };
    const loader = (network.#loader = new DataLoader({ rows: samples.rows(trained.count) }, { batch: BATCH, shuffle: true, seed: 1 }));
    const rate = schedule.warmup(WARM_UP, schedule.cosine(RATE, PASSES * loader.batches, LAST_RATE), 0.1);
    network.step = await compileStep(new AdamW(network.weights, { rate }), loader.inputs, ({ rows }) => crossEntropy(logits(moved(rows)), labels.indexSelect(rows)).mean());

    const [testImages, testLabels] = stored(tested);
    network.tested = tested.count;
    network.right = await device.compile({ rows: spec('i32', [TESTED_AT_ONCE]) }, ({ rows }) => logits(testImages.indexSelect(rows)).argmax(-1).eq(testLabels.indexSelect(rows)).countNonzero());
    network.reading = await device.compile({ pixels: spec('u8', [1, 1, SIZE, SIZE]) }, ({ pixels }) => logits(pixels).softmax());
    return network;
  }

  #logits(pixels) {
    const { first, second, last } = this.weights;
    const layer = (x, { weight, bias }) => conv2d(x, weight, { bias, stride: STRIDE }).relu();
    return layer(layer(pixels.cast('f32').div(255), first), second).flatten(1).matmul(last.weight).add(last.bias);
  }

  get steps() {
    return this.step.steps;
  }

  /** Submits steps, and resolves with their mean loss. */
  async train(count) {
    for (let i = 0; i < count; i++) this.step.run((await this.#next()).inputs);
    return (await this.step.takeMeans()).loss;
  }

  /** The next batch; after the last one of a pass the first one of the next. */
  async #next() {
    this.#batches ??= this.#loader.read();
    const { value, done } = await this.#batches.next();
    if (!done) return value;
    this.#batches = null;
    return this.#next();
  }

  /** The share of the tested digits that it reads right. */
  async accuracy() {
    let right = 0;
    for (let from = 0; from < this.tested; from += TESTED_AT_ONCE) right += await this.right.run({ rows: Int32Array.from({ length: TESTED_AT_ONCE }, (_, k) => from + k) }).item();
    return right / this.tested;
  }

  /** How likely each digit is. @param {Uint8Array} pixels of one image */
  async read(pixels) {
    return this.reading.run({ pixels }).data();
  }
}
