/**
 * The demonstration's page: form, picture, plot and table. The solve is in solve.js; `window.residuaDemo` offers a program the actions of a
 * visitor.
 */
import { boundingSphere, intoUnitSphere, outOfUnitSphere } from '../mesh/bounding-sphere.js';
import { icosphere } from '../mesh/icosphere.js';
import { parseObj, writeObj } from '../mesh/obj.js';
import { perturb } from '../mesh/perturb.js';
import { Viewer } from '../viewer/viewer.js';
import { showStatus, webGpuStatus } from '../webgpu-status.js';
import { CostPlot } from './cost-plot.js';

/** 10·4⁴ + 2 = 2,562 vertices. */
const STANDARD_SUBDIVISIONS = 4;
const SERIES = { gpu: { colour: '--gpu', dash: [] }, cpu: { colour: '--cpu', dash: [6, 4] } };

const element = (id) => document.getElementById(id);
const controls = element('controls');
const viewer = new Viewer(element('viewer'), { label: 'The mesh as it is solved', onError: (message) => showFailure(`The picture could not be drawn: ${message}`) });
const plot = new CostPlot(element('plot'));

/** Loaded on first use, so that the page can report a package that is missing or broken. */
const solving = import('./solve.js');
solving.catch(() => {});
const openContext = async () => (await solving).GpuContext.default();

/** The device of the viewer; null while it draws on a 2-D canvas. */
let context = null;
/** The displayed mesh, and the results before and after the last run. */
let mesh = null;
let lastRun = null;
let running = null;

// ---------------------------------------------------------------- meshes

/** Displaced from the exact sphere, on which rounding alone would determine the creases. */
function spherical(subdivisions) {
  const { positions, triangles } = icosphere(subdivisions);
  return { positions: perturb(positions), triangles, place: { center: [0, 0, 0], radius: 1 }, notes: [] };
}

/** Solved and drawn around the origin at size 1; `place` maps back. */
function fromObj(text) {
  const { positions, triangles, notes } = parseObj(text);
  const place = boundingSphere(positions);
  return { positions: intoUnitSphere(positions, place), triangles, place, notes };
}

const toObj = ({ triangles, place }, positions) => writeObj({ positions: outOfUnitSphere(positions, place), triangles }, 'made developable by residua');

function showMesh(next) {
  mesh = next;
  viewer.setMesh(mesh);
  plot.clear();
  element('progress').textContent = `${(mesh.positions.length / 3).toLocaleString('en-US')} vertices, ${(mesh.triangles.length / 3).toLocaleString('en-US')} triangles.`;
  showNotes(mesh.notes);
  showFailure(null);
}

// ---------------------------------------------------------------- what the page shows

function showFailure(message) {
  element('failure').hidden = message === null;
  element('failure').textContent = message ?? '';
}

function showNotes(notes) {
  element('notes').hidden = notes.length === 0;
  element('notes').replaceChildren(...notes.map((note) => Object.assign(document.createElement('li'), { textContent: note })));
}

function addRun(figures, form) {
  const body = element('runs');
  if (body.querySelector('[colspan]') !== null) body.replaceChildren();
  const count = (value) => value.toLocaleString('en-US');
  const cells = [
    figures.backend.toUpperCase(), figures.adapter, form, count(figures.vertices), count(figures.residuals), count(figures.kernels), figures.compileMs.toFixed(0),
    count(figures.iterations), figures.initialCost.toPrecision(6), figures.finalCost.toPrecision(6), figures.totalMs.toFixed(0), figures.evaluationMs.toFixed(2),
  ];
  const row = body.insertRow();
  for (const cell of cells) row.insertCell().textContent = cell;
}

/** Sets the viewer's device, shows its status, and handles its loss. */
async function findGpu() {
  const status = await webGpuStatus(openContext);
  context = status.context;
  showStatus(element('status'), status);
  viewer.useDevice(context?.device ?? null);
  context?.lost.then(({ reason, message }) => {
    if (status.context !== context) return;
    context = null;
    showStatus(element('status'), { state: 'bad', sentences: [`The GPU device was lost (${reason}): ${message}`, 'The next run on the GPU asks for a new one.'] });
    viewer.useDevice(null);
  });
}

// ---------------------------------------------------------------- runs

/** Solves for a mesh and shows the result. `live` also shows intermediate states, which costs time. */
async function solve(chosen, { backend, form, iterations, signal, onProgress, live }) {
  const { makeDevelopable } = await solving;
  if (backend === 'gpu' && context === null) await findGpu();
  let shown = 0;
  plot.start(backend, SERIES[backend]);
  const run = await makeDevelopable(chosen, {
    backend, form, iterations, signal,
    onCompiling: (done, total, stage) => onProgress?.(`compiling: ${stage} (${done} of ${total})`),
    onStart: ({ functions, positions }) => {
      if (!live) return;
      viewer.setPositions(positions);
      if (functions.parameterBuffer !== null && context !== null) viewer.drawFrom(functions.parameterBuffer);
    },
    onIteration: ({ iteration, cost }) => {
      plot.add(backend, iteration, cost);
      onProgress?.({ iteration, cost });
      if (live && iteration > shown) {
        shown = iteration;
        viewer.requestDraw();
      }
    },
    // The viewer must release the solver's buffer before it is destroyed.
    onEnd: (positions) => viewer.setPositions(positions),
  });
  addRun(run.figures, form);
  lastRun = { mesh: chosen, before: run.before, after: run.after };
  return { ...run, notes: [...chosen.notes, ...run.notes], obj: toObj(chosen, run.after) };
}

/** The action of Run. */
async function runFromPage() {
  const choice = new FormData(controls);
  const iterations = element('iterations').valueAsNumber;
  running = new AbortController();
  setRunning(true);
  showFailure(null);
  const progress = element('progress');
  try {
    const run = await solve(mesh, {
      backend: choice.get('backend'), form: choice.get('form'), iterations, signal: running.signal, live: true,
      onProgress: (now) => {
        progress.textContent = typeof now === 'string' ? now : `Iteration ${now.iteration} of ${iterations}, cost ${now.cost.toPrecision(6)}`;
      },
    });
    const { initialCost, finalCost, iterations: done } = run.figures;
    setRunning(false);
    progress.textContent = `${run.termination === 'aborted' ? 'Stopped' : 'Done'}: cost from ${initialCost.toPrecision(6)} to ${finalCost.toPrecision(6)} in ${done} iterations.`;
    showNotes(run.notes);
    offerToSave(run.obj);
  } catch (error) {
    setRunning(false);
    progress.textContent = error.code === 'aborted' ? 'Stopped while compiling.' : 'The run failed.';
    if (error.code !== 'aborted') showFailure(error.message);
    viewer.setPositions(mesh.positions);
  } finally {
    running = null;
  }
}

function setRunning(now) {
  const [run, stop] = [element('run'), element('stop')];
  const focused = document.activeElement;
  run.disabled = now;
  stop.disabled = !now;
  for (const input of controls.querySelectorAll('select, input')) input.disabled = now;
  // A disabled button loses keyboard focus.
  if (focused === run && now) stop.focus();
  if (focused === stop && !now) run.focus();
  // Assistive technology announces the result, not every iteration.
  element('progress').setAttribute('aria-live', now ? 'off' : 'polite');
}

function offerToSave(obj) {
  const link = element('save');
  if (link.href !== '') URL.revokeObjectURL(link.href);
  link.href = URL.createObjectURL(new Blob([obj], { type: 'model/obj' }));
  link.hidden = false;
}

async function chooseFile(file) {
  try {
    showMesh(fromObj(await file.text()));
    const choice = element('file-choice');
    choice.hidden = false;
    choice.textContent = file.name;
    element('mesh').value = 'file';
  } catch (error) {
    showFailure(`${file.name}: ${error.message}`);
  }
}

// ---------------------------------------------------------------- initialisation

controls.addEventListener('submit', (event) => {
  event.preventDefault();
  if (running === null) runFromPage();
});
element('stop').addEventListener('click', () => running?.abort());
element('mesh').addEventListener('change', ({ target }) => {
  if (target.value !== 'file') showMesh(spherical(Number(target.value)));
  element('file-choice').hidden = target.value !== 'file';
});
element('file').addEventListener('change', ({ target }) => target.files.length > 0 && chooseFile(target.files[0]));
const dropZone = element('viewer');
dropZone.addEventListener('dragover', (event) => {
  event.preventDefault();
  dropZone.classList.add('dropping');
});
dropZone.addEventListener('dragleave', () => dropZone.classList.remove('dropping'));
dropZone.addEventListener('drop', (event) => {
  event.preventDefault();
  dropZone.classList.remove('dropping');
  if (running === null && event.dataTransfer.files.length > 0) chooseFile(event.dataTransfer.files[0]);
});

const ready = (async () => {
  try {
    await solving;
    await findGpu();
  } catch (error) {
    showStatus(element('status'), { state: 'bad', sentences: [`residua could not be loaded: ${error.message}`, 'cargo xtask serve builds it and serves it beside these pages.'] });
    viewer.useDevice(null);
    throw error;
  } finally {
    showMesh(spherical(STANDARD_SUBDIVISIONS));
  }
  if (context === null) controls.elements.backend.value = 'cpu';
  element('run').disabled = false;
})();
ready.catch(() => {});

window.residuaDemo = {
  /**
   * One run without drawing in between. `onProgress` gets text while compiling and `{ iteration, cost }` while solving.
   * @param {{ obj?: string | null, backend: 'gpu' | 'cpu', iterations?: number, form?: 'problem' | 'params', onProgress?: (now: string | {
   *   iteration: number, cost: number }) => void }} options
   *   `obj`: the text of an OBJ file; without it the icosphere of 2,562 vertices
   */
  async run({ obj = null, backend, iterations = 200, form = 'problem', onProgress }) {
    await ready;
    const chosen = obj === null ? spherical(STANDARD_SUBDIVISIONS) : fromObj(obj);
    showMesh(chosen);
    const run = await solve(chosen, { backend, form, iterations, onProgress, live: false });
    showNotes(run.notes);
    return { figures: run.figures, obj: run.obj, notes: run.notes };
  },
  /** The mesh before or after the last run as a PNG data URL. */
  async render(which) {
    if (lastRun === null) throw new Error('render: there has been no run');
    if (which !== 'before' && which !== 'after') throw new Error(`render: which is ${JSON.stringify(which)}; it takes 'before' or 'after'`);
    const { triangles } = lastRun.mesh;
    return viewer.toPng({ positions: lastRun[which], triangles }, { frame: { positions: lastRun.before } });
  },
};
