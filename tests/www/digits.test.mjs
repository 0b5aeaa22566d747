// The modules of the page of digits that need no page: the packed file, and what becomes of a drawing.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { PIXELS, SIZE, unpack } from '../../www/digits/data.js';
import { normalised } from '../../www/digits/pad.js';

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

test('a file of another length is refused', () => assert.throws(() => unpack(new ArrayBuffer(4 + 1 + PIXELS + 1).slice(0)), /pixels/));

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
