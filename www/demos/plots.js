/**
 * The live plots: cost against iteration, one line per engine, and the time between frames. Takes measurements as they arrive; draws them
 * with uPlot a few times a second, in the page's colours.
 */
import UPlot from 'uplot';

/** Above this many points every second one is removed, because a plot does not have more pixels. */
const MOST_POINTS = 4000;
const FRAMES_SHOWN = 240;
const REDRAW_EVERY_MS = 100;

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Axes whose colours follow the page's theme at each draw. */
const axis = (more = {}) => ({
  stroke: () => style('--quiet'),
  grid: { stroke: () => style('--line'), width: 1 },
  ticks: { stroke: () => style('--line'), width: 1 },
  font: '12px system-ui, sans-serif',
  ...more,
});

const shortly = (value) => (value === 0 ? '0' : Math.abs(value) >= 1e-3 && Math.abs(value) < 1e5 ? String(Number(value.toPrecision(3))) : value.toExponential(0));

export class Plots {
  #cost;
  #frames;
  #costs = [[], [], []];
  #times = [];
  #total = 0;
  #scheduled = false;

  /** @param {{ cost: HTMLElement, frames: HTMLElement }} elements */
  constructor({ cost, frames }) {
    // Space at the right for half of the last tick's label.
    const common = { legend: { show: false }, cursor: { show: false }, padding: [8, 20, 8, 0] };
    this.#cost = new UPlot({
      ...common, ...this.#size(cost),
      scales: { x: { time: false }, y: { distr: 3, range: (_, low, high) => logarithmicRange(low, high) } },
      axes: [axis({ size: 30 }), axis({ size: 56, splits: (_, axisNumber, low, high) => logarithmicTicks(low, high), filter: (_, ticks) => ticks, values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : shortly(tick))) })],
      series: [{}, { stroke: () => style('--gpu'), width: 2, points: { show: false } }, { stroke: () => style('--cpu'), width: 2, dash: [6, 4], points: { show: false } }],
    }, [[], [], []], cost);
    this.#frames = new UPlot({
      ...common, ...this.#size(frames),
      scales: { x: { time: false, range: () => [0, FRAMES_SHOWN] }, y: { range: (_, low, high) => [0, Math.max(20, high * 1.1)] } },
      axes: [axis({ show: false }), axis({ size: 56 })],
      series: [{}, { stroke: () => style('--accent'), width: 1.5, points: { show: false } }],
    }, [[], []], frames);
    const observer = new ResizeObserver(() => {
      this.#cost.setSize(this.#size(cost));
      this.#frames.setSize(this.#size(frames));
    });
    observer.observe(cost);
    globalThis.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#request());
  }

  /** Adds an iteration of this engine, with the cost after it. */
  addCost(backend, iterations, cost) {
    this.#total += iterations;
    const shown = cost > 0 ? cost : null;
    this.#costs[0].push(this.#total);
    this.#costs[1].push(backend === 'gpu' ? shown : null);
    this.#costs[2].push(backend === 'cpu' ? shown : null);
    if (this.#costs[0].length > MOST_POINTS) this.#costs = this.#costs.map((column) => column.filter((_, i) => i % 2 === 1));
    this.#request();
  }

  addFrame(ms) {
    this.#times.push(ms);
    if (this.#times.length > FRAMES_SHOWN) this.#times.shift();
    this.#request();
  }

  /** The median of the last frame times in milliseconds; null before there are any. */
  medianFrame() {
    if (this.#times.length === 0) return null;
    const sorted = [...this.#times].sort((a, b) => a - b);
    return sorted[sorted.length >> 1];
  }

  clear() {
    this.#costs = [[], [], []];
    this.#total = 0;
    this.#request();
  }

  #size(element) {
    return { width: Math.max(100, element.clientWidth), height: Math.max(80, element.clientHeight) };
  }

  #request() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      if (document.hidden) return;
      this.#cost.setData(this.#costs);
      this.#frames.setData([this.#times.map((_, i) => i), this.#times]);
    }, REDRAW_EVERY_MS);
  }
}

/** Powers of ten within a range, five at most, with some multiples between where there is space. */
function logarithmicTicks(low, high) {
  const decades = Math.log10(high / low), ticks = [];
  const step = Math.max(1, Math.ceil(decades / 5));
  const factors = decades < 0.9 ? [1, 2, 3, 5, 7] : decades < 2.2 ? [1, 2, 5] : [1];
  for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.log10(high); exponent += step) {
    for (const factor of factors) {
      const tick = factor * 10 ** exponent;
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

/** Slightly more than the data's range, and never so narrow that rounding fills the plot. */
function logarithmicRange(low, high) {
  if (!(low > 0) || !(high > 0)) return [0.1, 10];
  const widen = Math.sqrt(Math.max(1.1, 1.5 / (high / low)));
  return [low / widen, high * widen];
}
