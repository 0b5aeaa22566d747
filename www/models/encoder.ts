// A sentence encoder of BERT's shape, such as all-MiniLM-L6-v2: the mean of the last layer over a sentence's tokens, with length 1. Weights are safetensors with Hugging Face's names.
import { arange, attention, dim, embedding, layerNorm, linear, loadSafetensors, spec } from 'residua/tensor';
import type { Device, FileSource, LoadOptions, StoredTensor, Tensor } from 'residua/tensor';

export type Weights = Record<string, StoredTensor>;
export interface Sizes { /** Of attention. */ heads: number; epsilon: number; /** The most sentences of a run, and the most tokens of a sentence. */ batch: number; tokens: number }

export const MINILM: Sizes = { heads: 12, epsilon: 1e-12, batch: 32, tokens: 256 };

/** Loads the weights that the encoder uses. */
export async function loadWeights(source: FileSource, options: LoadOptions): Promise<Weights> {
  const { tensors } = await loadSafetensors(source, { select: (name) => /(^|\.)(embeddings|encoder)\./.test(name) && !name.includes('position_ids'), ...options });
  return Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name.replace('bert.', ''), tensor]));
}

/** Embeddings [sentences, width] of token numbers [sentences, tokens], of which each sentence has the first `lengths`. */
export function embed(ids: Tensor<'i32'>, lengths: Tensor<'i32'>, weights: Weights, { heads, epsilon }: Pick<Sizes, 'heads' | 'epsilon'>): Tensor<'f32'> {
  const weight = (name: string) => {
    const found = weights[name];
    if (found === undefined) throw new Error(`the file has no ${name}`);
    return found;
  };
  const norm = (x: Tensor<'f32'>, name: string) => layerNorm(x, { weight: weight(`${name}.weight`), bias: weight(`${name}.bias`), epsilon });
  const dense = (x: Tensor<'f32'>, name: string) => linear(x, weight(`${name}.weight`), weight(`${name}.bias`));
  const [sentences, tokens] = ids.shape;
  const isToken = arange(tokens, 'i32').lt(lengths.expandDims(-1));

  const words = embedding(ids, weight('embeddings.word_embeddings.weight'));
  const places = weight('embeddings.position_embeddings.weight').slice([0, tokens]).add(weight('embeddings.token_type_embeddings.weight').slice([0, 1]));
  let x = norm(words.add(places.cast('f32')), 'embeddings.LayerNorm');
  for (let layer = 0; `encoder.layer.${layer}.output.dense.weight` in weights; layer++) {
    const of = (part: string) => `encoder.layer.${layer}.${part}`;
    const split = (part: string) => dense(x, of(`attention.self.${part}`)).reshape([sentences, tokens, heads, -1]).transpose(1, 2);
    const mixed = attention(split('query'), split('key'), split('value'), { mask: isToken.expandDims(1, 2) });
    x = norm(x.add(dense(mixed.transpose(1, 2).reshape([sentences, tokens, -1]), of('attention.output.dense'))), of('attention.output.LayerNorm'));
    x = norm(x.add(dense(dense(x, of('intermediate.dense')).gelu(), of('output.dense'))), of('output.LayerNorm'));
  }
  const share = isToken.cast('f32').div(lengths.cast('f32').expandDims(-1));
  const mean = x.mul(share.expandDims(-1)).sum(1);
  return mean.div(mean.norm(-1, { keep: true }));
}

/** Compiles the encoder for batches of sentences of any length. */
export async function makeEncoder(device: Device, weights: Weights, sizes: Partial<Sizes> = {}) {
  const { heads, epsilon, batch, tokens: most } = { ...MINILM, ...sizes };
  const [sentences, tokens] = [dim('sentences', batch), dim('tokens', most)];
  const program = await device.compile({ ids: spec('i32', [sentences, tokens]), lengths: spec('i32', [sentences]) }, ({ ids, lengths }) => embed(ids, lengths, weights, { heads, epsilon }));

  return {
    tokens: most,
    /** The embedding of each list of token numbers. Sentences of similar length share a run, so that little is computed for padding. `onProgress` has how many are done. */
    async encode(lists: readonly (readonly number[])[], onProgress?: (done: number) => void): Promise<Float32Array[]> {
      const order = lists.map((_, index) => index).sort((a, b) => (lists[b] as number[]).length - (lists[a] as number[]).length);
      const found: Float32Array[] = [];
      for (let start = 0; start < order.length; start += batch) {
        const part = order.slice(start, start + batch).map((index) => (lists[index] as number[]).slice(0, most));
        const longest = Math.max(1, ...part.map((list) => list.length));
        const ids = part.flatMap((list) => [...list, ...Array<number>(longest - list.length).fill(0)]);
        const run = program.run({ ids, lengths: part.map((list) => list.length) }, { sentences: part.length, tokens: longest });
        const numbers = await run.data();
        const width = numbers.length / part.length;
        part.forEach((_, row) => (found[order[start + row] as number] = numbers.slice(row * width, (row + 1) * width)));
        onProgress?.(Math.min(start + batch, order.length));
      }
      return found;
    },
    dispose: () => program.dispose(),
  };
}
