/** A training step of a network of two layers, 784–256–10, on a batch of 128: loss, derivatives, and plain gradient descent. Its result is the loss. */

const [BATCH, PIXELS, HIDDEN, CLASSES] = [128, 784, 256, 10];
/** Weights are a tenth of the operands' numbers: logits of about 1. */
const SMALL = 0.1;

const labels = Int32Array.from({ length: BATCH }, (_, i) => i % CLASSES);
const oneHot = { values: Float32Array.from({ length: BATCH * CLASSES }, (_, k) => Number(k % CLASSES === labels[Math.floor(k / CLASSES)])), shape: [BATCH, CLASSES], dtype: 'f32' };
/** An operand, since a library may compile a literal 0 without the work that it multiplies. */
const rate = { values: Float32Array.of(0), shape: [], dtype: 'f32' };

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
  constants: { residua: [rate, { values: labels, shape: [BATCH], dtype: 'i32' }], tfjs: [rate, oneHot], jax: [rate, oneHot] },
  residua(t, [x, w1, w2, rate, expected]) {
    const loss = t.crossEntropy(x.matmul(w1.mul(SMALL)).relu().matmul(w2.mul(SMALL)), expected).mean();
    t.grad(loss, [w1, w2]).forEach((slope, k) => [w1, w2][k].assign([w1, w2][k].sub(slope.mul(rate))));
    return loss;
  },
  tfjs(tf, [x, w1, w2, rate, target]) {
    const lossAt = (a, b) => tf.neg(tf.mean(tf.sum(tf.mul(target, tf.logSoftmax(tf.matMul(tf.relu(tf.matMul(x, tf.mul(a, SMALL))), tf.mul(b, SMALL)))), -1)));
    const { value, grads } = tf.valueAndGrads(lossAt)([w1, w2]);
    // The updated weights are computed as a training would, and left to tidy().
    [w1, w2].forEach((weight, k) => tf.sub(weight, tf.mul(grads[k], rate)));
    return value;
  },
  jax(jax, [x, w1, w2, rate, target]) {
    const { numpy: np, nn } = jax;
    const lossAt = ([a, b], input, wanted) => np.mean(np.sum(wanted.mul(nn.logSoftmax(np.matmul(nn.relu(np.matmul(input, a.mul(SMALL))), b.mul(SMALL)), -1)), -1)).neg();
    const [value, [g1, g2]] = jax.valueAndGrad(lossAt)([w1.ref, w2.ref], x, target);
    // A result that nothing uses would not be computed, so the updated weights are results too.
    return [value, w1.sub(g1.mul(rate.ref)), w2.sub(g2.mul(rate))];
  },
  expected: (inputs) => ({ value: lossOf(inputs), scale: 1 }),
};
