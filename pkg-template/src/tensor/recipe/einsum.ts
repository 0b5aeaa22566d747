/**
 * Einstein sums: one letter an axis, equal letters have equal sizes, letters that are not in the result are summed over. Tensors are combined
 * from left to right, two at a time, each pair by one product of matrices.
 */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { product, sameSize, sizeText, type Size } from '../size.js';
import { apply } from './elementwise.js';
import { byParts, Node } from './node.js';
import { checkType, nodeText, NUMBERS_OR_COMPLEX } from './operands.js';
import { matmul, sumOver } from './products.js';
import { permute, reshaped } from './views.js';

/** A tensor whose axes have letters. */
interface Lettered {
  readonly node: Node;
  readonly letters: readonly string[];
}

/** Computes a formula such as 'bij,bjk->bik'. '...' stands for leading axes that broadcast. Without an arrow the result has the letters that occur once, in alphabetical order. */
export function einsum(formula: unknown, tensors: readonly Node[]): Node {
  const { operands, result } = parse(formula, tensors);
  const sizes = sizesOf(operands);
  let [first, ...rest] = operands.map(diagonals) as [Lettered, ...Lettered[]];
  for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
    const wanted = new Set([...result, ...rest.flatMap(({ letters }) => letters)]);
    first = contract(first, next, wanted, sizes);
  }
  const { node, letters } = summed(first, new Set(result));
  return permute(node, result.map((letter) => letters.indexOf(letter)), 'einsum');
}

function parse(formula: unknown, tensors: readonly Node[]): { operands: Lettered[]; result: string[] } {
  const takes = "letters of each tensor's axes with commas between, then perhaps '->' and letters of the result, as 'ij,jk->ik'";
  if (typeof formula !== 'string' || !/^(\.{3}|[A-Za-z, ])*(->(\.{3}|[A-Za-z ])*)?$/.test(formula)) throw invalidArgument('einsum: formula', describe(formula), takes);
  const [left, right] = formula.replaceAll(' ', '').split('->') as [string, string | undefined];
  const parts = left.split(',');
  if (parts.length !== tensors.length || tensors.length === 0) throw invalidArgument('einsum', `${tensors.length} tensors`, `${parts.length}, as the formula ${describe(formula)} has`);
  const [lead] = tensors as readonly [Node];
  let wide = 0;
  const operands = tensors.map((node, k) => {
    checkType('einsum', node, NUMBERS_OR_COMPLEX);
    if (node.dtype !== lead.dtype) throw invalidArgument('einsum', `tensors of ${lead.dtype} and ${node.dtype}`, 'tensors of one type: cast() changes it');
    const part = parts[k] as string;
    const [before, after, ...more] = part.split('...') as [string, string | undefined];
    const named = part.replace('...', '').length;
    const open = node.shape.length - named;
    if (more.length > 0 || (after === undefined ? open !== 0 : open < 0)) {
      throw invalidArgument('einsum', nodeText(node), `a tensor with the axes '${part}'`);
    }
    wide = Math.max(wide, open);
    // Leading axes are named by their distance from the last of them, so that they are aligned there.
    const ellipsis = Array.from({ length: open }, (_, i) => `.${open - i}`);
    return { node, letters: [...before, ...ellipsis, ...(after ?? '')] };
  });
  const ellipsis = Array.from({ length: wide }, (_, i) => `.${wide - i}`);
  if (right !== undefined) {
    const [before, after, ...more] = right.split('...') as [string, string | undefined];
    const result = [...before, ...(after === undefined ? [] : ellipsis), ...(after ?? '')];
    const known = new Set(operands.flatMap(({ letters }) => letters));
    if (more.length > 0 || new Set(result).size !== result.length || result.some((letter) => !known.has(letter))) {
      throw invalidArgument('einsum: formula', describe(formula), 'a result whose letters are those of tensors, each once');
    }
    return { operands, result };
  }
  const all = operands.flatMap(({ letters }) => letters).filter((letter) => !letter.startsWith('.'));
  const once = all.filter((letter) => all.indexOf(letter) === all.lastIndexOf(letter)).sort();
  return { operands, result: [...ellipsis, ...once] };
}

/** The size of each letter. An axis of size 1 repeats, as in other operations. */
function sizesOf(operands: readonly Lettered[]): Map<string, Size> {
  const sizes = new Map<string, Size>();
  for (const { node, letters } of operands) {
    letters.forEach((letter, axis) => {
      const [size, known] = [node.shape[axis] as Size, sizes.get(letter)];
      if (known === undefined || known === 1) sizes.set(letter, size);
      else if (size !== 1 && !sameSize(size, known)) {
        throw invalidArgument('einsum', `sizes ${sizeText(known)} and ${sizeText(size)} of '${letter}'`, 'one size for each letter');
      }
    });
  }
  return sizes;
}

/** Keeps the elements whose coordinates along axes of one letter are equal. */
function diagonals({ node, letters }: Lettered): Lettered {
  const again = letters.findIndex((letter, axis) => letters.indexOf(letter) !== axis);
  if (again < 0) return { node, letters };
  const first = letters.indexOf(letters[again] as string);
  const rank = node.shape.length;
  const order = [...Array.from({ length: rank }, (_, axis) => axis).filter((axis) => axis !== first && axis !== again), first, again];
  const moved = permute(node, order);
  const size = moved.shape.at(-1) as Size;
  if (!sameSize(size, moved.shape.at(-2) as Size)) throw invalidArgument('einsum', nodeText(node), `equal sizes along both axes '${letters[again]}'`);
  const places = new Node('iota', 'i32', [...moved.shape.slice(0, -1), 1], [], [rank - 2]);
  const picked = byParts(moved, (part) => new Node('gatherElements', part.dtype, places.shape, [part, places], [rank - 1]));
  return diagonals({ node: reshaped(picked, moved.shape.slice(0, -1)), letters: order.slice(0, -1).map((axis) => letters[axis] as string) });
}

/** Sums over the axes whose letters are not wanted. */
function summed({ node, letters }: Lettered, wanted: ReadonlySet<string>): Lettered {
  const axes = letters.flatMap((letter, axis) => (wanted.has(letter) ? [] : [axis]));
  return { node: sumOver(node, axes), letters: letters.filter((letter) => wanted.has(letter)) };
}

/** Multiplies two tensors and sums over the letters that are not wanted. */
function contract(a: Lettered, b: Lettered, wanted: ReadonlySet<string>, sizes: ReadonlyMap<string, Size>): Lettered {
  // Axes of size 1 that repeat are taken away: they belong to the other tensor, or to none.
  const [x, y] = [a, b].map((each) => narrow(each, sizes)) as [Lettered, Lettered];
  const [left, right] = [summed(x, new Set([...wanted, ...y.letters])), summed(y, new Set([...wanted, ...x.letters]))];
  const shared = left.letters.filter((letter) => right.letters.includes(letter));
  const batch = shared.filter((letter) => wanted.has(letter));
  const inner = shared.filter((letter) => !wanted.has(letter));
  const rows = left.letters.filter((letter) => !shared.includes(letter));
  const columns = right.letters.filter((letter) => !shared.includes(letter));
  const of = (letters: readonly string[]) => letters.map((letter) => sizes.get(letter) as Size);
  const arranged = ({ node, letters }: Lettered, groups: readonly (readonly string[])[]) => {
    const order = [...batch, ...groups.flat()].map((letter) => letters.indexOf(letter));
    return reshaped(permute(node, order), [...of(batch), ...groups.map((group) => product(of(group)))]);
  };
  const letters = [...batch, ...rows, ...columns];
  if (inner.length === 0) {
    const [outerRows, outerColumns] = [arranged(left, [rows, []]), arranged(right, [[], columns])];
    return { node: reshaped(apply('mul', [outerRows, outerColumns]), of(letters)), letters };
  }
  return { node: reshaped(matmul(arranged(left, [rows, inner]), arranged(right, [inner, columns]), 'einsum'), of(letters)), letters };
}

function narrow({ node, letters }: Lettered, sizes: ReadonlyMap<string, Size>): Lettered {
  const stays = (axis: number) => !(node.shape[axis] === 1 && sizes.get(letters[axis] as string) !== 1);
  return { node: reshaped(node, node.shape.filter((_, axis) => stays(axis))), letters: letters.filter((_, axis) => stays(axis)) };
}
