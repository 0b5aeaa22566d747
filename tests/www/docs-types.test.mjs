// Every code block of the documentation and of the READMEs type-checks against the package.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { readPages } from '../../xtask/docs/pages.mjs';

const root = fileURLToPath(new URL('../../', import.meta.url));
const pages = await readPages();

test('every program type-checks, strictly and with the libraries checked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'residua-docs-'));
  try {
    await mkdir(join(folder, 'node_modules/@webgpu'), { recursive: true });
    await symlink(join(root, 'target/npm/residua'), join(folder, 'node_modules/residua'));
    await symlink(join(root, 'node_modules/@webgpu/types'), join(folder, 'node_modules/@webgpu/types'));
    await mkdir(join(folder, 'node_modules/@types'));
    for (const library of ['ml-levenberg-marquardt', '@types/three', '@types/webxr']) await symlink(join(root, 'node_modules', library), join(folder, 'node_modules', library));
    // Packages of pages are installed elsewhere.
    await mkdir(join(folder, 'node_modules/@huggingface'));
    await symlink(join(root, 'target/page-packages/node_modules/@huggingface/tokenizers'), join(folder, 'node_modules/@huggingface/tokenizers'));
    const written = [];
    for (const { name, programs, modules } of pages) {
      const sources = [...programs.map(({ language, line, source }) => [`${line}.${language}`, source]), ...modules.map((module) => [`${module.name}.ts`, module.source])];
      const fileOf = (ending) => `${name.replace(/\W+/g, '-')}-${ending}`;
      for (const [ending, source] of sources) {
        const file = fileOf(ending);
        await writeFile(join(folder, file), modules.reduce((text, module) => text.replaceAll(`from './${module.name}.js'`, `from './${fileOf(`${module.name}.js`)}'`), source));
        written.push(file);
      }
    }
    // The types of three refer to those of WebXR.
    const compilerOptions = {
      strict: true, skipLibCheck: false, noUncheckedIndexedAccess: false, checkJs: true, allowJs: true, noEmit: true, target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable', 'esnext.disposable'],
      module: 'esnext', moduleResolution: 'bundler', types: ['webxr'], preserveSymlinks: true,
    };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: written }));
    await promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder]).catch(({ stdout }) => assert.fail(stdout));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
