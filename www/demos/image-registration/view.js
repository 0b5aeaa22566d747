/** The picture of the demo: the scene with both frames, what the camera sees, and the residuals. Takes the stage's overlay. */
import { make } from '../../make.js';
import { CAMERA, cornersOf, paintable, placeIn, SCENE, scenePixels } from './picture.js';

const shape = (name, attributes) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};

/** Pixels of the page within which a corner is taken. */
const REACH = 22;

/** Corners that are dragged: each changes an axis of the frame. By their places in the frame. */
const GRIPS = [[1, 0], [0, 1]];

export class RegistrationView {
  #canvases = {};
  #outlines = {};
  #grips = [];
  #scene;

  /** @param {HTMLElement} overlay */
  constructor(overlay) {
    const figure = (name, { width, height }, ...caption) => {
      const canvas = make('canvas', { width, height });
      canvas.setAttribute('role', 'img');
      canvas.setAttribute('aria-label', caption.filter((part) => typeof part === 'string').join(' '));
      this.#canvases[name] = canvas;
      return make('figure', { className: name }, make('div', { className: 'sheet' }, canvas), make('figcaption', {}, ...caption));
    };
    const mark = (className) => make('span', { className });
    const scene = figure('scene', SCENE, mark('marks'), ' where the camera looks ', mark('marks found-mark'), ' where it was found');
    const svg = shape('svg', { viewBox: `0 0 ${SCENE.width} ${SCENE.height}`, 'aria-hidden': 'true' });
    for (const name of ['under', 'truth', 'found']) svg.append((this.#outlines[name] = shape('polygon', { class: name })));
    this.#grips = GRIPS.map(() => shape('circle', { r: 3 }));
    svg.append(...this.#grips);
    scene.firstElementChild.append(svg);
    this.#scene = this.#canvases.scene;
    overlay.append(make('div', { className: 'registration' }, scene, figure('camera', CAMERA, 'What the camera sees'), figure('residuals', CAMERA, 'What is left of it')));
    this.#paint('scene', paintable(scenePixels()), SCENE);
  }

  #paint(name, bytes, { width, height }) {
    this.#canvases[name].getContext('2d').putImageData(new ImageData(bytes, width, height), 0, 0);
  }

  /** What the camera sees from a frame. */
  showSeen(frame, seen) {
    this.#paint('camera', paintable(seen), CAMERA);
    const points = cornersOf(frame).map((corner) => corner.join(',')).join(' ');
    for (const name of ['under', 'truth']) this.#outlines[name].setAttribute('points', points);
    GRIPS.forEach((grip, k) => {
      const [x, y] = placeIn(frame, ...this.#gripPlace(grip));
      this.#grips[k].setAttribute('cx', x);
      this.#grips[k].setAttribute('cy', y);
    });
  }

  /** The frame that was found, and the residuals; `scale` is the largest that has a colour of its own. */
  showFound(frame, residuals, scale) {
    this.#outlines.found.setAttribute('points', cornersOf(frame).map((corner) => corner.join(',')).join(' '));
    this.#paint('residuals', paintable(residuals, { signed: true, scale }), CAMERA);
  }

  /** The place of the scene at the pointer. */
  placeOf({ clientX, clientY }) {
    const { left, top, unit } = this.#layout();
    return [(clientX - left) / unit, (clientY - top) / unit];
  }

  /** What is at the pointer: 'frame', the number of a grip, or null. */
  partAt(event, frame) {
    const { unit } = this.#layout();
    const [x, y] = this.placeOf(event);
    const grip = GRIPS.findIndex((place) => {
      const [gx, gy] = placeIn(frame, ...this.#gripPlace(place));
      return Math.hypot(gx - x, gy - y) * unit <= REACH;
    });
    if (grip >= 0) return grip;
    const [, x1, x2, , y1, y2] = frame;
    const [dx, dy] = [x - frame[0], y - frame[3]], area = x1 * y2 - x2 * y1;
    const [a, b] = [(dx * y2 - dy * x2) / area, (x1 * dy - y1 * dx) / area];
    return Math.abs(a) <= 1 && Math.abs(b) <= CAMERA.height / CAMERA.width ? 'frame' : null;
  }

  /** The frame with a grip at a place of the scene. */
  dragged(frame, grip, [x, y]) {
    const next = [...frame], axis = GRIPS[grip][0] === 1 ? 1 : 2, [a, b] = this.#gripPlace(GRIPS[grip]);
    next[axis] = (x - frame[0]) / (a + b);
    next[axis + 3] = (y - frame[3]) / (a + b);
    return next;
  }

  /** Grips are at the middles of the right and the lower side. */
  #gripPlace([a, b]) {
    return [a, (b * CAMERA.height) / CAMERA.width];
  }

  /** Where the scene's picture is within its element, and how many pixels of the page one of its own has. */
  #layout() {
    const box = this.#scene.getBoundingClientRect();
    const unit = Math.min(box.width / SCENE.width, box.height / SCENE.height);
    return { unit, left: box.left + (box.width - unit * SCENE.width) / 2, top: box.top + (box.height - unit * SCENE.height) / 2 };
  }
}
