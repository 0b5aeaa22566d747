/** Products of matrices and vectors. */

import { einsum } from '../../functions.js';
import type { Tensor } from '../../tensor.js';
import type { Call, Operator } from '../call.js';

/** alpha · a · b + beta · c. */
function gemm(call: Call): Tensor {
  const [a, b] = [call.tensor(0), call.tensor(1)];
  const alpha = call.float('alpha', 1);
  const beta = call.float('beta', 1);
  const product = (call.flag('transA') ? a.T : a).matmul(call.flag('transB') ? b.T : b);
  const scaled = alpha === 1 ? product : product.mul(alpha);
  const c = call.maybe(2);
  if (c === undefined || beta === 0) return scaled;
  return scaled.add(beta === 1 ? c : c.mul(beta));
}

/** As Einstein sums have it in NumPy: a letter that stands twice in an operand is its diagonal. */
function einsumOf(call: Call): Tensor {
  const equation = call.text('equation').replaceAll(' ', '');
  const [left = '', right] = equation.split('->');
  const terms = left.split(',');
  const tensors = call.tensors;
  const single = terms.map((term, k) => withoutRepeats(term, tensors, k));
  const count = (letter: string) => [...left].filter((each) => each === letter).length;
  const letters = [...new Set(left.replaceAll(/[.,]/g, ''))].sort();
  const result = right ?? `${left.includes('...') ? '...' : ''}${letters.filter((letter) => count(letter) === 1).join('')}`;
  return einsum(`${single.join(',')}->${result}`, ...tensors);
}

/** Takes the diagonal of letters that stand twice in a term, and returns the term with them once. */
function withoutRepeats(term: string, tensors: Tensor[], k: number): string {
  let found = term;
  for (;;) {
    const letters = found.replace('...', '');
    const again = [...letters].find((letter, place) => letters.indexOf(letter) < place);
    const x = tensors[k];
    if (again === undefined || x === undefined) return found;
    // Axes from the end where an ellipsis stands before them.
    const ends = [...found.replace('...', '.')];
    const rank = x.rank;
    const dots = ends.indexOf('.');
    const axisOf = (place: number) => (dots >= 0 && place > dots ? rank - ends.length + place : place);
    const [first, second] = [axisOf(ends.indexOf(again)), axisOf(ends.lastIndexOf(again))];
    const others = Array.from({ length: rank }, (_, axis) => axis).filter((axis) => axis !== first && axis !== second);
    tensors[k] = x.permute([...others, first, second]).diagonal();
    const rest = ends.filter((letter) => letter !== again).join('');
    found = `${rest.replace('.', '...')}${again}`;
  }
}

export const PRODUCT_OPERATORS: Readonly<Record<string, Operator>> = {
  MatMul: (call) => call.tensor(0).matmul(call.tensor(1)),
  Gemm: gemm,
  Einsum: einsumOf,
};
