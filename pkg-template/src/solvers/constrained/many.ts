/**
 * Many small problems with constraints: the method of multipliers with all problems in step. Each round solves all of them together without constraints, and
 * the constraints of all are evaluated together in double precision.
 */

import { invalidArgument } from '../../arguments/errors.js';
import { copyAnyNumbers, joined, type Numbers } from '../../arguments/numeric-arguments.js';
import { GpuCompiledFunctions } from '../../compile/functions.js';
import type { Host } from '../../module/loading.js';
import { STATES } from '../../problem/constraint-function.js';
import { AtInput, DataInput, GridInput, SharedInput, type AnyInput } from '../../problem/inputs.js';
import { ParameterBlocks } from '../../problem/parameter-array.js';
import { Problem } from '../../problem/problem.js';
import { ResidualInstances } from '../../problem/residual-block.js';
import { WEIGHTS } from '../../problem/weights.js';
import type { ManyBatch, ManyConstraintResult, ManyOptions, ManyResult } from '../many-options.js';
import { isList } from '../problem-data.js';
import { scientific } from '../scientific.js';
import type { Termination } from '../stopping.js';

/** The states of a template's constraints in all problems, problem after problem, each column after column. */
export interface ManyStates {
  /** Position of its block. */
  readonly block: number;
  /** Its number among the templates of the block. */
  readonly template: number;
  readonly values: Float64Array;
}

/** Solves many problems without constraints. */
export type ManySolver = (template: Problem, batch: ManyBatch, options: ManyOptions, states: readonly ManyStates[]) => Promise<ManyResult>;

const MOST_ROUNDS = 25;
/** A fall of the violation in a round that shows that multipliers converge. */
const FALL = 0.1;
/** The factor by which a penalty grows where it does not fall so, and its largest growth: larger ones leave no digits of the objective in a cost. */
const GROWTHS = { f32: [5, 25], f32x2: [100, 1e6], f64: [100, 1e10] } as const;
/** Violations relative to terms at which constraints hold. */
const TOLERANCES = { f32: 1e-4, f32x2: 1e-9, f64: 1e-10 } as const;
/** Tolerances of gradients that a solve from its own solution meets. */
const PRECISIONS = { f32: 3e-4, f32x2: 1e-7, f64: 1e-9 } as const;
/** A violation above which constraints contradict each other, where penalties have not lowered it. */
const CONTRADICTION = 1e-3;

/** Returns a copy of a template, as of the call, whose residual blocks are the template's, and its constraint blocks after them. */
export function withConstraints(template: Problem): Problem {
  const problem = new Problem();
  problem.grids.push(...template.grids.map((grid) => ({ ...grid })));
  const arrays = new Map<object, ParameterBlocks>();
  for (const array of template.arrays) {
    const made = new ParameterBlocks(problem, array.name, array.dim, array.offset, array.values(), array.makeBlock);
    const { manifold, elimination, constant, bounds } = array;
    Object.assign(made, { manifold, elimination, constant: constant === null ? null : constant.slice(), bounds });
    problem.arrays.push(made);
    arrays.set(array, made);
    array.compiled = true;
  }
  const add = (block: ResidualInstances, rows: number): void => {
    const templates = block.templates.map((of) => ({ ...of, slotArrays: of.slotArrays.map((array) => arrays.get(array) as object) }));
    const weights = block.data.get(WEIGHTS)?.isWeight === true ? (block.inputs.get(WEIGHTS) as DataInput) : null;
    const made = new ResidualInstances(block.name, block.count, problem.numResiduals, rows, templates, block.inputs, weights);
    for (const [key, data] of made.data) data.values = block.data.get(key)!.values;
    [made.weight, made.loss, made.enabled] = [block.weight, block.loss, block.enabled];
    problem.blocks.push(made);
  };
  for (const block of template.blocks) add(block, block.numResiduals);
  for (const block of template.constraints) {
    if ([...block.inputs.values()].some(isStar)) {
      throw invalidArgument('solveMany: template', `a star in the constraint block "${block.name}"`, 'constraints of at, shared and data');
    }
    add(block, block.numConstraints);
  }
  return problem;
}

/** A copy of what a batch has, which later changes of its arrays do not reach. */
function copied({ count, parameters = {}, data = {} }: ManyBatch): ManyBatch {
  const map = <T, R>(named: Readonly<Record<string, T>>, of: (value: T, name: string) => R) => Object.fromEntries(Object.entries(named).map(([name, value]) => [name, of(value, name)]));
  const numbers = (values: Numbers, name: string) => copyAnyNumbers(`solveMany: batch: ${name}`, values);
  const input = (values: Numbers | readonly Numbers[], name: string) => (isList(values) ? values.map((own) => numbers(own, name)) : numbers(values, name));
  return { count, parameters: map(parameters, numbers), data: map(data, (inputs) => map(inputs, input)) };
}

function isStar(input: AnyInput): boolean {
  return !(input instanceof AtInput || input instanceof SharedInput || input instanceof DataInput);
}

/** Solves the problems of a template with constraints. The arguments have been checked, but for what constraints do not take. */
export async function solveConstrainedMany(host: Host, template: Problem, batch: ManyBatch, options: ManyOptions, solve: ManySolver): Promise<ManyResult> {
  if (options.standardErrors === true) throw invalidArgument('solveMany: standardErrors', 'true for a template with constraints', 'false; covariance() heeds constraints');
  for (const { name } of template.constraints) {
    for (const [key, values] of Object.entries(batch.data?.[name] ?? {})) {
      if (typeof (values as ArrayLike<unknown>)[0] !== 'object') continue;
      throw invalidArgument(`solveMany: batch.data.${name}.${key}`, 'a list of arrays', 'one array for all problems in a constraint block');
    }
  }
  const own = copied(batch);
  const rounds = new Rounds(template.constraints.slice(), withConstraints(template), own, { ...options }, solve);
  const functions = await GpuCompiledFunctions.on(host).compile(replicated(template, own), { backend: 'cpu' });
  try {
    return await rounds.run(functions);
  } finally {
    functions.dispose();
  }
}

/** The constraints of all problems as the residuals of one: each array has the blocks of the first problem, then those of the second. */
function replicated(template: Problem, { count, data = {} }: ManyBatch): Problem {
  const problem = new Problem();
  problem.grids.push(...template.grids.map((grid) => ({ ...grid })));
  const arrays = new Map<object, ParameterBlocks>();
  for (const array of template.arrays) {
    const made = new ParameterBlocks(problem, array.name, array.dim, problem.numParameters, new Float64Array(count * array.count * array.dim), array.makeBlock);
    problem.arrays.push(made);
    arrays.set(array, made);
  }
  for (const block of template.constraints) {
    const inputs = new Map<string, AnyInput>();
    for (const [key, input] of block.inputs) {
      if (input instanceof SharedInput || input instanceof AtInput) {
        const own = input instanceof AtInput ? input.indices : new Uint32Array(block.count).fill(input.index);
        const blocks = (input.array as ParameterBlocks).count;
        const indices = new Uint32Array(count * own.length);
        for (let k = 0; k < indices.length; k++) indices[k] = Math.floor(k / own.length) * blocks + (own[k % own.length] as number);
        const array = arrays.get(input.array) as ParameterBlocks;
        if (input instanceof GridInput) {
          const { dim, values } = input.behind;
          const behind = Float64Array.from({ length: count * values.length }, (_, k) => values[k % values.length] as number);
          inputs.set(key, input.of(array, indices, new DataInput(problem, dim, behind)));
        } else inputs.set(key, input instanceof AtInput ? new AtInput(array, indices, input.width, input.single) : new AtInput(array, indices, 1, true));
      } else {
        const ofTemplate = block.data.get(key)!.values;
        const given = data[block.name]?.[key] as ArrayLike<number> | undefined;
        const values = Float64Array.from({ length: count * ofTemplate.length }, (_, k) => given?.[k] ?? (ofTemplate[k % ofTemplate.length] as number));
        inputs.set(key, new DataInput(problem, (input as DataInput).dim, values));
      }
    }
    const templates = block.templates.map((of) => ({ ...of, count: of.count * count, slotArrays: of.slotArrays.map((array) => arrays.get(array) as object) }));
    problem.blocks.push(new ResidualInstances(block.name, count * block.count, problem.numResiduals, count * block.numConstraints, templates, inputs));
  }
  return problem;
}

class Rounds {
  private readonly count: number;
  private readonly numParams: number;
  /** Constraints of a problem. */
  private readonly size: number;
  /** The first constraint of each block in a problem. */
  private readonly firsts: readonly number[];
  private readonly isEquality: Uint8Array;
  private readonly isEnabled: Uint8Array;

  constructor(
    private readonly constraints: Problem['constraints'],
    private readonly shape: Problem,
    private readonly batch: ManyBatch,
    private readonly options: ManyOptions,
    private readonly solve: ManySolver,
  ) {
    this.count = batch.count;
    this.numParams = shape.numParameters;
    let first = 0;
    this.firsts = constraints.map(({ numConstraints }) => (first += numConstraints) - numConstraints);
    this.size = first;
    const perConstraint = (of: (block: Problem['constraints'][number]) => boolean) =>
      Uint8Array.from(constraints.flatMap((block) => Array.from({ length: block.numConstraints }, () => Number(of(block)))));
    this.isEquality = perConstraint(({ kind }) => kind === 'equality');
    this.isEnabled = perConstraint(({ enabled }) => enabled);
  }

  async run(functions: GpuCompiledFunctions): Promise<ManyResult> {
    const { count, size, options } = this;
    const began = performance.now();
    const multipliers = new Float64Array(count * size);
    // Without penalties and iterations: the starts within bounds, and the objective there.
    const start = await this.round(this.batch.parameters ?? {}, multipliers, new Float64Array(count), new Float64Array(count * size).fill(1), { maxIterations: 0 });
    let c = await this.constraintsAt(functions, start.x);
    const norms = await this.normsAt(functions, start.x);
    const mean = start.cost.reduce((sum, cost) => sum + (Number.isFinite(cost) ? cost : 0), 0) / Math.max(count, 1);
    const [growth, mostGrowth] = GROWTHS[start.arithmetic];
    const penalties = start.cost.map((cost) => growth * (Math.max(Number.isFinite(cost) ? cost : 0, 1e-3 * mean) || 1));
    const most = penalties.map((penalty) => penalty * mostGrowth);
    let used = penalties;
    const last = new Float64Array(count).fill(Infinity);
    const worst = new Float64Array(count);
    const iterations = new Uint32Array(count);
    let result = start;
    let [tolerance, held]: [number, number] = [TOLERANCES[start.arithmetic], 0];
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const precision = Math.max(10 ** (-3 - round), PRECISIONS[result.arithmetic]);
      const tests = { costTolerance: Math.max(precision ** 2, 1e-15), gradientTolerance: precision, parameterTolerance: Math.max(precision ** 2, 1e-15) };
      result = await this.round(this.parametersOf(result.x), multipliers, penalties, norms, tests);
      tolerance = TOLERANCES[result.arithmetic];
      used = penalties.slice();
      c = await this.constraintsAt(functions, result.x);
      held = 0;
      for (let problem = 0; problem < count; problem++) {
        iterations[problem] = (iterations[problem] as number) + (result.iterations[problem] as number);
        worst[problem] = this.update(problem, c, multipliers, penalties[problem] as number, norms);
        if ((worst[problem] as number) <= tolerance) held++;
        else if ((worst[problem] as number) > FALL * (last[problem] as number)) penalties[problem] = Math.min((penalties[problem] as number) * growth, most[problem] as number);
        last[problem] = worst[problem] as number;
      }
      const isLoose = precision > 1e-6 && result.arithmetic === 'f64';
      const isOver = worst.every((violation, problem) => violation <= tolerance || !Number.isFinite(violation) || result.termination[problem] === 'non-finite');
      if ((isOver && !isLoose) || options.signal?.aborted === true) break;
      // Contradictory constraints keep their violation however large penalties are.
      if (round >= 10 && worst.every((violation) => !(violation > tolerance && violation <= CONTRADICTION))) break;
    }
    return this.finish(result, { c, multipliers, penalties: used, norms, worst, iterations, tolerance, held, began });
  }

  private finish(
    result: ManyResult,
    of: { c: Float64Array; multipliers: Float64Array; penalties: Float64Array; norms: Float64Array; worst: Float64Array; iterations: Uint32Array; tolerance: number; held: number; began: number },
  ): ManyResult {
    const { count, size } = this;
    const { c, multipliers, worst, tolerance, held } = of;
    const ended: readonly Termination[] = ['aborted', 'non-finite'];
    const termination = result.termination.map((reason, problem): Termination => {
      const violation = worst[problem] as number;
      if (violation <= tolerance || ended.includes(reason)) return reason;
      if (!Number.isFinite(violation)) return 'non-finite';
      // A round that a limit ends tells nothing of what constraints allow.
      return violation > CONTRADICTION && reason !== 'max-iterations' ? 'infeasible' : 'max-iterations';
    });
    const constraints = this.constraints.map(({ name, kind, numConstraints }, part): ManyConstraintResult => {
      const first = this.firsts[part] as number;
      const take = (all: Float64Array) => Float64Array.from({ length: count * numConstraints }, (_, k) => all[Math.floor(k / numConstraints) * size + first + (k % numConstraints)] as number);
      const values = take(c);
      const violation = new Float64Array(count);
      values.forEach((value, k) => {
        const problem = Math.floor(k / numConstraints);
        violation[problem] = Math.max(violation[problem] as number, this.isEnabled[first] === 0 ? 0 : kind === 'equality' ? Math.abs(value) : value);
      });
      return { name, kind, values, multipliers: take(multipliers), violation };
    });
    const named = [...worst.keys()].filter((problem) => !((worst[problem] as number) <= tolerance));
    const more = named.length > 5 ? ', …' : '';
    const others = named.length === 0 ? '' : ` They do not hold in ${named.slice(0, 5).join(', ')}${more}.`;
    const message = `${result.message} Constraints hold to ${scientific(tolerance)} of their terms in ${held} of ${count} problems.${others}`;
    const converged: readonly Termination[] = ['cost-tolerance', 'gradient-tolerance', 'parameter-tolerance'];
    return {
      ...result,
      cost: this.costs(result.cost, of),
      iterations: of.iterations,
      termination,
      converged: termination.reduce((sum, reason) => sum + Number(converged.includes(reason)), 0),
      message,
      constraints,
      computationTime: performance.now() - of.began,
    };
  }

  /** The objective without the terms of constraints, whose multipliers have been updated to what these are made of. */
  private costs(augmented: Float64Array, { multipliers, penalties, norms }: { multipliers: Float64Array; penalties: Float64Array; norms: Float64Array }): Float64Array {
    return augmented.map((cost, problem) => {
      let sum = cost;
      for (let i = problem * this.size; i < (problem + 1) * this.size; i++) sum -= (0.5 * ((multipliers[i] as number) * (norms[i] as number)) ** 2) / (penalties[problem] as number);
      return sum;
    });
  }

  /** Updates the multipliers of a problem, and returns its largest violation relative to terms. */
  private update(problem: number, c: Float64Array, multipliers: Float64Array, penalty: number, norms: Float64Array): number {
    let worst = 0;
    for (let k = 0; k < this.size; k++) {
      if (this.isEnabled[k] === 0) continue;
      const i = problem * this.size + k;
      const [value, norm, before] = [c[i] as number, norms[i] as number, multipliers[i] as number];
      const rate = penalty / norm ** 2;
      const after = before + rate * value;
      const isOpen = this.isEquality[k] === 0 && after < 0;
      multipliers[i] = isOpen ? 0 : Number.isFinite(after) ? after : before;
      worst = Math.max(worst, Math.abs(isOpen ? before / rate : value) / norm);
    }
    return worst;
  }

  private round(parameters: NonNullable<ManyBatch['parameters']>, multipliers: Float64Array, penalties: Float64Array, norms: Float64Array, tests: ManyOptions): Promise<ManyResult> {
    const { constraints, shape, count, size, options, batch } = this;
    const states = constraints.flatMap((block, part) =>
      block.templates.map(({ tape, count: instances }, number): ManyStates => {
        const outputs = tape.outputs.length;
        const columns = STATES * outputs + Number(block.kind === 'inequality');
        const values = new Float64Array(count * columns * instances);
        for (let problem = 0; problem < count; problem++) {
          for (let output = 0; output < outputs; output++) {
            for (let j = 0; j < instances; j++) {
              const i = problem * size + (this.firsts[part] as number) + j * outputs + output;
              const at = problem * columns * instances + STATES * output * instances + j;
              const rate = (penalties[problem] as number) / (norms[i] as number) ** 2;
              values[at] = rate === 0 ? 0 : (multipliers[i] as number) / rate;
              values[at + instances] = Math.sqrt(rate);
            }
          }
        }
        return { block: shape.blocks.length - constraints.length + part, template: number, values };
      }),
    );
    const { maxIterations } = options;
    // Single precision has too few digits for multipliers and objective in one cost.
    const settings = { precision: 'f32x2' as const, ...options, ...tests, ...(maxIterations === undefined ? {} : { maxIterations: Math.min(maxIterations, tests.maxIterations ?? maxIterations) }) };
    return this.solve(shape, { ...batch, parameters }, settings, states);
  }

  /** The parameters of all problems by array. */
  private parametersOf(x: Float64Array): Record<string, Float64Array> {
    const { count, numParams } = this;
    return Object.fromEntries(
      this.shape.arrays.map(({ name, offset, count: blocks, dim }) => {
        const length = blocks * dim;
        const values = new Float64Array(count * length);
        for (let problem = 0; problem < count; problem++) values.set(x.subarray(problem * numParams + offset, problem * numParams + offset + length), problem * length);
        return [name, values];
      }),
    );
  }

  private pointOf(x: Float64Array): Float64Array {
    return joined(Float64Array, Object.values(this.parametersOf(x)));
  }

  /** The constraints of all problems, problem after problem. */
  private async constraintsAt(functions: GpuCompiledFunctions, x: Float64Array): Promise<Float64Array> {
    // The numbers of a problem may be NaN, which the module takes and public calls refuse.
    return this.byProblem(await functions.callWith((raw) => raw.evaluate(this.pointOf(x))));
  }

  /** The terms of all constraints at a point, at least a share of those of the largest constraint of a problem. */
  private async normsAt(functions: GpuCompiledFunctions, x: Float64Array): Promise<Float64Array> {
    const point = this.pointOf(x);
    const { rowOffsets = new Uint32Array(1), colIndices = new Uint32Array(), entries } = await functions.callWith((raw) => raw.evaluateJacobian(point.slice(), true));
    const rows = new Float64Array(rowOffsets.length - 1);
    for (let row = 0; row < rows.length; row++) {
      let [most, sum] = [0, 0];
      for (let k = rowOffsets[row] as number; k < (rowOffsets[row + 1] as number); k++) most = Math.max(most, Math.abs(point[colIndices[k] as number] as number));
      for (let k = rowOffsets[row] as number; k < (rowOffsets[row + 1] as number); k++) {
        const place = Math.abs(point[colIndices[k] as number] as number);
        sum += Math.abs(entries[k] as number) * (Math.max(place, 0.01 * most) || 1);
      }
      rows[row] = sum;
    }
    const norms = this.byProblem(rows);
    for (let problem = 0; problem < this.count; problem++) {
      const own = norms.subarray(problem * this.size, (problem + 1) * this.size);
      const most = own.reduce((a, b) => Math.max(a, b), 0);
      own.forEach((norm, k) => (own[k] = Number.isFinite(most) ? Math.max(norm, 1e-3 * most) || 1 : 1));
    }
    return norms;
  }

  private byProblem(rows: Float64Array): Float64Array {
    const all = new Float64Array(this.count * this.size);
    this.constraints.forEach(({ numConstraints }, part) => {
      const first = this.firsts[part] as number;
      for (let k = 0; k < this.count * numConstraints; k++) {
        all[Math.floor(k / numConstraints) * this.size + first + (k % numConstraints)] = rows[this.count * first + k] as number;
      }
    });
    return all;
  }
}
