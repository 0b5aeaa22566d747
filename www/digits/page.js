/**
 * The page of handwritten digits: trains while it is told to, in steps between which the page draws, and reads what is drawn.
 *
 * `?backend=gpu|cpu` chooses the engine, `?auto` trains at once, `?epochs=N` ends the training after N passes. `window.residuaDigits` has `state()`: `{ backend, steps, epochs, loss,
 * accuracy, reading, training }`, where `reading` is the digit that is read, or null, and `device()`.
 */
import { element, engineOf, engineWords, onEngine, openDevice, showFailure, Work } from '../models/engine.js';
import { load, PIXELS } from './data.js';
import { BATCH, Network } from './network.js';
import { Pad } from './pad.js';

const query = new URLSearchParams(location.search);
/** Steps between two looks at the loss: about a frame on a GPU, and a tenth of a second on a CPU. */
const STEPS_A_TURN = 4;

const state = { backend: null, steps: 0, epochs: 0, loss: null, accuracy: null, reading: null, training: false };
window.residuaDigits = { state: () => ({ ...state }), device: () => device };

/** Losses that are plotted: one of `stride` turns, so that a long training has no more than the plot can show. */
const curve = { losses: [], stride: 1, turns: 0 };
/** Half of the most losses that are kept. */
const PLOTTED = 400;
let digits, device, network;
/** Whether the digits are loaded or an engine is made: buttons wait for it. */
let busy = true;
/** Whether a read waits for what was begun before it. */
let willRead = false;
const work = new Work(fail);

function fail(error) {
  state.training = false;
  showFailure(error);
  showButtons();
}

function showButtons() {
  element('train').textContent = state.training ? 'Pause' : 'Train';
  for (const id of ['train', 'reset']) element(id).disabled = busy || network === undefined;
  // Where the first engine did not start, the other one can be chosen.
  element('engines').disabled = busy || digits === undefined;
  for (const id of ['clear', 'sample']) element(id).disabled = digits === undefined;
}

/** Shows which engine is in use; after a choice that could not be had, that is the one before. */
function showEngine() {
  for (const input of document.querySelectorAll('input[name=engine]')) input.checked = input.value === state.backend;
}

function plot(loss) {
  if (curve.turns++ % curve.stride !== 0) return;
  curve.losses.push(loss);
  if (curve.losses.length < 2 * PLOTTED) return;
  curve.losses = curve.losses.filter((_, i) => i % 2 === 0);
  curve.stride *= 2;
}

function showFigures(stepsASecond) {
  element('epoch').textContent = state.epochs.toFixed(1);
  element('loss').textContent = state.loss === null ? '–' : state.loss.toFixed(4);
  element('accuracy').textContent = state.accuracy === null ? '–' : `${(100 * state.accuracy).toFixed(1)} %`;
  if (stepsASecond !== undefined) element('speed').textContent = stepsASecond.toFixed(0);
  const { losses } = curve;
  const top = Math.log(Math.max(...losses, 1));
  const [low, width] = [Math.log(1e-3), Math.max(losses.length - 1, 1)];
  element('curve').setAttribute('points', losses.map((loss, i) => `${(400 * i) / width},${(120 * (top - Math.log(Math.max(loss, 1e-3)))) / (top - low)}`).join(' '));
}

/** Makes a device and a network with fresh weights. Those before serve until both are there: where an engine does not start, nothing changes. */
async function begin(backend) {
  const nextDevice = await openDevice(backend, (lost, words) => lost === device && fail(new Error(`${words} “Start over” takes a new device.`)));
  let next, accuracy;
  try {
    next = await Network.create(nextDevice, digits);
    accuracy = await next.accuracy();
  } catch (error) {
    nextDevice.dispose();
    throw error;
  }
  device?.dispose();
  [device, network] = [nextDevice, next];
  Object.assign(curve, { losses: [], stride: 1, turns: 0 });
  Object.assign(state, { backend: device.backend, steps: 0, epochs: 0, loss: null, accuracy });
  element('engine-note').textContent = `Runs ${engineWords(device)}.`;
  showFigures();
  await read();
}

/** Ends the training, and starts over on an engine. No button works until that is done. */
function startOver(backend) {
  state.training = false;
  busy = true;
  showFailure(null);
  showButtons();
  return work.add(() => begin(backend).finally(() => {
    busy = false;
    showEngine();
    showButtons();
  }));
}

async function train() {
  const last = Number(query.get('epochs') ?? Infinity);
  const stepsAnEpoch = digits.trained.count / BATCH;
  while (state.training && state.epochs < last) {
    const began = performance.now();
    state.loss = await network.train(STEPS_A_TURN);
    const before = Math.floor(state.epochs);
    Object.assign(state, { steps: network.steps, epochs: network.steps / stepsAnEpoch });
    plot(state.loss);
    if (Math.floor(state.epochs) > before || state.epochs >= last) state.accuracy = await network.accuracy();
    showFigures((1000 * STEPS_A_TURN) / (performance.now() - began));
    await read();
    await new Promise(requestAnimationFrame);
  }
  state.training = false;
  showButtons();
}

/** Reads what is drawn, and shows how likely each digit is. */
async function read() {
  willRead = false;
  const shares = pad.image === null || network === undefined ? null : await network.read(pad.image);
  const best = shares === null ? null : shares.indexOf(Math.max(...shares));
  state.reading = best;
  [...element('guesses').children].forEach((item, digit) => {
    item.classList.toggle('best', digit === best);
    item.querySelector('.share span').style.width = `${100 * (shares?.[digit] ?? 0)}%`;
    item.querySelector('.percent').textContent = shares === null ? '' : `${(100 * shares[digit]).toFixed(0)} %`;
  });
  element('reading').textContent = best === null ? 'Nothing is drawn yet.' : `It reads a ${best}.`;
}

const guess = (digit) => {
  const item = document.createElement('li');
  const parts = ['digit', 'share', 'percent'].map((name) => Object.assign(document.createElement('span'), { className: name }));
  parts[0].textContent = digit;
  parts[1].append(document.createElement('span'));
  item.append(...parts);
  return item;
};
element('guesses').append(...Array.from({ length: 10 }, (_, digit) => guess(digit)));

const pad = new Pad(element('pad'), () => {
  // During the training each turn reads. A read that waits takes what is drawn by then.
  if (state.training || willRead) return;
  willRead = true;
  work.add(read);
});
element('clear').addEventListener('click', () => pad.clear());
let shown = 0;
element('sample').addEventListener('click', () => {
  shown = (shown + 1) % digits.tested.count;
  pad.show(digits.tested.images.slice(shown * PIXELS, (shown + 1) * PIXELS));
});
element('train').addEventListener('click', () => {
  state.training = !state.training;
  showButtons();
  if (state.training) work.add(train);
});
element('reset').addEventListener('click', () => startOver(state.backend));
onEngine(startOver);

work.add(async () => {
  digits = await load();
  startOver(engineOf(query)).then(() => {
    if (query.has('auto') && network !== undefined) element('train').click();
  });
});
