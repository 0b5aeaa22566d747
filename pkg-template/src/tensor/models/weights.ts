/** Weights of a model by name: what a graph takes from a file, each checked where it is taken. */

import { invalidArgument } from '../../arguments/errors.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import type { QuantizedTensor } from '../device/quantized-tensor.js';
import { StoredTensor } from '../device/stored-tensor.js';
import { loadGguf } from '../files/gguf.js';
import type { LoadOptions } from '../files/load.js';
import { loadSafetensors } from '../files/safetensors.js';
import type { FileSource } from '../files/source.js';
import { dispose } from '../device/dispose.js';
import { linear } from '../linear.js';
import { Quantized } from '../quantized.js';
import { Tensor } from '../tensor.js';

/** A tensor of a file. */
export type Weight = StoredTensor | QuantizedTensor;

/** Weights by the names that GGUF files have for them, such as `blk.0.attn_q.weight`, whatever file they come from. */
export type WeightTable = Readonly<Record<string, Weight>>;

/** What files of Hugging Face call the parts that GGUF has under the names on the right. '#' is the number of a layer. */
export type Naming = Readonly<Record<string, string>>;

/** A file's weights with what else it says. */
export interface LoadedWeights {
  readonly weights: WeightTable;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What comes before the names of parts in some files: how the class of the model is nested. */
const PREFIX = /^((model|language_model|transformer|bert|roberta|text_model|0\.auto_model)\.)+/;
const SUFFIX = /\.(weight|bias)$/;

/** The name in GGUF's words of a tensor in a file of Hugging Face; undefined for one that no part has. */
export function ggufName(name: string, naming: Naming): string | undefined {
  const [suffix = ''] = SUFFIX.exec(name) ?? [];
  const plain = name.slice(0, name.length - suffix.length);
  // Names that begin with the prefix are tried first as they are.
  for (const part of [plain, plain.replace(PREFIX, '')]) {
    const [number = ''] = /(?<=\.)\d+(?=\.)/.exec(part) ?? [];
    const pattern = part.replace(/\.\d+\./, '.#.');
    if (Object.hasOwn(naming, pattern)) return `${(naming[pattern] as string).replace('#', number)}${suffix}`;
  }
  return undefined;
}

/** The inverse: the name in the file, without what comes before it. */
function fileName(name: string, naming: Naming): string {
  const [suffix = ''] = SUFFIX.exec(name) ?? [];
  const part = name.slice(0, name.length - suffix.length);
  const [number = ''] = /\d+/.exec(part) ?? [];
  const pattern = part.replace(/\.\d+\./, '.#.');
  const found = Object.entries(naming).find(([, gguf]) => gguf === pattern);
  return found === undefined ? name : `${found[0].replace('#', number)}${suffix}`;
}

/** One file, or all parts of one that is divided, which are loaded one after another. `onProgress` has the bytes of all parts so far; how many there are is 0 until the size of the last part is known. */
export type ModelSource = FileSource | readonly FileSource[];

/** Options of loaders of models: they choose tensors themselves. */
const LOADER_OPTIONS: OptionNames<Omit<LoadOptions, 'select'>> = { device: true, dtype: true, onProgress: true, signal: true };

/** A part that is promised may fail while those before it are loaded. That is an error of the call once the part's turn comes, and none that nothing handles. */
function handled(file: FileSource): FileSource {
  if (typeof (file as { then?: unknown } | null)?.then !== 'function') return file;
  const response = Promise.resolve(file as Promise<Response>);
  response.catch(() => undefined);
  return response;
}

/** Loads the weights that `naming` lists, of safetensors; or without it those of a GGUF file that `isPart` takes. */
export async function loadWeights(call: string, source: ModelSource, options: Omit<LoadOptions, 'select'>, naming: Naming | undefined, isPart: (name: string) => boolean): Promise<LoadedWeights> {
  const weights: Record<string, Weight> = {};
  let metadata: Record<string, unknown> = {};
  checkOptions(`${call}: options`, options, LOADER_OPTIONS);
  const select = (name: string) => (naming === undefined ? isPart(name) : ggufName(name, naming) !== undefined);
  const files = (Array.isArray(source) ? source : [source]).map(handled) as readonly FileSource[];
  const { onProgress } = options;
  let [before, loadedOfPart] = [0, 0];
  const told = (isLast: boolean) => (loaded: number, total: number) => {
    loadedOfPart = loaded;
    onProgress?.(before + loaded, isLast && total > 0 ? before + total : 0);
  };
  try {
    for (const [k, file] of files.entries()) {
      const progress = typeof onProgress === 'function' ? { onProgress: told(k === files.length - 1) } : {};
      const loaded = await (naming === undefined ? loadGguf : loadSafetensors)(file, { ...options, ...progress, select });
      before += loadedOfPart;
      for (const [name, tensor] of Object.entries(loaded.tensors)) {
        const part = naming === undefined ? name : (ggufName(name, naming) as string);
        if (Object.hasOwn(weights, part)) {
          dispose(loaded.tensors);
          throw invalidArgument(`${call}: tensor "${name}"`, 'it twice', 'each part of the model once');
        }
        weights[part] = tensor;
      }
      metadata = { ...metadata, ...loaded.metadata };
    }
  } catch (error) {
    dispose(Object.values(weights));
    throw error;
  }
  return { weights, metadata };
}

/** Gives a graph the weights that it asks for. Each must be there, of floats, and of the shape that the graph takes. */
export class Weights {
  constructor(
    /** The name of the call, in messages. */
    readonly call: string,
    private readonly table: WeightTable,
    private readonly naming: Naming | undefined,
    /** Whether matrices are [in, out], as files of GPT-2 have them. */
    private readonly isTransposed = false,
    /** How products with quantised weights are added. */
    private readonly accumulate: 'f32' | 'int8' = 'f32',
  ) {}

  /** Whether there is a weight of this name. */
  has(name: string): boolean {
    return Object.hasOwn(this.table, name);
  }

  /** A weight whose sizes are given; null stands for any. Throws 'invalid-argument', with the file's name for it. */
  take(name: string, sizes: readonly (number | null)[]): Weight {
    const weight = this.has(name) ? this.table[name] : undefined;
    const isTensor = weight instanceof Tensor;
    const isFloat = weight instanceof Quantized || (isTensor && (weight.dtype === 'f32' || weight.dtype === 'f16'));
    const fits = isFloat && weight.shape.length === sizes.length && sizes.every((size, axis) => size === null || size === weight.shape[axis]);
    if (fits && (sizes.length === 2 || isTensor)) return weight;
    const got = weight === undefined ? 'none' : `${weight instanceof Quantized ? weight.type : weight.dtype} [${weight.shape.join(', ')}]`;
    const takes = `floats [${sizes.map((size) => size ?? 'any').join(', ')}]`;
    throw invalidArgument(`${this.call}: tensor "${this.naming === undefined ? name : fileName(name, this.naming)}"`, got, takes);
  }

  /** A vector, or another tensor that is never quantised, in single precision. */
  tensor(name: string, sizes: readonly (number | null)[]): Tensor<'f32'> {
    const weight = this.take(name, sizes);
    return weight instanceof Quantized ? weight.dequantize() : (weight as Tensor).cast('f32');
  }

  /** x · weightᵀ of the part `name`, with its bias: that must be there, or may be. `out` null takes any number of rows. */
  linear(x: Tensor, name: string, out: number | null, bias: 'none' | 'optional' | 'needed' = 'optional'): Tensor<'f32'> {
    const width = x.shape.at(-1) as number;
    const weight = this.take(`${name}.weight`, this.isTransposed ? [width, out] : [out, width]);
    const matrix = this.isTransposed ? (weight as Tensor).T : weight;
    const rows = matrix.shape[0] as number;
    const hasBias = bias === 'needed' || (bias === 'optional' && this.has(`${name}.bias`));
    const accumulate = matrix instanceof Quantized ? this.accumulate : 'f32';
    return linear(x, matrix, { accumulate, ...(hasBias ? { bias: this.take(`${name}.bias`, [rows]) as Tensor } : {}) });
  }
}
