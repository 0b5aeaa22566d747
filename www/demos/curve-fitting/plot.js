/**
 * The plot of a fit: points with the curve, and the residuals below. Takes the element to fill, points and a curve; maps pointer positions
 * to data and to points.
 */
import { extentOf, ticks } from './ticks.js';

const SVG = 'http://www.w3.org/2000/svg';
const MARGIN = { left: 46, right: 14, top: 14, bottom: 26 };
/** Fractions of the height: the residuals' axes, and the gap above them. */
const RESIDUALS = 0.24, GAP = 30;
/** A finger needs a larger radius than a mouse. */
const REACH = { touch: 24, mouse: 12, pen: 14 };
const CURVE_SAMPLES = 400;

const make = (name, properties, parent) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
};

const written = (value) => (value !== 0 && (Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3) ? value.toExponential() : String(value)).replace('-', '−');

export class CurvePlot {
  #element;
  #svg;
  #layers = {};
  #view = { x: [0, 10], y: [0, 10] };
  #shown = { points: [], curve: null, residuals: [], selected: -1 };
  #observer;

  /** @param {HTMLElement} element the stage's overlay */
  constructor(element) {
    this.#element = element;
    this.#svg = make('svg', { class: 'curve-plot', 'aria-hidden': 'true' });
    for (const name of ['grid', 'curve', 'residuals', 'points']) this.#layers[name] = make('g', { class: name }, this.#svg);
    element.append(this.#svg);
    this.#observer = new ResizeObserver(() => this.draw());
    this.#observer.observe(element);
  }

  set hidden(hidden) {
    this.#svg.style.display = hidden ? 'none' : '';
  }

  /** Shows the data; `show` names what has changed. */
  show(changes) {
    Object.assign(this.#shown, changes);
    this.draw();
  }

  /** Fits the axes to all points. During a drag the axes do not change. */
  frame() {
    const { points } = this.#shown;
    this.#view = { x: extentOf(points.map(({ x }) => x)), y: extentOf(points.map(({ y }) => y), 0.18) };
    this.draw();
  }

  get view() {
    return this.#view;
  }

  #layout() {
    const width = Math.max(200, this.#element.clientWidth), height = Math.max(160, this.#element.clientHeight);
    const inner = height - MARGIN.top - MARGIN.bottom;
    const bottom = Math.round(MARGIN.top + (1 - RESIDUALS) * inner - GAP);
    return { width, height, left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom, lower: { top: bottom + GAP, bottom: height - MARGIN.bottom } };
  }

  #scales() {
    const layout = this.#layout();
    const { x: [x0, x1], y: [y0, y1] } = this.#view;
    return {
      layout,
      x: (value) => layout.left + ((value - x0) / (x1 - x0)) * (layout.right - layout.left),
      y: (value) => layout.bottom - ((value - y0) / (y1 - y0)) * (layout.bottom - layout.top),
      backX: (pixel) => x0 + ((pixel - layout.left) / (layout.right - layout.left)) * (x1 - x0),
      backY: (pixel) => y0 + ((layout.bottom - pixel) / (layout.bottom - layout.top)) * (y1 - y0),
    };
  }

  /** The data coordinates of a pointer event, and whether it is within the upper axes. */
  place({ clientX, clientY }) {
    const box = this.#element.getBoundingClientRect();
    const { layout, backX, backY } = this.#scales();
    const [px, py] = [clientX - box.left, clientY - box.top];
    return { x: backX(px), y: backY(py), inside: px >= layout.left && px <= layout.right && py >= layout.top - 6 && py <= layout.bottom + 6 };
  }

  /** The client coordinates of a point in data coordinates. */
  clientPlace(point) {
    const box = this.#element.getBoundingClientRect();
    const { x, y } = this.#scales();
    return { clientX: box.left + x(point.x), clientY: box.top + y(point.y) };
  }

  /** The point at a pointer position, or −1. */
  hit(event) {
    const box = this.#element.getBoundingClientRect();
    const { x, y } = this.#scales();
    let [best, least] = [-1, REACH[event.pointerType] ?? REACH.mouse];
    this.#shown.points.forEach((point, k) => {
      const distance = Math.hypot(box.left + x(point.x) - event.clientX, box.top + y(point.y) - event.clientY);
      if (distance <= least) [best, least] = [k, distance];
    });
    return best;
  }

  draw() {
    const scales = this.#scales(), { layout } = scales;
    this.#svg.setAttribute('viewBox', `0 0 ${layout.width} ${layout.height}`);
    for (const layer of Object.values(this.#layers)) layer.replaceChildren();
    const reach = this.#residualReach();
    const lower = (value) => (layout.lower.top + layout.lower.bottom) / 2 - (value / reach) * ((layout.lower.bottom - layout.lower.top) / 2 - 4);
    this.#drawAxes(scales, lower, reach);
    this.#drawCurve(scales);
    this.#drawResiduals(scales, lower);
    const { points, selected } = this.#shown;
    points.forEach((point, k) => make('circle', { cx: scales.x(point.x), cy: scales.y(point.y), r: k === selected ? 7.5 : 5, class: k === selected ? 'selected' : '' }, this.#layers.points));
  }

  #residualReach() {
    const sizes = this.#shown.residuals.filter(Number.isFinite).map(Math.abs);
    return Math.max(...sizes, 1e-12) * 1.05;
  }

  #drawAxes({ layout, x, y }, lower, reach) {
    const { grid } = this.#layers;
    const line = (x1, y1, x2, y2, name = '') => make('line', { x1, y1, x2, y2, class: name }, grid);
    const text = (at, content, anchor) => (make('text', { x: at[0], y: at[1], 'text-anchor': anchor }, grid).textContent = content);
    for (const value of ticks(...this.#view.x, layout.width / 90)) {
      line(x(value), layout.top, x(value), layout.bottom);
      line(x(value), layout.lower.top, x(value), layout.lower.bottom);
      text([x(value), layout.lower.bottom + 17], written(value), 'middle');
    }
    for (const value of ticks(...this.#view.y, layout.height / 70)) {
      line(layout.left, y(value), layout.right, y(value));
      text([layout.left - 6, y(value) + 4], written(value), 'end');
    }
    for (const value of ticks(-reach, reach, 4)) {
      line(layout.left, lower(value), layout.right, lower(value), value === 0 ? 'zero' : '');
      text([layout.left - 6, lower(value) + 4], written(value), 'end');
    }
    make('text', { x: layout.left, y: layout.lower.top - 8, class: 'name' }, grid).textContent = 'Residuals: point less curve';
  }

  #drawCurve({ layout, x, y }) {
    const { curve } = this.#shown;
    if (curve === null) return;
    const [x0, x1] = this.#view.x;
    let path = '', drawing = false;
    for (let k = 0; k <= CURVE_SAMPLES; k++) {
      const at = x0 + ((x1 - x0) * k) / CURVE_SAMPLES, value = curve(at);
      const pixel = y(value);
      // The curve is interrupted where it has no value, or one far outside the axes.
      const seen = Number.isFinite(pixel) && pixel > -layout.height && pixel < 2 * layout.height;
      if (seen) path += `${drawing ? 'L' : 'M'}${x(at).toFixed(1)} ${pixel.toFixed(1)}`;
      drawing = seen;
    }
    const clip = make('clipPath', { id: 'curve-plot-axes' }, this.#layers.curve);
    make('rect', { x: layout.left, y: layout.top - 8, width: layout.right - layout.left, height: layout.bottom - layout.top + 16 }, clip);
    make('path', { d: path, 'clip-path': 'url(#curve-plot-axes)' }, this.#layers.curve);
  }

  #drawResiduals({ x }, lower) {
    const { points, residuals, selected } = this.#shown;
    residuals.forEach((residual, k) => {
      if (!Number.isFinite(residual) || points[k] === undefined) return;
      const at = x(points[k].x);
      make('line', { x1: at, y1: lower(0), x2: at, y2: lower(residual) }, this.#layers.residuals);
      make('circle', { cx: at, cy: lower(residual), r: k === selected ? 5 : 3, class: k === selected ? 'selected' : '' }, this.#layers.residuals);
    });
  }

  dispose() {
    this.#observer.disconnect();
    this.#svg.remove();
  }
}
