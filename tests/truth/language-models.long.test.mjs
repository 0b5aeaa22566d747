// The decoder and the encoder of residua/tensor/models with real weights in a page, on the GPU: tokens, logits and embeddings beside references in double precision. On the CPU: tests/package/language-models.test.mjs.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { answer, browserName, launch, openBlankPage } from '../browser.mjs';
import { BY_F16_CACHE, compare, FILES, firstWrong, llama, minilm } from '../language-models.mjs';

/** Tokens of a prompt and sentences in the second browser. A software adapter compiles the kernels of a model for a minute: for every change the pages of tests/e2e run small ones on the GPU. */
const [FEW_TOKENS, FEW_SENTENCES] = [6, 4];

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** A page with the bytes of files at their addresses. */
async function open(files) {
  const blank = await openBlankPage(browser, { load: false });
  await answer(blank.page, Object.fromEntries(Object.entries(files).map(([path, body]) => [path, { contentType: 'application/octet-stream', body }])));
  return blank;
}

/** Loads the decoder of an address, and gives the tokens and the first logits of prompts. */
async function decode(address, prompts, count) {
  const { Device } = await import('residua/tensor');
  const { compileDecoder, loadDecoder } = await import('residua/tensor/models');
  const device = await Device.create({ backend: 'gpu' });
  try {
    const decoder = await compileDecoder(device, await loadDecoder(fetch(address), { device }));
    const found = [];
    for (const ids of prompts) {
      const tokens = [];
      for await (const token of decoder.generate(ids, { temperature: 0 })) if (tokens.push(token) === count) break;
      found.push({ tokens, logits: await decoder.feed(ids).data() });
    }
    return found;
  } finally {
    device.dispose();
  }
}

async function checkDecoder(t, kind, promptCount, count) {
  const data = llama(t);
  if (data === null) return;
  const { page, complaints, close } = await open({ '/model.gguf': data.bytes(FILES[kind]) });
  try {
    const prompts = data.prompts.slice(0, promptCount);
    const found = await page.evaluate(decode, '/model.gguf', prompts.map(({ ids }) => ids), count);
    prompts.forEach(({ text, [kind]: expected }, k) => {
      assert.equal(found[k].tokens.length, count);
      assert.equal(firstWrong(found[k].tokens, expected), -1, `${text}: ${found[k].tokens}`);
      const { difference } = compare(found[k].logits, expected.firstLogits);
      assert.ok(difference <= BY_F16_CACHE, `${text}: logits differ by ${difference}`);
    });
    assert.deepEqual(complaints, []);
  } finally {
    await close();
  }
}

for (const kind of Object.keys(FILES)) {
  const [prompts, tokens] = browserName === 'chromium' ? [4, 64] : [1, FEW_TOKENS];
  test(`a decoder chooses the expected tokens on the GPU from weights in ${kind}`, { timeout: 1_200_000 }, (t) => checkDecoder(t, kind, prompts, tokens));
}

/** Embeds lists of token numbers with the weights of the file that was chosen. */
async function embed(lists, config, backend) {
  const { Device } = await import('residua/tensor');
  const { compileEncoder, loadEncoder } = await import('residua/tensor/models');
  const device = await Device.create({ backend });
  try {
    const encoder = await compileEncoder(device, await loadEncoder(document.querySelector('input').files[0], { device, config }), { tokens: 256 });
    return await encoder.encode(lists);
  } finally {
    device.dispose();
  }
}

async function checkEncoder(t, backend, count) {
  const data = minilm(t);
  if (data === null) return;
  const { page, complaints, close } = await openBlankPage(browser, { load: false });
  try {
    // The protocol of the browser takes no answer of 91 MB.
    await page.evaluate(() => document.body.append(Object.assign(document.createElement('input'), { type: 'file' })));
    await (await page.$('input')).uploadFile(data.file);
    const sentences = data.sentences.slice(0, count);
    const found = await page.evaluate(embed, sentences.map(({ ids, tokens }) => ids.slice(0, tokens)), data.config, backend);
    sentences.forEach(({ text, embedding }, k) => {
      const { difference, cosine } = compare(found[k], embedding);
      assert.ok(difference <= 1e-3 && cosine >= 0.9999, `${text}: ${difference}, ${cosine}`);
    });
    assert.deepEqual(complaints, []);
  } finally {
    await close();
  }
}

for (const backend of ['gpu', 'cpu']) {
  test(`the encoder has all expected embeddings in a page, on the ${backend.toUpperCase()}`, { timeout: 1_200_000 }, (t) => checkEncoder(t, backend, browserName === 'chromium' ? 24 : FEW_SENTENCES));
}
