/**
 * Sparse matrices in compressed rows: entries in the order of their rows, and for each row the place of its first entry. Products are one operation,
 * which is told what the products of its derivatives take: nothing of that is computed unless they are.
 */

import { invalidArgument } from '../../arguments/errors.js';
import { checkWholeNumber } from '../../arguments/numeric-arguments.js';
import { sameSize, type Size } from '../size.js';
import { apply, cast } from './elementwise.js';
import { indexSelect, scatterNd } from './indexing.js';
import { constantNode, Node } from './node.js';
import { checkType, nodeText } from './operands.js';
import { stack } from './slices.js';
import { argsort, searchSorted } from './sorting.js';

/** Rows and columns are i32. */
const MOST = 2 ** 31 - 2;

/** A matrix in compressed rows. */
export interface Csr {
  readonly rows: number;
  readonly columns: number;
  /** u32 [rows + 1]. */
  readonly rowOffsets: Node;
  /** u32 [entries]. */
  readonly colIndices: Node;
  /** f32 [entries]. */
  readonly values: Node;
}

/** Throws 'invalid-argument' unless rows and columns are whole numbers, and the parts are vectors of their types, as many indices as values. */
function checkEntries(operation: string, rows: unknown, columns: unknown, indices: Readonly<Record<string, Node>>, values: Node): void {
  checkWholeNumber(`${operation}: rows`, rows, 0, MOST);
  checkWholeNumber(`${operation}: columns`, columns, 0, MOST);
  checkType(`${operation}: values`, values, ['f32']);
  if (values.shape.length !== 1) throw invalidArgument(`${operation}: values`, nodeText(values), 'a vector');
  for (const [name, node] of Object.entries(indices)) {
    checkType(`${operation}: ${name}`, node, ['u32']);
    if (node.shape.length !== 1 || !sameSize(node.shape[0] as Size, values.shape[0] as Size)) throw invalidArgument(`${operation}: ${name}`, nodeText(node), `a vector with an index for each of the values, ${nodeText(values)}`);
  }
}

/** Throws 'invalid-argument' unless shapes and types are those of compressed rows. */
export function checkCsr(operation: string, { rows, columns, rowOffsets, colIndices, values }: Csr): void {
  checkEntries(operation, rows, columns, { colIndices }, values);
  checkType(`${operation}: rowOffsets`, rowOffsets, ['u32']);
  if (rowOffsets.shape.length !== 1 || rowOffsets.shape[0] !== rows + 1) throw invalidArgument(`${operation}: rowOffsets`, nodeText(rowOffsets), `a vector of ${rows + 1} numbers, one more than rows`);
}

function places(count: Size): Node {
  return new Node('iota', 'u32', [count], [], [0]);
}

/** Where the entries of each row begin, of the sorted rows of all entries. */
function offsets(sorted: Node, rows: number): Node {
  return cast(searchSorted(sorted, places(rows + 1), 'left'), 'u32');
}

/** Sorts entries by row, and within it by column. Entries at one place keep their order. */
export function fromCoo(rows: number, columns: number, rowIndices: Node, colIndices: Node, values: Node): Csr {
  checkEntries('fromCoo', rows, columns, { rowIndices, colIndices }, values);
  const byColumn = argsort(colIndices, 0);
  const order = indexSelect(byColumn, argsort(indexSelect(rowIndices, byColumn, 0), 0), 0);
  const [sortedRows, sortedColumns, sortedValues] = [rowIndices, colIndices, values].map((part) => indexSelect(part, order, 0)) as [Node, Node, Node];
  return { rows, columns, rowOffsets: offsets(sortedRows, rows), colIndices: sortedColumns, values: sortedValues };
}

/** The row of each entry. */
export function rowIndices({ rowOffsets, values }: Csr): Node {
  return cast(apply('sub', [searchSorted(rowOffsets, places(values.shape[0] as Size), 'right'), 1]), 'u32');
}

/** What derivatives of products and a transposed matrix take of a pattern. */
export interface ByColumn {
  /** u32 [entries]. */
  readonly rowIndices: Node;
  /** The entries in the order of their columns, and of one column in that of their rows: integers [entries]. */
  readonly order: Node;
  /** u32 [columns + 1]. */
  readonly columnOffsets: Node;
}

/** The same pattern by columns. */
export function byColumn(matrix: Csr): ByColumn {
  const order = argsort(matrix.colIndices, 0);
  return { rowIndices: rowIndices(matrix), order, columnOffsets: offsets(indexSelect(matrix.colIndices, order, 0), matrix.columns) };
}

/** The product with a vector or a matrix. */
export function matmul(matrix: Csr, { rowIndices: of, order, columnOffsets }: ByColumn, x: Node): Node {
  const { rows, columns, rowOffsets, colIndices, values } = matrix;
  checkType('matmul', x, ['f32']);
  if ((x.shape.length !== 1 && x.shape.length !== 2) || x.shape[0] !== columns) throw invalidArgument('matmul', nodeText(x), `a vector or a matrix whose first size is ${columns}, the columns of the sparse matrix`);
  return new Node('sparseProduct', 'f32', [rows, ...x.shape.slice(1)], [rowOffsets, colIndices, values, x, of, columnOffsets, order]);
}

/** Rows become columns: the entries of each column are in the order of their rows. */
export function transpose(matrix: Csr, { rowIndices: of, order, columnOffsets }: ByColumn): Csr {
  const [colIndices, values] = [of, matrix.values].map((part) => indexSelect(part, order, 0)) as [Node, Node];
  return { rows: matrix.columns, columns: matrix.rows, rowOffsets: columnOffsets, colIndices, values };
}

/** All elements. Entries at one place add up. */
export function toDense(matrix: Csr): Node {
  const { rows, columns, colIndices, values } = matrix;
  return scatterNd(constantNode(0, 'f32', [rows, columns]), stack([rowIndices(matrix), colIndices], 1), values, { combine: 'add' });
}
