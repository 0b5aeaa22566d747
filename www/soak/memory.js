/**
 * Memory of the page in bytes: of WebAssembly, of the device, and of JavaScript where the browser tells it. Import this before the package: it notes each memory
 * that a module of WebAssembly exports, which nothing else tells.
 */

const memories = new Set();
const note = ({ exports }) => {
  for (const value of Object.values(exports)) if (value instanceof WebAssembly.Memory) memories.add(value);
};

if (globalThis.WebAssembly?.instantiate !== undefined) {
  const { Instance, instantiate, instantiateStreaming } = WebAssembly;
  WebAssembly.Instance = class extends Instance {
    constructor(...given) {
      super(...given);
      note(this);
    }
  };
  WebAssembly.instantiate = async (...given) => {
    const made = await instantiate.apply(WebAssembly, given);
    note(made.instance ?? made);
    return made;
  };
  if (instantiateStreaming !== undefined) {
    WebAssembly.instantiateStreaming = async (...given) => {
      const made = await instantiateStreaming.apply(WebAssembly, given);
      note(made.instance);
      return made;
    };
  }
}

/** Bytes of all memories of WebAssembly. */
export const wasmBytes = () => Array.from(memories, ({ buffer }) => buffer.byteLength).reduce((sum, bytes) => sum + bytes, 0);

/** Bytes of JavaScript’s heap, null where the browser does not tell. */
export const heapBytes = () => performance.memory?.usedJSHeapSize ?? null;

/**
 * Whether memory is flat: what it was when half of a job was done, and at the job’s end. Memory of WebAssembly never shrinks, and that of the device is freed at
 * once, so both are as large at the end. The heap is collected when the browser likes: it may be larger by `HEAP_SLACK`.
 * @param {readonly { wasm: number, device: number, heap: number | null }[]} samples in their order, the first before any work
 * @param {number} slack bytes of WebAssembly that may wait for the collector
 */
export function growthOf(samples, slack = 0) {
  const half = samples[Math.floor(samples.length / 2)], end = samples.at(-1);
  const grown = { wasm: end.wasm - half.wasm, device: end.device - half.device, heap: end.heap === null ? null : end.heap - half.heap };
  return { ...grown, isFlat: grown.wasm <= slack && grown.device <= 0 && (grown.heap ?? 0) <= HEAP_SLACK };
}
export const HEAP_SLACK = 2 ** 24;
