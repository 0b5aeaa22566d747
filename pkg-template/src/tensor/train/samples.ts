/** Samples: where the numbers of a data loader come from. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { checkDType, DTYPE_BYTES, type DType } from '../dtype.js';
import { checkPicture, pixelsOf, type ImageSource } from '../../arguments/picture.js';
import { elementCount, numbersOf, type Numbers } from '../memory/numbers.js';
import { shapeText } from '../size.js';

/** One column of the data: as many samples as others have, all of one type and shape. */
export interface Samples<D extends DType = any> {
  /** How many there are. */
  readonly count: number;
  /** The type of their elements on the device. */
  readonly dtype: D;
  /** The shape of one. */
  readonly shape: readonly number[];
  /** Gives the numbers of samples one after another, in the order of the rows. */
  read(rows: Int32Array, signal?: AbortSignal): Numbers | Promise<Numbers>;
}

/** How a file of numbers is laid out: samples one after another, each in C order, little-endian. */
export interface SampleFileOptions<D extends DType> {
  /** Type of the numbers. */
  dtype: D;
  /** The shape of a sample. Default: a number. */
  shape?: readonly number[];
  /** Where the first sample begins, in bytes. Default 0. */
  byteOffset?: number;
  /** How many samples there are. Default: up to the end of the file. */
  count?: number;
}

/** What becomes of pictures. */
export interface PictureOptions {
  /** Rows of pixels. Pictures of other sizes are resized. */
  height: number;
  /** Columns of pixels. */
  width: number;
  /** 3 for red, green and blue, 4 with the opacity, 1 for the luma of Rec. 601. Default 3. */
  channels?: 1 | 3 | 4;
}

const FILE_OPTIONS: OptionNames<SampleFileOptions<DType>> = { dtype: true, shape: true, byteOffset: true, count: true };
const PICTURE_OPTIONS: OptionNames<PictureOptions> = { height: true, width: true, channels: true };

type TypedArray = Exclude<Numbers, readonly number[]>;

/** The element type that numbers have where it is not told. */
export type TypeOfNumbers<A> = A extends Uint8Array | Uint8ClampedArray ? 'u8' : A extends Uint32Array ? 'u32' : A extends Int32Array | Int16Array | Uint16Array | Int8Array ? 'i32' : 'f32';

/** The same at run time. */
function typeOf(data: Numbers): DType {
  if (data instanceof Uint8Array || data instanceof Uint8ClampedArray) return 'u8';
  if (data instanceof Uint32Array) return 'u32';
  return data instanceof Int32Array || data instanceof Int16Array || data instanceof Uint16Array || data instanceof Int8Array ? 'i32' : 'f32';
}

/** Typed arrays of the numbers in files. */
const FILE_ARRAYS = { f32: Float32Array, i32: Int32Array, u32: Uint32Array, u8: Uint8Array, bool: Uint8Array } as const;

/**
 * Samples of a shape, by default numbers, one after another in a list or a typed array. It is not copied, and must not change. The type is that of the array, of lists and of 64-bit floats
 * f32, unless told. Throws 'invalid-argument'.
 */
function array<D extends DType>(data: Numbers, shape: readonly number[], dtype: D): Samples<D>;
function array<A extends Numbers>(data: A, shape?: readonly number[]): Samples<TypeOfNumbers<A>>;
function array(data: Numbers, shape: readonly number[] = [], dtype?: DType): Samples {
  const numbers: Numbers = numbersOf('samples.array: data', data);
  if (dtype !== undefined) checkRealDType('samples.array: dtype', dtype);
  const sizes = checkSampleShape('samples.array: shape', shape);
  const size = elementCount(sizes);
  const count = numbers.length / size;
  if (!Number.isInteger(count)) throw invalidArgument('samples.array: data', `${numbers.length} numbers`, `a multiple of ${size}: a sample is ${shapeText(sizes)}`);
  return { count, dtype: dtype ?? typeOf(numbers), shape: sizes, read: (rows) => rowsOf(numbers, rows, size) };
}

/** Sources of samples. */
export const samples = {
  array: array as typeof array,

  /** Samples in a file, or in the bytes of one: a part of the file is read for each batch. Throws 'invalid-argument' for a file that has not so many bytes. */
  file: <D extends 'f32' | 'i32' | 'u32' | 'u8' | 'bool'>(source: Blob | BufferSource, options: SampleFileOptions<D>): Samples<D> => {
    const call = 'samples.file';
    checkOptions(`${call}: options`, options, FILE_OPTIONS);
    const { dtype, shape = [], byteOffset = 0, count } = options;
    if (typeof dtype !== 'string' || !Object.hasOwn(FILE_ARRAYS, dtype)) throw invalidArgument(`${call}: dtype`, describe(dtype), `'${Object.keys(FILE_ARRAYS).join("', '")}'`);
    const sizes = checkSampleShape(`${call}: shape`, shape);
    const blob = blobOf(`${call}: source`, source);
    const bytes = elementCount(sizes) * DTYPE_BYTES[dtype];
    checkWholeNumber(`${call}: byteOffset`, byteOffset, 0, Number.MAX_SAFE_INTEGER);
    if (count !== undefined) checkWholeNumber(`${call}: count`, count, 1);
    const found = count ?? (blob.size - byteOffset) / bytes;
    if (!Number.isInteger(found) || found < 1 || byteOffset + found * bytes > blob.size) {
      throw invalidArgument(`${call}: source`, `${blob.size} bytes`, `${count === undefined ? `${byteOffset} and a multiple of ${bytes}` : byteOffset + count * bytes}: a sample has ${bytes}`);
    }
    const read = async (rows: Int32Array) => {
      const all = new Uint8Array(rows.length * bytes);
      await Promise.all(runsOf(rows).map(async ([at, length]) => {
        const from = byteOffset + (rows[at] as number) * bytes;
        try {
          all.set(new Uint8Array(await blob.slice(from, from + length * bytes).arrayBuffer()), at * bytes);
        } catch (error) {
          throw new ResiduaError('invalid-argument', `${call}: source: got a failure at byte ${from}: ${String(error)}`, { cause: error });
        }
      }));
      return new FILE_ARRAYS[dtype](all.buffer);
    };
    return { count: found, dtype, shape: sizes, read };
  },

  /**
   * Pictures as bytes [height, width, channels]: files, which are decoded for each batch, or pictures of the page. Takes a page or a worker. A picture that cannot be decoded rejects with
   * 'invalid-argument' and its place when its batch is read.
   */
  pictures: (sources: readonly (Blob | ImageSource)[], options: PictureOptions): Samples<'u8'> => {
    const call = 'samples.pictures';
    checkList(`${call}: sources`, sources);
    checkOptions(`${call}: options`, options, PICTURE_OPTIONS);
    const { height, width, channels = 3 } = options;
    checkWholeNumber(`${call}: height`, height, 1, 16384);
    checkWholeNumber(`${call}: width`, width, 1, 16384);
    if (channels !== 1 && channels !== 3 && channels !== 4) throw invalidArgument(`${call}: channels`, describe(channels), '1, 3 or 4');
    if (typeof createImageBitmap !== 'function' || typeof OffscreenCanvas !== 'function') {
      throw new ResiduaError('invalid-argument', `${call}: nothing decodes pictures here; takes a page or a worker: elsewhere samples.of() takes a function that reads`);
    }
    return samples.of(sources, { dtype: 'u8', shape: [height, width, channels] }, async (source, row) => {
      const argument = `${call}: sources[${row}]`;
      if (!(source instanceof Blob)) checkPicture(argument, source);
      let bitmap: ImageBitmap;
      try {
        bitmap = await createImageBitmap(source, { resizeWidth: width, resizeHeight: height, resizeQuality: 'high', premultiplyAlpha: 'none' });
      } catch (error) {
        throw invalidArgument(argument, `a picture that cannot be decoded (${String(error)})`, 'a file of a picture, or a picture of the page');
      }
      const pixels = pixelsOf(argument, { source: bitmap, width, height });
      bitmap.close();
      return withChannels(pixels, channels);
    });
  },

  /** Samples that a function reads, from items of any kind: it gets the item, its place and the signal of the training, and gives the numbers of one sample. Throws 'invalid-argument'. */
  of: <T, D extends DType>(items: readonly T[], spec: { readonly dtype: D; readonly shape: readonly number[] }, read: (item: T, row: number, signal?: AbortSignal) => Numbers | Promise<Numbers>): Samples<D> => {
    const call = 'samples.of';
    checkList(`${call}: items`, items);
    checkOptions(`${call}: spec`, spec, { dtype: true, shape: true });
    checkRealDType(`${call}: dtype`, spec.dtype);
    const shape = checkSampleShape(`${call}: shape`, spec.shape);
    if (typeof read !== 'function') throw invalidArgument(`${call}: read`, describe(read), 'a function');
    const size = elementCount(shape);
    const all = [...items];
    return {
      count: all.length,
      dtype: spec.dtype,
      shape,
      async read(rows, signal) {
        const parts = await Promise.all(Array.from(rows, async (row) => {
          const numbers = numbersOf(`${call}: sample ${row}`, await read(all[row] as T, row, signal)) as Numbers;
          if (numbers.length !== size) throw invalidArgument(`${call}: sample ${row}`, `${numbers.length} numbers`, `${size}: a sample is ${shapeText(shape)}`);
          return numbers;
        }));
        const joined = spec.dtype === 'u8' || spec.dtype === 'bool' ? new Uint8Array(rows.length * size) : new Float64Array(rows.length * size);
        parts.forEach((numbers, k) => joined.set(numbers, k * size));
        return joined;
      },
    };
  },

  /** The place of each sample, from 0: for data that is stored on the device, of which a batch is `indexSelect` of these rows. */
  rows: (count: number): Samples<'i32'> => {
    checkWholeNumber('samples.rows: count', count, 1, 2 ** 31 - 1);
    return { count, dtype: 'i32', shape: Object.freeze([]), read: (rows) => rows };
  },
};

/** Rows of numbers in the kind of array that these are in. */
function rowsOf(numbers: Numbers, rows: Int32Array, size: number): Numbers {
  if (Array.isArray(numbers)) return Array.from(rows).flatMap((row) => (numbers as readonly number[]).slice(row * size, (row + 1) * size));
  const data = numbers as TypedArray;
  const picked = new (data.constructor as new (length: number) => TypedArray)(rows.length * size);
  rows.forEach((row, k) => picked.set(data.subarray(row * size, (row + 1) * size), k * size));
  return picked;
}

/** Runs of consecutive rows, as the place of the first and their number: a file is read at once where its samples follow each other. */
function runsOf(rows: Int32Array): [at: number, length: number][] {
  const runs: [number, number][] = [];
  rows.forEach((row, k) => {
    const last = runs.at(-1);
    if (last !== undefined && row === (rows[k - 1] as number) + 1) last[1] += 1;
    else runs.push([k, 1]);
  });
  return runs;
}

/** Pixels of four channels with fewer. */
function withChannels(pixels: Uint8Array, channels: 1 | 3 | 4): Uint8Array {
  if (channels === 4) return pixels;
  const count = pixels.length / 4;
  const found = new Uint8Array(count * channels);
  for (let k = 0; k < count; k++) {
    const [red, green, blue] = pixels.subarray(4 * k, 4 * k + 3) as unknown as [number, number, number];
    if (channels === 1) found[k] = Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
    else found.set([red, green, blue], 3 * k);
  }
  return found;
}

function blobOf(argument: string, source: unknown): Blob {
  if (source instanceof Blob) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return new Blob([source as ArrayBuffer]);
  throw invalidArgument(argument, describe(source), 'a Blob, an ArrayBuffer or a view of one');
}

function checkList(argument: string, list: unknown): void {
  if (!Array.isArray(list) || list.length === 0) throw invalidArgument(argument, describe(list), 'an array that is not empty');
}

function checkRealDType(argument: string, dtype: unknown): void {
  checkDType(argument, dtype);
  if (dtype === 'c64') throw invalidArgument(argument, describe(dtype), 'a type of real numbers');
}

/** Returns a copy of the shape of a sample, which is not empty. Throws 'invalid-argument' for anything else. */
function checkSampleShape(argument: string, shape: unknown): readonly number[] {
  if (!Array.isArray(shape)) throw invalidArgument(argument, describe(shape), 'an array of whole numbers');
  shape.forEach((size, axis) => checkWholeNumber(`${argument}[${axis}]`, size, 1));
  return Object.freeze([...(shape as number[])]);
}
