// Bundles the libraries that the benchmarks run beside residua, one ES module each, into target/peers/. Their sources are npm's development dependencies.
import { build } from 'esbuild';
import { copyFile } from 'node:fs/promises';

const ENTRIES = {
  jax: `export * from '@jax-js/jax';`,
  // The gradients are registered by hand: tfjs-core leaves that to the union package.
  tfjs: `
    import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
    import '@tensorflow/tfjs-backend-webgpu';
    export * from '@tensorflow/tfjs-core';`,
  'tfjs-wasm': `
    import '@tensorflow/tfjs-core/dist/register_all_gradients.js';
    export * from '@tensorflow/tfjs-backend-wasm';
    export * from '@tensorflow/tfjs-core';`,
  'ml-levenberg-marquardt': `export * from 'ml-levenberg-marquardt';`,
};

for (const [name, contents] of Object.entries(ENTRIES)) {
  await build({
    stdin: { contents, resolveDir: new URL('..', import.meta.url).pathname, sourcefile: `${name}.js` },
    bundle: true, format: 'esm', platform: 'browser', target: 'es2022', minify: true, legalComments: 'linked', logLevel: 'warning',
    outfile: new URL(`../target/peers/${name}.js`, import.meta.url).pathname,
  });
}
// The WebAssembly of that backend, for one thread.
const root = new URL('..', import.meta.url);
for (const file of ['tfjs-backend-wasm.wasm', 'tfjs-backend-wasm-simd.wasm']) {
  await copyFile(new URL(`node_modules/@tensorflow/tfjs-backend-wasm/dist/${file}`, root), new URL(`target/peers/${file}`, root));
}
