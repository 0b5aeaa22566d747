/**
 * Keeps tests/golden/tensor-recipes.txt as the recorder writes it: tapes with what they give, which the native test
 * tape::recorded::recipes_mean_the_same_natively evaluates. With RESIDUA_BLESS=1 in the environment it rewrites the file instead.
 *
 * Each recipe is a title and lines of numbers: the tape, the dims, the number of inputs, each of these, what it gives.
 */

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { writeTape } from '../../pkg-template/dist/tensor/recipe/tape.js';
import { flatOf, given } from './tensor-meaning.mjs';
import { randomRecipes } from './tensor-random-recipes.mjs';
import { ROWS } from './tensor-table.mjs';

const file = new URL('../golden/tensor-recipes.txt', import.meta.url);

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
  ['dims: windows', x.windows(0, 2).sum(1), { n: 4 }],
  ['dims: variance of a sample', x.variance(0, { correction: 1 }), { n: 3 }],
  ['random: bits', random().bits([2, 2]), {}],
  ['random: uniform', random().uniform([3], -1, 1), {}],
  ['random: integers', random().integers([4], -100000, 100000), {}],
  ['random: normal', random().normal([4], 1, 2), {}],
  ['random: truncatedNormal', random().truncatedNormal([4]), {}],
  ['random: bernoulli', random().bernoulli([4], 0.5), {}],
  ['random: categorical', random().categorical(given([[0, 1, 2], [2, 1, 0]])), {}],
  ['random: dropout', random().dropout(T.ones([5]), 0.5), {}],
];

function* recipes() {
  for (const { title, record } of ROWS) yield [title, record(), {}];
  yield* MORE;
  let number = 0;
  for (const { tensor, dims } of randomRecipes(100, 2026)) yield [`chain ${number++}`, tensor, dims];
}

function text() {
  let lines = '';
  for (const [title, tensor, dims] of recipes()) {
    const { tape, dims: order, inputs } = writeTape([tensor.node]);
    const contents = inputs.map(({ source }) => (source instanceof T.Random ? [Number(source.seed & 0xffff_ffffn), Number(source.seed >> 32n), 0] : source.data));
    const numbers = [tape, order.map(({ name }) => dims[name]), [inputs.length], ...contents, flatOf(tensor, dims)];
    lines += `${title}\n${numbers.map((line) => `${[...line].join(' ')}\n`).join('')}\n`;
  }
  return lines;
}

test('the tapes that native tests evaluate are those of the recorder', async () => {
  const expected = text();
  if (process.env.RESIDUA_BLESS === '1') await writeFile(file, expected);
  const found = await readFile(file, 'utf8');
  assert.ok(found === expected, 'tests/golden/tensor-recipes.txt is not what the recorder writes; run with RESIDUA_BLESS=1');
});
