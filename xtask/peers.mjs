// Bundles the libraries that the benchmarks run beside residua, one ES module each, into target/peers/. Their sources are npm's development dependencies, and for
// language models those of xtask/page-packages.
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
/** Those of target/page-packages. */
const PAGE_ENTRIES = {
  'ort-webgpu': `export * from 'onnxruntime-web/webgpu';`,
  'ort-wasm': `export * from 'onnxruntime-web/wasm';`,
  transformers: `export { AutoModel, env, mean_pooling, Tensor } from '@huggingface/transformers';`,
};

const root = new URL('..', import.meta.url);
const packages = new URL('target/page-packages/', root);
for (const [folder, name, contents] of [...Object.entries(ENTRIES).map((entry) => [root, ...entry]), ...Object.entries(PAGE_ENTRIES).map((entry) => [packages, ...entry])]) {
  await build({
    stdin: { contents, resolveDir: folder.pathname, sourcefile: `${name}.js` },
    bundle: true, format: 'esm', platform: 'browser', target: 'es2022', minify: true, legalComments: 'linked', logLevel: 'warning',
    outfile: new URL(`../target/peers/${name}.js`, import.meta.url).pathname,
  });
}
// The WebAssembly of that backend, for one thread.
for (const file of ['tfjs-backend-wasm.wasm', 'tfjs-backend-wasm-simd.wasm']) {
  await copyFile(new URL(`node_modules/@tensorflow/tfjs-backend-wasm/dist/${file}`, root), new URL(`target/peers/${file}`, root));
}
// That of ONNX Runtime Web, with WebGPU and without.
for (const file of ['ort-wasm-simd-threaded.asyncify', 'ort-wasm-simd-threaded'].flatMap((name) => [`${name}.mjs`, `${name}.wasm`])) {
  await copyFile(new URL(`node_modules/onnxruntime-web/dist/${file}`, packages), new URL(`target/peers/${file}`, root));
}
