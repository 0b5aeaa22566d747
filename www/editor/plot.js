/** A plot of points with a curve, as SVG that fills its element in the page's colours. */
import { extentOf, ticks } from '../demos/curve-fitting/ticks.js';

const MARGIN = { left: 44, right: 10, top: 10, bottom: 24 };
const node = (name, attributes, text) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
};

/** Widens one of two ranges, so that a unit is as long on both axes of a picture of this size. */
export function equalled([x0, x1], [y0, y1], width, height) {
  const unit = Math.max((x1 - x0) / width, (y1 - y0) / height);
  const around = (low, high, size) => [(low + high - unit * size) / 2, (low + high + unit * size) / 2];
  return [around(x0, x1, width), around(y0, y1, height)];
}

/** Draws into an svg element. @param {SVGSVGElement} svg @param {{ points: number[][], line: number[][], equalAxes: boolean }} plot */
export function drawPlot(svg, { points, line, equalAxes }) {
  const { width, height } = svg.getBoundingClientRect();
  if (width === 0 || height === 0) return;
  const [inner, tall] = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom];
  const all = [...points, ...line];
  let [xs, ys] = [extentOf(all.map(([x]) => x)), extentOf(all.map(([, y]) => y))];
  if (equalAxes) [xs, ys] = equalled(xs, ys, inner, tall);
  const right = (x) => MARGIN.left + (inner * (x - xs[0])) / (xs[1] - xs[0]);
  const down = (y) => MARGIN.top + tall * (1 - (y - ys[0]) / (ys[1] - ys[0]));
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const parts = [];
  for (const value of ticks(...xs, inner / 70)) {
    parts.push(node('line', { class: 'grid', x1: right(value), x2: right(value), y1: MARGIN.top, y2: MARGIN.top + tall }), node('text', { x: right(value), y: height - 6, 'text-anchor': 'middle' }, value));
  }
  for (const value of ticks(...ys, tall / 40)) {
    parts.push(node('line', { class: 'grid', x1: MARGIN.left, x2: width - MARGIN.right, y1: down(value), y2: down(value) }), node('text', { x: MARGIN.left - 6, y: down(value) + 4, 'text-anchor': 'end' }, value));
  }
  if (line.length > 1) parts.push(node('polyline', { class: 'curve', points: line.map(([x, y]) => `${right(x).toFixed(1)},${down(y).toFixed(1)}`).join(' ') }));
  for (const [x, y] of points) parts.push(node('circle', { class: 'point', cx: right(x).toFixed(1), cy: down(y).toFixed(1), r: points.length > 500 ? 1.5 : 3 }));
  svg.replaceChildren(...parts);
}
