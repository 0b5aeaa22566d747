/** Evaluation of plain functions: residuals and derivatives of all instances of a template, in the columns of its data table. */

import type { NamedInputs } from './block-inputs.js';
import { Accuracy, pointsNear } from './plain-accuracy.js';
import { PlainColumns } from './plain-columns.js';
import { correctDerivatives } from './plain-correction.js';
import { CENTRAL, centralDifferences, FORWARD, forwardDifferences, riddersDifferences } from './plain-differences.js';
import type { Differences, PlainInstances } from './plain-instances.js';
import { Noise, pointsAlong } from './plain-noise.js';
import { StepSearch } from './plain-search.js';
import { Steps, type ArrayPlace } from './plain-steps.js';

/**
 * What is computed: residuals, with derivatives, or with derivatives by differences, whatever the function has. 3 asks how exact the derivatives were that were
 * computed last: the relative error of each parameter's, then Σ w e² of the residuals' noise e, or nothing where the function has them.
 */
export type Wanted = 0 | 1 | 2 | 3;

/** Residuals and parameters that have changed by more than this share of them are not near a minimum. */
const FAR = 2 ** -7;

/** A search in noise begins with steps that are shorter than those of the last one, by two to this power. */
const SHORTER = 2;

/** Steps of parameters in which functions are linear are longer by two to this power at first. */
const LINEAR = 12;

/** The distance of points of noise, as a share of the steps. */
const DISTANCE = 0.25;

/** Noise above this share of what residuals and parameters are made of is told: double precision has some tens of times less. */
const TOLD_NOISE = 2 ** -46;

/** By this share of a step two points differ at which rounded results are the same, and what share of those that have changed are then. */
const [BESIDE, MOSTLY] = [2 ** -16, 0.75];

/** The plain function of a template, for one compile. */
export class PlainEvaluator {
  readonly columns: PlainColumns;
  private steps: Steps | null = null;
  private stepSearch: StepSearch | null = null;
  private accuracy: Float64Array = new Float64Array();
  /** The noise of residuals, once measured, and what was last found of it. */
  private noise: Noise | null = null;
  private isNoisy = false;
  /** Of each parameter the ratio of second and first central differences, where they were last taken. */
  private readonly bends: Float64Array;
  /** Of each parameter the error of its derivatives that a search at the present point has found, else NaN. */
  private readonly searched: Float64Array;
  /** The residuals at the last derivatives. */
  private readonly before: Float64Array;

  /** `weights` are those of the block's instances; null without. */
  constructor(
    name: string,
    inputs: NamedInputs,
    data: ReadonlyMap<string, Float64Array>,
    private readonly plain: PlainInstances,
    slotArrays: readonly object[],
    private readonly arrays: readonly ArrayPlace[],
    private readonly numParams: number,
    weights: Float64Array | null,
  ) {
    this.columns = new PlainColumns(name, inputs, data, plain, slotArrays, weights);
    const { count, outputs } = this.columns;
    [this.bends, this.searched, this.before] = [new Float64Array(numParams), new Float64Array(numParams), new Float64Array(count * outputs)];
  }

  /** Returns the columns of the table, which the next call overwrites. Throws 'non-finite' where the function throws. */
  readonly evaluate = (x: Float64Array, wanted: Wanted): Float64Array => {
    const { columns } = this;
    const { jacobian } = this.plain.function;
    if (wanted === 3) return this.accuracy;
    columns.evaluate(x);
    if (wanted === 1 && jacobian !== null) columns.differentiate(x, jacobian);
    else if (wanted !== 0) this.takeDifferences(x, wanted);
    return columns.table;
  };

  private takeDifferences(x: Float64Array, wanted: 1 | 2): void {
    const kind = wanted === 1 ? this.plain.function.differences : 'ridders';
    this.steps ??= new Steps(this.numParams, this.columns.positions(this.numParams), this.arrays);
    const { steps } = this;
    const accuracy = new Accuracy(this.numParams);
    steps.begin(x);
    this.searched.fill(NaN);
    // At first central differences find the scales of parameters, and at the end what one-sided ones leave out.
    let used: Differences = kind === 'forward' && this.noise !== null && !this.isNoisy && this.isFar() ? 'forward' : 'central';
    this.differ(x, used);
    let isNoisy = this.isNoisy || (used === 'forward' && this.measureNoiseNear(x));
    if (isNoisy && used === 'forward') {
      used = 'central';
      steps.clear();
      this.differ(x, used);
    }
    if (used === 'central') {
      const isRounded = this.search(x);
      // Beside a step that is far too long what bends looks like noise.
      isNoisy = isNoisy || this.measureNoiseNear(x) || isRounded;
      if (isNoisy) {
        this.search(x);
        // The noise that the steps see.
        isNoisy = this.measureNoise(x);
      }
      for (const at of steps.positions) this.bends[at] = Math.sqrt(steps.truncation(at));
    }
    this.isNoisy = isNoisy;
    // The steps that noise needs are those of the search.
    if (kind === 'ridders' && !isNoisy) this.differ(x, (used = kind), { accuracy });
    if (wanted === 1) {
      this.judge(x, used, accuracy);
      // One-sided differences are those of points that are far from a minimum.
      if (used !== 'forward') this.correct(x);
    }
    this.before.set(this.columns.table.subarray(0, this.before.length));
  }

  /** Fills derivatives with differences: all, or those by parameters for which a search has a step. */
  private differ(x: Float64Array, kind: Differences, { accuracy, search }: { accuracy?: Accuracy; search?: StepSearch } = {}): void {
    const { columns } = this;
    const { count, outputs, parameters } = columns;
    const steps = this.steps as Steps;
    const [at, first, second, result, errors] = vectors(outputs);
    for (let instance = 0; instance < count; instance++) {
      if (columns.isLeftOut(instance)) continue;
      columns.load(instance, 0, at);
      for (let local = 0; local < parameters; local++) {
        const position = columns.positionOf(instance, local);
        if (search?.isDue[position] === 0) continue;
        const x0 = x[position] as number;
        const along = (value: number, out: Float64Array): void => columns.look(x, instance, out, local, value);
        const parameter = { x: x0, position, bounds: columns.boundsAt(position, x0) };
        const { powers } = search ?? steps;
        if (kind === 'central') centralDifferences(parameter, along, at, [first, second], steps, powers[position] as number, result, errors);
        else if (kind === 'forward') forwardDifferences(parameter, along, at, first, steps, result);
        else riddersDifferences(parameter, along, at, [first, second], steps, result, errors, this.noiseOf(instance));
        search?.take(position, (instance * parameters + local) * outputs, at, result, errors);
        if (search === undefined) columns.store(instance, result, 0, 1, 1 + local);
        accuracy?.addErrors(position, errors);
      }
    }
  }

  /** Searches for steps of parameters that are in doubt, and takes differences by them. Returns whether results are rounded. */
  private search(x: Float64Array): boolean {
    const steps = this.steps as Steps;
    const positions = steps.positions.filter((at) => Number.isNaN(this.searched[at]) && steps.isInDoubt(at, this.isNoisy));
    if (positions.length === 0) return false;
    const search = (this.stepSearch ??= new StepSearch(this.numParams, this.columns.table.length));
    const flat = new Set(positions.filter((at) => steps.isFlat(at)));
    for (const at of positions) {
      const power = steps.powers[at] as number;
      // Noise that was met before may have become less.
      if (steps.isNoisy(at)) search.begin(at, power > 0 ? power - SHORTER : power, true);
      else search.begin(at, steps.isLinear(at) && !steps.isGuess(at) ? Math.max(power, LINEAR) : power, false);
    }
    do this.differ(x, 'central', { search });
    while (search.advance(positions, steps.most, (at, power) => steps.step(at, CENTRAL, power)));
    let isRounded = false;
    for (const at of positions) {
      const [power, error] = [search.best[at] as number, search.errors[at] as number];
      if (flat.has(at)) {
        // An exact function that changes farther away is flat here.
        if (!search.hasChanged(at) || !this.isRoundedAlong(x, at, search.changed[at] as number)) continue;
        isRounded = true;
      }
      [steps.powers[at], this.searched[at]] = [power, error];
    }
    steps.clear();
    this.differ(x, 'central');
    for (const at of positions) steps.settle(at);
    return isRounded;
  }

  /** Whether residuals that a step by a parameter changes stay as they are beside its end, so that what changes them is rounding. */
  private isRoundedAlong(x: Float64Array, position: number, power: number): boolean {
    const { function: plain } = this.plain;
    const step = (this.steps as Steps).step(position, CENTRAL, power);
    const [at, end, beside] = vectors(plain.outputs);
    let [changed, same] = [0, 0];
    for (const side of [1, -1]) {
      const [there, near] = [x.slice(), x.slice()];
      const { lower, upper } = this.columns.boundsAt(position, x[position] as number);
      there[position]! += side * step;
      near[position]! += side * (1 - BESIDE) * step;
      if (!((there[position] as number) >= lower && (there[position] as number) <= upper)) continue;
      this.columns.eachLocal(position, (instance) => {
        this.columns.load(instance, 0, at);
        this.columns.look(there, instance, end);
        this.columns.look(near, instance, beside);
        for (let i = 0; i < at.length; i++) {
          if (!Number.isFinite(end[i]) || end[i] === at[i]) continue;
          changed++;
          if (end[i] === beside[i]) same++;
        }
      });
    }
    return same > MOSTLY * changed;
  }

  /** Whether residuals and parameters have changed by much since the last derivatives. */
  private isFar(): boolean {
    const { before } = this;
    const { table } = this.columns;
    let [change, size] = [0, 0];
    for (let i = 0; i < before.length; i++) {
      change += ((table[i] as number) - (before[i] as number)) ** 2;
      size += (table[i] as number) ** 2;
    }
    return change > FAR ** 2 * size && (this.steps as Steps).travel > FAR;
  }

  /** Measures noise at two points beside x. Returns whether it is notable, or hidden where rounded results are the same. */
  private measureNoiseNear(x: Float64Array): boolean {
    const steps = this.steps as Steps;
    const points = pointsNear(x, steps.positions, (at) => steps.step(at, CENTRAL), this.columns.bounds);
    let isStill = false;
    this.eachNoise(points, (noise, first, rows) => (isStill = noise.takeNear(first, rows) || isStill));
    return this.hasNoise(x) || isStill;
  }

  /** Measures noise by the steps of differences. Returns whether there is any. */
  private measureNoise(x: Float64Array): boolean {
    const steps = this.steps as Steps;
    const points = pointsAlong(x, steps.positions, (at) => DISTANCE * steps.step(at, CENTRAL), (at) => this.columns.boundsAt(at, x[at] as number));
    this.eachNoise(points, (noise, first, rows) => noise.take(first, rows));
    return this.hasNoise(x);
  }

  private hasNoise(x: Float64Array): boolean {
    const steps = this.steps as Steps;
    return this.toldNoise(x) > 0 || steps.positions.some((at) => steps.isNoisy(at));
  }

  /** Gives the residuals at x and some points to what measures their noise. */
  private eachNoise(points: readonly Float64Array[], take: (noise: Noise, first: number, rows: readonly Float64Array[]) => void): void {
    const { count, function: plain } = this.plain;
    const { outputs } = plain;
    const steps = this.steps as Steps;
    const noise = (this.noise ??= new Noise(count * outputs));
    const rows = Array.from({ length: points.length + 1 }, () => new Float64Array(outputs));
    steps.forgetNoise();
    for (let instance = 0; instance < count; instance++) {
      if (this.columns.isLeftOut(instance)) continue;
      this.columns.load(instance, 0, rows[0] as Float64Array);
      points.forEach((point, i) => this.columns.look(point, instance, rows[i + 1] as Float64Array));
      take(noise, instance * outputs, rows);
      for (let local = 0; local < this.columns.parameters; local++) steps.addNoise(this.columns.positionOf(instance, local), this.noiseOf(instance));
    }
  }

  /** Σ w e² of the noise e, or 0 where double precision may explain it: as a share of the residuals and of what parameters make of them. */
  private toldNoise(x: Float64Array): number {
    let [told, size] = [0, 0];
    const column = new Float64Array(this.plain.function.outputs);
    for (let instance = 0; instance < this.plain.count; instance++) {
      if (this.columns.isLeftOut(instance)) continue;
      const noise = this.noiseOf(instance);
      for (let local = -1; local < this.columns.parameters; local++) {
        const factor = local < 0 ? 1 : (x[this.columns.positionOf(instance, local)] as number);
        this.columns.load(instance, 1 + local, column);
        column.forEach((entry, i) => (size += this.columns.weightOf(instance, i) * (factor * entry) ** 2 || 0));
      }
      for (let i = 0; i < noise.length; i++) told += this.columns.weightOf(instance, i) * (noise[i] as number);
    }
    return told > TOLD_NOISE ** 2 * size ? told : 0;
  }

  private noiseOf(instance: number): Float64Array {
    const { outputs } = this.plain.function;
    return (this.noise as Noise).squares.subarray(instance * outputs, (instance + 1) * outputs);
  }

  /** Computes how exact the derivatives in the table are, which are differences of a kind at x. */
  private judge(x: Float64Array, kind: Differences, accuracy: Accuracy): void {
    const { count, function: plain } = this.plain;
    const steps = this.steps as Steps;
    const told = this.toldNoise(x);
    const [at, column] = vectors(plain.outputs);
    for (let instance = 0; instance < count; instance++) {
      if (this.columns.isLeftOut(instance)) continue;
      this.columns.load(instance, 0, at);
      for (let local = 0; local < this.columns.parameters; local++) {
        const position = this.columns.positionOf(instance, local);
        this.columns.load(instance, 1 + local, column);
        accuracy.addDerivatives(position, column);
        // Ridders' method knows its errors.
        if (kind !== 'ridders') accuracy.addNoise(position, column, at, this.noiseOf(instance), told > 0);
      }
    }
    const error = (at: number): number => {
      if (kind === 'ridders') return 0;
      if (kind === 'forward') return FORWARD * Math.max(1, (this.bends[at] as number) / CENTRAL);
      return (this.searched[at] as number) || steps.truncation(at);
    };
    const step = (position: number): number => steps.step(position, kind === 'forward' ? FORWARD : CENTRAL);
    this.accuracy = accuracy.relative(steps.positions, this.arrays, step, error, told);
  }

  /** Corrects derivatives in directions which their errors leave in doubt. */
  private correct(x: Float64Array): void {
    if (this.arrays.some(({ manifold }) => manifold !== 'euclidean')) return;
    const table = this.columns.table.slice();
    const accuracy = correctDerivatives(this.columns, this.steps as Steps, x, this.accuracy, this.isNoisy);
    if (accuracy === null) this.columns.table.set(table);
    else this.accuracy = accuracy;
  }

}

/** Five lists of zeros. */
function vectors(length: number): readonly [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array] {
  return [new Float64Array(length), new Float64Array(length), new Float64Array(length), new Float64Array(length), new Float64Array(length)];
}
