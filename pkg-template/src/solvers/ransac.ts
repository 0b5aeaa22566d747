/**
 * Random sample consensus (M. A. Fischler, R. C. Bolles, "Random Sample Consensus", 1981): models of small random samples, of which the one with the most
 * consistent measurements is refined on these.
 */

import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkFinite, checkName, checkObject, checkWholeNumber, copyNumbersOfLength, type Numbers } from '../arguments/numeric-arguments.js';
import { checkOptions, pickOptions, type OptionNames } from '../arguments/options.js';
import type { GpuContext } from '../compile/context.js';
import { checkEngineOptions } from '../compile/engine-choice.js';
import { GpuCompiledFunctions } from '../compile/functions.js';
import { checkSignal } from '../module/cancellation.js';
import { here, type Host } from '../module/loading.js';
import { DataInput, SharedInput } from '../problem/inputs.js';
import { Problem } from '../problem/problem.js';
import type { ResidualInstances } from '../problem/residual-block.js';
import { randomNumbers } from './latin-hypercube.js';
import { find } from './problem-data.js';
import { solveManyOn } from './solve-many.js';

/** Options of ransac(). */
export interface RansacOptions {
  /** Number of measurements in a sample: the fewest that determine the parameters. */
  sampleSize: number;
  /** Norm of the residuals of a measurement up to which it is an inlier, in the residuals' unit. */
  threshold: number;
  /** Name of the residual block whose instances are the measurements; needed where the template has several. */
  block?: string;
  /**
   * Start of the solve for a sample, from the indices of its measurements, by the name of a parameter array, or null where the sample is degenerate: for
   * example `solvePnp` of the sample. By default every solve starts from the template's values.
   */
  start?: (sample: Uint32Array) => Readonly<Record<string, Numbers>> | null;
  /** The probability of a sample without outliers at which the search ends, below 1; 0.99 by default. At least one batch of samples is drawn. */
  confidence?: number;
  /** Most samples; 2000 by default. */
  maxSamples?: number;
  /** Most iterations of the solve for a sample; 30 by default. */
  maxIterations?: number;
  /** Seed of the random numbers, a whole number from 0 to 2³² − 1; 0 by default. The same seed gives the same samples everywhere. */
  seed?: number;
  /** The engine, as in `solveMany`. */
  backend?: 'auto' | 'gpu' | 'cpu';
  /** The arithmetic on the GPU, as in `solveMany`. */
  precision?: 'f32' | 'f32x2';
  /** The device; by default the shared one. */
  context?: GpuContext;
  /** Ends the search. What was found so far is refined; without it the call rejects with 'aborted'. */
  signal?: AbortSignal;
}

const ENGINE: OptionNames<Pick<RansacOptions, 'backend' | 'precision' | 'context'>> = { backend: true, precision: true, context: true };
const OPTIONS: OptionNames<RansacOptions> = {
  ...ENGINE, sampleSize: true, threshold: true, block: true, start: true, confidence: true, maxSamples: true, maxIterations: true, seed: true, signal: true,
};

/** The best parameters, and the measurements that agree with them. */
export interface RansacResult {
  /** All parameters, array after array in order of creation, refined on the inliers. */
  x: Float64Array;
  /** Indices of the measurements whose residuals have a norm of at most `threshold`, ascending. */
  inliers: Uint32Array;
  /** Σ min(‖r‖², threshold²) over the measurements. */
  score: number;
  /** Number of samples that were drawn, degenerate ones included. */
  samples: number;
  /**
   * The probability of having drawn a sample of inliers alone, if their share is that of `inliers`. It is below the option where `maxSamples` has ended the
   * search; 0 where no measurement but those of the sample agrees.
   */
  confidence: number;
}

/** Samples that are solved in one call, and the most of them: numbers of a call grow while few inliers are found. */
const FIRST_BATCH = 32;
const LARGEST_BATCH = 512;
/** Refinements, which end where the inliers stay the same. */
const REFINEMENTS = 10;

/**
 * Finds parameters with which most measurements agree, whatever the others are. The template is a problem with a residual block that has an instance for
 * each measurement, whose inputs are data and shared parameters. Samples of `sampleSize` measurements are drawn without bias, each gives a small problem,
 * and solveMany() solves these. The solution with the least score Σ min(‖r‖², threshold²) over all measurements (P. H. S. Torr, A. Zisserman, "MLESAC",
 * 2000) is refined on its inliers, which are then taken anew until they stay the same. The search ends once a sample without outliers has been drawn with
 * the probability `confidence`.
 *
 * Measurements of weight 0 are no candidates. Other residual blocks of the template take part in every solve, and so do losses, bounds, constants and
 * manifolds. The template's values do not change, and the caller must not change them before the end: `array.set(x.subarray(array.offset, array.offset +
 * array.values().length))` takes the solution.
 *
 * Rejects with 'invalid-argument' for options out of range, blocks with other inputs or disabled ones, and fewer measurements than a sample has; with 'non-finite' where no
 * sample has a solution with finite residuals; and as solveMany() does.
 */
export function ransac(template: Problem, options: RansacOptions): Promise<RansacResult> {
  return ransacOn(here, template, options);
}

/** ransac() on a host. */
export async function ransacOn(host: Host, template: Problem, options: RansacOptions): Promise<RansacResult> {
  const search = new Search(host, template, options);
  const functions = await GpuCompiledFunctions.on(host).compile(template, pickOptions(options, ENGINE));
  try {
    return await search.run(functions);
  } finally {
    functions.dispose();
  }
}

/** A model, with what it says of the measurements. */
interface Model {
  readonly x: Float64Array;
  readonly score: number;
  readonly inliers: Uint32Array;
}

class Search {
  private readonly block: ResidualInstances;
  private readonly candidates: Uint32Array;
  private readonly random: () => number;
  private readonly options: Required<Omit<RansacOptions, 'block' | 'start' | 'backend' | 'precision' | 'context' | 'signal'>> & RansacOptions;

  constructor(
    private readonly host: Host,
    private readonly template: Problem,
    options: RansacOptions,
  ) {
    if (!(template instanceof Problem)) throw invalidArgument('ransac: template', describe(template), 'a Problem');
    checkOptions('ransac: options', options, OPTIONS);
    checkEngineOptions(host, 'ransac', options);
    checkSignal('ransac: signal', options.signal);
    this.options = { confidence: 0.99, maxSamples: 2000, maxIterations: 30, seed: 0, ...withoutUndefined(options) };
    const { sampleSize, threshold, confidence, maxSamples, maxIterations, seed, start } = this.options;
    checkWholeNumber('ransac: sampleSize', sampleSize, 1);
    checkFinite('ransac: threshold', threshold, 0);
    checkFinite('ransac: confidence', confidence, 0);
    if (!(confidence < 1)) throw invalidArgument('ransac: confidence', String(confidence), 'a number of at least 0 and below 1');
    checkWholeNumber('ransac: maxSamples', maxSamples, 1);
    checkWholeNumber('ransac: maxIterations', maxIterations, 0);
    checkWholeNumber('ransac: seed', seed, 0);
    if (start !== undefined && typeof start !== 'function') throw invalidArgument('ransac: start', describe(start), 'a function');
    this.block = blockOf(template, options.block);
    const weights = [...this.block.data.values()].find(({ isWeight }) => isWeight)?.values;
    this.candidates = Uint32Array.from({ length: this.block.count }, (_, k) => k).filter((k) => weights === undefined || (weights[k] as number) > 0);
    if (this.candidates.length < sampleSize) {
      throw invalidArgument('ransac: template', `${this.candidates.length} measurements`, `at least ${sampleSize}, the size of a sample`);
    }
    this.random = randomNumbers(seed);
  }

  async run(functions: GpuCompiledFunctions): Promise<RansacResult> {
    const { maxSamples, confidence, signal } = this.options;
    let best: Model | null = null;
    let [drawn, reached, batch] = [0, 0, FIRST_BATCH];
    const isAborted = (): boolean => signal?.aborted === true;
    while (drawn < maxSamples && (drawn === 0 || reached < confidence) && !isAborted()) {
      let count = Math.min(batch, maxSamples - drawn);
      batch = Math.min(2 * batch, LARGEST_BATCH);
      for (const x of await this.models(Array.from({ length: count }, () => this.sample()))) {
        // A sample whose solve was aborted, perhaps at its start, tells nothing.
        if (x === null) count--;
        const model = x === null ? null : await this.rated(functions, x);
        if (model !== null && (best === null || model.score < best.score)) best = model;
      }
      drawn += count;
      reached = best === null ? 0 : this.confidenceOf(best, drawn);
    }
    if (best === null && isAborted()) throw new ResiduaError('aborted', 'ransac: aborted before a sample was solved', { cause: signal?.reason });
    if (best === null) throw new ResiduaError('non-finite', `ransac: none of ${drawn} samples has a solution with finite residuals`);
    best = await this.refined(functions, best);
    const { x, inliers, score } = best;
    return { x, inliers, score, samples: drawn, confidence: this.confidenceOf(best, drawn) };
  }

  /** Refines a model on its inliers, until these stay the same or the score does not fall; after an abort too. */
  private async refined(functions: GpuCompiledFunctions, start: Model): Promise<Model> {
    let best = start;
    for (let round = 0; round < REFINEMENTS && best.inliers.length >= this.options.sampleSize; round++) {
      const [x] = await this.solve([best.inliers], [best.x], {});
      const next = x === undefined || x === null ? null : await this.rated(functions, x);
      if (next === null || !(next.score < best.score)) break;
      const isSame = next.inliers.length === best.inliers.length && next.inliers.every((index, k) => index === best.inliers[k]);
      best = next;
      if (isSame) break;
    }
    return best;
  }

  /** The probability that one of the samples has inliers alone. */
  private confidenceOf({ inliers }: Model, drawn: number): number {
    const { sampleSize } = this.options;
    if (inliers.length <= sampleSize && inliers.length < this.candidates.length) return 0;
    let probability = 1;
    for (let k = 0; k < sampleSize; k++) probability *= Math.max(0, inliers.length - k) / (this.candidates.length - k);
    return 1 - (1 - probability) ** drawn;
  }

  /** Different measurements, by the first steps of a Fisher-Yates shuffle. */
  private sample(): Uint32Array {
    const { candidates } = this;
    for (let k = 0; k < this.options.sampleSize; k++) {
      const other = k + Math.floor(this.random() * (candidates.length - k));
      [candidates[k], candidates[other]] = [candidates[other] as number, candidates[k] as number];
    }
    return candidates.slice(0, this.options.sampleSize);
  }

  /** The solutions of samples that are not degenerate; null where the solve was aborted. */
  private async models(samples: readonly Uint32Array[]): Promise<(Float64Array | null)[]> {
    const { start, maxIterations, signal } = this.options;
    const limits = { maxIterations, ...(signal === undefined ? {} : { signal }) };
    const own = this.values();
    const starts = samples.map((sample) => (start === undefined ? own : this.startOf(own, start(sample.slice()))));
    const solved = samples.filter((_, k) => starts[k] !== null);
    return solved.length === 0 ? [] : this.solve(solved, starts.filter((x) => x !== null), limits);
  }

  /** The template's values with those of a start. */
  private startOf(own: Float64Array, given: unknown): Float64Array | null {
    if (given === null) return null;
    checkObject('ransac: result of start', given);
    const x = own.slice();
    for (const [name, values] of Object.entries(given)) {
      const argument = `ransac: result of start.${name}`;
      const { offset, count, dim } = find(argument, 'parameter array', this.template.arrays, name);
      x.set(copyNumbersOfLength(argument, values, count * dim, `as many as "${name}" has`), offset);
    }
    return x;
  }

  private values(): Float64Array {
    return Float64Array.from(this.template.arrays.flatMap((array) => [...array.values()]));
  }

  /** Solves the template with parts of its measurements from given starts. Null where a solve was aborted. */
  private async solve(
    parts: readonly Uint32Array[],
    starts: readonly Float64Array[],
    limits: Pick<RansacOptions, 'maxIterations' | 'signal'>,
  ): Promise<(Float64Array | null)[]> {
    const data = Object.fromEntries([...this.block.data].map(([key, { input, values }]) => {
      const { dim } = input;
      return [key, parts.map((part) => {
        const list = new Float64Array(part.length * dim);
        part.forEach((index, k) => list.set(values.subarray(index * dim, (index + 1) * dim), k * dim));
        return list;
      })];
    }));
    const parameters = Object.fromEntries(this.template.arrays.map(({ name, offset, count, dim }) => {
      const list = new Float64Array(starts.length * count * dim);
      starts.forEach((x, k) => list.set(x.subarray(offset, offset + count * dim), k * count * dim));
      return [name, list];
    }));
    const options = { ...pickOptions(this.options, ENGINE), ...limits };
    const { x, termination } = await solveManyOn(this.host, this.template, { count: parts.length, parameters, data: { [this.block.name]: data } }, options);
    const size = x.length / parts.length;
    return parts.map((_, k) => (termination[k] === 'aborted' ? null : x.slice(k * size, (k + 1) * size)));
  }

  /** A model with its score and inliers; null where it is not finite. */
  private async rated(functions: GpuCompiledFunctions, x: Float64Array): Promise<Model | null> {
    if (!x.every(Number.isFinite)) return null;
    const { block, options } = this;
    const residuals = await functions.evaluate(x);
    const outputs = block.numResiduals / block.count;
    const most = options.threshold ** 2;
    const inliers: number[] = [];
    let [score, isFinite] = [0, false];
    for (const index of this.candidates) {
      let square = 0;
      for (let k = 0; k < outputs; k++) square += (residuals[block.offset + index * outputs + k] as number) ** 2;
      if (square <= most) inliers.push(index);
      if (Number.isFinite(square)) isFinite = true;
      // What is not a number does not agree.
      score += square <= most ? square : most;
    }
    return isFinite ? { x, score, inliers: Uint32Array.from(inliers).sort() } : null;
  }
}

function withoutUndefined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** The block of the measurements. Throws 'invalid-argument' for one with inputs of which instances cannot be taken. */
function blockOf(template: Problem, name: string | undefined): ResidualInstances {
  if (name !== undefined) checkName('ransac: block', name);
  if (name === undefined && template.blocks.length !== 1) {
    throw invalidArgument('ransac: block', 'none', `the name of one of the template's ${template.blocks.length} residual blocks`);
  }
  const block = name === undefined ? (template.blocks[0] as ResidualInstances) : find('ransac: block', 'residual block', template.blocks, name);
  const { enabled, weight } = block;
  if (!enabled || weight === 0) {
    throw invalidArgument('ransac: block', `"${block.name}", which ${enabled ? 'has the weight 0' : 'is disabled'}`, 'a residual block that takes part in solves');
  }
  for (const [key, input] of block.inputs) {
    if (input instanceof DataInput || input instanceof SharedInput) continue;
    throw invalidArgument('ransac: template', `the input "${key}" of the block "${block.name}"`, 'blocks whose inputs are data and shared parameters');
  }
  return block;
}
