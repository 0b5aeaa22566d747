/** The covariance of the parameters of a fit. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkFlag, checkOptions, type OptionNames } from '../arguments/options.js';
import { checkWholeNumber } from '../arguments/numeric-arguments.js';
import type { GpuCompiledFunctions } from '../compile/functions.js';
import type { RawFunctions } from '../module/raw.js';
import type { ParameterArray, ParameterBlocks } from '../problem/parameter-array.js';
import { isAnyActive, tangentCovariance } from './constrained/tangent-covariance.js';
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
  /**
   * What is known of the residuals. false (default): they have one unknown variance, which is estimated as 2 · cost / (m − n). true: they have
   * variance 1, since each was divided by its standard deviation. The name is that of `absolute_sigma` of SciPy's `curve_fit`. Without effect
   * on the sandwich estimate.
   */
  absoluteSigma?: boolean;
  /**
   * Whether to take the sandwich estimate. By default it is taken where a residual block that takes part has a robust loss. With the squared
   * loss it allows that the variances of residuals differ.
   */
  robust?: boolean;
}

const COVARIANCE_OPTIONS: OptionNames<CovarianceOptions> = { blocks: true, absoluteSigma: true, robust: true };

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
 * Computes the covariance of the parameters at their current numbers, in double precision on the CPU for functions of either engine. Blocks
 * on manifolds count as normalised. With m samples and n degrees of freedom it is
 *
 * - 2 · cost / (m − n) · (JᵀJ)⁻¹ by default. J includes weights and losses, as in the solvers;
 * - (JᵀJ)⁻¹ with `absoluteSigma: true`, as in Ceres;
 * - m / (m − n) · A⁻¹BA⁻¹ where a loss is robust, or with `robust: true`: the sandwich estimate of an M-estimator (Huber 1981). For the
 *   residuals r and the Jacobian J of an instance and s = ‖r‖², A = Σ weight · (ρ′(s) JᵀJ + 2ρ″(s) Jᵀr rᵀJ) and
 *   B = Σ (weight · ρ′(s))² Jᵀr rᵀJ. Instances are assumed to be independent; the residuals of one need not be.
 *
 * Samples are the residuals of enabled blocks, but for those whose block or instance has the weight 0, whose row of `sqrtInformation` is 0, or which are
 * a product with a datum of 0, as of a mask.
 *
 * A block on a manifold has the covariance of its tangent space in its own numbers. Constant numbers have zeros, and so have those at bounds that hold
 * them there. Under equalities and active inequalities it is that of the directions that keep them, Z(ZᵀHZ)⁻¹Zᵀ for H = JᵀJ with a basis Z of them, to some
 * nine digits, for more than 400 numbers seven, and n counts these directions; residuals then need to determine only them. Constraints count as exact, as after a solve.
 *
 * Rejects with 'invalid-argument' where a direction is undetermined, so that the covariance does not exist (the message names one; rank()
 * returns all), where a variance is to be estimated and m is not larger than n, where A is not positive definite, and for a block that is
 * not one of these functions; with 'limit-exceeded' for blocks of more than 4,000 numbers in total; with 'non-finite' where a residual or
 * derivative is not finite, or the squares of them are beyond the range of double precision.
 */
export async function covariance(functions: GpuCompiledFunctions, options: CovarianceOptions = {}): Promise<Covariance> {
  checkFunctions('covariance', functions);
  functions.refuseGraduated('covariance');
  checkOptions('covariance: options', options, COVARIANCE_OPTIONS);
  const { blocks, absoluteSigma = false, robust } = options;
  checkFlag('covariance: absoluteSigma', absoluteSigma);
  checkFlag('covariance: robust', robust);
  if (blocks !== undefined && !Array.isArray(blocks)) throw invalidArgument('covariance: blocks', describe(blocks), 'an array of blocks');
  const places = blocks === undefined ? allBlocks(functions) : Array.from(blocks, (block, position) => placeOf(functions, block, position));
  const firsts = Uint32Array.from(places, ({ first }) => first);
  const request = { firsts: blocks === undefined ? undefined : firsts, absoluteSigma, robust };
  const direct = (handle: RawFunctions) => handle.covariance(request.firsts, absoluteSigma, robust);
  const isConstrained = functions.constraints !== null || functions.hasBounds;
  const values = isConstrained
    ? await functions.exclusively(async (session) => ((await isAnyActive(session)) ? tangentCovariance(session, request) : session.call(direct)))
    : await functions.callWith(direct);
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

function placeOf(functions: GpuCompiledFunctions, block: unknown, position: number): Place {
  const argument = `covariance: blocks[${position}]`;
  if (functions.parameterArrays !== null) return checkBlock(argument, functions.parameterArrays, block);
  checkWholeNumber(argument, block, 0, functions.numParams - 1);
  return { first: block, dim: 1 };
}

/** Returns a block of a problem's arrays and where it is among their numbers. Throws 'invalid-argument' for anything else. */
export function checkBlock(argument: string, arrays: readonly ParameterBlocks[], block: unknown): Place & { array: ParameterBlocks; index: number } {
  if (typeof block !== 'object' || block === null) throw invalidArgument(argument, describe(block), '{ array, index }');
  const { array, index } = block as Partial<ParameterBlock>;
  const known = arrays.find((candidate) => candidate === (array as unknown));
  if (known === undefined) throw invalidArgument(`${argument}.array`, describe(array), 'a parameter array of the problem');
  checkWholeNumber(`${argument}.index`, index, 0, known.count - 1);
  return { array: known, index, first: known.offset + index * known.dim, dim: known.dim };
}

/** The covariance of blocks with so many numbers each. */
export class SquareMatrix implements Covariance {
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
