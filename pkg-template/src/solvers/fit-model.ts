/** The model of a fit: whether it computes numbers or is an expression, and the residual function that it makes. */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { scalarsOf } from '../expressions/block.js';
import { record, Recording } from '../expressions/tape.js';
import { Op } from '../expressions/op-codes.js';
import { Value, type Scalar } from '../expressions/value.js';
import type { PlainFunction } from '../problem/plain-instances.js';

/** Start values, with names if they are a record. */
export interface Names {
  readonly keys: readonly string[] | null;
  readonly start: Float64Array;
}

/** A model, once it is known what it is. */
export type FitModel =
  | { readonly kind: 'expression'; record(parameters: unknown, x: unknown): Scalar }
  | { readonly kind: 'plain'; plain(y: Float64Array, jacobianFunction: Model | undefined): Pick<PlainFunction, 'outputs' | 'evaluate' | 'jacobian'> };

/** Parameters alone, which gives a function of x, or with x. */
type Model = (parameters: unknown, x?: unknown) => unknown;

/**
 * Returns what a model is, by what it returns for the first sample: with numbers as parameters a number, or with Values a Value. Throws 'invalid-argument'
 * where it returns neither.
 */
export function modelOf(model: unknown, names: Names, x: Float64Array, width: number): FitModel {
  if (typeof model !== 'function') throw invalidArgument('fit: model', describe(model), 'a function of the parameters');
  const work = model as Model;
  const pack = <T>(list: readonly T[]): unknown => (names.keys === null ? list : Object.fromEntries(names.keys.map((key, k) => [key, list[k]])));
  const samples = Array.from({ length: x.length / Math.max(width, 1) }, (_, i) => (width === 0 ? x[i] : Array.from(x.subarray(i * width, (i + 1) * width))));
  const withNumbers = attempt(() => valueOf(work, () => pack(Array.from(names.start)), samples[0]));
  if (typeof withNumbers.value === 'number') {
    const { isCurried } = withNumbers;
    return { kind: 'plain', plain: (y, jacobianFunction) => plainOf(work, isCurried, (numbers) => pack(Array.from(numbers)), samples, y, jacobianFunction) };
  }
  const withValues = attempt(() => valueForValues(work, pack, names.start.length, width));
  if (withValues.value instanceof Value) {
    const { isCurried } = withValues;
    const record = (parameters: unknown, of: unknown): Scalar => {
      const list = pack(scalarsOf('fit: parameters', parameters));
      const sample = width === 0 ? of : scalarsOf('fit: x', of);
      return (isCurried ? (work(list) as Model)(sample) : work(list, sample)) as Scalar;
    };
    return { kind: 'expression', record };
  }
  const { error } = withNumbers;
  if (error !== undefined) {
    // Which of both the model is meant for shows in neither.
    const wordsOf = (thrown: unknown): string => (thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : describe(thrown));
    const [words, other] = [wordsOf(error), withValues.error === undefined ? '' : wordsOf(withValues.error)];
    const both = other === '' || other === words ? words : `${words}; with Values: ${other}`;
    throw new ResiduaError('invalid-argument', `fit: model: it threw for the first sample: ${both}`, { cause: error });
  }
  throw invalidArgument('fit: model', `one that returns ${describe(withNumbers.value)} for the first sample`, '(parameters) => (x) => a number, or (parameters, x) => a Value');
}

/** A value, how the model takes x, and what it threw. */
interface Attempt {
  readonly value?: unknown;
  readonly isCurried: boolean;
  readonly error?: unknown;
}

function attempt(work: () => Attempt): Attempt {
  try {
    return work();
  } catch (error) {
    return { isCurried: false, error };
  }
}

/** Calls a model with parameters alone, and if that gives no function, with x too: a second argument may have a default. */
function valueOf(model: Model, parameters: () => unknown, x: unknown): Attempt {
  const curried = attempt(() => ({ value: model(parameters()), isCurried: true })).value;
  if (typeof curried === 'function') return { value: curried(x), isCurried: true };
  return { value: model(parameters(), x), isCurried: false };
}

/** Records the model; the recording is dropped. */
function valueForValues(model: Model, pack: (list: readonly Value[]) => unknown, parameters: number, width: number): Attempt {
  const recording = new Recording('residual');
  const leaves = (op: typeof Op.parameter | typeof Op.data, count: number) => Array.from({ length: count }, (_, k) => Value.at(recording, recording.push(op, k, 0, 0)));
  const found = record(recording, () => {
    const x = leaves(Op.data, Math.max(width, 1));
    return valueOf(model, () => pack(leaves(Op.parameter, parameters)), width === 0 ? x[0] : x);
  });
  recording.discard();
  return found;
}

/** The residuals of all samples, as those of one instance whose only input are the parameters. */
function plainOf(
  model: Model,
  isCurried: boolean,
  pack: (numbers: Float64Array) => unknown,
  samples: readonly unknown[],
  y: Float64Array,
  jacobianFunction: Model | undefined,
): Pick<PlainFunction, 'outputs' | 'evaluate' | 'jacobian'> {
  const outputs = samples.length;
  return {
    outputs,
    evaluate: ({ parameters }, out) => {
      const packed = pack(parameters as Float64Array);
      const curve = isCurried ? (model(packed) as (x: unknown) => number) : (x: unknown) => model(packed, x) as number;
      for (let i = 0; i < outputs; i++) out[i] = curve(samples[i]) - (y[i] as number);
    },
    jacobian:
      jacobianFunction === undefined
        ? null
        : ({ parameters }, out) => {
            const { length } = parameters as Float64Array;
            const row = jacobianFunction(pack(parameters as Float64Array)) as (x: unknown) => ArrayLike<number>;
            for (let i = 0, at = 0; i < outputs; i++) {
              const derivatives = row(samples[i]);
              for (let k = 0; k < length; k++) out[at++] = derivatives[k] as number;
            }
          },
  };
}
