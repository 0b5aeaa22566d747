// The packed tarball in an empty project: installed by npm, type-checked by tsc --strict with skipLibCheck off, and run in
// Chromium from plain HTML.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { launch } from '../browser.mjs';
import { makeProject, root, serve, visit } from './project.mjs';

/** Without 'unsafe-eval'; the hash is that of the import map in tensors.html. */
const importMap = /<script type="importmap">([^]*?)<\/script>/.exec(await readFile(new URL('plain-html/tensors.html', import.meta.url), 'utf8'))[1];
const POLICY = `default-src 'none'; script-src 'self' 'wasm-unsafe-eval' 'sha256-${createHash('sha256').update(importMap).digest('base64')}'; connect-src 'self'; img-src data:`;

let project;
before(async () => void (project = await makeProject('plain-html')));
after(() => project?.remove());

const compile = (typescript, program, ...options) => {
  const strict = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--lib', 'es2022,dom', '--noUncheckedIndexedAccess'];
  return project.run(process.execPath, [join(root, 'node_modules', typescript, 'bin/tsc'), ...strict, ...options, program]);
};

// Up to TypeScript 5 the types of WebGPU come from @webgpu/types; since 6 they are among those of the DOM, and the two conflict.
for (const typescript of ['typescript', 'typescript-7']) {
  for (const program of ['program.ts', 'tensors.ts']) {
    test(`the strict ${program} type-checks with ${typescript} as Node resolves packages`, () =>
      compile(typescript, program, '--noEmit', '--module', 'nodenext'));
    test(`the strict ${program} type-checks with ${typescript} as bundlers resolve packages`, () =>
      compile(typescript, program, '--noEmit', '--module', 'esnext', '--moduleResolution', 'bundler'));
  }
}

test('the compiled program of tensors runs in a page without a bundler, and fetches their module alone', async () => {
  await compile('typescript', 'tensors.ts', '--module', 'esnext', '--moduleResolution', 'bundler');
  const server = await serve(project.folder, { 'Content-Security-Policy': POLICY });
  const browser = await launch();
  try {
    const { result: found, complaints } = await visit(browser, new URL('tensors.html', server.url).href);
    assert.deepEqual(found, { backends: ['gpu', 'cpu'], products: [[7, 10, 15, 22], [7, 10, 15, 22]], refused: 'invalid-argument' });
    assert.deepEqual(complaints, []);
    assert.deepEqual([...new Set(server.asked.filter((path) => path.endsWith('.wasm')))], ['/node_modules/residua/wasm-tensor/residua_tensor_bg.wasm']);
  } finally {
    await browser.close();
    server.close();
  }
});

test('the compiled program runs in a page without a bundler', async () => {
  await compile('typescript', 'program.ts', '--module', 'esnext', '--moduleResolution', 'bundler');
  const server = await serve(project.folder);
  const browser = await launch();
  try {
    const { result: found, complaints } = await visit(browser, new URL('index.html', server.url).href);
    console.log(JSON.stringify(found));
    assert.deepEqual(found.backends, ['gpu', 'cpu']);
    for (const value of found.roots) assert.ok(Math.abs(value - Math.SQRT2) < 1e-3, `root ${value}`);
    // The points lie on y = 2x + 3; the solve stops where the gradient is below 1e-6.
    for (const [i, exact] of [2, 3].entries()) assert.ok(Math.abs(found.fitted[i] - exact) < 1e-5, `fit ${found.fitted}`);
    assert.equal(found.refused, 'invalid-argument');
    assert.equal(found.expression, 6);
    assert.deepEqual(complaints, []);
    assert.deepEqual([...new Set(server.asked.filter((path) => path.endsWith('.wasm')))], ['/node_modules/residua/wasm/residua_bg.wasm']);
  } finally {
    await browser.close();
    server.close();
  }
});

/** The most bytes that a page downloads for a fit, compressed by gzip: no static host does less. */
const BYTES_OF_A_FIT = 450_000;

test('a page that fits a curve downloads the core of the module alone, and few bytes in all', async () => {
  const server = await serve(project.folder);
  const browser = await launch();
  try {
    const { result, complaints } = await visit(browser, new URL('fit.html', server.url).href);
    assert.equal(result.length, 2);
    // The data are exact, so that the fit is the truth to the rounding of its derivatives.
    for (const { success, height, rate } of result) assert.ok(success && Math.abs(height - 3) < 1e-7 && Math.abs(rate - 0.7) < 1e-7, JSON.stringify(result));
    assert.deepEqual(complaints, []);
    const files = [...new Set(server.asked)];
    assert.deepEqual(files.filter((path) => path.endsWith('.wasm')), ['/node_modules/residua/wasm-core/residua_core_bg.wasm']);
    const sizes = await Promise.all(files.map(async (path) => gzipSync(await readFile(join(project.folder, path)), { level: 9 }).length));
    const bytes = sizes.reduce((total, size) => total + size, 0);
    console.log(`a fit downloads ${bytes} bytes by gzip`);
    assert.ok(bytes <= BYTES_OF_A_FIT, `${bytes} bytes: ${files.map((path, k) => `${path} ${sizes[k]}`).join(', ')}`);
  } finally {
    await browser.close();
    server.close();
  }
});
