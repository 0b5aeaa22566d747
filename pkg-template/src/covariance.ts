/** What a fit is worth: the covariance of its parameters. */

import { describe, invalidArgument } from './errors.js';
import type { GpuCompiledFunctions } from './functions.js';
import { checkOptions, checkWholeNumber } from './numeric-arguments.js';
import type { ParameterArray } from './parameter-array.js';
import { checkFunctions } from './solve-options.js';

/** One block of a parameter array. */
export interface ParameterBlock {
  /** An array of the problem that was compiled. */
  readonly array: ParameterArray;
  /** Which of its blocks. */
  readonly index: number;
}

/** Options of covariance(). */
export interface CovarianceOptions {
  /**
   * The blocks whose covariance is wanted, by default all. Where functions were compiled from params, each of them is a block of one
   * number and is named by its position among them.
   */
  blocks?: readonly (ParameterBlock | number)[];
}

/** The covariance of parameter blocks, a symmetric matrix. */
export interface Covariance {
  /** Its rows and its columns: the numbers that all the blocks have together. */
  readonly size: number;
  /** size × size numbers, row after row; block after block in the order in which they were named. */
  readonly values: Float64Array;
  /** Square roots of the diagonal: each number's standard deviation (size). */
  readonly standardDeviations: Float64Array;
  /** The part of two blocks, by their positions among those named: as many rows as block `a` has numbers, as many columns as block `b` has, row after row. */
  between(a: number, b: number): Float64Array;
}

/**
 * The covariance (JᵀJ)⁻¹ of the parameters at their current numbers, in double precision on the CPU, wherever the functions are. J has
 * losses and weights in it, as the solvers have; residuals are taken to have variance 1, and nothing is scaled by the cost: where they
 * have not, weight them, or multiply by 2 · cost / (residuals − parameters). A block on a manifold has the covariance of its tangent
 * space in its own numbers; constant numbers have zeros. Bounds play no part.
 *
 * Rejects with 'invalid-argument' where the covariance does not exist since something is free to move (the message names it, rank()
 * gives all of it) or where a block is not one of these functions; with 'limit-exceeded' for blocks of more than 4,000 numbers
 * together; with 'non-finite' where a residual or derivative is.
 */
export async function covariance(functions: GpuCompiledFunctions, options: CovarianceOptions = {}): Promise<Covariance> {
  checkFunctions('covariance', functions);
  checkOptions('covariance: options', options);
  const { blocks } = options;
  if (blocks !== undefined && !Array.isArray(blocks)) throw invalidArgument('covariance: blocks', describe(blocks), 'an array of blocks');
  const places = blocks === undefined ? allBlocks(functions) : blocks.map((block, position) => placeOf(functions, block, position));
  const firsts = Uint32Array.from(places, ({ first }) => first);
  const values = await functions.callWith((handle) => handle.covariance(blocks === undefined ? undefined : firsts));
  return new SquareMatrix(values, places.map(({ dim }) => dim));
}

interface Place {
  readonly first: number;
  readonly dim: number;
}

function allBlocks(functions: GpuCompiledFunctions): Place[] {
  const { parameterArrays, numParams } = functions;
  if (parameterArrays === null) return Array.from({ length: numParams }, (_, first) => ({ first, dim: 1 }));
  return parameterArrays.flatMap(({ offset, dim, count }) => Array.from({ length: count }, (_, block) => ({ first: offset + block * dim, dim })));
}

function placeOf({ parameterArrays, numParams }: GpuCompiledFunctions, block: unknown, position: number): Place {
  const argument = `covariance: blocks[${position}]`;
  if (parameterArrays === null) {
    checkWholeNumber(argument, block, 0, numParams - 1);
    return { first: block, dim: 1 };
  }
  if (typeof block !== 'object' || block === null) throw invalidArgument(argument, describe(block), '{ array, index }');
  const { array, index } = block as Partial<ParameterBlock>;
  const known = parameterArrays.find((candidate) => candidate === array);
  if (known === undefined) throw invalidArgument(`${argument}.array`, describe(array), 'a parameter array of the problem that was compiled');
  checkWholeNumber(`${argument}.index`, index, 0, known.count - 1);
  return { first: known.offset + index * known.dim, dim: known.dim };
}

class SquareMatrix implements Covariance {
  readonly size: number;
  private readonly starts: readonly number[];

  constructor(
    readonly values: Float64Array,
    private readonly dims: readonly number[],
  ) {
    let size = 0;
    this.starts = dims.map((dim) => (size += dim) - dim);
    this.size = size;
  }

  get standardDeviations(): Float64Array {
    // Rounding may leave a variance of 0 a little below it.
    return Float64Array.from({ length: this.size }, (_, k) => Math.sqrt(Math.max(0, this.values[k * this.size + k] as number)));
  }

  between(a: number, b: number): Float64Array {
    checkWholeNumber('between: a', a, 0, this.dims.length - 1);
    checkWholeNumber('between: b', b, 0, this.dims.length - 1);
    const [rows, cols] = [this.dims[a] as number, this.dims[b] as number];
    const part = new Float64Array(rows * cols);
    for (let row = 0; row < rows; row++) {
      const from = ((this.starts[a] as number) + row) * this.size + (this.starts[b] as number);
      part.set(this.values.subarray(from, from + cols), row * cols);
    }
    return part;
  }
}
