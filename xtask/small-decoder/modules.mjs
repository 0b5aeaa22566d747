// The package built for Node with its CPU engine, and the code of www/models/ over it, for scripts and tests.
import { readFile } from 'node:fs/promises';
import { moduleOf } from '../docs/run.mjs';

const root = new URL('../../', import.meta.url);
const entry = new URL('target/npm/residua/dist/tensor.js', root).href;

export const tensor = await import(entry);
export const train = await import(new URL('target/npm/residua/dist/tensor-train.js', root).href);
await tensor.init(await readFile(new URL('target/npm/residua/wasm-tensor/residua_tensor_bg.wasm', root)));

/** The module www/models/FILE, in TypeScript or JavaScript. */
export async function modelCode(file) {
  const code = moduleOf(await readFile(new URL(`www/models/${file}`, root), 'utf8')).replaceAll("'residua/tensor'", JSON.stringify(entry));
  return import(`data:text/javascript;base64,${Buffer.from(code).toString('base64')}`);
}
