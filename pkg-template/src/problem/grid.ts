/** Grids: tables of numbers that residual functions read at computed places. */

import { nextChange } from '../arguments/change-counter.js';
import { describe, invalidArgument, ResiduaError } from '../arguments/errors.js';
import { checkFinite, checkWholeNumber, copyNumbersOfLength, type Numbers } from '../arguments/numeric-arguments.js';
import { checkFlag, checkOptions } from '../arguments/options.js';
import { makeBlock, type Block, type Tuple } from '../expressions/block.js';
import { activeRecording } from '../expressions/tape.js';
import { checkScalar, type Scalar, type Value } from '../expressions/value.js';
import { interpolate, INTERPOLATIONS, makeAxis, type Axis, type GridBorder, type GridInterpolation } from './grid-interpolation.js';
import { makeTable } from './grid-table.js';

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
   * Sets all numbers, as many as there were. Nothing is compiled again; the change takes effect at the next call. Throws 'invalid-argument' for another length
   * or numbers that are not finite.
   */
  setValues(values: GridValues): void;
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

  setValues(values: GridValues): void {
    this.table = this.tableOf(`grid "${this.name}".setValues: values`, values);
    this.change = nextChange();
  }

  private tableOf(argument: string, values: GridValues): Float64Array {
    const places = this.size.reduce((product, count) => product * count, 1);
    const meaning = `${this.size.join(' × ')} places${this.channels === 1 ? '' : ` of ${this.channels} channels`}`;
    const copy = copyNumbersOfLength(argument, values, places * this.channels, meaning);
    return makeTable(copy, this.axes, this.channels, this.border, this.prefilter);
  }
}

/** A picture: ImageData, or anything like it. */
export interface PictureData {
  /** Pixels in a row. */
  readonly width: number;
  /** Number of rows. */
  readonly height: number;
  /** Red, green, blue and alpha of each pixel, row after row from the top. */
  readonly data: ArrayLike<number>;
}

/**
 * Returns size, channels and values of a grid from a picture, to be spread into Problem.grid: with 1 channel (default) the luma of each pixel, with 3 red, green and
 * blue, with 4 alpha too. Bytes become numbers from 0 to 1; others stay as they are. Pixel (x, y) stands at the place (x, y), y downward.
 *
 * Throws 'invalid-argument' for another number of channels or data that are not 4 numbers for each pixel.
 */
export function pictureGrid<C extends 1 | 3 | 4 = 1>(picture: PictureData, channels?: C): { size: [number, number]; channels: C; values: Float64Array } {
  const taken = channels ?? 1;
  if (taken !== 1 && taken !== 3 && taken !== 4) throw invalidArgument('pictureGrid: channels', describe(taken), '1, 3 or 4');
  if (typeof picture !== 'object' || picture === null) throw invalidArgument('pictureGrid: picture', describe(picture), 'ImageData');
  const { width, height, data } = picture;
  checkWholeNumber('pictureGrid: picture.width', width, 1);
  checkWholeNumber('pictureGrid: picture.height', height, 1);
  const pixels = width * height;
  if (typeof data !== 'object' || data === null || data.length !== 4 * pixels) {
    const got = typeof data === 'object' && data !== null ? `${data.length} numbers` : describe(data);
    throw invalidArgument('pictureGrid: picture.data', got, `${4 * pixels}: 4 for each of ${width} × ${height} pixels`);
  }
  const scale = data instanceof Uint8ClampedArray || data instanceof Uint8Array ? 1 / 255 : 1;
  const values = new Float64Array(taken * pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    const part = (channel: number) => scale * (data[4 * pixel + channel] as number);
    // Rec. 709.
    if (taken === 1) values[pixel] = 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2);
    else for (let channel = 0; channel < taken; channel++) values[taken * pixel + channel] = part(channel);
  }
  return { size: [width, height], channels: taken as C, values };
}
