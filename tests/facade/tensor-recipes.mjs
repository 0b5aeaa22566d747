/** Recipes that are evaluated in Node, natively and on devices. */

import * as T from '../../pkg-template/dist/tensor.js';
import { given } from './tensor-meaning.mjs';
import { randomRecipes } from './tensor-random-recipes.mjs';
import { ROWS } from './tensor-table.mjs';

const n = T.dim('n', 10);
const x = T.arange(n);
const random = () => new T.Random(0x123456789abcdefn);
/** Recipes with dims, and random numbers, whose results the other tests state. */
const MORE = [
  ['dims: mean', x.mean(), { n: 5 }],
  ['dims: slice', x.slice([-2]), { n: 5 }],
  ['dims: flip', x.flip(), { n: 3 }],
  ['dims: concat and reshape', T.concat([x, x]).reshape([2, n]).sum(0), { n: 3 }],
  ['dims: pick', T.arange(10).pick(0, n), { n: 7 }],
  ['dims: setSlice', T.zeros([4]).setSlice([n], T.ones([1])), { n: 2 }],
  ['dims: rope', T.rope(given([[[1, 2]], [[3, 4]]]), { position: n.plus(1) }), { n: 4 }],
  ['dims: rope of so many tokens', T.rope(T.iota([n, 4], 0).add(1), { position: 2 }), { n: 2 }],
  ['dims: windows', x.windows(0, 2).sum(1), { n: 4 }],
  ['dims: variance of a sample', x.variance(0, { correction: 1 }), { n: 3 }],
  ['dims: sort and topk', T.arange(n).sub(2).abs().topk(2).indices.add(T.arange(n).sub(2).abs().sort().slice([0, 2]).cast('i32')), { n: 5 }],
  ['dims: searchSorted', x.searchSorted(given([2.5, -1, 9])), { n: 5 }],
  ['dims: quantile', x.square().quantile([0.25, 0.5, 1]), { n: 4 }],
  ['dims: quantile of nothing', x.square().quantile([0, 0.25, 1]), { n: 0 }],
  ['dims: searchSorted in nothing', x.searchSorted(given([2.5, -1, 9])), { n: 0 }],
  ['dims: maskedSelect', x.maskedSelect(x.mod(2).eq(1)).values, { n: 6 }],
  ['dims: nonzero', T.iota([n, 2], 1).nonzero().values, { n: 3 }],
  ['dims: segmentSum', T.segmentSum(x, x.mod(3).cast('i32'), 3), { n: 8 }],
  ['dims: histogram', T.histogram(x, 3, 0, 6), { n: 10 }],
  ['dims: conv2d', T.conv2d(T.iota([n, 1, n, 4], 2).add(T.iota([n, 1, n, 4], 3)), given([[[[1, 2, 0], [0, 1, -1], [3, 0, 1]]]]), { padding: 'same', stride: [1, 2] }), { n: 3 }],
  ['dims: conv2d of each channel', T.conv2d(T.iota([1, 2, n, 3], 2), given([[[[1, 2], [3, 4]]], [[[5, 6], [7, 8]]]]), { groups: 2, padding: 1 }), { n: 3 }],
  ['dims: convTranspose1d', T.convTranspose1d(x.reshape([1, 1, n]).add(1), given([[[1, 2, 3], [4, 5, 6]]]), { stride: 2, padding: 1, outputPadding: 1 }), { n: 4 }],
  ['dims: avgPool', T.avgPool(x.square(), [3], { stride: 1, padding: 1 }), { n: 5 }],
  ['dims: gridSample', T.gridSample(T.iota([1, 2, n, 4], 2).square(), given([[[[-0.5, 0.3], [0.9, 0.7]]]]), { mode: 'linear', border: 'zero' }), { n: 5 }],
  ['random: bits', random().bits([2, 2]), {}],
  ['random: uniform', random().uniform([3], -1, 1), {}],
  ['random: integers', random().integers([4], -100000, 100000), {}],
  ['random: normal', random().normal([4], 1, 2), {}],
  ['random: truncatedNormal', random().truncatedNormal([4]), {}],
  ['random: bernoulli', random().bernoulli([4], 0.5), {}],
  ['random: permutation', random().permutation(7), {}],
  ['random: categorical', random().categorical(given([[0, 1, 2], [2, 1, 0]])), {}],
  ['random: dropout', random().dropout(T.ones([5]), 0.5), {}],
];

/** Yields titles, tensors and the values of their dims: the table, recipes with dims, random numbers, random chains. */
export function* recipes() {
  for (const { title, record } of ROWS) yield [title, record(), {}];
  yield* MORE;
  let number = 0;
  for (const { tensor, dims } of randomRecipes(100, 2026)) yield [`chain ${number++}`, tensor, dims];
}
