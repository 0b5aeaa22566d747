/** As-rigid-as-possible deformation for TensorFlow.js: tensors of points and of quaternions, the cost over all edges from both of their ends. */
import { tfjsOnGpu } from './tfjs.js';

/** Cost and gradient; both read back. The gradient of constant vertices is 0. */
export async function rigidGradient({ deformed, instances, size, handles }) {
  const tf = await tfjsOnGpu();
  const { ends, sides, rootWeights } = instances;
  const integers = (list) => tf.tensor1d(Int32Array.from(list), 'int32');
  const rows = (numbers, width) => tf.tensor2d(Float32Array.from(numbers), [numbers.length / width, width]);
  const [first, second] = [0, 1].map((end) => integers(ends.filter((_, i) => i % 2 === end)));
  const weights = tf.tensor2d(Float32Array.from(rootWeights), [rootWeights.length, 1]);
  const s = tf.tidy(() => tf.unstack(rows(sides, 3), 1));
  const held = [first, second, weights, ...s];
  const cross = (a, b) => [0, 1, 2].map((d) => tf.sub(tf.mul(a[(d + 1) % 3], b[(d + 2) % 3]), tf.mul(a[(d + 2) % 3], b[(d + 1) % 3])));
  const cost = (x, q) => {
    const p = tf.sub(tf.gather(x, first), tf.gather(x, second));
    const [w, ...v] = tf.unstack(tf.gather(q, first), 1);
    const t = cross(v, s);
    const again = cross(v, t);
    const image = s.map((side, d) => tf.add(side, tf.mul(tf.add(tf.mul(w, t[d]), again[d]), 2)));
    const r = tf.mul(tf.sub(p, tf.stack(image, 1)), weights);
    return tf.mul(tf.sum(tf.square(r)), 0.5);
  };
  const valueAndGradients = tf.valueAndGrads(cost);
  return {
    async run() {
      const { value, grads } = tf.tidy(() => valueAndGradients([rows(deformed.subarray(0, 3 * size), 3), rows(deformed.subarray(3 * size), 4)]));
      const [byVertices, byRotations] = await Promise.all(grads.map((grad) => grad.data()));
      const gradient = new Float64Array(7 * size);
      gradient.set(byVertices);
      gradient.set(byRotations, 3 * size);
      for (const vertex of handles.vertices) gradient.fill(0, 3 * vertex, 3 * vertex + 3);
      const [number] = await value.data();
      tf.dispose([value, grads]);
      return { value: number, gradient };
    },
    dispose: () => tf.dispose(held),
  };
}
