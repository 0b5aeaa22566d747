// The packed tarball in an empty project: installed by npm, type-checked by tsc --strict with skipLibCheck off, and run in
// Chromium from plain HTML.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from '../browser.mjs';
import { makeProject, root, serve, visit } from './project.mjs';

let project;
before(async () => void (project = await makeProject('plain-html')));
after(() => project?.remove());

const compile = (typescript, ...options) => {
  const strict = ['--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--lib', 'es2022,dom', '--noUncheckedIndexedAccess'];
  return project.run(process.execPath, [join(root, 'node_modules', typescript, 'bin/tsc'), ...strict, ...options, 'program.ts']);
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
  } finally {
    await browser.close();
    server.close();
  }
});
