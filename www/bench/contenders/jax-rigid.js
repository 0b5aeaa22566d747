/** As-rigid-as-possible deformation for jax-js: arrays of points and of quaternions, the cost over all edges from both of their ends. */
import { jaxOnGpu } from './jax.js';

export const present = jaxOnGpu;

/** Cost and gradient, jitted; both read back. The gradient of constant vertices is 0. */
export async function rigidGradient({ deformed, instances, size, handles }) {
  const jax = await jaxOnGpu();
  const { numpy: np } = jax;
  const { ends, sides, rootWeights } = instances;
  const integers = (list) => np.array(Int32Array.from(list), { dtype: np.int32 });
  const held = [
    integers(ends.filter((_, i) => i % 2 === 0)), integers(ends.filter((_, i) => i % 2 === 1)),
    np.array(Float32Array.from(sides)).reshape([rootWeights.length, 3]), np.array(Float32Array.from(rootWeights)),
  ];
  const column = (array, d) => array.ref.slice([], d);
  const cost = (x, q, first, second, sides, rootWeights) => {
    const p = x.ref.slice(first.ref, []).sub(x.slice(second, []));
    const turned = q.slice(first, []);
    const s = [0, 1, 2].map((d) => column(sides, d));
    const [w, ...v] = [0, 1, 2, 3].map((d) => column(turned, d));
    const cross = (a, b) => [0, 1, 2].map((d) => a[(d + 1) % 3].ref.mul(b[(d + 2) % 3].ref).sub(a[(d + 2) % 3].ref.mul(b[(d + 1) % 3].ref)));
    const t = cross(v, s);
    const again = cross(v, t);
    let sum = null;
    for (let d = 0; d < 3; d++) {
      const image = s[d].ref.add(w.ref.mul(t[d].ref).add(again[d].ref).mul(2));
      const r = column(p, d).sub(image).mul(rootWeights.ref);
      const squares = np.sum(r.ref.mul(r));
      sum = sum === null ? squares : sum.add(squares);
    }
    return sum.mul(0.5);
  };
  const valueAndGradient = jax.jit(jax.valueAndGrad(cost, { argnums: [0, 1] }));
  return {
    async run() {
      const x = np.array(Float32Array.from(deformed.subarray(0, 3 * size))).reshape([size, 3]);
      const q = np.array(Float32Array.from(deformed.subarray(3 * size))).reshape([size, 4]);
      const [value, parts] = valueAndGradient(x, q, ...held.map((array) => array.ref));
      const [byVertices, byRotations] = await Promise.all(parts.map((part) => part.data()));
      const gradient = new Float64Array(7 * size);
      gradient.set(byVertices);
      gradient.set(byRotations, 3 * size);
      for (const vertex of handles.vertices) gradient.fill(0, 3 * vertex, 3 * vertex + 3);
      return { value: (await value.data())[0], gradient };
    },
    dispose() {
      for (const array of held) array.dispose();
      valueAndGradient.dispose?.();
    },
  };
}
