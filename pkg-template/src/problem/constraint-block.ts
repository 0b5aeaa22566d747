/** Constraint blocks: many instances of one constraint function, and the settings that can change without recompiling. */

import { makeInspectable } from '../arguments/inspection.js';
import type { Numbers } from '../arguments/numeric-arguments.js';
import type { Output } from '../expressions/block.js';
import type { NamedInputs } from './block-inputs.js';
import { NO_FLOOR, STATES, type ConstraintKind } from './constraint-function.js';
import type { Input } from './inputs.js';
import type { ColumnReader } from './instance-tables.js';
import { ResidualInstances } from './residual-block.js';
import type { ResidualTemplate } from './residual-template.js';

/** Many instances of one constraint function. No change here recompiles; changes take effect at the next call. Made by Problem.equalities and .inequalities. */
export interface ConstraintBlock {
  /** Its name, unique among the residual and constraint blocks of the problem. */
  readonly name: string;
  /** Whether its constraints are = 0 or ≤ 0. */
  readonly kind: ConstraintKind;
  /** Number of instances. */
  readonly count: number;
  /** Number of constraints of all its instances, in order of instances, then of outputs. */
  readonly numConstraints: number;
  /**
   * Sets the numbers of a data input, as many as it was made with. Throws 'invalid-argument' for an unknown input, another length, and numbers that are
   * not finite.
   */
  setData(input: string, values: Numbers): void;
  /** Sets whether the constraints hold; true by default. */
  setEnabled(enabled: boolean): void;
}

/** What a constraint block is made of. */
export interface ConstraintSpec<I extends Record<string, Input<unknown>>> {
  /** The inputs of each instance, by the names under which `constraint` gets them. */
  inputs: I;
  /** Maps one instance's blocks and data to its constraints. */
  constraint: (inputs: { [K in keyof I]: I[K] extends Input<infer T> ? T : never }) => Output;
}

/** Returns a reader of a template's data that has the states at the start of a compile, in which outputs are the constraints. */
export function stateReader(read: ColumnReader<Float64Array>, { stateColumn, tape }: ResidualTemplate): ColumnReader<Float64Array> {
  if (stateColumn === null) return read;
  let buffer = new Float64Array(0);
  return (column, first, count) => {
    const state = column - stateColumn;
    if (state < 0) return read(column, first, count);
    if (buffer.length < count) buffer = new Float64Array(count);
    return buffer.subarray(0, count).fill(state === STATES * tape.outputs.length ? NO_FLOOR : state % STATES === 1 ? 1 : 0);
  };
}

/** The implementation of ConstraintBlock. */
export class ConstraintInstances extends ResidualInstances implements ConstraintBlock {
  constructor(
    readonly kind: ConstraintKind,
    name: string,
    count: number,
    readonly numConstraints: number,
    templates: readonly ResidualTemplate[],
    inputs: NamedInputs,
  ) {
    // Where its rows are follows from the residual blocks at the compile.
    super(name, count, 0, numConstraints, templates, inputs);
  }
}

makeInspectable(ConstraintInstances, 'ConstraintBlock');
