/**
 * The page of benchmarks: a form, tables and plots of the measurements as they arrive, and all of them as JSON.
 *
 * `?auto` runs all at once, sends progress to `/log` and POSTs the results to `/result`. `only=name,name` selects benchmarks,
 * `sizes=12,100` sizes, `reps=9` samples, `budget=2500` milliseconds for each contender at each size, `contenders=words,words` those whose
 * names contain one of the words (the reference always runs). Further parameters belong to single benchmarks.
 *
 * The JSON: `{ page, date, userAgent, cores, query, webgpu, results }`, with `results` by benchmark `{ title, unit, contenders, rows, error
 * }` and rows as runner.js or the benchmark's module returns them; times are milliseconds. Invalid sizes give no results and an `error`.
 */
import { GpuContext } from 'residua';
import { showStatus, webGpuStatus } from '../webgpu-status.js';
import { logLogPlot } from './plot.js';
import { REGISTRY } from './registry.js';
import { ROW, runJob } from './runner.js';
import { readSizes } from './sizes.js';
import { fill } from './table.js';

const query = new URLSearchParams(location.search);
const auto = query.has('auto');
const element = (id) => document.getElementById(id);
let stopped = false;

function chosen() {
  const names = new Set(new FormData(element('controls')).getAll('benchmark'));
  return REGISTRY.filter((benchmark) => names.has(benchmark.name));
}

/** The values of the form, which the query has filled in. */
function settingsFor(benchmark) {
  const form = new FormData(element('controls'));
  const asked = readSizes(String(form.get('sizes')));
  const words = query.get('contenders')?.split(',');
  return {
    sizes: asked.length > 0 ? asked : (benchmark.sizes ?? []).toSorted((a, b) => a - b),
    reps: Math.max(1, Number(form.get('reps')) || 9),
    budgetMs: Math.max(1, Number(form.get('budget')) || 2500),
    contenders: words === undefined ? undefined : (name) => words.some((word) => name.includes(word)),
    stopped: () => stopped,
  };
}

/** The elements of a benchmark's results. */
function place(benchmark) {
  const id = `rows-${benchmark.name}`;
  element(id)?.remove();
  const section = Object.assign(document.createElement('section'), { id });
  const scroll = Object.assign(document.createElement('div'), { className: 'scroll', tabIndex: 0 });
  scroll.setAttribute('role', 'region');
  scroll.setAttribute('aria-label', `${benchmark.title}, table`);
  const table = document.createElement('table');
  scroll.append(table);
  const plot = document.createElement('div');
  section.append(Object.assign(document.createElement('h3'), { textContent: benchmark.title }), plot, scroll);
  element('results').append(section);
  return { table, plot };
}

function plotOf(benchmark, rows) {
  const series = new Map();
  for (const row of rows) {
    if (row.status !== 'measured') continue;
    if (!series.has(row.contender)) series.set(row.contender, []);
    series.get(row.contender).push({ x: row.size, y: row['least, ms'] });
  }
  return logLogPlot({ title: benchmark.title, xLabel: benchmark.unit, yLabel: 'milliseconds, least', series });
}

/** The log has few lines, so that sending them does not disturb the measurements. */
function progress(words, log = false) {
  element('progress').textContent = words;
  if (auto && log) fetch('/log', { method: 'POST', body: words });
}

/** `null` removes an earlier failure. */
function fail(words) {
  element('failure').textContent = words ?? '';
  element('failure').hidden = words === null;
}

/** The error in the sizes, shown beside their field; null where there is none. */
function wrongSizes() {
  let wrong = null;
  try {
    readSizes(element('sizes').value);
  } catch (error) {
    wrong = error.message;
    element('sizes').focus();
  }
  element('sizes').setAttribute('aria-invalid', String(wrong !== null));
  fail(wrong);
  return wrong;
}

/** Runs one benchmark after another. An exception becomes its result. */
async function run(benchmarks) {
  const results = {};
  for (const benchmark of benchmarks) {
    if (stopped) break;
    const rows = [];
    const { table, plot } = place(benchmark);
    const tell = (row) => {
      rows.push(row);
      fill(table, rows, benchmark.contenders === undefined ? [] : ROW);
      if (benchmark.contenders !== undefined) plot.replaceChildren(plotOf(benchmark, rows));
      if (auto) fetch('/log', { method: 'POST', body: `${benchmark.name} ${JSON.stringify(row)}` });
    };
    progress(`${benchmark.title}…`);
    results[benchmark.name] = { title: benchmark.title, unit: benchmark.unit, contenders: benchmark.contenders?.map(({ name }) => name), rows };
    try {
      if (benchmark.contenders === undefined) await benchmark.run(query, tell, progress, settingsFor(benchmark));
      else await runJob(benchmark, settingsFor(benchmark), tell, progress);
    } catch (error) {
      results[benchmark.name].error = String(error?.stack ?? error);
      fail(`${benchmark.title}: ${error?.message ?? error}`);
    }
  }
  progress(stopped ? 'Stopped.' : 'Done.', true);
  return results;
}

async function runAndReport() {
  const [start, stop] = [element('start'), element('stop')];
  const about = { page: 'bench', date: new Date().toISOString(), userAgent: navigator.userAgent, cores: navigator.hardwareConcurrency, query: location.search, webgpu: status.sentences };
  const error = wrongSizes();
  if (error !== null) return { ...about, results: {}, error };
  stopped = false;
  start.disabled = true;
  stop.disabled = false;
  const report = { ...about, results: await run(chosen()) };
  start.disabled = false;
  stop.disabled = true;
  const download = element('download');
  download.disabled = false;
  download.onclick = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(report, null, 2)], { type: 'application/json' }));
    link.download = 'residua-benchmarks.json';
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return report;
}

const status = await webGpuStatus(() => GpuContext.default());
showStatus(element('status'), status);

const only = query.get('only')?.split(',');
for (const { name, title, onDemand = false } of REGISTRY) {
  const label = document.createElement('label');
  const box = Object.assign(document.createElement('input'), { type: 'checkbox', name: 'benchmark', value: name, checked: only?.includes(name) ?? !onDemand });
  label.append(box, ` ${title}`);
  element('choices').append(label);
}
for (const limit of ['sizes', 'reps', 'budget']) if (query.has(limit)) element(limit).value = query.get(limit);
element('controls').addEventListener('submit', (event) => {
  event.preventDefault();
  runAndReport();
});
element('stop').addEventListener('click', () => {
  stopped = true;
});
if (auto) {
  const unknown = only?.filter((name) => !REGISTRY.some((benchmark) => benchmark.name === name)) ?? [];
  if (unknown.length > 0) await fetch('/log', { method: 'POST', body: `no such benchmark: ${unknown.join(', ')}` });
  await fetch('/result', { method: 'POST', body: JSON.stringify(await runAndReport()) });
}
