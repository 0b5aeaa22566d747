/** The columns of a plain function's data table: residuals and derivatives of all instances, and the values that the function is called with. */

import { describe, ResiduaError } from '../arguments/errors.js';
import type { NamedInputs } from './block-inputs.js';
import { DataInput, DataStarInput, offsetsOf, type AnyInput } from './inputs.js';
import { indexReader } from './instance-tables.js';
import type { Bounds } from './plain-differences.js';
import type { PlainEvaluation, PlainInstances } from './plain-instances.js';
import type { ArrayPlace } from './plain-steps.js';

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

/** The columns of a template, for one compile. */
export class PlainColumns {
  /** Bounds of all parameters, at which differences stop; null while there are none. */
  bounds: { readonly lower: Float64Array; readonly upper: Float64Array } | null = null;
  private readonly slots: Slot[] = [];
  private readonly data = new Map<string, Data>();
  private readonly values: Readonly<Record<string, Float64Array>>;
  /** The functions whose first call has been checked. */
  private readonly written = new Set<PlainEvaluation>();
  /** Residuals, then derivatives by each parameter, of all instances. */
  readonly table: Float64Array;
  private readonly residuals: Float64Array;
  private readonly derivatives: Float64Array;
  /** Of each parameter of an instance its slot and its number there. */
  private readonly locals: (readonly [slot: Slot, component: number])[];

  /** `weights` are those of the block's instances; null without. */
  constructor(
    private readonly name: string,
    inputs: NamedInputs,
    data: ReadonlyMap<string, Float64Array>,
    private readonly plain: PlainInstances,
    slotArrays: readonly object[],
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

  /** Computes the residuals of all instances. Throws 'non-finite' where the function throws. */
  evaluate(x: Float64Array): void {
    const { count, function: plain } = this.plain;
    for (let instance = 0; instance < count; instance++) {
      if (this.isLeftOut(instance)) this.fill(instance, 0);
      else {
        this.call(plain.evaluate, 'evaluate', x, instance, this.residuals);
        this.checkWritten(plain.evaluate, 'evaluate', x, instance, this.residuals);
        this.store(instance, this.residuals, 0, 1, 0);
      }
    }
  }

  /** Computes derivatives by the function that the application has for them. */
  differentiate(x: Float64Array, jacobian: PlainEvaluation): void {
    const { derivatives, locals } = this;
    for (let instance = 0; instance < this.plain.count; instance++) {
      if (this.isLeftOut(instance)) continue;
      this.call(jacobian, 'jacobian', x, instance, derivatives);
      this.checkWritten(jacobian, 'jacobian', x, instance, derivatives);
      for (let local = 0; local < locals.length; local++) this.store(instance, derivatives, local, locals.length, 1 + local);
    }
  }

  /** Visits what an instance that takes part has of a parameter. */
  eachLocal(position: number, visit: (instance: number, local: number) => void): void {
    for (let instance = 0; instance < this.plain.count; instance++) {
      if (this.isLeftOut(instance)) continue;
      for (let local = 0; local < this.locals.length; local++) if (this.positionOf(instance, local) === position) visit(instance, local);
    }
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

  /** Calls a function for an instance, with another value for one of its numbers if that is given. */
  private call(work: PlainEvaluation, what: string, x: Float64Array, instance: number, out: Float64Array, local = -1, value = 0, blank = NaN): void {
    // All are written for each call: what the function writes to its values does not stay.
    for (const { positions, dim, view, place } of this.slots) {
      const first = positions[instance] as number;
      for (let i = 0; i < dim; i++) view[place + i] = x[first + i] as number;
    }
    const changed = this.locals[local];
    if (changed !== undefined) changed[0].view[changed[0].place + changed[1]] = value;
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
    this.call(work, what, x, instance, out, -1, 0, 0);
    const place = first.findIndex((number, k) => Number.isNaN(number) && out[k] === 0);
    out.set(first);
    const { instances } = this.plain;
    if (place < 0) return;
    throw this.failure(instances === null ? instance : (instances[instance] as number), `${what} left out[${place}] as it was; it is to write its ${out.length} numbers to out`);
  }

  /** Computes residuals of an instance at a point of differences: NaN where the function throws, since no step of the solver leads there. */
  look(x: Float64Array, instance: number, out: Float64Array, local?: number, value?: number): void {
    try {
      this.call(this.plain.function.evaluate, 'evaluate', x, instance, out, local, value);
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
  positions(numParams: number): Uint32Array {
    const seen = new Uint8Array(numParams);
    for (const { positions, dim } of this.slots) for (const first of positions) seen.fill(1, first, first + dim);
    return Uint32Array.from(seen.keys()).filter((position) => seen[position] === 1);
  }
}
