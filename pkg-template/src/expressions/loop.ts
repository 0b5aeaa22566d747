/**
 * Loops in residual functions. The body is recorded once, whatever the number of steps: its entries stand on the tape among all others, and an entry belongs to
 * the body whose counter or state it depends on. What a body takes from outside it refers to. A trajectory is a loop after another with the same body.
 */

import { describe, invalidArgument, invalidGraph } from '../arguments/errors.js';
import { Op } from './op-codes.js';
import { activeRecording, type Recording } from './tape.js';
import { asValue, checkScalar, Value, type Scalar } from './value.js';

/** The largest number of steps of a loop; the module has the same. */
export const MOST_STEPS = 1_000_000;

const COUNT = `a whole number from 0 to ${MOST_STEPS.toLocaleString('en-US')}`;

/** The state of a loop: a list of Values and numbers, as an array or a vector, or a record of them by names. */
export type LoopState = Iterable<Scalar> | Readonly<Record<string, Scalar>>;

/** A state as a loop's body gets it, and as a loop returns it. */
export type LoopValues<S extends LoopState> = S extends readonly Scalar[]
  ? { -readonly [K in keyof S]: Value }
  : S extends Iterable<Scalar>
    ? Value[]
    : { -readonly [K in keyof S]: Value };

/** A state as a loop's body returns it: a list of the same length, or a record with the same names. */
export type LoopNext<S extends LoopState> = S extends Iterable<Scalar> ? Iterable<Scalar> : { readonly [K in keyof S]: Scalar };

/** The names or the length of a state. */
export class Shape {
  private constructor(
    private readonly names: readonly string[] | null,
    readonly scalars: readonly Scalar[],
  ) {}

  /** The shape of a state. Throws 'invalid-argument' for anything but a list or record of Values and numbers. */
  static of(argument: string, state: unknown): Shape {
    const takes = 'a list or record of Values and numbers, of one or more';
    const parts = partsOf(state);
    if (parts === null) throw invalidArgument(argument, describe(state), takes);
    const { names, scalars } = parts;
    if (scalars.length === 0) throw invalidArgument(argument, names === null ? 'an empty list' : 'an empty record', takes);
    return new Shape(names, checked(argument, parts));
  }

  /** A state of Values, in their order. */
  build(values: readonly Value[]): unknown {
    if (this.names === null) return [...values];
    return Object.fromEntries(this.names.map((name, k) => [name, values[k]]));
  }

  /** The scalars of a state that must have this shape, in the order of the first one. */
  read(argument: string, state: unknown): Scalar[] {
    const parts = partsOf(state);
    if (parts === null || (parts.names === null) !== (this.names === null)) {
      throw invalidArgument(argument, describe(state), `${this.text()}, as the state is`);
    }
    if (this.names === null) {
      if (parts.scalars.length !== this.scalars.length) {
        throw invalidArgument(argument, `a list of ${parts.scalars.length}`, `${this.text()}, as the state is`);
      }
      return checked(argument, parts);
    }
    const given = parts.names as readonly string[];
    const missing = this.names.find((name) => !given.includes(name)) ?? given.find((name) => !this.names?.includes(name));
    if (missing !== undefined || given.length !== this.names.length) {
      throw invalidArgument(argument, `a record of ${given.join(', ') || 'nothing'}`, `${this.text()}, as the state is`);
    }
    const scalars = checked(argument, parts);
    return this.names.map((name) => scalars[given.indexOf(name)] as Scalar);
  }

  private text(): string {
    return this.names === null ? `a list of ${this.scalars.length} Values and numbers` : `a record of ${this.names.join(', ')}`;
  }
}

interface Parts {
  readonly names: readonly string[] | null;
  readonly scalars: readonly unknown[];
}

function partsOf(state: unknown): Parts | null {
  if (typeof state !== 'object' || state === null) return null;
  if (Symbol.iterator in state) return { names: null, scalars: [...(state as Iterable<unknown>)] };
  const prototype: unknown = Object.getPrototypeOf(state);
  if (prototype !== Object.prototype && prototype !== null) return null;
  return { names: Object.keys(state), scalars: Object.values(state) };
}

function checked(argument: string, { names, scalars }: Parts): Scalar[] {
  scalars.forEach((scalar, k) => checkScalar(names === null ? `${argument}[${k}]` : `${argument}.${names[k]}`, scalar));
  return scalars as Scalar[];
}

/** Returns the recording of the residual function that is recorded. */
function recordingOf(argument: string): Recording {
  const recording = activeRecording();
  if (recording?.kind === 'residual') return recording;
  throw invalidGraph(`${argument} outside of a residual function: it takes a call within a function that problem.residuals, equalities or inequalities records`);
}

/** A body that is recorded. */
interface RecordedBody {
  /** The call in messages. */
  readonly argument: string;
  readonly number: number;
  /** The list of the next state. */
  readonly next: number;
}

/** Records what a body does in a step. */
function recordBody(argument: string, recording: Recording, shape: Shape, body: unknown): RecordedBody {
  if (typeof body !== 'function') throw invalidArgument(`${argument}: body`, describe(body), 'a function of the state and the counter that returns the next state');
  const number = recording.openBody();
  try {
    const counter = Value.at(recording, recording.push(Op.counter, number, 0, 0));
    const state = shape.scalars.map((_, k) => Value.at(recording, recording.push(Op.state, number, k, 0)));
    const returned = `${argument}: what body returned`;
    const next = shape.read(returned, body(shape.build(state), counter));
    return { argument, number, next: listOf(returned, recording, next) };
  } finally {
    recording.closeBody();
  }
}

/** Applies a body `count` times, from a state and a counter. Returns the final state. */
function applyBody(recording: Recording, body: RecordedBody, start: Scalar, count: Scalar, state: readonly Scalar[]): Value[] {
  const operands = listOf(`${body.argument}: state`, recording, [start, count, ...state]);
  const loop = recording.push(Op.loop, body.number, operands, body.next);
  return state.map((_, k) => Value.at(recording, recording.push(Op.result, loop, k, 0)));
}

function positionOf(argument: string, recording: Recording, scalar: Scalar): number {
  if (typeof scalar === 'object' && scalar.node === null && scalar.recording !== recording) {
    throw invalidArgument(argument, 'a Value of another function', 'Values of the function that calls it, and numbers');
  }
  return recording.checkedPosition(scalar);
}

/** Writes a list and returns 1 more than the position of its last entry. */
function listOf(argument: string, recording: Recording, scalars: readonly Scalar[]): number {
  const positions = scalars.map((scalar) => positionOf(argument, recording, scalar));
  return positions.reduce((list, position) => recording.push(Op.link, position, list, 0) + 1, 0);
}

/** Checks a count: a whole number, or a data input, whose numbers are checked where they are set. */
function checkCount(argument: string, recording: Recording, count: unknown): Scalar {
  if (typeof count === 'number' && Number.isInteger(count) && count >= 0 && count <= MOST_STEPS) return count;
  if (dataColumn(recording, count) !== null) return count as Value;
  throw invalidArgument(argument, count instanceof Value ? 'an expression' : describe(count), `${COUNT}, or a data input of such numbers`);
}

/** The column of a data input; null for anything else. */
function dataColumn(recording: Recording, count: unknown): number | null {
  if (!(count instanceof Value) || count.recording !== recording || count.node !== null) return null;
  return recording.opAt(count.index) === Op.data ? recording.operandAt(count.index, 0) : null;
}

/** The counts of steps of a list, each at least the one before. */
function checkSteps(argument: string, recording: Recording, at: unknown): Scalar[] {
  const takes = `a list of whole numbers from 0 to ${MOST_STEPS.toLocaleString('en-US')} or of data inputs, each at least the one before`;
  const list = typeof at === 'object' && at !== null && Symbol.iterator in at ? [...(at as Iterable<unknown>)] : null;
  if (list === null) throw invalidArgument(argument, describe(at), takes);
  if (list.length === 0) throw invalidArgument(argument, 'an empty list', takes);
  const steps = list.map((step, k) => checkCount(`${argument}[${k}]`, recording, step));
  const numbers = steps.filter((step) => typeof step === 'number');
  if (numbers.length > 0 && numbers.length < steps.length) throw invalidArgument(argument, 'numbers and data inputs in one list', takes);
  const falls = numbers.findIndex((step, k) => k > 0 && step < (numbers[k - 1] as number));
  if (falls > 0) throw invalidArgument(`${argument}[${falls}]`, `${numbers[falls]} after ${numbers[falls - 1]}`, 'a number that is at least the one before');
  return steps;
}

/** Notes that columns of data are counts: whole numbers, each at least the one before. */
function noteCounts(recording: Recording, counts: readonly Scalar[]): void {
  const columns = counts.map((count) => dataColumn(recording, count));
  if (columns[0] !== null) recording.counts.push(columns as number[]);
}

/** {@link V.loop} */
export function loop<const S extends LoopState>(count: Scalar, state: S, body: (state: LoopValues<S>, k: Value) => LoopNext<S>): LoopValues<S> {
  const recording = recordingOf('V.loop');
  const steps = checkCount('V.loop: count', recording, count);
  const shape = Shape.of('V.loop: state', state);
  const recorded = recordBody('V.loop', recording, shape, body);
  noteCounts(recording, [steps]);
  const last = applyBody(recording, recorded, 0, steps, shape.scalars);
  return shape.build(last) as LoopValues<S>;
}

/** {@link V.trajectory} */
export function trajectory<const S extends LoopState>(
  at: Iterable<Scalar>,
  state: S,
  body: (state: LoopValues<S>, k: Value) => LoopNext<S>,
): LoopValues<S>[] {
  const recording = recordingOf('V.trajectory');
  const steps = checkSteps('V.trajectory: at', recording, at);
  const shape = Shape.of('V.trajectory: state', state);
  const recorded = recordBody('V.trajectory', recording, shape, body);
  noteCounts(recording, steps);
  let [before, current]: [Scalar, readonly Scalar[]] = [0, shape.scalars];
  return steps.map((step) => {
    const count = typeof step === 'number' ? step - (before as number) : asValue(step).sub(before);
    current = applyBody(recording, recorded, before, count, current);
    before = step;
    return shape.build(current as Value[]) as LoopValues<S>;
  });
}

/** Records a body over a list, and returns what applies it `count` times from a state. For the integrators, whose arguments have been checked. */
export function recordSteps(
  argument: string,
  scalars: readonly Scalar[],
  countName: string,
  count: Scalar,
  body: (state: Value[], k: Value) => Scalar[],
): (state: readonly Scalar[]) => Value[] {
  const recording = recordingOf(argument);
  const steps = checkCount(`${argument}: ${countName}`, recording, count);
  const recorded = recordBody(argument, recording, Shape.of(argument, scalars), body);
  noteCounts(recording, [steps]);
  return (state) => applyBody(recording, recorded, 0, steps, state);
}
