/** Models in the worker: loads and runs them for the page. */

import { ResiduaError } from '../../arguments/errors.js';
import { DTYPE_BYTES } from '../dtype.js';
import type { DeviceCore } from '../device/core.js';
import { Device } from '../device/device.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { Memory } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import type { FileSource } from '../files/source.js';
import { elementCount } from '../memory/numbers.js';
import type { ModelFeed, ModelValue } from '../onnx/feeds.js';
import { loadOnnx } from '../onnx/load.js';
import type { LoadedModel } from '../onnx/loaded-model.js';
import { dim, type Size } from '../size.js';
import { loadTfjs } from '../tfjs/load.js';
import type { MemoryPart, ModelFacts, Request, SentFeed, SentOutput, SentSize, SentValue } from './protocol.js';
import { received } from './sent-source.js';

/** What a served device gives its models. */
export interface ModelHost {
  readonly core: DeviceCore;
  /** Memory of the page, or a part of it. Throws where there is none. */
  part(part: MemoryPart): Memory;
  /** Lets the page refer to a tensor by a number. */
  lend(tensor: StoredTensor): number;
}

/** Loads a model: progress and questions for files go to the page. */
export interface LoadHost {
  readonly caller: Pending;
  onProgress(loaded: number, total: number): void;
  file(path: string): Promise<FileSource>;
}

/** The models of a device. */
export class ServedModels {
  private readonly models = new Map<number, LoadedModel>();
  private readonly device: Device;

  constructor(private readonly host: ModelHost) {
    this.device = Device.over(host.core, null);
  }

  async load({ model: number, format, source, dims, hasFiles }: Extract<Request, { do: 'loadModel' }>, { caller, onProgress, file }: LoadHost): Promise<ModelFacts> {
    const controller = new AbortController();
    caller.whenFailed(() => controller.abort());
    const given = { device: this.device, dims: Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, sizeOf(size)])), onProgress, signal: controller.signal };
    const files = hasFiles ? file : undefined;
    const model = await (format === 'onnx'
      ? loadOnnx(received(source), files === undefined ? given : { ...given, external: files })
      : loadTfjs(received(source), files === undefined ? given : { ...given, weights: files }));
    this.models.set(number, model);
    return { inputs: model.inputs.map(sentValue), outputs: model.outputs.map(sentValue) };
  }

  async run({ model: number, feeds }: Extract<Request, { do: 'runModel' }>): Promise<SentOutput[]> {
    const model = this.models.get(number);
    if (model === undefined) throw new ResiduaError('disposed', 'run: the model was disposed');
    const copies: StoredTensor[] = [];
    try {
      const given: Record<string, ModelFeed> = {};
      // All of them take their place in the order of work at once.
      await Promise.all(Object.entries(feeds).map(async ([name, feed]) => {
        given[name] = isPart(feed.data) ? await this.copied(feed, feed.data, copies) : { data: feed.data, shape: feed.sizes };
      }));
      const outputs = await model.run(given);
      return Object.entries(outputs).map(([name, tensor]) => ({
        name, dtype: tensor.dtype, sizes: tensor.shape, part: { memory: this.host.lend(tensor), offset: 0, bytes: tensor.cell.memory.bytes },
      }));
    } finally {
      for (const copy of copies) copy.dispose();
    }
  }

  free(number: number): void {
    this.models.get(number)?.dispose();
    this.models.delete(number);
  }

  /** A copy of memory of the page as it is now: the page may write or free it before the run begins, which may wait for a compile. */
  private async copied({ dtype, sizes }: SentFeed, part: MemoryPart, copies: StoredTensor[]): Promise<StoredTensor> {
    const { core } = this.host;
    const copy = this.device.zeros(sizes, dtype);
    copies.push(copy);
    const bytes = Math.ceil((elementCount(sizes) * DTYPE_BYTES[dtype]) / 4) * 4;
    if (bytes > 0) await core.afterEarlier(() => core.engine.copy(this.host.part(part), copy.cell.memory, bytes));
    return copy;
  }
}

function isPart(data: SentFeed['data']): data is MemoryPart {
  return typeof data === 'object' && 'memory' in data;
}

function sizeOf(size: SentSize): Size {
  return typeof size === 'number' ? size : dim(size.dim, size.max);
}

function sentValue({ name, type, dtype, shape }: ModelValue): SentValue {
  return { name, type, dtype, shape: shape?.map((size) => (typeof size === 'object' ? { dim: size.name, max: size.max } : size)) ?? null };
}
