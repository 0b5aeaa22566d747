/**
 * A decoder of TinyLlama's shape in q4_0 or q4_K, with weights that are made up: milliseconds for a token at position 512, and for a prompt of 2,048 tokens.
 *
 * 'in a row, ms' is the time of a token when runs follow each other without a read, as `generate` submits them; 'with a read, ms' that of a token until its number is in JavaScript. A row for
 * the prompt has its whole time until the first token is read.
 *
 * Parameters: `engine` ('gpu', by default, or 'cpu'), `small` (a small shape, for trying), `jobs` ('token,prompt'), `type` ('q4_0', by default, or 'q4_K': with q6_K for the output and, in every
 * second layer, for values and the way down, about as files named Q4_K_M have them), `accumulate` ('f32', by default, or 'int8': how products of the prompt are
 * added).
 */
import { Device, Random } from 'residua/tensor';
import { compileDecoder, decoderSettings } from 'residua/tensor/models';
import { madeBlocks } from './made-blocks.js';
import { repeated } from './repeated.js';
import { median } from './statistics.js';

export const name = 'decoder';
export const onDemand = true;
export const title = 'A decoder of TinyLlama’s shape';

const TINY_LLAMA = { layers: 22, width: 2048, heads: 32, kvHeads: 4, forward: 5632, vocabulary: 32000, position: 512, prompt: 2048 };
const SMALL = { layers: 2, width: 256, heads: 8, kvHeads: 4, forward: 512, vocabulary: 512, position: 24, prompt: 48 };
/** Tokens between two reads. */
const IN_A_ROW = 32;

/** Weights of the shape. Those in q4_0 are drawn and rounded on the device, and the numbers they came from are freed. */
async function madeModel(device, { layers, width, heads, kvHeads, forward, vocabulary, prompt }, type, progress) {
  const random = new Random(1);
  const size = width / heads;
  const weights = {};
  const matrix = async (name, rows, columns, more = false) => {
    if (type !== 'q4_0') {
      weights[`${name}.weight`] = madeBlocks(device, more ? 'q6_K' : type, [rows, columns]);
      await device.synchronize();
      return;
    }
    const numbers = await device.store(random.uniform([rows, columns], -1 / Math.sqrt(columns), 1 / Math.sqrt(columns)));
    weights[`${name}.weight`] = await device.quantize(numbers, 'q4_0');
    numbers.dispose();
  };
  const norm = (name) => (weights[`${name}.weight`] = device.tensor(new Float32Array(width).fill(1)));
  await matrix('token_embd', vocabulary, width);
  await matrix('output', vocabulary, width, true);
  norm('output_norm');
  for (let layer = 0; layer < layers; layer++) {
    progress(`weights of layer ${layer + 1} of ${layers}`);
    const of = (part) => `blk.${layer}.${part}`;
    norm(of('attn_norm'));
    norm(of('ffn_norm'));
    for (const [part, rows, columns] of [['attn_q', width, width], ['attn_k', kvHeads * size, width], ['attn_v', kvHeads * size, width], ['attn_output', width, width], ['ffn_gate', forward, width], ['ffn_up', forward, width], ['ffn_down', width, forward]]) {
      await matrix(of(part), rows, columns, layer % 2 === 0 && (part === 'attn_v' || part === 'ffn_down'));
    }
  }
  const settings = decoderSettings({ model_type: 'llama', num_hidden_layers: layers, hidden_size: width, num_attention_heads: heads, num_key_value_heads: kvHeads, max_position_embeddings: prompt });
  return { settings, weights, metadata: {} };
}

export async function run(parameters, report, progress, { reps }) {
  const backend = parameters.get('engine') ?? 'gpu';
  const shape = parameters.has('small') ? SMALL : TINY_LLAMA;
  const jobs = parameters.get('jobs')?.split(',') ?? ['token', 'prompt'];
  const type = parameters.get('type') ?? 'q4_0';
  const samples = Math.min(reps, 9);
  const greedy = { temperature: 0 };
  const device = await Device.create({ backend });
  try {
    const model = await madeModel(device, shape, type, progress);
    // Before the memory of keys and values.
    const weightBytes = device.stats().tensorBytes;
    progress('compiling', true);
    const began = performance.now();
    const accumulate = parameters.get('accumulate') ?? 'f32';
    const decoder = await compileDecoder(device, model, { accumulate });
    const choose = (position) => decoder.choose(position, greedy);
    const about = { contender: `residua ${backend.toUpperCase()}`, weights: type, 'prompt is added in': accumulate, 'compile, ms': performance.now() - began, 'dispatches of a token': decoder.plans.token.dispatches, 'dispatches of a prompt': decoder.plans.prompt.dispatches, 'weights, MB': weightBytes / 1e6 };
    const prompt = Array.from({ length: shape.prompt }, (_, k) => (k * 7919) % shape.vocabulary);

    if (jobs.includes('prompt')) {
      progress('prompt', true);
      const times = [];
      for (let rep = 0; rep <= samples; rep++) {
        const start = performance.now();
        decoder.feed(prompt);
        await choose(prompt.length).item();
        times.push(performance.now() - start);
      }
      const [first, ...rest] = times;
      report({ work: `prompt of ${shape.prompt} tokens`, ...about, status: 'measured', 'first, ms': first, 'with a read, ms': median(rest), 'tokens a second': (1000 * shape.prompt) / median(rest) });
    }
    if (jobs.includes('token')) {
      progress('tokens', true);
      decoder.feed(prompt.slice(0, shape.position));
      await choose(shape.position).item();
      const step = () => {
        decoder.step(shape.position);
        return choose(shape.position + 1);
      };
      const start = performance.now();
      await step().item();
      const first = performance.now() - start;
      const { alone, inARow } = await repeated({ submit: () => void step(), read: () => step().item(), count: IN_A_ROW, samples });
      report({ work: `token at position ${shape.position}`, ...about, status: 'measured', 'first, ms': first, 'in a row, ms': inARow, 'with a read, ms': alone, 'tokens a second': 1000 / inARow });
    }
  } finally {
    device.dispose();
  }
}
