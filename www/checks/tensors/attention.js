/** Attention in double precision, and cases of it: what kernels are compared with. */
import { countOf } from './arrays.js';
import { fill } from './numbers.js';

/**
 * The weighted means of values, in C order, and for each the bound of its error in f32 over 2⁻²⁴: each product of a query and a key is off by a rounding a term, which moves
 * its weight by as much; the exponential, the sums and the scaling of both add a rounding a key and some.
 */
export function attentionOf(q, k, v, { causal = false, position, mask, scale, window, softcap } = {}) {
  const [heads, queries, size] = q.shape.slice(-3);
  const [keyHeads, keys] = k.shape.slice(-3);
  const width = v.shape.at(-1);
  const all = countOf(q.shape.slice(0, -2));
  const first = position ?? keys - queries;
  const factor = scale ?? 1 / Math.sqrt(size);
  const shape = [...q.shape.slice(0, -1), width];
  const [values, magnitudes] = [new Float64Array(all * queries * width), new Float64Array(all * queries * width)];
  const term = mask === undefined ? () => 0 : maskOf(mask, [all / heads, heads, queries, keys]);
  for (let head = 0; head < all; head++) {
    const keyHead = Math.floor(head / heads) * keyHeads + Math.floor(((head % heads) * keyHeads) / heads);
    for (let i = 0; i < queries; i++) {
      const scores = new Float64Array(keys).fill(-Infinity);
      let error = 0;
      for (let j = 0; j < keys; j++) {
        const place = first + i;
        if (((causal || window !== undefined) && j > place) || (window !== undefined && j < place - window)) continue;
        let [dot, magnitude] = [0, 0];
        for (let c = 0; c < size; c++) {
          const product = q.values[(head * queries + i) * size + c] * k.values[(keyHead * keys + j) * size + c] * factor;
          dot += product;
          magnitude += Math.abs(product);
        }
        error = Math.max(error, (size + 2) * magnitude + 4 * Math.abs(dot));
        scores[j] = (softcap === undefined ? dot : softcap * Math.tanh(dot / softcap)) + term(head, i, j);
      }
      const most = Math.max(...scores);
      const weights = scores.map((score) => (score === -Infinity ? 0 : Math.exp(score - most)));
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (let column = 0; column < width; column++) {
        let [sum, magnitude] = [0, 0];
        for (let j = 0; j < (total > 0 ? keys : 0); j++) {
          const product = (weights[j] / total) * v.values[(keyHead * keys + j) * width + column];
          sum += product;
          magnitude += Math.abs(product);
        }
        const at = (head * queries + i) * width + column;
        values[at] = sum;
        magnitudes[at] = (2 * error + keys + 32) * magnitude;
      }
    }
  }
  return { shape, values: [...values], magnitudes };
}

/** The term of a score, by its head among all, query and key: −∞ where a bool does not hold. */
function maskOf({ shape, values, dtype }, [, heads]) {
  const wide = [1, 1, 1, 1, ...shape].slice(-4);
  return (head, i, j) => {
    const place = [Math.floor(head / heads), head % heads, i, j];
    const at = wide.reduce((sum, extent, axis) => sum * extent + (extent === 1 ? 0 : place[axis]), 0);
    return dtype === 'bool' ? (values[at] === 0 ? -Infinity : 0) : values[at];
  };
}

/** Numbers of a shape: `{ shape, values }`. */
export function numbersOf(shape, seed, dtype = 'f32') {
  return { shape, values: fill([-1, 1], countOf(shape), dtype, seed), dtype };
}

/** Queries, keys and values: `heads` is [of queries, of keys], `tokens` [queries, keys], `sizes` [of keys, of values]. */
export function factorsOf({ batch = [], heads, tokens, sizes, dtype = 'f32' }) {
  const shapes = [[heads[0], tokens[0], sizes[0]], [heads[1], tokens[1], sizes[0]], [heads[1], tokens[1], sizes[1]]];
  return shapes.map((shape, place) => numbersOf([...batch, ...shape], place + 1, place === 0 ? 'f32' : dtype));
}

const plain = { heads: [2, 1], tokens: [5, 7], sizes: [8, 8] };
const bools = (shape) => ({ shape, values: Array.from({ length: countOf(shape) }, (_, i) => Number(i % 3 !== 1 && i >= shape.at(-1))), dtype: 'bool' });
const terms = (shape) => ({ shape, values: Array.from({ length: countOf(shape) }, (_, i) => (i % 5 === 2 || i < shape.at(-1) ? -Infinity : (i % 7) / 8)), dtype: 'f32' });

/** Sizes of heads that have kernels, with a few queries and with more than a tile of them. */
export const SIZES = [32, 64, 80, 96, 128].flatMap((size) => [
  { name: `a few queries of ${size}`, heads: [2, 1], tokens: [2, 261], sizes: [size, size], options: { causal: true } },
  { name: `queries of ${size}`, heads: [2, 1], tokens: [70, 131], sizes: [size, size], options: { causal: true } },
]);

/** Ways in which queries see keys: each is a kernel. */
export const FORMS = [
  { ...plain, name: 'plain' },
  { ...plain, name: 'one query and one key', tokens: [1, 1] },
  { ...plain, name: '8 queries', tokens: [8, 130], heads: [6, 2], batch: [2] },
  { ...plain, name: '9 queries', tokens: [9, 130], heads: [6, 2], batch: [2] },
  { ...plain, name: 'f16', dtype: 'f16', tokens: [1, 140], heads: [4, 2], sizes: [16, 16] },
  { ...plain, name: 'f16 and many queries', dtype: 'f16', tokens: [66, 66], sizes: [16, 20], options: { causal: true } },
  { ...plain, name: 'a position', tokens: [3, 150], options: { causal: true, position: 20 } },
  { ...plain, name: 'a position and many queries', tokens: [12, 150], options: { causal: true, position: 60 } },
  { ...plain, name: 'queries before all keys', tokens: [12, 4], options: { causal: true } },
  { ...plain, name: 'a window', tokens: [4, 300], options: { causal: true, window: 100 } },
  { ...plain, name: 'a window and many queries', tokens: [200, 200], sizes: [4, 4], options: { window: 40 } },
  { ...plain, name: 'a softcap', tokens: [10, 20], options: { softcap: 0.25, scale: 2 } },
  { ...plain, name: 'bools', options: { mask: bools([5, 7]) } },
  { ...plain, name: 'bools for each head', tokens: [10, 68], options: { mask: bools([2, 10, 68]), causal: true } },
  { ...plain, name: 'terms', options: { mask: terms([2, 1, 7]) } },
  { ...plain, name: 'terms for each batch', batch: [2], tokens: [12, 67], options: { mask: terms([2, 1, 12, 67]), softcap: 4 } },
  { ...plain, name: 'other sizes', sizes: [6, 5] },
  { ...plain, name: 'no keys', tokens: [3, 0] },
  { ...plain, name: 'no keys and many queries', tokens: [10, 0] },
];
