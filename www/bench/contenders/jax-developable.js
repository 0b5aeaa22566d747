/** The developable energy for jax-js: coordinates as arrays of their own, all faces of all vertices in one list, vertices grouped by how many faces they have. */
import { faceLists } from '../plain/developable.js';
import { jaxOnGpu } from './jax.js';

export const present = jaxOnGpu;

/** An array that may be used any number of times: each use takes a reference of its own. */
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
  stopped() { return this.with(this.jax.lax.stopGradient(this.array.ref)); }
  take(indices) { return this.with(this.array.ref.slice(indices.array.ref)); }
  atan2(x) { return this.with(this.jax.numpy.atan2(this.array.ref, x.array.ref)); }
  /** Over the faces of a vertex, [vertices, faces] → [vertices]. */
  perVertex() { return this.call('sum', 1); }
  repeated(faces) { return this.with(this.jax.numpy.repeat(this.array.ref, faces)); }
  reshaped(shape) { return this.with(this.array.ref.reshape(shape)); }
}

const dot = (a, b) => a[0].mul(b[0]).add(a[1].mul(b[1])).add(a[2].mul(b[2]));
const minus = (a, b) => a.map((coordinate, d) => coordinate.sub(b[d]));
const cross = (a, b) => [0, 1, 2].map((d) => a[(d + 1) % 3].mul(b[(d + 2) % 3]).sub(a[(d + 2) % 3].mul(b[(d + 1) % 3])));

/** Duff et al. 2017, as energies/developable.js has it. */
function frameAlong(axis) {
  const held = axis.map((coordinate) => coordinate.stopped());
  const length = dot(held, held).call('sqrt');
  const n = held.map((coordinate) => coordinate.div(length));
  const side = n[2].call('greaterEqual', 0).call('where', 1, -1);
  const a = side.add(n[2]).call('reciprocal').mul(-1);
  const b = n[0].mul(n[1]).mul(a);
  return [
    [n[0].mul(n[0]).mul(a).mul(side).add(1), side.mul(b), side.mul(n[0]).mul(-1)],
    [b, n[1].mul(n[1]).mul(a).add(side), n[1].mul(-1)],
    n,
  ].map((vector) => vector.map((coordinate) => coordinate.stopped()));
}

/**
 * Of [[a, b, c], [b, d, e], [c, e, f]]: vᵀAv with v its eigenvector, held, which keeps the digits that the closed form (Smith 1961) loses and has the
 * derivative v vᵀ. v is the longest cross product of two rows of A − λ, and computed again with λ = vᵀAv, since acos of shaders has few digits.
 */
function smallestEigenvalue(entries) {
  const [a, b, c, d, e, f] = entries.map((entry) => entry.stopped());
  const mean = a.add(d).add(f).div(3);
  const [p, q, r] = [a, d, f].map((entry) => entry.sub(mean));
  const squares = p.mul(p).add(q.mul(q)).add(r.mul(r)).add(b.mul(b).add(c.mul(c)).add(e.mul(e)).mul(2));
  const spread = squares.div(6).call('sqrt');
  const determinant = p.mul(q.mul(r).sub(e.mul(e))).sub(b.mul(b.mul(r).sub(c.mul(e)))).add(c.mul(b.mul(e).sub(c.mul(q))));
  const half = determinant.div(spread.mul(spread).mul(spread).mul(2)).call('clip', -1, 1);
  const least = mean.add(spread.mul(2).mul(half.call('acos').div(3).add((2 * Math.PI) / 3).call('cos')));
  const refined = rayleigh([a, b, c, d, e, f], eigenvector([a, b, c, d, e, f], least));
  return rayleigh(entries, eigenvector([a, b, c, d, e, f], refined).map((coordinate) => coordinate.stopped()));
}

const rayleigh = ([a, b, c, d, e, f], v) => dot(v, [dot([a, b, c], v), dot([b, d, e], v), dot([c, e, f], v)]);

/** The longest cross product of two rows of A − λ, made unit. */
function eigenvector([a, b, c, d, e, f], eigenvalue) {
  const rows = [[a.sub(eigenvalue), b, c], [b, d.sub(eigenvalue), e], [c, e, f.sub(eigenvalue)]];
  let [longest, size] = [null, null];
  for (const [i, j] of [[0, 1], [0, 2], [1, 2]]) {
    const product = cross(rows[i], rows[j]);
    const square = dot(product, product);
    if (longest === null) {
      [longest, size] = [product, square];
      continue;
    }
    const longer = square.call('greater', size.array.ref);
    const choose = (these, those) => longer.call('where', these.array.ref, those.array.ref);
    longest = product.map((coordinate, k) => choose(coordinate, longest[k]));
    size = choose(square, size);
  }
  return longest.map((coordinate) => coordinate.div(size.call('sqrt')));
}

/** Value and gradient, jitted; both read back. */
export async function developableGradient({ positions, topology, restLengths, size }) {
  const jax = await jaxOnGpu();
  const { numpy: np } = jax;
  const lists = faceLists(topology);
  const integers = (list) => np.array(Int32Array.from(list), { dtype: np.int32 });
  // Vertices by their number of faces: arrays are rectangular.
  const groups = new Map();
  lists.centers.forEach((center, i) => {
    const faces = lists.offsets[i + 1] - lists.offsets[i];
    // The matrix of two normals has the eigenvalue 0, whatever they are; in closed form its derivative would be 0 · ∞.
    if (faces < 3) return;
    if (!groups.has(faces)) groups.set(faces, { faces, centers: [], first: [], second: [] });
    const group = groups.get(faces);
    for (let face = lists.offsets[i]; face < lists.offsets[i + 1]; face++) {
      group.centers.push(center);
      group.first.push(lists.corners[2 * face]);
      group.second.push(lists.corners[2 * face + 1]);
    }
  });
  const shapes = [...groups.values()];
  const indices = shapes.flatMap(({ centers, first, second }) => [centers, first, second].map(integers));
  const edges = [0, 1].map((end) => integers(topology.edges.filter((_, i) => i % 2 === end)));
  const lengths = np.array(Float32Array.from(restLengths));

  const energy = (x, y, z, lengths, ...lists) => {
    const shared = (array) => new Shared(jax, array);
    const at = [x, y, z].map(shared);
    const tables = lists.map(shared);
    const [first, second] = tables.slice(-2);
    const side = minus(at.map((coordinate) => coordinate.take(first)), at.map((coordinate) => coordinate.take(second)));
    const strain = dot(side, side).call('sqrt').div(shared(lengths)).sub(1);
    let total = strain.mul(strain).call('sum');
    shapes.forEach(({ faces, centers }, k) => {
      const [o, b, c] = tables.slice(3 * k, 3 * k + 3).map((table) => at.map((coordinate) => coordinate.take(table)));
      const [toB, toC] = [minus(b, o), minus(c, o)];
      const u = cross(toB, toC);
      const twiceArea = dot(u, u).call('sqrt');
      const shape = [centers.length / faces, faces];
      const normal = u.map((coordinate) => coordinate.div(twiceArea));
      const angle = twiceArea.atan2(dot(toB, toC));
      const mean = normal.map((coordinate) => coordinate.mul(angle).reshaped(shape).perVertex());
      const seen = frameAlong(mean).map((axis) => dot(normal, axis.map((coordinate) => coordinate.repeated(faces))));
      const entries = [[0, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 2]].map(([i, j]) => angle.mul(seen[i]).mul(seen[j]).reshaped(shape).perVertex());
      total = total.add(smallestEigenvalue(entries).call('sum'));
    });
    return total.array;
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
