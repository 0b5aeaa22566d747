/**
 * Recording: while one is active, every operation on Values is appended to a tape of typed arrays instead of building a graph of
 * objects. The tape is what crosses into WebAssembly, once a compile; it dies with its recording.
 */

import { invalidGraph } from './errors.js';
import { Op, type OpCode } from './op-codes.js';
import type { Tape } from './raw.js';
import { checkOperand, type Scalar, type Value } from './value.js';

/** Where the parameters of a recording come from. */
export type RecordingKind =
  /** `GpuCompiledFunctions.compile(params, fn)`: they are Values that have numbers. */
  | 'params'
  /** `Value.data`: an expression of its own, over nothing but numbers. */
  | 'expression'
  /** A Problem's residual function: there are many instances and no one number. */
  | 'residual';

/** How many operands an operation takes, which its code tells: leaves stand below 16, unary ones below 64, binary below 112. */
export function arity(op: OpCode): 0 | 1 | 2 | 3 {
  return op < Op.neg ? 0 : op < Op.add ? 1 : op < Op.select ? 2 : 3;
}

/** Entries that a tape has room for at first: a residual function takes few, a list of residuals over params many. */
const FIRST_CAPACITY: Record<RecordingKind, number> = { params: 1 << 16, expression: 256, residual: 256 };

/** A tape in the making. */
export class Recording {
  /** Codes, one an entry. */
  ops: Uint8Array;
  /** First operands. */
  a: Uint32Array;
  /** Second operands. */
  b: Uint32Array;
  /** Third operands. */
  c: Uint32Array;
  /** Numbers of literals and constants. */
  constants: Float64Array;
  /** How many entries there are. */
  length = 0;
  /** Whether its Values can no longer be used. */
  finished = false;
  private constantCount = 0;
  private parameterNumbers: Map<Value, number> | null = null;

  /**
   * @param kind where the parameters come from.
   * @param params with 'params' the parameters: the first entries of the tape, in their order.
   */
  constructor(
    readonly kind: RecordingKind,
    readonly params: readonly Value[] = [],
  ) {
    const capacity = FIRST_CAPACITY[kind];
    this.ops = new Uint8Array(capacity);
    this.a = new Uint32Array(capacity);
    this.b = new Uint32Array(capacity);
    this.c = new Uint32Array(capacity);
    this.constants = new Float64Array(capacity);
    for (let number = 0; number < params.length; number++) {
      const param = params[number] as Value;
      param.recording = this;
      param.index = this.push(Op.parameter, number, 0, 0);
    }
  }

  /** Appends an entry; returns its position. */
  push(op: OpCode, a: number, b: number, c: number): number {
    const position = this.length;
    if (position === this.ops.length) this.grow();
    this.ops[position] = op;
    this.a[position] = a;
    this.b[position] = b;
    this.c[position] = c;
    this.length = position + 1;
    return position;
  }

  /** Appends a number: the user's as a constant, the library's own as a literal. */
  number(op: typeof Op.literal | typeof Op.constant, value: number): number {
    const place = this.constantCount++;
    if (place === this.constants.length) this.constants = enlarged(this.constants, new Float64Array(2 * place));
    this.constants[place] = value;
    return this.push(op, place, 0, 0);
  }

  /** Where the operand of `op` at `place`, from 0, stands. */
  operand(x: Scalar, op: OpCode, place: number): number {
    // The way of nearly all operands first; what cannot be one is told apart on the other.
    if (typeof x === 'object' && x !== null && x.recording === this) return x.index;
    checkOperand(x, op, place);
    return this.position(x);
  }

  /** Where a scalar stands, which is imported when it was made outside. */
  position(x: Scalar): number {
    return typeof x === 'number' ? this.number(Op.constant, x) : this.import(x);
  }

  /** Where several scalars stand. */
  positions(scalars: readonly Scalar[]): Uint32Array {
    const positions = new Uint32Array(scalars.length);
    for (let i = 0; i < positions.length; i++) positions[i] = this.position(scalars[i] as Scalar);
    return positions;
  }

  /**
   * Appends a Value that was made outside a recording, with all that it stands on. Where it stands is remembered in the Value
   * itself, so that each is walked once.
   */
  private import(root: Value): number {
    const pending: Value[] = [root];
    for (let value = pending.at(-1); value !== undefined; value = pending.at(-1)) {
      if (value.recording === this) {
        pending.pop();
        continue;
      }
      const node = value.node;
      if (node === null) throw foreign(value);
      const { op, a, b, c } = node;
      const before = pending.length;
      if (a !== null && a.recording !== this) pending.push(a);
      if (b !== null && b.recording !== this) pending.push(b);
      if (c !== null && c.recording !== this) pending.push(c);
      if (pending.length > before) continue;
      value.index =
        a !== null
          ? this.push(op, a.index, b === null ? 0 : b.index, c === null ? 0 : c.index)
          : op === Op.parameter
            ? this.parameter(value, node.number)
            : this.number(op === Op.literal ? Op.literal : Op.constant, node.number);
      value.recording = this;
      pending.pop();
    }
    return root.index;
  }

  /** A parameter of this recording that another recording has met since; one that is not of this recording is a constant. */
  private parameter(value: Value, number: number): number {
    this.parameterNumbers ??= new Map(this.params.map((param, index) => [param, index]));
    const index = this.parameterNumbers.get(value);
    return index ?? this.number(Op.constant, number);
  }

  /** The tape, trimmed; the recording's Values are of no further use. */
  finish(outputs: Uint32Array): Tape {
    const { length } = this;
    const tape: Tape = {
      ops: this.ops.slice(0, length),
      a: this.a.slice(0, length),
      b: this.b.slice(0, length),
      c: this.c.slice(0, length),
      constants: this.constants.slice(0, this.constantCount),
      outputs,
    };
    this.discard();
    return tape;
  }

  /** Frees the tape. */
  discard(): void {
    this.finished = true;
    this.ops = new Uint8Array(0);
    this.a = this.b = this.c = new Uint32Array(0);
    this.constants = new Float64Array(0);
    this.parameterNumbers = null;
  }

  private grow(): void {
    const capacity = 2 * this.ops.length;
    this.ops = enlarged(this.ops, new Uint8Array(capacity));
    this.a = enlarged(this.a, new Uint32Array(capacity));
    this.b = enlarged(this.b, new Uint32Array(capacity));
    this.c = enlarged(this.c, new Uint32Array(capacity));
  }
}

function enlarged<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from);
  return to;
}

/** The error for a Value that belongs to a recording that is not the active one. */
export function foreign(value: Value): Error {
  const where = value.recording?.finished === true ? 'a recording that is over' : 'another recording';
  return invalidGraph(
    `a Value from ${where} was used; what a function records lives until the function returns, so build the expression ` +
      'inside the function that uses it, or outside of every compile and residual function',
  );
}

let active: Recording | null = null;

/** The recording that operations are appended to, or null outside of one. */
export function activeRecording(): Recording | null {
  return active;
}

/** Runs `work` with `recording` active. */
export function record<T>(recording: Recording, work: () => T): T {
  const outer = active;
  active = recording;
  try {
    return work();
  } catch (error) {
    recording.discard();
    throw error;
  } finally {
    active = outer;
  }
}
