/** The worker's half of a problem on its way there: keeps the pieces that come, and makes the problem of them as often as an engine asks. */

import type { RawMany, RawModule, RawProblem } from '../raw.js';
import { PIECE, type ManySetup, type Part, type Piece, type Step } from './protocol.js';

type Recipe = Extract<Step, readonly ['recipe', ...unknown[]]>;
type Entries = Extract<Part, { entries: unknown }>['entries'];

/** A problem whose pieces have come, or are coming. */
export class Received {
  /** Its start. */
  readonly values: Float64Array;
  private readonly entries: Entries[] = [];
  private readonly constants: Float64Array[] = [];
  private readonly slots = new Map<number, Piece<Uint32Array>[][]>();
  private readonly columns = new Map<number, Piece<Float64Array>[][]>();

  constructor(
    private readonly steps: readonly Step[],
    numParams: number,
    private readonly many: ManySetup | null,
  ) {
    this.values = new Float64Array(numParams);
  }

  /** Takes pieces; those of a column come in their order. */
  add(parts: readonly Part[]): void {
    for (const part of parts) {
      if ('slot' in part) append(this.slots, part.recipe, part.slot, part.piece);
      else if ('column' in part) append(this.columns, part.recipe, part.column, part.piece);
      else if ('entries' in part) this.entries.push(part.entries);
      else if ('values' in part) this.values.set(part.values, part.first);
      else this.constants.push(part.constants);
    }
  }

  /** Makes the problem. */
  build(module: RawModule): RawProblem {
    const [first] = this.steps;
    if (first?.[0] === 'tape') return module.RawProblem.fromTape(first[1], this.entries, this.constants, first[2]);
    const problem = new module.RawProblem();
    try {
      let recipes = 0;
      for (const step of this.steps) {
        if (step[0] === 'array') problem.addArray(step[1], step[2], step[3], step[4]);
        else if (step[0] === 'block') problem.addBlock(step[1], step[2], step[3], step[4]);
        else if (step[0] === 'recipe') this.addRecipe(problem, recipes++, step);
      }
    } catch (error) {
      problem.free();
      throw error;
    }
    return problem;
  }

  /** Makes the solver of many problems of its shape. */
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

  private addRecipe(problem: RawProblem, recipe: number, [, block, count, instances, rows, slotArrays, dataColumns, tape]: Recipe): void {
    const readIndices = reader(this.slots.get(recipe) ?? [], (length) => new Uint32Array(length));
    const readData = reader(this.columns.get(recipe) ?? [], (length) => new Float64Array(length));
    problem.addRecipe(block, count, instances, rows, slotArrays, readIndices, dataColumns, readData, ...tape);
  }
}

function append<A>(tables: Map<number, Piece<A>[][]>, recipe: number, column: number, piece: Piece<A>): void {
  let table = tables.get(recipe);
  if (table === undefined) tables.set(recipe, (table = []));
  (table[column] ??= []).push(piece);
}

/** Reads some entries of a column: straight from a piece where they are all in one. What it returns holds until it is called again. */
function reader<A extends Uint32Array | Float64Array>(table: Piece<A>[][], make: (length: number) => A): (column: number, first: number, count: number) => A {
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
