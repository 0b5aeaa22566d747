/** Residual blocks: many instances of one residual function, and what can be changed in them without recompiling. */

import { nextChange } from './clock.js';
import { describe, invalidArgument } from './errors.js';
import { DataInput, DataStarInput } from './inputs.js';
import { checkLoss, loss, type Loss, type RobustLoss } from './loss.js';
import { checkFinite, copyNumbersOfLength, type Numbers } from './numeric-arguments.js';
import type { NamedInputs, Recipe } from './recipe.js';

/** Many instances of one residual function. Nothing here recompiles; changes take effect at the next call. Made by Problem.residuals. */
export interface ResidualBlock {
  /** Its name, unique in the problem. */
  readonly name: string;
  /** Instances. */
  readonly count: number;
  /** Where its first residual stands among all; its residuals are instance after instance, output after output. */
  readonly offset: number;
  /** Residuals of all its instances. */
  readonly numResiduals: number;
  /** New per-instance numbers for a data input, as many as it was made with. */
  setData(input: string, values: Numbers): void;
  /**
   * The f32 GPU buffer of a data input, to write by copy or compute between calls: its numbers in the order in which they were
   * given. It is made by the first call of this, and the same one from then on. Null on the CPU, before compiling and after the
   * functions are disposed; of several compiled functions it is the latest one's.
   */
  dataBuffer(input: string): GPUBuffer | null;
  /** Weight of the block in sums and costs, finite and not negative; 1 by default. */
  setWeight(weight: number): void;
  /** The robust loss; `loss.squared()` by default. */
  setLoss(loss: Loss): void;
  /** Whether the block takes part in sums and costs; it does by default. */
  setEnabled(enabled: boolean): void;
}

/** The current numbers of a data input. */
export interface BlockData {
  readonly input: DataInput | DataStarInput;
  /** Replaced, never written to. */
  values: Float64Array;
  /** Number of its latest change. */
  change: number;
}

/** The one implementation. */
export class ResidualInstances implements ResidualBlock {
  /** The data inputs by name. */
  readonly data: ReadonlyMap<string, BlockData>;
  /** In sums and costs. */
  weight = 1;
  /** Robust loss. */
  loss: RobustLoss = loss.squared() as RobustLoss;
  /** Whether it takes part. */
  enabled = true;
  /** Number of the latest change of weight, loss or enabled. */
  settingsChange = 0;
  /** In the functions compiled from it, the latest last: finds the GPU buffer of a data input. */
  readonly bufferFinders: ((input: string) => GPUBuffer | null)[] = [];

  constructor(
    readonly name: string,
    readonly count: number,
    readonly offset: number,
    readonly numResiduals: number,
    readonly recipes: readonly Recipe[],
    readonly inputs: NamedInputs,
  ) {
    const data = new Map<string, BlockData>();
    for (const [key, input] of inputs) {
      if (input instanceof DataInput || input instanceof DataStarInput) data.set(key, { input, values: input.values, change: 0 });
    }
    this.data = data;
  }

  setData(input: string, values: Numbers): void {
    const argument = `${this.name}.setData`;
    const data = this.find(`${argument}: input`, input);
    data.values = copyNumbersOfLength(`${argument}: values`, values, data.values.length, `as many as "${input}" was made with`);
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
    this.loss = checkLoss(`${this.name}.setLoss: loss`, value);
    this.settingsChange = nextChange();
  }

  setEnabled(enabled: boolean): void {
    if (typeof enabled !== 'boolean') throw invalidArgument(`${this.name}.setEnabled: enabled`, describe(enabled), 'true or false');
    this.enabled = enabled;
    this.settingsChange = nextChange();
  }

  private find(argument: string, input: string): BlockData {
    const data = this.data.get(input);
    if (data === undefined) {
      const names = [...this.data.keys()].map((name) => `"${name}"`).join(', ');
      throw invalidArgument(argument, describe(input), names === '' ? 'nothing: the block has no data input' : `a data input: ${names}`);
    }
    return data;
  }
}
