/** A list of params, and the tape of a function that was recorded over them, as the input of a compile. */

import { latestChange } from '../arguments/change-counter.js';
import { describe, invalidArgument } from '../arguments/errors.js';
import { scalarsOf } from '../expressions/block.js';
import { Op } from '../expressions/op-codes.js';
import { record, Recording, type ExpressionNode } from '../expressions/tape.js';
import { Value, writeNumber, type Scalar } from '../expressions/value.js';
import type { RawModule, RawProblem, TapePieces } from '../module/raw.js';
import type { ValueEdit } from '../problem/parameter-array.js';
import type { CompileInput, Domain, Edits, WriteBack } from './compile-input.js';

/** The number of operations that one term of a long sum is assumed to have. */
const OPERATIONS_OF_A_TERM = 32;

/** A list of params and the tape recorded over them. */
export class ParamsCompileInput implements CompileInput {
  readonly problem = null;
  readonly arrays = null;
  readonly places = null;
  readonly plainBlock = null;
  readonly constraints = null;
  readonly numParams: number;
  readonly numResiduals: number;
  readonly workload: number;
  readonly startValues: Float64Array;
  private seen: number;
  /** For each param, the number of the change that `writeBack` made last. The compiled functions already have that value. */
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
    for (let i = first; i < first + count; i++) this.startValues[i] = ((this.params[i] as Value).node as ExpressionNode).number;
  }

  build(module: RawModule): RawProblem {
    const { entries, constants, outputs } = this.tape as TapePieces;
    return module.RawProblem.fromTape(this.numParams, entries, constants, outputs);
  }

  lostDigits(): string[] {
    // Params have no arrays, and their data are constants of expressions: there is no range that digits are lost of.
    return [];
  }

  release(): void {
    this.tape = null;
  }

  additions(): string {
    return '';
  }

  takeEdits(): Edits {
    const since = this.seen;
    this.seen = latestChange();
    const values: ValueEdit[] = [];
    for (let i = 0; i < this.params.length; i++) {
      const { number, change } = (this.params[i] as Value).node as ExpressionNode;
      if (change > since && change !== this.written[i]) values.push({ offset: i, numbers: Float64Array.of(number) });
    }
    return { growth: null, values, commands: [] };
  }

  domain(): Domain {
    const lower = new Float64Array(this.numParams).fill(-Infinity);
    return { lower, upper: lower.map(() => Infinity), constant: new Uint8Array(this.numParams), enabled: [], residuals: [], isRobust: false, joint: [] };
  }

  graduatedBlocks(): [] {
    return [];
  }

  writeBack(): WriteBack {
    const called = this.seen;
    return (x) => {
      for (let i = 0; i < this.params.length; i++) {
        const param = this.params[i] as Value;
        if ((param.node as ExpressionNode).setChange <= called) this.written[i] = writeNumber(param, x[i] as number);
      }
    };
  }

  attach(): void {}
  detach(): void {}
}

/** Records `fn` over `params`. Throws 'invalid-argument' unless `params` are distinct parameters and `fn` is a function. */
export function recordParams(params: unknown, fn: unknown): ParamsCompileInput {
  if (!Array.isArray(params)) throw invalidArgument('compile: params', describe(params), 'an array of parameters');
  if (typeof fn !== 'function') throw invalidArgument('compile: fn', describe(fn), 'a function');
  if (params.length === 0) throw invalidArgument('compile: params', 'an empty array', 'at least one parameter');
  for (let i = 0; i < params.length; i++) {
    const param: unknown = params[i];
    if (param instanceof Value && param.node !== null && param.node.op === Op.parameter) continue;
    const got = !(param instanceof Value) ? describe(param) : param.node !== null && param.node.a === null ? 'a constant' : 'an expression';
    throw invalidArgument(`compile: params[${i}]`, got, 'a parameter made by V.W or V.Param');
  }
  const began = performance.now();
  const list = (params as readonly Value[]).slice();
  const recording = new Recording('params', list);
  const { repeated } = recording;
  if (repeated >= 0) {
    recording.discard();
    const first = list.indexOf(list[repeated] as Value);
    throw invalidArgument(`compile: params[${repeated}]`, `the same parameter as params[${first}]`, 'each parameter once');
  }
  const outputs = record(recording, () => {
    const result = (fn as (params: Value[]) => Scalar | readonly Scalar[])(list.slice());
    return recording.positions(scalarsOf('compile: what fn returned', result));
  });
  const tape = recording.finishInPieces(outputs);
  return new ParamsCompileInput(list, tape, recording.length, performance.now() - began);
}
