/**
 * Recording: while a recording is active, operations on Values are appended to a tape of typed arrays, and no graph of objects is built. A
 * compile passes the tape to WebAssembly once; the tape ends with its recording.
 */

import { invalidGraph } from '../arguments/errors.js';
import type { Tape, TapePieces } from '../module/raw.js';
import { Op, type OpCode } from './op-codes.js';

/** The part of a Value that a recording uses. */
export interface Expression {
  /** The expression, unless it was made by an operation inside a recording. */
  readonly node: ExpressionNode | null;
  /** The recording in which it was made; for an expression with a node, the last recording that used it. */
  recording: Recording | null;
  /** Its position on the tape of `recording`. */
  index: number;
}

/** An expression that was made outside a recording. Leaves always have a node. */
export interface ExpressionNode {
  /** The operation. */
  readonly op: OpCode;
  /** First operand; null in a leaf. */
  readonly a: Expression | null;
  /** Second operand. */
  readonly b: Expression | null;
  /** Third operand. */
  readonly c: Expression | null;
  /** The value of a leaf. */
  number: number;
  /** Number of the latest change of `number`; 0 before any. */
  change: number;
  /** Number of the latest change by an assignment to `data`. */
  setChange: number;
  /** Whether it depends on a parameter, except through stopGradient. */
  readonly requiresGrad: boolean;
  /** The name of a parameter. */
  readonly label: string | undefined;
}

/** The kind of a recording's parameters. */
export type RecordingKind =
  /** `GpuCompiledFunctions.compile(params, fn)`: the parameters are Values with numbers. */
  | 'params'
  /** `Value.data`: an expression without parameters. */
  | 'expression'
  /** A residual function of a Problem: it has many instances, so its parameters have no numbers. */
  | 'residual';

/**
 * Returns the number of operands of an operation. It follows from the code: leaves are below 16, unary operations below 64, binary below
 * 112.
 */
export function arity(op: OpCode): 0 | 1 | 2 | 3 {
  return op < Op.neg ? 0 : op < Op.add ? 1 : op < Op.select ? 2 : 3;
}

/** Returns the entries that an entry takes, given its code and operands. */
export function operandsOf(op: OpCode, [a, b, c]: readonly [number, number, number]): number[] {
  if (op === Op.link) return b > 0 ? [a, b - 1] : [a];
  if (op === Op.loop) return [b - 1, c - 1];
  if (op === Op.result) return [a];
  return [a, b, c].slice(0, arity(op));
}

/**
 * Entries of a piece of the tape. A long tape is a list of pieces, which pass into WebAssembly one by one; nothing is copied as it grows.
 * Positions are those of the whole tape.
 */
const PIECE_BITS = 16;
const PIECE = 1 << PIECE_BITS;

/** The initial capacity in entries: a residual function has few, a list of residuals over params many. */
const FIRST_CAPACITY: Record<RecordingKind, number> = { params: PIECE, expression: 256, residual: 256 };

/** Some entries: codes, first, second and third operands; null where no entry has a third. */
type Entries = [ops: Uint8Array, a: Uint32Array, b: Uint32Array, c: Uint32Array | null];

/** A tape that is being written. */
export class Recording {
  /** Number of entries. */
  length = 0;
  /** Whether the recording has ended, after which its Values are invalid. */
  finished = false;
  /** The problem whose function is recorded; null without one. */
  owner: object | null = null;
  /** Position of the first of `params` that occurs a second time; -1 if none does. */
  readonly repeated: number = -1;
  /** Pieces that are full. */
  private full: Entries[] = [];
  /** The piece that is being filled. */
  private ops: Uint8Array;
  private a: Uint32Array;
  private b: Uint32Array;
  private c: Uint32Array | null = null;
  /** Entries in that piece. */
  private filled = 0;
  private fullNumbers: Float64Array[] = [];
  private numbers: Float64Array;
  private constantCount = 0;
  private parameterNumbers: Map<Expression, number> | null = null;
  /** Columns of data that are counts of loops: whole numbers, those of a list ascending. */
  readonly counts: (readonly number[])[] = [];
  /** For each entry that depends on the counter or state of a loop's body the innermost such body; null before the first body. */
  private scopes: Map<number, number> | null = null;
  /** The bodies that are being recorded, the innermost last. */
  private readonly openBodies: number[] = [];
  private bodies = 0;

  /**
   * @param kind the kind of its parameters
   * @param params with 'params' the parameters, which are the first entries of the tape, in order
   */
  constructor(
    readonly kind: RecordingKind,
    readonly params: readonly Expression[] = [],
  ) {
    const capacity = FIRST_CAPACITY[kind];
    this.ops = new Uint8Array(capacity);
    this.a = new Uint32Array(capacity);
    this.b = new Uint32Array(capacity);
    this.numbers = new Float64Array(capacity);
    for (let number = 0; number < params.length; number++) {
      const param = params[number] as Expression;
      if (param.recording === this && this.repeated < 0) this.repeated = number;
      param.recording = this;
      param.index = this.push(Op.parameter, number, 0, 0);
    }
  }

  /** Appends an entry and returns its position. */
  push(op: OpCode, a: number, b: number, c: number): number {
    if (this.filled === this.ops.length) this.makeRoom();
    const place = this.filled++;
    this.ops[place] = op;
    this.a[place] = a;
    this.b[place] = b;
    if (c !== 0) (this.c ??= new Uint32Array(this.ops.length))[place] = c;
    if (this.scopes !== null) this.noteScope(this.scopes, op, a, b, c);
    return this.length++;
  }

  /** Begins the body of a loop and returns its number. */
  openBody(): number {
    this.scopes ??= new Map();
    this.openBodies.push(this.bodies);
    return this.bodies++;
  }

  /** Ends the body that was begun last: its Values can no longer be used. */
  closeBody(): void {
    this.openBodies.pop();
  }

  /** Notes the innermost body that the next entry depends on. Throws 'invalid-graph' if that one has ended. */
  private noteScope(scopes: Map<number, number>, op: OpCode, a: number, b: number, c: number): void {
    let scope = op === Op.counter || op === Op.state ? a : op === Op.result ? this.openBodies.at(-1) : undefined;
    for (const operand of [a, b, c].slice(0, arity(op))) {
      const own = scopes.get(operand);
      this.checkScope(own);
      if (own !== undefined && (scope === undefined || own > scope)) scope = own;
    }
    if (scope !== undefined) scopes.set(this.length, scope);
  }

  private checkScope(scope: number | undefined): void {
    if (scope === undefined || this.openBodies.includes(scope)) return;
    throw invalidGraph("a Value of a loop's body was used outside of it: it takes its place in the state that the body returns, whose last one the loop gives");
  }

  /** Returns the code of an entry. */
  opAt(position: number): OpCode {
    return this.piece(position)[0][position & (PIECE - 1)] as OpCode;
  }

  /** Returns operand 0, 1 or 2 of an entry. For a literal or constant, operand 0 is the place of its number. */
  operandAt(position: number, operand: number): number {
    return this.piece(position)[operand + 1]?.[position & (PIECE - 1)] ?? 0;
  }

  /** Returns the entries that an entry takes. */
  operandsAt(position: number): number[] {
    return operandsOf(this.opAt(position), [this.operandAt(position, 0), this.operandAt(position, 1), this.operandAt(position, 2)]);
  }

  /** Returns the number at a place. */
  numberAt(place: number): number {
    return (this.fullNumbers[place >>> PIECE_BITS] ?? this.numbers)[place & (PIECE - 1)] as number;
  }

  /** Appends a number: a constant of the user, or a literal of the library's formulas. */
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

  /** Returns the position of a scalar. A Value from outside the recording is imported. */
  position(x: Expression | number): number {
    return typeof x === 'number' ? this.number(Op.constant, x) : this.import(x);
  }

  /** Returns the positions of several scalars. Throws 'invalid-graph' for one of a loop's body that has ended. */
  positions(scalars: readonly (Expression | number)[]): Uint32Array {
    const positions = new Uint32Array(scalars.length);
    for (let i = 0; i < positions.length; i++) positions[i] = this.checkedPosition(scalars[i] as Expression | number);
    return positions;
  }

  /** Returns the position of a scalar. Throws 'invalid-graph' for one of a loop's body that has ended. */
  checkedPosition(x: Expression | number): number {
    const position = this.position(x);
    this.checkScope(this.scopes?.get(position));
    return position;
  }

  /** Appends a Value that was made outside a recording, with its operands. The position is stored in the Value, so each is visited once. */
  private import(root: Expression): number {
    const pending: Expression[] = [root];
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

  /**
   * Returns the position of a parameter whose mark another recording has overwritten. A parameter that is not among `params` becomes a
   * constant.
   */
  private parameter(value: Expression, number: number): number {
    this.parameterNumbers ??= new Map(this.params.map((param, index) => [param, index]));
    const index = this.parameterNumbers.get(value);
    return index ?? this.number(Op.constant, number);
  }

  /** Ends the recording and returns the tape in one piece, trimmed. */
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

  /** Ends the recording and returns the tape in its pieces, the last one trimmed. */
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

  /** Ends the recording and frees the tape. */
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

/** The error for a Value of a recording that is not the active one. */
export function foreign(value: Expression): Error {
  const where = value.recording?.finished === true ? 'a recording that has ended' : 'another recording';
  return invalidGraph(
    `a Value from ${where} was used; a Value that a function records is valid until the function returns, so build the expression ` +
      'inside the function that uses it, or outside of every compile and residual function',
  );
}

let active: Recording | null = null;

/** Returns the recording to which operations are appended, or null. */
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
