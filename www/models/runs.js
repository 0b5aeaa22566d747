/** Runs of a model on an engine: made inputs, times of whole runs and of each layer, and how far two engines are apart. */
import { loadOnnx } from 'residua/tensor/onnx';
import { seededNoise } from '../problems/seeded-noise.js';
import { loadTfjs } from 'residua/tensor/tfjs';
import { constantNames, fileOfNode, readFile, withAllOutputs } from './onnx-file.js';
import { isJson, readTfjs } from './tfjs-file.js';

/** Codes of ONNX's element types by the dtype of a tensor, where the file does not say which it is. */
const CODES = { f32: 1, u8: 2, i32: 7, bool: 9, f16: 10, u32: 12 };
/** Runs of which the median is told. */
const RUNS = 5;
/** A layer is run until it has taken so long, which clocks of pages tell, or so often. */
const LAYER_MS = 4, LAYER_RUNS = 256;
/** Integers up to so many are given as numbers: they may be shapes. */
const FEW = 4096;

/** The sizes that an input leaves open: the name of each, or its place where it has none. */
export function openSizes(inputs) {
  const open = new Map();
  for (const { name, shape, dtype } of inputs) {
    shape?.forEach((size, axis) => {
      if (typeof size === 'number') return;
      const key = size === '' ? `${name}[${axis}]` : size;
      // A batch is one; a picture has some pixels, sound more samples, and a sequence of words is short.
      if (!open.has(key)) open.set(key, axis === 0 ? 1 : shape.length === 4 && axis > 1 ? 64 : dtype === 'f32' && shape.length === 2 ? 512 : 8);
    });
  }
  return open;
}

export const sizesOf = ({ name, shape }, open) => (shape ?? []).map((size, axis) => (typeof size === 'number' ? size : open.get(size === '' ? `${name}[${axis}]` : size)));

/** Inputs of one number: rates, lengths, switches. A visitor says what they are. */
export const scalarsOf = (inputs) => inputs.filter(({ shape }) => shape?.length === 0);

/** Numbers for an input: noise from −1 to 1, and whole numbers 0 and 1, which any table has. */
export function madeNumbers({ dtype }, sizes, seed = 1) {
  const { uniform } = seededNoise(seed);
  const count = sizes.reduce((product, size) => product * size, 1);
  const isReal = dtype === 'f32' || dtype === 'f16';
  return Float32Array.from({ length: count }, () => (isReal ? 2 * uniform() - 1 : Math.floor(2 * uniform())));
}

/**
 * What a file has that is not taken: `operators`, by name, and the error in few words; null for other errors. The message of the package lists the first nodes, and all
 * operators that are taken, which are some two hundred.
 */
export function refusedBy(error, nodes, isOnnx = true) {
  const [, words, what, list] = /^([^]*?); takes the (operators|layers) ([^]*)$/.exec(error.message) ?? [];
  if (list === undefined) return null;
  const taken = new Set(list.split(', '));
  const operators = new Set(nodes.map(operatorOf).filter((name) => !taken.has(name)));
  return { operators, words: `${words}. “Run a model of ${isOnnx ? 'ONNX' : 'TensorFlow.js'}” in the documentation lists the ${what} that are taken.` };
}

/** The name of a node's operator, with its domain where that is not ONNX's own. */
export const operatorOf = ({ domain, operator }) => (domain === '' ? operator : `${domain}.${operator}`);

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

async function timed(device, work) {
  const start = performance.now();
  const result = await work();
  await device.synchronize();
  return { result, ms: performance.now() - start };
}

/**
 * A model of a file, of ONNX or of TensorFlow.js: `nodes`, `initializers`, `outputs`, `types`, `constants`, and what loads it, all of it with the outputs of
 * every layer, and one layer with the inputs that it is given: `loadNode()` gives their names in that model, too.
 * @param {Uint8Array} bytes
 * @param {((location: string) => unknown) | undefined} external the other files, by their names
 */
export async function openModel(bytes, external) {
  if (isJson(bytes)) {
    const bytesAt = async (path) => new Uint8Array(await new Response(await external(path)).arrayBuffer());
    const file = await readTfjs(bytes, bytesAt);
    const loader = ({ json, weights }) => (device, signal) => loadTfjs(json, { device, weights, signal });
    return { ...file, isOnnx: false, size: bytes.length + file.weightBytes, load: loader(file.whole), loadAll: (device, signal) => loader(file.allOutputs())(device, signal), loadNode: (node, inputs) => {
      const { names, files } = file.ofNode(node, inputs);
      return { names, load: loader(files) };
    } };
  }
  const file = readFile(bytes);
  const loader = (source) => (device, signal) => loadOnnx(source, { device, external, signal });
  return {
    ...file, isOnnx: true, size: bytes.length, constants: constantNames(file), isFixed: (name) => file.initializers.has(name),
    load: loader(bytes), loadAll: (device, signal) => loader(withAllOutputs(file))(device, signal), loadNode: (node, inputs) => ({ names: new Map(inputs.map(({ name }) => [name, name])), load: loader(fileOfNode(file, node, inputs)) }),
  };
}

/** Loads a model and runs it: times in milliseconds, and the outputs as numbers. */
export async function runWhole(device, load, feeds, { signal, runs = RUNS } = {}) {
  const { result: model, ms: loadMs } = await timed(device, () => load(device, signal));
  try {
    signal?.throwIfAborted();
    const { result: first, ms: firstMs } = await timed(device, () => model.run(feeds));
    const outputs = [];
    for (const [name, tensor] of Object.entries(first)) outputs.push({ name, shape: [...tensor.shape], dtype: tensor.dtype, numbers: await tensor.data() });
    const times = [];
    for (let run = 0; run < runs; run++) {
      signal?.throwIfAborted();
      times.push((await timed(device, () => model.run(feeds))).ms);
    }
    return { loadMs, firstMs, runMs: median(times), outputs, bytes: device.stats().tensorBytes };
  } finally {
    model.dispose();
  }
}

/** The largest difference of two lists of numbers, beside the largest number; NaN counts as equal to NaN, and as infinitely far from a number. */
export function difference(one, other) {
  if (one.length !== other.length) return { difference: Infinity, largest: NaN };
  let [far, largest] = [0, 0];
  for (let k = 0; k < one.length; k++) {
    const [a, b] = [one[k], other[k]];
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) largest = Math.max(largest, Math.abs(a) || 0);
    else {
      const apart = Math.abs(a - b);
      far = Math.max(far, Number.isNaN(apart) ? Infinity : apart);
      largest = Math.max(largest, Math.abs(a) || 0, Math.abs(b) || 0);
    }
  }
  return { difference: far, largest };
}

/**
 * Every layer by itself: a model of one node, with the inputs that it has in the whole model. Calls `onLayer(index, { ms, shape, numbers } | { failure } | {
 * isConstant })` for each. Layers of a whole run are fused, so that their times add up to less there.
 * @param {Awaited<ReturnType<typeof openModel>>} model
 */
export async function runLayers(device, model, feeds, { signal, onLayer }) {
  const { constants } = model;
  const whole = await model.loadAll(device, signal);
  try {
    const feedTypes = new Map(whole.inputs.map(({ name, dtype }) => [name, dtype]));
    const values = new Map(Object.entries(await whole.run(feeds)));
    for (const [index, node] of model.nodes.entries()) {
      signal?.throwIfAborted();
      if (node.outputs.every((name) => constants.has(name))) {
        onLayer(index, { isConstant: true });
        continue;
      }
      try {
        onLayer(index, await runLayer(device, model, node, { values, feeds, feedTypes, signal }));
      } catch (error) {
        if (signal?.aborted) throw error;
        onLayer(index, { failure: error.message });
      }
    }
  } finally {
    whole.dispose();
  }
}

async function runLayer(device, model, node, { values, feeds, feedTypes, signal }) {
  const { constants, types, isFixed = () => false } = model;
  const inputs = [], given = {};
  for (const name of node.takes.filter((each) => !isFixed(each))) {
    const value = values.get(name) ?? feeds[name];
    if (value === undefined) throw new Error(`its input ${name} is not known`);
    const isTensor = values.has(name);
    const [sizes, dtype] = [[...value.shape], isTensor ? value.dtype : null];
    const asNumbers = isTensor && (constants.has(name) || (dtype !== 'f32' && sizes.reduce((product, size) => product * size, 1) <= FEW));
    inputs.push({ name, dtype: dtype ?? feedTypes.get(name) ?? 'f32', type: types.get(name) || CODES[dtype ?? 'f32'], sizes });
    given[name] = asNumbers ? { data: await value.data(), shape: sizes } : value;
  }
  const { names, load } = model.loadNode(node, inputs);
  const layer = await load(device, signal);
  const fed = Object.fromEntries(Object.entries(given).map(([name, value]) => [names.get(name), value]));
  try {
    const outputs = await layer.run(fed);
    const [first] = Object.values(outputs);
    const found = { shape: [...first.shape], numbers: await first.data(), ms: 0 };
    for (let count = 1; ; count *= 2) {
      signal?.throwIfAborted();
      const { ms } = await timed(device, async () => {
        for (let run = 0; run < count; run++) await layer.run(fed);
      });
      found.ms = ms / count;
      if (ms >= LAYER_MS || count >= LAYER_RUNS) return found;
    }
  } finally {
    layer.dispose();
  }
}
