/** Tiles of products on a device: by the table, and by timing them on a fake GPU whose kernels take as long as a test says. */

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Device } from '../../pkg-template/dist/tensor.js';
import { fakeGpu } from './fake-gpu.mjs';
import { deferred, residuaError } from './fake-module.mjs';
import { installTensors, productTexts } from './fake-tensor-module.mjs';

afterEach(() => Object.assign(productTexts, { areLargeOnesEqual: false, refused: [], watch: null }));

const ADAPTER = { vendor: 'fake', architecture: 'one', device: '', description: '' };
/** Milliseconds of a dispatch: 'large' is the slowest, 'small' the fastest. */
const FASTER_BY_SIZE = { large: 3, 'large-of-64': 2.5, medium: 2, small: 1, wide: 2.8 };

/** A device on a fake GPU whose products take so many milliseconds by their tiles, and the products that were dispatched. */
async function open({ times = FASTER_BY_SIZE, adapterInfo = ADAPTER, tuning = 'measure', features = ['timestamp-query'] } = {}) {
  const fake = installTensors();
  const gpu = Object.assign(fakeGpu({ features }), { adapterInfo });
  const dispatched = [];
  gpu.cost = (text) => {
    if (!text.startsWith('product')) return 0;
    const tile = text.slice('product '.length);
    dispatched.push(tile);
    return 1e6 * times[tile];
  };
  const device = await Device.create({ share: gpu, tuning });
  return { fake, gpu, device, dispatched };
}

/** Compiles and runs a product of matrices rows × 64 and 64 × 64, and gives the tile that it was dispatched with. */
async function tileOfProduct({ device, dispatched }, rows = 64) {
  const [a, b] = [device.zeros([rows, 64]), device.zeros([64, 64])];
  const program = await device.compile({}, () => a.matmul(b));
  dispatched.length = 0;
  await program.run().data();
  const [tile, ...others] = dispatched;
  assert.deepEqual(others, []);
  program.dispose();
  for (const tensor of [a, b]) tensor.dispose();
  await device.synchronize();
  assert.equal(device.stats().programBytes, 0);
  return tile;
}

const foundBy = ({ device }) => JSON.parse(device.tuning.found).tiles;

test('the table puts another tile in place of the one for the extents where it has one for the vendor', async () => {
  for (const [vendor, rows, tile, changes] of [
    ['nvidia', 64, 'large', []],
    ['apple', 64, 'large-of-64', ['large-of-64']],
    ['arm', 64, 'medium', ['medium']],
    ['apple', 40, 'medium', []],
  ]) {
    const opened = await open({ adapterInfo: { ...ADAPTER, vendor }, tuning: 'table' });
    assert.equal(await tileOfProduct(opened, rows), tile, vendor);
    assert.deepEqual(opened.fake.tiles, changes, vendor);
    assert.equal(opened.device.tuning.found, '');
  }
});

test("'measure' finds the fastest tile, once for products of a kind", async () => {
  const opened = await open();
  assert.equal(await tileOfProduct(opened), 'small');
  assert.deepEqual(foundBy(opened), { 'f32 32 kn 1x64x64x64 large': 'small' });
  opened.fake.tiles.length = 0;
  assert.equal(await tileOfProduct(opened, 60), 'small');
  assert.deepEqual(opened.fake.tiles, ['small'], 'no tile is timed again');
  const later = await open({ tuning: { found: opened.device.tuning.found } });
  assert.equal(await tileOfProduct(later), 'small');
  assert.deepEqual(later.fake.tiles, ['small']);
});

test('the tile of the table stays where no other is clearly faster', async () => {
  for (const [vendor, tile] of [['fake', 'large'], ['apple', 'large-of-64']]) {
    const times = { large: 2.06, 'large-of-64': 2.06, medium: 2, small: 2.2, wide: 2.06 };
    const opened = await open({ times, adapterInfo: { ...ADAPTER, vendor } });
    assert.equal(await tileOfProduct(opened), tile);
    assert.deepEqual(foundBy(opened), { 'f32 32 kn 1x64x64x64 large': 'table' });
  }
});

test('a product keeps the tile of the table where its rounded extents suggest another one', async () => {
  const opened = await open();
  // 40 rows are of the medium tile, and are rounded up to 64, which are of the large one.
  assert.equal(await tileOfProduct(opened, 40), 'medium');
  assert.deepEqual(foundBy(opened), { 'f32 32 kn 1x64x64x64 medium': 'table' });
  assert.equal(await tileOfProduct(opened, 64), 'small', 'what was noted of 40 rows is not for 64');
  assert.equal(await tileOfProduct(opened, 40), 'medium', 'what was found for 64 rows is not for 40');
});

test('timed passes take at least 8 ms, whatever the clock of timestamps', async () => {
  const opened = await open({ times: { large: 0.03, 'large-of-64': 0.03, medium: 0.02, small: 0.03, wide: 0.03 } });
  const [begin, end] = [opened.gpu.createCommandEncoder, []];
  opened.gpu.createCommandEncoder = () => {
    const encoder = begin.call(opened.gpu);
    return Object.assign(encoder, {
      beginComputePass: ((of) => (descriptor = {}) => {
        const pass = of(descriptor);
        let dispatches = 0;
        return { ...pass, dispatchWorkgroups: (...counts) => { dispatches += 1; pass.dispatchWorkgroups(...counts); }, end: () => { if (descriptor.timestampWrites !== undefined) end.push(dispatches); pass.end(); } };
      })(encoder.beginComputePass),
    });
  };
  assert.equal(await tileOfProduct(opened), 'medium');
  // A search begins with two passes of one dispatch; the passes that are timed come last. How many rounds follow depends on the clock.
  const timed = String(end).split(/(?:^|,)1,1,/).slice(1).map((search) => Number(search.split(',').at(-1)));
  assert.equal(timed.length, 5, String(end));
  assert.ok(timed.every((dispatches) => dispatches * 0.03 >= 8), String(end));
});

test('timestamps that run backwards, or do not run, are no times', async () => {
  for (const [broken, tile] of [[-1, 'medium'], [0, 'medium']]) {
    const opened = await open({ times: { ...FASTER_BY_SIZE, small: broken } });
    assert.equal(await tileOfProduct(opened), tile);
  }
  for (const none of [-1, 0]) {
    const opened = await open({ times: { large: none, 'large-of-64': none, medium: none, small: none, wide: none } });
    assert.equal(await tileOfProduct(opened), 'large');
  }
  const opened = await open({ times: { ...FASTER_BY_SIZE, large: -1 } });
  assert.equal(await tileOfProduct(opened), 'large', 'the tile of the table has no time to compare with');
});

test('tiles of one text are timed once', async () => {
  productTexts.areLargeOnesEqual = true;
  const opened = await open({ times: { large: 2, medium: 1.98, small: 3, wide: 3 }, adapterInfo: { ...ADAPTER, vendor: 'apple' } });
  const { pipelines, pipelineCacheHits } = opened.device.stats();
  await tileOfProduct(opened);
  assert.deepEqual(foundBy(opened), { 'f32 32 kn 1x64x64x64 large': 'table' });
  assert.equal(opened.device.stats().pipelines - pipelines, 4);
  assert.equal(opened.device.stats().pipelineCacheHits - pipelineCacheHits, 1, 'the kernel of the program');
});

test('a tile that the compiler refuses is left out', async () => {
  productTexts.refused = ['product small'];
  const opened = await open();
  assert.equal(await tileOfProduct(opened), 'medium');
  productTexts.refused = ['product large'];
  const slowest = await open({ times: { 'large-of-64': 3, medium: 2.99, small: 4, wide: 4 } });
  assert.equal(await tileOfProduct(slowest), 'medium', 'the tile of the table is the one that is refused');
});

test('zeros are timed, also in memory that was used before', async () => {
  const opened = await open();
  const old = Array.from({ length: 8 }, () => opened.device.tensor(new Float32Array(64 * 64).fill(NaN), [64, 64]));
  await opened.device.synchronize();
  for (const tensor of old) tensor.dispose();
  await opened.device.synchronize();
  let count = 0;
  productTexts.watch = (...buffers) => {
    count += 1;
    for (const each of buffers) assert.ok(each.every((x) => x === 0));
  };
  const [a, b] = [opened.device.zeros([64, 64]), opened.device.zeros([64, 64])];
  await opened.device.compile({}, () => a.matmul(b));
  assert.ok(count > 16, 'products that were timed');
});

test('a timing that fails leaves the tile of the table, and no memory', async () => {
  const makesBuffers = (gpu, change) => {
    const { createBuffer } = gpu;
    gpu.createBuffer = (descriptor) => (descriptor.label === 'times of a pass' ? change(createBuffer(descriptor)) : createBuffer(descriptor));
  };
  for (const fail of [
    (gpu) => (gpu.createQuerySet = () => assert.fail('no queries')),
    (gpu) => makesBuffers(gpu, (buffer) => Object.assign(buffer, { mapAsync: () => Promise.reject(new Error('no mapping')) })),
    // 60 × 64 numbers have memory, and 64 × 64 have none.
    (gpu) => (gpu.memoryLimit = 4 * 64 * 62),
  ]) {
    const opened = await open();
    fail(opened.gpu);
    const { device, dispatched } = opened;
    const [a, b] = [device.zeros([60, 64]), device.zeros([64, 60])];
    const program = await device.compile({}, () => a.matmul(b));
    dispatched.length = 0;
    await program.run().data();
    assert.deepEqual(dispatched, ['large']);
    program.dispose();
    await device.synchronize();
    assert.equal(device.stats().programBytes, 0);
    assert.equal(device.tuning.found, '');
    assert.equal(opened.fake.freedPlans, opened.fake.plans);
  }
});

test('the device may be disposed of or lost while a product is timed', async () => {
  for (const [end, code] of [[({ device }) => device.dispose(), 'disposed'], [({ gpu }) => gpu.lose(), 'device-lost']]) {
    const opened = await open();
    const held = deferred();
    opened.gpu.holdPipelines = held.promise;
    const { device } = opened;
    const [a, b] = [device.zeros([64, 64]), device.zeros([64, 64])];
    const compiling = device.compile({}, () => a.matmul(b));
    await new Promise((resolve) => setTimeout(resolve, 5));
    end(opened);
    await assert.rejects(compiling, residuaError(code));
    held.resolve();
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(opened.fake.freedPlans, opened.fake.plans);
  }
});

test('no further kind is timed after the compile was aborted', async () => {
  const opened = await open();
  const { device, fake } = opened;
  const abort = new AbortController();
  const held = deferred();
  opened.gpu.holdPipelines = held.promise;
  const [a, b, c] = [device.zeros([64, 64]), device.zeros([64, 64]), device.zeros([64, 128])];
  const compiling = device.compile({}, () => ({ one: a.matmul(b), other: a.matmul(c) }), { signal: abort.signal });
  await new Promise((resolve) => setTimeout(resolve, 5));
  abort.abort();
  await assert.rejects(compiling, residuaError('aborted'));
  held.resolve();
  for (let k = 0; k < 400 && fake.freedPlans < fake.plans; k++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(fake.plans, 2, 'the program and one product that is timed');
  assert.equal(fake.freedPlans, 2);
  assert.deepEqual(Object.keys(foundBy(opened)), ['f32 32 kn 1x64x64x64 large']);
});

test('what an adapter without a name finds is neither stored nor taken', async () => {
  for (const adapterInfo of [null, { vendor: '', architecture: '', device: '', description: '' }]) {
    const opened = await open({ adapterInfo });
    assert.equal(await tileOfProduct(opened), 'small');
    assert.equal(opened.device.tuning.found, '');
    const text = JSON.stringify({ version: 3, adapter: '', tiles: { 'f32 32 kn 1x64x64x64 large': 'small' } });
    assert.equal(await tileOfProduct(await open({ adapterInfo, tuning: { found: text } })), 'large');
  }
});
