/**
 * The worker that runs the code of the editor. Takes `{ id, code, entries }`, with the addresses of the package's entry points; posts `{ id, kind }` with 'text' for
 * what is logged, 'plot' for what is drawn, and 'end' once the module has ended, with `error` where it failed. A worker is a thread of its own: code that does not
 * end is terminated with it.
 */

/** More points than these are not seen, and take long to draw. */
const MOST_POINTS = 5000;
const CURVE_POINTS = 300;

let current = null;
const post = (message) => postMessage({ id: current, ...message });

/** A value as text, as consoles show it. */
export function inWords(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return Array.from(value).join(', ');
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  try {
    return JSON.stringify(value, (_, item) => (ArrayBuffer.isView(item) ? Array.from(item) : typeof item === 'bigint' ? String(item) : item), 1);
  } catch {
    return String(value);
  }
}

/** Numbers of an argument of plot(). */
function numbersOf(name, values) {
  const numbers = ArrayBuffer.isView(values) || Array.isArray(values) ? Array.from(values, Number) : null;
  if (numbers === null) throw new TypeError(`plot: ${name}: got ${inWords(values)}; takes a list of numbers`);
  return numbers;
}

/** Points with a curve: a function of x, or a list of places [x, y]. */
export function plotOf({ x, y, curve, equalAxes = false } = {}) {
  const [xs, ys] = [numbersOf('x', x), numbersOf('y', y)];
  if (xs.length !== ys.length) throw new TypeError(`plot: y: got ${ys.length} numbers; takes ${xs.length}, as many as x has`);
  if (xs.length > MOST_POINTS) throw new RangeError(`plot: x: got ${xs.length} numbers; takes at most ${MOST_POINTS}`);
  const points = xs.map((value, i) => [value, ys[i]]).filter((point) => point.every(Number.isFinite));
  let line = [];
  if (typeof curve === 'function') {
    const finite = points.map(([value]) => value);
    const [from, to] = [Math.min(...finite), Math.max(...finite)];
    line = Array.from({ length: points.length === 0 ? 0 : CURVE_POINTS + 1 }, (_, i) => from + ((to - from) * i) / CURVE_POINTS).map((value) => [value, Number(curve(value))]);
  } else if (curve !== undefined) {
    if (!Array.isArray(curve)) throw new TypeError(`plot: curve: got ${inWords(curve)}; takes a function of x or a list of places [x, y]`);
    line = curve.map((place) => numbersOf('curve', place));
  }
  return { points, line: line.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b)), equalAxes: equalAxes === true };
}

const IMPORT = /((?:\bfrom|\bimport)\s*\(?\s*)(['"])(residua(?:\/[\w/-]+)?)\2/g;

/** Code whose imports of the package are addresses: workers have no import map. */
export const withAddresses = (code, entries) => code.replace(IMPORT, (whole, before, quote, name) => (name in entries ? `${before}${quote}${entries[name]}${quote}` : whole));

/** The line of the code where an error arose, null where the browser does not tell. */
function lineOf(error, address) {
  const at = String(error?.stack ?? '').split('\n').find((line) => line.includes(address));
  const line = at === undefined ? error?.lineNumber : Number(/:(\d+):\d+\)?$/.exec(at)?.[1]);
  return Number.isInteger(line) ? line : null;
}

async function run({ id, code, entries }) {
  current = id;
  const address = URL.createObjectURL(new Blob([withAddresses(code, entries)], { type: 'text/javascript' }));
  let error = null;
  try {
    await import(address);
  } catch (thrown) {
    error = { words: inWords(thrown), line: lineOf(thrown, address) };
  } finally {
    URL.revokeObjectURL(address);
  }
  postMessage({ id, kind: 'end', error });
}

if (globalThis.WorkerGlobalScope !== undefined) {
  for (const name of ['log', 'info', 'warn', 'error', 'table']) console[name] = (...values) => post({ kind: 'text', text: values.map(inWords).join(' ') });
  globalThis.plot = (picture) => post({ kind: 'plot', plot: plotOf(picture) });
  addEventListener('unhandledrejection', (event) => {
    event.preventDefault();
    post({ kind: 'text', text: inWords(event.reason) });
  });
  addEventListener('message', ({ data }) => run(data));
}
