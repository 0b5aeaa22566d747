// compressed-sizes.mjs FILE: prints its size in bytes raw, with gzip and with Brotli, both at their best level.
import { readFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const bytes = readFileSync(process.argv[2]);
const brotli = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
console.log(bytes.length, gzipSync(bytes, { level: 9 }).length, brotliCompressSync(bytes, brotli).length);
