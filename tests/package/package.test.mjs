// The packed tarball as package linters and compilers of other people see it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
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
  assert.deepEqual(Object.keys(analysis.entrypoints), ['.', './worker', './tensor', './residua.wasm', './residua-tensor.wasm', './package.json']);
  const kinds = Object.values(problems).flat().filter(({ kind, resolutionKind }) => kind !== 'CJSResolvesToESM' && !['node10', 'node16-cjs'].includes(resolutionKind));
  assert.deepEqual(kinds, []);
});

for (const module of MODULES) {
  test(`${module.file} is within its budget of compressed bytes`, () => {
    const sizes = sizesOf(join(root, 'target/npm/residua', module.file));
    console.log(inWords(module, sizes));
    assert.ok(sizes.brotli <= module.budget, inWords(module, sizes));
  });
}
