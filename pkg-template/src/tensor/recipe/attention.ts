/** Attention: weighted means of values, with the softmax of products of queries and keys as weights. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { checkFinite, checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { checkFlag, checkOptions } from '../../arguments/options.js';
import { checkSize, minus, sameSize, type Shape, type Size } from '../size.js';
import { broadcastShapes, expandTo } from './broadcast.js';
import { cast } from './elementwise.js';
import { Node } from './node.js';
import { checkType, nodeOf, nodeText, REALS } from './operands.js';
import { reshaped } from './views.js';

const OPTIONS = { causal: true, position: true, mask: true, scale: true, window: true, softcap: true } as const;

/** The largest number of keys that a window leaves before the query. */
const LARGEST_WINDOW = 2 ** 30;

/** Attention of queries [..., heads, m, size] to keys [..., key heads, n, size] with values [..., key heads, n, width], as [..., heads, m, width]. */
export function attention(q: Node, k: Node, v: Node, options: object): Node {
  checkOptions('attention: options', options, OPTIONS);
  const given = [q, k, v].map((node, place) => checkFactor(`attention: ${'qkv'[place]}`, node));
  const [heads, queries, size] = (given[0] as Node).shape.slice(-3) as [Size, Size, number];
  const [keyHeads, keys, keySize] = (given[1] as Node).shape.slice(-3) as [Size, Size, number];
  const [valueHeads, values, width] = (given[2] as Node).shape.slice(-3) as [Size, Size, number];
  if (keySize !== size) throw invalidArgument('attention: k', nodeText(k), `a tensor whose last size is ${size}, as that of q`);
  if (!sameSize(keyHeads, valueHeads) || !sameSize(keys, values)) {
    throw invalidArgument('attention: v', nodeText(v), `a tensor with as many heads and tokens as k, which is ${nodeText(k)}`);
  }
  const isShared = typeof heads === 'number' && typeof keyHeads === 'number' && keyHeads > 0 && heads % keyHeads === 0;
  if (!isShared && !sameSize(heads, keyHeads)) {
    throw invalidArgument('attention: k', nodeText(k), `a tensor whose number of heads divides that of q, which is ${nodeText(q)}`);
  }
  const batch = broadcastShapes('attention: leading axes', given.map(({ shape }) => shape.slice(0, -3)));
  const operands = given.map((node) => expandTo('attention', node, [...batch, ...node.shape.slice(-3)]));
  const { mask, ...rest } = options as { mask?: unknown };
  if (mask !== undefined) operands.push(checkMask(mask, [...batch, heads, queries, keys]));
  const result = new Node('attention', 'f32', [...batch, heads, queries, width], operands, attributesOf(rest, size, minus(keys, queries)));
  return q.shape.length === 2 && batch.length === 0 ? reshaped(result, [queries, width]) : result;
}

/** Returns a tensor of heads; one without an axis for them is one head. */
function checkFactor(argument: string, node: Node): Node {
  checkType(argument, node, REALS);
  const { shape } = node;
  const size = shape.at(-1);
  if (shape.length < 2 || typeof size !== 'number' || size === 0) {
    throw invalidArgument(argument, nodeText(node), 'a tensor [..., heads, tokens, size] whose last size is a number of at least 1');
  }
  const heads = shape.length === 2 ? reshaped(node, [1, ...shape]) : node;
  return argument === 'attention: q' ? cast(heads, 'f32') : heads;
}

function checkMask(mask: unknown, scores: Shape): Node {
  const node = nodeOf('attention: mask', mask);
  checkType('attention: mask', node, ['bool', 'f32']);
  // Throws where it does not broadcast; the kernels repeat it.
  expandTo('attention: mask', node, scores);
  return node;
}

function attributesOf(options: object, size: number, last: Size): (number | { size: Size })[] {
  const { causal, position = last, scale = 1 / Math.sqrt(size), window, softcap } = options as Readonly<Record<keyof typeof OPTIONS, unknown>>;
  checkFlag('attention: causal', causal);
  if (position !== last) checkSize('attention: position', position);
  checkFinite('attention: scale', scale);
  if (window !== undefined) checkWholeNumber('attention: window', window, 0, LARGEST_WINDOW);
  if (softcap !== undefined && !(typeof softcap === 'number' && Number.isFinite(softcap) && softcap > 0)) {
    throw invalidArgument('attention: softcap', describe(softcap), 'a finite number above 0');
  }
  return [Number(causal === true), { size: position as Size }, scale, window === undefined ? 0 : window + 1, softcap === undefined ? 0 : (softcap as number)];
}
