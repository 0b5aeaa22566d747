/**
 * The editor of the front page: an example that a visitor changes, with its plot and what it prints. The code is a module that runs in a worker, at first, after a
 * pause in typing, and on request; one that does not end is terminated. `?example=NAME` opens another. `window.residuaEditor.state()` is for programs.
 */
import { EXAMPLES } from './examples.js';
import { drawPlot } from './plot.js';

/** A pause in typing after which the code runs, and how long it may take. */
const PAUSE_MS = 700, LIMIT_MS = 20_000;
/** Text beyond this is not shown. */
const MOST_TEXT = 20_000;

const element = (id) => document.getElementById(id);
const [code, output, failure, figure, note, choice, run] = ['code', 'fit-report', 'code-failure', 'plot', 'run-note', 'example', 'run-fit'].map(element);
const entries = Object.fromEntries(Object.entries(JSON.parse(document.querySelector('script[type=importmap]').textContent).imports).map(([name, path]) => [name, new URL(path, location.href).href]));

let worker = null, runs = 0, ends = 0, waiting = null, limit = null, plot = null, milliseconds = null, began = 0, printed = '';
window.residuaEditor = { state: () => ({ runs, ends, running: ends < runs, plot, milliseconds, failure: failure.hidden ? null : failure.textContent, text: output.textContent }) };

function ended(error) {
  clearTimeout(limit);
  ends = runs;
  milliseconds = performance.now() - began;
  failure.hidden = error === null;
  failure.textContent = error === null ? '' : `${error.line === null ? '' : `Line ${error.line}: `}${error.words}`;
  note.textContent = error === null ? `Ran in ${milliseconds < 10 ? milliseconds.toFixed(1) : milliseconds.toFixed(0)} ms.` : 'It did not run to its end.';
  if (error === null && output.textContent === '') output.textContent = 'Nothing was printed.';
}

function hear(message) {
  if (message.kind === 'text' && printed.length < MOST_TEXT) {
    printed = `${printed}${printed === '' ? '' : '\n'}${message.text}`;
    output.textContent = printed.length > MOST_TEXT ? `${printed.slice(0, MOST_TEXT)}\n…` : printed;
  } else if (message.kind === 'plot') {
    plot = message.plot;
    redraw();
  } else if (message.kind === 'end') ended(message.error);
}

function stop() {
  worker?.terminate();
  worker = null;
}

function start() {
  clearTimeout(waiting);
  // What is still running is of a text that is no longer there.
  if (ends < runs) stop();
  const id = ++runs;
  printed = '';
  note.textContent = 'Running…';
  if (worker === null) {
    worker = new Worker(new URL('runner.js', import.meta.url), { type: 'module' });
    worker.addEventListener('error', (event) => {
      stop();
      if (ends < runs) ended({ words: event.message ?? 'the worker could not be started', line: null });
    });
    worker.addEventListener('message', ({ data }) => data.id === runs && hear(data));
  }
  output.textContent = '';
  began = performance.now();
  worker.postMessage({ id, code: code.value, entries }, []);
  limit = setTimeout(() => {
    stop();
    ended({ words: `stopped after ${LIMIT_MS / 1000} seconds`, line: null });
  }, LIMIT_MS);
}

function redraw() {
  figure.toggleAttribute('data-empty', plot === null);
  if (plot !== null) drawPlot(figure, plot);
}

async function show(name) {
  const response = await fetch(new URL(`examples/${name}.js`, import.meta.url));
  if (!response.ok) throw new Error(`the example could not be fetched: the server answered ${response.status}`);
  const text = await response.text();
  if (choice.value !== name) return;
  code.value = text.trimEnd();
  plot = null;
  figure.replaceChildren();
  start();
}

const shown = (name) => show(name).catch((error) => ended({ words: error.message, line: null }));
for (const [name, { title }] of Object.entries(EXAMPLES)) choice.append(new Option(title, name));
const asked = new URLSearchParams(location.search).get('example');
if (Object.hasOwn(EXAMPLES, asked ?? '')) choice.value = asked;
choice.addEventListener('change', () => shown(choice.value));
run.addEventListener('click', start);
code.addEventListener('input', () => {
  clearTimeout(waiting);
  waiting = setTimeout(start, PAUSE_MS);
});
code.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  start();
});
new ResizeObserver(redraw).observe(figure);
shown(choice.value);
