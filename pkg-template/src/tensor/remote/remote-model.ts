/** Models in a worker, as the page has them: their files are read there, and their graphs are recorded, compiled and run there. */

import { makeInspectable } from '../../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkObject } from '../../arguments/numeric-arguments.js';
import { checkFlag } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import { checkSignal } from '../../module/cancellation.js';
import { errorData } from '../../remote/error-data.js';
import { Cell } from '../device/cell.js';
import { Device } from '../device/device.js';
import { StoredTensor } from '../device/stored-tensor.js';
import { Abortion } from '../engine/pending.js';
import type { FileSource } from '../files/source.js';
import { elementBytes } from '../memory/numbers.js';
import type { ModelFeed, ModelValue } from '../onnx/feeds.js';
import { checkDims, type Dims } from '../size.js';
import { Tensor } from '../tensor.js';
import type { Connection } from './connection.js';
import { partOf, RemoteEngine } from './remote-engine.js';
import type { ModelFacts, ModelFormat, Question, SentFeed, SentSize, SentValue } from './protocol.js';
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
    checkObject('run: feeds', feeds);
    const core = Device.coreOf(this.device);
    core.check();
    const sent = Object.entries(feeds).map(([name, feed]) => [name, this.sentFeed(`run: feeds.${name}`, feed)] as const);
    const transfer = sent.flatMap(([, feed]) => ('given' in feed ? buffersOf(feed.given) : []));
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

  /** A feed as it is sent; the worker checks it against the inputs. */
  private sentFeed(place: string, feed: unknown): SentFeed {
    if (!(feed instanceof StoredTensor)) return { given: copied(place, feed) as Exclude<ModelFeed, StoredTensor> };
    const { cell, dtype, shape } = feed;
    if (cell.core !== Device.coreOf(this.device)) throw invalidArgument(place, 'a stored tensor of another device', "one of the model's device");
    cell.check(place);
    return { dtype, sizes: shape, part: { ...partOf(cell.memory), bytes: elementBytes(dtype, shape) } };
  }
}

/** A copy of what is no stored tensor. Throws 'invalid-argument' for what cannot be sent. */
function copied(place: string, feed: unknown): unknown {
  if (feed instanceof Tensor) throw invalidArgument(place, 'a tensor that is not stored', 'a stored tensor or numbers: Device.store() computes it');
  // Of a view its own numbers are copied, not all that its buffer has.
  if (ArrayBuffer.isView(feed) && 'slice' in feed) return (feed as Uint8Array).slice();
  if (typeof feed === 'object' && feed !== null && 'data' in feed && 'shape' in feed) return { data: copied(place, feed.data), shape: copied(place, feed.shape) };
  try {
    return structuredClone(feed);
  } catch {
    throw invalidArgument(place, describe(feed), 'a stored tensor, { data, shape }, or numbers');
  }
}

/** The buffers of a copy, which go to the worker. */
function buffersOf(given: unknown): ArrayBuffer[] {
  const data = typeof given === 'object' && given !== null && 'data' in given ? given.data : given;
  return ArrayBuffer.isView(data) ? [data.buffer as ArrayBuffer] : [];
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
  let isEnded = false;
  const send = async (place: string, file: FileSource, isTransferred: boolean): Promise<Sending> => {
    const each = await sending(place, file, isTransferred, signal);
    sent.push(each);
    if (isEnded) {
      each.end();
      abortion.check();
    }
    return each;
  };
  // A source that rejects while the worker starts is told when it is read.
  if (source instanceof Promise) source.catch(() => {});
  try {
    const device = given ?? (await abortion.wait(devices.default()));
    const { engine, pending } = Device.coreOf(device);
    if (!(engine instanceof RemoteEngine)) throw invalidArgument(`${call}: device`, "a Device of 'residua/tensor'", "one of 'residua/tensor/models/worker'");
    const { connection, device: number } = engine;
    const file = await pending.wait(abortion.wait(send(call, source, transfer)));
    const onQuestion = (asks: Question, question: number): void => {
      const path = 'path' in asks ? asks.path : '';
      const place = `${call}: file ${describe(path)}`;
      Promise.resolve(path).then((name) => (files as Files)(name)).then((found) => send(place, found, false)).then(
        (found) => connection.notify(number, { do: 'give', question, given: found.source }, found.transfer),
        (error: unknown) => connection.notify(number, { do: 'give', question, given: { error: errorData(error) } }),
      );
    };
    const onLoaded = (loaded: number, total: number): void => {
      try {
        onProgress?.(loaded, total);
      } catch (thrown) {
        // What it throws ends the load.
        abortion.fail(thrown as ResiduaError);
      }
    };
    const model = connection.number();
    const loading = connection.request(
      number,
      { do: 'loadModel', model, format, source: file.source, dims: Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, sentSize(size)])), hasFiles: files !== undefined },
      { onProgress: onLoaded, caller: abortion, transfer: file.transfer, onQuestion },
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
    isEnded = true;
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
