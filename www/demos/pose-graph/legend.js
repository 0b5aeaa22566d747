/** The legend of loop closures: their colours with the number of each, in a small table over the picture. */
import { make } from '../../make.js';
import { CLASS_COLOURS } from './picture.js';
import { LIMITS } from './residual-classes.js';

const NAMES = ['agrees, but for noise', ...LIMITS.slice(1).map((limit) => `up to ${Math.round(Math.sqrt(limit))} σ off`), `more than ${Math.round(Math.sqrt(LIMITS.at(-1)))} σ off`];

export class Legend {
  #swatches = [];
  #counts = [];

  /** @param {HTMLElement} overlay the overlay of the stage, which is emptied when the demo is left */
  constructor(overlay) {
    const box = make('div', { className: 'closure-classes' }), table = box.appendChild(make('table'));
    table.append(make('caption', { textContent: 'Loop closures' }));
    const body = table.appendChild(make('tbody'));
    for (const name of NAMES) {
      const row = body.insertRow();
      this.#swatches.push(row.insertCell().appendChild(make('i')));
      row.insertCell().textContent = name;
      this.#counts.push(row.insertCell());
    }
    overlay.append(make('link', { rel: 'stylesheet', href: new URL('pose-graph.css', import.meta.url).href }), box);
  }

  appear({ background }) {
    const colours = CLASS_COLOURS[background[0] < 0.5 ? 'dark' : 'light'];
    this.#swatches.forEach((swatch, k) => (swatch.style.background = colours[k]));
  }

  /** @param {number[]} counts loop closures in each class */
  show(counts) {
    counts.forEach((count, k) => (this.#counts[k].textContent = count.toLocaleString('en-US')));
  }
}
