/** Rotary frequencies of a model, with the ways in which models stretch them to longer texts. Computed once in double precision. */

import type { FactReader } from './facts.js';

/** How positions turn queries and keys. */
export interface RotarySettings {
  /** Which numbers are a pair; see {@link RopeOptions}. */
  readonly layout: 'halves' | 'pairs';
  /** How many numbers of a head turn. */
  readonly size: number;
  /** Pair i turns by base^(−2i/size) radians a token. */
  readonly base: number;
  /** How the frequencies are changed; null where they are not. */
  readonly scaling: RotaryScaling | null;
}

/**
 * Changes of frequencies f. 'linear': f / factor. 'llama3': f / factor where a turn takes more tokens than original / low, f where it takes fewer than original / high, between them a mixture.
 * 'yarn': by the number of turns in the original context (Peng et al. 2023). 'factors': f / factors, a list for contexts up to `original` tokens and another for longer ones.
 */
export type RotaryScaling =
  | { readonly kind: 'linear'; readonly factor: number }
  | { readonly kind: 'llama3'; readonly factor: number; readonly low: number; readonly high: number; readonly original: number }
  | { readonly kind: 'yarn'; readonly factor: number; readonly original: number; readonly fast: number; readonly slow: number; readonly magnitude: number }
  | { readonly kind: 'factors'; readonly short: readonly number[]; readonly long: readonly number[]; readonly original: number; readonly magnitude: number };

/** Angles of the pairs from one token to the next; with `isLong` those for texts that are longer than the original context. */
export function rotaryFrequencies({ size, base, scaling }: RotarySettings, isLong: boolean): number[] {
  const plain = Array.from({ length: size / 2 }, (_, i) => base ** ((-2 * i) / size));
  switch (scaling?.kind) {
    case undefined:
      return plain;
    case 'linear':
      return plain.map((f) => f / scaling.factor);
    case 'llama3': {
      const { factor, low, high, original } = scaling;
      const share = (f: number) => Math.min(1, Math.max(0, ((original * f) / (2 * Math.PI) - low) / (high - low)));
      return plain.map((f) => share(f) * f + ((1 - share(f)) * f) / factor);
    }
    case 'yarn': {
      const { factor, original, fast, slow } = scaling;
      // The pair that makes so many turns in the original context.
      const pairOf = (turns: number) => (size * Math.log(original / (turns * 2 * Math.PI))) / (2 * Math.log(base));
      const first = Math.max(Math.floor(pairOf(fast)), 0);
      const last = Math.min(Math.ceil(pairOf(slow)), size - 1);
      const stretched = (i: number) => Math.min(1, Math.max(0, (i - first) / Math.max(last - first, 1e-3)));
      return plain.map((f, i) => (stretched(i) * f) / factor + (1 - stretched(i)) * f);
    }
    case 'factors': {
      const factors = isLong ? scaling.long : scaling.short;
      return plain.map((f, i) => f / (factors[i] as number));
    }
  }
}

/** Whether a memory of so many tokens is longer than the context for which the first list of factors is. */
export function isLongContext({ scaling }: RotarySettings, capacity: number): boolean {
  return scaling?.kind === 'factors' && capacity > scaling.original;
}

/** The factor by which longer contexts enlarge the numbers that turn, of 'factors' (LongRoPE, Ding et al. 2024). */
export function longMagnitude(context: number, original: number): number {
  return context <= original ? 1 : Math.sqrt(1 + Math.log(context / original) / Math.log(original));
}

/** Scaling by the names of a config.json: `rope_scaling`, or `rope_parameters` since version 5 of transformers. */
export function scalingOf(facts: FactReader | null, context: number, original: number | null, size: number): RotaryScaling | null {
  if (facts === null) return null;
  const kind = facts.text(['rope_type', 'type'], 'default');
  if (kind === 'default') return null;
  const first = original ?? facts.optional(['original_max_position_embeddings']);
  if (kind === 'linear') return { kind, factor: facts.number(['factor']) };
  if (kind === 'llama3') {
    const [low, high] = [facts.number(['low_freq_factor']), facts.number(['high_freq_factor'])];
    return { kind, factor: facts.number(['factor']), low, high, original: facts.count(['original_max_position_embeddings']) };
  }
  if (kind === 'yarn') return yarn(facts.number(['factor']), first ?? context, facts);
  if (kind === 'longrope' || kind === 'su') {
    const lists = ['short_factor', 'long_factor'].map((name) => {
      const list = facts.list([name]);
      if (list.length !== size / 2 || !list.every((x) => x > 0)) throw facts.wrong(name, list, `${size / 2} positive numbers`);
      return list;
    });
    const magnitude = facts.optional(['attention_factor']) ?? longMagnitude(context, first ?? context);
    return { kind: 'factors', short: lists[0] as number[], long: lists[1] as number[], original: first ?? context, magnitude };
  }
  throw facts.wrong('rope_type', kind, "'default', 'linear', 'llama3', 'yarn' or 'longrope'");
}

/** YaRN, with the defaults of its paper. */
export function yarn(factor: number, original: number, facts: FactReader): RotaryScaling {
  const magnitude = facts.optional(['attention_factor', 'rope.scaling.attn_factor']) ?? 0.1 * Math.log(factor) + 1;
  return { kind: 'yarn', factor, original, fast: facts.number(['beta_fast'], 32), slow: facts.number(['beta_slow'], 1), magnitude };
}
