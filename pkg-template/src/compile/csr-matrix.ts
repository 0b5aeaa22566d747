/** Sparse matrices in compressed rows. */

import { ResiduaError } from '../arguments/errors.js';

/** Compressed sparse rows: row i has the columns colIndices[rowOffsets[i] .. rowOffsets[i + 1]], ascending. */
export interface CsrMatrix {
  /** Number of rows. */
  readonly rows: number;
  /** Number of columns. */
  readonly cols: number;
  /** The position of each row's first entry; rows + 1 numbers. */
  readonly rowOffsets: Uint32Array;
  /** The column of each entry. */
  readonly colIndices: Uint32Array;
  /** The value of each entry. */
  readonly values: Float64Array;
  /** Returns all rows × cols numbers, row after row. Throws 'out-of-memory' if they cannot be allocated. */
  toDense(): Float64Array;
}

/** The positions of the entries, shared by several matrices. */
export interface Pattern {
  readonly rowOffsets: Uint32Array;
  readonly colIndices: Uint32Array;
}

/**
 * The implementation of CsrMatrix. The index arrays are copied from the pattern when they are first read, so that each matrix has its own.
 */
export class CompressedRows implements CsrMatrix {
  declare readonly rowOffsets: Uint32Array;
  declare readonly colIndices: Uint32Array;

  constructor(
    readonly rows: number,
    readonly cols: number,
    pattern: Pattern,
    readonly values: Float64Array,
  ) {
    for (const name of ['rowOffsets', 'colIndices'] as const) {
      const get = () => {
        const value = pattern[name].slice();
        Object.defineProperty(this, name, { value, enumerable: true });
        return value;
      };
      // An own property, so that copies of the object have it too.
      Object.defineProperty(this, name, { get, enumerable: true, configurable: true });
    }
  }

  toDense(): Float64Array {
    const { rows, cols, rowOffsets, colIndices, values } = this;
    let dense: Float64Array;
    try {
      dense = new Float64Array(rows * cols);
    } catch (error) {
      throw new ResiduaError('out-of-memory', `a dense matrix of ${rows} × ${cols} numbers could not be allocated`, { cause: error });
    }
    for (let row = 0; row < rows; row++) {
      const end = rowOffsets[row + 1] as number;
      for (let entry = rowOffsets[row] as number; entry < end; entry++) {
        dense[row * cols + (colIndices[entry] as number)] = values[entry] as number;
      }
    }
    return dense;
  }
}
