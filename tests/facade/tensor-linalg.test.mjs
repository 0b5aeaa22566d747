/** Linear algebra: shapes and types of what is recorded, and errors that name the argument, what it got and what it takes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as T from '../../pkg-template/dist/tensor.js';

const { linalg } = T;
const [square, wide, tall, batch] = [T.zeros([3, 3]), T.zeros([2, 3]), T.zeros([3, 2]), T.zeros([4, 1, 3, 3])];
const vector = T.zeros([3]);
const [n, m] = [T.dim('n', 8), T.dim('m', 8)];
const shapesOf = (results) => Object.values(results).map(({ shape }) => shape.join(' '));

test('results have the shapes of NumPy', () => {
  assert.deepEqual(shapesOf(linalg.svd(wide)), ['2 2', '2', '3 3']);
  assert.deepEqual(shapesOf(linalg.svd(tall)), ['3 3', '2', '2 2']);
  assert.deepEqual(shapesOf(linalg.svd(tall, { fullMatrices: false })), ['3 2', '2', '2 2']);
  assert.deepEqual(shapesOf(linalg.qr(wide)), ['2 2', '2 3']);
  assert.deepEqual(shapesOf(linalg.qr(tall)), ['3 2', '2 2']);
  assert.deepEqual(shapesOf(linalg.qr(tall, { mode: 'complete' })), ['3 3', '3 2']);
  assert.deepEqual(shapesOf(linalg.lu(wide)), ['2', '2 2', '2 3']);
  assert.deepEqual(shapesOf(linalg.lu(tall)), ['3', '3 2', '2 2']);
  assert.deepEqual(shapesOf(linalg.eigh(batch)), ['4 1 3', '4 1 3 3']);
  assert.deepEqual(shapesOf(linalg.slogdet(batch)), ['4 1', '4 1']);
  assert.deepEqual(shapesOf(linalg.lstsq(tall, vector)), ['2', '', '', '2']);
  assert.deepEqual(shapesOf(linalg.lstsq(tall, T.zeros([5, 3, 4]))), ['5 2 4', '5 4', '', '2']);
  assert.deepEqual(linalg.pinv(wide).shape, [3, 2]);
  assert.deepEqual(linalg.solve(batch, T.zeros([5, 3, 2])).shape, [4, 5, 3, 2]);
  assert.deepEqual(linalg.solve(batch, vector).shape, [4, 1, 3]);
  assert.deepEqual(linalg.inverse(T.zeros([n, n])).shape, [n, n]);
  assert.equal(linalg.lu(square).permutation.dtype, 'i32');
  assert.equal(linalg.lstsq(tall, vector).rank.dtype, 'i32');
});

for (const [call, message] of [
  [() => linalg.cholesky([[1]]), /^cholesky: a: got .*; takes a Tensor/],
  [() => linalg.cholesky(wide), /^cholesky: a: got a tensor of f32 of shape \[2, 3\]; takes square matrices/],
  [() => linalg.cholesky(vector), /^cholesky: a: got a tensor of f32 of shape \[3\]; takes a matrix, or a batch/],
  [() => linalg.cholesky(square.cast('f16')), /^cholesky: a: got a tensor of f16 of shape \[3, 3\]; takes a tensor of f32/],
  [() => linalg.cholesky(square.cast('c64')), /^cholesky: a: got a tensor of c64/],
  [() => linalg.cholesky(square, { upper: 1 }), /^cholesky: upper: got 1; takes true or false/],
  [() => linalg.cholesky(square, { uper: true }), /^cholesky: options: got the unknown option "uper"; did you mean 'upper'/],
  [() => linalg.cholesky(T.zeros([n, m])), /^cholesky: a: got .*\[n, m\]; takes square matrices/],
  [() => linalg.triangularSolve(square, T.zeros([2])), /^triangularSolve: b: got a tensor of f32 of shape \[2\]; takes a vector of 3 elements or matrices of as many rows/],
  [() => linalg.triangularSolve(square, vector, { lower: 'yes' }), /^triangularSolve: lower: got "yes"; takes true or false/],
  [() => linalg.solve(square, T.zeros([])), /^solve: b: got a tensor of f32 of shape \[\]; takes a vector of 3/],
  [() => linalg.solve(square, vector.cast('i32')), /^solve: b: got a tensor of i32/],
  [() => linalg.solve(square, vector, { assume: 'pos' }), /^solve: assume: got "pos"; takes 'general' or 'positive'/],
  [() => linalg.solve(batch, T.zeros([5, 2, 3, 1])), /^solve: leading axes: got shapes/],
  [() => linalg.solve(wide, vector), /^solve: a: .*takes square matrices/],
  [() => linalg.inverse(wide), /^inverse: a: .*takes square matrices/],
  [() => linalg.determinant(tall), /^determinant: a: .*takes square matrices/],
  [() => linalg.slogdet(null), /^slogdet: a: got null; takes a Tensor/],
  [() => linalg.lu(T.zeros([n, m])), /^lu: a: got a matrix of n rows and m columns; takes sizes that are numbers, or equal/],
  [() => linalg.qr(T.zeros([n, 3])), /^qr: a: got a matrix of n rows and 3 columns/],
  [() => linalg.qr(square, { mode: 'raw' }), /^qr: mode: got "raw"; takes 'reduced' or 'complete'/],
  [() => linalg.eigh(tall), /^eigh: a: .*takes square matrices/],
  [() => linalg.svd(vector), /^svd: a: got a tensor of f32 of shape \[3\]/],
  [() => linalg.svd(square, { fullMatrices: 0 }), /^svd: fullMatrices: got 0; takes true or false/],
  [() => linalg.pinv(square, { rcond: -1 }), /^pinv: rcond: got -1; takes a number from 0/],
  [() => linalg.pinv(square, { rcond: NaN }), /^pinv: rcond: got NaN/],
  [() => linalg.lstsq(tall, T.zeros([2])), /^lstsq: b: got a tensor of f32 of shape \[2\]; takes a vector of 3 elements/],
  [() => linalg.lstsq(tall, vector, { rcond: '1' }), /^lstsq: rcond: got "1"/],
  [() => linalg.matrixPower(square, 0.5), /^matrixPower: n: got 0.5; takes a whole number/],
  [() => linalg.matrixPower(wide, 2), /^matrixPower: a: .*takes square matrices/],
  [() => linalg.expm(tall), /^expm: a: .*takes square matrices/],
]) {
  test(`${call.toString().slice(6)} is refused`, () => assert.throws(call, { name: 'ResiduaError', code: 'invalid-argument', message }));
}
