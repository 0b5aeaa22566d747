// The soak page outside of a page: what counts as flat, counts of an address, the report, and the jobs themselves on the CPU.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { folder, mapImports } from './import-map.mjs';

const { growthOf, heapBytes, HEAP_SLACK, wasmBytes } = await import('../../www/soak/memory.js');
mapImports({ residua: 'index.js', 'residua/tensor': 'tensor.js' });
await (await import('residua')).init(readFileSync(new URL('wasm/residua_bg.wasm', folder)));
await (await import('residua/tensor')).init(readFileSync(new URL('wasm-tensor/residua_tensor_bg.wasm', folder)));
const { countsOf, JOBS } = await import('../../www/soak/jobs.js');
const { comparison, reportText, sizeText, soak } = await import('../../www/soak/soak.js');

const sample = (wasm, device = 0, heap = null) => ({ wasm, device, heap });
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
/** What a compile leaves is freed by callbacks of the collector, in a later turn. */
const settle = async () => {
  collect();
  await new Promise((resolve) => setTimeout(resolve, 20));
};
const memory = (device) => ({ wasm: wasmBytes(), device, heap: heapBytes() });

test('memory that grows in the second half is not flat, what is taken before is', () => {
  assert.deepEqual(growthOf([sample(1), sample(5), sample(9), sample(9), sample(9)]), { wasm: 0, device: 0, heap: null, isFlat: true });
  assert.equal(growthOf([sample(1), sample(5), sample(9), sample(10)]).isFlat, false);
  assert.deepEqual([growthOf([sample(1), sample(5), sample(15)], 10).isFlat, growthOf([sample(1), sample(5), sample(16)], 10).isFlat], [true, false]);
  assert.equal(growthOf([sample(1, 4), sample(1, 4), sample(1, 5)]).isFlat, false);
  assert.equal(growthOf([sample(1, 4), sample(1, 4), sample(1, 0)]).isFlat, true);
  assert.equal(growthOf([sample(1, 0, 1), sample(1, 0, 1), sample(1, 0, 1 + HEAP_SLACK)]).isFlat, true);
  assert.equal(growthOf([sample(1, 0, 1), sample(1, 0, 1), sample(1, 0, 2 + HEAP_SLACK)]).isFlat, false);
});

test('an address says how often, and what it may not say is told', () => {
  assert.deepEqual(countsOf(new URLSearchParams('')), { counts: { solves: 10_000, tokens: 10_000, frames: 10_000, compiles: 10_000 }, wrong: [] });
  assert.deepEqual(countsOf(new URLSearchParams('solves=3&frames=0')).counts, { solves: 3, tokens: 10_000, frames: 0, compiles: 10_000 });
  for (const value of ['-1', '1.5', 'many', '', '1e9']) {
    const { counts, wrong } = countsOf(new URLSearchParams({ tokens: value }));
    assert.deepEqual([counts.tokens, wrong.length], [10_000, 1], value);
  }
});

/** A job that is none of the page's. */
const jobOf = (step, bytes = () => 0) => {
  const job = { id: 'made', title: 'Made', repeats: true, disposed: 0, open: async () => ({ step, bytes, dispose: () => job.disposed++ }) };
  return job;
};

test('results that differ are counted, a step that fails ends the job, and it is disposed each time', async () => {
  const differing = jobOf(async (k) => (k === 3 ? 2 : 1));
  const result = await soak(differing, 'cpu', { count: 10, memory });
  assert.deepEqual([result.done, result.differing, result.isAborted, differing.disposed], [10, 1, false, 1]);
  const failing = jobOf(async (k) => (k === 2 ? NaN : 1));
  await assert.rejects(soak(failing, 'cpu', { count: 10, memory }), /Made: step 3 gives NaN/);
  assert.equal(failing.disposed, 1);
});

test('a leak on the device is seen, and a signal ends a job', async () => {
  let bytes = 0;
  const leaking = await soak(jobOf(async () => 1, () => (bytes += 4)), 'gpu', { count: 100, memory: (device) => ({ wasm: 0, device, heap: null }) });
  assert.equal(leaking.growth.isFlat, false);
  assert.equal(leaking.samples.length, 17);
  const controller = new AbortController();
  const stopped = await soak(jobOf(async (k) => (k === 4 && controller.abort(), 1)), 'cpu', { count: 1000, memory, signal: controller.signal });
  assert.deepEqual([stopped.done, stopped.isAborted], [5, true]);
  const text = reportText({ date: 'today', agent: 'a browser', cores: 2, adapter: 'none' }, [leaking, stopped, { id: 'x', title: 'Broken', backend: 'gpu', failure: 'gpu-unavailable: none' }]);
  assert.match(text, /Made, GPU: 100 in [^]*memory +GREW in the second half: WebAssembly 0, device \d+[^]*Made, CPU: 5 in .* s, stopped[^]*Broken, GPU: gpu-unavailable: none/);
});

test('both engines are compared by the medians of their steps', () => {
  const of = (backend, medianMs, id = 'solves') => ({ id, title: 'Solves', backend, medianMs });
  assert.deepEqual(comparison([of('cpu', 2), of('gpu', 5), of('cpu', 1, 'tokens')]), ['Solves: the CPU takes a step 2.5 times as fast as the GPU.']);
  assert.deepEqual(comparison([of('cpu', 2), of('gpu', 0)]), []);
});

for (const [id, count] of [['solves', 600], ['tokens', 600], ['compiles', 160]]) {
  test(`${count} ${id} on the CPU leave memory flat, and repeat bit for bit`, { timeout: 240_000 }, async () => {
    const result = await soak(JOBS.find((job) => job.id === id), 'cpu', { count, memory, settle });
    assert.equal(result.done, count);
    assert.deepEqual([result.growth.wasm, result.growth.device], [0, 0]);
    // Each token follows from those before it: the last one of another run is to be the same.
    if (result.differing === null) assert.equal((await soak(JOBS.find((job) => job.id === id), 'cpu', { count, memory, settle })).last, result.last);
    else assert.equal(result.differing, 0);
    assert.ok(result.samples[0].wasm > 0, 'memories are seen');
  });
}

test('a frame draws the chain whose links have the directions that were set', async () => {
  const places = [];
  const paper = { clearRect: () => void (places.length = 0), beginPath: () => undefined, stroke: () => undefined, lineTo: (...place) => void places.push(place) };
  globalThis.getComputedStyle = () => ({ color: 'black' });
  const job = await JOBS.find(({ id }) => id === 'frames').open('cpu', { canvas: { width: 1, height: 1, getContext: () => paper }, nextFrame: async () => undefined });
  for (const k of [0, 1, 7]) {
    await job.step(k);
    assert.deepEqual(places[0], [0.5, 0.5]);
    places.slice(1).forEach(([x, y], i) => {
      const angle = 2 * Math.sin(k / 20 + i / 9), [before, above] = places[i];
      // Both axes are half a unit over 60 points; y points downwards.
      assert.ok(Math.hypot(x - before - Math.cos(angle) / 120, above - y - Math.sin(angle) / 120) < 1e-9, `${k}: ${i}`);
    });
  }
  job.dispose();
});

test('bytes are told in the unit that fits', () => {
  assert.deepEqual([0, 512, 9216, 67088, 2 ** 20 - 1, 2 ** 20, 1835008, null].map(sizeText), ['0.0 KiB', '0.5 KiB', '9.0 KiB', '66 KiB', '1024 KiB', '1.0 MiB', '1.8 MiB', 'not told']);
});
