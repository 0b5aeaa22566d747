/** A model on a device: a graph that is recorded and compiled for each set of sizes. */

import { makeInspectable } from '../../arguments/inspection.js';
import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { makeDisposable } from '../../compile/dispose.js';
import type { Device } from '../device/device.js';
import type { StoredTensor } from '../device/stored-tensor.js';
import type { Numeric } from '../memory/numbers.js';
import type { Dims } from '../size.js';
import { Tensor } from '../tensor.js';
import { checkNames, hostOf, publicValue, sizedFeeds, typeOfInput, type ModelFeed, type ModelValue } from './feeds.js';
import { Recording, Scope, type Model } from './graph.js';
import type { NodeProto, ValueInfo } from './model.js';
import { OnnxPrograms } from './programs.js';
import { Value, type ConstantMemory, type Host } from './values.js';

/**
 * A model that was loaded from a file of ONNX or of TensorFlow.js, on a device. Integers of 64 bits are i32 here and doubles f32. Outputs have the names that
 * the file has for them.
 */
export class LoadedModel {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** What runs take, in the order of the file. */
  readonly inputs: readonly ModelValue[];
  /** What runs give. */
  readonly outputs: readonly ModelValue[];
  private readonly programs: OnnxPrograms;
  private isDisposed = false;

  /** @internal Made by loadOnnx and loadTfjs. */
  constructor(
    /** Where it computes. */
    readonly device: Device,
    private readonly model: Model,
    private readonly infos: { readonly inputs: readonly ValueInfo[]; readonly outputs: readonly ValueInfo[] },
    private readonly constants: Scope,
    private readonly nodes: readonly NodeProto[],
    dims: Dims,
  ) {
    this.inputs = Object.freeze(infos.inputs.map((info) => publicValue(info, dims)));
    this.outputs = Object.freeze(infos.outputs.map((info) => publicValue(info, dims)));
    this.programs = new OnnxPrograms(device, model.memory, (feeds, memory, takesBothBranches, known) => this.record(feeds, memory, takesBothBranches, known));
  }

  /**
   * The outputs as recipes over tensors, to go on computing with: in a program, or with derivatives. An input may be numbers, too: those that decide
   * shapes or conditions must be, as the graph is recorded for them. Throws 'invalid-argument' for inputs of another type or shape, and with node and
   * operator for what a node does not take; 'limit-exceeded' for loops that are too long; 'disposed'.
   */
  recipe(feeds: { readonly [name: string]: Tensor | ModelFeed }): Record<string, Tensor> {
    this.check();
    checkNames('recipe: feeds', feeds, this.inputs);
    const tensors = this.inputs.filter(({ name }) => feeds[name] instanceof Tensor);
    for (const input of tensors) checkTensor(`recipe: feeds.${input.name}`, input, feeds[input.name] as Tensor);
    const others = this.inputs.filter((input) => !tensors.includes(input));
    const given = new Map<string, Tensor | Host>(tensors.map(({ name }) => [name, feeds[name] as Tensor]));
    for (const sized of sizedFeeds('recipe: feeds', feeds, others)) {
      const { input, sizes, feed } = sized;
      given.set(input.name, hostOf(sized) ?? this.device.tensor(feed as Numeric, sizes, input.dtype));
    }
    return this.record(given, this.model.memory);
  }

  /**
   * Computes the outputs. A feed is a stored tensor, `{ data, shape }`, or numbers alone where the shape of the input follows. The first run with sizes
   * compiles a program for them, which later runs use: those of the last 8 sets of sizes are kept. The outputs belong to that program: the next run with
   * the same sizes writes over them, after the reads that were asked for before it. Rejects as recipe() throws, and as `Device.compile` and `Program.run` do.
   */
  async run(feeds: { readonly [name: string]: ModelFeed }): Promise<Record<string, StoredTensor>> {
    this.check();
    checkNames('run: feeds', feeds, this.inputs);
    return this.programs.run(sizedFeeds('run: feeds', feeds, this.inputs));
  }

  /** Frees the constants and the programs, with their outputs. A second call does nothing. */
  dispose(): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    this.programs.dispose();
    this.model.memory.dispose();
  }

  /** What JSON.stringify writes: inputs and outputs. */
  toJSON(): { inputs: readonly ModelValue[]; outputs: readonly ModelValue[] } {
    return { inputs: this.inputs, outputs: this.outputs };
  }

  private check(): void {
    if (this.isDisposed) throw new ResiduaError('disposed', 'LoadedModel: got a call after dispose()');
  }

  private record(feeds: ReadonlyMap<string, Tensor | Host>, memory: ConstantMemory, takesBothBranches = true, known: ReadonlyMap<string, Host> = new Map()): Record<string, Tensor> {
    const scope = new Scope(this.constants);
    for (const info of this.infos.inputs) {
      const feed = feeds.get(info.name) as Tensor | Host;
      const origins = new Set([info.name]);
      scope.set(info.name, feed instanceof Tensor ? Value.ofTensor(feed, typeOfInput(info, feed.dtype), origins) : Value.ofHost(feed, typeOfInput(info, 'f32'), origins));
    }
    new Recording({ ...this.model, memory }, takesBothBranches, known).nodes({ nodes: this.nodes, initializers: [] }, scope);
    return Object.fromEntries(this.infos.outputs.map(({ name }) => [name, output(this.model, scope, name).tensor(memory)]));
  }
}

makeDisposable(LoadedModel);
makeInspectable(LoadedModel, 'LoadedModel');

function output({ call }: Model, scope: Scope, name: string): Value {
  const value = scope.get(name);
  if (value === undefined) throw invalidArgument(`${call}: output`, describe(name), 'the name of an output of a node');
  return value;
}

function checkTensor(place: string, { dtype, shape }: ModelValue, tensor: Tensor): void {
  const takes = `${dtype} [${shape?.map((size) => (typeof size === 'object' ? size.name : size === '' ? '?' : size)).join(', ') ?? '…'}]`;
  const fits = shape === null || (shape.length === tensor.rank && shape.every((size, axis) => typeof size !== 'number' || tensor.shape[axis] === size));
  if (tensor.dtype !== dtype || !fits) throw invalidArgument(place, String(tensor), `a tensor of ${takes}`);
}
