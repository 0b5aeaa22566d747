/** Incremental smoothing: least squares of a problem that grows. */

import { makeInspectable } from '../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkFlag, checkOptions, type OptionNames } from '../arguments/options.js';
import { checkFinite, checkWholeNumber, copyIndices, joined, type Indices } from '../arguments/numeric-arguments.js';
import { makeDisposable } from '../compile/dispose.js';
import { here, type Instance } from '../module/loading.js';
import type { RawModule, RawSmoother } from '../module/raw.js';
import type { ParameterArray } from '../problem/parameter-array.js';
import { Problem } from '../problem/problem.js';
import type { ResidualBlock } from '../problem/residual-block.js';
import { SquareMatrix, type Covariance, type ParameterBlock } from './covariance.js';
import { GrowingProblem } from './incremental-problem.js';

/** Options of incremental(). */
export interface IncrementalOptions {
  /**
   * A block is linearised anew when one of its coordinates (on a manifold a tangent coordinate) has moved further than this from the point at which its residuals are
   * linearised; 0.1 by default, at least 0. With 0 every block that has moved is, as in a Gauss-Newton step of all.
   */
  relinearisationThreshold?: number;
  /** Blocks are linearised anew at every so many updates; 1 by default. */
  relinearisationInterval?: number;
}

const OPTIONS: OptionNames<IncrementalOptions> = { relinearisationThreshold: true, relinearisationInterval: true };

/** What an update did. */
export interface IncrementalUpdate {
  /** Number of blocks that were linearised at a new point. */
  readonly relinearised: number;
  /** Number of blocks that were eliminated anew. */
  readonly eliminated: number;
  /** Number of blocks whose estimate was computed anew. */
  readonly solved: number;
}

/** Options of marginalCovariance(). */
export interface MarginalCovarianceOptions {
  /** Whether one covariance of all blocks is returned, with those between them; false by default: one of each block. */
  joint?: boolean;
}

/** The estimates of a problem that grows. Made by `incremental`. */
export class IncrementalSmoother {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  private constructor(
    private readonly growing: GrowingProblem,
    private readonly instance: Instance,
    private readonly raw: RawSmoother,
  ) {}

  private isDisposed = false;

  /** @internal Use incremental(). */
  static async create(problem: Problem, { relinearisationThreshold = 0.1, relinearisationInterval = 1 }: IncrementalOptions): Promise<IncrementalSmoother> {
    const instance = await here.ready();
    const growing = new GrowingProblem(problem);
    const raw = await instance.wait((module) => {
      const { RawSmoother } = module as Required<RawModule>;
      return RawSmoother.create(growing.build(module), relinearisationThreshold, relinearisationInterval);
    });
    return new IncrementalSmoother(growing, instance, raw);
  }

  /**
   * Takes in what was appended to the problem's arrays and blocks, removed, and changed of data, weights, losses, enabled flags and grids, and computes the estimates
   * anew where they change. An update makes one Gauss-Newton step, without a search for a shorter one; where estimates still move more than they may, further updates
   * make further ones. The work is done at the call, before the promise settles.
   *
   * Rejects with 'invalid-argument' where the residuals do not determine a block, with its name, for a block that cannot be brought onto its manifold, for arrays
   * and residual blocks that were added to the problem after `incremental`, and where setConstant was called for blocks that were taken in; with 'non-finite' for a
   * residual or derivative that is not finite, with its instance, and for a block whose step is not; for a residual of a block that was marginalised, with its instance
   * and 'invalid-argument'; with 'disposed' after dispose(). Estimates then stay as they were. What was appended stays, too, and the next update tries again: after
   * more residuals, say, or without instances that `remove` takes away.
   */
  async update(): Promise<IncrementalUpdate> {
    return this.call((raw) => {
      this.growing.take('update', raw);
      this.growing.checkResiduals('update');
      return Object.freeze(raw.update());
    });
  }

  /**
   * Returns the estimates: all numbers of an array (count × dim), or of the blocks at `indices`, or without an array of all arrays in order of creation. Blocks that no
   * update has taken in have the numbers with which they were appended. Throws 'invalid-argument' for another problem's array and for indices out of range, and
   * 'disposed' after dispose().
   */
  estimate(array?: ParameterArray, indices?: Indices): Float64Array {
    return this.call((raw) => {
      if (array !== undefined) return this.estimatesOf(raw, array, indices);
      if (indices !== undefined) throw invalidArgument('estimate: indices', 'indices without an array', 'them with the array whose blocks they are');
      return joined(
        Float64Array,
        this.growing.allArrays().map((taken) => this.estimatesOf(raw, taken.array)),
      );
    });
  }

  private estimatesOf(raw: RawSmoother, array: unknown, indices?: Indices): Float64Array {
    const { ids, array: known } = this.growing.arrayOf('estimate: array', array);
    const rest = known.numbersFrom(ids.length);
    if (indices === undefined) return joined(Float64Array, [raw.estimate(ids), rest]);
    const blocks = copyIndices('estimate: indices', indices, known.count, `blocks of "${known.name}"`);
    const { dim } = known;
    const taken = raw.estimate(blocks.filter((block) => block < ids.length).map((block) => ids[block] as number));
    const estimates = new Float64Array(blocks.length * dim);
    let next = 0;
    blocks.forEach((block, k) => {
      const from = block < ids.length ? taken.subarray(next, (next += dim)) : rest.subarray((block - ids.length) * dim, (block - ids.length + 1) * dim);
      estimates.set(from, k * dim);
    });
    return estimates;
  }

  /**
   * Computes the covariance (JᵀJ)⁻¹ of blocks, as of the last update and where residuals were linearised for it: that of each block, or with `joint` one of all. Residuals
   * are assumed to have variance 1, as with `absoluteSigma` of `covariance`. A block on a manifold has the covariance of its tangent space in its own numbers, and
   * constant numbers have zeros.
   *
   * Rejects with 'invalid-argument' for another problem's array, indices out of range and a block that no update has taken in, with 'limit-exceeded' for blocks of
   * more than 4,000 numbers in total with `joint`, with 'non-finite' where squares are beyond the range of double precision, and with 'disposed' after dispose().
   */
  marginalCovariance(blocks: readonly ParameterBlock[], options: MarginalCovarianceOptions & { joint: true }): Promise<Covariance>;
  marginalCovariance(blocks: readonly ParameterBlock[], options?: MarginalCovarianceOptions & { joint?: false }): Promise<Covariance[]>;
  marginalCovariance(blocks: readonly ParameterBlock[], options?: MarginalCovarianceOptions): Promise<Covariance | Covariance[]>;
  async marginalCovariance(blocks: readonly ParameterBlock[], options: MarginalCovarianceOptions = {}): Promise<Covariance | Covariance[]> {
    checkOptions('marginalCovariance: options', options, { joint: true });
    checkFlag('marginalCovariance: joint', options.joint);
    if (!Array.isArray(blocks) || blocks.length === 0) throw invalidArgument('marginalCovariance: blocks', describe(blocks), 'an array of at least one block, { array, index }');
    return this.call((raw) => {
      const places = Array.from(blocks as readonly unknown[], (block, position) => this.placeOf(`marginalCovariance: blocks[${position}]`, block));
      const of = (some: typeof places) => new SquareMatrix(raw.covariance(Uint32Array.from(some, ({ id }) => id)), some.map(({ dim }) => dim));
      if (options.joint !== true) return places.map((place) => of([place]));
      const size = places.reduce((sum, { dim }) => sum + dim, 0);
      if (size > MOST_NUMBERS) throw new ResiduaError('limit-exceeded', `marginalCovariance: blocks of ${size} numbers; a joint covariance has at most ${MOST_NUMBERS}`);
      return of(places);
    });
  }

  private placeOf(argument: string, block: unknown): { array: ParameterArray; index: number; id: number; dim: number } {
    if (typeof block !== 'object' || block === null) throw invalidArgument(argument, describe(block), '{ array, index }');
    const { array, index } = block as Partial<ParameterBlock>;
    const { ids, array: known } = this.growing.arrayOf(`${argument}.array`, array);
    checkWholeNumber(`${argument}.index`, index, 0, known.count - 1);
    if (index >= ids.length) throw invalidArgument(`${argument}.index`, `${known.name}[${index}], which no update has taken in`, 'blocks of the last update');
    const id = ids[index] as number;
    this.growing.checkPresent(argument, id);
    return { array: known, index, id, dim: known.dim };
  }

  /**
   * Takes instances of a residual block away, given by their numbers, from the next update on. The problem keeps them. Throws 'invalid-argument' for another problem's
   * block, for numbers out of range and for an instance that was removed before; then none is removed. A block that they leave undetermined makes the next update
   * reject, with its name.
   */
  remove(block: ResidualBlock, instances: Indices): void {
    this.call((raw) => {
      const { block: known, place } = this.growing.placesOf('remove: block', block);
      const numbers = copyIndices('remove: instances', instances, known.count, `instances of "${known.name}"`);
      this.growing.take('remove', raw);
      const places = Array.from(numbers, place);
      raw.remove(
        Uint32Array.from(places, ({ template }) => template),
        Uint32Array.from(places, ({ instance }) => instance),
      );
      this.growing.noteRemoval(known, numbers);
    });
  }

  /**
   * Takes blocks away for good, with the instances of all residual blocks that they are in, and keeps what these say of the other blocks: a dense prior, linear at
   * the points of the last linearisation. A window over the latest blocks (fixed-lag smoothing) so has a bounded tree. Takes in first what was appended and changed
   * since the last update, as `update` does. Estimates and covariances of the other blocks stay, and those that the prior has are not linearised anew from now on.
   * The problem keeps the blocks, `estimate` gives their last estimates, and residuals of them are refused by the next update.
   *
   * Rejects with 'invalid-argument' for another problem's array, indices out of range, blocks that are constant or were marginalised before, and all blocks that
   * are left; as `update` does; with 'disposed' after dispose().
   */
  async marginalise(blocks: readonly ParameterBlock[]): Promise<void> {
    if (!Array.isArray(blocks) || blocks.length === 0) throw invalidArgument('marginalise: blocks', describe(blocks), 'an array of at least one block, { array, index }');
    this.call((raw) => {
      this.growing.take('marginalise', raw);
      const places = Array.from(blocks as readonly unknown[], (block, position) => this.placeOf(`marginalise: blocks[${position}]`, block));
      this.growing.checkMarginals('marginalise: blocks', places);
      this.growing.checkResiduals('marginalise');
      const ids = places.map(({ id }) => id);
      raw.marginalise(Uint32Array.from(ids));
      this.growing.noteMarginals(ids);
    });
  }

  /** Frees all memory. A second call does nothing. */
  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    if (this.instance.failure === null) this.instance.call(() => this.raw.free());
  }

  private call<T>(work: (raw: RawSmoother) => T): T {
    if (this.isDisposed) throw new ResiduaError('disposed', 'the IncrementalSmoother was used after dispose()');
    return this.instance.call(() => work(this.raw));
  }

  /** What JSON.stringify writes and consoles show: the number of blocks of each array. */
  toJSON(): Record<string, number> {
    return Object.fromEntries(this.growing.allArrays().map(({ array, ids }) => [array.name, ids.length]));
  }
}

/** The numbers of a joint covariance, which has as many rows and columns. */
const MOST_NUMBERS = 4000;

makeDisposable(IncrementalSmoother);
makeInspectable(IncrementalSmoother, 'IncrementalSmoother');

/**
 * Makes a smoother of a problem that grows, as the map of a vehicle does on its way: `append` of its arrays and residual blocks adds to it, and `update` takes that in,
 * without compiling and without solving all anew. It begins with the numbers of the problem's arrays, which it does not change, and takes the whole problem in at its
 * first update. It runs on the CPU, in double precision, by the method iSAM2 (Kaess et al. 2012).
 *
 * Takes problems of recorded residual functions, with robust losses, weights, manifolds and constant blocks. Rejects with 'invalid-argument' for a problem without
 * parameters, for bounds, constraints, graduated losses and plain functions, and for wrong options.
 */
export async function incremental(problem: Problem, options: IncrementalOptions = {}): Promise<IncrementalSmoother> {
  if (!(problem instanceof Problem)) throw invalidArgument('incremental: problem', describe(problem), 'a Problem');
  checkOptions('incremental: options', options, OPTIONS);
  const { relinearisationThreshold, relinearisationInterval } = options;
  if (relinearisationThreshold !== undefined) checkFinite('incremental: relinearisationThreshold', relinearisationThreshold, 0);
  if (relinearisationInterval !== undefined) checkWholeNumber('incremental: relinearisationInterval', relinearisationInterval, 1);
  return IncrementalSmoother.create(problem, options);
}
