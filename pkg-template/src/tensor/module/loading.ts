/** Loads the WebAssembly module of tensors. The module of the solvers is another, which this does not load. */

import { Host, initOn, loader, type InitOptions, type Instance, type WasmSource } from '../../module/loading.js';
import type { Threads } from '../../threads/threaded.js';
import type { RawCompiledPlan, RawCompiling, RawTensorModule } from './raw.js';

/** A running instance of the module of tensors. */
export type TensorInstance = Instance<RawTensorModule>;

/** The module of tensors on the calling thread. */
export const tensorModule: Host<RawTensorModule> = /* @__PURE__ */ new Host<RawTensorModule>(
  /* @__PURE__ */ loader(loadTensorGlue, 'wasm-tensor/residua_tensor_bg.wasm'),
);

/**
 * Loads the WebAssembly module of tensors once; later calls return the same promise. After an 'internal' failure it starts a new instance.
 * `Device.create()` and `Device.default()` load the module themselves; init() is needed only to give its source, to load it early, or to have it on several
 * threads. Resolves with the number of threads, and why they are fewer than were asked for. Rejects with 'not-initialized' where the module cannot be loaded,
 * and may then be called again.
 *
 * @param options the source of the .wasm, by default the file beside the package's glue, which bundlers find too; or options
 */
export function init(options?: WasmSource | InitOptions): Promise<Threads> {
  return initOn(tensorModule, options);
}

/** Imports the glue. Its default export fetches the WebAssembly module. */
async function loadTensorGlue(): Promise<RawTensorModule> {
  const glue: ExportedNames = await import('../../../wasm-tensor/residua_tensor.js');
  return glue as unknown as RawTensorModule;
}

/** The names of the boundary, without the types that the generated declarations do not have. */
interface ExportedNames extends Record<Exclude<keyof RawTensorModule, 'Compiling' | 'onTrap' | 'setKernelPool'>, unknown> {
  readonly CompiledPlan: { readonly prototype: { readonly [Name in keyof RawCompiledPlan]: unknown } };
  readonly Compiling: { readonly prototype: { readonly [Name in keyof RawCompiling]: unknown }; begin: unknown };
}
