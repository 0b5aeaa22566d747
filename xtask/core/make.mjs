// Writes the core module: the functions of the module of the solvers that small problems on the CPU call, which is what a page has to load for its first fit.
//
//   node xtask/core/make.mjs MODULE PACKAGE CORE
//
// MODULE is the whole module, PACKAGE the compiled facade beside it, CORE the file to write. The uses of uses.mjs run on a copy of the module that notes each
// function that is entered. A function that none of them enters becomes a trap; indices, imports, exports and data stay, so that the glue fits both. A call of
// a trap ends the core, and the facade does the call again with the whole module (pkg-template/src/module/core.ts).
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { argv } from 'node:process';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import binaryen from 'binaryen';
import { run } from './uses.mjs';

const [whole, facade, core] = argv.slice(2);
const bytes = readFileSync(whole);
/** What modules have: with more, binaryen writes sections that a browser we support does not know. */
const NAMES = ['MutableGlobals', 'NontrappingFPToInt', 'SIMD128', 'BulkMemory', 'SignExt', 'ReferenceTypes', 'Multivalue'];
const FEATURES = NAMES.reduce((all, name) => all | binaryen.Features[name], 0);

/** Reads the module, changes the body of each function of its own, and returns the bytes. `change` may return null: the body stays. */
function rewrite(change, finish = () => undefined) {
  const module = binaryen.readBinary(bytes);
  module.setFeatures(FEATURES);
  const all = Array.from({ length: module.getNumFunctions() }, (_, i) => module.getFunctionByIndex(i));
  const functions = all.filter((each) => binaryen.getFunctionInfo(each).module === '');
  functions.forEach((each, i) => {
    const body = change(module, i, binaryen.Function(each).body);
    if (body !== null) binaryen.Function(each).body = body;
  });
  finish(module);
  const written = module.emitBinary();
  module.dispose();
  return { written, count: functions.length };
}

const entered = new Set();
const watched = rewrite(
  (module, i, body) => {
    const isNoted = `entered${i}`;
    module.addGlobal(isNoted, binaryen.i32, true, module.i32.const(0));
    const note = module.block(null, [module.global.set(isNoted, module.i32.const(1)), module.call('entered', [module.i32.const(i)], binaryen.none)]);
    return module.block(null, [module.if(module.i32.eqz(module.global.get(isNoted, binaryen.i32)), note), body], binaryen.getExpressionType(body));
  },
  (module) => module.addFunctionImport('entered', 'uses', 'entered', binaryen.i32, binaryen.none),
);
// Work lets the page have turns by the clock. This one does not depend on the machine, so that the same module is made each time, and often leaps, so that
// each place of the work has a turn, as on a machine that has much else to do.
let [readings, clock] = [0, 0];
performance.now = () => (clock += ++readings % 3 === 0 ? 20 : 0.25);
const { Instance } = WebAssembly;
WebAssembly.Instance = class extends Instance {
  constructor(module, imports) {
    super(module, { ...imports, uses: { entered: (i) => void entered.add(i) } });
  }
};
const residua = await import(pathToFileURL(resolve(facade, 'index.js')));
await residua.init(watched.written);
await run(residua);
// What the facade asks an instance that has failed, of which a trap must not make another failure.
const glue = await import(pathToFileURL(join(dirname(resolve(whole)), 'residua.js')));
new glue.RawProblem().free();
glue.memoryBytes();
glue.refusedBytes();

// A call of a trap becomes the trap, and nothing follows it. No other function is inlined.
binaryen.setAlwaysInlineMaxSize(1);
binaryen.setFlexibleInlineMaxSize(0);
binaryen.setOneCallerInlineMaxSize(0);
const kept = rewrite(
  (module, i) => (entered.has(i) ? null : module.unreachable()),
  (module) => module.runPasses(['inlining', 'dce', 'vacuum', 'remove-unused-names', 'duplicate-function-elimination', 'remove-unused-module-elements']),
);
// Texts of shaders are read by functions for devices alone, none of which is kept. They become zeros, which take no room compressed.
const data = Buffer.from(kept.written);
let blank = 0;
for (const text of shaderTexts()) {
  for (let at = data.indexOf(text); at >= 0; at = data.indexOf(text, at)) {
    data.fill(0, at, at + text.length);
    blank += text.length;
  }
}
if (blank === 0) throw new Error('no text of a shader is in the module as crates/embed-shaders writes it');
writeFileSync(core, data);
console.log(`${core}: ${entered.size} of ${kept.count} functions, without ${blank} bytes of shaders`);

/** The shader files as crates/embed-shaders writes them, without comments and indentation; the longest first. */
function shaderTexts() {
  const root = new URL('../../', import.meta.url);
  const folders = ['shaders/', ...readdirSync(new URL('crates/', root)).map((crate) => `crates/${crate}/shaders/`)].map((folder) => new URL(folder, root));
  const files = folders.filter((folder) => existsSync(folder)).flatMap((folder) => readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.wgsl')).map((name) => readFileSync(new URL(name, folder), 'utf8')));
  const lineOf = (line) => line.replace(/\/\/.*/, '').trim();
  const texts = files.map((file) => file.split('\n').slice(0, -1).filter((line) => line.trim() === '' || lineOf(line) !== '').map((line) => `${lineOf(line)}\n`).join(''));
  return texts.filter((text) => text.length > 0).sort((a, b) => b.length - a.length).map((text) => Buffer.from(text));
}
