/**
 * Recording: while one is active, every operation on Values is appended to a tape of typed arrays instead of building a graph of
 * objects. The tape is what crosses into WebAssembly, once a compile; it dies with its recording.
 */

import { invalidGraph } from './errors.js';
import { Op, type OpCode } from './op-codes.js';
import type { Tape, TapePieces } from './raw.js';
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

/**
 * Entries of a piece of the tape. A long tape is a list of pieces: nothing is copied as it grows, and they cross into WebAssembly one by
 * one. Positions are those of the whole tape.
 */
const PIECE_BITS = 16;
const PIECE = 1 << PIECE_BITS;

/** Entries that a tape has room for at first: a residual function takes few, a list of residuals over params many. */
const FIRST_CAPACITY: Record<RecordingKind, number> = { params: PIECE, expression: 256, residual: 256 };

/** Some entries: codes, first, second and third operands, null where none has a third. */
type Entries = [ops: Uint8Array, a: Uint32Array, b: Uint32Array, c: Uint32Array | null];

/** A tape in the making. */
export class Recording {
  /** How many entries there are. */
  length = 0;
  /** Whether its Values can no longer be used. */
  finished = false;
  /** The first of `params` that had occurred before; -1 if none did. */
  readonly repeated: number = -1;
  /** Pieces that are full. */
  private full: Entries[] = [];
  /** The piece that is being filled. */
  private ops: Uint8Array;
  private a: Uint32Array;
  private b: Uint32Array;
  private c: Uint32Array | null = null;
  /** Entries in it. */
  private filled = 0;
  private fullNumbers: Float64Array[] = [];
  private numbers: Float64Array;
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
    this.numbers = new Float64Array(capacity);
    for (let number = 0; number < params.length; number++) {
      const param = params[number] as Value;
      if (param.recording === this && this.repeated < 0) this.repeated = number;
      param.recording = this;
      param.index = this.push(Op.parameter, number, 0, 0);
    }
  }

  /** Appends an entry; returns its position. */
  push(op: OpCode, a: number, b: number, c: number): number {
    if (this.filled === this.ops.length) this.makeRoom();
    const place = this.filled++;
    this.ops[place] = op;
    this.a[place] = a;
    this.b[place] = b;
    if (c !== 0) (this.c ??= new Uint32Array(this.ops.length))[place] = c;
    return this.length++;
  }

  /** The code of an entry. */
  opAt(position: number): OpCode {
    return this.piece(position)[0][position & (PIECE - 1)] as OpCode;
  }

  /** An operand of an entry: 0, 1 or 2. Of a number, the first is its place among the numbers. */
  operandAt(position: number, operand: number): number {
    return this.piece(position)[operand + 1]?.[position & (PIECE - 1)] ?? 0;
  }

  /** The number at a place. */
  numberAt(place: number): number {
    return (this.fullNumbers[place >>> PIECE_BITS] ?? this.numbers)[place & (PIECE - 1)] as number;
  }

  /** Appends a number: the user's as a constant, the library's own as a literal. */
  number(op: typeof Op.literal | typeof Op.constant, value: number): number {
    const count = this.constantCount++;
    const place = count & (PIECE - 1);
    if (place === 0 && count > 0) {
      this.fullNumbers.push(this.numbers);
      this.numbers = new Float64Array(PIECE);
    } else if (place === this.numbers.length) this.numbers = enlarged(this.numbers, new Float64Array(2 * place));
    this.numbers[place] = value;
    return this.push(op, count, 0, 0);
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

  /** The tape, in one piece and trimmed; the recording's Values are of no further use. */
  finish(outputs: Uint32Array): Tape {
    const { length, constantCount } = this;
    const pieces = this.finishInPieces(outputs);
    const tape: Tape = {
      ops: new Uint8Array(length),
      a: new Uint32Array(length),
      b: new Uint32Array(length),
      c: new Uint32Array(length),
      constants: new Float64Array(constantCount),
      outputs,
    };
    let end = 0;
    for (const [ops, a, b, c] of pieces.entries) {
      tape.ops.set(ops, end);
      tape.a.set(a, end);
      tape.b.set(b, end);
      if (c !== null) tape.c.set(c, end);
      end += ops.length;
    }
    end = 0;
    for (const numbers of pieces.constants) {
      tape.constants.set(numbers, end);
      end += numbers.length;
    }
    return tape;
  }

  /** The tape as it is, its last pieces trimmed; the recording's Values are of no further use. */
  finishInPieces(outputs: Uint32Array): TapePieces {
    const { filled } = this;
    const last: Entries = [
      this.ops.subarray(0, filled),
      this.a.subarray(0, filled),
      this.b.subarray(0, filled),
      this.c === null ? null : this.c.subarray(0, filled),
    ];
    const numbers = this.numbers.subarray(0, this.constantCount - PIECE * this.fullNumbers.length);
    const pieces: TapePieces = { entries: [...this.full, last], constants: [...this.fullNumbers, numbers], outputs };
    this.discard();
    return pieces;
  }

  /** Frees the tape. */
  discard(): void {
    this.finished = true;
    this.full = [];
    this.ops = new Uint8Array(0);
    this.a = this.b = new Uint32Array(0);
    this.c = null;
    this.fullNumbers = [];
    this.numbers = new Float64Array(0);
    this.parameterNumbers = null;
  }

  private piece(position: number): Entries {
    return this.full[position >>> PIECE_BITS] ?? [this.ops, this.a, this.b, this.c];
  }

  private makeRoom(): void {
    const { length } = this.ops;
    if (length === PIECE) {
      this.full.push([this.ops, this.a, this.b, this.c]);
      this.ops = new Uint8Array(PIECE);
      this.a = new Uint32Array(PIECE);
      this.b = new Uint32Array(PIECE);
      this.c = null;
      this.filled = 0;
      return;
    }
    this.ops = enlarged(this.ops, new Uint8Array(2 * length));
    this.a = enlarged(this.a, new Uint32Array(2 * length));
    this.b = enlarged(this.b, new Uint32Array(2 * length));
    if (this.c !== null) this.c = enlarged(this.c, new Uint32Array(2 * length));
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
