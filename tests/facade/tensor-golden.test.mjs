/**
 * Keeps tests/facade/tensor-recipes.txt as the recorder writes it: tapes with what they give, which the native test
 * tape::recorded::recipes_mean_the_same_natively evaluates. With RESIDUA_BLESS=1 in the environment it rewrites the file instead.
 *
 * Each recipe is a title and lines of numbers: the tape, the dims, the number of inputs, each of these, what it gives.
 */

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { writeTape } from '../../pkg-template/dist/tensor/recipe/tape.js';
import { flatOf } from './tensor-meaning.mjs';
import { recipes } from './tensor-recipes.mjs';

const file = new URL('tensor-recipes.txt', import.meta.url);

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
  assert.ok(found === expected, 'tests/facade/tensor-recipes.txt is not what the recorder writes; run with RESIDUA_BLESS=1');
});
