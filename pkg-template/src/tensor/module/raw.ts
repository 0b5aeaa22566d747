/**
 * The boundary to the WebAssembly module of tensors: the interfaces of the exports of crates/tensor/src/js, and the call that imports the glue.
 *
 * The module reads tapes, and gives plans: kernels and the order in which they run, as plain data. It has no access to a GPUDevice.
 */

import type { RestartableModule } from '../../module/loading.js';

/** What a plan is made for. Beyond these, kernels keep to the limits that every WebGPU device has. */
export interface RawPlanOptions {
  /** Whether the plan is for the CPU: kernels are WebAssembly, and `hostModule` has them. Else they are WGSL. */
  readonly host: boolean;
  /** Storage buffers that a kernel may bind. */
  readonly maxStorageBuffers: number;
  /** Bytes of a binding of a storage buffer; tensors that are longer are bound in windows. Not read on the CPU. */
  readonly maxBindingBytes: number;
  /** Bytes of the memory of a workgroup. Not read on the CPU. */
  readonly maxWorkgroupBytes: number;
  /** Whether WGSL has products of packed bytes. Not read on the CPU. */
  readonly hasPackedDot?: boolean;
}

/** A compile under way. */
export interface RawCompiling {
  /** Compiles for about so many milliseconds. Returns the plan when it is done, and is not called again. Throws what is wrong with the tape. */
  advance(milliseconds: number): RawCompiledPlan | undefined;
  free(): void;
}

/** A compiled tape. */
export interface RawCompiledPlan {
  kernelCount(): number;
  kernelName(kernel: number): string;
  /** WGSL with the entry point 'main'; empty on the CPU. */
  kernelText(kernel: number): string;
  /** One for each binding, in order: 0 read-only storage, 1 storage, 2 uniform, which is the last. */
  kernelBindings(kernel: number): Uint8Array;
  /** How the buffers of a kernel are bound: bytes of a window, and for each buffer how many windows it has; nothing if each has one. */
  kernelWindows(kernel: number): Float64Array;
  /** Triples: kind (0 slot, 1 temporary, 2 result, 3 table of roots of unity), slot, their length or 0, bytes for the largest dims (0 for a slot). */
  places(): Float64Array;
  /** The bytes of the table of the roots of unity of a length. */
  rootsOfUnity(length: number): Uint8Array;
  /** The place of each result. */
  results(): Uint32Array;
  /** For each step: 0 (dispatch), kernel, count, places …; or 1 (copy), from, to. */
  steps(): Uint32Array;
  /**
   * The numbers of a run. For each step in order: workgroups x, y, z, first word of its uniform, number of words of its uniform; a copy has
   * its bytes and four zeros. The content of the uniform buffer follows, with one part for each kernel.
   */
  words(dims: Uint32Array): Uint32Array;
  /**
   * The products on the GPU whose tile may change, ten words each: kernel, number of its tile, type of its numbers (0 f32, 1 i32, 2 u32), whether the left and the right factor
   * have their vectors along the depth, bits of a number of the right factor in memory, and for values of the dims how many matrices there are, with how many rows and columns, and
   * the depth.
   */
  products(dims: Uint32Array): Uint32Array;
  /** Writes a kernel of `products` with another tile, which changes its workgroups too. No result depends on it. */
  setTile(kernel: number, tile: number): void;
  /**
   * The words of the uniform buffer that depend on dims: how many, and where each is described in this list. A description is the word's
   * position, its count of terms, and for each term the coefficient, a count of dims and these.
   */
  varyingWords(): Uint32Array;
  /** The kernels as a WebAssembly module: it imports env.memory, and exports '0', '1', …, which take the address of a frame. */
  hostModule(): Uint8Array;
  /**
   * A kernel that `hostModule` leaves out, a matrix product. It outlives the plan, and the garbage collector frees it. `run` does a part of it
   * and gives where the next one begins, or 0 after the last.
   */
  product(kernel: number): { run(frame: number, part: number): number } | undefined;
  /** For each buffer of a kernel the code of its element type and, for values of the dims, the number of its elements; 0 where it is written with what the rounding of sums left. */
  elements(kernel: number, dims: Uint32Array): Float64Array;
  /** For each kernel of a plan for the GPU how many functions of `verifyModule` compute it, one after the other; 0 for one of `verifyKernel`. */
  verifyFunctions(): Uint32Array;
  /** A kernel without such functions: what a run with the words of its uniform leaves in its buffers, from what was there before. It outlives the plan. */
  verifyKernel(kernel: number): { run(words: Uint32Array, buffers: readonly Uint8Array[]): Uint8Array[] } | undefined;
  /** The kernels of a plan for the GPU as functions of a WebAssembly module, in order and in the form of `hostModule`. */
  verifyModule(): Uint8Array;
  toString(): string;
  free(): void;
}

/** The exports of the glue. */
export interface RawTensorModule extends RestartableModule {
  /** Fetches and starts the module; without a source, the file beside the glue. Resolves with its exports. */
  default(options?: { module_or_path?: unknown }): Promise<unknown>;
  /** Starts a compiled module. */
  initSync?(options: { module: WebAssembly.Module }): unknown;
  Compiling: { begin(tape: Float64Array, options: RawPlanOptions): RawCompiling };
  /** Returns the address of memory of the module, aligned to 16 bytes. 0 says that there is none. */
  alloc(bytes: number): number;
  dealloc(address: number, bytes: number): void;
  /** Why 'auto' leaves a GPU alone, from what is known of its adapter; undefined where it takes it. */
  softwareReason(info: unknown): string | undefined;
  /** The module's memory. */
  wasmMemory(): WebAssembly.Memory;
}
