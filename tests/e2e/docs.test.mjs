// Every block of code in the documentation and in the READMEs runs in the browser, and prints what it claims. How a page becomes programs, what a
// claim is, and which kinds of blocks are not run: xtask/docs/programs.mjs. That they type-check: tests/www/docs-types.test.mjs.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { readPages } from '../../xtask/docs/pages.mjs';
import { holds, withClaims } from '../../xtask/docs/programs.mjs';
import { moduleOf } from '../../xtask/docs/run.mjs';
import { answer, launch, openBlankPage } from '../browser.mjs';
import { CONFIG, madeEncoder, TOKENIZER } from '../made-encoder.mjs';
import { REFERENCES, safetensors, weightsOf } from '../package/models/made.mjs';

const pages = await readPages();
/** What the page that runs a program has in its import map, besides the package. */
const imports = {
  'ml-levenberg-marquardt': '/peers/ml-levenberg-marquardt.js',
  'three/webgpu': '/vendor/three/three.webgpu.js',
  '@huggingface/tokenizers': '/vendor/tokenizers/tokenizers.mjs',
};
/** Files of models that programs fetch: the build's small decoder, and an encoder, a CLIP and a Whisper that are made here. */
const json = (value) => ({ contentType: 'application/json', body: JSON.stringify(value) });
const files = {
  '/model.gguf': { contentType: 'application/octet-stream', body: await readFile(new URL('../../target/small-decoder/model.gguf', import.meta.url)) },
  '/model.safetensors': { contentType: 'application/octet-stream', body: madeEncoder() },
  '/config.json': json(CONFIG),
  '/clip/model.safetensors': { contentType: 'application/octet-stream', body: Buffer.from(safetensors(weightsOf(REFERENCES.clip))) },
  '/clip/config.json': json(REFERENCES.clip.config),
  '/whisper/model.safetensors': { contentType: 'application/octet-stream', body: Buffer.from(safetensors(weightsOf(REFERENCES.whisper))) },
  '/whisper/config.json': json(REFERENCES.whisper.config),
  '/tokenizer.json': json(TOKENIZER),
  '/tokenizer_config.json': json({}),
};

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

for (const { name, programs, modules } of pages.filter((page) => page.programs.length > 0)) {
  const parts = modules.map(({ name: module, source }) => ({ module, code: moduleOf(source) }));
  describe(name, () => {
    for (const { line, source, claims } of programs) {
      test(`the program of line ${line} claims something`, () => assert.ok(claims.length > 0));
      test(`the program of line ${line} prints what it claims`, async () => {
        // Models run on the CPU here: a software adapter compiles the kernels of a decoder for long, and the tests of models run them on the GPU.
        const isOfModels = /\bfetch\(/.test(source);
        const blank = await openBlankPage(browser, { load: false, imports, webgpu: !isOfModels });
        try {
          if (isOfModels) await answer(blank.page, files);
          const printed = await blank.page.evaluate(run, moduleOf(withClaims(source)), parts);
          for (const { line: at, words } of claims) {
            const shown = printed.filter((entry) => entry.line === at);
            assert.ok(shown.length > 0, `line ${at} was never reached`);
            for (const { text } of shown) assert.ok(holds(words, text), `line ${at} claims "${words}" and printed "${text}"`);
          }
          assert.deepEqual(blank.complaints, []);
        } finally {
          await blank.close();
        }
      });
    }
  });
}

/** Runs a program in the page, its modules as workers find them, where there is no import map; gives what it printed at which line. */
async function run(code, parts) {
  const printed = [];
  const text = (value) => (Array.isArray(value) || ArrayBuffer.isView(value) ? [...value].map(text).join(', ') : String(value));
  globalThis.claim = (line, ...values) => void printed.push({ line, text: values.map(text).join(' ') });
  const addressOf = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }));
  const entries = { "from 'residua'": '/residua/dist/index.js', "from 'residua/tensor'": '/residua/dist/tensor.js', "from 'residua/tensor/models'": '/residua/dist/tensor-models.js', "from 'residua/tensor/train'": '/residua/dist/tensor-train.js' };
  for (const part of parts) {
    const address = addressOf(Object.entries(entries).reduce((text, [from, path]) => text.replace(from, `from '${new URL(path, location.href)}'`), part.code));
    code = code.replaceAll(`new URL('./${part.module}.js', import.meta.url)`, `'${address}'`).replaceAll(`from './${part.module}.js'`, `from '${address}'`);
  }
  await import(addressOf(code));
  return printed;
}
