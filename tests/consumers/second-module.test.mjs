// A second WebAssembly module: `tests/second-module` depends on the device, code generation and expression crates alone. It is built, and its one kernel
// runs in a page.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { launch } from '../browser.mjs';
import { serve } from './project.mjs';

const source = fileURLToPath(new URL('../second-module/', import.meta.url));
let folder;
let server;
let browser;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'residua-second-module-'));
  const build = ['build', '--dev', '--target', 'web', '--mode', 'no-install', '--no-pack', '--out-dir', folder, '--out-name', 'second', source];
  await promisify(execFile)('wasm-pack', build, { maxBuffer: 1 << 24 });
  await writeFile(join(folder, 'index.html'), '<!doctype html><meta charset="utf-8"><title>Second module</title>');
  server = await serve(folder, {});
  browser = await launch();
}, { timeout: 600_000 });

after(async () => {
  await browser?.close();
  server?.close();
  await rm(folder, { recursive: true, force: true });
});

test('the module depends on no solver', async () => {
  const manifest = await readFile(join(source, 'Cargo.toml'), 'utf8');
  const dependencies = [...manifest.matchAll(/^(residua[\w-]*)\.workspace = true$/gm)].map(([, name]) => name);
  assert.deepEqual(dependencies, ['residua-base', 'residua-codegen', 'residua-gpu', 'residua-ir']);
});

test('its element-wise kernel computes √(x² + 1) in a page', { timeout: 120_000 }, async () => {
  const page = await browser.newPage();
  await page.goto(new URL('index.html', server.url).href);
  const result = await page.evaluate(async () => {
    const { default: init, hypotenuses } = await import('./second.js');
    await init();
    return [...(await hypotenuses(Float32Array.of(0, 0.75, -2.4, 1000)))];
  });
  // The square root of WGSL may be off by 2.5 units in the last place (WebGPU Shading Language, accuracy of sqrt), and the sum by a half.
  const expected = [1, 1.25, 2.6, Math.sqrt(1e6 + 1)];
  assert.equal(result.length, expected.length);
  result.forEach((value, k) => assert.ok(Math.abs(value - expected[k]) <= 4 * 2 ** -24 * expected[k], `${value} for ${expected[k]}`));
  await page.close();
});
