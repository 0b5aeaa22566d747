/**
 * Compares two builds of the package: `?a=ADDRESS&b=ADDRESS&reps=11&only=words,words`. The addresses are those of the builds' `index.js`. Each build lives in
 * a frame with a device of its own; samples alternate A B A B …, and what is reported of them is the median ratio of pairs. With `auto` the rows go to
 * `/log` and everything to `/result`, by POST.
 */
import { median } from '../statistics.js';
import { fill } from '../table.js';

const query = new URLSearchParams(location.search);
const auto = query.has('auto');
const element = (id) => document.getElementById(id);
const post = (path, body) => (auto ? fetch(path, { method: 'POST', body }) : undefined);

/** Opens a frame with a build; resolves to its `window.build`. */
function open(build) {
  const frame = document.createElement('iframe');
  frame.hidden = true;
  frame.title = build;
  frame.src = `frame.html?build=${encodeURIComponent(new URL(build, location.href).href)}`;
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${build} did not load within 60 s`)), 60_000);
    window.addEventListener('message', ({ source, data }) => {
      const { failure } = data;
      if (source !== frame.contentWindow || (data !== 'ready' && failure === undefined)) return;
      clearTimeout(late);
      if (failure === undefined) resolve(frame.contentWindow.build);
      else reject(new Error(`${build} did not load: ${failure}`));
    });
    document.body.append(frame);
  });
}

const relative = (a, b) => Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b), Number.MIN_VALUE);

async function compare(name, [a, b], reps) {
  try {
    const values = [await a.prepare(name), await b.prepare(name)];
    const times = [[], []];
    // The first pair is not counted: it warms caches and the engine's compilers.
    for (let rep = 0; rep <= reps; rep++) {
      for (const [k, build] of [a, b].entries()) {
        const ms = await build.sample();
        if (rep > 0) times[k].push(ms);
      }
    }
    const ratios = times[1].map((ms, rep) => ms / times[0][rep]);
    return {
      workload: name, 'A, least, ms': Math.min(...times[0]), 'A, median, ms': median(times[0]), 'B, least, ms': Math.min(...times[1]), 'B, median, ms': median(times[1]),
      'B / A': median(ratios), 'B / A, of leasts': Math.min(...times[1]) / Math.min(...times[0]), 'values differ by': relative(...values),
    };
  } finally {
    await a.dispose();
    await b.dispose();
  }
}

async function run() {
  const builds = [query.get('a'), query.get('b')];
  const frames = [await open(builds[0]), await open(builds[1])];
  const words = query.get('only')?.split(',').filter((word) => word !== '') ?? [];
  const names = frames[0].names.filter((name) => words.length === 0 || words.some((word) => name.includes(word)));
  const reps = Math.max(3, Number(query.get('reps')) || 11);
  const rows = [];
  for (const name of names) {
    element('progress').textContent = `${name}…`;
    let row;
    try {
      row = await compare(name, frames, reps);
    } catch (error) {
      row = { workload: name, error: error?.message ?? String(error) };
    }
    rows.push(row);
    fill(element('rows'), rows, []);
    await post('/log', JSON.stringify(row));
  }
  element('progress').textContent = 'Done.';
  return { page: 'turns', builds, userAgent: navigator.userAgent, reps, rows };
}

for (const input of document.querySelectorAll('#limits input')) if (query.has(input.name)) input.value = query.get(input.name);
if (query.has('a') && query.has('b')) {
  try {
    await post('/result', JSON.stringify(await run()));
  } catch (error) {
    element('failure').textContent = error?.message ?? String(error);
    element('failure').hidden = false;
    await post('/result', JSON.stringify({ page: 'turns', error: `${error?.message ?? error}\n${error?.stack ?? ''}` }));
  }
}
