/** Loads a model of TensorFlow.js: its layers or nodes become a graph of ONNX' operators, which runs as other models do. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkOptions, type OptionNames } from '../../arguments/options.js';
import { checkSignal } from '../../module/cancellation.js';
import type { Device } from '../device/device.js';
import { textOf } from '../files/byte-reader.js';
import { load, type Load } from '../files/load.js';
import type { FileSource } from '../files/source.js';
import type { LoadedModel } from '../onnx/loaded-model.js';
import { modelOf } from '../onnx/prepare.js';
import { checkDims, type Size } from '../size.js';
import { OPSET } from './builder.js';
import { Fields } from './fields.js';
import { readGraphModel } from './graph/model.js';
import { readLayersModel } from './layers/model.js';
import { readManifest } from './manifest.js';
import { readWeights, type WeightFiles } from './weights.js';

/** Options of {@link loadTfjs}. */
export interface TfjsOptions {
  /** Where the weights are stored and runs are computed; `Device.default()` unless told. */
  device?: Device;
  /**
   * Sizes that the inputs name, such as `{ batch: 1 }`. With a number the graph is recorded for it. With a Dim one program serves all sizes up to its
   * `max`. A name that is not told here has the sizes of each run, with a program for each.
   */
  dims?: Readonly<Record<string, Size>>;
  /** Gives the files with weights, by the paths that the model has for them; by default they lie beside the address of the model. */
  weights?: (path: string) => FileSource | Promise<FileSource>;
  /** Called as bytes arrive, with their number and that of all files; the latter is that of model.json, or 0, until this is read. */
  onProgress?: (loaded: number, total: number) => void;
  /** Ends the load with 'aborted'. */
  signal?: AbortSignal;
}

const OPTIONS: OptionNames<TfjsOptions> = { device: true, dims: true, weights: true, onProgress: true, signal: true };

/**
 * Loads a model of TensorFlow.js: a Layers model or a graph model, by its model.json. Weights are read as they arrive, and large ones go to the device at once;
 * quantised ones become f32. What depends on constants alone is computed once. An input or output is named by its layer, or by its node.
 *
 * Rejects with 'invalid-argument' for a file that is no such model, is damaged, or has layers, operators, types or settings that are not taken: the message
 * has the layer or the node and what is taken. With 'limit-exceeded', 'out-of-memory', 'aborted'.
 */
export async function loadTfjs(source: FileSource, options: TfjsOptions = {}): Promise<LoadedModel> {
  const call = 'loadTfjs';
  checkOptions(`${call}: options`, options, OPTIONS);
  const { device, dims = {}, weights, onProgress, signal } = options;
  checkDims(`${call}: dims`, dims);
  checkSignal(`${call}: signal`, signal);
  if (weights !== undefined && typeof weights !== 'function') throw invalidArgument(`${call}: weights`, describe(weights), 'a function of the path of a file');
  const given = { ...(device && { device }), ...(onProgress && { onProgress }), ...(signal && { signal }) };
  const files = weights ?? filesBeside(call, source);
  return load(call, source, given, async (work) => {
    const model = await readJson(work);
    const groups = readManifest(model);
    const topology = model.object('modelTopology');
    const translate = topology.has('node') || topology.has('library') ? readGraphModel(model, topology) : readLayersModel(topology);
    const all = await readWeights(work, groups, files, signal);
    const graph = translate(all);
    const used = new Set(graph.initializers.map(({ stored }) => stored));
    for (const { stored } of all.values()) if (!used.has(stored)) stored?.dispose();
    return modelOf(call, { graph, opsets: new Map([['', OPSET]]), functions: [] }, work.device, dims);
  });
}

async function readJson({ call, reader }: Load): Promise<Fields> {
  const text = textOf(`${call}: source`, await reader.rest());
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidArgument(`${call}: source`, `a file that is no JSON: ${String(error).slice(0, 100)}`, 'the model.json of a model of TensorFlow.js');
  }
  return Fields.of(call, value);
}

/** Files beside the address of a model; what stands after a question mark is theirs too, such as a signature. */
function filesBeside(call: string, source: FileSource): WeightFiles {
  return async (path) => {
    const page = (globalThis as { location?: { href?: string } }).location?.href;
    const place = `${call}: file ${describe(path)}`;
    const given = await source;
    const told = typeof given === 'string' || given instanceof URL ? String(given) : 'url' in given ? given.url : '';
    if (told === '') throw invalidArgument(place, 'no option weights, which gives it', 'weights: (path) => the source of that file, as the model has no address');
    const base = URL.canParse(told, page) ? new URL(told, page) : null;
    if (base === null || !URL.canParse(path, base.href)) throw invalidArgument(place, `the address ${describe(told)} of the model`, 'one beside which the file lies');
    const url = new URL(path, base);
    if (url.search === '') url.search = base.search;
    return url;
  };
}
