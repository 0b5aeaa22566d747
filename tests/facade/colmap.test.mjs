/** Models of COLMAP: files that COLMAP wrote, round trips, and files that are wrong. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { colmapLens, lenses, parseColmap, writeColmap } from '../../pkg-template/dist/cameras.js';
import { ResiduaError } from '../../pkg-template/dist/index.js';
import { randomNumbers } from './reference.mjs';

/** A model of two cameras, three images and two points, as text and as bytes of base64, written by COLMAP 4.2. */
const TEXTS = {
  cameras: `# Camera list with one line of data per camera:
#   CAMERA_ID, MODEL, WIDTH, HEIGHT, PARAMS[]
# Number of cameras: 2
1 OPENCV 640 480 500.5 510 320 240 -0.10000000000000001 0.02 0.001 -0.002
7 SIMPLE_RADIAL 800 600 700 400 300 0.050000000000000003
`,
  images: `# Image list with two lines of data per image:
#   IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME
#   POINTS2D[] as (X, Y, POINT3D_ID)
# Number of images: 3, mean observations per image: 1.3333333333333333
3 1 0 0 0 0 0 0 1 a b/first.jpg
10.5 20.25 1 30 40 -1 50.125 60 2 
9 0.5 -0.5 0.5 -0.5 0.10000000000000001 -0.20000000000000001 0.33333333333333331 7 second.png
1 2 2 3 4.5 1 
4 0.80000000000000004 0 0.59999999999999998 0 1 2 3 7 empty.png

`,
  points3D: `# 3D point list with one line of data per point:
#   POINT3D_ID, X, Y, Z, R, G, B, ERROR, TRACK[] as (IMAGE_ID, POINT2D_IDX)
# Number of points: 2, mean track length: 2
1 1.5 -2 3.25 255 0 17 -1 3 0 9 1
2 0.10000000000000001 0.20000000000000001 0.29999999999999999 1 2 3 -1 9 0 3 2
`,
};
const bytes = (base64) => Uint8Array.from(Buffer.from(base64, 'base64'));
const BYTES = {
  cameras: bytes('AgAAAAAAAAABAAAABAAAAIACAAAAAAAA4AEAAAAAAAAAAAAAAEh/QAAAAAAA4H9AAAAAAAAAdEAAAAAAAABuQJqZmZmZmbm/exSuR+F6lD/8qfHSTWJQP/yp8dJNYmC/BwAAAAIAAAAgAwAAAAAAAFgCAAAAAAAAAAAAAADghUAAAAAAAAB5QAAAAAAAwHJAmpmZmZmZqT8='),
  images: bytes(
    'AwAAAAAAAAADAAAAAAAAAAAA8D8AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABAAAAYSBiL2ZpcnN0LmpwZwADAAAAAAAAAAAAAAAAACVAAAAAAABANEABAAAAAAAAAAAAAAAAAD5AAAAAAAAARED//////////wAAAAAAEElAAAAAAAAATkACAAAAAAAAAAkAAAAAAAAAAADgPwAAAAAAAOC/AAAAAAAA4D8AAAAAAADgv5qZmZmZmbk/mpmZmZmZyb9VVVVVVVXVPwcAAABzZWNvbmQucG5nAAIAAAAAAAAAAAAAAAAA8D8AAAAAAAAAQAIAAAAAAAAAAAAAAAAACEAAAAAAAAASQAEAAAAAAAAABAAAAJqZmZmZmek/AAAAAAAAAAAzMzMzMzPjPwAAAAAAAAAAAAAAAAAA8D8AAAAAAAAAQAAAAAAAAAhABwAAAGVtcHR5LnBuZwAAAAAAAAAAAA==',
  ),
  points3D: bytes('AgAAAAAAAAABAAAAAAAAAAAAAAAAAPg/AAAAAAAAAMAAAAAAAAAKQP8AEQAAAAAAAPC/AgAAAAAAAAADAAAAAAAAAAkAAAABAAAAAgAAAAAAAACamZmZmZm5P5qZmZmZmck/MzMzMzMz0z8BAgMAAAAAAADwvwIAAAAAAAAACQAAAAAAAAADAAAAAgAAAA=='),
};

const refused = (message) => (error) => error instanceof ResiduaError && error.code === 'invalid-argument' && (error.message === message || assert.fail(error.message));

for (const [kind, files] of [['text', TEXTS], ['binary', BYTES], ['mixed', { ...TEXTS, images: BYTES.images.buffer }]]) {
  test(`a ${kind} model that COLMAP wrote has its cameras, images, points and observations`, () => {
    const { cameras, images, points, observations, unmatched } = parseColmap(files);
    assert.deepEqual(cameras, [
      { id: 1, model: 'OPENCV', width: 640, height: 480, parameters: Float64Array.of(500.5, 510, 320, 240, -0.1, 0.02, 0.001, -0.002) },
      { id: 7, model: 'SIMPLE_RADIAL', width: 800, height: 600, parameters: Float64Array.of(700, 400, 300, 0.05) },
    ]);
    assert.deepEqual(images, {
      ids: Uint32Array.of(3, 9, 4),
      names: ['a b/first.jpg', 'second.png', 'empty.png'],
      cameras: Uint32Array.of(0, 1, 1),
      poses: Float64Array.of(1, 0, 0, 0, 0, 0, 0, 0.5, -0.5, 0.5, -0.5, 0.1, -0.2, 1 / 3, 0.8, 0, 0.6, 0, 1, 2, 3),
    });
    assert.deepEqual(points, {
      ids: Float64Array.of(1, 2), positions: Float64Array.of(1.5, -2, 3.25, 0.1, 0.2, 0.3), colors: Uint8Array.of(255, 0, 17, 1, 2, 3), errors: Float64Array.of(-1, -1),
    });
    assert.deepEqual(observations, {
      images: Uint32Array.of(0, 0, 1, 1), pixels: Float64Array.of(10.5, 20.25, 50.125, 60, 1, 2, 3, 4.5), keypoints: Uint32Array.of(0, 2, 0, 1), points: Uint32Array.of(0, 1, 1, 0),
    });
    assert.deepEqual(unmatched, { images: Uint32Array.of(0), pixels: Float64Array.of(30, 40), keypoints: Uint32Array.of(1) });
  });
}

test('what is written is what COLMAP wrote, byte for byte, and text but for its comments and digits', () => {
  const model = parseColmap(TEXTS);
  const written = writeColmap(model, { binary: true });
  // COLMAP orders images by their ids in tracks alone, as these are.
  for (const name of ['cameras', 'images']) assert.deepEqual(written[name], BYTES[name], name);
  assert.deepEqual(parseColmap(written), model);
  const texts = writeColmap(model);
  assert.deepEqual(parseColmap(texts), model);
  assert.equal(texts.cameras, '1 OPENCV 640 480 500.5 510 320 240 -0.1 0.02 0.001 -0.002\n7 SIMPLE_RADIAL 800 600 700 400 300 0.05\n');
  assert.equal(texts.images.split('\n')[3], '1 2 2 3 4.5 1');
});

test('a random model comes back with all its bits, from text and from bytes', () => {
  const random = randomNumbers(17);
  const below = (count) => Math.floor(count * random());
  const awkward = (count) => Float64Array.from({ length: count }, () => (random() - 0.5) * 10 ** (below(40) - 20));
  for (let run = 0; run < 20; run++) {
    const [images, points] = [1 + below(4), 1 + below(6)];
    const seen = Array.from({ length: images }, () => Array.from({ length: below(6) }, () => below(points + 2) - 2));
    const keypoints = (isSeen) => {
      const list = seen.flatMap((ids, image) => ids.flatMap((point, keypoint) => ((point >= 0) === isSeen ? [{ image, point, keypoint }] : [])));
      const base = { images: Uint32Array.from(list, ({ image }) => image), pixels: awkward(2 * list.length), keypoints: Uint32Array.from(list, ({ keypoint }) => keypoint) };
      return isSeen ? { ...base, points: Uint32Array.from(list, ({ point }) => point) } : base;
    };
    const poses = Array.from({ length: images }, () => {
      const q = [random() - 0.5, random() - 0.5, random() - 0.5, random() - 0.5];
      return [...q.map((x) => x / Math.hypot(...q)), ...awkward(3)];
    });
    const model = {
      cameras: [{ id: 4, model: 'FOV', width: 10, height: 20, parameters: awkward(5) }, { id: 0, model: 'FULL_OPENCV', width: 0, height: 0, parameters: awkward(12) }],
      images: { ids: Uint32Array.from({ length: images }, (_, k) => 2 ** 32 - 1 - 3 * k), names: Array.from({ length: images }, (_, k) => `ü/${k}`), cameras: Uint32Array.from({ length: images }, () => below(2)), poses: Float64Array.from(poses.flat()) },
      points: { ids: Float64Array.from({ length: points }, (_, k) => 2 ** 53 - 1 - k), positions: awkward(3 * points), colors: Uint8Array.from({ length: 3 * points }, () => below(256)), errors: awkward(points) },
      observations: keypoints(true),
      unmatched: keypoints(false),
    };
    assert.deepEqual(parseColmap(writeColmap(model)), model);
    assert.deepEqual(parseColmap(writeColmap(model, { binary: true })), model);
  }
});

test('a model made by hand gets ids, names, colours and the numbers of keypoints', () => {
  const made = writeColmap({
    cameras: [{ model: 'PINHOLE', width: 4, height: 3, parameters: [1, 2, 3, 4] }],
    images: { cameras: new Uint32Array(2), poses: Float64Array.of(1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 6, 7) },
    points: { positions: Float64Array.of(8, 9, 10) },
    observations: { images: Uint32Array.of(0, 1), points: new Uint32Array(2), pixels: Float64Array.of(0.5, 1, 2, -0) },
  });
  assert.deepEqual(made, {
    cameras: '1 PINHOLE 4 3 1 2 3 4\n',
    images: '1 1 0 0 0 0 0 0 1 1\n0.5 1 1\n2 1 0 0 0 5 6 7 1 2\n2 -0 1\n',
    points3D: '1 8 9 10 0 0 0 -1 1 0 2 0\n',
  });
});

test('wrong text files are named with the file and the line', () => {
  const camera = '1 PINHOLE 640 480 1 2 3 4';
  const image = '1 1 0 0 0 0 0 0 1 a.png\n10 20 5 30 40 -1';
  const files = { cameras: camera, images: image, points3D: '5 1 2 3 0 0 0 0 1 0' };
  parseColmap(files);
  for (const [change, message] of [
    [{ cameras: '1 PINHOLE 640' }, 'cameras: line 1: got 3 words; takes 4 or more: id, model, width, height, then the parameters'],
    [{ cameras: '# a\n1 PINHOLE 640 480 1 2 3' }, 'cameras: line 2: got 3 parameters of a camera; takes 4 of PINHOLE'],
    [{ cameras: `${camera}\n${camera}` }, 'cameras: line 2: got camera 1 a second time; takes an id for each camera'],
    [{ cameras: '1 PINHOLE 640 480 1 2 x 4' }, 'cameras: line 1: got "x"; takes a finite decimal number'],
    [{ cameras: '1 PINHOLE 640 -1 1 2 3 4' }, 'cameras: line 1: got "-1"; takes a size in pixels, a whole number from 0 below 4294967296'],
    [{ cameras: '-1 PINHOLE 640 480 1 2 3 4' }, 'cameras: line 1: got "-1"; takes the id of a camera, a whole number from 0 below 4294967296'],
    [{ cameras: '' }, 'images: line 1: got camera 1, which the model does not have; takes the id of a camera'],
    [{ images: '1 1 0 0 0 0 0 0 1\n' }, 'images: line 1: got 9 words; takes 10 or more: id, quaternion w, x, y, z, translation x, y, z, camera, name'],
    [{ images: '1 0 0 0 0 0 0 0 1 a.png\n' }, 'images: line 1: got a quaternion of length 0; takes one that has a direction'],
    [{ images: '1 1 0 0 0 0 0 0 1 a.png\n10 20' }, 'images: line 2: got 2 words; takes three for each keypoint: x, y, and the id of a point or -1'],
    [{ images: '1 1 0 0 0 0 0 0 1 a.png\n10 20 -2' }, 'images: line 2: got "-2"; takes the id of a point or -1, a whole number from 0 below 9007199254740992'],
    [{ images: `${image}\n${image}` }, 'images: line 3: got image 1 a second time; takes an id for each image'],
    [{ points3D: '' }, 'images: line 1: got point 5 at keypoint 0, which the model does not have; takes the id of a point, or -1'],
    [{ points3D: '5 1 2 3 0 0' }, 'points3D: line 1: got 6 words; takes 8 or more: id, x, y, z, red, green, blue, error, then the track'],
    [{ points3D: '5 1 2 3 0 0 256 0 1 0' }, 'points3D: line 1: got "256"; takes a part of a colour, a whole number from 0 below 256'],
    [{ points3D: '5 1 2 3 0 0 0 0 1' }, 'points3D: line 1: got 1 words of a track; takes two for each image: its id, and the number of the keypoint'],
    [{ points3D: '5 1 2 3 0 0 0 0 2 0' }, 'points3D: line 1: got image 2 in the track of point 5, which the model does not have; takes the id of an image'],
    [{ points3D: '5 1 2 3 0 0 0 0 1 2' }, 'points3D: line 1: got keypoint 2 of image 1 in the track of point 5; takes one of its 2 keypoints, from 0'],
    [{ points3D: '5 1 2 3 0 0 0 0 1 1' }, 'points3D: line 1: got keypoint 1 of image 1 in the track of point 5; takes a keypoint that has this point; it has none'],
    [{ points3D: '5 1 2 3 0 0 0 0 1 0\n5 1 2 3 0 0 0 0' }, 'points3D: line 2: got point 5 a second time; takes an id for each point'],
  ]) {
    assert.throws(() => parseColmap({ ...files, ...change }), refused(`parseColmap: ${message}`));
  }
  assert.throws(() => parseColmap({ ...files, cameras: '1 KANNALA 1 1 1' }), /cameras: line 1: got the camera model "KANNALA"; takes one of SIMPLE_PINHOLE, PINHOLE, /);
  assert.throws(() => parseColmap({ ...files, images: [1] }), refused('parseColmap: images: got an array of 1; takes the text of a file, or the bytes of a binary one'));
  assert.throws(() => parseColmap({ ...files, points: '' }), refused('parseColmap: files: got the unknown option "points"; did you mean \'points3D\'?'));
});

test('wrong binary files are named with the file and the byte', () => {
  const changed = (name, edit) => {
    const copy = BYTES[name].slice();
    edit(new DataView(copy.buffer));
    return { ...BYTES, [name]: copy };
  };
  for (const [files, message] of [
    [{ ...BYTES, cameras: BYTES.cameras.slice(0, 60) }, 'cameras: byte 60: got the end of the file; takes the rest of a record'],
    [{ ...BYTES, cameras: new Uint8Array(3) }, 'cameras: byte 3: got the end of the file; takes the rest of a record'],
    [{ ...BYTES, points3D: Uint8Array.of(...BYTES.points3D, 0) }, `points3D: byte ${BYTES.points3D.length}: got 1 bytes more; takes the end of the file`],
    [changed('cameras', (view) => view.setInt32(12, 99, true)), 'cameras: byte 8: got the camera model 99; takes a number from 0 to 17'],
    [changed('cameras', (view) => view.setInt32(12, -1, true)), 'cameras: byte 8: got the camera model -1; takes a number from 0 to 17'],
    [changed('cameras', (view) => view.setBigUint64(0, 2n ** 50n, true)), `cameras: byte 0: got 1125899906842624 cameras; takes a number of cameras that fits the ${BYTES.cameras.length - 8} bytes that follow`],
    [changed('images', (view) => view.setBigUint64(0, 2n ** 60n, true)), 'images: byte 0: got 1152921504606846976; takes the number of images of at most 9007199254740991'],
    [changed('images', (view) => view.setFloat64(12, Number.NaN, true)), 'images: byte 12: got NaN; takes a finite number'],
    [changed('images', (view) => new Uint8Array(view.buffer).fill(65, 72)), 'images: byte 72: got a name without an end; takes a name that ends with a byte 0'],
  ]) {
    assert.throws(() => parseColmap(files), refused(`parseColmap: ${message}`));
  }
  const detached = new ArrayBuffer(8);
  structuredClone(detached, { transfer: [detached] });
  assert.throws(() => parseColmap({ ...BYTES, cameras: detached }), refused('parseColmap: cameras: got a detached buffer; takes the bytes of a file'));
});

test('files that were damaged at random are read, or refused by name', () => {
  const random = randomNumbers(23);
  const below = (count) => Math.floor(count * random());
  const words = ['', '-1', '1e309', 'NaN', '0x10', '18446744073709551615', '9007199254740993', 'OPENCV', '#', '\n', 'x'.repeat(200)];
  let refusals = 0;
  for (let run = 0; run < 2000; run++) {
    const name = ['cameras', 'images', 'points3D'][below(3)];
    let files;
    if (run % 2 === 0) {
      const pieces = TEXTS[name].split(/([ \n])/);
      for (let edits = 1 + below(3); edits > 0; edits--) pieces[below(pieces.length)] = words[below(words.length)];
      files = { ...TEXTS, [name]: pieces.join('') };
    } else {
      const copy = BYTES[name].slice(0, random() < 0.3 ? below(BYTES[name].length) : undefined);
      for (let edits = 1 + below(3); edits > 0 && copy.length > 0; edits--) copy[below(copy.length)] = below(256);
      files = { ...BYTES, [name]: copy };
    }
    try {
      const model = parseColmap(files);
      assert.deepEqual(parseColmap(writeColmap(model, { binary: run % 3 === 0 })), model);
    } catch (error) {
      if (!(error instanceof ResiduaError) || !/^parseColmap: (cameras|images|points3D): (line|byte) \d+: got /.test(error.message)) throw error;
      refusals++;
    }
  }
  assert.ok(refusals > 1000 && refusals < 2000, `${refusals}`);
});

test('models that cannot be written are named', () => {
  const model = parseColmap(TEXTS);
  const argument = 'writeColmap: model';
  for (const [change, message] of [
    [{ cameras: 7 }, `${argument}.cameras: got 7; takes an array of cameras`],
    [{ images: undefined }, `${argument}.images: got undefined; takes an object`],
    [{ cameras: [{ ...model.cameras[0], parameters: [1, 2] }, model.cameras[1]] }, `${argument}.cameras[0].parameters: got 2 numbers; takes 8 of OPENCV`],
    [{ cameras: [model.cameras[0], model.cameras[0]] }, `${argument}.cameras: got the id 1 a second time; takes an id for each`],
    [{ cameras: [model.cameras[0]] }, `${argument}.images.cameras[1]: got 1; takes a whole number from 0 below the number of cameras, 1`],
    [{ images: { ...model.images, poses: model.images.poses.slice(1) } }, `${argument}.images.poses: got 20 numbers; takes a multiple of 7`],
    [{ images: { ...model.images, poses: new Float64Array(21) } }, `${argument}.images.poses: got a quaternion of length 0 at position 0; takes quaternions that have a direction`],
    [{ images: { ...model.images, names: ['a', 'b\nc', 'd'] } }, `${argument}.images.names[1]: got "b\\nc"; takes a name without line breaks, and without spaces around it`],
    [{ images: { ...model.images, ids: [1, 1, 2] } }, `${argument}.images.ids: got the id 1 a second time; takes an id for each`],
    [{ points: { ...model.points, errors: [1] } }, `${argument}.points.errors: got 1 numbers; takes 2`],
    [{ points: { ...model.points, colors: [0, 0, 0, 0, 0, 256] } }, `${argument}.points.colors[5]: got 256; takes a whole number from 0 below the number of values of a part of a colour, 256`],
    [{ observations: { ...model.observations, points: [0, 1, 2, 0] } }, `${argument}.observations.points[2]: got 2; takes a whole number from 0 below the number of points, 2`],
    [{ observations: { ...model.observations, keypoints: [0, 0, 0, 1] } }, `${argument}.observations.keypoints[1]: got 0 a second time in image 0; takes a number for each keypoint of an image`],
    [{ unmatched: undefined }, `${argument}.observations.keypoints: got none with the number 1 in image 0, which has later ones; takes numbers from 0 without gaps`],
    [{ observations: { ...model.observations, keypoints: undefined }, unmatched: { images: [0], pixels: [1, 2], keypoints: [4] } }, `${argument}.unmatched.keypoints: got none with the number 2 in image 0, which has later ones; takes numbers from 0 without gaps`],
    [{ observations: { ...model.observations, pixels: model.observations.pixels.with(1, NaN) } }, `${argument}.observations.pixels[1]: got NaN; takes a finite number`],
    [{ observations: { ...model.observations, pixels: undefined } }, `${argument}.observations.pixels: got undefined; takes an array of finite numbers`],
    [{ observations: { ...model.observations, pixels: [1, 2, 3] } }, `${argument}.observations.pixels: got 3 numbers; takes a multiple of 2`],
    [{ unmatched: { images: [0], pixels: [1, Infinity], keypoints: [1] } }, `${argument}.unmatched.pixels[1]: got Infinity; takes a finite number`],
    [{ unmatched: { images: [0], pixels: [1, 2, 3], keypoints: [1] } }, `${argument}.unmatched.pixels: got 3 numbers; takes a multiple of 2`],
    [{ observations: { ...model.observations, keypoints: [0, 2, 0, 4e9] } }, `${argument}.observations.keypoints[3]: got 4000000000; takes a whole number from 0 below the number of keypoints, 5`],
  ]) {
    assert.throws(() => writeColmap({ ...model, ...change }), refused(message));
  }
});

/** What pycolmap 4.2 gives for the pixel of the point (0.3, −0.2, 1.5). */
const SEEN = [
  ['SIMPLE_PINHOLE', [500, 320, 240], [420.0, 173.33333333333331]],
  ['PINHOLE', [500, 510, 320, 240], [420.0, 172.0]],
  ['SIMPLE_RADIAL', [500, 320, 240, -0.1], [419.4222222222222, 173.71851851851852]],
  ['RADIAL', [500, 320, 240, -0.1, 0.03], [419.432237037037, 173.71184197530863]],
  ['OPENCV', [500, 510, 320, 240, -0.1, 0.03, 0.001, -0.002], [419.26779259259257, 172.4880788148148]],
  ['FULL_OPENCV', [500, 510, 320, 240, -0.1, 0.03, 0.001, -0.002, 0.01, 0.02, -0.03, 0.04], [419.16238887676565, 172.55975334157716]],
  ['SIMPLE_FISHEYE', [500, 320, 240], [418.1382023493359, 174.57453176710936]],
  ['FISHEYE', [500, 510, 320, 240], [418.1382023493359, 173.26602240245154]],
  ['SIMPLE_RADIAL_FISHEYE', [500, 320, 240, 0.05], [418.41125420607483, 174.39249719595009]],
  ['RADIAL_FISHEYE', [500, 320, 240, 0.05, -0.01], [418.4082153358007, 174.39452310946618]],
  ['OPENCV_FISHEYE', [500, 510, 320, 240, 0.05, -0.012, 0.004, -0.0006], [418.4076746380201, 173.0827812461463]],
];

test('lenses of cameras see points where COLMAP sees them', () => {
  for (const [model, parameters, pixel] of SEEN) {
    const { lens, parameters: own } = colmapLens({ model, parameters: Float64Array.from(parameters) });
    assert.equal(own.length, lens.parameters.length - (lens === lenses.radialTangential ? 1 : 0));
    lens.distort([0.3, -0.2, 1.5], own).forEach((x, k) => assert.ok(Math.abs(x - pixel[k]) < 1e-12, `${model}: ${x}, not ${pixel[k]}`));
  }
  assert.throws(() => colmapLens({ model: 'FOV', parameters: [1, 2, 3, 4, 5] }), /^ResiduaError: colmapLens: camera.model: got "FOV"; takes one of SIMPLE_PINHOLE, /);
  assert.throws(() => colmapLens({ model: 'toString', parameters: [1] }), /got "toString"/);
  assert.throws(() => colmapLens({ model: 'RADIAL', parameters: [1, 2, 3] }), refused('colmapLens: camera.parameters: got 3 numbers; takes 5 of RADIAL'));
});
