/** A training step of a network of two layers, 784–256–10, on a batch of 128: loss, derivatives, and plain gradient descent. Its result is the loss. */

const [BATCH, PIXELS, HIDDEN, CLASSES] = [128, 784, 256, 10];
const RATE = 0;
/** Weights are a tenth of the operands' numbers: logits of about 1. */
const SMALL = 0.1;

const labels = Int32Array.from({ length: BATCH }, (_, i) => i % CLASSES);
const oneHot = Float32Array.from({ length: BATCH * CLASSES }, (_, k) => Number(k % CLASSES === labels[Math.floor(k / CLASSES)]));

/** The loss in double precision. */
function lossOf([x, w1, w2]) {
  let total = 0;
  for (let i = 0; i < BATCH; i++) {
    const hidden = Array.from({ length: HIDDEN }, (_, j) => {
      let sum = 0;
      for (let k = 0; k < PIXELS; k++) sum += x[i * PIXELS + k] * SMALL * w1[k * HIDDEN + j];
      return Math.max(sum, 0);
    });
    const logits = Array.from({ length: CLASSES }, (_, c) => hidden.reduce((sum, h, j) => sum + h * SMALL * w2[j * CLASSES + c], 0));
    total += Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0)) - logits[labels[i]];
  }
  return total / BATCH;
}

/** With a rate of 0 the weights stay, so that each run has the same loss; the work is that of any rate. */
export const mlpStep = {
  name: 'training step', size: '784–256–10, batch 128', inputs: [[BATCH, PIXELS], [PIXELS, HIDDEN], [HIDDEN, CLASSES]],
  // Three products for each of the two layers, of which the first needs no derivative of its input.
  operations: 2 * BATCH * HIDDEN * (2 * PIXELS + 3 * CLASSES),
  residua(t, [x, w1, w2]) {
    const expected = x.device.tensor(labels, [BATCH], 'i32');
    const [scaled1, scaled2] = [w1.mul(SMALL), w2.mul(SMALL)];
    const loss = t.crossEntropy(x.matmul(scaled1).relu().matmul(scaled2), expected).mean();
    t.grad(loss, [w1, w2]).forEach((slope, k) => [w1, w2][k].assign([w1, w2][k].sub(slope.mul(RATE))));
    return loss;
  },
  tfjs(tf, [x, w1, w2]) {
    const target = tf.tensor(oneHot, [BATCH, CLASSES]);
    const lossAt = (a, b) => tf.neg(tf.mean(tf.sum(tf.mul(target, tf.logSoftmax(tf.matMul(tf.relu(tf.matMul(x, tf.mul(a, SMALL))), tf.mul(b, SMALL)))), -1)));
    const { value, grads } = tf.valueAndGrads(lossAt)([w1, w2]);
    // The updated weights are computed as a training would, and left to tidy().
    [w1, w2].forEach((weight, k) => tf.sub(weight, tf.mul(grads[k], RATE)));
    return value;
  },
  jax(jax, [x, w1, w2]) {
    const { numpy: np, nn } = jax;
    const target = np.array(oneHot).reshape([BATCH, CLASSES]);
    const lossAt = ([a, b], input, wanted) => np.mean(np.sum(wanted.mul(nn.logSoftmax(np.matmul(nn.relu(np.matmul(input, a.mul(SMALL))), b.mul(SMALL)), -1)), -1)).neg();
    const [value, [g1, g2]] = jax.valueAndGrad(lossAt)([w1.ref, w2.ref], x, target);
    // A result that nothing uses would not be computed: the updated weights enter the value with a factor of 0.
    return value.add(np.sum(w1.sub(g1.mul(RATE))).mul(0)).add(np.sum(w2.sub(g2.mul(RATE))).mul(0));
  },
  expected: (inputs) => ({ value: lossOf(inputs), scale: 1 }),
};
