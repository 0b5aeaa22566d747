// Bundles the package for pages without a bundler, and for Node: one file an entry point, and chunks that they share.
//
//   node xtask/bundle.mjs FROM TO
//
// FROM is the folder of modules that the TypeScript compiler wrote, TO the folder of the bundles, a sibling of the folders of the WebAssembly modules as FROM
// is, whose glue is minified in its place.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build, transform } from 'esbuild';

const [from, to] = process.argv.slice(2);
const entryPoints = (await readdir(from)).filter((name) => name.endsWith('.js') && !name.endsWith('-with-webgpu-types.js') && name !== 'with-webgpu-types.js').map((name) => join(from, name));

/** Bundles lie directly in their folder, modules below it: paths to the folders of the WebAssembly modules are others. */
const paths = {
  name: 'paths',
  setup({ onResolve, onLoad }) {
    // The glue of a WebAssembly module stays beside its .wasm.
    onResolve({ filter: /\/wasm(-core|-tensor)?\/\w+\.js$/ }, ({ path }) => ({ path: `..${/\/wasm(-core|-tensor)?\/\w+\.js$/.exec(path)[0]}`, external: true }));
    onLoad({ filter: /module[\\/]package-root\.js$/ }, () => ({ contents: "export const PACKAGE_ROOT = '../';" }));
  },
};

/**
 * The script of a worker that has nearly all of the tensors' modules: a file of its own, which loads in one request. Chunks that it shared with pages would
 * divide those of all other entry points.
 */
const alone = (path) => basename(path) === 'tensor-models-worker-entry.js';

const bundled = (of, splitting) => build({
  entryPoints: entryPoints.filter(of),
  outdir: to,
  bundle: true,
  splitting,
  format: 'esm',
  target: 'es2022',
  charset: 'utf8',
  chunkNames: 'chunk-[hash]',
  minify: true,
  // Consoles show the names of classes, and stacks those of functions.
  keepNames: true,
  plugins: [paths],
  metafile: true,
  logLevel: 'warning',
});

// The glue of the modules, which is generated, has half of the bytes without comments and long names.
for (const glue of ['wasm/residua.js', 'wasm-core/residua_core.js', 'wasm-tensor/residua_tensor.js'].map((file) => join(to, '..', file))) {
  const { code } = await transform(await readFile(glue, 'utf8'), { minify: true, format: 'esm', target: 'es2022', charset: 'utf8' });
  await writeFile(glue, code);
}

const outputs = await Promise.all([bundled((path) => !alone(path), true), bundled(alone, false)]);
for (const [file, { bytes }] of outputs.flatMap(({ metafile }) => Object.entries(metafile.outputs))) console.log(`${String(bytes).padStart(8)}  ${basename(file)}`);
