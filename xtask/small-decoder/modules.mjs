// The package built for Node with its CPU engine, for scripts and tests.
import { readFile } from 'node:fs/promises';

const root = new URL('../../target/npm/residua/', import.meta.url);

export const tensor = await import(new URL('dist/tensor.js', root).href);
export const models = await import(new URL('dist/tensor-models.js', root).href);
export const train = await import(new URL('dist/tensor-train.js', root).href);
await tensor.init(await readFile(new URL('wasm-tensor/residua_tensor_bg.wasm', root)));
