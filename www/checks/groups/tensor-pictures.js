/** Pictures of the page as tensors, and tensors on canvases. */
import { spec } from 'residua/tensor';
import { tensorDevice } from '../tensors/compare.js';
import { onEach } from '../define.js';

/** Opaque pixels, all of them different. A first number tells pictures apart. */
function pixels(width, height, first = 0) {
  const data = new Uint8ClampedArray(4 * width * height);
  for (let i = 0; i < data.length; i++) data[i] = i % 4 === 3 ? 255 : (first + 37 * i + (i >> 6)) % 256;
  return new ImageData(data, width, height);
}

function canvasOf(picture) {
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  canvas.getContext('2d').putImageData(picture, 0, 0);
  return canvas;
}

/** What a canvas shows now. */
function shown(canvas) {
  const flat = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
  flat.drawImage(canvas, 0, 0);
  return [...flat.getImageData(0, 0, canvas.width, canvas.height).data];
}

export const group = {
  id: 'tensor-pictures',
  title: 'Tensors: pictures',
  about: 'Images, videos and canvases of the page become bytes of a device, and tensors are drawn on canvases.',
  checks: [
    ...onEach('pictures of the page become bytes [height, width, 4]', async (check) => {
      const device = await tensorDevice(check);
      // Rows of 64 pixels are copied at once, others row by row.
      for (const [width, height] of [[64, 3], [5, 4]]) {
        const picture = pixels(width, height);
        const canvas = canvasOf(picture);
        const bitmap = await createImageBitmap(picture);
        const image = new Image();
        image.src = URL.createObjectURL(await canvas.convertToBlob());
        await image.decode();
        for (const [name, source] of Object.entries({ ImageData: picture, canvas, ImageBitmap: bitmap, image })) {
          const stored = device.image(source);
          check.same([stored.dtype, stored.sizes], ['u8', [height, width, 4]], `the type and the shape of ${name}`);
          check.same([...(await stored.data())], [...picture.data], `${name} of ${width} by ${height} pixels`);
          stored.dispose();
        }
        URL.revokeObjectURL(image.src);
      }
    }),

    ...onEach('a picture is taken as it is at the call', async (check) => {
      const device = await tensorDevice(check);
      const [first, second] = [pixels(8, 2), pixels(8, 2, 99)];
      const canvas = canvasOf(first);
      const program = await device.compile({ frame: spec('u8', [2, 8, 4]) }, ({ frame }) => frame.slice(null, null, [0, 3]).cast('f32').sum([0, 1]));
      const sums = ({ data }) => [0, 1, 2].map((channel) => data.reduce((sum, value, i) => (i % 4 === channel ? sum + value : sum), 0));
      const results = [program.run({ frame: canvas }).data()];
      const stored = device.image(canvas);
      canvas.getContext('2d').putImageData(second, 0, 0);
      results.push(program.run({ frame: canvas }).data(), program.run({ frame: stored }).data(), program.run({ frame: second }).data(), program.run({ frame: first.data }).data());
      const found = (await Promise.all(results)).map((data) => [...data]);
      check.same(found, [first, second, first, second, first].map(sums));
    }),

    ...onEach('bytes and numbers are drawn on a canvas, which gets their size', async (check) => {
      const device = await tensorDevice(check);
      for (const [width, height] of [[64, 3], [5, 4]]) {
        const picture = pixels(width, height);
        const stored = device.image(picture);
        const canvas = new OffscreenCanvas(1, 1);
        stored.draw(canvas);
        check.same([canvas.width, canvas.height], [width, height]);
        check.same(shown(canvas), [...picture.data], `bytes of ${width} by ${height} pixels`);
        // Three channels of numbers, some of them beyond 0 and 1.
        const numbers = await device.store(stored.slice(null, null, [0, 3]).cast('f32').div(255).mul(2).sub(0.5));
        const other = new OffscreenCanvas(width, height);
        numbers.draw(other);
        await device.synchronize();
        // What is compiled is drawn before the page presents a frame.
        numbers.draw(other);
        const expected = Array.from(picture.data, (value, i) => (i % 4 === 3 ? 255 : Math.min(Math.max(Math.round(2 * value - 127.5), 0), 255)));
        const drawn = shown(other);
        // 2 · value − 127.5 is between two bytes, so that roundings decide.
        const error = drawn.reduce((most, value, i) => Math.max(most, Math.abs(value - expected[i])), 0);
        check.below(error, 1.5, 'a number between two bytes may be rounded to either, which is a difference of 1', 'the difference of bytes');
        check.same(drawn.filter((_, i) => i % 4 === 3), expected.filter((_, i) => i % 4 === 3), 'the opacity');
      }
    }),

    ...onEach('what is no picture, and what does not fit, is invalid-argument', async (check) => {
      const device = await tensorDevice(check);
      const picture = pixels(4, 2);
      const program = await device.compile({ frame: spec('u8', [4, 2, 4]), number: spec('f32', [2, 4, 4]) }, ({ frame, number }) => number.add(frame.cast('f32').sum()), { name: 'filter' });
      const numbers = new Float32Array(32);
      const matrix = device.zeros([2, 2]);
      const flat = device.zeros([2, 2, 3]);
      const integers = device.zeros([2, 2, 3], 'i32');
      const taken = new OffscreenCanvas(2, 2);
      taken.getContext(device.backend === 'gpu' ? '2d' : 'webgpu');
      const failures = [
        [() => device.image('picture.png'), /^invalid-argument: image: got "picture.png"; takes an ImageBitmap/],
        [() => device.image(new Image()), /^invalid-argument: image: got a picture of 0 by 0 pixels/],
        [() => program.run({ frame: picture, number: numbers }), /^invalid-argument: filter.run: frame: got a picture, u8 \[2, 4, 4\]; takes u8 \[4, 2, 4\]/],
        [() => program.run({ frame: picture.data, number: picture }), /^invalid-argument: filter.run: number: got a picture, u8 \[2, 4, 4\]; takes f32 \[2, 4, 4\]/],
        [() => matrix.draw(new OffscreenCanvas(2, 2)), /^invalid-argument: draw: .*takes a tensor \[height, width, 3 or 4\]/],
        [() => integers.draw(new OffscreenCanvas(2, 2)), /^invalid-argument: draw: .*takes a tensor of u8 or f32 or f16/],
        [() => flat.draw({}), /^invalid-argument: draw: canvas: .*takes an HTMLCanvasElement or an OffscreenCanvas/],
        [() => flat.draw(taken), /^invalid-argument: draw: canvas: got a canvas with a context of another kind/],
      ];
      for (const [call, message] of failures) check.match(await check.failureInWords((async () => call())()), message);
    }),
  ],
};
