/**
 * A small plot of cost against iteration, with a logarithmic cost axis. Takes series of points; draws on a canvas in the page's colours.
 */

const MARGIN = { left: 56, right: 12, top: 10, bottom: 30 };
/** A range narrower than this factor is widened, so that a nearly constant cost is a level line. */
const LEAST_RANGE = 1.5;

/** Powers of ten within a range, with 1, 2, 5 or all integer multiples of them between where there is space. */
function logarithmicTicks(low, high) {
  const decades = Math.log10(high / low);
  const ticks = [];
  const step = Math.max(1, Math.ceil(decades / 6));
  const factors = decades < 0.9 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : decades < 2.5 ? [1, 2, 5] : [1];
  for (let exponent = Math.floor(Math.log10(low)); exponent <= Math.ceil(Math.log10(high)); exponent += step) {
    for (const factor of factors) {
      const tick = factor * 10 ** exponent;
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  }
  return ticks;
}

function linearTicks(high) {
  const rough = Math.max(1, high / 5);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? 10 * power;
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, i) => i * step);
}

const inWords = (tick) => (tick >= 1e-3 && tick < 1e5 ? String(Number(tick.toPrecision(2))) : tick.toExponential(0));

export class CostPlot {
  #canvas;
  #series = new Map();
  #scheduled = false;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#request()).observe(canvas);
    globalThis.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#request());
  }

  /** Starts a new series. `colour` names a CSS custom property; dashes distinguish series without colour. */
  start(name, { colour, dash }) {
    this.#series.set(name, { colour, dash, costs: [] });
    this.#request();
  }

  add(name, iteration, cost) {
    this.#series.get(name).costs.push([iteration, cost]);
    this.#request();
  }

  clear() {
    this.#series.clear();
    this.#request();
  }

  #request() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      this.#draw();
    });
  }

  #range() {
    let low = Infinity, high = 0, last = 10;
    for (const { costs } of this.#series.values()) {
      for (const [iteration, cost] of costs) {
        if (cost > 0) {
          low = Math.min(low, cost);
          high = Math.max(high, cost);
        }
        last = Math.max(last, iteration);
      }
    }
    if (high === 0) [low, high] = [0.1, 10];
    const widen = Math.sqrt(Math.max(1, LEAST_RANGE / (high / low)));
    return { low: low / widen / 1.05, high: high * widen * 1.05, last };
  }

  #draw() {
    const canvas = this.#canvas, ratio = Math.min(2, devicePixelRatio);
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    const style = getComputedStyle(canvas);
    const { low, high, last } = this.#range();
    const plotWidth = width - MARGIN.left - MARGIN.right, plotHeight = height - MARGIN.top - MARGIN.bottom;
    const x = (iteration) => MARGIN.left + (iteration / last) * plotWidth;
    const y = (cost) => MARGIN.top + (Math.log(high / cost) / Math.log(high / low)) * plotHeight;

    context.font = `12px ${style.fontFamily}`;
    context.lineWidth = 1;
    context.strokeStyle = style.getPropertyValue('--line');
    context.fillStyle = style.getPropertyValue('--quiet');
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    for (const tick of logarithmicTicks(low, high)) {
      context.beginPath();
      context.moveTo(MARGIN.left, y(tick));
      context.lineTo(width - MARGIN.right, y(tick));
      context.stroke();
      context.fillText(inWords(tick), MARGIN.left - 8, y(tick));
    }
    context.textBaseline = 'top';
    context.textAlign = 'center';
    for (const tick of linearTicks(last)) context.fillText(String(tick), x(tick), height - MARGIN.bottom + 8);

    context.lineWidth = 2;
    context.lineJoin = 'round';
    for (const { colour, dash, costs } of this.#series.values()) {
      context.strokeStyle = style.getPropertyValue(colour);
      context.setLineDash(dash);
      context.beginPath();
      for (const [iteration, cost] of costs) if (cost > 0) context.lineTo(x(iteration), y(cost));
      context.stroke();
    }
    context.setLineDash([]);
  }
}
