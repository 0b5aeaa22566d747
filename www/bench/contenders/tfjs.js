/** TensorFlow.js (npm @tensorflow/tfjs-core with @tensorflow/tfjs-backend-webgpu) as a contender, in single precision. */
import { peer } from './peers.js';

let initialised;

/** The library with its WebGPU backend. */
export function tfjsOnGpu() {
  initialised ??= (async () => {
    const tf = await peer('tfjs');
    if (!(await tf.setBackend('webgpu'))) throw new Error('TensorFlow.js finds no WebGPU here');
    await tf.ready();
    return tf;
  })();
  return initialised;
}

const points = (tf, x) => tf.tensor2d(Float32Array.from(x), [x.length / 3, 3]);
const ends = (tf, edges, which) => tf.tensor1d(Int32Array.from(edges.filter((_, i) => i % 2 === which)), 'int32');

/**
 * Value and gradient of a function of points: `evaluate(x)` returns both, `evaluateAt(points)` the value, with the gradient left on the
 * GPU.
 */
function evaluator(tf, cost, held) {
  const valueAndGradient = tf.valueAndGrad(cost);
  const call = (x) => tf.tidy(() => valueAndGradient(x));
  return {
    async evaluate(numbers) {
      const x = points(tf, numbers);
      const { value, grad } = call(x);
      const gradient = await grad.data();
      const [number] = await value.data();
      tf.dispose([x, value, grad]);
      return { value: number, gradient };
    },
    async evaluateAt(x) {
      const { value, grad } = call(x);
      const [number] = await value.data();
      tf.dispose([value, grad]);
      return { value: number };
    },
    dispose: () => tf.dispose(held),
  };
}

const springLengths = (tf, x, first, second) => tf.sqrt(tf.sum(tf.square(tf.sub(tf.gather(x, first), tf.gather(x, second))), 1));

/** ½ Σ r² of springs of rest length 1 with its gradient, read back or left on the GPU. */
export async function springGradient({ positions, edges }, readGradient) {
  const tf = await tfjsOnGpu();
  const [first, second, kept] = [ends(tf, edges, 0), ends(tf, edges, 1), points(tf, positions)];
  const cost = (x) => tf.mul(tf.sum(tf.square(tf.sub(springLengths(tf, x, first, second), 1))), 0.5);
  const { evaluate, evaluateAt, dispose } = evaluator(tf, cost, [first, second, kept]);
  return { run: readGradient ? () => evaluate(positions) : () => evaluateAt(kept), dispose };
}

/** The cost of a net (plain/net.js) with its gradient, for minimisers on the host. */
export async function netEvaluator({ edges, restLengths, places, pull }) {
  const tf = await tfjsOnGpu();
  const [first, second, at, lengths] = [ends(tf, edges, 0), ends(tf, edges, 1), points(tf, places), tf.tensor1d(Float32Array.from(restLengths))];
  const cost = (x) => {
    const springs = tf.sum(tf.square(tf.sub(springLengths(tf, x, first, second), lengths)));
    const pulls = tf.sum(tf.square(tf.sub(x, at)));
    return tf.mul(tf.add(springs, tf.mul(pulls, pull * pull)), 0.5);
  };
  return evaluator(tf, cost, [first, second, at, lengths]);
}

/**
 * One Gauss-Newton step with the damping λ = 1e-3 of the identity and `iterations` of plain conjugate gradients; reads back the cost before
 * it. TensorFlow.js has no forward derivatives, so products with J are written with the springs' directions.
 */
export async function gaussNewtonStep({ positions, edges, size: vertexCount }, iterations) {
  const tf = await tfjsOnGpu();
  const [first, second, start] = [ends(tf, edges, 0), ends(tf, edges, 1), points(tf, positions)];
  const dot = (a, b) => tf.sum(tf.mul(a, b));
  const step = () => {
    const d = tf.sub(tf.gather(start, first), tf.gather(start, second));
    const length = tf.sqrt(tf.sum(tf.square(d), 1, true));
    const n = tf.div(d, length);
    const r = tf.sub(length, 1);
    const forward = (p) => tf.sum(tf.mul(n, tf.sub(tf.gather(p, first), tf.gather(p, second))), 1, true);
    const backward = (t) => {
      const pull = tf.mul(n, t);
      return tf.sub(tf.unsortedSegmentSum(pull, first, vertexCount), tf.unsortedSegmentSum(pull, second, vertexCount));
    };
    let rest = tf.neg(backward(r));
    let p = rest;
    let size = dot(rest, rest);
    let move = null;
    for (let iteration = 0; iteration < iterations; iteration++) {
      const image = tf.add(backward(forward(p)), tf.mul(p, 1e-3));
      const alpha = tf.div(size, dot(p, image));
      const part = tf.mul(p, alpha);
      move = move === null ? part : tf.add(move, part);
      rest = tf.sub(rest, tf.mul(image, alpha));
      const next = dot(rest, rest);
      p = tf.add(rest, tf.mul(p, tf.div(next, size)));
      size = next;
    }
    return [tf.add(start, move), tf.mul(tf.sum(tf.square(r)), 0.5)];
  };
  return {
    async run() {
      const [x, cost] = tf.tidy(step);
      const [value] = await cost.data();
      tf.dispose([x, cost]);
      return { value, against: 'start' };
    },
    dispose: () => tf.dispose([first, second, start]),
  };
}
