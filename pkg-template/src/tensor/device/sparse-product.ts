/** Products of sparse matrices: their pattern is found once, and their values are recipes. */

import { describe, invalidArgument } from '../../arguments/errors.js';
import { makeDisposable } from '../../compile/dispose.js';
import type { Pending } from '../engine/pending.js';
import { nodeOf, nodeText } from '../recipe/operands.js';
import { SparseMatrix } from '../sparse.js';
import type { Tensor } from '../tensor.js';
import { productPattern } from './product-pattern.js';
import { inTurns, patternOf, storeAll, type Part, type PatternAccess } from './sparse-pattern.js';

/**
 * The product of two sparse matrices, as `Device.sparseProduct` finds it: where its entries are, and of which pairs of entries of the factors each is the sum.
 * That has memory of its own on the device, some 12 bytes for each pair, which dispose() frees. The values are a recipe, so that gradients go to those of both
 * factors.
 */
export class SparseProduct {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;
  /** The product, by the values that the factors had: columns ascend within a row, and each place has one entry. */
  readonly matrix: SparseMatrix;

  private constructor(
    private readonly factors: readonly [SparseMatrix, SparseMatrix],
    private readonly parts: { readonly offsets: Part; readonly indices: Part; readonly pairOffsets: Part; readonly left: Part; readonly right: Part },
  ) {
    this.matrix = this.withValues(factors[0].values, factors[1].values);
  }

  /** @internal Made by devices. */
  static async of(access: PatternAccess, a: SparseMatrix, b: SparseMatrix, caller: Pending): Promise<SparseProduct> {
    for (const [name, factor] of Object.entries({ a, b })) if (!(factor instanceof SparseMatrix)) throw invalidArgument(`sparseProduct: ${name}`, describe(factor), 'a SparseMatrix');
    if (a.columns !== b.rows) throw invalidArgument('sparseProduct: b', `${b.rows} rows`, `${a.columns}, the columns of a`);
    const nodes = [a.rowOffsets, a.colIndices, b.rowOffsets, b.colIndices].map(({ node }) => node);
    const [ofA, toA, ofB, toB] = (await access.read(nodes, caller)) as [Uint32Array, Uint32Array, Uint32Array, Uint32Array];
    const found = await inTurns(productPattern(patternOf('sparseProduct: a', a, ofA, toA), patternOf('sparseProduct: b', b, ofB, toB)), caller);
    return new SparseProduct([a, b], storeAll(access, { ...found }));
  }

  /** The product of the same patterns with other values, as many as the factors have entries. Throws 'invalid-argument'. */
  withValues(a: Tensor<'f32'>, b: Tensor<'f32'>): SparseMatrix {
    const { offsets, indices, pairOffsets, left, right } = this.parts;
    const [first, second] = this.factors;
    [first, second].forEach(({ values }, k) => {
      const name = `withValues: ${k === 0 ? 'a' : 'b'}`;
      const node = nodeOf(name, k === 0 ? a : b);
      if (node.dtype !== 'f32' || node.shape.length !== 1 || node.shape[0] !== values.shape[0]) throw invalidArgument(name, nodeText(node), `${nodeText(values.node)}, as the factor has`);
    });
    // The left factors of the pairs of an entry are a row of a matrix, which is multiplied by the right factor's values.
    const pairs = SparseMatrix.fromCsr(indices.shape[0] as number, second.values.shape[0] as number, pairOffsets, right, a.indexSelect(left));
    return SparseMatrix.fromCsr(first.rows, second.columns, offsets, indices, pairs.matmul(b));
  }

  /** Frees the memory of the pattern. Recipes over it then throw 'disposed' when they are evaluated. A second call does nothing. */
  dispose(): void {
    for (const part of Object.values(this.parts)) part.dispose();
  }
}

makeDisposable(SparseProduct);
