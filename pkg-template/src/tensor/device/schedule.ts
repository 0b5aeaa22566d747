/**
 * Recipes with loops, compiled: the plans of their leaves, and the order in which these run. A loop's states have three pieces of memory: what they are before it, and two that its
 * steps write in turns, the last step the one that others read. Counters are dims of the leaves: the numbers of all runs of a leaf are told the engine at once, so that a step
 * waits for no upload.
 */

import type { Batch, KernelProgress, Memory, Runner } from '../engine/engine.js';
import type { Place } from '../engine/plan.js';
import { joined } from '../../arguments/numeric-arguments.js';
import { paddedBytes } from '../memory/numbers.js';
import type { Pending } from '../engine/pending.js';
import { rangeAt, type Steps } from '../recipe/loop.js';
import type { Item, Leaf, LoopItem, Stages } from '../recipe/stages.js';
import { largest, termsOf, type Dim, type Size } from '../size.js';
import { compileTape, keyOf, type CompiledTape, type Executable, type Loaded, type Written } from './compiled.js';
import type { DeviceCore } from './core.js';

/** Writes a recipe that is cut at its loops. */
export function writtenStages(stages: Stages): Written {
  const { inputs, dims, bounds } = stages;
  const compile = async (core: DeviceCore, most: Uint32Array, onProgress: KernelProgress, caller?: Pending): Promise<Executable> => {
    const compiled: CompiledTape[] = [];
    let [before, total] = [0, 0];
    try {
      for (const { tape } of stages.leaves) {
        const progress: KernelProgress = (done, all) => onProgress(before + done, (total = before + all));
        compiled.push(await compileTape(core, tape.tape, Uint32Array.from(tape.dims, largest), progress, caller));
        before = total;
      }
      return new Schedule(core, stages, compiled, most);
    } catch (error) {
      for (const each of compiled) each.free();
      throw error;
    }
  };
  return { inputs, dims, bounds, numbers: new Uint32Array(dims.length), key: () => keyOfStages(stages), compile };
}

/** What tells stages from others: the names of counters do not. */
function keyOfStages({ leaves, places, items, results }: Stages): string {
  const names = new Map<string, number>();
  const size = (of: Size) => termsOf(of).map(({ coefficient, dims }) => [coefficient, ...dims.map(({ name }) => names.get(name) ?? name)]);
  const item = (each: Item): unknown => {
    if (typeof each === 'number') return each;
    const { steps, counters, states, body } = each;
    for (const { dim } of counters) if (!names.has(dim.name)) names.set(dim.name, names.size);
    return [size(steps.first), steps.ends.map(({ limit, per }) => [size(limit), per]), steps.isReversed, counters.map(({ dim, per }) => [names.get(dim.name), per]), states, body.map(item)];
  };
  const order = items.map(item);
  const tapes = leaves.map(({ tape, slots, results }) => [keyOf(tape), tape.dims.map(({ name }) => names.get(name) ?? name), slots, results]);
  return JSON.stringify([order, places, results, tapes]);
}

/** The dims that a run tells and those that its steps tell, by name. */
type Values = Map<string, number>;

export class Schedule implements Executable {
  readonly words: Uint32Array<ArrayBuffer>;

  constructor(
    readonly core: DeviceCore,
    readonly stages: Stages,
    readonly compiled: readonly CompiledTape[],
    /** The largest dims. */
    private readonly most: Uint32Array,
  ) {
    this.words = joined(Uint32Array, compiled.map(({ words }) => words));
  }

  get dispatches(): number {
    return this.compiled.reduce((sum, { dispatches }) => sum + dispatches, 0);
  }

  get text(): string {
    const lines = (items: readonly Item[], indent: string): string[] =>
      items.flatMap((item) => {
        if (typeof item !== 'number') return [`${indent}loop:`, ...lines(item.body, `${indent}  `)];
        return (this.compiled[item] as CompiledTape).text.trimEnd().split('\n').map((line) => indent + line);
      });
    return `${lines(this.stages.items, '').join('\n')}\n`;
  }

  kernels(): { name: string; wgsl: string; dispatches: number }[] {
    return this.compiled.flatMap((each) => each.kernels());
  }

  wordsFor(dims: Uint32Array): Uint32Array<ArrayBuffer> {
    const ofLeaves = this.dimsOfLeaves(dims);
    return joined(Uint32Array, this.compiled.map((each, k) => each.wordsFor(ofLeaves[k] as Uint32Array)));
  }

  /** The dims of each leaf, with the largest counters. */
  dimsOfLeaves(dims: Uint32Array): Uint32Array<ArrayBuffer>[] {
    const values = this.valuesOf(dims);
    return this.stages.leaves.map(({ tape }) => Uint32Array.from(tape.dims, (dim) => values.get(dim.name) ?? largest(dim)));
  }

  wordsOfNumbers(): Uint32Array<ArrayBuffer> {
    return this.words;
  }

  valuesOf(dims: Uint32Array): Values {
    return new Map(this.stages.dims.map(({ name }, k) => [name, dims[k] ?? (this.most[k] as number)]));
  }

  load(allocate: (bytes: number) => Memory): Loaded & { runner: ScheduleRunner } {
    const memories: Memory[] = [];
    const own = (bytes: number) => {
      const memory = allocate(bytes);
      memories.push(memory);
      return memory;
    };
    const { stages } = this;
    const places = stages.places.map((place) => (place.kind === 'own' ? own(paddedBytes(place.bytes)) : null));
    // Leaves do not overlap in time, so that each has the temporaries of those before it.
    const shared: Memory[] = [];
    const loaded = this.compiled.map((compiled, k) => {
      const free = [...shared];
      const temporary = (bytes: number, kind: Place['kind']) => {
        if (kind !== 'temporary') return own(bytes);
        const found = free.findIndex((memory) => memory.bytes >= bytes && memory.bytes <= 4 * bytes);
        if (found >= 0) return free.splice(found, 1)[0] as Memory;
        const memory = own(bytes);
        shared.push(memory);
        return memory;
      };
      const ofLeaf = compiled.load(temporary);
      (stages.leaves[k] as Leaf).results.forEach((place, result) => (places[place] = ofLeaf.results[result] as Memory));
      return ofLeaf;
    });
    const runner = new ScheduleRunner(this, loaded.map((each) => each.runner), loaded.map((each) => each.places), places);
    return { runner, results: stages.results.map((place) => places[place] as Memory), memories };
  }

  free(): void {
    for (const each of this.compiled) each.free();
  }
}

/** A run of a leaf, or copies of states that no step changes. */
export interface Execution {
  readonly leaf: number | null;
  /** The memory of its slots. */
  readonly slots: readonly Memory[];
  /** Whether it is in a loop. */
  readonly isStep: boolean;
  /** The dims of its tape. */
  dims(): Uint32Array<ArrayBuffer>;
  readonly copies: readonly { readonly from: Memory; readonly to: Memory }[];
}

/** Runs a schedule. */
export class ScheduleRunner implements Runner {
  private readonly begin: () => Batch;
  private values: Values = new Map();

  constructor(
    private readonly schedule: Schedule,
    readonly runners: readonly Runner[],
    /** The memory of the places of each leaf's plan. */
    readonly ofLeaves: readonly (readonly (Memory | null)[])[],
    /** The memory of each place. Slots are those of a run, others those of a step. */
    private readonly places: (Memory | null)[],
  ) {
    this.begin = schedule.core.engine.batches();
  }

  setWords(words: Uint32Array<ArrayBuffer>, dims: Uint32Array<ArrayBuffer>): void {
    const { stages, compiled } = this.schedule;
    this.values = this.schedule.valuesOf(dims);
    const runs = this.dimsOfRuns();
    let end = 0;
    compiled.forEach(({ words: { length } }, k) => {
      const { tape } = stages.leaves[k] as Leaf;
      const runner = this.runners[k] as Runner;
      const ofRuns = runs[k] as number[][];
      runner.setWords(words.slice(end, end + length), Uint32Array.from(tape.dims, ({ name, max }) => this.values.get(name) ?? max));
      end += length;
      const hasCounter = tape.dims.some(({ name }) => !this.values.has(name));
      runner.follow(Uint32Array.from(hasCounter ? ofRuns.flat() : []), hasCounter ? ofRuns.length : 0);
    });
  }

  follow(): void {
    // A schedule tells its leaves.
  }

  rewind(): void {
    for (const runner of this.runners) runner.rewind();
  }

  bind(): void {
    // The memory of states changes from step to step: bind groups are made by the first run.
  }

  *run(slots: readonly Memory[], caller?: Pending): Generator<void, void, void> {
    this.rewind();
    const batch = this.begin();
    // A run that is closed before its end has recorded a part, with what the next one counts on.
    try {
      for (const { leaf, slots: bound, copies } of this.executions(slots)) {
        for (const { from, to } of copies) batch.copy(from, to, Math.min(from.bytes, to.bytes));
        const steps = leaf === null ? undefined : batch.run(this.runners[leaf] as Runner, bound, caller);
        if (steps !== undefined) yield* steps;
        yield;
      }
    } finally {
      batch.end();
    }
  }

  /** What a run does, in order. */
  *executions(slots: readonly Memory[]): Generator<Execution, void, void> {
    const { stages } = this.schedule;
    stages.places.forEach((place, k) => {
      if (place.kind === 'slot') this.places[k] = slots[place.slot] as Memory;
    });
    yield* this.ofItems(stages.items, new Map(this.values), false);
  }

  dispose(): void {
    for (const runner of this.runners) runner.dispose();
  }

  private at(place: number): Memory {
    return this.places[place] as Memory;
  }

  private *ofItems(items: readonly Item[], values: Values, isStep: boolean): Generator<Execution, void, void> {
    for (const item of items) {
      if (typeof item === 'number') {
        const { slots, tape } = this.schedule.stages.leaves[item] as Leaf;
        yield { leaf: item, slots: slots.map((place) => this.at(place)), isStep, dims: () => Uint32Array.from(tape.dims, ({ name }) => values.get(name) ?? 0), copies: [] };
        continue;
      }
      const { states, body } = item;
      const count = countOf(item, values);
      if (count === 0) yield { leaf: null, slots: [], isStep, dims: () => new Uint32Array(0), copies: states.map(({ first, last }) => ({ from: this.at(first), to: this.at(last) })) };
      for (let step = 0; step < count; step++) {
        tell(item, values, step, count);
        for (const { first, last, spare, before, after } of states) {
          const written = (count - step) % 2 === 1 ? last : spare;
          this.places[before] = this.at(step === 0 ? first : written === last ? spare : last);
          this.places[after] = this.at(written);
        }
        yield* this.ofItems(body, values, true);
      }
    }
  }

  /** For each leaf the dims of its runs, in order. */
  private dimsOfRuns(): number[][][] {
    const { leaves, items } = this.schedule.stages;
    const runs: number[][][] = leaves.map(() => []);
    const visit = (of: readonly Item[], values: Values): void => {
      for (const item of of) {
        if (typeof item === 'number') {
          runs[item]?.push((leaves[item] as Leaf).tape.dims.map(({ name }) => values.get(name) ?? 0));
          continue;
        }
        const count = countOf(item, values);
        for (let step = 0; step < count; step++) {
          tell(item, values, step, count);
          visit(item.body, values);
        }
      }
    };
    visit(items, new Map(this.values));
    return runs;
  }
}

function valueIn(values: Values): (dim: Dim) => number {
  return ({ name }) => values.get(name) ?? 0;
}

function countOf({ steps }: { readonly steps: Steps }, values: Values): number {
  return rangeAt(steps, valueIn(values)).count;
}

/** Sets the counters of a loop for a step. */
function tell({ steps, counters }: LoopItem, values: Values, step: number, count: number): void {
  const { first } = rangeAt(steps, valueIn(values));
  const value = first + (steps.isReversed ? count - 1 - step : step);
  for (const { dim, per } of counters) values.set(dim.name, Math.floor(value / per));
}

