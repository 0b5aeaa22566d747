/** What a model.json says of its weights: names, shapes, types and quantisation, in the order of their bytes, and the files with them. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { FILE_BYTES, type FileType } from '../files/elements.js';
import { checkedSizes } from '../files/load.js';
import { elementCount } from '../memory/numbers.js';
import { typeNamed, type ElementType } from '../onnx/element-types.js';
import { Fields } from './fields.js';

/** How a weight is stored. */
export interface WeightSpec {
  readonly name: string;
  readonly sizes: readonly number[];
  /** What it is once it is loaded. */
  readonly type: ElementType;
  /** How its numbers stand in the file. */
  readonly file: FileType;
  /** Number = scale · code + min; null where the file has the numbers themselves. */
  readonly scaling: { readonly scale: number; readonly min: number } | null;
}

/** Weights whose bytes follow one another, in so many files. */
export interface WeightGroup {
  readonly paths: readonly string[];
  readonly weights: readonly WeightSpec[];
}

const DTYPES = { float32: ['float', 'f32'], int32: ['int32', 'i32'], uint8: ['uint8', 'u8'], bool: ['bool', 'bool'], float16: ['float', 'f16'] } as const;
const QUANTISED = { uint8: 'u8', uint16: 'u16', float16: 'f16' } as const;

/** Reads weightsManifest. Throws 'invalid-argument' for types that are not taken, such as texts and complex numbers. */
export function readManifest(model: Fields): WeightGroup[] {
  return model.objects('weightsManifest', []).map((group) => ({
    paths: group.list('paths').map((path) => {
      if (typeof path !== 'string' || path === '') throw group.wrong('paths', path, 'names of files');
      return path;
    }),
    weights: group.objects('weights').map(readWeight),
  }));
}

function readWeight(entry: Fields): WeightSpec {
  const name = entry.text('name');
  const place = `${entry.place} ${describe(name)}`;
  const sizes = checkedSizes(place, entry.ints('shape'));
  const dtype = entry.text('dtype');
  if (!Object.hasOwn(DTYPES, dtype)) throw invalidArgument(`${place}: dtype`, describe(dtype), Object.keys(DTYPES).join(', '));
  const [type, file] = DTYPES[dtype as keyof typeof DTYPES];
  if (!entry.has('quantization')) return { name, sizes, type: typeNamed(type), file, scaling: null };
  const quantised = entry.object('quantization');
  const code = quantised.choice('dtype', Object.keys(QUANTISED) as (keyof typeof QUANTISED)[]);
  if (type !== 'float' && (type !== 'int32' || code === 'float16')) throw invalidArgument(`${place}: quantization`, `${code} of ${dtype}`, 'float32, or int32 as uint8 and uint16');
  if (code === 'float16') return { name, sizes, type: typeNamed(type), file: 'f16', scaling: null };
  return { name, sizes, type: typeNamed(type), file: QUANTISED[code], scaling: { scale: quantised.number('scale'), min: quantised.number('min') } };
}

/** How many bytes weights have in their files. Throws 'limit-exceeded' for more than can be counted. */
export function bytesOfWeights(call: string, groups: readonly WeightGroup[]): number {
  const bytes = groups.flatMap(({ weights }) => weights).reduce((sum, { sizes, file }) => sum + FILE_BYTES[file] * elementCount(sizes), 0);
  if (!Number.isSafeInteger(bytes)) throw new ResiduaError('limit-exceeded', `${call}: weightsManifest: got ${bytes} bytes; takes fewer than 2^53`);
  return bytes;
}
