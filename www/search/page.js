/**
 * The page of search by meaning: sentences of a text and a question become vectors of length 1, and the sentences are listed by their product with the question's.
 *
 * `?backend=gpu|cpu` chooses the engine, `?weights=ADDRESS&vocabulary=ADDRESS&config=ADDRESS` the files, `?auto` loads them at once. `window.residuaSearch` has `state()`: `{ backend, ready, busy, sentences,
 * found, milliseconds, failure }`, where `found` is a list of `{ sentence, score }`, the nearest first.
 */
import { Tokenizer } from '@huggingface/tokenizers';
import { compileEncoder, loadEncoder, wordPieceTokenizer } from 'residua/tensor/models';
import { chosenEngine, element, engineOf, engineWords, fetched, onEngine, onFiles, openDevice, showFailure, showProgress, Work } from '../models/engine.js';
import { SAMPLE, sentencesOf } from './sentences.js';

const query = new URLSearchParams(location.search);
const HUB = 'https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main/';
/** What the model's config.json says. */
const MINILM = {
  model_type: 'bert', num_hidden_layers: 6, num_attention_heads: 12, hidden_size: 384, max_position_embeddings: 512, layer_norm_eps: 1e-12, hidden_act: 'gelu',
};
/** The most tokens of a sentence that this model was trained for. */
const TOKENS = 256;
/** How many sentences are listed. */
const LISTED = 10;

const state = { backend: null, ready: false, busy: false, sentences: 0, found: [], milliseconds: null, failure: null };
window.residuaSearch = { state: () => structuredClone(state), device: () => device };

let device, encoder, tokenizer;
/** Functions that open the files and take a signal, kept for another engine and for a device that was lost; null before the first. */
const source = { weights: null, vocabulary: null, config: async () => MINILM };
/** Vectors of sentences that were encoded before. */
let known = new Map();
const work = new Work(fail);

function fail(error) {
  showProgress();
  state.failure = showFailure(error);
  element('again').hidden = state.ready || source.weights === null;
  if (!state.ready) element('note').textContent = 'The encoder is not loaded.';
  element('told').textContent = '';
  setBusy(false);
}

function setBusy(busy) {
  state.busy = busy;
  element('search').disabled = busy || !state.ready;
  element('load').disabled = busy;
}

/** Opens the device, loads the weights and the word pieces, and compiles the encoder. */
async function begin(backend, signal) {
  Object.assign(state, { ready: false, failure: showFailure(null), found: [] });
  setBusy(true);
  element('again').hidden = true;
  showProgress(0, 0);
  element('note').textContent = 'Loading the encoder…';
  device?.dispose();
  known = new Map();
  const opened = await openDevice(backend, (lost, words) => {
    if (lost !== device) return;
    state.ready = false;
    fail(new Error(words));
  });
  device = opened;
  tokenizer = wordPieceTokenizer(await (await source.vocabulary(signal)).text(), Tokenizer);
  const config = await source.config(signal);
  const model = await loadEncoder(await source.weights(signal), { device: opened, config, onProgress: showProgress, signal });
  showProgress();
  element('note').textContent = 'Compiling the encoder…';
  encoder = await compileEncoder(opened, model, { tokens: Math.min(TOKENS, model.settings.context) });
  Object.assign(state, { backend: opened.backend, ready: true });
  element('note').textContent = `The encoder is ready, ${engineWords(opened)}: ${(opened.stats().tensorBytes / 1e6).toFixed(0)} MB of weights.`;
  setBusy(false);
}

/** The vectors of sentences; those that are new are encoded. */
async function vectorsOf(sentences) {
  const fresh = [...new Set(sentences)].filter((sentence) => !known.has(sentence));
  const ids = fresh.map((sentence) => tokenizer.encode(sentence, encoder.tokens));
  const vectors = await encoder.encode(ids, (done) => (element('told').textContent = `${done} of ${fresh.length} sentences…`));
  fresh.forEach((sentence, at) => known.set(sentence, vectors[at]));
  return sentences.map((sentence) => known.get(sentence));
}

async function search() {
  const [sentences, question] = [sentencesOf(element('text').value), element('question').value.trim()];
  if (sentences.length === 0) throw new Error('there is no text to search');
  const began = performance.now();
  const [asked, ...vectors] = await vectorsOf([question, ...sentences]);
  const scores = vectors.map((vector) => vector.reduce((sum, x, k) => sum + x * asked[k], 0));
  const order = scores.map((_, index) => index).sort((a, b) => scores[b] - scores[a]);
  Object.assign(state, { sentences: sentences.length, milliseconds: performance.now() - began, found: order.slice(0, LISTED).map((index) => ({ sentence: sentences[index], score: scores[index] })) });
  element('told').textContent = `${sentences.length} sentences in ${state.milliseconds.toFixed(0)} ms.`;
  element('found').replaceChildren(...state.found.map(({ sentence, score }) => {
    const item = document.createElement('li');
    item.append(Object.assign(document.createElement('span'), { className: 'score', textContent: score.toFixed(2) }), ` ${sentence}`);
    return item;
  }));
}

const load = (backend = chosenEngine()) => work.addLoad((signal) => begin(backend, signal));

/** Takes files: safetensors are the weights, a text the word pieces, JSON what the model is. What is missing comes from its address. */
function takeFiles(files) {
  for (const file of files) {
    if (file.name.endsWith('.json')) source.config = async () => JSON.parse(await file.text());
    else source[file.name.endsWith('.txt') ? 'vocabulary' : 'weights'] = async () => file;
  }
  if (source.weights === null) {
    element('told').textContent = 'Word pieces are there; weights (model.safetensors) are missing.';
    return;
  }
  source.vocabulary ??= (signal) => fetched(element('vocabulary').value, signal);
  load();
}

element('by-address').addEventListener('submit', (event) => {
  event.preventDefault();
  const [weights, vocabulary] = [element('address').value, element('vocabulary').value];
  Object.assign(source, { weights: (signal) => fetched(weights, signal), vocabulary: (signal) => fetched(vocabulary, signal) });
  load();
});
onFiles(takeFiles);
element('cancel').addEventListener('click', () => work.cancelLoad());
element('again').addEventListener('click', () => load());
onEngine((backend) => source.weights !== null && load(backend));
element('searching').addEventListener('submit', (event) => {
  event.preventDefault();
  if (!state.ready || state.busy) return;
  state.failure = showFailure(null);
  setBusy(true);
  work.add(async () => {
    await search();
    setBusy(false);
  });
});

const address = (name, file) => new URL(query.get(name) ?? HUB + file, location.href).href;
element('address').value = address('weights', 'model.safetensors');
element('vocabulary').value = address('vocabulary', 'vocab.txt');
element('text').value = SAMPLE;
const engine = engineOf(query);
if (engine !== 'auto') document.querySelector(`input[name=engine][value=${engine}]`).checked = true;
if (query.has('config')) source.config = async (signal) => (await fetched(new URL(query.get('config'), location.href).href, signal)).json();
if (query.has('auto')) element('by-address').requestSubmit();
