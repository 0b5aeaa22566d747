/** A layer of a network of pictures as a work: a convolution with windows of 3 × 3, as many channels before as behind. See `works.js`. */
import { numbersOf, signs } from './works.js';

const CHANNELS = 64;
const WEIGHT = [CHANNELS, CHANNELS, 3, 3];

/** The weight as [out, in, row, column], and as TensorFlow.js has it: [row, column, in, out]. */
const weight = numbersOf(CHANNELS * CHANNELS * 9, 7);
const weightOfTfjs = Float32Array.from(weight, (_, i) => {
  const [out, input, place] = [i % CHANNELS, Math.floor(i / CHANNELS) % CHANNELS, Math.floor(i / CHANNELS ** 2)];
  return weight[(out * CHANNELS + input) * 9 + place];
});

/** Σₒₚ uₒ vₚ y[o, p] = Σ_c,t (Σₒ uₒ W[o, c, t]) (Σₚ vₚ x[c, p + t]), without the convolution. */
function weightedSum(x, n, ofChannels, ofPlaces) {
  let sum = 0;
  for (let c = 0; c < CHANNELS; c++) {
    for (let t = 0; t < 9; t++) {
      let [left, right] = [0, 0];
      for (let o = 0; o < CHANNELS; o++) left += ofChannels[o] * weight[(o * CHANNELS + c) * 9 + t];
      const [down, across] = [Math.floor(t / 3) - 1, (t % 3) - 1];
      for (let row = Math.max(0, -down); row < Math.min(n, n - down); row++) {
        const from = (c * n + row + down) * n + across;
        for (let column = Math.max(0, -across); column < Math.min(n, n - across); column++) right += ofPlaces[row * n + column] * x[from + column];
      }
      sum += left * right;
    }
  }
  return sum;
}

/** The layer on a picture of 256 × 256 pixels, or a fraction of that. TensorFlow.js has channels last, the others before the places. */
export function convolution(divisor = 1) {
  const n = Math.max(8, Math.round(256 / divisor));
  const places = n * n;
  const x = numbersOf(CHANNELS * places, 0);
  const constants = (shapeOfX, ofX, shape, values) => [{ shape: shapeOfX, values: ofX, dtype: 'f32' }, { shape, values, dtype: 'f32' }];
  const common = constants([1, CHANNELS, n, n], x, WEIGHT, weight);
  const channelsLast = Float32Array.from(x, (_, i) => x[(i % CHANNELS) * places + Math.floor(i / CHANNELS)]);
  return {
    name: 'convolution 3 × 3', size: `${CHANNELS} → ${CHANNELS} channels, ${n} × ${n}`, inputs: [], operations: 2 * CHANNELS ** 2 * 9 * places,
    constants: { residua: common, jax: common, tfjs: constants([1, n, n, CHANNELS], channelsLast, [3, 3, CHANNELS, CHANNELS], weightOfTfjs) },
    residua: (t, [picture, w]) => t.conv2d(picture, w, { padding: 'same' }).reshape([CHANNELS, places]),
    tfjs: (tf, [picture, w]) => tf.reshape(tf.conv2d(picture, w, 1, 'same'), [places, CHANNELS]),
    jax: ({ lax }, [picture, w]) => lax.convGeneralDilated(picture, w, [1, 1], 'SAME').reshape([CHANNELS, places]),
    transposed: ['tfjs'],
    expected() {
      const ones = [new Float32Array(CHANNELS).fill(1), new Float32Array(places).fill(1)];
      const { ofRows, ofColumns } = signs([CHANNELS, places]);
      const count = CHANNELS * places;
      // An element is a sum of up to 576 products with a variance of 1/144 each.
      const scale = Math.sqrt(9 * CHANNELS) / 12 / Math.sqrt(count);
      return { value: weightedSum(x, n, ...ones) / count, scale, shape: [CHANNELS, places], weighted: weightedSum(x, n, ofRows, ofColumns) / count, weightedScale: scale };
    },
  };
}
