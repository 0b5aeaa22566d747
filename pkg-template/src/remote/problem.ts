/**
 * The page's side of a problem that is sent to the worker. It stores the calls that build the problem, and sends tables, tape and start
 * values in pieces. Between pieces it yields to the event loop. Columns are computed when they are sent. The buffers of columns, and of the
 * tape of the params form, are transferred, not copied.
 */

import { invalidArgument } from '../arguments/errors.js';
import type { CancellationToken } from '../module/cancellation.js';
import type { RawEngineRequest, RawMany, RawManyOptions, RawManyResult, RawProblem, Tape, TapePieces } from '../module/raw.js';
import { buffersOf } from './buffers.js';
import type { Connection } from './connection.js';
import { contextNumber, engineData } from './context.js';
import { PIECE, type BuildStep, type ManySetup, type Piece, type ProblemPiece } from './protocol.js';

/** Milliseconds of work after which the event loop gets a turn; a small part of a frame. */
const SLICE_MS = 4;

/** The most bytes in one message, so that their memory is soon free on the page. */
const MESSAGE_BYTES = 1 << 23;

type ColumnReader<A> = (column: number, first: number, count: number) => A;

/** A problem that the worker builds. */
export class RemoteProblem implements RawProblem {
  readonly number: number;
  private readonly steps: BuildStep[] = [];
  private readonly sources: (() => Iterable<ProblemPiece>)[] = [];
  private arrays = 0;
  private blocks = 0;
  private templates = 0;

  constructor(private readonly connection: Connection) {
    this.number = connection.newObject();
  }

  /** The params form. The buffers of its tape are transferred. */
  static ofTape(connection: Connection, paramCount: number, entries: TapePieces['entries'], constants: TapePieces['constants'], outputs: Uint32Array): RemoteProblem {
    const problem = new RemoteProblem(connection);
    problem.steps.push(['tape', paramCount, outputs]);
    problem.sources.push(function* () {
      for (const piece of entries) yield { entries: piece };
      for (const piece of constants) yield { constants: piece };
    });
    return problem;
  }

  addArray(name: string, dim: number, count: number, manifold: string): number {
    this.steps.push(['array', name, dim, count, manifold]);
    return this.arrays++;
  }

  setElimination(array: number, group: number): void {
    this.steps.push(['elimination', array, group]);
  }

  addBlock(name: string, instances: number, firstRow: number, rows: number): number {
    this.steps.push(['block', name, instances, firstRow, rows]);
    return this.blocks++;
  }

  addTemplate(
    block: number,
    count: number,
    instances: Uint32Array | undefined,
    rows: Uint32Array | undefined,
    slotArrays: Uint32Array,
    readIndices: ColumnReader<Uint32Array>,
    dataColumns: number,
    readData: ColumnReader<Float64Array>,
    ...tape: [Tape['ops'], Tape['a'], Tape['b'], Tape['c'], Tape['constants'], Tape['outputs']]
  ): number {
    const template = this.templates++;
    this.steps.push(['template', block, count, instances, rows, slotArrays, dataColumns, tape]);
    this.sources.push(function* () {
      for (let slot = 0; slot < slotArrays.length; slot++) {
        for (const piece of columnPieces(readIndices, slot, count)) yield { template, slot, piece };
      }
      for (let column = 0; column < dataColumns; column++) {
        for (const piece of columnPieces(readData, column, count)) yield { template, column, piece };
      }
    });
    return template;
  }

  setTables(numbers: Float64Array): void {
    this.steps.push(['tables', numbers]);
  }

  setInstanceWeights(template: number, column: number): void {
    this.steps.push(['weights', template, column]);
  }

  /** Throws 'invalid-argument': a function cannot be sent. */
  setPlain(): never {
    throw invalidArgument('compile: problem', 'a problem with a plain function, which a worker does not get', "recorded residual functions, or the functions of 'residua', which run on the page");
  }

  /**
   * Sends the problem with its start values; `fill` writes the values of a range before they are sent. Returns early when the token is
   * cancelled.
   */
  async send(values: Float64Array, fill: (first: number, count: number) => void, many: ManySetup | null, token: CancellationToken): Promise<void> {
    const { number: problem, steps, connection } = this;
    connection.notify({ do: 'problem', problem, steps, numParams: values.length, many }, many === null ? [] : buffersOf(many.settings.flat()));
    this.sources.push(function* () {
      for (let first = 0; first < values.length; first += PIECE) {
        const count = Math.min(PIECE, values.length - first);
        fill(first, count);
        yield { first, values: values.slice(first, first + count) };
      }
    });
    let pieces: ProblemPiece[] = [];
    let bytes = 0;
    const flush = (): void => {
      connection.notify({ do: 'pieces', problem, pieces }, pieces.flatMap((piece) => buffersOf(Object.values(piece).flat())));
      [pieces, bytes] = [[], 0];
    };
    let began = performance.now();
    for (const source of this.sources.splice(0)) {
      for (const piece of source()) {
        pieces.push(piece);
        bytes += buffersOf(Object.values(piece).flat()).reduce((sum, { byteLength }) => sum + byteLength, 0);
        const isDue = performance.now() - began > SLICE_MS;
        if (bytes > MESSAGE_BYTES || isDue) flush();
        if (!isDue) continue;
        await nextTurn();
        if (token()) return;
        began = performance.now();
      }
    }
    flush();
  }

  free(): void {
    this.connection.notify({ do: 'dispose', what: 'problem', number: this.number });
  }
}

/** Many problems that the worker solves. */
export class RemoteMany implements RawMany {
  private readonly settings: ManySetup['settings'][number][] = [];

  constructor(
    private readonly connection: Connection,
    private readonly problem: RemoteProblem,
    private readonly values: Float64Array,
    private readonly constant: Uint8Array,
    private readonly lower: Float64Array,
    private readonly upper: Float64Array,
    private readonly count: number,
  ) {}

  setBlock(block: number, weight: number, kind: string, a: number, b: number, factor: number, enabled: boolean): void {
    this.settings.push(['setBlock', block, weight, kind, a, b, factor, enabled]);
  }

  addParameters(first: number, length: number, values: Float64Array): void {
    this.settings.push(['addParameters', first, length, values]);
  }

  addData(template: number, firstColumn: number, sources: Uint32Array, length: number, values: Float64Array): void {
    this.settings.push(['addData', template, firstColumn, sources, length, values]);
  }

  async solve(
    engine: RawEngineRequest,
    options: RawManyOptions,
    onProgress: ((done: number) => void) | undefined,
    aborted: CancellationToken,
  ): Promise<RawManyResult> {
    const { constant, lower, upper, count, settings } = this;
    // A cancelled solve is still sent: its request carries the cancellation, and the worker returns the result of a stopped solve.
    try {
      await this.problem.send(this.values, () => {}, { constant, lower, upper, count, settings }, () => false);
      const { number: problem } = this.problem;
      return (await this.connection.request(
        { do: 'solveMany', problem, engine: engineData(engine), options },
        { onReport: onProgress, token: aborted, requestContext: () => contextNumber(engine) },
      )) as RawManyResult;
    } finally {
      this.problem.free();
    }
  }
}

/** Yields a column in pieces. A piece of equal entries, as of a shared block, is sent as one number. */
function* columnPieces<A extends Uint32Array | Float64Array>(read: ColumnReader<A>, column: number, count: number): Generator<Piece<A>> {
  for (let first = 0; first < count; first += PIECE) {
    const piece = read(column, first, Math.min(PIECE, count - first));
    const number = piece[0] as number;
    yield piece.every((entry) => Object.is(entry, number)) ? number : (piece.slice() as A);
  }
}

/** Yields to the event loop. A message is used because a timer waits for milliseconds. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
