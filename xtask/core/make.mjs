// Writes the core module: the functions of the module of the solvers that small problems on the CPU call, which is what a page has to load for its first fit.
//
//   node xtask/core/make.mjs MODULE PACKAGE CORE
//
// MODULE is the whole module, PACKAGE the compiled facade beside it, CORE the file to write. The uses of uses.mjs run on a copy of the module that notes each
// function that is entered. A function that none of them enters becomes a trap; indices, imports, exports and data stay, so that the glue fits both. A call of
// a trap ends the core, and the facade does the call again with the whole module (pkg-template/src/module/core.ts).
import { readFileSync, writeFileSync } from 'node:fs';
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
writeFileSync(core, kept.written);
console.log(`${core}: ${entered.size} of ${kept.count} functions`);
