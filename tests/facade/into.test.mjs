/**
 * Where points come from and results go: memory that a call keeps, arrays that the caller gives, and what stays on the device; with a fake module.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compiled } from './compiled.mjs';
import { residuaError } from './fake-module.mjs';

test('a gradient left on the device is taken at the point given, or without one at the numbers the module has', async () => {
  const { functions, raw } = await compiled();
  const point = Float64Array.from(raw.x, () => 7.5);
  assert.deepEqual(await functions.evaluateCostWithGradientOnDevice(point), { value: 7.5, gradient: null });
  assert.deepEqual(await functions.evaluateCostWithGradientOnDevice(), { value: raw.x[0], gradient: null });
  await assert.rejects(functions.evaluateCostWithGradientOnDevice([]), residuaError('invalid-argument', /evaluateCostWithGradientOnDevice: x/));
});

test('a gradient goes into the array that is given, which must have its length', async () => {
  const { functions, raw } = await compiled();
  const into = new Float64Array(raw.x.length);
  const { gradient } = await functions.evaluateSumWithGradient(undefined, into);
  assert.equal(gradient, into);
  assert.deepEqual([...into], Array.from(raw.x, () => 1));
  assert.notEqual((await functions.evaluateSumWithGradient()).gradient, into);
  for (const wrong of [new Float64Array(raw.x.length + 1), new Float32Array(raw.x.length), [0], null]) {
    await assert.rejects(functions.evaluateSumWithGradient(undefined, wrong), residuaError('invalid-argument', /evaluateSumWithGradient: into/));
  }
});

test('a Jacobian goes into an earlier result of the same functions, and into nothing else', async () => {
  const { functions, raw } = await compiled();
  const first = await functions.evaluateJacobian();
  const { values, entries } = raw.lastJacobian;
  assert.deepEqual([first.values, first.jacobian.values], [values, entries]);
  values.fill(0);
  entries.fill(0);
  assert.equal(await functions.evaluateJacobian(undefined, first), first);
  assert.ok(entries.length > 0 && entries.every((entry) => entry !== 0));
  const { jacobian } = first;
  for (const wrong of [null, [], { values }, { values, jacobian: null }, { values: new Float64Array(9), jacobian }, { values, jacobian: { values } }]) {
    await assert.rejects(functions.evaluateJacobian(undefined, wrong), residuaError('invalid-argument', /evaluateJacobian: into/));
  }
});

test('a point that waits for its turn is not the next one\'s memory', async () => {
  const { functions, raw } = await compiled();
  const points = [2.5, 3.5].map((number) => Float64Array.from(raw.x, () => number));
  const calls = points.map((point) => functions.evaluateCostWithGradientOnDevice(point));
  points.forEach((point) => point.fill(0));
  assert.deepEqual((await Promise.all(calls)).map(({ value }) => value), [2.5, 3.5]);
});
