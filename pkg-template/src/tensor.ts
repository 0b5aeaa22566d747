/**
 * residua/tensor: arrays of numbers on the device of residua's solvers, with a WebAssembly module of their own.
 *
 * @packageDocumentation
 */

export type { WasmSource } from './module/loading.js';
