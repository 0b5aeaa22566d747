/** Reads the weights of a model as they arrive: what is large goes to the device, all else stays in memory. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { ByteReader } from '../files/byte-reader.js';
import { bytesOf, converterOf, FILE_BYTES, type Converter } from '../files/elements.js';
import type { Load } from '../files/load.js';
import { openSource, type ByteSource, type FileSource } from '../files/source.js';
import { elementCount } from '../memory/numbers.js';
import type { FileTensor } from '../onnx/model.js';
import { MOST_ELEMENTS_IN_MEMORY, storeConverted } from '../onnx/reading.js';
import { bytesOfWeights, type WeightGroup, type WeightSpec } from './manifest.js';

/** Gives the file with a path that stands in a model. */
export type WeightFiles = (path: string) => FileSource | Promise<FileSource>;

/** Reads all weights, by name. Of several with one name, which TensorFlow.js writes for models that others share, the last one counts. */
export async function readWeights(load: Load, groups: readonly WeightGroup[], files: WeightFiles, signal: AbortSignal | undefined): Promise<Map<string, FileTensor>> {
  const found = new Map<string, FileTensor>();
  let before = load.reader.position;
  load.expect(before + bytesOfWeights(load.call, groups));
  for (const { paths, weights } of groups) {
    const source = joined(load, paths, files, signal);
    const reader = new ByteReader(`${load.call}: ${paths.length === 1 ? `file ${describe(paths[0])}` : `files ${describe(paths[0])} and more`}`, source, {
      wait: (promise) => load.wait(promise),
      progress: (loaded) => load.progress(before + loaded),
    });
    try {
      for (const weight of weights) {
        const read = await readWeight(load, reader, weight);
        found.get(weight.name)?.stored?.dispose();
        found.set(weight.name, read);
      }
      if (!(await reader.isAtEnd())) throw invalidArgument(reader.call, 'more bytes', `files that end at byte ${reader.position}, with the last weight`);
    } finally {
      source.cancel();
    }
    before += reader.position;
  }
  return found;
}

/** The bytes of files one after another. Each is opened once it is needed. */
function joined(load: Load, paths: readonly string[], files: WeightFiles, signal: AbortSignal | undefined): ByteSource {
  let [at, current, isEnded]: [number, ByteSource | null, boolean] = [0, null, false];
  return {
    size: null,
    expectedSize: null,
    async next() {
      for (;;) {
        if (current === null) {
          const path = paths[at++];
          if (path === undefined) return null;
          current = await openSource(`${load.call}: file ${describe(path)}`, await files(path), signal);
          if (isEnded) {
            // The load has ended before.
            current.cancel();
            return null;
          }
        }
        const piece = await current.next();
        if (piece !== null) return piece;
        current = null;
      }
    },
    skip: () => 0,
    cancel() {
      isEnded = true;
      current?.cancel();
    },
  };
}

async function readWeight(load: Load, reader: ByteReader, { name, sizes, type, file, scaling }: WeightSpec): Promise<FileTensor> {
  const what = `weight ${describe(name)}`;
  const place = `${reader.call}: ${what}`;
  const width = FILE_BYTES[file];
  const convert: Converter = scaling === null ? converterOf(place, file, type.dtype) : dequantiser(file === 'u8' ? 1 : 2, type.name === 'int32', scaling);
  const count = elementCount(sizes);
  if (count > MOST_ELEMENTS_IN_MEMORY) return { name, type, sizes, bytes: null, stored: await storeConverted(load, reader, place, { name, dtype: type.dtype, sizes }, width, convert) };
  return { name, type, sizes, bytes: convert((await reader.read(width * count, what)).slice()).slice(), stored: null };
}

/** scale · code + min of codes of so many bytes, rounded where it is to be whole. */
function dequantiser(width: 1 | 2, isWhole: boolean, { scale, min }: { readonly scale: number; readonly min: number }): Converter {
  return (piece) => {
    const codes = width === 1 ? piece : new Uint16Array(piece.slice().buffer);
    const numbers = isWhole ? new Int32Array(codes.length) : new Float32Array(codes.length);
    for (let i = 0; i < codes.length; i++) {
      const number = (codes[i] as number) * scale + min;
      numbers[i] = isWhole ? Math.round(number) : number;
    }
    return bytesOf(numbers);
  };
}
