// The packed tarball in a project of each bundler, as its users set it up: a page, the package's worker and one of the application's own evaluate on both engines and solve. What was
// built is served under a strict Content-Security-Policy, without 'unsafe-eval'.
import assert from 'node:assert/strict';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { build as esbuild } from 'esbuild';
import { build as viteBuild, createServer as viteServer } from 'vite';
import webpack from 'webpack';
import { launch } from '../browser.mjs';
import { makeProject, serve, visit } from './project.mjs';

const POLICY = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; img-src data:";

let browser, project;
before(async () => {
  [browser, project] = [await launch(), await makeProject('bundled')];
});
after(async () => {
  await browser?.close();
  await project?.remove();
});

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
  } finally {
    server.close();
  }
}

const modules = async (folder) => (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.wasm'));

test("Vite's development server, without configuration", async () => {
  const server = await viteServer({ root: project.folder, configFile: false, logLevel: 'warn', server: { port: 0, host: '127.0.0.1' } });
  try {
    await server.listen();
    await check(server.resolvedUrls.local[0]);
  } finally {
    await server.close();
  }
});

test("Vite's build, without configuration", async () => {
  const outDir = join(project.folder, 'built-by-vite');
  await viteBuild({ root: project.folder, configFile: false, logLevel: 'warn', build: { outDir } });
  assert.equal((await modules(outDir)).length, 1, 'one .wasm');
  await checkBuilt(outDir);
});

test('webpack 5, without configuration', async () => {
  const path = join(project.folder, 'built-by-webpack');
  const compiler = webpack({ context: project.folder, mode: 'production', entry: './page.js', output: { path, filename: 'page.js' } });
  const stats = await new Promise((resolve, reject) => compiler.run((error, stats) => (error ? reject(error) : resolve(stats))));
  await new Promise((resolve) => compiler.close(resolve));
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  assert.deepEqual(errors.map(({ message }) => message), []);
  // Its advice on sizes is meant for pages that show text first.
  assert.deepEqual(warnings.map(({ message }) => message).filter((message) => !/size limit|code splitting/.test(message)), []);
  await cp(join(project.folder, 'index.html'), join(path, 'index.html'));
  assert.equal((await modules(path)).length, 1, 'one .wasm');
  await checkBuilt(path);
});

test("esbuild, with the package's worker as an entry point and the .wasm copied beside the bundles", async () => {
  const outdir = join(project.folder, 'built-by-esbuild');
  await esbuild({
    absWorkingDir: project.folder, entryPoints: ['page.js', 'own-worker.js', 'node_modules/residua/dist/worker-entry.js'], entryNames: '[name]', outdir, bundle: true, splitting: true, minify: true, format: 'esm', target: 'es2022',
    logLevel: 'error',
  });
  const wasm = new URL('node_modules/residua/wasm/residua_bg.wasm', `${pathToFileURL(project.folder)}/`);
  await cp(wasm, join(outdir, 'residua_bg.wasm'));
  await cp(join(project.folder, 'index.html'), join(outdir, 'index.html'));
  await checkBuilt(outdir);
});
