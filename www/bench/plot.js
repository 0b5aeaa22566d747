/**
 * Time against size on logarithmic axes, one line per contender, as an SVG in the page's colours with a text description. Takes series of
 * points; returns an element.
 */

const WIDTH = 720, HEIGHT = 380;
const MARGIN = { left: 64, right: 16, top: 12, bottom: 44 };
/** Dashes, which distinguish series without colour. */
const MARKS = ['circle', 'square', 'triangle', 'diamond', 'cross'];
const DASHES = ['', '7 3', '2 3', '9 3 2 3'];
const HUES = ['--gpu', '--cpu', '--good', '--warning', '--bad', '--text', '--quiet'];
const SVG = 'http://www.w3.org/2000/svg';

function element(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The powers of ten that enclose a range, at least one apart. */
export function decades(low, high) {
  const first = Math.floor(Math.log10(low) + 1e-9);
  const last = Math.max(first + 1, Math.ceil(Math.log10(high) - 1e-9));
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

const hasPlace = ({ x, y }) => x > 0 && y > 0;

const power = (exponent) => (exponent >= -2 && exponent <= 6 ? (10 ** exponent).toLocaleString('en-US', { maximumFractionDigits: 3 }) : `10^${exponent}`);

function mark(kind, x, y) {
  const r = 4;
  switch (kind) {
    case 'circle': return element('circle', { cx: x, cy: y, r });
    case 'square': return element('rect', { x: x - r, y: y - r, width: 2 * r, height: 2 * r });
    case 'triangle': return element('path', { d: `M${x} ${y - r - 1}l${r + 1} ${2 * r}h${-2 * r - 2}z` });
    case 'diamond': return element('path', { d: `M${x} ${y - r - 1}l${r + 1} ${r + 1}l${-r - 1} ${r + 1}l${-r - 1} ${-r - 1}z` });
    default: return element('path', { d: `M${x - r} ${y - r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`, 'stroke-width': 2 });
  }
}

/**
 * @param {{ title: string, xLabel: string, yLabel: string, series: Map<string, { x: number, y: number }[]> }} what points; a time of 0,
 *   below the clock's resolution (1 ms in Firefox), is not drawn on a logarithmic axis
 * @returns {HTMLElement} a figure: the plot and its legend
 */
export function logLogPlot({ title, xLabel, yLabel, series }) {
  const figure = document.createElement('figure');
  const points = [...series.values()].flat().filter(hasPlace);
  if (points.length === 0) return figure;
  const xs = decades(Math.min(...points.map((p) => p.x)), Math.max(...points.map((p) => p.x)));
  const ys = decades(Math.min(...points.map((p) => p.y)), Math.max(...points.map((p) => p.y)));
  const [right, bottom] = [WIDTH - MARGIN.right, HEIGHT - MARGIN.bottom];
  const toX = (x) => MARGIN.left + ((Math.log10(x) - xs[0]) / (xs.at(-1) - xs[0])) * (right - MARGIN.left);
  const toY = (y) => bottom - ((Math.log10(y) - ys[0]) / (ys.at(-1) - ys[0])) * (bottom - MARGIN.top);

  const svg = element('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', class: 'log-log', 'aria-label': `${title}: ${yLabel} against ${xLabel}, both logarithmic. The table has the figures.` });
  for (const exponent of xs) {
    const x = toX(10 ** exponent);
    svg.append(element('line', { x1: x, x2: x, y1: MARGIN.top, y2: bottom, class: 'grid' }), element('text', { x, y: bottom + 18, 'text-anchor': 'middle' }, power(exponent)));
  }
  for (const exponent of ys) {
    const y = toY(10 ** exponent);
    svg.append(element('line', { x1: MARGIN.left, x2: right, y1: y, y2: y, class: 'grid' }), element('text', { x: MARGIN.left - 8, y: y + 4, 'text-anchor': 'end' }, power(exponent)));
  }
  svg.append(
    element('text', { x: (MARGIN.left + right) / 2, y: HEIGHT - 6, 'text-anchor': 'middle' }, xLabel),
    element('text', { x: 0, y: 0, transform: `translate(14 ${(MARGIN.top + bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, yLabel),
  );

  const legend = Object.assign(document.createElement('ul'), { className: 'legend' });
  [...series].forEach(([name, line], index) => {
    const style = `--hue: var(${HUES[index % HUES.length]})`;
    const dash = DASHES[Math.floor(index / HUES.length) % DASHES.length];
    const kind = MARKS[index % MARKS.length];
    const group = element('g', { class: 'line', style });
    const sorted = line.filter(hasPlace).toSorted((a, b) => a.x - b.x);
    group.append(element('path', { d: sorted.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join(''), 'stroke-dasharray': dash }));
    for (const { x, y } of sorted) {
      const point = mark(kind, toX(x), toY(y));
      point.append(element('title', {}, `${name}: ${x.toLocaleString('en-US')}, ${Number(y.toPrecision(3))}`));
      group.append(point);
    }
    svg.append(group);
    const key = element('svg', { viewBox: '0 0 28 12', width: 28, height: 12, 'aria-hidden': 'true' }, element('g', { class: 'line', style }, element('path', { d: 'M0 6H28', 'stroke-dasharray': dash }), mark(kind, 14, 6)));
    const item = document.createElement('li');
    item.append(key, ` ${name}`);
    legend.append(item);
  });
  figure.append(svg, legend);
  return figure;
}
