// Models that tests run: a small Llama in shared data, with tokens and logits that NumPy computed in double precision over the same files, and the encoder all-MiniLM-L6-v2.
//
// The weights of MiniLM are 91 MB and not in shared data: RESIDUA_MINILM names the file model.safetensors or its folder; by default it is looked for in target/minilm.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { hasData, pathOf, readData } from './shared-data.mjs';

const LLAMA = 'tensor/tiny-llama', MINILM = 'tensor/minilm';

/** Files of the Llama by the kind of their numbers. */
export const FILES = { f16: 'model.gguf', q8_0: 'model-q8_0.gguf', q4_0: 'model-q4_0.gguf' };

/** Logits move by this much where keys and values are stored in f16 (measured over these files), and a choice by as much from each of two logits. */
export const BY_F16_CACHE = 6.2e-3;
const STABLE = 2 * BY_F16_CACHE;

/** What tests of the Llama read, or null where it is absent. */
export function llama(t) {
  if (!hasData(t, `${LLAMA}/expected.json`)) return null;
  const { prompts } = JSON.parse(readData(`${LLAMA}/expected.json`));
  return { prompts, config: JSON.parse(readData(`${LLAMA}/config.json`)), bytes: (file) => readFileSync(pathOf(`${LLAMA}/${file}`)) };
}

/** The first place where tokens differ from those expected although the margin before it is larger than what arithmetic explains; −1 where there is none. Past a close call all may differ. */
export function firstWrong(found, { tokens, margins }) {
  const at = found.findIndex((token, k) => token !== tokens[k]);
  return at < 0 || margins[at] <= STABLE ? -1 : at;
}

/** The file of MiniLM's weights, what its config.json says, the file of its vocabulary, and the expected embeddings; null where one is absent. */
export function minilm(t) {
  const given = process.env.RESIDUA_MINILM ?? fileURLToPath(new URL('../target/minilm/', import.meta.url));
  const file = existsSync(given) && statSync(given).isDirectory() ? join(given, 'model.safetensors') : given;
  if (!hasData(t, `${MINILM}/expected.json`)) return null;
  if (!existsSync(file)) {
    console.log(`data absent: ${t.name}: ${file} (RESIDUA_MINILM names the weights of all-MiniLM-L6-v2, model.safetensors)`);
    t.skip(`there is no ${file}`);
    return null;
  }
  const { layers, heads, hidden, max_positions: positions, layer_norm_eps: epsilon } = JSON.parse(readData(`${MINILM}/config.json`));
  const config = { model_type: 'bert', num_hidden_layers: layers, num_attention_heads: heads, hidden_size: hidden, max_position_embeddings: positions, layer_norm_eps: epsilon };
  return { file, config, vocabulary: pathOf(`${MINILM}/vocab.txt`), sentences: JSON.parse(readData(`${MINILM}/expected.json`)).sentences };
}

/** The largest difference of two vectors, and the cosine of the angle between them. */
export function compare(found, expected) {
  const dot = (a, b) => a.reduce((sum, x, k) => sum + x * b[k], 0);
  return { difference: expected.reduce((most, x, k) => Math.max(most, Math.abs(x - found[k])), 0), cosine: dot(found, expected) / Math.sqrt(dot(found, found) * dot(expected, expected)) };
}
