/**
 * The core of the module: the functions that curve fits and other small dense problems on the CPU call, in a file of its own with less than half of the bytes
 * (xtask/core). A page that does no more than that loads nothing else. In place of any other function the core has a trap. A call that meets one fails as a
 * whole and is made again in the whole module; the core is not used after that. A call has the bits of the whole module either way.
 */

import { ResiduaError } from '../arguments/errors.js';
import { here, Host, loader } from './loading.js';
import { loadCoreGlue, type RawModule } from './raw.js';

const core: Host = /* @__PURE__ */ new Host<RawModule>(/* @__PURE__ */ loader(loadCoreGlue, 'wasm-core/residua_core_bg.wasm'));
let hasFailed = false;

/**
 * Does work that makes, uses and frees all that it needs in the module, and can be done a second time without a trace of the first: in the core, if it is small
 * and the whole module is not wanted already, and again in the whole module where the core cannot be loaded or lacks a function.
 */
export async function inCore<T>(isSmall: boolean, work: (host: Host, isAgain: boolean) => Promise<T>): Promise<T> {
  if (!isSmall || hasFailed || here.isLoaded) return work(here, false);
  try {
    return await work(core, false);
  } catch (error) {
    // A failed load, or an instance that a trap has ended, whichever call met it.
    const isOfCore = hasFailed || !core.isLoaded || (error instanceof ResiduaError && error.code === 'not-initialized');
    if (!isOfCore) throw error;
    hasFailed = true;
    return work(here, true);
  }
}
