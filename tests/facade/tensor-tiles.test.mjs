/** Tiles of products: the table of adapters, products that stand for others, and texts of what was found. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Device } from '../../pkg-template/dist/tensor.js';
import { keyOf, readProducts, recipeOf, TILES, tileOn } from '../../pkg-template/dist/tensor/device/tiles.js';
import { fakeGpu } from './fake-gpu.mjs';
import { residuaError } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';

/** A product as the module gives it: f32, both factors along the depth. */
const likenessOf = (extents, [type, left, right, bits] = [0, 1, 1, 32]) => readProducts(Uint32Array.of(7, 0, type, left, right, bits, ...extents))[0].like;
const LARGEST = 2 ** 32 - 1;

test('adapters without a row of the table, and those of NVIDIA, take the tile of the extents', () => {
  for (const vendor of ['nvidia', 'amd', 'qualcomm', 'google', '', 'toString', 'constructor']) {
    for (const tile of TILES.keys()) assert.equal(tileOn(vendor, tile), tile, vendor);
  }
});

test('a row of the table has no tile whose sums fill the registers of a thread', () => {
  const SUMS = { large: 128, 'large-of-64': 64, medium: 32, small: 16, wide: 128 };
  for (const [vendor, registers] of [['apple', 128], ['intel', 128], ['arm', 64]]) {
    for (const [tile, name] of TILES.entries()) {
      const taken = TILES[tileOn(vendor, tile)];
      assert.ok(SUMS[taken] < registers, `${vendor}: ${taken}`);
      if (SUMS[name] < registers) assert.equal(taken, name, vendor);
    }
  }
});

test('products of similar extents have one key', () => {
  for (const [extents, key] of [
    [[1, 2048, 2048, 2048], 'f32 32 kk 1x2048x2048x512'],
    [[1, 1500, 1028, 516], 'f32 32 kk 1x2048x2048x512'],
    [[1, 1501, 1028, 517], 'f32 32 kk 1x2047x2048x511'],
    [[12, 128, 128, 64], 'f32 32 kk 16x128x128x64'],
    [[200, 128, 128, 512], 'f32 32 kk 256x128x128x256'],
    [[1, 65536, 64, 1024], 'f32 32 kk 1x32768x64x256'],
    [[1, 9, 3, 1], 'f32 32 kk 1x15x15x15'],
    [[0, 0, 0, 0], 'f32 32 kk 1x16x16x16'],
  ]) {
    assert.equal(keyOf(likenessOf(extents)), key);
  }
  assert.equal(keyOf(likenessOf([1, 64, 64, 64], [1, 0, 0, 32])), 'i32 32 mn 1x64x64x64');
  assert.equal(keyOf(likenessOf([1, 64, 64, 64], [2, 0, 1, 32])), 'u32 32 mk 1x64x64x64');
});

test('a product that stands for others has at most 32 MiB a tensor, and is its own likeness', () => {
  const sizes = [1, 40, 4096, LARGEST];
  for (const matrices of [1, 3, LARGEST]) {
    for (const rows of sizes) {
      for (const columns of sizes) {
        for (const depth of sizes) {
          const like = likenessOf([matrices, rows, columns, depth]);
          const node = recipeOf(like);
          const inputs = node.operands.map((each) => (each.op === 'input' ? each : each.operands[0]));
          for (const { shape } of [node, ...inputs]) assert.ok(shape.reduce((a, b) => a * b, 1) <= 2 ** 23, keyOf(like));
          assert.equal(keyOf(likenessOf([like.matrices, like.rows, like.columns, like.depth])), keyOf(like));
        }
      }
    }
  }
});

test('recipes of products have the types and the places of their factors', () => {
  const inputsOf = (node) => (node.op === 'input' ? [`${node.dtype} ${node.shape}`] : node.operands.flatMap(inputsOf));
  for (const [form, extents, inputs] of [
    [[0, 1, 1, 32], [1, 32, 64, 128], ['f32 32,128', 'f32 64,128']],
    [[0, 0, 0, 32], [2, 32, 64, 128], ['f32 2,128,32', 'f32 2,128,64']],
    [[0, 1, 1, 16], [1, 32, 64, 128], ['f32 32,128', 'f16 64,128']],
    [[0, 1, 1, 65], [1, 32, 64, 128], ['f32 32,128', 'u32 64,16', 'f16 64,4']],
    [[0, 1, 1, 64], [4, 32, 64, 128], ['f32 4,32,128', 'u32 4,64,32', 'f16 4,64,4']],
    [[0, 1, 1, 71], [1, 32, 64, 4096], ['f32 32,512', 'u32 64,64', 'u32 64,8']],
    [[0, 1, 1, 67], [2, 32, 64, 128], ['f32 2,32,128', 'u32 2,64,16', 'u32 2,64,6']],
    [[1, 1, 0, 32], [1, 32, 64, 128], ['i32 32,128', 'i32 128,64']],
  ]) {
    const node = recipeOf(likenessOf(extents, form));
    assert.deepEqual(inputsOf(node), inputs);
    const [matrices, rows, columns] = extents;
    assert.deepEqual(node.shape, matrices === 1 ? [rows, columns] : [matrices, rows, columns]);
  }
});

test("Device.create takes 'table', 'measure' or a text that was found, and refuses others", async () => {
  installTensors();
  const gpu = Object.assign(fakeGpu(), { adapterInfo: { vendor: 'fake', architecture: 'one', device: '', description: '' } });
  const text = (changes) => JSON.stringify({ version: 3, adapter: 'fake one', tiles: { 'f32 32 kk 1x64x64x64 large': 'medium', 'f32 32 kk 1x64x64x64 small': 'table' }, ...changes });
  for (const [tuning, found] of [
    ['table', ''], ['measure', ''], [{ found: '' }, ''], [{ found: text() }, text()],
    [{ found: text({ adapter: 'fake two' }) }, ''], [{ found: text({ version: 1, tiles: 'of another form' }) }, ''],
  ]) {
    const device = await Device.create({ share: gpu, tuning });
    assert.equal(device.tuning.found, found);
    device.dispose();
    const onCpu = await Device.create({ backend: 'cpu', tuning });
    assert.equal(onCpu.tuning.found, '');
    onCpu.dispose();
  }
  for (const [tuning, message] of [
    ['fast', /Device\.create: tuning: got "fast"; takes 'table', 'measure' or \{ found \}/],
    [null, /tuning: got null/],
    [{}, /tuning\.found: got undefined/],
    [{ found: 1 }, /tuning\.found: got 1; takes the text that device\.tuning\.found was/],
    [{ find: '' }, /unknown option "find"; takes 'found'/],
    [{ found: 'medium' }, /tuning\.found: got "medium"; takes the text/],
    ...['null', '[]', '{}', '7', text().slice(0, -1), text({ adapter: 1 }), text({ tiles: null }), text({ tiles: [] }), text({ tiles: ['large'] }), text({ tiles: { a: 'huge' } })].map((found) => [{ found }, /tuning\.found/]),
  ]) {
    for (const place of [{ share: gpu }, { backend: 'cpu' }]) await assert.rejects(Device.create({ ...place, tuning }), residuaError('invalid-argument', message), String(message));
  }
});
