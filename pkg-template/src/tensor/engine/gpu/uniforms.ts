/**
 * The uniform buffer of a program. Where many of its words depend on dims, a run uploads the dims alone, and a kernel computes the words before
 * the others run: a uniform takes 256 bytes or more for each kernel, the dims a few words.
 */

/** Buffers of at most this many bytes are uploaded as a whole: that takes less time than a dispatch. */
const SHORT_BYTES = 1024;

/** Threads a workgroup. */
const THREADS = 64;

/** Dims of a program whose words are computed. */
const MOST_DIMS = 64;

/** A word is a polynomial in the dims modulo 2³²; `table` is what the module gives as its varying words. */
const TEXT = `
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read> dims: array<u32>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= table[0] {
        return;
    }
    let start = table[1u + id.x];
    var at = start + 2u;
    var sum = 0u;
    for (var term = 0u; term < table[start + 1u]; term++) {
        var product = table[at];
        let count = table[at + 1u];
        for (var k = 0u; k < count; k++) {
            product *= dims[table[at + 2u + k]];
        }
        sum += product;
        at += 2u + count;
    }
    words[table[start]] = sum;
}
`;

/** The pipeline that computes words, once a device. */
export class UniformPipeline {
  private pipeline: GPUComputePipeline | null = null;

  constructor(private readonly gpu: GPUDevice) {}

  /** Returns it; the first call makes it. */
  get(): GPUComputePipeline {
    this.pipeline ??= this.gpu.createComputePipeline({
      label: 'uniforms',
      layout: 'auto',
      compute: { module: this.gpu.createShaderModule({ label: 'uniforms', code: TEXT }), entryPoint: 'main' },
    });
    return this.pipeline;
  }
}

/** What computes the words on the device. */
interface Update {
  readonly dims: GPUBuffer;
  readonly table: GPUBuffer;
  readonly group: GPUBindGroup;
  readonly pipeline: GPUComputePipeline;
  readonly workgroups: number;
}

/** The uniform buffer of a program. */
export class Uniforms {
  /** The buffer. */
  readonly buffer: GPUBuffer;
  private readonly update: Update | null;
  private isWritten = false;
  private isStale = false;

  /**
   * @param bytes of its content
   * @param varying the module's table of the words that depend on dims
   */
  constructor(
    private readonly gpu: GPUDevice,
    pipeline: UniformPipeline,
    bytes: number,
    varying: Uint32Array<ArrayBuffer>,
  ) {
    const isComputed = bytes > SHORT_BYTES && (varying[0] ?? 0) > 0;
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST | (isComputed ? GPUBufferUsage.STORAGE : 0);
    // The last uniform is bound in whole vectors.
    this.buffer = gpu.createBuffer({ label: 'uniforms', size: Math.ceil(bytes / 256) * 256, usage });
    this.update = isComputed ? this.makeUpdate(pipeline.get(), varying) : null;
  }

  /** Writes the words for some dims, or lets the next run compute them. `words` has the content from `start` on. */
  set(words: Uint32Array<ArrayBuffer>, start: number, dims: Uint32Array<ArrayBuffer>): void {
    const { queue } = this.gpu;
    if (this.isWritten && this.update !== null && dims.length <= MOST_DIMS) {
      queue.writeBuffer(this.update.dims, 0, dims);
      this.isStale = true;
      return;
    }
    queue.writeBuffer(this.buffer, 0, words, start, words.length - start);
    this.isWritten = true;
  }

  /** Whether a run has to compute the words first. */
  get needsUpdate(): boolean {
    return this.isStale;
  }

  /** Computes the words, in a pass before all dispatches that read them. */
  encode(pass: GPUComputePassEncoder): void {
    if (this.update === null) return;
    pass.setPipeline(this.update.pipeline);
    pass.setBindGroup(0, this.update.group);
    pass.dispatchWorkgroups(this.update.workgroups);
    this.isStale = false;
  }

  /** Frees its buffers. */
  dispose(): void {
    this.buffer.destroy();
    this.update?.dims.destroy();
    this.update?.table.destroy();
  }

  private makeUpdate(pipeline: GPUComputePipeline, varying: Uint32Array<ArrayBuffer>): Update {
    const { gpu } = this;
    const buffer = (label: string, bytes: number) => gpu.createBuffer({ label, size: Math.ceil(bytes / 16) * 16, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST });
    const table = buffer('varying uniforms', varying.byteLength);
    gpu.queue.writeBuffer(table, 0, varying);
    const dims = buffer('dims', 4 * MOST_DIMS);
    const entries = [this.buffer, table, dims].map((each, binding) => ({ binding, resource: { buffer: each } }));
    const group = gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    return { dims, table, group, pipeline, workgroups: Math.ceil((varying[0] as number) / THREADS) };
  }
}
