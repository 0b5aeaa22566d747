/**
 * The demos' page: the choice of a demo, its controls, status texts, and pointer, keyboard and file input. `window.residuaDemos` offers a
 * program the actions of a visitor.
 */
import { nameOf } from '../webgpu-status.js';
import { takeFiles } from './files.js';
import { Comparison } from './comparison.js';
import { Plots } from './plots.js';
import { askedFor, DEMOS } from './registry.js';
import { Shell } from './shell.js';
import { SourceDialog } from './source-dialog.js';

const element = (id) => document.getElementById(id);
const engineChoices = element('engines').querySelectorAll('input');

const plots = new Plots({ cost: element('cost-plot'), frames: element('frame-plot') });
const comparison = new Comparison({ body: element('comparison'), sentence: element('difference') });
const sourceDialog = new SourceDialog(element('source-dialog'));

/** The text of the last failure; for programs. */
let failure = null;
let said = '';
let entry = null;

const view = {
  say(text) {
    said = text;
    element('say').textContent = text;
  },
  fail(message) {
    failure = message;
    element('failure').hidden = message === null;
    element('failure').textContent = message ?? '';
  },
  engine(context, backend) {
    for (const choice of engineChoices) choice.checked = choice.value === backend;
    engineChoices[0].disabled = context === null;
    const { adapter } = context ?? {};
    element('engine-note').textContent = context === null
      ? `No WebGPU here (${shell.reason}): the CPU computes${shell.stage.renderer === null ? '' : ', and WebGL draws'}.`
      : adapter.isSoftware ? `${nameOf(adapter)}: a software renderer, many times slower than the CPU engine.` : nameOf(adapter);
  },
  iterations(backend, count, cost) {
    comparison.iterations(backend, count, cost);
    plots.addCost(backend, count, cost);
  },
  step: (backend, ms, iterations) => comparison.step(backend, ms, iterations),
  frame: (ms) => plots.addFrame(ms),
  clear() {
    plots.clear();
    comparison.clear();
  },
};

const picture = element('picture');
const shell = new Shell({ element: picture, panel: element('panel') }, view);

// ---------------------------------------------------------------- the choice

const byId = (id) => DEMOS.find((demo) => demo.id === id);

for (const { id, title } of DEMOS) element('demos').append(Object.assign(document.createElement('a'), { href: `?demo=${id}`, textContent: title, id: `demo-${id}` }));

async function open(id, backend) {
  const chosen = byId(id) ?? DEMOS[0];
  entry = chosen;
  for (const link of element('demos').children) {
    if (link.id === `demo-${chosen.id}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${chosen.title} · residua`;
  element('title').textContent = chosen.title;
  element('summary').textContent = chosen.summary;
  picture.setAttribute('aria-label', `${chosen.title}: the picture`);
  setControls(false);
  view.fail(null);
  view.say('Loading…');
  await shell.open(await chosen.load(), backend);
  const { demo } = shell;
  element('demo-keys').textContent = demo.keys ?? '';
  element('file-field').hidden = demo.files === undefined;
  if (demo.files !== undefined) {
    element('file').accept = demo.files.accept;
    element('file-label').textContent = demo.files.label;
  }
  setControls(true);
}

function setControls(enabled) {
  element('engines').disabled = !enabled;
  for (const id of ['pause', 'reset', 'source']) element(id).disabled = !enabled;
}

// ---------------------------------------------------------------- controls

for (const choice of engineChoices) choice.addEventListener('change', () => shell.useBackend(choice.value));
element('pause').addEventListener('click', () => setPaused(!shell.paused));
element('reset').addEventListener('click', () => shell.reset());
element('source').addEventListener('click', () => sourceDialog.open(entry.title, entry.source));

function setPaused(paused) {
  shell.pause(paused);
  element('pause').textContent = paused ? 'Go on' : 'Pause';
}

function readText(text, name) {
  view.fail(null);
  return shell.demo.files.read(text, name);
}

takeFiles({
  zone: picture, input: element('file'), accepts: () => shell.demo?.files ?? null,
  onFailure: (message) => view.fail(message),
  onText: readText,
});

// ---------------------------------------------------------------- pointer and keys

/** The pointer that a demo has captured. */
let taken = null;
/** The position and time of the press. */
let pressed = null;

/** A click may move and take this much. */
const STILL_PX = 4, CLICK_MS = 600;

picture.addEventListener('pointerdown', async (event) => {
  if (event.button !== 0 || taken !== null) return;
  pressed = { id: event.pointerId, x: event.clientX, y: event.clientY, at: performance.now() };
  const { pointer } = shell.demo ?? {};
  const answer = pointer?.down?.(event, shell.stage.pick(event)) ?? false;
  if (answer === false) return;
  // The result may take a moment, because picking reads positions from the device; until then the camera must not move.
  taken = event.pointerId;
  shell.stage.controls.enabled = false;
  try {
    picture.setPointerCapture(event.pointerId);
  } catch {
    // A synthetic event has no pointer to capture.
  }
  if ((await answer) !== true && taken === event.pointerId) release();
}, { capture: true });

picture.addEventListener('pointermove', (event) => {
  if (pressed?.id === event.pointerId && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > STILL_PX) pressed = null;
  if (taken === event.pointerId && pressed === null) shell.demo?.pointer.move(event, shell.stage.pick(event));
});
for (const kind of ['pointerup', 'pointercancel']) {
  picture.addEventListener(kind, (event) => {
    const { pointer } = shell.demo ?? {};
    if (taken === event.pointerId) {
      pointer?.up(event, shell.stage.pick(event));
      release();
    }
    if (kind === 'pointerup' && pressed?.id === event.pointerId && performance.now() - pressed.at < CLICK_MS) pointer?.click?.(event, shell.stage.pick(event));
    pressed = null;
  });
}

function release() {
  taken = null;
  shell.stage.controls.enabled = true;
}

const CAMERA_KEYS = {
  ArrowLeft: { left: 1 }, ArrowRight: { left: -1 }, ArrowUp: { up: 1 }, ArrowDown: { up: -1 }, '+': { nearer: 1.15 }, '=': { nearer: 1.15 }, '-': { nearer: 1 / 1.15 },
};
picture.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (shell.demo?.key?.(event) === true) event.preventDefault();
  else if (event.key in CAMERA_KEYS) {
    event.preventDefault();
    shell.stage.moveCamera(CAMERA_KEYS[event.key]);
  } else if (event.key === '0') shell.stage.firstView();
});

// ---------------------------------------------------------------- initialisation

const ready = (async () => {
  const { id, backend, wrong } = askedFor(new URLSearchParams(location.search));
  try {
    await shell.start();
    // A software adapter is used only when it is requested by name: the CPU engine is many times as fast.
    const { context } = shell.stage;
    await open(id, backend ?? byId(id)?.engine ?? (context?.adapter.isSoftware ? 'cpu' : 'gpu'));
    if (wrong !== null) view.fail(wrong);
  } catch (error) {
    view.fail(`The demo could not be opened: ${error.message}`);
    throw error;
  }
})();
ready.catch((error) => console.error(error));

window.residuaDemos = {
  /** Resolves when the page's demo is open. */
  ready,
  /** The demo's own object, the stage and the shell, for everything else. */
  get demo() {
    return shell.demo;
  },
  stage: shell.stage,
  shell,
  open: (id, backend = 'gpu') => open(id, backend),
  useBackend: (backend) => shell.useBackend(backend),
  pause: () => setPaused(true),
  goOn: () => setPaused(false),
  reset: () => shell.reset(),
  /** Sets a control of the panel, as the reader would, and waits for its effects. */
  async choose(property, value) {
    const controller = shell.stage.panel.controllersRecursive().find((candidate) => candidate.property === property);
    if (controller === undefined) throw new Error(`choose: the panel has no ${property}`);
    controller.setValue(value);
    await shell.between(async () => {});
  },
  /** Passes a file's text to the demo, as if it had been dropped. */
  read: (text, name = 'file') => readText(text, name),
  /** The page's status texts, with their numbers. */
  state() {
    return {
      id: entry?.id, backend: shell.stage.backend, frames: shell.frames, steps: shell.steps, losses: shell.losses, solving: shell.solving, said, failure,
      frameMs: plots.medianFrame(), engines: comparison.figures(), stats: shell.stage.context?.stats() ?? null, demo: shell.demo?.state() ?? null,
      drawsFromDevice: shell.stage.drawsFromDevice, renderer: shell.stage.renderer === null ? 'none' : shell.stage.renderer.backend.isWebGPUBackend === true ? 'webgpu' : 'webgl',
    };
  },
  /** Resolves when nothing is left to solve, or after a number of further steps. */
  async settled({ steps = Infinity, ms = 60000 } = {}) {
    const first = shell.steps, start = performance.now();
    while (shell.solving && shell.steps - first < steps) {
      if (performance.now() - start > ms) throw new Error(`settled: still solving after ${ms} ms`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  },
};
