/** Models in a worker, as the page has them: their files are read there, and their graphs are recorded, compiled and run there. */

import { makeInspectable } from '../../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkFlag } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { checkSignal } from '../../module/cancellation.js';
import { errorData } from '../../remote/error-data.js';
import { Cell } from '../device/cell.js';
import { Device } from '../device/device.js';
import { StoredTensor } from '../device/stored-tensor.js';
import { Abortion } from '../engine/pending.js';
import type { FileSource } from '../files/source.js';
import { checkDims, checkNames, sizedFeeds, type Dims, type ModelFeed, type ModelValue, type SizedFeed } from '../onnx/feeds.js';
import type { Connection } from './connection.js';
import { partOf, RemoteEngine } from './remote-engine.js';
import type { ModelFacts, ModelFormat, SentFeed, SentSize, SentValue } from './protocol.js';
import { sending, type Sending } from './sent-source.js';

/** Options of what loads models in a worker, as those that load them on the page have them. */
export interface RemoteLoadOptions {
  /** Where the weights are stored and runs are computed, a device of this entry point; `Device.default()` unless told. */
  device?: Device;
  /**
   * Sizes that the inputs name, such as `{ batch: 1 }`. With a number the graph is recorded for it. With a Dim one program serves all sizes up to its
   * `max`. A name that is not told here has the sizes of each run, with a program for each.
   */
  dims?: Dims;
  /** Called as bytes arrive in the worker, with their number and that of the file; the latter is 0 while it is not known. */
  onProgress?: (loaded: number, total: number) => void;
  /** Ends the load with 'aborted'. */
  signal?: AbortSignal;
  /** Whether the buffer of a source in memory is transferred to the worker and then is empty; false by default: it is copied. */
  transfer?: boolean;
}

/** What the worker has of models that nobody refers to any more. */
const collected = /* @__PURE__ */ new FinalizationRegistry<() => void>((free) => free());

/**
 * A model in the worker. It has what a {@link LoadedModel} of the page has but `recipe()`: its graph is there. Tensors that it takes and gives are those of its
 * device, as handles.
 */
export class WorkerModel {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** What runs take, in the order of the file. */
  readonly inputs: readonly ModelValue[];
  /** What runs give. */
  readonly outputs: readonly ModelValue[];
  private readonly engine: RemoteEngine;
  /** The owner of all outputs. */
  private readonly owner = { isDisposed: false };

  /** @internal Made by loadOnnx and loadTfjs. */
  constructor(
    /** Where it computes. */
    readonly device: Device,
    private readonly model: number,
    facts: ModelFacts,
    dims: Dims,
  ) {
    this.engine = Device.coreOf(device).engine as RemoteEngine;
    const valueOf = (value: SentValue): ModelValue => Object.freeze({ ...value, shape: value.shape === null ? null : Object.freeze(value.shape.map((size) => (typeof size === 'object' ? dimNamed(dims, size.dim) : size))) });
    this.inputs = Object.freeze(facts.inputs.map(valueOf));
    this.outputs = Object.freeze(facts.outputs.map(valueOf));
    const { connection, device: number } = this.engine;
    collected.register(this, () => connection.notify(number, { do: 'freeModel', model }), this);
  }

  /**
   * Computes the outputs, as `LoadedModel.run` does. Feeds are taken as they are at the call. The outputs belong to the model: the next run with the same sizes
   * writes over them, after the reads that were asked for before it.
   */
  async run(feeds: { readonly [name: string]: ModelFeed }): Promise<Record<string, StoredTensor>> {
    if (this.owner.isDisposed) throw new ResiduaError('disposed', 'WorkerModel: got a call after dispose()');
    checkNames('run: feeds', feeds, this.inputs);
    const core = Device.coreOf(this.device);
    core.check();
    const sent = sizedFeeds('run: feeds', feeds, this.inputs).map((feed) => [feed.input.name, this.sentFeed(feed)] as const);
    const transfer = sent.flatMap(([, { data }]) => (ArrayBuffer.isView(data) ? [data.buffer] : []));
    const { connection, device: number } = this.engine;
    const outputs = await core.pending.wait(connection.request(number, { do: 'runModel', model: this.model, feeds: Object.fromEntries(sent) }, { transfer }));
    return Object.fromEntries(outputs.map(({ name, dtype, sizes, part }) => {
      const cell = new Cell(core, dtype, Object.freeze(sizes), this.engine.lent(part), 'program', this.owner);
      cell.handle = this;
      return [name, new StoredTensor(this.device, cell)];
    }));
  }

  /** Frees the model in the worker, with its outputs. A second call does nothing. */
  dispose(): void {
    if (this.owner.isDisposed) return;
    this.owner.isDisposed = true;
    collected.unregister(this);
    this.engine.connection.notify(this.engine.device, { do: 'freeModel', model: this.model });
  }

  /** What JSON.stringify writes: inputs and outputs. */
  toJSON(): { inputs: readonly ModelValue[]; outputs: readonly ModelValue[] } {
    return { inputs: this.inputs, outputs: this.outputs };
  }

  private sentFeed({ input, sizes, feed }: SizedFeed): SentFeed {
    const { dtype } = input;
    if (!(feed instanceof StoredTensor)) return { dtype, sizes, data: ArrayBuffer.isView(feed) ? feed.slice() : feed };
    const { cell } = feed;
    const place = `run: feeds.${input.name}`;
    if (cell.core !== Device.coreOf(this.device)) throw invalidArgument(place, 'a stored tensor of another device', "one of the model's device");
    cell.check(place);
    return { dtype, sizes, data: partOf(cell.memory) };
  }
}

makeDisposable(WorkerModel);
makeInspectable(WorkerModel, 'WorkerModel');

function dimNamed(dims: Dims, name: string): Exclude<Dims[string], number> {
  return Object.values(dims).find((size) => typeof size === 'object' && size.name === name) as Exclude<Dims[string], number>;
}

/** Gives the files of a model by their names or paths. */
type Files = (path: string) => FileSource | Promise<FileSource>;

/** Loads a model in the worker of a device. `files` gives further files of it. */
export async function loadInWorker(call: string, format: ModelFormat, source: FileSource, options: RemoteLoadOptions, devices: typeof Device, files: Files | undefined): Promise<WorkerModel> {
  const { device: given, dims = {}, onProgress, signal, transfer = false } = options;
  checkDims(`${call}: dims`, dims);
  checkSignal(`${call}: signal`, signal);
  checkFlag(`${call}: transfer`, transfer);
  if (given !== undefined && !(given instanceof Device)) throw invalidArgument(`${call}: device`, describe(given), 'a Device');
  if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidArgument(`${call}: onProgress`, describe(onProgress), 'a function of two numbers');
  const sent: Sending[] = [];
  const abortion = new Abortion(call, signal);
  const send = async (place: string, file: FileSource, isTransferred: boolean): Promise<Sending> => {
    const each = await sending(place, file, isTransferred, signal);
    sent.push(each);
    return each;
  };
  try {
    const device = given ?? (await abortion.wait(devices.default()));
    const { engine, pending } = Device.coreOf(device);
    if (!(engine instanceof RemoteEngine)) throw invalidArgument(`${call}: device`, "a Device of 'residua/tensor'", "one of 'residua/tensor/onnx/worker'");
    const { connection, device: number } = engine;
    const file = await pending.wait(abortion.wait(send(call, source, transfer)));
    const onFile = (path: string, question: number): void => {
      const place = `${call}: file ${describe(path)}`;
      Promise.resolve(path).then((name) => (files as Files)(name)).then((found) => send(place, found, false)).then(
        (found) => connection.notify(number, { do: 'give', question, file: found.source }, found.transfer),
        (error: unknown) => connection.notify(number, { do: 'give', question, file: { error: errorData(error) } }),
      );
    };
    const model = connection.number();
    const loading = connection.request(
      number,
      { do: 'loadModel', model, format, source: file.source, dims: Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, sentSize(size)])), hasFiles: files !== undefined },
      { onProgress: (loaded, total) => onProgress?.(loaded, total), caller: abortion, transfer: file.transfer, onFile },
    );
    try {
      return new WorkerModel(device, model, await pending.wait(abortion.wait(loading)), dims);
    } catch (error) {
      freeOnce(loading, connection, number, model);
      throw error;
    }
  } catch (error) {
    // Whatever a transfer rejects with after the signal fired is its consequence.
    abortion.check();
    throw error;
  } finally {
    abortion.end();
    for (const each of sent) each.end();
  }
}

/** Frees a model that was loaded when nobody waited for it any more. */
function freeOnce(loading: Promise<unknown>, connection: Connection, device: number, model: number): void {
  loading.then(() => connection.notify(device, { do: 'freeModel', model }), () => {});
}

function sentSize(size: Dims[string]): SentSize {
  return typeof size === 'number' ? size : { dim: size.name, max: size.max };
}
