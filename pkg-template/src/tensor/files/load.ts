/**
 * One call that loads a file: its options, its device, and what it has allocated, which is freed if the call fails.
 *
 * Bytes are written to the device as they arrive. After some megabytes the load waits for the device, so that uploads do not pile up, and
 * after some milliseconds of work the page has a turn.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { checkSignal } from '../../module/cancellation.js';
import { Cell } from '../device/cell.js';
import type { DeviceCore } from '../device/core.js';
import { Device } from '../device/device.js';
import { defaultDevice, isDefaultElsewhere } from '../device/evaluator.js';
import { QuantizedTensor } from '../device/quantized-tensor.js';
import { StoredTensor } from '../device/stored-tensor.js';
import { Abortion, type Pending } from '../engine/pending.js';
import { elementBytes, paddedBytes, wholeWords } from '../memory/numbers.js';
import { Turns } from '../memory/turns.js';
import type { DType } from '../dtype.js';
import type { QuantizedShape, QuantizedType } from '../recipe/quantised.js';
import { shapeText } from '../size.js';
import { ByteReader, type ReaderHost } from './byte-reader.js';
import { openSource, type ByteSource, type FileSource } from './source.js';

/** Options of the functions that load files. */
export interface LoadOptions {
  /** Where the tensors are stored; `Device.default()` unless told. */
  device?: Device;
  /** Which tensors are loaded, by name; all unless told. Others are passed over, and what follows the last one is not transferred. */
  select?: (name: string) => boolean;
  /** The type of floating-point numbers; by default the file's, where bf16 and f64 become f32. Tensors that stay quantised are left alone. */
  dtype?: 'f32' | 'f16';
  /** Called as bytes arrive, with their number and that of the file; the latter is 0 while it is not known. */
  onProgress?: (loaded: number, total: number) => void;
  /** Ends the load with 'aborted'. */
  signal?: AbortSignal;
}

const LOAD_OPTIONS: OptionNames<LoadOptions> = { device: true, select: true, dtype: true, onProgress: true, signal: true };

/** Milliseconds of work after which the page has a turn. */
const TURN_MS = 12;

/** Bytes after which the load waits until the device has taken them. */
const FLIGHT_BYTES = 16 * 2 ** 20;

/** Tensors from this size on are written once it is known that they have memory. */
const LARGE_BYTES = 2 ** 22;

/** The largest number of axes of a tensor in a file. */
const MOST_AXES = 32;

/** Formats of files with tensors. */
export type FileFormat = 'safetensors' | 'gguf' | 'npy' | 'npz';

/** Reads files on another thread, where a device computes. */
export interface FilesElsewhere {
  /** Gives what the loader of the format gives. `caller` has the waits of the call. */
  load(device: Device, call: string, format: FileFormat, source: FileSource, options: LoadOptions, caller: Pending): Promise<unknown>;
}

/** What reads files for devices on other threads. */
export const readElsewhere: WeakMap<DeviceCore, FilesElsewhere> = /* @__PURE__ */ new WeakMap<DeviceCore, FilesElsewhere>();

/** Selections that another thread makes. */
const askedElsewhere = /* @__PURE__ */ new WeakMap<NonNullable<LoadOptions['select']>, (names: readonly string[]) => Promise<readonly string[]>>();

/** An option `select` that asks another thread for those among many names. */
export function selectElsewhere(ask: (names: readonly string[]) => Promise<readonly string[]>): NonNullable<LoadOptions['select']> {
  const select = () => true;
  askedElsewhere.set(select, ask);
  return select;
}

/** A load under way. */
export class Load implements ReaderHost {
  /** The bytes of the file. */
  readonly reader: ByteReader;
  /** The type that floating-point numbers are to have. */
  readonly dtype: 'f32' | 'f16' | undefined;
  private readonly core: DeviceCore;
  /** What has memory of this load, by one of its cells. */
  private readonly owned = new Map<Cell, { dispose(): void }>();
  /** All memory that was asked for, the scales of quantised matrices too. */
  private readonly allocated: Cell[] = [];
  private readonly turns = new Turns();
  private turnStart = performance.now();
  private inFlight = 0;
  private total: number;
  /** Whether the caller was told that everything is there. */
  private isEndTold = false;

  constructor(
    /** The name of the function, in messages. */
    readonly call: string,
    /** Where tensors are stored. */
    readonly device: Device,
    private readonly source: ByteSource,
    private readonly options: LoadOptions,
    /** Fails when the load is aborted. A race with one promise would keep what every wait gave. */
    private readonly abortion: Pending,
  ) {
    this.core = Device.coreOf(device);
    this.reader = new ByteReader(call, source, this);
    this.dtype = options.dtype;
    this.total = source.expectedSize ?? 0;
  }

  /** The names of those tensors that are to be loaded. */
  async selected(names: readonly string[]): Promise<ReadonlySet<string>> {
    const { select } = this.options;
    if (select === undefined) return new Set(names);
    const ask = askedElsewhere.get(select);
    return new Set(ask === undefined ? names.filter((name) => select(name) === true) : await this.wait(ask(names)));
  }

  /** The element type of a tensor whose numbers have this one in the file, or the nearest that there is. */
  typeFor(dtype: DType): DType {
    return (dtype === 'f32' || dtype === 'f16') && this.dtype !== undefined ? this.dtype : dtype;
  }

  /** Takes the size of the file, for progress, once the header tells it. */
  expect(bytes: number): void {
    this.total = bytes;
  }

  progress(loaded: number): void {
    this.isEndTold = this.total > 0 && loaded >= this.total;
    this.options.onProgress?.(loaded, this.total === 0 ? 0 : Math.max(loaded, this.total));
  }

  async wait<T>(promise: Promise<T>): Promise<T> {
    const result = await this.core.pending.wait(this.abortion.wait(promise));
    await this.turn();
    return result;
  }

  /** Gives the page a turn where one is due. */
  async turn(): Promise<void> {
    if (performance.now() - this.turnStart < TURN_MS) return;
    await this.abortion.wait(new Promise<void>((resolve) => this.turns.next(resolve)));
    this.turnStart = performance.now();
  }

  /** Allocates memory for a tensor, which is freed if the load fails. */
  async allocate(name: string, dtype: DType, sizes: readonly number[]): Promise<Cell> {
    const { core } = this;
    const bytes = paddedBytes(elementBytes(dtype, sizes));
    const memory = core.allocate({ what: `${this.call}: tensor ${describe(name)}, ${dtype} ${shapeText(sizes)}`, bytes, purpose: 'tensor' });
    const cell = new Cell(core, dtype, Object.freeze([...sizes]), memory, 'tensor');
    this.owned.set(cell, { dispose: () => core.free(memory) });
    this.allocated.push(cell);
    if (bytes >= LARGE_BYTES) await this.checkAllocated([cell]);
    return cell;
  }

  /** Writes bytes to memory, from byte `offset` on, a multiple of 4. Only the last ones of a tensor may be no whole words. */
  async write({ memory }: Cell, offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.core.check();
    // No earlier work uses memory of this load.
    this.core.engine.write(memory, offset, wholeWords(bytes));
    this.inFlight += bytes.length;
    if (this.inFlight >= FLIGHT_BYTES) {
      this.inFlight = 0;
      await this.wait(this.core.engine.idle());
    }
    await this.turn();
  }

  /** Makes a tensor of memory of this load. */
  tensor(cell: Cell): StoredTensor {
    const tensor = new StoredTensor(this.device, cell);
    this.owned.set(cell, tensor);
    return tensor;
  }

  /** Makes quantised weights of memory of this load. */
  quantized(type: QuantizedType, shape: QuantizedShape, words: Cell, side: Cell): QuantizedTensor {
    const tensor = new QuantizedTensor(this.device, type, shape, [words, side]);
    this.owned.delete(side);
    this.owned.set(words, tensor);
    return tensor;
  }

  /** Computes a tensor from one of this load, which is freed. */
  async replace(old: StoredTensor, compute: () => Promise<StoredTensor>): Promise<StoredTensor> {
    const made = compute();
    let isEnded = false;
    made.then(
      (tensor) => {
        // The load has failed before.
        if (isEnded) tensor.dispose();
      },
      () => {},
    );
    try {
      const tensor = await this.wait(made);
      this.owned.set(tensor.cell, tensor);
      return tensor;
    } catch (error) {
      isEnded = true;
      throw error;
    } finally {
      this.owned.delete(old.cell);
      old.dispose();
    }
  }

  /** Waits until it is known that there was memory for everything. */
  async finish(): Promise<void> {
    await this.checkAllocated(this.allocated);
    // The size may have become known after the last bytes came.
    if (!this.isEndTold && this.total > 0) this.progress(this.total);
  }

  /** Frees everything. */
  discard(): void {
    for (const thing of this.owned.values()) thing.dispose();
  }

  /** Ends the transfer. */
  close(): void {
    this.source.cancel();
  }

  private async checkAllocated(cells: readonly Cell[]): Promise<void> {
    await this.abortion.wait(this.core.checkAllocated(cells.map(({ memory }) => memory)));
  }
}

/** Runs a load. Whatever it has allocated is freed if it rejects. A file of a format that the thread of the device reads is read there. */
export async function load<T>(call: string, source: FileSource, options: LoadOptions, body: (load: Load) => Promise<T>, format?: FileFormat): Promise<T> {
  checkLoadOptions(call, options);
  const { signal } = options;
  const abortion = new Abortion(call, signal);
  try {
    if (format !== undefined && (options.device !== undefined || isDefaultElsewhere())) {
      // A source that rejects while the worker starts is told when it is read.
      if (source instanceof Promise) source.catch(() => {});
      const device = options.device ?? (await abortion.wait(defaultDevice()));
      const files = readElsewhere.get(Device.coreOf(device));
      if (files !== undefined) return (await files.load(device, call, format, source, options, abortion)) as T;
    }
    const opening = openSource(call, source, signal);
    const [bytes, device] = await openBoth(opening, options.device, abortion);
    const work = new Load(call, device, bytes, options, abortion);
    try {
      const result = await body(work);
      await work.finish();
      abortion.check();
      return result;
    } catch (error) {
      work.discard();
      throw error;
    } finally {
      work.close();
    }
  } catch (error) {
    // Whatever a transfer rejects with after the signal fired is its consequence.
    abortion.check();
    throw error;
  } finally {
    abortion.end();
  }
}

/** Waits for both, and closes the source if there is no device. */
async function openBoth(opening: Promise<ByteSource>, device: Device | undefined, abortion: Pending): Promise<[ByteSource, Device]> {
  try {
    return await abortion.wait(Promise.all([opening, device ?? defaultDevice()]));
  } catch (error) {
    opening.then(
      (source) => source.cancel(),
      () => {},
    );
    throw error;
  }
}

function checkLoadOptions(call: string, options: unknown): void {
  checkOptions(`${call}: options`, options, LOAD_OPTIONS);
  const { device, select, dtype, onProgress, signal } = options as LoadOptions;
  if (device !== undefined && !(device instanceof Device)) throw invalidArgument(`${call}: device`, describe(device), 'a Device');
  if (select !== undefined && typeof select !== 'function') throw invalidArgument(`${call}: select`, describe(select), 'a function of a name');
  if (dtype !== undefined && dtype !== 'f32' && dtype !== 'f16') throw invalidArgument(`${call}: dtype`, describe(dtype), "'f32' or 'f16'");
  if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidArgument(`${call}: onProgress`, describe(onProgress), 'a function of two numbers');
  checkSignal(`${call}: signal`, signal);
}

/**
 * Returns the sizes of a shape that a file states, as `sizes` gives them. Throws 'invalid-argument' for more than 32 axes, and for more elements than
 * can be counted.
 */
export function checkedSizes(place: string, sizes: readonly number[]): readonly number[] {
  if (sizes.length > MOST_AXES) throw invalidArgument(`${place}: shape`, `${sizes.length} axes`, `at most ${MOST_AXES}`);
  let count = 1;
  for (const size of sizes) {
    if (!Number.isSafeInteger(size) || size < 0) throw invalidArgument(`${place}: shape`, describe(size), 'whole numbers from 0');
    // A size of 0 must not hide the others.
    count *= Math.max(size, 1);
    if (count > 2 ** 48) throw invalidArgument(`${place}: shape`, shapeText(sizes), 'at most 2^48 elements');
  }
  return sizes;
}
