/**
 * The page of checks: a list by group, runs of all or some, outcomes as they arrive, and a report to copy.
 *
 * `?auto` runs all at once, sends each outcome to `../log` and POSTs the report to `../result`. `only=word,word` selects checks whose id
 * contains one of the words (an id is `group/what-it-says`), `engine=gpu|cpu` those of one engine, and `quick` omits the long ones. The
 * report:
 *
 *   { page: 'checks', date, userAgent, query, webgpu, adapter, counts: { passed, failed, skipped }, outcomes }
 *
 * `adapter` is null without WebGPU; outcomes are those of runner.js. `window.residuaChecks` has `checks` (the list), `run(ids)` (runs some
 * of them, by id; resolves with outcomes), `report()` (the Markdown) and `done` (with `auto`, a promise of the JSON).
 */
import { GpuContext } from 'residua';
import { deviceFacts } from '../webgpu-device.js';
import { showStatus, webGpuStatus } from '../webgpu-status.js';
import { REGISTRY } from './registry.js';
import { counts, countsInWords, inMs, markdownReport } from './report.js';
import { runChecks } from './runner.js';
import { ChecksView } from './view.js';

const query = new URLSearchParams(location.search);
const auto = query.has('auto');
const element = (id) => document.getElementById(id);
const all = REGISTRY.flatMap(({ checks }) => checks);
const outcomes = new Map();
const known = () => all.filter(({ id }) => outcomes.has(id)).map(({ id }) => outcomes.get(id));
let running = false;
let stopped = false;

const status = await webGpuStatus(() => GpuContext.default());
showStatus(element('status'), status);
const adapter = status.context === null ? null : await navigator.gpu.requestAdapter();
const facts = adapter === null ? null : deviceFacts(adapter);
/** What checks can use here. Features are those of residua's own devices. */
const here = { gpu: status.context === null ? status.headline : null, features: new Set(status.context?.device.features ?? []) };
const date = new Date().toISOString();

const report = () => markdownReport({ date, userAgent: navigator.userAgent, webgpu: status.sentences, facts, groups: REGISTRY }, known(), all.length);

/** The checks that the form selects. */
function chosen(checks) {
  const engine = element('engine').value;
  const other = { gpu: 'cpu', cpu: 'gpu' }[engine];
  return checks.filter((check) => (other === undefined || (check.engine !== other && check.engine !== 'both')) && !(element('quick').checked && check.long));
}

function showTotals(words) {
  const own = known();
  element('summary').textContent = words ?? `${countsInWords(own, all.length)}, in ${inMs(own.reduce((sum, { ms }) => sum + ms, 0))}.`;
  const failed = own.some((outcome) => outcome.status === 'failed');
  element('run-failed').disabled = running || !failed;
  for (const id of ['copy', 'download']) element(id).disabled = own.length === 0;
  element('report').value = own.length === 0 ? '' : report();
}

function hear(told, state) {
  view.show(told);
  if (told.running) {
    element('summary').textContent = `${state.done + 1} of ${state.total}: ${all.find(({ id }) => id === told.id).title}`;
    return;
  }
  outcomes.set(told.id, told);
  state.done++;
  if (told.status === 'failed') element('progress').classList.add('failed');
  element('progress').value = state.done;
  view.count(told.group, known().filter(({ group }) => group === told.group));
  if (auto) fetch('../log', { method: 'POST', body: `${told.status} ${told.id} ${inMs(told.ms)}${told.failure === undefined ? '' : ` ${JSON.stringify(told.failure)}`}${told.notes.map((note) => `\n  ${note}`).join('')}` });
}

/** Runs checks, unless others are running; resolves with their outcomes. */
async function run(checks) {
  if (running || checks.length === 0) return [];
  [running, stopped] = [true, false];
  element('run-all').disabled = true;
  element('run-failed').disabled = true;
  element('stop').disabled = false;
  view.enable(false);
  const state = { done: 0, total: checks.length };
  element('progress').max = checks.length;
  element('progress').value = 0;
  element('progress').classList.remove('failed');
  try {
    return await runChecks(checks, here, (told) => hear(told, state), () => stopped);
  } finally {
    running = false;
    element('run-all').disabled = false;
    element('stop').disabled = true;
    view.enable(true);
    showTotals();
  }
}

const view = new ChecksView(element('groups'), REGISTRY, run);

element('run-all').addEventListener('click', () => run(chosen(all)));
element('run-failed').addEventListener('click', () => run(all.filter(({ id }) => outcomes.get(id)?.status === 'failed')));
element('stop').addEventListener('click', () => (stopped = true));
element('failures-only').addEventListener('change', ({ target }) => element('groups').classList.toggle('failures-only', target.checked));
element('unfold').addEventListener('change', ({ target }) => view.unfold(target.checked));
element('copy').addEventListener('click', async () => {
  try {
    await navigator.clipboard.writeText(report());
    element('copied').textContent = 'Copied.';
  } catch {
    // Where the clipboard is not available (an insecure page, a refusal), the text is shown and selected.
    element('report').closest('details').open = true;
    element('report').select();
    element('copied').textContent = 'The browser keeps its clipboard to itself: the report is selected below.';
  }
});
element('download').addEventListener('click', () => {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([report()], { type: 'text/markdown' }));
  link.download = 'residua-checks.md';
  link.click();
  URL.revokeObjectURL(link.href);
});

element('engine').value = ['gpu', 'cpu'].includes(query.get('engine')) ? query.get('engine') : '';
element('quick').checked = query.has('quick');
element('run-all').disabled = false;
showTotals(`${all.length} checks in ${REGISTRY.length} groups, none run yet.`);

const only = query.get('only')?.split(',');

async function runAndReport() {
  const asked = chosen(all).filter(({ id }) => only?.some((word) => id.includes(word)) ?? true);
  const found = await run(asked);
  const answer = {
    page: 'checks', date, userAgent: navigator.userAgent, query: location.search, webgpu: status.sentences,
    adapter: status.context?.adapter ?? null, counts: counts(found), outcomes: found,
  };
  await fetch('../result', { method: 'POST', body: JSON.stringify(answer) });
  return answer;
}

window.residuaChecks = {
  checks: all.map(({ id, group, title, engine, needs, long, slow }) => ({ id, group, title, engine, needs, long, slow })),
  groups: REGISTRY.map(({ id, title }) => ({ id, title })),
  run: (ids) => run(all.filter(({ id }) => ids.includes(id))),
  report,
  done: auto ? runAndReport() : null,
};
