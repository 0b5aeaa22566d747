// The sizes of the package's modules, and the budgets of what a page downloads. `compressed-sizes.mjs FOLDER` prints them for an unpacked package and fails
// after both where a module is over its budget.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import process, { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/**
 * The modules by their places in the package, with the bytes that each may have when it is compressed by Brotli at its best level, 11 (docs/decisions/0038). The
 * solver module's holds second derivatives, loops in both directions, a Bayes tree and what threads share, too. The tensor module has no device of its own, as
 * the facade runs its plans; it plans language models, attention and quantised weights too.
 */
export const MODULES = [
  { file: 'wasm/residua_bg.wasm', budget: 600_000 },
  { file: 'wasm-core/residua_core_bg.wasm', budget: 239_000 },
  { file: 'wasm-tensor/residua_tensor_bg.wasm', budget: 368_000 },
];

/** The size of a file in bytes: raw, by gzip and by Brotli, both at their best level. */
export function sizesOf(file) {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return { raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes, { params }).length };
}

export const inWords = ({ file, budget }, { raw, gzip, brotli }) => `${file}: ${raw} bytes, gzip ${gzip}, brotli ${brotli} of at most ${budget}`;

if (argv[1] === fileURLToPath(import.meta.url)) {
  for (const module of MODULES) {
    const sizes = sizesOf(join(argv[2], module.file));
    console.log(inWords(module, sizes));
    if (sizes.brotli <= module.budget) continue;
    console.error(`${module.file} is over its budget`);
    process.exitCode = 1;
  }
}
