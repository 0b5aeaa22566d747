/**
 * A fake of the WebAssembly module of tensors. It plans one kernel for each operation of a tape and knows a few operations, whose kernels are
 * functions of JavaScript: the fake GPU calls them by their text, the CPU engine as kernels that the generated module leaves out. A product of
 * matrices has tiles, and computes nothing.
 */

import { tensorModule } from '../../pkg-template/dist/tensor/module/loading.js';
import { ELEMENTWISE } from '../../pkg-template/dist/tensor/recipe/elementwise-codes.js';
import { OP } from '../../pkg-template/dist/tensor/tape-codes.js';
import { kernels } from './fake-gpu.mjs';

const ARRAYS = [Float32Array, null, Int32Array, Uint32Array, Uint8Array, Uint8Array];
const WIDTHS = [4, 2, 4, 4, 1, 1];

/** Reads a tape: see crates/tensor/src/tape.rs. */
function readTape(tape) {
  let at = 0;
  const next = () => tape[at++];
  const list = () => Array.from({ length: next() }, next);
  if (next() !== 1) throw new Error('the version of the tape');
  const dims = list();
  const sizes = Array.from({ length: next() }, () => Array.from({ length: next() }, () => ({ coefficient: next(), dims: list() })));
  if (next() !== 0) throw new Error('the fake has no rules');
  const nodes = Array.from({ length: next() }, () => ({ op: next(), dtype: next(), shape: list().map((k) => sizes[k]), operands: list(), attributes: list() }));
  const results = list();
  const assignments = Array.from({ length: next() }, () => ({ slot: next(), node: next() }));
  return { dims, nodes, results, assignments };
}

const valueAt = (size, dims) => size.reduce((sum, { coefficient, dims: of }) => sum + of.reduce((product, d) => product * dims[d], coefficient), 0);
const countAt = (shape, dims) => shape.reduce((product, size) => product * valueAt(size, dims), 1);
/** Bytes that an allocation of the fake has at most; for more it says that there is no memory. */
const MOST_BYTES = 2 ** 26;
const padded = (bytes) => Math.max(1, Math.ceil(bytes / 16)) * 16;

/** What kernels compute, by name: the operands' elements and those of the result; `count` elements. */
const OPERATIONS = {
  add: (count, [a, b], to) => to.forEach((_, i) => i < count && (to[i] = a[i % a.length] + b[i % b.length])),
  mul: (count, [a, b], to) => to.forEach((_, i) => i < count && (to[i] = a[i] * b[i])),
  neg: (count, [a], to) => to.forEach((_, i) => i < count && (to[i] = -a[i])),
  expand: (count, [a], to) => to.forEach((_, i) => i < count && (to[i] = a[0])),
  product: (_, [a, b], to) => productTexts.watch?.(a, b, to),
  random: (count, [key], to) => to.forEach((_, i) => i < count && (to[i] = 1000 * key[0] + 10 * key[2] + i)),
};
const NAMES = new Map(['neg', 'add', 'mul'].map((name) => [ELEMENTWISE[name].code, name]));
const nameOf = ({ op, attributes }) => (op === OP.randomBits ? 'random' : op === OP.matmul ? 'product' : op === OP.expand ? 'expand' : op === OP.elementwise ? (NAMES.get(attributes[0]) ?? null) : null);

/** The tile of a product by its number of rows: large from 60 rows on, else medium. */
const TILES = ['large', 'large-of-64', 'medium', 'small', 'wide'];
const suggestedTile = (rows) => (rows >= 60 ? 0 : 2);

/** For tests: whether both large tiles have one text, the texts that the compiler refuses, and what is called with the factors and the result of each product. */
export const productTexts = { areLargeOnesEqual: false, refused: [], watch: null };
const productText = (tile) => `product ${TILES[productTexts.areLargeOnesEqual && tile === 1 ? 0 : tile]}`;

/** The function of a kernel: its bindings' bytes, the uniform with the number of elements last. */
function kernelOf(name, dtypes) {
  return (bindings) => {
    const views = dtypes.map((dtype, k) => new ARRAYS[dtype](bindings[k].buffer, bindings[k].byteOffset, bindings[k].byteLength / WIDTHS[dtype]));
    const uniform = bindings[dtypes.length];
    const [count] = new Uint32Array(uniform.buffer, uniform.byteOffset, 1);
    OPERATIONS[name](count, views.slice(0, -1), views.at(-1));
  };
}

/** Installs a new fake and returns its controls. */
export function installTensors() {
  const memory = new WebAssembly.Memory({ initial: 64 });
  const fake = { plans: 0, freedPlans: 0, allocations: new Map(), memory, options: null, tiles: [] };
  let end = 1024;

  class CompiledPlan {
    static compile(tape, options) {
      fake.options = options;
      fake.plans += 1;
      const plan = new CompiledPlan();
      Object.assign(plan, planOf(readTape(tape)), { host: options.host });
      return plan;
    }
    kernelCount = () => this.kernels.length;
    kernelName = (k) => this.kernels[k].name;
    kernelText = (k) => (this.host ? '' : this.kernels[k].text);
    kernelBindings = (k) => Uint8Array.from([...this.kernels[k].dtypes.map((_, at, all) => Number(at === all.length - 1)), 2]);
    kernelWindows = () => new Float64Array(0);
    places = () => Float64Array.from(this.placeList.flat());
    results = () => Uint32Array.from(this.resultPlaces);
    steps = () => Uint32Array.from(this.stepList.flatMap(({ copy, kernel, places }) => (copy ? [1, ...copy] : [0, kernel, places.length, ...places])));
    products = (dims) => Uint32Array.from(this.kernels.flatMap(({ extents, tile }, k) => (extents === undefined ? [] : [k, tile, 0, 1, 0, 32, ...extents.map((size) => valueAt(size, dims))])));
    setTile(k, tile) {
      fake.tiles.push(TILES[tile]);
      Object.assign(this.kernels[k], { tile, text: productText(tile) });
    }
    varyingWords() {
      return Uint32Array.of(0);
    }

    words(dims) {
      const heads = this.stepList.flatMap(({ copy, count }, k) => (copy ? [padded(4 * count(dims)), 0, 0, 0, 0] : [count(dims), 1, 1, 64 * k, 1]));
      const uniform = new Uint32Array(64 * this.stepList.length);
      this.stepList.forEach(({ count }, k) => (uniform[64 * k] = count(dims)));
      return Uint32Array.from([...heads, ...uniform]);
    }
    /** All kernels are left out, as products of matrices are. */
    hostModule = () => Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
    product = (k) => {
      const { name, dtypes } = this.kernels[k];
      return { run: (frame) => callOnHost(memory, kernelOf(name, dtypes), dtypes, frame) };
    };
    toString = () => this.kernels.map(({ name }) => name).join('\n');
    free() {
      fake.freedPlans += 1;
    }
  }

  tensorModule.start({
    Compiling: {
      begin: (tape, options) => ({
        advance: () => CompiledPlan.compile(tape, options),
        free() {},
      }),
    },
    alloc(bytes) {
      if (bytes > MOST_BYTES) return 0;
      const address = end;
      end += padded(bytes);
      while (end > memory.buffer.byteLength) memory.grow(16);
      fake.allocations.set(address, bytes);
      return address;
    },
    dealloc(address, bytes) {
      if (fake.allocations.get(address) !== bytes) throw new Error('freed what was not allocated');
      fake.allocations.delete(address);
    },
    softwareReason: (info) => (info?.isFallbackAdapter === true ? 'the GPU is emulated in software' : undefined),
    wasmMemory: () => memory,
    onPanic() {},
    restart() {},
    async default() {},
  });
  return fake;
}

/** Calls a kernel on a frame: addresses of its buffers, then its uniform, one word here. */
function callOnHost(memory, kernel, dtypes, frame) {
  const words = new Uint32Array(memory.buffer, frame, dtypes.length + 1);
  const count = words[dtypes.length];
  const bindings = dtypes.map((dtype, k) => new Uint8Array(memory.buffer, words[k], padded(WIDTHS[dtype] * count)));
  kernel([...bindings, new Uint8Array(Uint32Array.of(count).buffer)]);
}

/** One step for each operation, one place for each value; results and assignments are copied last. */
function planOf({ dims, nodes, results, assignments }) {
  const [placeList, kernelList, stepList, placeOf] = [[], [], [], []];
  const addPlace = (kind, slot, bytes) => placeList.push([kind, slot, bytes]) - 1;
  const known = new Map();
  const most = dims;
  /** A product of two matrices, with a kernel of its own. */
  const addProduct = (k, { shape, operands }, dtypes) => {
    const tile = suggestedTile(valueAt(shape[0], most));
    for (const each of TILES.keys()) kernels.set(productText(each), kernelOf('product', dtypes));
    for (const refused of productTexts.refused) kernels.delete(refused);
    const extents = [[{ coefficient: 1, dims: [] }], ...shape, nodes[operands[0]].shape[1]];
    const kernel = kernelList.push({ name: 'product', text: productText(tile), dtypes, tile, extents }) - 1;
    placeOf[k] = addPlace(1, 0, padded(WIDTHS[dtypes[2]] * countAt(shape, most)));
    stepList.push({ kernel, places: [...operands.map((operand) => placeOf[operand]), placeOf[k]], count: (at) => countAt(shape, at) });
  };
  nodes.forEach((node, k) => {
    if (node.op === 0) {
      const [slot] = node.attributes;
      placeOf[k] = addPlace(0, slot, 0);
      return;
    }
    const name = nameOf(node);
    if (name === null) throw Object.assign(new Error(`the fake does not know operation ${node.op}`), { code: 'invalid-graph' });
    const dtypes = [...node.operands.map((operand) => nodes[operand].dtype), node.dtype];
    if (name === 'product') {
      addProduct(k, node, dtypes);
      return;
    }
    const text = `${name} ${dtypes}`;
    kernels.set(text, kernelOf(name, dtypes));
    if (!known.has(text)) known.set(text, kernelList.push({ name, text, dtypes }) - 1);
    placeOf[k] = addPlace(1, 0, padded(WIDTHS[node.dtype] * countAt(node.shape, most)));
    stepList.push({ kernel: known.get(text), places: [...node.operands.map((operand) => placeOf[operand]), placeOf[k]], count: (at) => countAt(node.shape, at) });
  });
  const copy = (from, to, node) => stepList.push({ copy: [from, to], count: (at) => Math.ceil((countAt(nodes[node].shape, at) * WIDTHS[nodes[node].dtype]) / 4) });
  const resultPlaces = results.map((node) => {
    const to = addPlace(2, 0, padded(WIDTHS[nodes[node].dtype] * countAt(nodes[node].shape, most)));
    copy(placeOf[node], to, node);
    return to;
  });
  for (const { slot, node } of assignments) {
    let to = placeList.findIndex(([kind, of]) => kind === 0 && of === slot);
    if (to < 0) to = addPlace(0, slot, 0);
    copy(placeOf[node], to, node);
  }
  return { kernels: kernelList, placeList, stepList, resultPlaces };
}
