/**
 * The pictures of the demo: a scene as a function of the place, what a camera sees of a part of it, and blurred copies. Grey values are from 0 to 1; the scene's
 * places are pixels, x to the right and y downwards.
 */
import { seededNoise } from '../../problems/seeded-noise.js';

export const SCENE = { width: 240, height: 180 };
/** Pixels of the camera. */
export const CAMERA = { width: 96, height: 72 };
/** Half of its sides at (−1 … 1) × (−0.75 … 0.75): coordinates in which a frame's numbers have similar sizes. */
const HALF = { x: 1, y: CAMERA.height / CAMERA.width };

/** Discs with soft edges, the later ones above the earlier. */
function discs() {
  const { uniform } = seededNoise(7);
  return Array.from({ length: 60 }, (_, k) => ({
    x: SCENE.width * uniform(), y: SCENE.height * uniform(), radius: 26 * (1 - k / 80) * (0.35 + uniform()), grey: 0.1 + 0.8 * uniform(), edge: 1.6 + 2 * uniform(),
  }));
}
const DISCS = discs();

/** The scene's grey value at a place. */
export function sceneAt(x, y) {
  let grey = 0.45 + 0.12 * Math.sin(x / 31 + 0.6 * Math.sin(y / 23)) + 0.1 * Math.cos(y / 27 - x / 60);
  for (const disc of DISCS) {
    const [dx, dy] = [x - disc.x, y - disc.y];
    const inside = disc.radius - Math.sqrt(dx * dx + dy * dy);
    if (inside < -6 * disc.edge) continue;
    grey += (disc.grey - grey) / (1 + Math.exp((-2 * inside) / disc.edge));
  }
  return grey;
}

/** The scene at whole pixels, row after row. */
export const scenePixels = () => Float64Array.from({ length: SCENE.width * SCENE.height }, (_, k) => sceneAt(k % SCENE.width, Math.floor(k / SCENE.width)));

/** The places of the camera's pixels in its own coordinates, two numbers each. */
export const cameraPlaces = () =>
  Float64Array.from({ length: 2 * CAMERA.width * CAMERA.height }, (_, i) => {
    const k = i >> 1;
    return i % 2 === 0 ? HALF.x * ((2 * ((k % CAMERA.width) + 0.5)) / CAMERA.width - 1) : HALF.y * ((2 * (Math.floor(k / CAMERA.width) + 0.5)) / CAMERA.height - 1);
  });

/**
 * A frame: where the camera looks. The place (a, b) of its picture is at (x₀ + x₁a + x₂b, y₀ + y₁a + y₂b) of the scene.
 * @typedef {[number, number, number, number, number, number]} Frame x₀, x₁, x₂, y₀, y₁, y₂
 */

/** @type {(frame: ArrayLike<number>, a: number, b: number) => [number, number]} */
export const placeIn = (frame, a, b) => [frame[0] + frame[1] * a + frame[2] * b, frame[3] + frame[4] * a + frame[5] * b];

/** The corners of a frame in the scene, from the upper left one clockwise. */
export const cornersOf = (frame) => [[-HALF.x, -HALF.y], [HALF.x, -HALF.y], [HALF.x, HALF.y], [-HALF.x, HALF.y]].map(([a, b]) => placeIn(frame, a, b));

/** The largest distance between corners of two frames, in pixels of the scene. */
export function apart(one, other) {
  const others = cornersOf(other);
  return Math.max(...cornersOf(one).map(([x, y], k) => Math.hypot(x - others[k][0], y - others[k][1])));
}

/** A frame that is turned by an angle, moved and stretched about its middle. */
export function changed(frame, { dx = 0, dy = 0, angle = 0, scale = 1, shear = 0 }) {
  const [x0, x1, x2, y0, y1, y2] = frame;
  const [c, s] = [scale * Math.cos(angle), scale * Math.sin(angle)];
  const [u, v] = [[x1, y1], [x2 + shear * x1, y2 + shear * y1]].map(([x, y]) => [c * x - s * y, s * x + c * y]);
  return [x0 + dx, u[0], v[0], y0 + dy, u[1], v[1]];
}

/** Least and largest length of a frame's axes, and the least area of a frame's half relative to their product: what is flatter shows too little. */
const AXES = { least: 18, most: 80, flat: 0.4 };

/** Whether the scene has all of the frame, and the frame is a picture. */
export function isAllowed(frame) {
  const [, x1, x2, , y1, y2] = frame;
  const [u, v] = [Math.hypot(x1, y1), Math.hypot(x2, y2)];
  return cornersOf(frame).every(([x, y]) => x >= 0 && y >= 0 && x <= SCENE.width - 1 && y <= SCENE.height - 1)
    && [u, v].every((length) => length >= AXES.least && length <= AXES.most) && x1 * y2 - x2 * y1 >= AXES.flat * u * v;
}

/** What the camera sees: the scene, brightened, with noise of a standard deviation that is the same at each call. */
export function seenFrom(frame, { gain = 1, offset = 0, noise = 0 } = {}) {
  const places = cameraPlaces();
  const { normal } = seededNoise(11);
  return Float64Array.from({ length: places.length / 2 }, (_, k) => gain * sceneAt(...placeIn(frame, places[2 * k], places[2 * k + 1])) + offset + (noise === 0 ? 0 : noise * normal()));
}

/** A picture that is blurred by a Gaussian of this standard deviation in pixels; its edge is mirrored. */
export function blurred(pixels, { width, height }, sigma) {
  if (sigma === 0) return Float64Array.from(pixels);
  const reach = Math.ceil(3 * sigma);
  const weights = Array.from({ length: 2 * reach + 1 }, (_, k) => Math.exp(-(((k - reach) / sigma) ** 2) / 2));
  const total = weights.reduce((sum, weight) => sum + weight);
  const mirrored = (k, count) => {
    const wrapped = Math.abs(k) % (2 * count - 2);
    return wrapped < count ? wrapped : 2 * count - 2 - wrapped;
  };
  const along = (from, count, others, step, other) => {
    const to = new Float64Array(from.length);
    for (let line = 0; line < others; line++) {
      for (let k = 0; k < count; k++) {
        let sum = 0;
        for (let j = -reach; j <= reach; j++) sum += weights[j + reach] * from[line * other + mirrored(k + j, count) * step];
        to[line * other + k * step] = sum / total;
      }
    }
    return to;
  };
  return along(along(pixels, width, height, 1, width), height, width, width, 1);
}

/** Pixels of a canvas: grey values, or with `signed` differences around a middle grey, blue below and orange above. */
export function paintable(pixels, { signed = false, scale = 1 } = {}) {
  const bytes = new Uint8ClampedArray(4 * pixels.length);
  pixels.forEach((value, k) => {
    const t = signed ? Math.max(-1, Math.min(1, value / scale)) : 0;
    bytes.set(signed ? [128 + 110 * t, 128 + 20 * t - 40 * Math.abs(t), 128 - 110 * t, 255] : [255 * value, 255 * value, 255 * value, 255], 4 * k);
  });
  return bytes;
}
