/** The drawing pad: strokes of the pointer on a canvas, and the image that the network reads. */
import { PIXELS, SIZE } from './data.js';

/** MNIST's digits are scaled so that the longer side has this many pixels, and centred by their mass. */
const LONGER_SIDE = 20;

/** The bytes of an image as MNIST would have it: scaled and centred; null where nothing is drawn. @param {{ width: number, height: number, data: Uint8Array }} ink a byte a pixel */
export function normalised({ width, height, data }) {
  let [left, right, top, bottom] = [width, -1, height, -1];
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (data[y * width + x] === 0) continue;
      [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), Math.max(bottom, y)];
    }
  }
  if (right < 0) return null;
  const scale = Math.max(right - left + 1, bottom - top + 1) / LONGER_SIDE;
  // The mean of what falls into a pixel, about a centre.
  const sampled = (cx, cy) => Uint8Array.from({ length: PIXELS }, (_, k) => mean(data, width, height, cx + ((k % SIZE) - SIZE / 2) * scale, cy + (Math.floor(k / SIZE) - SIZE / 2) * scale, scale));
  const [cx, cy] = [(left + right + 1) / 2, (top + bottom + 1) / 2];
  const centred = sampled(cx, cy);
  const mass = centred.reduce((sum, value) => sum + value, 0);
  const moment = (place) => centred.reduce((sum, value, k) => sum + value * place(k), 0) / mass;
  const dx = moment((k) => (k % SIZE) + 0.5) - SIZE / 2;
  const dy = moment((k) => Math.floor(k / SIZE) + 0.5) - SIZE / 2;
  return sampled(cx + dx * scale, cy + dy * scale);
}

function mean(data, width, height, x0, y0, size) {
  let [sum, count] = [0, 0];
  for (let y = Math.round(y0); y < Math.max(Math.round(y0 + size), Math.round(y0) + 1); y++) {
    for (let x = Math.round(x0); x < Math.max(Math.round(x0 + size), Math.round(x0) + 1); x++) {
      sum += x >= 0 && x < width && y >= 0 && y < height ? data[y * width + x] : 0;
      count++;
    }
  }
  return Math.round(sum / count);
}

/** Draws with the pointer, and calls `changed` after each change: once for all the places of the pointer that an event has. */
export class Pad {
  #canvas;
  #context;
  #last = null;
  #changed;
  /** What `image` returns; undefined where the canvas has changed since. */
  #image = null;

  constructor(canvas, changed) {
    this.#canvas = canvas;
    this.#context = canvas.getContext('2d', { willReadFrequently: true });
    this.#changed = changed;
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#last = this.#place(event);
      this.#stroke([this.#last]);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (this.#last === null) return;
      const parts = event.getCoalescedEvents?.() ?? [];
      this.#stroke((parts.length > 0 ? parts : [event]).map((part) => this.#place(part)));
    });
    for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => (this.#last = null));
  }

  #place({ clientX, clientY }) {
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    return [((clientX - left) / width) * this.#canvas.width, ((clientY - top) / height) * this.#canvas.height];
  }

  #stroke(places) {
    const context = this.#context;
    Object.assign(context, { strokeStyle: '#ffffff', lineWidth: 22, lineCap: 'round', lineJoin: 'round' });
    context.beginPath();
    context.moveTo(...this.#last);
    for (const place of places) context.lineTo(...place);
    context.stroke();
    this.#last = places.at(-1);
    this.#change(undefined);
  }

  #change(image) {
    this.#image = image;
    this.#changed();
  }

  clear() {
    this.#context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    this.#change(null);
  }

  /** Shows an image of the data, and takes it as drawn. */
  show(pixels) {
    const image = new ImageData(SIZE, SIZE);
    pixels.forEach((value, k) => image.data.set([255, 255, 255, value], 4 * k));
    const small = new OffscreenCanvas(SIZE, SIZE);
    small.getContext('2d').putImageData(image, 0, 0);
    const { width, height } = this.#canvas;
    this.#context.clearRect(0, 0, width, height);
    this.#context.drawImage(small, 0, 0, width, height);
    this.#change(pixels);
  }

  /** The bytes of what is drawn, as `normalised` gives them; null where nothing is. */
  get image() {
    if (this.#image === undefined) {
      const { width, height } = this.#canvas;
      const { data } = this.#context.getImageData(0, 0, width, height);
      this.#image = normalised({ width, height, data: Uint8Array.from({ length: width * height }, (_, k) => data[4 * k + 3]) });
    }
    return this.#image;
  }
}
