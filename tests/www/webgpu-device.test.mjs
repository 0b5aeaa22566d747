// The limits and features of an adapter, beside those that residua needs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceFacts, figure, LIMITS_THAT_MATTER } from '../../www/webgpu-device.js';

/** An adapter with exactly what residua needs, except for the changes of a test. */
function adapter(others = {}, features = []) {
  const limits = Object.fromEntries(LIMITS_THAT_MATTER.map(({ name, needs }) => [name, needs]));
  // Browsers have them on the prototype.
  return { limits: Object.create({ ...limits, maxTextureDimension2D: 8192, ...others }), features: new Set(features) };
}

test('an adapter with the minimum of WebGPU has enough', () => {
  const { limits, lacking, otherLimits } = deviceFacts(adapter());
  assert.deepEqual(lacking, []);
  assert.ok(limits.every(({ enough }) => enough));
  assert.deepEqual(otherLimits, [{ name: 'maxTextureDimension2D', here: '8,192' }]);
});

test('a limit that is too low is named with both numbers, and so is an alignment that is too coarse or a missing limit', () => {
  const { lacking } = deviceFacts(adapter({ maxStorageBuffersPerShaderStage: 4, minStorageBufferOffsetAlignment: 512, maxBufferSize: undefined }));
  assert.deepEqual(lacking, [
    'maxBufferSize is not told, and residua needs 256 MiB',
    'maxStorageBuffersPerShaderStage is 4, and residua needs 8',
    'minStorageBufferOffsetAlignment is 512 B, and residua needs at most 256 B',
  ]);
});

test('features that matter are listed whether present or not, others by name', () => {
  const { features, otherFeatures } = deviceFacts(adapter({}, ['timestamp-query', 'texture-compression-bc', 'depth-clip-control']));
  assert.deepEqual(features.map(({ name, here }) => [name, here]), [['timestamp-query', true], ['subgroups', false], ['shader-f16', false]]);
  assert.deepEqual(otherFeatures, ['depth-clip-control', 'texture-compression-bc']);
});

test('sizes are given in the unit that fits', () => {
  assert.deepEqual([256, 16384, 128 << 20, 4 * 2 ** 30].map((bytes) => figure(bytes, 'bytes')), ['256 B', '16 KiB', '128 MiB', '4 GiB']);
  assert.equal(figure(65_535), '65,535');
});
