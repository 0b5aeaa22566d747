/** Many small problems of one shape, solved at once: a curve fit for each pixel, say. */

import { checkBackend, checkSignal, chooseContext, type CompileOptions } from './compile.js';
import type { GpuContext } from './context.js';
import { describe, invalidArgument, ResiduaError } from './errors.js';
import { here, type Host, type Instance } from './loading.js';
import { checkFinite, checkOptions, checkWholeNumber, copyAnyNumbers, type Numbers } from './numeric-arguments.js';
import { Problem } from './problem.js';
import type { RawMany, RawModule } from './raw.js';
import { Stop } from './stop.js';
import { dataSources } from './recipe.js';
import type { ResidualInstances } from './residual-block.js';
import type { Termination } from './solve-options.js';
import { ProblemSubject } from './subject.js';

/** In what the problems differ. What is not named here is the template's, for all of them. */
export interface ManyBatch {
  /** How many problems there are. */
  count: number;
  /** Starts by the name of a parameter array: problem after problem, each as the array's values (count × their number). */
  parameters?: Readonly<Record<string, Numbers>>;
  /**
   * Data by the name of a residual block and of its input: problem after problem, each with the numbers of the input in the order
   * in which it was made (count × their number).
   */
  data?: Readonly<Record<string, Readonly<Record<string, Numbers>>>>;
}

/** How to solve many problems. The stopping tests are those of `levenbergMarquardt`, for each problem by itself; 0 switches one off. */
export interface ManyOptions {
  /** 'auto' (default) takes the GPU when there is one, the work is large enough and a problem is small enough, else the CPU. */
  backend?: 'auto' | 'gpu' | 'cpu';
  /** The device; by default the shared one. */
  context?: GpuContext;
  /** Iterations of a problem, rejected steps included; 100 by default. */
  maxIterations?: number;
  /** Relative change of the cost; 1e-6 by default. */
  costTolerance?: number;
  /** Largest entry of the gradient; 1e-6 by default. */
  gradientTolerance?: number;
  /** Relative length of a step; by default 1e-8 on the CPU, 1e-6 on the GPU. */
  parameterTolerance?: number;
  /** λ of λ·diag(JᵀJ), the diagonal clamped to [1e-6, 1e32]; 1e-3 by default. */
  initialDamping?: number;
  /** Called now and then with the number of problems that are done. */
  onProgress?: (done: number, total: number) => void;
  /** Stops; problems that were not finished end with 'aborted', at their best point so far. */
  signal?: AbortSignal;
}

/** What came of the problems, in their order. */
export interface ManyResult {
  /** All parameters: problem after problem, each array after array (count × numParameters). The template's stay as they are. */
  x: Float64Array;
  /** ½ Σ weight·ρ(‖r‖²) of each; NaN where the start is not finite, or was not reached. */
  cost: Float64Array;
  /** Iterations of each. */
  iterations: Uint32Array;
  /** Why each ended. A start that is not finite ends as 'non-finite', and is no concern of the others. */
  termination: Termination[];
  /** How many converged. */
  converged: number;
  /** Where they were solved. */
  backend: 'gpu' | 'cpu';
  /** Why 'auto' took the CPU; else null. */
  fallbackReason: string | null;
  /** Milliseconds. */
  computationTime: number;
}

/** Under so many residuals in all the CPU is the faster one: it takes some 0.4 µs for each, and a round trip to the GPU with its kernel some milliseconds. */
const FEWEST_RESIDUALS = 20_000;

/**
 * Solves `batch.count` independent problems of the shape of `template` by Levenberg-Marquardt. They share its residual blocks with
 * losses and weights, its constants, bounds and manifolds, as they are at the call; `batch` says in what they differ. On the GPU
 * each is solved by a thread of its own, all iterations inside the dispatch, in f32; on the CPU in f64.
 *
 * A problem must be small: on the GPU at most 16 numbers that move and 64 parameters. Larger ones reject with 'limit-exceeded', or
 * go to the CPU with backend 'auto'. Rejects with 'invalid-argument' for names that the template has not and for lengths that do
 * not fit, naming array or block, and with 'device-lost'.
 */
export function solveMany(template: Problem, batch: ManyBatch, options: ManyOptions = {}): Promise<ManyResult> {
  return solveManyOn(here, template, batch, options);
}

/** The same on a host. */
export async function solveManyOn(host: Host, template: Problem, batch: ManyBatch, options: ManyOptions): Promise<ManyResult> {
  const job = new Job(host, template, batch, options);
  const instance = await host.ready();
  const { context, fallbackReason } = await chooseContext(instance, job.workload, options, FEWEST_RESIDUALS);
  try {
    return await job.run(instance, context, fallbackReason);
  } catch (error) {
    // What a thread cannot hold runs on the CPU, unless the GPU was asked for.
    const tooLarge = error instanceof ResiduaError && error.code === 'limit-exceeded';
    if (!tooLarge || context === null || (options.backend ?? 'auto') !== 'auto') throw error;
    return await job.run(instance, null, error.message);
  } finally {
    job.release();
  }
}

/** A call, with copies of all that it depends on. */
class Job {
  readonly workload: number;
  private readonly subject: ProblemSubject;
  private readonly count: number;
  private constant = new Uint8Array();
  private lower = new Float64Array();
  private upper = new Float64Array();
  private readonly settings: ((many: RawMany) => void)[] = [];
  private lasting: RawMany | null = null;

  constructor(
    host: Host,
    template: Problem,
    batch: ManyBatch,
    private readonly options: ManyOptions,
  ) {
    if (!(template instanceof Problem)) throw invalidArgument('solveMany: template', describe(template), 'a Problem');
    checkOptions('solveMany: batch', batch);
    checkManyOptions(host, options);
    checkWholeNumber('solveMany: batch.count', batch.count, 0);
    this.count = batch.count;
    this.subject = new ProblemSubject(template);
    this.workload = this.count * this.subject.numResiduals;
    this.takeSettings(template);
    this.takeParameters(template, batch.parameters);
    this.takeData(template, batch.data);
  }

  async run(instance: Instance, context: GpuContext | null, fallbackReason: string | null): Promise<ManyResult> {
    const handle = context?.raw();
    if (handle !== undefined && handle.instance !== instance) {
      throw new ResiduaError('disposed', 'the GpuContext belongs to an instance of residua that has failed; create a new one');
    }
    const backend = context === null ? 'cpu' : 'gpu';
    const { signal, onProgress } = this.options;
    const { maxIterations = 100, costTolerance = 1e-6, gradientTolerance = 1e-6, initialDamping = 1e-3 } = this.options;
    const { parameterTolerance = backend === 'cpu' ? 1e-8 : 1e-6 } = this.options;
    let failure: { thrown: unknown } | null = null;
    const stop = new Stop(signal);
    const listen = (done: number): void => {
      try {
        if (failure === null) onProgress?.(done, this.count);
      } catch (thrown) {
        // An exception must not pass through the module; it ends the solve and is thrown from here.
        failure = { thrown };
        stop.fire();
      }
    };
    const many = this.lasting ?? instance.call((module) => this.build(module));
    if (many.lasts === true) this.lasting = many;
    const raw = await instance
      .wait(() =>
        many.solve(
          handle?.handle.share(),
          { maxIterations, costTolerance, gradientTolerance, parameterTolerance, initialDamping },
          onProgress === undefined ? undefined : listen,
          stop.isStopped,
        ),
      )
      .finally(() => stop.end());
    const thrownByListener = failure as { thrown: unknown } | null;
    if (thrownByListener !== null) throw thrownByListener.thrown;
    const { x, cost, iterations, terminations, converged, computationTime } = raw;
    const termination = Array.from(raw.termination, (code) => terminations[code] as Termination);
    return { x, cost, iterations, termination, converged, backend, fallbackReason, computationTime };
  }

  /** The call is over. */
  release(): void {
    this.lasting?.free();
  }

  private build(module: RawModule): RawMany {
    const { constant, lower, upper, count } = this;
    this.subject.takeStart(0, this.subject.numParams);
    const raw = new module.RawMany(this.subject.build(module), this.subject.startValues, constant, lower, upper, count);
    for (const set of this.settings) set(raw);
    return raw;
  }

  /** Constants, bounds, weights and losses, as they are now. */
  private takeSettings(template: Problem): void {
    const { numParams } = this.subject;
    this.constant = new Uint8Array(numParams);
    this.lower = new Float64Array(numParams).fill(-Infinity);
    this.upper = new Float64Array(numParams).fill(Infinity);
    for (const { constant, bounds, offset } of template.arrays) {
      if (constant !== null) this.constant.set(constant, offset);
      if (bounds === null) continue;
      this.lower.set(bounds.lower, offset);
      this.upper.set(bounds.upper, offset);
    }
    template.blocks.forEach(({ weight, enabled, loss: { kind, a, b, factor } }, block) => {
      this.settings.push((many) => many.setBlock(block, weight, kind, a, b, factor, enabled));
    });
  }

  private takeParameters(template: Problem, parameters: ManyBatch['parameters'] = {}): void {
    checkOptions('solveMany: batch.parameters', parameters);
    for (const [name, values] of Object.entries(parameters)) {
      const array = find(`solveMany: batch.parameters.${name}`, 'parameter array', template.arrays, name);
      const { offset } = array;
      const length = array.count * array.dim;
      const copy = copyAnyNumbers(`solveMany: batch.parameters.${name}`, values, this.count * length, `${this.count} problems × ${length} numbers of "${name}"`);
      this.settings.push((many) => many.addParameters(offset, length, copy));
    }
  }

  private takeData(template: Problem, data: ManyBatch['data'] = {}): void {
    checkOptions('solveMany: batch.data', data);
    for (const [name, inputs] of Object.entries(data)) {
      const argument = `solveMany: batch.data.${name}`;
      const block = find(argument, 'residual block', template.blocks, name);
      checkOptions(argument, inputs);
      for (const [key, values] of Object.entries(inputs)) this.takeInput(template, block, key, values);
    }
  }

  private takeInput(template: Problem, block: ResidualInstances, key: string, values: Numbers): void {
    const argument = `solveMany: batch.data.${block.name}.${key}`;
    const data = block.data.get(key);
    if (data === undefined) throw invalidArgument(argument, 'no data input of that name', namesOf('data input', [...block.data.keys()]));
    const { input } = data;
    const { length } = data.values;
    const copy = copyAnyNumbers(argument, values, this.count * length, `${this.count} problems × ${length} numbers of "${key}"`);
    let recipe = 0;
    for (const other of template.blocks) {
      if (other === block) break;
      recipe += other.recipes.length;
    }
    for (const recipeOfBlock of block.recipes) {
      const number = recipe++;
      const firstColumn = recipeOfBlock.firstColumns.get(key) as number;
      const sources = dataSources(input, recipeOfBlock);
      this.settings.push((many) => many.addData(number, firstColumn, sources, length, copy));
    }
  }
}

function find<T extends { readonly name: string }>(argument: string, what: string, list: readonly T[], name: string): T {
  const found = list.find((item) => item.name === name);
  if (found === undefined) throw invalidArgument(argument, `no ${what} of that name`, namesOf(what, list.map((item) => item.name)));
  return found;
}

function namesOf(what: string, names: readonly string[]): string {
  return names.length === 0 ? `none: the template has no ${what}` : `one of "${names.join('", "')}"`;
}

function checkManyOptions(host: Host, options: ManyOptions): void {
  checkOptions('solveMany: options', options);
  checkBackend(host, 'solveMany', options as CompileOptions);
  const { maxIterations, costTolerance, gradientTolerance, parameterTolerance, initialDamping, onProgress, signal } = options;
  if (maxIterations !== undefined) checkWholeNumber('solveMany: maxIterations', maxIterations, 0);
  const figures = { costTolerance, gradientTolerance, parameterTolerance, initialDamping };
  for (const [name, figure] of Object.entries(figures)) if (figure !== undefined) checkFinite(`solveMany: ${name}`, figure, 0);
  if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidArgument('solveMany: onProgress', describe(onProgress), 'a function');
  checkSignal('solveMany: signal', signal);
}
