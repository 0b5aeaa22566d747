/** The developable energy (developable-arrays.js) for TensorFlow.js. */
import { developableEnergy, facesByNumber } from './developable-arrays.js';
import { tfjsOnGpu } from './tfjs.js';

const REFINEMENTS = 2;

/**
 * A tensor with the operations of the energy. TensorFlow.js has no stopGradient; an identity with a custom gradient of zero replaces it.
 */
class Chain {
  constructor(tf, tensor) {
    this.tf = tf;
    this.tensor = tensor;
  }

  with(tensor) {
    return new Chain(this.tf, tensor);
  }

  call(name, ...rest) { return this.with(this.tf[name](this.tensor, ...rest.map((b) => (b instanceof Chain ? b.tensor : b)))); }
  add(b) { return this.call('add', b); }
  sub(b) { return this.call('sub', b); }
  mul(b) { return this.call('mul', b); }
  div(b) { return this.call('div', b); }
  sqrt() { return this.call('sqrt'); }
  reciprocal() { return this.call('reciprocal'); }
  acos() { return this.call('acos'); }
  cos() { return this.call('cos'); }
  atan2(x) { return this.call('atan2', x); }
  clipped(least, most) { return this.call('clipByValue', least, most); }
  sign() { return this.compared('greaterEqual', this.call('zerosLike')).choose(this.call('onesLike'), this.call('onesLike').mul(-1)); }
  exceeds(b) { return this.compared('greater', b); }
  choose(these, those) { return this.call('where', these, those); }
  stopped() { return this.constant((x) => this.tf.clone(x)); }
  /** Comparisons have no gradient in TensorFlow.js, not even zero. */
  compared(name, b) { return this.constant((x, y) => this.tf[name](x, y), b); }
  /** The result of an operation as a constant for differentiation. */
  constant(operation, ...rest) {
    const tensors = [this, ...rest].map(({ tensor }) => tensor);
    const held = this.tf.customGrad((...inputs) => {
      const of = inputs.slice(0, tensors.length);
      return { value: operation(...of), gradFunc: () => of.map((input) => this.tf.zerosLike(input)) };
    });
    return this.with(held(...tensors));
  }

  take(indices) { return this.call('gather', indices); }
  perVertex() { return this.call('sum', 1); }
  repeated(faces) { return this.call('reshape', [-1, 1]).call('tile', [1, faces]).call('reshape', [-1]); }
  reshaped(shape) { return this.call('reshape', shape); }
  sum() { return this.call('sum'); }
}

/** Value and gradient; both read back. */
export async function developableGradient({ positions, topology, restLengths, size }) {
  const tf = await tfjsOnGpu();
  const chain = (tensor) => new Chain(tf, tensor);
  const integers = (list) => chain(tf.tensor1d(Int32Array.from(list), 'int32'));
  const groups = facesByNumber(topology).map((group) => ({ ...group, tables: [group.centers, group.first, group.second].map(integers) }));
  const ends = [0, 1].map((end) => integers(topology.edges.filter((_, i) => i % 2 === end)));
  const lengths = chain(tf.tensor1d(Float32Array.from(restLengths)));
  const valueAndGradients = tf.valueAndGrads((...at) => developableEnergy(at.map(chain), lengths, ends, groups, REFINEMENTS).tensor);
  const coordinates = [0, 1, 2].map((d) => Float32Array.from({ length: size }, (_, vertex) => positions[3 * vertex + d]));
  return {
    async run() {
      const { value, grads } = tf.tidy(() => valueAndGradients(coordinates.map((list) => tf.tensor1d(list))));
      const columns = await Promise.all(grads.map((grad) => grad.data()));
      const gradient = new Float64Array(3 * size);
      for (let d = 0; d < 3; d++) for (let vertex = 0; vertex < size; vertex++) gradient[3 * vertex + d] = columns[d][vertex];
      const [number] = await value.data();
      tf.dispose([value, grads]);
      return { value: number, gradient };
    },
    dispose: () => tf.dispose([lengths, ...ends, ...groups.flatMap(({ tables }) => tables)].map(({ tensor }) => tensor)),
  };
}
