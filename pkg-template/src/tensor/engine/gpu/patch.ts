/** Writes of bytes that do not fill whole words: WebGPU copies words alone, so a shader replaces part of a word. */

/** A word of which some bits are replaced. */
export interface Patch {
  readonly word: number;
  readonly mask: number;
  readonly value: number;
}

const TEXT = `
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
// Which word, the bits that are replaced, and by what.
@group(0) @binding(1) var<uniform> patch_of_word: vec4<u32>;

@compute @workgroup_size(1)
fn main() {
    let place = patch_of_word.x;
    words[place] = (words[place] & ~patch_of_word.y) | (patch_of_word.z & patch_of_word.y);
}
`;

/** What offsets of bindings are multiples of, on every device. */
const ALIGNMENT = 256;

/** Bytes at an address as whole words in the middle, and parts of a word before and after them. */
export function splitWords(offset: number, bytes: Uint8Array): { head: number; middle: number; patches: Patch[] } {
  const end = offset + bytes.length;
  const first = Math.ceil(offset / 4) * 4;
  const last = Math.floor(end / 4) * 4;
  const partial = (from: number, to: number): Patch => {
    const word = Math.floor(from / 4);
    let [mask, value] = [0, 0];
    for (let byte = from; byte < to; byte++) {
      const shift = 8 * (byte - 4 * word);
      mask |= 255 << shift;
      value |= (bytes[byte - offset] as number) << shift;
    }
    return { word, mask: mask >>> 0, value: value >>> 0 };
  };
  // All bytes lie within one word.
  if (last < first) return { head: 0, middle: 0, patches: [partial(offset, end)] };
  const patches: Patch[] = [];
  if (offset < first) patches.push(partial(offset, first));
  if (last < end) patches.push(partial(last, end));
  return { head: first - offset, middle: last - first, patches };
}

/** Replaces parts of words of buffers. */
export class Patcher {
  private pipeline: GPUComputePipeline | null = null;

  constructor(private readonly device: GPUDevice) {}

  /** Replaces parts of words of memory that begins at an offset of a buffer. */
  apply(buffer: GPUBuffer, offset: number, patches: readonly Patch[]): void {
    for (const patch of patches) this.replace(buffer, offset + 4 * patch.word, patch);
  }

  private replace(buffer: GPUBuffer, address: number, { mask, value }: Patch): void {
    const { device } = this;
    this.pipeline ??= device.createComputePipeline({
      label: 'patch',
      layout: 'auto',
      compute: { module: device.createShaderModule({ label: 'patch', code: TEXT }), entryPoint: 'main' },
    });
    const uniform = device.createBuffer({ label: 'patch', size: 16, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST });
    // A few words alone are bound: the buffer may be longer than a binding.
    const start = Math.floor(address / ALIGNMENT) * ALIGNMENT;
    device.queue.writeBuffer(uniform, 0, Uint32Array.of((address - start) / 4, mask, value, 0));
    const group = device.createBindGroup({
      layout: this.pipeline.getBindGroupLayout(0),
      entries: [
        { binding: 0, resource: { buffer, offset: start, size: Math.min(ALIGNMENT, buffer.size - start) } },
        { binding: 1, resource: { buffer: uniform } },
      ],
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
    device.queue.submit([encoder.finish()]);
    uniform.destroy();
  }
}
