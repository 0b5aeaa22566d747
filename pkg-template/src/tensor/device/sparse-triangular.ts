/** Sparse triangular systems: the order of their rows is found once, and their values and right sides are recipes. */

import { describe, invalidArgument, ResiduaError } from '../../arguments/errors.js';
import { checkFlag, checkOptions, type OptionNames } from '../../arguments/options.js';
import { makeDisposable } from '../../compile/dispose.js';
import type { ReadOptions } from '../evaluator.js';
import { Node } from '../recipe/node.js';
import { checkType, nodeOf, nodeText } from '../recipe/operands.js';
import { reshaped } from '../recipe/views.js';
import { sameShape } from '../size.js';
import { SparseMatrix } from '../sparse.js';
import { LINALG } from '../tape-codes.js';
import { Tensor } from '../tensor.js';
import { withSignal } from './reading.js';
import { inTurns, patternOf, storeAll, type Part, type PatternAccess } from './sparse-pattern.js';
import { triangularPattern } from './triangular-pattern.js';

/** Options of `Device.sparseTriangular`. */
export interface SparseTriangularOptions extends ReadOptions {
  /** Which triangle of the matrix counts, with its diagonal; other entries are not read. Default 'lower'. */
  triangle?: 'lower' | 'upper';
  /** Whether the diagonal is 1, whatever entries say. Default false. */
  unitDiagonal?: boolean;
  /** Whether systems are of the triangle's transpose. Default false. */
  transpose?: boolean;
}

const OPTIONS: OptionNames<SparseTriangularOptions> = { triangle: true, unitDiagonal: true, transpose: true, signal: true };

/** Levels that a workgroup of a GPU goes through before browsers take the device for lost: about a second. */
const MOST_LEVELS = 2 ** 19;

/**
 * A sparse triangular system, as `Device.sparseTriangular` prepares it: the order in which its rows are solved, and that of its transpose, which derivatives
 * take. They have memory of their own on the device, some 24 bytes for each entry and 16 for each row, which dispose() frees.
 */
export class SparseTriangular {
  /** The same as dispose(), for `using`. */
  declare readonly [Symbol.dispose]: () => void;

  private constructor(
    /** Rows and columns. */
    readonly size: number,
    /** Steps that follow one another: rows of one step do not depend on each other. */
    readonly levels: number,
    private readonly values: Tensor<'f32'>,
    private readonly parts: { readonly own: Part; readonly turned: Part; readonly rows: Part; readonly columns: Part },
  ) {}

  /** @internal Made by devices. */
  static async of(access: PatternAccess, isOnGpu: boolean, matrix: SparseMatrix, options: SparseTriangularOptions): Promise<SparseTriangular> {
    if (!(matrix instanceof SparseMatrix)) throw invalidArgument('sparseTriangular: matrix', describe(matrix), 'a SparseMatrix');
    checkOptions('sparseTriangular: options', options, OPTIONS);
    const { triangle = 'lower', unitDiagonal: hasUnit = false, transpose: isTransposed = false } = options;
    if (triangle !== 'lower' && triangle !== 'upper') throw invalidArgument('sparseTriangular: triangle', describe(triangle), "'lower' or 'upper'");
    checkFlag('sparseTriangular: unitDiagonal', hasUnit);
    checkFlag('sparseTriangular: transpose', isTransposed);
    if (matrix.rows !== matrix.columns) throw invalidArgument('sparseTriangular: matrix', `${matrix.rows} rows and ${matrix.columns} columns`, 'as many rows as columns');
    const argument = 'sparseTriangular: matrix';
    const found = await withSignal('sparseTriangular', options.signal === undefined ? {} : { signal: options.signal }, async (caller) => {
      // Values are read for their pivots alone.
      const nodes = [matrix.rowOffsets, matrix.colIndices, ...(hasUnit ? [] : [matrix.values])].map(({ node }) => node);
      const [offsets, indices, values] = (await access.read(nodes, caller)) as [Uint32Array, Uint32Array, Float32Array?];
      const pattern = patternOf(argument, matrix, offsets, indices);
      const system = await inTurns(triangularPattern(argument, pattern, { isLower: triangle === 'lower', hasUnit }, isTransposed), caller);
      if (values !== undefined) checkPivots(argument, system.rows, system.columns, values, matrix.rows);
      return system;
    });
    const { levels, own, turned, rows, columns } = found;
    if (isOnGpu && levels > MOST_LEVELS) {
      throw new ResiduaError('limit-exceeded', `sparseTriangular: ${levels} rows wait for one another, and the most on a GPU are ${MOST_LEVELS}; a device with backend 'cpu' takes them`);
    }
    return new SparseTriangular(matrix.rows, levels, matrix.values, storeAll(access, { own, turned, rows, columns }));
  }

  /**
   * The solution X of T X = B: B is a vector [size] or a matrix [size, n] of f32. `values` are others of the same pattern, as many as the matrix has entries. A
   * pivot of 0 among them gives infinities and NaN. Derivatives go to B and to the values. Throws 'invalid-argument'.
   */
  solve(b: Tensor<'f32'>, values: Tensor<'f32'> = this.values): Tensor<'f32'> {
    const [right, entries] = [nodeOf('solve: b', b), nodeOf('solve: values', values)];
    checkType('solve: b', right, ['f32']);
    if ((right.shape.length !== 1 && right.shape.length !== 2) || right.shape[0] !== this.size) throw invalidArgument('solve: b', nodeText(right), `a vector or a matrix whose first size is ${this.size}, the rows of the matrix`);
    if (entries.dtype !== 'f32' || !sameShape(entries.shape, this.values.shape)) throw invalidArgument('solve: values', nodeText(entries), `${nodeText(this.values.node)}, as the matrix has`);
    const { own, turned, rows, columns } = this.parts;
    const isVector = right.shape.length === 1;
    const sides = isVector ? reshaped(right, [this.size, 1]) : right;
    const found = new Node('linalg', 'f32', sides.shape, [sides, entries, own.node, turned.node, rows.node, columns.node], [LINALG.sparseSolve]);
    return Tensor.make(isVector ? reshaped(found, [this.size]) : found);
  }

  /** Frees the memory of the order. Recipes over it then throw 'disposed' when they are evaluated. A second call does nothing. */
  dispose(): void {
    for (const part of Object.values(this.parts)) part.dispose();
  }
}

makeDisposable(SparseTriangular);

/** Throws 'invalid-argument' where the entries on the diagonal of a row add up to 0. */
function checkPivots(argument: string, rows: Uint32Array, columns: Uint32Array, values: Float32Array, size: number): void {
  const pivots = new Float64Array(size);
  rows.forEach((row, place) => {
    if (row < size && row === columns[place]) (pivots[row] as number) += values[place] as number;
  });
  const row = pivots.indexOf(0);
  if (row >= 0) throw invalidArgument(argument, `0 on the diagonal in row ${row}`, 'a diagonal without 0, or unitDiagonal');
}
