/**
 * Training steps: the loss of a batch, its gradients and what an optimiser makes of them, as one compiled program. Weights, gradients and the optimiser's state stay on the device; a run gets
 * the batch and some numbers.
 */

import { describe, invalidArgument, invalidGraph, ResiduaError } from '../../arguments/errors.js';
import { checkFinite, checkObject, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import type { Cell } from '../device/cell.js';
import type { Device } from '../device/device.js';
import { Program, scalar, type Feeds, type Sizes, type Spec, type Specs } from '../device/program.js';
import type { ProgramOptions } from '../device/compile-program.js';
import type { Drawn } from '../device/random-key.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { grad, stack, where } from '../functions.js';
import { nodeText } from '../recipe/operands.js';
import { Tensor } from '../tensor.js';
import { checkNorm, clipByNorm } from './gradients.js';
import { Optimizer, type StepInputs } from './optimizer.js';
import { namedTensors, type StoredTree } from './stored-tree.js';
import { WeightAverage } from './weight-average.js';

/** What the body of a step gives: the loss, or the loss with other numbers that are followed, such as the share of right answers. All are scalars of f32. */
export type StepResults = Tensor<'f32'> | { readonly loss: Tensor<'f32'>; readonly [metric: string]: Tensor<'f32'> };

/** Names of the numbers that a step gives. */
export type MetricName<R> = R extends Tensor ? 'loss' : keyof R & string;

/** Options of a training step. */
export interface StepOptions extends ProgramOptions {
  /** Gradients are clipped to this Euclidean norm, of all of them together. Default: they are not. */
  clipNorm?: number;
  /** The optimiser takes a step after so many runs, with the mean of their gradients: a batch that is larger than memory. Default 1. */
  accumulate?: number;
  /** Averages of the weights, which follow each step of the optimiser. */
  average?: WeightAverage<any>;
  /** Other stored tensors that the body assigns to, such as the statistics of batch norm, in lists and records. Checkpoints hold them. */
  state?: StoredTree;
}

const STEP_OPTIONS: OptionNames<StepOptions> = { clipNorm: true, accumulate: true, average: true, state: true, name: true, onProgress: true, signal: true };

/** Names of inputs that a step adds to those of the caller. */
const PREFIXES = { optimizer: 'optimizer.', average: 'average.', own: 'training.' } as const;
const WEIGHT = `${PREFIXES.own}weight`;
const IS_FIRST = `${PREFIXES.own}isFirst`;

const withPrefix = <T>(prefix: string, entries: { readonly [name: string]: T }) => Object.fromEntries(Object.entries(entries).map(([name, value]) => [prefix + name, value]));
const ofPrefix = (prefix: string, names: readonly string[], inputs: StepInputs) => Object.fromEntries(names.map((name) => [name, inputs[prefix + name] as Tensor<'f32'>]));

/** What a step is made of. */
interface Parts {
  readonly call: string;
  readonly optimizer: Optimizer;
  readonly average: WeightAverage | null;
  readonly accumulate: number;
  /** Sums of the gradients of runs; none where each run is a step. */
  readonly accumulated: readonly StoredTensor<'f32'>[];
  /** Stored tensors of the caller, by name. */
  readonly state: ReadonlyMap<string, StoredTensor>;
  /** Sums of the metrics since they were taken, in the order of their names. */
  readonly sums: StoredTensor<'f32'>;
  readonly metrics: readonly string[];
  readonly program: Program<Specs, Outputs>;
  /** The step of the optimiser, where several runs are one. */
  readonly updating: Program<Specs, Norm> | null;
}

type Outputs = { metrics: Record<string, Tensor<'f32'>>; norm: Norm };
type Norm = Record<string, Tensor<'f32'>>;

/** What a checkpoint holds beside tensors. */
export interface StepProgress {
  readonly steps: number;
  readonly runs: number;
  readonly weight: number;
  readonly averaged: number;
  readonly rates: readonly (number | null)[];
  readonly drawn: readonly Drawn[];
}

/** A compiled training step. */
export class TrainingStep<I extends Specs = Specs, N extends string = string> {
  /** What changes the weights. */
  readonly optimizer: Optimizer;
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** Runs since the last step of the optimiser. */
  private runs = 0;
  /** Of the metrics that were summed. */
  private weight = 0;
  private disposed = false;

  /** @internal Made by `compileStep`. */
  constructor(private readonly parts: Parts) {
    this.optimizer = parts.optimizer;
  }

  /** Steps of the optimiser so far. */
  get steps(): number {
    return this.optimizer.steps;
  }

  /** The device of the weights. */
  get device(): Device {
    return this.optimizer.device;
  }

  /** The loss of the latest run and the other numbers of its body, scalars on the device. */
  get outputs(): { readonly [name in N]: StoredTensor<'f32'> } {
    return this.parts.program.outputs.metrics as unknown as { readonly [name in N]: StoredTensor<'f32'> };
  }

  /** The norm of the gradients before they were clipped in the latest step; null without `clipNorm`. */
  get gradientNorm(): StoredTensor<'f32'> | null {
    const { program, updating } = this.parts;
    return ((updating === null ? program.outputs.norm : updating.outputs).norm as StoredTensor<'f32'> | undefined) ?? null;
  }

  /**
   * Submits a run with a batch, which allocates and compiles nothing, and returns its outputs. `weight` is that of the batch in the means of takeMeans(), 1 unless told. Throws what
   * `Program.run` throws; the step is not counted then, and where its update failed the next run is the first of another.
   */
  run(inputs: Feeds<I>, sizes?: Sizes, weight = 1): { readonly [name in N]: StoredTensor<'f32'> } {
    const { optimizer, average, accumulate, program, updating } = this.parts;
    this.check('run');
    checkFinite('run: weight', weight, 0);
    checkObject('run: inputs', inputs);
    for (const name of Object.keys(inputs)) checkOwnName('run: inputs', name);
    const numbers = withPrefix(PREFIXES.optimizer, optimizer.numbers(optimizer.taken));
    const shares = average === null ? {} : withPrefix(PREFIXES.average, average.numbers(average.taken));
    const own = { [WEIGHT]: weight };
    if (updating === null) program.run({ ...inputs, ...numbers, ...shares, ...own }, sizes);
    else program.run({ ...inputs, ...own, [IS_FIRST]: this.runs === 0 ? 1 : 0 }, sizes);
    this.weight += weight;
    this.runs += 1;
    if (this.runs === accumulate) {
      // Where the update throws, the next run begins anew.
      this.runs = 0;
      updating?.run({ ...numbers, ...shares });
      optimizer.taken += 1;
      if (average !== null) average.taken += 1;
    }
    return this.outputs;
  }

  /** Reads the means of the loss and of the other numbers over all runs since the last call, by the weights of the runs, in one round trip. Without a run since they are NaN. */
  async takeMeans(): Promise<{ [name in N]: number }> {
    const { sums, metrics } = this.parts;
    this.check('takeMeans');
    const { weight } = this;
    const reading = sums.data();
    sums.set(new Float32Array(metrics.length));
    this.weight = 0;
    const found = await reading;
    return Object.fromEntries(metrics.map((name, k) => [name, (found[k] as number) / weight])) as { [name in N]: number };
  }

  /** Frees the programs and the sums of gradients. The weights, the optimiser and the averages stay. A second call does nothing. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    const { program, updating, sums, accumulated } = this.parts;
    program.dispose();
    updating?.dispose();
    for (const tensor of [sums, ...accumulated]) tensor.dispose();
  }

  /** @internal All that a run changes, by name. */
  tensors(): Record<string, StoredTensor> {
    this.check('saveCheckpoint');
    return Object.fromEntries(stateOf(this.parts));
  }

  /** @internal Where it is. Setting it goes on from there. */
  get progress(): StepProgress {
    const { optimizer, average, program } = this.parts;
    return { steps: optimizer.taken, runs: this.runs, weight: this.weight, averaged: average?.taken ?? 0, rates: optimizer.rates, drawn: Program.insideOf(program).core.drawn };
  }
  /** @internal */
  set progress({ steps, runs, weight, averaged, rates, drawn }: StepProgress) {
    const { optimizer, average, program } = this.parts;
    [optimizer.taken, this.runs, this.weight, optimizer.rates] = [steps, runs, weight, rates];
    if (average !== null) average.taken = averaged;
    Program.insideOf(program).core.drawn = drawn;
  }

  /** @internal Runs that are a step of the optimiser. */
  get accumulate(): number {
    return this.parts.accumulate;
  }

  private check(what: string): void {
    if (this.disposed) throw new ResiduaError('disposed', `${what}: the training step was used after dispose()`);
  }
}

makeDisposable(TrainingStep);

/**
 * Compiles a training step of the weights of an optimiser. `body` is called once, to record: it takes a tensor for each input and gives the loss, a scalar of f32, alone or in a record with
 * other scalars. Rejects as `Device.compile` does, and with 'invalid-graph' where the body assigns to a stored tensor that is not in `state`.
 */
export async function compileStep<const I extends Specs, R extends StepResults>(
  optimizer: Optimizer,
  inputs: I,
  body: (inputs: { readonly [K in keyof I]: Tensor<I[K]['dtype']> }) => R,
  options: StepOptions = {},
): Promise<TrainingStep<I, MetricName<R>>> {
  const call = 'compileStep';
  if (!(optimizer instanceof Optimizer)) throw invalidArgument(`${call}: optimizer`, describe(optimizer), 'an optimiser');
  checkOptions(`${call}: options`, options, STEP_OPTIONS);
  checkObject(`${call}: inputs`, inputs);
  for (const name of Object.keys(inputs)) checkOwnName(`${call}: inputs`, name);
  if (typeof body !== 'function') throw invalidArgument(`${call}: body`, describe(body), 'a function');
  const { clipNorm, accumulate = 1, average, state = [], name = 'training step', ...others } = options;
  if (clipNorm !== undefined) checkNorm(`${call}: clipNorm`, clipNorm);
  checkWholeNumber(`${call}: accumulate`, accumulate, 1);
  if (average !== undefined && !(average instanceof WeightAverage)) throw invalidArgument(`${call}: average`, describe(average), 'a WeightAverage');
  const { device, weights } = optimizer;
  const specs = {
    ...inputs,
    [WEIGHT]: scalar,
    ...(accumulate === 1 ? {} : { [IS_FIRST]: scalar }),
  };
  const update: { [name: string]: Spec<'f32'> } = { ...withPrefix(PREFIXES.optimizer, optimizer.inputs), ...(average === undefined ? {} : withPrefix(PREFIXES.average, average.inputs)) };
  const kept = { state: namedTensors(`${call}: state`, state), accumulated: [] as StoredTensor<'f32'>[], sums: null as StoredTensor<'f32'> | null };
  if (accumulate > 1) kept.accumulated = weights.map(({ shape }) => device.zeros(shape));
  let metrics: string[] = [];

  /** Records the step of the optimiser. */
  const recordUpdate = (gradients: readonly Tensor<'f32'>[], given: StepInputs): Norm => {
    const clipped = clipNorm === undefined ? null : clipByNorm(gradients, clipNorm);
    optimizer.update(clipped?.gradients ?? gradients, ofPrefix(PREFIXES.optimizer, Object.keys(optimizer.inputs), given));
    average?.update(ofPrefix(PREFIXES.average, Object.keys(average.inputs), given));
    return clipped === null ? {} : { norm: clipped.norm };
  };
  const record = (given: StepInputs): Outputs => {
    const own = Object.fromEntries(Object.keys(inputs).map((key) => [key, given[key]]));
    const results = resultsOf((body as (inputs: object) => unknown)(own));
    metrics = Object.keys(results);
    const gradients = grad(results.loss as Tensor<'f32'>, weights) as Tensor<'f32'>[];
    kept.sums?.dispose();
    const sums = (kept.sums = device.zeros([metrics.length]));
    sums.assign(sums.add(stack(Object.values(results)).mul(given[WEIGHT] as Tensor<'f32'>)));
    if (accumulate === 1) return { metrics: results, norm: recordUpdate(gradients, given) };
    const isFirst = (given[IS_FIRST] as Tensor<'f32'>).gt(0);
    kept.accumulated.forEach((sum, k) => sum.assign(where(isFirst, gradients[k] as Tensor<'f32'>, sum.add(gradients[k] as Tensor<'f32'>))));
    return { metrics: results, norm: {} };
  };

  let program: Program<Specs, Outputs> | null = null;
  let updating: Program<Specs, Norm> | null = null;
  try {
    program = (await device.compile(accumulate === 1 ? { ...specs, ...update } : specs, record as never, { name, ...others })) as unknown as Program<Specs, Outputs>;
    const mean = () => kept.accumulated.map((sum) => sum.div(accumulate));
    if (accumulate > 1) updating = (await device.compile(update, ((given: StepInputs) => recordUpdate(mean(), given)) as never, { name: `update of ${name}`, ...others })) as unknown as Program<Specs, Norm>;
    const parts: Parts = {
      call, optimizer, average: average ?? null, accumulate, accumulated: kept.accumulated, state: kept.state, sums: kept.sums as StoredTensor<'f32'>, metrics, program, updating,
    };
    checkAssigned(parts);
    return new TrainingStep<I, MetricName<R>>(parts);
  } catch (error) {
    program?.dispose();
    updating?.dispose();
    for (const tensor of kept.accumulated) tensor.dispose();
    kept.sums?.dispose();
    throw error;
  }
}

/** Throws 'invalid-argument' for the name of an input that a step adds itself. */
function checkOwnName(argument: string, name: string): void {
  const prefix = Object.values(PREFIXES).find((each) => name.startsWith(each));
  if (prefix !== undefined) throw invalidArgument(argument, `the name '${name}'`, `names that do not begin with '${prefix}'`);
}

/** The numbers that a body gives, by name. Throws 'invalid-argument' for anything but scalars of f32, of which one is the loss. */
function resultsOf(given: unknown): Record<string, Tensor<'f32'>> {
  const results: object = given instanceof Tensor ? { loss: given } : (given as object);
  if (typeof results !== 'object' || results === null || Array.isArray(results) || !((results as { loss?: unknown }).loss instanceof Tensor)) {
    throw invalidArgument('compileStep: the result of body', describe(given), 'the loss, or a record with `loss`');
  }
  for (const [name, tensor] of Object.entries(results) as [string, unknown][]) {
    if (tensor instanceof Tensor && tensor.dtype === 'f32' && tensor.rank === 0) continue;
    throw invalidArgument(`compileStep: the result of body: ${name}`, tensor instanceof Tensor ? nodeText(tensor.node) : describe(tensor), 'a scalar of f32, such as a mean');
  }
  return { ...results } as Record<string, Tensor<'f32'>>;
}

/** All that runs change, by names that tell what it is. */
function stateOf({ optimizer, average, accumulated, state, sums }: Parts): Map<string, StoredTensor> {
  const all = new Map<string, StoredTensor>();
  optimizer.names.forEach((name, k) => {
    all.set(`weights.${name}`, optimizer.weights[k] as StoredTensor);
    if (accumulated.length > 0) all.set(`accumulated.${name}`, accumulated[k] as StoredTensor);
  });
  for (const [name, tensor] of Object.entries(optimizer.state)) all.set(`optimizer.${name}`, tensor);
  for (const [name, tensor] of Object.entries(average?.state ?? {})) all.set(`average.${name}`, tensor);
  for (const [name, tensor] of state) all.set(`state.${name}`, tensor);
  return all.set('metrics', sums);
}

/** Throws 'invalid-graph' where a run changes a stored tensor that no checkpoint would hold. */
function checkAssigned(parts: Parts): void {
  const known = new Set<Cell>([...stateOf(parts).values()].map(({ cell }) => cell));
  const other = Program.insideOf(parts.program).assigned.find((cell) => !known.has(cell));
  if (other === undefined) return;
  throw invalidGraph(`${parts.call}: the body assigns to a stored tensor ${other.dtype} [${other.sizes.join(', ')}] that no checkpoint would hold; takes those of the option 'state' alone`);
}
