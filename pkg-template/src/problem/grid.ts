/** Grids: tables of numbers that residual functions read at computed places. */

import { nextChange } from '../arguments/change-counter.js';
import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkFinite, checkWholeNumber, copyNumbersOfLength, type Numbers } from '../arguments/numeric-arguments.js';
import { checkFlag, checkOptions } from '../arguments/options.js';
import type { ImageSource } from '../arguments/picture.js';
import { ownerOf } from '../module/buffer-owners.js';
import { makeBlock, type Block, type Tuple } from '../expressions/block.js';
import { activeRecording } from '../expressions/tape.js';
import { checkScalar, type Scalar, type Value } from '../expressions/value.js';
import { interpolate, INTERPOLATIONS, makeAxis, type Axis, type GridBorder, type GridInterpolation } from './grid-interpolation.js';
import { makeTable } from './grid-table.js';
import { isPicture, pixelNumbers, type PictureData } from './picture-grid.js';

/** Numbers of a grid: also those of a picture. */
export type GridValues = Numbers | Uint8ClampedArray | Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array;

/** How many numbers stand along each axis: one, two or three axes. */
export type GridSize = readonly [number] | readonly [number, number] | readonly [number, number, number];

/** What a grid is made of. */
export interface GridSpec<S extends GridSize = GridSize, C extends number = number> {
  /** Width, height and depth: how many places there are along each axis. */
  readonly size: S;
  /**
   * The numbers, finite. Those of the first axis stand side by side: the number at the place (x, y, z) is number x + width · (y + height · z). With
   * several channels so do those of a place.
   */
  readonly values: GridValues;
  /** Numbers at a place; 1 by default. */
  readonly channels?: C;
  /** How the grid is read between places; 'cubic' by default. */
  readonly interpolation?: GridInterpolation;
  /**
   * What stands around the grid; 'clamp' by default. 'clamp': the outermost numbers, on and on. 'mirror': the mirror image about the outermost numbers, which are
   * not repeated. 'repeat': the grid again. A number: that number.
   */
  readonly border?: GridBorder;
  /**
   * With 'cubic' the cubic B-spline through the numbers, whose second derivative is continuous, in place of Catmull-Rom's polynomials; false by default. The
   * numbers are made the spline's coefficients once. With 'clamp' and 'mirror' its slope is 0 at the edge. With a number as border the spline goes through all
   * numbers of the grid and is the border's number from two places outside on.
   */
  readonly prefilter?: boolean;
}

/**
 * A table of numbers that residual and constraint functions of its problem read at any point. Made by Problem.grid. All instances share it, and all problems of
 * `solveMany`.
 */
export interface Grid<D extends number = number, C extends number = number> {
  /** Its name, unique among the grids of the problem. */
  readonly name: string;
  /** How many places there are along each axis. */
  readonly size: readonly number[];
  /** Numbers at a place. */
  readonly channels: number;
  /**
   * The grid at a point, inside a residual or constraint function: a Value, or with several channels a tuple of Values. There is a coordinate for each axis, in
   * places: 0 is the first number's, width − 1 the last. Derivatives by the coordinates are those of the interpolation. Where these jump, at whole coordinates with
   * 'linear', the first is the one above; so is the second at whole coordinates with Catmull-Rom. That of 'nearest' is 0. A coordinate that is NaN gives NaN, and so
   * does an infinite one with 'mirror' and 'repeat'.
   *
   * Throws 'invalid-argument' for another number of coordinates, for what is no Value or number, and outside a function of the grid's problem.
   */
  at(...coordinates: Tuple<Scalar, D>): Block<C>;
  /**
   * Sets all numbers, as many as there were. Nothing is compiled again; the change takes effect at the next call. A picture of the page sets a grid of its
   * width and height, with the channels of `pictureGrid`: 1, 3 or 4.
   *
   * A GPUBuffer with usage COPY_SRC has the numbers as f32 in the order of `values`, without those of the border. They are copied on the device, as they are
   * when the device comes to it, to all compiled functions of the problem, which are on its GPUDevice; the page does not see them, so that no compile takes
   * them after that.
   *
   * Throws 'invalid-argument' for another length or size, numbers that are not finite, and a picture that cannot be read; of a GPUBuffer also where there are
   * no functions, where any are on the CPU or in a worker, and for a grid with prefilter, whose spline the page computes.
   */
  setValues(values: GridValues | PictureData | ImageSource | GPUBuffer): void;
  /**
   * The numbers on the GPU, to be written by copy or compute between calls: f32 in the order of `values`, without those of the border, which calls add. Behind
   * them stands the border's number, where it is one. Its size is rounded up to 16 bytes. The first call creates it, later calls return the same buffer. Null
   * on the CPU, before compiling and after the functions are disposed; with several compiled functions it belongs to the latest. Throws 'invalid-argument' with
   * prefilter.
   */
  valuesBuffer(): GPUBuffer | null;
}

/** A grid as a compile takes it. */
export interface GridTable {
  readonly name: string;
  readonly channels: number;
  /** Where its table begins among those of all grids. */
  readonly first: number;
  /** Replaced by every change, never modified. */
  table: Float64Array;
  /** Number of its latest change. */
  change: number;
  /** Whether its numbers lie on a device alone. */
  isOnDevice: boolean;
}

/** Throws 'invalid-argument' where the page does not have the numbers of a grid. */
export function checkOnHost(argument: string, grids: readonly GridTable[]): void {
  const found = grids.find(({ isOnDevice }) => isOnDevice);
  if (found === undefined) return;
  throw invalidArgument(argument, `the grid "${found.name}", whose numbers setValues had from a GPUBuffer`, 'grids whose numbers the page has: setValues of numbers or of a picture');
}

/** GPUBufferUsage.COPY_SRC, which Node has not. */
const COPY_SRC = 4;

/** Whether it is a GPUBuffer, of this window or of another one. */
function isBuffer(values: unknown): values is GPUBuffer {
  return typeof (values as GPUBuffer | null)?.mapAsync === 'function';
}

/** Places are whole numbers in single precision too. */
const MOST_NUMBERS = 2 ** 24;
/** Numbers of all grids: the code reads them by 32-bit addresses. */
const MOST_OF_ALL = 2 ** 28;

const BORDERS: readonly string[] = ['clamp', 'mirror', 'repeat'];

/** Checks what all grids have. Throws 'invalid-argument'. */
export function checkLayout(call: string, size: unknown, interpolation: string, border: GridBorder): void {
  if (!Array.isArray(size) || size.length < 1 || size.length > 3) {
    throw invalidArgument(`${call}: size`, describe(size), 'an array of one, two or three whole numbers: [width], [width, height] or [width, height, depth]');
  }
  for (const [axis, count] of size.entries()) checkWholeNumber(`${call}: size[${axis}]`, count, 1);
  if (!INTERPOLATIONS.includes(interpolation)) throw invalidArgument(`${call}: interpolation`, describe(interpolation), `'${INTERPOLATIONS.join("', '")}'`);
  if (typeof border === 'number') checkFinite(`${call}: border`, border);
  else if (!BORDERS.includes(border)) throw invalidArgument(`${call}: border`, describe(border), `'${BORDERS.join("', '")}' or a finite number`);
}

/** The implementation of Grid. */
export class TableGrid implements GridTable {
  readonly size: readonly number[];
  readonly channels: number;
  table: Float64Array;
  change = 0;
  isOnDevice = false;
  /** One function for each of the compiled functions, the latest last: returns the GPU buffer of the numbers. */
  readonly bufferFinders: (() => GPUBuffer | null)[] = [];
  readonly axes: readonly Axis[];
  readonly interpolation: GridInterpolation;
  readonly prefilter: boolean;
  private readonly border: GridBorder;

  /** @param first where its table begins among those of all grids */
  constructor(
    private readonly owner: object,
    readonly name: string,
    spec: GridSpec,
    readonly first: number,
  ) {
    const call = `grid "${name}"`;
    checkOptions(`${call}: spec`, spec, { size: true, values: true, channels: true, interpolation: true, border: true, prefilter: true });
    const { size, values, channels = 1, interpolation = 'cubic', border = 'clamp', prefilter = false } = spec;
    checkLayout(call, size, interpolation, border);
    checkWholeNumber(`${call}: channels`, channels, 1);
    checkFlag(`${call}: prefilter`, prefilter);
    if (prefilter && interpolation !== 'cubic') throw invalidArgument(`${call}: prefilter`, `true with interpolation '${interpolation}'`, "true with 'cubic' alone");
    this.size = [...size];
    this.axes = this.size.map((count) => makeAxis(count, interpolation, border, prefilter));
    const numbers = this.axes.reduce((product, { padded }) => product * padded, channels);
    if (numbers > MOST_NUMBERS || first + numbers > MOST_OF_ALL) {
      const most = numbers > MOST_NUMBERS ? `${MOST_NUMBERS} in a grid` : `${MOST_OF_ALL} in all grids of a problem`;
      throw new ResiduaError('limit-exceeded', `${call}: got ${numbers} numbers with those of its border; takes at most ${most}`);
    }
    [this.channels, this.interpolation, this.border, this.prefilter] = [channels, interpolation, border, prefilter];
    this.table = this.tableOf(`${call}: values`, values);
  }

  at(...coordinates: readonly Scalar[]): Block<number> {
    const call = `grid "${this.name}".at`;
    if (coordinates.length !== this.axes.length) {
      throw invalidArgument(call, `${coordinates.length} coordinates`, `${this.axes.length}: one for each axis`);
    }
    for (const [axis, coordinate] of coordinates.entries()) checkScalar(`${call}: ${'uvw'[axis]}`, coordinate);
    const owner = activeRecording()?.owner ?? null;
    if (owner !== this.owner) {
      const got = owner === null ? 'a call outside a residual or constraint function of a problem' : 'a call in a function of another problem';
      throw invalidArgument(call, got, 'calls inside the residual and constraint functions of its own problem');
    }
    const values = interpolate(this, coordinates)[Symbol.iterator]();
    return makeBlock(this.channels, () => values.next().value as Value);
  }

  setValues(values: GridValues | PictureData | ImageSource | GPUBuffer): void {
    const argument = `grid "${this.name}".setValues: values`;
    if (isBuffer(values)) {
      this.copyOnDevice(argument, values);
      // Of numbers that were set before and that no call has taken nothing is left.
      [this.isOnDevice, this.change] = [true, 0];
      return;
    }
    this.table = this.tableOf(argument, isPicture(values) ? this.ofPicture(argument, values) : values);
    [this.isOnDevice, this.change] = [false, nextChange()];
  }

  valuesBuffer(): GPUBuffer | null {
    this.checkPlain(`grid "${this.name}".valuesBuffer`);
    return this.bufferFinders.at(-1)?.() ?? null;
  }

  /** The numbers with that of the border behind them, and where each number of the table comes from. */
  shared(): { numbers: Float64Array; sources: Uint32Array } {
    const border = typeof this.border === 'number' ? [this.border] : [];
    const numbers = new Float64Array(this.places() * this.channels + border.length);
    const last = numbers.length - border.length;
    const places = Float64Array.from({ length: last }, (_, k) => k);
    const sources = Uint32Array.from(makeTable(places, this.axes, this.channels, border.length > 0 ? last : this.border, false));
    sources.forEach((source, k) => (numbers[source] = this.table[k] as number));
    numbers.set(border, last);
    return { numbers, sources };
  }

  /** Throws 'invalid-argument' for a grid whose table has coefficients. */
  private checkPlain(argument: string): void {
    if (this.prefilter) throw invalidArgument(argument, 'a grid with prefilter, whose spline the page computes', "grids without; 'b-spline' takes coefficients");
  }

  private copyOnDevice(argument: string, buffer: GPUBuffer): void {
    this.checkPlain(argument);
    const bytes = 4 * this.places() * this.channels;
    if (buffer.size < bytes) throw invalidArgument(argument, `a GPUBuffer of ${buffer.size} bytes`, `${bytes} or more: ${this.meaning()}`);
    if ((buffer.usage & COPY_SRC) === 0) throw invalidArgument(argument, `a GPUBuffer of usage ${buffer.usage}`, 'usage COPY_SRC');
    const targets = this.bufferFinders.map((find) => find());
    const devices = targets.map((target) => (target === null ? undefined : ownerOf(target)));
    if (devices.length === 0 || devices.includes(undefined)) {
      const got = devices.length === 0 ? 'without compiled functions' : 'with functions on the CPU or in a worker';
      throw invalidArgument(argument, `a GPUBuffer ${got}`, 'a GPUBuffer where all functions of the problem are on its GPUDevice, and numbers elsewhere');
    }
    targets.forEach((target, k) => {
      const device = devices[k] as GPUDevice;
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(buffer, 0, target as GPUBuffer, 0, bytes);
      device.queue.submit([encoder.finish()]);
    });
  }

  private ofPicture(argument: string, picture: PictureData | ImageSource): Float64Array {
    const { size, values } = pixelNumbers(argument, picture, this.channels);
    if (size.length !== this.size.length || size.some((count, axis) => count !== this.size[axis])) {
      throw invalidArgument(argument, `a picture of ${size.join(' × ')} pixels`, `one of ${this.size.join(' × ')} places`);
    }
    return values;
  }

  private places(): number {
    return this.size.reduce((product, count) => product * count, 1);
  }

  private meaning(): string {
    return `${this.size.join(' × ')} places${this.channels === 1 ? '' : ` of ${this.channels} channels`}`;
  }

  private tableOf(argument: string, values: GridValues): Float64Array {
    const copy = copyNumbersOfLength(argument, values, this.places() * this.channels, this.meaning());
    return makeTable(copy, this.axes, this.channels, this.border, this.prefilter);
  }
}
