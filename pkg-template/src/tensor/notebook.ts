/** What notebooks show of a tensor: its type and shape, and its first numbers as a table. */

import { htmlTable, shortNumber, showInNotebooks, type NotebookDisplay } from '../arguments/notebook.js';
import { numbersPerElement } from './dtype.js';
import { evaluator } from './evaluator.js';
import type { Node } from './recipe/node.js';
import { slice } from './recipe/slices.js';
import { reshape } from './recipe/views.js';

/** Rows and columns that are shown at most. The columns are the last axis, the rows all others in C order. */
const MOST_ROWS = 10;
const MOST_COLUMNS = 10;

/** Lets notebooks show tensors. Only the numbers that are shown are read, which computes a recipe as far as they need it. */
export function showTensors(type: { prototype: { readonly node: Node; toString(): string } }): void {
  showInNotebooks(type.prototype, async function (): Promise<NotebookDisplay> {
    const title = String(this);
    try {
      const [rows, columns, isWhole] = await firstNumbers(this.node);
      const head = columns.length === 1 && columns[0] === '' ? [] : ['', ...columns];
      const shown = isWhole ? rows : [...rows, ['…'] as const];
      const lines = shown.map((row) => row.join('  ').trim());
      return { 'text/plain': [title, ...lines].join('\n'), 'text/html': htmlTable(title, head, shown) };
    } catch (error) {
      // A tensor of a program's body has no numbers, and one that was disposed of none any more.
      const reason = error instanceof Error ? error.message : String(error);
      return { 'text/plain': `${title}\n${reason}`, 'text/html': htmlTable(title, [], [[reason]]) };
    }
  });
}

type Row = readonly [title: string, ...cells: string[]];

/** The first numbers as rows with their indices, the titles of columns, and whether the rows are all. */
async function firstNumbers(node: Node): Promise<[rows: Row[], columns: string[], isWhole: boolean]> {
  const sizes = evaluator().sizes(node);
  const width = sizes.at(-1) ?? 1;
  const leading = sizes.slice(0, -1);
  const count = leading.reduce((product, size) => product * size, 1);
  const [height, across] = [Math.min(count, MOST_ROWS), Math.min(width, MOST_COLUMNS)];
  const part = slice(reshape(node, [count, width]), [[0, height], [0, across]]);
  const data = height * across === 0 ? [] : await evaluator().read('Jupyter.display', part, {});
  const parts = numbersPerElement(node.dtype);
  const isCut = across < width;
  const rows = Array.from({ length: across === 0 ? 0 : height }, (_, row): Row => {
    const cells = Array.from({ length: across }, (_, column) => numberText(data, (row * across + column) * parts, node.dtype));
    return [indexText(row, leading), ...cells, ...(isCut ? ['…'] : [])];
  });
  const columns = sizes.length === 0 ? [''] : [...Array.from({ length: across }, (_, column) => String(column)), ...(isCut ? ['…'] : [])];
  return [rows, columns, height === count];
}

function numberText(data: ArrayLike<number>, at: number, dtype: Node['dtype']): string {
  const number = data[at] as number;
  if (dtype === 'bool') return String(number !== 0);
  if (dtype !== 'c64') return shortNumber(number);
  const imaginary = data[at + 1] as number;
  return `${shortNumber(number)} ${imaginary < 0 ? '−' : '+'} ${shortNumber(Math.abs(imaginary))}i`;
}

/** The index of a row along all axes but the last. */
function indexText(row: number, leading: readonly number[]): string {
  let rest = row;
  const indices = [...leading].reverse().map((size) => {
    const index = rest % size;
    rest = Math.floor(rest / size);
    return index;
  });
  return indices.reverse().join(', ');
}
