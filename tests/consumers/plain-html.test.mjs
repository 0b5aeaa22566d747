// The packed tarball in an empty project: installed by npm, type-checked by tsc --strict with skipLibCheck off, and run in
// Chromium from plain HTML.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { launch } from '../browser.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
let project;

before(async () => {
  project = await mkdtemp(join(tmpdir(), 'residua-consumer-'));
  await cp(new URL('plain-html/', import.meta.url), project, { recursive: true });
  await writeFile(join(project, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
  await run('npm', ['install', await tarball(), '--no-audit', '--no-fund', '--prefer-offline']);
});
after(() => rm(project, { recursive: true, force: true }));

/** Runs a program in the project; its output is part of the error when it fails. */
async function run(program, args) {
  try {
    return (await promisify(execFile)(program, args, { cwd: project })).stdout;
  } catch (error) {
    throw new Error(`${program} ${args.join(' ')}\n${error.stdout}\n${error.stderr}`, { cause: error });
  }
}

async function tarball() {
  if (process.env.RESIDUA_TARBALL) return process.env.RESIDUA_TARBALL;
  const files = await readdir(join(root, 'target/npm'));
  return join(root, 'target/npm', files.find((name) => name.endsWith('.tgz')));
}

const compile = (typescript, ...options) => {
  const strict = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--lib', 'es2022,dom', '--noUncheckedIndexedAccess'];
  return run(process.execPath, [join(root, 'node_modules', typescript, 'bin/tsc'), ...strict, ...options, 'program.ts']);
};

// Up to TypeScript 5 the types of WebGPU come from @webgpu/types; since 6 they are among those of the DOM, and the two conflict.
for (const typescript of ['typescript', 'typescript-7']) {
  test(`a strict program type-checks with ${typescript} as Node resolves packages`, () =>
    compile(typescript, '--noEmit', '--module', 'nodenext'));
  test(`a strict program type-checks with ${typescript} as bundlers resolve packages`, () =>
    compile(typescript, '--noEmit', '--module', 'esnext', '--moduleResolution', 'bundler'));
}

test('the compiled program runs in a page without a bundler', async () => {
  await compile('typescript', '--module', 'esnext', '--moduleResolution', 'bundler');
  const server = await serve(project);
  const browser = await launch();
  try {
    const page = await browser.newPage();
    const complaints = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`http://127.0.0.1:${server.address().port}/index.html`);
    await page.waitForFunction(() => window.result !== undefined);
    const found = await page.evaluate(() => window.result);
    console.log(JSON.stringify(found));
    assert.deepEqual(found.backends, ['gpu', 'cpu']);
    for (const value of found.roots) assert.ok(Math.abs(value - Math.SQRT2) < 1e-3, `root ${value}`);
    // The points lie on y = 2x + 3; the solve stops where the gradient is below 1e-6.
    for (const [i, exact] of [2, 3].entries()) assert.ok(Math.abs(found.fitted[i] - exact) < 1e-5, `fit ${found.fitted}`);
    assert.equal(found.refused, 'invalid-argument');
    assert.equal(found.expression, 6);
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
    server.close();
  }
});

test('the package can be imported where there is no browser', async () => {
  await writeFile(join(project, 'server.mjs'), "import * as residua from 'residua'; console.log(typeof residua.init);");
  assert.equal((await run(process.execPath, ['server.mjs'])).trim(), 'function');
});

/** Serves a folder as any static host would. */
async function serve(folder) {
  const types = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm' };
  const server = createServer(async (request, response) => {
    try {
      const path = normalize(new URL(request.url, 'http://localhost').pathname);
      const body = await readFile(join(folder, path));
      response.writeHead(200, { 'Content-Type': types[extname(path)] ?? 'application/octet-stream' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
