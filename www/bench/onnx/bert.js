/** A sentence encoder of BERT's shape with made weights: as an ONNX graph for other libraries, and as named weights for residua/tensor/models. */
import { congruential } from '../../problems/seeded-noise.js';
import { Graph } from './graph.js';

/** The sizes of all-MiniLM-L6-v2, and small ones for trying. */
export const MINILM = { layers: 6, heads: 12, width: 384, forward: 1536, vocabulary: 30522, places: 512, epsilon: 1e-12 };
export const SMALL = { layers: 2, heads: 4, width: 64, forward: 128, vocabulary: 500, places: 64, epsilon: 1e-12 };

/** What a config.json says of it. */
export const configOf = ({ layers, heads, width, forward, vocabulary, places, epsilon }) => ({
  model_type: 'bert', architectures: ['BertModel'], num_hidden_layers: layers, num_attention_heads: heads, hidden_size: width, intermediate_size: forward, vocab_size: vocabulary,
  max_position_embeddings: places, layer_norm_eps: epsilon,
});

/** Numbers in −1 … 1, times a scale. */
function made(count, scale, seed) {
  const next = congruential(seed);
  return new Float32Array(count).map(() => scale * (next() / 2 ** 31 - 1));
}

/** `{ name: { shape, numbers } }` with Hugging Face's names. */
export function madeWeights({ layers, width, forward, vocabulary, places }) {
  const weights = {};
  let seed = 1;
  const add = (name, shape, scale) => (weights[name] = { shape, numbers: made(shape.reduce((a, b) => a * b, 1), scale, seed++) });
  const dense = (name, rows, columns) => {
    add(`${name}.weight`, [rows, columns], Math.sqrt(3 / columns));
    add(`${name}.bias`, [rows], 0.1);
  };
  const norm = (name) => {
    weights[`${name}.weight`] = { shape: [width], numbers: made(width, 0.2, seed++).map((x) => 1 + x) };
    add(`${name}.bias`, [width], 0.1);
  };
  add('embeddings.word_embeddings.weight', [vocabulary, width], 1);
  add('embeddings.position_embeddings.weight', [places, width], 0.3);
  add('embeddings.token_type_embeddings.weight', [2, width], 0.3);
  norm('embeddings.LayerNorm');
  for (let layer = 0; layer < layers; layer++) {
    const of = (part) => `encoder.layer.${layer}.${part}`;
    for (const part of ['query', 'key', 'value']) dense(of(`attention.self.${part}`), width, width);
    dense(of('attention.output.dense'), width, width);
    norm(of('attention.output.LayerNorm'));
    dense(of('intermediate.dense'), forward, width);
    dense(of('output.dense'), width, forward);
    norm(of('output.LayerNorm'));
  }
  return weights;
}

const transposed = ({ shape: [rows, columns], numbers }) => Float32Array.from(numbers, (_, k) => numbers[(k % rows) * columns + Math.floor(k / rows)]);

/**
 * The graph, of standard operators: `input_ids` and `attention_mask` are [batch, tokens]. The result is `sentence_embedding`, the mean over the tokens with length 1, or without `pooled`
 * `last_hidden_state`, as transformers.js expects it.
 */
export function onnxModel({ layers, heads, width, epsilon }, weights, pooled) {
  const graph = new Graph();
  const size = width / heads;
  const whole = (...numbers) => graph.constant(BigInt64Array.from(numbers, BigInt));
  const plain = (name) => graph.constant(weights[name].numbers, weights[name].shape, name);
  const add = (a, b) => graph.node('Add', [a, b]);
  const norm = (x, name) => graph.node('LayerNormalization', [x, plain(`${name}.weight`), plain(`${name}.bias`)], { axis: -1, epsilon: Float32Array.of(epsilon) });
  const dense = (x, name) => {
    const weight = weights[`${name}.weight`];
    return add(graph.node('MatMul', [x, graph.constant(transposed(weight), weight.shape.toReversed(), `${name}.weight`)]), plain(`${name}.bias`));
  };

  const words = graph.node('Gather', [plain('embeddings.word_embeddings.weight'), 'input_ids']);
  const tokens = graph.node('Slice', [graph.node('Shape', ['input_ids']), whole(1), whole(2)]);
  const places = graph.node('Slice', [plain('embeddings.position_embeddings.weight'), whole(0), tokens, whole(0)]);
  const type = graph.constant(weights['embeddings.token_type_embeddings.weight'].numbers.slice(0, width), [width]);
  let x = norm(add(words, add(places, type)), 'embeddings.LayerNorm');

  const mask = graph.node('Cast', ['attention_mask'], { to: 1 });
  const absent = graph.node('Mul', [graph.node('Sub', [graph.constant(Float32Array.of(1), []), mask]), graph.constant(Float32Array.of(-1e9), [])]);
  const bias = graph.node('Unsqueeze', [absent, whole(1, 2)]);
  const split = whole(0, 0, heads, size);
  const merged = whole(0, 0, width);
  for (let layer = 0; layer < layers; layer++) {
    const of = (part) => `encoder.layer.${layer}.${part}`;
    const headsOf = (part, perm) => graph.node('Transpose', [graph.node('Reshape', [dense(x, of(`attention.self.${part}`)), split])], { perm });
    const scores = graph.node('MatMul', [headsOf('query', [0, 2, 1, 3]), headsOf('key', [0, 2, 3, 1])]);
    const scaled = graph.node('Mul', [scores, graph.constant(Float32Array.of(1 / Math.sqrt(size)), [])]);
    const shares = graph.node('Softmax', [add(scaled, bias)], { axis: -1 });
    const mixed = graph.node('Transpose', [graph.node('MatMul', [shares, headsOf('value', [0, 2, 1, 3])])], { perm: [0, 2, 1, 3] });
    x = norm(add(x, dense(graph.node('Reshape', [mixed, merged]), of('attention.output.dense'))), of('attention.output.LayerNorm'));
    x = norm(add(x, dense(graph.node('Gelu', [dense(x, of('intermediate.dense'))]), of('output.dense'))), of('output.LayerNorm'));
  }

  const inputs = ['input_ids', 'attention_mask'].map((name) => ({ name, type: 'int64', shape: ['batch', 'tokens'] }));
  if (!pooled) {
    graph.node('Identity', [x], {}, 'last_hidden_state');
    return graph.model(inputs, [{ name: 'last_hidden_state', type: 'float', shape: ['batch', 'tokens', width] }]);
  }
  const share = graph.node('Unsqueeze', [mask, whole(2)]);
  const sum = graph.node('ReduceSum', [graph.node('Mul', [x, share]), whole(1)], { keepdims: 0 });
  const mean = graph.node('Div', [sum, graph.node('ReduceSum', [share, whole(1)], { keepdims: 0 })]);
  graph.node('Div', [mean, graph.node('ReduceL2', [mean, whole(1)], { keepdims: 1 })], {}, 'sentence_embedding');
  return graph.model(inputs, [{ name: 'sentence_embedding', type: 'float', shape: ['batch', width] }]);
}
