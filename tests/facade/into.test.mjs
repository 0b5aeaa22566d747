/**
 * The memory of points and results: memory that calls reuse, arrays of the caller, and results that stay on the device. With a fake module.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compiled } from './compiled.mjs';
import { deferred, residuaError, settle } from './fake-module.mjs';
import { compiledThere } from './through-a-worker.mjs';

test('a gradient on the device is evaluated at the given point, or at the current parameters', async () => {
  const { functions, raw } = await compiled();
  const point = Float64Array.from(raw.x, () => 7.5);
  assert.deepEqual(await functions.evaluateCostWithGradientOnDevice(point), { value: 7.5, gradient: null });
  assert.deepEqual(await functions.evaluateCostWithGradientOnDevice(), { value: raw.x[0], gradient: null });
  await assert.rejects(functions.evaluateCostWithGradientOnDevice([]), residuaError('invalid-argument', /evaluateCostWithGradientOnDevice: x/));
});

test('a gradient is written to the given array, which must have its length', async () => {
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

test('a Jacobian is written to an earlier result of the same functions; anything else is refused', async () => {
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

test('the memory of a point that waits in the queue is not used for the next point', async () => {
  const { functions, raw } = await compiled();
  const points = [2.5, 3.5].map((number) => Float64Array.from(raw.x, () => number));
  const calls = points.map((point) => functions.evaluateCostWithGradientOnDevice(point));
  points.forEach((point) => point.fill(0));
  assert.deepEqual((await Promise.all(calls)).map(({ value }) => value), [2.5, 3.5]);
});

const detach = ({ buffer }) => structuredClone(buffer, { transfer: [buffer] });
const shrunk = (length) => new Float64Array(new ArrayBuffer(8 * length, { maxByteLength: 8 * length }));
const shrink = ({ buffer }) => buffer.resize(8);

for (const [where, make] of [['', compiled], [' through a worker', compiledThere]]) {
  for (const [how, array, goAway] of [['transferred', (length) => new Float64Array(length), detach], ['shrunk', shrunk, shrink]]) {
    for (const method of ['evaluateSumWithGradient', 'evaluateCostWithGradient']) {
      test(`${method}${where}: an array that is ${how} before its turn or during it is refused, and the next call succeeds`, async (t) => {
        const { functions, raw, close } = await make();
        t.after(() => close?.());
        const gate = deferred();
        raw.hold = () => gate.promise;
        const [running, waiting] = [array(4), array(4)];
        const calls = [running, waiting].map((into) => assert.rejects(functions[method](undefined, into), lostMemory(method)));
        await settle();
        goAway(running);
        goAway(waiting);
        gate.resolve();
        await Promise.all(calls);
        assert.deepEqual([...(await functions[method](undefined, new Float64Array(4))).gradient], [1, 1, 1, 1]);
      });
    }
  }

  test(`a call${where} whose array is transferred at any time before its end is refused`, async (t) => {
    const { functions, close } = await make();
    t.after(() => close?.());
    for (let turns = 0; turns < 30; turns++) {
      const into = new Float64Array(4);
      let outcome = 'pending';
      const call = functions.evaluateSumWithGradient(undefined, into).then(
        () => (outcome = 'filled'),
        ({ code }) => (outcome = code),
      );
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      detach(into);
      // After one turn of the event loop a completed call is known as completed.
      await Promise.resolve();
      const wasThrough = outcome === 'filled';
      await call;
      assert.equal(outcome, wasThrough ? 'filled' : 'invalid-argument', `after ${turns} turns`);
    }
  });

  test(`evaluateJacobian${where}: an earlier result that is transferred during the call is refused, and the next call succeeds`, async (t) => {
    const { functions, raw, close } = await make();
    t.after(() => close?.());
    for (const lost of [({ values }) => values, ({ jacobian }) => jacobian.values]) {
      const into = await functions.evaluateJacobian();
      const gate = deferred();
      raw.hold = () => gate.promise;
      const call = assert.rejects(functions.evaluateJacobian(undefined, into), lostMemory('evaluateJacobian'));
      await settle();
      detach(lost(into));
      gate.resolve();
      await call;
    }
    assert.deepEqual([...(await functions.evaluateJacobian()).values], [1, 1]);
  });
}

function lostMemory(method) {
  return residuaError('invalid-argument', new RegExp(`^${method}: into: got an array that was transferred or resized during the call: it has \\d+ numbers, and had \\d+; takes`));
}
