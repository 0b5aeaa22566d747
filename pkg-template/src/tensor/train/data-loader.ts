/** Data loaders: batches of samples, in an order that a seed decides. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkObject, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkFlag, checkOptions, type OptionNames } from '../../arguments/options.js';
import type { Spec } from '../device/program.js';
import { spec } from '../device/program.js';
import type { DType } from '../dtype.js';
import type { Numbers } from '../memory/numbers.js';
import { dim, type Dim } from '../size.js';
import { permutation } from './shuffle.js';
import { samples, type Samples, type TypeOfNumbers } from './samples.js';

/** Columns of the data by name: samples, or numbers, one a sample. */
export type Columns = { readonly [name: string]: Samples | Numbers };

/** The element type of a column. */
type TypeOf<C> = C extends Samples<infer D> ? D : TypeOfNumbers<C>;

/** A batch: what a run of a step gets. */
export interface Batch<N extends string = string> {
  /** Numbers of the program's inputs. */
  readonly inputs: { readonly [name in N]: Numbers };
  /** Sizes of the program's Dims, where it has any. */
  readonly sizes?: Readonly<Record<string, number>>;
  /** How many samples it has: its weight in means. Default 1. */
  readonly size?: number;
}

/** Options of a data loader. */
export interface DataLoaderOptions {
  /** Samples of a batch. */
  batch: number;
  /** Whether each epoch has an order of its own. Default false: as they are. */
  shuffle?: boolean;
  /** Decides the orders: a whole number, of which the low 64 bits count. Default 0. */
  seed?: number | bigint;
  /** What becomes of samples that do not fill a batch: 'drop' (default) leaves them out, other ones in each shuffled epoch; 'keep' gives a smaller batch, whose size is the Dim 'batch' of the inputs. */
  last?: 'drop' | 'keep';
  /** Called for each batch with the samples of the epoch so far and those of all its batches. */
  onProgress?: (done: number, total: number) => void;
}

/** Where a loader is: plain data, for checkpoints. */
export interface LoaderState {
  /** Whole epochs that were given. */
  readonly epoch: number;
  /** Batches of the present epoch that were given. */
  readonly batch: number;
  /** What the order depends on, in words. */
  readonly order: string;
}

const LOADER_OPTIONS: OptionNames<DataLoaderOptions> = { batch: true, shuffle: true, seed: true, last: true, onProgress: true };

/**
 * Batches of samples. `for await (const batch of loader)` gives those that are left of the present epoch; each sample comes once an epoch. Of columns that take time, files and pictures, the
 * next batch is read while one is in use.
 */
export class DataLoader<C extends Columns = Columns> {
  /** Inputs of a program that takes a batch: of each column the samples along a first axis. */
  readonly inputs: { readonly [K in keyof C]: Spec<TypeOf<C[K]>> };
  /** How many samples there are. */
  readonly count: number;
  /** Batches of an epoch. */
  readonly batches: number;
  private readonly columns: readonly (readonly [string, Samples])[];
  private readonly size: number;
  private readonly isShuffled: boolean;
  private readonly seed: bigint;
  private readonly dim: Dim | null;
  private readonly onProgress: ((done: number, total: number) => void) | undefined;
  private at = { epoch: 0, batch: 0 };
  private order: { readonly epoch: number; readonly rows: Int32Array } | null = null;

  /** Throws 'invalid-argument' for columns that have different numbers of samples, none, or with 'drop' fewer than a batch. */
  constructor(columns: C, options: DataLoaderOptions) {
    const call = 'DataLoader';
    checkObject(`${call}: columns`, columns);
    checkOptions(`${call}: options`, options, LOADER_OPTIONS);
    const { batch, shuffle = false, seed = 0, last = 'drop', onProgress } = options;
    checkWholeNumber(`${call}: batch`, batch, 1);
    checkFlag(`${call}: shuffle`, shuffle);
    if (typeof seed !== 'bigint' && !Number.isSafeInteger(seed)) throw invalidArgument(`${call}: seed`, describe(seed), 'a whole number or a bigint');
    if (last !== 'drop' && last !== 'keep') throw invalidArgument(`${call}: last`, describe(last), "'drop' or 'keep'");
    if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidArgument(`${call}: onProgress`, describe(onProgress), 'a function');
    this.columns = Object.entries(columns).map(([name, column]) => [name, samplesOf(`${call}: columns.${name}`, column)]);
    const [first] = this.columns;
    if (first === undefined) throw invalidArgument(`${call}: columns`, 'none', 'one or more');
    this.count = first[1].count;
    for (const [name, { count }] of this.columns) if (count !== this.count) throw invalidArgument(`${call}: columns.${name}`, `${count} samples`, `${this.count}, as '${first[0]}' has`);
    if (this.count === 0) throw invalidArgument(`${call}: columns`, 'no samples', 'one or more');
    if (last === 'drop' && batch > this.count) throw invalidArgument(`${call}: batch`, `${batch} with ${this.count} samples`, `at most ${this.count}, or last: 'keep'`);
    this.batches = last === 'drop' ? Math.floor(this.count / batch) : Math.ceil(this.count / batch);
    this.size = batch;
    this.dim = this.batches * batch > this.count ? dim('batch', batch) : null;
    [this.isShuffled, this.seed, this.onProgress] = [shuffle, BigInt.asUintN(64, BigInt(seed)), onProgress];
    const specs = this.columns.map(([name, { dtype, shape }]) => [name, spec(dtype as DType, [this.dim ?? batch, ...shape])]);
    this.inputs = Object.freeze(Object.fromEntries(specs)) as { readonly [K in keyof C]: Spec<TypeOf<C[K]>> };
  }

  /** Whole epochs that were given. The last batch of an epoch ends it. */
  get epoch(): number {
    return this.at.epoch;
  }

  /** Where it is: the batch that was given last counts as used. */
  get state(): LoaderState {
    return { ...this.at, order: this.orderText };
  }

  /** Goes on where another loader of the same data and options was. Throws 'invalid-argument' for a state of another number of samples, batch size, seed or order. */
  restore(state: LoaderState): void {
    checkObject('restore: state', state);
    const { epoch, batch, order } = state;
    checkWholeNumber('restore: state.epoch', epoch, 0);
    checkWholeNumber('restore: state.batch', batch, 0, this.batches - 1);
    if (order !== this.orderText) throw invalidArgument('restore: state.order', describe(order), `'${this.orderText}'`);
    this.at = { epoch, batch };
  }

  /** The batches that are left of the present epoch. */
  [Symbol.asyncIterator](): AsyncGenerator<Batch<keyof C & string>, void, void> {
    return this.read();
  }

  /** The same, which ends with 'aborted' when the signal fires while a batch is read. */
  async *read(signal?: AbortSignal): AsyncGenerator<Batch<keyof C & string>, void, void> {
    const { epoch } = this.at;
    let ahead: { readonly batch: number; readonly reading: Promise<Batch<keyof C & string>> } | null = null;
    while (this.at.epoch === epoch) {
      const { batch } = this.at;
      const found = await (ahead?.batch === batch ? ahead.reading : this.batchAt(epoch, batch, signal));
      if (signal?.aborted === true) throw new ResiduaError('aborted', 'read was aborted by its signal');
      // Another iterator or restore() was first.
      if (this.at.epoch !== epoch || this.at.batch !== batch) continue;
      const next = batch + 1;
      this.at = next === this.batches ? { epoch: epoch + 1, batch: 0 } : { epoch, batch: next };
      ahead = next === this.batches ? null : { batch: next, reading: this.batchAt(epoch, next, signal) };
      // Where nobody asks for the next batch, its failure is nobody's.
      ahead?.reading.catch(() => {});
      this.onProgress?.(Math.min(next * this.size, this.total), this.total);
      yield found;
    }
  }

  /** Samples of an epoch. */
  private get total(): number {
    return this.dim === null ? this.batches * this.size : this.count;
  }

  /** What the order of samples depends on. */
  private get orderText(): string {
    return `${this.count} samples by ${this.size}, ${this.dim === null ? '' : 'with the last ones, '}${this.isShuffled ? `seed ${this.seed}` : 'as they are'}`;
  }

  private async batchAt(epoch: number, batch: number, signal?: AbortSignal): Promise<Batch<keyof C & string>> {
    const rows = this.rowsOf(epoch).slice(batch * this.size, Math.min((batch + 1) * this.size, this.total));
    const parts = await Promise.all(this.columns.map(async ([name, column]) => [name, await column.read(rows, signal)] as const));
    const inputs = Object.fromEntries(parts) as { [name in keyof C & string]: Numbers };
    return { inputs, size: rows.length, ...(this.dim === null ? {} : { sizes: { batch: rows.length } }) };
  }

  private rowsOf(epoch: number): Int32Array {
    if (this.order?.epoch !== epoch) this.order = { epoch, rows: this.isShuffled ? permutation(this.seed, epoch, this.count) : Int32Array.from({ length: this.count }, (_, k) => k) };
    return this.order.rows;
  }
}

function samplesOf(argument: string, column: unknown): Samples {
  if (Array.isArray(column) || ArrayBuffer.isView(column)) return samples.array(column as unknown as Numbers);
  const { count, dtype, shape, read } = (column ?? {}) as Partial<Samples>;
  if (Number.isSafeInteger(count) && typeof dtype === 'string' && Array.isArray(shape) && typeof read === 'function') return column as Samples;
  throw invalidArgument(argument, describe(column), 'samples, or numbers, one a sample');
}
