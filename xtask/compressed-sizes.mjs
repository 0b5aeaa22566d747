// The sizes of the solver module, and the budget of the one that a page downloads. `compressed-sizes.mjs FILE` prints them and fails where the module is over the budget.
import { readFileSync } from 'node:fs';
import { argv, exit } from 'node:process';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/** Bytes that the module may have when it is compressed by Brotli at its best level, 11. The target is 330,000 (docs/decisions/0049). */
export const BROTLI_BUDGET = 440_000;

/** The size of a file in bytes: raw, by gzip and by Brotli, both at their best level. */
export function sizesOf(file) {
  const bytes = readFileSync(file);
  const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return { raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes, { params }).length };
}

export const inWords = ({ raw, gzip, brotli }) => `residua_bg.wasm: ${raw} bytes, gzip ${gzip}, brotli ${brotli} of at most ${BROTLI_BUDGET}`;

if (argv[1] === fileURLToPath(import.meta.url)) {
  const sizes = sizesOf(argv[2]);
  console.log(inWords(sizes));
  if (sizes.brotli > BROTLI_BUDGET) {
    console.error('the module is over its budget');
    exit(1);
  }
}
