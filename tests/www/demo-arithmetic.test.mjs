// The demos' choice of the arithmetic on the GPU: what it compiles, on which engine, and what becomes of a choice that fails.
import assert from 'node:assert/strict';
import { test } from 'node:test';
await import('./residua.mjs');
const { Arithmetic } = await import('../../www/demos/arithmetic.js');
const { Unfolding } = await import('../../www/demos/pose-graph/model.js');
const { cityGraph } = await import('../../www/demos/pose-graph/graphs.js');

/** A stage with a panel of one control, whose work runs at once. */
function stageOn(backend) {
  const stage = {
    backend, works: [], failures: [], label: null, shown: 'f32',
    panel: {
      add(target, property, values) {
        assert.deepEqual(Object.values(values), ['f32', 'f32x2']);
        let changed = null;
        const controller = { name: (label) => ((stage.label = label), controller), onChange: (listener) => ((changed = listener), controller), updateDisplay: () => (stage.shown = target[property]) };
        stage.choose = async (value) => {
          stage.shown = target[property] = value;
          changed(value);
          await Promise.all(stage.works.splice(0));
        };
        return controller;
      },
    },
    between: (work, { fresh }) => stage.works.push(work().catch((error) => stage.failures.push(error)).then(() => assert.equal(fresh, true))),
  };
  return stage;
}

test('a choice on the GPU compiles with it, and one that fails is taken back', async () => {
  const stage = stageOn('gpu'), compiled = [];
  let refuses = false;
  const arithmetic = new Arithmetic(stage, async () => {
    compiled.push(arithmetic.precision);
    if (refuses) throw new Error('no pairs on this device');
  });
  assert.deepEqual([stage.label, arithmetic.precision], ['GPU arithmetic', 'f32']);
  await stage.choose('f32x2');
  await stage.choose('f32');
  refuses = true;
  await stage.choose('f32x2');
  assert.deepEqual(compiled, ['f32x2', 'f32', 'f32x2']);
  assert.deepEqual([arithmetic.precision, stage.shown, stage.failures.length], ['f32', 'f32', 1]);
});

test('a choice on the CPU compiles nothing, and is there for the GPU', async () => {
  const stage = stageOn('cpu'), compiled = [];
  const arithmetic = new Arithmetic(stage, async () => compiled.push(arithmetic.precision));
  await stage.choose('f32x2');
  assert.deepEqual([arithmetic.precision, compiled], ['f32x2', []]);
});

test('the pose graph’s option reaches the compile, and the CPU computes in f64 whichever it is', async () => {
  const unfolding = new Unfolding(cityGraph({ poses: 60, blocks: 3 }));
  await assert.rejects(unfolding.compile({ backend: 'cpu', precision: 'f16' }), { code: 'invalid-argument', message: /precision/ });
  await unfolding.compile({ backend: 'cpu', precision: 'f32x2' });
  assert.equal(unfolding.functions.precision, 'f64');
  unfolding.dispose();
});
