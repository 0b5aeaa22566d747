/** A problem as the input of a compile. */

import { latestChange } from '../arguments/change-counter.js';
import { invalidArgument } from '../arguments/errors.js';
import { joined } from '../arguments/numeric-arguments.js';
import type { RawFunctions, RawModule, RawProblem } from '../module/raw.js';
import { ConstraintInstances, stateReader } from '../problem/constraint-block.js';
import { dataColumns, dataReader, dataSources, indexReader } from '../problem/instance-tables.js';
import { checkOnHost, TableGrid, type GridTable } from '../problem/grid.js';
import type { ParameterBlocks } from '../problem/parameter-array.js';
import { PlainEvaluator } from '../problem/plain-evaluator.js';
import type { Problem } from '../problem/problem.js';
import type { BlockData, ResidualInstances } from '../problem/residual-block.js';
import type { ResidualTemplate } from '../problem/residual-template.js';
import { WEIGHTS } from '../problem/weights.js';
import type { CompileInput, Domain, Edits, GraduatedBlock, WriteBack } from './compile-input.js';
import { ConstraintLayout } from './constraint-layout.js';
import { lostDigits } from './lost-digits.js';

/** A problem as the input of a compile. */
export class ProblemCompileInput implements CompileInput {
  readonly numParams: number;
  readonly numResiduals: number;
  readonly workload: number;
  readonly startValues: Float64Array;
  readonly recordingTime = null;
  readonly plainBlock: string | null;
  readonly arrays: readonly ParameterBlocks[];
  readonly constraints: ConstraintLayout | null;
  private readonly blocks: readonly ResidualInstances[];
  private readonly grids: readonly GridTable[];
  /** The tables at the start of the compile. */
  private startTables: readonly Float64Array[];
  private readonly residualBlocks: number;
  private readonly blockIds = new Map<ResidualInstances, number>();
  private readonly templateIds = new Map<ResidualInstances, number[]>();
  private readonly evaluators = new Map<ResidualInstances, (PlainEvaluator | null)[]>();
  private readonly finders = new Map<ResidualInstances, (input: string) => GPUBuffer | null>();
  private readonly gridFinders = new Map<TableGrid, () => GPUBuffer | null>();
  /** Where the numbers of each array stand in the compile, whatever was appended since. */
  private readonly places: readonly { readonly array: ParameterBlocks; readonly offset: number; readonly count: number }[];
  private readonly counts: readonly number[];
  private seen: number;
  private firstEdits = true;
  private startData: readonly ReadonlyMap<string, Float64Array>[];

  constructor(readonly problem: Problem) {
    if (problem.numParameters === 0) throw invalidArgument('compile: problem', 'a problem without parameters', 'at least one array of parameters');
    if (problem.numResiduals + problem.numConstraints === 0) {
      throw invalidArgument('compile: problem', 'a problem without residuals', 'at least one residual or constraint');
    }
    this.numParams = problem.numParameters;
    this.numResiduals = problem.numResiduals;
    this.workload = problem.numResiduals + problem.numConstraints;
    this.arrays = [...problem.arrays];
    // The rows of constraints come after those of residuals.
    this.blocks = [...problem.blocks, ...problem.constraints];
    this.residualBlocks = problem.blocks.length;
    this.constraints = problem.constraints.length === 0 ? null : new ConstraintLayout(problem.constraints, problem.numResiduals);
    this.plainBlock = this.blocks.find(({ templates }) => templates.some(({ plain }) => plain !== null))?.name ?? null;
    this.places = this.arrays.map((array) => ({ array, offset: array.offset, count: array.count }));
    this.counts = this.blocks.map(({ count }) => count);
    this.grids = [...problem.grids];
    checkOnHost('compile: problem', this.grids);
    this.startTables = this.grids.map(({ table }) => table);
    this.startValues = new Float64Array(this.numParams);
    this.seen = latestChange();
    this.startData = this.blocks.map((block) => new Map([...block.data].map(([key, { values }]) => [key, values])));
    for (const array of this.arrays) array.compiled = true;
  }

  takeStart(first: number, count: number): void {
    for (const place of this.places) place.array.copyValues(this.startValues, first, count, place.offset, place.count);
  }

  /** Throws 'invalid-argument' where blocks or instances were appended after the compile. */
  private checkGrowth(): void {
    const refuse = (what: string, was: number, is: number) => {
      throw invalidArgument('compiled functions', `${what} with ${is}, of which ${was} were there at the compile`, 'a new compile after append');
    };
    for (const { array, count } of this.places) if (array.count !== count) refuse(`blocks of parameter array "${array.name}"`, count, array.count);
    this.blocks.forEach(({ name, count }, position) => {
      if (count !== this.counts[position]) refuse(`instances of residual block "${name}"`, this.counts[position] as number, count);
    });
  }

  build(module: RawModule): RawProblem {
    this.checkGrowth();
    const raw = new module.RawProblem();
    try {
      this.addTo(raw);
    } catch (error) {
      raw.free();
      throw error;
    }
    return raw;
  }

  lostDigits(): string[] {
    const ofArrays = this.places.flatMap(({ array: { name, dim }, offset, count }) => {
      return lostDigits(`parameter array "${name}"`, this.startValues.subarray(offset, offset + count * dim), dim);
    });
    const ofData = this.blocks.flatMap((block, position) => {
      const start = this.startData[position];
      return [...block.data].flatMap(([key, { input, values }]) => {
        return lostDigits(`data input "${key}" of ${block instanceof ConstraintInstances ? 'constraint' : 'residual'} block "${block.name}"`, start?.get(key) ?? values, input.dim);
      });
    });
    const ofGrids = this.grids.flatMap(({ name, channels }, k) => lostDigits(`grid "${name}"`, this.startTables[k] as Float64Array, channels));
    return [...ofData, ...ofGrids, ...ofArrays];
  }

  release(): void {
    this.startData = [];
    this.startTables = [];
  }

  private addTo(raw: RawProblem): void {
    const arrayIds = new Map<object, number>();
    for (const array of this.arrays) {
      const id = raw.addArray(array.name, array.dim, array.count, array.manifold);
      arrayIds.set(array, id);
      if (array.elimination !== null) raw.setElimination(id, array.elimination);
    }
    if (this.grids.length > 0) raw.setTables(joined(Float64Array, this.startTables));
    this.blocks.forEach((block, position) => {
      const part = this.constraints?.parts[position - this.residualBlocks];
      const id = raw.addBlock(block.name, block.count, part?.firstRow ?? block.offset, block.numResiduals);
      const evaluators: (PlainEvaluator | null)[] = [];
      const templateIds = block.templates.map((template) => {
        const { tape, instances, rows } = template;
        const data = [...template.firstColumns].map(([key, column]) => {
          return [block.data.get(key)?.input as BlockData['input'], this.startData[position]?.get(key) as Float64Array, column] as const;
        });
        const number = raw.addTemplate(
          id,
          template.count,
          instances ?? undefined,
          rows ?? undefined,
          Uint32Array.from(template.slotArrays, (array) => arrayIds.get(array) as number),
          indexReader(block.inputs, template),
          template.dataColumns,
          stateReader(dataReader(data, template), template),
          tape.ops,
          tape.a,
          tape.b,
          tape.c,
          tape.constants,
          tape.outputs,
        );
        if (template.weightColumn !== null) raw.setInstanceWeights(number, template.weightColumn);
        evaluators.push(this.addPlain(raw, block, template, number, this.startData[position] as ReadonlyMap<string, Float64Array>));
        return number;
      });
      this.evaluators.set(block, evaluators);
      this.blockIds.set(block, id);
      this.templateIds.set(block, templateIds);
      if (part !== undefined) [part.blockId, part.templateIds] = [id, templateIds];
    });
  }

  private addPlain(raw: RawProblem, block: ResidualInstances, template: ResidualTemplate, number: number, data: ReadonlyMap<string, Float64Array>): PlainEvaluator | null {
    if (template.plain === null) return null;
    const weights = [...block.data].find(([, { isWeight }]) => isWeight)?.[0];
    const given = new Map([...data].filter(([key]) => key !== weights));
    const evaluator = new PlainEvaluator(block.name, block.inputs, given, template.plain, template.slotArrays, this.arrays, this.numParams, data.get(weights ?? '') ?? null);
    raw.setPlain(number, evaluator.evaluate);
    return evaluator;
  }

  additions(): string {
    const residuals = this.problem.blocks.slice(this.residualBlocks);
    const constraints = this.problem.constraints.slice(this.blocks.length - this.residualBlocks);
    return [notCompiled('Residual block', residuals), notCompiled('Constraint block', constraints)].filter((sentence) => sentence !== '').join(' ');
  }

  takeEdits(): Edits {
    this.checkGrowth();
    const since = this.seen;
    this.seen = latestChange();
    // The build contains the numbers and data of its start, but no mask, bounds, weight, loss or enabled flag.
    const isFirst = this.firstEdits;
    const settingsSince = isFirst ? 0 : since;
    this.firstEdits = false;
    const commands: ((raw: RawFunctions) => void)[] = [];
    if (this.arrays.some((array) => array.constantChange > settingsSince)) {
      const mask = this.constantMask();
      commands.push((raw) => raw.setConstant(mask));
    }
    if (this.arrays.some((array) => array.boundsChange > settingsSince)) {
      const { lower, upper } = this.allBounds();
      commands.push((raw) => {
        for (const evaluators of this.evaluators.values()) for (const evaluator of evaluators) if (evaluator !== null) evaluator.bounds = { lower, upper };
        raw.setBounds(lower, upper);
      });
    }
    for (const { first, table, change } of this.grids) {
      if (change <= since) continue;
      // The grid and other compiled functions keep the table: an array that is given to a worker's module is detached.
      commands.push((raw) => raw.setTables(first, table.slice()));
    }
    for (const block of this.blocks) {
      for (const [key, { input, values, isWeight, change }] of block.data) {
        if (change <= since) continue;
        commands.push((raw) => {
          block.templates.forEach((template, number) => {
            const id = this.templateIds.get(block)?.[number] as number;
            this.evaluators.get(block)?.[number]?.setData(key, values, isWeight);
            const column = template.firstColumns.get(key);
            if (column !== undefined) raw.setData(id, column, dataColumns(input, values, template));
          });
        });
      }
      if (block instanceof ConstraintInstances) {
        // Solvers alone enable constraints.
        if (isFirst) commands.push((raw) => raw.setEnabled(this.blockIds.get(block) as number, false));
        continue;
      }
      if (block.settingsChange <= settingsSince) continue;
      const { weight, enabled, loss } = block;
      commands.push((raw) => {
        const id = this.blockIds.get(block) as number;
        raw.setWeight(id, weight);
        raw.setLoss(id, loss.graduated === null ? loss.kind : 'squared', loss.a, loss.b, loss.factor);
        raw.setEnabled(id, enabled);
      });
    }
    // A plain function may read what has changed since the last call: nothing that it returned then is taken for what it returns now.
    for (const block of this.blocks) {
      block.templates.forEach(({ plain }, number) => {
        if (plain !== null) commands.push((raw) => raw.setData(this.templateIds.get(block)?.[number] as number, 0, new Float64Array(0)));
      });
    }
    return { values: this.arrays.flatMap((array) => array.editsSince(since, this)), commands };
  }

  domain(): Domain {
    this.checkGrowth();
    const enabled = this.blocks.map((block) => block.enabled);
    const [residuals, constraints] = [enabled.slice(0, this.residualBlocks), enabled.slice(this.residualBlocks)];
    const robust = this.blocks.slice(0, this.residualBlocks).filter(({ enabled, weight, loss }) => enabled && weight > 0 && loss.kind !== 'squared');
    const joint = robust.map(({ templates, count, offset }) => residualEnds(templates, count, offset));
    return { ...this.allBounds(), constant: this.constantMask(), enabled: constraints, residuals, isRobust: robust.length > 0, joint };
  }

  private constantMask(): Uint8Array {
    const mask = new Uint8Array(this.numParams);
    for (const { constant, offset } of this.arrays) if (constant !== null) mask.set(constant, offset);
    return mask;
  }

  private allBounds(): { lower: Float64Array; upper: Float64Array } {
    const lower = new Float64Array(this.numParams).fill(-Infinity);
    const upper = new Float64Array(this.numParams).fill(Infinity);
    for (const { bounds, offset } of this.arrays) {
      if (bounds === null) continue;
      lower.set(bounds.lower, offset);
      upper.set(bounds.upper, offset);
    }
    return { lower, upper };
  }

  graduatedBlocks(): GraduatedBlock[] {
    return this.blocks.slice(0, this.residualBlocks).flatMap((block) => {
      const { loss, enabled, name, weight, count, offset } = block;
      if (loss.graduated === null || !enabled) return [];
      const { input, values } = block.data.get(WEIGHTS) as BlockData;
      const setWeights = (raw: RawFunctions, weights: Float64Array): void => {
        block.templates.forEach((template, number) => {
          const id = this.templateIds.get(block)?.[number] as number;
          raw.setData(id, template.firstColumns.get(WEIGHTS) as number, dataColumns(input, weights, template));
        });
      };
      return [{ name, kind: loss.graduated, scale: loss.a, factor: weight * loss.factor, weights: values, ends: residualEnds(block.templates, count, offset), setWeights }];
    });
  }

  writeBack(): WriteBack {
    const called = this.seen;
    return (x) => {
      for (const { array, offset, count } of this.places) array.writeBack(x.subarray(offset, offset + count * array.dim), called, this);
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
    for (const grid of this.grids) {
      // Copies of grids are of problems that are made within calls.
      if (!(grid instanceof TableGrid)) continue;
      let made: GPUBuffer | null | undefined;
      const find = () => (made === undefined ? (made = read((raw) => makeGridBuffer(raw, grid))) : made);
      this.gridFinders.set(grid, find);
      grid.bufferFinders.push(find);
    }
  }

  detach(): void {
    for (const [block, find] of this.finders) {
      const position = block.bufferFinders.indexOf(find);
      if (position >= 0) block.bufferFinders.splice(position, 1);
    }
    for (const [grid, find] of this.gridFinders) {
      const position = grid.bufferFinders.indexOf(find);
      if (position >= 0) grid.bufferFinders.splice(position, 1);
    }
  }

  private makeBuffer(raw: RawFunctions, block: ResidualInstances, key: string): GPUBuffer | null {
    this.checkGrowth();
    const { input, values } = block.data.get(key) as BlockData;
    const parts = block.templates.map((template) => dataSources(input, template));
    return raw.dataBuffer(
      values,
      Uint32Array.from(this.templateIds.get(block) ?? []),
      Uint32Array.from(block.templates, ({ firstColumns }) => firstColumns.get(key) as number),
      Uint32Array.from(parts, (part) => part.length),
      joined(Uint32Array, parts),
    );
  }
}

/** The template number that stands for the tables of grids. */
const TABLES = 2 ** 32 - 1;

function makeGridBuffer(raw: RawFunctions, grid: TableGrid): GPUBuffer | null {
  const { numbers, sources } = grid.shared();
  return raw.dataBuffer(numbers, Uint32Array.of(TABLES), Uint32Array.of(grid.first), Uint32Array.of(sources.length), sources);
}

/** A sentence that names blocks that were added after the compile; empty without any. */
function notCompiled(what: string, later: readonly ResidualInstances[]): string {
  if (later.length === 0) return '';
  const [blocks, were, them] = later.length === 1 ? [what, 'was', 'it'] : [`${what}s`, 'were', 'them'];
  return `${blocks} ${later.map(({ name }) => `'${name}'`).join(', ')} ${were} added after the compile and took no part; compile again to include ${them}.`;
}

/** The positions, among all residuals, of the first residual of each instance, and the end of the last. */
export function residualEnds(templates: readonly ResidualTemplate[], count: number, offset: number): Uint32Array {
  const ends = new Uint32Array(count + 1);
  for (const { count: own, instances, rows, tape } of templates) {
    const outputs = tape.outputs.length;
    for (let j = 0; j < own; j++) ends[instances?.[j] ?? j] = offset + (rows?.[j] ?? j * outputs);
    const last = own - 1;
    if ((instances?.[last] ?? last) === count - 1) ends[count] = (ends[count - 1] as number) + outputs;
  }
  return ends;
}
