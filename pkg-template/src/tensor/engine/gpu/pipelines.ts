/** Compiled pipelines: one for each text and layout, on a device. */

import { ResiduaError } from '../../../arguments/errors.js';
import type { Accounts } from '../accounts.js';
import type { Kernel } from '../plan.js';

/** A compiled kernel. */
export interface Pipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

/** Texts whose pipelines are kept. Programs keep their own. */
const KEPT = 1024;

const BINDING_TYPES = ['read-only-storage', 'storage', 'uniform'] as const;

/** The pipelines of a device. */
export class Pipelines {
  private readonly known = new Map<string, Promise<Pipeline>>();

  constructor(
    private readonly device: GPUDevice,
    private readonly accounts: Accounts,
  ) {}

  /** Returns the pipeline of a kernel. Rejects with 'shader-compilation' where the browser refuses its text. */
  get(kernel: Kernel): Promise<Pipeline> {
    const key = `${kernel.bindings.join()}\n${kernel.text}`;
    const known = this.known.get(key);
    if (known !== undefined) {
      this.accounts.pipelineCacheHits += 1;
      return known;
    }
    this.accounts.pipelines += 1;
    const made = this.make(kernel);
    this.known.set(key, made);
    made.catch(() => this.known.delete(key));
    if (this.known.size > KEPT) this.known.delete(this.known.keys().next().value as string);
    return made;
  }

  /** Forgets all pipelines. */
  clear(): void {
    this.known.clear();
  }

  private async make({ name, text, bindings }: Kernel): Promise<Pipeline> {
    const { device } = this;
    // The error is that of the pipeline; without a scope the browser would report it as uncaptured too.
    device.pushErrorScope('validation');
    const module = device.createShaderModule({ label: name, code: text });
    device.popErrorScope().catch(() => {});
    const entries = Array.from(bindings, (type, binding) => ({
      binding,
      visibility: GPUShaderStage.COMPUTE,
      buffer: { type: BINDING_TYPES[type] as GPUBufferBindingType },
    }));
    const layout = device.createBindGroupLayout({ label: name, entries });
    try {
      const pipeline = await device.createComputePipelineAsync({
        label: name,
        layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module, entryPoint: 'main' },
      });
      return { pipeline, layout };
    } catch (error) {
      const { messages } = await module.getCompilationInfo();
      const told = messages.filter(({ type }) => type === 'error').map(({ lineNum, message }) => `line ${lineNum}: ${message}`);
      const reason = told.length > 0 ? told.join('; ') : error instanceof Error ? error.message : String(error);
      throw new ResiduaError('shader-compilation', `the kernel ${name} was rejected: ${reason}`, { wgsl: text, cause: error });
    }
  }
}
