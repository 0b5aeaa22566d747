// The packed tarball as package linters and compilers of other people see it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { inWords, MODULES, sizesOf } from '../../xtask/compressed-sizes.mjs';
import { root, tarball } from '../consumers/project.mjs';

test('publint finds nothing', async () => {
  const { messages, pkg } = await publint({ pack: { tarball: new Uint8Array(await readFile(await tarball())).buffer }, strict: true });
  assert.equal(pkg.name, 'residua');
  assert.deepEqual(messages.map((message) => formatMessage(message, pkg)), []);
});

test("attw finds the types that every resolution of ES modules needs", async () => {
  // The package has ES modules alone and says so; the profile leaves out resolutions for require().
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  const { stdout } = await promisify(execFile)(process.execPath, [attw, await tarball(), '--profile', 'esm-only', '--format', 'json']).catch((error) => error);
  const { analysis, problems } = JSON.parse(stdout);
  assert.deepEqual(Object.keys(analysis.entrypoints), ['.', './worker', './cameras', './tensor', './tensor/models', './tensor/onnx', './tensor/models/worker', './tensor/tfjs', './tensor/train', './tensor/worker', './residua.wasm', './residua-tensor.wasm', './package.json']);
  const kinds = Object.values(problems).flat().filter(({ kind, resolutionKind }) => kind !== 'CJSResolvesToESM' && !['node10', 'node16-cjs'].includes(resolutionKind));
  assert.deepEqual(kinds, []);
});

/** The files that a page without a bundler loads for a file, itself among them. */
async function filesOf(file, found = new Set()) {
  if (found.has(file)) return found;
  found.add(file);
  for (const [, path] of (await readFile(file, 'utf8')).matchAll(/\b(?:from|import)\s*"(\.[^"]+)"/g)) await filesOf(join(dirname(file), path), found);
  return found;
}

/** Files beside the .wasm and its glue. More chunks would be shared by fewer entry points each. */
const MOST_FILES = 20;

test('every entry point is a bundle of few files, with the names of its modules', async () => {
  const folder = join(root, 'target/npm/residua');
  const { exports } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const entries = Object.values(exports).filter((entry) => entry.module !== undefined);
  assert.equal(entries.length, 10);
  for (const entry of entries) {
    const bundle = join(folder, entry.default);
    const files = await filesOf(bundle);
    assert.ok(files.size <= MOST_FILES, `${entry.default} loads ${files.size} files`);
    const [bundled, modules] = await Promise.all([import(pathToFileURL(bundle)), import(pathToFileURL(join(folder, entry.module)))]);
    assert.deepEqual(Object.keys(bundled), Object.keys(modules));
  }
});

for (const module of MODULES) {
  test(`${module.file} is within its budget of compressed bytes`, () => {
    const sizes = sizesOf(join(root, 'target/npm/residua', module.file));
    console.log(inWords(module, sizes));
    assert.ok(sizes.brotli <= module.budget, inWords(module, sizes));
  });
}

test('the script of sizes prints both modules where the first is over its budget', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'residua-sizes-'));
  try {
    for (const [position, { file, budget }] of MODULES.entries()) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      // Brotli does not shorten random bytes.
      await writeFile(join(folder, file), position === 0 ? randomBytes(budget + 1) : new Uint8Array(8));
    }
    const error = await promisify(execFile)(process.execPath, [join(root, 'xtask/compressed-sizes.mjs'), folder]).catch((error) => error);
    assert.equal(error.code, 1);
    for (const { file } of MODULES) assert.ok(error.stdout.includes(file), error.stdout);
    assert.equal(error.stderr.trim(), `${MODULES[0].file} is over its budget`);
  } finally {
    await rm(folder, { recursive: true });
  }
});
