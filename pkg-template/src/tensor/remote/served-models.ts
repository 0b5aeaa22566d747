/** Files and models in the worker: reads, loads and runs them for the page. */

import { ResiduaError } from '../../arguments/errors.js';
import type { Cell } from '../device/cell.js';
import type { DeviceCore } from '../device/core.js';
import { Device } from '../device/device.js';
import { QuantizedTensor } from '../device/quantized-tensor.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { Memory } from '../engine/engine.js';
import type { Pending } from '../engine/pending.js';
import type { ModelFeed, ModelValue } from '../onnx/feeds.js';
import { loadOnnx } from '../onnx/load.js';
import type { LoadedModel } from '../onnx/loaded-model.js';
import { dim, type Size } from '../size.js';
import { loadTfjs } from '../tfjs/load.js';
import type { Given, MemoryPart, ModelFacts, Question, Request, SentFeed, SentOutput, SentSize, SentSource, SentTensor, SentTensors, SentValue } from './protocol.js';
import { received } from './sent-source.js';
import { readFile } from './served-files.js';

/** What a served device gives its models. */
export interface ModelHost {
  readonly core: DeviceCore;
  /** Memory of the page, or a part of it. Throws where there is none. */
  part(part: MemoryPart): Memory;
  /** Lets the page refer to memory by a number. `free` frees it when the page does. */
  lend(cell: Cell, free: () => void): number;
}

/** What a load has of the page: the waits of its call, and what hears of progress and answers questions. */
export interface LoadHost {
  readonly caller: Pending;
  onProgress(loaded: number, total: number): void;
  ask(asks: Question): Promise<Given>;
}

const nothing = (): void => {};

/** The files and models of a device. */
export class ServedModels {
  private readonly models = new Map<number, LoadedModel>();
  private readonly device: Device;

  constructor(private readonly host: ModelHost) {
    this.device = Device.over(host.core, null);
  }

  /** Reads a file. Its tensors are the page's. */
  async loadFile({ format, source, dtype, isSelected }: Extract<Request, { do: 'loadFile' }>, { caller, onProgress, ask }: LoadHost): Promise<SentTensors> {
    const options = { onProgress, signal: signalOf(caller), ...(dtype === undefined ? {} : { dtype }) };
    const select = async (names: readonly string[]) => ((await ask({ names })) as { selected: readonly string[] }).selected;
    const { tensors, metadata } = await readFile(format, received(source), this.device, options, isSelected ? select : null);
    return { metadata, tensors: Object.entries(tensors).map(([name, tensor]) => ({ name, ...this.sentTensor(tensor) })) };
  }

  private sentTensor(tensor: StoredTensor | QuantizedTensor): Omit<SentTensor, 'name'> {
    const cells = tensor instanceof QuantizedTensor ? tensor.cells : [tensor.cell];
    const parts = cells.map((cell) => ({ dtype: cell.dtype, sizes: cell.sizes, part: { memory: this.host.lend(cell, () => tensor.dispose()), offset: 0, bytes: cell.memory.bytes } }));
    return { quantised: tensor instanceof QuantizedTensor ? tensor.type : null, shape: tensor.shape as readonly number[], parts };
  }

  async load({ model: number, format, source, dims, hasFiles }: Extract<Request, { do: 'loadModel' }>, { caller, onProgress, ask }: LoadHost): Promise<ModelFacts> {
    const given = { device: this.device, dims: Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, sizeOf(size)])), onProgress, signal: signalOf(caller) };
    const files = hasFiles ? async (path: string) => received((await ask({ path })) as SentSource) : undefined;
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
        given[name] = 'part' in feed ? await this.copied(feed, copies) : feed.given;
      }));
      const outputs = await model.run(given);
      return Object.entries(outputs).map(([name, tensor]) => ({
        name, dtype: tensor.dtype, sizes: tensor.shape, part: { memory: this.host.lend(tensor.cell, nothing), offset: 0, bytes: tensor.cell.memory.bytes },
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
  private async copied({ dtype, sizes, part }: Extract<SentFeed, { part: MemoryPart }>, copies: StoredTensor[]): Promise<StoredTensor> {
    const { core } = this.host;
    const copy = this.device.zeros(sizes, dtype);
    copies.push(copy);
    const bytes = Math.ceil(part.bytes / 4) * 4;
    if (bytes > 0) await core.afterEarlier(() => core.engine.copy(this.host.part({ ...part, bytes }), copy.cell.memory, bytes));
    return copy;
  }
}

/** A signal that fires when a call is aborted. */
function signalOf(caller: Pending): AbortSignal {
  const controller = new AbortController();
  caller.whenFailed(() => controller.abort());
  return controller.signal;
}

function sizeOf(size: SentSize): Size {
  return typeof size === 'number' ? size : dim(size.dim, size.max);
}

function sentValue({ name, type, dtype, shape }: ModelValue): SentValue {
  return { name, type, dtype, shape: shape?.map((size) => (typeof size === 'object' ? { dim: size.name, max: size.max } : size)) ?? null };
}
