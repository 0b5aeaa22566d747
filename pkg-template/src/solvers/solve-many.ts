/** Many small problems of one shape, solved in one call, for example a curve fit per pixel. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkFlag, checkOptions, type OptionNames } from '../arguments/options.js';
import { checkFinite, checkObject, checkWholeNumber, copyAnyNumbers } from '../arguments/numeric-arguments.js';
import { checkEngineOptions, engineRequest } from '../compile/engine-choice.js';
import { ProblemCompileInput } from '../compile/problem-compile-input.js';
import { Cancellation, checkSignal } from '../module/cancellation.js';
import { here, type Host, type Instance } from '../module/loading.js';
import type { RawMany, RawManyResult, RawModule } from '../module/raw.js';
import { readFindings } from '../module/solve-record.js';
import { dataSources } from '../problem/instance-tables.js';
import { Problem } from '../problem/problem.js';
import type { ResidualInstances } from '../problem/residual-block.js';
import { solveConstrainedMany, withConstraints, type ManySolver, type ManyStates } from './constrained/many.js';
import type { ManyBatch, ManyOptions, ManyResult } from './many-options.js';
import { findNonFinite, sentencesOnNonFinite, type NonFiniteInput, type OwnStarts } from './not-finite.js';
import { find, takeProblemData, type OwnData } from './problem-data.js';
import type { Termination } from './stopping.js';

export type { ManyBatch, ManyConstraintResult, ManyOptions, ManyResult } from './many-options.js';

const BATCH: OptionNames<ManyBatch> = { count: true, parameters: true, data: true };

/** Their names. */
export const MANY_OPTIONS: OptionNames<ManyOptions> = {
  backend: true,
  precision: true,
  context: true,
  maxIterations: true,
  costTolerance: true,
  gradientTolerance: true,
  parameterTolerance: true,
  initialDamping: true,
  standardErrors: true,
  absoluteSigma: true,
  robust: true,
  onProgress: true,
  signal: true,
};

/** With fewer residuals in total the CPU is faster: it takes about 0.4 µs per residual, and a round trip to the GPU takes milliseconds. */
const FEWEST_RESIDUALS = 20_000;

/**
 * Solves `batch.count` independent problems of the shape of `template` by Levenberg-Marquardt. They share its residual blocks with losses
 * and weights, its constants, bounds and manifolds, as of the call; `batch` holds the differences. On the GPU one thread solves each
 * problem in f32 or f32x2, with all iterations in one dispatch; on the CPU in f64.
 *
 * On the CPU all problems are solved in step, from normal equations alone. A problem for which these do not suffice, which they do not bring to its minimum in some 30
 * iterations, is solved by itself from its start, as `levenbergMarquardt` does it: that takes many times as long, and finds the same.
 *
 * What the GPU finds is checked: 256 problems and those with the largest numbers are solved again in f64, from their solutions. Where rounding
 * has changed a cost by more than 1e-3, or moved a parameter by more than 1e-4 of its scale, problems that converged end with
 * 'precision-limit', and with backend 'auto' all go on from there: in f32x2 on the GPU, and where that does not suffice in f64 on the CPU.
 *
 * Constraints of the template are met by the method of multipliers: all problems are solved together, some ten times. `batch.data` may have data of constraint blocks, one
 * array for all problems. In f64 constraints hold to 1e-10 of their terms, in f32x2, which is the default on the GPU then, to 1e-9, in f32 to 1e-4. A problem whose
 * constraints do not hold ends with 'infeasible', or 'max-iterations' where they nearly do or where `maxIterations` ended its last round. Rejects with 'invalid-argument' for constraints with stars or lists of data,
 * and for `standardErrors` with constraints.
 *
 * A problem has converged where the model of its residuals promises next to nothing. Where the GPU comes to no such point, or its arithmetic does not tell, the
 * problem goes on with backend 'auto' in f32x2, and then on the CPU from its start. With 'gpu' the CPU computes in f64 what the model promises where a tolerance was
 * met; where that is too much the problem ends with 'precision-limit'.
 *
 * On the GPU a problem has at most 16 numbers that are not constant and 64 parameters, and in f32x2 residuals of some 300 operations in all. Larger
 * problems reject with 'limit-exceeded', or run on the CPU with backend 'auto'. Rejects with 'gpu-unavailable' for precision 'f32x2' with backend 'gpu'
 * where double-single arithmetic does not hold on the device. Rejects with 'invalid-argument' for names that the template does not have and for wrong lengths, with the
 * array or block in the message, and with 'device-lost'.
 */
export function solveMany(template: Problem, batch: ManyBatch, options: ManyOptions = {}): Promise<ManyResult> {
  return solveManyOn(here, template, batch, options);
}

/** solveMany() on a host. */
export async function solveManyOn(host: Host, template: Problem, batch: ManyBatch, options: ManyOptions): Promise<ManyResult> {
  if (template instanceof Problem && template.constraints.length > 0) {
    // The arguments are checked before a module is needed.
    void new Job(host, withConstraints(template), batch, options);
    const solve: ManySolver = async (shape, of, settings, states) => new Job(host, shape, of, settings, states).run(await host.ready());
    return solveConstrainedMany(host, template, batch, options, solve);
  }
  const job = new Job(host, template, batch, options);
  return job.run(await host.ready());
}

/** One call, with copies of all its arguments. */
class Job {
  private readonly workload: number;
  private readonly input: ProblemCompileInput;
  private readonly options: ManyOptions;
  private readonly count: number;
  private readonly starts: OwnStarts[] = [];
  private readonly findNonFinite: () => NonFiniteInput[];
  private constant = new Uint8Array();
  private lower = new Float64Array();
  private upper = new Float64Array();
  private readonly settings: ((many: RawMany) => void)[] = [];

  constructor(
    host: Host,
    template: Problem,
    batch: ManyBatch,
    options: ManyOptions,
    states: readonly ManyStates[] = [],
  ) {
    if (!(template instanceof Problem)) throw invalidArgument('solveMany: template', describe(template), 'a Problem');
    checkOptions('solveMany: batch', batch, BATCH);
    checkManyOptions(host, options);
    checkWholeNumber('solveMany: batch.count', batch.count, 0);
    const plain = template.blocks.find(({ templates }) => templates.some((recorded) => recorded.plain !== null));
    if (plain !== undefined) {
      throw invalidArgument('solveMany: template', `residual block '${plain.name}', a plain function`, 'recorded residual functions; solve() and fit() take plain functions');
    }
    this.options = { ...options };
    this.count = batch.count;
    const { template: shape, own } = takeProblemData(template, batch.count, batch.data);
    this.input = new ProblemCompileInput(shape);
    this.input.takeStart(0, this.input.numParams);
    this.workload = this.count * this.input.numResiduals;
    this.takeSettings(shape);
    this.takeParameters(shape, batch.parameters);
    for (const data of own) this.takeData(shape, data);
    for (const { block, template: number, values } of states) this.takeStates(shape, block, number, values);
    const find = () => findNonFinite(shape.blocks, own, this.starts);
    // The numbers that another host gets are transferred to it.
    const found = host === here ? null : find();
    this.findNonFinite = () => found ?? find();
  }

  async run(instance: Instance): Promise<ManyResult> {
    const { signal, onProgress, parameterTolerance = 1e-8 } = this.options;
    const { maxIterations, costTolerance = 1e-8, gradientTolerance = 1e-8, initialDamping } = this.options;
    let failure: { thrown: unknown } | null = null;
    const cancellation = new Cancellation(signal);
    const listen = (done: number): void => {
      try {
        if (failure === null) onProgress?.(done, this.count);
      } catch (thrown) {
        // An exception must not pass through the module. It ends the solve and is thrown afterwards.
        failure = { thrown };
        cancellation.cancel();
      }
    };
    const { standardErrors = false, absoluteSigma = false, robust } = this.options;
    const estimate = { standardErrors: Number(standardErrors), absoluteSigma: Number(absoluteSigma), robust: robust === undefined ? -1 : Number(robust) };
    let raw: RawManyResult;
    try {
      const engine = engineRequest(instance, this.workload, this.options, FEWEST_RESIDUALS);
      const many = instance.call((module) => this.build(module));
      const limits = { ...(maxIterations === undefined ? {} : { maxIterations }), ...(initialDamping === undefined ? {} : { initialDamping }) };
      const settings = { ...limits, costTolerance, gradientTolerance, parameterTolerance, ...estimate };
      raw = await instance.wait(() => many.solve(engine, settings, onProgress === undefined ? undefined : listen, cancellation.token));
    } finally {
      cancellation.end();
    }
    const thrownByListener = failure as { thrown: unknown } | null;
    if (thrownByListener !== null) throw thrownByListener.thrown;
    const { terminations, ...result } = raw;
    const nonFinite = terminations.indexOf('non-finite');
    const termination: Termination[] = [];
    const ended: number[] = [];
    // An iterator, or a list that grows, takes many times as long, which of some 100,000 problems is a share of the solve.
    termination.length = raw.termination.length;
    for (let problem = 0; problem < raw.termination.length; problem++) {
      const code = raw.termination[problem] as number;
      termination[problem] = terminations[code] as Termination;
      if (code === nonFinite) ended.push(problem);
    }
    const message = raw.message + sentencesOnNonFinite(ended, this.count, ended.length === 0 ? [] : this.findNonFinite());
    return { ...result, message, findings: readFindings(raw.findings), termination };
  }

  private build(module: RawModule): RawMany {
    const { constant, lower, upper, count } = this;
    const raw = new module.RawMany(this.input.build(module), this.input.startValues, constant, lower, upper, count);
    for (const set of this.settings) set(raw);
    return raw;
  }

  /** Copies constants, bounds, weights and losses. */
  private takeSettings(template: Problem): void {
    const { numParams } = this.input;
    this.constant = new Uint8Array(numParams);
    this.lower = new Float64Array(numParams).fill(-Infinity);
    this.upper = new Float64Array(numParams).fill(Infinity);
    for (const { constant, bounds, offset } of template.arrays) {
      if (constant !== null) this.constant.set(constant, offset);
      if (bounds === null) continue;
      this.lower.set(bounds.lower, offset);
      this.upper.set(bounds.upper, offset);
    }
    template.blocks.forEach(({ name, weight, enabled, loss: { kind, graduated, a, b, factor } }, block) => {
      if (graduated !== null) throw invalidArgument('solveMany: template', `a graduated loss of the residual block "${name}"`, 'other losses');
      this.settings.push((many) => many.setBlock(block, weight, kind, a, b, factor, enabled));
    });
  }

  private takeParameters(template: Problem, parameters: ManyBatch['parameters'] = {}): void {
    checkObject('solveMany: batch.parameters', parameters);
    for (const [name, values] of Object.entries(parameters)) {
      const array = find(`solveMany: batch.parameters.${name}`, 'parameter array', template.arrays, name);
      const { offset } = array;
      const length = array.count * array.dim;
      const copy = copyAnyNumbers(`solveMany: batch.parameters.${name}`, values, this.count * length, `${this.count} problems × ${length} numbers of "${name}"`);
      this.starts.push({ name: `batch.parameters.${name}`, length, values: copy });
      this.settings.push((many) => many.addParameters(offset, length, copy));
    }
  }

  private takeStates({ blocks }: Problem, position: number, number: number, values: Float64Array): void {
    const id = blocks.slice(0, position).reduce((sum, { templates }) => sum + templates.length, number);
    const column = blocks[position]?.templates[number]?.stateColumn as number;
    const length = values.length / Math.max(this.count, 1);
    const sources = Uint32Array.from({ length }, (_, place) => place);
    this.settings.push((many) => many.addData(id, column, sources, length, values));
  }

  private takeData({ blocks }: Problem, { block: position, key, length, values }: OwnData): void {
    let id = blocks.slice(0, position).reduce((sum, { templates }) => sum + templates.length, 0);
    const block = blocks[position] as ResidualInstances;
    for (const template of block.templates) {
      const number = id++;
      const [firstColumn, sources] =
        key === null
          ? [template.weightColumn as number, Uint32Array.from(template.instances ?? { length: template.count }, (instance, i) => instance ?? i)]
          : [template.firstColumns.get(key) as number, dataSources(block.data.get(key)!.input, template)];
      this.settings.push((many) => many.addData(number, firstColumn, sources, length, values));
    }
  }
}

function checkManyOptions(host: Host, options: ManyOptions): void {
  checkOptions('solveMany: options', options, MANY_OPTIONS);
  checkEngineOptions(host, 'solveMany', options);
  const { maxIterations, costTolerance, gradientTolerance, parameterTolerance, initialDamping, onProgress, signal } = options;
  if (maxIterations !== undefined) checkWholeNumber('solveMany: maxIterations', maxIterations, 0);
  const settings = { costTolerance, gradientTolerance, parameterTolerance, initialDamping };
  for (const [name, setting] of Object.entries(settings)) if (setting !== undefined) checkFinite(`solveMany: ${name}`, setting, 0);
  for (const name of ['standardErrors', 'absoluteSigma', 'robust'] as const) checkFlag(`solveMany: ${name}`, options[name]);
  if (onProgress !== undefined && typeof onProgress !== 'function') throw invalidArgument('solveMany: onProgress', describe(onProgress), 'a function');
  checkSignal('solveMany: signal', signal);
}
