/**
 * The picture of a hundred thousand fits: the map of lifetimes, true or fitted, or of the photons, with the colour scale and the times of
 * both engines. Takes the stage's overlay. The map is drawn from arrays, because solveMany returns arrays and has no buffer of results on
 * the device.
 */
import { make } from '../../make.js';
import { colourOf, LIFETIMES, paintCounts, paintLifetimes } from './lifetimes.js';

const inWords = (value, digits = 0) => value.toLocaleString('en-US', { maximumFractionDigits: digits });
const percent = (share) => `${(100 * share).toFixed(1)} %`;

export class LifetimeMap {
  #box;
  #canvas = make('canvas');
  #caption = make('p');
  #rows = make('tbody');
  #figures = new Map();

  /** @param {HTMLElement} overlay */
  constructor(overlay) {
    const scale = make('canvas', { width: 128, height: 1, className: 'scale' });
    const paper = scale.getContext('2d');
    for (let k = 0; k < 128; k++) {
      paper.fillStyle = `rgb(${colourOf(k / 127).join(' ')})`;
      paper.fillRect(k, 0, 1, 1);
    }
    this.#canvas.setAttribute('role', 'img');
    const heads = ['Engine', 'Time', 'Fits a second', 'Median error', '95 % below', 'Errors ÷ least possible'];
    const table = make('table', {}, make('thead', {}, make('tr', {}, ...heads.map((textContent) => make('th', { scope: 'col', textContent })))), this.#rows);
    const figures = make('div', { className: 'figures', tabIndex: 0 }, table);
    figures.setAttribute('role', 'region');
    figures.setAttribute('aria-label', 'What the fits took');
    this.#box = make('div', { className: 'lifetime-map', hidden: true }, this.#canvas,
      make('div', { className: 'legend' }, make('span', { textContent: `${LIFETIMES.least} ns` }), scale, make('span', { textContent: `${LIFETIMES.most} ns` }), this.#caption),
      figures);
    overlay.append(this.#box);
  }

  get hidden() {
    return this.#box.hidden;
  }

  set hidden(hidden) {
    this.#box.hidden = hidden;
  }

  /** @param {'found' | 'true' | 'photons'} what @param {{ lifetimes: Float64Array } | null} found */
  paint(what, stack, found) {
    const { width, height, truth } = stack;
    const pixels = what === 'photons' ? paintCounts(stack)
      : paintLifetimes(what === 'true' ? Float64Array.from({ length: width * height }, (_, k) => 1 / truth[3 * k + 1]) : found.lifetimes);
    Object.assign(this.#canvas, { width, height });
    this.#canvas.getContext('2d').putImageData(new ImageData(pixels, width, height), 0, 0);
    const name = { found: 'Lifetimes as fitted', true: 'True lifetimes', photons: 'All photons of each pixel' }[what];
    this.#caption.textContent = `${name}. Press on a pixel for its decay.`;
    this.#canvas.setAttribute('aria-label', `${name}, ${width} by ${height} pixels; the figures are in the table below it`);
  }

  /** The time of an engine, and its error relative to the truth. */
  tell({ backend, milliseconds, fitsPerSecond }, { median, ninetyFive, deviations }) {
    this.#figures.set(backend, [backend.toUpperCase(), `${inWords(milliseconds)} ms`, inWords(Number(fitsPerSecond.toPrecision(3))), percent(median), percent(ninetyFive), deviations.toFixed(3)]);
    this.#rows.replaceChildren();
    for (const [engine, cells] of [...this.#figures].sort().reverse()) {
      const row = make('tr', { className: engine });
      cells.forEach((textContent, k) => row.append(make(k === 0 ? 'th' : 'td', { textContent, ...(k === 0 ? { scope: 'row' } : {}) })));
      this.#rows.append(row);
    }
  }

  /** The pixel at a pointer position, or −1. */
  pixelAt({ clientX, clientY }) {
    const box = this.#canvas.getBoundingClientRect();
    const { width, height } = this.#canvas;
    // The image keeps its aspect ratio in the centre of its box.
    const scale = Math.min(box.width / width, box.height / height);
    const column = Math.floor((clientX - box.left - box.width / 2) / scale + width / 2), row = Math.floor((clientY - box.top - box.height / 2) / scale + height / 2);
    return column >= 0 && column < width && row >= 0 && row < height ? row * width + column : -1;
  }
}
