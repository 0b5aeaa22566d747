/** Residual blocks: many instances of one residual function, and the settings that can change without recompiling. */

import { makeInspectable } from '../arguments/inspection.js';
import { nextChange } from '../arguments/change-counter.js';
import { describe, invalidArgument } from '../arguments/errors.js';
import { checkFinite, checkObject, copyNumbersOfLength, type Indices, type Numbers } from '../arguments/numeric-arguments.js';
import type { NamedInputs } from './block-inputs.js';
import { appended } from './appended.js';
import { extended } from './growing.js';
import { AtInput, DataInput, DataStarInput, GridInput, offsetsOf } from './inputs.js';
import { checkCounts } from './loop-counts.js';
import { checkLoss, loss, type Loss, type RobustLoss } from './loss.js';
import { checkPlainLoss } from './plain-function.js';
import type { ResidualTemplate } from './residual-template.js';
import { checkWeights, WEIGHTS } from './weights.js';

/** Many instances of one residual function. No change here recompiles; changes take effect at the next call. Made by Problem.residuals. */
export interface ResidualBlock {
  /** Its name, unique in the problem. */
  readonly name: string;
  /** Number of instances; `append` raises it. */
  readonly count: number;
  /** The position of its first residual among all residuals. Its residuals are in order of instances, then of outputs. That of later blocks moves with `append`. */
  readonly offset: number;
  /** Number of residuals of all its instances. */
  readonly numResiduals: number;
  /**
   * Sets the numbers of a data input, as many as it was made with; 'weights' and 'sqrtInformation' are such inputs where the block has them. Throws
   * 'invalid-argument' for an unknown input, another length, numbers that are not finite, or negative weights.
   */
  setData(input: string, values: Numbers): void;
  /**
   * Returns the f32 GPU buffer of a data input, to be written by copy or compute between calls: the input's numbers in the order in which
   * they were given. Its size is rounded up to 16 bytes. The first call creates it, later calls return the same buffer until the
   * problem grows: then a call of the functions makes room for another, which begins with the numbers of setData and append, and until that call this throws
   * 'invalid-argument'. Null on the CPU, before compiling and after the
   * functions are disposed; with several compiled functions it belongs to the latest.
   */
  dataBuffer(input: string): GPUBuffer | null;
  /** Sets the weight of the block in sums and costs, finite and at least 0; 1 by default. Those of its instances are the data input 'weights'. */
  setWeight(weight: number): void;
  /**
   * Sets the robust loss; `loss.squared()` by default. Nothing is recompiled, except on the GPU with `precision: 'f32x2'`: there the first
   * call after a change from `loss.squared()` to another loss compiles kernels that contain losses. Throws 'invalid-argument' for `loss.graduated` where
   * the block has no weights: they are there where it was made with some, or with such a loss.
   */
  setLoss(loss: Loss): void;
  /** Sets whether the block contributes to sums and costs; true by default. */
  setEnabled(enabled: boolean): void;
  /**
   * Adds instances at the end; returns the number of the first. `instances` has, by the names of the block's inputs, for each `at` the indices of the new
   * instances, and for each data input their numbers, instance after instance; 'sqrtInformation' where each instance has one, and 'weights' (1 by default) where
   * the block has weights. Shared inputs are not given. In a block that was made without instances, with `sqrtInformation: []`, each has the upper triangle of
   * its own; in one that was made with one instance its matrix is that of all.
   *
   * The residual function is not recorded again. A smoother of `incremental` takes the instances in at its next update, compiled functions at their next call,
   * and nothing is compiled for it: tables and patterns are laid out anew, in a time like that of an evaluation. On the CPU kernels are written again where a
   * block passes 1 and 255 instances or they cease to agree in a parameter block. GPU buffers of the functions are replaced. That call rejects with
   * 'limit-exceeded' or 'out-of-memory' where the device has no room, and the next one tries again.
   *
   * Takes blocks of recorded functions with `at`, `shared` and `data` as inputs. Throws 'invalid-argument' for a block with a star, with shared inputs alone or of
   * a plain function, for inputs that are missing or unknown or disagree on the number of instances, and for numbers as `residuals` does; then nothing is added.
   */
  append(instances: Readonly<Record<string, Indices | Numbers>>): number;
}

/** What a block needs to grow. */
export interface BlockGrowth {
  /** Records the function of a block without instances; gives all inputs too. */
  record(): { template: ResidualTemplate; inputs: NamedInputs };
  /** Is called before there are so many residuals, and may throw. Gives what is to be called after that. */
  growing(residuals: number): () => void;
}

/** The current numbers of a data input. */
export interface BlockData {
  /** Replaced when the block grows. */
  input: DataInput | DataStarInput;
  /** Whether they are the instances' weights. */
  readonly isWeight: boolean;
  /** Whether they belong to places in a grid of parameters, with the blocks that are read there: no call sets them. */
  readonly isPlace: boolean;
  /** Replaced by every change, never modified. */
  values: Float64Array;
  /** Number of its latest change. */
  change: number;
}

/** The implementation of ResidualBlock. */
export class ResidualInstances implements ResidualBlock {
  /** The data inputs by name. */
  readonly data: ReadonlyMap<string, BlockData>;
  /** The recorded function of a block that has had no instances. */
  private empty: ResidualTemplate | null = null;
  /** The weight in sums and costs. */
  weight = 1;
  /** The robust loss. */
  loss: RobustLoss = loss.squared() as RobustLoss;
  /** Whether the block contributes. */
  enabled = true;
  /** Number of the latest change of weight, loss or enabled. */
  settingsChange = 0;
  /** One function for each of the compiled functions, the latest last: returns the GPU buffer of a data input. */
  readonly bufferFinders: ((input: string) => GPUBuffer | null)[] = [];

  constructor(
    readonly name: string,
    public count: number,
    /** Moves when a block before it grows. */
    public offset: number,
    public numResiduals: number,
    /** Replaced when the block grows, as are the inputs; neither is modified. */
    public templates: readonly ResidualTemplate[],
    public inputs: NamedInputs,
    private readonly weights: DataInput | null = null,
    private readonly growth: BlockGrowth | null = null,
  ) {
    const data = new Map<string, BlockData>();
    this.data = data;
    this.addData(data);
    for (const [key, { values }] of data) checkCounts(`"${name}": inputs.${key}`, templates, key, data, values);
  }

  setData(input: string, values: Numbers): void {
    const argument = `${this.name}.setData`;
    const data = this.find(`${argument}: input`, input);
    const copy = copyNumbersOfLength(`${argument}: values`, values, data.values.length, `as many as "${input}" was made with`);
    if (data.isWeight) checkWeights(`${argument}: values`, copy);
    checkCounts(`${argument}: values`, this.templates, input, this.data, copy);
    data.values = copy;
    data.change = nextChange();
  }

  dataBuffer(input: string): GPUBuffer | null {
    this.find(`${this.name}.dataBuffer: input`, input);
    return this.bufferFinders.at(-1)?.(input) ?? null;
  }

  setWeight(weight: number): void {
    checkFinite(`${this.name}.setWeight: weight`, weight, 0);
    this.weight = weight;
    this.settingsChange = nextChange();
  }

  setLoss(value: Loss): void {
    const argument = `${this.name}.setLoss: loss`;
    const checked = checkLoss(argument, value);
    if (checked.graduated !== null && this.data.get(WEIGHTS)?.isWeight !== true) {
      throw invalidArgument(argument, 'a graduated loss for a block without weights', 'it for blocks that are made with weights, or with such a loss');
    }
    checkPlainLoss(this.name, this.templates, checked.kind === 'squared');
    this.loss = checked;
    this.settingsChange = nextChange();
  }

  setEnabled(enabled: boolean): void {
    if (typeof enabled !== 'boolean') throw invalidArgument(`${this.name}.setEnabled: enabled`, describe(enabled), 'true or false');
    this.enabled = enabled;
    this.settingsChange = nextChange();
  }

  /** The templates, with that of a block that has had no instances. Throws 'invalid-argument' for a function that cannot be recorded. */
  recorded(): readonly ResidualTemplate[] {
    if (this.templates.length > 0 || this.growth === null || [...this.inputs.values()].some((input) => offsetsOf(input) !== null)) return this.templates;
    if (this.empty === null) {
      const { template, inputs } = this.growth.record();
      [this.empty, this.inputs] = [template, inputs];
      this.addData(this.data as Map<string, BlockData>);
    }
    return [this.empty];
  }

  append(instances: Readonly<Record<string, Indices | Numbers>>): number {
    const argument = `${this.name}.append: instances`;
    checkObject(argument, instances);
    const { growth, inputs } = this;
    if (growth === null) throw invalidArgument(argument, 'instances of a plain function', 'those of recorded functions');
    const star = [...inputs].find(([, input]) => offsetsOf(input) !== null);
    if (star !== undefined) throw invalidArgument(argument, `instances of a block with the star "${star[0]}"`, 'those of blocks with at, shared and data alone');
    const template = this.recorded()[0] as ResidualTemplate;
    const { count, parts } = appended(argument, this.inputs, instances, this.weights);
    for (const { key, values } of parts) {
      if (!(values instanceof Float64Array)) continue;
      if (this.data.get(key)?.isWeight === true) checkWeights(`${argument}.${key}`, values);
      checkCounts(`${argument}.${key}`, [template], key, this.data, values);
    }
    const [first, all] = [this.count, this.count + count];
    const hasGrown = growth.growing(all * template.tape.outputs.length);
    const longer = new Map(this.inputs);
    for (const { key, input, values, behind } of parts) {
      const data = this.data.get(key);
      if (input instanceof GridInput && data !== undefined) {
        data.values = extended(data.values, behind as Float64Array);
        const longerBehind = new DataInput(input.behind.owner, input.behind.dim, data.values);
        data.input = longerBehind;
        longer.set(key, input.of(input.array, extended(input.indices, values as Uint32Array), longerBehind));
      } else if (input instanceof AtInput) longer.set(key, new AtInput(input.array, extended(input.indices, values as Uint32Array), input.width, input.single));
      else if (data !== undefined) {
        data.values = extended(data.values, values as Float64Array);
        data.input = new DataInput(input.owner, input.dim, data.values);
        longer.set(key, data.input);
      }
    }
    [this.count, this.numResiduals, this.inputs] = [all, all * template.tape.outputs.length, longer];
    if (all > 0) this.templates = [{ ...template, count: all }];
    hasGrown();
    return first;
  }

  /** Adds the data inputs that have no entry yet. */
  private addData(data: Map<string, BlockData>): void {
    for (const [key, of] of this.inputs) {
      const isPlace = of instanceof GridInput;
      const input = isPlace ? of.behind : of;
      if (!data.has(key) && (input instanceof DataInput || input instanceof DataStarInput)) {
        data.set(key, { input, isWeight: key === WEIGHTS && input === this.weights, isPlace, values: input.values, change: 0 });
      }
    }
  }

  private find(argument: string, input: string): BlockData {
    const data = this.data.get(input);
    if (data === undefined || data.isPlace) {
      const names = [...this.data].flatMap(([name, { isPlace }]) => (isPlace ? [] : [`"${name}"`])).join(', ');
      throw invalidArgument(argument, describe(input), names === '' ? 'nothing: the block has no data input' : `a data input: ${names}`);
    }
    return data;
  }

  toJSON(): { name: string; instances: number; residuals: number; inputs: string[]; enabled: boolean } {
    return { name: this.name, instances: this.count, residuals: this.numResiduals, inputs: [...this.inputs.keys()], enabled: this.enabled };
  }
}

makeInspectable(ResidualInstances, 'ResidualBlock');
