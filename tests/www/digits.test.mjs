// The modules of the page of digits that need no page: the packed file, and what becomes of a drawing.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PIXELS, SIZE, unpack } from '../../www/digits/data.js';
import { normalised, Pad } from '../../www/digits/pad.js';

test('the packed file has 10,000 digits, of each about as many among those that are tested', (t) => {
  const file = new URL('../../target/vendor/digits/digits.bin', import.meta.url);
  if (!existsSync(file)) return t.skip('cargo xtask site makes it');
  const bytes = readFileSync(file);
  const { trained, tested } = unpack(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  assert.deepEqual([trained.count, tested.count], [8000, 2000]);
  for (const { images, labels, count } of [trained, tested]) {
    assert.deepEqual([labels.length, images.length], [count, count * PIXELS]);
    assert.ok(labels.every((label) => label <= 9));
    assert.ok(images.includes(255) && images.includes(0));
    for (let digit = 0; digit < 10; digit++) {
      const share = labels.filter((label) => label === digit).length / count;
      // 10 % of 2,000 with a standard deviation of 0.7 %; MNIST's own shares are 8.6 to 11.3 %.
      assert.ok(share > 0.07 && share < 0.14, `${digit}: ${share}`);
    }
  }
});

for (const [count, bytes, pixels] of [[3, 4 + 3 * (1 + PIXELS) - 1, 3 * PIXELS - 1], [3, 4 + 3 * (1 + PIXELS) + 1, 3 * PIXELS + 1], [0, 5, 1]]) {
  test(`a file that says ${count} digits and has ${bytes} bytes is refused`, () => {
    const file = new ArrayBuffer(bytes);
    new DataView(file).setUint32(0, count, true);
    assert.throws(() => unpack(file), new RegExp(`has ${pixels} pixels, not ${count * PIXELS}`));
  });
}

/** A rectangle of ink on a pad. */
function drawn(left, top, width, height) {
  const pad = { width: 280, height: 280, data: new Uint8Array(280 * 280) };
  for (let y = top; y < top + height; y++) pad.data.fill(255, y * 280 + left, y * 280 + left + width);
  return pad;
}

test('a drawing is scaled to 20 pixels and centred, wherever it is and however large', () => {
  for (const [left, top, width, height] of [[10, 20, 40, 200], [200, 100, 20, 100], [120, 40, 40, 200]]) {
    const image = normalised(drawn(left, top, width, height));
    const rows = Array.from({ length: SIZE }, (_, y) => image.slice(y * SIZE, (y + 1) * SIZE).some((value) => value > 127));
    const columns = Array.from({ length: SIZE }, (_, x) => image.some((value, k) => k % SIZE === x && value > 127));
    const [first, last] = [rows.indexOf(true), rows.lastIndexOf(true)];
    assert.ok(Math.abs(last - first + 1 - 20) <= 1, `${last - first + 1} rows`);
    assert.ok(Math.abs(first - (SIZE - 1 - last)) <= 1, `rows ${first} to ${last}`);
    assert.ok(Math.abs(columns.indexOf(true) - (SIZE - 1 - columns.lastIndexOf(true))) <= 1, 'columns are centred');
  }
});

test('nothing drawn is no image', () => assert.equal(normalised({ width: 28, height: 28, data: new Uint8Array(784) }), null));

test('an event of the pointer draws all its places, and says once that the drawing has changed', () => {
  const listeners = {};
  const lines = [];
  const context = { beginPath() {}, moveTo() {}, lineTo: (...place) => void lines.push(place), stroke() {} };
  const canvas = {
    width: 280, height: 280, getContext: () => context, setPointerCapture() {}, addEventListener: (name, listener) => void (listeners[name] = listener),
    getBoundingClientRect: () => ({ left: 0, top: 0, width: 140, height: 140 }),
  };
  let changes = 0;
  const pad = new Pad(canvas, () => void changes++);
  assert.equal(pad.image, null);
  const at = (clientX, clientY) => ({ clientX, clientY });
  listeners.pointerdown({ pointerId: 1, ...at(1, 2) });
  assert.deepEqual([lines, changes], [[[2, 4]], 1]);
  listeners.pointermove({ ...at(5, 5), getCoalescedEvents: () => [at(2, 2), at(3, 3), at(5, 5)] });
  assert.deepEqual([lines.slice(1), changes], [[[4, 4], [6, 6], [10, 10]], 2]);
  // Events that scripts make have no list.
  listeners.pointermove({ ...at(6, 6), getCoalescedEvents: () => [] });
  assert.deepEqual([lines.at(-1), changes], [[12, 12], 3]);
  listeners.pointerup();
  listeners.pointermove(at(9, 9));
  assert.equal(changes, 3);
});
