/** A problem that grows, as a smoother takes it: what was added and changed since it was last read. */

import { latestChange } from '../arguments/change-counter.js';
import { describe, invalidArgument } from '../arguments/errors.js';
import { extended } from '../problem/growing.js';
import { joined } from '../arguments/numeric-arguments.js';
import type { RawModule, RawProblem, RawSmoother } from '../module/raw.js';
import { checkOnHost } from '../problem/grid.js';
import { dataReader, indexReader } from '../problem/instance-tables.js';
import type { ParameterBlocks } from '../problem/parameter-array.js';
import type { Problem } from '../problem/problem.js';
import type { ResidualInstances } from '../problem/residual-block.js';
import type { ResidualTemplate } from '../problem/residual-template.js';

/** Instances that the module linearises in one call. */
const STAGE = 64;

interface Taken {
  readonly block: ResidualInstances;
  /** Numbers of its templates in the module. */
  readonly templates: readonly number[];
  /** Instances of each template that the module has. */
  readonly counts: number[];
}

interface TakenArray {
  readonly array: ParameterBlocks;
  /** The numbers of its blocks in the module. */
  ids: Uint32Array;
}

/** What the module has of a problem. */
export class GrowingProblem {
  private readonly arrays: readonly TakenArray[];
  private readonly blocks: readonly Taken[];
  /** How many blocks were taken in that are not constant. */
  private variable = 0;
  /** The numbers of blocks that were marginalised. */
  private readonly gone = new Set<number>();
  /** Instances of such blocks, which the module has and cannot take in. */
  private refused: { readonly block: ResidualInstances; readonly instance: number; readonly of: string }[] = [];
  private seen = latestChange();
  private isFirst = true;

  constructor(private readonly problem: Problem) {
    if (problem.arrays.length === 0) throw invalidArgument('incremental: problem', 'a problem without parameters', 'at least one array of parameters');
    this.arrays = problem.arrays.map((array) => ({ array, ids: new Uint32Array(0) }));
    let next = 0;
    this.blocks = problem.blocks.map((block) => {
      const templates = block.recorded().map(() => next++);
      return { block, templates, counts: templates.map(() => 0) };
    });
    this.check('incremental: problem');
    for (const array of problem.arrays) array.compiled = true;
  }

  /** Builds the problem of the kernels: each template with a stage of instances, whose numbers are never used. */
  build(module: RawModule): RawProblem {
    const raw = new module.RawProblem();
    try {
      const { grids } = this.problem;
      checkOnHost('incremental: problem', grids);
      this.arrays.forEach(({ array }) => raw.addArray(array.name, array.dim, 2, array.manifold));
      if (grids.length > 0) raw.setTables(joined(Float64Array, grids.map(({ table }) => table)));
      for (const { block } of this.blocks) {
        const templates = block.recorded();
        const id = raw.addBlock(block.name, STAGE, 0, STAGE * Math.max(0, ...templates.map(({ tape }) => tape.outputs.length)));
        for (const { slotArrays, dataColumns, tape, weightColumn } of templates) {
          const slots = Uint32Array.from(slotArrays, (array) => this.arrays.findIndex((taken) => taken.array === array));
          // Blocks that differ: what all instances agree on would be read once for all.
          const readIndices = (_: number, first: number, count: number) => Uint32Array.from({ length: count }, (_, k) => (first + k) % 2);
          const readData = (_column: number, _first: number, count: number) => new Float64Array(count);
          const { ops, a, b, c, constants, outputs } = tape;
          const number = raw.addTemplate(id, STAGE, undefined, undefined, slots, readIndices, dataColumns, readData, ops, a, b, c, constants, outputs);
          if (weightColumn !== null) raw.setInstanceWeights(number, weightColumn);
        }
      }
    } catch (error) {
      raw.free();
      throw error;
    }
    return raw;
  }

  /** Throws 'invalid-argument' for what a smoother does not take. */
  private check(argument: string): void {
    const { arrays, blocks, constraints } = this.problem;
    const takes = 'residuals of recorded functions without bounds, constraints and graduated losses';
    const [constraint] = constraints;
    if (constraint !== undefined) throw invalidArgument(argument, `the constraint block "${constraint.name}"`, takes);
    const bounded = arrays.find(({ bounds }) => bounds !== null && (bounds.lower.some((x) => x > -Infinity) || bounds.upper.some((x) => x < Infinity)));
    if (bounded !== undefined) throw invalidArgument(argument, `bounds of "${bounded.name}"`, takes);
    for (const { name, loss, templates } of blocks) {
      if (loss.graduated !== null) throw invalidArgument(argument, `a graduated loss of the residual block "${name}"`, takes);
      if (templates.some(({ plain }) => plain !== null)) throw invalidArgument(argument, `the residual block "${name}", a plain function`, takes);
    }
    const late = arrays[this.arrays.length] ?? blocks[this.blocks.length];
    if (late !== undefined) throw invalidArgument(argument, `"${late.name}", which was added after incremental()`, 'the arrays and residual blocks that the problem had, which grow with append');
  }

  /** Gives the module what was added and changed since the last call. */
  take(argument: string, raw: RawSmoother): void {
    // A build has no settings.
    const since = this.isFirst ? 0 : this.seen;
    const now = latestChange();
    // Bounds, losses and constants change rarely, arrays and blocks with every call.
    if (now > since || this.arrays.length < this.problem.arrays.length || this.blocks.length < this.problem.blocks.length || this.problem.constraints.length > 0) this.check(argument);
    this.checkConstants(argument, since);
    this.takeBlocks(raw);
    this.blocks.forEach((taken, id) => this.takeInstances(raw, taken, id, since));
    checkOnHost(argument, this.problem.grids);
    for (const { first, table, change } of this.problem.grids) if (change > this.seen) raw.setTables(first, table);
    [this.seen, this.isFirst] = [now, false];
  }

  /** Throws 'invalid-argument' where blocks became constant, or variable, that the module has. */
  private checkConstants(argument: string, since: number): void {
    for (const taken of this.arrays) {
      const { array, ids } = taken;
      if (array.constantChange <= since) continue;
      const known = this.constants.get(taken) ?? new Uint8Array(0);
      const position = known.findIndex((constant, k) => constant !== (array.constant?.[k] ?? 0));
      if (position >= 0 && position < ids.length * array.dim) {
        throw invalidArgument(argument, `setConstant of "${array.name}" for block ${Math.floor(position / array.dim)}, which was taken in before`, 'setConstant before the update that takes a block in');
      }
    }
  }

  /** Which numbers of the blocks that the module has are constant. */
  private readonly constants = new Map<TakenArray, Uint8Array>();

  /** Gives the module the blocks that it does not have. */
  private takeBlocks(raw: RawSmoother): void {
    this.arrays.forEach((taken, id) => {
      const { array, ids } = taken;
      if (array.count === ids.length) return;
      const constant = array.constant?.slice(ids.length * array.dim) ?? new Uint8Array(0);
      const first = raw.addBlocks(id, array.numbersFrom(ids.length), constant);
      taken.ids = extended(ids, Uint32Array.from({ length: array.count - ids.length }, (_, k) => first + k));
      const all = constant.length > 0 ? constant : new Uint8Array((array.count - ids.length) * array.dim);
      const before = ids.length;
      this.constants.set(taken, extended(this.constants.get(taken) ?? new Uint8Array(0), all));
      for (let index = before; index < taken.ids.length; index++) if (!this.isConstant(taken, index)) this.variable++;
    });
  }

  private takeInstances(raw: RawSmoother, { block, templates, counts }: Taken, id: number, since: number): void {
    const { weight, loss, enabled } = block;
    if (block.settingsChange > since) raw.setBlock(id, weight, loss.kind, loss.a, loss.b, loss.factor, enabled);
    const changed = [...block.data.values()].some(({ change }) => change > this.seen);
    block.templates.forEach((template, position) => {
      const [number, had] = [templates[position] as number, counts[position] as number];
      if (changed && had > 0) raw.setData(number, dataRows(block, template, 0, had));
      if (template.count === had) return;
      const added = template.count - had;
      const numbers = Uint32Array.from({ length: added }, (_, k) => template.instances?.[had + k] ?? had + k);
      const rows = this.blockRows(block, template, had, added);
      raw.addInstances(number, numbers, rows, dataRows(block, template, had, added));
      if (this.gone.size > 0) rows.forEach((id, k) => this.gone.has(id) && this.refused.push({ block, instance: numbers[Math.floor((k * added) / rows.length)] as number, of: this.nameOf(id) }));
      counts[position] = template.count;
    });
  }

  /** The blocks of instances, instance after instance. */
  private blockRows({ inputs }: ResidualInstances, template: ResidualTemplate, first: number, count: number): Uint32Array {
    const { slotArrays } = template;
    const rows = new Uint32Array(count * slotArrays.length);
    const read = indexReader(inputs, template);
    slotArrays.forEach((array, slot) => {
      const { ids } = this.arrays.find((taken) => taken.array === array) as TakenArray;
      read(slot, first, count).forEach((block, k) => (rows[k * slotArrays.length + slot] = ids[block] as number));
    });
    return rows;
  }

  private nameOf(id: number): string {
    const { array, ids } = this.arrays.find((taken) => taken.ids.includes(id)) as TakenArray;
    return `${array.name}[${ids.indexOf(id)}]`;
  }

  /** Throws 'invalid-argument' for instances of blocks that were marginalised. */
  checkResiduals(argument: string): void {
    const [first] = this.refused;
    if (first === undefined) return;
    const got = `instance ${first.instance} of '${first.block.name}' with ${first.of}, which was marginalised`;
    throw invalidArgument(argument, got, 'residuals of other blocks; remove() takes the instance away');
  }

  /** Notes that instances were removed. */
  noteRemoval(block: ResidualInstances, instances: Uint32Array): void {
    this.refused = this.refused.filter((refused) => refused.block !== block || !instances.includes(refused.instance));
  }

  /** Throws 'invalid-argument' for a block that was marginalised. */
  checkPresent(argument: string, id: number): void {
    if (this.gone.has(id)) throw invalidArgument(argument, `${this.nameOf(id)}, which was marginalised`, 'blocks that are left');
  }

  /** Whether all numbers of a block are constant, which the module has. */
  private isConstant(array: TakenArray, index: number): boolean {
    const { dim } = array.array;
    return this.constants.get(array)?.subarray(index * dim, (index + 1) * dim).every((constant) => constant !== 0) === true;
  }

  /** Throws 'invalid-argument' unless blocks of arrays of the problem are variable, and others are left. */
  checkMarginals(argument: string, blocks: readonly { readonly array: unknown; readonly index: number; readonly id: number }[]): void {
    const constant = blocks.find(({ array, index }) => this.isConstant(this.arrayOf(argument, array), index));
    if (constant !== undefined) throw invalidArgument(argument, `${this.nameOf(constant.id)}, which is constant`, 'variable blocks');
    if (new Set(blocks.map(({ id }) => id)).size >= this.variable - this.gone.size) throw invalidArgument(argument, 'all variable blocks that are left', 'some of them');
  }

  /** Notes that blocks were marginalised. */
  noteMarginals(ids: readonly number[]): void {
    ids.forEach((id) => this.gone.add(id));
  }

  /** The array of an argument, with the numbers of its blocks. Throws 'invalid-argument'. */
  arrayOf(argument: string, array: unknown): TakenArray {
    const found = this.arrays.find((taken) => taken.array === array);
    if (found === undefined) throw invalidArgument(argument, describe(array), 'a parameter array of the problem that incremental() got');
    return found;
  }

  /** All arrays. */
  allArrays(): readonly TakenArray[] {
    return this.arrays;
  }

  /** For instances of a block the templates and their instances there. Throws 'invalid-argument' for another problem's block. */
  placesOf(argument: string, block: unknown): { block: ResidualInstances; place: (instance: number) => { template: number; instance: number } } {
    const found = this.blocks.find((taken) => taken.block === block);
    if (found === undefined) throw invalidArgument(argument, describe(block), 'a residual block of the problem that incremental() got');
    const { templates } = found.block;
    const place = (instance: number) => {
      const places = templates.map(({ instances }) => (instances === null ? instance : placeIn(instances, instance)));
      const position = places.findIndex((place) => place >= 0);
      return { template: found.templates[position] as number, instance: places[position] as number };
    };
    return { block: found.block, place };
  }
}

/** The place of a number among ascending ones; -1 if it is not there. */
function placeIn(ascending: Uint32Array, number: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] as number) < number) low = middle + 1;
    else high = middle;
  }
  return ascending[low] === number ? low : -1;
}

/** The data of instances, instance after instance. */
function dataRows({ data }: ResidualInstances, template: ResidualTemplate, first: number, count: number): Float64Array {
  const { dataColumns, firstColumns } = template;
  const rows = new Float64Array(count * dataColumns);
  const sources = [...firstColumns].flatMap(([key, column]) => {
    const of = data.get(key);
    return of === undefined ? [] : [[of.input, of.values, column] as const];
  });
  const read = dataReader(sources, template);
  for (let column = 0; column < dataColumns; column++) read(column, first, count).forEach((datum, k) => (rows[k * dataColumns + column] = datum));
  return rows;
}
