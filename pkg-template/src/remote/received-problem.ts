/** The worker's side of a problem that the page sends: stores its pieces, and builds the problem. */

import type { RawMany, RawModule, RawProblem } from '../module/raw.js';
import { PIECE, type BuildStep, type ManySetup, type Piece, type ProblemPiece } from './protocol.js';

type TemplateStep = Extract<BuildStep, readonly ['template', ...unknown[]]>;
type Entries = Extract<ProblemPiece, { entries: unknown }>['entries'];

/** A problem of which all pieces, or the first ones, have been received. */
export class ReceivedProblem {
  /** The parameters' numbers at the start of the compile. */
  readonly values: Float64Array;
  private readonly entries: Entries[] = [];
  private readonly constants: Float64Array[] = [];
  private readonly slots = new Map<number, Piece<Uint32Array>[][]>();
  private readonly columns = new Map<number, Piece<Float64Array>[][]>();

  constructor(
    private readonly steps: readonly BuildStep[],
    numParams: number,
    private readonly many: ManySetup | null,
  ) {
    this.values = new Float64Array(numParams);
  }

  /** Stores pieces. Those of one column arrive in order. */
  add(pieces: readonly ProblemPiece[]): void {
    for (const piece of pieces) {
      if ('slot' in piece) append(this.slots, piece.template, piece.slot, piece.piece);
      else if ('column' in piece) append(this.columns, piece.template, piece.column, piece.piece);
      else if ('entries' in piece) this.entries.push(piece.entries);
      else if ('values' in piece) this.values.set(piece.values, piece.first);
      else this.constants.push(piece.constants);
    }
  }

  /** Builds the problem. */
  build(module: RawModule): RawProblem {
    const [first] = this.steps;
    if (first?.[0] === 'tape') return module.RawProblem.fromTape(first[1], this.entries, this.constants, first[2]);
    const problem = new module.RawProblem();
    try {
      let templates = 0;
      for (const step of this.steps) {
        if (step[0] === 'array') problem.addArray(step[1], step[2], step[3], step[4]);
        else if (step[0] === 'elimination') problem.setElimination(step[1], step[2]);
        else if (step[0] === 'block') problem.addBlock(step[1], step[2], step[3], step[4]);
        else if (step[0] === 'template') this.addTemplate(problem, templates++, step);
        else if (step[0] === 'tables') problem.setTables(step[1]);
        else if (step[0] === 'weights') problem.setInstanceWeights(step[1], step[2]);
      }
    } catch (error) {
      problem.free();
      throw error;
    }
    return problem;
  }

  /** Builds the solver of many problems of this shape. */
  buildMany(module: RawModule): RawMany {
    const { constant, lower, upper, count, settings } = this.many as ManySetup;
    const many = new module.RawMany(this.build(module), this.values, constant, lower, upper, count);
    for (const setting of settings) {
      if (setting[0] === 'setBlock') many.setBlock(setting[1], setting[2], setting[3], setting[4], setting[5], setting[6], setting[7]);
      else if (setting[0] === 'addParameters') many.addParameters(setting[1], setting[2], setting[3]);
      else many.addData(setting[1], setting[2], setting[3], setting[4], setting[5]);
    }
    return many;
  }

  private addTemplate(problem: RawProblem, template: number, step: TemplateStep): void {
    const [, block, count, instances, rows, slotArrays, dataColumns, tape] = step;
    const readIndices = columnReader(this.slots.get(template) ?? [], (length) => new Uint32Array(length));
    const readData = columnReader(this.columns.get(template) ?? [], (length) => new Float64Array(length));
    problem.addTemplate(block, count, instances, rows, slotArrays, readIndices, dataColumns, readData, ...tape);
  }
}

function append<A>(tables: Map<number, Piece<A>[][]>, template: number, column: number, piece: Piece<A>): void {
  let table = tables.get(template);
  if (table === undefined) tables.set(template, (table = []));
  (table[column] ??= []).push(piece);
}

/**
 * Returns a function that reads `count` entries of a column from `first` on. It returns a part of the stored piece where that holds all
 * of them, and else a buffer that the next call overwrites.
 */
function columnReader<A extends Uint32Array | Float64Array>(
  table: Piece<A>[][],
  make: (length: number) => A,
): (column: number, first: number, count: number) => A {
  let buffer = make(0);
  return (column, first, count) => {
    const pieces = table[column] ?? [];
    const start = first % PIECE;
    const only = pieces[Math.floor(first / PIECE)];
    if (typeof only === 'object' && start + count <= only.length) return only.subarray(start, start + count) as A;
    if (buffer.length < count) buffer = make(count);
    for (let at = 0; at < count; ) {
      const place = first + at;
      const piece = pieces[Math.floor(place / PIECE)] as Piece<A>;
      const some = Math.min(count - at, PIECE - (place % PIECE));
      if (typeof piece === 'number') buffer.fill(piece, at, at + some);
      else buffer.set(piece.subarray(place % PIECE, (place % PIECE) + some), at);
      at += some;
    }
    return buffer.subarray(0, count) as A;
  };
}
