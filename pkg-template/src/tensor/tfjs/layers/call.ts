/** A call of a layer: what the layer is applied to, its settings and its weights. */

import { describe, invalidArgument } from '../../../arguments/errors.js';
import type { FileTensor } from '../../onnx/model.js';
import type { GraphBuilder } from '../builder.js';
import type { Fields } from '../fields.js';

/** A value with its number of axes, the batch among them. */
export interface Ranked {
  readonly name: string;
  readonly rank: number;
  /** Which steps count, [batch, steps] of bools; absent where all do. */
  readonly mask?: string;
}

/** What a layer gives: one value or several. */
export type Layer = (call: LayerCall) => Ranked | readonly Ranked[];

/** Where a layer stands: models around it, the layer of the innermost one, and layers that it wraps. */
export interface Scope {
  readonly models: readonly string[];
  readonly layer: string;
  readonly wrapped: readonly string[];
}

/** Applies a layer that stands in the settings of another. */
export type ApplyWrapped = (layer: Fields, scope: Scope, inputs: readonly Ranked[]) => readonly Ranked[];

/** The weights of a model. Their names are those of models, of a layer, of layers that it wraps, and of the weight, with slashes between; some are left out. */
export class WeightTable {
  private readonly bySuffix = new Map<string, string[]>();

  constructor(private readonly weights: ReadonlyMap<string, FileTensor>) {
    for (const name of weights.keys()) {
      const suffix = plain(name).replace(/^.*\//, '');
      const names = this.bySuffix.get(suffix);
      if (names === undefined) this.bySuffix.set(suffix, [name]);
      else names.push(name);
    }
  }

  /** A weight of a layer; null where there is none. */
  find(place: string, { models, layer, wrapped }: Scope, suffix: string): FileTensor | null {
    const exact = models.length === 0 && wrapped.length === 0 ? this.weights.get(`${layer}/${suffix}`) : undefined;
    if (exact !== undefined) return exact;
    const within = (names: readonly string[], scope: string) => names.filter((name) => `/${plain(name)}`.includes(`/${scope}/`));
    const all = this.bySuffix.get(suffix) ?? [];
    const inner = [...wrapped].reverse();
    let found = within(all, layer);
    // Layers of a model that is wrapped may have their own names alone.
    if (found.length === 0 && inner[0] !== undefined) found = within(all, inner[0]);
    for (const scope of [...inner, ...[...models].reverse()]) {
      const narrowed = found.length > 1 ? within(found, scope) : [];
      if (narrowed.length > 0) found = narrowed;
    }
    const own = found.find((name) => plain(name) === `${layer}/${suffix}`);
    if (found.length > 1 && own === undefined) throw invalidArgument(place, `the weights ${found.slice(0, 3).map(describe).join(', ')} for ${suffix}`, 'one weight');
    const name = own ?? found[0];
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
    readonly scope: Scope,
    readonly applyWrapped: ApplyWrapped,
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
    const found = this.weights.find(this.config.place, this.scope, name);
    return found === null ? null : this.builder.weight(found);
  }

  weight(name: string): string {
    const found = this.maybe(name);
    if (found === null) throw invalidArgument(`${this.config.place}: weight ${name}`, 'none in weightsManifest', `one that is named ${this.scope.layer}/${name}`);
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

  /** A layer that this one wraps, with its settings; the name is none where it has the weights of this one. */
  wrapped(config: Fields, name: string | null): LayerCall {
    const scope = name === null ? this.scope : { ...this.scope, wrapped: [...this.scope.wrapped, name] };
    return new LayerCall(this.builder, config, this.inputs, this.weights, scope, this.applyWrapped);
  }
}
