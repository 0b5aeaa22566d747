/**
 * A sentence encoder of all-MiniLM-L6-v2's shape, with made weights: sentences a second beside ONNX Runtime Web and transformers.js, on the same weights and tokens.
 *
 * 'in a row, ms' is the time of a batch when batches follow each other and each result is read at the end; 'with a read, ms' that of one batch until its embeddings are in JavaScript. ONNX
 * Runtime reads after each run. The graph for it is made of standard operators, as published files are. Embeddings are compared with those of residua on the CPU.
 *
 * Parameters: `small` (a small shape and batch, for trying). residua on the CPU runs always: the others are compared with it.
 */
import { Device } from 'residua/tensor';
import { loadEncoder, sentenceVectors } from 'residua/tensor/models';
import { peer } from './contenders/peers.js';
import { configOf, madeWeights, MINILM, onnxModel, SMALL } from './onnx/bert.js';
import { safetensorsOf } from './onnx/safetensors.js';
import { repeated } from './repeated.js';

export const name = 'encoder';
export const onDemand = true;
export const title = 'A sentence encoder beside ONNX Runtime Web and transformers.js';

/** Batches between two reads, and samples at most, where a batch takes milliseconds and where it takes seconds. */
const [QUICK, SLOW] = [{ inARow: 8, samples: 9 }, { inARow: 1, samples: 3 }];
/** Differences of embeddings of length 1: single precision through six layers, with room for other orders of sums. */
const TOLERANCE = 1e-3;

const PEERS = new URL('../peers/', import.meta.url).href;

/** residua on an engine. */
const residua = (backend) => ({
  name: `residua ${backend.toUpperCase()}`,
  pace: backend === 'gpu' ? QUICK : SLOW,
  async prepare({ shape, weights, batch, tokens, ids }) {
    const device = await Device.create({ backend });
    const model = await loadEncoder(safetensorsOf(weights), { device, config: configOf(shape) });
    const input = device.tensor(ids, [batch, tokens], 'i32');
    const lengths = device.tensor(new Int32Array(batch).fill(tokens), [batch], 'i32');
    const program = await device.compile({}, () => sentenceVectors(input, lengths, model));
    return { run: () => program.run().data(), dispose: () => device.dispose(), submit: () => void program.run() };
  },
});

const feeds = (Tensor, { batch, tokens, ids }) => {
  const whole = (numbers) => new Tensor('int64', BigInt64Array.from(numbers, BigInt), [batch, tokens]);
  return { input_ids: whole(ids), attention_mask: whole(new Int32Array(batch * tokens).fill(1)) };
};

/** ONNX Runtime Web with an execution provider. */
const onnxRuntime = (words, file, provider) => ({
  name: words,
  pace: provider === 'webgpu' ? QUICK : SLOW,
  async prepare(work) {
    const ort = await peer(file);
    Object.assign(ort.env.wasm, { wasmPaths: PEERS, numThreads: 1 });
    const session = await ort.InferenceSession.create(onnxModel(work.shape, work.weights, true), { executionProviders: [provider] });
    const inputs = feeds(ort.Tensor, work);
    return { run: async () => (await session.run(inputs)).sentence_embedding.getData(), dispose: () => session.release() };
  },
});

/** transformers.js: its model class, and the mean and the length as its pipeline computes them. */
const transformersJs = {
  name: 'transformers.js, WebGPU',
  pace: QUICK,
  async prepare(work) {
    const { AutoModel, env, mean_pooling: meanPooling, Tensor } = await peer('transformers');
    const config = configOf(work.shape);
    const files = { 'config.json': () => JSON.stringify(config), 'onnx/model.onnx': () => onnxModel(work.shape, work.weights, false) };
    // The files are made here: what the library asks for by name is answered from memory.
    const answer = (address) => {
      const found = Object.entries(files).find(([ending]) => String(address).endsWith(ending));
      return found === undefined ? undefined : new Response(found[1]());
    };
    Object.assign(env, { allowLocalModels: false, allowRemoteModels: true, useBrowserCache: false, useCustomCache: true, customCache: { match: async (address) => answer(address), put: async () => undefined } });
    env.fetch = async (address, options) => answer(address) ?? (String(address).startsWith(PEERS) ? fetch(address, options) : new Response(null, { status: 404 }));
    Object.assign(env.backends.onnx.wasm, { wasmPaths: PEERS, numThreads: 1 });
    const model = await AutoModel.from_pretrained('made/encoder', { device: 'webgpu', dtype: 'fp32' });
    const inputs = feeds(Tensor, work);
    return {
      async run() {
        const { last_hidden_state: state } = await model(inputs);
        return meanPooling(state, inputs.attention_mask).normalize(2, -1).data;
      },
      dispose: () => model.dispose(),
    };
  },
};

const CONTENDERS = [residua('cpu'), residua('gpu'), onnxRuntime('ONNX Runtime Web, WebGPU', 'ort-webgpu', 'webgpu'), onnxRuntime('ONNX Runtime Web, wasm, one thread', 'ort-wasm', 'wasm'), transformersJs];

const largestDifference = (a, b) => (a.length === b.length ? a.reduce((most, x, k) => Math.max(most, Math.abs(x - b[k])), 0) : NaN);

async function measure(contender, work, expected, reps) {
  const { inARow: count, samples } = contender.pace;
  const row = { contender: contender.name, batch: work.batch, tokens: work.tokens };
  let prepared, found;
  try {
    const began = performance.now();
    prepared = await contender.prepare(work);
    found = await prepared.run();
    const difference = expected === null ? 0 : largestDifference(found, expected);
    Object.assign(row, { status: difference <= TOLERANCE ? 'measured' : 'wrong', difference, 'first, ms': performance.now() - began });
    const { alone, inARow } = await repeated({ submit: prepared.submit ?? prepared.run, read: prepared.run, count, samples: Math.min(reps, samples) });
    Object.assign(row, { 'in a row, ms': inARow, 'with a read, ms': alone, 'sentences a second': (1000 * work.batch) / inARow });
  } catch (error) {
    Object.assign(row, { status: row.status === undefined ? 'unable' : 'failed', reason: error?.message ?? String(error) });
  } finally {
    await prepared?.dispose();
  }
  return { row, found };
}

export async function run(parameters, report, progress, { reps, contenders = () => true }) {
  const isSmall = parameters.has('small');
  const [shape, batch, tokens] = isSmall ? [SMALL, 4, 16] : [MINILM, 64, 128];
  const ids = Int32Array.from({ length: batch * tokens }, (_, k) => (k * 7919) % shape.vocabulary);
  const work = { shape, batch, tokens, ids, weights: madeWeights(shape) };
  let expected = null;
  for (const contender of CONTENDERS) {
    // The first one's embeddings are those that the others are compared with.
    if (expected !== null && !contenders(contender.name)) continue;
    progress(`${contender.name}…`, true);
    const { row, found } = await measure(contender, work, expected, reps);
    expected ??= found ?? null;
    report(row);
  }
}
