/** The tape of recipes, in the format of crates/tensor/src/tape.rs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';
import { inputNode } from '../../pkg-template/dist/tensor/recipe/node.js';
import { writeTape } from '../../pkg-template/dist/tensor/recipe/tape.js';
import { OP } from '../../pkg-template/dist/tensor/tape-codes.js';
import { Tensor } from '../../pkg-template/dist/tensor/tensor.js';

const OPS = new Map(Object.entries(OP).map(([name, code]) => [code, name]));
const input = (shape, dtype = 'f32', source = {}) => Tensor.make(inputNode(dtype, shape, source));

/** Reads a tape back. */
function read({ tape }) {
  let at = 0;
  const next = () => tape[at++];
  const list = (one) => Array.from({ length: next() }, one);
  assert.equal(next(), 1, 'the version');
  const dims = list(next);
  const sizes = list(() => list(() => ({ coefficient: next(), dims: list(next) })));
  const rules = list(() => {
    const count = next();
    const identity = Array.from({ length: count }, next);
    const scalars = list(() => {
      const code = next();
      return [code, ...Array.from({ length: code < 64 ? 1 : code < 112 ? 2 : 3 }, next)];
    });
    return { identity, scalars, results: Array.from({ length: count }, next) };
  });
  const nodes = list(() => {
    const [op, dtype] = [OPS.get(next()), next()];
    return { op, dtype, shape: list(next), operands: list(next), attributes: list(next) };
  });
  const results = list(next);
  const assignments = list(() => [next(), next()]);
  assert.equal(at, tape.length, 'the end');
  return { dims, sizes, rules, nodes, results, assignments };
}

test('a node that is used twice stands once, after its operands', () => {
  const x = input([2]);
  const sum = x.add(x);
  const { nodes, results } = read(writeTape([sum.mul(sum).node, sum.node]));
  assert.deepEqual(nodes.map(({ op }) => op), ['input', 'elementwise', 'elementwise']);
  assert.deepEqual(nodes.map(({ operands }) => operands), [[], [0, 0], [1, 1]]);
  assert.deepEqual(results, [2, 1]);
});

test('slots are given in the order of first use, to inputs that are only written too', () => {
  const [a, b, c] = [input([1]), input([2], 'i32'), input([1])];
  const tape = writeTape([b.node, a.node], [{ input: c.node, value: a.add(1).node }]);
  assert.deepEqual(tape.inputs, [b.node, a.node, c.node]);
  const { nodes, assignments } = read(tape);
  assert.deepEqual(nodes.map(({ dtype, attributes }) => [dtype, ...attributes]), [[2, 0], [0, 1], [0, 1], [0, 64]]);
  assert.deepEqual(assignments, [[2, 3]]);
});

test('sizes are polynomials in dims, each of which stands once', () => {
  const [n, m] = [T.dim('n', 8), T.dim('m', 3)];
  const tape = writeTape([input([n, m, 4]).flatten(0, 1).slice([1]).node]);
  assert.deepEqual(tape.dims.map(({ name, max }) => [name, max]), [['n', 8], ['m', 3]]);
  const { dims, sizes, nodes } = read(tape);
  assert.deepEqual(dims, [8, 3], 'the largest sizes');
  const shapes = nodes.map(({ shape }) => shape.map((position) => sizes[position]));
  const [one, term] = [(coefficient) => [{ coefficient, dims: [] }], (...of) => ({ coefficient: 1, dims: of })];
  assert.deepEqual(shapes[0], [[term(0)], [term(1)], one(4)]);
  assert.deepEqual(shapes[1], [[term(1, 0)], one(4)]);
  assert.deepEqual(shapes[2], [[term(1, 0), { coefficient: -1, dims: [] }], one(4)]);
  assert.equal(new Set(sizes.map((size) => JSON.stringify(size))).size, sizes.length);
});

test('places that depend on dims are bounded by the ends of their axes', () => {
  const [n, m] = [T.dim('n', 8), T.dim('m', 3)];
  const bounds = (tensor) => writeTape([tensor.node]).bounds.map(({ name }) => name);
  const x = input([n]);
  assert.deepEqual(bounds(input([10]).slice([n, n.plus(m)])), ['-m - n + 10']);
  assert.deepEqual(bounds(input([20]).slice([n, n.plus(m)])), []);
  assert.deepEqual(bounds(x.slice([2])), ['n - 2']);
  assert.deepEqual(bounds(x.slice([1, 3])), ['n - 3']);
  assert.deepEqual(bounds(x.slice([-1])), ['n - 1']);
  assert.deepEqual(bounds(x.flip()), []);
  assert.deepEqual(bounds(input([4]).pick(0, n)), ['-n + 3']);
  assert.deepEqual(bounds(input([4]).setSlice([m], input([2]))), ['-m + 2']);
  assert.deepEqual(bounds(x.windows(0, 3)), ['n - 2']);
  assert.deepEqual(writeTape([input([4]).pick(0, n).node]).dims, [n], 'a dim of a bound is a dim of the tape');
});

test('dims of one name are one, and must have one largest size', () => {
  const sum = input([T.dim('n', 4)]).add(input([T.dim('n', 4)]));
  assert.equal(writeTape([sum.node]).dims.length, 1);
  assert.throws(() => writeTape([input([T.dim('n', 4)]).node, input([T.dim('n', 5)]).node]), { code: 'invalid-argument', message: /two Dims named n/ });
});

test('attributes stand as documented', () => {
  const x = input([4, 6]);
  const attributes = (tensor, op) => {
    const { nodes, sizes } = read(writeTape([tensor.node]));
    return { sizes, attributes: nodes.find((node) => node.op === op).attributes };
  };
  const value = ({ sizes }, position) => sizes[position].reduce((sum, { coefficient }) => sum + coefficient, 0);
  const slice = attributes(x.slice([1, 3], [5, 1, -2]), 'slice');
  assert.deepEqual([...slice.attributes.slice(0, 2).map((position) => value(slice, position)), ...slice.attributes.slice(2)], [1, 5, 1, -2]);
  const pad = attributes(x.shift([2], 'mirror'), 'pad');
  assert.deepEqual([pad.attributes[0], ...pad.attributes.slice(1).map((position) => value(pad, position))], [3, 0, -2]);
  assert.deepEqual(attributes(x.sum(), 'reduce').attributes, [0, 0, 1]);
  assert.deepEqual(attributes(x.argmax(-1), 'reduce').attributes, [5, 1]);
  assert.deepEqual(attributes(x.cumsum(0, { reverse: true }), 'scan').attributes, [0, 0, 0, 1]);
  assert.deepEqual(attributes(x.windows(1, 2, 2, 3), 'windows').attributes, [1, 2, 3]);
  assert.deepEqual(attributes(x.T, 'permute').attributes, [1, 0]);
  assert.deepEqual(attributes(T.concat([x, x], 1), 'concat').attributes, [1]);
  assert.deepEqual(attributes(x.indexAdd(input([3], 'i32'), input([3, 6])), 'indexPut').attributes, [0, 1]);
  assert.deepEqual(attributes(new T.Random(1).bits([2]), 'randomBits').attributes, [0]);
  assert.deepEqual(attributes(T.full([2], 7), 'constant').attributes, [7]);
});

test('a rule stands once for all numbers of its state', () => {
  const mean = T.fold(input([4, 6]), 1, {
    identity: [0, 1],
    lift: (x, index) => [x, index],
    merge: ([s, p], [t, q]) => [s.add(t), p.mul(q).add(2)],
    finish: ([s, p]) => s.div(p),
  });
  const { rules, nodes } = read(writeTape([mean.node]));
  assert.equal(rules.length, 1);
  const [{ identity, scalars, results }] = rules;
  assert.deepEqual(identity, [0, 1]);
  assert.deepEqual(scalars, [[3, 0], [3, 1], [3, 2], [3, 3], [64, 0, 2], [66, 1, 3], [0, 2], [64, 5, 6]]);
  assert.deepEqual(results, [4, 7]);
  const folds = nodes.filter(({ op }) => op === 'fold');
  assert.deepEqual(folds.map(({ attributes }) => attributes), [[0, 0, 1], [0, 1, 1]]);
});

test('a gradient is a node of the scalar and what it is taken by', () => {
  const w = input([3]);
  const loss = w.square().sum();
  const [slope] = T.grad(loss, [w]);
  assert.deepEqual(slope.shape, [3]);
  const { nodes } = read(writeTape([slope.node]));
  assert.deepEqual(nodes.at(-1).operands, [nodes.findIndex(({ op }) => op === 'reduce'), 0]);
});

test('recipes may be 100,000 deep', () => {
  const x = input([2]);
  let deep = x;
  for (let k = 0; k < 100_000; k++) deep = deep.add(x);
  assert.equal(read(writeTape([deep.node])).nodes.length, 100_001);
});

test('a recipe whose nodes are used many times is as long as it has nodes', () => {
  let x = input([2]);
  for (let k = 0; k < 200; k++) x = x.add(x);
  assert.equal(read(writeTape([x.node])).nodes.length, 201);
});

test('recipes that differ in numbers of the caller have one tape where numbers are taken apart', () => {
  const x = input([2]);
  const i = input([2], 'i32');
  const tapeOf = (tensor) => writeTape([tensor.node], [], true);
  const f32 = (...numbers) => [...new Uint32Array(Float32Array.from(numbers).buffer)];
  const [a, b] = [tapeOf(x.mul(2.5).clamp(-3, 7)), tapeOf(x.mul(1e-3).clamp(5, -0.25))];
  assert.deepEqual(a.tape, b.tape);
  assert.deepEqual([[...a.numbers], [...b.numbers], a.dims], [f32(2.5, -3, 7), f32(1e-3, 5, -0.25), []]);
  const { dims, nodes } = read(a);
  assert.deepEqual(dims, Array(3).fill(2 ** 32 - 2));
  assert.equal(nodes.filter(({ op }) => op === 'number').length, 3);
  assert.deepEqual([...tapeOf(i.add(-7).mul(3)).numbers], [2 ** 32 - 7, 3]);
  assert.deepEqual(tapeOf(T.full([3], 4)).tape, tapeOf(T.full([3], 5)).tape);
  // Kernels are simpler for these.
  for (const tensor of [x.mul(1), x.add(0), x.sub(-1), x.mul(-0), x.mul(Infinity), x.add(NaN), x.mul(1e39), x.pow(2), x.pow(-0.5), i.shl(3), i.and(255), T.ones([2]), x.gt(0).eq(1)]) {
    assert.deepEqual([...tapeOf(tensor).numbers], [], String(tensor));
  }
  assert.deepEqual([...tapeOf(x.pow(2.2)).numbers], f32(2.2));
  // Programs have their numbers in kernels; a Dim of the caller is told apart.
  assert.deepEqual([...writeTape([x.mul(2.5).node]).numbers], []);
  const n = T.dim('n', 4);
  const open = tapeOf(input([n]).mul(2.5).sum());
  assert.deepEqual([open.dims, open.numbers.length], [[n], 2]);
});
