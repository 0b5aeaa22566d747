/** A problem as the input of a compile. */

import { latestChange } from '../arguments/change-counter.js';
import { invalidArgument } from '../arguments/errors.js';
import { joined } from '../arguments/numeric-arguments.js';
import type { RawFunctions, RawModule, RawProblem } from '../module/raw.js';
import type { NamedInputs } from '../problem/block-inputs.js';
import { ConstraintInstances, stateReader } from '../problem/constraint-block.js';
import { dataColumns, dataReader, dataSources, indexReader } from '../problem/instance-tables.js';
import { checkOnHost, TableGrid, type GridTable } from '../problem/grid.js';
import type { ParameterBlocks } from '../problem/parameter-array.js';
import { PlainEvaluator } from '../problem/plain-evaluator.js';
import type { Problem } from '../problem/problem.js';
import type { BlockData, ResidualInstances } from '../problem/residual-block.js';
import type { ResidualTemplate } from '../problem/residual-template.js';
import { WEIGHTS } from '../problem/weights.js';
import type { ArrayPlace, CompileInput, Domain, Edits, GraduatedBlock, Growth, WriteBack } from './compile-input.js';
import { ConstraintLayout } from './constraint-layout.js';
import { lostDigits } from './lost-digits.js';

/** A problem as the input of a compile. */
export class ProblemCompileInput implements CompileInput {
  readonly workload: number;
  readonly startValues: Float64Array;
  readonly recordingTime = null;
  readonly plainBlock: string | null;
  readonly arrays: readonly ParameterBlocks[];
  private readonly blocks: readonly ResidualInstances[];
  private readonly grids: readonly GridTable[];
  /** The tables at the start of the compile. */
  private startTables: readonly Float64Array[];
  private readonly residualBlocks: number;
  /** What there is now. */
  private extent: Extent;
  /** What the latest call has, and what the module has, which ends that call's predecessors first. */
  private extentOfCall: Extent;
  private extentOfModule: Extent;
  private readonly blockIds = new Map<ResidualInstances, number>();
  private readonly templateIds = new Map<ResidualInstances, number[]>();
  private readonly evaluators = new Map<ResidualInstances, (PlainEvaluator | null)[]>();
  private readonly finders = new Map<ResidualInstances, (input: string) => GPUBuffer | null>();
  private readonly gridFinders = new Map<TableGrid, () => GPUBuffer | null>();
  /** The buffers that finders have made, until the problem grows. */
  private readonly buffers = new Map<object, Map<string, GPUBuffer | null>>();
  private seen: number;
  private firstEdits = true;

  constructor(readonly problem: Problem) {
    if (problem.numParameters === 0) throw invalidArgument('compile: problem', 'a problem without parameters', 'at least one array of parameters');
    if (problem.numResiduals + problem.numConstraints === 0) {
      throw invalidArgument('compile: problem', 'a problem without residuals', 'at least one residual or constraint');
    }
    this.workload = problem.numResiduals + problem.numConstraints;
    this.arrays = [...problem.arrays];
    // The rows of constraints come after those of residuals.
    this.blocks = [...problem.blocks, ...problem.constraints];
    this.residualBlocks = problem.blocks.length;
    this.extent = this.extentOfCall = this.extentOfModule = this.extentNow();
    this.plainBlock = this.blocks.find(({ templates }) => templates.some(({ plain }) => plain !== null))?.name ?? null;
    this.grids = [...problem.grids];
    checkOnHost('compile: problem', this.grids);
    this.startTables = this.grids.map(({ table }) => table);
    this.startValues = new Float64Array(this.numParams);
    this.seen = latestChange();
    for (const array of this.arrays) array.compiled = true;
  }

  private extentNow(): Extent {
    const places = this.arrays.map((array) => ({ array, name: array.name, dim: array.dim, manifold: array.manifold, offset: array.offset, count: array.count }));
    const parts = this.blocks.map((block) => {
      const { count, offset, numResiduals, templates, inputs, data } = block;
      return { block, count, offset, numResiduals, templates, inputs, data: new Map([...data].map(([key, of]) => [key, { ...of }])) };
    });
    const numResiduals = parts.slice(0, this.residualBlocks).reduce((sum, part) => sum + part.numResiduals, 0);
    const constraints = this.blocks.filter((block) => block instanceof ConstraintInstances);
    return {
      places,
      parts,
      numParams: places.reduce((sum, { count, dim }) => sum + count * dim, 0),
      numResiduals,
      constraints: constraints.length === 0 ? null : new ConstraintLayout(constraints, numResiduals),
    };
  }

  /** Notes what was appended since the last call. */
  private takeGrowth(): void {
    const { places, parts } = this.extent;
    const hasGrown = places.some(({ array, count }) => array.count !== count) || parts.some(({ block, count }) => block.count !== count);
    if (hasGrown) this.extent = this.extentNow();
  }

  get numParams(): number {
    this.takeGrowth();
    return this.extent.numParams;
  }

  get numResiduals(): number {
    this.takeGrowth();
    return this.extent.numResiduals;
  }

  get places(): readonly ArrayPlace[] {
    this.takeGrowth();
    return this.extent.places;
  }

  get constraints(): ConstraintLayout | null {
    this.takeGrowth();
    return this.extent.constraints;
  }

  takeStart(first: number, count: number): void {
    for (const place of this.extentOfModule.places) place.array.copyValues(this.startValues, first, count, place.offset, place.count);
  }

  build(module: RawModule): RawProblem {
    return this.buildOf(module, this.extentOfModule, this.startTables);
  }

  private buildOf(module: RawModule, extent: Extent, tables: readonly Float64Array[]): RawProblem {
    const raw = new module.RawProblem();
    try {
      this.addTo(raw, extent, tables);
    } catch (error) {
      raw.free();
      throw error;
    }
    return raw;
  }

  lostDigits(): string[] {
    const { places, parts } = this.extentOfModule;
    const ofArrays = places.flatMap(({ name, dim, offset, count }) => {
      return lostDigits(`parameter array "${name}"`, this.startValues.subarray(offset, offset + count * dim), dim);
    });
    const ofData = parts.flatMap(({ block, data }) => {
      return [...data].flatMap(([key, { input, values }]) => {
        return lostDigits(`data input "${key}" of ${block instanceof ConstraintInstances ? 'constraint' : 'residual'} block "${block.name}"`, values, input.dim);
      });
    });
    const ofGrids = this.grids.flatMap(({ name, channels }, k) => lostDigits(`grid "${name}"`, this.startTables[k] as Float64Array, channels));
    return [...ofData, ...ofGrids, ...ofArrays];
  }

  release(): void {
    this.startTables = [];
  }

  private addTo(raw: RawProblem, { places, parts, constraints, numParams }: Extent, tables: readonly Float64Array[]): void {
    const arrayIds = new Map<object, number>();
    for (const { array, name, dim, count, manifold } of places) {
      const id = raw.addArray(name, dim, count, manifold);
      arrayIds.set(array, id);
      if (array.elimination !== null) raw.setElimination(id, array.elimination);
    }
    if (this.grids.length > 0) raw.setTables(joined(Float64Array, tables));
    parts.forEach(({ block, count, offset, numResiduals, templates, inputs, data: ofBlock }, position) => {
      const part = constraints?.parts[position - this.residualBlocks];
      const id = raw.addBlock(block.name, count, part?.firstRow ?? offset, numResiduals);
      const evaluators: (PlainEvaluator | null)[] = [];
      const templateIds = templates.map((template) => {
        const { tape, instances, rows } = template;
        const data = [...template.firstColumns].map(([key, column]) => {
          const { input, values } = ofBlock.get(key) as BlockData;
          return [input, values, column] as const;
        });
        const number = raw.addTemplate(
          id,
          template.count,
          instances ?? undefined,
          rows ?? undefined,
          Uint32Array.from(template.slotArrays, (array) => arrayIds.get(array) as number),
          indexReader(inputs, template),
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
        evaluators.push(addPlain(raw, block.name, inputs, ofBlock, template, number, places, numParams));
        return number;
      });
      this.evaluators.set(block, evaluators);
      this.blockIds.set(block, id);
      this.templateIds.set(block, templateIds);
      if (part !== undefined) [part.blockId, part.templateIds] = [id, templateIds];
    });
  }

  additions(): string {
    const residuals = this.problem.blocks.slice(this.residualBlocks);
    const constraints = this.problem.constraints.slice(this.blocks.length - this.residualBlocks);
    return [notCompiled('Residual block', residuals), notCompiled('Constraint block', constraints)].filter((sentence) => sentence !== '').join(' ');
  }

  takeEdits(): Edits {
    this.takeGrowth();
    const since = this.seen;
    this.seen = latestChange();
    const growth = this.growth();
    // The build contains the numbers and data of its start, but no mask, bounds, weight, loss or enabled flag. Masks and bounds do not grow.
    const isFirst = this.firstEdits;
    const settingsSince = isFirst ? 0 : since;
    const limitsSince = growth === null ? settingsSince : 0;
    this.firstEdits = false;
    const commands: ((raw: RawFunctions) => void)[] = [];
    if (this.arrays.some((array) => array.constantChange > limitsSince)) {
      const mask = this.constantMask();
      commands.push((raw) => raw.setConstant(mask));
    }
    if (this.arrays.some((array) => array.boundsChange > limitsSince)) {
      const { lower, upper } = this.allBounds();
      commands.push((raw) => {
        for (const evaluators of this.evaluators.values()) for (const evaluator of evaluators) if (evaluator !== null) evaluator.columns.bounds = { lower, upper };
        raw.setBounds(lower, upper);
      });
    }
    for (const { first, table, change } of this.grids) {
      if (change <= since) continue;
      // The grid and other compiled functions keep the table: an array that is given to a worker's module is detached.
      commands.push((raw) => raw.setTables(first, table.slice()));
    }
    for (const { block, templates } of this.extent.parts) {
      for (const [key, { input, values, isWeight, change }] of block.data) {
        if (change <= since) continue;
        commands.push((raw) => {
          templates.forEach((template, number) => {
            const id = this.templateIds.get(block)?.[number] as number;
            this.evaluators.get(block)?.[number]?.columns.setData(key, values, isWeight);
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
    return { growth, values: this.arrays.flatMap((array) => array.editsSince(since, this)), commands };
  }

  /** What the module is to be given of what was appended; null if nothing was. */
  private growth(): Growth | null {
    const { extent, grids } = this;
    if (extent === this.extentOfCall) return null;
    this.extentOfCall = extent;
    const values = new Float64Array(extent.numParams);
    for (const { array, offset, count } of extent.places) array.copyValues(values, 0, values.length, offset, count);
    const tables = grids.map(({ table }) => table);
    const finish = (): void => {
      this.extentOfModule = extent;
      this.buffers.clear();
    };
    return { values, build: (module) => this.buildOf(module, extent, tables), finish };
  }

  domain(): Domain {
    this.takeGrowth();
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
      const { loss, enabled, name, weight, count, offset, templates } = block;
      if (loss.graduated === null || !enabled) return [];
      const { input, values } = block.data.get(WEIGHTS) as BlockData;
      const setWeights = (raw: RawFunctions, weights: Float64Array): void => {
        templates.forEach((template, number) => {
          const id = this.templateIds.get(block)?.[number] as number;
          raw.setData(id, template.firstColumns.get(WEIGHTS) as number, dataColumns(input, weights, template));
        });
      };
      return [{ name, kind: loss.graduated, scale: loss.a, factor: weight * loss.factor, weights: values, ends: residualEnds(templates, count, offset), setWeights }];
    });
  }

  writeBack(): WriteBack {
    const called = this.seen;
    const { places } = this.extent;
    return (x) => {
      for (const { array, offset, count } of places) array.writeBack(x.subarray(offset, offset + count * array.dim), called, this);
    };
  }

  attach(read: (work: (raw: RawFunctions) => GPUBuffer | null) => GPUBuffer | null): void {
    for (const block of this.blocks) {
      const find = (input: string): GPUBuffer | null => this.bufferOf(block, input, () => read((raw) => this.makeBuffer(raw, block, input)));
      this.finders.set(block, find);
      block.bufferFinders.push(find);
    }
    for (const grid of this.grids) {
      // Copies of grids are of problems that are made within calls.
      if (!(grid instanceof TableGrid)) continue;
      const find = () => this.bufferOf(grid, '', () => read((raw) => makeGridBuffer(raw, grid)));
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

  /** A buffer that was made before, or is made now. Throws 'invalid-argument' while the device has no place for what was appended. */
  private bufferOf(of: { readonly name: string }, input: string, make: () => GPUBuffer | null): GPUBuffer | null {
    this.takeGrowth();
    if (this.extent !== this.extentOfModule) {
      throw invalidArgument('dataBuffer', `"${of.name}" after append, before a call of the functions`, 'a call first, evaluate() for one, which makes new buffers');
    }
    let made = this.buffers.get(of);
    if (made === undefined) this.buffers.set(of, (made = new Map()));
    let buffer = made.get(input);
    if (buffer === undefined) made.set(input, (buffer = make()));
    return buffer;
  }

  private makeBuffer(raw: RawFunctions, block: ResidualInstances, key: string): GPUBuffer | null {
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

/** What of a problem grows, as of a call: arrays and blocks replace what they have, and modify none of it. */
interface Extent {
  readonly places: readonly (ArrayPlace & { readonly array: ParameterBlocks })[];
  readonly parts: readonly (Pick<ResidualInstances, 'count' | 'offset' | 'numResiduals' | 'templates' | 'inputs' | 'data'> & { readonly block: ResidualInstances })[];
  readonly numParams: number;
  readonly numResiduals: number;
  readonly constraints: ConstraintLayout | null;
}

function addPlain(
  raw: RawProblem,
  name: string,
  inputs: NamedInputs,
  data: ReadonlyMap<string, BlockData>,
  template: ResidualTemplate,
  number: number,
  places: Extent['places'],
  numParams: number,
): PlainEvaluator | null {
  if (template.plain === null) return null;
  const weights = [...data].find(([, { isWeight }]) => isWeight);
  const given = new Map([...data].filter((of) => of !== weights).map(([key, { values }]) => [key, values]));
  const slots = template.slotArrays.map((array) => places.find((place) => place.array === array) as ArrayPlace);
  const evaluator = new PlainEvaluator(name, inputs, given, template.plain, slots, places, numParams, weights?.[1].values ?? null);
  raw.setPlain(number, evaluator.evaluate);
  return evaluator;
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
