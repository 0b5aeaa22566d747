// Every block of code in the documentation and in the READMEs: it is type-checked against the package's types and run in the browser, where it must
// print what it claims. How a page becomes programs, what a claim is, and which kinds of blocks are not run: xtask/docs/programs.mjs.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { holds, programsOf, withClaims } from '../../xtask/docs/programs.mjs';
import { moduleOf } from '../../xtask/docs/run.mjs';
import { markdownFiles } from '../../xtask/docs/site.mjs';
import { launch, openBlankPage } from '../browser.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const files = [...[...markdownFiles()].map(([name, file]) => [`docs/${name}`, file]), ['README.md', `${root}README.md`], ['pkg-template/README.md', `${root}pkg-template/README.md`]];
const pages = [];
for (const [name, file] of files) pages.push({ name, programs: programsOf(await readFile(file, 'utf8')) });

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

for (const { name, programs } of pages.filter((page) => page.programs.length > 0)) {
  describe(name, () => {
    for (const { line, source, claims } of programs) {
      test(`the program of line ${line} claims something`, () => assert.ok(claims.length > 0));
      test(`the program of line ${line} prints what it claims`, async () => {
        const blank = await openBlankPage(browser, { load: false, imports: { 'ml-levenberg-marquardt': '/peers/ml-levenberg-marquardt.js' } });
        try {
          const printed = await blank.page.evaluate(run, moduleOf(withClaims(source)));
          for (const { line: at, words } of claims) {
            const shown = printed.filter((entry) => entry.line === at);
            assert.ok(shown.length > 0, `line ${at} was never reached`);
            for (const { text } of shown) assert.ok(holds(words, text), `line ${at} claims "${words}" and printed "${text}"`);
          }
          assert.deepEqual(blank.complaints, []);
        } finally {
          await blank.close();
        }
      });
    }
  });
}

/** Runs a module in the page; gives what it printed at which line. */
async function run(code) {
  const printed = [];
  const text = (value) => (Array.isArray(value) || ArrayBuffer.isView(value) ? [...value].map(text).join(', ') : String(value));
  globalThis.claim = (line, ...values) => void printed.push({ line, text: values.map(text).join(' ') });
  await import(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })));
  return printed;
}

test('every program type-checks, strictly and with the libraries checked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'residua-docs-'));
  try {
    await mkdir(join(folder, 'node_modules/@webgpu'), { recursive: true });
    await symlink(join(root, 'target/npm/residua'), join(folder, 'node_modules/residua'));
    await symlink(join(root, 'node_modules/@webgpu/types'), join(folder, 'node_modules/@webgpu/types'));
    for (const library of ['ml-levenberg-marquardt', 'three']) await symlink(join(root, 'node_modules', library), join(folder, 'node_modules', library));
    const written = [];
    for (const { name, programs } of pages) {
      for (const { language, line, source } of programs) {
        const file = `${name.replace(/\W+/g, '-')}-${line}.${language}`;
        await writeFile(join(folder, file), source);
        written.push(file);
      }
    }
    const compilerOptions = {
      strict: true, skipLibCheck: false, noUncheckedIndexedAccess: false, checkJs: true, allowJs: true, noEmit: true, target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable', 'esnext.disposable'],
      module: 'esnext', moduleResolution: 'bundler', types: [], preserveSymlinks: true,
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: written }));
    await promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder]).catch(({ stdout }) => assert.fail(stdout));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
