/** Values of a graph: numbers in memory, among them sizes that runs tell, or tensors. */

import type { Device } from '../device/device.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { stack } from '../functions.js';
import { decode, elementCount } from '../memory/numbers.js';
import { Node } from '../recipe/node.js';
import { full } from '../sources.js';
import type { Shape, Size } from '../size.js';
import { Tensor } from '../tensor.js';
import { numbersOfBytes, type ElementType } from './element-types.js';
import type { FileTensor } from './model.js';
import { deviceBytes, MOST_ELEMENTS_IN_MEMORY, storedType } from './reading.js';

/** Numbers in memory, in C order; sizes among them may be Dims. */
export interface Host {
  readonly sizes: readonly number[];
  readonly data: readonly Size[];
}

/** The inputs of a graph on whose numbers a value depends. */
export type Origins = ReadonlySet<string>;

export const NO_ORIGINS: Origins = /* @__PURE__ */ new Set();

/** Returns the inputs on which any of these depends. */
export function originsOf(values: readonly (Value | null)[]): Origins {
  let found = NO_ORIGINS;
  for (const value of values) {
    if (value === null || value.origins.size === 0 || value.origins === found) continue;
    found = found.size === 0 ? value.origins : [...value.origins].every((name) => found.has(name)) ? found : new Set([...found, ...value.origins]);
  }
  return found;
}

/** A value of a graph. */
export class Value {
  /** Which output of which node it is, by number; the same in each recording. */
  place: string | null = null;
  /** What its tensor is stored in where it belongs to the model; null of a value of one recording. */
  home: ConstantMemory | null = null;
  private numbers: Host | null | undefined;
  private made: Tensor | null;

  private constructor(
    readonly type: ElementType,
    readonly shape: Shape,
    readonly origins: Origins,
    private readonly source: { readonly host?: Host; readonly file?: FileTensor; readonly tensor?: Tensor },
  ) {
    this.numbers = source.host;
    this.made = source.tensor ?? null;
  }

  /** A tensor. */
  static ofTensor(tensor: Tensor, type: ElementType, origins: Origins): Value {
    return new Value(type, tensor.shape, origins, { tensor });
  }

  /** Numbers in memory. */
  static ofHost(host: Host, type: ElementType, origins: Origins): Value {
    return new Value(type, host.sizes, origins, { host });
  }

  /** A tensor of a file. */
  static ofFile(file: FileTensor): Value {
    return new Value(file.type, file.sizes, NO_ORIGINS, { file });
  }

  /** Its numbers where they are in memory, else null. */
  get host(): Host | null {
    if (this.numbers === undefined) {
      const { file } = this.source;
      const count = elementCount(this.shape as readonly number[]);
      const isSmall = file?.bytes != null && count <= MOST_ELEMENTS_IN_MEMORY;
      this.numbers = isSmall ? { sizes: file.sizes, data: numbersOfBytes(this.type, file.bytes as Uint8Array, count) } : null;
    }
    return this.numbers;
  }

  /** Whether its tensor was asked for, which is kept. */
  get hasTensor(): boolean {
    return this.made !== null;
  }

  /** The tensor; numbers in memory become one of `memory`, unless the value has its own. */
  tensor(memory: ConstantMemory): Tensor {
    return (this.made ??= (this.home ?? memory).tensorOf(this.type, this.numbers ?? null, this.source.file));
  }
}

/** Tensors of constants, each stored once: those of a model, or within these those of one program. */
export class ConstantMemory {
  private readonly stored = new Map<string, StoredTensor>();
  private readonly ofFiles = new Map<FileTensor, StoredTensor>();
  private readonly kept = new Set<StoredTensor>();

  constructor(
    private readonly device: Device,
    private readonly outer: ConstantMemory | null = null,
  ) {}

  /** Takes a tensor over, to be freed with the others. */
  keep(tensor: StoredTensor): void {
    this.kept.add(tensor);
  }

  /** Frees those that are not among these. */
  release(used: ReadonlySet<StoredTensor>): void {
    for (const tensor of this.kept) {
      if (used.has(tensor)) continue;
      tensor.dispose();
      this.kept.delete(tensor);
      for (const map of [this.stored, this.ofFiles] as Map<unknown, StoredTensor>[]) for (const [key, value] of map) if (value === tensor) map.delete(key);
    }
  }

  /** Frees all. */
  dispose(): void {
    this.release(new Set());
  }

  /** All that are stored. */
  get all(): ReadonlySet<StoredTensor> {
    return this.kept;
  }

  /** Returns the tensor of numbers in memory, or of a file. */
  tensorOf(type: ElementType, host: Host | null, file: FileTensor | undefined): Tensor {
    if (host === null || (file !== undefined && elementCount(file.sizes) > 1)) return this.tensorOfFile(file as FileTensor);
    const { sizes, data } = host;
    const [first = 0] = data;
    if (data.some((size) => typeof size !== 'number')) return sizesTensor(host, type);
    if (data.every((each) => Object.is(each, first))) return full(sizes, first as number, type.dtype);
    const key = `${type.dtype} ${sizes.join()}: ${data.map((each) => (Object.is(each, -0) ? '-0' : each)).join()}`;
    let tensor = this.outer?.stored.get(key) ?? this.stored.get(key);
    if (tensor === undefined) {
      tensor = this.device.tensor(data as readonly number[], sizes, type.dtype);
      this.stored.set(key, tensor);
      this.keep(tensor);
    }
    return tensor;
  }

  private tensorOfFile(file: FileTensor): Tensor {
    if (this.outer !== null) return this.outer.tensorOfFile(file);
    let tensor = file.stored ?? this.ofFiles.get(file);
    if (tensor === undefined) {
      const dtype = storedType(file.type);
      tensor = this.device.tensor(decode(dtype, deviceBytes(`initializer ${file.name}`, file)), file.sizes, dtype);
      this.ofFiles.set(file, tensor);
      this.keep(tensor);
    }
    const shaped = tensor.reshape(file.sizes);
    // Bytes with a sign: of 128 and more the upper half is below 0.
    return storedType(file.type) === file.type.dtype ? shaped : shaped.cast('i32').xor(128).sub(128);
  }
}

/** Sizes that runs tell, as a tensor. */
function sizesTensor({ sizes, data }: Host, { dtype }: ElementType): Tensor {
  const numbers = data.map((size) => (typeof size === 'number' ? full([], size, dtype) : Tensor.make(new Node('extent', dtype, [], [], [{ size }]))));
  return sizes.length === 0 ? (numbers[0] as Tensor) : stack(numbers).reshape(sizes);
}
