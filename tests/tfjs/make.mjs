// Makes layers.json and graphs.json: small models of TensorFlow.js with inputs, and the outputs that TensorFlow.js computes for them.
//
//   node tests/tfjs/make.mjs FOLDER
//
// FOLDER has node_modules with @tensorflow/tfjs 4.22.0, which the project does not depend on.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { argv } from 'node:process';
import { graphCases } from './graph-cases.mjs';
import { layerCases } from './layer-cases.mjs';

const tf = createRequire(join(resolve(argv[2] ?? '.'), 'package.json'))('@tensorflow/tfjs');
await tf.setBackend('cpu');

/** Numbers from −1 to 1, the same ones in each run. */
export function noise(seed) {
  let state = seed;
  return (count) => Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.fround((state / 2 ** 31 - 1) * 0.9);
  });
}

const base64 = (buffer) => Buffer.from(buffer).toString('base64');
const count = (shape) => shape.reduce((product, size) => product * size, 1);
/** Few digits: both libraries round them to the same numbers of single precision. */
const rounded = (x) => Number(x.toPrecision(4));
const kept = (tensor) => ({ shape: tensor.shape, data: Array.from(tensor.dataSync(), (x) => (Number.isInteger(x) ? x : Number(x.toPrecision(6)))) });

async function saved(model) {
  let artifacts;
  await model.save(tf.io.withSaveHandler(async (given) => {
    artifacts = given;
    return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: 'JSON' } };
  }));
  return artifacts;
}

/** Calls a function with each case, and says which case an error is of. */
async function each(cases, make) {
  const found = [];
  for (const [k, given] of cases.entries()) {
    try {
      found.push(await make(given, k));
    } catch (error) {
      throw new Error(`${given.name}: ${error.message}`, { cause: error });
    }
  }
  return found;
}

const layers = await each(layerCases(tf), async ({ name, make, feeds = {}, low = -1, high = 1 }, k) => {
  const model = make();
  const next = noise(k + 1);
  model.setWeights(model.weights.map((weight) => {
    const numbers = next(count(weight.shape));
    return tf.tensor(/variance/.test(weight.originalName) ? numbers.map((x) => Math.abs(x) + 0.5) : numbers, weight.shape);
  }));
  const inputs = model.inputs.map((input, place) => {
    const sizes = input.shape.map((size, axis) => size ?? (axis === 0 ? 2 : 4));
    const numbers = feeds[place] ?? next(count(sizes)).map((x) => low + ((x + 1) / 2) * (high - low));
    return { name: input.name, shape: sizes, data: numbers.map(rounded) };
  });
  const outputs = [model.predict(inputs.map(({ shape, data }) => tf.tensor(data, shape)))].flat();
  const { modelTopology, weightSpecs, weightData } = await saved(model);
  return { name, topology: modelTopology, weights: weightSpecs, data: base64(weightData), inputs, outputs: outputs.map(kept) };
});
/** Settings that matter to training alone. */
const OF_TRAINING = /_(initializer|regularizer|constraint)$|^trainable$/;
const lines = (cases) => `[\n${cases.map((each) => JSON.stringify(each, (name, value) => (OF_TRAINING.test(name) ? undefined : value))).join(',\n')}\n]\n`;
writeFileSync(new URL('layers.json', import.meta.url), lines(layers));

const graphs = await each(graphCases(), async ({ name, nodes, weights = {}, inputs, outputs, library }, k) => {
  const specs = [];
  const parts = [];
  for (const [weight, { dtype = 'float32', shape, data }] of Object.entries(weights)) {
    specs.push({ name: weight, dtype, shape });
    parts.push(Buffer.from((dtype === 'int32' ? Int32Array : dtype === 'bool' || dtype === 'uint8' ? Uint8Array : Float32Array).from(data).buffer));
  }
  const topology = { node: nodes, ...(library && { library }), versions: { producer: 1 } };
  const bytes = Buffer.concat(parts);
  const artifacts = { modelTopology: topology, weightSpecs: specs, weightData: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length), format: 'graph-model' };
  const model = await tf.loadGraphModel(tf.io.fromMemory(artifacts));
  const next = noise(1000 + k);
  const feeds = inputs.map(({ name: input, shape, dtype = 'float32', data }) => ({ name: input, shape, dtype, data: (data ?? next(count(shape))).map(rounded) }));
  const tensors = Object.fromEntries(feeds.map(({ name: input, shape, dtype, data }) => [input, tf.tensor(data, shape, dtype)]));
  const found = [await model.executeAsync(tensors, outputs)].flat();
  return { name, topology, weights: specs, data: base64(bytes), inputs: feeds, outputs: found.map((tensor, place) => ({ name: outputs[place], ...kept(tensor) })) };
});
writeFileSync(new URL('graphs.json', import.meta.url), lines(graphs));
console.log(`${layers.length} Layers models, ${graphs.length} graph models`);
