/** Attention and rotary embeddings, as ONNX has them from version 23 on. */

import { invalidArgument } from '../../../arguments/errors.js';
import { attention, concat, stack, where, type AttentionOptions } from '../../functions.js';
import type { Size } from '../../size.js';
import { arange } from '../../sources.js';
import type { Indices, Tensor } from '../../tensor.js';
import type { Call, Operator } from '../call.js';
import { typeNamed } from '../element-types.js';

/** [batch, tokens, heads · size] as [batch, heads, tokens, size]. */
export function byHeads(x: Tensor, heads: number): Tensor {
  const [batch, tokens, width] = x.shape as readonly [Size, Size, Size];
  if (x.rank !== 3 || typeof width !== 'number' || heads < 1 || width % heads !== 0) throw invalidArgument('input', String(x), `a tensor [batch, tokens, ${heads} heads · size]`);
  return x.reshape([batch, tokens, heads, width / heads]).permute([0, 2, 1, 3]);
}

/** [batch, heads, tokens, size] as [batch, tokens, heads · size]. */
export function heads(x: Tensor): Tensor {
  return x.permute([0, 2, 1, 3]).flatten(2);
}

/** Masks of truth values and of terms as one of terms. */
export function joinedMasks(a: Tensor | undefined, b: Tensor | undefined): Tensor | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  if (a.dtype === 'bool' && b.dtype === 'bool') return a.and(b);
  if (a.dtype === 'bool') return where(a, b, -Infinity);
  return b.dtype === 'bool' ? where(b, a, -Infinity) : a.add(b);
}

/** A mask for all keys: those beyond it are not seen. */
function forKeys(mask: Tensor, keys: Size): Tensor {
  const size = mask.shape.at(-1);
  if (typeof size !== 'number' || typeof keys !== 'number' || size === keys || size === 1) return mask;
  const widths = mask.shape.map((_, axis) => [0, axis === mask.rank - 1 ? keys - size : 0] as const);
  return mask.dtype === 'bool' ? mask.cast('u8').pad(widths).cast('bool') : mask.pad(widths, { value: -Infinity });
}

/** Past keys and values stand before the others. Lengths of keys for each batch, and windows to the right, are masks. */
function attentionOf(call: Call): readonly (Tensor | null)[] {
  const [first, key, value] = [call.tensor(0), call.tensor(1), call.tensor(2)];
  const isFlat = first.rank === 3;
  const split = (x: Tensor, name: string) => (x.rank === 3 ? byHeads(x, call.int(name)) : x);
  const q = split(first, 'q_num_heads');
  const [newK, newV] = [split(key, 'kv_num_heads'), split(value, 'kv_num_heads')];
  const past = call.maybe(4);
  const [k, v] = past === undefined ? [newK, newV] : [concat([past, newK], 2), concat([call.tensor(5), newV], 2)];
  const [tokens, size] = [q.shape[2] as Size, q.shape[3] as number];
  const keys = k.shape[2] as Size;
  const softcap = call.float('softcap', 0);
  const left = call.int('left_window_size', -1);
  const right = call.int('right_window_size', -1);
  const scale = call.float('scale', 1 / Math.sqrt(size));
  const isCausal = call.flag('is_causal');
  const lengths = call.maybe(6);
  const given = call.maybe(3);
  const term = given === undefined ? undefined : forKeys(given.dtype === 'bool' ? given : given.cast('f32'), keys);
  // A window of attention() ends at the query.
  const isSimple = lengths === undefined && right < 0 && (left < 0 || isCausal);
  /** The keys that each query sees, by lengths, order and windows. */
  const limits = (): Tensor | undefined => {
    const place = arange(keys, 'i32');
    const query = arange(tokens, 'i32').expandDims(1);
    const counts = lengths?.cast('i32').reshape([-1, 1, 1, 1]);
    /** The place of each query among the keys. */
    const at = query.add(counts === undefined ? sizeOf(call, past?.shape[2] ?? 0) : counts.sub(sizeOf(call, tokens)));
    let found = counts === undefined ? undefined : place.lt(counts);
    if (isCausal) found = joinedMasks(found, place.lte(at));
    if (left >= 0) found = joinedMasks(found, place.gte(at.sub(left)));
    if (right >= 0) found = joinedMasks(found, place.lte(at.add(right)));
    return found;
  };
  // Simple limits are options of attention(), which computes no mask of them.
  const mask = isSimple ? term : joinedMasks(limits(), term);
  const options: AttentionOptions = {
    scale,
    ...(isSimple && isCausal ? { causal: true, position: past?.shape[2] ?? 0 } : {}),
    ...(isSimple && left >= 0 ? { window: left } : {}),
    ...(softcap > 0 ? { softcap } : {}),
    ...(mask === undefined ? {} : { mask }),
  };
  const y = attention(q, k, v, options);
  const result = (isFlat ? heads(y) : y).cast(first.dtype);
  const mode = call.int('qk_matmul_output_mode', 0);
  const scores = () => {
    const kHeads = repeatedHeads(k, q.shape[1] as number);
    const products = q.cast('f32').matmul(kHeads.cast('f32').T).mul(scale);
    const capped = mode > 0 && softcap > 0 ? products.div(softcap).tanh().mul(softcap) : products;
    if (mode < 2) return capped;
    const all = joinedMasks(limits(), term);
    const masked = all === undefined ? capped : all.dtype === 'bool' ? where(all, capped, -Infinity) : capped.add(all);
    if (mode === 2) return masked;
    // A query that sees no key has weights of 0.
    return where(masked.max(-1, { keep: true }).eq(-Infinity), 0, masked.softmax(-1));
  };
  return [result, call.wants(1) ? k : null, call.wants(2) ? v : null, call.wants(3) ? scores().cast(first.dtype) : null];
}

/** Each head of the keys for the queries that it serves. */
function repeatedHeads(k: Tensor, count: number): Tensor {
  const [batch, own, ...rest] = k.shape as readonly [Size, number, ...Size[]];
  if (own === count) return k;
  return k.expandDims(2).broadcastTo([batch, own, count / own, ...rest]).reshape([batch, count, ...rest]);
}

/** A size as a number of the device, be it a Dim. */
function sizeOf(call: Call, size: Size): Tensor {
  return call.tensorOf(call.withoutOrigins(typeNamed('int32'), [], [size]));
}

/** Turns pairs of numbers by tables of cosines and sines [batch or 1, tokens, size/2]. */
export function rotated(x: Tensor, cosines: Tensor, sines: Tensor, size: number, isInterleaved: boolean): Tensor {
  const [cos, sin] = [cosines, sines].map((table) => table.cast('f32').expandDims(1)) as [Tensor, Tensor];
  const width = x.shape.at(-1) as number;
  const turned = x.cast('f32').slice(null, null, null, [0, size]);
  const parts = turned.reshape([...turned.shape.slice(0, -1), ...(isInterleaved ? [size / 2, 2] : [2, size / 2])]);
  const axis = isInterleaved ? -1 : -2;
  const [first, second] = [parts.pick(axis, 0), parts.pick(axis, 1)];
  const found = stack([first.mul(cos).sub(second.mul(sin)), first.mul(sin).add(second.mul(cos))], axis).reshape(turned.shape).cast(x.dtype);
  return size === width ? found : concat([found, x.slice(null, null, null, [size])], -1);
}

function rotaryEmbedding(call: Call): Tensor {
  const x = call.tensor(0);
  const split = x.rank === 3 ? byHeads(x, call.int('num_heads')) : x;
  const size = call.int('rotary_embedding_dim', 0) || (split.shape.at(-1) as number);
  const positions = call.maybe(3);
  const tables = [call.tensor(1), call.tensor(2)].map((table) => (positions === undefined ? table : table.indexSelect(positions.cast('i32') as Indices)));
  const found = rotated(split, tables[0] as Tensor, tables[1] as Tensor, size, call.flag('interleaved'));
  return x.rank === 3 ? heads(found) : found;
}

export const ATTENTION_OPERATORS: Readonly<Record<string, Operator>> = { Attention: attentionOf, RotaryEmbedding: rotaryEmbedding };
