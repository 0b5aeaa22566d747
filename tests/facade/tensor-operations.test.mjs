/** Operations of tensors: what their recipes mean, computed by plain loops over the recorded nodes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { given, valueOf } from './tensor-meaning.mjs';
import { ROWS } from './tensor-table.mjs';

/** Recipes are evaluated in double precision; only constants that were rounded by hand differ. */
const TOLERANCE = 1e-9;

/** Throws unless lists of lists are alike, numbers up to the tolerance. */
function alike(found, expected, path = 'value') {
  if (Array.isArray(expected)) {
    assert.ok(Array.isArray(found) && found.length === expected.length, `${path}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
    expected.forEach((each, i) => alike(found[i], each, `${path}[${i}]`));
    return;
  }
  const isSame = Object.is(found, expected) || found === expected || Math.abs(found - expected) <= TOLERANCE * (1 + Math.abs(expected));
  assert.ok(isSame, `${path}: ${found}, not ${expected}`);
}

for (const { title, record, expected, dtype } of ROWS) {
  test(title, () => {
    const recipe = record();
    // Rows for derivatives alone say nothing else.
    if (expected !== undefined) alike(valueOf(recipe), expected);
    assert.equal(recipe.dtype, dtype);
  });
}

test('half precision is reduced in single', () => {
  const half = given([[1, 2]], 'f16');
  for (const result of [half.sum(), half.softmax(), half.cumsum(), half.norm().cast('f16'), half.gelu(), half.variance(), half.mean()]) {
    assert.equal(result.dtype, 'f16');
    assert.equal(result.node.attributes[0], given([1]).cast('bool').node.attributes[0], 'the last operation is a cast');
    assert.equal(result.node.operands[0].dtype, 'f32');
  }
});

test('sizes may depend on dims', () => {
  const n = T.dim('n', 10);
  const x = T.arange(n);
  alike(valueOf(x.mean(), { n: 5 }), 2);
  alike(valueOf(x.slice([-2]), { n: 5 }), [3, 4]);
  alike(valueOf(x.flip(), { n: 3 }), [2, 1, 0]);
  alike(valueOf(T.concat([x, x]).reshape([2, n]).sum(0), { n: 3 }), [0, 2, 4]);
  alike(valueOf(T.arange(10).slice([n, n.plus(2)]), { n: 4 }), [4, 5]);
  alike(valueOf(T.arange(10).pick(0, n), { n: 7 }), 7);
  alike(valueOf(T.zeros([4]).setSlice([n], T.ones([1])), { n: 2 }), [0, 0, 1, 0]);
  alike(valueOf(x.windows(0, 2).sum(1), { n: 4 }), [1, 3, 5]);
  alike(valueOf(x.expandDims(1).mul(T.ones([2])).reshape([-1]), { n: 2 }), [0, 0, 1, 1]);
  alike(valueOf(x.variance(0, { correction: 1 }), { n: 3 }), 1);
  assert.equal(x.shape[0], n);
  assert.equal(T.concat([x, T.arange(2)]).slice([2]).shape[0], n, 'n + 2 − 2 is n');
});
