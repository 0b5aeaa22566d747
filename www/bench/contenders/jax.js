/** jax-js (npm @jax-js/jax) on WebGPU as a contender, in single precision. Its arrays have owners: each use but the last needs `.ref`. */
import { peer } from './peers.js';

const POINTERS = 'unrestricted_pointer_parameters';

let initialised;

/** The library with its WebGPU device as the default device. */
export function jaxOnGpu() {
  initialised ??= (async () => {
    // The gradients of its gathers are added by a function that takes a pointer into storage.
    if (navigator.gpu !== undefined && !navigator.gpu.wgslLanguageFeatures.has(POINTERS)) throw new Error(`jax-js needs ${POINTERS}, which this browser's WGSL does not have`);
    const jax = await peer('jax');
    const devices = await jax.init('webgpu');
    if (!devices.includes('webgpu')) throw new Error('jax-js finds no WebGPU here');
    jax.defaultDevice('webgpu');
    return jax;
  })();
  return initialised;
}

const points = (jax, x) => jax.numpy.array(Float32Array.from(x)).reshape([x.length / 3, 3]);
const indices = (jax, list) => jax.numpy.array(Int32Array.from(list), { dtype: jax.numpy.int32 });
const firstEnds = (edges) => edges.filter((_, i) => i % 2 === 0);
const secondEnds = (edges) => edges.filter((_, i) => i % 2 === 1);

/** r of every spring, as in residua's problem; rest lengths are a number, or an array with one per spring. */
const springResiduals = (jax) => (x, first, second, restLengths) => {
  const { numpy: np } = jax;
  const d = x.ref.slice(first, []).sub(x.slice(second, []));
  return np.sqrt(np.sum(d.ref.mul(d), 1)).sub(restLengths);
};

/**
 * Value and gradient of a function of points and of constant arrays, jitted: `evaluate(x)` returns both, `evaluateAt(points)` the value,
 * with the gradient left on the GPU.
 */
function evaluator(jax, cost, held) {
  const valueAndGradient = jax.jit(jax.valueAndGrad(cost));
  const call = (x) => valueAndGradient(x, ...held.map((array) => array.ref));
  return {
    async evaluate(numbers) {
      const [value, gradient] = call(points(jax, numbers));
      const read = await gradient.data();
      return { value: (await value.data())[0], gradient: read };
    },
    async evaluateAt(x) {
      const [value, gradient] = call(x.ref);
      const [number] = await value.data();
      gradient.dispose();
      return { value: number };
    },
    dispose() {
      for (const array of held) array.dispose();
      valueAndGradient.dispose?.();
    },
  };
}

/** ½ Σ r² of springs of rest length 1 with its gradient, read back or left on the GPU. */
export async function springGradient({ positions, edges }, readGradient) {
  const jax = await jaxOnGpu();
  const { numpy: np } = jax;
  const residuals = springResiduals(jax);
  const cost = (x, first, second) => {
    const r = residuals(x, first, second, 1);
    return np.sum(r.ref.mul(r)).mul(0.5);
  };
  const { evaluate, evaluateAt, dispose } = evaluator(jax, cost, [indices(jax, firstEnds(edges)), indices(jax, secondEnds(edges))]);
  if (readGradient) return { run: () => evaluate(positions), dispose };
  const kept = points(jax, positions);
  return {
    run: () => evaluateAt(kept),
    dispose() {
      kept.dispose();
      dispose();
    },
  };
}

/** The cost of a net (plain/net.js) with its gradient, for minimisers on the host. */
export async function netEvaluator({ edges, restLengths, places, pull }) {
  const jax = await jaxOnGpu();
  const { numpy: np } = jax;
  const residuals = springResiduals(jax);
  const cost = (x, first, second, lengths, places) => {
    const r = residuals(x.ref, first, second, lengths);
    const pulls = x.sub(places).mul(pull);
    return np.sum(r.ref.mul(r)).add(np.sum(pulls.ref.mul(pulls))).mul(0.5);
  };
  return evaluator(jax, cost, [indices(jax, firstEnds(edges)), indices(jax, secondEnds(edges)), np.array(Float32Array.from(restLengths)), points(jax, places)]);
}

/**
 * One Gauss-Newton step with the damping λ = 1e-3 of the identity and `iterations` of plain conjugate gradients; reads back the cost before
 * it.
 */
export async function gaussNewtonStep({ positions, edges }, iterations) {
  const jax = await jaxOnGpu();
  const { numpy: np } = jax;
  const residuals = springResiduals(jax);
  const step = jax.jit((x, first, second) => {
    const at = (y) => residuals(y, first.ref, second.ref, 1);
    const [r, forward] = jax.linearize(at, [x.ref]);
    const [again, backward] = jax.vjp(at, [x.ref]);
    again.dispose();
    const cost = np.sum(r.ref.mul(r.ref)).mul(0.5);
    const normal = (p) => backward(forward(p.ref))[0].add(p.mul(1e-3));
    const dot = (a, b) => np.sum(a.mul(b));
    let rest = backward(r)[0].neg();
    let p = rest.ref;
    let size = dot(rest.ref, rest.ref);
    let move = null;
    for (let iteration = 0; iteration < iterations; iteration++) {
      const image = normal(p.ref);
      const alpha = size.ref.div(dot(p.ref, image.ref));
      const part = p.ref.mul(alpha.ref);
      move = move === null ? part : move.add(part);
      rest = rest.sub(image.mul(alpha));
      const next = dot(rest.ref, rest.ref);
      p = rest.ref.add(p.mul(next.ref.div(size)));
      size = next;
    }
    for (const array of [rest, p, size]) array.dispose();
    forward.dispose?.();
    backward.dispose?.();
    first.dispose();
    second.dispose();
    return [x.add(move), cost];
  });
  const [first, second, start] = [indices(jax, firstEnds(edges)), indices(jax, secondEnds(edges)), points(jax, positions)];
  return {
    async run() {
      const [x, cost] = step(start.ref, first.ref, second.ref);
      // The queue is in order: the read-back follows the whole step.
      const [value] = await cost.data();
      x.dispose();
      return { value, against: 'start' };
    },
    dispose() {
      for (const array of [first, second, start]) array.dispose();
      step.dispose?.();
    },
  };
}
