/** The developable energy (developable-arrays.js) for jax-js. */
import { developableEnergy, facesByNumber } from './developable-arrays.js';
import { jaxOnGpu } from './jax.js';

export const present = jaxOnGpu;

/** More would help, but jax-js duplicates code that is used several times, so its shader would double with each. */
const REFINEMENTS = 1;

/** An array that can be used any number of times: each use takes a new reference. */
class Shared {
  constructor(jax, array) {
    this.jax = jax;
    this.array = array;
  }

  with(array) {
    return new Shared(this.jax, array);
  }

  add(b) { return this.with(this.array.ref.add(b instanceof Shared ? b.array.ref : b)); }
  sub(b) { return this.with(this.array.ref.sub(b instanceof Shared ? b.array.ref : b)); }
  mul(b) { return this.with(this.array.ref.mul(b instanceof Shared ? b.array.ref : b)); }
  div(b) { return this.with(this.array.ref.div(b instanceof Shared ? b.array.ref : b)); }
  call(name, ...rest) { return this.with(this.jax.numpy[name](this.array.ref, ...rest)); }
  sqrt() { return this.call('sqrt'); }
  reciprocal() { return this.call('reciprocal'); }
  acos() { return this.call('acos'); }
  cos() { return this.call('cos'); }
  atan2(x) { return this.with(this.jax.numpy.atan2(this.array.ref, x.array.ref)); }
  clipped(least, most) { return this.call('clip', least, most); }
  sign() { return this.call('greaterEqual', 0).call('where', 1, -1); }
  exceeds(b) { return this.call('greater', b.array.ref); }
  choose(these, those) { return this.call('where', these.array.ref, those.array.ref); }
  stopped() { return this.with(this.jax.lax.stopGradient(this.array.ref)); }
  take(indices) { return this.with(this.array.ref.slice(indices.array.ref)); }
  perVertex() { return this.call('sum', 1); }
  repeated(faces) { return this.with(this.jax.numpy.repeat(this.array.ref, faces)); }
  reshaped(shape) { return this.with(this.array.ref.reshape(shape)); }
  sum() { return this.call('sum'); }
}

/** Value and gradient, jitted; both read back. */
export async function developableGradient({ positions, topology, restLengths, size }) {
  const jax = await jaxOnGpu();
  const { numpy: np } = jax;
  const integers = (list) => np.array(Int32Array.from(list), { dtype: np.int32 });
  const groups = facesByNumber(topology);
  const indices = groups.flatMap(({ centers, first, second }) => [centers, first, second].map(integers));
  const edges = [0, 1].map((end) => integers(topology.edges.filter((_, i) => i % 2 === end)));
  const lengths = np.array(Float32Array.from(restLengths));

  const energy = (x, y, z, lengths, ...lists) => {
    const shared = (array) => new Shared(jax, array);
    const tables = lists.map(shared);
    const grouped = groups.map((group, k) => ({ ...group, tables: tables.slice(3 * k, 3 * k + 3) }));
    return developableEnergy([x, y, z].map(shared), shared(lengths), tables.slice(-2), grouped, REFINEMENTS).array;
  };
  const valueAndGradient = jax.jit(jax.valueAndGrad(energy, { argnums: [0, 1, 2] }));
  const held = [lengths, ...indices, ...edges];
  const coordinates = [0, 1, 2].map((d) => Float32Array.from({ length: size }, (_, vertex) => positions[3 * vertex + d]));
  return {
    async run() {
      const [value, parts] = valueAndGradient(...coordinates.map((list) => np.array(list)), ...held.map((array) => array.ref));
      const columns = await Promise.all(parts.map((part) => part.data()));
      const gradient = new Float64Array(3 * size);
      for (let d = 0; d < 3; d++) for (let vertex = 0; vertex < size; vertex++) gradient[3 * vertex + d] = columns[d][vertex];
      return { value: (await value.data())[0], gradient };
    },
    dispose() {
      for (const array of held) array.dispose();
      valueAndGradient.dispose?.();
    },
  };
}
