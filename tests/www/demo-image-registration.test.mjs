// The registration of a picture: what the camera sees, blurs, and frames that are found again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onCpu } from './residua.mjs';

const { apart, blurred, CAMERA, cameraPlaces, changed, cornersOf, isAllowed, paintable, placeIn, sceneAt, seenFrom } = await import('../../www/demos/image-registration/picture.js');
const { BLURS, registration } = await import('../../www/demos/image-registration/model.js');

const FRAME = [120, 60, 0, 90, 0, 60];

test('the camera’s middle pixels surround the frame’s middle, and its corners are the frame’s', () => {
  const places = cameraPlaces();
  assert.equal(places.length, 2 * CAMERA.width * CAMERA.height);
  const mean = [0, 1].map((axis) => places.filter((_, i) => i % 2 === axis).reduce((sum, value) => sum + value) / (places.length / 2));
  assert.ok(mean.every((value) => Math.abs(value) < 1e-12));
  assert.deepEqual(cornersOf(FRAME), [[60, 45], [180, 45], [180, 135], [60, 135]]);
  assert.deepEqual(placeIn([1, 2, 3, 4, 5, 6], 1, -1), [0, 3]);
  assert.equal(apart(FRAME, changed(FRAME, { dx: 3, dy: 4 })), 5);
});

test('a frame turns about its middle, keeps its lengths, and may not leave the scene or become flat', () => {
  const turned = changed(FRAME, { angle: Math.PI / 2 });
  assert.deepEqual(turned.map((value) => Math.round(value * 1e9) / 1e9 + 0), [120, 0, -60, 90, 60, 0]);
  assert.ok(isAllowed(FRAME) && isAllowed(changed(FRAME, { angle: 1, scale: 0.8 })));
  for (const change of [{ dx: 70 }, { dy: -60 }, { scale: 0.2 }, { scale: 1.6 }, { shear: 3 }]) assert.ok(!isAllowed(changed(FRAME, change)), JSON.stringify(change));
  assert.ok(!isAllowed([120, -60, 0, 90, 0, 60]), 'a mirror image');
});

test('what is seen is the scene, brightened, with noise of the asked size', () => {
  const plain = seenFrom(FRAME), bright = seenFrom(FRAME, { gain: 1.5, offset: -0.2, noise: 0.05 });
  const places = cameraPlaces();
  assert.equal(plain[500], sceneAt(...placeIn(FRAME, places[1000], places[1001])));
  const rest = plain.map((value, k) => bright[k] - (1.5 * value - 0.2));
  const spread = Math.sqrt(rest.reduce((sum, value) => sum + value ** 2, 0) / rest.length);
  // A standard deviation of 6,912 numbers is known to 1 / √(2 · 6912) = 0.9 %.
  assert.ok(Math.abs(spread - 0.05) < 0.05 * 0.04, `${spread}`);
});

test('a blur keeps constants, adds variances and does not move what is symmetric', () => {
  const size = { width: 41, height: 31 };
  const flat = blurred(new Float64Array(41 * 31).fill(0.7), size, 3);
  assert.ok(flat.every((value) => Math.abs(value - 0.7) < 1e-12));
  const dot = new Float64Array(41 * 31);
  dot[15 * 41 + 20] = 1;
  const spread = blurred(dot, size, 2);
  let [sum, middle, variance] = [0, 0, 0];
  spread.forEach((value, k) => {
    sum += value;
    middle += value * (k % 41);
    variance += value * ((k % 41) - 20) ** 2;
  });
  // Cut off at three standard deviations, a Gaussian's variance is 2.7 % less: 1 − 2 · 3 φ(3) / (1 − 2 Q(3)).
  assert.ok(Math.abs(sum - 1) < 1e-12 && Math.abs(middle - 20) < 1e-9 && Math.abs(variance / 4 - 1) < 0.04, `${sum} ${middle} ${variance}`);
  assert.deepEqual(blurred(dot, size, 0), dot);
});

test('grey values and differences become opaque pixels', () => {
  assert.deepEqual([...paintable([0, 1, 2])], [0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255]);
  const [zero, , , , low, , high] = paintable([0, -1], { signed: true });
  assert.deepEqual([zero, low < 128, high > 128], [128, true, true]);
});

for (const [name, change] of Object.entries({
  'moved by 25 pixels': { dx: 20, dy: -15 }, 'turned by 15°': { angle: 0.26 }, 'stretched and sheared': { scale: 0.85, shear: 0.15, dx: -10 },
})) {
  test(`a picture that is ${name} is found, with its gain and offset`, async () => {
    const truth = changed(FRAME, change);
    assert.ok(isAllowed(truth));
    const model = registration(FRAME);
    model.setSeen(seenFrom(truth, { gain: 1.3, offset: -0.1 }));
    await onCpu(model.problem, async (functions) => {
      let result;
      for (let step = 0; step < 6; step++) result = await model.follow(functions);
      assert.ok(!result.isLost && result.explained > 0.9999, `${result.explained}`);
      // The scene is not a spline through its pixels: its sharpest edges of 1.6 pixels are missed by some hundredths.
      assert.ok(apart(model.frame.values(), truth) < 0.05, `${apart(model.frame.values(), truth)} pixels`);
      const [gain, offset] = model.tone.values();
      assert.ok(Math.abs(gain - 1.3) < 0.01 && Math.abs(offset + 0.1) < 0.01, `${gain} ${offset}`);
      model.reset();
      assert.deepEqual([...model.frame.values()], FRAME);
    });
  });
}

test('blurred pictures reach further than sharp ones', async () => {
  const truth = changed(FRAME, { dx: 40, dy: 20 });
  const ends = [];
  for (const blurs of [BLURS, [0]]) {
    const model = registration(FRAME);
    model.setSeen(seenFrom(truth));
    await onCpu(model.problem, async (functions) => {
      for (let step = 0; step < 6; step++) await model.search(functions, { blurs });
      ends.push(apart(model.frame.values(), truth));
    });
  }
  assert.ok(ends[0] < 0.05 && ends[1] > 1, ends.join(', '));
});

test('what is nowhere in the scene is told as lost, and the search begins anew', async () => {
  const model = registration(FRAME);
  model.setSeen(Float64Array.from({ length: CAMERA.width * CAMERA.height }, (_, k) => Number((k + Math.floor(k / CAMERA.width)) % 2)));
  await onCpu(model.problem, async (functions) => {
    const { isLost, explained } = await model.follow(functions);
    assert.ok(isLost && explained < 0.1, `${explained}`);
    assert.deepEqual([...model.frame.values()], FRAME);
  });
});
