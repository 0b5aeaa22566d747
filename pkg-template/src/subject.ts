/**
 * What was compiled, as the compiled functions see it: where the current numbers are, what has been changed since the last call,
 * and where a solve's result goes. A problem and a list of params are the two kinds.
 */

import { latestChange } from './clock.js';
import { invalidArgument } from './errors.js';
import type { ParameterBlocks, ValueEdit } from './parameter-array.js';
import type { Problem } from './problem.js';
import type { RawFunctions, RawModule, RawProblem, TapePieces } from './raw.js';
import { dataColumns, dataReader, dataSources, indexReader } from './recipe.js';
import type { BlockData, ResidualInstances } from './residual-block.js';
import { writeNumber, type Node, type Value } from './value.js';

/** What was changed: numbers, and everything else as commands in their order. */
export interface Edits {
  readonly values: readonly ValueEdit[];
  readonly commands: readonly ((raw: RawFunctions) => void)[];
}

/** Writes a solve's result back where the numbers came from, except over what was set since the call. */
export type WriteBack = (x: Float64Array) => void;

/** What was compiled. */
export interface Subject {
  /** All parameters. */
  readonly numParams: number;
  /** All residuals. */
  readonly numResiduals: number;
  /** Residuals, where one that is a long sum counts as about as many as it has terms: what makes the GPU worth its while. */
  readonly workload: number;
  /** The parameter arrays, in order; null where there are params instead. */
  readonly arrays: readonly ParameterBlocks[] | null;
  /**
   * The numbers that compiling begins with, as far as `takeStart` has taken them: those of then or, where they have been changed
   * meanwhile, newer ones, which `takeEdits` will name.
   */
  readonly startValues: Float64Array;
  /** Milliseconds that recording took, if it was part of the compile. */
  readonly recordingTime: number | null;
  /** Takes `count` of the numbers, from `first` on. */
  takeStart(first: number, count: number): void;
  /** Hands the recording over; again, if the first engine could not take it. */
  build(module: RawModule): RawProblem;
  /** The recording is compiled, or never will be: it may go. */
  release(): void;
  /** What has been changed since this was last asked (or since compiling began). */
  takeEdits(): Edits;
  /** To be asked at the moment of a call, after `takeEdits`. */
  writeBack(): WriteBack;
  /** Lets residual blocks have buffers of their data made; `read` calls into the module. */
  attach(read: (work: (raw: RawFunctions) => GPUBuffer | null) => GPUBuffer | null): void;
  /** Ends that. */
  detach(): void;
}

/** A problem that is being compiled. */
export class ProblemSubject implements Subject {
  readonly numParams: number;
  readonly numResiduals: number;
  readonly workload: number;
  readonly startValues: Float64Array;
  readonly recordingTime = null;
  readonly arrays: readonly ParameterBlocks[];
  private readonly blocks: readonly ResidualInstances[];
  private readonly blockIds = new Map<ResidualInstances, number>();
  private readonly recipeIds = new Map<ResidualInstances, number[]>();
  private readonly finders = new Map<ResidualInstances, (input: string) => GPUBuffer | null>();
  private seen: number;
  private firstEdits = true;
  private startData: readonly ReadonlyMap<string, Float64Array>[];

  constructor(problem: Problem) {
    if (problem.numParameters === 0) throw invalidArgument('compile: problem', 'a problem without parameters', 'at least one array of parameters');
    if (problem.numResiduals === 0) throw invalidArgument('compile: problem', 'a problem without residuals', 'at least one residual');
    this.numParams = problem.numParameters;
    this.numResiduals = problem.numResiduals;
    this.workload = problem.numResiduals;
    this.arrays = [...problem.arrays];
    this.blocks = [...problem.blocks];
    this.startValues = new Float64Array(this.numParams);
    this.seen = latestChange();
    this.startData = this.blocks.map((block) => new Map([...block.data].map(([key, { values }]) => [key, values])));
    for (const array of this.arrays) array.compiled = true;
  }

  takeStart(first: number, count: number): void {
    for (const array of this.arrays) array.copyValues(this.startValues, first, count);
  }

  build(module: RawModule): RawProblem {
    const raw = new module.RawProblem();
    try {
      this.addTo(raw);
    } catch (error) {
      raw.free();
      throw error;
    }
    return raw;
  }

  release(): void {
    this.startData = [];
  }

  private addTo(raw: RawProblem): void {
    const arrayIds = new Map<object, number>();
    for (const array of this.arrays) arrayIds.set(array, raw.addArray(array.name, array.dim, array.count, array.manifold));
    this.blocks.forEach((block, position) => {
      const id = raw.addBlock(block.name, block.count, block.offset, block.numResiduals);
      const recipeIds = block.recipes.map((recipe) => {
        const { tape, instances, rows } = recipe;
        const data = [...block.data].map(([key, { input }]) => {
          return [input, this.startData[position]?.get(key) as Float64Array, recipe.firstColumns.get(key) as number] as const;
        });
        return raw.addRecipe(
          id,
          recipe.count,
          instances ?? undefined,
          rows ?? undefined,
          Uint32Array.from(recipe.slotArrays, (array) => arrayIds.get(array) as number),
          indexReader(block.inputs, recipe),
          recipe.dataColumns,
          dataReader(data, recipe),
          tape.ops,
          tape.a,
          tape.b,
          tape.c,
          tape.constants,
          tape.outputs,
        );
      });
      this.blockIds.set(block, id);
      this.recipeIds.set(block, recipeIds);
    });
  }

  takeEdits(): Edits {
    const since = this.seen;
    this.seen = latestChange();
    // What was set before compiling began is in the problem's numbers and data already, but for these settings.
    const settingsSince = this.firstEdits ? 0 : since;
    this.firstEdits = false;
    const commands: ((raw: RawFunctions) => void)[] = [];
    if (this.arrays.some((array) => array.constantChange > settingsSince)) {
      const mask = new Uint8Array(this.numParams);
      for (const { constant, offset } of this.arrays) if (constant !== null) mask.set(constant, offset);
      commands.push((raw) => raw.setConstant(mask));
    }
    if (this.arrays.some((array) => array.boundsChange > settingsSince)) {
      const lower = new Float64Array(this.numParams).fill(-Infinity);
      const upper = new Float64Array(this.numParams).fill(Infinity);
      for (const { bounds, offset } of this.arrays) {
        if (bounds === null) continue;
        lower.set(bounds.lower, offset);
        upper.set(bounds.upper, offset);
      }
      commands.push((raw) => raw.setBounds(lower, upper));
    }
    for (const block of this.blocks) {
      for (const [key, { input, values, change }] of block.data) {
        if (change <= since) continue;
        commands.push((raw) => {
          block.recipes.forEach((recipe, number) => {
            const id = this.recipeIds.get(block)?.[number] as number;
            raw.setData(id, recipe.firstColumns.get(key) as number, dataColumns(input, values, recipe));
          });
        });
      }
      if (block.settingsChange <= settingsSince) continue;
      const { weight, enabled, loss } = block;
      commands.push((raw) => {
        const id = this.blockIds.get(block) as number;
        raw.setWeight(id, weight);
        raw.setLoss(id, loss.kind, loss.a, loss.b, loss.factor);
        raw.setEnabled(id, enabled);
      });
    }
    return { values: this.arrays.flatMap((array) => array.editsSince(since, this)), commands };
  }

  writeBack(): WriteBack {
    const called = this.seen;
    return (x) => {
      for (const array of this.arrays) array.writeBack(x, called, this);
    };
  }

  attach(read: (work: (raw: RawFunctions) => GPUBuffer | null) => GPUBuffer | null): void {
    for (const block of this.blocks) {
      const made = new Map<string, GPUBuffer | null>();
      const find = (input: string): GPUBuffer | null => {
        let buffer = made.get(input);
        if (buffer === undefined) made.set(input, (buffer = read((raw) => this.makeBuffer(raw, block, input))));
        return buffer;
      };
      this.finders.set(block, find);
      block.bufferFinders.push(find);
    }
  }

  detach(): void {
    for (const [block, find] of this.finders) {
      const position = block.bufferFinders.indexOf(find);
      if (position >= 0) block.bufferFinders.splice(position, 1);
    }
  }

  private makeBuffer(raw: RawFunctions, block: ResidualInstances, key: string): GPUBuffer | null {
    const { input, values } = block.data.get(key) as BlockData;
    const parts = block.recipes.map((recipe) => dataSources(input, recipe));
    const sources = new Uint32Array(parts.reduce((total, part) => total + part.length, 0));
    let end = 0;
    for (const part of parts) {
      sources.set(part, end);
      end += part.length;
    }
    return raw.dataBuffer(
      values,
      Uint32Array.from(this.recipeIds.get(block) ?? []),
      Uint32Array.from(block.recipes, ({ firstColumns }) => firstColumns.get(key) as number),
      Uint32Array.from(parts, (part) => part.length),
      sources,
    );
  }
}

/** How many operations a term of a long sum is taken to have. */
const OPERATIONS_OF_A_TERM = 32;

/** A list of params and the tape recorded over them. */
export class ParamsSubject implements Subject {
  readonly arrays = null;
  readonly numParams: number;
  readonly numResiduals: number;
  readonly workload: number;
  readonly startValues: Float64Array;
  private seen: number;
  /** Numbers of the changes that writing back from here has made: the compiled functions know these. */
  private readonly written: Float64Array;
  private tape: TapePieces | null;

  constructor(
    private readonly params: readonly Value[],
    tape: TapePieces,
    entries: number,
    readonly recordingTime: number,
  ) {
    this.numParams = params.length;
    this.numResiduals = tape.outputs.length;
    this.workload = Math.max(tape.outputs.length, Math.floor(entries / OPERATIONS_OF_A_TERM));
    this.tape = tape;
    this.startValues = new Float64Array(params.length);
    this.seen = latestChange();
    this.written = new Float64Array(params.length);
  }

  takeStart(first: number, count: number): void {
    for (let i = first; i < first + count; i++) this.startValues[i] = ((this.params[i] as Value).node as Node).number;
  }

  build(module: RawModule): RawProblem {
    const { entries, constants, outputs } = this.tape as TapePieces;
    return module.RawProblem.fromTape(this.numParams, entries, constants, outputs);
  }

  release(): void {
    this.tape = null;
  }

  takeEdits(): Edits {
    const since = this.seen;
    this.seen = latestChange();
    const values: ValueEdit[] = [];
    for (let i = 0; i < this.params.length; i++) {
      const { number, change } = (this.params[i] as Value).node as Node;
      if (change > since && change !== this.written[i]) values.push({ offset: i, numbers: Float64Array.of(number) });
    }
    return { values, commands: [] };
  }

  writeBack(): WriteBack {
    const called = this.seen;
    return (x) => {
      for (let i = 0; i < this.params.length; i++) {
        const param = this.params[i] as Value;
        if ((param.node as Node).setChange <= called) this.written[i] = writeNumber(param, x[i] as number);
      }
    };
  }

  attach(): void {}
  detach(): void {}
}
