/** Pictures as tensors and tensors on canvases, on a fake GPU and on the CPU, with pictures and canvases of the test. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Device, spec, Tensor } from '../../pkg-template/dist/tensor.js';
import { pixels as pixelsOf } from '../../pkg-template/dist/tensor/recipe/pictures.js';
import { fakeGpu } from './fake-gpu.mjs';
import { residuaError } from './fake-module.mjs';
import { installTensors } from './fake-tensor-module.mjs';
import { given, valueOf } from './tensor-meaning.mjs';

/** Opaque pixels; a first number tells pictures apart. */
const bytes = (width, height, first = 0) => Uint8ClampedArray.from({ length: 4 * width * height }, (_, i) => (i % 4 === 3 ? 255 : (first + 37 * i) % 256));
/** ImageData, whose bytes the page has. */
const data = (width, height, first) => ({ width, height, data: bytes(width, height, first) });
/** A canvas of the page, of which the fake GPU and the canvas below know the pixels. */
const picture = (width, height, first) => ({ width, height, pixels: new Uint8Array(bytes(width, height, first)) });

globalThis.ImageData = function ImageData(pixels, width, height) {
  Object.assign(this, { data: pixels, width, height });
};
/** A canvas with one context, on which `drawn` is what was drawn last. */
class Canvas {
  constructor(width, height) {
    Object.assign(this, { width, height, kind: null, drawn: null });
  }
  getContext(kind) {
    if (this.kind !== null && this.kind !== kind) return null;
    this.kind = kind;
    return {
      configure: ({ device, format, usage, alphaMode }) => (this.texture = () => device.createTexture({ size: [this.width, this.height], format, usage, alphaMode })),
      getCurrentTexture: () => (this.drawn = this.texture()),
      drawImage: ({ pixels, isForeign }) => {
        if (isForeign) throw new DOMException('a picture of another origin', 'SecurityError');
        this.drawn = { bytes: pixels };
      },
      getImageData: () => ({ data: Uint8ClampedArray.from(this.drawn.bytes) }),
      putImageData: ({ data: drawn, width, height }) => (this.drawn = { bytes: drawn, width, height }),
    };
  }
}
globalThis.OffscreenCanvas = Canvas;

async function open(backend) {
  installTensors();
  const gpu = backend === 'gpu' ? fakeGpu() : null;
  return { gpu, device: await Device.create(gpu === null ? { backend } : { share: gpu }) };
}

for (const backend of ['gpu', 'cpu']) {
  test(`${backend}: a picture becomes bytes, whatever the width of its rows`, async () => {
    const { device } = await open(backend);
    for (const [width, height] of [[64, 3], [5, 4], [1, 1]]) {
      for (const source of [data(width, height), picture(width, height)]) {
        const stored = device.image(source);
        assert.deepEqual([stored.dtype, stored.shape], ['u8', [height, width, 4]]);
        assert.deepEqual([...(await stored.data())], [...bytes(width, height)]);
        stored.dispose();
      }
    }
    const { tensors, tensorBytes } = device.stats();
    assert.deepEqual([tensors, tensorBytes], [0, 0]);
  });

  test(`${backend}: a run takes a picture as it is at the call`, async () => {
    const { device, gpu } = await open(backend);
    for (const [width, height] of [[64, 5], [3, 2]]) {
      const [one, two] = [bytes(width, height), bytes(width, height, 9)].map((list) => [...list]);
      const program = await device.compile({ frame: spec('u8', [height, width, 4]) }, ({ frame }) => frame);
      const source = picture(width, height);
      const stored = device.image(data(width, height, 9));
      const first = program.run({ frame: source }).data();
      source.pixels.set(two);
      const reads = [first, program.run({ frame: source }).data(), program.run({ frame: Uint8Array.from(one) }).data(), program.run({ frame: stored }).data(), program.run({ frame: data(width, height) }).data()];
      assert.deepEqual((await Promise.all(reads)).map((read) => [...read]), [one, two, one, two, one]);
      const made = gpu?.made.textures;
      program.run({ frame: source });
      assert.equal(gpu?.made.textures, made, 'a texture is kept for the next picture');
    }
  });

  test(`${backend}: bytes are drawn on a canvas, which gets their size`, async () => {
    const { device } = await open(backend);
    for (const [width, height] of [[64, 3], [5, 4]]) {
      const clear = bytes(width, height).map((value, i) => (i % 4 === 3 ? 7 : value));
      const canvas = new Canvas(1, 1);
      device.image({ width, height, data: clear }).draw(canvas);
      assert.deepEqual([canvas.width, canvas.height, canvas.drawn.width, canvas.drawn.height], [width, height, width, height]);
      // The canvas of a GPU is configured as opaque.
      assert.deepEqual([...canvas.drawn.bytes], [...(backend === 'gpu' ? clear : bytes(width, height))]);
    }
  });

  test(`${backend}: what is no picture, and what does not fit, is invalid-argument`, async () => {
    const { device } = await open(backend);
    const program = await device.compile({ frame: spec('u8', [4, 2, 4]), number: spec('f32', [2, 4, 4]) }, ({ frame, number }) => [frame, number], { name: 'filter' });
    const number = new Float32Array(32);
    const taken = new Canvas(2, 2);
    taken.getContext(backend === 'gpu' ? '2d' : 'webgpu');
    const flat = device.image(data(2, 2));
    const cases = [
      [() => device.image('picture.png'), /^image: got "picture.png"; takes an ImageBitmap/],
      [() => device.image({ width: 0, height: 0 }), /^image: got a picture of 0 by 0 pixels/],
      [() => device.image({ naturalWidth: 0, naturalHeight: 0, width: 8, height: 8 }), /^image: got a picture of 0 by 0 pixels/],
      [() => device.image({ ...picture(2, 2), isForeign: true }), /^image: got a picture that cannot be read \(SecurityError/],
      [() => program.run({ frame: data(4, 2), number }), /^filter.run: frame: got a picture, u8 \[2, 4, 4\]; takes u8 \[4, 2, 4\]/],
      [() => program.run({ frame: bytes(2, 4), number: data(4, 2) }), /^filter.run: number: got a picture, u8 \[2, 4, 4\]; takes f32 \[2, 4, 4\]/],
      [() => device.zeros([2, 2]).draw(new Canvas(2, 2)), /^draw: got .*takes a tensor \[height, width, 3 or 4\]/],
      [() => device.zeros([0, 2, 3]).draw(new Canvas(2, 2)), /^draw: got .*that has pixels/],
      [() => device.zeros([2, 2, 3], 'i32').draw(new Canvas(2, 2)), /^draw: got .*takes a tensor of u8 or f32 or f16/],
      [() => flat.draw({}), /^draw: canvas: .*takes an HTMLCanvasElement or an OffscreenCanvas/],
      [() => flat.draw(taken), /^draw: canvas: got a canvas with a context of another kind/],
    ];
    for (const [call, message] of cases) assert.throws(call, residuaError('invalid-argument', message));
    flat.dispose();
    assert.throws(() => flat.draw(new Canvas(2, 2)), residuaError('disposed', /^draw: /));
  });
}

test('gpu: a picture larger than the textures of a device is limit-exceeded', async () => {
  const { device } = await open('gpu');
  assert.throws(() => device.image({ width: 8193, height: 1, pixels: null }), residuaError('limit-exceeded', /8193 by 1 pixels.*maxTextureDimension2D is 8192/));
});

test('gpu: a picture for whose texture there is no memory is out-of-memory at the next read, and does not serve again', async () => {
  const { device, gpu } = await open('gpu');
  gpu.textureLimit = 4 * 64 * 64;
  const refused = residuaError('out-of-memory', /^a picture of 65 by 64 pixels: the GPU has no 16640 bytes left/);
  // The second has the texture of the first, before anything is known of it.
  const stored = [device.image(picture(65, 64)), device.image(picture(65, 64))];
  for (const one of stored) await assert.rejects(one.data(), refused);
  assert.equal(gpu.made.textures, 1);
  assert.deepEqual([...(await device.image(picture(4, 3)).data())], [...bytes(4, 3)]);
  gpu.textureLimit = Infinity;
  assert.deepEqual([...(await device.image(picture(65, 64)).data())], [...bytes(65, 64)]);
  assert.equal(gpu.made.textures, 3, 'the refused one is not kept');
});

test('gpu: a picture of a run for whose texture there is no memory is out-of-memory at the next run with a picture', async () => {
  const { device, gpu } = await open('gpu');
  const program = await device.compile({ frame: spec('u8', [64, 65, 4]) }, ({ frame }) => [frame]);
  gpu.textureLimit = 4 * 64 * 64;
  program.run({ frame: picture(65, 64) });
  await device.synchronize();
  gpu.textureLimit = Infinity;
  const again = () => program.run({ frame: picture(65, 64) });
  assert.throws(again, residuaError('out-of-memory', /^a picture of 65 by 64 pixels: the GPU has no 16640 bytes left/));
  again();
  await device.synchronize();
  assert.equal(gpu.made.textures, 2, 'the refused one is not kept');
});

test('numbers from 0 to 1 become bytes, and three channels are opaque', () => {
  const x = given([[[0, 0.5, 1], [-1, 2, NaN]]]);
  assert.deepEqual(valueOf(Tensor.make(pixelsOf('draw', x.node))), [[[0, 128, 255, 255], [0, 255, 0, 255]]]);
  const four = given([[[1, 2, 3, 4]]], 'u8');
  assert.equal(pixelsOf('draw', four.node), four.node);
});
