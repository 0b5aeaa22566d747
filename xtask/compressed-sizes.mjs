// The sizes of the package's two modules, and the budgets of what a page downloads. `compressed-sizes.mjs FOLDER` prints them for an unpacked package and fails
// where a module is over its budget.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** Bytes that the solver module may have when it is compressed by Brotli at its best level, 11. The target is 330,000 (docs/decisions/0049). */
export const BROTLI_BUDGET = 440_000;

/** The same of the tensor module, which has no device of its own: the facade runs its plans. */
export const TENSOR_BROTLI_BUDGET = 220_000;

/** The modules by their places in the package, and their budgets. */
export const MODULES = [
  { file: 'wasm/residua_bg.wasm', budget: BROTLI_BUDGET },
  { file: 'wasm-tensor/residua_tensor_bg.wasm', budget: TENSOR_BROTLI_BUDGET },
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
    if (sizes.brotli > module.budget) {
      console.error(`${module.file} is over its budget`);
      exit(1);
    }
  }
}
