/**
 * The core of the module: the functions that curve fits and other small dense problems on the CPU call, in a file of its own with less than half of the bytes
 * (xtask/core). A page that does no more than that loads nothing else. Of any other function the core has a trap in its place, so that work in it gives the
 * bits of the whole module, or ends.
 */

import { here, Host, loader } from './loading.js';
import { loadCoreGlue, type RawModule } from './raw.js';

const core: Host = /* @__PURE__ */ new Host<RawModule>(/* @__PURE__ */ loader(loadCoreGlue, 'wasm-core/residua_core_bg.wasm'));

/**
 * Does work that makes, uses and frees all that it needs. It runs in the core if it is small and the whole module is not wanted already, and again in the whole
 * module where the core cannot be loaded or lacks a function.
 */
export async function inCore<T>(isSmall: boolean, work: (host: Host) => Promise<T>): Promise<T> {
  if (!isSmall || here.isLoaded) return work(here);
  try {
    return await work(core);
  } catch (error) {
    if (core.isLoaded) throw error;
    return work(here);
  }
}
