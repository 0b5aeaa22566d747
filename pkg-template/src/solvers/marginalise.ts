/** Marginalisation in a batch: blocks are taken out of a problem, and what their residuals say of the other blocks is kept as a prior. */

import { makeInspectable } from '../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import type { GpuCompiledFunctions } from '../compile/functions.js';
import { residualEnds } from '../compile/problem-compile-input.js';
import type { Value } from '../expressions/value.js';
import { Rotation2 } from '../expressions/rotation2.js';
import { V } from '../expressions/v.js';
import type { Input } from '../problem/inputs.js';
import { indexReader } from '../problem/instance-tables.js';
import { slope } from '../problem/loss.js';
import { manifoldParts, type PartOfManifold } from '../problem/manifold.js';
import type { ParameterBlocks } from '../problem/parameter-array.js';
import { Problem } from '../problem/problem.js';
import type { ResidualBlock, ResidualInstances } from '../problem/residual-block.js';
import { WEIGHTS } from '../problem/weights.js';
import { eliminate, type LinearRows } from './block-elimination.js';
import { checkBlock, type ParameterBlock } from './covariance.js';
import { checkFunctions } from './solve-options.js';

/** The part of a column below which what is left of it is rounding, by the precision of the derivatives. */
const UNDETERMINED = { f64: 1e-11, f32x2: 1e-9, f32: 1e-5 } as const;

/** What residuals of blocks that are gone say of others: linear residuals of these, at the point of their linearisation. Made by `marginalise`. */
export interface MarginalPrior {
  /** The blocks that it is about, of the problem that was marginalised. */
  readonly blocks: readonly ParameterBlock[];
  /** Number of its residuals, at most as many as its blocks have degrees of freedom. */
  readonly numResiduals: number;
  /**
   * Adds it to a problem as a residual block. `blocks` are the blocks there that take the places of its own, in the same order; by default its own. On an angle
   * it depends on the difference by less than a half turn, and a quaternion and its negative count the same.
   *
   * Throws 'invalid-argument' for another number of blocks, blocks of another problem, dimension or manifold, for one that is given twice,
   * and for a name that is taken.
   */
  addTo(problem: Problem, name: string, blocks?: readonly ParameterBlock[]): ResidualBlock;
}

/** A block among the numbers of a point. */
interface Place {
  readonly array: ParameterBlocks;
  readonly index: number;
  readonly first: number;
}

/** A block on its manifold, and where it is linearised. */
class Variable {
  readonly parts: readonly PartOfManifold[];
  /** An orthonormal basis of the tangent space: a row for each number, without those of constant numbers. */
  readonly basis: Float64Array;
  /** Number of columns of the basis. */
  readonly tangent: number;

  constructor(
    readonly place: Place,
    /** Its numbers, of unit length where its manifold wants that. */
    readonly point: Float64Array,
  ) {
    const { array, index } = place;
    const { dim } = array;
    this.parts = manifoldParts(array.manifold, dim);
    const columns: Float64Array[] = [];
    for (const { manifold, first, dim: width } of this.parts) {
      const isUnit = manifold === 'unit-vector' || manifold === 'unit-quaternion';
      const part = point.subarray(first, first + width);
      for (let k = isUnit ? 1 : 0; k < width; k++) {
        const column = new Float64Array(dim);
        if (isUnit) column.set(complement(part, k), first);
        else column[first + k] = 1;
        columns.push(column);
      }
    }
    const isConstant = (k: number): boolean => (array.constant?.[index * dim + k] ?? 0) !== 0;
    // Blocks on manifolds are constant as wholes.
    const free = columns.filter((column) => column.every((share, k) => share === 0 || !isConstant(k)));
    this.tangent = free.length;
    this.basis = new Float64Array(dim * free.length);
    free.forEach((column, k) => column.forEach((share, row) => (this.basis[row * free.length + k] = share)));
  }
}

/** Column k of the reflection that takes the first axis to a unit vector: for k > 0 they are a basis of what is orthogonal to the vector. */
function complement(unit: Float64Array, k: number): Float64Array {
  const vector = unit.slice();
  vector[0]! += (unit[0] as number) < 0 ? -1 : 1;
  const square = vector.reduce((sum, x) => sum + x * x, 0);
  return vector.map((x, row) => Number(row === k) - (2 * x * (vector[k] as number)) / square);
}

/** Divides parts of unit length by their lengths. */
function normalise(point: Float64Array, parts: readonly PartOfManifold[]): void {
  for (const { manifold, first, dim } of parts) {
    if (manifold !== 'unit-vector' && manifold !== 'unit-quaternion') continue;
    const part = point.subarray(first, first + dim);
    const length = Math.hypot(...part);
    if (length > 0) part.forEach((x, k) => (part[k] = x / length));
  }
}

/**
 * Takes blocks out of a problem by marginalisation: returns what all residuals with these blocks say of the other blocks, as a prior that is linear at the
 * current numbers. A problem of the other blocks with their other residuals and the prior then has the same solution and covariances as the whole, as far as
 * residuals are linear: a window over the latest blocks, or a map that is handed over. `IncrementalSmoother.marginalise` does so in place.
 *
 * Weights and enabled flags count, and robust losses by the weight that they give an instance there, ρ′. Constant numbers stay where they are. Directions of
 * the blocks that no residual determines say nothing of the others. Residuals and derivatives are those of the functions' engine, in f32 on the GPU unless
 * 'f32x2' is taken; the elimination is in double precision, by orthogonal transformations.
 *
 * Rejects with 'invalid-argument' for functions that were compiled from params, for a block that is not one of theirs, is constant or is given twice, for
 * graduated losses, where constraints have the blocks, and where no residual links them to another variable block; with 'limit-exceeded' for a prior of
 * more than 4,000 numbers; with 'non-finite' where a residual or derivative is not finite.
 */
export async function marginalise(functions: GpuCompiledFunctions, blocks: readonly ParameterBlock[]): Promise<MarginalPrior> {
  checkFunctions('marginalise', functions);
  functions.refuseGraduated('marginalise');
  const { problem } = functions;
  if (problem === null) throw invalidArgument('marginalise: functions', 'functions that were compiled from params', 'those of a Problem');
  if (!Array.isArray(blocks) || blocks.length === 0) throw invalidArgument('marginalise: blocks', describe(blocks), 'an array of at least one block, { array, index }');
  const places = Array.from(blocks as readonly unknown[], (block, position) => checkBlock(`marginalise: blocks[${position}]`, problem.arrays, block));
  const x = await functions.download();
  const variables = new Variables(problem, x);
  const gone = new Set<number>();
  places.forEach(({ array, index, first }, position) => {
    const [argument, name] = [`marginalise: blocks[${position}]`, `${array.name}[${index}]`];
    if (gone.size === gone.add(first).size) throw invalidArgument(argument, `${name} a second time`, 'each block once');
    if (variables.at(first).tangent === 0) throw invalidArgument(argument, `${name}, which is constant`, 'a variable block');
    const constraint = problem.constraints.find((block) => hasBlock(block, array, index));
    if (constraint !== undefined) throw invalidArgument(argument, `${name}, which the constraint block "${constraint.name}" has`, 'a block without constraints');
  });
  const linear = await linearise(functions, problem, variables, x, gone);
  const rest = eliminate(linear, [...gone], (block) => variables.at(block).tangent, UNDETERMINED[functions.precision]);
  if (rest === null) throw invalidArgument('marginalise: blocks', 'blocks without a residual that links them to others', 'blocks that share residuals with other variable blocks');
  return priorOf(rest, variables);
}

/** Whether an instance of a block takes a block of parameters. */
function hasBlock({ inputs, templates }: ResidualInstances, array: ParameterBlocks, index: number): boolean {
  return templates.some((template) => {
    const read = indexReader(inputs, template);
    return template.slotArrays.some((of, slot) => of === array && read(slot, 0, template.count).includes(index));
  });
}

function nameOf({ place: { array, index } }: Variable): string {
  return `${array.name}[${index}]`;
}

/** The blocks of a problem at a point, by the positions of their first numbers. */
class Variables {
  private readonly known = new Map<number, Variable>();

  constructor(
    private readonly problem: Problem,
    private readonly x: Float64Array,
  ) {
    for (const { manifold, offset, dim, count } of problem.arrays) {
      if (manifold === 'euclidean') continue;
      const parts = manifoldParts(manifold, dim);
      for (let first = offset; first < offset + count * dim; first += dim) normalise(x.subarray(first, first + dim), parts);
    }
  }

  /** The block with a first position. */
  at(first: number): Variable {
    let variable = this.known.get(first);
    if (variable === undefined) {
      const array = this.problem.arrays.find(({ offset, dim, count }) => first >= offset && first < offset + dim * count) as ParameterBlocks;
      const place = { array, index: (first - array.offset) / array.dim, first };
      this.known.set(first, (variable = new Variable(place, this.x.slice(first, first + array.dim))));
    }
    return variable;
  }

  /** For each number of the point the first position of its block. */
  firsts(): Uint32Array {
    const firsts = new Uint32Array(this.x.length);
    for (const { offset, dim, count } of this.problem.arrays) for (let k = 0; k < dim * count; k++) firsts[offset + k] = offset + k - (k % dim);
    return firsts;
  }
}

/** The rows of all instances that have one of the blocks, on tangent spaces. */
async function linearise(functions: GpuCompiledFunctions, problem: Problem, variables: Variables, x: Float64Array, gone: ReadonlySet<number>): Promise<LinearRows[]> {
  const settings = problem.blocks.map(({ name, enabled, weight, loss, data, templates, count, offset }) => {
    return { name, enabled, weight, loss, weights: data.get(WEIGHTS)?.isWeight ? data.get(WEIGHTS)!.values : null, ends: residualEnds(templates, count, offset) };
  });
  const { values, jacobian } = await functions.evaluateJacobian(x);
  const { rowOffsets, colIndices, values: entries } = jacobian;
  const firsts = variables.firsts();
  const factors: LinearRows[] = [];
  for (const { name, enabled, weight, loss, weights, ends } of settings) {
    if (!enabled || weight === 0) continue;
    for (let instance = 0; instance + 1 < ends.length; instance++) {
      const [start, end] = [ends[instance] as number, ends[instance + 1] as number];
      const columns = colIndices.subarray(rowOffsets[start], rowOffsets[end]);
      if (!columns.some((column) => gone.has(firsts[column] as number))) continue;
      const own = [...new Set(Array.from(columns, (column) => firsts[column] as number))].filter((first) => variables.at(first).tangent > 0);
      const square = values.subarray(start, end).reduce((sum, r) => sum + r * r, 0);
      const scale = Math.sqrt(weight * (weights?.[instance] ?? 1) * slope(loss, square));
      if (scale === 0) continue;
      const factor = rowsOf(own, variables, start, end, scale, { values, rowOffsets, colIndices, entries, firsts });
      if (!factor.numbers.every(Number.isFinite)) {
        throw new ResiduaError('non-finite', `marginalise: a residual or derivative of instance ${instance} of '${name}' is not finite; it takes finite ones`);
      }
      factors.push(factor);
    }
  }
  return factors;
}

interface Linearised {
  readonly values: Float64Array;
  readonly rowOffsets: Uint32Array;
  readonly colIndices: Uint32Array;
  readonly entries: Float64Array;
  /** For each column the first one of its block. */
  readonly firsts: Uint32Array;
}

function rowsOf(blocks: readonly number[], variables: Variables, start: number, end: number, scale: number, of: Linearised): LinearRows {
  const starts = new Map<number, number>();
  let width = 0;
  for (const block of blocks) {
    starts.set(block, width);
    width += variables.at(block).tangent;
  }
  const numbers = new Float64Array((end - start) * (width + 1));
  for (let row = start; row < end; row++) {
    const to = (row - start) * (width + 1);
    for (let entry = of.rowOffsets[row] as number; entry < (of.rowOffsets[row + 1] as number); entry++) {
      const column = of.colIndices[entry] as number;
      const block = of.firsts[column] as number;
      const first = starts.get(block);
      if (first === undefined) continue;
      const { basis, tangent } = variables.at(block);
      for (let k = 0; k < tangent; k++) numbers[to + first + k]! += scale * (of.entries[entry] as number) * (basis[(column - block) * tangent + k] as number);
    }
    numbers[to + width] = scale * (of.values[row] as number);
  }
  return { blocks, rows: end - start, numbers };
}

/** The prior of rows, in the blocks' own numbers. */
function priorOf({ blocks, rows, numbers }: LinearRows, variables: Variables): Prior {
  const own = blocks.map((block) => variables.at(block)).sort((a, b) => a.place.first - b.place.first);
  const starts = new Map<Variable, number>();
  let tangents = 0;
  for (const block of blocks) {
    starts.set(variables.at(block), tangents);
    tangents += variables.at(block).tangent;
  }
  const width = own.reduce((sum, { point }) => sum + point.length, 0);
  const matrix = new Float64Array(rows * width);
  const residuals = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    const from = row * (tangents + 1);
    let to = row * width;
    for (const variable of own) {
      const first = from + (starts.get(variable) as number);
      const { basis, tangent, point } = variable;
      for (let k = 0; k < point.length; k++, to++) {
        for (let j = 0; j < tangent; j++) matrix[to]! += (numbers[first + j] as number) * (basis[k * tangent + j] as number);
      }
    }
    residuals[row] = numbers[from + tangents] as number;
  }
  return new Prior(own, matrix, residuals);
}

/** The inputs of a prior's residual function: its row, the point, the residual there, and the blocks by their positions. */
type PriorInputs = Record<string, unknown> & { readonly row: Iterable<Value>; readonly point: Iterable<Value>; readonly residual: Value };

/** The implementation of MarginalPrior. */
class Prior implements MarginalPrior {
  readonly blocks: readonly ParameterBlock[];

  constructor(
    private readonly variables: readonly Variable[],
    private readonly matrix: Float64Array,
    private readonly residuals: Float64Array,
  ) {
    this.blocks = Object.freeze(variables.map(({ place: { array, index } }) => Object.freeze({ array: array as ParameterBlock['array'], index })));
  }

  get numResiduals(): number {
    return this.residuals.length;
  }

  addTo(problem: Problem, name: string, blocks: readonly ParameterBlock[] = this.blocks): ResidualBlock {
    if (!(problem instanceof Problem)) throw invalidArgument('addTo: problem', describe(problem), 'a Problem');
    const { variables, numResiduals } = this;
    if (!Array.isArray(blocks) || blocks.length !== variables.length) {
      const got = Array.isArray(blocks) ? `${blocks.length} blocks` : describe(blocks);
      throw invalidArgument('addTo: blocks', got, `${variables.length}, one for each of the prior's own`);
    }
    const inputs: Record<string, Input<unknown>> = {};
    const seen = new Set<number>();
    Array.from(blocks as readonly unknown[], (block, position) => {
      const argument = `addTo: blocks[${position}]`;
      const { array, index, first } = checkBlock(argument, problem.arrays, block);
      const of = (variables[position] as Variable).place.array;
      if (array.dim !== of.dim || array.manifold !== of.manifold) {
        throw invalidArgument(`${argument}.array`, `"${array.name}", of ${array.dim} numbers, '${array.manifold}'`, `one of ${of.dim} numbers, '${of.manifold}'`);
      }
      if (seen.size === seen.add(first).size) throw invalidArgument(argument, `${array.name}[${index}] a second time`, 'each block once');
      inputs[`block${position}`] = array.shared(index);
    });
    const point = variables.flatMap((variable) => [...variable.point]);
    const repeated = new Float64Array(numResiduals * point.length);
    for (let row = 0; row < numResiduals; row++) repeated.set(point, row * point.length);
    inputs.row = problem.data(this.matrix, point.length) as Input<unknown>;
    inputs.point = problem.data(repeated, point.length) as Input<unknown>;
    inputs.residual = problem.data(this.residuals) as Input<unknown>;
    return problem.residuals(name, { inputs, residual: (given) => this.residual(given as PriorInputs) });
  }

  /** One residual: its row times what the blocks have moved, and the residual at the point. */
  private residual(given: PriorInputs): Value {
    const [row, point] = [[...given.row], [...given.point]];
    const terms: Value[] = [given.residual];
    let next = 0;
    this.variables.forEach(({ parts, point: numbers }, position) => {
      const block = [...(given[`block${position}`] as Iterable<Value>)];
      for (const { manifold, first, dim } of parts) {
        const places = Array.from({ length: dim }, (_, k) => first + k);
        const [x, at, factors] = [places.map((k) => block[k] as Value), places.map((k) => point[next + k] as Value), places.map((k) => row[next + k] as Value)];
        terms.push(moved(manifold, x, at, factors));
      }
      next += numbers.length;
    });
    return V.sum(terms);
  }

  toJSON(): { blocks: string[]; residuals: number } {
    return { blocks: this.variables.map(nameOf), residuals: this.numResiduals };
  }
}

makeInspectable(Prior, 'MarginalPrior');

/** Factors times what numbers have moved from a point of a manifold. */
function moved(manifold: string, x: readonly Value[], at: readonly Value[], factors: readonly Value[]): Value {
  const product = (a: readonly Value[], b: readonly Value[]): Value => V.sum(a.map((value, k) => value.mul(b[k] as Value)));
  // A factor's product with the point is 0. Of q and −q the nearer one counts.
  if (manifold === 'unit-quaternion') return V.ifThenElse(product(x, at).lt(0), product(x, factors).neg(), product(x, factors));
  const differences = x.map((value, k) => value.sub(at[k] as Value));
  return product(manifold === 'angle' ? differences.map((difference) => new Rotation2(difference).log()) : differences, factors);
}
