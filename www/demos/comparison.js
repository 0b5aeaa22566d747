/**
 * The times of both engines: milliseconds per step and per iteration (the median of the last ones), iterations, cost. Takes measurements as
 * they arrive; updates the table a few times a second, and states the ratio in words once both engines have run.
 */
const LAST = 60;
const FILL_EVERY_MS = 200;
const NAMES = { gpu: 'GPU', cpu: 'CPU' };

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const inDigits = (value) => (value === undefined || Number.isNaN(value) ? '–' : value === 0 ? '0' : Math.abs(value) >= 1e-3 && Math.abs(value) < 1e6 ? Number(value.toPrecision(4)).toLocaleString('en-US', { maximumSignificantDigits: 4 }) : value.toExponential(3));

/** The engine with the shorter time per iteration, and the ratio; undefined for times below the clock's resolution. */
export function difference(gpuMs, cpuMs) {
  if (Math.min(gpuMs, cpuMs) === 0) return 'Here an iteration takes less than the clock shows.';
  const [fast, slow, times] = gpuMs <= cpuMs ? ['GPU', 'CPU', cpuMs / gpuMs] : ['CPU', 'GPU', gpuMs / cpuMs];
  return `Here the ${fast} takes an iteration ${Number(times.toPrecision(2)).toLocaleString('en-US')} times as fast as the ${slow}.`;
}

export class Comparison {
  #body;
  #sentence;
  #engines = new Map();
  #scheduled = false;

  /** @param {{ body: HTMLElement, sentence: HTMLElement }} elements */
  constructor({ body, sentence }) {
    this.#body = body;
    this.#sentence = sentence;
    this.clear();
  }

  clear() {
    for (const name of Object.keys(NAMES)) this.#engines.set(name, { stepMs: [], iterationMs: [], iterations: 0, cost: NaN });
    this.#request();
  }

  step(backend, ms, iterations) {
    const engine = this.#engines.get(backend);
    engine.stepMs.push(ms);
    if (iterations > 0) engine.iterationMs.push(ms / iterations);
    for (const times of [engine.stepMs, engine.iterationMs]) if (times.length > LAST) times.shift();
    this.#request();
  }

  iterations(backend, count, cost) {
    const engine = this.#engines.get(backend);
    engine.iterations += count;
    engine.cost = cost;
    this.#request();
  }

  /** The numbers in the table. */
  figures() {
    return Object.fromEntries([...this.#engines].map(([name, { stepMs, iterationMs, iterations, cost }]) => [name, { stepMs: median(stepMs), iterationMs: median(iterationMs), iterations, cost }]));
  }

  #request() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      this.#fill();
    }, FILL_EVERY_MS);
  }

  #fill() {
    const figures = this.figures();
    this.#body.replaceChildren(...Object.entries(figures).map(([name, { stepMs, iterationMs, iterations, cost }]) => {
      const row = document.createElement('tr');
      row.append(Object.assign(document.createElement('th'), { scope: 'row', textContent: NAMES[name], className: name }));
      for (const text of [inDigits(stepMs), inDigits(iterationMs), iterations.toLocaleString('en-US'), inDigits(cost)]) {
        row.append(Object.assign(document.createElement('td'), { textContent: text }));
      }
      return row;
    }));
    const [gpu, cpu] = [figures.gpu.iterationMs ?? figures.gpu.stepMs, figures.cpu.iterationMs ?? figures.cpu.stepMs];
    this.#sentence.textContent = gpu === undefined || cpu === undefined
      ? 'Switch the engine to compare: the other goes on from the same numbers.'
      : difference(gpu, cpu);
  }
}
