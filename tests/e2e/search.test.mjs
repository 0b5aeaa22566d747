// The page of search by meaning: with an encoder that the test makes, both engines, files, an absent network and a lost device; with the weights of MiniLM, where they are, what it finds.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answer, launch, listen, url } from '../browser.mjs';
import { minilm } from '../language-models.mjs';
import { longTest } from '../tier.mjs';
import { CONFIG, madeEncoder, safetensors, VOCABULARY } from '../made-encoder.mjs';

const shots = fileURLToPath(new URL('../../target/test-screenshots/', import.meta.url));

let browser;
before(async () => void ([browser] = [await launch(), await mkdir(shots, { recursive: true })]));
after(() => browser.close());

const state = (page) => page.evaluate(() => window.residuaSearch.state());

/** Opens the page, where addresses have these files. `config` names that of what the model is; without it the page takes MiniLM's. */
async function open(query, weights = madeEncoder(), vocabulary = VOCABULARY.join('\n'), prepare = undefined, config = 'config=config.json') {
  const page = await browser.newPage();
  await prepare?.(page);
  const complaints = [];
  listen(page, complaints);
  await answer(page, { '/search/model.safetensors': { contentType: 'application/octet-stream', body: weights }, '/search/vocab.txt': { contentType: 'text/plain', body: vocabulary }, '/search/config.json': { contentType: 'application/json', body: JSON.stringify(CONFIG) } });
  await page.goto(new URL(`search/?weights=model.safetensors&vocabulary=vocab.txt&${config}&${query}`, url).href);
  return { page, complaints };
}

const settled = (page) => page.waitForFunction(() => {
  const { ready, busy, failure } = window.residuaSearch?.state() ?? {};
  return typeof failure === 'string' || (ready && !busy);
}, { timeout: 240_000 });

async function search(page, question, text = null) {
  await page.evaluate((question, text) => {
    document.getElementById('question').value = question;
    if (text !== null) document.getElementById('text').value = text;
    document.getElementById('search').click();
  }, question, text);
  await settled(page);
  return state(page);
}

/** Destroys the device, and waits until the page says so. */
async function lose(page) {
  await page.evaluate(() => window.residuaSearch.device().gpu.destroy());
  await page.waitForFunction(() => window.residuaSearch.state().failure !== null, { timeout: 60_000 });
  assert.match((await state(page)).failure, /The GPU was lost \(destroyed\)/);
}

const TEXT = 'The cat sleeps on the mat. A dog runs in the park. Rain falls on the city.';

test('nothing is loaded before the visitor asks', { timeout: 60_000 }, async () => {
  const { page, complaints } = await open('');
  const { ready, busy } = await state(page);
  assert.deepEqual([ready, busy], [false, false]);
  assert.match(await page.$eval('#load', ({ textContent }) => textContent), /91 MB/);
  assert.equal(await page.$eval('#search', ({ disabled }) => disabled), true);
  assert.deepEqual(complaints, []);
  await page.close();
});

test('a sentence that is asked for is found first on the GPU; after the device was lost it has the same scores on the CPU', { timeout: 400_000 }, async () => {
  const { page, complaints } = await open('backend=gpu&auto');
  await settled(page);
  const onGpu = await search(page, 'A dog runs in the park.', TEXT);
  assert.deepEqual([onGpu.failure, onGpu.backend, onGpu.sentences], [null, 'gpu', 3]);
  assert.equal(onGpu.found[0].sentence, 'A dog runs in the park.');
  assert.ok(Math.abs(onGpu.found[0].score - 1) < 1e-5);
  assert.equal((await page.$$('#found li')).length, 3);
  await page.screenshot({ path: `${shots}search.png` });
  await lose(page);
  await page.locator('input[name=engine][value=cpu]').click();
  await page.waitForFunction(() => window.residuaSearch.state().backend === 'cpu' && window.residuaSearch.state().ready, { timeout: 240_000 });
  const onCpu = await search(page, 'A dog runs in the park.');
  assert.equal(onCpu.failure, null);
  // One layer in single precision.
  onGpu.found.forEach(({ sentence, score }, k) => assert.ok(sentence === onCpu.found[k].sentence && Math.abs(score - onCpu.found[k].score) < 1e-4, `${sentence}: ${score}`));
  assert.deepEqual(complaints, []);
  await page.close();
});

test('an address that does not answer is told, and so are weights of another model', { timeout: 120_000 }, async () => {
  const { page } = await open('backend=cpu');
  await page.evaluate(() => {
    document.getElementById('address').value = 'http://127.0.0.1:9/model.safetensors';
    document.getElementById('by-address').requestSubmit();
  });
  await settled(page);
  assert.match((await state(page)).failure, /127\.0\.0\.1:9\/model\.safetensors could not be fetched: .*A file from your disk works without a network\./);
  await page.close();
  const other = await open('backend=cpu&auto', safetensors({ 'embeddings.other': { shape: [1], numbers: Float32Array.of(1) } }));
  await settled(other.page);
  assert.match((await state(other.page)).failure, /tensor "embeddings\.word_embeddings\.weight": got none/);
  await other.page.close();
});

test('without an adapter the encoder runs on the CPU, and the page says why', { timeout: 120_000 }, async () => {
  const { page, complaints } = await open('', undefined, undefined, (page) => page.evaluateOnNewDocument(() => Object.defineProperty(navigator.gpu, 'requestAdapter', { value: async () => null })));
  await page.locator('#load').click();
  await settled(page);
  const { backend, failure } = await state(page);
  assert.deepEqual([backend, failure], ['cpu', null]);
  assert.match(await page.$eval('#note', ({ textContent }) => textContent), /on the CPU, in WebAssembly \(.+\)/);
  assert.deepEqual(complaints, []);
  await page.close();
});

longTest('a new device on the GPU takes the place of one that was lost', { timeout: 400_000 }, async () => {
  const { page } = await open('backend=gpu&auto');
  await settled(page);
  await lose(page);
  await page.locator('#again').click();
  await page.waitForFunction(() => window.residuaSearch.state().ready, { timeout: 240_000 });
  const { failure, found, backend } = await search(page, 'Rain falls on the city.', TEXT);
  assert.deepEqual([failure, backend], [null, 'gpu']);
  assert.equal(found[0].sentence, 'Rain falls on the city.');
  await page.close();
});

test('with the weights of MiniLM the sentence of the same meaning is found, which shares no word', { timeout: 400_000 }, async (t) => {
  const data = minilm(t);
  if (data === null) return;
  const { page, complaints } = await open('backend=cpu', undefined, undefined, undefined, '');
  await (await page.$('#file')).uploadFile(data.file, data.vocabulary);
  await settled(page);
  const { failure, found } = await search(page, 'my feline naps', TEXT);
  assert.equal(failure, null);
  assert.equal(found[0].sentence, 'The cat sleeps on the mat.');
  assert.ok(found[0].score > found[1].score + 0.1, JSON.stringify(found));
  assert.deepEqual(complaints, []);
  await page.close();
});
