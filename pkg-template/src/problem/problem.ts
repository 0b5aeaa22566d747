/** Problems: many instances of few residual functions over arrays of parameter blocks. */

import { makeInspectable } from '../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkOptions } from '../arguments/options.js';
import { checkName, checkWholeNumber, copyNumbers, copyOffsets, type Indices, type Numbers } from '../arguments/numeric-arguments.js';
import type { Block, Output } from '../expressions/block.js';
import type { Pose2 } from '../expressions/pose2.js';
import type { Pose3 } from '../expressions/pose3.js';
import type { Rotation2 } from '../expressions/rotation2.js';
import type { Rotation3 } from '../expressions/rotation3.js';
import type { Sim2 } from '../expressions/sim2.js';
import type { Sim3 } from '../expressions/sim3.js';
import type { Value } from '../expressions/value.js';
import { agreedInstances, checkInputs, checkStarData, type NamedInputs } from './block-inputs.js';
import { ConstraintInstances, type ConstraintBlock, type ConstraintSpec } from './constraint-block.js';
import { checkHasParameters, type ConstraintKind } from './constraint-function.js';
import { TableGrid, type Grid, type GridSize, type GridSpec, type GridTable } from './grid.js';
import { DataInput, DataStarInput, GridInput, type Input } from './inputs.js';
import { checkLoss, type Loss } from './loss.js';
import { ParameterBlocks, type ParameterArray } from './parameter-array.js';
import { NodeGrid, type ParameterGrid, type ParameterGridSpec } from './parameter-grid.js';
import { checkPlainFunction, plainTemplates } from './plain-function.js';
import type { Differences, PlainFunction } from './plain-instances.js';
import { blockKind, type BlockKind } from './poses.js';
import { ResidualInstances, type BlockGrowth, type ResidualBlock } from './residual-block.js';
import { emptyTemplate, makeTemplates, type ResidualTemplate } from './residual-template.js';
import { SQRT_INFORMATION, SqrtInformation } from './sqrt-information.js';
import { WEIGHTS, weightsInput } from './weights.js';

/** The numbers of an instance of a plain function, by the names of its inputs. */
export type PlainValues<I> = { readonly [K in keyof I]: Float64Array };

/** What recorded and plain functions have in common. */
interface BlockSettings {
  readonly inputs: Record<string, Input<unknown>>;
  readonly loss?: Loss;
  readonly weight?: number;
  readonly weights?: Numbers | Input<Value>;
}

interface RecordedSpec extends BlockSettings {
  readonly residual: (inputs: never) => unknown;
  readonly sqrtInformation?: Numbers;
}

interface PlainSpec extends BlockSettings {
  readonly outputs: number;
  readonly evaluate: (values: never, out: Float64Array) => unknown;
  readonly jacobian?: (values: never, out: Float64Array) => unknown;
  readonly differences?: Differences;
}

/** The tables hold 32-bit indices. */
const MOST_ENTRIES = 2 ** 32 - 1;

/**
 * A nonlinear problem: arrays of parameter blocks, and residual blocks that define how instances of few residual functions depend on them.
 * `GpuCompiledFunctions.compile` compiles it, any number of times.
 */
export class Problem {
  /** @internal In order of creation. */
  readonly arrays: ParameterBlocks[] = [];
  /** @internal In order of creation. */
  readonly grids: GridTable[] = [];
  private readonly parameterGrids: NodeGrid[] = [];
  /** @internal In order of creation. */
  readonly blocks: ResidualInstances[] = [];
  /** @internal In order of creation. */
  readonly constraints: ConstraintInstances[] = [];

  /**
   * Adds an array of parameter blocks of `dim` numbers each. `values` are their start, block after block; its length is a positive multiple
   * of dim. Throws 'invalid-argument' for a name that is taken, a dim that is not a whole number from 1, or numbers that are not finite.
   */
  parameters<D extends number>(name: string, spec: { dim: D; values: Numbers }): ParameterArray<D> {
    const argument = this.checkArray('parameters', name, spec);
    checkWholeNumber(`${argument}: dim`, spec.dim, 1);
    return this.addArray(argument, name, spec.dim, spec.values) as unknown as ParameterArray<D>;
  }

  /**
   * Adds an array of rotations, which residual functions get as Rotation2 or Rotation3. With dim 2 a block is an angle in radians, with dim
   * 3 a unit quaternion in the order w, x, y, z, each with its manifold. Throws as `parameters` does.
   */
  rotations(name: string, spec: { dim: 2; values: Numbers }): ParameterArray<1, Rotation2>;
  rotations(name: string, spec: { dim: 3; values: Numbers }): ParameterArray<4, Rotation3>;
  rotations(name: string, spec: { dim: 2 | 3; values: Numbers }): unknown {
    const argument = this.checkArray('rotations', name, spec);
    return this.addArray(argument, name, blockKind(argument, 'rotations', spec.dim), spec.values);
  }

  /**
   * Adds an array of poses, which residual functions get as Pose2 or Pose3. With dim 2 a block has 3 numbers: angle in radians, x, y. With
   * dim 3 it has 7: the unit quaternion w, x, y, z, then x, y, z. The manifold of each part is set. Throws as `parameters` does.
   */
  poses(name: string, spec: { dim: 2; values: Numbers }): ParameterArray<3, Pose2>;
  poses(name: string, spec: { dim: 3; values: Numbers }): ParameterArray<7, Pose3>;
  poses(name: string, spec: { dim: 2 | 3; values: Numbers }): unknown {
    const argument = this.checkArray('poses', name, spec);
    return this.addArray(argument, name, blockKind(argument, 'poses', spec.dim), spec.values);
  }

  /**
   * Adds an array of similarities, which residual functions get as Sim2 or Sim3. With dim 2 a block has 4 numbers: angle in radians, x, y, and the natural
   * logarithm of the scale. With dim 3 it has 8: the unit quaternion w, x, y, z, then x, y, z, then the logarithm of the scale. The manifold of each part
   * is set. Throws as `parameters` does.
   */
  similarities(name: string, spec: { dim: 2; values: Numbers }): ParameterArray<4, Sim2>;
  similarities(name: string, spec: { dim: 3; values: Numbers }): ParameterArray<8, Sim3>;
  similarities(name: string, spec: { dim: 2 | 3; values: Numbers }): unknown {
    const argument = this.checkArray('similarities', name, spec);
    return this.addArray(argument, name, blockKind(argument, 'similarities', spec.dim), spec.values);
  }

  /** Per-instance numbers that are not solved for: `dim` per instance (1 by default), instance after instance. */
  data<D extends number = 1>(values: Numbers, dim?: D): Input<Block<D>> {
    const width = dim ?? 1;
    checkWholeNumber('data: dim', width, 1);
    const copy = copyNumbers('data: values', values);
    if (copy.length % width !== 0) throw invalidArgument('data: values', `${copy.length} numbers`, `a multiple of dim, ${width}`);
    return new DataInput(this, width, copy) as Input<Block<D>>;
  }

  /**
   * Numbers for stars, for example cotangent weights: `dim` of them (1 by default) for each entry of a star with the same offsets, entry
   * after entry. A block takes them together with such a star.
   */
  dataStar<D extends number = 1>(offsets: Indices, values: Numbers, dim?: D): Input<Block<D>[]> {
    const width = dim ?? 1;
    checkWholeNumber('dataStar: dim', width, 1);
    const copy = copyNumbers('dataStar: values', values);
    if (copy.length % width !== 0) throw invalidArgument('dataStar: values', `${copy.length} numbers`, `a multiple of dim, ${width}`);
    const entries = copyOffsets('dataStar: offsets', offsets, copy.length / width, width === 1 ? 'values' : `values / ${width}`);
    return new DataStarInput(this, width, entries, copy) as Input<Block<D>[]>;
  }

  /**
   * Adds a grid: a table of numbers in one, two or three dimensions that residual and constraint functions read at computed places by `at`, as a picture, a field of
   * distances or measurements over time. Its numbers are no parameters.
   *
   * With a parameter array as `values` it is a grid of parameters: a surface or field that is fitted. Its `at` takes coordinates, and gives an input.
   *
   * Throws 'invalid-argument' for a name that another grid has, sizes that are not whole numbers from 1, another number of values than there are places times
   * channels, numbers that are not finite, or an unknown interpolation or border; 'limit-exceeded' for more than 2²⁴ numbers, those of its border included.
   * For an array also where it has another number of blocks than there are places, has a manifold or belongs to another problem.
   */
  grid<const S extends GridSize, C extends number>(name: string, spec: ParameterGridSpec<S, C>): ParameterGrid<S['length'], C>;
  grid<const S extends GridSize, C extends number = 1>(name: string, spec: GridSpec<S, C>): Grid<S['length'], C>;
  grid(name: string, spec: GridSpec | ParameterGridSpec): unknown {
    checkName('grid: name', name);
    if ([...this.grids, ...this.parameterGrids].some((grid) => grid.name === name)) throw invalidArgument('grid: name', `"${name}" a second time`, 'a different name for each grid');
    if (typeof spec === 'object' && spec !== null && (spec.values as unknown) instanceof ParameterBlocks) {
      const grid = new NodeGrid(this, name, spec as ParameterGridSpec);
      this.parameterGrids.push(grid);
      return grid;
    }
    const last = this.grids.at(-1);
    const grid = new TableGrid(this, name, spec as GridSpec, last === undefined ? 0 : last.first + last.table.length);
    this.grids.push(grid);
    return grid;
  }

  /**
   * Adds one residual per instance and output of `residual`. The call runs `residual` to record its expression: once, or once for each
   * combination of star lengths. With only shared inputs there is one instance; with no instances, `residual` is not called.
   *
   * Throws 'invalid-argument' when the name is taken, the inputs disagree on the number of instances or belong to another problem, or a
   * dataStar has the offsets of no star of the block; 'invalid-graph' when `residual` returns anything but Values, vectors, numbers or an
   * array of these.
   */
  residuals<I extends Record<string, Input<unknown>>>(
    name: string,
    spec: {
      /** The inputs of each instance, by the names under which `residual` gets them. */
      inputs: I;
      /** Maps one instance's blocks and data to its residuals. */
      residual: (inputs: { [K in keyof I]: I[K] extends Input<infer T> ? T : never }) => Output;
      /** The robust loss; squared by default. With `loss.graduated` the block has weights, 1 each unless `weights` are given. */
      loss?: Loss;
      /** Weight in sums and costs; 1 by default. */
      weight?: number;
      /**
       * Weights of the instances in sums and costs, one for each, finite and at least 0; 1 by default. They are numbers, or what `data` returns for them.
       * An instance counts weight · ρ(‖r‖²), with both its own weight and that of the block: of a measurement with the standard error σ it is 1/σ².
       * An instance of weight 0 is left out: whatever its residuals would be, NaN and infinities included, they are 0, and so are their derivatives. It is
       * no sample where variances are estimated. The weights are a data input with this name, so setData('weights', …) sets them.
       */
      weights?: Numbers | Input<Value>;
      /**
       * Square roots Λ of information matrices: with `n` outputs r, the residuals are Λr. n × n numbers row after row, or the upper triangle
       * of an upper triangular Λ, for all instances or for each (instance after instance). Those of instances are a data input with this
       * name, so setData('sqrtInformation', …) sets them. `sqrtInformation()` makes them of information matrices. A row of zeros leaves the residual
       * out of the samples where variances are estimated.
       */
      sqrtInformation?: Numbers;
    },
  ): ResidualBlock;
  /**
   * Adds residuals that an arbitrary JavaScript function computes: a plain function. It runs at every evaluation, on the CPU, together with recorded
   * residual functions of the problem; weights, losses, bounds, constants and manifolds are the same for both. A compile with backend 'gpu', one in a worker
   * and solveMany reject plain functions.
   *
   * Without `jacobian`, derivatives are numeric differences. Their steps follow the scale of each parameter, and stay within its bounds. How exact they are is
   * measured, and decides which directions the residuals determine.
   *
   * Calls reject with 'non-finite' where a function throws. The message names the block and the instance, and so it does for residuals that are NaN
   * at the start, as those that `evaluate` does not write. At later points NaN rejects a step. Throws 'invalid-argument' as for recorded functions, and
   * 'limit-exceeded' for a robust loss of instances with more than 256 derivatives each.
   */
  residuals<I extends Record<string, Input<unknown>>>(
    name: string,
    spec: {
      /** The inputs of each instance, by the names under which the functions get their numbers. */
      inputs: I;
      /** Number of residuals of an instance. */
      outputs: number;
      /**
       * Writes the residuals of an instance to `out`, which holds NaN. `values` has the numbers of each input one after another: those of a block in the order
       * of its array, blocks of `at` and `star` in turn. Both are used again for the next instance.
       */
      evaluate: (values: PlainValues<I>, out: Float64Array) => unknown;
      /**
       * Writes the derivatives of an instance's residuals to `out`, row after row: for each residual one for each number of the parameter inputs, in the order of
       * `inputs`. On a manifold they are derivatives with respect to the numbers themselves.
       */
      jacobian?: (values: PlainValues<I>, out: Float64Array) => unknown;
      /**
       * How derivatives are approximated without `jacobian`: 'central' (default) differences, with two calls for each parameter and some 10 digits; 'forward', with
       * one call and some 7 digits; 'ridders', extrapolated from up to 36 calls, with some 13 digits.
       */
      differences?: Differences;
      /** The robust loss, as for recorded functions; squared by default. */
      loss?: Loss;
      /** Weight in sums and costs; 1 by default. */
      weight?: number;
      /** Weights of the instances, as for recorded functions. An instance of weight 0 is not evaluated. */
      weights?: Numbers | Input<Value>;
    },
  ): ResidualBlock;
  residuals(name: string, spec: RecordedSpec | PlainSpec): ResidualBlock {
    if (typeof spec === 'object' && spec !== null && ('evaluate' in spec || 'outputs' in spec)) return this.addPlain(name, spec as PlainSpec);
    return this.addRecorded(name, spec as RecordedSpec);
  }

  private addRecorded(name: string, spec: RecordedSpec): ResidualBlock {
    this.checkBlockName('residuals', name);
    const call = `residuals "${name}"`;
    checkOptions(`${call}: spec`, spec, { inputs: true, residual: true, loss: true, weight: true, weights: true, sqrtInformation: true });
    const inputs = checkInputs(call, spec.inputs, this);
    if (typeof spec.residual !== 'function') throw invalidArgument(`${call}: residual`, describe(spec.residual), 'a function');
    const count = agreedInstances(call, inputs);
    checkStarData(call, inputs);
    const roots = this.rootsOf(name, inputs, count, spec.sqrtInformation);
    const weights = this.weightsOf(name, inputs, count, spec);
    const recorded = { call, name: 'residual', function: spec.residual as (inputs: never) => unknown, constraint: null } as const;
    const recordable = { ...recorded, sqrtInformation: roots, isWeighted: weights !== null };
    const { templates, residuals } = makeTemplates(inputs, count, recordable);
    const allInputs = () => {
      const all = new Map(inputs);
      if (roots?.input != null) all.set(SQRT_INFORMATION, roots.input);
      if (weights !== null) all.set(WEIGHTS, weights);
      return all;
    };
    const growth = {
      // Without instances the function has not been recorded yet, nor is there an input of square roots.
      record: () => ({ template: emptyTemplate(inputs, recordable), inputs: allInputs() }),
      growing: (residuals: number) => this.growing(name, residuals),
    };
    return this.addBlock(name, spec, count, residuals, templates, allInputs(), weights, growth);
  }

  /** Is called before a block grows to so many residuals; gives what is to be called after that. */
  private growing(name: string, residuals: number): () => void {
    const block = this.blocks.find((block) => block.name === name) as ResidualInstances;
    checkSize('residuals', this.numResiduals + residuals - block.numResiduals);
    return () => this.placeAfter(this.blocks, block, ({ numResiduals }) => numResiduals);
  }

  private addPlain(name: string, spec: PlainSpec): ResidualBlock {
    this.checkBlockName('residuals', name);
    const call = `residuals "${name}"`;
    checkOptions(`${call}: spec`, spec, { inputs: true, outputs: true, evaluate: true, jacobian: true, differences: true, loss: true, weight: true, weights: true });
    const inputs = checkInputs(call, spec.inputs, this);
    const placed = [...inputs].find(([, input]) => input instanceof GridInput);
    if (placed !== undefined) throw invalidArgument(`${call}: inputs.${placed[0]}`, 'places in a grid of parameters', 'them in recorded functions alone');
    const plain = checkPlainFunction(name, spec);
    const count = agreedInstances(call, inputs);
    checkStarData(call, inputs);
    return this.addPlainInstances(name, spec, inputs, count, plain);
  }

  /** @internal Adds a plain function of one instance, of which each residual is an instance of the block. */
  addPlainRows(name: string, spec: { inputs: Record<string, Input<unknown>>; loss?: Loss; weights?: Numbers }, plain: PlainFunction): ResidualBlock {
    return this.addPlainInstances(name, spec, checkInputs(`residuals "${name}"`, spec.inputs, this), plain.outputs, plain);
  }

  private addPlainInstances(name: string, spec: BlockSettings, inputs: NamedInputs, count: number, plain: PlainFunction): ResidualBlock {
    const residuals = plain.perResidual ? count : count * plain.outputs;
    checkSize('residuals', this.numResiduals + residuals);
    const weights = this.weightsOf(name, inputs, count, spec);
    const templates = plainTemplates(name, inputs, count, plain, weights !== null);
    const allInputs = new Map(inputs);
    if (weights !== null) allInputs.set(WEIGHTS, weights);
    return this.addBlock(name, spec, count, residuals, templates, allInputs, weights);
  }

  private addBlock(
    name: string,
    spec: BlockSettings,
    count: number,
    residuals: number,
    templates: readonly ResidualTemplate[],
    inputs: NamedInputs,
    weights: DataInput | null,
    growth: BlockGrowth | null = null,
  ): ResidualBlock {
    const offset = this.numResiduals;
    checkSize('residuals', offset + residuals);
    const block = new ResidualInstances(name, count, offset, residuals, templates, inputs, weights, growth);
    if (spec.loss !== undefined) block.setLoss(spec.loss);
    if (spec.weight !== undefined) block.setWeight(spec.weight);
    this.blocks.push(block);
    return block;
  }

  /**
   * Adds constraints c = 0, one per instance and output of `constraint`, which solvers satisfy exactly, not in the balance with residuals. The call runs
   * `constraint` to record its expression, as `residuals` does, and throws as `residuals` does; also 'invalid-argument' for a constraint without parameters.
   *
   * Constraints take no part in the residuals, sums and costs of compiled functions. `levenbergMarquardt`, `lbfgs`, `newton` and `solve` meet them, and
   * their results have `constraints`.
   */
  equalities<I extends Record<string, Input<unknown>>>(name: string, spec: ConstraintSpec<I>): ConstraintBlock {
    return this.addConstraints('equalities', 'equality', name, spec as unknown as ConstraintSpec<Record<string, Input<unknown>>>);
  }

  /** Adds constraints c ≤ 0, one per instance and output of `constraint`; otherwise as `equalities`. */
  inequalities<I extends Record<string, Input<unknown>>>(name: string, spec: ConstraintSpec<I>): ConstraintBlock {
    return this.addConstraints('inequalities', 'inequality', name, spec as unknown as ConstraintSpec<Record<string, Input<unknown>>>);
  }

  private addConstraints(method: string, kind: ConstraintKind, name: string, spec: ConstraintSpec<Record<string, Input<unknown>>>): ConstraintBlock {
    this.checkBlockName(method, name);
    const call = `${method} "${name}"`;
    checkOptions(`${call}: spec`, spec, { inputs: true, constraint: true });
    const inputs = checkInputs(call, spec.inputs, this);
    if (typeof spec.constraint !== 'function') throw invalidArgument(`${call}: constraint`, describe(spec.constraint), 'a function');
    const count = agreedInstances(call, inputs);
    checkStarData(call, inputs);
    checkHasParameters(call, inputs);
    const recorded = { call, name: 'constraint', function: spec.constraint as (inputs: never) => unknown, constraint: kind } as const;
    const { templates, residuals } = makeTemplates(inputs, count, { ...recorded, sqrtInformation: null, isWeighted: false });
    checkSize('constraints', this.numConstraints + residuals);
    const block = new ConstraintInstances(kind, name, count, residuals, templates, inputs);
    this.constraints.push(block);
    return block;
  }

  private checkBlockName(method: string, name: unknown): void {
    checkName(`${method}: name`, name);
    if ([...this.blocks, ...this.constraints].every((block) => block.name !== name)) return;
    throw invalidArgument(`${method}: name`, `"${name}" a second time`, 'a different name for each block');
  }

  private rootsOf(name: string, inputs: NamedInputs, count: number, values: Numbers | undefined): SqrtInformation | null {
    if (values === undefined) return null;
    const argument = `residuals "${name}": sqrtInformation`;
    if (inputs.has(SQRT_INFORMATION)) throw invalidArgument(argument, 'an input of the same name', 'inputs with other names beside it');
    return new SqrtInformation(argument, this, values, count);
  }

  private weightsOf(name: string, inputs: NamedInputs, count: number, spec: BlockSettings): DataInput | null {
    const isGraduated = spec.loss !== undefined && checkLoss(`residuals "${name}": loss`, spec.loss).graduated !== null;
    const weights = spec.weights ?? (isGraduated ? new Float64Array(count).fill(1) : undefined);
    if (weights === undefined) return null;
    const argument = `residuals "${name}": weights`;
    if (inputs.has(WEIGHTS)) throw invalidArgument(argument, 'an input of the same name', 'inputs with other names beside it');
    return weightsInput(argument, this, weights, count);
  }

  private checkArray(method: string, name: unknown, spec: unknown): string {
    checkName(`${method}: name`, name);
    if (this.arrays.some((array) => array.name === name)) throw invalidArgument(`${method}: name`, `"${name}" a second time`, 'a different name for each array');
    const argument = `${method} "${name}"`;
    checkOptions(`${argument}: spec`, spec, { dim: true, values: true });
    return argument;
  }

  private addArray(argument: string, name: string, blocks: number | BlockKind, numbers: Numbers): ParameterBlocks {
    const kind = typeof blocks === 'number' ? null : blocks;
    const dim = typeof blocks === 'number' ? blocks : blocks.dim;
    const values = copyNumbers(`${argument}: values`, numbers);
    if (values.length === 0 || values.length % dim !== 0) {
      const of = kind === null ? `dim, ${dim}` : `${dim}, the numbers of a block`;
      throw invalidArgument(`${argument}: values`, `${values.length} numbers`, `a positive multiple of ${of}`);
    }
    checkSize('parameters', this.numParameters + values.length);
    const array: ParameterBlocks = new ParameterBlocks(this, name, dim, this.numParameters, values, kind?.make, (length) => {
      checkSize('parameters', this.numParameters + length - array.count * array.dim);
      return () => this.placeAfter(this.arrays, array, ({ count, dim }) => count * dim);
    });
    if (kind !== null) array.setManifold(kind.manifold);
    this.arrays.push(array);
    return array;
  }

  /** Moves the offsets behind an array or block that has grown. */
  private placeAfter<T extends { offset: number }>(all: readonly T[], changed: T, lengthOf: (of: T) => number): void {
    let end = changed.offset + lengthOf(changed);
    for (const later of all.slice(all.indexOf(changed) + 1)) {
      later.offset = end;
      end += lengthOf(later);
    }
  }

  /** Number of parameters in all arrays, constant ones included. */
  get numParameters(): number {
    const last = this.arrays.at(-1);
    return last === undefined ? 0 : last.offset + last.count * last.dim;
  }

  /** Number of residuals of all blocks. */
  get numResiduals(): number {
    const last = this.blocks.at(-1);
    return last === undefined ? 0 : last.offset + last.numResiduals;
  }

  /** Number of constraints of all blocks. */
  get numConstraints(): number {
    return this.constraints.reduce((sum, { numConstraints }) => sum + numConstraints, 0);
  }

  /** What JSON.stringify writes and consoles show: names and sizes of arrays and blocks. */
  toJSON(): { parameters: object; residuals: object; constraints: object } {
    const sizes = (blocks: readonly ResidualInstances[]) => Object.fromEntries(blocks.map(({ name, count, numResiduals }) => [name, { instances: count, residuals: numResiduals }]));
    return {
      parameters: Object.fromEntries(this.arrays.map(({ name, count, dim }) => [name, { count, dim }])),
      residuals: sizes(this.blocks),
      constraints: sizes(this.constraints),
    };
  }
}

function checkSize(what: string, size: number): void {
  if (size > MOST_ENTRIES) throw new ResiduaError('limit-exceeded', `a problem holds at most ${MOST_ENTRIES} ${what}; this would make ${size}`);
}

makeInspectable(Problem, 'Problem');
