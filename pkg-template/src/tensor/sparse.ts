/** Sparse matrices. */

import type { Node } from './recipe/node.js';
import { nodeOf } from './recipe/operands.js';
import * as sparse from './recipe/sparse.js';
import { Tensor } from './tensor.js';

/** The tensors of a sparse matrix. */
export interface SparseParts {
  /** The place of each row's first entry, and at the end the number of entries. */
  readonly rowOffsets: Tensor<'u32'>;
  /** The column of each entry. */
  readonly colIndices: Tensor<'u32'>;
  /** The value of each entry. */
  readonly values: Tensor<'f32'>;
  /** The row of each entry. */
  readonly rowIndices: Tensor<'u32'>;
  /** The entries in the order of their columns, and of one column in that of their rows. */
  readonly order: Tensor<'i32'>;
  /** The place of each column's first entry in that order, and at the end the number of entries. */
  readonly columnOffsets: Tensor<'u32'>;
}

/**
 * A sparse matrix of f32 in compressed rows (CSR). It is a recipe over three tensors, which own what memory there is: its pattern, `rowOffsets` and
 * `colIndices`, is fixed, and gradients go to `values`. Entries at one place add up. Sums have one order on an engine, so that results
 * repeat bit for bit. An index that is out of range is left out.
 */
export class SparseMatrix {
  private made: sparse.ByColumn | null = null;

  private constructor(
    /** Number of rows. */
    readonly rows: number,
    /** Number of columns. */
    readonly columns: number,
    /** The place of each row's first entry, and at the end the number of entries: rows + 1 numbers. */
    readonly rowOffsets: Tensor<'u32'>,
    /** The column of each entry. */
    readonly colIndices: Tensor<'u32'>,
    /** The value of each entry. */
    readonly values: Tensor<'f32'>,
  ) {}

  /**
   * The tensors of which it consists: those of its rows, and the pattern by columns, which transposed products and derivatives take.
   * device.storeSparse() computes all of them once.
   */
  get parts(): SparseParts {
    const { rowOffsets, colIndices, values } = this;
    const { rowIndices, order, columnOffsets } = this.byColumn;
    return { rowOffsets, colIndices, values, rowIndices: Tensor.make(rowIndices), order: Tensor.make(order), columnOffsets: Tensor.make(columnOffsets) };
  }

  /** @internal The same matrix of parts that were computed. */
  ofParts({ rowOffsets, colIndices, values, rowIndices, order, columnOffsets }: SparseParts): SparseMatrix {
    const matrix = new SparseMatrix(this.rows, this.columns, rowOffsets, colIndices, values);
    matrix.made = { rowIndices: rowIndices.node, order: order.node, columnOffsets: columnOffsets.node };
    return matrix;
  }

  private static of({ rows, columns, rowOffsets, colIndices, values }: sparse.Csr): SparseMatrix {
    return new SparseMatrix(rows, columns, Tensor.make(rowOffsets), Tensor.make(colIndices), Tensor.make(values));
  }

  /** Takes rows + 1 offsets that do not fall, from 0 to the number of entries, and a column and a value for each entry. Throws 'invalid-argument'. */
  static fromCsr(rows: number, columns: number, rowOffsets: Tensor<'u32'>, colIndices: Tensor<'u32'>, values: Tensor<'f32'>): SparseMatrix {
    const parts = { rowOffsets: nodeOf('fromCsr: rowOffsets', rowOffsets), colIndices: nodeOf('fromCsr: colIndices', colIndices), values: nodeOf('fromCsr: values', values) };
    sparse.checkCsr('fromCsr', { rows, columns, ...parts });
    return new SparseMatrix(rows, columns, rowOffsets, colIndices, values);
  }

  /** Takes a row, a column and a value for each entry, in any order, and sorts them. Throws 'invalid-argument'. */
  static fromCoo(rows: number, columns: number, rowIndices: Tensor<'u32'>, colIndices: Tensor<'u32'>, values: Tensor<'f32'>): SparseMatrix {
    return SparseMatrix.of(sparse.fromCoo(rows, columns, nodeOf('fromCoo: rowIndices', rowIndices), nodeOf('fromCoo: colIndices', colIndices), nodeOf('fromCoo: values', values)));
  }

  /** The product with a vector [columns] or a matrix [columns, n]: [rows] or [rows, n]. Throws 'invalid-argument'. */
  matmul(x: Tensor<'f32'>): Tensor<'f32'> {
    return Tensor.make(sparse.matmul(this.csr, this.byColumn, nodeOf('matmul', x)));
  }

  /** Rows as columns. The entries of a row are then sorted. */
  transpose(): SparseMatrix {
    return SparseMatrix.of(sparse.transpose(this.csr, this.byColumn));
  }

  /** The same pattern with other values, a vector of as many. Throws 'invalid-argument'. */
  withValues(values: Tensor<'f32'>): SparseMatrix {
    sparse.checkCsr('withValues', { ...this.csr, values: nodeOf('withValues: values', values) });
    const other = new SparseMatrix(this.rows, this.columns, this.rowOffsets, this.colIndices, values);
    other.made = this.byColumn;
    return other;
  }

  /** All elements, [rows, columns]. */
  toDense(): Tensor<'f32'> {
    return Tensor.make(sparse.toDense(this.csr));
  }

  /** The row, the column and the value of each entry, in the order of the rows. */
  toCoo(): { rowIndices: Tensor<'u32'>; colIndices: Tensor<'u32'>; values: Tensor<'f32'> } {
    return { rowIndices: Tensor.make(this.byColumn.rowIndices), colIndices: this.colIndices, values: this.values };
  }

  private get byColumn(): sparse.ByColumn {
    this.made ??= sparse.byColumn(this.csr);
    return this.made;
  }

  private get csr(): sparse.Csr {
    const node = (tensor: Tensor): Node => tensor.node;
    return { rows: this.rows, columns: this.columns, rowOffsets: node(this.rowOffsets), colIndices: node(this.colIndices), values: node(this.values) };
  }
}
