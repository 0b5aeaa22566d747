/** The covariance of the parameters of a fit. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkOptions, type OptionNames } from '../arguments/options.js';
import { checkWholeNumber } from '../arguments/numeric-arguments.js';
import type { GpuCompiledFunctions } from '../compile/functions.js';
import type { ParameterArray } from '../problem/parameter-array.js';
import { checkFunctions } from './solve-options.js';

/** One block of a parameter array. */
export interface ParameterBlock {
  /** An array of the compiled problem. */
  readonly array: ParameterArray;
  /** Index of the block. */
  readonly index: number;
}

/** Options of covariance(). */
export interface CovarianceOptions {
  /**
   * The blocks of the covariance, by default all. For functions that were compiled from params, each param is a block of one number and is
   * given by its position.
   */
  blocks?: readonly (ParameterBlock | number)[];
}

const COVARIANCE_OPTIONS: OptionNames<CovarianceOptions> = { blocks: true };

/** The covariance of parameter blocks, a symmetric matrix. */
export interface Covariance {
  /** The number of rows and of columns: all numbers of the blocks. */
  readonly size: number;
  /** size × size numbers, row after row; blocks in the order in which they were given. */
  readonly values: Float64Array;
  /** Square roots of the diagonal: the standard deviation of each number (size). */
  readonly standardDeviations: Float64Array;
  /**
   * Returns the part of two blocks, given by their positions in `blocks`: as many rows as block `a` has numbers, as many columns as block
   * `b` has, row after row. Throws 'invalid-argument' for a position out of range.
   */
  between(a: number, b: number): Float64Array;
}

/**
 * Computes the covariance (JᵀJ)⁻¹ of the parameters at their current numbers, in double precision on the CPU for functions of either
 * engine. J includes losses and weights, as in the solvers. Residuals are assumed to have variance 1, and nothing is scaled by the cost:
 * otherwise weight them, or multiply the result by 2 · cost / (residuals − parameters). A block on a manifold has the covariance of its
 * tangent space in its own numbers. Constant numbers have zeros. Bounds have no effect.
 *
 * Rejects with 'invalid-argument' where a direction is undetermined, so that the covariance does not exist (the message names one; rank()
 * returns all), and for a block that is not one of these functions; with 'limit-exceeded' for blocks of more than 4,000 numbers in total;
 * with 'non-finite' where a residual or derivative is not finite.
 */
export async function covariance(functions: GpuCompiledFunctions, options: CovarianceOptions = {}): Promise<Covariance> {
  checkFunctions('covariance', functions);
  checkOptions('covariance: options', options, COVARIANCE_OPTIONS);
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
    // Rounding may give a variance of 0 a small negative value.
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
