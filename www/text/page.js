/**
 * The page of text generation: loads a decoder from a GGUF file and shows the tokens as they come.
 *
 * `?backend=gpu|cpu` chooses the engine, `?model=ADDRESS` the file, `?tokens=N` how many tokens at most, `?temperature=T`, `?auto` writes at once. `window.residuaText` has `state()`:
 * `{ backend, model, ready, writing, ids, text, tokensASecond, firstMs, failure }`, where `ids` are the tokens that were written.
 */
import { Tokenizer } from '@huggingface/tokenizers';
import { compileDecoder, ggufTokenizer, loadDecoder } from 'residua/tensor/models';
import { chosenEngine, element, engineOf, engineWords, fetched, onEngine, onFiles, openDevice, showFailure, showProgress, Work } from '../models/engine.js';

const query = new URLSearchParams(location.search);
const SMALL = { name: 'the small model of this page', open: (signal) => fetched(new URL('../small-decoder/model.gguf', import.meta.url).href, signal) };

const state = { backend: null, model: null, ready: false, writing: false, ids: [], text: '', tokensASecond: null, firstMs: null, failure: null };
window.residuaText = { state: () => structuredClone(state), device: () => device };

let device, decoder, tokenizer, model;
/** Where the model comes from: a name, and a function that opens it, again after a loss, and takes a signal. */
let source = SMALL;
let isStopping = false;
const work = new Work(fail);

function fail(error) {
  showProgress();
  Object.assign(state, { writing: false, failure: showFailure(error) });
  element('again').hidden = state.ready;
  if (!state.ready) element('note').textContent = 'No model is loaded.';
  showButtons();
}

function showButtons() {
  element('write').disabled = !state.ready || state.writing;
  element('stop').disabled = !state.writing;
}

/** Opens the device, loads the model and compiles it. */
async function begin(backend, signal) {
  Object.assign(state, { ready: false, failure: showFailure(null) });
  element('again').hidden = true;
  showButtons();
  showProgress(0, 0);
  element('note').textContent = `Loading ${source.name}…`;
  decoder = undefined;
  device?.dispose();
  const opened = await openDevice(backend, (lost, words) => {
    if (lost !== device) return;
    state.ready = false;
    isStopping = true;
    fail(new Error(words));
  });
  device = opened;
  model = await loadDecoder(await source.open(signal), { device: opened, onProgress: showProgress, signal });
  showProgress();
  tokenizer = ggufTokenizer(model.metadata, Tokenizer);
  element('note').textContent = `Compiling ${source.name}…`;
  decoder = await compileDecoder(opened, model);
  Object.assign(state, { backend: opened.backend, model: source.name, ready: true });
  const { layers, heads, kvHeads } = model.settings;
  const bytes = opened.stats().tensorBytes;
  element('note').textContent = `Loaded ${source.name}: ${layers} layers, ${heads} heads, ${kvHeads} of keys and values, ${(bytes / 1e6).toFixed(1)} MB ${engineWords(opened)}; room for ${decoder.capacity} tokens.`;
  showButtons();
}

async function write() {
  const prompt = tokenizer.encode(element('prompt').value);
  const most = Math.max(1, Number(element('most').value) || 200);
  if (prompt.length === 0 || prompt.length >= decoder.capacity) throw new Error(`the beginning has ${prompt.length} tokens; it takes 1 to ${decoder.capacity - 1}`);
  Object.assign(state, { ids: [], text: '', tokensASecond: null, firstMs: null, failure: showFailure(null) });
  element('given').textContent = element('prompt').value;
  const began = performance.now();
  let first = began;
  for await (const id of decoder.generate(prompt, { temperature: Number(element('temperature').value), topP: Number(element('top-p').value) })) {
    if (isStopping) break;
    state.ids.push(id);
    if (state.ids.length === 1) [first, state.firstMs] = [performance.now(), performance.now() - began];
    else state.tokensASecond = (1000 * (state.ids.length - 1)) / (performance.now() - first);
    show();
    if (state.ids.length >= most) break;
  }
  show();
}

function show() {
  // A letter whose bytes have not all come is left out.
  state.text = tokenizer.decode(state.ids).replace(/\uFFFD+$/, '');
  element('written').textContent = state.text;
  element('count').textContent = String(state.ids.length);
  element('speed').textContent = state.tokensASecond === null ? '–' : state.tokensASecond.toFixed(1);
  element('first').textContent = state.firstMs === null ? '–' : `${state.firstMs.toFixed(0)} ms`;
}

/** Takes another model, or the same on another engine. */
function change(backend, from = source) {
  isStopping = true;
  source = from;
  return work.addLoad((signal) => begin(backend, signal));
}

element('writing').addEventListener('submit', (event) => {
  event.preventDefault();
  if (!state.ready || state.writing) return;
  [isStopping, state.writing] = [false, true];
  showButtons();
  work.add(async () => {
    try {
      await write();
    } finally {
      state.writing = false;
      showButtons();
    }
  });
});
element('stop').addEventListener('click', () => (isStopping = true));
element('again').addEventListener('click', () => change(chosenEngine()));
element('cancel').addEventListener('click', () => work.cancelLoad());
element('own').addEventListener('click', () => change(chosenEngine(), SMALL));
onFiles(([file]) => change(chosenEngine(), { name: file.name, open: async () => file }));
element('by-address').addEventListener('submit', (event) => {
  event.preventDefault();
  const address = element('address').value;
  change(chosenEngine(), { name: address, open: (signal) => fetched(address, signal) });
});
onEngine((backend) => change(backend));
for (const id of ['temperature', 'top-p']) {
  const tell = () => (element(`${id}-value`).textContent = Number(element(id).value).toFixed(2));
  element(id).addEventListener('input', tell);
  if (query.has(id)) element(id).value = query.get(id);
  tell();
}
if (query.has('tokens')) element('most').value = query.get('tokens');
const asked = query.get('model');
if (asked !== null) source = { name: asked, open: (signal) => fetched(new URL(asked, location.href).href, signal) };
change(engineOf(query)).then(() => query.has('auto') && state.ready && element('writing').requestSubmit());
