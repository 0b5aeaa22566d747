/** Types of residua/tensor: programs that must compile, with the types of their results, and misuse that must not. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));

test('programs compile with the types of their results, and misuse does not', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'residua-tensor-types-'));
  try {
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const compilerOptions = {
      strict: true, noEmit: true, target: 'esnext', module: 'esnext', moduleResolution: 'bundler', lib: ['esnext', 'esnext.disposable', 'dom', 'dom.iterable'],
      noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: true, types: [join(root, 'node_modules/@webgpu/types')],
      paths: { residua: [join(root, 'pkg-template/dist/index.d.ts')], 'residua/tensor': [join(root, 'pkg-template/dist/tensor.d.ts')] },
    };
    const files = ['programs.ts', 'misuse.ts'].map((name) => join(root, 'tests/facade/tensor-types', name));
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
    await promisify(execFile)(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder]).catch(({ stdout }) => assert.fail(stdout));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
