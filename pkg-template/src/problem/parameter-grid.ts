/** Grids of parameters: the numbers of a grid are blocks of a parameter array, and instances read them at places that are known. */

import { describe, invalidArgument } from '../arguments/errors.js';
import { checkWholeNumber, copyNumbers, type Numbers } from '../arguments/numeric-arguments.js';
import { checkOptions } from '../arguments/options.js';
import { makeBlock, type Block, type Tuple } from '../expressions/block.js';
import { literal, type Value } from '../expressions/value.js';
import { checkLayout, type GridSize } from './grid.js';
import { kernelOf, TAPS, weighted, weightsAt, type GridBorder, type GridInterpolation } from './grid-interpolation.js';
import { source } from './grid-table.js';
import { DataInput, GridInput, type Input, type PlacedGrid } from './inputs.js';
import { ParameterBlocks, type ParameterArray } from './parameter-array.js';

/** What a grid of parameters is made of. */
export interface ParameterGridSpec<S extends GridSize = GridSize, C extends number = number> {
  /** Width, height and depth: how many places there are along each axis. */
  readonly size: S;
  /**
   * The array whose blocks are the numbers: as many blocks as places, of as many numbers as there are channels. The block of the place (x, y, z) is block
   * x + width · (y + height · z). The array has no manifold.
   */
  readonly values: ParameterArray<C>;
  /** How the grid is read between places; 'cubic' by default. */
  readonly interpolation?: GridInterpolation;
  /** What stands around the grid; 'clamp' by default. A number takes a grid without parameters. */
  readonly border?: Exclude<GridBorder, number>;
}

/** A grid of parameters at a place, inside a residual or constraint function. */
export interface GridPoint<D extends number = number, C extends number = number> {
  /** The grid there: a Value, or with several channels a tuple of Values. */
  readonly value: Block<C>;
  /**
   * A derivative there by the coordinates, of the given order along each axis: `derivative(1, 0)` is that along the first axis, `derivative(1, 1)` the mixed
   * second one. Where it jumps, it is the one above. Throws 'invalid-argument' for another number of orders and for what is no whole number from 0.
   */
  derivative(...orders: Tuple<number, D>): Block<C>;
}

/**
 * A grid whose numbers are the blocks of a parameter array: a surface or field that is fitted. Made by Problem.grid. Each instance depends on the blocks around
 * its place alone: one for each with 'nearest', 2 along each axis with 'linear', 4 with 'cubic' and 'b-spline'.
 */
export interface ParameterGrid<D extends number = number, C extends number = number> {
  /** Its name, unique among the grids of the problem. */
  readonly name: string;
  /** How many places there are along each axis. */
  readonly size: readonly number[];
  /** Numbers at a place. */
  readonly channels: number;
  /**
   * An input: a place for each instance, of which residual functions get the value and its derivatives. `coordinates` has a number for each axis, instance
   * after instance, in places: 0 is the first block's, width − 1 the last. They decide which blocks an instance depends on, so they are data: no parameter
   * moves them, and
   * `setData` does not set them. `append` takes those of new instances. Throws 'invalid-argument' for numbers that are not finite, or no multiple of the axes.
   */
  at(coordinates: Numbers): Input<GridPoint<D, C>>;
  /**
   * The grid at places, by the current numbers of its array in double precision, channels side by side. `orders` asks for a derivative as GridPoint.derivative
   * does. Throws as `at`.
   */
  evaluate(coordinates: Numbers, orders?: Tuple<number, D>): Float64Array;
}

/** The implementation of ParameterGrid. */
export class NodeGrid implements ParameterGrid, PlacedGrid {
  readonly size: readonly number[];
  readonly channels: number;
  private readonly array: ParameterBlocks;
  private readonly interpolation: GridInterpolation;
  private readonly border: GridBorder;

  constructor(owner: object, readonly name: string, spec: ParameterGridSpec) {
    const call = `grid "${name}"`;
    checkOptions(`${call}: spec`, spec, { size: true, values: true, interpolation: true, border: true });
    const { size, interpolation = 'cubic', border = 'clamp' } = spec;
    const array = spec.values as unknown as ParameterBlocks;
    checkLayout(call, size, interpolation, border);
    if (typeof border === 'number') throw invalidArgument(`${call}: border`, describe(border), "'clamp', 'mirror' or 'repeat' in a grid of parameters");
    if (array.owner !== owner) throw invalidArgument(`${call}: values`, `"${array.name}", an array of another problem`, 'an array of this one');
    const places = size.reduce((product, count) => product * count, 1);
    if (array.count !== places) throw invalidArgument(`${call}: values`, `"${array.name}" with ${array.count} blocks`, `${places}: one for each of ${size.join(' × ')} places`);
    array.takeNumbers(`${call}: values`);
    [this.size, this.channels, this.array, this.interpolation, this.border] = [[...size], array.dim, array, interpolation, border];
  }

  at(coordinates: Numbers): Input<GridPoint> {
    const { blocks, behind } = this.place(`grid "${this.name}".at: coordinates`, coordinates);
    const data = new DataInput(this.array.owner, this.size.length, behind);
    return new GridInput(this.array, blocks, this.taps() ** this.size.length, this, data) as Input<GridPoint>;
  }

  evaluate(coordinates: Numbers, orders?: readonly number[]): Float64Array {
    const call = `grid "${this.name}".evaluate`;
    const { blocks, behind } = this.place(`${call}: coordinates`, coordinates);
    const kernels = this.ordersOf(call, orders ?? this.size.map(() => 0)).map((order) => ({ order, ...kernelOf(this.interpolation, order) }));
    const numbers = this.array.values();
    const { channels } = this;
    const dim = this.size.length;
    const taps = this.taps();
    const around = taps ** dim;
    const instances = blocks.length / around;
    const values = new Float64Array(instances * channels);
    const factors = new Float64Array(dim * taps);
    for (let instance = 0; instance < instances; instance++) {
      factors.fill(0);
      kernels.forEach(({ order, base, others }, axis) => {
        const t = behind[instance * dim + axis] as number;
        let rest = order === 0 ? 1 : 0;
        for (const [tap, coefficients] of others) {
          const factor = coefficients.reduceRight((sum, coefficient) => sum * t + coefficient, 0);
          factors[axis * taps + tap] = factor;
          rest -= factor;
        }
        factors[axis * taps + base] = rest;
      });
      for (let node = 0; node < around; node++) {
        let factor = 1;
        for (let axis = 0, digits = node; axis < dim; axis++, digits = Math.floor(digits / taps)) factor *= factors[axis * taps + (digits % taps)] as number;
        const first = (blocks[instance * around + node] as number) * channels;
        for (let channel = 0; channel < channels; channel++) values[instance * channels + channel]! += factor * (numbers[first + channel] as number);
      }
    }
    return values;
  }

  place(argument: string, coordinates: unknown): { blocks: Uint32Array; behind: Float64Array } {
    const behind = copyNumbers(argument, coordinates);
    const { size, interpolation, border } = this;
    const dim = size.length;
    if (behind.length % dim !== 0) throw invalidArgument(argument, `${behind.length} numbers`, `a multiple of ${dim}: a coordinate for each axis`);
    const [first] = TAPS[interpolation];
    const taps = this.taps();
    const around = taps ** dim;
    const blocks = new Uint32Array((behind.length / dim) * around);
    const along = size.map(() => new Uint32Array(taps));
    for (let instance = 0; instance < behind.length / dim; instance++) {
      let stride = 1;
      size.forEach((count, axis) => {
        const u = behind[instance * dim + axis] as number;
        const cell = Math.floor(interpolation === 'nearest' ? u + 0.5 : u);
        behind[instance * dim + axis] = u - cell;
        for (let tap = 0; tap < taps; tap++) (along[axis] as Uint32Array)[tap] = stride * source(cell + first + tap, count, border);
        stride *= count;
      });
      for (let node = 0; node < around; node++) {
        let block = 0;
        for (let axis = 0, digits = node; axis < dim; axis++, digits = Math.floor(digits / taps)) block += along[axis]?.[digits % taps] as number;
        blocks[instance * around + node] = block;
      }
    }
    return { blocks, behind };
  }

  makePoint(nodes: readonly (readonly Value[])[], behind: readonly Value[]): GridPoint {
    const taps = this.taps();
    const strides = this.size.map((_, axis) => taps ** axis);
    const at = (orders: readonly number[]): Block<number> => {
      const weights = behind.map((t, axis) => weightsAt(t, this.interpolation, orders[axis]));
      let channel = 0;
      return makeBlock(this.channels, () => {
        const own = channel++;
        return weighted((node) => nodes[node]?.[own] ?? literal(0), 0, strides, weights);
      });
    };
    const derivative = (...orders: readonly number[]) => at(this.ordersOf(`grid "${this.name}": derivative`, orders));
    return {
      get value() {
        return at([]);
      },
      derivative,
    };
  }

  /** How many blocks are read along an axis. */
  private taps(): number {
    const [first, last] = TAPS[this.interpolation];
    return last - first + 1;
  }

  private ordersOf(call: string, orders: readonly number[]): readonly number[] {
    if (!Array.isArray(orders) || orders.length !== this.size.length) {
      throw invalidArgument(`${call}: orders`, Array.isArray(orders) ? `${orders.length} orders` : describe(orders), `${this.size.length}: one for each axis`);
    }
    for (const [axis, order] of orders.entries()) checkWholeNumber(`${call}: orders[${axis}]`, order, 0);
    // No polynomial has more than a third derivative.
    return orders.map((order) => Math.min(order, 4));
  }
}
