/** A call of a layer: what the layer is applied to, its settings and its weights. */

import { describe, invalidArgument } from '../../../arguments/errors.js';
import type { FileTensor } from '../../onnx/model.js';
import type { GraphBuilder } from '../builder.js';
import type { Fields } from '../fields.js';

/** A value with its number of axes, the batch among them. */
export interface Ranked {
  readonly name: string;
  readonly rank: number;
}

/** What a layer gives: one value or several. */
export type Layer = (call: LayerCall) => Ranked | readonly Ranked[];

/** Applies a layer that stands in the settings of another. */
export type ApplyInner = (layer: Fields, scopes: readonly string[], inputs: readonly Ranked[]) => readonly Ranked[];

/** The weights of a model. Names are those of layers, of wrappers and models around them, and of the weight, with slashes between them. */
export class WeightTable {
  private readonly bySuffix = new Map<string, string[]>();

  constructor(private readonly weights: ReadonlyMap<string, FileTensor>) {
    for (const name of weights.keys()) {
      const suffix = plain(name).replace(/^.*\//, '');
      this.bySuffix.set(suffix, [...(this.bySuffix.get(suffix) ?? []), name]);
    }
  }

  /** A weight of the layer that is the last of the scopes; where no weight has the layer's name, of the next one. Null where there is none. */
  find(place: string, scopes: readonly string[], suffix: string): FileTensor | null {
    const all = this.bySuffix.get(suffix) ?? [];
    const within = (names: readonly string[], scope: string) => names.filter((name) => `/${plain(name)}`.includes(`/${scope}/`));
    let found: readonly string[] = [];
    for (const scope of [...scopes].reverse()) {
      const narrowed = within(found.length === 0 ? all : found, scope);
      if (narrowed.length > 0) found = narrowed;
      if (found.length === 1) break;
    }
    const exact = found.find((name) => plain(name) === `${scopes.at(-1)}/${suffix}`);
    if (found.length > 1 && exact === undefined) throw invalidArgument(place, `the weights ${found.slice(0, 3).map(describe).join(', ')} for ${suffix}`, 'one weight');
    const name = exact ?? found[0];
    return name === undefined ? null : (this.weights.get(name) as FileTensor);
  }
}

/** A name without the number of an output, which TensorFlow writes after a colon. */
const plain = (name: string) => name.replace(/:0$/, '');

/** A layer with its inputs. */
export class LayerCall {
  constructor(
    readonly builder: GraphBuilder,
    readonly config: Fields,
    readonly inputs: readonly Ranked[],
    private readonly weights: WeightTable,
    /** Names of models and wrappers around the layer, and its own. */
    readonly scopes: readonly string[],
    readonly applyInner: ApplyInner,
  ) {}

  /** The only input. */
  get x(): Ranked {
    const [x] = this.inputs;
    if (x === undefined || this.inputs.length !== 1) throw invalidArgument(`${this.config.place}: inputs`, `${this.inputs.length} tensors`, 'one tensor');
    return x;
  }

  /** The only input, of so many axes. */
  ranked(rank: number): string {
    const { x } = this;
    if (x.rank !== rank) throw invalidArgument(`${this.config.place}: input`, `a tensor of ${x.rank} axes`, `one of ${rank} axes`);
    return x.name;
  }

  /** Throws unless a setting is what it is where it is left out. */
  refuse(name: string, isTaken: (value: unknown) => boolean, takes: string): void {
    const value = this.config.any(name);
    if (value !== null && !isTaken(value)) throw this.config.wrong(name, value, takes);
  }

  maybe(name: string): string | null {
    const found = this.weights.find(this.config.place, this.scopes, name);
    return found === null ? null : this.builder.weight(found);
  }

  weight(name: string): string {
    const found = this.maybe(name);
    if (found === null) throw invalidArgument(`${this.config.place}: weight ${name}`, 'none in weightsManifest', `one that is named ${this.scopes.at(-1)}/${name}`);
    return found;
  }

  /** A weight of so many axes with its sizes. */
  sized(name: string, rank: number): { readonly name: string; readonly sizes: readonly number[] } {
    const found = this.weight(name);
    const sizes = this.builder.sizesOf(found) ?? [];
    if (sizes.length !== rank) throw invalidArgument(`${this.config.place}: weight ${name}`, `the shape [${sizes.join(', ')}]`, `${rank} axes`);
    return { name: found, sizes };
  }

  /** The bias, unless the layer has none. */
  get bias(): string | null {
    return this.config.flag('use_bias', true) ? this.weight('bias') : null;
  }

  /** The same layer with other settings and another name within it: what a wrapper applies. */
  within(config: Fields, scopes: readonly string[], inputs: readonly Ranked[]): LayerCall {
    return new LayerCall(this.builder, config, inputs, this.weights, scopes, this.applyInner);
  }
}
