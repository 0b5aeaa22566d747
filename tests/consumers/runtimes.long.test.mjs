// The packed tarball in Deno and in Bun, which npm installs for this test: the programs of the README. The sources under the rules of JSR.
import assert from 'node:assert/strict';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeProject, root } from './project.mjs';

/** The programs of the README, each with what its comments claim. */
const README = await readFile(join(root, 'README.md'), 'utf8');
const programs = [...README.matchAll(/```js\n([^]*?)```/g)].map(([, source]) => source);

let project;
before(async () => {
  project = await makeProject();
  for (const [k, source] of programs.entries()) await writeFile(join(project.folder, `program${k}.mjs`), source);
});
after(() => project?.remove());

for (const [runtime, args] of [['bun', ['run']], ['deno', ['run', '--allow-read']]]) {
  test(`the programs of the README in ${runtime}`, async () => {
    await project.run('npm', ['install', runtime, '--no-audit', '--no-fund', '--prefer-offline']);
    const run = (k) => project.run(join('node_modules/.bin', runtime), [...args, `program${k}.mjs`], { NO_COLOR: '1' });
    assert.equal(programs.length, 2);
    const fit = await run(0);
    assert.match(fit, /Termination +CONVERGENCE/);
    // The last line is the curve; the data are exact, so that the solve ends with the digits of doubles but for its last step.
    const curve = fit.slice(fit.lastIndexOf('[')).match(/\d+\.?\d*/g).map(Number);
    for (const [k, exact] of [3, 0.7].entries()) assert.ok(Math.abs(curve[k] - exact) < 1e-9, fit);
    assert.match(await run(1), /\[\s*2,\s*2\.75,\s*4,\s*5\.75,?\s*\]/);
  });
}

test('JSR takes the sources: all that is public has an explicit type', async () => {
  const folder = join(project.folder, 'jsr');
  for (const part of ['src', 'wasm', 'wasm-core', 'wasm-tensor']) await cp(join(root, 'pkg-template', part), join(folder, part), { recursive: true });
  await cp(join(root, 'LICENSE'), join(folder, 'LICENSE'));
  // There imports name the files that they mean.
  for (const name of await readdir(join(folder, 'src'), { recursive: true })) {
    if (!name.endsWith('.ts')) continue;
    const file = join(folder, 'src', name), text = await readFile(file, 'utf8');
    await writeFile(file, text.replace(/((?:from|import) '\.[^']*)\.js'/g, (whole, start) => (/\/wasm(-core|-tensor)?\//.test(whole) ? whole : `${start}.ts'`)));
  }
  const { exports } = JSON.parse(await readFile(join(root, 'pkg-template/package.json'), 'utf8'));
  const entries = Object.entries(exports).flatMap(([name, entry]) => (entry.module === undefined ? [] : [[name, entry.module.replace('./modules/', './src/').replace(/js$/, 'ts')]]));
  await writeFile(join(folder, 'deno.json'), JSON.stringify({ name: '@residua/residua', version: '0.1.0', license: 'MIT', exports: Object.fromEntries(entries), compilerOptions: { lib: ['es2022', 'dom', 'esnext.disposable'] } }));
  await project.run('npm', ['install', 'deno', '--no-audit', '--no-fund', '--prefer-offline']);
  // Types are checked by TypeScript elsewhere; a dry run sends nothing.
  await project.run(join(project.folder, 'node_modules/.bin/deno'), ['publish', '--dry-run', '--allow-dirty', '--no-check', '--config', join(folder, 'deno.json')]);
});
