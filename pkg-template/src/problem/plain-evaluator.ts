/** Evaluation of plain functions: residuals and derivatives of all instances of a template, in the columns of its data table. */

import { describe, ResiduaError } from '../arguments/errors.js';
import type { NamedInputs } from './block-inputs.js';
import { DataInput, DataStarInput, offsetsOf, type AnyInput } from './inputs.js';
import { indexReader } from './instance-tables.js';
import { Accuracy, pointsNear } from './plain-accuracy.js';
import { CENTRAL, centralDifferences, FORWARD, forwardDifferences, riddersDifferences, type Bounds } from './plain-differences.js';
import { correctDerivatives, type Columns } from './plain-correction.js';
import type { Differences, PlainEvaluation, PlainInstances } from './plain-instances.js';
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

/** The numbers of one block of an instance: where they are among all, by instance, and where the function finds them. */
interface Slot {
  readonly positions: Uint32Array;
  readonly dim: number;
  readonly view: Float64Array;
  readonly place: number;
}

/** The numbers of a data input, and where the function finds those of an instance. */
interface Data {
  readonly input: DataInput | DataStarInput;
  readonly view: Float64Array;
  numbers: Float64Array;
}

/** The plain function of a template, for one compile. */
export class PlainEvaluator implements Columns {
  /** Bounds of all parameters, at which differences stop; null while there are none. */
  bounds: { readonly lower: Float64Array; readonly upper: Float64Array } | null = null;
  private readonly slots: Slot[] = [];
  private readonly data = new Map<string, Data>();
  private readonly values: Readonly<Record<string, Float64Array>>;
  /** The functions whose first call has been checked. */
  private readonly written = new Set<PlainEvaluation>();
  private readonly table: Float64Array;
  private readonly residuals: Float64Array;
  private readonly derivatives: Float64Array;
  /** Of each parameter of an instance its slot and its number there. */
  private readonly locals: (readonly [slot: Slot, component: number])[];
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
    private readonly name: string,
    inputs: NamedInputs,
    data: ReadonlyMap<string, Float64Array>,
    private readonly plain: PlainInstances,
    slotArrays: readonly object[],
    private readonly arrays: readonly ArrayPlace[],
    private readonly numParams: number,
    private weights: Float64Array | null,
  ) {
    const { count, instances } = plain;
    const { outputs } = plain.function;
    const read = indexReader(inputs, { count, instances });
    const values: Record<string, Float64Array> = {};
    let slot = 0;
    for (const [key, input] of inputs) {
      if (input instanceof DataInput || input instanceof DataStarInput) {
        if (data.has(key)) this.data.set(key, { input, view: (values[key] = new Float64Array(this.lengthOf(input))), numbers: data.get(key) as Float64Array });
        continue;
      }
      const { dim } = input.array;
      const view = (values[key] = new Float64Array(dim * this.lengthOf(input)));
      for (let place = 0; place < view.length; place += dim, slot++) {
        const { offset } = slotArrays[slot] as ArrayPlace;
        this.slots.push({ positions: read(slot, 0, count).map((block) => offset + block * dim), dim, view, place });
      }
    }
    this.values = Object.freeze(values);
    this.locals = this.slots.flatMap((of) => Array.from({ length: of.dim }, (_, component) => [of, component] as const));
    this.table = new Float64Array(count * outputs * (1 + this.locals.length));
    [this.bends, this.searched, this.before] = [new Float64Array(numParams), new Float64Array(numParams), new Float64Array(count * outputs)];
    [this.residuals, this.derivatives] = [new Float64Array(outputs), new Float64Array(outputs * this.locals.length)];
  }

  get count(): number {
    return this.plain.count;
  }

  get outputs(): number {
    return this.plain.function.outputs;
  }

  get parameters(): number {
    return this.locals.length;
  }

  /** Sets the numbers of a data input, or the weights. */
  setData(key: string, numbers: Float64Array, isWeight: boolean): void {
    const data = this.data.get(key);
    if (data !== undefined) data.numbers = numbers;
    if (isWeight) this.weights = numbers;
  }

  /** Returns the columns of the table, which the next call overwrites. Throws 'non-finite' where the function throws. */
  readonly evaluate = (x: Float64Array, wanted: Wanted): Float64Array => {
    const { count, function: plain } = this.plain;
    if (wanted === 3) return this.accuracy;
    for (let instance = 0; instance < count; instance++) {
      if (this.isLeftOut(instance)) this.fill(instance, 0);
      else {
        this.call(plain.evaluate, 'evaluate', x, instance, this.residuals);
        this.checkWritten(plain.evaluate, 'evaluate', x, instance, this.residuals);
        this.store(instance, this.residuals, 0, 1, 0);
      }
    }
    if (wanted === 0) return this.table;
    if (wanted === 1 && plain.jacobian !== null) this.differentiate(x, plain.jacobian);
    else this.takeDifferences(x, wanted);
    return this.table;
  };

  private differentiate(x: Float64Array, jacobian: PlainEvaluation): void {
    const { derivatives, locals } = this;
    for (let instance = 0; instance < this.plain.count; instance++) {
      if (this.isLeftOut(instance)) continue;
      this.call(jacobian, 'jacobian', x, instance, derivatives);
      this.checkWritten(jacobian, 'jacobian', x, instance, derivatives);
      for (let local = 0; local < locals.length; local++) this.store(instance, derivatives, local, locals.length, 1 + local);
    }
  }

  private takeDifferences(x: Float64Array, wanted: 1 | 2): void {
    const kind = wanted === 1 ? this.plain.function.differences : 'ridders';
    this.steps ??= new Steps(this.numParams, this.positions(), this.arrays);
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
    this.before.set(this.table.subarray(0, this.before.length));
  }

  /** Fills derivatives with differences: all, or those by parameters for which a search has a step. */
  private differ(x: Float64Array, kind: Differences, { accuracy, search }: { accuracy?: Accuracy; search?: StepSearch } = {}): void {
    const { count, function: plain } = this.plain;
    const { locals } = this;
    const steps = this.steps as Steps;
    const [at, first, second, result, errors] = vectors(plain.outputs);
    for (let instance = 0; instance < count; instance++) {
      if (this.isLeftOut(instance)) continue;
      this.load(instance, 0, at);
      for (let local = 0; local < locals.length; local++) {
        const [slot, component] = locals[local] as (typeof locals)[number];
        const position = this.positionOf(instance, local);
        if (search?.isDue[position] === 0) continue;
        const x0 = x[position] as number;
        const along = (value: number, out: Float64Array): void => this.look(x, instance, out, slot, component, value);
        const parameter = { x: x0, position, bounds: this.boundsAt(position, x0) };
        const { powers } = search ?? steps;
        if (kind === 'central') centralDifferences(parameter, along, at, [first, second], steps, powers[position] as number, result, errors);
        else if (kind === 'forward') forwardDifferences(parameter, along, at, first, steps, result);
        else riddersDifferences(parameter, along, at, [first, second], steps, result, errors, this.noiseOf(instance));
        search?.take(position, (instance * locals.length + local) * plain.outputs, at, result, errors);
        if (search === undefined) this.store(instance, result, 0, 1, 1 + local);
        accuracy?.addErrors(position, errors);
      }
    }
  }

  /** Searches for steps of parameters that are in doubt, and takes differences by them. Returns whether results are rounded. */
  private search(x: Float64Array): boolean {
    const steps = this.steps as Steps;
    const positions = steps.positions.filter((at) => Number.isNaN(this.searched[at]) && steps.isInDoubt(at, this.isNoisy));
    if (positions.length === 0) return false;
    const search = (this.stepSearch ??= new StepSearch(this.numParams, this.table.length));
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
      const { lower, upper } = this.boundsAt(position, x[position] as number);
      there[position]! += side * step;
      near[position]! += side * (1 - BESIDE) * step;
      if (!((there[position] as number) >= lower && (there[position] as number) <= upper)) continue;
      this.eachLocal(position, (instance) => {
        this.load(instance, 0, at);
        this.look(there, instance, end);
        this.look(near, instance, beside);
        for (let i = 0; i < at.length; i++) {
          if (!Number.isFinite(end[i]) || end[i] === at[i]) continue;
          changed++;
          if (end[i] === beside[i]) same++;
        }
      });
    }
    return same > MOSTLY * changed;
  }

  /** Visits what an instance that takes part has of a parameter. */
  private eachLocal(position: number, visit: (instance: number, local: number) => void): void {
    for (let instance = 0; instance < this.plain.count; instance++) {
      if (this.isLeftOut(instance)) continue;
      for (let local = 0; local < this.locals.length; local++) if (this.positionOf(instance, local) === position) visit(instance, local);
    }
  }

  /** Whether residuals and parameters have changed by much since the last derivatives. */
  private isFar(): boolean {
    const { before, table } = this;
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
    const points = pointsNear(x, steps.positions, (at) => steps.step(at, CENTRAL), this.bounds);
    let isStill = false;
    this.eachNoise(points, (noise, first, rows) => (isStill = noise.takeNear(first, rows) || isStill));
    return this.hasNoise(x) || isStill;
  }

  /** Measures noise by the steps of differences. Returns whether there is any. */
  private measureNoise(x: Float64Array): boolean {
    const steps = this.steps as Steps;
    const points = pointsAlong(x, steps.positions, (at) => DISTANCE * steps.step(at, CENTRAL), (at) => this.boundsAt(at, x[at] as number));
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
      if (this.isLeftOut(instance)) continue;
      this.load(instance, 0, rows[0] as Float64Array);
      points.forEach((point, i) => this.look(point, instance, rows[i + 1] as Float64Array));
      take(noise, instance * outputs, rows);
      for (let local = 0; local < this.locals.length; local++) steps.addNoise(this.positionOf(instance, local), this.noiseOf(instance));
    }
  }

  /** Σ w e² of the noise e, or 0 where double precision may explain it: as a share of the residuals and of what parameters make of them. */
  private toldNoise(x: Float64Array): number {
    let [told, size] = [0, 0];
    const column = new Float64Array(this.plain.function.outputs);
    for (let instance = 0; instance < this.plain.count; instance++) {
      if (this.isLeftOut(instance)) continue;
      const noise = this.noiseOf(instance);
      for (let local = -1; local < this.locals.length; local++) {
        const factor = local < 0 ? 1 : (x[this.positionOf(instance, local)] as number);
        this.load(instance, 1 + local, column);
        column.forEach((entry, i) => (size += this.weightOf(instance, i) * (factor * entry) ** 2 || 0));
      }
      for (let i = 0; i < noise.length; i++) told += this.weightOf(instance, i) * (noise[i] as number);
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
      if (this.isLeftOut(instance)) continue;
      this.load(instance, 0, at);
      for (let local = 0; local < this.locals.length; local++) {
        const position = this.positionOf(instance, local);
        this.load(instance, 1 + local, column);
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
    const table = this.table.slice();
    const { positions } = this.steps as Steps;
    const accuracy = correctDerivatives(this, x, positions, this.accuracy, this.isNoisy);
    if (accuracy === null) this.table.set(table);
    else this.accuracy = accuracy;
  }

  /** The step of central differences by a parameter. */
  stepOf(position: number): number {
    return (this.steps as Steps).step(position, CENTRAL);
  }

  /** The weight of a residual of an instance. */
  weightOf(instance: number, output: number): number {
    if (this.weights === null) return 1;
    return this.weights[this.plain.function.perResidual ? output : (this.plain.instances?.[instance] ?? instance)] as number;
  }

  positionOf(instance: number, local: number): number {
    const [slot, component] = this.locals[local] as (typeof this.locals)[number];
    return (slot.positions[instance] as number) + component;
  }

  /** The bounds of a parameter for differences at x, which ignore those that x is beyond, or that leave no room. */
  boundsAt(position: number, x: number): Bounds {
    const [lower, upper] = [this.bounds?.lower[position] ?? -Infinity, this.bounds?.upper[position] ?? Infinity];
    return x >= lower && x <= upper && lower < upper ? { lower, upper } : { lower: -Infinity, upper: Infinity };
  }

  /** Calls a function for an instance, with another value for one of its numbers if a slot is given. */
  private call(work: PlainEvaluation, what: string, x: Float64Array, instance: number, out: Float64Array, changed?: Slot, component = 0, value = 0, blank = NaN): void {
    // All are written for each call: what the function writes to its values does not stay.
    for (const { positions, dim, view, place } of this.slots) {
      const first = positions[instance] as number;
      for (let i = 0; i < dim; i++) view[place + i] = x[first + i] as number;
    }
    if (changed !== undefined) changed.view[changed.place + component] = value;
    const { instances } = this.plain;
    const ofBlock = instances === null ? instance : (instances[instance] as number);
    for (const { input, view, numbers } of this.data.values()) {
      const offsets = offsetsOf(input);
      const first = (offsets === null ? ofBlock : (offsets[ofBlock] as number)) * input.dim;
      for (let i = 0; i < view.length; i++) view[i] = numbers[first + i] as number;
    }
    const { length } = out;
    out.fill(blank);
    let returned: unknown;
    try {
      returned = work(this.values, out);
    } catch (thrown) {
      throw this.failure(ofBlock, `${what} threw ${thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : describe(thrown)}`);
    }
    if (out.length !== length) throw this.failure(ofBlock, `${what} took the memory of out`);
    if (typeof returned !== 'object' || returned === null || returned === out || !Number.isNaN(out[0])) return;
    throw this.failure(ofBlock, `${what} returned ${describe(returned)} and left out as it was; it is to write its ${length} numbers to out`);
  }

  /** Throws where the first call of a function has left numbers as they were: it would leave them so in every call. */
  private checkWritten(work: PlainEvaluation, what: string, x: Float64Array, instance: number, out: Float64Array): void {
    if (this.written.has(work)) return;
    this.written.add(work);
    const first = out.slice();
    if (!first.some(Number.isNaN)) return;
    this.call(work, what, x, instance, out, undefined, 0, 0, 0);
    const place = first.findIndex((number, k) => Number.isNaN(number) && out[k] === 0);
    out.set(first);
    const { instances } = this.plain;
    if (place < 0) return;
    throw this.failure(instances === null ? instance : (instances[instance] as number), `${what} left out[${place}] as it was; it is to write its ${out.length} numbers to out`);
  }

  /** Computes residuals of an instance at a point of differences: NaN where the function throws, since no step of the solver leads there. */
  look(x: Float64Array, instance: number, out: Float64Array, changed?: Slot, component = 0, value = 0): void {
    try {
      this.call(this.plain.function.evaluate, 'evaluate', x, instance, out, changed, component, value);
    } catch (error) {
      if (!(error instanceof ResiduaError)) throw error;
      out.fill(NaN);
    }
  }

  private failure(instance: number, what: string): ResiduaError {
    const where = this.plain.function.perResidual ? '' : `, instance ${instance}`;
    return new ResiduaError('non-finite', `residual block '${this.name}'${where}: ${what}`);
  }

  /** Writes numbers of `from`, beginning at `first` and `stride` apart, to a column of each residual of an instance: 0 for residuals, then derivatives. */
  store(instance: number, from: Float64Array, first: number, stride: number, column: number): void {
    const { table } = this;
    const { outputs } = this.plain.function;
    const [start, step] = this.placeOf(instance, column);
    for (let output = 0, at = start, source = first; output < outputs; output++, at += step, source += stride) table[at] = from[source] as number;
  }

  /** Reads a column of an instance. */
  load(instance: number, column: number, into: Float64Array): void {
    const [start, step] = this.placeOf(instance, column);
    for (let output = 0, at = start; output < into.length; output++, at += step) into[output] = this.table[at] as number;
  }

  private fill(instance: number, value: number): void {
    const { outputs } = this.plain.function;
    for (let column = 0; column <= this.locals.length; column++) {
      const [start, step] = this.placeOf(instance, column);
      for (let output = 0, at = start; output < outputs; output++, at += step) this.table[at] = value;
    }
  }

  /** Where the numbers of an instance's residuals begin, and how far apart they are. */
  private placeOf(instance: number, column: number): readonly [start: number, step: number] {
    const { count, isSplit } = this.plain;
    const { outputs } = this.plain.function;
    const start = column * outputs * count;
    return isSplit ? [start + instance * outputs, 1] : [start + instance, count];
  }

  isLeftOut(instance: number): boolean {
    if (this.weights === null || this.plain.function.perResidual) return false;
    return this.weights[this.plain.instances?.[instance] ?? instance] === 0;
  }

  private lengthOf(input: AnyInput): number {
    const instance = this.plain.instances?.[0] ?? 0;
    const offsets = offsetsOf(input);
    const entries = offsets === null ? 1 : (offsets[instance + 1] as number) - (offsets[instance] as number);
    if (input instanceof DataInput || input instanceof DataStarInput) return input.dim * entries;
    return 'width' in input ? input.width : entries;
  }

  /** The positions of all parameters that instances take, each once. */
  private positions(): Uint32Array {
    const seen = new Uint8Array(this.numParams);
    for (const { positions, dim } of this.slots) for (const first of positions) seen.fill(1, first, first + dim);
    return Uint32Array.from(seen.keys()).filter((position) => seen[position] === 1);
  }
}

/** Five lists of zeros. */
function vectors(length: number): readonly [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array] {
  return [new Float64Array(length), new Float64Array(length), new Float64Array(length), new Float64Array(length), new Float64Array(length)];
}
