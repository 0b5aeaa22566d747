/**
 * The page of benchmarks. A benchmark is a module of the registry with a `name`, a `title` and `run(parameters, report)`: it reads what it needs of the
 * query's parameters and gives rows of figures, of which `report` hears as they come.
 *
 * `?auto` runs by itself and POSTs what came of it to `/result`; `only=name,name` chooses; every size and repetition is a parameter, named by its benchmark.
 */
import { GpuContext } from 'residua';
import { showStatus, webGpuStatus } from '../webgpu-status.js';
import * as cpuEngine from './cpu-engine.js';
import * as many from './many.js';
import * as springsLm from './springs-lm.js';

const REGISTRY = [springsLm, many, cpuEngine];

const query = new URLSearchParams(location.search);
const element = (id) => document.getElementById(id);

const chosen = () => {
  const names = new Set(new FormData(element('controls')).getAll('benchmark'));
  return REGISTRY.filter((benchmark) => names.has(benchmark.name));
};

function show(benchmark, rows) {
  const id = `rows-${benchmark.name}`;
  let table = element(id);
  if (table === null) {
    const title = Object.assign(document.createElement('h3'), { textContent: benchmark.title });
    table = Object.assign(document.createElement('table'), { id });
    element('results').append(title, table);
  }
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const head = document.createElement('tr');
  head.append(...columns.map((column) => Object.assign(document.createElement('th'), { scope: 'col', textContent: column })));
  const text = (value) => (typeof value === 'number' ? Number(value.toPrecision(5)).toLocaleString('en-US', { maximumFractionDigits: 6 }) : String(value ?? ''));
  const lines = rows.map((row) => {
    const line = document.createElement('tr');
    line.append(...columns.map((column) => Object.assign(document.createElement('td'), { textContent: text(row[column]) })));
    return line;
  });
  table.replaceChildren(head, ...lines);
}

/** One benchmark after another; what one throws is its result. */
async function run(benchmarks) {
  const results = {};
  for (const benchmark of benchmarks) {
    const rows = [];
    element('progress').textContent = `${benchmark.title}…`;
    const report = (row) => {
      rows.push(row);
      show(benchmark, rows);
    };
    try {
      await benchmark.run(query, report);
      results[benchmark.name] = { rows };
    } catch (error) {
      results[benchmark.name] = { rows, error: String(error?.stack ?? error) };
      element('failure').textContent = `${benchmark.title}: ${error?.message ?? error}`;
      element('failure').hidden = false;
    }
  }
  element('progress').textContent = 'Done.';
  return results;
}

async function runAndReport() {
  const button = element('controls').querySelector('button');
  button.disabled = true;
  const results = { page: 'bench', userAgent: navigator.userAgent, query: location.search, webgpu: status.sentences, results: await run(chosen()) };
  button.disabled = false;
  const download = element('download');
  download.disabled = false;
  download.onclick = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(results, null, 2)], { type: 'application/json' }));
    link.download = 'residua-benchmarks.json';
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return results;
}

const status = await webGpuStatus(() => GpuContext.default());
showStatus(element('status'), status);

const only = query.get('only')?.split(',');
for (const { name, title } of REGISTRY) {
  const label = document.createElement('label');
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', name: 'benchmark', value: name, checked: only === undefined || only.includes(name) });
  label.append(box, ` ${title}`);
  element('choices').append(label);
}
element('controls').addEventListener('submit', (event) => {
  event.preventDefault();
  runAndReport();
});
if (query.has('auto')) {
  await fetch('/result', { method: 'POST', body: JSON.stringify(await runAndReport()) });
}
