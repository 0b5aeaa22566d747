/** Sparse matrices in compressed rows. */

import { ResiduaError } from './errors.js';

/** Compressed sparse rows: row i has columns colIndices[rowOffsets[i] .. rowOffsets[i + 1]], ascending. */
export interface CsrMatrix {
  /** Number of rows. */
  readonly rows: number;
  /** Number of columns. */
  readonly cols: number;
  /** Where each row begins among the entries; rows + 1 numbers. */
  readonly rowOffsets: Uint32Array;
  /** Each entry's column. */
  readonly colIndices: Uint32Array;
  /** Each entry. */
  readonly values: Float64Array;
  /** All rows × cols numbers, row after row. Throws 'out-of-memory' where they don't fit. */
  toDense(): Float64Array;
}

/** Where the entries stand: the same for many matrices. */
export interface Pattern {
  readonly rowOffsets: Uint32Array;
  readonly colIndices: Uint32Array;
}

/** The one implementation. A matrix has its pattern to itself; it is copied when it is first asked for. */
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
      // Its own, so that it is there in copies, too.
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
