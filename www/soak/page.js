/**
 * The soak page. `?solves=N&tokens=N&frames=N&compiles=N` say how often each job is done, 0 leaves it out; `?engines=cpu` or `gpu` chooses one; `?auto` starts at
 * once. `window.residuaSoak.state()` is for programs: `{ running, ended, failure, results, report }`.
 */
import { heapBytes, wasmBytes } from './memory.js';
import { comparison, reportText, sizeText, soak } from './soak.js';
import { nameOf } from '../webgpu-status.js';

// After memory.js has begun to note memories.
const { countsOf, JOBS } = await import('./jobs.js');
const { GpuContext } = await import('residua');

const query = new URLSearchParams(location.search);
const element = (id) => document.getElementById(id);
const state = { running: false, ended: false, failure: null, results: [], report: '' };
window.residuaSoak = { state: () => structuredClone(state) };

let stopping = new AbortController();

function fail(message) {
  state.failure = message;
  element('failure').hidden = message === null;
  element('failure').textContent = message ?? '';
}

const { counts, wrong } = countsOf(query);
for (const { id, title } of JOBS) {
  const input = Object.assign(document.createElement('input'), { type: 'number', id, min: 0, max: 1e7, step: 1, required: true, value: counts[id] });
  const label = Object.assign(document.createElement('label'), { textContent: `${title} ` });
  label.append(input);
  element('counts').append(label);
}
const engines = Array.from(document.querySelectorAll('input[name=engine]'));
if (query.has('engines')) for (const box of engines) box.checked = query.get('engines').split(',').includes(box.value);
if (wrong.length > 0) fail(wrong.join(' '));

function row({ title, backend, done, medianMs, lateMs, samples, growth, differing, failure }) {
  const cells = failure !== undefined ? [title, backend.toUpperCase(), failure] : [
    title, backend.toUpperCase(), done.toLocaleString('en-US'), medianMs?.toPrecision(3) ?? '–', lateMs?.toPrecision(3) ?? '–', sizeText(samples.at(-1).wasm), sizeText(samples.at(-1).device),
    growth === null ? 'too few samples to tell' : growth.isFlat ? 'flat' : 'grew', differing === null ? 'not compared' : differing === 0 ? 'all the same' : `${differing} differ`,
  ];
  const made = document.createElement('tr');
  cells.forEach((textContent, k) => made.append(Object.assign(document.createElement(k === 0 ? 'th' : 'td'), {
    textContent, className: k > 1 && k < 7 && failure === undefined ? 'number' : (k === 7 && growth?.isFlat === false) || (k === 8 && differing > 0) || failure !== undefined ? 'bad' : '',
  })));
  made.firstElementChild.scope = 'row';
  return made;
}

async function adapterName() {
  try {
    return nameOf((await GpuContext.default()).adapter);
  } catch (error) {
    return `none: ${error.message}`;
  }
}

/** A frame, also where the page is hidden and none is drawn. */
const nextFrame = () => new Promise((resolve) => {
  const late = setTimeout(resolve, 250);
  requestAnimationFrame(() => {
    clearTimeout(late);
    resolve();
  });
});

async function run() {
  if (state.running) return;
  stopping = new AbortController();
  Object.assign(state, { running: true, ended: false, results: [], report: '' });
  fail(null);
  for (const id of ['results', 'report', 'comparison', 'copied']) element(id).replaceChildren();
  element('start').disabled = true;
  element('copy').disabled = true;
  element('stop').disabled = false;
  const environment = { canvas: element('picture'), nextFrame };
  const memory = (device) => ({ wasm: wasmBytes(), device, heap: heapBytes() });
  const adapter = await adapterName();
  const wanted = engines.filter(({ checked }) => checked).map(({ value }) => value);
  for (const backend of wanted) {
    for (const job of JOBS) {
      const count = element(job.id).valueAsNumber;
      if (count === 0 || stopping.signal.aborted) continue;
      const told = (done) => {
        element('progress').value = done / count;
        element('note').textContent = `${job.title} on the ${backend.toUpperCase()}: ${done.toLocaleString('en-US')} of ${count.toLocaleString('en-US')}.`;
      };
      told(0);
      let result;
      try {
        result = await soak(job, backend, { count, environment, memory, onProgress: told, signal: stopping.signal });
      } catch (error) {
        result = { id: job.id, title: job.title, backend, failure: `${error.code === undefined ? '' : `${error.code}: `}${error.message}` };
      }
      state.results.push(result);
      element('results').append(row(result));
    }
  }
  const where = { date: new Date().toISOString().slice(0, 16).replace('T', ' '), agent: navigator.userAgent, cores: navigator.hardwareConcurrency, adapter };
  state.report = [reportText(where, state.results), ...comparison(state.results)].join('\n');
  element('report').textContent = state.report;
  element('comparison').textContent = comparison(state.results).join(' ');
  element('note').textContent = stopping.signal.aborted ? 'Stopped.' : state.results.length === 0 ? 'There was nothing to do.' : 'All is done.';
  Object.assign(state, { running: false, ended: true });
  element('start').disabled = false;
  element('copy').disabled = false;
  element('stop').disabled = true;
}

element('asked').addEventListener('submit', (event) => {
  event.preventDefault();
  run();
});
element('stop').addEventListener('click', () => stopping.abort());
element('copy').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(state.report);
    element('copied').textContent = 'Copied.';
  } catch {
    // Without the permission the text is marked, and the visitor copies it.
    getSelection().selectAllChildren(element('report'));
    element('copied').textContent = 'The report is marked: copy it with your keyboard.';
  }
});
if (query.has('auto')) run();
