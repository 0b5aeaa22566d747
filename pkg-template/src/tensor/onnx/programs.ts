/** Programs of a model, one for each set of sizes and of numbers that decide shapes. */

import type { Device } from '../device/device.js';
import type { Program, Spec, Specs } from '../device/program.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { Size } from '../size.js';
import type { Tensor } from '../tensor.js';
import { UnknownNumbers } from './call.js';
import { hostOf, type ModelValue, type SizedFeed } from './feeds.js';
import { withReadNumbers } from './known-numbers.js';
import { ConstantMemory, type Host } from './values.js';

/** How many programs are kept. */
const MOST_PROGRAMS = 8;

/** A program, what it is once it is made, and the constants of its own. */
interface Entry {
  readonly memory: ConstantMemory;
  readonly pending: Promise<ModelProgram>;
  made: ModelProgram | null;
}

type ModelProgram = Program<Specs, Record<string, Tensor>>;

/** Records the graph: from tensors, or numbers in memory, by names of inputs; what it stores is in `memory`. */
type RecordGraph = (feeds: ReadonlyMap<string, Tensor | Host>, memory: ConstantMemory, takesBothBranches: boolean, known: ReadonlyMap<string, Host>) => Record<string, Tensor>;

/** The programs of a model. */
export class OnnxPrograms {
  /** By sizes, the latest last. */
  private readonly programs = new Map<string, Entry>();
  /** Inputs whose numbers are read while the graph is recorded. */
  private readonly byValue = new Set<string>();

  /** Whether both graphs of a condition are computed where inputs that are no numbers decide it. */
  private takesBothBranches = false;

  constructor(
    private readonly device: Device,
    private readonly memory: ConstantMemory,
    private readonly record: RecordGraph,
  ) {}

  /** Runs the program for these sizes, which it compiles where there is none. */
  async run(feeds: readonly SizedFeed[]): Promise<Record<string, StoredTensor>> {
    let takesBothBranches = this.takesBothBranches;
    for (;;) {
      try {
        const outputs = await this.attempt(feeds, takesBothBranches);
        // What is refused either way tells nothing of later runs.
        this.takesBothBranches ||= takesBothBranches;
        return outputs;
      } catch (error) {
        // Numbers that decide shapes become a part of the program.
        if (!(error instanceof UnknownNumbers)) throw error;
        const needed = feeds.filter(({ input }) => error.origins.has(input.name) && !this.byValue.has(input.name));
        if (needed.length === 0 || needed.some((feed) => hostOf(feed) === null)) {
          if (takesBothBranches) throw error;
          takesBothBranches = true;
          continue;
        }
        for (const { input } of needed) this.byValue.add(input.name);
      }
    }
  }

  /** Frees all programs. */
  dispose(): void {
    for (const entry of this.programs.values()) free(entry);
    this.programs.clear();
  }

  private async attempt(feeds: readonly SizedFeed[], takesBothBranches: boolean): Promise<Record<string, StoredTensor>> {
    const fixed = feeds.filter(({ input }) => this.byValue.has(input.name)).map((feed) => ({ name: feed.input.name, host: hostOf(feed) }));
    const open = feeds.filter(({ input }) => !this.byValue.has(input.name));
    const unknown = fixed.find(({ host }) => host === null);
    if (unknown !== undefined) throw new UnknownNumbers(`run: feeds.${unknown.name}: got a stored tensor or more than 4096 numbers; takes fewer numbers, as they decide shapes or conditions`, new Set());
    const shapes = open.map(({ input, sizes }) => sizes.map((size, axis): Size => dimAt(input, axis) ?? size));
    const key = JSON.stringify([shapes, fixed, takesBothBranches]);
    const entry = this.programs.get(key) ?? this.compile(open, shapes, new Map(fixed.map(({ name, host }) => [name, host as Host])), takesBothBranches);
    // The latest stands last.
    this.programs.delete(key);
    this.programs.set(key, entry);
    let program: ModelProgram;
    try {
      program = entry.made = await entry.pending;
    } catch (error) {
      if (this.programs.get(key) === entry) this.programs.delete(key);
      entry.memory.dispose();
      throw error;
    }
    this.evict();
    const sizes = Object.fromEntries(open.flatMap((feed) => feed.sizes.flatMap((size, axis) => {
      const dim = dimAt(feed.input, axis);
      return dim === null ? [] : [[dim.name, size] as const];
    })));
    return program.run(Object.fromEntries(open.map(({ input, feed }) => [input.name, feed])), sizes);
  }

  private compile(open: readonly SizedFeed[], shapes: readonly (readonly Size[])[], fixed: ReadonlyMap<string, Host>, takesBothBranches: boolean): Entry {
    const specs: Record<string, Spec> = Object.fromEntries(open.map(({ input }, k) => [input.name, { dtype: input.dtype, shape: shapes[k] as readonly Size[] }]));
    const memory = new ConstantMemory(this.device, this.memory);
    const record = (known: ReadonlyMap<string, Host>) =>
      this.device.compile(specs, (tensors) => this.record(new Map<string, Tensor | Host>([...Object.entries(tensors), ...fixed]), memory, takesBothBranches, known), { name: 'run' });
    return { memory, pending: withReadNumbers(this.device, memory, record, (origin) => fixed.has(origin)), made: null };
  }

  private evict(): void {
    for (const [key, entry] of this.programs) {
      if (this.programs.size <= MOST_PROGRAMS) return;
      this.programs.delete(key);
      free(entry);
    }
  }
}

/** The Dim of an axis, where its size is one. */
function dimAt({ shape }: ModelValue, axis: number): Exclude<Size, number> | null {
  const size = shape?.[axis];
  return typeof size === 'object' ? size : null;
}

/** Frees a program with its constants, at once where it is made. */
function free({ memory, pending, made }: Entry): void {
  const freed = (program: ModelProgram) => {
    program.dispose();
    memory.dispose();
  };
  if (made !== null) freed(made);
  else pending.then(freed, () => memory.dispose());
}
