/** Reads a file of ONNX as it arrives: what is large of its initializers goes to the device, all else stays in memory. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import { DTYPE_BYTES, type DType } from '../dtype.js';
import { ByteReader } from '../files/byte-reader.js';
import { bytesOf, converterOf, FILE_BYTES, type Converter } from '../files/elements.js';
import type { Load } from '../files/load.js';
import { openSource, type FileSource } from '../files/source.js';
import { elementCount } from '../memory/numbers.js';
import { unpacked, type ElementType } from './element-types.js';
import { emptyGraph, readFunction, readGraphField, readOpset, TensorFields, type ExternalTensor, type FileTensor, type FunctionProto, type GraphParts, type GraphProto } from './model.js';
import { arrivingFields, Message, WIRE } from './protobuf.js';

/** Tensors of more elements than these are on the device alone. */
export const MOST_ELEMENTS_IN_MEMORY = 4096;

/** What a file holds. */
export interface ModelProto {
  readonly graph: GraphProto;
  /** Versions of operators by domain. */
  readonly opsets: ReadonlyMap<string, number>;
  readonly functions: readonly FunctionProto[];
}

/** Gives the file with a name that stands in a model. */
export type External = (location: string) => FileSource | Promise<FileSource>;

/** Reads a model, and the files that it names. */
export async function readModel(load: Load, external: External | undefined, signal: AbortSignal | undefined): Promise<ModelProto> {
  const { reader, call } = load;
  const opsets = new Map<string, number>();
  const functions: FunctionProto[] = [];
  let graph: GraphParts | null = null;
  // Bytes that arrive are valid until the next ones, and texts of attributes are kept.
  const message = async (place: string, length: number) => new Message(`${call}: ${place}`, (await reader.read(length, place)).slice());
  for await (const { field, wire, length } of arrivingFields(reader, 'the model', reader.size)) {
    if (wire !== WIRE.bytes || length === null) continue;
    if (field === 7) graph = await readGraph(load, reader.position + length, graph ?? emptyGraph());
    else if (field === 8) opsets.set(...readOpset(await message('opset_import', length)));
    else if (field === 25) functions.push(readFunction(await message('a function', length)));
  }
  if (graph === null) throw invalidArgument(`${call}: source`, 'a file without a graph', 'a model of ONNX');
  const initializers = await readExternal(load, graph.initializers, external, signal);
  return { graph: { ...graph, initializers }, opsets, functions };
}

async function readGraph(load: Load, end: number, graph: GraphParts): Promise<GraphParts> {
  const { reader, call } = load;
  const place = 'the graph';
  for await (const { field, wire, length } of arrivingFields(reader, place, end)) {
    if (wire !== WIRE.bytes || length === null) continue;
    if (field === 5) graph.initializers.push(await readInitializer(load, reader.position + length));
    else if (field === 1 || field === 11 || field === 12 || field === 15) {
      readGraphField(Message.ofField(`${call}: ${place}`, { field, wire }, (await reader.read(length, place)).slice()), graph);
    }
  }
  return graph;
}

/** Reads a tensor; bytes of a large one that come after its type and shape go to the device at once. */
async function readInitializer(load: Load, end: number): Promise<FileTensor> {
  const { reader, call } = load;
  const place = 'an initializer';
  const fields = new TensorFields(`${call}: initializer`);
  let stored: StoredTensor | null = null;
  for await (const { field, wire, length, value } of arrivingFields(reader, place, end)) {
    if (length === null) {
      fields.number(field, value);
      continue;
    }
    const form = field === 9 && wire === WIRE.bytes ? fields.form : null;
    if (form !== null && form.bytes === length && isLarge(form)) {
      if (stored !== null) throw invalidArgument(fields.where, 'raw_data twice', 'it once');
      stored = await storeTensor(load, reader, fields.where, { name: fields.name, ...form });
    } else {
      fields.take(Message.ofField(fields.place, { field, wire }, (await reader.read(length, place)).slice()));
    }
  }
  if (stored === null) return fields.tensor();
  const { form, name } = fields;
  if (form === null || elementCount(form.sizes) !== elementCount(stored.shape)) throw invalidArgument(fields.where, 'a shape that changes after raw_data', 'one shape');
  return { name, type: form.type, sizes: form.sizes, bytes: null, stored };
}

const isLarge = ({ type, sizes }: Pick<FileTensor, 'type' | 'sizes'>) => type.file !== null && elementCount(sizes) > MOST_ELEMENTS_IN_MEMORY;

/** Bytes of 8-bit integers stay bytes on the device; {@link signedOf} gives the numbers. */
export function storedType({ name, dtype }: ElementType): 'u8' | ElementType['dtype'] {
  return name === 'int8' || name === 'int4' || name === 'int2' ? 'u8' : dtype;
}

/** Allocates a tensor and fills it with the next bytes of a file. */
async function storeTensor(load: Load, reader: ByteReader, place: string, { name, type, sizes }: Pick<FileTensor, 'name' | 'type' | 'sizes'>): Promise<StoredTensor> {
  const dtype = storedType(type);
  const file = type.name === 'int8' ? 'u8' : type.file ?? 'u8';
  return storeConverted(load, reader, place, { name, dtype, sizes }, FILE_BYTES[file], converterOf(place, file, dtype));
}

/** Allocates a tensor and fills it with the next elements of a file, each of so many bytes. */
export async function storeConverted(load: Load, reader: ByteReader, place: string, { name, dtype, sizes }: { readonly name: string; readonly dtype: DType; readonly sizes: readonly number[] }, width: number, convert: Converter): Promise<StoredTensor> {
  const cell = await load.allocate(name, dtype, sizes);
  // Of each write but the last the bytes are whole words.
  const grain = width * Math.max(1, 4 / DTYPE_BYTES[dtype]);
  let offset = 0;
  for await (const piece of reader.pieces(width * elementCount(sizes), grain, place)) {
    const converted = convert(piece);
    await load.write(cell, offset, converted);
    offset += converted.length;
  }
  return load.tensor(cell);
}

/** The bytes of a tensor in memory as they are stored on a device. */
export function deviceBytes(place: string, { type, sizes, bytes }: FileTensor): Uint8Array<ArrayBuffer> {
  const data = (bytes as Uint8Array).slice();
  if (type.name === 'int8') return data;
  if (type.file !== null) return converterOf(place, type.file, type.dtype)(data).slice();
  const numbers = unpacked(type, data, elementCount(sizes));
  return storedType(type) === 'u8' ? Uint8Array.from(numbers) : bytesOf(numbers);
}

/** Reads what is in other files, each of them once, in the order of its bytes. */
async function readExternal(load: Load, tensors: readonly FileTensor[], external: External | undefined, signal: AbortSignal | undefined): Promise<FileTensor[]> {
  const found = [...tensors];
  const places = new Map<string, number[]>();
  tensors.forEach((tensor, k) => {
    if ('external' in tensor) places.set((tensor as ExternalTensor).external.location, [...(places.get((tensor as ExternalTensor).external.location) ?? []), k]);
  });
  for (const [location, indices] of places) {
    const call = `${load.call}: file ${describe(location)}`;
    if (external === undefined) throw invalidArgument(call, 'no option external, which gives it', 'external: (location) => the source of that file');
    const source = await openSource(call, await load.wait(Promise.resolve(external(location))), signal);
    try {
      const reader = new ByteReader(call, source, { wait: (promise) => load.wait(promise), progress: () => {} });
      const ofFile = indices.map((k) => ({ k, tensor: tensors[k] as ExternalTensor })).sort((a, b) => a.tensor.external.offset - b.tensor.external.offset);
      for (const { k, tensor } of ofFile) found[k] = await readPart(load, reader, tensor, found, ofFile);
    } finally {
      source.cancel();
    }
  }
  return found;
}

async function readPart(load: Load, reader: ByteReader, tensor: ExternalTensor, found: readonly FileTensor[], ofFile: readonly { k: number; tensor: ExternalTensor }[]): Promise<FileTensor> {
  const { external: { offset, length }, ...rest } = tensor;
  const place = `initializer ${describe(tensor.name)}`;
  if (offset < reader.position) {
    // Tied weights are the same bytes.
    const same = ofFile.find((other) => other.tensor !== tensor && other.tensor.external.offset === offset && other.tensor.external.length === length && other.tensor.type === tensor.type);
    const before = same === undefined ? undefined : found[same.k];
    if (before === undefined || (before.stored === null && before.bytes === null)) throw invalidArgument(`${reader.call}: ${place}`, `bytes from ${offset} on, which lie in those of another`, 'bytes of its own, or the same ones');
    return { ...before, name: tensor.name, sizes: tensor.sizes };
  }
  await reader.skipTo(offset, place);
  if (isLarge(tensor)) return { ...rest, stored: await storeTensor(load, reader, `${reader.call}: ${place}`, tensor) };
  return { ...rest, bytes: (await reader.read(length, place)).slice() };
}
