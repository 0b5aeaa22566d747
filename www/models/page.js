/**
 * The page of models of ONNX and TensorFlow.js: lists what a file has, runs it on both engines with made inputs, compares them, and times its layers.
 *
 * `?model=ADDRESS` loads a file in place of the small net, `?engines=cpu` leaves the GPU out. `window.residuaModels.state()` is for programs:
 * `{ name, busy, ended, failure, inputs, outputs, engines, difference, layers }`; `ended` counts the loads, runs and timings that came to an end.
 */
import { make } from '../make.js';
import { Device } from 'residua/tensor';
import { nameOf } from '../webgpu-status.js';
import { element, fetched, onFiles, showFailure, Work } from './engine.js';
import { exampleFile } from './example.js';
import { difference, madeNumbers, openModel, openSizes, operatorOf, refusedBy, runLayers, runWhole, scalarsOf, sizesOf } from './runs.js';

const query = new URLSearchParams(location.search);
const NAMES = { cpu: 'CPU', gpu: 'GPU' };

const state = { name: null, busy: true, ended: 0, failure: null, inputs: [], outputs: [], engines: {}, difference: null, layers: [] };
window.residuaModels = { state: () => structuredClone({ ...state, layers: state.layers.map(({ operator, name, cpu, gpu, apart, isRefused = false }) => ({ operator, name, cpu: summary(cpu), gpu: summary(gpu), apart, isRefused })) }) };

const summary = (layer) => (layer === undefined ? null : { ms: layer.ms ?? null, shape: layer.shape ?? null, failure: layer.failure ?? null, isConstant: layer.isConstant === true });

/** The file: its name, what it has, and what it was opened as. */
let source = null, info = null, open = new Map(), scalars = new Map();
/** Devices by engine, and why there is none. */
const devices = {}, reasons = {};
const work = new Work(fail);

const cell = (textContent, className = '') => make('td', { textContent, className });
const number = (value, digits = 3) => cell(value === null || value === undefined ? '–' : value === 0 ? '0' : Number(value.toPrecision(digits)).toLocaleString('en-US', { maximumSignificantDigits: digits }), 'number');
const small = (value) => cell(value === null || value === undefined ? '–' : value === 0 ? '0' : value.toExponential(1), 'number');

function setBusy(busy) {
  if (state.busy && !busy) state.ended++;
  state.busy = busy;
  element('run').disabled = element('time').disabled = busy || info === null;
  element('cancel').hidden = !busy;
}

function fail(error) {
  state.failure = showFailure(error);
  element('note').textContent = source === null ? 'No file is loaded.' : `${source.name} was read up to here.`;
  setBusy(false);
}

/** Opens both devices, the first time. */
async function openDevices() {
  for (const backend of Object.keys(NAMES)) {
    if (devices[backend] !== undefined || reasons[backend] !== undefined) continue;
    if (backend === 'gpu' && query.get('engines') === 'cpu') reasons.gpu = 'The address leaves it out.';
    else {
      try {
        const device = (devices[backend] = await Device.create({ backend }));
        device.lost.then(({ message }) => {
          if (devices[backend] === device) delete devices[backend];
          fail(new Error(`The device of the ${NAMES[backend]} was lost: ${message || 'no reason is given'}. The next run asks for another.`));
        });
      } catch (error) {
        reasons[backend] = error.message;
      }
    }
  }
}

// ---------------------------------------------------------------- the file

async function load({ name, bytes, external }, signal) {
  Object.assign(state, { name, failure: showFailure(null), engines: {}, difference: null, inputs: [], outputs: [], layers: [] });
  source = { name };
  info = null;
  for (const id of ['values', 'engines', 'layers', 'sizes']) element(id).replaceChildren();
  element('difference').textContent = element('operators').textContent = '';
  setBusy(true);
  element('note').textContent = `Reading ${name}…`;
  const file = await openModel(bytes, external);
  showLayers(file);
  await openDevices();
  const model = await file.load(devices.cpu, signal).catch((error) => {
    const refused = refusedBy(error, file.nodes, file.isOnnx);
    if (refused === null) throw error;
    showRefused(refused.operators);
    throw Object.assign(new Error(refused.words), { code: error.code });
  });
  const { inputs, outputs } = model;
  model.dispose();
  info = { file, inputs, outputs };
  const plain = ({ name: value, type, shape }) => ({ name: value, type, shape });
  Object.assign(state, { inputs: inputs.map(plain), outputs: outputs.map(plain) });
  showValues();
  const weights = `${(file.size / 1e6).toFixed(file.size < 1e6 ? 2 : 1)} MB`;
  const opsets = file.opsets.map(({ domain, version }) => `${domain === '' ? 'ONNX' : domain} ${version}`).join(', ');
  const parts = file.isOnnx ? `nodes, ${file.initializers.size} initialisers, ${weights}, opsets ${opsets}` : `layers or nodes, ${file.initializers.size} weights, ${weights}`;
  element('note').textContent = `${name}: ${file.nodes.length} ${parts}${file.producer === '' ? '' : `, written by ${file.producer}`}.`;
}

function showValues() {
  const shapeText = (shape) => (shape === null ? 'any' : `[${shape.map((size) => (size === '' ? '?' : size)).join(', ')}]`);
  const row = (what) => ({ name, type, shape }) => make('tr', {}, make('th', { scope: 'row', textContent: name }), cell(what), cell(type), cell(shapeText(shape)));
  element('values').replaceChildren(...info.inputs.map(row('input')), ...info.outputs.map(row('output')));
  open = openSizes(info.inputs);
  scalars = new Map(scalarsOf(info.inputs).map(({ name }) => [name, 1]));
  const field = (words, numbers, limits) => ([name, value]) => {
    const input = make('input', { type: 'number', required: true, value, ...limits });
    input.addEventListener('input', () => numbers.set(name, input.valueAsNumber));
    return make('label', {}, `${words} ${name} `, input);
  };
  element('sizes').replaceChildren(...[...open].map(field('Size of', open, { min: 1, max: 1e7, step: 1 })), ...[...scalars].map(field('Value of', scalars, { step: 'any' })));
}

function showLayers(file) {
  const versions = new Map(file.opsets.map(({ domain, version }) => [domain, version]));
  state.layers = file.nodes.map((node) => ({ operator: operatorOf(node), name: node.name || node.outputs[0] || '', opset: file.isOnnx ? (versions.get(node.domain) ?? 1) : null }));
  const counts = new Map();
  for (const { operator } of state.layers) counts.set(operator, (counts.get(operator) ?? 0) + 1);
  element('operators').textContent = [...counts].sort(([, a], [, b]) => b - a).map(([operator, count]) => (count === 1 ? operator : `${operator} × ${count}`)).join(', ');
  element('layers').replaceChildren(...state.layers.map((_, index) => layerRow(index)));
}

/** Marks the layers whose operators are not taken. */
function showRefused(operators) {
  for (const [index, layer] of state.layers.entries()) {
    if (!operators.has(layer.operator)) continue;
    layer.isRefused = true;
    element('layers').children[index].replaceWith(layerRow(index));
  }
}

function layerRow(index) {
  const { operator, name, opset, cpu, gpu, apart, isRefused } = state.layers[index];
  const known = cpu ?? gpu, failure = isRefused ? 'not taken' : (cpu?.failure ?? gpu?.failure);
  const time = (layer) => (layer?.ms === undefined ? cell('–', 'number') : number(layer.ms));
  const shape = failure !== undefined ? cell(failure, 'refused') : cell(known?.isConstant ? 'constant' : known?.shape === undefined ? '' : `[${known.shape.join(', ')}]`);
  return make('tr', {}, number(index + 1, 7), make('th', { scope: 'row', textContent: operator }), cell(name), number(opset), shape, time(cpu), time(gpu), small(apart));
}

// ---------------------------------------------------------------- runs

function madeFeeds() {
  return Object.fromEntries(info.inputs.map((input, k) => {
    const shape = sizesOf(input, open);
    return [input.name, { data: scalars.has(input.name) ? [scalars.get(input.name)] : madeNumbers(input, shape, k + 1), shape }];
  }));
}

/** Calls `use(backend, device)` for each engine that there is. */
async function onEngines(use) {
  await openDevices();
  for (const backend of Object.keys(NAMES)) if (devices[backend] !== undefined) await use(backend, devices[backend]);
}

async function run(signal) {
  state.failure = showFailure(null);
  setBusy(true);
  const feeds = madeFeeds(), found = {};
  await onEngines(async (backend, device) => {
    element('difference').textContent = `Running on the ${NAMES[backend]}…`;
    found[backend] = await runWhole(device, info.file.load, feeds, { signal });
    const { loadMs, firstMs, runMs, bytes } = found[backend];
    state.engines[backend] = { loadMs, firstMs, runMs };
    const adapter = device.gpu?.adapterInfo;
    const row = make('tr', {}, make('th', { scope: 'row', textContent: `${NAMES[backend]}${backend === 'cpu' ? ', WebAssembly' : adapter === undefined ? '' : `, ${nameOf(adapter)}`}` }), number(loadMs), number(firstMs), number(runMs), number(bytes / 1e6));
    row.dataset.engine = backend;
    element('engines').querySelector(`[data-engine=${backend}]`)?.remove();
    element('engines').append(row);
  });
  if (found.cpu === undefined || found.gpu === undefined) {
    element('difference').textContent = `One engine alone: ${reasons.gpu ?? reasons.cpu}`;
    return;
  }
  const lines = found.cpu.outputs.map(({ name, numbers }, k) => ({ name, ...difference(numbers, found.gpu.outputs[k].numbers) }));
  state.difference = lines;
  element('difference').textContent = lines.map(({ name, difference: apart, largest }) => `${name}: the engines are at most ${apart.toExponential(2)} apart, where numbers go up to ${Number(largest.toPrecision(3))}.`).join(' ');
}

async function time(signal) {
  state.failure = showFailure(null);
  setBusy(true);
  const feeds = madeFeeds();
  state.layers = state.layers.map(({ operator, name, opset }) => ({ operator, name, opset }));
  await onEngines((backend, device) => runLayers(device, info.file, feeds, { signal, onLayer: (index, layer) => {
    const known = state.layers[index];
    known[backend] = layer;
    if (known.cpu?.numbers !== undefined && known.gpu?.numbers !== undefined) {
      known.apart = difference(known.cpu.numbers, known.gpu.numbers).difference;
      // The numbers of all layers would fill memory.
      delete known.cpu.numbers;
      delete known.gpu.numbers;
    } else if (devices.gpu === undefined) delete layer.numbers;
    element('layers').children[index].replaceWith(layerRow(index));
    element('difference').textContent = `Layers on the ${NAMES[backend]}: ${index + 1} of ${state.layers.length}.`;
  } }));
}

/** Work that ends idle, whether it succeeds or not. */
const begin = (piece) => work.addLoad(async (signal) => {
  await piece(signal);
  setBusy(false);
});

const take = (opened) => begin(async (signal) => {
  setBusy(true);
  await load(await opened(signal), signal);
  await run(signal);
});

const own = async () => ({ name: 'The small net', bytes: exampleFile() });
const atAddress = (address) => async (signal) => {
  element('note').textContent = `Fetching ${address}…`;
  const response = await fetched(address, signal);
  return {
    name: new URL(address).pathname.split('/').at(-1), bytes: new Uint8Array(await response.arrayBuffer()),
    external: async (location) => (await fetched(new URL(location, address).href, signal)),
  };
};

onFiles((files) => {
  const model = files.find(({ name }) => name.endsWith('.onnx')) ?? files.find(({ name }) => name === 'model.json') ?? files.find(({ name }) => name.endsWith('.json')) ?? files[0];
  take(async () => ({
    name: model.name, bytes: new Uint8Array(await model.arrayBuffer()),
    external: (location) => {
      const name = location.split('/').at(-1), found = files.find((file) => file.name === name);
      if (found === undefined) throw new Error(`The file has data in “${location}”: choose or drop both together.`);
      return found;
    },
  }));
});
element('by-address').addEventListener('submit', (event) => {
  event.preventDefault();
  take(atAddress(element('address').value));
});
element('own').addEventListener('click', () => take(own));
element('cancel').addEventListener('click', () => work.cancelLoad());
element('running').addEventListener('submit', (event) => {
  event.preventDefault();
  if (!state.busy) begin(run);
});
element('time').addEventListener('click', () => begin(time));

// An address that is none fails as one that leads nowhere.
take(query.has('model') ? async (signal) => atAddress(new URL(query.get('model'), location.href).href)(signal) : own);
