/** Blocks as tuples: numbers by position on blocks of every dimension, and positions past the end. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem, Value } from '../../pkg-template/dist/index.js';

/** The block that a residual function gets from a parameter array of `dim` and that from data, with what `read` gives for each. */
function inBlocks(dim, read) {
  const problem = new Problem();
  const array = problem.parameters('p', { dim, values: new Float64Array(dim) });
  const found = [];
  problem.residuals('r', {
    inputs: { p: array.shared(), d: problem.data(new Float64Array(dim), dim) },
    residual: ({ p, d }) => {
      found.push(read(p), read(d));
      return [...p, ...d];
    },
  });
  return found;
}

for (const dim of [1, 2, 3, 4, 5, 7, 70]) {
  test(`a block of ${dim} gives its numbers by position, by at, and in a loop`, () => {
    inBlocks(dim, (block) => {
      const numbers = [...block];
      assert.equal(numbers.length, dim);
      assert.equal(block.length, dim);
      for (let i = 0; i < dim; i++) {
        assert.ok(block[i] instanceof Value);
        assert.equal(block[i], numbers[i]);
        assert.equal(block.at(i), numbers[i]);
        assert.equal(block.at(i - dim), numbers[i]);
      }
    });
  });

  test(`a block of ${dim} refuses positions outside`, () => {
    const takes = dim === 1 ? 'takes position 0: it has one number' : `takes a position from 0 to ${dim - 1}: it has ${dim} numbers`;
    inBlocks(dim, (block) => {
      const refused = { code: 'invalid-argument', message: new RegExp(`^position in a \\w+: got .*; ${takes}$`) };
      for (const index of [dim, -dim - 1, 0.5, Number.NaN, '0']) assert.throws(() => block.at(index), refused, String(index));
      if (dim < 64) assert.throws(() => block[dim], refused);
    });
  });
}

test('a long block is an array, and what its methods give are plain arrays', () => {
  inBlocks(6, (block) => {
    assert.ok(Array.isArray(block));
    const part = block.slice(0, 2);
    assert.equal(part[2], undefined);
    assert.equal(block.map((x) => x.neg()).length, 6);
    const copy = [...block];
    block.push(copy[0]);
    assert.equal(block.length, 7);
    assert.equal(block.at(6), copy[0]);
  });
});
