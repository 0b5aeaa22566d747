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

/** The same for runs one after the other: `cursor` has the position of the next one, and how many dims each has. One workgroup. */
const FOLLOWING_TEXT = `
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<u32>;
@group(0) @binding(2) var<storage, read> dims: array<u32>;
@group(0) @binding(3) var<storage, read_write> cursor: array<u32>;

@compute @workgroup_size(${THREADS})
fn main(@builtin(local_invocation_index) thread: u32) {
    let first = cursor[0] * cursor[1];
    for (var word = thread; word < table[0]; word += ${THREADS}u) {
        let start = table[1u + word];
        var at = start + 2u;
        var sum = 0u;
        for (var term = 0u; term < table[start + 1u]; term++) {
            var product = table[at];
            let count = table[at + 1u];
            for (var k = 0u; k < count; k++) {
                product *= dims[first + table[at + 2u + k]];
            }
            sum += product;
            at += 2u + count;
        }
        words[table[start]] = sum;
    }
    storageBarrier();
    if thread == 0u {
        cursor[0] += 1u;
    }
}
`;

/** The pipelines that compute words, once a device. */
export class UniformPipeline {
  private readonly pipelines = new Map<string, GPUComputePipeline>();

  constructor(private readonly gpu: GPUDevice) {}

  /** Returns that for one run, or for runs one after the other; the first call makes it. */
  get(isFollowing = false): GPUComputePipeline {
    const code = isFollowing ? FOLLOWING_TEXT : TEXT;
    let pipeline = this.pipelines.get(code);
    if (pipeline === undefined) {
      pipeline = this.gpu.createComputePipeline({
        label: 'uniforms',
        layout: 'auto',
        compute: { module: this.gpu.createShaderModule({ label: 'uniforms', code }), entryPoint: 'main' },
      });
      this.pipelines.set(code, pipeline);
    }
    return pipeline;
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
  private following: Following | null = null;

  /**
   * @param bytes of its content
   * @param varying the module's table of the words that depend on dims
   */
  constructor(
    private readonly gpu: GPUDevice,
    private readonly pipeline: UniformPipeline,
    bytes: number,
    private readonly varying: Uint32Array<ArrayBuffer>,
  ) {
    const isComputed = bytes > SHORT_BYTES && (varying[0] ?? 0) > 0;
    const usage = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST | ((varying[0] ?? 0) > 0 ? GPUBufferUsage.STORAGE : 0);
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
    return this.isStale || this.following !== null;
  }

  /** Lets each of the runs to come have the next dims of a list. */
  follow(dims: Uint32Array<ArrayBuffer>, runs: number): void {
    this.following?.dispose();
    this.following = runs === 0 || (this.varying[0] ?? 0) === 0 ? null : new Following(this.gpu, this.pipeline.get(true), this.buffer, this.varying, dims, runs);
  }

  /** Begins with the first dims of the list. */
  rewind(): void {
    this.following?.rewind();
  }

  /** Computes the words, in a pass before all dispatches that read them. */
  encode(pass: GPUComputePassEncoder): void {
    if (this.following !== null) {
      this.following.encode(pass);
      return;
    }
    if (this.update === null) return;
    pass.setPipeline(this.update.pipeline);
    pass.setBindGroup(0, this.update.group);
    pass.dispatchWorkgroups(this.update.workgroups);
    this.isStale = false;
  }

  /** Frees its buffers. */
  dispose(): void {
    this.buffer.destroy();
    this.following?.dispose();
    this.update?.dims.destroy();
    this.update?.table.destroy();
  }

  private makeUpdate(pipeline: GPUComputePipeline, varying: Uint32Array<ArrayBuffer>): Update {
    const { gpu } = this;
    const table = bufferOf(gpu, 'varying uniforms', varying.byteLength);
    gpu.queue.writeBuffer(table, 0, varying);
    const dims = bufferOf(gpu, 'dims', 4 * MOST_DIMS);
    const entries = [this.buffer, table, dims].map((each, binding) => ({ binding, resource: { buffer: each } }));
    const group = gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    return { dims, table, group, pipeline, workgroups: Math.ceil((varying[0] as number) / THREADS) };
  }
}

/** The dims of runs one after the other, from which the device computes words before each. */
class Following {
  private readonly table: GPUBuffer;
  private readonly dims: GPUBuffer;
  private readonly cursor: GPUBuffer;
  private readonly group: GPUBindGroup;
  private readonly start: Uint32Array<ArrayBuffer>;

  constructor(
    private readonly gpu: GPUDevice,
    private readonly pipeline: GPUComputePipeline,
    words: GPUBuffer,
    varying: Uint32Array<ArrayBuffer>,
    dims: Uint32Array<ArrayBuffer>,
    runs: number,
  ) {
    this.table = bufferOf(gpu, 'varying uniforms', varying.byteLength);
    this.dims = bufferOf(gpu, 'dims of runs', dims.byteLength);
    this.cursor = bufferOf(gpu, 'next run', 8);
    gpu.queue.writeBuffer(this.table, 0, varying);
    gpu.queue.writeBuffer(this.dims, 0, dims);
    this.start = Uint32Array.of(0, dims.length / runs);
    const entries = [words, this.table, this.dims, this.cursor].map((buffer, binding) => ({ binding, resource: { buffer } }));
    this.group = gpu.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  }

  rewind(): void {
    this.gpu.queue.writeBuffer(this.cursor, 0, this.start);
  }

  encode(pass: GPUComputePassEncoder): void {
    pass.setPipeline(this.pipeline);
    pass.setBindGroup(0, this.group);
    pass.dispatchWorkgroups(1);
  }

  dispose(): void {
    for (const buffer of [this.table, this.dims, this.cursor]) buffer.destroy();
  }
}

function bufferOf(gpu: GPUDevice, label: string, bytes: number): GPUBuffer {
  return gpu.createBuffer({ label, size: Math.ceil(bytes / 16) * 16, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST });
}
