// The packed tarball in a project of each bundler, as its users set it up: a page, the package's worker and one of the application's own evaluate on both engines and solve; another page
// uses tensors. What was built is served under a strict Content-Security-Policy, without 'unsafe-eval'. Users of the solvers download no tensor module, and the other way round.
import assert from 'node:assert/strict';
import { cp, readFile, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { build as esbuild } from 'esbuild';
import { rollup } from 'rollup';
import { build as viteBuild, createServer as viteServer } from 'vite';
import webpack from 'webpack';
import { launch } from '../browser.mjs';
import { makeProject, serve, visit } from './project.mjs';
import { EXPECTED } from './bundled/use-tensors.js';

const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src data:";

let browser, project;
before(async () => {
  [browser, project] = [await launch(), await makeProject('bundled')];
});
after(async () => {
  await browser?.close();
  await project?.remove();
});

/** The package's modules, and which of them a built file is: bundlers name files as they like. */
const [SOLVERS, CORE, TENSORS] = ['wasm/residua_bg.wasm', 'wasm-core/residua_core_bg.wasm', 'wasm-tensor/residua_tensor_bg.wasm'];
const MODULES = [SOLVERS, CORE, TENSORS];
async function moduleOf(file) {
  const bytes = await readFile(file);
  for (const module of MODULES) if (bytes.equals(await readFile(join(project.folder, 'node_modules/residua', module)))) return module;
  return `${file}, which is none of the package's`;
}

/** The modules among what was asked for; what was asked for so far is forgotten. */
async function modulesAmong(folder, asked) {
  const files = new Set(asked.splice(0).filter((path) => path.endsWith('.wasm')));
  return Promise.all([...files].map((path) => moduleOf(join(folder, path))));
}

/** Wherever tensors were used, both engines gave the numbers, and nothing was complained of. */
async function checkTensors(address) {
  const { result, complaints } = await visit(browser, address);
  assert.equal(result.error, undefined);
  assert.deepEqual(result, { page: EXPECTED, worker: EXPECTED, ownWorker: EXPECTED });
  assert.deepEqual(complaints, []);
}

/** Wherever the package was used, both engines gave the cost, the fit came out, and nothing was complained of. */
async function check(address) {
  const { result, complaints } = await visit(browser, address);
  assert.equal(result.error, undefined);
  for (const [where, found] of Object.entries(result)) {
    assert.equal(typeof found, 'object', `${where}: ${found}`);
    // Small whole numbers: exact in f32 as well.
    assert.deepEqual(found.costs, ['gpu', 'cpu'].map((backend) => ({ backend, value: 42, gradient: [-18, -16] })), where);
    assert.ok(found.fit.success, where);
    // The points lie on the line, and the solve stops where the cost falls by less than 1e-6 of itself.
    for (const [i, exact] of [2, 3].entries()) assert.ok(Math.abs(found.fit.line[i] - exact) < 1e-5, `${where}: ${found.fit.line}`);
  }
  assert.deepEqual(Object.keys(result), ['page', 'worker', 'ownWorker']);
  assert.deepEqual(complaints, []);
}

async function checkBuilt(folder) {
  const server = await serve(folder, { 'Content-Security-Policy': POLICY });
  try {
    await check(new URL('index.html', server.url).href);
    assert.deepEqual(await modulesAmong(folder, server.asked), [SOLVERS], 'what users of the solvers download');
    await checkTensors(new URL('tensors.html', server.url).href);
    assert.deepEqual(await modulesAmong(folder, server.asked), [TENSORS], 'what users of tensors download');
  } finally {
    server.close();
  }
}

/** One of each module is among what was built. */
async function checkModules(folder) {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.wasm'));
  assert.deepEqual((await Promise.all(files.map((file) => moduleOf(join(folder, file))))).toSorted(), MODULES.toSorted());
}

/** Both pages are built by each bundler. */
const PAGES = ['index.html', 'tensors.html'];

test("Vite's development server, without configuration", async () => {
  const server = await viteServer({ root: project.folder, configFile: false, logLevel: 'warn', server: { port: 0, host: '127.0.0.1' } });
  try {
    await server.listen();
    await check(server.resolvedUrls.local[0]);
    await checkTensors(new URL('tensors.html', server.resolvedUrls.local[0]).href);
  } finally {
    await server.close();
  }
});

test("Vite's build, without configuration", async () => {
  const outDir = join(project.folder, 'built-by-vite');
  await viteBuild({ root: project.folder, configFile: false, logLevel: 'warn', build: { outDir, rolldownOptions: { input: PAGES.map((page) => join(project.folder, page)) } } });
  await checkModules(outDir);
  await checkBuilt(outDir);
});

test('webpack 5, without configuration', async () => {
  const path = join(project.folder, 'built-by-webpack');
  const compiler = webpack({ context: project.folder, mode: 'production', entry: { page: './page.js', tensors: './tensors.js' }, output: { path, filename: '[name].js' } });
  const stats = await new Promise((resolve, reject) => compiler.run((error, stats) => (error ? reject(error) : resolve(stats))));
  await new Promise((resolve) => compiler.close(resolve));
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  assert.deepEqual(errors.map(({ message }) => message), []);
  // Its advice on sizes is meant for pages that show text first.
  assert.deepEqual(warnings.map(({ message }) => message).filter((message) => !/size limit|code splitting|runtimeChunk/.test(message)), []);
  for (const page of PAGES) await cp(join(project.folder, page), join(path, page));
  await checkModules(path);
  await checkBuilt(path);
});

/** Entry points for bundlers that leave `new URL(…, import.meta.url)` as it is: the workers are found by their names. */
const ENTRY_POINTS = ['page.js', 'own-worker.js', 'tensors.js', 'tensor-worker.js', 'node_modules/residua/modules/worker-entry.js', 'node_modules/residua/modules/tensor-worker-entry.js', 'node_modules/residua/modules/tensor-models-worker-entry.js'];

/** Both modules and the pages beside the bundles of such a bundler. */
async function copyBeside(folder) {
  for (const module of MODULES) await cp(join(project.folder, 'node_modules/residua', module), join(folder, basename(module)));
  for (const page of PAGES) await cp(join(project.folder, page), join(folder, page));
}

test("esbuild, with the package's workers as entry points and the .wasm copied beside the bundles", async () => {
  const outdir = join(project.folder, 'built-by-esbuild');
  await esbuild({
    absWorkingDir: project.folder, entryPoints: ENTRY_POINTS, entryNames: '[name]', outdir, bundle: true, splitting: true, minify: true, format: 'esm', target: 'es2022', logLevel: 'error',
  });
  await copyBeside(outdir);
  await checkBuilt(outdir);
});

test('Rollup with its plugin for packages, in the same way', async () => {
  const dir = join(project.folder, 'built-by-rollup');
  const complaints = [];
  const bundle = await rollup({ input: ENTRY_POINTS.map((file) => join(project.folder, file)), plugins: [nodeResolve()], onwarn: ({ message }) => complaints.push(message) });
  await bundle.write({ dir, format: 'es', entryFileNames: '[name].js' });
  await bundle.close();
  assert.deepEqual(complaints, []);
  await copyBeside(dir);
  await checkBuilt(dir);
});
