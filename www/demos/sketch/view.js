/**
 * The sheet: a sketch as an SVG picture, and hit testing. Takes the overlay's element; draws the given state. Colours show freedom: blue
 * can move, the text's colour is determined, amber is redundant, red is contradictory.
 */
import { about, annotations } from './annotations.js';
import { curveOf, pointOf } from './sketch.js';

const NAMESPACE = 'http://www.w3.org/2000/svg';
function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** The radius of hit testing in pixels. */
const NEAR = { point: 11, sign: 10, curve: 8 };

export class SheetView {
  svg = svg('svg', { class: 'sheet', 'aria-hidden': 'true' });
  scale = 1;
  width = 1;
  height = 1;
  #center = [0, 0];
  #signs = [];

  constructor(overlay) {
    overlay.append(this.svg);
  }

  /** The map from millimetres to pixels, from the stage's camera. */
  follow(camera, element) {
    this.width = Math.max(1, element.clientWidth);
    this.height = Math.max(1, element.clientHeight);
    this.scale = (this.height * camera.zoom) / (camera.top - camera.bottom);
    this.#center = [camera.position.x, camera.position.y];
  }

  toPixels = ({ x, y }) => [this.width / 2 + (x - this.#center[0]) * this.scale, this.height / 2 - (y - this.#center[1]) * this.scale];

  /**
   * @param {object} shown
   * @param {ReturnType<typeof import('./sketch.js').emptySketch>} shown.sketch
   * @param {Awaited<ReturnType<typeof import('./diagnosis.js').diagnose>> | null} shown.diagnosis
   * @param {Set<number>} shown.selection
   * @param {number | null} shown.hovered
   * @param {{ kind: string, from: object, to: object, start?: object, sign?: string } | null} shown.preview the addition of the tool
   */
  draw({ sketch, diagnosis, selection, hovered, preview }) {
    const { toPixels } = this;
    const lit = new Set([...selection].flatMap((id) => about(sketch, id)));
    const redundant = new Set(diagnosis?.redundant.map(({ constraint }) => constraint) ?? []);
    const conflicting = diagnosis?.conflicting ?? new Set();
    const inConflict = new Set(sketch.constraints.filter(({ id }) => conflicting.has(id)).flatMap(({ of }) => of));
    const moves = (id) => diagnosis === null || diagnosis.moving.has(id);
    const curveMoves = (curve) => Object.entries(curve).some(([key, id]) => ['a', 'b', 'center', 'start', 'end'].includes(key) && moves(id)) || (curve.kind === 'circle' && moves(curve.id));
    const classes = (base, id, free) =>
      [base, inConflict.has(id) ? 'conflicting' : free ? 'free' : 'determined', selection.has(id) ? 'selected' : '', lit.has(id) ? 'lit' : '', hovered === id ? 'hovered' : ''].join(' ');

    this.#signs = annotations(sketch, toPixels, this.scale);
    const state = (id) => (conflicting.has(id) ? 'conflicting' : redundant.has(id) ? 'redundant' : '');
    const groups = { grid: this.#grid(), curves: [], dimensions: [], points: [], signs: [], preview: preview === null ? [] : this.#preview(preview) };
    for (const curve of sketch.curves) groups.curves.push(svg('path', { class: classes(`curve ${curve.kind}`, curve.id, curveMoves(curve)), d: this.#path(sketch, curve) }));
    for (const { id, sign, label, at, path, help } of this.#signs) {
      const name = `${state(id)} ${selection.has(id) ? 'selected' : ''} ${hovered === id ? 'hovered' : ''}`;
      if (help) groups.dimensions.push(svg('path', { class: `help ${name}`, d: help }));
      if (path) groups.dimensions.push(svg('path', { class: `dimension ${name}`, d: path }));
      const [x, y] = at.map((value) => value.toFixed(1));
      if (label !== undefined) groups.signs.push(svg('text', { class: `label ${name}`, x, y }, label));
      else groups.signs.push(svg('g', { class: `sign ${name}`, transform: `translate(${x} ${y})` }, svg('rect', { x: -8, y: -8, width: 16, height: 16, rx: 4 }), svg('text', { y: 0.5 }, sign)));
    }
    for (const point of sketch.points) {
      const [cx, cy] = toPixels(point).map((value) => value.toFixed(1));
      groups.points.push(svg('circle', { class: classes('point', point.id, moves(point.id)), cx, cy, r: selection.has(point.id) || hovered === point.id ? 5 : 3.5 }));
    }
    this.svg.setAttribute('viewBox', `0 0 ${this.width} ${this.height}`);
    this.svg.replaceChildren(...Object.entries(groups).map(([name, children]) => svg('g', { class: name }, ...children)));
  }

  /** The id of the object at a position in pixels, points first; null for none. `only` selects the objects that count. */
  find(sketch, [x, y], { touch = false, except = new Set(), only = () => true } = {}) {
    const wider = touch ? 1.7 : 1;
    let best = null, least = Infinity;
    const offer = (id, distance, near) => {
      if (distance < Math.min(near * wider, least) && !except.has(id) && only(id)) [best, least] = [id, distance];
    };
    for (const point of sketch.points) {
      const [px, py] = this.toPixels(point);
      offer(point.id, Math.hypot(px - x, py - y), NEAR.point);
    }
    if (best !== null) return best;
    for (const { id, at, label } of this.#signs) offer(id, Math.max(Math.abs(at[0] - x) / (label === undefined ? 1 : 1.6), Math.abs(at[1] - y)), NEAR.sign);
    if (best !== null) return best;
    for (const curve of sketch.curves) offer(curve.id, this.#distance(sketch, curve, [x, y]), NEAR.curve);
    return best;
  }

  /** The position of a dimension's text in pixels. */
  labelOf(id) {
    return this.#signs.find((sign) => sign.id === id)?.at ?? null;
  }

  #distance(sketch, curve, [x, y]) {
    if (curve.kind === 'line') {
      const [[ax, ay], [bx, by]] = [curve.a, curve.b].map((id) => this.toPixels(pointOf(sketch, id)));
      const length2 = (bx - ax) ** 2 + (by - ay) ** 2;
      const along = length2 === 0 ? 0 : Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length2));
      return Math.hypot(x - ax - along * (bx - ax), y - ay - along * (by - ay));
    }
    const [cx, cy] = this.toPixels(pointOf(sketch, curve.center));
    const off = Math.abs(Math.hypot(x - cx, y - cy) - curve.radius * this.scale);
    if (curve.kind === 'circle') return off;
    const [start, end] = [curve.start, curve.end].map((id) => this.toPixels(pointOf(sketch, id))).map(([px, py]) => Math.atan2(cy - py, px - cx));
    const turn = (angle) => (((angle - start) % (2 * Math.PI)) + 2 * Math.PI) % (2 * Math.PI);
    return turn(Math.atan2(cy - y, x - cx)) <= turn(end) ? off : Infinity;
  }

  #path(sketch, curve) {
    const at = (id) => this.toPixels(pointOf(sketch, id));
    const text = ([x, y]) => `${x.toFixed(2)} ${y.toFixed(2)}`;
    if (curve.kind === 'line') return `M${text(at(curve.a))}L${text(at(curve.b))}`;
    const radius = Math.max(0.01, Math.abs(curve.radius) * this.scale);
    const [cx, cy] = at(curve.center);
    if (curve.kind === 'circle') return `M${text([cx - radius, cy])}a${radius} ${radius} 0 1 0 ${2 * radius} 0a${radius} ${radius} 0 1 0 ${-2 * radius} 0`;
    const [start, end] = [at(curve.start), at(curve.end)];
    const turn = ((Math.atan2(cy - end[1], end[0] - cx) - Math.atan2(cy - start[1], start[0] - cx)) % (2 * Math.PI) + 2 * Math.PI) % (2 * Math.PI);
    return `M${text(start)}A${radius} ${radius} 0 ${turn > Math.PI ? 1 : 0} 0 ${text(end)}`;
  }

  #preview({ kind, from, to, start, sign }) {
    const { toPixels } = this;
    const [a, b] = [toPixels(from), toPixels(to)];
    const radius = Math.hypot(b[0] - a[0], b[1] - a[1]);
    const drawn = [];
    if (kind === 'line') drawn.push(svg('path', { d: `M${a}L${b}` }));
    if (kind === 'circle' || (kind === 'arc' && start === undefined)) drawn.push(svg('circle', { cx: a[0], cy: a[1], r: radius }), svg('path', { class: 'help', d: `M${a}L${b}` }));
    if (kind === 'arc' && start !== undefined) {
      const s = toPixels(start), r = Math.hypot(s[0] - a[0], s[1] - a[1]);
      const e = [a[0] + ((b[0] - a[0]) * r) / (radius || 1), a[1] + ((b[1] - a[1]) * r) / (radius || 1)];
      const clockwise = (s[0] - a[0]) * (e[1] - a[1]) - (s[1] - a[1]) * (e[0] - a[0]) > 0;
      drawn.push(svg('path', { d: `M${s}A${r} ${r} 0 0 ${clockwise ? 1 : 0} ${e}` }), svg('path', { class: 'help', d: `M${s}L${a}L${e}` }));
    }
    drawn.push(svg('circle', { class: 'end', cx: b[0], cy: b[1], r: 3.5 }));
    if (sign) drawn.push(svg('text', { class: 'label', x: b[0] + 16, y: b[1] - 14 }, sign));
    return drawn;
  }

  /** Squares of 1, 2 or 5 times a power of ten millimetres, at least 18 pixels wide; every fifth line is stronger. */
  #grid() {
    const power = 10 ** Math.floor(Math.log10(18 / this.scale));
    const every = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size * this.scale >= 18);
    const lines = { thin: '', strong: '' };
    const from = [this.#center[0] - this.width / 2 / this.scale, this.#center[1] - this.height / 2 / this.scale];
    const [columns, rows] = [this.width, this.height].map((size) => Math.ceil(size / this.scale / every) + 1);
    for (let k = 0, first = Math.floor(from[0] / every); k <= columns; k++) {
      const [x] = this.toPixels({ x: (first + k) * every, y: 0 });
      lines[(first + k) % 5 === 0 ? 'strong' : 'thin'] += `M${x.toFixed(1)} 0V${this.height}`;
    }
    for (let k = 0, first = Math.floor(from[1] / every); k <= rows; k++) {
      const [, y] = this.toPixels({ x: 0, y: (first + k) * every });
      lines[(first + k) % 5 === 0 ? 'strong' : 'thin'] += `M0 ${y.toFixed(1)}H${this.width}`;
    }
    return [svg('path', { class: 'thin', d: lines.thin }), svg('path', { class: 'strong', d: lines.strong })];
  }
}

/** Of the objects at the pointer, those that a drag can move. */
export const canBeDragged = (sketch, id) => pointOf(sketch, id) !== undefined || curveOf(sketch, id) !== undefined;
