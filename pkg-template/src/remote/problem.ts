/**
 * The page's half of a problem on its way to the worker: it notes how the problem is made, and sends what the problem is made of in pieces, with
 * turns for the page between them. Columns are computed here as they are sent, and handed over without a copy; so is a tape of the params form.
 */

import type { RawContext, RawMany, RawManyResult, RawProblem, Tape, TapePieces } from '../raw.js';
import type { Stopped } from '../stop.js';
import { buffersOf } from './buffers.js';
import type { Connection } from './connection.js';
import type { RemoteContext } from './context.js';
import { PIECE, type ManySetup, type Part, type Piece, type Step } from './protocol.js';

/** Milliseconds of work after which the page gets a turn: well within a frame. */
const PATIENCE_MS = 4;

/** Bytes that go in one message at most, so that its memory is soon free on this side. */
const MESSAGE_BYTES = 1 << 23;

type Reader<A> = (column: number, first: number, count: number) => A;

/** A problem that is made in the worker. */
export class RemoteProblem implements RawProblem {
  readonly lasts = true;
  readonly number: number;
  private readonly steps: Step[] = [];
  private readonly sources: (() => Iterable<Part>)[] = [];
  private arrays = 0;
  private blocks = 0;
  private recipes = 0;
  private sent = false;

  constructor(private readonly connection: Connection) {
    this.number = connection.newObject();
  }

  /** The params form; its tape is handed over. */
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

  addBlock(name: string, instances: number, firstRow: number, rows: number): number {
    this.steps.push(['block', name, instances, firstRow, rows]);
    return this.blocks++;
  }

  addRecipe(
    block: number,
    count: number,
    instances: Uint32Array | undefined,
    rows: Uint32Array | undefined,
    slotArrays: Uint32Array,
    readIndices: Reader<Uint32Array>,
    dataColumns: number,
    readData: Reader<Float64Array>,
    ...tape: [Tape['ops'], Tape['a'], Tape['b'], Tape['c'], Tape['constants'], Tape['outputs']]
  ): number {
    const recipe = this.recipes++;
    this.steps.push(['recipe', block, count, instances, rows, slotArrays, dataColumns, tape]);
    this.sources.push(function* () {
      for (let slot = 0; slot < slotArrays.length; slot++) {
        for (const piece of pieces(readIndices, slot, count)) yield { recipe, slot, piece };
      }
      for (let column = 0; column < dataColumns; column++) {
        for (const piece of pieces(readData, column, count)) yield { recipe, column, piece };
      }
    });
    return recipe;
  }

  /** Sends it with its start, of which `fill` makes some numbers ready; a second time it is there already. Ends early when it shall stop. */
  async send(values: Float64Array, fill: (first: number, count: number) => void, many: ManySetup | null, isStopped: Stopped): Promise<void> {
    if (this.sent) return;
    this.sent = true;
    const { number: problem, steps, connection } = this;
    connection.tell({ do: 'problem', problem, steps, numParams: values.length, many }, many === null ? [] : buffersOf(many.settings.flat()));
    this.sources.push(function* () {
      for (let first = 0; first < values.length; first += PIECE) {
        const count = Math.min(PIECE, values.length - first);
        fill(first, count);
        yield { first, values: values.slice(first, first + count) };
      }
    });
    let parts: Part[] = [];
    let bytes = 0;
    const flush = (): void => {
      connection.tell({ do: 'parts', problem, parts }, parts.flatMap((part) => buffersOf(Object.values(part).flat())));
      [parts, bytes] = [[], 0];
    };
    let began = performance.now();
    for (const source of this.sources.splice(0)) {
      for (const part of source()) {
        parts.push(part);
        bytes += buffersOf(Object.values(part).flat()).reduce((sum, { byteLength }) => sum + byteLength, 0);
        const isDue = performance.now() - began > PATIENCE_MS;
        if (bytes > MESSAGE_BYTES || isDue) flush();
        if (!isDue) continue;
        await nextTurn();
        if (isStopped()) return;
        began = performance.now();
      }
    }
    flush();
  }

  free(): void {
    this.connection.tell({ do: 'dispose', what: 'problem', number: this.number });
  }
}

/** Many problems that are solved in the worker. */
export class RemoteMany implements RawMany {
  readonly lasts = true;
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

  addData(recipe: number, firstColumn: number, sources: Uint32Array, length: number, values: Float64Array): void {
    this.settings.push(['addData', recipe, firstColumn, sources, length, values]);
  }

  async solve(
    context: RawContext | undefined,
    options: Parameters<RawMany['solve']>[1],
    onProgress: ((done: number) => void) | undefined,
    aborted: Stopped,
  ): Promise<RawManyResult> {
    const { constant, lower, upper, count, settings } = this;
    // A solve that shall stop before it begins is told so by its request, as one that is under way.
    await this.problem.send(this.values, () => {}, { constant, lower, upper, count, settings }, () => false);
    const { number: problem } = this.problem;
    return (await this.connection.request(
      { do: 'solveMany', problem, context: (context as RemoteContext | undefined)?.number ?? null, options },
      { hear: onProgress, stopped: aborted },
    )) as RawManyResult;
  }

  free(): void {
    this.problem.free();
  }
}

/** The column in pieces; one of equal numbers, as of a shared block, is a number. */
function* pieces<A extends Uint32Array | Float64Array>(read: Reader<A>, column: number, count: number): Generator<Piece<A>> {
  for (let first = 0; first < count; first += PIECE) {
    const piece = read(column, first, Math.min(PIECE, count - first));
    const number = piece[0] as number;
    yield piece.every((entry) => Object.is(entry, number)) ? number : (piece.slice() as A);
  }
}

/** Lets the page draw and hear; a timer would wait for milliseconds. */
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
